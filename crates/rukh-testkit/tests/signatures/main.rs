//! Every function, operator, aggregate and window function that PostgreSQL's catalog lists for the types that there are: PostgreSQL's
//! value, type and SQLSTATE, on edge values.
//!
//! The catalog is the generator: each case is one of its signatures, with values drawn by a seed; some of the arguments get a type
//! that the signature does not have, or none. The call is run with constants, with columns and with parameters, and of the columns of a table, in its
//! conditions and indexes (`stored.rs`). `RUKH_CASES` says how many cases, `RUKH_SEED` which; `RUKH_REPORT` names a directory for lists of all that differs.
//!
//! What is known to differ is in `known.txt` and `known_stored.txt`, a line each: what differs, of which call (`*` is anything), and why.

mod call;
mod known;
mod stored;

use std::collections::{BTreeMap, BTreeSet};

use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase, PostgresError};
use rukh_testkit::seed::Cases;
use rukh_testkit::table::{ColumnKind, Table};

use call::{Call, Signature};
use known::Known;

/// How an answer differs from PostgreSQL's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Difference {
    /// Another value.
    Value,
    /// Another type.
    Type,
    /// An answer where PostgreSQL refuses.
    Answers,
    /// A refusal where PostgreSQL answers.
    Refused,
    /// Another SQLSTATE.
    Error,
}

impl Difference {
    const ALL: [(Difference, &'static str); 5] = [
        (Difference::Value, "value"),
        (Difference::Type, "type"),
        (Difference::Answers, "answers"),
        (Difference::Refused, "refused"),
        (Difference::Error, "error"),
    ];

    fn name(self) -> &'static str {
        Difference::ALL[self as usize].1
    }
}

#[test]
fn calls_give_what_postgresql_gives() {
    let name = "calls_give_what_postgresql_gives";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let settings = postgres.execute("SET TimeZone = 'UTC'; SET statement_timeout = '5s'");
    settings.expect("PostgreSQL has these settings");
    let signatures = Signature::all(&mut postgres);
    let cases = Cases::from_seed(name, 0, 5_000);
    let mut known = Known::read(include_str!("known.txt"));
    let mut rukh = Client::in_memory();
    let mut same = 0;
    let mut found = Found::new();
    for case in cases.iter() {
        let mut random = case.random();
        let at = usize::try_from(case.seed).unwrap_or_default() % signatures.len();
        let call = Call::of(&signatures[at], &mut random);
        for sql in call.queries() {
            match difference(&mut rukh, &mut postgres, &sql, call.varies()) {
                Ok(()) => same += 1,
                Err((difference, said)) => {
                    let key = (difference, call.signature());
                    found.entry(key).or_default().push(format!("{sql}\n    {said}"));
                }
            }
        }
        if let Some([types, query, values]) = call.prepared() {
            let prepare = format!("PREPARE c ({types}) AS {query}");
            let execute = format!("EXECUTE c ({values})");
            let ours = rukh.query(&prepare).and_then(|_| rukh.query(&execute));
            let theirs = postgres.query(&prepare).and_then(|_| postgres.query(&execute));
            match compared(ours, theirs, call.varies()) {
                Ok(()) => same += 1,
                Err((difference, said)) => {
                    let key = (difference, call.signature());
                    let sql = format!("{prepare}; {execute}");
                    found.entry(key).or_default().push(format!("{sql}\n    {said}"));
                }
            }
            // Fails where there is none.
            let _ = (rukh.query("DEALLOCATE c"), postgres.query("DEALLOCATE c"));
        }
    }
    println!("{} signatures of the catalog", signatures.len());
    judge("calls", &found, &mut known, same);
    // A part of the cases does not meet each line.
    if seed_is_whole(&signatures) {
        assert_eq!(known.unmet(), Vec::<&str>::new(), "these do not differ");
    }
}

/// What differs: how, the call, and the statements with their answers.
type Found = BTreeMap<(Difference, String), Vec<String>>;

