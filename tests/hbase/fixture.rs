//! An HBase for the tests of a crate, which include this file.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An HBase that ends with the test, also if that fails.
pub struct Server {
    /// Its URL.
    pub url: String,
    folder: tempfile::TempDir,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hbase/hbase.sh")
}

impl Server {
    /// Starts one; `None`, with a line that says so, where Java or Maven is missing and CI is not set.
    pub fn start() -> Option<Server> {
        let is_there = |program: &str| Command::new(program).arg("-version").output().is_ok();
        if std::env::var_os("CI").is_none() && !(is_there("java") && is_there("mvn")) {
            eprintln!("skipped: java or mvn is missing, so there is no HBase to test on");
            return None;
        }
        let mut server = Server {
            url: String::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        let output = Command::new("sh")
            .arg(script())
            .arg("start")
            .arg(server.folder.path())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        server.url = String::from_utf8(output.stdout).unwrap().trim().to_string();
        Some(server)
    }

    /// Runs an example of the crate with the URL. Tests lie beside the folder of the examples, which are built with them.
    #[allow(dead_code)]
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
        Command::new("sh")
            .arg(script())
            .arg("stop")
            .arg(self.folder.path())
            .status()
            .unwrap();
    }
}
