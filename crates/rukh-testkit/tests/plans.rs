//! The plan of every query of `sql/`, as EXPLAIN prints it at its place in the script.
//!
//! A change of a plan shows as a difference in `tests/plans`. Read it: fewer keys is better.

#![allow(clippy::unwrap_used)]

use std::fmt::Write;

use rukh_testkit::client::Client;
use rukh_testkit::scripts::{SELF_CONTAINED, StatementKind, WITH_DATA, statements};
use rukh_testkit::{need, paths, place};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

/// Runs a script and returns each of its queries with its plan.
fn plans(name: &str) -> String {
    let mut client = Client::new(&place::database());
    let mut plans = String::new();
    for statement in statements(&paths::read_script(name)) {
        if statement.kind == StatementKind::Query {
            let plan = explain(&mut client, &statement.sql);
            writeln!(plans, "> {}\n---\n{plan}", statement.sql.replace('\n', "\n> ")).unwrap();
        }
        if statement.kind != StatementKind::Explain {
            client.run(&statement.sql).unwrap_or_else(|error| {
                panic!("{name}.sql:{}: {error}", statement.line);
            });
        }
    }
    plans
}

fn explain(client: &mut Client, sql: &str) -> String {
    match client.query(&format!("EXPLAIN {sql}")) {
        Ok(table) => table.rows.iter().fold(String::new(), |plan, row| {
            let line = row.iter().flatten().cloned().collect::<Vec<_>>().join(" ");
            plan + line.trim_end() + "\n"
        }),
        Err(error) => format!("error: {error}\n"),
    }
}

fn check(name: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(paths::tests().join("plans"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, plans(name)));
}

#[test]
fn plans_are_the_same_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        place::run_again_on(&server.url, "plans_are_the_same_on_hbase");
    }
}

#[test]
fn plans_of_scenarios() {
    let failed: Vec<&str> = SELF_CONTAINED
        .into_iter()
        .filter(|name| std::panic::catch_unwind(|| check(name)).is_err())
        .collect();
    assert!(failed.is_empty(), "plans of {failed:?} differ");
}

#[test]
fn plans_of_data_sets() {
    for (name, file) in WITH_DATA {
        if place::takes_large_loads() && need::or_skip(name, need::data_set(file)).is_some() {
            check(name);
        }
    }
}
