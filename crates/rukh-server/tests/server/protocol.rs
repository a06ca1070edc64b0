//! What the protocol promises: tags, states, places of errors, portals, pipelines, cancel requests.

use std::time::{Duration, Instant};

use rukh::Database;

use crate::{Config, server, server_over, server_with};
use rukh_testkit::raw::{Answer, Raw, bind, execute, framed, parse, text};

fn sync() -> Vec<u8> {
    framed(Some(b'S'), b"")
}

fn describe(kind: u8, name: &str) -> Vec<u8> {
    let mut body = vec![kind];
    body.extend(text(name));
    framed(Some(b'D'), &body)
}

/// Sends messages at once and reads until the server is ready.
fn all(client: &mut Raw, messages: &[Vec<u8>]) -> Answer {
    client.send_bytes(&messages.concat());
    client.answer()
}

#[test]
fn statements_end_with_their_tags_and_the_state_of_the_transaction() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let cases: [(&str, &[&str], char, &str); 16] = [
        (
            "CREATE TABLE t (id INT PRIMARY KEY, n INT)",
            &["CREATE TABLE"],
            'I',
            "",
        ),
        ("INSERT INTO t VALUES (1, 1), (2, 2)", &["INSERT 0 2"], 'I', ""),
        ("UPSERT INTO t VALUES (2, 3)", &["INSERT 0 1"], 'I', ""),
        ("SELECT * FROM t", &["SELECT 2"], 'I', ""),
        ("UPDATE t SET n = 0", &["UPDATE 2"], 'I', ""),
        ("BEGIN", &["BEGIN"], 'T', ""),
        ("DELETE FROM t WHERE id = 1", &["DELETE 1"], 'T', ""),
        ("SELECT 1/0", &[], 'E', "22012"),
        ("SELECT 1", &[], 'E', "25P02"),
        ("COMMIT", &["ROLLBACK"], 'I', ""),
        (
            "SELECT count(*) FROM t; SELECT 1",
            &["SELECT 1", "SELECT 1"],
            'I',
            "",
        ),
        ("SET statement_timeout = '1min'", &["SET"], 'I', ""),
        ("SHOW statement_timeout", &["SHOW"], 'I', ""),
        ("DELETE FROM t RETURNING id", &["DELETE 2"], 'I', ""),
        ("EXPLAIN SELECT * FROM t", &["EXPLAIN"], 'I', ""),
        ("SELEC", &[], 'I', "42601"),
    ];
    for (sql, tags, status, sqlstate) in cases {
        let answer = client.simple(sql);
        assert_eq!(
            (answer.tags.as_slice(), answer.status),
            (
                tags.iter()
                    .map(|tag| tag.to_string())
                    .collect::<Vec<_>>()
                    .as_slice(),
                status
            ),
            "{sql}: {answer:?}"
        );
        assert_eq!(answer.sqlstate(), sqlstate, "{sql}");
    }
    for empty in ["", " ", ";", "-- nothing"] {
        assert_eq!(client.simple(empty).kinds(), "IZ", "{empty:?}");
    }
}

#[test]
fn errors_have_their_place_in_the_whole_text() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let answer = client.simple("SELECT 'é'; SELECT nothing");
    assert_eq!(
        (answer.sqlstate(), answer.field(b'P')),
        ("42703".to_string(), "20".to_string()),
        "{answer:?}"
    );
    let answer = client.extended("SELECT nothing", &[], false);
    assert_eq!(
        (answer.sqlstate(), answer.field(b'P')),
        ("42703".to_string(), "8".to_string())
    );
}

#[test]
fn a_text_of_statements_is_one_transaction() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    let failed =
        client.simple("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); INSERT INTO t VALUES (1)");
    assert_eq!(
        (failed.sqlstate().as_str(), failed.status, failed.tags.len()),
        ("23505", 'I', 2)
    );
    assert_eq!(
        client.simple("SELECT count(*) FROM t").texts(),
        [[Some("0".to_string())]]
    );
    // Nothing runs if a part cannot be read.
    assert_eq!(client.simple("INSERT INTO t VALUES (1); INSRT").tags.len(), 0);
    // BEGIN takes what precedes it along, COMMIT ends it.
    let answer = client.simple("INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)");
    assert_eq!(answer.status, 'T', "{answer:?}");
    assert_eq!(client.simple("ROLLBACK").status, 'I');
    assert_eq!(
        client.simple("SELECT count(*) FROM t").texts(),
        [[Some("0".to_string())]]
    );
    client.simple("INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (1)");
    assert_eq!(
        client.simple("SELECT count(*) FROM t").texts(),
        [[Some("1".to_string())]]
    );
}

