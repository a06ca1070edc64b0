//! The state of an open database, and the parts that it has.

pub(crate) mod builds;
pub(crate) mod commits;
pub(crate) mod debts;
pub(crate) mod group;
pub(crate) mod lock;
pub(crate) mod row_locks;
pub(crate) mod shared;
pub(crate) mod unsettled;
