//! Counts, groups and sums beside DuckDB, warm and cold; sizes; and how much slower scans become by changes.

use super::bars::{Bar, Bars};
use super::duck::Answer;
use super::layouts::{self, INDEX, LAYOUTS, Layout, TABLE, ask};
use super::questions::Question;
use crate::arguments::Arguments;
use crate::measure::in_rounds;
use crate::peer::Failure;

/// Asks every layout all questions, and prints what they took beside DuckDB.
pub fn ask_questions(
    arguments: &Arguments,
    questions: &[Question],
    duck: &[Answer],
    bars: &mut Bars,
) -> Result<(), Failure> {
    let mut all: Vec<Vec<Option<Answer>>> = Vec::new();
    for (nth, layout) in LAYOUTS.iter().enumerate() {
        let mut answers = Vec::new();
        for (question, duck) in questions.iter().zip(duck) {
            let asked = question.everywhere || nth != layouts::ROWS;
            answers.push(match asked {
                true => Some(ask_layout(arguments, layout, question, duck)?),
                false => None,
            });
        }
        all.push(answers);
    }
    for (temperature, seconds) in [
        ("warm", (|answer: &Answer| answer.seconds) as fn(&Answer) -> f64),
        ("cold", |answer| answer.cold_seconds),
    ] {
        println!(
            "{:34} {:>8} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9}",
            format!("milliseconds, {temperature}"),
            "rows",
            "rows",
            "index",
            "columnar",
            "DuckDB",
            "index/D",
            "columnar/D"
        );
        for (at, (question, duck)) in questions.iter().zip(duck).enumerate() {
            let took = |layout: usize| all[layout][at].as_ref().map_or(f64::NAN, seconds);
            let theirs = seconds(duck);
            if theirs.is_nan() {
                continue;
            }
            println!(
                "{:34} {:8} {:10.2} {:10.2} {:10.2} {:10.2} {:9.2} {:9.2}",
                question.name,
                duck.rows,
                took(layouts::ROWS) * 1e3,
                took(INDEX) * 1e3,
                took(TABLE) * 1e3,
                theirs * 1e3,
                took(INDEX) / theirs,
                took(TABLE) / theirs
            );
            if let Some(bar) = question.bar {
                for layout in [INDEX, TABLE] {
                    let name = LAYOUTS[layout].name;
                    let work = format!("{} ({name}, {temperature})/DuckDB", question.name);
                    bars.note(work, took(layout) / theirs, bar);
                }
            }
        }
        println!();
    }
    for layout in [INDEX, TABLE] {
        note_pairs(layout, questions, duck, &all[layout], bars);
    }
    println!();
    Ok(())
}

/// Notes the median and the worst of the counts with any two conditions.
fn note_pairs(
    layout: usize,
    questions: &[Question],
    duck: &[Answer],
    ours: &[Option<Answer>],
    bars: &mut Bars,
) {
    let pairs = questions.iter().zip(duck).zip(ours);
    let pairs = pairs.filter(|((question, _), _)| !question.everywhere);
    let ratio = |((question, duck), ours): ((&Question, &Answer), &Option<Answer>)| {
        let ours = ours.as_ref()?;
        Some((ours.seconds / duck.seconds, question.name.clone()))
    };
    let mut ratios: Vec<(f64, String)> = pairs.filter_map(ratio).collect();
    ratios.sort_by(|one, two| one.0.total_cmp(&two.0));
    let (Some(worst), name) = (ratios.last(), LAYOUTS[layout].name) else {
        return;
    };
    let faster = ratios.iter().filter(|(ratio, _)| *ratio < 1.0).count();
    println!(
        "counts with two conditions, {name}: {faster} of {} faster than DuckDB, the slowest {} ({:.2})",
        ratios.len(),
        worst.1,
        worst.0
    );
    let middle = ratios[ratios.len() / 2].0;
    bars.note(
        format!("count of two conditions, median pair ({name})/DuckDB"),
        middle,
        Bar::Below(1.0),
    );
    bars.note(
        format!("count of two conditions, slowest pair ({name})/DuckDB"),
        worst.0,
        Bar::Below(1.0),
    );
}

