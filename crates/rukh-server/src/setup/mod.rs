//! A server before its first client: configuration, encryption, places for connections, the log, counters.
//!
//! Deliberately not here: clients (`clients`).

pub(crate) mod binding;
pub(crate) mod config;
pub(crate) mod doing;
pub(crate) mod error;
pub(crate) mod forms;
pub(crate) mod log;
pub(crate) mod metering;
pub(crate) mod monitor;
pub(crate) mod places;
pub(crate) mod tls;
