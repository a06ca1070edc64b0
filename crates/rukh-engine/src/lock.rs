//! The single-writer lock: one statement that changes something at a time.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;

/// A lock whose guard owns its share of it, so that a statement can carry the guard over threads.
#[derive(Default)]
pub(crate) struct WriterLock {
    taken: Mutex<bool>,
    freed: Condvar,
}

/// Holds the lock until dropped.
pub(crate) struct WriterGuard {
    lock: Arc<WriterLock>,
}

impl WriterLock {
    /// Waits for the lock and takes it.
    pub(crate) fn lock(self: &Arc<Self>) -> WriterGuard {
        let mut taken = self.taken.lock();
        while *taken {
            self.freed.wait(&mut taken);
        }
        *taken = true;
        WriterGuard { lock: self.clone() }
    }
}

impl Drop for WriterGuard {
    fn drop(&mut self) {
        *self.lock.taken.lock() = false;
        self.lock.freed.notify_one();
    }
}
