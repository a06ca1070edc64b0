//! `xtask sources`: fetches the test suites of PostgreSQL and SQLite, which `make regress` plays.
//!
//! They come as Debian's source packages, from the mirrors that the machine's apt reads, whose signatures apt verifies. Of several
//! versions the newest one is taken that the mirror has. Lists and archives are kept below the directory; nothing of the machine's own
//! apt changes. What is there is left alone.
//!
//! | package         | unpacked                   |
//! |-----------------|----------------------------|
//! | `postgresql-15` | `src/test/regress`, `src/test/isolation` |
//! | `sqlite3`       | `test`                     |

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Packages and what is unpacked of them.
const PACKAGES: [(&str, &[&str]); 2] = [
    (
        "postgresql-15",
        &["*/src/test/regress/*", "*/src/test/isolation/*"],
    ),
    ("sqlite3", &["*/test/*"]),
];

/// Fetches all suites into folders of a directory.
pub fn fetch_all(directory: &Path) -> Result<(), String> {
    let apt = directory.join("apt");
    for (package, members) in PACKAGES {
        let place = directory.join(package);
        if place.exists() {
            println!("{package}: there");
            continue;
        }
        prepare(&apt)?;
        let archive = download(&apt, package)?;
        // Unpacked beside its place: what is there is whole.
        let part = directory.join(format!("{package}.part"));
        let _ = fs::remove_dir_all(&part);
        fs::create_dir_all(&part).map_err(|error| format!("{}: {error}", part.display()))?;
        let mut tar = Command::new("tar");
        tar.arg("xf").arg(&archive).arg("-C").arg(&part);
        tar.args([
            "--strip-components=1",
            "--wildcards",
            "--no-wildcards-match-slash",
        ])
        .args(members);
        output(&mut tar)?;
        fs::rename(&part, &place).map_err(|error| format!("{}: {error}", place.display()))?;
        println!(
            "{package}: {}",
            archive.file_name().unwrap_or_default().to_string_lossy()
        );
    }
    Ok(())
}

/// Makes lists of source packages of the suites that the machine's apt reads.
fn prepare(apt: &Path) -> Result<(), String> {
    let list = apt.join("sources.list");
    if list.exists() {
        return Ok(());
    }
    for folder in ["lists/partial", "cache/archives/partial", "downloads"] {
        fs::create_dir_all(apt.join(folder)).map_err(|error| format!("{}: {error}", apt.display()))?;
    }
    let targets = output(Command::new("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE)",
        "Created-By: Packages",
    ]))?;
    let mut lines: Vec<String> = targets
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (uri, release) = (words.next()?, words.next()?);
            let signed = words
                .next()
                .map_or(String::new(), |key| format!("[signed-by={key}] "));
            Some(format!("deb-src {signed}{uri} {release} main"))
        })
        .collect();
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return Err("apt reads no mirror: run apt-get update".to_string());
    }
    let written = fs::write(apt.join("sources.list.part"), lines.join("\n") + "\n");
    written.map_err(|error| format!("{}: {error}", list.display()))?;
    let mut update = command(apt, "apt-get", &apt.join("sources.list.part"));
    output(update.args(["-qq", "update"]))?;
    fs::rename(apt.join("sources.list.part"), &list).map_err(|error| format!("{}: {error}", list.display()))
}

/// Downloads the newest version of a source package that the mirrors have; returns its archive.
fn download(apt: &Path, package: &str) -> Result<PathBuf, String> {
    let list = apt.join("sources.list");
    let shown = output(command(apt, "apt-cache", &list).args(["showsrc", package]))?;
    let mut versions: Vec<&str> = shown
        .lines()
        .filter_map(|line| line.strip_prefix("Version: "))
        .collect();
    versions.sort_by_key(|version| numbers(version));
    versions.dedup();
    let folder = apt.join("downloads").join(package);
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut why = format!("there is no source package {package}");
    for version in versions.iter().rev() {
        let mut source = command(apt, "apt-get", &list);
        source.current_dir(&folder);
        source.args([
            "-qq",
            "source",
            "--download-only",
            &format!("{package}={version}"),
        ]);
        match output(&mut source) {
            Ok(_) => return archive_in(&folder),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// Returns the archive of the authors.
fn archive_in(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths = entries.flatten().map(|entry| entry.path());
    let is_archive = |path: &PathBuf| path.to_string_lossy().contains(".orig.tar.");
    let found = paths.find(is_archive);
    found.ok_or_else(|| format!("{}: there is no archive", folder.display()))
}

/// Returns the numbers of a version, by which versions are compared well enough.
fn numbers(version: &str) -> Vec<u64> {
    let digits = version.split(|c: char| !c.is_ascii_digit());
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

/// Returns a command of apt that reads and writes below `apt` only.
fn command(apt: &Path, program: &str, list: &Path) -> Command {
    let mut command = Command::new(program);
    for (option, value) in [
        ("Dir::Etc::SourceList", list.to_path_buf()),
        ("Dir::Etc::SourceParts", PathBuf::from("/dev/null")),
        ("Dir::State::Lists", apt.join("lists")),
        ("Dir::Cache", apt.join("cache")),
    ] {
        command.arg("-o").arg(format!("{option}={}", value.display()));
    }
    // The directory may be one that the user of the sandbox cannot read.
    command.args(["-o", "APT::Sandbox::User="]);
    command
}

fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!(
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}
