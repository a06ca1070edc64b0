//! What an earlier run has left in the directory of this one.

use std::fs;
use std::io;
use std::path::Path;

/// Removes what is there: a file, a directory with all that is in it, or nothing. Runs of other kinds and earlier versions have
/// used the same names for either.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_there_goes() {
        let place = std::env::temp_dir().join(format!("bench-peers-{}", std::process::id()));
        fs::write(&place, "a mark").expect("a file can be made");
        remove(&place).expect("a file goes");
        fs::create_dir_all(place.join("inside")).expect("a directory can be made");
        remove(&place).expect("a directory goes");
        remove(&place).expect("nothing is nothing to do");
        assert!(!place.exists());
    }
}
