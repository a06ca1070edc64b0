//! Folders that can be taken in at a glance: at most [`FILES_MAX`] files side by side in a folder of `src`.
//!
//! `mod.rs`, `lib.rs` and `main.rs` are not counted: they say what the others are. Folders of tests are left out: each file there is a program.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::tree::SourceFile;

/// Most files of one folder.
const FILES_MAX: usize = 20;

/// Checks every folder of sources.
pub fn check(files: &[SourceFile]) -> Vec<Finding> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files.iter().filter(|file| file.ending() == "rs") {
        if let Some((folder, name)) = file.path.rsplit_once('/')
            && is_source(folder)
            && !["mod.rs", "lib.rs", "main.rs"].contains(&name)
        {
            *counts.entry(folder).or_default() += 1;
        }
    }
    let too_many = counts.into_iter().filter(|(_, count)| *count > FILES_MAX);
    too_many
        .map(|(folder, count)| {
            let message =
                format!("{count} files lie side by side, more than {FILES_MAX}: make folders of them");
            Finding::error(folder, 0, message)
        })
        .collect()
}

/// Whether a folder is one of the sources of a crate.
fn is_source(folder: &str) -> bool {
    folder.split('/').any(|part| part == "src")
}

#[cfg(test)]
mod tests {
    use super::super::finding::lines;
    use super::*;

    #[test]
    fn a_folder_has_at_most_so_many_files() {
        let folder = |path: &str, count: usize| -> Vec<SourceFile> {
            let names = (0..count).map(|n| format!("{path}/f{n}.rs"));
            names.map(|path| SourceFile::new(&path, "")).collect()
        };
        let files = [
            folder("crates/house/src", FILES_MAX),
            folder("crates/house/src/hall", FILES_MAX + 1),
            folder("crates/house/tests", FILES_MAX + 1),
            vec![SourceFile::new("crates/house/src/lib.rs", "")],
        ]
        .concat();
        assert_eq!(
            lines(&check(&files)),
            ["crates/house/src/hall:0: 21 files lie side by side, more than 20: make folders of them"]
        );
    }
}
