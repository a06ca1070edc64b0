//! Reads the plan of a query as JSON, and fails if it would read a whole table: a test that a program can have for
//! each of its queries.
//!
//! ```sh
//! cargo run --release --example explain_as_data
//! ```

use std::error::Error;

use rukh::{Connection, Database};
use serde_json::Value;

fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    connection.execute(
        "CREATE TABLE logs (system TEXT, user_id TEXT, period INT, minutes BIGINT,
             PRIMARY KEY (system, user_id, period))",
    )?;
    connection.execute("CREATE INDEX by_period ON logs (period, system, user_id)")?;

    for sql in [
        "SELECT minutes FROM logs WHERE system = 'jericho' AND user_id IN ('dave', 'fred')",
        "SELECT system FROM logs WHERE period = 201510 GROUP BY system",
        "SELECT user_id FROM logs WHERE minutes > 30",
    ] {
        println!("{sql}");
        let plan = plan_of(&mut connection, sql)?;
        let mut scans = Vec::new();
        collect_scans(&plan, &mut scans);
        for scan in scans {
            let ranges = scan["ranges"].as_array().map_or(0, Vec::len);
            let residual = &scan["residual"];
            println!(
                "  {} of {}, {ranges} ranges, residual {residual}",
                scan["kind"],
                path_of(scan)
            );
            if scan["kind"] == "full scan" {
                println!("  reads every row: an index is missing");
            }
        }
    }
    Ok(())
}

/// Returns the plan of a query as an object; `docs/explain.md` lists its members.
fn plan_of(connection: &mut Connection, sql: &str) -> Result<Value, Box<dyn Error>> {
    let mut rows = connection.query(&format!("EXPLAIN (FORMAT JSON) {sql}"))?;
    let text: String = rows.next_row()?.ok_or("no plan")?.get(0)?;
    Ok(serde_json::from_str(&text)?)
}

/// Collects the scans of a plan: its leaves.
fn collect_scans<'p>(node: &'p Value, scans: &mut Vec<&'p Value>) {
    if node["node"] == "scan" {
        scans.push(&node["scan"]);
    }
    for input in node["inputs"].as_array().into_iter().flatten() {
        collect_scans(input, scans);
    }
}

/// Returns the name of what a scan reads: an index, or the table itself.
fn path_of(scan: &Value) -> &Value {
    match &scan["index"] {
        Value::Null => &scan["table"],
        index => index,
    }
}
