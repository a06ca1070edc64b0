//! `xtask sbom`: what the program `rukh` is made of, as a software bill of materials in CycloneDX 1.5.
//!
//! Names, versions and licenses are what `cargo tree` says of its ordinary dependencies, checksums those of `Cargo.lock`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Prints the bill.
pub fn run(root: &Path) -> Result<(), String> {
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).map_err(|error| error.to_string())?;
    let bill = bill(&packages(root)?, &checksums(&lock));
    println!("{bill}");
    Ok(())
}

/// A package: name, version, license.
type Package = (String, String, String);

fn packages(root: &Path) -> Result<BTreeSet<Package>, String> {
    let tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["tree", "--locked", "--package", "rukh-cli", "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}|{l}"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo tree: {error}"))?;
    if !tree.status.success() {
        return Err(String::from_utf8_lossy(&tree.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&tree.stdout);
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| package(line).ok_or_else(|| format!("cargo tree prints \"{line}\"")))
        .collect()
}

/// Reads `memchr v2.8.3|Unlicense OR MIT`; behind the version may stand where a package comes from.
fn package(line: &str) -> Option<Package> {
    let (package, license) = line.rsplit_once('|')?;
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    // Repeated packages have a mark behind all.
    let license = license.trim_end_matches(" (*)").trim();
    Some((name, version, license.to_owned()))
}

/// Returns the SHA-256 of packages, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut checksums = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let value = |key: &str| {
            let mut lines = package.lines();
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"'))
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (value("name"), value("version"), value("checksum"))
        {
            checksums.insert((name.to_owned(), version.to_owned()), checksum.to_owned());
        }
    }
    checksums
}

fn bill(packages: &BTreeSet<Package>, checksums: &BTreeMap<(String, String), String>) -> String {
    let component = |(name, version, license): &Package| {
        let checksum = checksums.get(&(name.clone(), version.clone()));
        let hashes = checksum.map_or(String::new(), |checksum| {
            format!(r#", "hashes": [{{"alg": "SHA-256", "content": "{checksum}"}}]"#)
        });
        let licenses = match license.as_str() {
            "" => String::new(),
            // Some packages still write OR as a slash.
            license => format!(
                r#", "licenses": [{{"expression": "{}"}}]"#,
                license.replace('/', " OR ")
            ),
        };
        format!(
            r#"    {{"type": "library", "name": "{name}", "version": "{version}", "purl": "pkg:cargo/{name}@{version}"{hashes}{licenses}}}"#
        )
    };
    let (own, others): (Vec<_>, Vec<_>) = packages.iter().partition(|(name, ..)| name == "rukh-cli");
    let version = own.first().map_or("", |(_, version, _)| version);
    let components: Vec<String> = others.into_iter().map(component).collect();
    format!(
        r#"{{
  "bomFormat": "CycloneDX",
  "specVersion": "1.5",
  "version": 1,
  "metadata": {{"component": {{"type": "application", "name": "rukh", "version": "{version}"}}}},
  "components": [
{}
  ]
}}"#,
        components.join(",\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_their_licenses_and_checksums() {
        let lock =
            "version = 4\n\n[[package]]\nname = \"memchr\"\nversion = \"2.8.3\"\nchecksum = \"ab12\"\n";
        let lines = [
            "rukh-cli v0.2.0 (/here)|Apache-2.0",
            "memchr v2.8.3|Unlicense/MIT",
            "memchr v2.8.3|Unlicense/MIT (*)",
        ];
        let packages: BTreeSet<Package> = lines.iter().filter_map(|line| package(line)).collect();
        assert_eq!(packages.len(), 2);
        let bill = bill(&packages, &checksums(lock));
        assert!(bill.contains(r#""name": "rukh", "version": "0.2.0""#), "{bill}");
        let memchr = r#"{"type": "library", "name": "memchr", "version": "2.8.3", "purl": "pkg:cargo/memchr@2.8.3", "hashes": [{"alg": "SHA-256", "content": "ab12"}], "licenses": [{"expression": "Unlicense OR MIT"}]}"#;
        assert!(bill.contains(memchr), "{bill}");
    }
}