#[test]
fn a_pipeline_is_one_transaction_and_goes_on_after_its_sync() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    let insert =
        |id: &str| -> Vec<Vec<u8>> { vec![bind("", "s", &[Some(id.as_bytes())], 0, 0), execute("", 0)] };
    let mut messages = vec![parse("s", "INSERT INTO t VALUES ($1)", &[])];
    messages.extend([insert("1"), insert("2"), insert("1"), insert("3")].concat());
    messages.push(sync());
    messages.extend(insert("7"));
    messages.push(sync());
    let first = all(&mut client, &messages);
    assert_eq!(
        (first.kinds().as_str(), first.sqlstate().as_str()),
        ("12C2C2EZ", "23505")
    );
    let second = client.answer();
    assert_eq!(second.kinds(), "2CZ");
    assert_eq!(
        client.simple("SELECT id FROM t").texts(),
        [[Some("7".to_string())]]
    );
}

#[test]
fn statements_and_portals_are_described() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT)");
    let messages = [
        parse("s", "SELECT id, name FROM t WHERE id = $1 AND name = $2", &[23]),
        describe(b'S', "s"),
        bind("p", "s", &[Some(b"1"), None], 0, 1),
        describe(b'P', "p"),
        describe(b'S', "none"),
        sync(),
    ];
    let answer = all(&mut client, &messages);
    assert_eq!(answer.kinds(), "1tT2TEZ");
    assert_eq!(answer.messages[1].body, [0, 2, 0, 0, 0, 23, 0, 0, 0, 25]);
    assert_eq!(
        answer.columns,
        Some(vec![("id".to_string(), 20), ("name".to_string(), 25)])
    );
    assert_eq!(answer.sqlstate(), "26000");
    let answer = all(
        &mut client,
        &[parse("", "DELETE FROM t", &[]), describe(b'S', ""), sync()],
    );
    assert_eq!(answer.kinds(), "1tnZ");
    // A type that only results and parameters have.
    let answer = all(
        &mut client,
        &[
            parse("", "SELECT $1::interval AS i", &[]),
            describe(b'S', ""),
            bind("", "", &[Some(b"1 day 02:00")], 0, 1),
            execute("", 0),
            sync(),
        ],
    );
    assert_eq!(answer.messages[1].body, [0, 1, 0, 0, 4, 162]);
    assert_eq!(answer.columns, Some(vec![("i".to_string(), 1186)]));
    let micros = 7_200_000_000_i64.to_be_bytes().to_vec();
    let days_and_months = [0, 0, 0, 1, 0, 0, 0, 0].to_vec();
    assert_eq!(answer.rows, [[Some([micros, days_and_months].concat())]]);
    // A type that Rukh does not have.
    let answer = all(&mut client, &[parse("", "SELECT $1", &[600]), sync()]);
    assert_eq!((answer.sqlstate().as_str(), answer.status), ("0A000", 'I'));
    let answer = all(&mut client, &[parse("s", "SELECT 1", &[]), sync()]);
    assert_eq!(answer.sqlstate(), "42P05");
}

#[test]
fn portals_stream_on() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    client.simple("BEGIN");
    let first = all(
        &mut client,
        &[
            parse("", "SELECT value FROM generate_series(1, 5) AS t(value)", &[]),
            bind("p", "", &[], 0, 0),
            execute("p", 2),
            sync(),
        ],
    );
    assert_eq!(
        (first.kinds().as_str(), first.status),
        ("12DDsZ", 'T'),
        "{first:?}"
    );
    // Another statement in between does not disturb it.
    assert_eq!(client.simple("SELECT 1").tags, ["SELECT 1"]);
    let second = all(&mut client, &[execute("p", 2), execute("p", 2), sync()]);
    assert_eq!(second.kinds(), "DDsDCZ");
    let values: Vec<_> = second.texts().concat().into_iter().flatten().collect();
    assert_eq!(values, ["3", "4", "5"]);
    // A query that has given all its rows gives none; what gives no rows runs once.
    let over = all(&mut client, &[execute("p", 0), sync()]);
    assert_eq!(
        (over.kinds().as_str(), over.tags.as_slice()),
        ("CZ", ["SELECT 0".to_string()].as_slice())
    );
    let twice = all(
        &mut client,
        &[
            parse("", "DELETE FROM t", &[]),
            bind("q", "", &[], 0, 0),
            execute("q", 0),
            execute("q", 0),
            sync(),
        ],
    );
    assert_eq!(
        (twice.kinds().as_str(), twice.sqlstate().as_str()),
        ("12CEZ", "55000")
    );
    client.simple("ROLLBACK");
    assert_eq!(all(&mut client, &[execute("p", 0), sync()]).sqlstate(), "34000");
}

#[test]
fn a_statement_is_cancelled_by_who_has_the_key() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let (pid, secret) = client.key;
    let cancel = |secret: i32| {
        let mut body = 80_877_102_i32.to_be_bytes().to_vec();
        body.extend(pid.to_be_bytes());
        body.extend(secret.to_be_bytes());
        let mut other = Raw::open(server.address());
        other.send_bytes(&framed(None, &body));
        assert_eq!(other.read(), None);
    };
    const LONG: &str = "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b";
    client.send(b'Q', &text(LONG));
    cancel(secret.wrapping_add(1));
    // It has to run before it can be cancelled, and the client does not see when it does.
    let (sender, answers) = std::sync::mpsc::channel();
    let answer = std::thread::scope(|scope| {
        scope.spawn(|| sender.send(client.answer()).is_ok());
        loop {
            match answers.recv_timeout(Duration::from_millis(20)) {
                Ok(answer) => break answer,
                Err(_) => cancel(secret),
            }
        }
    });
    assert_eq!(
        (answer.sqlstate().as_str(), answer.status),
        ("57014", 'I'),
        "{answer:?}"
    );
    assert_eq!(client.simple("SELECT 1").tags, ["SELECT 1"]);
}

