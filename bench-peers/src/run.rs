//! The run: load both engines, ask every question, print the figures.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::thread;

use rukh_bench::UrlScans;

use crate::arguments::Arguments;
use crate::files;
use crate::measure::{Measure, in_rounds, once};
use crate::peer::{Failure, Peer};
use crate::raw::{ITERATORS, Raw, Table};
use crate::report::{Line, render};
use crate::rukh_peer::RukhPeer;
use crate::scans::{self, Questions};
use crate::sqlite_peer::SqlitePeer;

/// Where the run keeps its files.
struct Places {
    csv: PathBuf,
    rukh: PathBuf,
    sqlite: PathBuf,
    /// Says which rows the tables hold; written when both are whole.
    mark: PathBuf,
}

/// Runs the bench and prints its report to stdout, progress to stderr.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    println!("{}", arguments.command_line());
    let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
    println!(
        "{} rows, {cores} cores, SQLite {}",
        arguments.rows,
        SqlitePeer::version()
    );
    println!();
    let places = Places::new(&arguments.dir)?;
    let mut lines = Vec::new();
    if arguments.keep && places.holds(arguments) {
        eprintln!("using the tables in {}", arguments.dir.display());
    } else {
        lines.push(load(arguments, &places)?);
    }
    lines.extend(ask_all(arguments, &places)?);
    print!("{}", render(&lines));
    println!();
    println!(
        "Times are of the median of {} rounds, divided by the questions in a round.",
        arguments.rounds
    );
    println!(
        "Load: Rukh by COPY from CSV with its index in place; SQLite by prepared inserts of rows handed over in"
    );
    println!("memory, one transaction, no journal, no sync, its index made at the end.");
    println!(
        "Raw: RocksDB alone on Rukh's files: a get of each key, an iterator for each prefix, gets of {LOOKUPS} keys"
    );
    println!("at once (without the index), {ITERATORS} iterators at once over all keys, one over all rows.");
    Ok(())
}

impl Places {
    fn new(directory: &Path) -> Result<Places, Failure> {
        fs::create_dir_all(directory)?;
        Ok(Places {
            csv: directory.join("scans.csv"),
            rukh: directory.join("rukh"),
            sqlite: directory.join("scans.sqlite"),
            // `rows` is a layout of `columnar`, which may use the same directory.
            mark: directory.join("scans.mark"),
        })
    }

    fn holds(&self, arguments: &Arguments) -> bool {
        fs::read_to_string(&self.mark).is_ok_and(|mark| mark == mark_of(arguments))
    }

    /// Removes what an earlier run left, and only that.
    fn clear(&self) -> Result<(), Failure> {
        for place in [&self.mark, &self.csv, &self.sqlite, &self.rukh] {
            files::remove(place)?;
        }
        Ok(())
    }
}

fn mark_of(arguments: &Arguments) -> String {
    format!("rows {} seed {}\n", arguments.rows, arguments.seed)
}

fn load(arguments: &Arguments, places: &Places) -> Result<Line, Failure> {
    let Arguments {
        rows,
        seed,
        cache_mib,
        ..
    } = *arguments;
    places.clear()?;
    eprintln!("writing {}", places.csv.display());
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&places.csv)?);
    UrlScans::new(rows, seed).write_csv(&mut file)?;
    eprintln!("loading Rukh");
    let rukh = once(|| RukhPeer::load(&places.rukh, &places.csv, cache_mib).map(|()| rows))?;
    eprintln!("loading SQLite");
    let sqlite = once(|| SqlitePeer::load(&places.sqlite, rows, seed, cache_mib).map(|()| rows))?;
    eprintln!("loading the readings");
    let mut file = BufWriter::with_capacity(1 << 20, File::create(&places.csv)?);
    for (sensor, at, value) in scans::readings(rows) {
        writeln!(file, "{sensor},{at},{value}")?;
    }
    drop(file);
    RukhPeer::load_readings(&places.rukh, &places.csv, cache_mib)?;
    SqlitePeer::load_readings(&places.sqlite, rows, cache_mib)?;
    fs::remove_file(&places.csv)?;
    fs::write(&places.mark, mark_of(arguments))?;
    Ok(Line {
        question: "load, one index".to_string(),
        questions: 1,
        rukh: rukh.median,
        sqlite: Some(sqlite.median),
        raw: None,
        rows: rows as f64,
        keys_examined: None,
    })
}

/// A question: its name, how many of it are in a round, and how it is put to a peer.
struct Question {
    name: &'static str,
    in_round: fn(&Questions) -> usize,
    ask: fn(&mut dyn Peer, &Questions) -> Result<u64, Failure>,
}

const PREFIX: &str = "10 rows by key prefix";
const BY_INDEX: &str = "300 rows by index, with lookups";
const COVERED: &str = "300 rows by covering index";
const SKIP_SCAN: &str = "10,000 keys by two IN lists";
const RANGE: &str = "three columns of all rows, as batches";

/// Rows of a list that raw lookups get at once.
const LOOKUPS: usize = 300;

