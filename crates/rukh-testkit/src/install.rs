//! Clients in other languages, installed once below a directory that is kept between runs.
//!
//! Python's, node's and Rust's packages come from their registries; JDBC's and ODBC's drivers are Debian's. What
//! cannot be had is an error that says so, for [`crate::need::or_skip`].

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The packages of Python's clients.
const PYTHON: &[&str] = &[
    "psycopg[binary]==3.3.9",
    "asyncpg==0.32.0",
    "sqlalchemy==2.1.9",
    "alembic==1.20.1",
    "django==5.2.19",
    "adbc-driver-flightsql==1.13.0",
    "adbc-driver-manager==1.13.0",
    "pyarrow==26.0.1",
    "pyodbc==5.5.0",
    "pgcli==4.7.1",
];
/// The packages of node's client.
const NODE: &[&str] = &["pg@8"];
/// Prisma's packages.
const PRISMA: &[&str] = &[
    "prisma@6.19.3",
    "@prisma/client@6.19.3",
    "@prisma/adapter-pg@7.10.1",
];
/// Where Debian puts JDBC's driver.
const JDBC: &str = "/usr/share/java/postgresql.jar";
/// Where Debian puts ODBC's driver, below the directory of libraries.
const ODBC: &str = "odbc/psqlodbcw.so";

/// One installation at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Runs a command to its end, and returns what it printed; an error is what it said.
pub fn succeed(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| format!("{:?} cannot be run: {error}", command.get_program()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stdout) + &text(&output.stderr)),
    }
}

/// Returns a directory below `kept`, filled by `install` if it was not.
fn installed(
    kept: &Path,
    name: &str,
    packages: &[&str],
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let _one = INSTALLING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let directory = kept.join("clients").join(name);
    let marker = directory.join("installed");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&marker).is_ok_and(|known| known == wanted) {
        return Ok(directory);
    }
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).map_err(|error| error.to_string())?;
    install(&directory)?;
    std::fs::write(&marker, wanted).map_err(|error| error.to_string())?;
    Ok(directory)
}

/// Returns a Python that has the clients.
pub fn python(kept: &Path) -> Result<PathBuf, String> {
    let directory = installed(kept, "python", PYTHON, |directory| {
        succeed(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
        let pip = directory.join("bin").join("pip");
        succeed(Command::new(pip).args(["install", "--quiet"]).args(PYTHON)).map(|_| ())
    })?;
    Ok(directory.join("bin").join("python"))
}

/// Returns the directory of node's packages.
pub fn node(kept: &Path) -> Result<PathBuf, String> {
    npm(kept, "node", NODE, &[])
}

/// Returns the directory of Prisma's packages, without the programs that their scripts would fetch.
pub fn prisma(kept: &Path) -> Result<PathBuf, String> {
    npm(
        kept,
        "prisma",
        PRISMA,
        &["--ignore-scripts", "--legacy-peer-deps"],
    )
}

fn npm(kept: &Path, name: &str, packages: &[&str], options: &[&str]) -> Result<PathBuf, String> {
    let directory = installed(kept, name, packages, |directory| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund"])
            .args(options);
        npm.arg("--prefix").arg(directory);
        succeed(npm.args(packages)).map(|_| ())
    })?;
    Ok(directory.join("node_modules"))
}

/// Returns the driver for Java.
pub fn jdbc() -> Result<PathBuf, String> {
    succeed(Command::new("java").arg("-version"))?;
    match Path::new(JDBC).exists() {
        true => Ok(PathBuf::from(JDBC)),
        false => Err(format!(
            "{JDBC} is not there; Debian has it in libpostgresql-jdbc-java"
        )),
    }
}

/// Says whether Ruby has ActiveRecord and its driver.
pub fn activerecord() -> Result<(), String> {
    let mut command = Command::new("ruby");
    let found = succeed(command.args(["-e", "require 'active_record'; require 'pg'"]));
    found
        .map(drop)
        .map_err(|error| format!("{error}; Debian has them in ruby-activerecord and ruby-pg"))
}

/// Returns the driver for ODBC, where its manager is there, too.
pub fn odbc() -> Result<PathBuf, String> {
    let library = |name: &str| {
        let path = PathBuf::from(format!("/usr/lib/{}-linux-gnu/{name}", std::env::consts::ARCH));
        match path.exists() {
            true => Ok(path),
            false => Err(format!(
                "{} is not there; Debian has it in odbc-postgresql and libodbc2",
                path.display()
            )),
        }
    };
    library("libodbc.so.2")?;
    library(ODBC)
}

/// Builds a program in Rust that is a workspace of its own, from its directory; returns it.
///
/// Its build outputs are kept, so that only the first time takes long.
pub fn rust(kept: &Path, source: &Path, name: &str) -> Result<PathBuf, String> {
    let _one = INSTALLING.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let target = kept.join("clients").join("rust");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--locked", "--manifest-path"]);
    cargo
        .arg(source.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target);
    // What cargo has set for the package of the test is not the other one's.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&name);
        }
    }
    succeed(&mut cargo)?;
    Ok(target.join("debug").join(name))
}
