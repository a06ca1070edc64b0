//! Transactions on a real HBase, which the test starts and ends.
//!
//! The store of the simulation in `rukh-commit` says what each step does; here the same steps are taken on HBase, and the answers compared. Then processes move money between accounts, some
//! of which die, while others add up.

#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use rukh_commit::{Aborted, Change, Found, Lock, Outcome, Progress, Reply, Request, TransactionId};
use rukh_hbase::{CellKind, CheckAndMutate, Client, LATEST, Mutation, Scan};
use rukh_hbase_store::{Began, Error, Range, Row, Settings, Transactions};

#[path = "../../../tests/hbase/fixture.rs"]
mod fixture;
#[allow(dead_code)]
#[path = "../../rukh-commit/tests/simulation/store.rs"]
mod store;

use store::{Rep, Req, Store};

#[tokio::test(flavor = "multi_thread")]
async fn transactions_hold_on_a_real_server() {
    let Some(server) = fixture::Server::start() else {
        return;
    };
    let client = Client::new(&server.url, rukh_hbase::Settings::default()).unwrap();
    let settings = Settings {
        lifetime: Duration::from_secs(1),
        ..Settings::default()
    };
    let transactions = Arc::new(Transactions::open(client.clone(), settings).await.unwrap());
    let cuts = ["d", "h"].map(Bytes::from);
    transactions.create_table("t", cuts.into()).await.unwrap();
    the_simulated_store_answers_as_hbase_does(&transactions).await;
    the_definitions_stand_under_the_commit(&client, &transactions).await;
    money_is_neither_made_nor_lost(&client, &transactions).await;
    outcomes_are_kept_until_they_are_settled(&client).await;
    what_a_snapshot_shows_outlives_compactions(&client, &transactions).await;
    let accounts = ["anna", "bert"].map(|name| Row::new("accounts", name));
    for left in ["70", "40"] {
        server.run_example("transfer");
        let now = transactions.begin().await.unwrap().start;
        let values = transactions.read(&accounts, now).await.unwrap();
        assert_eq!(values[0].as_deref(), Some(left.as_bytes()));
    }
}

/// A row that was written long ago, and is written or deleted now: a snapshot before that still shows the old value, whatever is
/// compacted.
async fn what_a_snapshot_shows_outlives_compactions(client: &Client, transactions: &Transactions) {
    let long_ago = transactions.begin().await.unwrap().start - 3_600_000;
    let rows = ["a written", "x deleted"].map(|key| Row::new("t", key));
    for (nth, row) in rows.iter().enumerate() {
        let lock = Lock {
            id: TransactionId(500 + nth as u128),
            start: long_ago,
            placed: long_ago,
            primary: row.clone(),
            change: Change::Put(Bytes::from("old")),
        };
        let (row, at) = (row.clone(), long_ago + 1);
        for step in [
            Request::Lock {
                row: row.clone(),
                lock: lock.clone(),
            },
            Request::Commit {
                row: row.clone(),
                lock,
                at,
            },
        ] {
            assert_eq!(transactions.step(step).await.unwrap(), Reply::Done);
        }
    }
    let began = transactions.begin().await.unwrap();
    let changes = [Change::Put(Bytes::from("new")), Change::Delete];
    let changes = rows.iter().cloned().zip(changes).collect();
    let Progress::Committed(at) = transactions.commit(began, changes).await.unwrap() else {
        panic!("nothing is in its way");
    };
    for _ in 0..2 {
        let old = transactions.read(&rows, began.start).await.unwrap();
        assert_eq!(
            old,
            [(); 2].map(|()| Some(Bytes::from("old"))),
            "at {} of {at}",
            began.start
        );
        let new = transactions.read(&rows, at).await.unwrap();
        assert_eq!(new, [Some(Bytes::from("new")), None]);
        client.flush("t").await.unwrap();
        client.compact("t", true).await.unwrap();
        client.wait_until_compacted("t").await.unwrap();
    }
    forgotten(client, transactions, &rows, (began.start, at)).await;
}

