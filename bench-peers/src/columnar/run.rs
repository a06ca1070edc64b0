//! The run: loads what is not there, asks, and prints.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use rukh_bench::UrlScans;

use super::bars::Bars;
use super::layouts::{self, LAYOUTS};
use super::{analytic, duck, keys, lineitem, questions, writes};
use crate::arguments::Arguments;
use crate::files;
use crate::peer::Failure;
use crate::sqlite_peer::SqlitePeer;

/// Runs the bench and prints its report to stdout, progress to stderr.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    println!("{}", arguments.command_line());
    let directory = &arguments.dir;
    fs::create_dir_all(directory)?;
    let (scans, lines) = (directory.join("columnar.csv"), directory.join("lineitem.csv"));
    let mark = directory.join("columnar.mark");
    let made_of = format!("rows {} seed {}\n", arguments.rows, arguments.seed);
    let is_kept = arguments.keep && fs::read_to_string(&mark).is_ok_and(|text| text == made_of);
    if !is_kept {
        clear(arguments, &mark)?;
        write_files(arguments, &scans, &lines)?;
        for layout in &LAYOUTS {
            layout.load(arguments, &scans, &lines)?;
        }
        fs::write(&mark, made_of)?;
    }
    let forgets = layouts::forget_files()?;
    let is_asked = |name: &str| name.contains(&arguments.question);
    let mut questions = questions::all();
    questions.retain(|question| is_asked(&question.name));
    eprintln!("asking DuckDB");
    let duck = duck::ask(directory, &scans, &lines, &questions, arguments.rounds)?;
    println!(
        "{} rows, {} cores, DuckDB {}, SQLite {}; for cold questions the system {} its files",
        arguments.rows,
        std::thread::available_parallelism().map_or(1, usize::from),
        duck.version,
        SqlitePeer::version(),
        if forgets { "forgot" } else { "did not forget" },
    );
    println!();
    let mut bars = Bars::default();
    if !questions.is_empty() {
        analytic::ask_questions(arguments, &questions, &duck.answers, &mut bars)?;
    }
    if is_asked("sizes") {
        analytic::print_sizes(arguments, duck.bytes, &mut bars)?;
    }
    if is_asked("keys") {
        keys::warm(arguments, &mut bars)?;
    }
    if is_asked("beyond memory") {
        keys::beyond_memory(arguments, &mut bars)?;
    }
    if is_asked("writes") {
        writes::measure(arguments, &mut bars)?;
    }
    if is_asked("changes") {
        analytic::changed(arguments, &mut bars)?;
    }
    bars.print();
    Ok(())
}

fn write_files(arguments: &Arguments, scans: &Path, lines: &Path) -> Result<(), Failure> {
    eprintln!("writing {} and {}", scans.display(), lines.display());
    let file =
        |path: &Path| -> Result<_, Failure> { Ok(BufWriter::with_capacity(1 << 20, File::create(path)?)) };
    UrlScans::new(arguments.rows, arguments.seed).write_csv(&mut file(scans)?)?;
    let mut out = file(lines)?;
    lineitem::write_csv(arguments.rows, &mut out)?;
    out.flush()?;
    Ok(())
}

/// Removes what was made of other files.
fn clear(arguments: &Arguments, mark: &Path) -> Result<(), Failure> {
    let made = duck::FILES.iter().chain(&[keys::SQLITE]);
    let places = made.map(|name| arguments.dir.join(name));
    for file in places.chain([mark.to_path_buf()]) {
        files::remove(&file)?;
    }
    Ok(())
}
