//! `\d`, `\dt` and their kin: what the database holds.
//!
//! Lists of tables and indexes are the rows of SHOW TABLES and SHOW INDEXES, and columns those of DESCRIBE; the
//! other lists are queries of `pg_catalog`, in the format set. On a screen what else belongs to a table stands
//! below its columns, indexes as in a definition:
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

use crate::base::error::CliError;
use crate::base::fetched::Fetched;
use crate::format::{Format, Frame};
use crate::sessions::meta::{Detail, Listed};
use crate::sessions::session::Session;
use crate::words::names;

/// Lists the objects whose names match `pattern`.
pub fn list(
    session: &mut Session,
    what: Listed,
    pattern: Option<&str>,
    detail: Detail,
) -> Result<(), CliError> {
    let relations = |kind: &str, before: &str| match detail {
        Detail::Short => format!(
            "SELECT n.nspname AS schema, c.relname AS name, pg_get_userbyid(c.relowner) AS owner \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ({kind}) \
             AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ),
        Detail::Full => format!(
            "SELECT n.nspname AS schema, c.relname AS name, {before}pg_get_userbyid(c.relowner) AS owner, \
             pg_size_pretty(pg_table_size(c.oid)) AS size, obj_description(c.oid, 'pg_class') AS description \
             FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ({kind}) \
             AND n.nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
        ),
    };
    let query = match (what, detail) {
        (Listed::Tables, Detail::Short) => "SHOW TABLES".to_owned(),
        (Listed::Tables, Detail::Full) => relations("'r', 'v'", ""),
        (Listed::Indexes, Detail::Short) => "SHOW INDEXES".to_owned(),
        (Listed::Indexes, Detail::Full) => relations("'i'", "pg_get_indexdef(c.oid) AS definition, "),
        (Listed::Views, _) => relations("'v'", ""),
        (Listed::Sequences, Detail::Full) => relations("'S'", ""),
        (Listed::Sequences, Detail::Short) => SEQUENCES.to_owned() + " ORDER BY 1, 2",
        (Listed::Schemas, Detail::Short) => "SELECT nspname AS name, pg_get_userbyid(nspowner) AS owner \
            FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1"
            .to_owned(),
        (Listed::Schemas, Detail::Full) => "SELECT nspname AS name, pg_get_userbyid(nspowner) AS owner, \
            obj_description(oid, 'pg_namespace') AS description FROM pg_namespace \
            WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' ORDER BY 1"
            .to_owned(),
        (Listed::Roles, _) => "SELECT rolname AS name, rolsuper AS superuser, rolcanlogin AS login, \
            rolvaliduntil AS valid_until FROM pg_roles ORDER BY 1"
            .to_owned(),
        (Listed::Functions, _) => "SELECT proname AS name, pg_get_function_result(oid) AS result, \
            pg_get_function_arguments(oid) AS arguments, CASE prokind WHEN 'a' THEN 'aggregate' \
            WHEN 'w' THEN 'window' ELSE 'function' END AS kind FROM pg_proc ORDER BY 1, 3, 2"
            .to_owned(),
        (Listed::Databases, _) => "SELECT datname AS name, pg_get_userbyid(datdba) AS owner, \
            pg_encoding_to_char(encoding) AS encoding, pg_size_pretty(pg_database_size(datname)) AS size \
            FROM pg_database ORDER BY 1"
            .to_owned(),
    };
    write_fitting(session, &query, pattern)
}

const SEQUENCES: &str = "SELECT schemaname AS schema, sequencename AS name, data_type AS type, \
    start_value AS start, min_value AS minimum, max_value AS maximum, increment_by AS increment, cycle \
    FROM pg_sequences";

/// Writes the columns and indexes of a table, the columns of a view, the row of an index or a sequence;
/// `name` is as written in SQL.
pub fn object(session: &mut Session, name: &str, detail: Detail) -> Result<(), CliError> {
    if is_index(session, name) {
        let pattern = format!("\"{}\"", names::meant(name));
        return list(session, Listed::Indexes, Some(&pattern), detail);
    }
    let oid = format!("to_regclass({})", literal(name));
    let kind = session.fetch(&format!("SELECT relkind AS kind FROM pg_class WHERE oid = {oid}"))?;
    let kind = match kind.is_empty() {
        true => None,
        false => kind.text("kind", 0),
    };
    if kind.as_deref() == Some("S") {
        let of = "JOIN pg_class c ON c.relname = s.sequencename";
        let query = SEQUENCES.replace("pg_sequences", "pg_sequences s");
        let same_schema = "c.relnamespace::regnamespace::text = quote_ident(s.schemaname)";
        let query = format!("{query} {of} AND {same_schema} WHERE c.oid = {oid}");
        return write_fitting(session, &query, None);
    }
    let columns = session.fetch(&format!("DESCRIBE {name}"))?;
    let is_view = kind.as_deref() == Some("v");
    let indexes = match is_view {
        true => None,
        false => Some(session.fetch(&format!("SHOW INDEXES FROM {name}"))?),
    };
    let settings = &session.settings;
    let screen =
        matches!(settings.format, Format::Table | Format::Expanded) && settings.style.frame == Frame::Full;
    if !screen {
        session.write_rows_at_hand(&columns)?;
        return match indexes.filter(|indexes| !indexes.is_empty()) {
            None => Ok(()),
            Some(indexes) => session.write_rows_at_hand(&indexes),
        };
    }
    let what = if is_view { "View" } else { "Table" };
    session.write_text(&format!("{what} {name}\n"))?;
    session.write_rows_at_hand(&columns)?;
    if let Some(indexes) = indexes {
        session.write_text(&footer(&indexes))?;
    }
    match detail {
        Detail::Short => Ok(()),
        Detail::Full => more(session, &oid, is_view),
    }
}

/// Writes the rest of the description of a table or view: checks, comments, size, query.
fn more(session: &mut Session, oid: &str, is_view: bool) -> Result<(), CliError> {
    let checks = session.fetch(&format!(
        "SELECT '    ' || quote_ident(conname) || ' ' || pg_get_constraintdef(oid) AS line \
         FROM pg_constraint WHERE conrelid = {oid} AND contype = 'c' ORDER BY conname"
    ))?;
    let comments = session.fetch(&format!(
        "SELECT '    ' || quote_ident(attname) || ': ' || col_description(attrelid, attnum) AS line \
         FROM pg_attribute WHERE attrelid = {oid} AND attnum > 0 \
         AND col_description(attrelid, attnum) IS NOT NULL ORDER BY attnum"
    ))?;
    let about = session.fetch(&format!(
        "SELECT obj_description(oid, 'pg_class') AS description, \
         pg_size_pretty(pg_table_size(oid)) AS size, \
         pg_size_pretty(pg_indexes_size(oid)) AS indexes FROM pg_class WHERE oid = {oid}"
    ))?;
    let mut text = String::new();
    for (title, rows) in [("Check constraints", checks), ("Comments of columns", comments)] {
        if !rows.is_empty() {
            text.push_str(&format!("{title}:\n"));
        }
        let lines = (0..rows.len()).filter_map(|row| rows.text("line", row));
        lines.for_each(|line| text.push_str(&format!("{line}\n")));
    }
    let one = |column| match about.is_empty() {
        true => None,
        false => about.text(column, 0),
    };
    if let Some(comment) = one("description") {
        text.push_str(&format!("Comment: {comment}\n"));
    }
    if let (false, Some(size), Some(indexes)) = (is_view, one("size"), one("indexes")) {
        text.push_str(&format!("Size: {size}, indexes {indexes}\n"));
    }
    if is_view {
        let query = query_of_view(session, oid)?.unwrap_or_default();
        text.push_str(&format!("View definition:\n{query}\n"));
    }
    session.write_text(&format!("{text}\n"))
}

/// Writes the statement that makes a view.
pub fn view_text(session: &mut Session, name: &str) -> Result<(), CliError> {
    let oid = format!("to_regclass({})", literal(name));
    match query_of_view(session, &oid)? {
        Some(query) => session.write_text(&format!("CREATE OR REPLACE VIEW {name} AS\n{query}\n")),
        None => Err(CliError::command(format!("there is no view {name}"))),
    }
}

fn query_of_view(session: &mut Session, oid: &str) -> Result<Option<String>, CliError> {
    let query = format!("SELECT pg_get_viewdef(oid, true) AS query FROM pg_class WHERE oid = {oid}");
    let rows = session.fetch(&query)?;
    Ok(match rows.is_empty() {
        true => None,
        false => rows.text("query", 0),
    })
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
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

/// Returns the lines about the indexes of a table.
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
fn write_fitting(session: &mut Session, query: &str, pattern: Option<&str>) -> Result<(), CliError> {
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
