//! CSV and text records as PostgreSQL reads them, and round trips through files.

use std::path::PathBuf;
use std::sync::Arc;

use rukh_keys::Datum;
use rukh_kv::MemoryStore;

use super::formats::csv::{ReadError, Record, Records};
use crate::sql::session::{Session, Shared};
use rukh_syntax::{CopyFormat, CopyHeader, CopyOptions, RejectOptions};

fn options() -> CopyOptions {
    CopyOptions {
        format: CopyFormat::Csv,
        header: CopyHeader::None,
        delimiter: b',',
        quote: b'"',
        escape: b'"',
        null: String::new(),
        row_number: None,
        rejects: RejectOptions::default(),
        forced: Default::default(),
    }
}

/// Prints records: fields between bars, quoted ones in brackets, with the line each starts in.
fn records(csv: &[u8], options: &CopyOptions) -> Vec<String> {
    let mut records = Records::new(csv, options).expect("memory can be read");
    let mut record = Record::default();
    let mut found = Vec::new();
    loop {
        match records.read(&mut record) {
            Ok(false) => return found,
            Ok(true) => {
                let field = |position| {
                    let (bytes, quoted) = record.field(position);
                    let text = String::from_utf8_lossy(bytes).into_owned();
                    if quoted { format!("[{text}]") } else { text }
                };
                let fields: Vec<String> = (0..record.len()).map(field).collect();
                found.push(format!("{}: {}", record.line, fields.join("|")));
            }
            Err(ReadError::Sql(error, line)) => {
                found.push(format!("{line}! {}", error.message));
                return found;
            }
            Err(ReadError::Io(error)) => panic!("{error}"),
        }
    }
}

#[test]
fn csv_is_split_as_postgresql_does() {
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (b"a,b\n", &["1: a|b"]),
        (b"a,b", &["1: a|b"]),
        (b"a,b\r\nc,d\re,f\n", &["1: a|b", "2: c|d", "3: e|f"]),
        (b",\n\n,\"\"\n", &["1: |", "2: ", "3: |[]"]),
        (b"\"a,b\",\"c\"\"d\"\n", &["1: [a,b]|[c\"d]"]),
        (b"\"a\nb\",c\nd,e\n", &["1: [a\nb]|c", "3: d|e"]),
        (b"x\"y,z\"w,v\n", &["1: [xy,zw]|v"]),
        (b"\xef\xbb\xbfa,b\n", &["1: a|b"]),
        (b"\"\"", &["1: []"]),
        (b"a\n\"b\n", &["1: a", "2! unterminated CSV quoted field"]),
    ];
    for (csv, expected) in cases {
        assert_eq!(
            records(csv, &options()),
            *expected,
            "{:?}",
            String::from_utf8_lossy(csv)
        );
    }
    let backslash = CopyOptions {
        delimiter: b';',
        escape: b'\\',
        ..options()
    };
    assert_eq!(
        records(b"\"a\\\"b\\\\\";\"c\"\n", &backslash),
        ["1: [a\"b\\]|[c]"]
    );
}

