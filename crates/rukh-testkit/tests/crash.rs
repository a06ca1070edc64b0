//! Processes killed while they write, and databases opened again.
//!
//! `RUKH_CRASH_ROUNDS` sets how many times the process is killed, `RUKH_SEED` what it does.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh::{Database, Options};
use rukh_testkit::client::Client;
use rukh_testkit::crash::{Difference, Kind, State};
use rukh_testkit::seed::{Cases, number};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

/// Kills of a usual run.
const ROUNDS: u64 = 12;

/// The same on HBase, where the indexes that are built beside the statements take seconds.
const ROUNDS_ON_HBASE: u64 = 2;

#[test]
fn crash_leaves_every_acknowledged_statement_and_no_half_one() {
    crash(Kind::Rows, None);
}

#[test]
fn crash_leaves_every_acknowledged_statement_where_tables_share_column_families() {
    crash(Kind::Rows, Some(0));
}

#[test]
fn crash_leaves_every_acknowledged_statement_in_a_columnar_table() {
    crash(Kind::Columnar, None);
}

#[test]
fn crash_leaves_what_was_written_without_being_read_and_what_has_lifetimes() {
    crash(Kind::Meter, None);
}

/// On HBase, where a statement takes some milliseconds, in which its rows change one after another.
#[test]
fn crash_leaves_every_acknowledged_statement_on_hbase() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    for kind in [Kind::Rows, Kind::Meter] {
        let url = server.namespace(kind.name());
        let rounds = number("RUKH_CRASH_ROUNDS").unwrap_or(ROUNDS_ON_HBASE);
        crash_at(Path::new(&url), kind, None, (rounds, Duration::from_millis(30)));
    }
}

/// Where a process ends that changes rows, by the names of the protocol.
const STEPS: [&str; 5] = ["lock", "tick", "primary", "commit", "settle"];

/// Where one ends that meets what another has left.
const STEPS_AFTER: [&str; 4] = ["outcome", "rollback", "unlock", "commit"];

/// A process ends itself before and after each step of a commit, the next one while it resolves what the first has left, and the one after
/// that finds every acknowledged statement, and no half one.
#[test]
fn an_end_at_any_step_of_a_commit_on_hbase_leaves_it_whole_or_not_there() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let kind = Kind::Rows;
    let url = server.namespace("steps");
    let path = Path::new(&url);
    let case = Cases::from_environment("steps", 1)
        .iter()
        .next()
        .expect("there is one case");
    make_tables(&open(path, None).unwrap(), kind);
    let mut random = StdRng::seed_from_u64(case.seed);
    let (mut model, mut next) = (kind.model(), 0);
    let (mut ends, mut ends_after) = (0, 0);
    for round in 0..number("RUKH_STEP_ROUNDS").unwrap_or(1) {
        for step in STEPS {
            for moment in ["before", "after"] {
                let at = format!("{step} {moment} {}", random.random_range(1..30));
                let acknowledged = run_to_step(path, case.seed, next, kind, &at);
                ends += 1;
                let after = STEPS_AFTER[random.random_range(0..STEPS_AFTER.len())];
                let side = ["before", "after"][random.random_range(0..2)];
                ends_after += u64::from(read_to_step(path, kind, &format!("read {after} {side} 1")));
                for number in next..acknowledged {
                    model.apply(case.seed, number);
                }
                next = reopen_and_compare(path, case.seed, acknowledged, kind, model.as_mut())
                    .unwrap_or_else(|error| {
                        panic!("{}\nround {round}, {at}, {after} {side}: {error}", case.replay())
                    });
            }
        }
    }
    println!("steps: {ends} ends in commits, {ends_after} in what resolves them, {next} statements");
}

/// Starts the child at statement `first`, which ends itself at a step; returns the number behind the last one acknowledged.
fn run_to_step(path: &Path, seed: u64, first: u64, kind: Kind, at: &str) -> u64 {
    let mut child = child(path, seed, first, kind)
        .env("RUKH_CRASH_AT", at)
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut acknowledged = first;
    // A step that never comes is a defect of this test.
    for line in lines.map_while(Result::ok).take(400) {
        acknowledged = acknowledged_by(&line).unwrap_or(acknowledged);
    }
    let status = child.wait().unwrap();
    assert_eq!(status.code(), None, "{at}: the child was to end itself: {status}");
    acknowledged
}

/// Starts a child that reads, and ends itself at a step if that comes; returns whether it has.
fn read_to_step(path: &Path, kind: Kind, at: &str) -> bool {
    let status = child(path, 0, 0, kind).env("RUKH_CRASH_AT", at).status().unwrap();
    assert!(matches!(status.code(), None | Some(0)), "{at}: {status}");
    status.code().is_none()
}

