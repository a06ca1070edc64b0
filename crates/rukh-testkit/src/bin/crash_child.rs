//! The process that crash runs kill: `rukh-crash-child DIRECTORY SEED FIRST`.
//!
//! Runs the statements of [`rukh_testkit::crash`] from number FIRST on until it is killed, and
//! prints `done n` after each commit. Every commit waits for the disk.

use std::io::Write;

use rukh::Database;
use rukh_testkit::client::Client;
use rukh_testkit::crash::Step;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, seed, first] = arguments.as_slice() else {
        return Err("usage: rukh-crash-child DIRECTORY SEED FIRST".into());
    };
    let (seed, first): (u64, u64) = (seed.parse()?, first.parse()?);
    let database = Database::open(directory)?;
    let mut client = Client::new(&database);
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    for number in first.. {
        for sql in Step::of(seed, number).statements() {
            client.run(&sql)?;
        }
        writeln!(out, "done {number}")?;
        out.flush()?;
    }
    Ok(())
}
