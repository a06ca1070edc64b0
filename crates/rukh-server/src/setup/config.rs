//! How a server is set up: defaults, then a TOML file, then the environment, then flags.
//!
//! ```toml
//! listen = "127.0.0.1:5432"
//! connections_max = 500
//! statement_timeout = "30s"
//!
//! [tls]
//! certificate = "server.crt"
//! key = "server.key"
//! ```
//!
//! In the environment the same names are in capitals behind `RUKH_`, with `__` for the dot:
//! `RUKH_LISTEN`, `RUKH_TLS__KEY`. Numbers may be texts and texts numbers, see `forms`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use figment::Figment;
use figment::providers::{Env, Format, Serialized, Toml};
use serde::{Deserialize, Serialize};

use crate::{LogFormat, ServeError, setup::forms};

/// How a server is set up.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Address and port for clients; port 0 takes a free one.
    #[serde(deserialize_with = "forms::text")]
    pub listen: String,
    /// Address and port for `/health`, `/ready` and `/metrics`; none if it is not given.
    #[serde(default, deserialize_with = "forms::text_if_any")]
    pub http: Option<String>,
    /// Address and port for clients of Arrow Flight SQL, or a port on the address of `listen`; none if it is
    /// not given. It is not this crate that serves them.
    #[serde(default, deserialize_with = "forms::text_if_any")]
    pub flight: Option<String>,
    /// How long a session of Flight SQL is kept that is not used, seconds.
    #[serde(deserialize_with = "forms::seconds")]
    pub flight_session_timeout_s: u64,
    /// How log lines are written.
    pub log_format: LogFormat,
    /// Most connections at a time.
    #[serde(deserialize_with = "forms::number")]
    pub connections_max: usize,
    /// Longest message, and so longest statement, bytes.
    #[serde(deserialize_with = "forms::bytes")]
    pub message_bytes_max: usize,
    /// Longest time to log in, seconds.
    #[serde(deserialize_with = "forms::seconds")]
    pub authentication_timeout_s: u64,
    /// Time that running statements have to end when the server stops, seconds.
    #[serde(deserialize_with = "forms::seconds")]
    pub shutdown_timeout_s: u64,
    /// The `statement_timeout` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub statement_timeout: String,
    /// The `idle_in_transaction_session_timeout` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub idle_in_transaction_session_timeout: String,
    /// The `idle_session_timeout` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub idle_session_timeout: String,
    /// The `transaction_timeout` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub transaction_timeout: String,
    /// The `query_memory_limit` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub query_memory_limit: String,
    /// The `conflict` that sessions start with: whether transactions wait for others that change the same rows.
    #[serde(deserialize_with = "forms::text")]
    pub conflict: String,
    /// The `default_transaction_isolation` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub default_transaction_isolation: String,
    /// The `lock_timeout` that sessions start with.
    #[serde(deserialize_with = "forms::text")]
    pub lock_timeout: String,
    /// Certificate and key; connections are not encrypted without.
    pub tls: Option<Tls>,
}

/// Certificate and key of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// File with the certificate chain, PEM.
    #[serde(deserialize_with = "forms::path")]
    pub certificate: PathBuf,
    /// File with the private key, PEM.
    #[serde(deserialize_with = "forms::path")]
    pub key: PathBuf,
    /// Whether clients that do not encrypt are refused.
    #[serde(default, deserialize_with = "forms::yes_or_no")]
    pub required: bool,
}

/// The prefix of names in the environment.
const PREFIX: &str = "RUKH_";

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: "127.0.0.1:5432".to_string(),
            http: None,
            flight: None,
            flight_session_timeout_s: 3_600,
            log_format: LogFormat::Text,
            connections_max: 1_000,
            message_bytes_max: 64 << 20,
            authentication_timeout_s: 60,
            shutdown_timeout_s: 10,
            statement_timeout: "0".to_string(),
            idle_in_transaction_session_timeout: "0".to_string(),
            idle_session_timeout: "0".to_string(),
            transaction_timeout: "0".to_string(),
            query_memory_limit: "0".to_string(),
            conflict: "wait".to_string(),
            default_transaction_isolation: "repeatable read".to_string(),
            lock_timeout: "0".to_string(),
            tls: None,
        }
    }
}

impl Config {
    /// Reads a file, if one is named, and the environment.
    pub fn load(file: Option<&Path>) -> Result<Self, ServeError> {
        let mut figment = Figment::from(Serialized::defaults(Config::default()));
        if let Some(file) = file {
            figment = figment.merge(Toml::file_exact(file));
        }
        let names = [
            "listen",
            "http",
            "flight",
            "flight_session_timeout_s",
            "log_format",
            "connections_max",
            "message_bytes_max",
            "authentication_timeout_s",
            "shutdown_timeout_s",
            "statement_timeout",
            "idle_in_transaction_session_timeout",
            "idle_session_timeout",
            "transaction_timeout",
            "query_memory_limit",
            "conflict",
            "default_transaction_isolation",
            "lock_timeout",
        ];
        let environment = figment
            .merge(Env::prefixed(PREFIX).only(&names))
            .merge(Env::prefixed(&format!("{PREFIX}TLS__")).map(|name| format!("tls.{name}").into()));
        let extracted = environment.extract();
        extracted.map_err(|error| ServeError::Config(error.to_string().trim().to_string()))
    }

    /// Returns the address and port for clients of Flight SQL, if there are to be any.
    pub fn flight_address(&self) -> Option<String> {
        let flight = self.flight.as_ref()?;
        if flight.parse::<u16>().is_err() {
            return Some(flight.clone());
        }
        let host = self.listen.rsplit_once(':').map_or("127.0.0.1", |(host, _)| host);
        Some(format!("{host}:{flight}"))
    }

    /// Returns settings that sessions start with, by name.
    pub fn settings(&self) -> [(&'static str, &str); 8] {
        [
            ("statement_timeout", &self.statement_timeout),
            (
                "idle_in_transaction_session_timeout",
                &self.idle_in_transaction_session_timeout,
            ),
            ("idle_session_timeout", &self.idle_session_timeout),
            ("transaction_timeout", &self.transaction_timeout),
            ("query_memory_limit", &self.query_memory_limit),
            ("conflict", &self.conflict),
            (
                "default_transaction_isolation",
                &self.default_transaction_isolation,
            ),
            ("lock_timeout", &self.lock_timeout),
        ]
    }

    /// Returns the longest time to log in.
    pub fn authentication_timeout(&self) -> Duration {
        Duration::from_secs(self.authentication_timeout_s.max(1))
    }

    /// Returns the time that running statements have to end when the server stops.
    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.shutdown_timeout_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_of_flight_is_one_of_the_same_address() {
        let address = |listen: &str, flight: &str| {
            let config = Config {
                listen: listen.to_string(),
                flight: Some(flight.to_string()),
                ..Config::default()
            };
            config.flight_address()
        };
        assert_eq!(address("[::1]:5432", "32010").as_deref(), Some("[::1]:32010"));
        assert_eq!(address("127.0.0.1:0", "0.0.0.0:7").as_deref(), Some("0.0.0.0:7"));
        assert_eq!(Config::default().flight_address(), None);
    }
}
