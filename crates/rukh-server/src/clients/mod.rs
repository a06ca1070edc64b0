//! Clients: the registry of sessions, login, time limits.
//!
//! Deliberately not here: their statements (`sessions`).

pub(crate) mod authentication;
pub(crate) mod backends;
pub(crate) mod registry;
pub(crate) mod shared;
pub(crate) mod startup;
pub(crate) mod timeouts;
