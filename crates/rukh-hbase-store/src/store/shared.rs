//! What the store, its snapshots and its cursors have in common: one writer at a time, and the time up to which snapshots see.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::{Mutex, RwLock};
use rukh_commit::{Aborted, Change, Outcome, Progress, Time, TransactionId};
use rukh_hbase::Meter;
use rukh_kv::{KvError, MergeOperator, Traffic};

use super::keys::{Tables, failed};
use super::owner::Lease;
use super::runtime::Runtime;
use super::sizes::{Sizes, changed_rows};
use crate::transactions::new_id;
use crate::{Began, Row, Transactions};

/// A batch that others keep from being written is tried so often.
const ATTEMPTS: u32 = 20;

/// How long the store asks for what became of a batch whose write has failed.
pub(super) const DECISION: Duration = Duration::from_secs(10);

/// What the store, its snapshots and its cursors have in common.
pub(super) struct Shared {
    pub(super) url: String,
    pub(super) runtime: Runtime,
    pub(super) transactions: Transactions,
    pub(super) merge: Option<Arc<dyn MergeOperator>>,
    pub(super) rows: Arc<str>,
    pub(super) state: RwLock<State>,
    pub(super) writer: Mutex<Writer>,
    pub(super) lease: Lease,
    pub(super) sizes: Sizes,
    /// Where regions begin, and when that was looked up.
    pub(super) region_starts: Mutex<Option<(Instant, Arc<[Bytes]>)>>,
    /// Whether the writer has a batch that is not decided.
    pub(super) is_undecided: AtomicBool,
    /// So many commits will seem to have had no answer, for tests.
    pub(super) lost_answers: AtomicU32,
}

/// What snapshots show.
#[derive(Clone)]
pub(super) struct State {
    /// The time of the newest batch, or later.
    pub(super) newest: Time,
    pub(super) tables: Arc<Tables>,
    pub(super) is_closed: bool,
}

/// What one writer at a time has.
#[derive(Default)]
pub(super) struct Writer {
    /// A batch of which it is not known whether it was written: its primary and its number.
    pub(super) undecided: Option<(Row, TransactionId)>,
}

impl Shared {
    /// Fails where the store may not be read or written any more.
    pub(super) fn check_open(&self) -> Result<(), KvError> {
        self.check_open_unless(None)
    }

    /// The same for a statement that may be cancelled.
    pub(super) fn check_open_unless(&self, cancel: Option<&AtomicBool>) -> Result<(), KvError> {
        if self.is_closed() {
            return Err(KvError::Closed);
        }
        match self.lease.is_fresh() {
            true => Ok(()),
            false => self.renew(cancel),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.read().is_closed
    }

    /// Prolongs the lease.
    pub(super) fn renew(&self, cancel: Option<&AtomicBool>) -> Result<(), KvError> {
        let (lease, transactions) = (self.lease.clone(), self.transactions.clone());
        let renewal = async move { lease.renew(&transactions).await };
        match self.runtime.wait_unless(cancel, renewal) {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) => Err(self.taken_over()),
            Some(Err(error)) => Err(failed("reach the database", error)),
            None => Err(KvError::Cancelled),
        }
    }

    pub(super) fn taken_over(&self) -> KvError {
        KvError::TakenOver {
            url: self.url.clone(),
        }
    }

    /// Brings the time of the newest batch near the present, so that it does not get too old to be read, and decides what is not decided.
    pub(super) fn refresh(&self, writer: &mut Writer) -> Result<(), KvError> {
        self.settle(writer)?;
        let transactions = self.transactions.clone();
        let began = self.runtime.wait(async move { transactions.begin().await });
        let began = began.map_err(|error| failed("read the clock", error))?;
        self.publish(began.start, None);
        Ok(())
    }

    /// Shows what was written up to a time, with the tables that there are then, if these have changed.
    pub(super) fn publish(&self, time: Time, tables: Option<Tables>) {
        let mut state = self.state.write();
        state.newest = state.newest.max(time);
        if let Some(tables) = tables {
            state.tables = Arc::new(tables);
        }
    }

    /// Decides a batch of which it is not known whether it was written. Snapshots from then on show it if it was.
    pub(super) fn settle(&self, writer: &mut Writer) -> Result<(), KvError> {
        let Some((primary, id)) = writer.undecided.clone() else {
            return Ok(());
        };
        if let Outcome::Committed(time) = self.decide(&primary, id)? {
            self.publish(time, None);
            // It may have made or dropped a table.
            let tables = self.read_directory()?;
            self.publish(time, Some(tables));
        }
        writer.undecided = None;
        self.is_undecided.store(false, Ordering::Release);
        Ok(())
    }

