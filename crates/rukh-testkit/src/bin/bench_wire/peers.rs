//! The two servers.

use std::error::Error;

use postgres::{Client, Config, NoTls};
use rukh_testkit::postgres::PostgresServer;
use rukh_testkit::served::{self, Served};

pub type Failure = Box<dyn Error + Send + Sync>;

/// A server, as clients reach it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub is_rukh: bool,
    pub port: u16,
}

/// Both servers, and where their files are.
pub struct Peers {
    pub rukh: Served,
    pub postgres: Option<PostgresServer>,
    /// Why there is no PostgreSQL.
    pub without_postgres: Option<String>,
    /// Rukh's files, which go when this does.
    _directory: tempfile::TempDir,
}

impl Peers {
    pub fn start() -> Result<Peers, Failure> {
        let directory = tempfile::tempdir()?;
        let rukh = Served::start(&served::program()?, &directory.path().join("db"), &[])?;
        let (postgres, without_postgres) = match PostgresServer::durable_on_a_port() {
            Ok(server) => (Some(server), None),
            Err(reason) => (None, Some(reason)),
        };
        Ok(Peers {
            rukh,
            postgres,
            without_postgres,
            _directory: directory,
        })
    }

    /// Measures the same on each server, Rukh first.
    pub fn each<T>(
        &self,
        mut measure: impl FnMut(Peer) -> Result<T, Failure>,
    ) -> Result<(T, Option<T>), Failure> {
        let rukh = measure(Peer {
            is_rukh: true,
            port: self.rukh.address().port(),
        })?;
        let postgres = self.postgres.as_ref().map(|server| {
            measure(Peer {
                is_rukh: false,
                port: server.port(),
            })
        });
        Ok((rukh, postgres.transpose()?))
    }
}

impl Peer {
    /// Returns the name of the user that all clients are.
    pub fn user(self) -> &'static str {
        "rukh"
    }

    /// Returns the name of the database.
    pub fn database(self) -> &'static str {
        if self.is_rukh { "rukh" } else { "postgres" }
    }

    pub fn connect(self) -> Result<Client, Failure> {
        let mut config = Config::new();
        config.host("127.0.0.1").port(self.port).user(self.user());
        Ok(config.dbname(self.database()).connect(NoTls)?)
    }

    /// Runs statements, one after another, each by itself; fails with the one that failed.
    pub fn run(self, statements: &[String]) -> Result<(), Failure> {
        let mut client = self.connect()?;
        for statement in statements {
            let ran = client.batch_execute(statement);
            ran.map_err(|error| format!("{statement}: {error}: {:?}", error.as_db_error()))?;
        }
        Ok(())
    }

    /// Makes what was written ready to be read: statistics, and all that is put off.
    pub fn settle(self, table: &str) -> Result<(), Failure> {
        self.run(&[match self.is_rukh {
            true => format!("ANALYZE {table}"),
            false => format!("VACUUM ANALYZE {table}"),
        }])
    }
}
