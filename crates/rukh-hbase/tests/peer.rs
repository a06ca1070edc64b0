//! The client against a peer that answers with bytes of the test's choice: damage ends in an error, never in a panic or in memory without end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use prost::Message;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh_hbase::proto::common::NameBytesPair;
use rukh_hbase::proto::data::{
    MultiRequest, MultiResponse, RegionActionResult, Result as RowResult, ResultOrException, ScanRequest,
    ScanResponse,
};
use rukh_hbase::{
    CellKind, CheckAndMutate, Client, Error, Get, LATEST, Mutation, RowRequest, Scan, Settings,
};

#[path = "support/peer.rs"]
mod support;

use support::{Answer, Call, Peer, body, cell};

/// The most memory that the process had so far, KiB.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}

fn client(peer: &Peer) -> Client {
    let settings = Settings {
        operation: Duration::from_millis(600),
        call: Duration::from_millis(200),
        connect: Duration::from_secs(5),
    };
    Client::new(&peer.url, settings).unwrap()
}

/// The answer to a multi of gets: each row has a cell with its own name.
fn rows_of(call: &Call) -> Answer {
    let request = MultiRequest::decode(call.message.clone()).unwrap();
    let mut cells = Vec::new();
    let results = request.region_action.iter().map(|action| {
        let results = action.action.iter().map(|action| {
            if let Some(get) = &action.get {
                cells.extend(cell(&get.row, "d", "v", &get.row));
            }
            ResultOrException {
                index: action.index,
                result: Some(RowResult {
                    associated_cell_count: action.get.as_ref().map(|_| 1),
                    ..RowResult::default()
                }),
                exception: None,
            }
        });
        RegionActionResult {
            result_or_exception: results.collect(),
            exception: None,
            processed: Some(true),
        }
    });
    let response = MultiResponse {
        region_action_result: results.collect(),
        processed: Some(true),
    };
    Answer::Well(response.encode_to_vec(), cells)
}

/// An answer in which each region, or each action, has an exception.
fn refused(call: &Call, class: &str, of_actions: bool) -> Answer {
    let request = MultiRequest::decode(call.message.clone()).unwrap();
    let exception = || {
        Some(NameBytesPair {
            name: class.to_string(),
            value: Some(Bytes::from(format!("{class}: as the script says"))),
        })
    };
    let results = request.region_action.iter().map(|action| match of_actions {
        false => RegionActionResult {
            exception: exception(),
            ..RegionActionResult::default()
        },
        true => RegionActionResult {
            result_or_exception: action
                .action
                .iter()
                .map(|action| ResultOrException {
                    index: action.index,
                    result: None,
                    exception: exception(),
                })
                .collect(),
            ..RegionActionResult::default()
        },
    });
    let response = MultiResponse {
        region_action_result: results.collect(),
        processed: None,
    };
    Answer::Well(response.encode_to_vec(), Vec::new())
}

fn change(row: &'static str) -> CheckAndMutate {
    let put = Mutation::put(row).cell(CellKind::Put, "d", "v", LATEST, "x");
    CheckAndMutate::if_absent(row, "d", "v", 0, LATEST).then(put)
}

/// Where an exception stands.
#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Call,
    Region,
    Action,
}

#[tokio::test]
async fn exceptions_that_pass_are_tried_again() {
    let hbase = "org.apache.hadoop.hbase";
    for (class, is_looked_up_again) in [
        ("NotServingRegionException", true),
        ("exceptions.RegionMovedException", true),
        ("regionserver.WrongRegionException", true),
        ("regionserver.RegionServerStoppedException", true),
        ("exceptions.RegionOpeningException", false),
        ("RegionTooBusyException", false),
        ("CallQueueTooBigException", false),
        ("ipc.ServerNotRunningYetException", false),
        ("quotas.RpcThrottlingException", false),
    ] {
        let class: &'static str = format!("{hbase}.{class}").leak();
        for at in [At::Call, At::Region, At::Action] {
            let peer = Peer::start(move |call| match (call.nth, at) {
                (0, At::Call) => Answer::Exception(class, false),
                (0, _) => refused(call, class, at == At::Action),
                _ => rows_of(call),
            })
            .await;
            let row = client(&peer).get("t", Get::new("a")).await.unwrap();
            assert_eq!(row.value(b"d", b"v").unwrap(), "a", "{class} {at:?}");
            assert_eq!(peer.calls(), 2, "{class} {at:?}");
            assert_eq!(
                peer.lookups(),
                1 + usize::from(is_looked_up_again),
                "{class} {at:?}"
            );
        }
    }
}

