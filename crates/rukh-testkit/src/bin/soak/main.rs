//! A soak of the server: `rukh-soak [--minutes M] [--seconds S] [--seed N]`.
//!
//! `rukh serve` runs in a process of its own on a new database while clients of every kind work on it at once (see
//! [`workers`]). Each second its memory, threads and descriptors are read from `/proc`. At the end the clients leave,
//! every table is checked, over the wire and again by `rukh check`, and it fails if anything has grown (see
//! [`samples`]), if a client saw what it should not, or if a sum that transfers keep is another one.

mod samples;
mod workers;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rukh_testkit::served::{self, Served};
use samples::{Sample, Samples};
use workers::{Failure, Place, WORKERS};

fn main() -> Result<(), Failure> {
    let (mut time, mut seed) = (Duration::from_secs(20 * 60), 1);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number =
            || -> Result<u64, Failure> { Ok(arguments.next().ok_or("a number is missing")?.parse()?) };
        match argument.as_str() {
            "--minutes" => time = Duration::from_secs(number()? * 60),
            "--seconds" => time = Duration::from_secs(number()?),
            "--seed" => seed = number()?,
            other => return Err(format!("there is no option \"{other}\"").into()),
        }
    }
    let program = served::program()?;
    let directory = tempfile::tempdir()?;
    let database = directory.path().join("db");
    let server = Served::start(&program, &database, &[])?;
    println!(
        "seed {seed}, {} s, server on {}",
        time.as_secs(),
        server.address()
    );
    workers::fill(&mut server.connect()?)?;
    let (samples, counts) = soak(&server, time, seed)?;
    // The clients have left.
    let mut client = server.connect()?;
    workers::wait_until_alone(&mut client)?;
    let last = sample(&server, time)?;
    for (kind, (done, failed)) in &counts {
        println!("{kind:<12} {done:>9} done {failed:>7} refused as they may be");
    }
    print!("{samples}");
    println!("after the clients have left: {last}");
    let mut faults = samples.growth();
    faults.extend(workers::check(&mut client)?);
    drop(client);
    server.stop()?;
    faults.extend(scrub(&program, &database)?);
    for fault in &faults {
        println!("FAULT {fault}");
    }
    if !faults.is_empty() {
        return Err(format!("{} faults", faults.len()).into());
    }
    println!("nothing has grown, and every table is as its indexes say");
    Ok(())
}

type Counts = BTreeMap<&'static str, (u64, u64)>;

/// Lets all clients work for so long.
fn soak(server: &Served, time: Duration, seed: u64) -> Result<(Samples, Counts), Failure> {
    let stop = AtomicBool::new(false);
    let tallies: Vec<(AtomicU64, AtomicU64)> = WORKERS.iter().map(|_| Default::default()).collect();
    let mut samples = Samples::default();
    let failed: Vec<String> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, (worker, tally)) in WORKERS.iter().zip(&tallies).enumerate() {
            for copy in 0..worker.clients {
                let place = Place {
                    address: server.address(),
                    seed: seed ^ ((number as u64) << 32 | copy as u64),
                    number: copy,
                    stop: &stop,
                    done: &tally.0,
                    refused: &tally.1,
                };
                let run = worker.run;
                let thread = scope.spawn(move || {
                    let result = run(&place).map_err(|error| error.to_string());
                    if result.is_err() {
                        // No client goes on after the first failure.
                        place.stop.store(true, Ordering::Relaxed);
                    }
                    result
                });
                threads.push((worker.name, thread));
            }
        }
        let started = Instant::now();
        while started.elapsed() < time && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_secs(1).min(time));
            match sample(server, started.elapsed()) {
                Ok(sample) => samples.add(sample),
                Err(_) => break,
            }
        }
        stop.store(true, Ordering::Relaxed);
        threads
            .into_iter()
            .filter_map(|(name, thread)| match thread.join() {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(format!("{name}: {error}")),
                Err(_) => Some(format!("{name} panicked")),
            })
            .collect()
    });
    if !failed.is_empty() {
        return Err(failed.join("\n").into());
    }
    let counts = WORKERS.iter().zip(&tallies);
    let counts = counts.map(|(worker, (done, refused))| {
        let numbers = (done.load(Ordering::Relaxed), refused.load(Ordering::Relaxed));
        (worker.name, numbers)
    });
    Ok((samples, counts.collect()))
}

fn sample(server: &Served, at: Duration) -> Result<Sample, Failure> {
    let descriptors = server.descriptors()?;
    Ok(Sample {
        at,
        bytes: server.resident_bytes()?,
        threads: server.threads()?,
        sockets: descriptors.sockets,
        files: descriptors.others,
    })
}

/// Runs `rukh check` on the database after the server has stopped.
fn scrub(program: &Path, database: &Path) -> Result<Option<String>, Failure> {
    let output = Command::new(program).arg("check").arg(database).output()?;
    let text =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Ok((!output.status.success()).then(|| format!("rukh check: {text}")))
}
