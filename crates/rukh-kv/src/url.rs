//! URLs of storages, which are no directories.

use crate::KvError;
use std::path::Path;

/// Fails with `UnknownScheme` where a path is the URL of a storage: `hbase://host/x` would be a directory `hbase:`.
/// A directory of such a name is `./hbase:/…`.
pub fn check_directory(path: &Path) -> Result<(), KvError> {
    let url = path.to_string_lossy();
    let Some((scheme, _)) = url.split_once("://") else {
        return Ok(());
    };
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    match is_scheme {
        true => Err(KvError::UnknownScheme {
            scheme: scheme.to_owned(),
            url: url.into_owned(),
        }),
        false => Ok(()),
    }
}
