//! Opens a database in a directory, makes a table and an index, writes rows and reads them by either key order.
//!
//! ```sh
//! cargo run --release --example open_and_query -- rukh-data
//! ```
//!
//! Run it twice: the second run finds what the first one wrote.

use std::error::Error;

use rukh::Database;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).unwrap_or_else(|| "rukh-data".to_string());
    let database = Database::open(&directory)?;
    let mut connection = database.connect();

    // The order of the key decides which questions cost little: all rows of one system lie together, and within it
    // those of one user.
    connection.execute(
        "CREATE TABLE IF NOT EXISTS minutes (system TEXT, user_id TEXT, period INT, minutes BIGINT,
             PRIMARY KEY (system, user_id, period))",
    )?;
    // The same rows in another order, for questions that begin with the period.
    connection
        .execute("CREATE INDEX IF NOT EXISTS minutes_by_period ON minutes (period, system, user_id)")?;

    // UPSERT writes a row whether or not there is one with this key, so running this twice is no error.
    let outcome = connection.execute(
        "UPSERT INTO minutes VALUES ('jericho', 'dave', 201510, 35), ('jericho', 'elton', 201510, 100),
             ('discus', 'elton', 201511, 1)",
    )?;
    println!("{}", outcome.tag);

    let mut rows =
        connection.query("SELECT user_id, minutes FROM minutes WHERE system = 'jericho' ORDER BY 1")?;
    while let Some(row) = rows.next_row()? {
        let (user, minutes): (String, i64) = (row.get(0)?, row.get(1)?);
        println!("{user:<8}{minutes:>6}");
    }
    drop(rows);

    // Rows are an iterator, too. A column that may be NULL is read as an Option.
    let rows = connection.query("SELECT system, minutes FROM minutes WHERE period = 201511")?;
    for row in rows {
        let row = row?;
        println!("{}: {:?}", row.get::<String>(0)?, row.get::<Option<i64>>(1)?);
    }
    Ok(())
}
