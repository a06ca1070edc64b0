//! Why a server does not start.

use std::io;
use std::path::PathBuf;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The configuration is not understood.
    #[error("configuration: {0}")]
    Config(String),
    /// The address cannot be listened on.
    #[error("could not listen on {address}: {source}")]
    Listen {
        /// The address as given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The address can be reached from other machines, and no role has a password.
    #[error(
        "will not listen on {address}: it can be reached from other machines, and no user has a password; \
         make one with: rukh user add DIR NAME"
    )]
    Open {
        /// The address.
        address: String,
    },
    /// Certificate or key cannot be used.
    #[error("could not use \"{}\" for TLS: {reason}", path.display())]
    Tls {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system gives no threads.
    #[error("could not start a thread: {source}")]
    Thread {
        /// What the system said.
        source: io::Error,
    },
}
