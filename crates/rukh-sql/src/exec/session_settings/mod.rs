//! Settings of a session, and what else it says of how statements run.

pub(crate) mod client;
pub(crate) mod client_settings;
pub(crate) mod cursors;
pub(crate) mod durations;
mod known_setting;
pub(crate) mod notice;
pub(crate) mod progress;
pub(crate) mod query_memory;
pub(crate) mod search_path;
pub(crate) mod settings;
mod sizes;
pub(crate) mod transaction_time;
mod without_effect;
