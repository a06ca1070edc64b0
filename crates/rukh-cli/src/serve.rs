//! `rukh serve DIR`: lets clients of PostgreSQL in, until SIGTERM or Ctrl-C.

use std::path::Path;

use rukh_server::{Config, RunningServer, ServeError};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::arguments::ServeArguments;
use crate::error::Exit;
use crate::output;
use crate::run::{Access, give_up, open};

/// Serves the database until the process is told to stop.
pub fn run(arguments: &ServeArguments) -> Exit {
    match serve(arguments) {
        Ok(()) => Exit::Success,
        Err(exit) => exit,
    }
}

fn serve(arguments: &ServeArguments) -> Result<(), Exit> {
    let config = configured(arguments).map_err(|error| complain(&error))?;
    rukh_server::log_to_stderr(config.log_format);
    let mut signals =
        Signals::new([SIGINT, SIGTERM]).map_err(|source| complain(&ServeError::Thread { source }))?;
    let server = start(&arguments.directory, config)?;
    output::complain(&format!("listening on {}\n", server.address()));
    if let Some(address) = server.http_address() {
        output::complain(&format!("monitors are answered on {address}\n"));
    }
    // The first signal ends it.
    signals.forever().next();
    server.stop();
    Ok(())
}

fn start(directory: &Path, config: Config) -> Result<RunningServer, Exit> {
    let database = open(directory, Access::Write).map_err(|error| give_up(&error))?;
    rukh_server::start(database, config).map_err(|error| complain(&error))
}

fn configured(arguments: &ServeArguments) -> Result<Config, ServeError> {
    let mut config = Config::load(arguments.config.as_deref())?;
    if let Some(listen) = &arguments.listen {
        config.listen.clone_from(listen);
    }
    if let Some(http) = &arguments.http {
        config.http = Some(http.clone());
    }
    Ok(config)
}

fn complain(error: &ServeError) -> Exit {
    output::complain(&format!("error: {error}\n"));
    Exit::Failed
}
