//! The client on a real HBase, which the test starts and ends; and the semantics of HBase that transactions need.

use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::Bytes;
use rukh_hbase::{CellKind, CheckAndMutate, Client, Family, Get, LATEST, Mutation, Settings};

/// An HBase that ends with the test, also if that fails.
struct Server {
    url: String,
    folder: tempfile::TempDir,
}

fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/hbase/hbase.sh")
}

impl Server {
    /// Starts one; `None`, with a line that says so, where Java or Maven is missing and CI is not set.
    fn start() -> Option<Server> {
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

fn family(name: &str) -> Family {
    let attributes = [("VERSIONS", "100"), ("KEEP_DELETED_CELLS", "TRUE")];
    Family {
        name: name.to_string(),
        attributes: attributes
            .map(|(name, value)| (name.to_string(), value.to_string()))
            .to_vec(),
    }
}

fn put(row: &'static str, family: &'static str, time: u64, value: &'static str) -> Mutation {
    Mutation::put(row).cell(CellKind::Put, family, "v", time, value)
}

#[tokio::test]
async fn a_real_server_does_what_transactions_need() {
    let Some(server) = Server::start() else { return };
    let client = Client::new(&server.url, Settings::default()).unwrap();
    let keys = vec![Bytes::from_static(b"h"), Bytes::from_static(b"p")];
    client
        .create_table("t", &[family("d"), family("c")], keys)
        .await
        .unwrap();
    rows_are_read_back(&client).await;
    a_time_range_condition_is_a_lock(&client).await;
    a_lock_is_changed_for_a_commit_in_one_step(&client).await;
    a_delete_marker_leaves_the_past(&client).await;
    a_delete_marker_hides_later_puts_at_its_time(&client).await;
    a_number_grows_under_a_condition(&client).await;
    errors_name_their_class(&client).await;
    client.disable_table("t").await.unwrap();
    client.delete_table("t").await.unwrap();
}

/// One row in each of three regions.
async fn rows_are_read_back(client: &Client) {
    for row in ["a", "h", "z"] {
        client.mutate("t", put(row, "d", 5, "five")).await.unwrap();
        let found = client.get("t", Get::new(row)).await.unwrap();
        assert_eq!((found.key(), found.cells.len()), (Bytes::from(row), 1));
        assert_eq!(found.cell(b"d", b"v").unwrap().timestamp, 5);
    }
    assert!(client.get("t", Get::new("none")).await.unwrap().is_empty());
}

async fn a_time_range_condition_is_a_lock(client: &Client) {
    let lock = |start, time| {
        CheckAndMutate::if_absent("lock", "c", "v", start, LATEST).then(put("lock", "c", time, "x"))
    };
    let take = async |start, time| {
        client
            .check_and_mutate("t", lock(start, time))
            .await
            .unwrap()
            .processed
    };
    assert!(take(11, 1000).await, "the first gets in");
    assert!(!take(11, 1001).await, "the second does not");
    assert!(
        !take(1000, 1002).await,
        "nor one that sees the cell at its own start"
    );
    assert!(take(1001, 1003).await, "a newer one does");
}

async fn a_lock_is_changed_for_a_commit_in_one_step(client: &Client) {
    client.mutate("t", put("own", "c", 5000, "mine")).await.unwrap();
    let commit = || {
        CheckAndMutate::if_equal("own", "c", "v", "mine", 5000, 5001)
            .then(put("own", "d", 20, "new"))
            .then(put("own", "c", 20, "record"))
            .then(Mutation::delete("own").cell(CellKind::Delete, "c", "v", 5000, ""))
    };
    assert!(client.check_and_mutate("t", commit()).await.unwrap().processed);
    let row = client.get("t", Get::new("own")).await.unwrap();
    assert_eq!(row.value(b"d", b"v").unwrap(), "new");
    assert_eq!(row.value(b"c", b"v").unwrap(), "record");
    assert!(
        !client.check_and_mutate("t", commit()).await.unwrap().processed,
        "the lock is gone"
    );
}

async fn a_delete_marker_leaves_the_past(client: &Client) {
    client.mutate("t", put("past", "d", 10, "old")).await.unwrap();
    let marker = Mutation::delete("past").cell(CellKind::DeleteColumn, "d", "v", 20, "");
    client.mutate("t", marker).await.unwrap();
    client.mutate("t", put("past", "d", 30, "new")).await.unwrap();
    let at = async |time: u64| {
        let row = client
            .get("t", Get::new("past").family("d").times(0, time + 1))
            .await
            .unwrap();
        row.value(b"d", b"v").cloned()
    };
    assert_eq!(at(19).await, Some(Bytes::from("old")));
    assert_eq!(at(20).await, None);
    assert_eq!(at(30).await, Some(Bytes::from("new")));
}

async fn a_delete_marker_hides_later_puts_at_its_time(client: &Client) {
    let marker = Mutation::delete("hide").cell(CellKind::Delete, "c", "v", 40, "");
    client.mutate("t", marker).await.unwrap();
    client.mutate("t", put("hide", "c", 40, "hidden")).await.unwrap();
    assert!(client.get("t", Get::new("hide")).await.unwrap().is_empty());
    client.mutate("t", put("hide", "c", 41, "seen")).await.unwrap();
    assert!(!client.get("t", Get::new("hide")).await.unwrap().is_empty());
}

async fn a_number_grows_under_a_condition(client: &Client) {
    client
        .mutate("t", put("clock", "d", LATEST, "version 1"))
        .await
        .unwrap();
    let add = |version: &'static str| {
        let change = CheckAndMutate::if_equal("clock", "d", "v", version, 0, LATEST);
        change.then(Mutation::increment("clock", "c", "n", 5))
    };
    for number in [5i64, 10] {
        let done = client.check_and_mutate("t", add("version 1")).await.unwrap();
        assert!(done.processed);
        assert_eq!(done.row.value(b"c", b"n").unwrap()[..], number.to_be_bytes());
    }
    assert!(
        !client
            .check_and_mutate("t", add("version 2"))
            .await
            .unwrap()
            .processed
    );
}

async fn errors_name_their_class(client: &Client) {
    let error = client.mutate("t", put("a", "none", 1, "x")).await.unwrap_err();
    assert_eq!(error.class(), Some("NoSuchColumnFamilyException"), "{error}");
    let error = client.get("gone", Get::new("a")).await.unwrap_err();
    assert_eq!(error.to_string(), "table \"default:gone\" does not exist");
    let error = client
        .create_table("t", &[family("d")], vec![])
        .await
        .unwrap_err();
    assert_eq!(error.class(), Some("TableExistsException"), "{error}");
}
