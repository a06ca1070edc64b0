//! A private PostgreSQL 15: the second opinion on rows.
//!
//! The server lives in a temporary directory and listens on a socket there, on no port. It stops
//! when the test process ends, in whatever way: a shell holds it, whose input is a pipe from the
//! test process, and the end of that pipe makes the shell stop the server and remove the directory.
//! PostgreSQL refuses to run as root, so root starts it as an unprivileged user (`unprivileged_user`).

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, Config, NoTls, SimpleQueryMessage};

use crate::table::{ColumnKind, Table};

/// Settings of the server of tests: it does not wait for the disk, and nothing it does in the background changes how it answers,
/// which rows come first without an ORDER BY, or which of several errors it reports.
const OF_TESTS: [&str; 4] = [
    "-F",
    "-cautovacuum=off",
    "-csynchronize_seqscans=off",
    "-cmax_parallel_workers_per_gather=0",
];

/// The port that names the socket of a server which listens on none.
const SOCKET_PORT: u16 = 5432;

/// A running server.
#[derive(Debug)]
pub struct PostgresServer {
    directory: PathBuf,
    /// The port, which is a part of the socket's name too.
    port: u16,
    /// Holds the server; its input is the pipe whose end stops everything.
    _keeper: Child,
}

/// A database of a private server, and the one connection to it.
pub struct PostgresDatabase {
    client: Client,
    name: String,
}

/// An error of PostgreSQL, as far as tests compare it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sqlstate}: {message}")]
pub struct PostgresError {
    /// Five characters; `XXXXX` when the connection failed rather than the statement.
    pub sqlstate: String,
    /// The message alone.
    pub message: String,
}

/// Returns the server of this test process, started at the first call; an error says why there is
/// none.
pub fn server() -> Result<&'static PostgresServer, String> {
    static SERVER: OnceLock<Result<PostgresServer, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| PostgresServer::start(&OF_TESTS, None))
        .as_ref()
        .map_err(Clone::clone)
}

/// Makes a new, empty database on the server of this test process.
pub fn database() -> Result<PostgresDatabase, String> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let server = server()?;
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let mut admin = server.connect("postgres")?;
    admin
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .map_err(|error| error.to_string())?;
    Ok(PostgresDatabase {
        client: server.connect(&name)?,
        name,
    })
}

/// Returns a program of the newest PostgreSQL that is installed: `psql`, `pgbench`.
pub fn program(name: &str) -> Result<PathBuf, String> {
    let program = binaries()?.join(name);
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{} is not there", program.display())),
    }
}

impl PostgresServer {
    /// Returns the socket that the server listens on.
    pub fn socket(&self) -> PathBuf {
        self.directory.join(format!(".s.PGSQL.{}", self.port))
    }

    /// Starts a server whose commits are on disk when they are acknowledged, as benches compare; that of tests does not wait.
    pub fn durable() -> Result<Self, String> {
        PostgresServer::start(&["-cfsync=on"], None)
    }

    /// As [`PostgresServer::durable`], and it listens on a port of this machine, for benches of connections.
    pub fn durable_on_a_port() -> Result<Self, String> {
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let port = free.map_err(|error| error.to_string())?.port();
        let settings = ["-cfsync=on", "-cshared_buffers=512MB", "-cmax_connections=200"];
        PostgresServer::start(&settings, Some(port))
    }

    /// Returns the port that one of [`PostgresServer::durable_on_a_port`] listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn start(settings: &[&str], port: Option<u16>) -> Result<Self, String> {
        let binaries = binaries()?;
        let user = unprivileged_user()?;
        let directory = new_directory(user.as_ref())?;
        let mut initdb = as_user(user.as_ref(), &binaries.join("initdb"));
        initdb.args([
            "-A",
            "trust",
            "-U",
            "rukh",
            "-E",
            "UTF8",
            "--locale=C",
            "--lc-ctype=C.UTF-8",
            "--no-sync",
            "-D",
        ]);
        succeed(initdb.arg(directory.join("data")))?;
        let keeper = keep(user.as_ref(), &binaries, &directory, settings, port)?;
        let server = PostgresServer {
            directory,
            port: port.unwrap_or(SOCKET_PORT),
            _keeper: keeper,
        };
        server.wait_until_it_answers()?;
        Ok(server)
    }

    /// Connects to a database of the server, such as `postgres`, which is there from the start.
    pub fn connect(&self, database: &str) -> Result<Client, String> {
        let mut config = Config::new();
        config.host_path(&self.directory).port(self.port);
        config.user("rukh").dbname(database);
        config.connect(NoTls).map_err(|error| error.to_string())
    }

    /// Asks until the server has opened its socket; `initdb` has done the long work before.
    fn wait_until_it_answers(&self) -> Result<(), String> {
        let started = std::time::Instant::now();
        loop {
            match self.connect("postgres") {
                Ok(_) => return Ok(()),
                Err(error) if started.elapsed().as_secs() >= 60 => {
                    return Err(format!("PostgreSQL does not answer: {error}; {}", self.log()));
                }
                Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
            }
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.directory.join("log")).unwrap_or_default()
    }
}

