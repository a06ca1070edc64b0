//! Where the databases of a test are: in memory, or on an HBase.
//!
//! A test program whose databases come from here runs all of its tests on an HBase once more by
//! [`run_again_on`], in a process of its own.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use rukh::{Database, Options};

/// The variable with the hosts of an HBase, as in `hbase://host:port`.
const HOSTS: &str = "RUKH_TEST_HBASE";

/// How many namespaces were taken.
static TAKEN: AtomicU64 = AtomicU64::new(0);

/// Returns the URL of a namespace that no other test has; `None` where databases are in memory.
pub fn namespace() -> Option<String> {
    let hosts = std::env::var(HOSTS).ok()?;
    let number = TAKEN.fetch_add(1, Ordering::Relaxed);
    Some(format!("{hosts}/p{}n{number}", std::process::id()))
}

/// Makes an empty database whose statistics change by ANALYZE alone, so that plans do not depend on the time that tests take.
///
/// # Panics
/// If none can be made.
pub fn database() -> Database {
    match namespace() {
        None => Database::open_in_memory(),
        Some(url) => {
            let options = Options {
                auto_analyze: false,
                ..Options::default()
            };
            Database::open_with(url, options)
        }
    }
    .expect("an empty database can be made")
}

/// Runs the tests of this program on the HBase of a URL, but the one of this name, which does so.
///
/// # Panics
/// If one fails.
pub fn run_again_on(url: &str, this: &str) {
    let program = std::env::current_exe().expect("the program knows its file");
    let mut tests = Command::new(program);
    tests.args(["--skip", this]);
    let hosts = url.trim_end_matches("/default");
    let ended = tests
        .env(HOSTS, hosts)
        .status()
        .expect("the program can be started");
    assert!(ended.success(), "tests fail on HBase");
}

/// Whether hundreds of thousands of rows are to be loaded: on an HBase where `RUKH_HBASE_ALL` is set.
pub fn takes_large_loads() -> bool {
    !is_hbase() || std::env::var_os("RUKH_HBASE_ALL").is_some()
}

/// Whether this process runs by [`run_again_on`].
pub fn is_hbase() -> bool {
    std::env::var_os(HOSTS).is_some()
}
