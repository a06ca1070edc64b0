//! Users, their passwords and their rights.

use std::net::SocketAddr;
use std::process::Command;

use rukh::{Connection, Database};
use rukh_testkit::{need, postgres};

use crate::{Config, server_over, server_with};
use rukh_testkit::raw::{Raw, framed, text};

pub(crate) fn run(connection: &mut Connection, sql: &str) {
    let outcome = connection
        .execute(sql)
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    if let Some(rows) = outcome.rows {
        rows.for_each(|row| drop(row.expect("rows can be read")));
    }
}

pub(crate) fn database(statements: &[&str]) -> Database {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    let mut administrator = database.connect();
    statements.iter().for_each(|sql| run(&mut administrator, sql));
    database
}

/// Runs a statement to its end as a user; the SQLSTATE and message of its error, if it has one.
pub(crate) fn outcome(connection: &mut Connection, sql: &str) -> Option<(String, String)> {
    let result = connection.execute(sql).and_then(|outcome| match outcome.rows {
        Some(mut rows) => rows.try_for_each(|row| row.map(drop)),
        None => Ok(()),
    });
    result
        .err()
        .map(|error| (error.sqlstate.to_string(), error.message))
}

pub(crate) fn connect_as(database: &Database, user: &str) -> Connection {
    let mut connection = database.connect();
    connection.set_user(user);
    connection
}

const TABLES: [&str; 5] = [
    "CREATE TABLE t (id INT PRIMARY KEY, a TEXT)",
    "CREATE TABLE other (id INT PRIMARY KEY)",
    "CREATE INDEX by_a ON t (a)",
    "CREATE SEQUENCE s",
    "CREATE USER u PASSWORD 'secret'",
];

