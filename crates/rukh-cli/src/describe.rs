//! `\d`, `\dt` and `\di`: what the database holds.
//!
//! Lists are the rows of SHOW TABLES and SHOW INDEXES, and columns those of DESCRIBE, in the format set. On a
//! screen the indexes of a table stand below its columns as in a definition:
//!
//! ```text
//! Indexes:
//!     logs_by_period (period, system) INCLUDE (minutes)
//!     UNIQUE logs_minutes (minutes) WHERE minutes > 0
//! ```

use rukh::NameKind;
use rukh::arrow::array::{AsArray, BooleanArray, RecordBatch};
use rukh::arrow::compute::{cast, filter_record_batch};
use rukh::arrow::datatypes::DataType;

use crate::error::CliError;
use crate::fetched::Fetched;
use crate::format::{Format, Frame};
use crate::names;
use crate::session::Session;

/// Writes the tables whose name fits `pattern`.
pub fn tables(session: &mut Session, pattern: Option<&str>) -> Result<(), CliError> {
    list(session, "SHOW TABLES", pattern)
}

/// Writes the indexes whose name fits `pattern`.
pub fn indexes(session: &mut Session, pattern: Option<&str>) -> Result<(), CliError> {
    list(session, "SHOW INDEXES", pattern)
}

/// Writes the columns and indexes of a table, or the row of an index; `name` is as written in SQL.
pub fn object(session: &mut Session, name: &str) -> Result<(), CliError> {
    if is_index(session, name) {
        return list(
            session,
            "SHOW INDEXES",
            Some(&format!("\"{}\"", names::meant(name))),
        );
    }
    let columns = session.fetch(&format!("DESCRIBE {name}"))?;
    let indexes = session.fetch(&format!("SHOW INDEXES FROM {name}"))?;
    let settings = &session.settings;
    let screen =
        matches!(settings.format, Format::Table | Format::Expanded) && settings.style.frame == Frame::Full;
    if !screen {
        session.write_rows_at_hand(&columns)?;
        return if indexes.is_empty() {
            Ok(())
        } else {
            session.write_rows_at_hand(&indexes)
        };
    }
    session.write_text(&format!("Table {name}\n"))?;
    session.write_rows_at_hand(&columns)?;
    session.write_text(&footer(&indexes))
}

fn is_index(session: &mut Session, name: &str) -> bool {
    let meant = names::meant(name);
    let names = session.connection().catalog_names();
    let is = |kind| {
        names
            .iter()
            .any(|entry| entry.kind == kind && entry.name == meant)
    };
    is(NameKind::Index) && !is(NameKind::Table)
}

/// Returns the lines that tell of the indexes of a table.
fn footer(indexes: &Fetched) -> String {
    if indexes.is_empty() {
        return String::new();
    }
    let line = |row: usize| {
        let text = |column: &str| indexes.text(column, row);
        let unique = if text("unique").as_deref() == Some("true") {
            "UNIQUE "
        } else {
            ""
        };
        let name = names::quoted(&text("name").unwrap_or_default());
        let mut line = format!("    {unique}{name} ({})", text("columns").unwrap_or_default());
        line.extend(text("include").map(|columns| format!(" INCLUDE ({columns})")));
        line.extend(text("where").map(|condition| format!(" WHERE {condition}")));
        line.extend(
            text("state")
                .filter(|state| state != "ready")
                .map(|state| format!(" -- {state}")),
        );
        line + "\n"
    };
    let lines: String = (0..indexes.len()).map(line).collect();
    format!("Indexes:\n{lines}\n")
}

/// Writes the rows of `query` whose column `name` fits `pattern`.
fn list(session: &mut Session, query: &str, pattern: Option<&str>) -> Result<(), CliError> {
    let mut rows = session.fetch(query)?;
    if let Some(pattern) = pattern {
        rows.batch = fitting(&rows.batch, pattern).map_err(|error| CliError::command(error.to_string()))?;
    }
    session.write_rows_at_hand(&rows)
}

fn fitting(batch: &RecordBatch, pattern: &str) -> Result<RecordBatch, rukh::arrow::error::ArrowError> {
    let names = cast(batch.column(batch.schema().index_of("name")?), &DataType::Utf8)?;
    let names = names.as_string::<i32>();
    let fits: BooleanArray = names
        .iter()
        .map(|name| name.map(|name| matches(pattern, name)))
        .collect();
    filter_record_batch(batch, &fits)
}

/// Returns whether `name` fits `pattern`, in which `*` stands for any characters and `?` for one.
///
/// Letter case is folded unless the pattern stands in double quotes.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(exact) => glob(exact, name),
        None => glob(&pattern.to_lowercase(), &name.to_lowercase()),
    }
}

/// Matches with one place to go back to: the last `*`, which then takes one character more.
fn glob(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut read, mut retry) = (0, 0, None);
    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                retry = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == name[read] => (at, read) = (at + 1, read + 1),
            _ => match retry {
                Some((star, taken)) => {
                    retry = Some((star, taken + 1));
                    (at, read) = (star + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            ("users", "users", true),
            ("Users", "users", true),
            ("\"Users\"", "users", false),
            ("\"Users\"", "Users", true),
            ("use", "users", false),
            ("use*", "users", true),
            ("*s", "users", true),
            ("*s*s", "users", true),
            ("u?ers", "users", true),
            ("u?rs", "users", false),
            ("*", "", true),
            ("", "a", false),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("好*", "好声音", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
