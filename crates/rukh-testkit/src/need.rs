//! What a test needs from the machine, and what happens when it is not there.
//!
//! A test that cannot run says so and passes; where `CI` is set it fails instead, so that nothing
//! is skipped there without notice.

/// Returns the value, or `None` after saying that `test` is skipped.
///
/// # Panics
/// If the value is missing and `CI` is set.
pub fn or_skip<T>(test: &str, needed: Result<T, String>) -> Option<T> {
    match needed {
        Ok(value) => Some(value),
        Err(reason) if is_ci() => panic!("{test} cannot run, and CI skips no test: {reason}"),
        Err(reason) => {
            println!("skipped {test}: {reason}");
            None
        }
    }
}

/// Says where a downloaded data set lies, or how to get it.
pub fn data_set(file: &str) -> Result<std::path::PathBuf, String> {
    let path = crate::paths::data().join(file);
    match path.exists() {
        true => Ok(path),
        false => Err(format!("{} is not there; `make data` fetches it", path.display())),
    }
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "false")
}
