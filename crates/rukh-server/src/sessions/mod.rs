//! The session of a client: simple and extended queries, portals, COPY.
//!
//! Deliberately not here: the messages (`protocol`).

pub(crate) mod copy;
pub(crate) mod deallocate;
pub(crate) mod extended;
pub(crate) mod portal;
pub(crate) mod session;
pub(crate) mod simple;