#[tokio::test]
async fn exceptions_that_stay_and_those_that_nobody_knows_are_errors_with_their_class() {
    for (class, do_not_retry, tries) in [
        ("org.apache.hadoop.hbase.DoNotRetryIOException", true, 1..=1),
        (
            "org.apache.hadoop.hbase.regionserver.NoSuchColumnFamilyException",
            false,
            1..=1,
        ),
        ("com.example.Unheard$Of", true, 1..=1),
        // It may pass: a read is tried until the time is up.
        ("com.example.Unheard$Of", false, 2..=100),
        ("", false, 2..=100),
    ] {
        for at in [At::Call, At::Region, At::Action] {
            if do_not_retry && at != At::Call && class.starts_with("com") {
                // There is no flag within the answer to a multi.
                continue;
            }
            let peer = Peer::start(move |call| match at {
                At::Call => Answer::Exception(class, do_not_retry),
                _ => refused(call, class, at == At::Action),
            })
            .await;
            let error = client(&peer).get("t", Get::new("a")).await.unwrap_err();
            assert!(error.to_string().contains(class), "{error}");
            assert!(tries.contains(&peer.calls()), "{class} {at:?}: {}", peer.calls());
            // What must not be done twice is not tried twice.
            let before = peer.calls();
            let error = client(&peer)
                .check_and_mutate("t", change("a"))
                .await
                .unwrap_err();
            assert!(error.to_string().contains(class), "{error}");
            assert_eq!(peer.calls() - before, 1, "{class} {at:?}");
        }
    }
}

#[tokio::test]
async fn a_change_without_an_answer_is_not_sent_twice() {
    let torn = Answer::Raw(1000, vec![1, 2, 3]);
    for answer in [
        Answer::Nothing,
        Answer::Close,
        torn,
        Answer::Raw(u32::MAX, Vec::new()),
        Answer::Well(vec![0xff; 10], Vec::new()),
        // An answer for another call.
        Answer::Raw(4, vec![2, 8, 99, 0]),
    ] {
        let peer = Peer::start(move |_| answer.clone()).await;
        let error = client(&peer)
            .check_and_mutate("t", change("a"))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
        assert_eq!(peer.calls(), 1, "{error}");
        let increment = Mutation::increment("a", "d", "v", 1);
        let error = client(&peer).mutate("t", increment).await.unwrap_err();
        assert!(matches!(error, Error::OutcomeUnknown { .. }), "{error:?}");
        assert_eq!(peer.calls(), 2, "{error}");
    }
}

