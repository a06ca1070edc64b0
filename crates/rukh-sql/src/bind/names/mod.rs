//! Which relation and column a name means.
//!
//! Deliberately not here: what an expression means (`spelling`, `types`).

pub(crate) mod functions;
pub(crate) mod grouped_keys;
pub(crate) mod joined;
pub(crate) mod locked_relations;
pub(crate) mod named_windows;
pub(crate) mod outer_names;
pub(crate) mod outputs;
pub(crate) mod past;
pub(crate) mod place;
pub(crate) mod populated;
pub(crate) mod qualify;
pub(crate) mod query_width;
pub(crate) mod sample;
pub(crate) mod set_literals;
pub(crate) mod short_aliases;
pub(crate) mod type_names;
pub(crate) mod view_target;
pub(crate) mod views;
pub(crate) mod whole_rows;