fn child(path: &Path, seed: u64, first: u64, kind: Kind) -> Command {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rukh-crash-child"));
    child
        .arg(path)
        .args([seed.to_string(), first.to_string()])
        .arg(kind.name())
        .stdout(Stdio::piped());
    child
}

/// Kills a process again and again that has so many tables and indexes in column families of their own.
fn crash(kind: Kind, own_families: Option<usize>) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("db");
    let rounds = number("RUKH_CRASH_ROUNDS").unwrap_or(ROUNDS);
    crash_at(&path, kind, own_families, (rounds, Duration::from_millis(4)));
}

/// Kills a process that writes to a database so many times, each time within so long after a statement.
fn crash_at(path: &Path, kind: Kind, own_families: Option<usize>, (rounds, within): (u64, Duration)) {
    let case = Cases::from_environment("crash", 1)
        .iter()
        .next()
        .expect("there is one case");
    make_tables(&open(path, own_families).unwrap(), kind);
    let mut random = StdRng::seed_from_u64(case.seed);
    let mut model = kind.model();
    let mut next = 0;
    for round in 0..rounds {
        let acknowledged = run_and_kill(path, case.seed, (next, within), kind, own_families, &mut random);
        for number in next..acknowledged {
            model.apply(case.seed, number);
        }
        next = reopen_and_compare(path, case.seed, acknowledged, kind, model.as_mut())
            .unwrap_or_else(|error| panic!("{}\nround {round}: {error}", case.replay()));
    }
    println!("crash: {}: {rounds} kills, {next} statements", kind.name());
}

fn open(path: &Path, own_families: Option<usize>) -> rukh::Result<Database> {
    let options = Options {
        own_families,
        ..Options::default()
    };
    Database::open_with(path, options)
}

fn make_tables(database: &Database, kind: Kind) {
    let mut client = Client::new(database);
    for sql in kind.setup() {
        client.run(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Starts the child at statement `first`, kills it some time, at most `within`, after a random number of commits, and
/// returns the number behind the last one acknowledged.
fn run_and_kill(
    path: &Path,
    seed: u64,
    (first, within): (u64, Duration),
    kind: Kind,
    own_families: Option<usize>,
    random: &mut StdRng,
) -> u64 {
    let mut child = child(path, seed, first, kind);
    if let Some(count) = own_families {
        child.env("RUKH_OWN_FAMILIES", count.to_string());
    }
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let commits = random.random_range(0..60);
    let mut acknowledged = first;
    for line in lines.by_ref().take(1 + commits) {
        acknowledged = acknowledged_by(&line.unwrap()).unwrap_or(acknowledged);
    }
    kill(&mut child, within.mul_f64(random.random()));
    for line in lines.map_while(Result::ok) {
        acknowledged = acknowledged_by(&line).unwrap_or(acknowledged);
    }
    acknowledged
}

/// Kills after a while, so that the kill falls anywhere within a statement.
fn kill(child: &mut Child, after: Duration) {
    let started = Instant::now();
    while started.elapsed() < after {
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(
        status.code().is_none(),
        "the child was to be killed, and ended with {status}"
    );
}

/// `done 7` acknowledges eight statements.
fn acknowledged_by(line: &str) -> Option<u64> {
    line.strip_prefix("done ")?
        .parse::<u64>()
        .ok()
        .map(|number| number + 1)
}

/// Compares the database with the model after the acknowledged statements, or one more; returns the
/// number of the next statement.
fn reopen_and_compare(
    path: &Path,
    seed: u64,
    acknowledged: u64,
    kind: Kind,
    model: &mut dyn State,
) -> Result<u64, String> {
    let database = Database::open(path).map_err(|error| format!("open: {error}"))?;
    let mut client = Client::new(&database);
    let difference = match model.compare(&mut client) {
        Ok(()) => return Ok(acknowledged),
        Err(Difference::Damage(finding)) => return Err(finding),
        Err(Difference::Rows(difference)) => difference,
    };
    model.apply(seed, acknowledged);
    match model.compare(&mut client) {
        Ok(()) => Ok(acknowledged + 1),
        Err(Difference::Damage(finding)) => Err(finding),
        Err(Difference::Rows(with_one_more)) => Err(format!(
            "after {acknowledged} statements: {difference}\nafter the next, {}: {with_one_more}",
            kind.statements(seed, acknowledged).join("; ")
        )),
    }
}
