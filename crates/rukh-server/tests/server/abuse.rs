//! Clients that do not keep to the protocol, or are too many: the server stays up, others notice nothing.

use crate::{Config, server, server_with};
use rukh_testkit::raw::{Raw, bind, execute, framed, parse, text};

/// Whether a client that behaves is still served.
fn lives(address: std::net::SocketAddr) -> bool {
    Raw::connect(address).simple("SELECT 1").tags == ["SELECT 1"]
}

#[test]
fn garbage_at_the_start() {
    let server = server();
    let garbage: [&[u8]; 8] = [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\0\0\0\x08\0\x03\0\0",
        b"\0\0\0\x04\0\x03\0\0",
        b"\x7f\xff\xff\xff\0\x03\0\0",
        b"\xff\xff\xff\xff\0\x03\0\0",
        b"\0\0\0\x09\0\x02\0\0\0",
        b"\0\0\0\x0c\x04\xd2\x16\x2e\0\0\0\0",
        b"\0\0\0\x10\x04\xd2\x16\x2f\0\0\0\0\0\0\0\0",
    ];
    for bytes in garbage {
        let mut client = Raw::open(server.address());
        client.send_bytes(bytes);
        let answer = client.answer();
        assert!(
            answer.status == '-' && answer.kinds().len() <= 1,
            "{bytes:?}: {answer:?}"
        );
    }
    // A client that sends nothing.
    let mut client = Raw::open(server.address());
    client.send_startup(&[("database", "x")]);
    assert_eq!(client.answer().sqlstate(), "28000");
    assert!(lives(server.address()));
}

#[test]
fn encryption_that_is_not_there_is_refused_politely() {
    let server = server();
    let mut client = Raw::open(server.address());
    for request in [80_877_103_i32, 80_877_104] {
        client.send_bytes(&framed(None, &request.to_be_bytes()));
        assert_eq!(client.read_bytes(1), b"N");
    }
    client.send_startup(&[("user", "tester")]);
    assert_eq!(client.answer().status, 'I');
}

#[test]
fn broken_messages_end_the_connection_only() {
    let server = server();
    let broken: [Vec<u8>; 8] = [
        b"Q\x7f\xff\xff\xff".to_vec(),
        b"Q\xff\xff\xff\xff".to_vec(),
        b"Q\0\0\0\x03".to_vec(),
        framed(Some(b'Q'), b"SELECT 1"),
        framed(Some(b'z'), b""),
        framed(Some(b'P'), b"s\0SELECT 1\0\xff\xff"),
        framed(Some(b'B'), b"\0\0\0\0\xff\xff\0\0\0\0"),
        framed(Some(b'B'), b"\0\0\0\0\0\x01\x7f\xff\xff\xff"),
    ];
    for bytes in broken {
        let mut client = Raw::connect(server.address());
        client.send_bytes(&bytes);
        let answer = client.answer();
        assert_eq!(
            (answer.sqlstate().as_str(), answer.field(b'S').as_str()),
            ("08P01", "FATAL"),
            "{bytes:?}"
        );
        assert_eq!(client.read(), None);
    }
    // Half a message, then nothing.
    let mut client = Raw::connect(server.address());
    client.send_bytes(b"Q\0\0\x01\0SELECT");
    drop(client);
    assert!(lives(server.address()));
}

