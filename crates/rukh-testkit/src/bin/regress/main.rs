//! Plays the test suites of other databases on Rukh and on a private PostgreSQL: `rukh-regress SUITE DIRECTORY [FILE …]`.
//!
//! | suite        | directory                                | files without any named            |
//! |--------------|------------------------------------------|-------------------------------------|
//! | `postgresql` | `src/test/regress` of its sources          | those of queries and changes; those of types are counted only |
//! | `sqlite`     | `test` of its sources                      | a choice that PostgreSQL can run    |
//! | `duckdb`     | `test/sql` of its repository               | those of queries and changes        |
//!
//! For each file it prints how many statements answer the same, how many differ, are known to differ, and are refused, and why. Rows in
//! another order differ where there is an ORDER BY. It fails if a statement differs that `tests/regress/SUITE.known` does not list, or no longer differs that it lists. `--out DIRECTORY` keeps
//! what differs and what is refused, a file for each of the suite's.

mod known;
mod play;
mod script;
mod talk;

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use known::{Known, one_line};
use play::{Answer, Players, Verdict};
use rukh_testkit::raw::Raw;
use rukh_testkit::served::{self, Served};
use rukh_testkit::{paths, postgres};
use script::Suite;
use talk::Talk;

/// PostgreSQL's files of queries, changes and definitions, in which nothing may differ but what is known.
const POSTGRESQL: &[&str] = &[
    "select",
    "select_distinct",
    "select_distinct_on",
    "select_implicit",
    "select_having",
    "select_into",
    "subselect",
    "union",
    "case",
    "join",
    "aggregates",
    "window",
    "groupingsets",
    "limit",
    "with",
    "insert",
    "insert_conflict",
    "update",
    "delete",
    "merge",
    "returning",
    "prepare",
    "portals",
    "sequence",
    "transactions",
    "truncate",
    "inet",
    "enum",
    "domain",
    "json",
    "jsonb",
    "create_table",
    "alter_table",
    "constraints",
    "foreign_key",
    "rowtypes",
    "temp",
    "matview",
    "updatable_views",
    "generated",
    "identity",
];

/// PostgreSQL's files on types, whose answers are counted. What differs there does not fail.
const POSTGRESQL_TYPES: &[&str] = &[
    "boolean",
    "text",
    "varchar",
    "char",
    "strings",
    "int2",
    "int4",
    "int8",
    "float4",
    "float8",
    "numeric",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "uuid",
    "arrays",
    "horology",
    "regex",
    "jsonpath",
    "jsonb_jsonpath",
];

/// SQLite's files whose statements PostgreSQL runs, too.
const SQLITE: &[&str] = &[
    "select1", "select2", "select3", "select4", "select6", "select7", "select8", "selectA", "selectB",
    "selectC", "join", "join2", "join5", "join7", "where", "where2", "where7", "where8", "with1", "with2",
    "window1", "window2", "window3", "window4", "orderby1", "limit", "in", "in4", "in5", "insert2",
    "insert4", "update", "delete", "upsert1", "upsert2", "having", "count", "distinct", "minmax", "subquery",
    "between", "cse",
];

/// DuckDB's folders of queries and changes.
const DUCKDB: &[&str] = &[
    "aggregate",
    "join",
    "subquery",
    "window",
    "order",
    "setops",
    "cte",
    "filter",
    "update",
    "insert",
];

