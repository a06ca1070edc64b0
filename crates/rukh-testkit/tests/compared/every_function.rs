//! Every function that there is, with every edge value of every type: an answer or an error that says what is wrong.
//!
//! The names come from the catalog of functions, so that a new function is tried by its being there. Errors with
//! SQLSTATE XX000 are defects of the program; a panic becomes one, or ends the test.
//!
//! Of two and three arguments a random part is tried: `RUKH_CASES` says how often, `RUKH_SEED` which; without it
//! the same in every run.

#![allow(clippy::unwrap_used)]

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rukh::{Database, Error};
use rukh_testkit::client::Client;
use rukh_testkit::seed::{Case, Cases};

/// Edge values, each with its type.
const VALUES: &[&str] = &[
    "NULL",
    "true",
    "0",
    "1",
    "(-1)",
    "64",
    "'-32768'::smallint",
    "2147483647",
    "'-2147483648'::integer",
    "9223372036854775807",
    "'-9223372036854775808'::bigint",
    "0.1",
    "'-99999999999999999999999999999999999999'::numeric(38, 0)",
    "'0.99999999999999999999999999999999999999'::numeric(38, 38)",
    "'-0'::double precision",
    "'NaN'::double precision",
    "'Infinity'::double precision",
    "'-Infinity'::double precision",
    "1e308::double precision",
    "'5e-324'::double precision",
    "'3.4e38'::real",
    "'NaN'::real",
    "''",
    "'a'",
    "' '",
    "'é😀'",
    "'Infinity'",
    "'-1'",
    "'%_\\'",
    "'[(*'",
    "'day'",
    "'YYYY-MM-DD HH24:MI:SS.US TZ FM9990D00PR'",
    "'2024-02-30'",
    "'{\"a\": [1, null, {\"b\": \"c\"}]}'",
    "repeat('ab', 5000)",
    "'\\x00ff'::bytea",
    "'\\x'::bytea",
    "DATE '0001-01-01'",
    "DATE '9999-12-31'",
    "DATE '2024-02-29'",
    "TIMESTAMP '0001-01-01 00:00:00'",
    "TIMESTAMP '9999-12-31 23:59:59.999999'",
    "TIMESTAMPTZ '9999-12-31 23:59:59.999999+00'",
    "TIME '23:59:59.999999'",
    "TIME '00:00:00'",
    "INTERVAL '1 month -1 day 00:00:01'",
    "INTERVAL '100000000 years'",
    "INTERVAL '-2147483648 days'",
    "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid",
    "'{\"a\": [1, null, {\"b\": \"c\"}], \"n\": 1.50}'::jsonb",
    "'[1e400, \"x\"]'::jsonb",
    "'\"a\"'::jsonb",
    "'{\"a\" : 1, \"a\":[{}]}'::json",
    "'null'::json",
    "ARRAY[1, NULL, 3]",
    "ARRAY['a', NULL]",
    "ARRAY[]::integer[]",
];

const OPERATORS: &[&str] = &[
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "=",
    "<>",
    "<",
    ">=",
    "||",
    "~",
    "~*",
    "!~",
    "LIKE",
    "NOT ILIKE",
    "SIMILAR TO",
    "AND",
    "&",
    "|",
    "<<",
    ">>",
    "IS DISTINCT FROM",
    "@>",
    "<@",
    "&&",
    "->",
    "->>",
    "^@",
    "AT TIME ZONE",
];

const TYPES: &[&str] = &[
    "boolean",
    "smallint",
    "integer",
    "bigint",
    "real",
    "double precision",
    "numeric(10, 2)",
    "numeric(38, 0)",
    "text",
    "varchar(3)",
    "char(3)",
    "bytea",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "integer[]",
    "text[]",
];

/// Functions that wait, end others, or answer with something new each time.
const NOT_CALLED: &[&str] = &[
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_terminate_backend",
    "pg_cancel_backend",
];

/// Answers that are not of the statement.
fn is_unthought_of(error: &Error) -> bool {
    error.sqlstate == "XX000" || error.message.contains("panick")
}

