//! PostgreSQL's isolation specs, run on PostgreSQL and on Rukh: what each step gives, and which of them wait.
//!
//! The specs are those of the sources of PostgreSQL that `make data` fetches. Transactions of Rukh wait for one another
//! (`SET conflict = 'wait'`), and are READ COMMITTED unless they say otherwise, as PostgreSQL's are. An order of steps is *refused* where Rukh
//! does not know a statement of it, and *differs* where a step gives other rows or another SQLSTATE, waits where the
//! other does not, or where steps that waited go on in another order. Specs that differ are listed in [`KNOWN`] with the reason.
//!
//! `RUKH_ORDERS` says how many orders of each spec are run, spread over all; `SPEC` names a part of the specs to run.

#![allow(clippy::unwrap_used)]

mod spec;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rukh_testkit::client::Client;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::scripts::statements;
use rukh_testkit::seed::number;
use rukh_testkit::table::Table;
use rukh_testkit::tokens::is_ordered;
use rukh_testkit::{need, paths, place};
use spec::Spec;

#[path = "../../../../tests/hbase/fixture.rs"]
mod fixture;

/// Orders of each spec in a usual run.
const ORDERS: u64 = 12;

/// The same on an HBase.
const ORDERS_ON_HBASE: u64 = 2;

/// Specs that differ, and why.
const KNOWN: &[(&str, &str)] = &[
    (
        "delete-abort-savept-2",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    (
        "drop-index-concurrently-1",
        "it prints plans, and DROP INDEX CONCURRENTLY waits for no reader",
    ),
    (
        "freeze-the-dead",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    (
        "insert-conflict-do-update-3",
        "a statement that has waited runs again as a whole, so its query sees what was committed meanwhile",
    ),
    (
        "merge-insert-update",
        "a MERGE whose INSERT another was faster with runs again, and updates; PostgreSQL fails with 23505",
    ),
    (
        "lock-committed-update",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    (
        "lock-update-delete",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    ("merge-join", "it prints plans"),
    (
        "multixact-no-forget",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    ("reindex-concurrently", "REINDEX waits for no reader"),
    (
        "sequence-ddl",
        "others take numbers from a sequence that an open transaction has altered",
    ),
    ("timeouts", "LOCK TABLE waits for writers, not for readers"),
    ("truncate-conflict", "TRUNCATE waits for writers, not for readers"),
    (
        "tuplelock-conflict",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    (
        "tuplelock-update",
        "FOR KEY SHARE is FOR SHARE, and FOR NO KEY UPDATE is FOR UPDATE",
    ),
    (
        "tuplelock-upgrade-no-deadlock",
        "a request for a lock waits behind those before it",
    ),
    (
        "vacuum-conflict",
        "VACUUM and ANALYZE of another's table fail; PostgreSQL leaves it out with a warning",
    ),
];

/// Specs that run at a time: they mostly wait.
const WORKERS: usize = 4;

/// How long a step has no answer that waits; longer where it has differed and is not known to.
const MOMENTS: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(400)];

/// The longest that a step may wait for others.
const PATIENCE: Duration = Duration::from_secs(5);

/// SQLSTATEs of what Rukh does not have.
const REFUSED: [&str; 8] = [
    "0A000", "25001", "42601", "42883", "42704", "42P01", "42P16", "42846",
];

#[test]
fn all_specs_hold_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        place::run_again_on(&server.url, "all_specs_hold_on_hbase");
    }
}

#[test]
fn steps_of_postgres_own_specs_give_what_they_give_on_postgres() {
    let test = "steps_of_postgres_own_specs_give_what_they_give_on_postgres";
    if need::or_skip(test, postgres::server()).is_none() {
        return;
    }
    let folder = paths::data().join("suites/postgresql-15/src/test/isolation/specs");
    let there =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}: run make data", folder.display()));
    let Some(there) = need::or_skip(test, there) else {
        return;
    };
    let part = std::env::var("SPEC").unwrap_or_default();
    let mut files: Vec<_> = there.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let orders_max = match place::is_hbase() {
        true => ORDERS_ON_HBASE,
        false => ORDERS,
    };
    let orders_max = number("RUKH_ORDERS").unwrap_or(orders_max) as usize;
    files.retain(|file| file.file_stem().unwrap().to_string_lossy().contains(&part));
    let left = Mutex::new(files.into_iter());
    let worker = || {
        let (mut found, mut postgres) = (Found::default(), postgres::database().unwrap());
        while let Some(file) = { left.lock().unwrap().next() } {
            found.add(&file, orders_max, &mut postgres);
        }
        found
    };
    let found = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect::<Vec<Found>>()
    });
    let mut all = Found::default();
    for found in found {
        all.same += found.same;
        for (reason, times) in found.refused {
            *all.refused.entry(reason).or_default() += times;
        }
        all.differ.extend(found.differ);
    }
    let Found {
        same,
        refused,
        differ,
    } = all;
    let count = |all: &BTreeMap<String, u64>| all.values().sum::<u64>();
    println!(
        "isolation: {same} same, {} differ, {} refused",
        differ.values().map(Vec::len).sum::<usize>(),
        count(&refused)
    );
    for (reason, times) in &refused {
        println!("{times:>5} refused: {reason}");
    }
    let known: BTreeSet<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    let mut unknown = String::new();
    for (name, texts) in differ.iter().filter(|(name, _)| !known.contains(name.as_str())) {
        unknown.push_str(&format!(
            "{name}, {} orders, the first:\n{}\n",
            texts.len(),
            texts[0]
        ));
    }
    assert!(unknown.is_empty(), "specs differ:\n{unknown}");
    if part.is_empty() {
        let least = match place::is_hbase() {
            true => 10,
            false => 40,
        };
        assert!(same > least, "{same} are the same");
    }
}

