//! The commit of one transaction.

use std::collections::{BTreeMap, BTreeSet};

use crate::message::{Change, Found, Lock, Outcome, Reply, Request, Time, TransactionId};

/// Why a transaction has changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aborted<R> {
    /// Another transaction has changed this row since the start.
    Conflict(R),
    /// The definitions are others than those it was planned with.
    Redefined,
    /// Another process took this one for dead.
    RolledBack,
    /// The caller gave it up.
    GivenUp,
}

/// How far a commit has come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Progress<R> {
    /// It is not decided.
    Undecided,
    /// Its changes are those of this time; what is left to do may be done later, or by others.
    Committed(Time),
    /// It has changed nothing.
    Aborted(Aborted<R>),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Phase {
    Locking,
    Ticking,
    Deciding(Time),
    Finishing(Time),
    Unlocking,
    Over,
}

/// The commit of one transaction: locks, time, primary, other rows.
///
/// ```
/// use rukh_commit::{Change, Commit, Progress, Reply, Request, TransactionId};
///
/// let changes = [("account 1", Change::Put(70)), ("account 2", Change::Put(30))];
/// let mut commit = Commit::new(TransactionId(7), (100, 100), 1, changes.into()).expect("it changes something");
/// // Both rows are locked at once; then the clock gives a time.
/// let locks = commit.begin();
/// assert!(commit.receive(&locks[0], &Reply::Done).is_empty());
/// let tick = commit.receive(&locks[1], &Reply::Done);
/// assert_eq!(tick, [Request::Tick { version: Some(1) }]);
/// let primary = commit.receive(&tick[0], &Reply::Time(101));
/// let others = commit.receive(&primary[0], &Reply::Done);
/// assert_eq!(commit.progress(), &Progress::Committed(101));
/// assert_eq!(others.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Commit<R, V> {
    id: TransactionId,
    start: Time,
    placed: Time,
    version: u64,
    changes: BTreeMap<R, Change<V>>,
    primary: R,
    phase: Phase,
    /// Rows of which a reply is missing.
    waiting: BTreeSet<R>,
    /// Rows that it has locked.
    locked: BTreeSet<R>,
    /// Rows that others have locked.
    blocked: BTreeMap<R, Lock<R, V>>,
    /// Why it is to be given up once all replies are there.
    failure: Option<Aborted<R>>,
    progress: Progress<R>,
}

impl<R: Clone + Ord, V: Clone> Commit<R, V> {
    /// Prepares the commit of a transaction that has read at `start` and was planned with definitions of a version; its locks are said to be placed at
    /// `placed`, its primary is the first row that changes. `None` if nothing is to change.
    pub fn new(
        id: TransactionId,
        (start, placed): (Time, Time),
        version: u64,
        changes: BTreeMap<R, Change<V>>,
    ) -> Option<Self> {
        let primary = changes.keys().next()?.clone();
        Some(Commit {
            id,
            start,
            placed,
            version,
            changes,
            primary,
            phase: Phase::Locking,
            waiting: BTreeSet::new(),
            locked: BTreeSet::new(),
            blocked: BTreeMap::new(),
            failure: None,
            progress: Progress::Undecided,
        })
    }

    /// Returns how far it has come.
    pub fn progress(&self) -> &Progress<R> {
        &self.progress
    }

    /// Whether nothing is left to do.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// Returns the rows that others have locked, with their locks. The caller [resolves](crate::Resolve) these and says
    /// [`Commit::again`], or [gives up](Commit::abort).
    pub fn blocked(&self) -> &BTreeMap<R, Lock<R, V>> {
        &self.blocked
    }

    /// Locks all rows.
    pub fn begin(&mut self) -> Vec<Request<R, V>> {
        self.waiting = self.changes.keys().cloned().collect();
        self.changes.keys().map(|row| self.lock_request(row)).collect()
    }

    /// Tries again to lock a row that was [blocked](Commit::blocked).
    pub fn again(&mut self, row: &R) -> Vec<Request<R, V>> {
        match self.blocked.remove(row) {
            Some(_) => {
                self.waiting.insert(row.clone());
                vec![self.lock_request(row)]
            }
            None => Vec::new(),
        }
    }

    /// Gives the transaction up, if it is not decided; once the primary's commit is sent it is too late.
    pub fn abort(&mut self) -> Vec<Request<R, V>> {
        match self.phase {
            Phase::Locking => self.fail(Aborted::GivenUp),
            _ => Vec::new(),
        }
    }

