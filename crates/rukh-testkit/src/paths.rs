//! Where scripts, test data and downloaded data sets lie.

use std::path::{Path, PathBuf};

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    let crate_directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = crate_directory
        .ancestors()
        .nth(2)
        .expect("the crate lies two levels below the root");
    root.to_owned()
}

/// Returns the directory of the scripts that users run, `sql/`.
pub fn scripts() -> PathBuf {
    repository().join("sql")
}

/// Returns the directory of test data of the whole system, `tests/`.
pub fn tests() -> PathBuf {
    repository().join("tests")
}

/// Returns the directory that `make data` fills, `data/`, or the one that `RUKH_DATA` names.
pub fn data() -> PathBuf {
    std::env::var_os("RUKH_DATA").map_or_else(|| repository().join("data"), PathBuf::from)
}

/// Reads one of the scripts that users run, by name without ending; paths below `data/` in it
/// become those of [`data`].
///
/// # Panics
/// If there is no such script.
pub fn read_script(name: &str) -> String {
    let path = scripts().join(format!("{name}.sql"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.replace("'data/", &format!("'{}/", data().display()))
}

/// Returns the files below a directory whose names end so, in order of their paths.
///
/// # Panics
/// If the directory cannot be read.
pub fn files_below(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
        .map(|entry| entry.expect("a directory entry can be read").path());
    let mut files: Vec<PathBuf> = entries
        .flat_map(|path| match path.is_dir() {
            true => files_below(&path, ending),
            false if path.to_string_lossy().ends_with(ending) => vec![path],
            false => Vec::new(),
        })
        .collect();
    files.sort();
    files
}
