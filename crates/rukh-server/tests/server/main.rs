//! The server as clients see it.

mod abuse;
mod advisory;
mod clients;
mod copy;
mod counts;
mod kept;
mod killed;
mod logs;
mod manual;
mod monitors;
mod protocol;
mod psql;
mod role_members;
mod schema_rights;
mod set_role;
mod silent;
mod slt;
mod temporary;
mod tls;
mod tokio_client;
mod users;
mod values;

use rukh::Database;
pub use rukh_server::Config;
use rukh_server::{RunningServer, start};

/// Starts a server on a database in memory and a free port.
fn server() -> RunningServer {
    server_with(Config::default())
}

/// Starts a server set up like this, but for its port.
fn server_with(config: Config) -> RunningServer {
    let database = Database::open_in_memory().expect("a database in memory can be made");
    server_over(database, config)
}

/// Starts a server of a database.
fn server_over(database: Database, config: Config) -> RunningServer {
    let config = Config {
        listen: "127.0.0.1:0".to_string(),
        shutdown_timeout_s: 1,
        ..config
    };
    start(database, config).expect("the server starts")
}
