//! `rukh completions` and `rukh man`: what packages install beside the program, made from its own command line.

use std::path::Path;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::base::error::{CliError, Exit};
use crate::base::output::Output;
use crate::programs::arguments::Arguments;
use crate::programs::run;

/// Prints the script by which a shell completes the command line.
pub fn completions(shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "rukh", &mut script);
    let mut output = Output::stdout();
    let written = output.write(|out| out.write_all(&script));
    exit(written.and_then(|()| output.flush()))
}

/// Writes the manual pages, one for each command, to a directory, which is made when it is not there.
pub fn manual(directory: &Path) -> Exit {
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(Arguments::command(), directory));
    let name = format!("directory \"{}\"", directory.display());
    exit(written.map_err(|source| CliError::write(&name, source)))
}

fn exit(result: Result<(), CliError>) -> Exit {
    match result {
        Ok(()) => Exit::Success,
        Err(error) => run::give_up(&error),
    }
}
