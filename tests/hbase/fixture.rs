//! An HBase for the tests of a crate, which include this file.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// An HBase that ends with the test, also if that fails.
pub struct Server {
    /// Its URL.
    pub url: String,
    certificates: Option<PathBuf>,
    folder: tempfile::TempDir,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hbase/hbase.sh")
}

impl Server {
    /// Starts one; `None`, with a line that says so, where Java or Maven is missing and CI is not set.
    pub fn start() -> Option<Server> {
        Server::start_as(None)
    }

    /// Starts one that takes TLS, too, by the certificates of a folder.
    pub fn start_with_tls(certificates: &Path) -> Option<Server> {
        Server::start_as(Some(certificates.to_path_buf()))
    }

    fn start_as(certificates: Option<PathBuf>) -> Option<Server> {
        let is_there = |program: &str| Command::new(program).arg("-version").output().is_ok();
        if std::env::var_os("CI").is_none() && !(is_there("java") && is_there("mvn")) {
            eprintln!("skipped: java or mvn is missing, so there is no HBase to test on");
            return None;
        }
        let mut server = Server {
            url: String::new(),
            certificates,
            folder: tempfile::tempdir().unwrap(),
        };
        server.url = server.run_script("start", None);
        Some(server)
    }

    /// Ends it; what is stored stays.
    pub fn stop(&self) {
        self.run_script("stop", None);
    }

    /// Starts it again where it was.
    pub fn start_again(&self) {
        let (_, port) = self.url.trim_end_matches("/default").rsplit_once(':').unwrap();
        assert_eq!(self.run_script("start", Some(port)), self.url);
    }

    /// The URL of another namespace.
    pub fn namespace(&self, name: &str) -> String {
        format!("{}/{name}", self.url.trim_end_matches("/default"))
    }

    fn run_script(&self, command: &str, port: Option<&str>) -> String {
        let mut script_command = Command::new("sh");
        script_command.arg(script()).arg(command).arg(self.folder.path());
        // With half of it the server has no room left where a test writes some hundred thousand rows.
        script_command.env("RUKH_HBASE_HEAP", "1g");
        // A test ends before the code that the second compiler makes is worth its time.
        script_command.env("RUKH_HBASE_JAVA", "-XX:TieredStopAtLevel=1");
        if let Some(certificates) = &self.certificates {
            script_command.env("RUKH_HBASE_TLS", certificates);
        }
        if let Some(port) = port {
            script_command.env("RUKH_HBASE_PORT", port);
        }
        let output = script_command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        String::from_utf8(output.stdout).unwrap().trim().to_string()
    }

    /// Runs an example of the crate with the URL. Tests lie beside the folder of the examples, which are built with them.
    pub fn run_example(&self, name: &str) {
        let here = std::env::current_exe().unwrap();
        let folder = here.parent().and_then(Path::parent).unwrap();
        let program = folder.join("examples").join(name);
        let ended = Command::new(&program).arg(&self.url).status();
        assert!(ended.unwrap().success(), "{}", program.display());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.run_script("kill", None);
    }
}
