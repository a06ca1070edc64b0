//! Loads a CSV file with COPY, which sorts the rows and hands them to storage as files, and reports progress.
//!
//! ```sh
//! cargo run --release --example bulk_load -- 1000000
//! ```
//!
//! The argument is the number of rows.

use std::error::Error;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use rukh::Database;

fn main() -> Result<(), Box<dyn Error>> {
    let count: u64 = match std::env::args().nth(1) {
        Some(count) => count.parse()?,
        None => 1_000_000,
    };
    let place = tempfile::tempdir()?;
    let file = place.path().join("readings.csv");
    write_readings(&file, count)?;

    let database = Database::open(place.path().join("data"))?;
    let mut connection = database.connect();
    connection.execute(
        "CREATE TABLE readings (sensor INT, at TIMESTAMP, celsius DOUBLE, PRIMARY KEY (sensor, at DESC))",
    )?;
    connection.execute("CREATE INDEX readings_by_time ON readings (at, sensor)")?;

    // Long statements report how far they are.
    connection.on_progress(Box::new(|report| {
        eprint!("\r{}: {} {}", report.label, report.done, report.unit);
    }));

    // One statement: all rows and their index entries, or after an error none of them.
    let started = Instant::now();
    let outcome = connection.execute(&format!("COPY readings FROM '{}' CSV HEADER", file.display()))?;
    let seconds = started.elapsed().as_secs_f64();
    eprintln!();
    println!("{}: {:.0} rows a second", outcome.tag, count as f64 / seconds);

    let mut rows = connection.query("SELECT count(*) FROM readings WHERE sensor = 3")?;
    let of_sensor: i64 = rows.next_row()?.ok_or("no row")?.get(0)?;
    println!("{of_sensor} of sensor 3");
    Ok(())
}

/// Writes readings of 100 sensors, a second apart, in the order of time: not that of the key.
fn write_readings(file: &std::path::Path, count: u64) -> Result<(), Box<dyn Error>> {
    let mut lines = BufWriter::new(File::create(file)?);
    writeln!(lines, "sensor,at,celsius")?;
    for n in 0..count {
        let second = n / 100;
        let (day, hour, minute, second) = (
            second / 86_400,
            second / 3_600 % 24,
            second / 60 % 60,
            second % 60,
        );
        writeln!(
            lines,
            "{},2026-01-{:02} {hour:02}:{minute:02}:{second:02},{:.1}",
            n % 100,
            day % 31 + 1,
            20.0 + (n % 50) as f64 / 10.0
        )?;
    }
    Ok(lines.flush()?)
}