/// Every way to the rows of a table needs its right, and has it after GRANT.
#[test]
fn statements_need_rights() {
    let database = database(&TABLES);
    let mut administrator = database.connect();
    run(&mut administrator, "INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    let cases = [
        ("SELECT", "SELECT * FROM t WHERE id = 1"),
        ("SELECT", "SELECT a FROM t WHERE a = 'x'"),
        ("SELECT", "SELECT count(*) FROM t"),
        ("SELECT", "SELECT 1 WHERE EXISTS (SELECT 1 FROM public.t)"),
        ("SELECT", "SELECT (SELECT max(id) FROM t)"),
        ("SELECT", "WITH w AS (SELECT * FROM t) SELECT * FROM w"),
        ("SELECT", "WITH t AS (SELECT * FROM t) SELECT * FROM t"),
        ("SELECT", "SELECT 1 UNION SELECT id FROM t"),
        ("SELECT", "SELECT * FROM other o JOIN \"t\" ON o.id = t.id"),
        ("SELECT", "EXPLAIN SELECT * FROM t"),
        ("SELECT", "EXPLAIN ANALYZE SELECT * FROM t WHERE id = 1"),
        ("READ", "SELECT * FROM t"),
        ("INSERT", "INSERT INTO t VALUES (3, 'z')"),
        ("INSERT", "EXPLAIN INSERT INTO t VALUES (4, 'z')"),
        ("INSERT, UPDATE", "UPSERT INTO t VALUES (3, 'w')"),
        (
            "INSERT, UPDATE, SELECT",
            "INSERT INTO t VALUES (3, 'w') ON CONFLICT (id) DO UPDATE SET a = 'v'",
        ),
        ("INSERT, SELECT", "INSERT INTO t VALUES (5, 'w') RETURNING id"),
        ("INSERT, SELECT", "INSERT INTO t SELECT id + 10, a FROM t"),
        ("UPDATE", "UPDATE t SET a = 'b'"),
        ("UPDATE, SELECT", "UPDATE t SET a = 'b' WHERE id = 1"),
        ("UPDATE, SELECT", "UPDATE t SET a = a || 'b'"),
        ("DELETE, SELECT", "DELETE FROM t WHERE id = 1"),
        ("DELETE, SELECT", "DELETE FROM t WHERE id IN (SELECT id FROM t)"),
        ("DELETE", "DELETE FROM t"),
        (
            "UPDATE, SELECT",
            "MERGE INTO t USING other o ON t.id = o.id WHEN MATCHED THEN UPDATE SET a = 'm'",
        ),
        (
            "INSERT, SELECT",
            "MERGE INTO t USING other o ON t.id = o.id WHEN NOT MATCHED THEN INSERT (id) VALUES (o.id)",
        ),
        (
            "SELECT",
            "WITH w AS (SELECT id FROM t) DELETE FROM other WHERE id IN (SELECT id FROM w)",
        ),
        ("TRUNCATE", "TRUNCATE t"),
        ("WRITE", "TRUNCATE t"),
        ("DDL", "ANALYZE t"),
        ("DDL", "CHECK TABLE t"),
    ];
    run(&mut administrator, "GRANT SELECT, DELETE ON other TO u");
    for (rights, sql) in cases {
        let mut user = connect_as(&database, "u");
        let denied = outcome(&mut user, sql).unwrap_or_else(|| panic!("{sql} runs without {rights}"));
        assert_eq!(denied.0, "42501", "{sql}: {}", denied.1);
        let expected = if rights == "DDL" {
            "must be owner of table t"
        } else {
            "permission denied for table t"
        };
        assert_eq!(denied.1, expected, "{sql}");
        // Each right alone is not enough where two are needed.
        let all: Vec<&str> = rights.split(", ").collect();
        for one in all.iter().filter(|_| all.len() > 1) {
            run(&mut administrator, &format!("GRANT {one} ON t TO u"));
            assert!(outcome(&mut user, sql).is_some(), "{sql} runs with {one} alone");
            run(&mut administrator, &format!("REVOKE {one} ON t FROM u"));
        }
        // The same connection sees at once what is given and taken: no plan outlives a right.
        for _ in 0..2 {
            run(&mut administrator, &format!("GRANT {rights} ON TABLE t TO u"));
            let result = outcome(&mut user, sql);
            assert!(
                result.as_ref().is_none_or(|(state, _)| state == "23505"),
                "{sql}: {result:?}"
            );
            run(&mut administrator, "REVOKE ALL ON t FROM u");
            if rights == "DDL" {
                run(&mut administrator, "REVOKE DDL ON t FROM u");
            }
            assert_eq!(outcome(&mut user, sql), Some(denied.clone()), "{sql}");
        }
    }
}

/// Direct plans, plans of prepared statements and of texts that differ in literals end with the right.
#[test]
fn kept_plans_end_with_the_right() {
    let database = database(&TABLES);
    let mut administrator = database.connect();
    run(&mut administrator, "GRANT SELECT ON t TO PUBLIC");
    let mut user = connect_as(&database, "u");
    let prepared = user
        .prepare("SELECT a FROM t WHERE id = $1")
        .expect("it is well-formed");
    for id in 0..4 {
        assert!(user.query_prepared(&prepared, &[id.into()]).is_ok());
        assert_eq!(
            outcome(&mut user, &format!("SELECT a FROM t WHERE id = {id}")),
            None
        );
    }
    run(&mut administrator, "REVOKE SELECT ON t FROM PUBLIC");
    for id in 0..4 {
        let error = user
            .query_prepared(&prepared, &[id.into()])
            .err()
            .expect("the right is gone");
        assert_eq!(error.sqlstate, "42501");
        let denied = outcome(&mut user, &format!("SELECT a FROM t WHERE id = {id}"));
        assert_eq!(denied.map(|(state, _)| state).as_deref(), Some("42501"));
    }
    // A right that is taken is gone inside of a transaction, too.
    run(&mut administrator, "GRANT SELECT ON DATABASE any TO u");
    run(&mut user, "BEGIN");
    run(&mut user, "SELECT * FROM t WHERE id = 1");
    run(&mut administrator, "REVOKE SELECT ON DATABASE any FROM u");
    assert_eq!(
        outcome(&mut user, "SELECT * FROM t WHERE id = 1")
            .map(|(state, _)| state)
            .as_deref(),
        Some("42501")
    );
}