#[test]
fn messages_out_of_place_are_errors() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let sync = framed(Some(b'S'), b"");
    let cases: [(Vec<u8>, &str); 7] = [
        (framed(Some(b'D'), b"Pnone\0"), "34000"),
        (framed(Some(b'D'), b"Snone\0"), "26000"),
        (framed(Some(b'D'), b"X\0"), "08P01"),
        (framed(Some(b'C'), b"X\0"), "08P01"),
        (execute("none", 0), "34000"),
        (bind("", "none", &[], 0, 0), "26000"),
        (framed(Some(b'p'), b"secret\0"), "08P01"),
    ];
    for (message, sqlstate) in cases {
        // What follows an error is passed over until the Sync.
        client.send_bytes(&[message.clone(), parse("", "SELECT 1", &[]), sync.clone()].concat());
        let answer = client.answer();
        assert_eq!(
            (answer.kinds().as_str(), answer.sqlstate().as_str()),
            ("EZ", sqlstate),
            "{message:?}"
        );
    }
    let many: Vec<u8> = [
        parse("", "SELECT $1::int", &[]),
        bind("", "", &[], 0, 0),
        sync.clone(),
    ]
    .concat();
    client.send_bytes(&many);
    assert_eq!(client.answer().sqlstate(), "08P01");
    client.send_bytes(
        &[
            parse("", "SELECT $1::int", &[]),
            bind("", "", &[None], 0, 7),
            sync,
        ]
        .concat(),
    );
    assert_eq!(client.answer().sqlstate(), "22023");
    // Not UTF-8: an error of one message.
    client.send(b'Q', b"SELECT '\xff'\0");
    let answer = client.answer();
    assert_eq!((answer.sqlstate().as_str(), answer.status), ("22021", 'I'));
    assert_eq!(client.simple("SELECT 1").tags, ["SELECT 1"]);
}

#[test]
fn long_statements_and_many_parameters() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let long = format!("SELECT '{}' AS x", "a".repeat(1 << 20));
    let answer = client.simple(&long);
    assert_eq!(answer.rows[0][0].as_ref().map(Vec::len), Some(1 << 20));
    let values: Vec<Option<&[u8]>> = vec![Some(b"1"); 65_535];
    let sync = framed(Some(b'S'), b"");
    client.send_bytes(
        &[
            parse("", "SELECT $1::int + $65535::int", &[]),
            bind("", "", &values, 0, 0),
            execute("", 0),
            sync,
        ]
        .concat(),
    );
    let answer = client.answer();
    assert_eq!(answer.texts(), [[Some("2".to_string())]], "{:?}", answer.error);
    let small = server_with(Config {
        message_bytes_max: 1_000,
        ..Config::default()
    });
    let mut client = Raw::connect(small.address());
    client.send(b'Q', &text(&"x".repeat(1_000)));
    assert_eq!(client.answer().sqlstate(), "08P01");
}

#[test]
fn a_client_that_is_gone_in_the_middle_of_a_result() {
    let server = server();
    for _ in 0..5 {
        let mut client = Raw::connect(server.address());
        client.send(
            b'Q',
            &text("SELECT value, 'some text to fill the line' FROM generate_series(1, 10000000) AS t(value)"),
        );
        assert_eq!(client.read().map(|message| message.kind), Some(b'T'));
        assert_eq!(client.read().map(|message| message.kind), Some(b'D'));
        drop(client);
    }
    assert!(lives(server.address()));
    // Its thread ends, and takes the session along.
    server.stop();
}

#[test]
fn five_hundred_idle_clients() {
    let server = server();
    let idle: Vec<Raw> = (0..500).map(|_| Raw::connect(server.address())).collect();
    assert!(lives(server.address()));
    drop(idle);
    let small = server_with(Config {
        connections_max: 2,
        ..Config::default()
    });
    let held = [Raw::connect(small.address()), Raw::connect(small.address())];
    let mut third = Raw::open(small.address());
    third.send_startup(&[("user", "tester")]);
    assert_eq!(third.answer().sqlstate(), "53300");
    drop(held);
}

/// A join that finds nothing computes without a pause; once it is cancelled others have its threads.
#[test]
fn joins_that_are_cancelled_end() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    client.simple("INSERT INTO t SELECT value, value FROM generate_series(1, 5000) AS t(value)");
    client.simple("SET statement_timeout = 200");
    for _ in 0..6 {
        let answer = client.simple("SELECT count(*) FROM t a, t b, t c WHERE a.a + b.a + c.a < 0");
        assert_eq!(answer.sqlstate(), "57014");
    }
    let mut other = Raw::connect(server.address());
    let answer = other.simple("SELECT count(*) FROM t a JOIN t b ON a.id = b.id + 1");
    assert_eq!(answer.texts(), [[Some("4999".to_string())]]);
    server.stop();
}
