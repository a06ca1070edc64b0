//! Progress of long operations, and their cancellation.

use crate::EngineError;

/// Watches a long operation: called every few thousand rows, and returns whether to go on.
pub trait Progress {
    /// Takes the number of rows to come, once it is known; estimated where counting would cost.
    fn total(&self, rows: Option<u64>);

    /// Takes the number of rows done since the last call.
    fn advance(&self, rows: u64);

    /// Says whether the operation should stop, with [`EngineError::Cancelled`].
    fn cancelled(&self) -> bool;
}

/// A [`Progress`] that reports nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn total(&self, _: Option<u64>) {}

    fn advance(&self, _: u64) {}

    fn cancelled(&self) -> bool {
        false
    }
}

/// Fails with [`EngineError::Cancelled`] if the watcher wants to stop.
pub(crate) fn check_cancelled(progress: &dyn Progress) -> Result<(), EngineError> {
    match progress.cancelled() {
        true => Err(EngineError::Cancelled),
        false => Ok(()),
    }
}