/// What is replaced before the horizon goes: all but the newest value of a row that is there, everything of one that is deleted.
async fn forgotten(client: &Client, transactions: &Transactions, rows: &[Row; 2], (old, new): (u64, u64)) {
    let stored = async || {
        let mut scanner = client.scan("t", Scan::all().family("d").versions(1000));
        let mut counts = BTreeMap::new();
        while let Some(row) = scanner.next().await.unwrap() {
            counts.insert(row.key(), row.cells.len());
        }
        rows.clone().map(|row| counts.get(&row.key).copied())
    };
    let before = stored().await;
    assert_eq!(before, [Some(2), Some(2)]);
    // Nothing that this one still shows is behind its horizon.
    transactions.forget("t").await.unwrap();
    assert_eq!(stored().await, before);
    let hasty = Transactions::open(
        client.clone(),
        Settings {
            records: Duration::from_millis(1),
            ..Settings::default()
        },
    );
    let hasty = hasty.await.unwrap();
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    while stored().await != [Some(1), None] {
        assert!(hasty.forget("t").await.is_ok() && tokio::time::Instant::now() < until);
    }
    let values = transactions.read(rows, new).await.unwrap();
    assert_eq!(values, [Some(Bytes::from("new")), None]);
    let refused = hasty.read(rows, old).await.unwrap_err();
    assert!(matches!(refused, Error::SnapshotTooOld { .. }), "{refused}");
    let began = Began {
        start: old,
        version: 2,
    };
    let refused = hasty
        .commit(began, [(rows[0].clone(), Change::Delete)].into())
        .await
        .unwrap_err();
    assert!(refused.to_string().contains("too old"), "{refused}");
    // Records are kept for ten minutes, and a transaction may last half of that.
    let now = transactions.begin().await.unwrap().start;
    for (minutes, is_refused) in [(6, true), (4, false)] {
        let began = Began {
            start: now - minutes * 60_000,
            version: 2,
        };
        let changes = [(Row::new("t", "other"), Change::Keep)].into();
        let committed = transactions.commit(began, changes).await;
        assert_eq!(committed.is_err(), is_refused, "{minutes} minutes: {committed:?}");
    }
}

/// With a lifetime of a second for records: a record goes, an outcome stays until it is settled, and then it goes.
async fn outcomes_are_kept_until_they_are_settled(client: &Client) {
    let settings = Settings {
        records: Duration::from_secs(1),
        ..Settings::default()
    };
    let transactions = Transactions::open(client.clone(), settings).await.unwrap();
    let (primary, id) = (Row::new("t", "settled"), TransactionId(77));
    let start = transactions.begin().await.unwrap().start;
    // Many processes do not set it forward more than one does.
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap();
    let ahead = start.saturating_sub(since.as_millis() as u64);
    assert!(ahead < 1000, "the clock is {ahead} ms ahead");
    let lock = Lock {
        id,
        start,
        placed: start,
        primary: primary.clone(),
        change: Change::Put(Bytes::from("kept")),
    };
    let at = start + 1;
    let row = primary.clone();
    for step in [
        Request::Lock {
            row: row.clone(),
            lock: lock.clone(),
        },
        Request::Commit {
            row: row.clone(),
            lock,
            at,
        },
    ] {
        assert_eq!(transactions.step(step).await.unwrap(), Reply::Done);
    }
    let inspect = Request::Inspect { row, after: start };
    let ask = || Request::Outcome {
        primary: primary.clone(),
        id,
    };
    let found = async |request: Request<Row, Bytes>| transactions.step(request).await.unwrap();
    let outcome = |outcome| Reply::Outcome {
        outcome,
        is_locked: false,
    };
    let nothing = Reply::Found(Found {
        record: None,
        lock: None,
    });
    let until = tokio::time::Instant::now() + Duration::from_secs(30);
    while found(inspect.clone()).await != nothing {
        assert!(tokio::time::Instant::now() < until, "the record stays");
    }
    client.flush("t").await.unwrap();
    client.compact("t", true).await.unwrap();
    client.wait_until_compacted("t").await.unwrap();
    assert_eq!(found(ask()).await, outcome(Some(Outcome::Committed(at))));
    for _ in 0..2 {
        let settle = Request::Settle {
            primary: primary.clone(),
            id,
            at,
        };
        assert_eq!(found(settle).await, Reply::Done);
    }
    while found(ask()).await != outcome(None) {
        assert!(tokio::time::Instant::now() < until, "the outcome stays");
    }
    assert_eq!(
        transactions
            .read(&[primary], transactions.begin().await.unwrap().start)
            .await
            .unwrap(),
        [Some(Bytes::from("kept"))]
    );
}

