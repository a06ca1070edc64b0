//! Steps of the protocol by name, for tests that end the process at one.

use std::sync::OnceLock;

use bytes::Bytes;
use rukh_commit::Request;

use crate::Row;

/// Where a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// It has not been sent.
    Before,
    /// It was answered.
    After,
}

/// Called at each step, with its name.
pub type Observer = dyn Fn(&'static str, Moment) + Send + Sync;

static OBSERVER: OnceLock<Box<Observer>> = OnceLock::new();

/// Has a function called at each step of all transactions of this process, from the thread that takes the step; the first one stays.
pub fn observe_steps_for_test(observer: Box<Observer>) {
    let _ = OBSERVER.set(observer);
}

/// Says that these requests are sent together, or were answered.
pub(crate) fn pass(requests: &[Request<Row, Bytes>], moment: Moment) {
    if let (Some(observer), Some(first)) = (OBSERVER.get(), requests.first()) {
        observer(name(first), moment);
    }
}

fn name(request: &Request<Row, Bytes>) -> &'static str {
    match request {
        Request::Lock { .. } => "lock",
        Request::Inspect { .. } => "inspect",
        Request::Tick { .. } => "tick",
        Request::Commit { row, lock, .. } if *row == lock.primary => "primary",
        Request::Commit { .. } => "commit",
        Request::Outcome { .. } => "outcome",
        Request::RollBack { .. } => "rollback",
        Request::Unlock { .. } => "unlock",
        Request::Settle { .. } => "settle",
    }
}