#[test]
fn text_is_split_as_postgresql_does() {
    let text = CopyOptions {
        format: CopyFormat::Text,
        delimiter: b'\t',
        null: "\\N".to_string(),
        ..options()
    };
    // What is not NULL is in brackets.
    let cases: &[(&[u8], &[&str])] = &[
        (b"", &[]),
        (b"a\tb\n", &["1: [a]|[b]"]),
        (b"a\tb", &["1: [a]|[b]"]),
        (b"\\N\t\n\n", &["1: \\N|[]", "2: []"]),
        (b"\\\\N\t\\\t\\\n", &["1: [\\N]|[\t\n]"]),
        (b"\\x41\\x4\\101\\7\\q\\\\\n", &["1: [A\u{4}A\u{7}q\\]"]),
        (b"a\\\nb\nc\n", &["1: [a\nb]", "3: [c]"]),
        (b"a\n\\.\nb\n", &["1: [a]"]),
        (b"a\r\nb\r\n", &["1: [a]", "2: [b]"]),
        (b"a\rb\r", &["1: [a]", "2: [b]"]),
        (
            b"a\nb\r\n",
            &["1: [a]", "2! literal carriage return found in data"],
        ),
        (b"a\r\nb\n", &["1: [a]", "2! literal newline found in data"]),
        (b"a\\", &["1: [a]"]),
    ];
    for (bytes, expected) in cases {
        assert_eq!(
            records(bytes, &text),
            *expected,
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn records_may_straddle_reads() {
    /// Gives one byte at a time.
    struct Drip<'a>(&'a [u8]);
    impl std::io::Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let (first, rest) = self.0.split_at(self.0.len().min(1));
            buffer[..first.len()].copy_from_slice(first);
            self.0 = rest;
            Ok(first.len())
        }
    }
    let mut records = Records::new(Drip(b"ab,\"c\"\"d\"\r\ne"), &options()).expect("memory can be read");
    let mut record = Record::default();
    assert!(records.read(&mut record).is_ok_and(|found| found));
    assert_eq!(
        (record.field(0), record.field(1)),
        ((&b"ab"[..], false), (&b"c\"d"[..], true))
    );
    assert!(records.read(&mut record).is_ok_and(|found| found));
    assert_eq!((record.len(), record.field(0).0, record.line), (1, &b"e"[..], 2));
    assert!(records.read(&mut record).is_ok_and(|found| !found));
}

fn session() -> Session {
    Shared::open(Arc::new(MemoryStore::new()), false)
        .expect("a store in memory opens")
        .session()
}

/// A directory for the files of one test.
fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

fn file(directory: &tempfile::TempDir, name: &str, text: &[u8]) -> PathBuf {
    let path = directory.path().join(name);
    std::fs::write(&path, text).expect("a file can be written");
    path
}

fn run(session: &mut Session, sql: &str) -> String {
    session
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"))
        .tag
}

fn rows(session: &mut Session, sql: &str) -> Vec<Vec<Datum>> {
    let outcome = session
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    let mut rows = outcome.rows.expect("a query has rows");
    let mut found = Vec::new();
    while let Some(row) = rows.next_row().expect("rows can be read") {
        found.push(row);
    }
    found
}

const TABLE: &str =
    "CREATE TABLE t (id INTEGER PRIMARY KEY, name VARCHAR, minutes SMALLINT DEFAULT 7, at TIMESTAMP)";

#[test]
fn csv_fills_columns_by_place_or_name() {
    let (mut session, directory) = (session(), directory());
    run(&mut session, TABLE);
    let plain = file(
        &directory,
        "plain.csv",
        b"1,a,5,2015-10-01 12:00:00\n2,\"\",,\n3,,6,\n",
    );
    assert_eq!(
        run(&mut session, &format!("COPY t FROM '{}'", plain.display())),
        "COPY 3"
    );
    let named = file(&directory, "named.csv", b"NAME,id\nx,4\n");
    assert_eq!(
        run(
            &mut session,
            &format!("COPY t FROM '{}' (HEADER)", named.display())
        ),
        "COPY 1"
    );
    let listed = file(&directory, "listed.csv", b"what;ever\n5;y\n");
    let sql = format!(
        "COPY t (id, name) FROM '{}' (HEADER skip, DELIMITER ';')",
        listed.display()
    );
    assert_eq!(run(&mut session, &sql), "COPY 1");
    let text = |text: &str| Datum::Text(text.to_string());
    let found = rows(&mut session, "SELECT id, name, minutes FROM t ORDER BY id");
    assert_eq!(
        found,
        [
            [Datum::Int(1), text("a"), Datum::Int(5)],
            [Datum::Int(2), text(""), Datum::Null],
            [Datum::Int(3), Datum::Null, Datum::Int(6)],
            [Datum::Int(4), text("x"), Datum::Int(7)],
            [Datum::Int(5), text("y"), Datum::Int(7)],
        ]
    );
}