#[test]
fn definitions_need_ownership() {
    let database = database(&TABLES);
    let mut administrator = database.connect();
    let mut user = connect_as(&database, "u");
    let denied = [
        (
            "CREATE TABLE mine (id INT PRIMARY KEY)",
            "permission denied for schema public",
        ),
        (
            "CREATE TABLE mine AS SELECT 1 AS id",
            "permission denied for schema public",
        ),
        (
            "CREATE VIEW v AS SELECT 1 AS x",
            "permission denied for schema public",
        ),
        ("CREATE SEQUENCE mine", "permission denied for schema public"),
        ("CREATE INDEX i ON t (a)", "must be owner of table t"),
        ("ALTER TABLE t ADD COLUMN b INT", "must be owner of table t"),
        ("DROP TABLE t", "must be owner of table t"),
        ("DROP INDEX by_a", "must be owner of index by_a"),
        ("ALTER INDEX by_a DISABLE", "must be owner of index by_a"),
        ("REINDEX TABLE t", "must be owner of table t"),
        ("DROP SEQUENCE s", "must be owner of sequence s"),
        ("COMMENT ON TABLE t IS 'x'", "must be owner of table t"),
        ("SELECT nextval('s')", "permission denied for sequence s"),
        ("GRANT SELECT ON t TO u", "must be owner of table t"),
        (
            "GRANT SELECT ON SCHEMA public TO u",
            "permission denied for schema public",
        ),
        (
            "GRANT SELECT ON DATABASE any TO u",
            "permission denied for database",
        ),
        (
            "ALTER TABLE t OWNER TO u",
            "must be superuser to change the owner of t",
        ),
        ("CREATE USER w", "permission denied to create role"),
        ("ALTER USER u SUPERUSER", "permission denied to alter role"),
        ("DROP USER u", "permission denied to drop role"),
        (
            "COPY t FROM '/etc/passwd'",
            "must be superuser to COPY from a file",
        ),
        ("COPY other TO '/tmp/x'", "must be superuser to COPY to a file"),
        (
            "DESCRIBE FILE '/etc/passwd'",
            "must be superuser to read files of the server",
        ),
        (
            "BACKUP DATABASE TO '/tmp/x'",
            "must be superuser to run this statement",
        ),
        ("CHECKPOINT", "must be superuser to run this statement"),
        ("ANALYZE", "must be superuser to run this statement"),
    ];
    for (sql, message) in denied {
        let expected = ("42501".to_string(), message.to_string());
        assert_eq!(outcome(&mut user, sql), Some(expected), "{sql}");
        let statement = user.prepare(sql).expect("it is well-formed");
        let error = user.execute_prepared(&statement, &[]).err();
        assert_eq!(
            error.map(|error| error.message).as_deref(),
            Some(message),
            "{sql}"
        );
    }
    run(&mut administrator, "GRANT CREATE ON SCHEMA public TO u");
    run(&mut administrator, "CREATE USER w");
    let own = [
        "CREATE TABLE mine (id SERIAL PRIMARY KEY, a TEXT)",
        "INSERT INTO mine (a) VALUES ('x')",
        "CREATE INDEX mine_a ON mine (a)",
        "ALTER TABLE mine ADD COLUMN b INT",
        "CREATE VIEW v AS SELECT id FROM mine",
        "GRANT SELECT ON v TO w",
        "ALTER USER u PASSWORD 'other'",
    ];
    own.iter().for_each(|sql| run(&mut user, sql));
    assert_eq!(
        outcome(&mut administrator, "DROP USER u")
            .map(|(state, _)| state)
            .as_deref(),
        Some("2BP01")
    );
    // A reader of a view reads what its owner may, and not the table itself.
    let mut reader = connect_as(&database, "w");
    run(&mut reader, "SELECT * FROM v");
    assert_eq!(
        outcome(&mut reader, "SELECT id FROM mine")
            .map(|(_, message)| message)
            .as_deref(),
        Some("permission denied for table mine")
    );
    run(&mut administrator, "ALTER TABLE mine OWNER TO w");
    assert_eq!(
        outcome(&mut connect_as(&database, "u"), "SELECT * FROM v")
            .map(|(_, message)| message)
            .as_deref(),
        Some("permission denied for table mine")
    );
    run(&mut reader, "DROP INDEX mine_a");
    run(&mut user, "DROP VIEW v");
    run(&mut reader, "DROP TABLE mine");
    run(&mut administrator, "REVOKE ALL ON SCHEMA public FROM u");
    run(&mut administrator, "DROP USER u, w");
    assert_eq!(
        outcome(&mut user, "SELECT 1"),
        Some(("42704".to_string(), "role \"u\" does not exist".to_string()))
    );
}

