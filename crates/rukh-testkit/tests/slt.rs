//! Every file of `tests/slt`, on Rukh and on PostgreSQL.
//!
//! Rukh runs each file as a user would, and with every query sent to DataFusion. With `UPDATE_SLT` set the
//! first of the two writes what Rukh says into the files. Files that speak neither of plans nor of what
//! columnar tables do not have hold on columnar tables, too, all rows of which are in blocks after each statement. All hold on
//! disk, where tables share column families. Each query of a file gives the same rows through a view, and once more in one of three
//! ways: when tables got columns after the view was made, or renamed one, or kept as a table. With `SLT_ALL_WAYS` set each runs in all.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rukh::{Database, Options};
use rukh_testkit::client::Client;
use rukh_testkit::slt::{OF_FILES, SltPostgres, SltRukh, SltViews, ThroughViews, run_file, update_file};
use rukh_testkit::{need, paths, postgres};

/// Runs each file, and fails with all that went wrong.
fn run_all(run: impl Fn(&Path) -> Result<(), String>) {
    check(&failures(run));
}

fn check(failures: &[String]) {
    assert!(
        failures.is_empty(),
        "{} files fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Runs each file, and returns what went wrong. `SLT` names a part of the paths to run.
fn failures(run: impl Fn(&Path) -> Result<(), String>) -> Vec<String> {
    let part = std::env::var("SLT").unwrap_or_default();
    paths::files_below(&paths::tests().join("slt"), ".slt")
        .iter()
        .filter(|path| path.to_string_lossy().contains(&part))
        .filter_map(|path| {
            run(path)
                .err()
                .map(|error| format!("{}\n{error}", path.display()))
        })
        .collect()
}

#[test]
fn files_hold_on_rukh() {
    let update = std::env::var_os("UPDATE_SLT").is_some();
    run_all(|path| match update {
        true => update_file(path, SltRukh::new(Client::in_memory())),
        false => run_file(path, SltRukh::new(Client::in_memory())),
    });
}

#[test]
fn files_hold_without_the_direct_path() {
    run_all(|path| {
        let mut client = Client::in_memory();
        client
            .run("SET execution_path = general")
            .map_err(|error| error.to_string())?;
        run_file(path, SltRukh::new(client))
    });
}

/// What a file says that looks at the last query, which is the view's.
const OF_LAST_QUERY: &str = "SHOW LAST";

#[test]
fn queries_hold_through_views() {
    let found = Arc::new(Mutex::new(ThroughViews::default()));
    let failures = failures(|path| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        match text.contains(OF_LAST_QUERY) {
            true => Ok(()),
            false => run_file(path, SltViews::new(Client::in_memory(), found.clone())),
        }
    });
    let ThroughViews {
        count,
        count_changed,
        differences,
    } = &*found.lock().expect("no test panics with it");
    println!("{count} queries are those of views, too, and ran {count_changed} times otherwise");
    assert!(
        differences.is_empty(),
        "{} queries differ\n{}",
        differences.len(),
        differences.join("\n\n")
    );
    check(&failures);
    let all = std::env::var_os("SLT").is_none();
    assert!(!all || *count > 3_000, "{count} queries are left");
    assert!(!all || *count_changed > 2_500, "{count_changed} queries are left");
}

/// What a file says whose answers depend on how tables are stored: plans, definitions and their sizes; and what
/// columnar tables refuse.
const OF_ROWS: [&str; 7] = [
    "EXPLAIN",
    "SHOW ",
    "FAMILY",
    "default_table_access_method",
    "TABLESAMPLE",
    "information_schema",
    "pg_",
];

#[test]
fn files_hold_in_a_store_without_files() {
    let files = std::cell::Cell::new(0);
    run_all(|path| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        if OF_FILES.iter().any(|word| text.contains(word)) {
            return Ok(());
        }
        files.set(files.get() + 1);
        let database = Database::open_without_files().expect("a database in memory can be made");
        run_file(path, SltRukh::new(Client::new(&database)))
    });
    println!("{} files", files.get());
}

#[test]
fn files_hold_on_columnar_tables() {
    let files = std::cell::Cell::new(0);
    run_all(|path| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        if OF_ROWS.iter().any(|word| text.contains(word)) {
            return Ok(());
        }
        let mut client = Client::in_memory();
        client
            .run("SET default_table_access_method = columnar")
            .map_err(|error| error.to_string())?;
        files.set(files.get() + 1);
        run_file(path, SltRukh::repacked(client))
    });
    let all = std::env::var_os("SLT").is_none();
    assert!(!all || files.get() > 20, "{} files are left", files.get());
}

/// What a database in memory refuses, as a file says.
const OF_MEMORY: &str = "BACKUP DATABASE";

#[test]
fn files_hold_on_disk_where_tables_share() {
    run_all(|path| {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        if text.contains(OF_MEMORY) {
            return Ok(());
        }
        let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
        let options = Options {
            own_families: Some(0),
            auto_analyze: false,
            ..Options::default()
        };
        let database = Database::open_with(directory.path().join("db"), options);
        let database = database.map_err(|error| error.to_string())?;
        run_file(path, SltRukh::new(Client::new(&database)))
    });
}

#[test]
fn files_hold_on_postgres() {
    let Some(_) = need::or_skip("files_hold_on_postgres", postgres::server()) else {
        return;
    };
    run_all(|path| run_file(path, SltPostgres::new(postgres::database()?)));
}