#[tokio::test]
async fn requests_of_a_batch_have_outcomes_of_their_own() {
    // The first answer has a row, a region that has moved, and an action that is refused.
    let peer = Peer::start(|call| {
        let Answer::Well(message, cells) = rows_of(call) else {
            unreachable!("it has rows");
        };
        if call.nth > 0 {
            return Answer::Well(message, cells);
        }
        let mut response = MultiResponse::decode(&message[..]).unwrap();
        let pair = |class: &str| {
            Some(NameBytesPair {
                name: class.to_string(),
                value: None,
            })
        };
        let [first, second] = &mut response.region_action_result[..] else {
            panic!("there are two regions");
        };
        let last = first.result_or_exception.last_mut().unwrap();
        *last = ResultOrException {
            index: last.index,
            result: None,
            exception: pair("org.apache.hadoop.hbase.DoNotRetryIOException"),
        };
        *second = RegionActionResult {
            exception: pair("org.apache.hadoop.hbase.NotServingRegionException"),
            ..RegionActionResult::default()
        };
        Answer::Well(response.encode_to_vec(), cell(b"a", "d", "v", b"a"))
    })
    .await;
    let gets = ["a", "b", "z"].map(|row| RowRequest::get("t", Get::new(row)));
    let outcomes = client(&peer).batch(gets.into()).await;
    let value = |at: usize| {
        outcomes[at]
            .as_ref()
            .map(|done| done.row.value(b"d", b"v").cloned())
    };
    assert_eq!(value(0).unwrap().unwrap(), "a");
    assert_eq!(value(1).unwrap_err().class(), Some("DoNotRetryIOException"));
    assert_eq!(value(2).unwrap().unwrap(), "z");
    assert_eq!(peer.calls(), 2);
}

fn scan_answer(rows: &[(&str, bool)], id: u64, more: bool, more_in_region: bool) -> Answer {
    let response = ScanResponse {
        cells_per_result: vec![1; rows.len()],
        partial_flag_per_result: rows.iter().map(|(_, is_partial)| *is_partial).collect(),
        scanner_id: Some(id),
        more_results: Some(more),
        more_results_in_region: Some(more_in_region),
        heartbeat_message: Some(rows.is_empty()),
        ..ScanResponse::default()
    };
    let cells: Vec<u8> = rows
        .iter()
        .flat_map(|(row, _)| cell(row.as_bytes(), "d", "v", row.as_bytes()))
        .collect();
    Answer::Well(response.encode_to_vec(), cells)
}

/// Parts of rows, heartbeats, a scanner that has expired within a row, a region that has moved: each row comes once, whole.
#[tokio::test]
async fn a_scan_goes_on_where_it_was() {
    let lost = "org.apache.hadoop.hbase.UnknownScannerException";
    let moved = "org.apache.hadoop.hbase.NotServingRegionException";
    let peer = Peer::start(move |call| {
        let request = ScanRequest::decode(call.message.clone()).unwrap();
        let begins = request
            .scan
            .map(|scan| (scan.start_row.unwrap(), scan.include_start_row.unwrap()));
        let from = |row: &'static str, includes: bool| Some((Bytes::from(row), includes));
        let expected = match call.nth {
            0 => from("", true),
            3 | 5 => from("b", false),
            6 => from("m", true),
            _ => None,
        };
        assert_eq!(begins, expected, "call {}", call.nth);
        match call.nth {
            0 => scan_answer(&[("a", false), ("b", false), ("c", true)], 7, true, true),
            1 => scan_answer(&[], 7, true, true),
            2 => Answer::Exception(lost, true),
            3 => scan_answer(&[("c", true)], 8, true, true),
            4 => Answer::Exception(moved, false),
            5 => scan_answer(&[("c", true), ("c", true), ("d", false)], 9, true, false),
            6 => scan_answer(&[("m", false)], 10, false, true),
            _ => Answer::Nothing,
        }
    })
    .await;
    let client = client(&peer);
    let mut scanner = client.scan("t", Scan::all());
    let mut rows = Vec::new();
    while let Some(row) = scanner.next().await.unwrap() {
        rows.push((String::from_utf8_lossy(&row.key()).into_owned(), row.cells.len()));
    }
    let expected = [("a", 1), ("b", 1), ("c", 2), ("d", 1), ("m", 1)];
    assert_eq!(rows, expected.map(|(row, cells)| (row.to_string(), cells)));
    assert_eq!(peer.calls(), 7);
}

