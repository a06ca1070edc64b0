//! The state of an open database, and the parts that it has.

pub(crate) mod advisory;
pub(crate) mod builds;
pub(crate) mod debts;
pub(crate) mod lock;
pub(crate) mod row_locks;
pub(crate) mod scope;
pub(crate) mod shared;
pub(crate) mod touches;
pub(crate) mod unsettled;
