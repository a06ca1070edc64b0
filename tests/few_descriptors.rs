//! A test that runs itself again in a process with few descriptors.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::Command;

/// Descriptors of the child.
pub const LIMIT: usize = 256;

/// Runs a part of the test of this name in a child, which finds its directory in an environment variable; returns what it printed.
pub fn with_few_descriptors(test: &str, variable: &str, live: fn(&Path)) -> Option<String> {
    let inside: Option<OsString> = std::env::var_os(variable);
    if let Some(directory) = inside {
        live(Path::new(&directory));
        return None;
    }
    let place = tempfile::tempdir().unwrap();
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -n {LIMIT} && exec \"$@\""), "sh"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(variable, place.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    Some(text)
}

/// Takes all descriptors that there are, but so many.
pub fn take_all_but(left: usize) -> Vec<File> {
    let mut taken: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    assert!(taken.len() < LIMIT && taken.len() > left, "{}", taken.len());
    taken.truncate(taken.len() - left);
    taken
}