/// Statements of more milliseconds than these are given up.
const PATIENCE_MS: u32 = 20_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Plays what the arguments ask for; returns whether nothing differs that is not known.
fn run() -> Result<bool, Failure> {
    let mut words = Vec::new();
    let mut out = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--out" => out = Some(PathBuf::from(arguments.next().ok_or("--out needs a directory")?)),
            option if option.starts_with("--") => {
                return Err(format!("there is no option \"{option}\"").into());
            }
            _ => words.push(argument),
        }
    }
    let [suite, directory, files @ ..] = words.as_slice() else {
        return Err(
            "usage: rukh-regress postgresql|sqlite|duckdb DIRECTORY [FILE …] [--out DIRECTORY]".into(),
        );
    };
    let name = suite.as_str();
    let suite = Suite::named(name).ok_or_else(|| format!("there is no suite \"{name}\""))?;
    let directory = std::path::absolute(directory)?;
    let list = paths::tests().join("regress").join(format!("{name}.known"));
    let known = Known::read(&list)?;
    let files = match files {
        [] => usual_files(suite, &directory)?,
        named => named.to_vec(),
    };
    let (mut total, mut answers, mut failures) = (Tally::default(), Vec::new(), Vec::new());
    println!(
        "{:<28} {:>7} {:>7} {:>7} {:>7} {:>7}",
        name, "same", "differ", "known", "refused", "of"
    );
    for file in &files {
        let played = play_file(suite, &directory, file, &known)?;
        println!("{:<28} {}", file, played.counts());
        if let Some(out) = &out {
            played.keep(out, file)?;
        }
        if !is_counted(suite, file) {
            answers.extend(played.unknown.iter().map(|(_, report)| report.clone()));
            let differ = played.unknown.iter().map(|(sql, _)| ("differs", sql));
            let stale = played.stale.iter().map(|sql| ("listed and the same", sql));
            let found = differ.chain(stale);
            failures.extend(found.map(|(how, sql)| format!("{file} {how}: {}", shortened(sql))));
        }
        total.add(&played);
    }
    println!("{:<28} {}", "all", total.counts());
    println!("\nrefused most:");
    for (reason, count) in total.reasons().into_iter().take(25) {
        println!("{count:>7}  {reason}");
    }
    if !failures.is_empty() {
        println!("\n{}\n{}", answers.join("\n"), failures.join("\n"));
        println!(
            "\nWhat differs has to be mended, or listed with its reason in {}.",
            list.display()
        );
    }
    Ok(failures.is_empty())
}

/// Whether differences in a file are counted only.
fn is_counted(suite: Suite, file: &str) -> bool {
    let name = file.trim_end_matches(".sql");
    suite == Suite::PostgreSql && POSTGRESQL_TYPES.contains(&name)
}

fn shortened(sql: &str) -> String {
    let line = one_line(sql);
    match line.char_indices().nth(160) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

fn usual_files(suite: Suite, directory: &Path) -> Result<Vec<String>, Failure> {
    let of = |names: &[&str], ending: &str| -> Vec<String> {
        names.iter().map(|name| format!("{name}{ending}")).collect()
    };
    match suite {
        Suite::PostgreSql => Ok([of(POSTGRESQL, ".sql"), of(POSTGRESQL_TYPES, ".sql")].concat()),
        Suite::Sqlite => Ok(of(SQLITE, ".test")),
        Suite::DuckDb => {
            let mut files = Vec::new();
            for folder in DUCKDB {
                tests_below(&directory.join(folder), directory, &mut files)?;
            }
            files.sort();
            Ok(files)
        }
    }
}

/// Lists the `.test` files of a folder, as paths below `root`.
fn tests_below(folder: &Path, root: &Path, files: &mut Vec<String>) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            tests_below(&path, root, files)?;
        } else if path.extension().is_some_and(|ending| ending == "test") {
            files.push(path.strip_prefix(root)?.display().to_string());
        }
    }
    Ok(())
}

/// What became of the statements of a file, or of all.
#[derive(Default)]
struct Tally {
    same: usize,
    known: usize,
    refused: BTreeMap<String, usize>,
    /// Statements that differ, in one line.
    differing: Vec<String>,
    /// Those that are not listed, with both answers.
    unknown: Vec<(String, String)>,
    /// Statements that are listed and do not differ.
    stale: Vec<String>,
    /// What differs and what is refused, to be read.
    report: String,
}

impl Tally {
    fn counts(&self) -> String {
        let refused: usize = self.refused.values().sum();
        let differ = self.unknown.len();
        let all = self.same + self.known + differ + refused;
        format!(
            "{:>7} {differ:>7} {:>7} {refused:>7} {all:>7}",
            self.same, self.known
        )
    }

    /// Counts a statement that differs, for a known reason or none.
    fn differs(&mut self, sql: &str, reason: Option<&str>, report: String) {
        self.report += &format!("{report}\n");
        self.differing.push(one_line(sql));
        match reason {
            Some(_) => self.known += 1,
            None => self.unknown.push((sql.to_string(), report)),
        }
    }

