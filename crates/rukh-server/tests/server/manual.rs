//! What the manual says of the server is so.

use rukh_testkit::paths;

use crate::{Config, server_with};
use rukh_testkit::raw::Raw;

/// Returns the block of a language in a page of the manual.
fn block(page: &str, language: &str) -> String {
    let path = paths::repository().join("docs").join(page);
    let text = std::fs::read_to_string(path).expect("the page can be read");
    let (_, after) = text
        .split_once(&format!("```{language}\n"))
        .unwrap_or_else(|| panic!("{page} has no block of {language}"));
    let (block, _) = after.split_once("```").expect("blocks end");
    block.to_string()
}

/// The file of the manual is one, and what it says of sessions holds.
#[test]
fn the_configuration_of_the_manual_is_taken() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let file = directory.path().join("rukh.toml");
    std::fs::write(&file, block("operations.md", "toml")).expect("a file can be written");
    let config = Config::load(Some(&file)).expect("the file is a configuration");
    assert_eq!(config.connections_max, 200);
    assert_eq!(config.tls.as_ref().map(|tls| tls.required), Some(true));
    // Certificates are not there, and other machines need not reach a test.
    let server = server_with(Config {
        listen: "127.0.0.1:0".to_string(),
        http: None,
        tls: None,
        ..config
    });
    let mut client = Raw::connect(server.address());
    for (name, value) in [
        ("statement_timeout", "300000"),
        ("idle_in_transaction_session_timeout", "600000"),
        ("query_memory_limit", "256MB"),
    ] {
        let shown = client.simple(&format!("SHOW {name}"));
        assert_eq!(shown.texts(), [[Some(value.to_string())]], "{name}");
    }
    server.stop();
}

#[test]
fn configurations_that_are_none_are_refused() {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let file = directory.path().join("rukh.toml");
    for text in [
        "listen_to = 1",
        "connections_max = \"many\"",
        "[tls]\nkey = \"a\"",
    ] {
        std::fs::write(&file, text).expect("a file can be written");
        assert!(Config::load(Some(&file)).is_err(), "{text}");
    }
    let config = Config {
        listen: "127.0.0.1:0".to_string(),
        query_memory_limit: "much".to_string(),
        ..Config::default()
    };
    let database = rukh::Database::open_in_memory().expect("a database in memory can be made");
    let refused = rukh_server::start(database, config)
        .err()
        .map(|error| error.to_string());
    assert!(refused.is_some_and(|message| message.contains("query_memory_limit")));
}
