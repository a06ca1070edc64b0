//! The `rukh` command: a prompt, scripts, and the inspection of databases.
//!
//! This file reads the command line and dispatches; see `arguments` for the commands and `error`
//! for the exit codes.

mod arguments;
mod cancel;
mod check;
mod commands;
mod completion;
mod copy;
mod describe;
mod dump;
mod error;
mod fetched;
mod format;
mod highlight;
mod history;
mod import;
mod input;
mod keywords;
mod lexer;
mod memory;
mod meta;
mod names;
mod operations;
mod output;
mod pattern;
mod progress;
mod render_error;
mod repl;
mod run;
mod script;
mod serve;
mod session;
mod settings;
mod terminal;
mod top;
mod user;
mod validate;

use arguments::Action;
use operations::Proof;

/// Small allocations of statements and blocks of RocksDB: a fifth less time for reads by key than with
/// the allocator of the C library (`make bench`).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = arguments::parse();
    // Each sorted file, each log and each client is one.
    rukh::raise_descriptor_limit();
    let exit = match &arguments.action {
        None => run::run(&arguments.run),
        Some(Action::Dump { directory }) => dump::run(directory),
        Some(Action::Serve(arguments)) => serve::run(arguments),
        Some(Action::Top(arguments)) => top::run(arguments),
        Some(Action::User(action)) => user::run(action),
        Some(Action::Check { directory, tables }) => check::run(directory, tables),
        Some(Action::Backup {
            directory,
            target,
            keep,
        }) => operations::backup(directory, target, *keep),
        Some(Action::Backups { target, keep, verify }) => operations::backups(target, *keep, *verify),
        Some(Action::Restore {
            target,
            directory,
            backup,
            no_check,
        }) => {
            let proof = if *no_check { Proof::Checksums } else { Proof::Check };
            operations::restore(target, directory, *backup, proof)
        }
        Some(Action::Repair { directory, target }) => operations::repair(directory, target),
        Some(Action::Compact { directory, tables }) => operations::compact(directory, tables),
        Some(Action::Import(arguments)) => import::import(arguments),
        Some(Action::Export(arguments)) => import::export(arguments),
        Some(Action::Stats { directory, tables }) => operations::stats(directory, tables),
    };
    exit.leave()
}
