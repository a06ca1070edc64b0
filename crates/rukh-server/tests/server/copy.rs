//! COPY over the wire: text, CSV and binary, in and out, in both protocols.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use rukh_testkit::{need, postgres};

use crate::{Config, server, server_with};
use rukh_testkit::raw::{Answer, Raw, bind, execute, framed, parse, text};

/// Sends COPY FROM STDIN and the pieces; returns the answer.
fn copy_in(raw: &mut Raw, sql: &str, pieces: &[&[u8]]) -> Answer {
    raw.send(b'Q', &text(sql));
    pieces.iter().for_each(|piece| raw.send(b'd', piece));
    raw.send(b'c', b"");
    raw.answer()
}

/// Returns what the CopyData messages of an answer hold.
fn data(answer: &Answer) -> Vec<u8> {
    let messages = answer.messages.iter().filter(|message| message.kind == b'd');
    messages.flat_map(|message| message.body.clone()).collect()
}

fn copy_out(raw: &mut Raw, sql: &str) -> Vec<u8> {
    let answer = raw.simple(sql);
    assert_eq!(answer.error, None, "{sql}");
    data(&answer)
}

fn rows(raw: &mut Raw, sql: &str) -> Vec<String> {
    let row = |row: &Vec<Option<String>>| {
        let fields = row
            .iter()
            .map(|field| field.clone().unwrap_or("NULL".to_string()));
        fields.collect::<Vec<_>>().join("|")
    };
    raw.simple(sql).texts().iter().map(row).collect()
}

#[test]
fn text_goes_in_and_out() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, name TEXT, ok BOOLEAN)");
    let answer = copy_in(
        &mut raw,
        "COPY t FROM STDIN",
        &[
            b"1\ta\\tb\\\\",
            b"c\tt\n2\t\\N\tf\n",
            b"3\t\\x41\\101\\q\\n\t\\N\n\\.\nleft",
        ],
    );
    assert_eq!(
        (answer.kinds().as_str(), answer.tags),
        ("GCZ", vec!["COPY 3".to_string()])
    );
    assert_eq!(
        rows(&mut raw, "SELECT * FROM t ORDER BY id"),
        ["1|a\tb\\c|t", "2|NULL|f", "3|AAq\n|NULL"]
    );
    let out = copy_out(&mut raw, "COPY t TO STDOUT");
    assert_eq!(out, b"1\ta\\tb\\\\c\tt\n2\t\\N\tf\n3\tAAq\\n\t\\N\n");
    let out = copy_out(
        &mut raw,
        "COPY (SELECT name, id FROM t WHERE id > 1 ORDER BY id DESC) TO STDOUT (NULL '-', DELIMITER '|', HEADER)",
    );
    assert_eq!(out, b"name|id\nAAq\\n|3\n-|2\n");
    server.stop();
}

#[test]
fn the_answer_tells_the_shape() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, name TEXT)");
    let answer = copy_in(&mut raw, "COPY t (id) FROM STDIN", &[b"1\n"]);
    assert_eq!(answer.messages[0].body, [0, 0, 1, 0, 0]);
    let answer = raw.simple("COPY t TO STDOUT (FORMAT binary)");
    assert_eq!(
        (answer.kinds().as_str(), &answer.messages[0].body),
        ("HddcCZ", &vec![1, 0, 2, 0, 1, 0, 1])
    );
    let answer = raw.simple("COPY (SELECT 1 WHERE false) TO STDOUT");
    assert_eq!(
        (answer.kinds().as_str(), answer.tags),
        ("HcCZ", vec!["COPY 0".to_string()])
    );
    server.stop();
}