    /// Returns what a reader sees that begins now. It does not begin before it is known what was written.
    pub(super) fn state_now(&self) -> Result<State, KvError> {
        if self.is_undecided.load(Ordering::Acquire) && !self.is_closed() {
            self.settle(&mut self.writer.lock())?;
        }
        Ok(self.state.read().clone())
    }

    pub(super) fn decide(&self, primary: &Row, id: TransactionId) -> Result<Outcome, KvError> {
        let (transactions, primary) = (self.transactions.clone(), primary.clone());
        let decision = async move { transactions.decide(&primary, id).await };
        self.runtime
            .wait_within(DECISION, "ask for the outcome of a write", decision)
    }

    /// Commits changes, which `make` finds by what is there at a time; says how snapshots are to see the tables then. Returns what that took.
    pub(super) fn commit(
        &self,
        writer: &mut Writer,
        tables: Option<Tables>,
        make: impl Fn(&Transactions, Time) -> Result<BTreeMap<Row, Change<Bytes>>, KvError>,
    ) -> Result<Traffic, KvError> {
        self.check_open()?;
        self.settle(writer)?;
        let meter = Arc::new(Meter::default());
        let counted = self.transactions.counted(Arc::clone(&meter));
        for _ in 0..ATTEMPTS {
            let start = self.state.read().newest;
            let changes = make(&counted, start)?;
            let Some(primary) = changes.keys().next().cloned() else {
                return Ok(traffic_of(&meter));
            };
            let changed = changed_rows(&changes);
            let id = new_id();
            let began = Began {
                start,
                version: self.lease.version(),
            };
            let transactions = counted.clone();
            let ended = self
                .runtime
                .wait(async move { transactions.commit_as(id, began, changes).await });
            let is_lost = self.loses_answer();
            let committed = match ended {
                Ok(_) if is_lost => return Err(self.leave_undecided(writer, (primary, id), "for a test")),
                Ok(Progress::Committed(time)) => Some(time),
                Ok(Progress::Aborted(Aborted::Redefined)) => {
                    self.lease.lose();
                    return Err(self.taken_over());
                }
                // A reader that has rolled back what a dead process began leaves a record of a later time.
                Ok(_) => None,
                Err(error) => match self.decide(&primary, id) {
                    Ok(Outcome::Committed(time)) => Some(time),
                    Ok(Outcome::RolledBack) => return Err(failed("write", error)),
                    Err(_) => {
                        return Err(self.leave_undecided(writer, (primary, id), &error.to_string()));
                    }
                },
            };
            if let Some(time) = committed {
                self.publish(time, tables);
                self.sizes.changed(changed);
                return Ok(traffic_of(&meter));
            }
            self.refresh(writer)?;
        }
        Err(KvError::Io {
            operation: "write".to_string(),
            source: std::io::Error::other(format!("others have changed the rows {ATTEMPTS} times")),
        })
    }

    fn leave_undecided(&self, writer: &mut Writer, batch: (Row, TransactionId), reason: &str) -> KvError {
        writer.undecided = Some(batch);
        self.is_undecided.store(true, Ordering::Release);
        KvError::OutcomeUnknown {
            reason: reason.to_string(),
        }
    }

    /// Whether a commit is to seem without an answer.
    fn loses_answer(&self) -> bool {
        let one_less = |left: u32| left.checked_sub(1);
        let lost = self
            .lost_answers
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        lost.is_ok()
    }

    pub(super) fn row(&self, key: Bytes) -> Row {
        Row {
            table: Arc::clone(&self.rows),
            key,
        }
    }

    /// Reads rows at a time, by requests of these transactions.
    pub(super) fn read_rows(
        &self,
        transactions: &Transactions,
        rows: &[Row],
        at: Time,
    ) -> Result<Vec<Option<Bytes>>, KvError> {
        let (transactions, rows) = (transactions.clone(), rows.to_vec());
        let read = self
            .runtime
            .wait(async move { transactions.read(&rows, at).await });
        read.map_err(|error| failed("read", error))
    }
}

/// What a meter has counted, as a store reports it.
pub(super) fn traffic_of(meter: &Meter) -> Traffic {
    let rukh_hbase::Traffic {
        calls,
        regions,
        bytes_sent,
        bytes_received,
    } = meter.traffic();
    Traffic {
        requests: calls,
        regions,
        bytes_sent,
        bytes_received,
    }
}
