//! Serves the database of a running program to clients of PostgreSQL, while the program goes on using it.
//!
//! ```sh
//! cargo run --release --example server_in_process
//! ```

use std::error::Error;

use postgres::{Client, NoTls};
use rukh::Database;

fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    connection.execute("CREATE TABLE jobs (id BIGINT PRIMARY KEY, state TEXT)")?;
    connection.execute("INSERT INTO jobs VALUES (1, 'waiting'), (2, 'waiting')")?;

    // Port 0 takes one that is free. Without users in the database anyone on this machine may connect.
    let config = rukh_server::Config {
        listen: "127.0.0.1:0".to_string(),
        ..rukh_server::Config::default()
    };
    let server = rukh_server::start(database.clone(), config)?;
    println!("psql -h 127.0.0.1 -p {} -U me any", server.address().port());

    // Any driver of PostgreSQL can be the client; this one runs in the same process only for the example's sake.
    let url = format!(
        "host=127.0.0.1 port={} user=me dbname=any",
        server.address().port()
    );
    let mut client = Client::connect(&url, NoTls)?;
    client.execute("UPDATE jobs SET state = $1 WHERE id = $2", &[&"done", &1_i64])?;

    let mut rows = connection.query("SELECT state FROM jobs WHERE id = 1")?;
    let state: String = rows.next_row()?.ok_or("no row")?.get(0)?;
    println!("job 1 is {state}");
    drop(rows);

    client.close()?;
    server.stop();
    Ok(())
}