#[test]
fn errors_name_line_and_column_and_change_nothing() {
    let (mut session, directory) = (session(), directory());
    run(&mut session, TABLE);
    let cases: &[(&[u8], &str, &str, &str)] = &[
        (
            b"1,a\n",
            "22P04",
            "missing data for column \"minutes\"",
            "COPY t, line 1",
        ),
        (
            b"1,a,1,\n2,b,2,,x\n",
            "22P04",
            "extra data after last expected column",
            "COPY t, line 2",
        ),
        (
            b"1,a,x,\n",
            "22P02",
            "invalid input syntax for type smallint: \"x\"",
            "COPY t, line 1, column minutes: \"x\"",
        ),
        (
            b"1,a,70000,\n",
            "22003",
            "value \"70000\" is out of range for type smallint",
            "COPY t, line 1, column minutes: \"70000\"",
        ),
        (
            b"1,\xff,1,\n",
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0xff",
            "COPY t, line 1, column name",
        ),
        (
            b"1,a\0b,1,\n",
            "22021",
            "invalid byte sequence for encoding \"UTF8\": 0x00",
            "COPY t, line 1, column name",
        ),
        (
            b"1,a,1,soon\n",
            "22007",
            "invalid input syntax for type timestamp: \"soon\"",
            "COPY t, line 1, column at: \"soon\"",
        ),
        (
            b"1,\"a\n",
            "22P04",
            "unterminated CSV quoted field",
            "COPY t, line 1",
        ),
    ];
    for (csv, sqlstate, message, detail) in cases {
        let path = file(&directory, "bad.csv", csv);
        let error = session
            .execute(&format!("COPY t FROM '{}'", path.display()))
            .err()
            .expect("bad input");
        let found = (error.sqlstate, error.message.as_str(), error.detail.as_deref());
        assert_eq!(
            found,
            (*sqlstate, *message, Some(*detail)),
            "{:?}",
            String::from_utf8_lossy(csv)
        );
        assert_eq!(rows(&mut session, "SELECT id FROM t").len(), 0);
    }
    let missing = session
        .execute("COPY t FROM '/nowhere/at/all.csv'")
        .err()
        .expect("no file");
    assert_eq!(missing.sqlstate, "58P01");
}

#[test]
fn headers_must_name_columns() {
    let (mut session, directory) = (session(), directory());
    run(&mut session, TABLE);
    for (csv, list, sqlstate) in [
        ("id,foo\n1,2\n", "", "42703"),
        ("id,id\n1,2\n", "", "42701"),
        ("id\n1\n", "(id, name)", "22P04"),
        ("id,name,minutes\n1,a,2\n", "(id, name)", "42703"),
    ] {
        let path = file(&directory, "bad.csv", csv.as_bytes());
        let error = session.execute(&format!("COPY t {list} FROM '{}' (HEADER)", path.display()));
        assert_eq!(error.err().expect("a bad header").sqlstate, sqlstate, "{csv:?}");
    }
}

#[test]
fn json_lines_fill_columns_by_name() {
    let (mut session, directory) = (session(), directory());
    run(&mut session, TABLE);
    let lines =
        b"{\"id\": 1, \"name\": \"a\", \"minutes\": null}\n\n{\"id\": 2, \"at\": \"2015-10-01T00:00:00\"}\n";
    let path = file(&directory, "t.json", lines);
    assert_eq!(
        run(&mut session, &format!("COPY t FROM '{}'", path.display())),
        "COPY 2"
    );
    let found = rows(&mut session, "SELECT id, minutes FROM t ORDER BY id");
    assert_eq!(
        found,
        [[Datum::Int(1), Datum::Null], [Datum::Int(2), Datum::Int(7)]]
    );
    for (line, sqlstate) in [
        ("{\"id\": }", "22P02"),
        ("[1]", "22P02"),
        ("{\"foo\": 1}", "42703"),
        ("{\"id\": 1.5}", "22P02"),
    ] {
        let path = file(&directory, "bad.json", line.as_bytes());
        let error = session
            .execute(&format!("COPY t FROM '{}'", path.display()))
            .err()
            .expect("bad JSON");
        assert_eq!(error.sqlstate, sqlstate, "{line}");
        assert!(
            error.detail.is_some_and(|detail| detail.contains("line 1")),
            "{line}"
        );
    }
}

