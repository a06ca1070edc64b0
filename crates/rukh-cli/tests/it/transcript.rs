//! Runs the binary in a directory of its own and writes down what happened.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A table with every awkward value, for tests that look at rows.
pub const HOSTS: &str = "
    CREATE TABLE hosts (
        id INTEGER NOT NULL,
        name VARCHAR,
        active BOOLEAN,
        price DECIMAL(10,2),
        seen TIMESTAMP,
        PRIMARY KEY (id)
    );
    CREATE INDEX hosts_by_name ON hosts (name);
    UPSERT INTO hosts VALUES
        (1, '浙江卫视', true, 12.50, TIMESTAMP '2012-09-02 20:00:00'),
        (2, NULL, false, -1, NULL),
        (3, '', NULL, 0, TIMESTAMP '2012-09-04 20:00:00.25'),
        (40, 'a \"b\", c', true, NULL, TIMESTAMP '1969-12-31 23:59:59');
";

/// A directory with files and, once something was run, the database `db`.
pub struct Place {
    directory: TempDir,
}

impl Place {
    /// Makes an empty directory.
    pub fn empty() -> Place {
        Place {
            directory: TempDir::new().expect("a temporary directory can be made"),
        }
    }

    /// Makes a directory whose database `db` has run `sql`.
    pub fn with(sql: &str) -> Place {
        let place = Place::empty();
        let run = place.run(&["db"], sql);
        assert!(run.ends_with("exit 0\n"), "{run}");
        place
    }

    /// Returns the path of a file here.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file, with the directories it needs.
    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).expect("a directory can be made");
        std::fs::write(path, text).expect("a file can be written");
    }

    /// Returns the text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).expect("the file was written")
    }

    /// Starts the binary here, with pipes for all streams.
    pub fn start(&self, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_rukh"))
            .args(arguments)
            .current_dir(self.directory.path())
            .env("HOME", self.directory.path())
            .env_remove("XDG_STATE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built")
    }

    /// Runs the binary to its end and writes down its input and its output.
    pub fn run(&self, arguments: &[&str], stdin: &str) -> String {
        let mut child = self.start(arguments);
        let mut pipe = child.stdin.take().expect("standard input is a pipe");
        // A process that ends before it has read everything is part of the test.
        let _ = pipe.write_all(stdin.as_bytes());
        drop(pipe);
        let output = child.wait_with_output().expect("the process can be waited for");
        let mut text = format!(
            "$ rukh {}\n",
            arguments
                .iter()
                .map(|word| shown(word))
                .collect::<Vec<_>>()
                .join(" ")
        );
        for (name, bytes) in [("stdout", &output.stdout), ("stderr", &output.stderr)] {
            if !bytes.is_empty() {
                let _ = write!(
                    text,
                    "--- {name}\n{}",
                    self.anywhere(&String::from_utf8_lossy(bytes))
                );
            }
        }
        let _ = writeln!(
            text,
            "--- exit {}",
            output
                .status
                .code()
                .map_or("by signal".to_owned(), |code| code.to_string())
        );
        text
    }

    /// Takes the name of the temporary directory out of a text.
    fn anywhere(&self, text: &str) -> String {
        text.replace(&*self.directory.path().to_string_lossy(), "[here]")
    }
}

fn shown(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if word.chars().all(plain) && !word.is_empty() {
        word.to_owned()
    } else {
        format!("'{word}'")
    }
}
