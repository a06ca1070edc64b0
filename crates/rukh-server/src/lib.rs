//! A PostgreSQL server over `rukh`: what psql and every driver of PostgreSQL connect to.
//!
//! Each connection has a thread and a session of its own. The thread reads messages, runs statements, and
//! sends rows as they are made, so that a result of any size takes constant memory: what the client does
//! not read stops the query. pgwire reads and writes the messages.
//!
//! | folder     | has                                                                               |
//! |------------|-----------------------------------------------------------------------------------|
//! | `protocol` | messages, and values in text and binary form                                      |
//! | `setup`    | configuration, encryption, places for connections, the log                        |
//! | `clients`  | the registry of sessions, login, time limits                                      |
//! | `sessions` | simple and extended queries, portals, COPY                                        |
//!
//! Start reading at `server`, then `session`, `simple` and `extended`.
//!
//! Invariants: nothing that a client sends panics, or takes more memory than the longest message allowed;
//! an error ends a statement, and only broken messages end a connection; sessions know nothing of one
//! another but what the database shows them.
//!
//! Deliberately not here: SQL, and anything that a library user would want too.

mod clients;
mod http;
mod protocol;
mod server;
mod sessions;
mod setup;

pub use server::{RunningServer, start};
pub use setup::config::{Config, Tls};
pub use setup::error::ServeError;
pub use setup::log::{LogFormat, log_to_stderr};
pub use setup::metering::count_statement;
pub use setup::places::within_descriptors;
pub use setup::tls::encryption;
