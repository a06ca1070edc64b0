//! The program `rukh-bench`: writes generated tables.
//!
//! ```text
//! rukh-bench generate --rows 10000000 --seed 1 --out file.csv
//! ```

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use rukh_bench::UrlScans;

/// Benches of Rukh.
#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Write the table url_scans as CSV.
    Generate {
        /// Number of rows.
        #[arg(long, default_value_t = 10_000_000)]
        rows: u64,
        /// Seed of the random numbers: the same seed gives the same file.
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// File to write; stdout when it is not given.
        #[arg(long)]
        out: Option<PathBuf>,
    },
}

fn main() -> ExitCode {
    let Command::Generate { rows, seed, out } = Arguments::parse().command;
    match generate(UrlScans::new(rows, seed), out) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rukh-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn generate(table: UrlScans, out: Option<PathBuf>) -> io::Result<()> {
    match out {
        Some(path) => {
            let file = File::create(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            table.write_csv(&mut BufWriter::with_capacity(1 << 20, file))
        }
        None => table.write_csv(&mut BufWriter::new(io::stdout().lock())),
    }
}