#[test]
fn statements_about_roles_have_postgres_errors() {
    let database = database(&TABLES);
    let mut administrator = database.connect();
    let cases = [
        ("CREATE USER u", "42710", "role \"u\" already exists"),
        ("CREATE ROLE pg_x", "42939", "role name \"pg_x\" is reserved"),
        ("DROP ROLE nobody", "42704", "role \"nobody\" does not exist"),
        (
            "GRANT SELECT ON nothing TO u",
            "42P01",
            "relation \"nothing\" does not exist",
        ),
        (
            "GRANT SELECT ON t TO nobody",
            "42704",
            "role \"nobody\" does not exist",
        ),
        (
            "GRANT FLY ON t TO u",
            "42601",
            "unrecognized privilege type \"fly\"",
        ),
        (
            "GRANT DELETE (a) ON t TO u",
            "0LP01",
            "invalid privilege type DELETE for column",
        ),
        ("GRANT u TO u", "0LP01", "role \"u\" is a member of role \"u\""),
        (
            "CREATE USER w CREATEDB",
            "0A000",
            "role option CREATEDB is not supported",
        ),
        (
            "CREATE USER w FLYING",
            "42601",
            "unrecognized role option \"flying\"",
        ),
        (
            "CREATE USER w PASSWORD 'md5aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
            "0A000",
            "passwords hashed by MD5 are not supported",
        ),
        (
            "CREATE USER w VALID UNTIL 'never'",
            "22007",
            "invalid input syntax for type timestamp with time zone: \"never\"",
        ),
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA nowhere TO u",
            "3F000",
            "schema \"nowhere\" does not exist",
        ),
    ];
    for (sql, state, message) in cases {
        let expected = (state.to_string(), message.to_string());
        assert_eq!(outcome(&mut administrator, sql), Some(expected), "{sql}");
    }
    run(
        &mut administrator,
        "GRANT ALL ON ALL TABLES IN SCHEMA public TO u",
    );
    assert_eq!(
        outcome(&mut connect_as(&database, "u"), "SELECT * FROM other"),
        None
    );
    run(&mut administrator, "DROP ROLE IF EXISTS nobody");
    // What is stored is no password.
    let mut stored = String::new();
    let dumped = database.dump(&mut |line| {
        stored.push_str(line);
        true
    });
    assert!(dumped.is_ok() && stored.contains("SCRAM-SHA-256$4096:") && !stored.contains("secret"));
}