/// What the model's names and times are on HBase, in one round.
#[derive(Clone, Copy)]
struct Round {
    number: usize,
    /// The model's time 0: records live as long as their times are near now.
    zero: u64,
}

impl Round {
    fn row(self, row: store::Row) -> Row {
        Row::new("t", format!("{}{}", ["a", "e", "x"][row as usize], self.number))
    }

    fn id(self, id: TransactionId) -> TransactionId {
        TransactionId(id.0 + 100 * self.number as u128)
    }

    fn lock(self, lock: &Lock<store::Row, store::Value>) -> Lock<Row, Bytes> {
        Lock {
            id: self.id(lock.id),
            start: lock.start + self.zero,
            placed: lock.placed + self.zero,
            primary: self.row(lock.primary),
            change: match lock.change {
                Change::Put(value) => Change::Put(Bytes::from(vec![value])),
                Change::Delete => Change::Delete,
                Change::Keep => Change::Keep,
            },
        }
    }

    fn request(self, request: &Req) -> Request<Row, Bytes> {
        match request {
            Request::Lock { row, lock } => Request::Lock {
                row: self.row(*row),
                lock: self.lock(lock),
            },
            Request::Inspect { row, after } => Request::Inspect {
                row: self.row(*row),
                after: *after + self.zero,
            },
            Request::Tick { version } => Request::Tick { version: *version },
            Request::Commit { row, lock, at } => Request::Commit {
                row: self.row(*row),
                lock: self.lock(lock),
                at: *at + self.zero,
            },
            Request::Outcome { primary, id } => Request::Outcome {
                primary: self.row(*primary),
                id: self.id(*id),
            },
            Request::RollBack { primary, id, at } => Request::RollBack {
                primary: self.row(*primary),
                id: self.id(*id),
                at: *at + self.zero,
            },
            Request::Unlock { row, id } => Request::Unlock {
                row: self.row(*row),
                id: self.id(*id),
            },
            Request::Settle { primary, id, at } => Request::Settle {
                primary: self.row(*primary),
                id: self.id(*id),
                at: *at + self.zero,
            },
        }
    }

    fn reply(self, reply: &Rep) -> Reply<Row, Bytes> {
        match reply {
            Reply::Done => Reply::Done,
            Reply::Refused => Reply::Refused,
            Reply::Time(time) => Reply::Time(*time),
            Reply::Found(found) => Reply::Found(Found {
                record: found.record.map(|record| record + self.zero),
                lock: found.lock.as_ref().map(|lock| self.lock(lock)),
            }),
            Reply::Outcome { outcome, is_locked } => Reply::Outcome {
                outcome: outcome.map(|outcome| match outcome {
                    Outcome::Committed(at) => Outcome::Committed(at + self.zero),
                    Outcome::RolledBack => Outcome::RolledBack,
                }),
                is_locked: *is_locked,
            },
        }
    }
}

/// Steps of four transactions on three rows, in any order.
struct Steps {
    random: StdRng,
    starts: [u64; 4],
    primaries: [store::Row; 4],
    /// Locks that were removed: HBase's marker hides a second lock at its time, the model does not.
    gone: HashSet<(TransactionId, store::Row)>,
}

impl Steps {
    fn next(&mut self) -> Req {
        let nth = self.random.random_range(0..4_usize);
        let (id, start, primary) = (
            TransactionId(nth as u128 + 1),
            self.starts[nth],
            self.primaries[nth],
        );
        let row = self.random.random_range(0..3);
        let change = match (nth + row as usize) % 4 {
            0 => Change::Delete,
            1 => Change::Keep,
            _ => Change::Put(nth as u8),
        };
        let lock = Lock {
            id,
            start,
            placed: start,
            primary,
            change,
        };
        // Times that the clock would give.
        let at = start + 20 + nth as u64;
        match self.random.random_range(0..10) {
            0..4 if !self.gone.contains(&(id, row)) => Request::Lock { row, lock },
            0..4 => Request::Inspect { row, after: start },
            4 => Request::Inspect { row, after: start },
            5..7 => {
                self.gone.insert((id, row));
                Request::Commit { row, lock, at }
            }
            7 => Request::Outcome { primary, id },
            8 => {
                self.gone.insert((id, primary));
                Request::RollBack {
                    primary,
                    id,
                    at: at + 100,
                }
            }
            9 if self.random.random() => Request::Settle { primary, id, at },
            _ => {
                self.gone.insert((id, row));
                Request::Unlock { row, id }
            }
        }
    }
}