#[test]
fn row_numbers_follow_the_file() {
    let (mut session, directory) = (session(), directory());
    run(
        &mut session,
        "CREATE TABLE n (id TINYINT PRIMARY KEY, name VARCHAR)",
    );
    let path = file(&directory, "n.csv", b"b\na\nc\n");
    run(
        &mut session,
        &format!("COPY n FROM '{}' (ROW_NUMBER id)", path.display()),
    );
    let text = |text: &str| Datum::Text(text.to_string());
    let found = rows(&mut session, "SELECT id, name FROM n ORDER BY id");
    assert_eq!(
        found,
        [
            [Datum::Int(1), text("b")],
            [Datum::Int(2), text("a")],
            [Datum::Int(3), text("c")]
        ]
    );
    let long = file(&directory, "long.csv", "x\n".repeat(200).as_bytes());
    let error = session.execute(&format!("COPY n FROM '{}' (ROW_NUMBER id)", long.display()));
    assert_eq!(error.err().expect("tinyint ends at 127").sqlstate, "22003");
    let error = session.execute(&format!("COPY n (id) FROM '{}' (ROW_NUMBER id)", long.display()));
    assert_eq!(error.err().expect("id is given twice").sqlstate, "42701");
}

#[test]
fn quotes_mean_what_force_says() {
    let (mut session, directory) = (session(), directory());
    run(
        &mut session,
        "CREATE TABLE f (id INTEGER PRIMARY KEY, a VARCHAR, b VARCHAR)",
    );
    let path = file(&directory, "f.csv", b"1,,\n2,\"\",\"\"\n");
    let path = path.display();
    let text = |text: &str| Datum::Text(text.to_string());
    let empty = || text("");
    let cases = [
        ("", [[Datum::Null, Datum::Null], [empty(), empty()]]),
        (
            "FORCE_NULL (a)",
            [[Datum::Null, Datum::Null], [Datum::Null, empty()]],
        ),
        ("FORCE_NOT_NULL (b)", [[Datum::Null, empty()], [empty(), empty()]]),
        ("FORCE_NOT_NULL *", [[empty(), empty()], [empty(), empty()]]),
        (
            "FORCE_NOT_NULL (a), FORCE_NULL (a)",
            [[empty(), Datum::Null], [Datum::Null, empty()]],
        ),
    ];
    for (options, expected) in cases {
        let comma = if options.is_empty() { "" } else { ", " };
        run(&mut session, "TRUNCATE f");
        run(
            &mut session,
            &format!("COPY f FROM '{path}' (FORMAT csv{comma}{options})"),
        );
        let found = rows(&mut session, "SELECT a, b FROM f ORDER BY id");
        assert_eq!(found, expected, "{options}");
    }
    run(&mut session, "TRUNCATE f");
    run(&mut session, "INSERT INTO f VALUES (1, 'x', NULL), (2, '', 'y')");
    let written = directory.path().join("out.csv");
    let cases = [
        ("(FORCE_QUOTE *)", "\"1\",\"x\",\n\"2\",\"\",\"y\"\n"),
        (
            "(HEADER, FORCE_QUOTE (b, id))",
            "id,a,b\n\"1\",x,\n\"2\",\"\",\"y\"\n",
        ),
        ("CSV FORCE QUOTE a", "1,\"x\",\n2,\"\",y\n"),
    ];
    for (options, expected) in cases {
        let sql = format!("COPY f TO '{}' {options}", written.display());
        run(&mut session, &sql);
        let found = std::fs::read_to_string(&written).expect("the file is there");
        assert_eq!(found, expected, "{options}");
    }
    let cases = [
        ("COPY f (id) TO 'x' (FORCE_QUOTE (a))", "42P10"),
        ("COPY f (id) TO 'x' (FORMAT text, FORCE_QUOTE (id))", "0A000"),
        ("COPY f TO 'x' (FORCE_QUOTE (nothing))", "42703"),
        ("COPY f TO 'x' (FORCE_NULL (a))", "0A000"),
        ("COPY f (id, id) TO 'x'", "42701"),
        ("COPY (DELETE FROM f RETURNING *) TO 'x'", "0A000"),
    ];
    for (sql, sqlstate) in cases {
        let error = session.execute(sql).err().expect("an error");
        assert_eq!(error.sqlstate, sqlstate, "{sql}");
    }
    let error = session.execute(&format!("COPY f (id) FROM '{path}' (FORCE_NOT_NULL (a))"));
    assert_eq!(error.err().expect("an error").sqlstate, "42P10");
    for (options, sqlstate) in [
        ("FORCE_QUOTE (a)", "0A000"),
        ("FORCE_NULL (nothing)", "42703"),
        ("FORMAT csv, FORMAT text", "42601"),
    ] {
        let error = session.execute(&format!("COPY f FROM '{path}' ({options})"));
        assert_eq!(error.err().expect("an error").sqlstate, sqlstate, "{options}");
    }
}

