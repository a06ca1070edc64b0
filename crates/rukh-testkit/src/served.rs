//! A server in a process of its own, as its users start it, and what the system reports of it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, Config, NoTls};

/// How long a server may take until it listens, or to end.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running `rukh serve`; it is killed when this is dropped.
#[derive(Debug)]
pub struct Served {
    child: Child,
    address: SocketAddr,
}

/// Returns the program `rukh`: the one that `RUKH_PROGRAM` names, or the one beside the program that runs.
pub fn program() -> Result<PathBuf, String> {
    let named = std::env::var_os("RUKH_PROGRAM").map(PathBuf::from);
    let beside = || Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name("rukh"));
    let program = named.map_or_else(beside, Ok).map_err(|error| error.to_string())?;
    match program.exists() {
        true => Ok(program),
        false => Err(format!("{} is not there", program.display())),
    }
}

impl Served {
    /// Serves the database of a directory on a free port of this machine.
    pub fn start(program: &Path, directory: &Path, arguments: &[&str]) -> Result<Served, String> {
        let mut child = Command::new(program)
            .arg("serve")
            .arg(directory)
            .args(["--listen", "127.0.0.1:0"])
            .args(arguments)
            .env_remove("RUKH_LOG")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let log = child.stderr.take().ok_or("the log of the server is not piped")?;
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            // Read to the end, so that the server never waits for its log to be read.
            for line in BufReader::new(log).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        let mut log = String::new();
        let started = Instant::now();
        while let Ok(line) = lines.recv_timeout(PATIENCE.saturating_sub(started.elapsed())) {
            if line.contains("ready for connections")
                && let Some(address) = address_in(&line)
            {
                return Ok(Served { child, address });
            }
            log += &line;
            log.push('\n');
        }
        let _ = child.kill();
        let _ = child.wait();
        Err(format!("the server does not start:\n{log}"))
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connects to it.
    pub fn connect(&self) -> Result<Client, postgres::Error> {
        connect(self.address)
    }

    /// Returns the memory that is the process's own and resident, bytes.
    pub fn resident_bytes(&self) -> Result<u64, String> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kibibytes
            .map(|kibibytes| kibibytes * 1024)
            .ok_or_else(|| "the system does not tell of its memory".to_owned())
    }

    /// Returns how many threads it has.
    pub fn threads(&self) -> Result<usize, String> {
        let status = self.proc("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
        line.and_then(|line| line.trim().parse().ok())
            .ok_or_else(|| "the system does not tell of its threads".to_owned())
    }

    /// Returns how many descriptors are open: sockets, and files, of which storage keeps as many as it likes.
    pub fn descriptors(&self) -> Result<Descriptors, String> {
        let directory = format!("/proc/{}/fd", self.child.id());
        let entries = std::fs::read_dir(&directory).map_err(|error| format!("{directory}: {error}"))?;
        let mut found = Descriptors::default();
        for entry in entries.flatten() {
            // One that is closed meanwhile counts nowhere.
            let Ok(target) = std::fs::read_link(entry.path()) else {
                continue;
            };
            match target.to_string_lossy().starts_with("socket:") {
                true => found.sockets += 1,
                false => found.others += 1,
            }
        }
        Ok(found)
    }

    fn proc(&self, file: &str) -> Result<String, String> {
        let path = format!("/proc/{}/{file}", self.child.id());
        std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))
    }

    /// Asks the server to stop, and waits until it has.
    pub fn stop(mut self) -> Result<(), String> {
        let status = Command::new("kill").arg(self.child.id().to_string()).status();
        status.map_err(|error| format!("kill: {error}"))?;
        let started = Instant::now();
        loop {
            match self.child.try_wait().map_err(|error| error.to_string())? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(format!("the server ended with {status}")),
                None if started.elapsed() > PATIENCE => return Err("the server does not stop".to_owned()),
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Open descriptors of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptors {
    /// Connections and what listens for them.
    pub sockets: usize,
    /// Files, pipes and the like.
    pub others: usize,
}

/// Connects to a server of Rukh.
pub fn connect(address: SocketAddr) -> Result<Client, postgres::Error> {
    let mut config = Config::new();
    config.host("127.0.0.1").port(address.port()).user("tester");
    config.dbname("rukh").connect(NoTls)
}

/// Returns the address in a line of the log.
fn address_in(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("127.0.0.1:")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(SocketAddr::from(([127, 0, 0, 1], digits.parse().ok()?)))
}
