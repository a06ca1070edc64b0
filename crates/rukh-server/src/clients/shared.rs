//! What the threads of a server share.

use std::net::IpAddr;
use std::sync::Arc;

use rukh::{Database, Error};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::CryptoProvider;

use crate::Config;
use crate::clients::registry::Registry;
use crate::clients::timeouts::Timeouts;
use crate::setup::places::Places;

/// What the threads of a server share.
pub(crate) struct Server {
    pub(crate) config: Config,
    pub(crate) database: Database,
    pub(crate) registry: Registry,
    pub(crate) timeouts: Arc<Timeouts>,
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) provider: Arc<CryptoProvider>,
    /// How many connections there may be, and are.
    pub(crate) places: Places,
    /// Secret from which the salts of unknown users are derived.
    pub(crate) secret: [u8; 32],
    /// What clients may bind their log in to.
    pub(crate) binding: Option<Vec<u8>>,
}

impl Server {
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(crate) fn timeouts(&self) -> &Timeouts {
        &self.timeouts
    }

    /// Returns whether the database answers a question.
    pub(crate) fn answers(&self) -> bool {
        self.database.connect().execute("SELECT 1").is_ok()
    }

    /// Returns how connections are encrypted, if they can be.
    pub(crate) fn tls(&self) -> Option<Arc<ServerConfig>> {
        self.tls.clone()
    }

    /// Returns whether connections must be encrypted.
    pub(crate) fn needs_tls(&self) -> bool {
        self.config.tls.as_ref().is_some_and(|tls| tls.required)
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    /// Returns the secret from which the salts of unknown users are derived.
    pub(crate) fn secret(&self) -> &[u8] {
        &self.secret
    }

    /// Returns what clients may bind their log in to, if connections can be encrypted.
    pub(crate) fn binding(&self) -> Option<&[u8]> {
        self.binding.as_deref()
    }

    /// Fills bytes with cryptographically secure random numbers.
    pub(crate) fn fill_random(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let filled = self.provider.secure_random.fill(bytes);
        filled.map_err(|_| Error::io("the system has no random numbers"))
    }

    /// Returns a cryptographically secure random number.
    pub(crate) fn random(&self) -> Result<i32, Error> {
        let mut bytes = [0; 4];
        self.fill_random(&mut bytes)?;
        Ok(i32::from_be_bytes(bytes))
    }
}

/// Whether an address is of this machine alone.
pub(crate) fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}
