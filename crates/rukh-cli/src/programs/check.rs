//! `rukh check`: proves that tables and their indexes agree.
//!
//! Every table is one line on standard output, and everything found is one more:
//!
//! ```text
//! users: 4 rows, 8 index entries: nothing wrong
//! logs: 2 rows, 1 index entries: 1 missing, 0 dangling, 0 differing, 0 corrupt
//!   missing logs@by_period/201510/1
//! ```

use std::path::Path;

use crate::base::error::{CliError, Exit};
use crate::base::fetched::Fetched;
use crate::programs::run::{self, Access};
use crate::sessions::session::{Mode, Session};
use crate::sessions::settings::Settings;
use crate::words::names;

/// The counts that must be zero.
const FAULTS: [&str; 4] = ["missing", "dangling", "differing", "corrupt"];
/// The counts that come before the findings in the rows of CHECK TABLE.
const COUNTS: usize = 2 + FAULTS.len();

/// Checks the tables named, as written in SQL, or all, of the database at `directory`.
pub fn run(directory: &Path, tables: &[String]) -> Exit {
    let opened = run::open(directory, Access::Read);
    let session = opened.and_then(|database| Session::new(&database, Settings::script(), Mode::Script));
    let mut session = match session {
        Ok(session) => session,
        Err(error) => return run::give_up(&error),
    };
    match check(&mut session, tables) {
        Ok(false) => Exit::Failed,
        Ok(true) => run::finish(&mut session, Ok(())),
        Err(error) => run::finish(&mut session, Err(error)),
    }
}

/// Checks table by table; returns whether nothing was found.
fn check(session: &mut Session, tables: &[String]) -> Result<bool, CliError> {
    let named = if tables.is_empty() {
        all_tables(session)?
    } else {
        tables.to_vec()
    };
    let mut clean = true;
    for table in named {
        let report = Report(session.fetch(&format!("CHECK TABLE {table}"))?);
        session.write_text(&report.text(&table))?;
        clean &= report.is_clean();
    }
    Ok(clean)
}

/// Returns the names of all tables as statements write them.
fn all_tables(session: &mut Session) -> Result<Vec<String>, CliError> {
    let tables = session.fetch("SHOW TABLES")?;
    let name = |row| {
        let name = names::quoted(&tables.text("name", row).unwrap_or_default());
        match tables.text("schema", row).as_deref() {
            None | Some("public") => name,
            Some(schema) => format!("{}.{name}", names::quoted(schema)),
        }
    };
    let is_view = |row: &usize| tables.text("kind", *row).as_deref() == Some("view");
    Ok((0..tables.len()).filter(|row| !is_view(row)).map(name).collect())
}

/// What CHECK TABLE said: rows of finding, value and detail, the counts first.
struct Report(Fetched);

impl Report {
    fn count(&self, what: &str) -> String {
        let counts = 0..COUNTS.min(self.0.len());
        let row = counts
            .into_iter()
            .find(|row| self.0.text("finding", *row).as_deref() == Some(what));
        row.and_then(|row| self.0.text("value", row)).unwrap_or_default()
    }

    fn is_clean(&self) -> bool {
        FAULTS.iter().all(|fault| self.count(fault) == "0")
    }

    fn text(&self, table: &str) -> String {
        let faults = FAULTS
            .map(|fault| format!("{} {fault}", self.count(fault)))
            .join(", ");
        let verdict = if self.is_clean() { "nothing wrong" } else { &faults };
        let mut text = format!(
            "{table}: {} rows, {} index entries: {verdict}\n",
            self.count("rows"),
            self.count("entries")
        );
        for row in COUNTS..self.0.len() {
            let value = |column| self.0.text(column, row).unwrap_or_default();
            let detail = match value("detail") {
                detail if detail.is_empty() => detail,
                detail => format!(": {detail}"),
            };
            text.push_str(&format!("  {} {}{detail}\n", value("finding"), value("value")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rukh::arrow::array::{ArrayRef, RecordBatch, StringArray};

    use super::*;

    fn report(rows: &[[&str; 3]]) -> Report {
        let column =
            |n: usize| Arc::new(rows.iter().map(|row| Some(row[n])).collect::<StringArray>()) as ArrayRef;
        let columns = [
            ("finding", column(0)),
            ("value", column(1)),
            ("detail", column(2)),
        ];
        Report(Fetched {
            batch: RecordBatch::try_from_iter(columns).expect("columns have one length"),
        })
    }

    #[test]
    fn findings_are_printed() {
        let counts = |missing, corrupt| {
            [
                ["rows", "4", ""],
                ["entries", "3", ""],
                ["missing", missing, ""],
                ["dangling", "0", ""],
                ["differing", "0", ""],
                ["corrupt", corrupt, ""],
            ]
        };
        let sound = report(&counts("0", "0"));
        assert!(sound.is_clean());
        assert_eq!(sound.text("t"), "t: 4 rows, 3 index entries: nothing wrong\n");

        let findings = [["missing", "t@i/'a'/1", ""], ["corrupt", "t/2", "row ends early"]];
        let broken = report(&[&counts("1", "1")[..], &findings].concat());
        assert!(!broken.is_clean());
        let expected = "t: 4 rows, 3 index entries: 1 missing, 0 dangling, 0 differing, 1 corrupt\n  \
                        missing t@i/'a'/1\n  corrupt t/2: row ends early\n";
        assert_eq!(broken.text("t"), expected);
    }
}