/// Counts what is the same, and what differs and is known to.
///
/// # Panics
/// If something differs that is not known.
fn judge(name: &str, found: &Found, known: &mut Known, same: usize) {
    report(name, found);
    let mut unknown = Vec::new();
    let mut counts = [(0, 0); Difference::ALL.len()];
    for ((difference, call), examples) in found {
        let (known_ones, new_ones) = &mut counts[*difference as usize];
        let is_limit = examples
            .iter()
            .all(|said| is_beyond_digits(*difference, said) || is_no_key(said));
        match is_limit || known.has(difference.name(), call) {
            true => *known_ones += examples.len(),
            false => {
                *new_ones += examples.len();
                unknown.push(format!("{} {call}\n  {}", difference.name(), examples[0]));
            }
        }
    }
    println!("{same} same");
    for ((_, name), (known, new)) in Difference::ALL.iter().zip(counts) {
        println!("{name}: {known} known, {new} not");
    }
    assert!(
        unknown.is_empty(),
        "{} calls differ\n{}",
        unknown.len(),
        unknown.join("\n")
    );
}

/// Whether each signature is called so often that what is known to differ does.
fn seed_is_whole(signatures: &[Signature]) -> bool {
    const CALLS_OF_EACH: usize = 50;
    let count = rukh_testkit::seed::number("RUKH_CASES").unwrap_or_default();
    usize::try_from(count).is_ok_and(|count| count >= signatures.len() * CALLS_OF_EACH)
}

/// Writes all that differs to a file in the directory that `RUKH_REPORT` names.
fn report(name: &str, found: &Found) {
    let Ok(directory) = std::env::var("RUKH_REPORT") else {
        return;
    };
    let path = format!("{directory}/{name}.txt");
    let lines = found.iter().map(|((difference, call), examples)| {
        let shown: Vec<&str> = examples.iter().take(3).map(String::as_str).collect();
        format!(
            "{} {call} ({} times)\n  {}\n",
            difference.name(),
            examples.len(),
            shown.join("\n  ")
        )
    });
    std::fs::create_dir_all(&directory).unwrap_or_else(|error| panic!("{directory}: {error}"));
    std::fs::write(&path, lines.collect::<String>()).unwrap_or_else(|error| panic!("{path}: {error}"));
}

/// Asks both databases; says how the answers differ. Of what varies from call to call only the type counts.
fn difference(
    rukh: &mut Client,
    postgres: &mut PostgresDatabase,
    sql: &str,
    varies: bool,
) -> Result<(), (Difference, String)> {
    let (ours, theirs) = (rukh.query(sql), postgres.query(sql));
    let have_types = ours.is_ok() && theirs.is_ok();
    compared(ours, theirs, varies)?;
    if !have_types {
        return Ok(());
    }
    match (rukh.types(sql), postgres.types(sql)) {
        (Ok(ours), Ok(theirs)) if ours == theirs => Ok(()),
        (ours, theirs) => Err((Difference::Type, format!("{ours:?}, not {theirs:?}"))),
    }
}

/// Says how two answers differ.
fn compared(
    ours: Result<Table, rukh::Error>,
    theirs: Result<Table, PostgresError>,
    varies: bool,
) -> Result<(), (Difference, String)> {
    let (ours, theirs) = match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => (ours, theirs),
        (Err(ours), Err(theirs)) if ours.sqlstate == theirs.sqlstate => return Ok(()),
        (Err(ours), Err(theirs)) => {
            let said = format!("{}: {ours}, not {theirs}", ours.sqlstate);
            return Err((Difference::Error, said));
        }
        (Ok(ours), Err(theirs)) => {
            let said = format!("{}, not {theirs}", ours.to_string().trim().replace('\n', " "));
            return Err((Difference::Answers, said));
        }
        (Err(ours), Ok(theirs)) => {
            let theirs = theirs.to_string();
            let said = format!(
                "{}: {ours}, not {}",
                ours.sqlstate,
                theirs.trim().replace('\n', " ")
            );
            return Err((Difference::Refused, said));
        }
    };
    if varies {
        return Ok(());
    }
    let same = with_one_zero(ours).same_rows(with_one_zero(theirs), true);
    same.map_err(|said| (Difference::Value, said.replace('\n', " ")))
}

/// Writes `-0` as `0`: floats have one zero here.
fn with_one_zero(mut table: Table) -> Table {
    for text in table.rows.iter_mut().flatten().flatten() {
        let mut from = 0;
        while let Some(at) = text[from..].find("-0").map(|at| from + at) {
            let before = text[..at].chars().next_back();
            let after = text[at + 2..].chars().next();
            let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | ':' | '+');
            if before.is_some_and(is_part) || after.is_some_and(is_part) {
                from = at + 2;
            } else {
                text.remove(at);
                from = at + 1;
            }
        }
    }
    table
}

