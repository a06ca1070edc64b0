//! `rukh serve DIR`: serves clients of PostgreSQL, and of Flight SQL where a port is given, until SIGTERM or
//! Ctrl-C.

#[cfg(feature = "flight")]
use std::sync::Arc;
#[cfg(feature = "flight")]
use std::time::Duration;

use rukh::Database;
use rukh_server::{Config, ServeError};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::base::error::Exit;
use crate::base::output;
use crate::programs::arguments::ServeArguments;
use crate::programs::run::{Access, give_up, open};

/// Serves the database until SIGTERM or SIGINT.
pub fn run(arguments: &ServeArguments) -> Exit {
    match serve(arguments) {
        Ok(()) => Exit::Success,
        Err(exit) => exit,
    }
}

fn serve(arguments: &ServeArguments) -> Result<(), Exit> {
    let mut config = configured(arguments).map_err(|error| complain(&error))?;
    rukh_server::log_to_stderr(config.log_format);
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|source| complain(&ServeError::Thread { source }))?;
    let database = open(&arguments.directory, Access::Write).map_err(|error| give_up(&error))?;
    // What the system lets the process have of descriptors is for both.
    let servers = 1 + usize::from(config.flight.is_some());
    config.connections_max = rukh_server::within_descriptors(config.connections_max, servers);
    let flight = Flight::start(&database, &config)?;
    let server = match rukh_server::start(database, config) {
        Ok(server) => server,
        Err(error) => {
            flight.stop();
            return Err(complain(&error));
        }
    };
    output::complain(&format!("listening on {}\n", server.address()));
    flight.tell();
    if let Some(address) = server.http_address() {
        output::complain(&format!("monitors are answered on {address}\n"));
    }
    // The first signal ends it.
    signals.forever().next();
    flight.stop();
    server.stop();
    Ok(())
}

/// The server of Flight SQL, if there is to be one.
#[cfg(feature = "flight")]
struct Flight(Option<rukh_flight::RunningServer>);

#[cfg(feature = "flight")]
impl Flight {
    fn start(database: &Database, config: &Config) -> Result<Self, Exit> {
        let Some(listen) = config.flight_address() else {
            return Ok(Flight(None));
        };
        let tls = config.tls.as_ref().map(rukh_server::encryption).transpose();
        let settings = config.settings().into_iter();
        let flight = rukh_flight::Config {
            listen,
            tls: tls.map_err(|error| complain(&error))?,
            connections_max: config.connections_max,
            message_bytes_max: config.message_bytes_max,
            session_timeout: Duration::from_secs(config.flight_session_timeout_s.max(1)),
            authentication_timeout: config.authentication_timeout(),
            shutdown_timeout: config.shutdown_timeout(),
            settings: settings
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            on_statement: config.http.is_some().then(|| {
                let count: rukh_flight::OnStatement = Arc::new(rukh_server::count_statement);
                count
            }),
        };
        let started = rukh_flight::start(database.clone(), flight);
        started
            .map(|server| Flight(Some(server)))
            .map_err(|error| complain(&error))
    }

    fn tell(&self) {
        if let Some(server) = &self.0 {
            output::complain(&format!("Flight SQL is served on {}\n", server.address()));
        }
    }

    fn stop(self) {
        if let Some(server) = self.0 {
            server.stop();
        }
    }
}

/// This program was built without Flight SQL.
#[cfg(not(feature = "flight"))]
struct Flight;

#[cfg(not(feature = "flight"))]
impl Flight {
    fn start(_: &Database, config: &Config) -> Result<Self, Exit> {
        match config.flight_address() {
            None => Ok(Flight),
            Some(_) => {
                let message = "this program was built without Flight SQL".to_string();
                Err(complain(&ServeError::Config(message)))
            }
        }
    }

    fn tell(&self) {}

    fn stop(self) {}
}

fn configured(arguments: &ServeArguments) -> Result<Config, ServeError> {
    let mut config = Config::load(arguments.config.as_deref())?;
    if let Some(listen) = &arguments.listen {
        config.listen.clone_from(listen);
    }
    if let Some(http) = &arguments.http {
        config.http = Some(http.clone());
    }
    #[cfg(feature = "flight")]
    if let Some(flight) = &arguments.flight {
        config.flight = Some(flight.clone());
    }
    Ok(config)
}

fn complain(error: &dyn std::error::Error) -> Exit {
    output::complain(&format!("error: {error}\n"));
    Exit::Failed
}