const QUESTIONS: &[Question] = &[
    Question {
        name: "point read by whole key",
        in_round: |questions| questions.points.len(),
        ask: |peer, questions| peer.points(&questions.points),
    },
    Question {
        name: PREFIX,
        in_round: |questions| questions.sites.len(),
        ask: |peer, questions| peer.prefixes(&questions.sites),
    },
    Question {
        name: BY_INDEX,
        in_round: |questions| questions.days.len(),
        ask: |peer, questions| peer.by_index(&questions.days),
    },
    Question {
        name: COVERED,
        in_round: |questions| questions.days.len(),
        ask: |peer, questions| peer.covered(&questions.days),
    },
    Question {
        name: "point read, plain text",
        in_round: |questions| questions.points.len() / 10,
        ask: |peer, questions| peer.plain_points(&questions.points[..questions.points.len() / 10]),
    },
    Question {
        name: SKIP_SCAN,
        in_round: |_| 1,
        ask: |peer, questions| peer.skip_scan(&questions.skip_scan),
    },
    Question {
        name: RANGE,
        in_round: |_| 1,
        ask: |peer, _| peer.range(),
    },
    Question {
        name: "last value of 1,000 sensors",
        in_round: |_| 1,
        ask: |peer, _| peer.last_values(),
    },
    Question {
        name: "full scan, masked compares",
        in_round: |_| 1,
        ask: |peer, _| peer.masked_scan(),
    },
    Question {
        name: "count(*)",
        in_round: |_| 1,
        ask: |peer, _| peer.count(),
    },
];

fn ask_all(arguments: &Arguments, places: &Places) -> Result<Vec<Line>, Failure> {
    let Arguments {
        rows,
        seed,
        rounds,
        reads,
        cache_mib,
        ..
    } = *arguments;
    let questions: Vec<Questions> = (0..rounds)
        .map(|round| Questions::draw(rows, seed, round, reads))
        .collect();
    let mut lines = Vec::new();
    let mut rukh = RukhPeer::open(&places.rukh, cache_mib)?;
    let mut sqlite = match arguments.alone {
        true => None,
        false => Some(SqlitePeer::open(&places.sqlite, cache_mib)?),
    };
    for question in QUESTIONS {
        if question.name.contains(&arguments.question) {
            eprintln!("asking: {}", question.name);
            lines.push(ask(question, &questions, &mut rukh, sqlite.as_mut())?);
        }
    }
    drop(rukh);
    if !arguments.alone {
        eprintln!("asking the storage alone");
        add_raw(arguments, places, &mut lines)?;
    }
    Ok(lines)
}

fn ask(
    question: &Question,
    rounds: &[Questions],
    rukh: &mut RukhPeer,
    sqlite: Option<&mut SqlitePeer>,
) -> Result<Line, Failure> {
    let count = rounds.len() as u32;
    let ours = in_rounds(count, |round| (question.ask)(rukh, &rounds[round as usize]))?;
    let keys_examined = rukh.keys_examined();
    let theirs = match sqlite {
        Some(sqlite) => Some(in_rounds(count, |round| {
            (question.ask)(sqlite, &rounds[round as usize])
        })?),
        None => None,
    };
    if let Some(Measure { rows, .. }) = theirs
        && ours.rows != rows
    {
        return Err(Failure::new(format!(
            "{}: Rukh gave {} rows, SQLite {rows}",
            question.name, ours.rows
        )));
    }
    let in_round = (question.in_round)(&rounds[0]) as u64;
    Ok(Line {
        question: question.name.to_string(),
        questions: in_round,
        rukh: ours.median,
        sqlite: theirs.map(|theirs| theirs.median),
        raw: None,
        rows: ours.rows as f64 / (in_round * u64::from(count)) as f64,
        keys_examined,
    })
}

/// Returns how many times a question is in a round; 0 if it is not.
fn line_questions(lines: &[Line], question: &str) -> usize {
    let line = lines.iter().find(|line| line.question == question);
    line.map_or(0, |line| line.questions as usize)
}

/// Adds what the storage alone takes to the lines that have a counterpart in it.
fn add_raw(arguments: &Arguments, places: &Places, lines: &mut [Line]) -> Result<(), Failure> {
    let Arguments {
        rows,
        seed,
        rounds,
        reads,
        cache_mib,
        ..
    } = *arguments;
    let raw = Raw::open(&places.rukh, cache_mib, Table::Readings)?;
    let listed = raw.sample(rows, 10_000, seed)?;
    let listed = in_rounds(rounds, |_| raw.lookups(&listed, 10_000))?;
    drop(raw);
    let raw = Raw::open(&places.rukh, cache_mib, Table::Scans)?;
    let range = in_rounds(rounds, |_| raw.range())?;
    let keys = raw.sample(rows, reads, seed)?;
    let points = in_rounds(rounds, |_| raw.points(&keys))?;
    let some = &keys[..keys.len().min(line_questions(lines, PREFIX))];
    let prefixes = in_rounds(rounds, |_| raw.prefixes(some))?;
    let lookups = in_rounds(rounds, |_| raw.lookups(&keys, LOOKUPS))?;
    let scan = in_rounds(rounds, |_| raw.scan())?;
    for line in lines {
        let rows = line.rows * line.questions as f64;
        line.raw = match line.question.as_str() {
            "point read by whole key" => Some(points.median.mul_f64(reads as f64 / keys.len().max(1) as f64)),
            PREFIX => Some(
                prefixes
                    .median
                    .mul_f64(line.questions as f64 / some.len().max(1) as f64),
            ),
            BY_INDEX => Some(lookups.median.mul_f64(rows / keys.len().max(1) as f64)),
            SKIP_SCAN => Some(listed.median),
            RANGE => Some(range.median),
            "full scan, masked compares" | "count(*)" => Some(scan.median),
            _ => None,
        };
    }
    Ok(())
}
