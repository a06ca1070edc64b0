//! Helpers of the repository, called through the Makefile.
//!
//! | command          | does                                                                    |
//! |------------------|-------------------------------------------------------------------------|
//! | `xtask tidy`     | checks house rules that no compiler checks                              |
//! | `xtask features` | checks that every choice of packages builds the same heavy dependencies |
//! | `xtask data`     | fetches the public flight data sets into a directory                    |
//! | `xtask sources`  | fetches the test suites that `make regress` plays                       |
//! | `xtask sbom`     | prints what the program is made of, as CycloneDX                        |
//! | `xtask smoke`    | runs benches and examples, built into a directory, at a size of seconds |
//!
//! Plain std, so that it builds in a second beside crates that take half an hour. Building, testing
//! and linting are not here: the Makefile calls cargo directly, because a cargo started by `cargo run`
//! inherits variables that make build scripts run again.

mod data;
mod features;
mod sbom;
mod smoke;
mod sources;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: xtask tidy | xtask features | xtask sbom | xtask data [DIRECTORY] | xtask sources DIRECTORY | xtask smoke DIRECTORY [NAME]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["tidy"] => tidy::run(&repository()),
        ["features"] => features::run(&repository()),
        ["sbom"] => sbom::run(&repository()),
        ["data"] => data::fetch_all(&repository().join("data")),
        ["smoke", built] => smoke::run(&repository(), Path::new(built), ""),
        ["smoke", built, only] => smoke::run(&repository(), Path::new(built), only),
        ["sources", directory] => std::path::absolute(directory)
            .map_err(|error| error.to_string())
            .and_then(|to| sources::fetch_all(&to)),
        ["data", directory] => data::fetch_all(Path::new(directory)),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository, the parent of this crate's folder.
fn repository() -> PathBuf {
    // As cargo runs it: build outputs may be older than the clone they are used in.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let manifest = manifest.unwrap_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")));
    manifest
        .parent()
        .expect("xtask lies in the repository")
        .to_path_buf()
}