/// What the orders of specs have given.
#[derive(Default)]
struct Found {
    /// Orders of which all steps give the same.
    same: u64,
    /// How many orders are refused, by the reason.
    refused: BTreeMap<String, u64>,
    /// Traces of the orders that differ, by spec.
    differ: BTreeMap<String, Vec<String>>,
}

impl Found {
    /// Runs so many orders of a spec.
    fn add(&mut self, file: &Path, orders_max: usize, postgres: &mut PostgresDatabase) {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let spec = Spec::read(&std::fs::read_to_string(file).unwrap())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let every = spec.orders.len().div_ceil(orders_max).max(1);
        let moments = match KNOWN.iter().any(|(known, _)| *known == name) {
            true => &MOMENTS[..1],
            false => &MOMENTS[..],
        };
        for order in spec.orders.iter().step_by(every) {
            match compare(&spec, order, moments, postgres) {
                Ok(()) => self.same += 1,
                Err(Difference::NotSetUp(reason)) => {
                    let orders = spec.orders.len().div_ceil(every) as u64;
                    *self.refused.entry(reason).or_default() += orders;
                    break;
                }
                Err(Difference::Refused(reason)) => *self.refused.entry(reason).or_default() += 1,
                Err(Difference::Rows(text)) => self.differ.entry(name.clone()).or_default().push(text),
            }
        }
    }
}

enum Difference {
    /// What Rukh does not know, of what is set up for all orders of the spec.
    NotSetUp(String),
    /// What Rukh does not know.
    Refused(String),
    /// Both traces.
    Rows(String),
}

/// Runs an order of a spec on both; again with the next moment where the traces differ.
fn compare(
    spec: &Spec,
    order: &[String],
    moments: &[Duration],
    postgres: &mut PostgresDatabase,
) -> Result<(), Difference> {
    let mut last = String::new();
    for &moment in moments {
        let database = place::database();
        let rukh = || {
            let mut client = Client::new(&database);
            for sql in [
                "SET conflict = 'wait'",
                "SET default_transaction_isolation = 'read committed'",
            ] {
                client.run(sql).unwrap();
            }
            Connection::new(move |sql| match client.run(sql) {
                Ok(output) => Outcome::of(sql, output.table),
                Err(error) => Outcome::Error(error.sqlstate.to_string(), error.message),
            })
        };
        let mine = play(spec, order, moment, rukh).map_err(Difference::NotSetUp)?;
        postgres
            .execute(
                "DROP SCHEMA public CASCADE; CREATE SCHEMA public; GRANT USAGE ON SCHEMA public TO PUBLIC",
            )
            .unwrap();
        let theirs = || {
            let mut client = postgres.another().unwrap();
            client.execute("SET deadlock_timeout = '10ms'").unwrap();
            Connection::new(move |sql| match client.run(sql) {
                Ok((table, _)) => Outcome::of(sql, table),
                Err(error) => Outcome::Error(error.sqlstate, error.message),
            })
        };
        let theirs =
            play(spec, order, moment, theirs).unwrap_or_else(|reason| panic!("on PostgreSQL: {reason}"));
        // What is not in the schema that the next order begins with.
        statements(&spec.teardown)
            .iter()
            .for_each(|statement| drop(postgres.execute(&statement.sql)));
        if mine.lines() == theirs.lines() {
            return Ok(());
        }
        // What PostgreSQL answers otherwise than with the same error is not known to Rukh.
        let unknown = mine.events.iter().find(|event| {
            event.outcome.as_ref().is_some_and(|outcome| match outcome {
                Outcome::Error(sqlstate, _) => REFUSED.contains(&sqlstate.as_str()),
                _ => false,
            }) && !theirs.events.contains(event)
        });
        if let Some(Event {
            outcome: Some(Outcome::Error(sqlstate, message)),
            ..
        }) = unknown
        {
            return Err(Difference::Refused(format!("{sqlstate} {message}")));
        }
        last = format!(
            "order {}\nPostgreSQL\n  {}\nRukh\n  {}",
            order.join(" "),
            theirs.lines().join("\n  "),
            mine.lines().join("\n  ")
        );
    }
    Err(Difference::Rows(last))
}