#[test]
fn a_failed_copy_changes_nothing() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, name VARCHAR(3))");
    let cases: [(&str, &[u8], &str, &str, &str); 9] = [
        (
            "COPY t FROM STDIN",
            b"1\ta\nx\tb\n",
            "22P02",
            "invalid input syntax for type integer: \"x\"",
            "COPY t, line 2, column id: \"x\"",
        ),
        (
            "COPY t FROM STDIN",
            b"1\ta\n2\n",
            "22P04",
            "missing data for column \"name\"",
            "COPY t, line 2",
        ),
        (
            "COPY t FROM STDIN",
            b"1\ta\tb\n",
            "22P04",
            "extra data after last expected column",
            "COPY t, line 1",
        ),
        (
            "COPY t FROM STDIN",
            b"1\ta\n2\tb\r\n",
            "22P04",
            "literal carriage return found in data",
            "COPY t, line 2",
        ),
        (
            "COPY t FROM STDIN (FORMAT csv)",
            b"1,a\n2,\"b",
            "22P04",
            "unterminated CSV quoted field",
            "COPY t, line 2",
        ),
        (
            "COPY t FROM STDIN",
            b"1\ta\n1\tb\n",
            "23505",
            "duplicate key value violates unique constraint \"t_pkey\"",
            "Key (id)=(1) already exists.",
        ),
        (
            "COPY t FROM STDIN",
            b"1\t\xff\n",
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0xff",
            "COPY t, line 1, column name",
        ),
        (
            "COPY t FROM STDIN (FORMAT binary)",
            b"1,a",
            "22P04",
            "COPY file signature not recognized",
            "",
        ),
        (
            "COPY t FROM STDIN (FORMAT binary)",
            b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\x04\0\0\0\x01",
            "22P04",
            "row field count is 1, expected 2",
            "COPY t, line 1",
        ),
    ];
    for (sql, bytes, sqlstate, message, detail) in cases {
        let answer = copy_in(&mut raw, sql, &[bytes]);
        assert_eq!(
            (answer.sqlstate().as_str(), answer.field(b'M').as_str()),
            (sqlstate, message),
            "{sql}"
        );
        assert!(
            answer.field(b'D').contains(detail),
            "{sql}: {}",
            answer.field(b'D')
        );
        assert_eq!(answer.status, 'I');
        // What the client had sent after the error is passed over.
        assert_eq!(rows(&mut raw, "SELECT count(*) FROM t"), ["0"], "{sql}");
    }
    // An error of the statement comes before the request for rows.
    let answer = raw.simple("COPY nowhere FROM STDIN");
    assert_eq!(
        (answer.sqlstate().as_str(), answer.kinds().as_str()),
        ("42P01", "EZ")
    );
    let answer = raw.simple("COPY t FROM STDIN (FORMAT parquet)");
    assert_eq!(
        (answer.sqlstate().as_str(), answer.kinds().as_str()),
        ("0A000", "EZ")
    );
    server.stop();
}

#[test]
fn the_client_may_give_up() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    raw.send(b'Q', &text("COPY t FROM STDIN"));
    raw.send(b'd', b"1\n");
    raw.send(b'f', &text("no more"));
    let answer = raw.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'M').as_str()),
        ("57014", "COPY from stdin failed: no more")
    );
    raw.send(b'Q', &text("COPY t FROM STDIN"));
    raw.send(b'd', b"1\n");
    raw.send(b'Q', &text("SELECT 1"));
    assert_eq!(raw.answer().sqlstate(), "08P01");
    assert_eq!(rows(&mut raw, "SELECT count(*) FROM t"), ["0"]);
    // A client that leaves in the middle leaves nothing.
    let mut other = Raw::connect(server.address());
    other.send(b'Q', &text("COPY t FROM STDIN"));
    other.send(b'd', b"1\n2\n");
    drop(other);
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN", &[b"1\n"]).tags, ["COPY 1"]);
    assert_eq!(rows(&mut raw, "SELECT count(*) FROM t"), ["1"]);
    server.stop();
}

#[test]
fn a_copy_that_waits_is_cancelled() {
    let server = server_with(Config {
        statement_timeout: "300ms".to_string(),
        ..Config::default()
    });
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    raw.send(b'Q', &text("COPY t FROM STDIN"));
    raw.send(b'd', b"1\n");
    let answer = raw.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'M').as_str()),
        ("57014", "canceling statement due to statement timeout")
    );
    raw.simple("SET statement_timeout = 0");
    raw.send(b'Q', &text("COPY t FROM STDIN"));
    assert_eq!(raw.read().map(|message| message.kind), Some(b'G'));
    let mut cancel = Raw::open(server.address());
    let mut body = 80_877_102_i32.to_be_bytes().to_vec();
    body.extend(raw.key.0.to_be_bytes());
    body.extend(raw.key.1.to_be_bytes());
    cancel.send_bytes(&framed(None, &body));
    let answer = raw.answer();
    assert_eq!(
        (answer.sqlstate().as_str(), answer.field(b'M').as_str()),
        ("57014", "canceling statement due to user request")
    );
    server.stop();
}

#[test]
fn a_transaction_takes_all_or_nothing() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    raw.simple("BEGIN");
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN", &[b"1\n2\n"]).status, 'T');
    assert_eq!(copy_out(&mut raw, "COPY t TO STDOUT"), b"1\n2\n");
    assert_eq!(copy_in(&mut raw, "COPY t FROM STDIN", &[b"3\nx\n"]).status, 'E');
    raw.simple("COMMIT");
    assert_eq!(rows(&mut raw, "SELECT count(*) FROM t"), ["0"]);
    // Several statements of one text are one transaction.
    raw.send(
        b'Q',
        &text("COPY t FROM STDIN; INSERT INTO t VALUES (7); COPY t TO STDOUT"),
    );
    raw.send(b'd', b"5\n");
    raw.send(b'c', b"");
    let answer = raw.answer();
    assert_eq!(answer.tags, ["COPY 1", "INSERT 0 1", "COPY 2"]);
    assert_eq!(data(&answer), b"5\n7\n");
    raw.send(b'Q', &text("INSERT INTO t VALUES (8); COPY t FROM STDIN"));
    raw.send(b'd', b"5\n");
    raw.send(b'c', b"");
    assert_eq!(raw.answer().sqlstate(), "23505");
    assert_eq!(rows(&mut raw, "SELECT id FROM t ORDER BY id"), ["5", "7"]);
    server.stop();
}

