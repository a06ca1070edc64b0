//! Rows by their keys: of the layouts and SQLite, warm, and with data ten times as large as what is kept in memory.

use super::bars::{Bar, Bars};
use super::layouts::{LAYOUTS, ROWS, TABLE};
use crate::arguments::Arguments;
use crate::measure::in_rounds;
use crate::peer::{Failure, Peer};
use crate::rukh_peer::RukhPeer;
use crate::scans::Questions;
use crate::sqlite_peer::SqlitePeer;

/// How many keys a round asks for.
type Number = fn(&Questions) -> usize;

/// How a question is put to a peer.
type Asked = fn(&mut dyn Peer, &Questions) -> Result<u64, Failure>;

/// A kind of questions: name, keys of a round, how it is put, and what is wanted of columnar/rows and columnar/SQLite.
type Kind = (&'static str, Number, Asked, Option<Bar>, Option<Bar>);

const KINDS: [Kind; 3] = [
    (
        "row by its key",
        |questions| questions.points.len(),
        |peer, questions| peer.points(&questions.points),
        Some(Bar::AtMost(1.3)),
        Some(Bar::Below(1.0)),
    ),
    (
        "10 rows by a prefix",
        |questions| questions.sites.len(),
        |peer, questions| peer.prefixes(&questions.sites),
        Some(Bar::Below(1.0)),
        Some(Bar::Below(1.0)),
    ),
    (
        "300 rows by index, with lookups",
        |questions| questions.days.len(),
        |peer, questions| peer.by_index(&questions.days),
        None,
        Some(Bar::Below(1.0)),
    ),
];

/// The file of SQLite's table: one that plain runs, which may use the same directory, leave alone.
pub const SQLITE: &str = "columnar.sqlite";

fn draw(arguments: &Arguments) -> Vec<Questions> {
    let Arguments {
        rows, seed, reads, ..
    } = *arguments;
    (0..arguments.rounds)
        .map(|round| Questions::draw(rows, seed, round, reads))
        .collect()
}

/// Asks both layouts and SQLite for rows by their keys.
pub fn warm(arguments: &Arguments, bars: &mut Bars) -> Result<(), Failure> {
    let Arguments {
        rows,
        seed,
        cache_mib,
        ..
    } = *arguments;
    let file = arguments.dir.join(SQLITE);
    if !file.exists() {
        eprintln!("loading SQLite");
        SqlitePeer::load(&file, rows, seed, cache_mib)?;
    }
    let questions = draw(arguments);
    let mut peers: Vec<Box<dyn Peer>> = vec![
        Box::new(RukhPeer::open(&LAYOUTS[ROWS].place(arguments), cache_mib)?),
        Box::new(RukhPeer::open(&LAYOUTS[TABLE].place(arguments), cache_mib)?),
        Box::new(SqlitePeer::open(&file, cache_mib)?),
    ];
    println!(
        "{:34} {:>10} {:>10} {:>10}",
        "microseconds, warm", "rows", "columnar", "SQLite"
    );
    for (name, number, asked, to_rows, to_sqlite) in KINDS {
        eprintln!("asking for keys: {name}");
        let mut took = Vec::new();
        let mut counts = Vec::new();
        for peer in &mut peers {
            let measure = in_rounds(arguments.rounds, |round| {
                asked(peer.as_mut(), &questions[round as usize])
            })?;
            took.push(measure.median.as_secs_f64() * 1e6 / number(&questions[0]) as f64);
            counts.push(measure.rows);
        }
        if counts.iter().any(|count| *count != counts[0]) {
            return Err(Failure::new(format!("{name}: {counts:?} rows")));
        }
        println!("{name:34} {:10.2} {:10.2} {:10.2}", took[0], took[1], took[2]);
        if let Some(bar) = to_rows {
            bars.note(format!("{name} (columnar)/rows"), took[1] / took[0], bar);
        }
        if let Some(bar) = to_sqlite {
            bars.note(format!("{name} (columnar)/SQLite"), took[1] / took[2], bar);
        }
    }
    println!();
    Ok(())
}

/// Asks both layouts for rows by random keys, each with a tenth of its data kept in memory.
pub fn beyond_memory(arguments: &Arguments, bars: &mut Bars) -> Result<(), Failure> {
    let questions = draw(arguments);
    let mut took = Vec::new();
    for layout in [ROWS, TABLE] {
        let layout = &LAYOUTS[layout];
        eprintln!("asking for keys beyond memory: {}", layout.name);
        let bytes = layout.bytes(arguments)?;
        let cache_mib = u32::try_from((bytes / 10) >> 20).unwrap_or(u32::MAX).max(1);
        let mut peer = RukhPeer::open(&layout.place(arguments), cache_mib)?;
        let measure = in_rounds(arguments.rounds, |round| {
            peer.points(&questions[round as usize].points)
        })?;
        let micros = measure.median.as_secs_f64() * 1e6 / questions[0].points.len() as f64;
        println!(
            "row by its key, data ten times the cache, {:<9} {micros:8.2} microseconds ({cache_mib} MiB for {} MiB)",
            layout.name,
            bytes >> 20
        );
        took.push(micros);
    }
    println!();
    bars.note(
        "row by its key, data ten times the cache (columnar)/rows",
        took[1] / took[0],
        Bar::AtMost(3.0),
    );
    Ok(())
}