struct Caller {
    client: Client,
    called: u64,
    faults: Vec<String>,
}

impl Caller {
    fn new() -> Self {
        let database = Database::open_in_memory().unwrap();
        let mut client = Client::new(&database);
        client.run("CREATE TABLE one (k INTEGER PRIMARY KEY)").unwrap();
        client.run("INSERT INTO one VALUES (1)").unwrap();
        Caller {
            client,
            called: 0,
            faults: Vec::new(),
        }
    }

    /// Tries an expression: as a constant, and computed for a row.
    fn call(&mut self, expression: &str) {
        for sql in [
            format!("SELECT {expression} LIMIT 3"),
            format!("SELECT {expression} FROM one WHERE k = 1 LIMIT 3"),
        ] {
            self.called += 1;
            if let Err(error) = self.client.run(&sql)
                && is_unthought_of(&error)
            {
                self.faults
                    .push(format!("{sql}\n    {} {}", error.sqlstate, error.message));
            }
        }
    }

    /// Tries an expression as a constant.
    fn call_constant(&mut self, expression: &str) {
        self.called += 1;
        let sql = format!("SELECT {expression} LIMIT 3");
        if let Err(error) = self.client.run(&sql)
            && is_unthought_of(&error)
        {
            self.faults
                .push(format!("{sql}\n    {} {}", error.sqlstate, error.message));
        }
    }

    /// Whether there is a function for the types of these arguments.
    fn takes(&mut self, expression: &str) -> bool {
        let result = self.client.run(&format!("SELECT {expression} LIMIT 3"));
        !matches!(result, Err(error) if error.sqlstate == "42883")
    }

    fn end(self, what: &str) {
        println!("{what}: {} statements", self.called);
        assert!(self.called > 100, "nothing was tried");
        let shown: Vec<&str> = self.faults.iter().take(60).map(String::as_str).collect();
        assert!(
            shown.is_empty(),
            "{} of {}:\n{}",
            self.faults.len(),
            self.called,
            shown.join("\n")
        );
    }
}

fn names(client: &mut Client, kinds: &str) -> Vec<String> {
    let sql = format!("SELECT DISTINCT proname FROM pg_proc WHERE prokind IN ({kinds}) ORDER BY proname");
    let rows = client.query(&sql).unwrap().rows;
    let names: Vec<String> = rows.into_iter().filter_map(|row| row[0].clone()).collect();
    names
        .into_iter()
        .filter(|name| !NOT_CALLED.contains(&name.as_str()))
        .collect()
}

fn pick(random: &mut StdRng) -> &'static str {
    VALUES.choose(random).unwrap()
}

fn cases(test: &str, default: u64) -> impl Iterator<Item = Case> {
    Cases::from_seed(test, 1000, default).iter()
}

#[test]
fn functions_answer_every_edge_value() {
    let mut caller = Caller::new();
    let functions = names(&mut caller.client, "'f'");
    assert!(functions.len() > 150, "{functions:?}");
    for name in &functions {
        caller.call(&format!("\"{name}\"()"));
        for value in VALUES {
            caller.call(&format!("\"{name}\"({value})"));
        }
    }
    for case in cases("functions", 12) {
        let random = &mut case.random();
        for name in &functions {
            let (a, b, c, d) = (pick(random), pick(random), pick(random), pick(random));
            caller.call(&format!("\"{name}\"({a}, {b})"));
            match random.random_range(0..4) {
                0 => caller.call(&format!("\"{name}\"({a}, {b}, {c}, {d})")),
                _ => caller.call(&format!("\"{name}\"({a}, {b}, {c})")),
            }
        }
    }
    caller.end("functions");
}