/// Runs psql as a user; returns what it printed, errors behind output.
fn psql(address: SocketAddr, user: &str, password: &str, options: &str, sql: &str) -> Option<String> {
    let program = need::or_skip("users of psql", postgres::program("psql"))?;
    let target = format!(
        "host=127.0.0.1 port={} user={user} dbname=any {options}",
        address.port()
    );
    let output = Command::new(program)
        .args(["-X", "-A", "-t", "-d", &target, "-c", sql])
        .env("PGPASSWORD", password)
        .env_remove("PGSERVICE")
        .output()
        .expect("psql runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn users_log_in_with_their_password() {
    let database = database(&[
        "CREATE USER u PASSWORD 'sécret'",
        "CREATE ROLE locked PASSWORD 'x'",
        "CREATE USER late PASSWORD 'x' VALID UNTIL '2020-01-01'",
        "CREATE USER bare",
        "CREATE USER root SUPERUSER PASSWORD 'r'",
    ]);
    let server = server_over(database.clone(), Config::default());
    let log_in = |user: &str, password: &str| psql(server.address(), user, password, "", "SELECT 'in'");
    let Some(answer) = log_in("u", "sécret") else {
        return;
    };
    assert_eq!(answer, "in\n");
    for (user, password) in [
        ("u", "wrong"),
        ("nobody", "x"),
        ("late", "x"),
        ("bare", ""),
        ("bare", "x"),
    ] {
        let answer = log_in(user, password).unwrap_or_default();
        let failed = format!("FATAL:  password authentication failed for user \"{user}\"\n");
        let unasked = "fe_sendauth: no password supplied\n";
        assert!(
            answer.ends_with(&failed) || answer.ends_with(unasked),
            "{user}: {answer}"
        );
    }
    assert!(
        log_in("locked", "x")
            .unwrap_or_default()
            .ends_with("role \"locked\" is not permitted to log in\n")
    );
    // Rights hold over the wire, and are changed there.
    let as_root = |sql: &str| psql(server.address(), "root", "r", "", sql).unwrap_or_default();
    assert_eq!(as_root("CREATE TABLE t (id INT PRIMARY KEY)"), "CREATE TABLE\n");
    let as_user = |sql: &str| psql(server.address(), "u", "sécret", "", sql).unwrap_or_default();
    for sql in [
        "TABLE t",
        "COPY t TO STDOUT",
        "COPY t FROM STDIN",
        "SELECT * FROM t",
    ] {
        let answer = as_user(sql);
        let expected = "ERROR:  permission denied for table t\n";
        assert!(
            answer == expected || sql == "TABLE t" && answer.starts_with("ERROR"),
            "{sql}: {answer}"
        );
    }
    assert_eq!(as_root("GRANT SELECT, INSERT ON t TO u"), "GRANT\n");
    assert_eq!(as_user("COPY t TO STDOUT"), "");
    assert_eq!(as_user("INSERT INTO t VALUES (1)"), "INSERT 0 1\n");
    assert_eq!(as_root("ALTER USER u PASSWORD 'new'"), "ALTER ROLE\n");
    assert!(as_user("SELECT 1").contains("password authentication failed"));
    server.stop();
}

/// An unknown user gets a salt that stays the same, as a known one does.
#[test]
fn users_who_are_not_there_look_like_others() {
    let database = database(&["CREATE USER u PASSWORD 'x'"]);
    let server = server_over(database, Config::default());
    let first = |user: &str| {
        let mut raw = Raw::open(server.address());
        raw.send_startup(&[("user", user)]);
        let ways = raw.read().expect("the server asks");
        assert_eq!(
            (ways.kind, &ways.body[..4], &ways.body[4..]),
            (b'R', &[0, 0, 0, 10][..], &b"SCRAM-SHA-256\0\0"[..])
        );
        let data = b"n,,n=,r=abc";
        let mut body = text("SCRAM-SHA-256");
        body.extend((data.len() as u32).to_be_bytes());
        body.extend(data);
        raw.send(b'p', &body);
        let challenge = raw.read().expect("the server asks on");
        assert_eq!((challenge.kind, &challenge.body[..4]), (b'R', &[0, 0, 0, 11][..]));
        let text = String::from_utf8_lossy(&challenge.body[4..]).into_owned();
        let (nonce, rest) = text.split_once(",s=").expect("there is a salt");
        assert!(nonce.starts_with("r=abc") && nonce.len() > 20, "{text}");
        rest.to_string()
    };
    assert_eq!(first("u"), first("u"));
    assert_eq!(first("nobody"), first("nobody"));
    assert_ne!(first("nobody"), first("somebody"));
    assert_eq!(first("u").len(), first("nobody").len());
    server.stop();
}

/// Bytes that are no exchange end the connection, and nothing else.
#[test]
fn abuse_of_the_log_in() {
    let database = database(&["CREATE USER u PASSWORD 'x'"]);
    let server = server_over(database, Config::default());
    let initial = |way: &str, data: &[u8]| {
        let mut body = text(way);
        body.extend((data.len() as u32).to_be_bytes());
        body.extend(data);
        framed(Some(b'p'), &body)
    };
    let mut lying = text("SCRAM-SHA-256");
    lying.extend([0x7f, 0xff, 0xff, 0xff]);
    let cases = [
        framed(Some(b'Q'), &text("SELECT 1")),
        framed(Some(b'p'), b""),
        framed(Some(b'p'), b"SCRAM-SHA-256"),
        framed(Some(b'p'), &lying),
        initial("MD5", b"n,,n=,r=abc"),
        initial("SCRAM-SHA-256-PLUS", b"p=tls-server-end-point,,n=,r=abc"),
        initial("SCRAM-SHA-256", b""),
        initial("SCRAM-SHA-256", b"\xff,,n=,r=abc"),
        initial("SCRAM-SHA-256", b"n,a=root,n=,r=abc"),
        initial("SCRAM-SHA-256", b"n,,n=,r="),
        initial("SCRAM-SHA-256", b"p=tls-server-end-point,,n=,r=abc"),
        vec![b'p', 0x7f, 0xff, 0xff, 0xff],
        vec![b'p', 0, 0, 0, 1],
    ];
    for bytes in cases {
        let mut raw = Raw::open(server.address());
        raw.send_startup(&[("user", "u")]);
        assert_eq!(raw.read().map(|message| message.kind), Some(b'R'));
        raw.send_bytes(&bytes);
        let answer = raw.answer();
        assert!(
            matches!(answer.sqlstate().as_str(), "08P01" | "0A000"),
            "{bytes:?}: {answer:?}"
        );
        assert_eq!(answer.status, '-', "{bytes:?}");
    }
    // A proof of something else, and a nonce that is not the server's.
    for last in ["c=biws,r=abc,p=AAAA", "c=biws,r=abc", "", "p=AAAA"] {
        let mut raw = Raw::open(server.address());
        raw.send_startup(&[("user", "u")]);
        raw.read();
        raw.send_bytes(&initial("SCRAM-SHA-256", b"n,,n=,r=abc"));
        raw.read();
        raw.send(b'p', last.as_bytes());
        assert_eq!(raw.answer().sqlstate(), "08P01", "{last}");
    }
    server.stop();
}

#[test]
fn other_machines_need_users() {
    let open = |database: Database| {
        let config = Config {
            listen: "0.0.0.0:0".to_string(),
            shutdown_timeout_s: 1,
            ..Config::default()
        };
        rukh_server::start(database, config)
    };
    let refused = open(database(&[])).err().expect("nobody could log in");
    assert!(refused.to_string().contains("rukh user add"), "{refused}");
    assert!(open(database(&["CREATE ROLE r"])).is_err());
    let server = open(database(&["CREATE USER u PASSWORD 'x'"])).expect("somebody can log in");
    server.stop();
    // Without users, every connection from this machine is an administrator's.
    let server = server_with(Config::default());
    let mut raw = Raw::connect(server.address());
    assert_eq!(
        raw.simple("CREATE USER first SUPERUSER PASSWORD 'x'").tags,
        ["CREATE ROLE"]
    );
    let mut other = Raw::open(server.address());
    other.send_startup(&[("user", "tester")]);
    assert_eq!(
        other.read().map(|message| message.body[..4].to_vec()),
        Some(vec![0, 0, 0, 10])
    );
    server.stop();
}
