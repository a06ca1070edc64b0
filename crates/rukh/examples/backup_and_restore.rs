//! Makes backups of a database that is in use, checks one and restores it.
//!
//! ```sh
//! cargo run --release --example backup_and_restore
//! ```

use std::error::Error;

use rukh::{Backups, Database};

fn main() -> Result<(), Box<dyn Error>> {
    let place = tempfile::tempdir()?;
    let backups = place.path().join("backups");
    let database = Database::open(place.path().join("data"))?;
    let mut connection = database.connect();
    connection.execute("CREATE TABLE notes (id BIGINT PRIMARY KEY, text TEXT)")?;
    connection.execute("INSERT INTO notes VALUES (1, 'first')")?;

    // A backup holds one moment. Files that an earlier backup has are shared with it, not copied again.
    let backup = format!("BACKUP DATABASE TO '{}'", backups.display());
    connection.execute(&backup)?;
    connection.execute("INSERT INTO notes VALUES (2, 'second')")?;
    connection.execute(&backup)?;
    connection.execute("DELETE FROM notes")?;

    let backups = Backups::open(&backups)?;
    for backup in backups.list() {
        backups.verify(backup.id)?;
        println!("{backup:?}");
    }

    // None is the newest; an id names another.
    backups.restore(None, place.path().join("restored"))?;
    let restored = Database::open(place.path().join("restored"))?;
    let mut rows = restored.connect().query("SELECT text FROM notes ORDER BY id")?;
    while let Some(row) = rows.next_row()? {
        println!("{}", row.get::<String>(0)?);
    }
    Ok(())
}
