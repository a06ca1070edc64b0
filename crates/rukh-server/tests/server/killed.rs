//! A server in a process of its own: killed under load, and measured while a client fetches.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

use rukh::{Connection, Database};

use crate::{Config, server_over};
use rukh_testkit::raw::{Raw, bind, execute, framed, parse, text};

/// Makes a process of this program the server, of this directory.
const DIRECTORY: &str = "RUKH_TEST_SERVE";

/// The process that the others start; by itself it has nothing to do.
#[test]
fn serves_in_a_process_of_its_own() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let database = Database::open(directory).expect("the database opens");
    let server = server_over(database, Config::default());
    eprintln!("address {}", server.address());
    loop {
        std::thread::park();
    }
}

/// Starts it; returns where it listens.
fn start(directory: &Path) -> (Child, SocketAddr) {
    let program = std::env::current_exe().expect("this program has a file");
    start_by(Command::new(program), directory)
}

/// Starts it with a limit of open files.
pub fn start_with_open_files(directory: &Path, open_files: usize) -> (Child, SocketAddr) {
    let program = std::env::current_exe().expect("this program has a file");
    // Both limits, the hard one too: it cannot be raised again.
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {open_files} && exec \"$0\" \"$@\"")]);
    shell.arg(program);
    start_by(shell, directory)
}

fn start_by(mut command: Command, directory: &Path) -> (Child, SocketAddr) {
    let mut child = command
        .args(["--exact", "killed::serves_in_a_process_of_its_own", "--nocapture"])
        .env(DIRECTORY, directory)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let address = lines
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix("address ")?.parse().ok());
    (child, address.expect("the server says where it listens"))
}

fn numbers(connection: &mut Connection, sql: &str) -> BTreeSet<i64> {
    let rows = connection.query(sql).expect("the query runs");
    rows.map(|row| row.and_then(|row| row.get::<i64>(0)).expect("rows can be read"))
        .collect()
}

#[test]
fn acknowledged_commits_survive_a_kill() {
    const WRITERS: i64 = 4;
    const ENOUGH: usize = 200;
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("db");
    for round in 0..3_i64 {
        let (mut child, address) = start(&path);
        let mut raw = Raw::connect(address);
        raw.simple("CREATE TABLE IF NOT EXISTS t (id BIGINT PRIMARY KEY, a TEXT, UNIQUE (a))");
        // A COPY that does not come to its end.
        raw.send(b'Q', &text("COPY t FROM STDIN"));
        raw.send(b'd', format!("{}\tnever\n", -1 - round).as_bytes());
        let acknowledged = Mutex::new(BTreeSet::new());
        let enough = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (acknowledged, enough) = (&acknowledged, &enough);
                scope.spawn(move || {
                    let mut raw = Raw::connect(address);
                    for n in 0.. {
                        let id = (round * WRITERS + writer) * 1_000_000 + n;
                        let sql = format!("INSERT INTO t VALUES ({id}, 'a{id}')");
                        if raw.try_send(&framed(Some(b'Q'), &text(&sql))).is_err() {
                            return;
                        }
                        let answer = raw.answer();
                        if answer.tags != ["INSERT 0 1"] {
                            return;
                        }
                        let mut acknowledged = acknowledged.lock().expect("no writer has panicked");
                        acknowledged.insert(id);
                        if acknowledged.len() == ENOUGH {
                            drop(acknowledged);
                            enough.wait();
                        }
                    }
                });
            }
            enough.wait();
            child.kill().expect("the server can be killed");
        });
        child.wait().expect("the server ends");
        let acknowledged = acknowledged.into_inner().expect("no writer has panicked");
        let database = Database::open(&path).expect("the database opens after the kill");
        let mut connection = database.connect();
        let first = round * WRITERS * 1_000_000;
        let found = numbers(&mut connection, &format!("SELECT id FROM t WHERE id >= {first}"));
        let lost: Vec<_> = acknowledged.difference(&found).collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        // Each writer had at most one statement under way.
        assert!(found.len() - acknowledged.len() <= WRITERS as usize);
        assert_eq!(
            numbers(&mut connection, "SELECT id FROM t WHERE id < 0"),
            BTreeSet::new()
        );
        let report = connection
            .query("CHECK TABLE t")
            .expect("the table can be checked");
        for row in report {
            let row = row.expect("rows can be read");
            let (what, value) = (row.get::<String>(0), row.get::<String>(1));
            let (what, value) = (what.expect("it is text"), value.expect("it is text"));
            assert!(
                matches!(what.as_str(), "rows" | "entries") || value == "0",
                "{what}: {value}"
            );
        }
    }
}

/// Returns the memory of a process, bytes.
#[cfg(target_os = "linux")]
fn memory_of(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok());
    kilobytes.expect("the system says so") * 1024
}

/// A result of millions of rows, fetched in parts, and one that is copied out, take no more memory the longer
/// they are.
#[cfg(target_os = "linux")]
#[test]
fn a_long_result_takes_constant_memory() {
    const GROWTH_MAX: u64 = 64 << 20;
    let directory = tempfile::tempdir().expect("a directory can be made");
    let (mut child, address) = start(&directory.path().join("db"));
    let mut raw = Raw::connect(address);
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, a TEXT)");
    let rows: Vec<String> = (0..2000)
        .map(|id| format!("({id}, 'some text of {id}')"))
        .collect();
    raw.simple(&format!("INSERT INTO t VALUES {}", rows.join(",")));
    let query = "SELECT a.id, a.a, b.id, b.a FROM t a, t b";
    raw.simple("BEGIN");
    let fetch = |raw: &mut Raw| {
        let mut bytes = execute("p", 1000);
        bytes.extend(framed(Some(b'S'), b""));
        raw.send_bytes(&bytes);
        let answer = raw.answer();
        assert_eq!((answer.rows.len(), answer.error), (1000, None));
    };
    let mut bytes = parse("", query, &[]);
    bytes.extend(bind("p", "", &[], 0, 1));
    raw.send_bytes(&bytes);
    (0..20).for_each(|_| fetch(&mut raw));
    let before = memory_of(&child);
    (0..200).for_each(|_| fetch(&mut raw));
    let after = memory_of(&child);
    assert!(after < before + GROWTH_MAX, "{before} bytes, then {after}");
    raw.simple("ROLLBACK");
    raw.send(b'Q', &text(&format!("COPY ({query}) TO STDOUT")));
    let read = |raw: &mut Raw, count: usize| {
        for _ in 0..count {
            let message = raw.read().expect("the server sends on");
            assert!(matches!(message.kind, b'H' | b'd'), "{message:?}");
        }
    };
    read(&mut raw, 20_000);
    let before = memory_of(&child);
    read(&mut raw, 200_000);
    let after = memory_of(&child);
    assert!(after < before + GROWTH_MAX, "{before} bytes, then {after}");
    child.kill().expect("the server can be killed");
    child.wait().expect("the server ends");
}
