//! Speed over the wire beside PostgreSQL: `rukh-bench-wire [--seconds S] [--scale N] [--copy N] [--rows N] [WORK …]`.
//!
//! | work     | measures                                                                        |
//! |----------|---------------------------------------------------------------------------------|
//! | points   | `pgbench -S`, prepared and simple, by 1 and by 16 clients                         |
//! | ranges   | 300 rows by a secondary index, prepared and binary, by 1 and by 8 clients         |
//! | upserts  | single-row UPSERTs into a table with two indexes, by 16 clients                   |
//! | hot      | transactions of 8 clients that add to one row, with and without waiting         |
//! | copy     | COPY of `--copy` rows (1,000,000) into a table with one index                     |
//! | stream   | time to the first row of a SELECT of `--rows` rows (10,000,000), and memory       |
//! | connections | memory of each of 200 connections, idle and after all have run a query at once |
//!
//! Without names all of them run, for `--seconds` (10) each, on `--scale` (10) times 100,000 accounts. Both servers are
//! processes of their own, listen on a port of this machine, and acknowledge a commit when it is on disk; the clients
//! are the same. Without PostgreSQL only Rukh is measured; `points` needs its `pgbench`.

mod peers;
mod works;

use std::io::Write;
use std::time::Duration;

use peers::{Failure, Peers};
use works::{Line, Setting};

type Work = fn(&Peers, &Setting) -> Result<Vec<Line>, Failure>;

const WORKS: &[(&str, Work)] = &[
    ("points", works::points),
    ("ranges", works::ranges),
    ("upserts", works::upserts),
    ("hot", works::hot),
    ("copy", works::copy),
    ("stream", works::stream),
    ("connections", works::connections),
];

fn main() -> Result<(), Failure> {
    let mut setting = Setting {
        time: Duration::from_secs(10),
        scale: 10,
        copied: 1_000_000,
        streamed: 10_000_000,
    };
    let mut chosen: Vec<String> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || -> Result<u64, Failure> {
            let text = arguments.next().ok_or("a number is missing")?;
            match text.parse()? {
                0 => Err(format!("{argument} must be more than 0").into()),
                number => Ok(number),
            }
        };
        match argument.as_str() {
            "--seconds" => setting.time = Duration::from_secs(number()?),
            "--scale" => setting.scale = number()?,
            "--copy" => setting.copied = number()?,
            "--rows" => setting.streamed = number()?,
            name if WORKS.iter().any(|(work, _)| *work == name) => chosen.push(name.to_owned()),
            name => return Err(format!("there is no work \"{name}\"").into()),
        }
    }
    let peers = Peers::start()?;
    let mut out = std::io::stdout().lock();
    if let Some(reason) = &peers.without_postgres {
        writeln!(out, "without PostgreSQL: {reason}\n")?;
    }
    writeln!(out, "{}", works::HEAD)?;
    for (name, work) in WORKS {
        if chosen.is_empty() || chosen.iter().any(|chosen| chosen == name) {
            for line in work(&peers, &setting)? {
                writeln!(out, "{line}")?;
                out.flush()?;
            }
        }
    }
    Ok(())
}