/// Answers with bytes changed, cut off, put in, and lengths of frames that are wrong: rows or an error within the time, no panic, bounded memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_of_any_kind_ends_in_rows_or_an_error() {
    static PANICS: AtomicUsize = AtomicUsize::new(0);
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        PANICS.fetch_add(1, Ordering::SeqCst);
        usual(panic);
    }));
    let before = most_memory();
    let (mut rows, mut errors) = (0, 0);
    for seeds in (0..600_u64).collect::<Vec<_>>().chunks(30) {
        let all = seeds.iter().map(|seed| attempt(*seed));
        for outcome in futures::future::join_all(all).await {
            match outcome {
                Ok(()) => rows += 1,
                Err(_) => errors += 1,
            }
        }
    }
    assert!(rows > 10 && errors > 100, "{rows} {errors}");
    assert_eq!(PANICS.load(Ordering::SeqCst), 0);
    let more = most_memory() - before;
    assert!(more < 64 << 10, "{more} KiB");
}

/// Reads rows of a peer whose first answers are damaged, by gets or a scan.
async fn attempt(seed: u64) -> Result<(), Error> {
    let damaged = Arc::new(AtomicUsize::new(0));
    let peer = Peer::start(move |call| {
        let answer = match call.method.as_str() {
            "Multi" => rows_of(call),
            _ => scan_answer(&[("a", false), ("b", true), ("b", false)], 7, false, false),
        };
        let Answer::Well(message, cells) = answer else {
            return answer;
        };
        match damaged.fetch_add(1, Ordering::Relaxed) {
            0 => damage(body(call.id, &message, &cells), seed),
            _ => Answer::Close,
        }
    })
    .await;
    let client = client(&peer);
    match seed % 2 {
        0 => {
            let gets = ["a", "b", "c"].map(|row| RowRequest::get("t", Get::new(row)));
            client
                .batch(gets.into())
                .await
                .into_iter()
                .try_for_each(|done| done.map(|_| ()))
        }
        _ => {
            let mut scanner = client.scan("t", Scan::range("a", "c"));
            while scanner.next().await?.is_some() {}
            Ok(())
        }
    }
}

fn damage(mut bytes: Vec<u8>, seed: u64) -> Answer {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..5) {
            0 => bytes[at] ^= 1 << random.random_range(0..8),
            1 => bytes[at] = 0xff,
            2 => bytes.truncate(at + 1),
            3 => drop(bytes.splice(at..at, std::iter::repeat_n(random.random(), 5))),
            _ => {
                let to = (at + 4).min(bytes.len());
                bytes[at..to].fill(random.random());
            }
        }
    }
    let length = match random.random_range(0..6) {
        0 => random.random(),
        1 => bytes.len() as u32 + 1,
        2 => 255 << 20,
        _ => bytes.len() as u32,
    };
    Answer::Raw(length, bytes)
}

/// The call for rows is the second one of its connection, behind the lookup of the region.
#[tokio::test]
async fn damaged_answers_are_protocol_errors() {
    let cases: [(&str, u32, &[u8]); 6] = [
        ("is longer than", u32::MAX, b""),
        ("header of an answer", 0, b""),
        ("header of an answer", 2, b"\x7f\x08"),
        (
            "no request waits for the answer to call 7",
            4,
            b"\x02\x08\x07\x00",
        ),
        ("contradict", 4, b"\x02\x08\x01\x09"),
        ("contradict", 8, b"\x06\x08\x01\x1a\x02\x08\x7f\x00"),
    ];
    for (reason, length, bytes) in cases {
        let answer = Answer::Raw(length, bytes.to_vec());
        let peer = Peer::start(move |_| answer.clone()).await;
        let error = client(&peer).get("t", Get::new("a")).await.unwrap_err();
        assert!(matches!(error, Error::Protocol { .. }), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn silence_and_torn_frames_end_with_the_deadline() {
    for answer in [
        Answer::Nothing,
        Answer::Close,
        Answer::Raw(0x1000, b"abc".to_vec()),
    ] {
        let peer = Peer::start(move |_| answer.clone()).await;
        let error = client(&peer).get("t", Get::new("a")).await.unwrap_err();
        assert!(matches!(error, Error::Deadline { .. }), "{error}");
        assert!(peer.calls() > 1, "{error}");
    }
}
