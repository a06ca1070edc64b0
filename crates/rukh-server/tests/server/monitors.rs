//! What is seen of a server from outside: over HTTP, and in `pg_stat_activity`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use rukh::Database;

use crate::{Config, server, server_with};
use rukh_testkit::raw::{Raw, text};

/// Asks over HTTP; returns status and body.
fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).expect("monitors are answered");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("monitors are heard");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("monitors are answered");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
    (status.unwrap_or(0), body.unwrap_or_default())
}

/// Returns the value of a line of /metrics.
fn metric(text: &str, line: &str) -> f64 {
    let found = text
        .lines()
        .find_map(|known| known.strip_prefix(line)?.strip_prefix(' '));
    let found = found.and_then(|value| value.parse().ok());
    found.unwrap_or_else(|| panic!("no {line} in\n{text}"))
}

#[test]
fn monitors_are_answered() {
    let server = server_with(Config {
        http: Some("127.0.0.1:0".to_string()),
        ..Config::default()
    });
    let http = server.http_address().expect("there is one");
    assert_eq!(get(http, "/health"), (200, "ok\n".to_string()));
    assert_eq!(get(http, "/ready"), (200, "ready\n".to_string()));
    assert_eq!(get(http, "/nothing").0, 404);
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    raw.simple("INSERT INTO t VALUES (1), (2), (3)");
    raw.simple("SELECT * FROM t WHERE id = 1");
    raw.simple("SELECT count(*) FROM t a JOIN t b ON a.id = b.id + 1");
    raw.simple("SELECT nothing FROM t");
    let (status, text) = get(http, "/metrics");
    assert_eq!(status, 200);
    let statements = |kind: &str, path: &str, outcome: &str| {
        let line = format!("rukh_statements_total{{kind=\"{kind}\",path=\"{path}\",outcome=\"{outcome}\"}}");
        metric(&text, &line)
    };
    assert_eq!(statements("select", "direct", "ok"), 1.0);
    assert_eq!(statements("select", "general", "ok"), 1.0);
    assert_eq!(statements("select", "", "failed"), 1.0);
    assert_eq!(statements("insert", "", "ok"), 1.0);
    assert_eq!(
        metric(&text, "rukh_statement_seconds_count{kind=\"select\"}"),
        3.0
    );
    assert!(metric(&text, "rukh_keys_examined_total") >= 4.0);
    assert_eq!(metric(&text, "rukh_connections"), 1.0);
    for what in [
        "cache_bytes",
        "compactions",
        "delayed_bytes_per_second",
        "writes_stopped",
    ] {
        metric(&text, &format!("rukh_storage{{what=\"{what}\"}}"));
    }
    server.stop();
    assert_eq!(get(http, "/ready").0, 503);
}

fn value(raw: &mut Raw, sql: &str) -> String {
    let answer = raw.simple(sql);
    assert_eq!(answer.error, None, "{sql}");
    answer.texts()[0][0].clone().unwrap_or_default()
}

#[test]
fn sessions_see_one_another() {
    let server = server();
    let mut first = Raw::connect(server.address());
    let mut second = Raw::connect(server.address());
    first.simple("SET application_name = 'shop'; SELECT 1 + 1");
    let of = |pid: i32, columns: &str| format!("SELECT {columns} FROM pg_stat_activity WHERE pid = {pid}");
    let columns = "state || '/' || trim(query) || '/' || application_name || '/' || client_addr";
    assert_eq!(
        value(&mut second, &of(first.key.0, columns)),
        "idle/SELECT 1 + 1/shop/127.0.0.1"
    );
    let state = of(second.key.0, "state");
    assert_eq!(value(&mut second, &state), "active");
    first.simple("BEGIN; SELECT 1");
    let columns = "state || '/' || CAST(xact_start <= now() AS TEXT)";
    assert_eq!(
        value(&mut second, &of(first.key.0, columns)),
        "idle in transaction/true"
    );
    first.simple("ROLLBACK; CREATE USER u PASSWORD 'secret'");
    assert_eq!(
        value(&mut second, &of(first.key.0, "query")),
        "<statement with a password>"
    );
    let all = "SELECT count(*) FROM pg_catalog.pg_stat_activity";
    assert_eq!(value(&mut second, all), "2");
    // One that runs is cancelled; one that waits is not.
    first.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    let ids: Vec<String> = (0..3000).map(|id| format!("({id})")).collect();
    first.simple(&format!("INSERT INTO t VALUES {}", ids.join(",")));
    let long = "SELECT count(*) FROM t a, t b, t c WHERE a.id + b.id + c.id < 0";
    first.send(b'Q', &text(long));
    let deadline = Instant::now() + Duration::from_secs(20);
    while value(&mut second, &of(first.key.0, "state")) != "active" && Instant::now() < deadline {}
    let cancel = format!("SELECT pg_cancel_backend({})", first.key.0);
    assert_eq!(value(&mut second, &cancel), "t");
    assert_eq!(first.answer().sqlstate(), "57014");
    assert_eq!(value(&mut second, "SELECT pg_cancel_backend(2000000000)"), "f");
    let terminate = format!("SELECT pg_terminate_backend({})", first.key.0);
    assert_eq!(value(&mut second, &terminate), "t");
    assert_eq!(first.answer().sqlstate(), "57P01");
    server.stop();
}

/// A role sees what it runs itself, and ends no sessions of others.
#[test]
fn sessions_of_others_are_their_own() {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let mut administrator = database.connect();
    let created = administrator.execute("CREATE USER u PASSWORD 'x'");
    created.map(drop).expect("a user can be made");
    struct Two;
    impl rukh::Backends for Two {
        fn list(&self) -> Vec<rukh::Backend> {
            let backend = |pid, user: &str| rukh::Backend {
                pid,
                user: Some(user.to_string()),
                state: "active",
                statement: format!("SELECT {pid}"),
                ..rukh::Backend::default()
            };
            vec![backend(2, "u"), backend(1, "other")]
        }
        fn cancel(&self, _: i32) -> bool {
            true
        }
        fn terminate(&self, _: i32) -> bool {
            true
        }
    }
    database.add_backends(std::sync::Arc::new(Two));
    let mut user = database.connect();
    user.set_user("u");
    let mut texts = |sql: &str| -> Result<Vec<String>, String> {
        let rows = user.query(sql).map_err(|error| error.sqlstate.to_string())?;
        rows.map(|row| row.and_then(|row| row.get::<String>(0)))
            .collect::<Result<_, _>>()
            .map_err(|error| error.sqlstate.to_string())
    };
    assert_eq!(
        texts("SELECT query FROM pg_stat_activity ORDER BY pid"),
        Ok(vec![
            "<insufficient privilege>".to_string(),
            "SELECT 2".to_string()
        ])
    );
    let cancel = |pid: i32| format!("SELECT CAST(pg_cancel_backend({pid}) AS TEXT)");
    assert_eq!(texts(&cancel(2)), Ok(vec!["true".to_string()]));
    assert_eq!(texts(&cancel(3)), Ok(vec!["false".to_string()]));
    assert_eq!(texts(&cancel(1)), Err("42501".to_string()));
}
