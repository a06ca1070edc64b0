//! The clients of a soak, and what they work on.
//!
//! | client    | does                                                                                  |
//! |-----------|---------------------------------------------------------------------------------------|
//! | points    | reads rows by their keys, prepared                                                    |
//! | ranges    | reads by indexes, and leaves results that it has read a part of                        |
//! | upserts   | adds and changes rows                                                                 |
//! | transfers | moves amounts in transactions, some of which are given up; reads the sum, which stays  |
//! | copies    | copies rows in, as CSV and in masses, and out, and deletes them                       |
//! | makes     | makes and drops tables, columns and indexes                                           |
//! | cancels   | begins what takes long, and cancels it                                                |
//! | connects  | comes and goes, in every rude way                                                     |

use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use postgres::error::SqlState;
use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, NoTls};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh_testkit::served;

pub type Failure = Box<dyn Error + Send + Sync>;

/// Rows of the table that most clients work on.
const ROWS: i64 = 20_000;
/// Rows of the table that transfers work on, and what each has at the beginning.
const WALLETS: i64 = 50;
const AMOUNT: i64 = 1_000;

/// What a client is given.
pub struct Place<'a> {
    pub address: SocketAddr,
    pub seed: u64,
    /// Which of the clients of its kind it is.
    pub number: usize,
    pub stop: &'a AtomicBool,
    pub done: &'a AtomicU64,
    /// What was refused as it may be: conflicts, statements that were cancelled.
    pub refused: &'a AtomicU64,
}

impl Place<'_> {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        served::connect(self.address)
    }

    fn random(&self) -> StdRng {
        StdRng::seed_from_u64(self.seed)
    }

    fn count(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a statement, which may be refused with these SQLSTATEs.
    fn allow<T>(
        &self,
        result: Result<T, postgres::Error>,
        states: &[SqlState],
    ) -> Result<Option<T>, Failure> {
        match result {
            Ok(value) => {
                self.count();
                Ok(Some(value))
            }
            Err(error) if error.code().is_some_and(|code| states.contains(code)) => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(failure_of(&error)),
        }
    }
}

fn failure_of(error: &postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(db) => format!("{}: {}", db.code().code(), db.message()).into(),
        None => error.to_string().into(),
    }
}

