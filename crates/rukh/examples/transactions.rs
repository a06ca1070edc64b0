//! Moves money between accounts from several threads, with transactions that are run again after a conflict.
//!
//! ```sh
//! cargo run --release --example transactions
//! ```

use std::error::Error;
use std::thread;

use rukh::{Connection, Database, ErrorKind};

const ACCOUNTS: i64 = 10;
const TRANSFERS: i64 = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let database = Database::open_in_memory()?;
    let mut connection = database.connect();
    connection.execute("CREATE TABLE accounts (id BIGINT PRIMARY KEY, balance BIGINT)")?;
    connection.execute(&format!(
        "INSERT INTO accounts SELECT n, 1000 FROM generate_series(0, {}) AS s(n)",
        ACCOUNTS - 1
    ))?;

    // A connection belongs to one thread at a time; the database may be cloned into any number.
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let database = database.clone();
            thread::spawn(move || run_transfers(&mut database.connect(), thread))
        })
        .collect();
    let mut retries = 0;
    for thread in threads {
        retries += thread.join().map_err(|_| "a thread panicked")??;
    }

    let mut rows = connection.query("SELECT sum(balance)::BIGINT FROM accounts")?;
    let sum: i64 = rows.next_row()?.ok_or("no row")?.get(0)?;
    println!(
        "{} transfers, {retries} run again, a balance of {sum} in all",
        4 * TRANSFERS
    );
    Ok(())
}

/// Runs the transfers of one thread; returns how many of them met a conflict and were run again.
fn run_transfers(connection: &mut Connection, thread: i64) -> rukh::Result<u64> {
    let mut retries = 0;
    for n in 0..TRANSFERS {
        let (from, to) = ((n + thread) % ACCOUNTS, (n * 3 + thread + 1) % ACCOUNTS);
        // Another transaction that changed one of the rows first wins. This one has changed nothing then, and
        // can be run again from the beginning: with what it reads, not only with what it writes.
        while let Err(error) = transfer(connection, from, to, 1) {
            if error.kind != ErrorKind::Conflict {
                return Err(error);
            }
            retries += 1;
        }
    }
    Ok(retries)
}

/// Moves an amount in one transaction, which rolls back where `?` leaves it.
fn transfer(connection: &mut Connection, from: i64, to: i64, amount: i64) -> rukh::Result<()> {
    let mut transaction = connection.transaction()?;
    let take = transaction.prepare("UPDATE accounts SET balance = balance - $2 WHERE id = $1")?;
    transaction.execute_prepared(&take, &[from.into(), amount.into()])?;
    let give = transaction.prepare("UPDATE accounts SET balance = balance + $2 WHERE id = $1")?;
    transaction.execute_prepared(&give, &[to.into(), amount.into()])?;
    transaction.commit()
}
