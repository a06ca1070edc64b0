//! The client on a real HBase, which the test starts and ends; and the semantics of HBase that transactions need.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use bytes::Bytes;
use rukh_hbase::{
    CellKind, CheckAndMutate, Client, Compare, Error, Family, Filter, Get, LATEST, Mutation, RowRequest,
    Scan, Settings,
};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;

use fixture::Server;

fn family(name: &str) -> Family {
    Family::new(name, &[("VERSIONS", "100"), ("KEEP_DELETED_CELLS", "TRUE")])
}

fn put(row: &'static str, family: &'static str, time: u64, value: &'static str) -> Mutation {
    Mutation::put(row).cell(CellKind::Put, family, "v", time, value)
}

#[tokio::test]
async fn a_real_server_does_what_transactions_need() {
    let certificates = tempfile::tempdir().unwrap();
    make_certificates(certificates.path());
    let Some(server) = Server::start_with_tls(certificates.path()) else {
        return;
    };
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
    many_rows_are_one_batch(&client).await;
    outcomes_of_a_batch_are_of_their_requests(&client).await;
    errors_name_their_class(&client).await;
    scans_give_each_row_once_in_order(&client).await;
    filters_let_pass_what_they_say(&client).await;
    a_scan_at_a_time_is_a_snapshot(&client).await;
    client.disable_table("t").await.unwrap();
    client.delete_table("t").await.unwrap();
    tables_are_changed(&client).await;
    namespaces_come_and_go(&client, &server.url).await;
    regions_split_move_and_merge_beneath_scans(&client).await;
    connections_are_encrypted(&server.url, certificates.path()).await;
    server.run_example("first");
    server.run_example("batches");
    server.run_example("scans");
    server.run_example("regions");
}

