//! The process that crash runs kill: `rukh-crash-child DIRECTORY SEED FIRST rows|columnar|meter`.
//!
//! Runs the statements of [`rukh_testkit::crash`] from number FIRST on until it is killed, and
//! prints `done n` after each commit. Every commit waits for the disk. Another connection builds, rebuilds
//! and drops an index meanwhile, makes blocks of a columnar table, or compacts; a transaction that it gets in the way of is run again.
//!
//! `RUKH_CRASH_AT` has it end itself at a step of the protocol on HBase: `lock before 3` is before the third locks are sent, `primary after 1`
//! when the first commit of a primary was answered. Where it begins with `read `, it checks all tables and ends.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use rukh::Database;
use rukh_hbase_store::{Moment, observe_steps_for_test};
use rukh_testkit::client::Client;
use rukh_testkit::crash::Kind;

/// The tables that are checked.
const TABLES: &str = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, seed, first, kind] = arguments.as_slice() else {
        return Err("usage: rukh-crash-child DIRECTORY SEED FIRST rows|columnar|meter".into());
    };
    let kind = Kind::named(kind).ok_or("there is no such kind of statements")?;
    let (seed, first): (u64, u64) = (seed.parse()?, first.parse()?);
    let end = std::env::var("RUKH_CRASH_AT").unwrap_or_default();
    let end_at = end.strip_prefix("read ").unwrap_or(&end);
    if !end_at.is_empty() {
        end_at_step(end_at).ok_or("RUKH_CRASH_AT is no step")?;
    }
    let database = Database::open(directory)?;
    let mut client = Client::new(&database);
    if end_at != end {
        for table in client.query(TABLES)?.rows {
            let name = table.first().cloned().flatten().unwrap_or_default();
            client.run(&format!("CHECK TABLE {name}"))?;
        }
        return Ok(());
    }
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

/// Has the process end at a step: its name, before or after, and which time.
fn end_at_step(text: &str) -> Option<()> {
    let (name, rest) = text.split_once(' ')?;
    let (moment, nth) = rest.split_once(' ')?;
    let moment = match moment {
        "before" => Moment::Before,
        "after" => Moment::After,
        _ => return None,
    };
    let (name, left) = (name.to_string(), AtomicU64::new(nth.parse().ok()?));
    observe_steps_for_test(Box::new(move |step, at| {
        if step == name && at == moment && left.fetch_sub(1, Ordering::SeqCst) == 1 {
            std::process::abort();
        }
    }));
    Some(())
}
