//! Keeps readings with the newest first, reads the newest one by one seek, and lets old ones expire.
//!
//! ```sh
//! cargo run --release --example time_series
//! ```

use std::error::Error;

use rukh::{Connection, Database};

fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    // DESC in the key stores the newest reading of a sensor first. Readings expire 90 days after they were taken:
    // queries leave them out from then on, and storage drops them when it compacts.
    connection.execute(
        "CREATE TABLE readings (sensor TEXT, at TIMESTAMP, celsius DOUBLE, PRIMARY KEY (sensor, at DESC))
             TTL = '90 days' FROM at",
    )?;
    connection.execute(
        "INSERT INTO readings
             SELECT 'sensor ' || s, now() - n * INTERVAL '1 hour', 20 + n % 10
             FROM generate_series(1, 5) AS sensors(s), generate_series(0, 999) AS hours(n)",
    )?;

    print(
        &mut connection,
        "the newest reading of one sensor",
        "SELECT sensor, celsius FROM readings WHERE sensor = 'sensor 3' ORDER BY at DESC LIMIT 1",
    )?;
    print(
        &mut connection,
        "the newest reading of each",
        "SELECT DISTINCT ON (sensor) sensor, celsius FROM readings ORDER BY sensor, at DESC",
    )?;
    print(
        &mut connection,
        "the last day of one sensor",
        "SELECT count(*), avg(celsius) FROM readings
             WHERE sensor = 'sensor 3' AND at > now() - INTERVAL '1 day'",
    )?;
    Ok(())
}

/// Prints the rows of a query, and what storage did for them.
fn print(connection: &mut Connection, title: &str, sql: &str) -> rukh::Result<()> {
    println!("{title}");
    let rows = connection.query(sql)?;
    for row in rows {
        let row = row?;
        let values = (0..row.len()).map(|column| format!("{:?}", row.datum(column)));
        println!("  {}", values.collect::<Vec<_>>().join(", "));
    }
    if let Some(stats) = connection.last_query_stats() {
        let counters = &stats.counters;
        println!(
            "  {} seeks, {} keys examined, {} rows",
            counters.seeks, counters.keys_examined, counters.rows
        );
    }
    Ok(())
}