impl PostgresDatabase {
    /// Makes another connection to the same database.
    pub fn another(&self) -> Result<PostgresDatabase, String> {
        Ok(PostgresDatabase {
            client: server()?.connect(&self.name)?,
            name: self.name.clone(),
        })
    }

    /// Returns the arguments by which PostgreSQL's own programs find the database.
    pub fn arguments(&self) -> Result<Vec<String>, String> {
        let server = server()?;
        let host = server.directory.display().to_string();
        let port = server.port.to_string();
        let all = ["-h", &host, "-p", &port, "-U", "rukh", "-d", &self.name];
        Ok(all.map(String::from).to_vec())
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs statements that give no rows; returns the rows changed by the last.
    pub fn execute(&mut self, sql: &str) -> Result<u64, PostgresError> {
        Ok(self.run(sql)?.1)
    }

    /// Runs a query; every value comes as PostgreSQL prints it.
    pub fn query(&mut self, sql: &str) -> Result<Table, PostgresError> {
        Ok(self.run(sql)?.0.unwrap_or_default())
    }

    /// Returns the names of the types of a query's columns, without length or precision.
    pub fn types(&mut self, sql: &str) -> Result<Vec<String>, PostgresError> {
        let statement = self.client.prepare(sql).map_err(PostgresError::from)?;
        let name = |column: &postgres::Column| match column.type_().name() {
            "bool" => "boolean".to_owned(),
            "int2" => "smallint".to_owned(),
            "int4" => "integer".to_owned(),
            "int8" => "bigint".to_owned(),
            "float4" => "real".to_owned(),
            "float8" => "double precision".to_owned(),
            "timestamptz" => "timestamp with time zone".to_owned(),
            "varchar" => "character varying".to_owned(),
            // Arrays of VARCHAR are arrays of TEXT to clients of Rukh (docs/sql.md).
            "_varchar" => "_text".to_owned(),
            "bpchar" => "character".to_owned(),
            other => other.to_owned(),
        };
        Ok(statement.columns().iter().map(name).collect())
    }

    /// Returns the names of the types of a statement's parameters, as `pg_type` has them.
    pub fn parameter_types(&mut self, sql: &str) -> Result<Vec<String>, PostgresError> {
        let statement = self.client.prepare(sql).map_err(PostgresError::from)?;
        Ok(statement.params().iter().map(|ty| ty.name().to_owned()).collect())
    }

    /// Runs a statement of either kind: its rows, if it gives some, and how many it touched.
    pub fn run(&mut self, sql: &str) -> Result<(Option<Table>, u64), PostgresError> {
        let mut table: Option<Table> = None;
        let mut count = 0;
        for message in self.client.simple_query(sql).map_err(PostgresError::from)? {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    let names: Vec<String> = columns.iter().map(|column| column.name().to_owned()).collect();
                    let kinds = vec![ColumnKind::Exact; names.len()];
                    table = Some(Table {
                        columns: names,
                        kinds,
                        rows: Vec::new(),
                    });
                }
                SimpleQueryMessage::Row(row) => {
                    let values = (0..row.len())
                        .map(|column| row.get(column).map(str::to_owned))
                        .collect();
                    table.get_or_insert_default().rows.push(values);
                }
                SimpleQueryMessage::CommandComplete(touched) => count = touched,
                _ => {}
            }
        }
        Ok((table, count))
    }

    /// Runs `COPY … FROM STDIN`; `write` gives the input.
    pub fn copy_in(
        &mut self,
        sql: &str,
        write: impl FnOnce(&mut dyn std::io::Write) -> Result<(), String>,
    ) -> Result<(), String> {
        let mut writer = self.client.copy_in(sql).map_err(|error| error.to_string())?;
        write(&mut writer)?;
        writer.finish().map_err(|error| error.to_string())?;
        Ok(())
    }
}

impl From<postgres::Error> for PostgresError {
    fn from(error: postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db) => PostgresError {
                sqlstate: db.code().code().to_owned(),
                message: db.message().to_owned(),
            },
            None => PostgresError {
                sqlstate: "XXXXX".to_owned(),
                message: error.to_string(),
            },
        }
    }
}

