//! Sends what the machines of the protocol ask for, and waits where they wait.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use rand::Rng;
use rukh_commit::{
    Change, Commit, Lock, Outcome, Progress, Reply, Request, Resolve, Resolved, Time, TransactionId,
    must_resolve,
};
use rukh_hbase::{CellKind, CheckAndMutate, Client, Family, Get, LATEST, Meter, Mutation};

use crate::Error;

use crate::steps::{self, Moment};

use crate::cells::{self, CLOCK, CONTROL, DATA, NOW, Row, VERSION};

/// How long things may take, and are kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How long records of commits, and values that were replaced, are kept at least. No snapshot may be older, and no transaction last half as long.
    pub records: Duration,
    /// How long after its locks were placed the process of a transaction without an outcome is taken for dead, by the clock of the one that meets them.
    pub lifetime: Duration,
    /// How long a step is taken again whose outcome is not known.
    pub repeats: Duration,
    /// How long a commit waits for the locks of others, about, before it gives up.
    pub patience: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            records: Duration::from_secs(600),
            lifetime: Duration::from_secs(10),
            repeats: Duration::from_secs(10),
            patience: Duration::from_millis(500),
        }
    }
}

/// Steps that are sent at once.
const TOGETHER: usize = 4000;

/// How long is waited between two looks at a lock of another.
const PAUSE: Duration = Duration::from_millis(10);

/// How far the clock may be behind the time of a process that begins a transaction, milliseconds: records and dead owners are judged by it.
const BEHIND_MS_MAX: u64 = 100;

/// Versions of a value that are kept at least as long as records, whatever they are.
const VERSIONS: &str = "2147483647";

/// How a transaction begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Began {
    /// The time of its snapshot.
    pub start: Time,
    /// The version of the definitions.
    pub version: u64,
}

/// Transactions of one cluster. Any number of processes may have one each, and clones of it.
#[derive(Clone)]
pub struct Transactions {
    client: Client,
    settings: Settings,
}