/// What a step gave.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// Rows, or that it has none.
    Rows(Option<Vec<String>>),
    /// SQLSTATE and message.
    Error(String, String),
}

impl Outcome {
    fn of(sql: &str, table: Option<Table>) -> Outcome {
        Outcome::Rows(table.map(|table| {
            let rows = table.rows.iter();
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".to_string());
            let mut rows: Vec<String> = rows
                .map(|row| row.iter().map(text).collect::<Vec<_>>().join(" "))
                .collect();
            if !is_ordered(sql) {
                rows.sort();
            }
            rows
        }))
    }
}

/// Something that is seen of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Event {
    step: String,
    /// What it gave; none where it waits.
    outcome: Option<Outcome>,
}

#[derive(Default)]
struct Trace {
    events: Vec<Event>,
}

impl Trace {
    fn lines(&self) -> Vec<String> {
        let line = |event: &Event| match &event.outcome {
            None => format!("{} waits", event.step),
            Some(Outcome::Rows(None)) => format!("{} is done", event.step),
            Some(Outcome::Rows(Some(rows))) => format!("{}: {}", event.step, rows.join(" | ")),
            Some(Outcome::Error(sqlstate, _)) => format!("{} fails with {sqlstate}", event.step),
        };
        self.events.iter().map(line).collect()
    }

    fn note(&mut self, step: &str, outcome: Option<Outcome>) {
        self.events.push(Event {
            step: step.to_string(),
            outcome,
        });
    }
}

/// A connection with a thread of its own, which runs the statements of a step.
struct Connection {
    steps: Sender<String>,
    outcomes: Receiver<Outcome>,
}

impl Connection {
    fn new(mut run: impl FnMut(&str) -> Outcome + Send + 'static) -> Connection {
        let (steps, received) = channel::<String>();
        let (outcome, outcomes) = channel();
        std::thread::spawn(move || {
            for step in received {
                let mut last = Outcome::Rows(None);
                for statement in statements(&step) {
                    last = match (run(&statement.sql), last) {
                        (Outcome::Rows(None), last) => last,
                        (new, _) => new,
                    };
                    if matches!(last, Outcome::Error(..)) {
                        break;
                    }
                }
                if outcome.send(last).is_err() {
                    return;
                }
            }
        });
        Connection { steps, outcomes }
    }

    fn start(&self, step: &str) {
        self.steps.send(step.to_string()).unwrap();
    }

    fn outcome(&self, within: Duration) -> Option<Outcome> {
        self.outcomes.recv_timeout(within).ok()
    }

    /// Runs statements of which none waits; says why where one fails.
    fn run(&self, step: &str) -> Result<(), String> {
        self.start(step);
        match self.outcome(PATIENCE * 4) {
            None => Err(format!("{} waits", step.trim())),
            Some(Outcome::Error(sqlstate, message)) => Err(format!("{sqlstate} {message}")),
            Some(Outcome::Rows(_)) => Ok(()),
        }
    }
}

/// Runs an order of a spec, and returns what is seen of its steps; fails where something that is set up does.
fn play(
    spec: &Spec,
    order: &[String],
    moment: Duration,
    connect: impl Fn() -> Connection,
) -> Result<Trace, String> {
    let control = connect();
    spec.setups.iter().try_for_each(|setup| control.run(setup))?;
    let sessions: Vec<Connection> = spec.sessions.iter().map(|_| connect()).collect();
    for (session, connection) in spec.sessions.iter().zip(&sessions) {
        connection.run(&session.setup)?;
    }
    let steps = spec.steps();
    let mut trace = Trace::default();
    // By session.
    let mut waiting: BTreeMap<usize, &str> = BTreeMap::new();
    for name in order {
        let (session, sql) = steps[name.as_str()];
        if let Some(before) = waiting.remove(&session) {
            let outcome = sessions[session].outcome(PATIENCE);
            let is_stuck = outcome.is_none();
            trace.note(before, outcome);
            if is_stuck {
                return Ok(trace);
            }
        }
        sessions[session].start(sql);
        let outcome = sessions[session].outcome(moment);
        let waits = outcome.is_none();
        trace.note(name, outcome);
        go_on(&mut waiting, &sessions, moment, &mut trace);
        if waits {
            waiting.insert(session, name);
        }
    }
    go_on(&mut waiting, &sessions, PATIENCE, &mut trace);
    for name in waiting.into_values() {
        trace.note(name, None);
    }
    Ok(trace)
}

/// Notes which of the steps that wait have gone on within a moment.
fn go_on(waiting: &mut BTreeMap<usize, &str>, sessions: &[Connection], moment: Duration, trace: &mut Trace) {
    waiting.retain(|session, name| match sessions[*session].outcome(moment) {
        None => true,
        outcome => {
            trace.note(name, outcome);
            false
        }
    });
}