type Run = fn(&Place<'_>) -> Result<(), Failure>;

/// A kind of client.
pub struct Worker {
    pub name: &'static str,
    pub clients: usize,
    pub run: Run,
}

const fn worker(name: &'static str, clients: usize, run: Run) -> Worker {
    Worker { name, clients, run }
}

pub const WORKERS: &[Worker] = &[
    worker("points", 2, points),
    worker("ranges", 2, ranges),
    worker("upserts", 2, upserts),
    worker("transfers", 3, transfers),
    worker("copies", 1, copies),
    worker("makes", 1, makes),
    worker("cancels", 1, cancels),
    worker("connects", 2, connects),
];

/// Makes what the clients work on.
pub fn fill(client: &mut Client) -> Result<(), Failure> {
    client
        .batch_execute(&format!(
            "CREATE TABLE items (id bigint PRIMARY KEY, owner varchar(20) NOT NULL, size bigint, note text);
             CREATE INDEX items_owner ON items (owner, size DESC) INCLUDE (note);
             CREATE UNIQUE INDEX items_size ON items (size, id);
             CREATE TABLE wallets (id bigint PRIMARY KEY, amount bigint NOT NULL CHECK (amount >= 0));
             CREATE INDEX wallets_amount ON wallets (amount);
             CREATE TABLE events (id bigint PRIMARY KEY, at timestamp, kind varchar(10), text text);
             CREATE INDEX events_kind ON events (kind, at);
             INSERT INTO items SELECT value, 'owner ' || (value % 100), value * 7 % 1000, 'note ' || value
                 FROM generate_series(1, {ROWS}) AS t(value);
             INSERT INTO wallets SELECT value, {AMOUNT} FROM generate_series(1, {WALLETS}) AS t(value)"
        ))
        .map_err(|error| failure_of(&error))
}

fn points(place: &Place<'_>) -> Result<(), Failure> {
    let (mut client, mut random) = (place.connect()?, place.random());
    let select = client.prepare("SELECT owner, size, note FROM items WHERE id = $1")?;
    while place.goes_on() {
        let id = random.random_range(1..=ROWS);
        let row = client.query_one(&select, &[&id])?;
        if !row.get::<_, &str>(0).starts_with("owner ") {
            return Err(format!("row {id} has another owner: {}", row.get::<_, &str>(0)).into());
        }
        place.count();
    }
    Ok(())
}

fn ranges(place: &Place<'_>) -> Result<(), Failure> {
    let (mut client, mut random) = (place.connect()?, place.random());
    while place.goes_on() {
        let owner = format!("owner {}", random.random_range(0..100));
        match random.random_range(0..4) {
            0 => {
                let sql = "SELECT id, size FROM items WHERE owner = $1 ORDER BY size DESC LIMIT 50";
                let rows = client.query(sql, &[&owner])?;
                if !rows.is_sorted_by_key(|row| std::cmp::Reverse(row.get::<_, i64>(1))) {
                    return Err("rows are not in the order required".into());
                }
            }
            1 => {
                let sql = "SELECT owner, count(*), sum(size) FROM items WHERE size BETWEEN $1 AND $1 + 50 GROUP BY owner";
                client.query(sql, &[&random.random_range(0..1000_i64)])?;
            }
            2 => {
                // A result of which only a part is fetched, and a transaction that is left.
                let mut transaction = client.transaction()?;
                let portal = transaction.bind("SELECT * FROM items ORDER BY id", &[])?;
                for _ in 0..random.random_range(1..4) {
                    transaction.query_portal(&portal, 500)?;
                }
            }
            _ => {
                let mut rows = client.query_raw(
                    "SELECT a.id FROM items a JOIN items b ON a.id = b.id",
                    [] as [&str; 0],
                )?;
                for _ in 0..100 {
                    rows.next()?;
                }
            }
        }
        place.count();
    }
    Ok(())
}

fn upserts(place: &Place<'_>) -> Result<(), Failure> {
    let (mut client, mut random) = (place.connect()?, place.random());
    let upsert = client.prepare("UPSERT INTO items (id, owner, size, note) VALUES ($1, $2, $3, $4)")?;
    let update = client.prepare("UPDATE items SET size = $2 WHERE id = $1")?;
    while place.goes_on() {
        let id = random.random_range(1..=ROWS);
        let size: i64 = random.random_range(0..1000);
        let result = match random.random_range(0..3) {
            0 => client.execute(&update, &[&id, &size]),
            _ => {
                let owner = format!("owner {}", random.random_range(0..100));
                client.execute(&upsert, &[&id, &owner, &size, &format!("note of {size}")])
            }
        };
        place.allow(result, &[])?;
    }
    Ok(())
}

fn transfers(place: &Place<'_>) -> Result<(), Failure> {
    let (mut client, mut random) = (place.connect()?, place.random());
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::CHECK_VIOLATION,
    ];
    while place.goes_on() {
        let sum: i64 = client
            .query_one("SELECT CAST(sum(amount) AS bigint) FROM wallets", &[])?
            .get(0);
        if sum != WALLETS * AMOUNT {
            return Err(format!("the wallets have {sum}, not {}", WALLETS * AMOUNT).into());
        }
        let from = random.random_range(1..=WALLETS);
        let to = from % WALLETS + 1;
        let amount: i64 = random.random_range(1..50);
        let gives_up = random.random_ratio(1, 5);
        let mut transfer = || -> Result<(), postgres::Error> {
            let mut transaction = client.transaction()?;
            transaction.execute(
                "UPDATE wallets SET amount = amount - $1 WHERE id = $2",
                &[&amount, &from],
            )?;
            let mut inner = transaction.transaction()?;
            inner.execute("UPDATE wallets SET amount = amount + 1", &[])?;
            inner.rollback()?;
            transaction.execute(
                "UPDATE wallets SET amount = amount + $1 WHERE id = $2",
                &[&amount, &to],
            )?;
            match gives_up {
                true => transaction.rollback(),
                false => transaction.commit(),
            }
        };
        let result = transfer();
        place.allow(result, &conflicts)?;
    }
    Ok(())
}

fn copies(place: &Place<'_>) -> Result<(), Failure> {
    let mut client = place.connect()?;
    let mut round: i64 = 0;
    while place.goes_on() {
        round += 1;
        // More than the bulk load begins at, now and then.
        let rows = if round % 8 == 0 { 15_000 } else { 1_000 };
        let first = round * 100_000;
        let mut writer = client.copy_in("COPY events FROM STDIN (FORMAT csv)")?;
        for id in first..first + rows {
            writeln!(
                writer,
                "{id},2024-01-01 00:00:00.{:06},kind {},text of {id}",
                id % 1_000_000,
                id % 7
            )?;
        }
        let written = writer.finish()?;
        if written != rows as u64 {
            return Err(format!("{written} of {rows} rows were copied").into());
        }
        let mut text = String::new();
        let out = format!("COPY (SELECT * FROM events WHERE id >= {first}) TO STDOUT");
        client.copy_out(out.as_str())?.read_to_string(&mut text)?;
        if text.lines().count() != rows as usize {
            return Err("other rows came out than went in".into());
        }
        // One that is left in the middle.
        let mut writer = client.copy_in("COPY events FROM STDIN")?;
        writer.write_all(b"-1\tnever")?;
        drop(writer);
        client.execute("DELETE FROM events WHERE id < $1", &[&first])?;
        place.count();
    }
    Ok(())
}

