//! Structured logs to standard error: lines for people, or JSON for programs.

use serde::{Deserialize, Serialize};
use tracing_subscriber::EnvFilter;

/// How log lines are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Names the variable that says what is logged: `warn`, `rukh_server=debug`.
const FILTER: &str = "RUKH_LOG";

/// Writes the logs of this process to standard error; `RUKH_LOG` says which, `info` and above if it is
/// not set. A second call changes nothing.
pub fn log_to_stderr(format: LogFormat) {
    let filter = EnvFilter::try_from_env(FILTER).unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false);
    // It fails if logs are written already, which is as good.
    let _ = match format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().try_init(),
    };
}
