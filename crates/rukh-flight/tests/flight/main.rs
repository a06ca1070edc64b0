//! The server of Flight SQL as clients see it.

mod abuse;
mod adbc;
mod ends;
mod ingest;
mod metadata;
mod prepared;
mod queries;
mod transactions;
mod users;

use std::time::Duration;

use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use futures::TryStreamExt;
use rukh::Database;
use rukh::arrow::array::RecordBatch;
use rukh::arrow::util::pretty::pretty_format_batches;
use rukh_flight::{Config, RunningServer, start};
use tonic::Code;
use tonic::transport::{Channel, Endpoint};

/// A client of the tests.
type Client = FlightSqlServiceClient<Channel>;

/// A server with its database, and threads for its clients.
struct Served {
    server: RunningServer,
    database: Database,
    runtime: tokio::runtime::Runtime,
}

fn served_with(database: Database, config: Config) -> Served {
    let config = Config {
        listen: "127.0.0.1:0".to_string(),
        shutdown_timeout: Duration::from_secs(1),
        ..config
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("there are threads");
    Served {
        server: start(database.clone(), config).expect("the server starts"),
        database,
        runtime,
    }
}

fn served() -> Served {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    served_with(database, Config::default())
}

impl Served {
    /// Runs a test of clients, and stops the server.
    fn run<F: Future<Output = ()>>(self, test: impl FnOnce(Run) -> F) {
        let Served {
            server,
            database,
            runtime,
        } = self;
        let address = server.address();
        runtime.block_on(test(Run { address, database }));
        drop(runtime);
        server.stop();
    }
}

/// What a test of clients has.
struct Run {
    address: std::net::SocketAddr,
    database: Database,
}

impl Run {
    async fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).expect("it is an address");
        FlightSqlServiceClient::new(endpoint.connect().await.expect("the server is there"))
    }

    /// Runs statements on the database itself.
    fn execute(&self, statements: &[&str]) {
        let mut connection = self.database.connect();
        for statement in statements {
            let done = connection.execute(statement);
            done.map(drop)
                .unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
    }
}

/// Fetches all that an answer has tickets for.
async fn fetch(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>, FlightError> {
    let mut batches = Vec::new();
    for endpoint in info.endpoint {
        let ticket = endpoint.ticket.expect("an endpoint has a ticket");
        batches.extend(client.do_get(ticket).await?.try_collect::<Vec<_>>().await?);
    }
    Ok(batches)
}

/// Runs a query, and returns its rows as lines, without names.
async fn rows(client: &mut Client, sql: &str) -> Result<Vec<String>, FlightError> {
    let info = client.execute(sql.to_string(), None).await?;
    fetch(client, info).await.map(|batches| lines(&batches))
}

/// Returns rows as lines such as `1, a`.
fn lines(batches: &[RecordBatch]) -> Vec<String> {
    if batches.iter().all(|batch| batch.num_rows() == 0) {
        return Vec::new();
    }
    let table = pretty_format_batches(batches)
        .expect("batches can be shown")
        .to_string();
    let rows = table.lines().filter(|line| line.starts_with('|')).skip(1);
    let cells = |line: &str| -> Vec<String> {
        let cells = line.trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_string()).collect()
    };
    rows.map(|line| cells(line).join(", ")).collect()
}

/// Returns the code of gRPC for an error, and the SQLSTATE in front of its message.
fn failure<T>(result: Result<T, FlightError>) -> Option<(Code, String)> {
    match result {
        Ok(_) => None,
        Err(FlightError::Tonic(status)) => {
            let sqlstate = status.message().split(':').next().unwrap_or_default();
            Some((status.code(), sqlstate.to_string()))
        }
        Err(other) => panic!("an error of another kind: {other}"),
    }
}

fn error(code: Code, sqlstate: &str) -> Option<(Code, String)> {
    Some((code, sqlstate.to_string()))
}
