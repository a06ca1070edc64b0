//! Corrections of logical plans, where DataFusion's plan has another meaning than PostgreSQL's.
//!
//! Deliberately not here: types (`types`), operators that run (`exec`).

pub(crate) mod computed_limits;
pub(crate) mod correlated;
pub(crate) mod inner_order;
pub(crate) mod late_volatile;
pub(crate) mod null_joins;
pub(crate) mod on_subqueries;
pub(crate) mod once;
pub(crate) mod outer_aggregates;
pub(crate) mod outer_columns;
pub(crate) mod push_down;
pub(crate) mod set_operations;
pub(crate) mod subqueries;
pub(crate) mod union_fields;
pub(crate) mod window_frames;
pub(crate) mod zero_order;
