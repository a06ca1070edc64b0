//! Speed on one HBase beside its Java client and Phoenix 5.2.1: `rukh-bench-hbase [--rows N]`.
//!
//! Starts an HBase of its own with Phoenix in its servers, and has each peer write the same 200,000 rows (or `--rows`, in thousands) and run the
//! same works, one after the other: `tests/hbase/peers/Peers.java`, and [`rukh`]. The table has a key of two columns and an index on a
//! third one that includes a fourth; the Java client keeps the index by hand, without a transaction. Shown is the median time of each work,
//! and the time of each peer by Rukh's: above 1 Rukh is faster. Rows that differ end the bench.

mod rukh;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

type Failure = Box<dyn std::error::Error>;

/// Microseconds of a work, and the rows that it gave.
pub(crate) type Measured = (u64, u64);

/// The works by name, as each peer measures them.
pub(crate) const WORKS: [&str; 8] = [
    "batch of 1,000 upserts",
    "one upsert",
    "point",
    "prefix, 100 rows",
    "covering index, 100 rows",
    "index with lookups, 100 rows",
    "masked scan, two conditions",
    "count",
];

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rows: u64 = match &words[..] {
        [] => 200_000,
        [option, rows] if option == "--rows" => rows.parse()?,
        _ => return Err("usage: rukh-bench-hbase [--rows N]".into()),
    };
    if rows == 0 || !rows.is_multiple_of(1000) {
        return Err("--rows is a multiple of 1000".into());
    }
    let server = Server::start()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{rows} rows, median microseconds of a run")?;
    writeln!(
        out,
        "{:<30} {:>10} {:>12} {:>10} {:>12} {:>12}",
        "", "Rukh", "Java client", "Phoenix", "Java/Rukh", "Phoenix/Rukh"
    )?;
    let client = server.java("client", rows)?;
    let phoenix = server.java("phoenix", rows)?;
    let rukh = rukh::measure(
        &format!("{}/bench", server.url.trim_end_matches("/default")),
        rows,
    )?;
    for work in WORKS {
        let of = |peer: &BTreeMap<String, Measured>| {
            peer.get(work)
                .copied()
                .ok_or_else(|| format!("{work} is missing"))
        };
        let ((mine, found), (java, java_found), (theirs, their_found)) =
            (of(&rukh)?, of(&client)?, of(&phoenix)?);
        if found != java_found || found != their_found {
            return Err(format!("{work}: {found}, {java_found} and {their_found} rows").into());
        }
        let ratio = |other: u64| other as f64 / mine as f64;
        writeln!(
            out,
            "{work:<30} {mine:>10} {java:>12} {theirs:>10} {:>12.2} {:>12.2}",
            ratio(java),
            ratio(theirs)
        )?;
    }
    Ok(())
}

/// An HBase that ends with the bench.
struct Server {
    url: String,
    folder: tempfile::TempDir,
    jars: PathBuf,
    phoenix: PathBuf,
}

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hbase")
}

/// Runs hbase.sh; returns the last line that it prints.
fn script(words: &[&str], variables: &[(&str, &Path)]) -> Result<String, Failure> {
    let mut command = Command::new("sh");
    command.arg(here().join("hbase.sh")).args(words);
    command.envs(variables.iter().map(|(name, value)| (name, value)));
    let ended = command
        .env("RUKH_HBASE_HEAP", "2g")
        .stderr(Stdio::inherit())
        .output()?;
    if !ended.status.success() {
        return Err(format!("hbase.sh {}: {}", words.join(" "), ended.status).into());
    }
    let text = String::from_utf8(ended.stdout)?;
    Ok(text.lines().last().unwrap_or_default().to_string())
}

impl Server {
    fn start() -> Result<Server, Failure> {
        let folder = tempfile::tempdir()?;
        let phoenix = PathBuf::from(script(&["phoenix"], &[])?);
        let jars = PathBuf::from(script(&["jars"], &[])?);
        let place = folder.path().to_string_lossy().into_owned();
        let url = script(&["start", &place], &[("RUKH_HBASE_PHOENIX", &phoenix)])?;
        Ok(Server {
            url,
            folder,
            jars,
            phoenix,
        })
    }

    /// Has a peer in Java run the works; returns what it prints.
    fn java(&self, peer: &str, rows: u64) -> Result<BTreeMap<String, Measured>, Failure> {
        let class_path = format!(
            "{}:{}/*:{}/*",
            self.folder.path().join("conf").display(),
            self.jars.display(),
            self.phoenix.display()
        );
        let mut java = Command::new("java");
        for package in [
            "java.nio",
            "sun.nio.ch",
            "java.lang",
            "java.util",
            "java.util.concurrent",
        ] {
            java.args(["--add-opens", &format!("java.base/{package}=ALL-UNNAMED")]);
        }
        java.args(["--add-exports", "java.base/jdk.internal.misc=ALL-UNNAMED"]);
        java.args([
            "--add-exports",
            "java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        ]);
        java.args(["-Djava.net.preferIPv4Stack=true", "-cp", &class_path]);
        let ended = java
            .arg(here().join("peers/Peers.java"))
            .args([peer, &rows.to_string()])
            .output()?;
        let text = String::from_utf8_lossy(&ended.stdout);
        if !ended.status.success() {
            let errors = String::from_utf8_lossy(&ended.stderr);
            return Err(format!("the peer {peer} has failed:\n{text}\n{errors}").into());
        }
        let mut measured = BTreeMap::new();
        // Lines of its log have no tabs.
        for line in text.lines() {
            if let [work, micros, rows] = line.split('\t').collect::<Vec<_>>()[..] {
                measured.insert(work.to_string(), (micros.parse()?, rows.parse()?));
            }
        }
        Ok(measured)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Err(error) = script(&["stop", &self.folder.path().to_string_lossy()], &[]) {
            eprintln!("{error}");
        }
    }
}
