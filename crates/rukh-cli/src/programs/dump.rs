//! `rukh dump`: prints every stored key and value, decoded.

use std::path::Path;

use crate::base::error::{CliError, Exit};
use crate::base::output::Output;
use crate::programs::run::{self, Access};

/// Writes the stored keys and values of the database at `directory` to standard output, one a line.
pub fn run(directory: &Path) -> Exit {
    match dump(directory) {
        Ok(()) => Exit::Success,
        Err(error) => run::give_up(&error),
    }
}

fn dump(directory: &Path) -> Result<(), CliError> {
    let database = run::open(directory, Access::Read)?;
    let mut output = Output::stdout();
    let mut written = Ok(());
    let dumped = database.dump(&mut |line| {
        written = output.write(|out| writeln!(out, "{line}"));
        written.is_ok()
    });
    written?;
    output.flush()?;
    dumped.map_err(|error| CliError::statement("", error))
}
