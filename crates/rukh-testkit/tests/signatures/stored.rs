//! Calls of a table's columns: in WHERE, in ORDER BY, as the key of an index, in both layouts.

use rand::Rng;
use rand::rngs::StdRng;
use rukh_testkit::client::Client;
use rukh_testkit::need;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::seed::Cases;

use crate::call::{Call, Signature};
use crate::known::Known;
use crate::{Difference, Found, compared, judge};

/// Types of arguments that columns do not have here.
const NO_COLUMNS: [&str; 1] = ["interval"];

/// A table of the arguments of a call, and an index on it.
struct Stored {
    columns: String,
    /// Rows, those before the index is made and those behind it.
    rows: [Vec<String>; 2],
    index: String,
    queries: Vec<String>,
}

impl Stored {
    /// Makes one, or none where there are no columns of these types.
    fn of(call: &Call, random: &mut StdRng) -> Option<Self> {
        let types: Vec<&str> = call.types().into_iter().flatten().collect();
        if !call.is_scalar() || types.is_empty() || types.iter().any(|ty| NO_COLUMNS.contains(ty)) {
            return None;
        }
        let columns = call
            .types()
            .into_iter()
            .enumerate()
            .filter_map(|(at, ty)| Some(format!(", a{at} {}", ty?)));
        let row = |at: usize| {
            let values = call.typed_values(at);
            format!(
                "({at}{})",
                values.map(|value| format!(", {value}")).collect::<String>()
            )
        };
        let (of_columns, of_constants) = (call.of_columns(), call.of_constants());
        let direction = if random.random_bool(0.5) { " DESC" } else { "" };
        let mut queries = vec![
            format!("SELECT k, ({of_columns}) AS r FROM c ORDER BY k"),
            format!("SELECT k FROM c ORDER BY ({of_columns}), k"),
        ];
        for operator in ["=", "<=", ">", "IS NOT DISTINCT FROM"] {
            queries.push(format!(
                "SELECT k FROM c WHERE ({of_columns}) {operator} ({of_constants}) ORDER BY k"
            ));
        }
        Some(Stored {
            columns: columns.collect(),
            rows: [vec![row(0), row(1)], vec![row(2)]],
            index: format!("CREATE INDEX c_i ON c (({of_columns}){direction})"),
            queries,
        })
    }

    /// Returns the statements in order; a layout is what follows the columns.
    fn statements(&self, layout: &str) -> Vec<String> {
        let insert = |rows: &Vec<String>| format!("INSERT INTO c VALUES {}", rows.join(", "));
        let mut statements = vec![
            format!("CREATE TABLE c (k int PRIMARY KEY{}){layout}", self.columns),
            insert(&self.rows[0]),
            self.index.clone(),
            insert(&self.rows[1]),
        ];
        statements.extend_from_slice(&self.queries);
        statements
    }
}

/// Asks the statements of both databases; returns what differs: of the index, and first of all else.
///
/// Where both refuse a value, each may do so for another row, and nothing says of which rows a condition must be computed: then the rest
/// is left out.
fn difference(
    rukh: &mut Client,
    postgres: &mut PostgresDatabase,
    stored: &Stored,
    layout: &str,
) -> Vec<(Difference, String)> {
    let mut found = Vec::new();
    let statements = stored.statements(layout);
    for (statement, theirs) in statements.iter().zip(stored.statements("")) {
        let ours = rukh.query(statement);
        let theirs = postgres.query(&theirs);
        let (is_ours, is_theirs) = (ours.is_ok(), theirs.is_ok());
        let are_of_values = match (&ours, &theirs) {
            (Err(ours), Err(theirs)) => [ours.sqlstate, theirs.sqlstate.as_str()]
                .iter()
                .all(|state| is_of_value(state)),
            _ => false,
        };
        if are_of_values {
            return found;
        }
        // Intervals and documents are not in keys.
        let is_unkeyed = matches!(&ours, Err(error) if error.message.contains("cannot be in a key"));
        if let (false, Err((difference, said))) = (is_unkeyed, compared(ours, theirs, false)) {
            let so_far = ours_until(&statements, statement);
            found.push((difference, format!("{so_far}\n    {said}")));
            if *statement != stored.index {
                return found;
            }
        }
        if *statement == stored.index && is_theirs && !is_ours {
            // Or it would refuse rows.
            postgres.execute("DROP INDEX c_i").expect("it was made");
        }
    }
    if let Err(said) = rukh.check("c") {
        let statements = statements.join(";\n    ");
        found.push((
            Difference::Value,
            format!("{statements}; CHECK TABLE c\n    {said}"),
        ));
    }
    found
}

/// Whether an SQLSTATE says that a value is wrong, and not the statement.
fn is_of_value(sqlstate: &str) -> bool {
    ["22", "54"].iter().any(|class| sqlstate.starts_with(class))
}

/// Returns what leads to a statement: all that is no query, and itself.
fn ours_until(statements: &[String], last: &str) -> String {
    let changes = statements.iter().take_while(|statement| *statement != last);
    let changes = changes.filter(|statement| !statement.starts_with("SELECT"));
    let shown: Vec<&str> = changes.map(String::as_str).chain([last]).collect();
    shown.join(";\n    ")
}

#[test]
fn calls_in_conditions_and_indexes_give_what_postgresql_gives() {
    let name = "calls_in_conditions_and_indexes_give_what_postgresql_gives";
    let Some(mut postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let settings = postgres.execute("SET TimeZone = 'UTC'; SET client_min_messages = error");
    settings.expect("PostgreSQL has these settings");
    let signatures = Signature::all(&mut postgres);
    // What differs by itself differs in a table, too.
    let of_values = Known::read(include_str!("known.txt"));
    let mut known = Known::read(include_str!("known_stored.txt"));
    let mut rukh = Client::in_memory();
    let mut found = Found::new();
    let mut same = 0;
    for case in Cases::from_seed(name, 0, 5_000).iter() {
        let mut random = case.random();
        let at = usize::try_from(case.seed).unwrap_or_default() % signatures.len();
        let call = Call::of(&signatures[at], &mut random);
        let Some(stored) = Stored::of(&call, &mut random).filter(|_| !of_values.names(&call.signature()))
        else {
            continue;
        };
        let layout = if random.random_bool(0.5) {
            " USING columnar"
        } else {
            ""
        };
        let differences = difference(&mut rukh, &mut postgres, &stored, layout);
        same += usize::from(differences.is_empty());
        for (difference, said) in differences {
            let key = (difference, call.signature());
            found.entry(key).or_default().push(said);
        }
        // Fails where it was not made.
        let _ = (rukh.run("DROP TABLE c"), postgres.execute("DROP TABLE c"));
    }
    judge("stored", &found, &mut known, same);
}