#[test]
fn the_extended_protocol_copies_too() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY)");
    let start = |raw: &mut Raw| {
        let mut bytes = parse("", "COPY t FROM STDIN", &[]);
        bytes.extend(bind("", "", &[], 0, 0));
        bytes.extend(execute("", 0));
        // Clients send this ahead; it ends nothing.
        bytes.extend(framed(Some(b'S'), b""));
        raw.send_bytes(&bytes);
    };
    start(&mut raw);
    raw.send(b'd', b"1\n");
    raw.send(b'c', b"");
    raw.send(b'S', b"");
    let answer = raw.answer();
    assert_eq!((answer.kinds().as_str(), answer.status), ("12GCZ", 'I'));
    start(&mut raw);
    raw.send(b'd', b"1\n");
    raw.send(b'c', b"");
    raw.send(b'S', b"");
    let answer = raw.answer();
    assert_eq!(
        (answer.kinds().as_str(), answer.sqlstate().as_str()),
        ("12GEZ", "23505")
    );
    let answer = raw.extended("COPY t TO STDOUT", &[], false);
    assert_eq!(
        (answer.kinds().as_str(), data(&answer).as_slice()),
        ("12nHdcCZ", b"1\n".as_slice())
    );
    server.stop();
}

/// The same rows copied out by PostgreSQL, in each format, byte for byte; and copied in again here.
#[test]
fn bytes_are_those_of_postgres() {
    let Some(peer) = need::or_skip("bytes_are_those_of_postgres", postgres::server()) else {
        return;
    };
    let server = server();
    let mut raw = Raw::connect(server.address());
    let mut other = Raw::connect_unix(&peer.socket());
    let query = "SELECT * FROM (VALUES
        (1, 'a', true, 1.50::numeric(10,2), DATE '2024-02-29', TIMESTAMP '1999-12-31 23:59:59.5', 1.25::double precision,
            '{1,NULL,3}'::int[], '{infinity,2020-01-01}'::date[], '{a,NULL,\"b c\"}'::text[], INTERVAL '1 mon -2 days 03:00', '{\"a\": [1, null]}'::jsonb),
        (2, E'tab\\there, \"quoted\" and\\nline', false, -0.01::numeric(10,2), DATE 'infinity', TIMESTAMP '-infinity', -1e100::double precision,
            '{}', '{}', '{}', '0', '{}'),
        (3, '\\.', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
        (4, '', true, 0::numeric(10,2), DATE '0044-03-15 BC', TIMESTAMP '2262-01-01 00:00:00', 0, NULL, NULL, NULL, NULL, NULL))
        v (id, a, b, c, d, e, f, g, h, i, j, k) ORDER BY id";
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, a TEXT, b BOOLEAN, c DECIMAL(10,2), d DATE, e TIMESTAMP, f DOUBLE PRECISION,
        g INT[], h DATE[], i TEXT[], j INTERVAL, k JSONB)");
    let formats = [
        "(FORMAT text)",
        "(FORMAT text, DELIMITER '|', NULL '')",
        "(FORMAT binary)",
    ];
    for format in formats {
        let theirs = copy_out(&mut other, &format!("COPY ({query}) TO STDOUT {format}"));
        let answer = copy_in(&mut raw, &format!("COPY t FROM STDIN {format}"), &[&theirs]);
        assert_eq!(answer.tags, ["COPY 4"], "{format} {answer:?}");
        let ours = copy_out(
            &mut raw,
            &format!("COPY (SELECT * FROM t ORDER BY id) TO STDOUT {format}"),
        );
        assert_eq!(
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&theirs),
            "{format}"
        );
        assert_eq!(ours, theirs, "{format}");
        raw.simple("DELETE FROM t");
    }
    server.stop();
}

