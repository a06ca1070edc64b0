//! Takes the rows of a query as Arrow record batches: columns, for programs that compute on many rows.
//!
//! ```sh
//! cargo run --release --example arrow_batches
//! ```

use std::error::Error;

use rukh::Database;
use rukh::arrow::array::{AsArray, RecordBatch};
use rukh::arrow::datatypes::{Float64Type, Int32Type};

fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    connection.execute("CREATE TABLE trips (id INT PRIMARY KEY, passengers INT, fare DOUBLE)")?;
    connection.execute(
        "INSERT INTO trips SELECT n, 1 + n % 4, 5 + n % 30 FROM generate_series(1, 50000) AS s(n)",
    )?;

    let mut rows = connection.query("SELECT passengers, fare FROM trips WHERE id > 100")?;
    println!("{:#?}", rows.schema().fields());

    // Batches are made as they are read: a result of any size takes the memory of a batch.
    let (mut batches, mut count, mut fares) = (0, 0, 0.0);
    while let Some(batch) = rows.next_batch()? {
        batches += 1;
        count += batch.num_rows();
        fares += fares_of_pairs(&batch);
    }
    println!("{count} rows in {batches} batches; trips of two passengers earned {fares:.2}");

    drop(rows);
    let mut rows = connection.query("SELECT sum(fare) FROM trips WHERE id > 100 AND passengers = 2")?;
    let sum: f64 = rows.next_row()?.ok_or("no row")?.get(0)?;
    assert!((sum - fares).abs() < 1e-6);
    Ok(())
}

/// Returns the sum of the fares where there are two passengers.
fn fares_of_pairs(batch: &RecordBatch) -> f64 {
    let passengers = batch.column(0).as_primitive::<Int32Type>();
    let fares = batch.column(1).as_primitive::<Float64Type>();
    let pairs = passengers.iter().zip(fares.iter());
    pairs
        .filter(|(passengers, _)| *passengers == Some(2))
        .filter_map(|(_, fare)| fare)
        .sum()
}
