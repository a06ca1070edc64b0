//! Files that are not as they were written: a log that ends too early is the database of an earlier
//! commit, and a flipped bit is an error or changes nothing. No row is ever another.
//!
//! `RUKH_DAMAGE` sets how many bits are flipped in each kind of file, and how many ends of the log are
//! tried; `all` cuts the log at every byte.

use crate::support;
use rukh_engine::{Engine, EngineError, NoProgress, OnConflict, ScanRequest};
use rukh_kv::{Durability, KvError, RocksOptions, RocksStore};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const COLUMNS: &str = "k INTEGER, a INTEGER NULL, s VARCHAR NULL";
/// Commits of the log, each of these many rows.
const COMMITS: i64 = 12;
const ROWS: i64 = 5;

fn number(usual: usize, whole: usize) -> usize {
    match std::env::var("RUKH_DAMAGE") {
        Ok(all) if all == "all" => whole,
        Ok(number) => number.parse::<usize>().unwrap().min(whole),
        Err(_) => usual.min(whole),
    }
}

fn open(path: &Path) -> Result<Engine, String> {
    let store = RocksStore::open(path, &RocksOptions::default()).map_err(|error| error.to_string())?;
    let engine = Engine::open(Arc::new(store), Arc::new(support::toy::ToyFunctions), false);
    engine.map_err(|error| error.to_string())
}

fn insert(engine: &Engine, keys: std::ops::Range<i64>) {
    let table = support::table(engine, "t");
    let mut write = engine.begin().unwrap();
    let row = |k: i64| support::row(&table, &format!("{k}, {}, 'text {k}'", k % 7));
    write
        .insert(&table, keys.map(row).collect(), OnConflict::Error)
        .unwrap();
    write.commit(Durability::Synced).unwrap();
}

/// How the table is stored, and one of its indexes.
#[derive(Clone, Copy, Debug)]
enum Layout {
    Rows,
    Blocks,
}

/// A database with some rows in sorted files, and some commits in the log.
fn database(path: &Path, in_files: i64, layout: Layout) {
    let engine = open(path).unwrap();
    let (key, by_a) = match layout {
        Layout::Rows => ("k", "a, s"),
        Layout::Blocks => ("COLUMNAR k", "COLUMNAR a, s"),
    };
    let table = support::create_table(&engine, "t", COLUMNS, key);
    support::create_index(&engine, &table, "by_a", by_a, "", false);
    support::create_index(&engine, &table, "by_s", "s", "a", true);
    insert(&engine, 0..in_files);
    if let Layout::Blocks = layout {
        let by_a = support::table(&engine, "t").index_named("by_a").unwrap().id;
        for id in [Engine::layout_id(&table), by_a] {
            engine.repack_index(id, &NoProgress).unwrap();
        }
    }
    engine.flush().unwrap();
    for commit in 0..COMMITS {
        let first = in_files + commit * ROWS;
        insert(&engine, first..first + ROWS);
    }
}

fn files(path: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries
        .filter(|file| file.extension().is_some_and(|found| found == ending))
        .filter(|file| file.metadata().unwrap().len() > 0)
        .collect();
    files.sort();
    files
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let file = entry.unwrap().path();
        if file.is_file() {
            fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
        }
    }
}

/// Reads all rows, by the table and by each index.
fn read(engine: &Engine) -> Result<Vec<Vec<String>>, EngineError> {
    let table = support::table(engine, "t");
    let snapshot = engine.snapshot();
    let sources = table
        .indexes
        .iter()
        .map(|index| rukh_engine::Source::Index(index.id));
    let mut all = Vec::new();
    for source in std::iter::once(rukh_engine::Source::Table).chain(sources) {
        let mut request = ScanRequest::all(table.clone(), Vec::new());
        request.source = source;
        request.columns = table.columns.iter().map(|column| column.id).collect();
        let mut cursor = snapshot.scan(request)?;
        let mut rows = Vec::new();
        let mut sink = |view: &rukh_engine::RowView<'_>| {
            let datums = (0..3).map(|at| Ok(view.datum(at)?.into_owned()));
            let row = datums.collect::<Result<Vec<_>, EngineError>>()?;
            rows.push(support::show_row(&table, &row));
            Ok(())
        };
        while cursor.next_rows(100, &mut sink)? > 0 {}
        rows.sort();
        all.push(rows);
    }
    Ok(all)
}