    fn add(&mut self, other: &Tally) {
        self.same += other.same;
        self.known += other.known;
        for (reason, count) in &other.refused {
            *self.refused.entry(reason.clone()).or_default() += count;
        }
        self.unknown.extend(other.unknown.iter().cloned());
        self.stale.extend(other.stale.iter().cloned());
    }

    /// Returns why statements are refused, the most frequent first.
    fn reasons(&self) -> Vec<(&str, usize)> {
        let mut reasons: Vec<(&str, usize)> = self
            .refused
            .iter()
            .map(|(reason, count)| (reason.as_str(), *count))
            .collect();
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reasons
    }

    fn keep(&self, out: &Path, file: &str) -> std::io::Result<()> {
        let path = out.join(format!("{file}.report"));
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(path, &self.report)
    }
}

fn play_file(suite: Suite, directory: &Path, file: &str, known: &Known) -> Result<Tally, Failure> {
    let temporary = tempfile::tempdir()?;
    let server = Served::start(&served::program()?, &temporary.path().join("db"), &[])?;
    let database = postgres::database()?;
    let socket = UnixStream::connect(postgres::server()?.socket())?;
    let postgres = Talk::begin(Raw::over(socket), "rukh", database.name());
    let rukh = Talk::begin(Raw::open(server.address()), "tester", "rukh");
    let mut variables = HashMap::new();
    variables.insert("PG_ABS_SRCDIR".to_string(), directory.display().to_string());
    let mut players = Players::new(postgres, rukh, variables);
    let patience = format!("SET statement_timeout = {PATIENCE_MS}");
    players.postgres.run(&patience)?;
    players.rukh.run(&patience)?;
    let (path, name) = match suite {
        Suite::PostgreSql => {
            for step in suite.steps(&directory.join("sql/test_setup.sql"))? {
                players.play(&step);
            }
            (directory.join("sql").join(file), file)
        }
        Suite::Sqlite | Suite::DuckDb => (directory.join(file), file),
    };
    let mut tally = Tally::default();
    for step in suite.steps(&path)? {
        let Some((sql, verdict)) = players.play(&step) else {
            continue;
        };
        let reason = known.reason(name, &sql);
        match verdict {
            Verdict::NotCounted(why) => writeln!(tally.report, "NOT COUNTED {why}\n{sql};\n")?,
            Verdict::Same => tally.same += 1,
            Verdict::Refused { sqlstate, message } => {
                writeln!(tally.report, "REFUSED {sqlstate} {message}\n{sql};\n")?;
                let reason = format!("{sqlstate} {}", generalised(&message));
                *tally.refused.entry(reason).or_default() += 1;
            }
            Verdict::Broken { sqlstate, message } => {
                tally.differs(&sql, reason, format!("BROKEN {sqlstate} {message}\n{sql};\n"));
            }
            Verdict::Differs { rukh, postgres } => {
                let known = reason.unwrap_or_default();
                let (rukh, postgres) = (shown(&rukh), shown(&postgres));
                let report = format!("DIFFERS {known}\n{sql};\n-- rukh\n{rukh}-- postgresql\n{postgres}");
                tally.differs(&sql, reason, report);
            }
        }
    }
    let is_stale = |sql: &&str| !tally.differing.iter().any(|known| known == sql);
    tally.stale = known
        .constant(name)
        .filter(is_stale)
        .map(str::to_string)
        .collect();
    Ok(tally)
}

/// Returns an answer as lines, the first rows of it.
fn shown(answer: &Answer) -> String {
    const ROWS_MAX: usize = 40;
    let mut text = format!("   {}\n", answer.columns.join(" | "));
    if let Some(count) = answer.count {
        text += &format!("   {count} rows\n");
    }
    for row in answer.rows.iter().take(ROWS_MAX) {
        let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
        text += &format!("   {}\n", values.collect::<Vec<_>>().join(" | "));
    }
    if answer.rows.len() > ROWS_MAX {
        text += &format!("   … {} rows\n", answer.rows.len());
    }
    text
}

/// Returns a message without the names and numbers in it.
fn generalised(message: &str) -> String {
    let mut text = String::new();
    let mut quoted = false;
    for c in message.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                text.push('"');
            }
            _ if quoted => {}
            c if c.is_ascii_digit() => {
                if !text.ends_with('0') {
                    text.push('0');
                }
            }
            c => text.push(c),
        }
    }
    shortened(&text)
}