#[test]
fn a_condition_says_which_rows_are_taken() {
    let (mut session, directory) = (session(), directory());
    run(
        &mut session,
        "CREATE TABLE w (id INTEGER PRIMARY KEY, a INTEGER CHECK (a < 5), b VARCHAR DEFAULT 'x', g INTEGER GENERATED ALWAYS AS (a) STORED)",
    );
    let lines: String = (0..3000).map(|n| format!("{n},{}\n", n % 7)).collect();
    let path = file(&directory, "w.csv", lines.as_bytes());
    let path = path.display();
    let copied = run(
        &mut session,
        &format!("COPY w (id, a) FROM '{path}' WHERE a IN (1, 2) AND id >= 700 AND b = 'x'"),
    );
    assert_eq!(copied, "COPY 658");
    let found = rows(&mut session, "SELECT min(id), max(id), count(*), min(g) FROM w");
    let numbers = [701, 2998, 658, 1].map(Datum::Int);
    assert_eq!(found, [numbers]);
    // A column that is not read breaks no rule.
    run(&mut session, "TRUNCATE w");
    let sql = format!("COPY w (id, a) FROM '{path}' (ON_ERROR ignore, REJECT_LIMIT 1) WHERE a < 5");
    assert_eq!(run(&mut session, &sql), "COPY 2144");
    let cases = [
        ("WHERE a", "42804"),
        ("WHERE g > 1", "42P10"),
        ("WHERE nothing", "42703"),
        ("WHERE a IN (SELECT 1)", "0A000"),
        ("WHERE 1 / (a - a) > 0", "22012"),
    ];
    for (condition, sqlstate) in cases {
        let error = session.execute(&format!("COPY w (id, a) FROM '{path}' {condition}"));
        assert_eq!(error.err().expect("an error").sqlstate, sqlstate, "{condition}");
    }
    let error = session.execute("COPY w TO 'x' WHERE a > 1");
    assert_eq!(error.err().expect("WHERE is for FROM").sqlstate, "42601");
}

