//! What is in the logs of a server, and what is not: no password, whatever is logged.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use rukh::Database;
use rukh_server::{LogFormat, log_to_stderr};

use crate::{Config, server_over};
use rukh_testkit::raw::{Raw, framed, parse, text};

/// Makes a process of this program the server.
const SERVE: &str = "RUKH_TEST_LOGS";

/// The process that the other test starts; by itself it has nothing to do.
#[test]
fn logs_all_that_it_can() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    log_to_stderr(LogFormat::Json);
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let server = server_over(database, Config::default());
    eprintln!("address {}", server.address());
    loop {
        std::thread::park();
    }
}

fn start(log: &Path) -> Child {
    let program = std::env::current_exe().expect("this program has a file");
    let file = std::fs::File::create(log).expect("a file can be made");
    Command::new(program)
        .args(["--exact", "logs::logs_all_that_it_can", "--nocapture"])
        .env(SERVE, "1")
        .env("RUKH_LOG", "trace")
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .expect("this program runs")
}

#[test]
fn passwords_are_in_no_log() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let log = directory.path().join("log");
    let mut child = start(&log);
    let read = || std::fs::read_to_string(&log).unwrap_or_default();
    let address = loop {
        let found = read()
            .lines()
            .find_map(|line| line.strip_prefix("address ")?.parse().ok());
        match found {
            Some(address) => break address,
            None => std::thread::yield_now(),
        }
    };
    let mut raw = Raw::connect(address);
    let statements = [
        "SET log_min_duration_statement = 0",
        "CREATE USER ann SUPERUSER PASSWORD 'hush-1'",
        "ALTER USER ann PASSWORD 'hush-2'",
        "CREATE USER ann PASSWORD 'hush-3'",
        "CREATE USER bob PASSWORD 'hush-4' NONSENSE",
        "CREATE USERS carol PASSWORD 'hush-5'",
        "SELECT 1; ALTER ROLE ann WITH PASSWORD 'hush-6'",
    ];
    for sql in statements {
        raw.simple(sql);
    }
    raw.extended("ALTER USER ann PASSWORD 'hush-7'", &[], false);
    raw.send_bytes(
        &[
            parse("", "CREATE USER dan PASSWORD 'hush-8' X", &[]),
            framed(Some(b'S'), b""),
        ]
        .concat(),
    );
    raw.answer();
    // Passwords as other ways of logging in would send them.
    let mut plain = Raw::open(address);
    plain.send_startup(&[("user", "ann")]);
    plain.read();
    plain.send(b'p', &text("hush-9"));
    plain.answer();
    let shown =
        raw.simple("SELECT query FROM pg_stat_activity UNION ALL SELECT query FROM pg_stat_statements");
    assert!(!format!("{:?}", shown.texts()).contains("hush-"), "{shown:?}");
    child.kill().expect("the server can be killed");
    child.wait().expect("the server ends");
    let log = read();
    assert!(
        log.contains("session begins") && log.contains("statement"),
        "{log}"
    );
    let secrets: Vec<&str> = log.lines().filter(|line| line.contains("hush-")).collect();
    assert!(secrets.is_empty(), "{secrets:?}");
}
