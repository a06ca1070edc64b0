//! SQL on a real HBase, which each test starts and ends: the files of `tests/slt`, each in a namespace of its own, the engine's model
//! ([`model`]), what statements take of servers, and servers that are away.
//!
//! Without `RUKH_HBASE_ALL` it is every third file. `SLT` names a part of the paths to run, and then all of these run.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use rukh::{Database, Options};
use rukh_testkit::client::Client;
use rukh_testkit::paths;
use rukh_testkit::slt::{OF_FILES, SltRukh, run_file};

#[path = "../../../rukh-engine/tests/engine/support/mod.rs"]
mod engine_support;
#[path = "../../../../tests/hbase/fixture.rs"]
mod fixture;
mod model;

/// While no server is there, statements fail within the time they may take, and name the host; then all goes on.
#[test]
fn statements_fail_while_servers_are_away_and_sessions_go_on() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let patience = Duration::from_secs(3);
    let options = || Options {
        auto_analyze: false,
        patience,
        ..Options::default()
    };
    let url = server.namespace("away");
    let database = Database::open_with(&url, options()).expect("it is made");
    let mut client = Client::new(&database);
    let mut run = |sql: &str| client.run(sql).map(|output| output.count());
    run("CREATE TABLE t (id INT PRIMARY KEY, v INT)").expect("the table is made");
    run("CREATE INDEX ON t (v)").expect("the index is made");
    run("INSERT INTO t SELECT n, n % 10 FROM generate_series(1, 100) n").expect("rows are written");
    // How large tables are is looked up by the first query.
    run("SELECT count(*) FROM t WHERE v > 3").expect("rows are counted");
    server.stop();
    for (sql, codes) in [
        ("SELECT count(*) FROM t", &["08006"][..]),
        ("SELECT * FROM t WHERE id = 7", &["08006"]),
        ("INSERT INTO t VALUES (101, 1)", &["08006", "08007"]),
        ("CREATE TABLE u (id INT PRIMARY KEY)", &["08006", "08007"]),
    ] {
        let begun = Instant::now();
        let error = run(sql).expect_err(sql);
        assert!(codes.contains(&error.sqlstate), "{sql}: {error:?}");
        // The hosts of the URL by their address, servers of regions by their name.
        let message = error.to_string();
        let names_host = ["127.0.0.1:", "localhost:"]
            .iter()
            .any(|host| message.contains(host));
        assert!(names_host, "{sql}: {message}");
        assert!(begun.elapsed() < patience * 8, "{sql}: {:?}", begun.elapsed());
    }
    // A read that is cancelled does not wait for servers.
    let cancel = client.connection().cancel_handle();
    let (ended, ends) = std::sync::mpsc::channel::<()>();
    let canceller = std::thread::spawn(move || {
        while ends.recv_timeout(Duration::from_millis(300)) == Err(RecvTimeoutError::Timeout) {
            cancel.cancel();
        }
    });
    let begun = Instant::now();
    let error = client
        .run("SELECT count(*) FROM t WHERE v > 3")
        .expect_err("it is cancelled");
    assert_eq!(error.sqlstate, "57014", "{error}");
    assert!(begun.elapsed() < patience, "{:?}", begun.elapsed());
    drop(ended);
    canceller.join().expect("it does not panic");
    let mut run = |sql: &str| client.run(sql).map(|output| output.count());
    server.start_again();
    let begun = Instant::now();
    while let Err(error) = run("INSERT INTO t VALUES (102, 2)") {
        assert!(begun.elapsed() < Duration::from_secs(120), "{error}");
    }
    let rows = |client: &mut Client| {
        let read = client.query("SELECT id FROM t WHERE v >= 0");
        read.map(|table| table.rows.len())
    };
    let there = rows(&mut client).expect("servers are back");
    // What was not known is whole or not there.
    assert!((101..=102).contains(&there), "{there}");
    drop((client, database));
    let database = Database::open_with(&url, options()).expect("it is there");
    let mut client = Client::new(&database);
    assert_eq!(rows(&mut client).expect("it is there"), there);
    client.check("t").expect("it is whole");
}