async fn the_simulated_store_answers_as_hbase_does(transactions: &Transactions) {
    let mut kinds = BTreeMap::new();
    for number in 0..12 {
        let zero = transactions.begin().await.unwrap().start;
        let round = Round { number, zero };
        let mut random = StdRng::seed_from_u64(number as u64);
        let starts = [(); 4].map(|()| random.random_range(10..40));
        let primaries = [(); 4].map(|()| random.random_range(0..3));
        let mut steps = Steps {
            random,
            starts,
            primaries,
            gone: HashSet::new(),
        };
        let mut model = Store::default();
        let mut taken = Vec::new();
        for _ in 0..40 {
            let step = steps.next();
            taken.push(format!("{step:?}"));
            let expected = round.reply(&model.take(&step));
            let found = transactions.step(round.request(&step)).await.unwrap();
            assert_eq!(found, expected, "round {number}: {taken:#?}");
            let kind = format!("{:?}", std::mem::discriminant(&expected));
            *kinds.entry(kind).or_insert(0) += 1;
            let (of, snapshot) = (steps.random.random_range(0..3), steps.random.random_range(0..180));
            let (value, locks) = model.read(of, snapshot);
            let expected = (
                value.map(|value| Bytes::from(vec![value])),
                locks.first().map(|lock| round.lock(lock)),
            );
            let found = transactions
                .read_with_lock(&round.row(of), snapshot + zero)
                .await
                .unwrap();
            assert_eq!(
                found, expected,
                "round {number}, row {of} at {snapshot}: {taken:#?}"
            );
        }
    }
    assert_eq!(kinds.len(), 4, "done, refused, found, outcome: {kinds:?}");
}

/// A commit whose definitions have changed meanwhile fails, and leaves nothing.
async fn the_definitions_stand_under_the_commit(client: &Client, transactions: &Transactions) {
    let rows = ["b", "f"].map(|key| Row::new("t", format!("{key} defined")));
    let changes = || BTreeMap::from(rows.clone().map(|row| (row, Change::Put(Bytes::from("new")))));
    let began = transactions.begin().await.unwrap();
    let version = Mutation::put("clock").cell(
        CellKind::Put,
        "d",
        "version",
        LATEST,
        2_u64.to_be_bytes().to_vec(),
    );
    let old = 1_u64.to_be_bytes().to_vec();
    let bump = CheckAndMutate::if_equal("clock", "d", "version", old, 0, LATEST).then(version);
    assert!(client.check_and_mutate("clock", bump).await.unwrap().processed);
    let refused = transactions.commit(began, changes()).await.unwrap();
    assert_eq!(refused, Progress::Aborted(Aborted::Redefined));
    let began = transactions.begin().await.unwrap();
    assert_eq!(began.version, 2);
    assert_eq!(transactions.read(&rows, began.start).await.unwrap(), [None, None]);
    let Progress::Committed(at) = transactions.commit(began, changes()).await.unwrap() else {
        panic!("nothing is in its way");
    };
    let values = transactions.read(&rows, at).await.unwrap();
    assert!(
        values.iter().all(|value| value.as_deref() == Some(b"new")),
        "{values:?}"
    );
    assert_eq!(transactions.read(&rows, at - 1).await.unwrap(), [None, None]);
}

const ACCOUNTS: usize = 6;
const AMOUNT: i64 = 1000;

fn accounts() -> Vec<Row> {
    (0..ACCOUNTS)
        .map(|nth| Row::new("t", format!("{}account{nth}", ["b", "f", "y"][nth % 3])))
        .collect()
}

fn amount(value: &Option<Bytes>) -> i64 {
    i64::from_be_bytes(value.as_ref().unwrap()[..].try_into().unwrap())
}

fn put(amount: i64) -> Change<Bytes> {
    Change::Put(Bytes::copy_from_slice(&amount.to_be_bytes()))
}