fn ask_layout(
    arguments: &Arguments,
    layout: &Layout,
    question: &Question,
    duck: &Answer,
) -> Result<Answer, Failure> {
    eprintln!("asking {}: {}", layout.name, question.name);
    let mut connection = layout.open(arguments)?;
    let cold_seconds = match question.everywhere {
        true => {
            layouts::forget_files()?;
            let cold = crate::measure::once(|| Ok(ask(&mut connection, &question.sql)?.0))?;
            cold.median.as_secs_f64()
        }
        false => f64::NAN,
    };
    let (rows, cells) = ask(&mut connection, &question.sql)?;
    let measure = in_rounds(arguments.rounds, |_| Ok(ask(&mut connection, &question.sql)?.0))?;
    let answer = Answer {
        seconds: measure.median.as_secs_f64(),
        cold_seconds,
        rows,
        cells,
    };
    match answer.agrees(duck) {
        true => Ok(answer),
        false => Err(Failure::new(format!(
            "{}, {}: another answer than DuckDB's: {} rows {:?}, not {} rows {:?}",
            layout.name, question.name, answer.rows, answer.cells, duck.rows, duck.cells
        ))),
    }
}

/// Prints what is stored beside DuckDB's file of the scans.
pub fn print_sizes(arguments: &Arguments, duck: u64, bars: &mut Bars) -> Result<(), Failure> {
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    for layout in &LAYOUTS {
        let bytes = layout.bytes(arguments)?;
        println!("size of both tables, {:<9} {:9.1} MiB", layout.name, mib(bytes));
    }
    let mut connection = LAYOUTS[INDEX].open(arguments)?;
    let (_, cells) = ask(&mut connection, "SHOW INDEXES FROM scans")?;
    let state = cells.iter().find(|cell| cell.contains("columnar:"));
    let state = state.ok_or_else(|| Failure::new("SHOW INDEXES does not tell of scans_all"))?;
    let bytes = state
        .split(", ")
        .find_map(|part| part.strip_suffix(" bytes")?.parse::<u64>().ok());
    let bytes = bytes.ok_or_else(|| Failure::new(format!("no bytes in \"{state}\"")))?;
    println!("size of scans_all               {:9.1} MiB: {state}", mib(bytes));
    println!("size of DuckDB's scans          {:9.1} MiB", mib(duck));
    println!();
    let ratio = bytes as f64 / duck as f64;
    bars.note("size of the index of all columns/DuckDB", ratio, Bar::AtMost(1.5));
    Ok(())
}

/// Changes one row in a hundred, and asks again.
pub fn changed(arguments: &Arguments, bars: &mut Bars) -> Result<(), Failure> {
    for layout in &LAYOUTS[INDEX..] {
        eprintln!("changing one row in a hundred: {}", layout.name);
        let mut connection = layout.open(arguments)?;
        let repack = match layout.using {
            "" => "ALTER INDEX lineitem_all REPACK",
            _ => "ALTER TABLE lineitem REPACK",
        };
        connection.execute(repack)?;
        let scan = |connection: &mut rukh::Connection| -> Result<f64, Failure> {
            let sql =
                "SELECT count(*), sum(l_quantity) FROM lineitem WHERE l_discount = 0.05 AND l_tax = 0.02";
            let measure = in_rounds(arguments.rounds, |_| Ok(ask(connection, sql)?.0))?;
            Ok(measure.median.as_secs_f64() * 1e3)
        };
        let before = scan(&mut connection)?;
        connection.execute("UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_orderkey % 100 = 7")?;
        let after = scan(&mut connection)?;
        println!(
            "1 % changed, {:<9} {before:8.2} ms before, {after:8.2} ms after",
            layout.name
        );
        let work = format!("scan with 1 % of the rows in delta/without ({})", layout.name);
        bars.note(work, after / before, Bar::AtMost(2.0));
        // The next run finds the rows as they were.
        connection.execute("UPDATE lineitem SET l_quantity = l_quantity - 1 WHERE l_orderkey % 100 = 7")?;
        connection.execute(repack)?;
    }
    println!();
    Ok(())
}
