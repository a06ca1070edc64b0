//! Progress reports of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rukh_engine::Progress;

use crate::exec::context::CancelHandle;

/// How far a long statement is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgressReport {
    /// What is being done: `index by_period`, `copy flights`.
    pub label: String,
    /// Units done.
    pub done: u64,
    /// Units in all, when known.
    pub total: Option<u64>,
    /// What is counted.
    pub unit: &'static str,
}

/// Receives reports.
pub type ProgressListener = Arc<dyn Fn(&ProgressReport) + Send + Sync>;

/// Where a session sends its reports.
#[derive(Clone, Default)]
pub struct ProgressSink(Option<ProgressListener>);

impl ProgressSink {
    /// Sends reports to this listener.
    pub fn to(listener: ProgressListener) -> Self {
        ProgressSink(Some(listener))
    }

    /// Sends one report.
    pub(crate) fn report(&self, report: &ProgressReport) {
        if let Some(listener) = &self.0 {
            listener(report);
        }
    }
}

/// One piece of long work, seen by the engine as [`Progress`].
pub(crate) struct Task {
    sink: ProgressSink,
    cancel: CancelHandle,
    label: Mutex<String>,
    unit: &'static str,
    done: AtomicU64,
    total: AtomicU64,
}

/// Total that stands for "not known".
const UNKNOWN: u64 = u64::MAX;

impl Task {
    /// Starts a piece of work.
    pub(crate) fn new(sink: &ProgressSink, cancel: &CancelHandle, label: String, unit: &'static str) -> Self {
        let (done, total) = (AtomicU64::new(0), AtomicU64::new(UNKNOWN));
        Task {
            sink: sink.clone(),
            cancel: cancel.clone(),
            label: Mutex::new(label),
            unit,
            done,
            total,
        }
    }

    /// Says more exactly what is being done, with the next report.
    pub(crate) fn rename(&self, label: String) {
        *self.label.lock() = label;
    }

    fn send(&self) {
        let total = Some(self.total.load(Ordering::Relaxed)).filter(|total| *total != UNKNOWN);
        let done = self.done.load(Ordering::Relaxed);
        self.sink.report(&ProgressReport {
            label: self.label.lock().clone(),
            done,
            total,
            unit: self.unit,
        });
    }
}

impl Progress for Task {
    fn total(&self, total: Option<u64>) {
        self.total.store(total.unwrap_or(UNKNOWN), Ordering::Relaxed);
        self.send();
    }

    fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
        self.send();
    }

    fn cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}