fn makes(place: &Place<'_>) -> Result<(), Failure> {
    let mut client = place.connect()?;
    let mut round = 0;
    while place.goes_on() {
        round += 1;
        let statements = [
            format!("CREATE TABLE made_{round} (id int PRIMARY KEY, a int, b text)"),
            format!(
                "INSERT INTO made_{round} SELECT value, value % 10, 'b' FROM generate_series(1, 500) AS t(value)"
            ),
            format!("CREATE INDEX made_{round}_a ON made_{round} (a)"),
            format!("ALTER TABLE made_{round} ADD COLUMN c int DEFAULT 5"),
            format!("ANALYZE made_{round}"),
            format!("CHECK TABLE made_{round}"),
            "CREATE INDEX items_note ON items (note)".to_owned(),
            "DROP INDEX items_note".to_owned(),
            format!("DROP TABLE made_{round}"),
        ];
        for statement in &statements {
            client
                .batch_execute(statement)
                .map_err(|error| format!("{statement}: {}", failure_of(&error)))?;
        }
        place.count();
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok(())
}

fn cancels(place: &Place<'_>) -> Result<(), Failure> {
    let (mut client, mut random) = (place.connect()?, place.random());
    let token = client.cancel_token();
    while place.goes_on() {
        let result = std::thread::scope(|scope| {
            let (sender, ended) = std::sync::mpsc::channel::<()>();
            let wait = Duration::from_millis(random.random_range(1..30));
            let token = &token;
            scope.spawn(move || {
                // Until it has ended: a request may come before the statement begins.
                while ended.recv_timeout(wait) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                    let _ = token.cancel_query(NoTls);
                }
            });
            let result = client.batch_execute(
                "SELECT count(*) FROM items a, items b, items c WHERE a.size + b.size < c.size",
            );
            drop(sender);
            result
        });
        match result {
            Err(error) if error.code() == Some(&SqlState::QUERY_CANCELED) => place.count(),
            Err(error) => return Err(failure_of(&error)),
            Ok(()) => return Err("what takes for ever has ended".into()),
        }
        // A request that came late may hit the next statement, which is none that matters.
        let _ = client.simple_query("SELECT 1");
    }
    Ok(())
}

fn connects(place: &Place<'_>) -> Result<(), Failure> {
    let mut random = place.random();
    while place.goes_on() {
        match random.random_range(0..5) {
            0 => drop(place.connect()?),
            1 => {
                let mut client = place.connect()?;
                client.query_one("SELECT count(*) FROM wallets", &[])?;
                client.close()?;
            }
            // Garbage, and half a message.
            2 => TcpStream::connect(place.address)?.write_all(b"\0\0\0\x09garbage of another protocol")?,
            3 => TcpStream::connect(place.address)?.write_all(b"\0\0\0\x50\0\x03\0\0user\0te")?,
            _ => {
                // It leaves in the middle of a result.
                let mut client = place.connect()?;
                let mut rows = client.query_raw("SELECT * FROM items", [] as [&str; 0])?;
                rows.next()?;
            }
        }
        place.count();
        std::thread::sleep(Duration::from_millis(5 + place.number as u64));
    }
    Ok(())
}

/// Waits until the server has noticed that all other clients have left.
pub fn wait_until_alone(client: &mut Client) -> Result<(), Failure> {
    for _ in 0..600 {
        let row = client.query_one("SELECT count(*) FROM pg_stat_activity", &[])?;
        if row.get::<_, i64>(0) == 1 {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("sessions of clients that have left are still there".into())
}

/// Says what is wrong with the tables.
pub fn check(client: &mut Client) -> Result<Vec<String>, Failure> {
    let mut faults = Vec::new();
    for table in ["items", "wallets", "events"] {
        for row in client.query(&format!("CHECK TABLE {table}"), &[])? {
            let (finding, value): (&str, &str) = (row.get(0), row.get(1));
            let is_fault = ["missing", "dangling", "differing", "corrupt"].contains(&finding);
            if is_fault && value != "0" {
                faults.push(format!("CHECK TABLE {table}: {finding} {value}"));
            }
        }
    }
    let row = client.query_one("SELECT count(*), CAST(sum(amount) AS bigint) FROM wallets", &[])?;
    if (row.get::<_, i64>(0), row.get::<_, i64>(1)) != (WALLETS, WALLETS * AMOUNT) {
        faults.push("the wallets have another sum".to_owned());
    }
    let row = client.query_one("SELECT count(*) FROM items", &[])?;
    if row.get::<_, i64>(0) != ROWS {
        faults.push(format!("there are {} items", row.get::<_, i64>(0)));
    }
    let row = client.query_one("SELECT count(*) FROM events WHERE id < 0", &[])?;
    if row.get::<_, i64>(0) != 0 {
        faults.push("rows of a COPY that did not end are there".to_owned());
    }
    Ok(faults)
}