async fn money_is_neither_made_nor_lost(client: &Client, transactions: &Arc<Transactions>) {
    let began = transactions.begin().await.unwrap();
    let filled = accounts().into_iter().map(|row| (row, put(AMOUNT))).collect();
    let filled = transactions.commit(began, filled).await.unwrap();
    assert!(matches!(filled, Progress::Committed(_)), "{filled:?}");
    let until = tokio::time::Instant::now() + Duration::from_secs(8);
    let (moved, died, sums) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
        Arc::new(AtomicU64::new(0)),
    );
    let mut tasks = tokio::task::JoinSet::new();
    for seed in 0..4 {
        let (transactions, moved, died) = (transactions.clone(), moved.clone(), died.clone());
        tasks.spawn(async move {
            let mut random = StdRng::seed_from_u64(seed);
            while tokio::time::Instant::now() < until {
                // Dropped at its time, it is a process that dies at that step.
                let dies = Duration::from_micros(random.random_range(500..400_000));
                match tokio::time::timeout(dies, transfer(&transactions, &mut random)).await {
                    Ok(true) => moved.fetch_add(1, Ordering::Relaxed),
                    Ok(false) => 0,
                    Err(_) => died.fetch_add(1, Ordering::Relaxed),
                };
            }
        });
    }
    for _ in 0..2 {
        let (transactions, sums) = (transactions.clone(), sums.clone());
        tasks.spawn(async move {
            while tokio::time::Instant::now() < until {
                let began = transactions.begin().await.unwrap();
                let values = transactions.read(&accounts(), began.start).await.unwrap();
                let sum: i64 = values.iter().map(amount).sum();
                assert_eq!(sum, AMOUNT * ACCOUNTS as i64, "{values:?} at {}", began.start);
                let mut expected: Vec<(Bytes, Bytes)> = accounts()
                    .into_iter()
                    .zip(values)
                    .map(|(row, value)| (row.key, value.unwrap()))
                    .collect();
                expected.sort();
                for range in ranges() {
                    let found = rows_of(&transactions, range.clone(), began.start).await;
                    assert_eq!(found, expected, "{range:?} at {}", began.start);
                }
                sums.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let regions = async {
        for nth in 0..6 {
            client
                .move_region("t", ["b", "f", "y"][nth % 3], None)
                .await
                .unwrap();
            client.flush("t").await.unwrap();
        }
    };
    let all = async {
        while let Some(task) = tasks.join_next().await {
            task.unwrap()
        }
    };
    tokio::join!(regions, all);
    let began = transactions.begin().await.unwrap();
    let values = transactions.read(&accounts(), began.start).await.unwrap();
    assert_eq!(values.iter().map(amount).sum::<i64>(), AMOUNT * ACCOUNTS as i64);
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    println!(
        "{} transfers, {} that died, {} sums",
        count(&moved),
        count(&died),
        count(&sums)
    );
    assert!(count(&moved) > 20 && count(&died) > 5 && count(&sums) > 5);
}

fn ranges() -> [Range; 2] {
    [Range::forward("", ""), Range::backward("", "")]
}

/// The accounts of a range, ascending.
async fn rows_of(transactions: &Transactions, range: Range, snapshot: u64) -> Vec<(Bytes, Bytes)> {
    let is_backward = range.is_backward;
    let mut rows = transactions.range("t", range, snapshot);
    let mut found = Vec::new();
    while let Some(row) = rows.next().await.unwrap() {
        if row.0.windows(7).any(|part| part == b"account") {
            found.push(row);
        }
    }
    if is_backward {
        found.reverse();
    }
    found
}

/// Moves an amount between two accounts; returns whether it was committed.
async fn transfer(transactions: &Transactions, random: &mut StdRng) -> bool {
    let all = accounts();
    let from = random.random_range(0..ACCOUNTS);
    let to = (from + random.random_range(1..ACCOUNTS)) % ACCOUNTS;
    let rows = [all[from].clone(), all[to].clone()];
    let began = transactions.begin().await.unwrap();
    let values = transactions.read(&rows, began.start).await.unwrap();
    let amounts = [amount(&values[0]) - 7, amount(&values[1]) + 7];
    let changes = rows.into_iter().zip(amounts.map(put)).collect();
    matches!(
        transactions.commit(began, changes).await.unwrap(),
        Progress::Committed(_)
    )
}
