//! The store on a real HBase, which the test starts and ends: what every store must do, and what is special to this one.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::test_runner::{Config, TestRunner};
use rukh_hbase_store::{HbaseStore, Options};
use rukh_keys::KeyRange;
use rukh_kv::{Durability, KvError, KvStore, ScanSpec, TableOptions, WriteBatch};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;
#[allow(dead_code)]
#[path = "../../rukh-kv/tests/stores/scans.rs"]
mod scans;
#[allow(dead_code)]
#[path = "../../rukh-kv/tests/stores/suite.rs"]
mod suite;

fn open(url: &str) -> HbaseStore {
    let options = Options {
        merge: Some(Arc::new(suite::Append)),
        ..Options::default()
    };
    HbaseStore::open(url, options).unwrap()
}

#[test]
fn the_store_holds_on_a_real_server() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let begun = Instant::now();
    let done = |what: &str| println!("{:6.1} s  {what}", begun.elapsed().as_secs_f64());
    suite::run(&open(&server.namespace("suite")));
    done("the conformance suite");
    scans_are_filters(&open(&server.namespace("scans")));
    done("scans are filters");
    what_is_written_is_there_after_a_reopen(&server.namespace("reopen"));
    done("reopened");
    one_process_has_it(&server.namespace("owner"));
    done("one owner");
    many_ranges_are_read(&open(&server.namespace("ranges")));
    done("many ranges");
    lost_answers_are_looked_up(&open(&server.namespace("lost")));
    done("lost answers");
    what_is_too_long_is_refused(&open(&server.namespace("long")));
    done("too long");
}

fn scans_are_filters(store: &HbaseStore) {
    let mut runner = TestRunner::new(Config {
        cases: 12,
        failure_persistence: None,
        ..Config::default()
    });
    let cases = (scans::changes(), vec(scans::scan(), 1..8));
    let number = std::cell::Cell::new(0);
    let checked = runner.run(&cases, |(changes, scans)| {
        number.set(number.get() + 1);
        scans::scans_are_filters(store, &format!("t{}", number.get()), &changes, &scans)
    });
    checked.unwrap();
}

fn what_is_written_is_there_after_a_reopen(url: &str) {
    let nothing = HbaseStore::open(
        url,
        Options {
            create: false,
            ..Options::default()
        },
    );
    assert!(matches!(nothing.err(), Some(KvError::NotFound { .. })));
    for round in 0..3 {
        let store = open(url);
        let expected: Vec<String> = (0..round).map(|round| format!("k{round}={round}")).collect();
        if round > 0 {
            assert_eq!(store.tables(), ["t"]);
            assert_eq!(suite::all(&*store.snapshot(), "t"), expected.join(" "));
        } else {
            suite::table(&store, "t");
            suite::table(&store, "dropped");
            store.drop_table("dropped").unwrap();
        }
        suite::write(&store, "t", &format!("k{round}={round}"));
        if round == 1 {
            store.compact("t").unwrap();
        }
    }
}

/// A second one is refused while the first lives; and the first cannot write once it was taken for dead.
fn one_process_has_it(url: &str) {
    let first = open(url);
    suite::table(&first, "t");
    let second = HbaseStore::open(url, Options::default());
    let error = second.err().unwrap();
    assert_eq!(error.to_string(), format!("database \"{url}\" is already open"));
    suite::write(&first, "t", "a=1");
    first.take_over_for_test();
    let mut batch = WriteBatch::new();
    batch.put("t", b"a", b"2");
    let refused = first.write(batch.clone(), Durability::Synced).unwrap_err();
    assert!(matches!(refused, KvError::TakenOver { .. }), "{refused}");
    let refused = first.snapshot().scan("t", ScanSpec::all()).err().unwrap();
    assert!(matches!(refused, KvError::TakenOver { .. }), "{refused}");
    let begun = Instant::now();
    let next = open(url);
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(suite::all(&*next.snapshot(), "t"), "a=1");
    next.write(batch, Durability::Synced).unwrap();
    assert_eq!(suite::all(&*next.snapshot(), "t"), "a=2");
}

/// More ranges than one request has: no row is lost, nor comes twice, in either direction.
fn many_ranges_are_read(store: &HbaseStore) {
    suite::table(store, "t");
    let mut batch = WriteBatch::new();
    for n in (0_u32..30_000).step_by(7) {
        batch.put("t", &n.to_be_bytes(), b"v");
    }
    store.write(batch, Durability::Synced).unwrap();
    let bytes = |n: u32| n.to_be_bytes().to_vec();
    let range = |n: u32| KeyRange {
        start: bytes(n),
        limit: Some(bytes(n + 1)),
    };
    let ranges: Vec<KeyRange> = (0..30_000).step_by(2).map(range).collect();
    let mut expected: Vec<Vec<u8>> = (0..30_000).step_by(14).map(bytes).collect();
    for spec in [
        ScanSpec::ranges(ranges.clone()),
        ScanSpec::ranges(ranges).reversed(),
    ] {
        let mut cursor = store.snapshot().scan("t", spec).unwrap();
        let mut shown = Vec::new();
        while let Some(entry) = cursor.next().unwrap() {
            shown.push(entry.key.to_vec());
        }
        assert_eq!(shown.len(), expected.len());
        assert!(shown == expected);
        expected.reverse();
    }
}

/// The answer to a write is lost: readers and writers that come later see it all the same, with tables that it made or dropped.
fn lost_answers_are_looked_up(store: &HbaseStore) {
    let is_unknown =
        |result: Result<(), KvError>| assert!(matches!(result, Err(KvError::OutcomeUnknown { .. })));
    let options = TableOptions::default();
    store.lose_answer_for_test();
    is_unknown(store.create_table("t", &options));
    assert_eq!(store.snapshot().tables(), ["t"]);
    let before = store.snapshot();
    let mut batch = WriteBatch::new();
    batch.put("t", b"a", b"1");
    store.lose_answer_for_test();
    is_unknown(store.write(batch.clone(), Durability::Synced));
    assert_eq!(suite::all(&*before, "t"), "");
    assert_eq!(suite::all(&*store.latest(), "t"), "a=1");
    store.lose_answer_for_test();
    is_unknown(store.write(batch, Durability::Synced));
    suite::write(store, "t", "b=2");
    assert_eq!(suite::all(&*store.snapshot(), "t"), "a=1 b=2");
    store.lose_answer_for_test();
    is_unknown(store.drop_table("t"));
    let gone = store.snapshot().scan("t", ScanSpec::all()).err().unwrap();
    assert!(matches!(gone, KvError::UnknownTable { .. }), "{gone}");
    suite::table(store, "t");
    assert_eq!(suite::all(&*store.snapshot(), "t"), "");
}

fn what_is_too_long_is_refused(store: &HbaseStore) {
    suite::table(store, "t");
    let long = vec![7; 10 << 20];
    let cases = [
        (&long[..32_763], &b"v"[..], true),
        (&long[..32_764], b"v", false),
        (b"k", &long[..], false),
        (b"k", &long[..9 << 20], true),
    ];
    for (key, value, fits) in cases {
        let mut batch = WriteBatch::new();
        batch.put("t", key, value);
        match store.write(batch, Durability::Synced) {
            Ok(()) => assert!(fits, "{} {}", key.len(), value.len()),
            Err(error) => assert!(!fits && matches!(error, KvError::TooLong { .. }), "{error}"),
        }
    }
    let read = store.snapshot().get("t", b"k").unwrap();
    assert_eq!(read.map(|value| value.len()), Some(9 << 20));
    assert_eq!(store.snapshot().count("t", ScanSpec::all()).unwrap().0, 2);
}
