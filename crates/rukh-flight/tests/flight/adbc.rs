//! ADBC's driver of Flight SQL in Python, really run: the script of `tests/clients`, and one with users and
//! encryption.

use std::path::Path;
use std::process::Command;

use rukh_testkit::install::{self, succeed};
use rukh_testkit::{need, paths};

use crate::users::{certificate, server_config, with_users};
use crate::{Config, served, served_with};

/// Where what is installed is kept.
const KEPT: &str = env!("CARGO_TARGET_TMPDIR");

/// Runs a program of Python against a port; returns what it printed.
fn python(test: &str, name: &str, text: &str, port: u16) -> Option<String> {
    let python = need::or_skip(test, install::python(Path::new(KEPT)))?;
    let directory = Path::new(KEPT).join(format!("flight-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let file = directory.join(name);
    std::fs::write(&file, text.replace("5432", &port.to_string())).expect("a program can be written");
    let printed = succeed(Command::new(python).arg(&file));
    Some(printed.unwrap_or_else(|error| panic!("{name}: {error}")))
}

#[test]
fn adbc_reads_and_writes() {
    let served = served();
    let clients = paths::tests().join("clients");
    let text = std::fs::read_to_string(clients.join("adbc_client.py")).expect("the script can be read");
    let port = served.server.address().port();
    let printed = python("adbc_reads_and_writes", "adbc_client.py", &text, port);
    served.server.stop();
    let Some(printed) = printed else {
        return;
    };
    let path = clients.join("adbc.out");
    if std::env::var_os("UPDATE_CLIENTS").is_some() {
        std::fs::write(&path, &printed).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        printed == expected,
        "adbc printed other than {}:\n{printed}",
        path.display()
    );
}

/// Returns a block of `docs/flight.md`, counted from 0, of those in Python.
fn example(number: usize) -> String {
    let page = std::fs::read_to_string(paths::repository().join("docs/flight.md"));
    let page = page.expect("docs/flight.md can be read");
    let block = page.split("```python\n").nth(number + 1);
    let block = block.and_then(|block| block.split("```").next());
    block.expect("the page has the block").replace("32010", "5432")
}

#[test]
fn the_example_runs() {
    let served = served();
    let port = served.server.address().port();
    let printed = python("the_example_runs", "example.py", &example(0), port);
    served.server.stop();
    if let Some(printed) = printed {
        assert_eq!(printed, "{'name': ['Grace']}\n");
    }
}

#[test]
fn the_example_with_users_runs() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let Some((file, key)) = need::or_skip("the_example_with_users_runs", certificate(directory.path()))
    else {
        return;
    };
    let config = Config {
        tls: Some(server_config(&file, &key)),
        ..Config::default()
    };
    let served = served_with(with_users(), config);
    let port = served.server.address().port();
    let text = example(1).replace("server.crt", &file.display().to_string());
    let mine = text.replace("\"me\"", "\"boss\"");
    let printed = python("the_example_with_users_runs", "users.py", &mine, port);
    served.server.stop();
    if let Some(printed) = printed {
        assert_eq!(printed, "[('boss',)]\n");
    }
}