impl Transactions {
    /// Goes on with the clock of the namespace, which is made if there is none.
    pub async fn open(client: Client, settings: Settings) -> Result<Transactions, Error> {
        if !client.tables().await?.iter().any(|table| table == CLOCK) {
            let family = Family::new(DATA, &[]);
            match client.create_table(CLOCK, &[family], Vec::new()).await {
                Err(error) if error.class() != Some("TableExistsException") => return Err(error.into()),
                _ => {}
            }
        }
        let first = Bytes::copy_from_slice(&1_u64.to_be_bytes());
        let first = Mutation::put(CLOCK).cell(CellKind::Put, DATA, VERSION, LATEST, first);
        let check = CheckAndMutate::if_absent(CLOCK, DATA, VERSION, 0, LATEST).then(first);
        match client.check_and_mutate(CLOCK, check).await {
            Ok(_) | Err(rukh_hbase::Error::OutcomeUnknown { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let transactions = Transactions { client, settings };
        transactions.set_clock(None, now_ms()).await?;
        Ok(transactions)
    }

    /// Returns a clone whose requests are counted.
    pub fn counted(&self, meter: Arc<Meter>) -> Transactions {
        Transactions {
            client: self.client.counted(meter),
            settings: self.settings.clone(),
        }
    }

    /// Makes a table for rows that change in transactions.
    pub async fn create_table(&self, table: &str, split_keys: Vec<Bytes>) -> Result<(), Error> {
        let families = [
            // What is not needed any more is removed by `forget`.
            Family::new(DATA, &[("VERSIONS", VERSIONS)]),
            // Records and outcomes have lifetimes of their own, locks none.
            Family::new(CONTROL, &[("VERSIONS", VERSIONS)]),
        ];
        Ok(self.client.create_table(table, &families, split_keys).await?)
    }

    /// Begins a transaction: one read of the clock, and a second step where it is far behind.
    pub async fn begin(&self) -> Result<Began, Error> {
        let row = self.client.get(CLOCK, Get::new(CLOCK).family(DATA)).await?;
        let number = |column: &str| {
            let value = row.value(DATA.as_bytes(), column.as_bytes());
            let bytes = value.and_then(|value| value[..].try_into().ok());
            bytes.map(u64::from_be_bytes).ok_or_else(|| Error::Damaged {
                what: "the clock",
                row: Row::new(CLOCK, CLOCK),
            })
        };
        let (time, version) = (number(NOW)?, number(VERSION)?);
        let now = now_ms();
        let start = match now > time + BEHIND_MS_MAX && self.set_clock(Some(time), now).await? {
            true => now,
            false => time,
        };
        Ok(Began { start, version })
    }

    /// Sets the clock forward; returns whether it is there now by this.
    async fn set_clock(&self, from: Option<Time>, to: Time) -> Result<bool, Error> {
        match self
            .client
            .check_and_mutate(CLOCK, cells::set_clock(from, to))
            .await
        {
            Ok(checked) => Ok(checked.processed),
            Err(rukh_hbase::Error::OutcomeUnknown { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads rows at a snapshot, in the order of `rows`; waits for transactions that may have committed before it.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotTooOld`], and those of the client.
    pub async fn read(&self, rows: &[Row], snapshot: Time) -> Result<Vec<Option<Bytes>>, Error> {
        self.check_age(snapshot)?;
        let mut values = vec![None; rows.len()];
        let mut open: Vec<usize> = (0..rows.len()).collect();
        while !open.is_empty() {
            let requests = open.iter().map(|at| cells::read_request(&rows[*at], snapshot));
            let found = self.client.batch(requests.collect()).await;
            let mut locked = Vec::new();
            for (at, found) in open.iter().zip(found) {
                let row = &rows[*at];
                let (value, lock) = cells::value_and_lock(row, &found?.row)?;
                match lock.filter(|lock| must_resolve(lock, snapshot)) {
                    Some(lock) => {
                        self.resolve(row, lock, None).await?;
                        locked.push(*at);
                    }
                    None => values[*at] = value,
                }
            }
            open = locked;
        }
        Ok(values)
    }

    /// Commits changes of a transaction; returns the time of the commit, or why nothing was changed.
    ///
    /// # Errors
    ///
    /// [`Error::SnapshotTooOld`] of a transaction that has lasted half as long as records are kept: what it is in conflict with might be forgotten. Those
    /// of the client; what became of the transaction is then decided by others.
    pub async fn commit(
        &self,
        began: Began,
        changes: BTreeMap<Row, Change<Bytes>>,
    ) -> Result<Progress<Row>, Error> {
        self.commit_as(new_id(), began, changes).await
    }

    /// Commits changes of a transaction of a number; see [`Transactions::commit`].
    pub(crate) async fn commit_as(
        &self,
        id: TransactionId,
        began: Began,
        changes: BTreeMap<Row, Change<Bytes>>,
    ) -> Result<Progress<Row>, Error> {
        self.check_age(
            began
                .start
                .saturating_sub(self.settings.records.as_millis() as u64 / 2),
        )?;
        let Some(mut commit) = Commit::new(id, (began.start, now_ms()), began.version, changes) else {
            return Ok(Progress::Committed(began.start));
        };
        let mut requests = commit.begin();
        // Two that wait for each other must not give up at the same moment.
        let patience = self.settings.patience.mul_f64(rand::rng().random_range(0.5..1.5));
        let until = Instant::now() + patience;
        while !commit.is_over() {
            let replies = self.send(requests.clone()).await?;
            let pairs = requests.iter().zip(&replies);
            requests = pairs
                .flat_map(|(request, reply)| commit.receive(request, reply))
                .collect();
            if !requests.is_empty() {
                continue;
            }
            for (row, lock) in commit.blocked().clone() {
                match self.resolve(&row, lock, Some(until)).await? {
                    true => requests.extend(commit.again(&row)),
                    false => requests.extend(commit.abort()),
                }
            }
        }
        Ok(commit.progress().clone())
    }

    /// Finds out what became of a transaction whose commit has failed; one that is not decided is rolled back.
    pub(crate) async fn decide(&self, primary: &Row, id: TransactionId) -> Result<Outcome, Error> {
        // It stands for the lock of the primary, which may not be there.
        let lock = Lock {
            id,
            start: 0,
            placed: 0,
            primary: primary.clone(),
            change: Change::Keep,
        };
        self.resolve(primary, lock, None).await?;
        let request = Request::Outcome {
            primary: primary.clone(),
            id,
        };
        match self.send(vec![request]).await?.remove(0) {
            Reply::Outcome {
                outcome: Some(outcome),
                ..
            } => Ok(outcome),
            _ => Err(Error::Damaged {
                what: "the outcome of a transaction",
                row: primary.clone(),
            }),
        }
    }

    /// Waits for the outcome of the transaction that has locked a row, until a moment, and does on the row what was decided; returns whether the lock is gone.
    async fn resolve(
        &self,
        row: &Row,
        lock: Lock<Row, Bytes>,
        until: Option<Instant>,
    ) -> Result<bool, Error> {
        // A clock that is ahead of this one is no reason to wait for longer.
        let placed = lock.placed.min(now_ms());
        let dies_ms = placed.saturating_add(self.settings.lifetime.as_millis() as u64);
        let mut resolve = Resolve::new(row.clone(), lock);
        let mut request = resolve.ask();
        loop {
            let reply = self.send(vec![request.clone()]).await?.remove(0);
            request = match (resolve.receive(&request, &reply), resolve.state()) {
                (Some(next), _) => next,
                (None, Resolved::Gone) => return Ok(true),
                (None, _) if now_ms() > dies_ms => resolve.give_up_on_owner(),
                (None, _) if until.is_some_and(|until| Instant::now() >= until) => return Ok(false),
                (None, _) => {
                    tokio::time::sleep(PAUSE).await;
                    resolve.ask()
                }
            };
        }
    }

    /// Takes steps of the protocol; those whose outcome is unknown are taken again, as all of them may be, for as long as the settings say.
    async fn send(&self, requests: Vec<Request<Row, Bytes>>) -> Result<Vec<Reply<Row, Bytes>>, Error> {
        let mut replies = Vec::with_capacity(requests.len());
        // Each of these has the client's time for an operation, and servers get no more at once than they can do in the time of a call.
        for requests in requests.chunks(TOGETHER) {
            self.send_together(requests, &mut replies).await?;
        }
        Ok(replies)
    }

    async fn send_together(
        &self,
        requests: &[Request<Row, Bytes>],
        replies: &mut Vec<Reply<Row, Bytes>>,
    ) -> Result<(), Error> {
        let records_ms = self.settings.records.as_millis() as u64;
        let mut found: Vec<Option<Reply<Row, Bytes>>> = vec![None; requests.len()];
        let begun = Instant::now();
        loop {
            let open: Vec<usize> = (0..requests.len()).filter(|at| found[*at].is_none()).collect();
            if open.is_empty() {
                replies.extend(found.into_iter().flatten());
                return Ok(());
            }
            let sent = open
                .iter()
                .map(|at| cells::row_request(&requests[*at], records_ms));
            steps::pass(requests, Moment::Before);
            let answered = self.client.batch(sent.collect()).await;
            steps::pass(requests, Moment::After);
            for (at, outcome) in open.iter().zip(answered) {
                match outcome {
                    Ok(done) => found[*at] = Some(cells::reply(&requests[*at], &done)?),
                    Err(rukh_hbase::Error::OutcomeUnknown { .. })
                        if begun.elapsed() < self.settings.repeats => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
    }

    /// Fails where what a snapshot shows may be forgotten.
    pub(crate) fn check_age(&self, snapshot: Time) -> Result<(), Error> {
        match snapshot >= self.horizon() {
            true => Ok(()),
            false => Err(Error::SnapshotTooOld {
                snapshot,
                kept_ms: self.settings.records.as_millis() as u64,
            }),
        }
    }

    pub(crate) fn now(&self) -> Time {
        now_ms()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Takes one step of the protocol, for tests of what the store answers.
    #[doc(hidden)]
    pub async fn step(&self, request: Request<Row, Bytes>) -> Result<Reply<Row, Bytes>, Error> {
        Ok(self.send(vec![request]).await?.remove(0))
    }

    /// Reads a row at a snapshot with its lock, for tests of what the store answers.
    #[doc(hidden)]
    pub async fn read_with_lock(
        &self,
        row: &Row,
        snapshot: Time,
    ) -> Result<(Option<Bytes>, Option<Lock<Row, Bytes>>), Error> {
        let found = self
            .client
            .batch(vec![cells::read_request(row, snapshot)])
            .await
            .remove(0)?;
        cells::value_and_lock(row, &found.row)
    }
}

pub(crate) fn new_id() -> TransactionId {
    TransactionId(rand::rng().random())
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