#[test]
fn statements_and_pauses_have_limits() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("SET statement_timeout = 50");
    let started = Instant::now();
    let answer =
        client.simple("SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b");
    assert_eq!(
        answer.field(b'M'),
        "canceling statement due to statement timeout",
        "{answer:?}"
    );
    assert!(started.elapsed() < Duration::from_secs(30));
    client.simple("SET idle_in_transaction_session_timeout = 50");
    client.simple("BEGIN");
    let answer = client.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'S').as_str()),
        ("25P03", "FATAL")
    );
    // The whole block, however busy its client is.
    let mut busy = Raw::connect(server.address());
    busy.simple("SET transaction_timeout = 50");
    busy.simple("BEGIN");
    let answer = loop {
        if busy.try_send(&framed(Some(b'Q'), &text("SELECT 1"))).is_err() {
            break busy.answer();
        }
        let answer = busy.answer();
        if answer.error.is_some() {
            break answer;
        }
    };
    assert!(
        matches!(answer.sqlstate().as_str(), "25P04" | "57014"),
        "{answer:?}"
    );
    let mut waits = Raw::connect(server.address());
    waits.simple("SET transaction_timeout = 50");
    waits.simple("BEGIN");
    let answer = waits.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'S').as_str()),
        ("25P04", "FATAL")
    );
    let limited = server_with(Config {
        idle_session_timeout: "50ms".to_string(),
        ..Config::default()
    });
    assert_eq!(Raw::connect(limited.address()).answer().sqlstate(), "57P05");
}

#[test]
fn clients_receive_settings_and_notices() {
    let server = server();
    let mut client = Raw::open(server.address()).logged_in(&[
        ("user", "tester"),
        ("application_name", "first"),
        ("TimeZone", "Europe/Berlin"),
        ("options", "-c statement_timeout=7s"),
    ]);
    assert_eq!(
        client.simple("SHOW application_name").texts(),
        [[Some("first".to_string())]]
    );
    assert_eq!(
        client.simple("SHOW statement_timeout").texts(),
        [[Some("7000".to_string())]]
    );
    let answer = client.simple("SET application_name = 'second'");
    assert_eq!(answer.kinds(), "CSZ");
    assert_eq!(answer.messages[1].body, b"application_name\0second\0");
    assert_eq!(
        client.simple("COMMIT").notices,
        ["there is no transaction in progress"]
    );
    client.simple("SET client_min_messages = error");
    assert_eq!(client.simple("COMMIT").kinds(), "CZ");
    let mut refused = Raw::open(server.address());
    refused.send_startup(&[("user", "tester"), ("nonsense", "1")]);
    assert_eq!(refused.answer().sqlstate(), "42704");
}

/// The last to have the database closes it: were that the thread of a session, the end of the process would overtake it.
#[test]
fn a_server_that_has_stopped_has_closed_its_database() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    for round in 0..20 {
        let database = Database::open(directory.path()).expect("nobody has it open");
        let server = server_over(database, Config::default());
        let mut clients: Vec<_> = (0..4).map(|_| Raw::connect(server.address())).collect();
        for client in &mut clients {
            assert_eq!(client.simple("SELECT 1").error, None, "round {round}");
        }
        server.stop();
    }
}

#[test]
fn a_server_that_stops_says_so() {
    let server = server();
    let mut idle = Raw::connect(server.address());
    let address = server.address();
    server.stop();
    let answer = idle.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'S').as_str()),
        ("57P01", "FATAL")
    );
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn servers_that_would_not_be_safe_do_not_start() {
    let refused = |config: Config| {
        let database = rukh::Database::open_in_memory().expect("a database in memory can be made");
        rukh_server::start(database, config)
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default()
    };
    let open = Config {
        listen: "0.0.0.0:0".to_string(),
        ..Config::default()
    };
    assert!(refused(open).starts_with("will not listen on 0.0.0.0:0"));
    let no_certificate = Config {
        listen: "127.0.0.1:0".to_string(),
        tls: Some(rukh_server::Tls {
            certificate: "/nowhere/server.crt".into(),
            key: "/nowhere/server.key".into(),
            required: false,
        }),
        ..Config::default()
    };
    assert!(refused(no_certificate).starts_with("could not use \"/nowhere/server.crt\" for TLS"));
    let bad_time = Config {
        statement_timeout: "soon".to_string(),
        ..Config::default()
    };
    assert!(refused(bad_time).contains("statement_timeout"));
}
