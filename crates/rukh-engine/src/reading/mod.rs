//! Reading: what is alive of the data of one moment, in the order of a table or an index.

pub(crate) mod definitions;
pub(crate) mod groups;
pub(crate) mod lifetime;
pub(crate) mod lookup;
pub(crate) mod merged;
pub(crate) mod points;
pub(crate) mod rows;
pub(crate) mod scan;
pub(crate) mod snapshot;
pub(crate) mod storages;
