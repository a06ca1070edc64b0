//! The command line, and how it prints again at the head of a report.

use std::path::PathBuf;

use clap::Parser;

/// Rukh beside SQLite and raw RocksDB.
#[derive(Clone, Debug, Parser)]
#[command(name = "bench-peers")]
pub struct Arguments {
    /// Rows of the table.
    #[arg(long, default_value_t = 10_000_000)]
    pub rows: u64,
    /// Seed of the rows and of the keys of the questions.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Rounds of each question; the median counts.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
    /// Point reads in a round; a tenth of it prefix reads, a hundredth of it index reads.
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub reads: u64,
    /// Memory for pages or blocks that each engine gets, in MiB.
    #[arg(long, default_value_t = 256)]
    pub cache_mib: u32,
    /// Directory of the tables. They are built again unless --keep finds them there.
    #[arg(long, default_value = "bench-data")]
    pub dir: PathBuf,
    /// Use the tables that a run with the same rows and seed left in the directory.
    #[arg(long)]
    pub keep: bool,
    /// Ask Rukh alone, of tables that are kept: for profiles and counts of instructions.
    #[arg(long, requires = "keep")]
    pub alone: bool,
    /// Compare layouts of tables, beside DuckDB: see `columnar`.
    #[arg(long, conflicts_with = "alone")]
    pub columnar: bool,
    /// Ask only questions whose names contain this; with --columnar, `sizes`, `keys`, `beyond memory`, `writes` and `changes`
    /// are names of all that is measured of these.
    #[arg(long, default_value = "")]
    pub question: String,
}

/// Reads the command line; ends the program when it is wrong.
pub fn parse() -> Arguments {
    Arguments::parse()
}

impl Arguments {
    /// Returns the command line that gives this run again.
    pub fn command_line(&self) -> String {
        let Arguments {
            rows,
            seed,
            rounds,
            reads,
            cache_mib,
            dir,
            keep,
            alone,
            columnar,
            question,
        } = self;
        let keep = if *keep { " --keep" } else { "" };
        let alone = if *alone { " --alone" } else { "" };
        let columnar = if *columnar { " --columnar" } else { "" };
        let question = match question.as_str() {
            "" => String::new(),
            text => format!(" --question '{text}'"),
        };
        format!(
            "bench-peers --rows {rows} --seed {seed} --rounds {rounds} --reads {reads} --cache-mib {cache_mib} --dir {}{keep}{alone}{columnar}{question}",
            dir.display()
        )
    }
}