/// EXPLAIN ANALYZE and SHOW LAST QUERY STATS say what a statement takes of servers, by itself and within a transaction.
#[test]
fn statements_say_what_they_take_of_servers() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let options = Options {
        auto_analyze: false,
        ..Options::default()
    };
    let database = Database::open_with(server.namespace("counted"), options).expect("it is made");
    let mut client = Client::new(&database);
    let mut counted = |sql: &str| {
        for statement in sql.split("; ") {
            client.run(statement).expect(statement);
        }
        let stats = client.query("SHOW LAST QUERY STATS").expect("a query has run");
        let value = |name: &str| {
            let row = stats.rows.iter().find(|row| row[0].as_deref() == Some(name));
            row.and_then(|row| row[1].as_deref()?.parse::<u64>().ok())
        };
        let names = ["requests", "regions", "bytes_sent", "bytes_received"];
        names.map(|name| value(name).unwrap_or(0))
    };
    counted("CREATE TABLE t (id INT PRIMARY KEY, v INT, w TEXT); CREATE INDEX ON t (v); SELECT 1");
    let [requests, ..] = counted("SELECT 1");
    assert_eq!(requests, 0);
    let [requests, _, sent, _] =
        counted("INSERT INTO t SELECT n, n % 100, repeat('x', 500) FROM generate_series(1, 2000) n");
    assert!(requests >= 4 && sent > 2000 * 500, "{requests} {sent}");
    let point = "SELECT * FROM t WHERE id = 7";
    let [requests, regions, sent, received] = counted(point);
    assert_eq!((requests, regions), (1, 1));
    assert!(
        (1..1000).contains(&sent) && (500..1500).contains(&received),
        "{sent} {received}"
    );
    let [all, _, _, received] = counted("SELECT sum(length(w)) FROM t");
    assert!(all > 1 && received > 2000 * 500, "{all} {received}");
    // Locks, the clock, the primary, and the end of locks.
    for write in [
        "UPSERT INTO t VALUES (1, 1, 'y')",
        "INSERT INTO t VALUES (3000, 1, 'y')",
    ] {
        let [requests, ..] = counted(write);
        assert!((4..10).contains(&requests), "{write}: {requests}");
    }
    // Each statement of a transaction counts its own.
    counted("BEGIN; SELECT count(*) FROM t");
    assert_eq!(counted(point)[..2], [1, 1]);
    assert_eq!(counted(point)[..2], [1, 1]);
    assert!(
        counted("UPDATE t SET v = 5 WHERE id = 7")[0] < 4,
        "nothing is committed"
    );
    counted("COMMIT; SELECT 1");
    let plan = client
        .query("EXPLAIN ANALYZE SELECT w FROM t WHERE v = 7")
        .expect("it is explained");
    let lines: Vec<&str> = plan.rows.iter().filter_map(|row| row[0].as_deref()).collect();
    let network = lines
        .iter()
        .find(|line| line.starts_with("network "))
        .expect("it is said");
    assert!(
        network.contains(" requests, ") && network.ends_with(" received"),
        "{network}"
    );
}

#[test]
fn files_hold_on_hbase() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let part = std::env::var("SLT").unwrap_or_default();
    let runs_all = !part.is_empty() || std::env::var_os("RUKH_HBASE_ALL").is_some();
    let mut files = paths::files_below(&paths::tests().join("slt"), ".slt");
    files.retain(|path| {
        let text = std::fs::read_to_string(path).expect("the file was listed");
        path.to_string_lossy().contains(&part) && !OF_FILES.iter().any(|word| text.contains(word))
    });
    let mut failures = Vec::new();
    let mut count = 0;
    for (nth, path) in files
        .iter()
        .enumerate()
        .filter(|(nth, _)| runs_all || nth % 3 == 0)
    {
        let begun = Instant::now();
        let options = Options {
            auto_analyze: false,
            ..Options::default()
        };
        let database = Database::open_with(server.namespace(&format!("slt{nth}")), options);
        let held = database
            .map_err(|error| error.to_string())
            .and_then(|database| run_file(path, SltRukh::new(Client::new(&database))));
        println!(
            "{:5.1} s  {}  {}",
            begun.elapsed().as_secs_f64(),
            path.display(),
            if held.is_ok() { "ok" } else { "FAILS" }
        );
        failures.extend(held.err().map(|error| format!("{}\n{error}", path.display())));
        count += 1;
    }
    assert!(
        count > 0 && failures.is_empty(),
        "{} of {count} files fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}