#[test]
fn every_type_survives_every_format() {
    let (mut session, directory) = (session(), directory());
    let columns = "id INTEGER PRIMARY KEY, b BOOLEAN, i TINYINT, l BIGINT, r REAL, d DOUBLE, n DECIMAL(20,3), \
                   day DATE, t TIME, ts TIMESTAMP, tz TIMESTAMP WITH TIME ZONE, u UUID, c CHAR(5), v VARCHAR, \
                   x BINARY(3), y VARBINARY";
    run(&mut session, &format!("CREATE TABLE one ({columns})"));
    run(
        &mut session,
        "INSERT INTO one VALUES (1, true, -5, 9007199254740993, 1.5, 0.1, 12345678901234567.125, \
        '2015-10-01', '12:30:15.25', '2015-10-01 12:00:00.5', '2015-10-01 12:00:00+02', \
        'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'ab', 'say \"hi\", 中国\nnext', '\\x00ff01', '\\x0a')",
    );
    run(&mut session, "INSERT INTO one (id, v) VALUES (2, ''), (3, NULL)");
    let expected = rows(&mut session, "SELECT * FROM one ORDER BY id");
    for name in ["one.csv", "one.json", "one.parquet"] {
        let path = directory.path().join(name);
        assert_eq!(
            run(&mut session, &format!("COPY one TO '{}'", path.display())),
            "COPY 3"
        );
        run(&mut session, &format!("CREATE TABLE two ({columns})"));
        assert_eq!(
            run(&mut session, &format!("COPY two FROM '{}'", path.display())),
            "COPY 3"
        );
        assert_eq!(
            rows(&mut session, "SELECT * FROM two ORDER BY id"),
            expected,
            "{name}"
        );
        run(&mut session, "DROP TABLE two");
    }
    let path = directory.path().join("query.csv");
    run(
        &mut session,
        &format!(
            "COPY (SELECT id, v FROM one ORDER BY id DESC) TO '{}' (HEADER)",
            path.display()
        ),
    );
    let text = std::fs::read_to_string(path).expect("the file is there");
    assert_eq!(text, "id,v\n3,\n2,\"\"\n1,\"say \"\"hi\"\", 中国\nnext\"\n");
}

#[test]
fn many_rows_become_a_bulk_load() {
    let (mut session, directory) = (session(), directory());
    run(
        &mut session,
        "CREATE TABLE big (id INTEGER PRIMARY KEY, v INTEGER)",
    );
    run(&mut session, "CREATE INDEX by_v ON big (v)");
    let csv: String = (0..25_000)
        .rev()
        .map(|id| format!("{id},{}\n", id % 100))
        .collect();
    let path = file(&directory, "big.csv", csv.as_bytes());
    assert_eq!(
        run(&mut session, &format!("COPY big FROM '{}'", path.display())),
        "COPY 25000"
    );
    assert_eq!(
        rows(&mut session, "SELECT count(*) FROM big WHERE v = 7"),
        [[Datum::Int(250)]]
    );
    let again = session
        .execute(&format!("COPY big FROM '{}'", path.display()))
        .err()
        .expect("keys are taken");
    assert_eq!(again.sqlstate, "23505");
}

#[test]
fn a_load_of_many_rows_is_analyzed() {
    let (mut session, directory) = (session(), directory());
    run(&mut session, TABLE);
    let load = |session: &mut Session, ids: std::ops::Range<u32>| {
        let lines: String = ids.map(|id| format!("{id},n,{},\n", id % 5)).collect();
        let path = file(&directory, "many.csv", lines.as_bytes());
        run(session, &format!("COPY t FROM '{}'", path.display()));
        let id = session.engine().catalog().tables().next().expect("a table").id;
        session.engine().statistics(id).map(|known| known.rows)
    };
    assert_eq!(load(&mut session, 0..999), None);
    assert_eq!(load(&mut session, 1000..2000), Some(1999));
    // A thousand rows and a fifth of those known are 1,399.
    assert_eq!(load(&mut session, 2000..3398), Some(1999));
    assert_eq!(load(&mut session, 4000..5399), Some(4796));
    run(&mut session, "BEGIN");
    assert_eq!(load(&mut session, 6000..9000), Some(4796));
    run(&mut session, "ROLLBACK");
    run(&mut session, "SET auto_analyze = off");
    assert_eq!(load(&mut session, 10_000..20_000), Some(4796));
    run(&mut session, "ANALYZE t");
    assert_eq!(load(&mut session, 20_000..20_001), Some(14_796));
}
