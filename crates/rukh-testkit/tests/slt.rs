//! Every file of `tests/slt`, on Rukh and on PostgreSQL.

use rukh_testkit::slt::{SltPostgres, run_file};
use rukh_testkit::{need, paths, postgres};

/// Runs each file, and fails with all that went wrong.
fn run_all(run: impl Fn(&std::path::Path) -> Result<(), String>) {
    let failures: Vec<String> = paths::files_below(&paths::tests().join("slt"), ".slt")
        .iter()
        .filter(|path| std::env::var("SLT").map_or(true, |part| path.to_string_lossy().contains(&part)))
        .filter_map(|path| {
            run(path)
                .err()
                .map(|error| format!("{}\n{error}", path.display()))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{} files fail\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn files_hold_on_postgres() {
    let Some(_) = need::or_skip("files_hold_on_postgres", postgres::server()) else {
        return;
    };
    run_all(|path| run_file(path, SltPostgres::new(postgres::database()?)));
}