    /// Takes the reply to a request; returns the next ones.
    pub fn receive(&mut self, request: &Request<R, V>, reply: &Reply<R, V>) -> Vec<Request<R, V>> {
        match (request, reply) {
            (Request::Lock { row, .. }, Reply::Done) => {
                self.waiting.remove(row);
                self.locked.insert(row.clone());
                self.after_locks()
            }
            (Request::Lock { row, .. }, Reply::Refused) => vec![Request::Inspect {
                row: row.clone(),
                after: self.start,
            }],
            (Request::Inspect { row, .. }, Reply::Found(found)) => {
                self.waiting.remove(row);
                self.inspected(row, found)
            }
            (Request::Tick { .. }, Reply::Time(at)) => {
                self.phase = Phase::Deciding(*at);
                vec![self.commit_request(&self.primary, *at)]
            }
            (Request::Tick { .. }, Reply::Refused) => self.fail(Aborted::Redefined),
            (Request::Commit { row, at, .. }, reply) => match self.phase {
                Phase::Deciding(_) => match reply {
                    Reply::Done => self.decided(*at),
                    // An earlier attempt was made, or another process took this one for dead.
                    _ => vec![Request::Outcome {
                        primary: self.primary.clone(),
                        id: self.id,
                    }],
                },
                // What is refused was done by a reader.
                Phase::Finishing(at) => self.finished(row, at),
                _ => Vec::new(),
            },
            (Request::Outcome { .. }, Reply::Outcome { outcome, .. }) => match outcome {
                Some(Outcome::Committed(at)) => self.decided(*at),
                _ => {
                    self.locked.remove(&self.primary);
                    self.fail(Aborted::RolledBack)
                }
            },
            (Request::Unlock { row, .. }, Reply::Done) => {
                self.waiting.remove(row);
                self.unlocked()
            }
            (Request::Settle { .. }, Reply::Done) => {
                self.phase = Phase::Over;
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn lock(&self, row: &R) -> Lock<R, V> {
        Lock {
            id: self.id,
            start: self.start,
            placed: self.placed,
            primary: self.primary.clone(),
            change: self.changes[row].clone(),
        }
    }

    fn lock_request(&self, row: &R) -> Request<R, V> {
        Request::Lock {
            row: row.clone(),
            lock: self.lock(row),
        }
    }

    fn commit_request(&self, row: &R, at: Time) -> Request<R, V> {
        Request::Commit {
            row: row.clone(),
            lock: self.lock(row),
            at,
        }
    }

    /// A lock was refused: for a lock of this transaction itself, whose reply was lost, of another, or a record.
    fn inspected(&mut self, row: &R, found: &Found<R, V>) -> Vec<Request<R, V>> {
        match (&found.lock, found.record) {
            (Some(lock), _) if lock.id == self.id => {
                self.locked.insert(row.clone());
            }
            (_, Some(_)) => return self.fail(Aborted::Conflict(row.clone())),
            (Some(lock), None) if self.failure.is_none() => {
                self.blocked.insert(row.clone(), lock.clone());
            }
            (Some(_), None) => {}
            // What was in the way is gone.
            (None, None) if self.failure.is_none() => {
                self.waiting.insert(row.clone());
                return vec![self.lock_request(row)];
            }
            (None, None) => {}
        }
        self.after_locks()
    }

    /// Goes on when all locks stand; or back, when all replies are there and it has failed.
    fn after_locks(&mut self) -> Vec<Request<R, V>> {
        if let Some(failure) = self.failure.take() {
            return self.fail(failure);
        }
        if !self.waiting.is_empty() || !self.blocked.is_empty() {
            return Vec::new();
        }
        self.phase = Phase::Ticking;
        vec![Request::Tick {
            version: Some(self.version),
        }]
    }

    /// Removes the locks, once no reply is missing that could be one more.
    fn fail(&mut self, failure: Aborted<R>) -> Vec<Request<R, V>> {
        self.blocked.clear();
        if !self.waiting.is_empty() {
            self.failure.get_or_insert(failure);
            return Vec::new();
        }
        self.progress = Progress::Aborted(failure);
        self.phase = Phase::Unlocking;
        self.waiting = std::mem::take(&mut self.locked);
        let unlock = |row: &R| Request::Unlock {
            row: row.clone(),
            id: self.id,
        };
        let requests: Vec<_> = self.waiting.iter().map(unlock).collect();
        if requests.is_empty() {
            self.phase = Phase::Over;
        }
        requests
    }

    fn unlocked(&mut self) -> Vec<Request<R, V>> {
        if self.waiting.is_empty() {
            self.phase = Phase::Over;
        }
        Vec::new()
    }

    /// The primary is committed: so is the transaction.
    fn decided(&mut self, at: Time) -> Vec<Request<R, V>> {
        self.progress = Progress::Committed(at);
        self.phase = Phase::Finishing(at);
        self.waiting = self.changes.keys().cloned().collect();
        self.waiting.remove(&self.primary);
        match self.waiting.is_empty() {
            true => vec![self.settle_request(at)],
            false => self
                .waiting
                .iter()
                .map(|row| self.commit_request(row, at))
                .collect(),
        }
    }

    fn finished(&mut self, row: &R, at: Time) -> Vec<Request<R, V>> {
        match self.waiting.remove(row) && self.waiting.is_empty() {
            true => vec![self.settle_request(at)],
            false => Vec::new(),
        }
    }

    fn settle_request(&self, at: Time) -> Request<R, V> {
        Request::Settle {
            primary: self.primary.clone(),
            id: self.id,
            at,
        }
    }
}