/// The rows with keys below a number, as text.
fn rows_below(count: i64) -> Vec<String> {
    let mut rows: Vec<String> = (0..count)
        .map(|k| format!("{k}, {}, 'text {k}'", k % 7))
        .collect();
    rows.sort();
    rows
}

/// Fails unless the database is that of a commit, by every way of reading; returns how many rows it has.
fn check(engine: &Engine, in_files: i64, what: &str) -> i64 {
    let all = read(engine).unwrap();
    let count = all[0].len() as i64;
    assert!(
        count >= in_files && (count - in_files) % ROWS == 0,
        "{what}: {count} rows"
    );
    for rows in &all {
        assert_eq!(rows, &rows_below(count), "{what}");
    }
    let table = support::table(engine, "t");
    let report = engine.check_table(table.id, &NoProgress).unwrap();
    assert!(report.is_clean(), "{what}: {report:?}");
    count
}

#[test]
fn the_log_is_cut_at_every_byte_of_its_last_records() {
    [Layout::Rows, Layout::Blocks].into_iter().for_each(cut_the_log);
}

fn cut_the_log(layout: Layout) {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    database(&whole, 20, layout);
    let log = files(&whole, "log").pop().unwrap();
    let length = fs::metadata(&log).unwrap().len() as usize;
    let cuts = number(60, length);
    let mut last = i64::MAX;
    for cut in 0..cuts {
        // The last bytes one by one, unless all are wanted.
        let kept = length - cut;
        let path = directory.path().join("cut");
        copy(&whole, &path);
        let file = fs::OpenOptions::new()
            .write(true)
            .open(path.join(log.file_name().unwrap()));
        file.unwrap().set_len(kept as u64).unwrap();
        let engine = open(&path).unwrap();
        let count = check(&engine, 20, &format!("{kept} of {length} bytes"));
        assert!(count <= last, "fewer bytes, more rows: {count} after {last}");
        last = count;
        drop(engine);
        fs::remove_dir_all(&path).unwrap();
    }
    assert!(last < 20 + COMMITS * ROWS);
}

/// Flips a bit in files of a kind, and opens and reads what comes out; returns how many gave an error.
fn flip(ending: &str, in_files: i64, usual: usize, layout: Layout) -> (usize, usize) {
    let directory = tempfile::tempdir().unwrap();
    let whole = directory.path().join("whole");
    database(&whole, in_files, layout);
    let (mut tried, mut errors) = (0, 0);
    for file in files(&whole, ending) {
        let length = fs::metadata(&file).unwrap().len() as usize;
        let flips = number(usual, length);
        for flip in 0..flips {
            let at = flip * length / flips;
            let path = directory.path().join("flipped");
            copy(&whole, &path);
            let damaged = path.join(file.file_name().unwrap());
            let mut bytes = fs::read(&damaged).unwrap();
            bytes[at] ^= 1 << (flip % 8);
            fs::write(&damaged, bytes).unwrap();
            tried += 1;
            let what = format!("byte {at} of {}", damaged.file_name().unwrap().display());
            match open(&path) {
                Err(_) => errors += 1,
                Ok(engine) => match read(&engine) {
                    Err(EngineError::Kv(KvError::Corruption { .. }) | EngineError::Corruption { .. }) => {
                        errors += 1
                    }
                    Err(error) => panic!("{what}: {error:?}"),
                    Ok(_) => drop(check(&engine, in_files, &what)),
                },
            }
            fs::remove_dir_all(&path).unwrap();
        }
    }
    (tried, errors)
}

#[test]
fn bits_flipped_in_sorted_files_are_errors() {
    for layout in [Layout::Rows, Layout::Blocks] {
        let (tried, errors) = flip("sst", 400, 12, layout);
        assert!(tried > 20 && errors > 0, "{layout:?}: {errors} errors of {tried}");
    }
}

/// The log is read up to the first record that is not whole: what comes after it is gone, as after a loss
/// of power in the middle of writing it.
#[test]
fn bits_flipped_in_the_log_leave_an_earlier_commit() {
    for layout in [Layout::Rows, Layout::Blocks] {
        let (tried, _) = flip("log", 20, 40, layout);
        assert!(tried >= 40, "{layout:?}: {tried}");
    }
}
