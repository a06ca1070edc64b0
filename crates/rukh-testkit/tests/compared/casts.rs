//! Every cast between the types that there are, of edge values: PostgreSQL's value, or PostgreSQL's SQLSTATE.
//!
//! Each value is cast as a constant and as a value of a column, which take different paths.

use rukh_testkit::client::Client;
use rukh_testkit::edge::TYPES;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase};

/// What is known to differ: from which type, to which (`*`: to any), which value (`*`: any), and why.
const KNOWN: &[(&str, &str, &str, &str)] = &[
    ("*", "char(5)", "*", "CHAR is shown without blanks"),
    ("char(5)", "json", "*", "CHAR is cast without blanks"),
    ("char(5)", "bytea", "*", "CHAR is kept without blanks"),
    ("real", "*", "-0", "floats have one zero"),
    ("double precision", "*", "-0", "floats have one zero"),
    ("*", "numeric*", "NaN", "there is no NaN among decimals"),
    ("text", "numeric*", "nan", "there is no NaN among decimals"),
    ("text", "smallint", "0x1F", "numbers are read as in PostgreSQL 16"),
    (
        "text",
        "smallint",
        "1_000",
        "numbers are read as in PostgreSQL 16",
    ),
    ("text", "integer", "0x1F", "numbers are read as in PostgreSQL 16"),
    ("text", "integer", "1_000", "numbers are read as in PostgreSQL 16"),
    ("text", "bigint", "0x1F", "numbers are read as in PostgreSQL 16"),
    ("text", "bigint", "1_000", "numbers are read as in PostgreSQL 16"),
    ("text", "real", "0x1F", "floats have no hexadecimal digits"),
    (
        "text",
        "double precision",
        "0x1F",
        "floats have no hexadecimal digits",
    ),
    (
        "text",
        "numeric*",
        "1_000",
        "numbers are read as in PostgreSQL 16",
    ),
    (
        "text",
        "numeric*",
        "Infinity",
        "there is no infinity among decimals",
    ),
    ("text", "numeric*", "inf", "there is no infinity among decimals"),
    ("text", "time", "P1Y", "a zone with a summer time is no name here"),
    ("text", "interval", "12:60", "an interval out of range is 22007"),
    (
        "real",
        "numeric",
        "3e38",
        "numbers have 38 digits before and after the point",
    ),
    (
        "double precision",
        "numeric",
        "1e300",
        "numbers have 38 digits before and after the point",
    ),
    (
        "real",
        "numeric",
        "Infinity",
        "there is no infinity among decimals",
    ),
    (
        "real",
        "numeric",
        "-Infinity",
        "there is no infinity among decimals",
    ),
    (
        "double precision",
        "numeric",
        "Infinity",
        "there is no infinity among decimals",
    ),
    (
        "double precision",
        "numeric",
        "-Infinity",
        "there is no infinity among decimals",
    ),
];

fn is_alike(pattern: &str, text: &str) -> bool {
    let begins = |start: &str| text.starts_with(start);
    pattern == text || pattern.strip_suffix('*').is_some_and(begins)
}

#[test]
fn casts_give_what_postgresql_gives() {
    let name = "casts_give_what_postgresql_gives";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let utc = postgres.execute("SET TimeZone = 'UTC'");
    utc.expect("PostgreSQL has the time zone");
    let mut rukh = Client::in_memory();
    let mut used = vec![false; KNOWN.len()];
    let mut different = Vec::new();
    for (from, values) in TYPES {
        for (to, _) in TYPES {
            for value in *values {
                let literal = format!("'{}'", value.replace('\'', "''"));
                let constant = format!("SELECT CAST({literal} AS {from})::{to} AS r");
                let column = format!(
                    "SELECT x::{to} AS r FROM (SELECT CAST(y AS {from}) AS x FROM (VALUES ({literal}::text), ({literal}::text)) v(y)) w LIMIT 1"
                );
                for sql in [constant, column] {
                    let Err(difference) = same(&mut rukh, &mut postgres, &sql) else {
                        continue;
                    };
                    let known = KNOWN
                        .iter()
                        .position(|(f, t, v, _)| is_alike(f, from) && is_alike(t, to) && is_alike(v, value));
                    match known {
                        Some(at) => used[at] = true,
                        None => different.push(format!("{sql}\n  {difference}")),
                    }
                }
            }
        }
    }
    let stale = KNOWN.iter().zip(used).filter(|(_, used)| !used);
    different.extend(stale.map(|(known, _)| format!("{known:?} does not differ")));
    assert!(
        different.is_empty(),
        "{} casts differ\n{}",
        different.len(),
        different.join("\n")
    );
}

/// Says how a query differs.
fn same(rukh: &mut Client, postgres: &mut PostgresDatabase, sql: &str) -> Result<(), String> {
    match (rukh.query(sql), postgres.query(sql)) {
        (Ok(ours), Ok(theirs)) => ours.same_rows(theirs, true),
        (Err(ours), Err(theirs)) if ours.sqlstate == theirs.sqlstate => Ok(()),
        (ours, theirs) => {
            let said = |result: Result<String, String>| result.unwrap_or_else(|error| error);
            let ours = said(
                ours.map(|table| table.to_string())
                    .map_err(|error| format!("{}: {error}", error.sqlstate)),
            );
            let theirs = said(
                theirs
                    .map(|table| table.to_string())
                    .map_err(|error| error.to_string()),
            );
            Err(format!("{}, not {}", ours.trim(), theirs.trim()))
        }
    }
}

#[test]
fn the_table_of_casts_is_postgresqls() {
    let name = "the_table_of_casts_is_postgresqls";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    const TYPES: &str =
        "(16, 17, 20, 21, 23, 25, 114, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184, 1186, 1700, 2950, 3802)";
    let sql = format!(
        "SELECT castsource, casttarget, castcontext FROM pg_cast WHERE castsource IN {TYPES} AND casttarget IN {TYPES} ORDER BY 1, 2"
    );
    let expected = postgres.query(&sql).expect("PostgreSQL has pg_cast");
    let table = Client::in_memory().query(&sql).expect("Rukh has pg_cast");
    assert_eq!(table.same_rows(expected, true), Ok(()));
}
