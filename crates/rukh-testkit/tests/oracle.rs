//! Every script of `sql/` gives the rows that PostgreSQL gives, by whatever plan.
//!
//! Each query runs four ways: as written, with every key read (`FULL_SCAN`), without the direct
//! path, and on PostgreSQL. Every change touches as many rows as there.

#![allow(clippy::unwrap_used)]

use rukh::Database;
use rukh_testkit::client::Client;
use rukh_testkit::postgres::{self, PostgresDatabase};
use rukh_testkit::scripts::{SELF_CONTAINED, ScriptStatement, StatementKind, WITH_DATA, statements};
use rukh_testkit::tokens::is_ordered;
use rukh_testkit::translate::{Translator, with_hint};
use rukh_testkit::{load, need, paths, place};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

/// The two databases that run one script.
struct Pair {
    rukh: Client,
    postgres: PostgresDatabase,
    translator: Translator,
}

impl Pair {
    fn run(&mut self, statement: &ScriptStatement) -> Result<(), String> {
        let sql = &statement.sql;
        match statement.kind {
            StatementKind::Query => self.compare_query(sql),
            StatementKind::Change => self.compare_change(sql),
            StatementKind::Copy => {
                self.rukh.run(sql).map_err(|error| error.to_string())?;
                load::copy_from(&mut self.postgres, sql)
            }
            StatementKind::Check => {
                let table = sql.rsplit(' ').next().expect("CHECK TABLE names a table");
                self.rukh.check(table)
            }
            StatementKind::Explain | StatementKind::Other => {
                self.rukh.run(sql).map_err(|error| error.to_string())?;
                match self.translator.translate(sql) {
                    Some(sql) => self
                        .postgres
                        .execute(&sql)
                        .map(drop)
                        .map_err(|error| error.to_string()),
                    None => Ok(()),
                }
            }
        }
    }

    fn compare_query(&mut self, sql: &str) -> Result<(), String> {
        let expected = match is_of_the_past(sql) {
            true => self.rukh.query(sql).map_err(|error| error.to_string())?,
            false => {
                let translated = self.translator.translate(sql).expect("PostgreSQL has queries");
                let rows = self.postgres.query(&translated);
                rows.map_err(|error| format!("PostgreSQL: {error}"))?
            }
        };
        let ways = [
            ("as written", sql.to_owned(), "auto"),
            ("by a full scan", with_hint(sql, "FULL_SCAN"), "auto"),
            ("without the direct path", sql.to_owned(), "general"),
        ];
        for (way, sql, path) in ways {
            let table = self
                .query_by(path, &sql)
                .map_err(|error| format!("{way}: {error}"))?;
            let same = table.same_rows(expected.clone(), is_ordered(&sql));
            same.map_err(|difference| format!("{way}: {difference}"))?;
        }
        Ok(())
    }

    fn query_by(&mut self, path: &str, sql: &str) -> Result<rukh_testkit::table::Table, rukh::Error> {
        self.rukh.run(&format!("SET execution_path = {path}"))?;
        let result = self.rukh.query(sql);
        self.rukh.run("SET execution_path = auto")?;
        result
    }

    fn compare_change(&mut self, sql: &str) -> Result<(), String> {
        let count = self.rukh.run(sql).map_err(|error| error.to_string())?.count();
        let translated = self.translator.translate(sql).expect("PostgreSQL has changes");
        let expected = self
            .postgres
            .execute(&translated)
            .map_err(|error| format!("PostgreSQL: {error}"))?;
        match count == expected {
            true => Ok(()),
            false => Err(format!("{count} rows, not {expected}")),
        }
    }
}

/// Whether a query asks for what was: PostgreSQL keeps no versions, but all ways of asking give the same.
fn is_of_the_past(sql: &str) -> bool {
    sql.contains("SYSTEM_TIME")
}

/// Runs a script on both and fails with everything that is different.
fn check_script(name: &str) {
    let Some(postgres) = need::or_skip(name, postgres::database()) else {
        return;
    };
    let directory = tempfile::tempdir().unwrap();
    let path = place::namespace().map_or_else(|| directory.path().join("db"), Into::into);
    let database = Database::open(path).unwrap();
    let mut pair = Pair {
        rukh: Client::new(&database),
        postgres,
        translator: Translator::new(),
    };
    let differences: Vec<String> = statements(&paths::read_script(name))
        .iter()
        .filter_map(|statement| {
            let error = pair.run(statement).err()?;
            Some(format!(
                "{name}.sql:{}: {}\n{error}\n",
                statement.line, statement.sql
            ))
        })
        .collect();
    assert!(
        differences.is_empty(),
        "{} statements differ\n{}",
        differences.len(),
        differences.join("\n")
    );
}

/// Runs a script if the data that it loads are there.
fn check_script_with_data(name: &str) {
    let file = WITH_DATA
        .into_iter()
        .find(|(script, _)| *script == name)
        .expect("a script with data")
        .1;
    if place::takes_large_loads() && need::or_skip(name, need::data_set(file)).is_some() {
        check_script(name);
    }
}

#[test]
fn scripts_give_the_rows_of_postgres_on_hbase() {
    if let Some(server) = fixture::Server::start() {
        place::run_again_on(&server.url, "on_hbase");
    }
}

#[test]
fn access_logs_gives_the_rows_of_postgres() {
    check_script("access_logs");
}

#[test]
fn events_gives_the_rows_of_postgres() {
    check_script("events");
}

#[test]
fn file_catalog_gives_the_rows_of_postgres() {
    check_script("file_catalog");
}

#[test]
fn sensor_data_gives_the_rows_of_postgres() {
    check_script("sensor_data");
}

#[test]
fn social_usage_gives_the_rows_of_postgres() {
    check_script("social_usage");
}

#[test]
fn url_scans_gives_the_rows_of_postgres() {
    check_script("url_scans");
}

#[test]
fn flights_gives_the_rows_of_postgres() {
    check_script_with_data("flights");
}

#[test]
fn weather_gives_the_rows_of_postgres() {
    check_script_with_data("weather");
}

#[test]
fn every_script_is_tested() {
    let mut known: Vec<&str> = SELF_CONTAINED
        .into_iter()
        .chain(WITH_DATA.map(|(name, _)| name))
        .collect();
    known.sort_unstable();
    let scripts = paths::files_below(&paths::scripts(), ".sql");
    let names: Vec<String> = scripts
        .iter()
        .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, known);
}
