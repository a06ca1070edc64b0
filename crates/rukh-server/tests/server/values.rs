//! Values of every type, as text and binary, both ways; PostgreSQL says what is right.

use rukh_testkit::{need, postgres};

use crate::server;
use rukh_testkit::raw::{Raw, bind, execute, framed, parse};

/// Types by the names that both know, with values.
const VALUES: [(&str, &[&str]); 16] = [
    ("boolean", &["t", "f"]),
    ("smallint", &["0", "-32768", "32767"]),
    ("integer", &["0", "-2147483648", "2147483647"]),
    ("bigint", &["0", "-9223372036854775808", "9223372036854775807"]),
    ("real", &["0", "1.5", "-3.4e38", "NaN", "Infinity", "1e-30"]),
    (
        "double precision",
        &["0", "0.1", "-1.7976931348623157e308", "NaN", "-Infinity", "1e+15"],
    ),
    (
        "numeric(38,9)",
        &[
            "0.000000000",
            "1.500000000",
            "-12345678901234567890.123456789",
            "10000.000000000",
            "0.000000001",
        ],
    ),
    (
        "numeric",
        &[
            "0",
            "1.5",
            "-12345678901234567890.12345678901234567891",
            "100",
            "0.00000000000000000001",
            "99999999999999999999999999999999999999",
        ],
    ),
    ("numeric(10,2)", &["0.00", "99999999.99", "-0.01", "100.00"]),
    (
        "date",
        &[
            "2000-01-01",
            "1970-01-01",
            "0001-01-01",
            "9999-12-31",
            "infinity",
            "-infinity",
            "0044-03-15 BC",
        ],
    ),
    ("time", &["00:00:00", "23:59:59.999999", "24:00:00"]),
    (
        "timestamp",
        &[
            "2000-01-01 00:00:00",
            "1969-12-31 23:59:59.999999",
            "9999-12-31 12:00:00",
            "infinity",
            "-infinity",
            "0044-03-15 12:00:00 BC",
        ],
    ),
    (
        "timestamptz",
        &[
            "2000-01-01 00:00:00+00",
            "2024-02-29 12:34:56.789+00",
            "infinity",
            "4714-11-24 00:00:00+00 BC",
        ],
    ),
    (
        "uuid",
        &[
            "00000000-0000-0000-0000-000000000000",
            "f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        ],
    ),
    ("text", &["", "x", "é ' \" \\ \n"]),
    ("bytea", &["\\x", "\\x00ff10"]),
];

/// Stores a value as text parameter, and reads it as text and as binary.
fn through(client: &mut Raw, ty: &str, value: &str) -> (String, Vec<u8>) {
    let stored = client.extended("INSERT INTO v VALUES (1, $1)", &[Some(value.as_bytes())], false);
    assert_eq!(stored.tags, ["INSERT 0 1"], "{ty} {value}: {stored:?}");
    let text = client.extended("SELECT value FROM v WHERE id = 1", &[], false);
    let binary = client.extended("SELECT value FROM v WHERE id = 1", &[], true);
    let one = |rows: &[Vec<Option<Vec<u8>>>]| rows[0][0].clone().expect("the value is not NULL");
    let (text, binary) = (one(&text.rows), one(&binary.rows));
    // What came as binary goes back as binary, and is the same.
    let mut bytes = parse("", "SELECT value FROM v WHERE value = $1", &[]);
    bytes.extend(bind("", "", &[Some(&binary)], 1, 1));
    bytes.extend(execute("", 0));
    bytes.extend(framed(Some(b'S'), b""));
    client.send_bytes(&bytes);
    let again = client.answer();
    assert_eq!(again.rows, [[Some(binary.clone())]], "{ty} {value}: {again:?}");
    assert_eq!(client.simple("DELETE FROM v").tags, ["DELETE 1"]);
    (String::from_utf8(text).expect("texts are UTF-8"), binary)
}

#[test]
fn values_are_postgres_values() {
    let peer = need::or_skip("values_are_postgres_values", postgres::server());
    let mut peer = peer.map(|peer| Raw::connect_unix(&peer.socket()));
    let server = server();
    let mut client = Raw::connect(server.address());
    for (ty, values) in VALUES {
        let create = format!("CREATE TABLE v (id INT PRIMARY KEY, value {ty})");
        for client in [Some(&mut client), peer.as_mut()].into_iter().flatten() {
            assert_eq!(client.simple(&create).tags, ["CREATE TABLE"], "{ty}");
        }
        let columns = client.simple("SELECT value FROM v").columns;
        if let Some(peer) = &mut peer {
            assert_eq!(columns, peer.simple("SELECT value FROM v").columns, "{ty}");
        }
        for value in values {
            let ours = through(&mut client, ty, value);
            if let Some(peer) = &mut peer {
                assert_eq!(ours, through(peer, ty, value), "{ty} {value}");
            }
        }
        for client in [Some(&mut client), peer.as_mut()].into_iter().flatten() {
            assert_eq!(client.simple("DROP TABLE v").tags, ["DROP TABLE"]);
        }
    }
}

#[test]
fn values_that_are_none_are_refused() {
    let server = server();
    let mut client = Raw::connect(server.address());
    client.simple("CREATE TABLE v (id INT PRIMARY KEY, day DATE, n NUMERIC, name TEXT, token UUID)");
    let cases: [(&str, &[u8], i16, &str); 9] = [
        ("id", b"x", 0, "22P02"),
        ("id", b"99999999999", 0, "22003"),
        ("id", b"\0\0", 1, "22P03"),
        ("day", b"2024-02-30", 0, "22008"),
        ("day", b"\x7f\xff\xff\xfe", 1, "22P03"),
        ("n", b"\0\x01", 1, "22P03"),
        ("name", b"a\0b", 0, "22021"),
        ("name", b"\xff", 1, "22021"),
        ("token", b"abc", 1, "22P03"),
    ];
    for (column, value, format, sqlstate) in cases {
        let mut bytes = parse("", &format!("SELECT 1 FROM v WHERE {column} = $1"), &[]);
        bytes.extend(bind("", "", &[Some(value)], format, 0));
        bytes.extend(execute("", 0));
        bytes.extend(framed(Some(b'S'), b""));
        client.send_bytes(&bytes);
        let answer = client.answer();
        assert_eq!(answer.sqlstate(), sqlstate, "{column} {value:?}: {answer:?}");
        assert_eq!(answer.status, 'I');
    }
    assert_eq!(client.extended("SELECT $1::text", &[None], true).rows, [[None]]);
}

/// The texts are those of PostgreSQL 15.
#[test]
fn intervals_are_written_in_the_style_of_the_session() {
    let server = server();
    let mut client = Raw::connect(server.address());
    let sql = "SELECT interval '14 mons 3 days 04:05:06.7', array[interval '-1 day', null, interval '02:00'], '{}'::interval[]";
    let styles = [
        (
            "postgres",
            [
                "1 year 2 mons 3 days 04:05:06.7",
                "{\"-1 days\",NULL,02:00:00}",
                "{}",
            ],
        ),
        (
            "postgres_verbose",
            [
                "@ 1 year 2 mons 3 days 4 hours 5 mins 6.7 secs",
                "{\"@ 1 day ago\",NULL,\"@ 2 hours\"}",
                "{}",
            ],
        ),
        ("iso_8601", ["P1Y2M3DT4H5M6.7S", "{P-1D,NULL,PT2H}", "{}"]),
    ];
    for (style, texts) in styles {
        client.simple(&format!("SET intervalstyle = {style}"));
        let texts = [texts.map(|text| Some(text.to_string())).to_vec()];
        assert_eq!(client.simple(sql).texts(), texts, "{style}");
        assert_eq!(client.extended(sql, &[], false).texts(), texts, "{style}");
    }
    assert_eq!(
        client.simple("SET intervalstyle = sql_standard").sqlstate(),
        "0A000"
    );
}
