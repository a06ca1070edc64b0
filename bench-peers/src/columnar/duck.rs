//! DuckDB, as the wheel from PyPI in a virtual environment that is made where there is none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::questions::Question;
use crate::peer::Failure;

const SCRIPT: &str = include_str!("duck.py");

/// Files of its databases.
pub const FILES: [&str; 2] = ["scans.duckdb", "lineitem.duckdb"];

/// What DuckDB gave for all questions.
pub struct Answers {
    /// Its version.
    pub version: String,
    /// Size of the file that has the scans.
    pub bytes: u64,
    /// By question.
    pub answers: Vec<Answer>,
}

/// What an engine gave for a question.
pub struct Answer {
    /// Seconds of the median round.
    pub seconds: f64,
    /// Seconds after the database was opened and the system had forgotten its files; no number where that is not measured.
    pub cold_seconds: f64,
    /// Rows of the answer.
    pub rows: u64,
    /// The cells of its first 100 rows.
    pub cells: Vec<String>,
}

impl Answer {
    /// Whether two answers are the same: whole numbers exactly, others up to a millionth, in which averages of decimals differ;
    /// cells of other types are spelled differently and not compared.
    pub fn agrees(&self, other: &Answer) -> bool {
        let same = |(one, two): (&String, &String)| match (one.parse::<i64>(), two.parse::<i64>()) {
            (Ok(one), Ok(two)) => one == two,
            _ => match (one.parse::<f64>(), two.parse::<f64>()) {
                (Ok(one), Ok(two)) => (one - two).abs() <= 1e-6 * two.abs().max(1.0),
                (Err(_), Err(_)) => true,
                _ => false,
            },
        };
        self.rows == other.rows
            && self.cells.len() == other.cells.len()
            && self.cells.iter().zip(&other.cells).all(same)
    }
}

/// Asks DuckDB all questions about the tables in these CSV files.
pub fn ask(
    directory: &Path,
    scans: &Path,
    lines: &Path,
    questions: &[Question],
    rounds: u32,
) -> Result<Answers, Failure> {
    let python = environment(directory)?;
    let (script, list) = (directory.join("duck.py"), directory.join("questions.tsv"));
    fs::write(&script, SCRIPT)?;
    let line = |question: &Question| format!("{}\t{}\n", u8::from(question.everywhere), question.sql);
    fs::write(&list, questions.iter().map(line).collect::<String>())?;
    let output = Command::new(python)
        .arg(&script)
        .args([directory, scans, lines, &list])
        .arg(rounds.to_string())
        .output()?;
    if !output.status.success() {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr)));
    }
    let answers = parse(&String::from_utf8_lossy(&output.stdout));
    match answers {
        Some(answers) if answers.answers.len() == questions.len() => Ok(answers),
        _ => Err(Failure::new("DuckDB's answers cannot be read")),
    }
}

/// Returns the Python that has DuckDB: that of the system if it does, else one of our own.
fn environment(directory: &Path) -> Result<PathBuf, Failure> {
    let has_duckdb = |python: &Path| {
        let tried = Command::new(python).args(["-c", "import duckdb"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let venv = directory.join("venv");
    let own = venv.join("bin").join("python");
    for python in [PathBuf::from("python3"), own.clone()] {
        if has_duckdb(&python) {
            return Ok(python);
        }
    }
    run(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    run(Command::new(&own).args(["-m", "pip", "install", "--quiet", "duckdb"]))?;
    Ok(own)
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let output = command.output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(Failure::new(String::from_utf8_lossy(&output.stderr))),
    }
}

fn parse(text: &str) -> Option<Answers> {
    let mut lines = text.lines();
    let (version, bytes) = lines.next()?.split_once('\t')?;
    let answer = |line: &str| {
        let mut parts = line.split('\t');
        Some(Answer {
            seconds: parts.next()?.parse().ok()?,
            cold_seconds: parts.next()?.parse().ok()?,
            rows: parts.next()?.parse().ok()?,
            cells: parts.map(str::to_string).collect(),
        })
    };
    Some(Answers {
        version: version.to_string(),
        bytes: bytes.parse().ok()?,
        answers: lines.map(answer).collect::<Option<_>>()?,
    })
}
