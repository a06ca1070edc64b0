//! A store that takes one row at a time, as HBase does, and the faults that can be planted in it.

use std::collections::BTreeMap;

use rukh_commit::{Change, Found, Lock, Outcome, Reply, Request, Time, TransactionId};

pub type Row = u8;
pub type Value = u8;
pub type Req = Request<Row, Value>;
pub type Rep = Reply<Row, Value>;

/// What is wrong with a store, to see that the simulation notices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// Locks are taken whatever is on the row.
    LockWithoutCondition,
    /// A lock is said to be taken that is still on its way.
    CommitBeforeAllLocks,
    /// The answer to a request for an outcome is always that of a rollback.
    ResolutionWithoutPrimary,
    /// Readers do not see locks that are older than they are.
    OldLocksIgnored,
    /// The clock gives a time that it has given before.
    ClockGoesBack,
    /// The clock does not compare the version of the definitions.
    VersionIgnored,
    /// A rollback leaves no record on the row.
    RollbackWithoutRecord,
    /// Outcomes expire like records, settled or not.
    OutcomeExpires,
    /// The primary is committed without its lock.
    CommitWithoutLock,
}

/// The outcome of a transaction on its primary, and whether it may expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Decided {
    pub outcome: Outcome,
    /// The time of its record.
    pub at: Time,
    pub settled: bool,
}

/// The cells of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cells {
    /// Values by the time of their commit; `None` is a delete marker.
    pub values: BTreeMap<Time, Option<Value>>,
    pub records: BTreeMap<Time, TransactionId>,
    pub locks: BTreeMap<TransactionId, Lock<Row, Value>>,
    pub outcomes: BTreeMap<TransactionId, Decided>,
}

/// All rows, and the clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Store {
    pub rows: BTreeMap<Row, Cells>,
    pub time: Time,
    pub version: u64,
    pub fault: Option<Fault>,
    /// What was committed, with its time: what the store would not know itself.
    pub committed: BTreeMap<TransactionId, Time>,
}

impl Store {
    fn is(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }

    /// Reads a row at a snapshot.
    pub fn read(&self, row: Row, snapshot: Time) -> (Option<Value>, Vec<Lock<Row, Value>>) {
        let Some(cells) = self.rows.get(&row) else {
            return (None, Vec::new());
        };
        let value = cells.values.range(..=snapshot).next_back();
        let locks = match self.is(Fault::OldLocksIgnored) {
            true => Vec::new(),
            false => cells.locks.values().cloned().collect(),
        };
        (value.and_then(|(_, value)| *value), locks)
    }

    fn next_time(&mut self) -> Time {
        if !(self.is(Fault::ClockGoesBack) && self.time == 3) {
            self.time += 1;
        }
        self.time
    }

    /// Takes a step, or refuses it.
    pub fn take(&mut self, request: &Req) -> Rep {
        match request {
            Request::Lock { row, lock } => {
                let free = self.is(Fault::LockWithoutCondition);
                let cells = self.rows.entry(*row).or_default();
                let is_newer = cells.records.range(lock.start + 1..).next().is_some();
                if (is_newer || !cells.locks.is_empty()) && !free {
                    return Reply::Refused;
                }
                cells.locks.insert(lock.id, lock.clone());
                Reply::Done
            }
            Request::Inspect { row, after } => {
                let cells = self.rows.entry(*row).or_default();
                Reply::Found(Found {
                    record: cells.records.range(after + 1..).next_back().map(|(at, _)| *at),
                    lock: cells.locks.values().next().cloned(),
                })
            }
            Request::Tick { version } => {
                let differs = version.is_some_and(|version| version != self.version);
                if differs && !self.is(Fault::VersionIgnored) {
                    return Reply::Refused;
                }
                Reply::Time(self.next_time())
            }
            Request::Commit { row, lock, at } => {
                let free = self.is(Fault::CommitWithoutLock) && *row == lock.primary;
                let cells = self.rows.entry(*row).or_default();
                if cells.locks.remove(&lock.id).is_none() && !free {
                    return Reply::Refused;
                }
                match &lock.change {
                    Change::Put(value) => cells.values.insert(*at, Some(*value)),
                    Change::Delete => cells.values.insert(*at, None),
                    Change::Keep => None,
                };
                if lock.change != Change::Keep {
                    cells.records.insert(*at, lock.id);
                }
                if *row == lock.primary {
                    let decided = Decided {
                        outcome: Outcome::Committed(*at),
                        at: *at,
                        settled: false,
                    };
                    cells.outcomes.insert(lock.id, decided);
                    self.committed.insert(lock.id, *at);
                }
                Reply::Done
            }
            Request::Outcome { primary, id } => {
                let cells = self.rows.entry(*primary).or_default();
                let outcome = cells.outcomes.get(id).map(|decided| decided.outcome);
                let is_locked = cells.locks.contains_key(id);
                let outcome = match self.is(Fault::ResolutionWithoutPrimary) {
                    true => Some(Outcome::RolledBack),
                    false => outcome,
                };
                Reply::Outcome { outcome, is_locked }
            }
            Request::RollBack { primary, id, at } => {
                let leaves_record = !self.is(Fault::RollbackWithoutRecord);
                let cells = self.rows.entry(*primary).or_default();
                if cells.outcomes.contains_key(id) {
                    return Reply::Refused;
                }
                cells.locks.remove(id);
                if leaves_record {
                    cells.records.insert(*at, *id);
                }
                let decided = Decided {
                    outcome: Outcome::RolledBack,
                    at: *at,
                    settled: true,
                };
                cells.outcomes.insert(*id, decided);
                Reply::Done
            }
            Request::Unlock { row, id } => {
                self.rows.entry(*row).or_default().locks.remove(id);
                Reply::Done
            }
            Request::Settle { primary, id, .. } => {
                let cells = self.rows.entry(*primary).or_default();
                if let Some(decided) = cells.outcomes.get_mut(id) {
                    decided.settled = true;
                }
                Reply::Done
            }
        }
    }

    /// Forgets records and outcomes of times up to `horizon`: nothing that runs began before it. Returns whether there were any.
    pub fn expire(&mut self, horizon: Time) -> bool {
        let all = self.is(Fault::OutcomeExpires);
        let mut changed = false;
        for cells in self.rows.values_mut() {
            let before = (cells.records.len(), cells.outcomes.len());
            cells.records.retain(|at, _| *at > horizon);
            cells
                .outcomes
                .retain(|_, decided| decided.at > horizon || !(decided.settled || all));
            changed |= before != (cells.records.len(), cells.outcomes.len());
        }
        changed
    }
}