/// Runs psql with this on its standard input; returns what it printed, errors behind output.
fn psql(program: &Path, address: SocketAddr, directory: &Path, input: &str) -> String {
    let port = address.port().to_string();
    let mut child = Command::new(program)
        .args([
            "-X",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "tester",
            "-d",
            "any",
        ])
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut stdin, input.as_bytes()).expect("psql reads");
    drop(stdin);
    let output = child.wait_with_output().expect("psql ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn psql_copies_files() {
    let Some(program) = need::or_skip("psql_copies_files", postgres::program("psql")) else {
        return;
    };
    let server = server();
    let directory = tempfile::tempdir().expect("a directory can be made");
    std::fs::write(directory.path().join("in.csv"), "id,name\n1,\"a,b\"\n2,\n")
        .expect("a file can be written");
    let script = "CREATE TABLE t (id INT PRIMARY KEY, name TEXT);\n\
        \\copy t FROM 'in.csv' WITH (FORMAT csv, HEADER)\n\
        COPY t FROM STDIN;\n3\tthree\n\\.\n\
        \\copy (SELECT * FROM t ORDER BY id) TO 'out.csv' CSV HEADER\n\
        \\copy t TO 'out.bin' (FORMAT binary)\n\
        DELETE FROM t;\n\
        \\copy t FROM 'out.bin' BINARY\n\
        COPY t TO STDOUT;\n\
        \\copy t FROM 'in.csv' CSV\n";
    assert_eq!(
        psql(&program, server.address(), directory.path(), script),
        "CREATE TABLE\nCOPY 2\nCOPY 1\nCOPY 3\nCOPY 3\nDELETE 3\nCOPY 3\n1\ta,b\n2\t\\N\n3\tthree\n\
         ERROR:  invalid input syntax for type integer: \"id\"\n\
         DETAIL:  COPY t, line 1, column id: \"id\"\n"
    );
    let out = std::fs::read_to_string(directory.path().join("out.csv")).expect("psql has written it");
    assert_eq!(out, "id,name\n1,\"a,b\"\n2,\n3,three\n");
    server.stop();
}

/// Many rows in pieces that end anywhere; the bulk load takes over on the way.
#[test]
fn many_rows_go_in_and_out() {
    let server = server();
    let mut raw = Raw::connect(server.address());
    raw.simple("CREATE TABLE t (id INT PRIMARY KEY, name TEXT)");
    let lines: String = (0..30_000).map(|id| format!("{id}\tname {id}\n")).collect();
    let pieces: Vec<&[u8]> = lines.as_bytes().chunks(7919).collect();
    assert_eq!(
        copy_in(&mut raw, "COPY t FROM STDIN", &pieces).tags,
        ["COPY 30000"]
    );
    let out = copy_out(&mut raw, "COPY (SELECT * FROM t ORDER BY id) TO STDOUT");
    assert!(out == lines.as_bytes(), "what went in comes out");
    // A client that reads nothing and leaves is noticed.
    let mut other = Raw::connect(server.address());
    other.send(b'Q', &text("COPY (SELECT a.* FROM t a, t b) TO STDOUT"));
    assert!(other.read().is_some(), "the answer begins");
    drop(other);
    assert_eq!(rows(&mut raw, "SELECT count(*) FROM t"), ["30000"]);
    server.stop();
}

/// A client that has begun a COPY of many rows, and takes its time, does not keep others from writing.
#[test]
fn nobody_waits_for_a_client() {
    let server = server();
    let mut slow = Raw::connect(server.address());
    let mut other = Raw::connect(server.address());
    slow.simple("CREATE TABLE t (id INT PRIMARY KEY, name TEXT); CREATE TABLE u (id INT PRIMARY KEY)");
    slow.send(b'Q', &text("COPY t FROM STDIN"));
    let lines =
        |from: i32, to: i32| -> String { (from..to).map(|id| format!("{id}\tname {id}\n")).collect() };
    // More than what is written at once without a load.
    slow.send(b'd', lines(0, 25_000).as_bytes());
    for id in 0..20 {
        assert_eq!(
            other.simple(&format!("INSERT INTO u VALUES ({id})")).tags,
            ["INSERT 0 1"]
        );
    }
    // What another writes meanwhile counts: the key is taken when the load begins.
    assert_eq!(
        other.simple("INSERT INTO t VALUES (30000, 'mine')").tags,
        ["INSERT 0 1"]
    );
    slow.send(b'd', lines(25_000, 30_000).as_bytes());
    slow.send(b'c', b"");
    assert_eq!(slow.answer().tags, ["COPY 30000"]);
    assert_eq!(rows(&mut other, "SELECT count(*) FROM t"), ["30001"]);
    slow.send(b'Q', &text("COPY t FROM STDIN"));
    slow.send(b'd', lines(100_000, 112_000).as_bytes());
    slow.send(b'd', lines(7, 8).as_bytes());
    slow.send(b'c', b"");
    assert_eq!(slow.answer().sqlstate(), "23505");
    assert_eq!(rows(&mut other, "SELECT count(*) FROM t"), ["30001"]);
    server.stop();
}