/// Returns the directory of the newest server's programs.
fn binaries() -> Result<PathBuf, String> {
    let missing = || "PostgreSQL is not installed (Debian package postgresql-15)".to_owned();
    let versions = std::fs::read_dir("/usr/lib/postgresql").map_err(|_| missing())?;
    let newest = versions
        .filter_map(|entry| Some(entry.ok()?.path().join("bin")))
        .filter(|binaries| binaries.join("initdb").exists())
        .max();
    newest.ok_or_else(missing)
}

/// The user of the server when the tests run as root.
#[derive(Debug)]
struct User {
    name: &'static str,
    id: u32,
    group: u32,
}

/// Returns the user of the server, or `None` when the tests do not run as root.
fn unprivileged_user() -> Result<Option<User>, String> {
    if id(&["-u"])? != 0 {
        return Ok(None);
    }
    let user = ["postgres", "nobody"].into_iter().find_map(|name| {
        Some(User {
            name,
            id: id(&["-u", name]).ok()?,
            group: id(&["-g", name]).ok()?,
        })
    });
    user.map(Some)
        .ok_or_else(|| "root cannot run PostgreSQL, and there is no user to run it as".to_owned())
}

fn id(arguments: &[&str]) -> Result<u32, String> {
    let output = Command::new("id")
        .args(arguments)
        .output()
        .map_err(|error| format!("id: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    text.parse()
        .map_err(|_| format!("id {arguments:?} gives no number"))
}

/// Makes a directory that the server's user owns; its path is short, as sockets' paths must be.
fn new_directory(user: Option<&User>) -> Result<PathBuf, String> {
    let directory = tempfile::Builder::new()
        .prefix("rukh-pg-")
        .tempdir()
        .map_err(|error| format!("temporary directory: {error}"))?
        .keep();
    if let Some(user) = user {
        std::os::unix::fs::chown(&directory, Some(user.id), Some(user.group))
            .map_err(|error| format!("{}: {error}", directory.display()))?;
    }
    Ok(directory)
}

/// Returns a command that runs a program as the given user.
fn as_user(user: Option<&User>, program: &Path) -> Command {
    let Some(user) = user else {
        return Command::new(program);
    };
    let mut command = match Path::new("/usr/bin/setpriv").exists() {
        true => Command::new("setpriv"),
        false => Command::new("su"),
    };
    if command.get_program() == "setpriv" {
        command.args([format!("--reuid={}", user.id), format!("--regid={}", user.group)]);
        command.arg("--clear-groups").arg(program);
    } else {
        command
            .args([user.name, "-s", "/bin/sh", "-c", "exec \"$0\" \"$@\"", "--"])
            .arg(program);
    }
    command.current_dir("/");
    command
}

/// Starts the server under a shell that stops it when its own input ends.
fn keep(
    user: Option<&User>,
    binaries: &Path,
    directory: &Path,
    settings: &[&str],
    port: Option<u16>,
) -> Result<Child, String> {
    const SCRIPT: &str = r#"
        binaries=$1 directory=$2 host=$3 port=$4
        shift 4
        "$binaries/postgres" -D "$directory/data" -k "$directory" -h "$host" -p "$port" -c timezone=UTC -c jit=off \
            -c log_min_messages=fatal -c shared_buffers=64MB -c max_wal_size=4GB "$@" \
            >"$directory/log" 2>&1 </dev/null &
        cat >/dev/null
        kill -QUIT $!
        wait $!
        rm -rf "$directory"
    "#;
    let mut shell = as_user(user, Path::new("/bin/sh"));
    shell
        .args(["-c", SCRIPT, "sh"])
        .arg(binaries)
        .arg(directory)
        .arg(if port.is_some() { "127.0.0.1" } else { "" })
        .arg(port.unwrap_or(SOCKET_PORT).to_string())
        .args(settings);
    shell
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    shell
        .spawn()
        .map_err(|error| format!("PostgreSQL does not start: {error}"))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let output = command
        .output()
        .map_err(|error| format!("{command:?}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_answers() {
        let Some(mut database) = crate::need::or_skip("a_private_server_answers", database()) else {
            return;
        };
        let table = database
            .query("SELECT 1 AS a, NULL AS b, 'é' AS c, true AS d")
            .unwrap();
        assert_eq!(table.columns, ["a", "b", "c", "d"]);
        let one = |text: &str| Some(text.to_owned());
        assert_eq!(table.rows, [[one("1"), None, one("é"), one("t")]]);
        let error = database.query("SELECT nothing").unwrap_err();
        assert_eq!(error.to_string(), "42703: column \"nothing\" does not exist");
        assert_eq!(
            database
                .execute("CREATE TABLE t (a INT); INSERT INTO t VALUES (1), (2)")
                .unwrap(),
            2
        );
    }
}
