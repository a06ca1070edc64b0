//! Transactions over a store that changes one row at a time, as state machines without I/O.
//!
//! HBase changes a row under a condition in one step, and knows nothing of several rows. This crate has the protocol by which
//! several rows change together: Percolator's (Peng and Dabek, OSDI 2010), with changes that HBase's conditions ask for. A machine
//! gives [`Request`]s, each about one row or the clock, and takes [`Reply`]s; sending them is not its concern. So the
//! client of HBase and the simulation in `tests/simulation`, which tries all interleavings, run the same code.
//!
//! # What a row holds
//!
//! | cells                | what they are                                                                                          |
//! |----------------------|--------------------------------------------------------------------------------------------------------|
//! | values               | by the time of their commit; a deleted row has a marker                                                |
//! | locks and records    | a lock by a time above all commits, of its own for each transaction; a record by the time of its commit |
//! | outcomes             | by transaction, on its primary row only: committed at a time, or rolled back                           |
//!
//! # How a transaction commits
//!
//! 1. [`Request::Lock`] on all rows at once, under the condition that the row has no lock and no record after the start of the
//!    transaction. The lock says what is to change, and which row is the primary.
//! 2. [`Request::Tick`]: the clock gives the time of the commit, under the condition that the definitions are those that the
//!    transaction was planned with.
//! 3. [`Request::Commit`] on the primary, under the condition that its lock is still there. This is the moment: the outcome stands.
//! 4. [`Request::Commit`] on all other rows at once, then [`Request::Settle`]: nothing asks for the outcome any more.
//!
//! A reader that meets a lock which is older than its snapshot, and a writer that meets any, [resolve](Resolve) it: the primary's outcome decides, and where
//! there is none, and the owner is dead, [`Request::RollBack`] makes one. So each process may end at each step.
//!
//! # What the simulation has shown
//!
//! * A request that is delivered late, or twice, must not undo a decision. A rollback therefore leaves a record at a time of its own,
//!   above the start of the transaction, which refuses a late lock; without it a late lock of the primary brought a transaction back whose other
//!   rows had been rolled back.
//! * The outcome of a commit must outlive the locks of its other rows. Records expire, as snapshots do; an outcome
//!   must not before [`Request::Settle`], or the rows of a process that died in step 4 are rolled back one by one, later, by their readers.
//!
//! # What a caller owes
//!
//! * The clock never gives a time twice, nor one below another.
//! * Records are kept for as long as a transaction may run, and it ends by then ([`Commit::abort`]).
//! * Each request is sent until a reply is there: all of them may be repeated.
//!
//! Deliberately not here: sending, waiting, and the judgement that a process is dead, which needs a clock.

mod commit;
mod message;
mod resolve;

pub use commit::{Aborted, Commit, Progress};
pub use message::{Change, Found, Lock, Outcome, Reply, Request, Time, TransactionId};
pub use resolve::{Resolve, Resolved, must_resolve};