/// Functions take NULL, and what is too long or too short, beside one another: `lpad('x', -2147483648, NULL)` panicked once. So all
/// combinations of two and three of these are tried, of each function that takes some of their types.
#[test]
fn functions_answer_all_combinations() {
    const FEW: [&str; 9] = [
        "NULL",
        "'a'",
        "''",
        "'é😀'",
        "0",
        "(-1)",
        "2147483647",
        "'-2147483648'::integer",
        "ARRAY[1, NULL, 3]",
    ];
    const OF_EACH_TYPE: [&str; 4] = ["'a'", "0", "1.5", "ARRAY[1]"];
    let mut caller = Caller::new();
    for name in &names(&mut caller.client, "'f'") {
        let pairs = OF_EACH_TYPE
            .iter()
            .flat_map(|a| OF_EACH_TYPE.iter().map(move |b| (*a, *b)));
        let takes_two = pairs
            .clone()
            .any(|(a, b)| caller.takes(&format!("\"{name}\"({a}, {b})")));
        let takes_three = pairs.clone().any(|(a, b)| {
            let mut thirds = OF_EACH_TYPE.iter();
            thirds.any(|c| caller.takes(&format!("\"{name}\"({a}, {b}, {c})")))
        });
        for (a, b) in FEW.iter().flat_map(|a| FEW.iter().map(move |b| (a, b))) {
            if takes_two {
                caller.call_constant(&format!("\"{name}\"({a}, {b})"));
            }
            for c in FEW.iter().filter(|_| takes_three) {
                caller.call_constant(&format!("\"{name}\"({a}, {b}, {c})"));
            }
        }
    }
    caller.end("combinations");
}

#[test]
fn aggregates_and_windows_answer_every_edge_value() {
    let mut caller = Caller::new();
    let functions = names(&mut caller.client, "'a', 'w'");
    assert!(functions.len() > 20, "{functions:?}");
    for name in &functions {
        for value in VALUES {
            let rows = format!("(VALUES (1, {value}), (2, {value}), (3, NULL)) AS v(k, x)");
            caller.call(&format!("(SELECT \"{name}\"(x) FROM {rows})"));
            caller.call(&format!(
                "(SELECT \"{name}\"(x) OVER (ORDER BY k ROWS 1 PRECEDING) FROM {rows} LIMIT 1)"
            ));
        }
    }
    for case in cases("aggregates", 12) {
        let random = &mut case.random();
        for name in &functions {
            let (a, b, c) = (pick(random), pick(random), pick(random));
            let rows = format!("(VALUES (1, {a}, {b}), (2, {a}, {b})) AS v(k, x, y)");
            caller.call(&format!("(SELECT \"{name}\"(x, y) FROM {rows})"));
            caller.call(&format!(
                "(SELECT \"{name}\"(x, {c}) OVER (ORDER BY k) FROM {rows} LIMIT 1)"
            ));
        }
    }
    caller.end("aggregates and windows");
}

#[test]
fn casts_and_operators_answer_every_edge_value() {
    let mut caller = Caller::new();
    for value in VALUES {
        for ty in TYPES {
            caller.call(&format!("CAST({value} AS {ty})"));
        }
        for sign in ["- ", "+ ", "~ ", "NOT ", "@ ", "|/ "] {
            caller.call(&format!("{sign}{value}"));
        }
        for field in [
            "second",
            "epoch",
            "isoyear",
            "week",
            "century",
            "microseconds",
            "julian",
        ] {
            caller.call(&format!("extract({field} FROM {value})"));
        }
    }
    for case in cases("operators", 60) {
        let random = &mut case.random();
        for operator in OPERATORS {
            let (a, b) = (pick(random), pick(random));
            caller.call(&format!("{a} {operator} {b}"));
        }
        let (a, b, c) = (pick(random), pick(random), pick(random));
        for expression in [
            format!("{a} BETWEEN SYMMETRIC {b} AND {c}"),
            format!("{a} LIKE {b} ESCAPE {c}"),
            format!("substring({a} FROM {b} FOR {c})"),
            format!("overlay({a} PLACING {b} FROM {c})"),
            format!("CASE {a} WHEN {b} THEN {c} END"),
            format!("{a} IN ({b}, {c})"),
            format!("({a}, {b}) < ({c}, {a})"),
        ] {
            caller.call(&expression);
        }
    }
    caller.end("casts and operators");
}
