//! The process that crash runs kill: `rukh-crash-child DIRECTORY SEED FIRST rows|columnar|meter`.
//!
//! Runs the statements of [`rukh_testkit::crash`] from number FIRST on until it is killed, and
//! prints `done n` after each commit. Every commit waits for the disk. Another connection builds, rebuilds
//! and drops an index meanwhile, makes blocks of a columnar table, or compacts; a transaction that it gets in the way of is run again.

use std::io::Write;
use std::sync::mpsc;

use rukh::Database;
use rukh_testkit::client::Client;
use rukh_testkit::crash::Kind;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, seed, first, kind] = arguments.as_slice() else {
        return Err("usage: rukh-crash-child DIRECTORY SEED FIRST rows|columnar|meter".into());
    };
    let kind = Kind::named(kind).ok_or("there is no such kind of statements")?;
    let (seed, first): (u64, u64) = (seed.parse()?, first.parse()?);
    let database = Database::open(directory)?;
    let mut client = Client::new(&database);
    let mut builder = Client::new(&database);
    let (done, steps) = mpsc::channel();
    std::thread::spawn(move || {
        for sql in kind.beside().iter().cycle() {
            // A transaction that was in the way is done before the next one can be.
            if steps.recv().is_err() {
                return;
            }
            // A store without files has no checkpoints.
            if let Err(error) = builder.run(sql)
                && error.sqlstate != "0A000"
            {
                eprintln!("{sql}: {error}");
                std::process::exit(1);
            }
        }
    });
    let mut out = std::io::stdout().lock();
    writeln!(out, "ready")?;
    for number in first.. {
        let statements = kind.statements(seed, number);
        while let Err(error) = statements.iter().try_for_each(|sql| client.run(sql).map(drop)) {
            if error.sqlstate != "40001" {
                return Err(error.into());
            }
            client.run("ROLLBACK")?;
        }
        writeln!(out, "done {number}")?;
        out.flush()?;
        done.send(())?;
    }
    Ok(())
}
