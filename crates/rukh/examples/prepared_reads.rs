//! Reads rows by key with prepared statements, whose plans are kept: the way of a program that answers many small
//! questions.
//!
//! ```sh
//! cargo run --release --example prepared_reads -- 100000
//! ```
//!
//! The argument is the number of reads.

use std::error::Error;
use std::time::Instant;

use rukh::Database;

const ROWS: i64 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    let reads: i64 = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 100_000,
    };
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    connection.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, name TEXT, city TEXT)")?;
    connection.execute(&format!(
        "INSERT INTO people SELECT n, 'name ' || n, 'city ' || n % 100 FROM generate_series(1, {ROWS}) AS s(n)"
    ))?;

    // `$1` is a parameter. Its type is that of the column it is compared with.
    let by_key = connection.prepare("SELECT name FROM people WHERE id = $1")?;
    let started = Instant::now();
    let mut length = 0;
    for read in 0..reads {
        // A step that is prime to the number of rows visits them in no order.
        let id = read * 7919 % ROWS + 1;
        let mut rows = connection.query_prepared(&by_key, &[id.into()])?;
        let row = rows.next_row()?.ok_or("the row is missing")?;
        length += row.get::<String>(0)?.len();
    }
    let elapsed = started.elapsed();
    println!(
        "{reads} reads by key, {length} bytes of names: {:.1} µs each",
        elapsed.as_secs_f64() * 1e6 / reads.max(1) as f64
    );

    // A prepared statement may be of any kind.
    let rename = connection.prepare("UPDATE people SET name = $2 WHERE id = $1")?;
    connection.execute_prepared(&rename, &[7_i64.into(), "Grace".into()])?;
    let mut rows = connection.query_prepared(&by_key, &[7_i64.into()])?;
    assert_eq!(
        rows.next_row()?
            .map(|row| row.get::<String>(0))
            .transpose()?
            .as_deref(),
        Some("Grace")
    );
    Ok(())
}
