//! Metrics of statements and storage.
//!
//! | metric                    | labels                        | counts                                             |
//! |---------------------------|-------------------------------|----------------------------------------------------|
//! | `rukh_statements_total`   | `kind`, `path`, `outcome`     | statements                                         |
//! | `rukh_statement_seconds`  | `kind`                        | how long they took, their rows sent                |
//! | `rukh_keys_examined_total`|                               | keys that queries have visited                     |
//! | `rukh_connections`        |                               | sessions now                                       |
//! | `rukh_storage`            | `what`                        | numbers of SHOW DATABASE STATS                     |

use std::time::Duration;

use rukh::{Connection, Database, RunPath};

/// First words of statements that have a metric of their own.
const KINDS: [&str; 20] = [
    "select", "insert", "upsert", "update", "delete", "merge", "copy", "begin", "commit", "rollback", "set",
    "show", "create", "alter", "drop", "truncate", "explain", "analyze", "with", "values",
];

/// Returns the kind of a statement: its first word, if that is one of [`KINDS`].
pub(crate) fn kind_of(text: &str) -> &'static str {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    let word = &text[..end];
    let known = KINDS.iter().find(|kind| kind.eq_ignore_ascii_case(word));
    known.copied().unwrap_or("other")
}

/// Counts a statement that has run, by the connection it ran on, if that has run nothing since.
pub fn count_statement(connection: Option<&Connection>, text: &str, elapsed: Duration, is_ok: bool) {
    let kind = kind_of(text);
    let outcome = if is_ok { "ok" } else { "failed" };
    let stats = match kind {
        "select" | "with" | "values" if is_ok => connection.and_then(Connection::last_query_stats),
        _ => None,
    };
    let path = match stats.as_ref().map(|stats| stats.path) {
        Some(RunPath::Direct) => "direct",
        Some(RunPath::General) => "general",
        None => "",
    };
    metrics::counter!("rukh_statements_total", "kind" => kind, "path" => path, "outcome" => outcome)
        .increment(1);
    metrics::histogram!("rukh_statement_seconds", "kind" => kind).record(elapsed);
    if let Some(stats) = stats {
        metrics::counter!("rukh_keys_examined_total").increment(stats.counters.keys_examined);
    }
}

/// Sets what storage says of itself.
pub(crate) fn storage(database: &Database) {
    let mut connection = database.connect();
    let Ok(rows) = connection.query("SHOW DATABASE STATS") else {
        return;
    };
    for row in rows.flatten() {
        let (Ok(what), Ok(value)) = (row.get::<String>(0), row.get::<String>(1)) else {
            continue;
        };
        let value = match value.as_str() {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            number => number.parse::<f64>(),
        };
        if let Ok(value) = value {
            metrics::gauge!("rukh_storage", "what" => what).set(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_few() {
        for (text, kind) in [
            (" SELECT 1", "select"),
            ("insert into t", "insert"),
            ("", "other"),
            ("(SELECT 1)", "other"),
            ("frobnicate", "other"),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }
}