/// Whether a call is refused for a number of more digits before the point than NUMERIC has here, 38.
fn is_beyond_digits(difference: Difference, said: &str) -> bool {
    let digits = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .any(|run| run.len() > 38)
    };
    difference == Difference::Refused && said.contains("\n    22003: ") && digits(said)
}

/// Whether an index is refused, or a value of one: there are no keys of arrays and intervals, of days before the year 1, and of numbers of
/// more than 38 digits before the point.
fn is_no_key(said: &str) -> bool {
    let of_key = said.contains("\n    0A000: an index cannot hold values of type ")
        || said.contains("\n    22008: ") && said.contains(" BC\"")
        || said.contains("\n    22003: value overflows numeric format, ");
    of_key && said.contains("CREATE INDEX")
}

#[test]
fn floats_have_one_zero() {
    let texts = ["-0", "{1,-0,-0.5}", "2024-01-02", "x-0", "-0 -0"];
    let rows = texts.iter().map(|text| vec![Some((*text).to_owned())]).collect();
    let table = Table {
        columns: vec!["a".to_owned()],
        kinds: vec![ColumnKind::Exact],
        rows,
    };
    let texts: Vec<String> = with_one_zero(table)
        .rows
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    assert_eq!(texts, ["0", "{1,0,-0.5}", "2024-01-02", "x-0", "0 0"]);
}

/// Signatures of functions that PostgreSQL has with other ones: name, numbers of the types of arguments and result.
///
/// Those of functions that are not in the table of signatures; `date_bin` without an origin; `max` and `min` of more types.
const OTHER_SIGNATURES: [&str; 18] = [
    "date_bin|1186 1114|1114",
    "date_bin|1186 1184|1184",
    "gen_random_uuid||25",
    "inet_client_addr||25",
    "inet_server_addr||25",
    "like_escape|25|25",
    "max|16|16",
    "max|17|17",
    "max|2950|2950",
    "min|16|16",
    "min|17|17",
    "min|2950|2950",
    "pg_advisory_unlock_all||25",
    "pg_cancel_backend|20|16",
    "pg_sleep_for|1186|25",
    "pg_sleep_until|1184|25",
    "pg_sleep|701|25",
    "pg_terminate_backend|20|16",
];

/// Returns the rows of a query, their values between bars. Vectors of numbers are lists to one database, and numbers beside each other to
/// the other.
fn joined(table: Table) -> BTreeSet<String> {
    let row = |row: Vec<Option<String>>| {
        let row = row.into_iter().flatten().collect::<Vec<_>>().join("|");
        row.replace(['{', '}'], "").replace(',', " ")
    };
    table.rows.into_iter().map(row).collect()
}

#[test]
fn the_table_of_operators_is_postgresqls() {
    let name = "the_table_of_operators_is_postgresqls";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let sql = "SELECT oprname, oprkind, oprleft, oprright, oprresult FROM pg_operator";
    let theirs = joined(postgres.query(sql).expect("PostgreSQL has pg_operator"));
    let ours = joined(Client::in_memory().query(sql).expect("Rukh has pg_operator"));
    assert!(ours.contains("=|b|23|23|16"), "the table is in pg_operator");
    let others: Vec<&String> = ours.difference(&theirs).collect();
    assert_eq!(others, Vec::<&String>::new(), "PostgreSQL has no such operators");
}

#[test]
fn the_table_of_signatures_is_postgresqls() {
    let name = "the_table_of_signatures_is_postgresqls";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let sql = "SELECT proname, proargtypes, prorettype FROM pg_proc";
    let theirs = joined(postgres.query(sql).expect("PostgreSQL has pg_proc"));
    let ours = joined(Client::in_memory().query(sql).expect("Rukh has pg_proc"));
    let names: BTreeSet<&str> = theirs.iter().filter_map(|row| row.split('|').next()).collect();
    let is_typed = |row: &str| {
        !["2276", "2277", "2283"]
            .iter()
            .any(|any| row.split(['|', ' ']).any(|part| part == *any))
    };
    let of_both = |row: &&String| row.split('|').next().is_some_and(|name| names.contains(name));
    let others: Vec<&str> = ours
        .iter()
        .filter(of_both)
        .filter(|row| !theirs.contains(*row) && is_typed(row))
        .map(String::as_str)
        .collect();
    assert_eq!(others, OTHER_SIGNATURES);
    assert!(ours.contains("abs|23|23"), "the table is in pg_proc");
}
