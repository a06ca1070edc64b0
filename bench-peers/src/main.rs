//! Rukh beside SQLite and beside the storage it stands on: the same rows, the same questions.
//!
//! ```text
//! make bench ARGS='--rows 10000000'
//! ```
//!
//! The rows are those of `rukh_bench::UrlScans`, in a table keyed by site, URL and the fields of a scan,
//! with one index by day and code; see `scans` for both engines' definitions. Each question runs in
//! rounds, and the median round counts. The rows of the answers are compared: a peer that gives other
//! rows ends the run. "Raw" is RocksDB through `rukh-kv` on Rukh's own files: what the storage takes for
//! the same keys, without SQL. With `--columnar` layouts of tables are compared, beside DuckDB.
//!
//! Not here: the generator (`rukh-bench`), and asserted limits; a person reads the figures.

mod arguments;
mod columnar;
mod files;
mod measure;
mod peer;
mod raw;
mod report;
mod rukh_peer;
mod run;
mod scans;
mod sqlite_peer;

use std::process::ExitCode;

/// As in the `rukh` command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = arguments::parse();
    let outcome = match arguments.columnar {
        true => columnar::run(&arguments),
        false => run::run(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-peers: {error}");
            ExitCode::FAILURE
        }
    }
}
