//! What becomes of a lock that is in the way.

use crate::message::{Change, Lock, Outcome, Reply, Request, Time};

/// Whether a reader at a snapshot has to resolve a lock before it knows the value of the row.
///
/// A lock whose transaction began at the snapshot or later commits later, too.
pub fn must_resolve<R, V>(lock: &Lock<R, V>, snapshot: Time) -> bool {
    lock.start < snapshot && !matches!(lock.change, Change::Keep)
}

/// What a resolution has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resolved {
    /// Replies are missing.
    Running,
    /// The transaction has no outcome yet: it is alive, or the caller says that it is dead ([`Resolve::give_up_on_owner`]).
    Undecided,
    /// The lock is gone, and what it staged is done or dropped.
    Gone,
}

/// The resolution of one lock: asks its primary, and does to the row what was decided there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resolve<R, V> {
    row: R,
    lock: Lock<R, V>,
    state: Resolved,
}

impl<R: Clone + Ord, V: Clone> Resolve<R, V> {
    /// Prepares the resolution of a lock that was met on a row.
    pub fn new(row: R, lock: Lock<R, V>) -> Self {
        Resolve {
            row,
            lock,
            state: Resolved::Running,
        }
    }

    /// Returns what it has come to.
    pub fn state(&self) -> Resolved {
        self.state
    }

    /// Asks the primary, at first and again after a wait.
    pub fn ask(&mut self) -> Request<R, V> {
        self.state = Resolved::Running;
        Request::Outcome {
            primary: self.lock.primary.clone(),
            id: self.lock.id,
        }
    }

    /// Begins the rollback of a transaction whose process is dead. Where that is wrong the transaction fails, and no more.
    pub fn give_up_on_owner(&mut self) -> Request<R, V> {
        self.state = Resolved::Running;
        Request::Tick { version: None }
    }

    /// Takes the reply to a request; returns the next one.
    pub fn receive(&mut self, request: &Request<R, V>, reply: &Reply<R, V>) -> Option<Request<R, V>> {
        match (request, reply) {
            (Request::Outcome { .. }, Reply::Outcome { outcome, .. }) => match outcome {
                Some(outcome) => Some(self.follow(*outcome)),
                None => {
                    self.state = Resolved::Undecided;
                    None
                }
            },
            (Request::Tick { .. }, Reply::Time(at)) => Some(Request::RollBack {
                primary: self.lock.primary.clone(),
                id: self.lock.id,
                at: *at,
            }),
            (Request::RollBack { .. }, Reply::Done) => Some(self.follow(Outcome::RolledBack)),
            // There is an outcome by now.
            (Request::RollBack { .. }, Reply::Refused) => Some(self.ask()),
            // A commit that is refused was made by another process.
            (Request::Commit { .. } | Request::Unlock { .. }, Reply::Done | Reply::Refused) => {
                self.state = Resolved::Gone;
                None
            }
            _ => None,
        }
    }

    /// Does on the row what was decided on the primary.
    fn follow(&self, outcome: Outcome) -> Request<R, V> {
        match outcome {
            Outcome::Committed(at) => Request::Commit {
                row: self.row.clone(),
                lock: self.lock.clone(),
                at,
            },
            Outcome::RolledBack => Request::Unlock {
                row: self.row.clone(),
                id: self.lock.id,
            },
        }
    }
}
