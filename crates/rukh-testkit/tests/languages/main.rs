//! Regular expressions and paths of SQL/JSON drawn at random: PostgreSQL and Rukh find the same in the same values, or both fail alike.
//!
//! Deliberately not here: what docs/sql.md names as different.

mod paths;
mod patterns;

use rukh_testkit::client::Client;
use rukh_testkit::postgres;
use rukh_testkit::seed::Case;

/// Asks both a query; returns what differs, and whether they found anything.
fn ask(
    sql: &str,
    rukh: &mut Client,
    postgres: &mut postgres::PostgresDatabase,
    case: &Case,
) -> (Option<String>, bool) {
    let (failure, is_found) = match (rukh.query(sql), postgres.query(sql)) {
        (Ok(ours), Ok(theirs)) => (ours.same_rows(theirs, true).err(), true),
        (Err(ours), Err(theirs)) => {
            let is_same = theirs.sqlstate == ours.sqlstate;
            (
                (!is_same).then(|| format!("{}: {ours}, not {theirs:?}", ours.sqlstate)),
                false,
            )
        }
        (Err(ours), Ok(_)) => (Some(format!("{}: {ours}", ours.sqlstate)), false),
        (Ok(ours), Err(theirs)) => (Some(format!("{ours}, not {theirs:?}")), false),
    };
    let failure = failure.map(|failure| format!("{sql}\n  {failure}\n  {}", case.replay()));
    (failure, is_found)
}

/// Fails with what differs.
fn none_differs(failures: &[String], found: usize, least: usize) {
    assert!(found > least, "only {found} found anything");
    assert!(
        failures.is_empty(),
        "{} differ\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Returns a text as a literal.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
