//! psql 15 on the server.

use std::net::SocketAddr;
use std::process::Command;

use rukh_testkit::{need, postgres};

use crate::server;

/// Runs psql with these commands; returns what it printed, errors behind output.
fn psql(program: &std::path::Path, address: SocketAddr, commands: &[&str]) -> String {
    let mut psql = Command::new(program);
    psql.args([
        "-X",
        "-A",
        "-t",
        "-h",
        "127.0.0.1",
        "-p",
        &address.port().to_string(),
        "-U",
        "tester",
        "-d",
        "any",
    ]);
    commands.iter().for_each(|command| {
        psql.args(["-c", command]);
    });
    let output = psql.env_remove("PGSERVICE").output().expect("psql runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    text(&output.stdout) + &text(&output.stderr)
}

#[test]
fn psql_runs_statements() {
    let Some(program) = need::or_skip("psql_runs_statements", postgres::program("psql")) else {
        return;
    };
    let server = server();
    let cases: [(&[&str], &str); 6] = [
        (&["SELECT 1 + 1"], "2\n"),
        (
            &["CREATE TABLE t (id INT PRIMARY KEY, name TEXT)"],
            "CREATE TABLE\n",
        ),
        (&["INSERT INTO t VALUES (1, 'é'), (2, NULL)"], "INSERT 0 2\n"),
        (
            &["UPSERT INTO t VALUES (2, 'two')", "SELECT * FROM t ORDER BY id"],
            "INSERT 0 1\n1|é\n2|two\n",
        ),
        (
            &["BEGIN; DELETE FROM t; ROLLBACK; SELECT count(*) FROM t"],
            "BEGIN\nDELETE 2\nROLLBACK\n2\n",
        ),
        (
            &["SELECT nothing FROM t"],
            "ERROR:  column \"nothing\" does not exist\nLINE 1: SELECT nothing FROM t\n               ^\n",
        ),
    ];
    for (commands, expected) in &cases {
        assert_eq!(
            psql(&program, server.address(), commands),
            *expected,
            "{commands:?}"
        );
    }
    server.stop();
}