/// Makes certificates for the server and for a client, signed by one authority, and another authority.
fn make_certificates(folder: &Path) {
    let openssl = |words: &str| {
        let made = Command::new("openssl")
            .args(words.split(' '))
            .current_dir(folder)
            .output();
        let made = made.unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2";
    for authority in ["ca", "other"] {
        openssl(&format!(
            "req -x509 {key} -keyout {authority}.key -out {authority}.pem -subj /CN={authority}"
        ));
    }
    std::fs::write(folder.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    for name in ["server", "client"] {
        openssl(&format!(
            "req {key} -keyout {name}.key -out {name}.csr -subj /CN={name}"
        ));
        openssl(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names -out {name}.crt"
        ));
    }
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    std::fs::write(
        folder.join("server.pem"),
        read("server.crt") + &read("server.key"),
    )
    .unwrap();
}

/// The server takes TLS from clients with a certificate of its authority; the client, servers with one of its own for their name.
async fn connections_are_encrypted(url: &str, folder: &Path) {
    let settings = Settings {
        operation: Duration::from_secs(5),
        ..Settings::default()
    };
    let ask = async |options: &str| {
        let url = format!("{url}?{}", options.replace("DIR", folder.to_str().unwrap()));
        Client::new(&url, settings.clone())?.namespaces().await
    };
    let own = "sslcert=DIR/client.crt&sslkey=DIR/client.key";
    let found = ask(&format!("sslmode=verify-full&sslrootcert=DIR/ca.pem&{own}")).await;
    assert!(found.unwrap().contains(&"default".to_string()));
    for (options, reason) in [
        (
            format!("sslrootcert=DIR/other.pem&{own}"),
            "invalid peer certificate",
        ),
        ("sslrootcert=DIR/ca.pem".to_string(), ""),
        (
            "sslrootcert=DIR/ca.pem&sslcert=DIR/other.pem&sslkey=DIR/other.key".to_string(),
            "",
        ),
    ] {
        let error = ask(&options).await.unwrap_err();
        assert!(error.is_unreachable(), "{options}: {error:?}");
        assert!(error.to_string().contains(reason), "{options}: {error}");
    }
    for (options, reason) in [
        ("sslrootcert=DIR/none.pem", "none.pem\": "),
        ("sslrootcert=DIR/ca.key", "it has no certificate"),
        (
            "sslrootcert=DIR/ca.pem&sslcert=DIR/ca.pem&sslkey=DIR/ca.pem",
            "invalid TLS file",
        ),
        (
            "sslrootcert=DIR/ca.pem&sslcert=DIR/ca.pem&sslkey=DIR/other.key",
            "invalid TLS file",
        ),
    ] {
        let error = ask(options).await.unwrap_err();
        assert!(matches!(error, Error::Argument { .. }), "{options}: {error:?}");
        assert!(error.to_string().contains(reason), "{options}: {error}");
    }
}

async fn tables_are_changed(client: &Client) {
    client
        .create_table("changed", &[family("d")], vec![])
        .await
        .unwrap();
    assert_eq!(client.tables().await.unwrap(), ["changed"]);
    let with = Family::new;
    let families = [
        with(
            "d",
            &[
                ("VERSIONS", "7"),
                ("MIN_VERSIONS", "1"),
                ("TTL", "600"),
                ("KEEP_DELETED_CELLS", "TTL"),
            ],
        ),
        with("e", &[("COMPRESSION", "NONE"), ("BLOOMFILTER", "ROW")]),
    ];
    client.modify_table("changed", &families).await.unwrap();
    let found = client.families("changed").await.unwrap();
    assert_eq!(found.len(), 2);
    for (found, family) in found.iter().zip(&families) {
        assert_eq!(found.name, family.name);
        for attribute in &family.attributes {
            assert!(found.attributes.contains(attribute), "{attribute:?}: {found:?}");
        }
    }
    client.mutate("changed", put("a", "e", 1, "x")).await.unwrap();
    client.flush("changed").await.unwrap();
    client.compact("changed", true).await.unwrap();
    client.wait_until_compacted("changed").await.unwrap();
    assert_eq!(scanned(client, "changed", Scan::all()).await.len(), 1);
    client.disable_table("changed").await.unwrap();
    client.truncate_table("changed", true).await.unwrap();
    assert_eq!(scanned(client, "changed", Scan::all()).await, []);
    client.disable_table("changed").await.unwrap();
    client.enable_table("changed").await.unwrap();
    client.disable_table("changed").await.unwrap();
    client.delete_table("changed").await.unwrap();
    assert_eq!(client.tables().await.unwrap(), [""; 0]);
    let error = client.families("changed").await.unwrap_err();
    assert_eq!(error.to_string(), "table \"default:changed\" does not exist");
}

async fn namespaces_come_and_go(client: &Client, url: &str) {
    client.create_namespace("other").await.unwrap();
    assert!(client.namespaces().await.unwrap().contains(&"other".to_string()));
    let other = Client::new(&url.replace("/default", "/other"), Settings::default()).unwrap();
    other.create_table("t", &[family("d")], vec![]).await.unwrap();
    other.mutate("t", put("a", "d", 1, "x")).await.unwrap();
    assert_eq!(other.tables().await.unwrap(), ["t"]);
    assert_eq!(client.tables().await.unwrap(), [""; 0]);
    let error = client.delete_namespace("other").await.unwrap_err();
    assert_eq!(error.class(), Some("ConstraintException"), "{error}");
    other.disable_table("t").await.unwrap();
    other.delete_table("t").await.unwrap();
    client.delete_namespace("other").await.unwrap();
    assert!(!client.namespaces().await.unwrap().contains(&"other".to_string()));
}

/// Scans that go on in both directions while regions change see each row once, and batches write each row.
async fn regions_split_move_and_merge_beneath_scans(client: &Client) {
    const ROWS: usize = 4000;
    let key = |nth: usize| format!("r{nth:05}");
    let cuts = [3000, 3500].map(|nth| Bytes::from(key(nth)));
    client
        .create_table("moving", &[family("d")], cuts.into())
        .await
        .unwrap();
    let write = async |value: &'static str| {
        let puts = (0..ROWS).map(|nth| {
            let put = Mutation::put(key(nth)).cell(CellKind::Put, "d", "v", LATEST, value);
            RowRequest::mutate("moving", put)
        });
        client.batch(puts.collect()).await.iter().all(Result::is_ok)
    };
    assert!(write("first").await);
    let scan = async |backward: bool| {
        let shape = match backward {
            true => Scan::backward("", ""),
            false => Scan::all(),
        };
        // Answers of few rows, so that a scan is long.
        let mut scanner = client.scan("moving", shape.batch_bytes(4000));
        let mut keys = Vec::new();
        while let Some(row) = scanner.next().await.unwrap() {
            keys.push(String::from_utf8(row.key().to_vec()).unwrap());
        }
        if backward {
            keys.reverse();
        }
        keys
    };
    let all: Vec<String> = (0..ROWS).map(key).collect();
    // A region cannot be cut again while its files are parts of those of the region that it was cut from, so each is changed once.
    let change = async {
        client.split_region("moving", key(1500)).await.unwrap();
        let regions = client.regions("moving").await.unwrap();
        assert_eq!(regions.len(), 4, "{regions:?}");
        client.move_region("moving", key(2000), None).await.unwrap();
        client.flush("moving").await.unwrap();
        assert!(write("second").await);
        client.merge_regions("moving", key(3000)).await.unwrap();
        client.compact("moving", true).await.unwrap();
    };
    let scans = async {
        let mut done = 0;
        let until = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while std::time::Instant::now() < until {
            let found = scan(done % 2 == 1).await;
            let missing: Vec<&String> = all.iter().filter(|key| !found.contains(key)).collect();
            assert!(
                found == all,
                "scan {done} has {} rows, without {missing:?}",
                found.len()
            );
            done += 1;
        }
        done
    };
    let ((), done) = tokio::join!(change, scans);
    assert!(done > 2, "{done}");
    let regions = client.regions("moving").await.unwrap();
    let starts: Vec<&[u8]> = regions.iter().map(|region| &region.start[..]).collect();
    assert_eq!(starts, [&b""[..], key(1500).as_bytes(), key(3000).as_bytes()]);
    let error = client.merge_regions("moving", key(3999)).await.unwrap_err();
    assert!(
        error.to_string().contains("no region behind the last one"),
        "{error}"
    );
    client.disable_table("moving").await.unwrap();
    client.delete_table("moving").await.unwrap();
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

/// Rows of all three regions.
async fn many_rows_are_one_batch(client: &Client) {
    let row = |nth: usize| format!("{}{nth:05}", ["b", "k", "w"][nth % 3]);
    let lock = |nth: usize, time| {
        let put = Mutation::put(row(nth)).cell(CellKind::Put, "c", "v", time, format!("{nth} at {time}"));
        let lock = CheckAndMutate::if_absent(row(nth), "c", "v", 11, LATEST).then(put);
        RowRequest::check_and_mutate("t", lock)
    };
    let taken = async |time| {
        let locks = (0..3000).map(|nth| lock(nth, time)).collect();
        let outcomes = client.batch(locks).await;
        outcomes
            .into_iter()
            .filter(|outcome| outcome.as_ref().unwrap().processed)
            .count()
    };
    assert_eq!(taken(1000).await, 3000, "the first takes all");
    assert_eq!(taken(1001).await, 0, "the second none");
    let gets = (0..3000)
        .rev()
        .map(|nth| RowRequest::get("t", Get::new(row(nth))));
    let found = client.batch(gets.collect()).await;
    for (nth, outcome) in (0..3000).rev().zip(found) {
        let found = outcome.unwrap().row;
        assert_eq!(found.key(), row(nth).as_bytes());
        assert_eq!(
            found.value(b"c", b"v").unwrap(),
            format!("{nth} at 1000").as_bytes()
        );
    }
    let deletes = (0..3000).map(|nth| {
        let marker = Mutation::delete(row(nth)).cell(CellKind::DeleteFamily, "c", "", LATEST, "");
        RowRequest::mutate("t", marker)
    });
    assert!(client.batch(deletes.collect()).await.iter().all(Result::is_ok));
    assert_eq!(scanned(client, "t", Scan::range("b", "c")).await, []);
}

async fn outcomes_of_a_batch_are_of_their_requests(client: &Client) {
    let increment = || RowRequest::mutate("t", Mutation::increment("n", "d", "n", 3));
    let outcomes = client
        .batch(vec![
            increment(),
            RowRequest::mutate("t", put("m", "none", 1, "x")),
            RowRequest::get("t", Get::new("a")),
            RowRequest::get("gone", Get::new("a")),
            RowRequest::get("t", Get::new("nothing")),
            RowRequest::check_and_mutate("t", CheckAndMutate::if_absent("m", "d", "v", 0, LATEST)),
            increment(),
            RowRequest::mutate("t", put("m", "d", 1, "y")),
        ])
        .await;
    let texts = outcomes.iter().map(|outcome| match outcome {
        Ok(done) => format!("{} cells", done.row.cells.len()),
        Err(error) => error.class().map_or_else(|| error.to_string(), str::to_owned),
    });
    let texts: Vec<String> = texts.collect();
    assert_eq!(
        texts,
        [
            "1 cells",
            "NoSuchColumnFamilyException",
            "1 cells",
            "table \"default:gone\" does not exist",
            "0 cells",
            "invalid conditional change: it needs mutations, all of the row of the condition",
            "1 cells",
            "0 cells",
        ]
    );
    let number = |nth: usize| outcomes[nth].as_ref().unwrap().row.value(b"d", b"n").unwrap()[7];
    assert_eq!(number(0) + number(6), 9, "3 and 6, in any order");
    assert!(client.batch(Vec::new()).await.is_empty());
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

/// Returns the keys and values that a scan gives.
async fn scanned(client: &Client, table: &str, scan: Scan) -> Vec<(String, usize)> {
    let mut scanner = client.scan(table, scan);
    let mut found = Vec::new();
    while let Some(row) = scanner.next().await.unwrap() {
        let bytes = row.cells.iter().map(|cell| cell.value.len()).sum();
        found.push((String::from_utf8(row.key().to_vec()).unwrap(), bytes));
    }
    found
}

async fn keys(client: &Client, table: &str, scan: Scan) -> Vec<String> {
    let rows = scanned(client, table, scan).await;
    rows.into_iter().map(|(key, _)| key).collect()
}

/// 300 rows in four regions, each of 2 KiB in 20 cells, so that answers of little memory cut rows in parts.
async fn scans_give_each_row_once_in_order(client: &Client) {
    let splits = ["s050", "s100", "s200"].map(Bytes::from);
    client
        .create_table("s", &[family("d")], splits.to_vec())
        .await
        .unwrap();
    let all: Vec<String> = (0..300).map(|n| format!("s{n:03}")).collect();
    for key in &all {
        let mut row = Mutation::put(key.clone());
        for column in 0..20 {
            row = row.cell(CellKind::Put, "d", format!("c{column:02}"), 7, vec![b'x'; 100]);
        }
        client.mutate("s", row).await.unwrap();
    }
    let whole =
        |keys: &[String]| -> Vec<(String, usize)> { keys.iter().map(|key| (key.clone(), 2000)).collect() };
    for bytes in [1, 500, 10_000, 2 << 20] {
        let found = scanned(client, "s", Scan::all().batch_bytes(bytes)).await;
        assert_eq!(found, whole(&all), "answers of {bytes} bytes");
    }
    let mut turned = all.clone();
    turned.reverse();
    for bytes in [500, 2 << 20] {
        let found = scanned(client, "s", Scan::backward("", "").batch_bytes(bytes)).await;
        assert_eq!(found, whole(&turned), "backward, answers of {bytes} bytes");
    }
    assert_eq!(keys(client, "s", Scan::range("s049", "s102")).await, all[49..102]);
    assert_eq!(
        keys(client, "s", Scan::range("s100", "s200")).await,
        all[100..200]
    );
    assert_eq!(
        keys(client, "s", Scan::backward("s102", "s048")).await,
        turned[197..251]
    );
    assert_eq!(
        keys(client, "s", Scan::backward("s100", "s050")).await,
        turned[199..249]
    );
    for limit in [0, 1, 49, 50, 51, 300, 1000] {
        let first = all.len().min(limit as usize);
        assert_eq!(keys(client, "s", Scan::all().limit(limit)).await, all[..first]);
        assert_eq!(
            keys(client, "s", Scan::backward("", "").limit(limit)).await,
            turned[..first]
        );
    }
    assert!(keys(client, "s", Scan::range("t", "")).await.is_empty());
    assert!(keys(client, "s", Scan::range("", "a")).await.is_empty());
    // A scan that is left before its end does no harm.
    let mut left = client.scan("s", Scan::all().batch_bytes(500));
    assert_eq!(left.next().await.unwrap().unwrap().key(), "s000");
    drop(left);
    let missing = client.scan("none", Scan::all()).next().await;
    assert!(missing.unwrap_err().to_string().contains("does not exist"));
}

async fn filters_let_pass_what_they_say(client: &Client) {
    let range = |from: &'static str, to: &'static str| (Bytes::from(from), Bytes::from(to));
    let ranges = Filter::ranges([range("s010", "s012"), range("s099", "s101"), range("s298", "")]);
    let wanted = ["s010", "s011", "s099", "s100", "s298", "s299"];
    assert_eq!(
        keys(client, "s", Scan::all().filter(ranges.clone())).await,
        wanted
    );
    // The last digit is 5, whatever is between: s?15 and s?25 by the mask.
    let fuzzy = Filter::fuzzy([(Bytes::from("s015"), vec![true, false, true, true])]);
    assert_eq!(
        keys(client, "s", Scan::all().filter(fuzzy.clone())).await,
        ["s015", "s115", "s215"]
    );
    for filter in [ranges, Filter::all([fuzzy.clone()])] {
        let backward = Scan::backward("", "").filter(filter);
        let refused = client.scan("s", backward).next().await.unwrap_err();
        assert!(refused.to_string().contains("backward"), "{refused}");
    }
    let backward = Scan::backward("", "").filter(Filter::row_part(Compare::Equal, "15", 2));
    assert_eq!(keys(client, "s", backward).await, ["s215", "s115", "s015"]);
    let part = Filter::row_part(Compare::GreaterOrEqual, "98", 2);
    let wanted = ["s098", "s099", "s198", "s199", "s298", "s299"];
    assert_eq!(keys(client, "s", Scan::all().filter(part.clone())).await, wanted);
    for (is_measured, expected) in [(true, [Some(&300), Some(&294)]), (false, [None, None])] {
        let shape = Scan::all().filter(part.clone());
        let mut scanner = client.scan("s", if is_measured { shape.measured() } else { shape });
        while scanner.next().await.unwrap().is_some() {}
        let counted = ["ROWS_SCANNED", "ROWS_FILTERED"].map(|name| scanner.metrics().get(name));
        assert_eq!(counted, expected, "{:?}", scanner.metrics());
    }
    let both = Filter::all([part.clone(), Filter::row_key(Compare::Less, "s150")]);
    assert_eq!(
        keys(client, "s", Scan::all().filter(both)).await,
        ["s098", "s099"]
    );
    let either = Filter::any([fuzzy, Filter::row_key(Compare::Equal, "s001")]);
    assert_eq!(
        keys(client, "s", Scan::all().filter(either)).await,
        ["s001", "s015", "s115", "s215"]
    );
    let bare = Filter::all([Filter::first_cell(), Filter::key_only()]);
    let found = scanned(client, "s", Scan::range("s100", "s102").filter(bare)).await;
    assert_eq!(found, [("s100".to_string(), 0), ("s101".to_string(), 0)]);
    // A filter ends a scan with a limit behind rows that pass, not behind rows that are looked at.
    assert_eq!(
        keys(client, "s", Scan::all().filter(part).limit(3)).await,
        ["s098", "s099", "s198"]
    );
}

async fn a_scan_at_a_time_is_a_snapshot(client: &Client) {
    for (row, time, value) in [("s000", 8, "new"), ("s150", 9, "newer")] {
        let change = Mutation::put(row).cell(CellKind::Put, "d", "c00", time, value);
        client.mutate("s", change).await.unwrap();
    }
    let gone = Mutation::delete("s001").cell(CellKind::DeleteFamily, "d", "", 9, "");
    client.mutate("s", gone).await.unwrap();
    let at = |time: u64| Scan::range("s000", "s002").times(0, time);
    let before = scanned(client, "s", at(8)).await;
    assert_eq!(before, [("s000".to_string(), 2000), ("s001".to_string(), 2000)]);
    assert_eq!(scanned(client, "s", at(9)).await[0].1, 1900 + 3);
    assert_eq!(
        scanned(client, "s", at(10)).await,
        [("s000".to_string(), 1900 + 3)]
    );
    let only = Scan::all().times(0, 100).family_times("d", 9, 10);
    assert_eq!(scanned(client, "s", only).await, [("s150".to_string(), 5)]);
    let all = Scan::range("s150", "s151").family("d").versions(10);
    assert_eq!(scanned(client, "s", all).await, [("s150".to_string(), 2005)]);
    client.disable_table("s").await.unwrap();
    client.delete_table("s").await.unwrap();
}
