//! The `rukh` command: a prompt, scripts, and the inspection of databases.
//!
//! This file reads the command line and dispatches; see `arguments` for the commands and `error`
//! for the exit codes.
//!
//! | folder       | has                                                                             |
//! |--------------|---------------------------------------------------------------------------------|
//! | `base`       | errors, output, the terminal, progress                                          |
//! | `words`      | tokens, keywords and names, for colours and completion                          |
//! | `format`     | results as tables, CSV, JSON and Markdown                                       |
//! | `sessions`   | a session with its settings, and how errors are shown                           |
//! | `statements` | scripts and backslash commands                                                  |
//! | `prompt`     | editing, history, completion                                                    |
//! | `programs`   | the subcommands                                                                 |
//!
//! None imports one below it in the table.

mod base;
mod format;
mod programs;
mod prompt;
mod sessions;
mod statements;
mod words;

use programs::arguments::Action;
use programs::operations::Proof;

/// Small allocations of statements and blocks of RocksDB: a fifth less time for reads by key than with
/// the allocator of the C library (`make bench`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = programs::arguments::parse();
    // Each sorted file, each log and each client is one.
    rukh::raise_descriptor_limit();
    let exit = match &arguments.action {
        None => programs::run::run(&arguments.run),
        Some(Action::Dump { directory }) => programs::dump::run(directory),
        Some(Action::Serve(arguments)) => programs::serve::run(arguments),
        Some(Action::Top(arguments)) => programs::top::run(arguments),
        Some(Action::User(action)) => programs::user::run(action),
        Some(Action::Check { directory, tables }) => programs::check::run(directory, tables),
        Some(Action::Backup {
            directory,
            target,
            keep,
        }) => programs::operations::backup(directory, target, *keep),
        Some(Action::Backups { target, keep, verify }) => {
            programs::operations::backups(target, *keep, *verify)
        }
        Some(Action::Restore {
            target,
            directory,
            backup,
            no_check,
        }) => {
            let proof = if *no_check { Proof::Checksums } else { Proof::Check };
            programs::operations::restore(target, directory, *backup, proof)
        }
        Some(Action::Repair { directory, target }) => programs::operations::repair(directory, target),
        Some(Action::Compact { directory, tables }) => programs::operations::compact(directory, tables),
        Some(Action::Import(arguments)) => programs::import::import(arguments),
        Some(Action::Export(arguments)) => programs::import::export(arguments),
        Some(Action::Completions { shell }) => programs::shell::completions(*shell),
        Some(Action::Man { directory }) => programs::shell::manual(directory),
        Some(Action::Stats { directory, tables }) => programs::operations::stats(directory, tables),
    };
    exit.leave()
}
