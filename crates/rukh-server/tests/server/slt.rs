//! Every file of `tests/slt` again over the wire, in both protocols.

use rukh::Database;
use rukh_server::Config;
use rukh_testkit::client::stop_clock;
use rukh_testkit::paths;
use rukh_testkit::slt::{rows, run_file};
use rukh_testkit::table::Table;
use sqllogictest::{DB, DBOutput, DefaultColumnType};

use crate::server_over;
use rukh_testkit::raw::{Answer, Raw};

/// Which messages a statement is sent by.
#[derive(Clone, Copy, Debug)]
enum Protocol {
    Simple,
    Extended,
}

/// A server as sqllogictest sees it.
struct SltWire {
    /// The server's database, to set its clock.
    database: Database,
    client: Raw,
    protocol: Protocol,
}

/// An error of the server, printed for sqllogictest.
#[derive(Debug, thiserror::Error)]
#[error("{sqlstate}: {message}")]
struct WireError {
    sqlstate: String,
    message: String,
}

impl DB for SltWire {
    type Error = WireError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, WireError> {
        if let Some(time) = sql.strip_prefix("CLOCK ") {
            stop_clock(&self.database, time);
            return Ok(DBOutput::StatementComplete(0));
        }
        let answer = match self.protocol {
            Protocol::Simple => self.client.simple(sql),
            Protocol::Extended => self.client.extended(sql, &[], false),
        };
        output(&answer)
    }

    fn engine_name(&self) -> &str {
        "rukh"
    }

    fn error_sql_state(error: &WireError) -> Option<String> {
        Some(error.sqlstate.clone())
    }
}

fn output(answer: &Answer) -> Result<DBOutput<DefaultColumnType>, WireError> {
    if answer.error.is_some() {
        return Err(WireError {
            sqlstate: answer.sqlstate(),
            message: answer.field(b'M'),
        });
    }
    Ok(match &answer.columns {
        Some(columns) => rows(&Table {
            columns: columns.iter().map(|(name, _)| name.clone()).collect(),
            kinds: Vec::new(),
            rows: answer.texts(),
        }),
        None => {
            let count = answer
                .tags
                .last()
                .and_then(|tag| tag.rsplit(' ').next()?.parse().ok());
            DBOutput::StatementComplete(count.unwrap_or(0))
        }
    })
}

fn run_all(protocol: Protocol) {
    let part = std::env::var("SLT").unwrap_or_default();
    let files = paths::files_below(&paths::tests().join("slt"), ".slt");
    let chosen: Vec<_> = files
        .iter()
        .filter(|path| path.to_string_lossy().contains(&part))
        .collect();
    let mut failures = Vec::new();
    for path in &chosen {
        let database = Database::open_in_memory().expect("a database in memory can be made");
        let server = server_over(database.clone(), Config::default());
        let wire = SltWire {
            client: Raw::connect(server.address()),
            database,
            protocol,
        };
        if let Err(error) = run_file(path, wire) {
            failures.push(format!("{}\n{error}", path.display()));
        }
    }
    assert!(!chosen.is_empty());
    assert!(
        failures.is_empty(),
        "{} files fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn files_hold_in_the_simple_protocol() {
    run_all(Protocol::Simple);
}

#[test]
fn files_hold_in_the_extended_protocol() {
    run_all(Protocol::Extended);
}
