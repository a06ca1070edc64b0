//! The single-writer lock: one statement that changes something at a time.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A lock whose guard owns its share of it, so that a statement can carry the guard over threads.
#[derive(Default)]
pub(crate) struct WriterLock {
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    taken: bool,
    /// How many wait.
    waiting: usize,
}

/// Holds the lock until dropped.
pub(crate) struct WriterGuard {
    lock: Arc<WriterLock>,
}

impl WriterLock {
    /// Waits for the lock and takes it.
    pub(crate) fn lock(self: &Arc<Self>) -> WriterGuard {
        let mut state = self.state.lock();
        state.waiting += 1;
        while state.taken {
            self.freed.wait(&mut state);
        }
        state.waiting -= 1;
        state.taken = true;
        WriterGuard { lock: self.clone() }
    }

    /// Waits for the lock no longer than this.
    pub(crate) fn lock_within(self: &Arc<Self>, patience: Duration) -> Option<WriterGuard> {
        let mut state = self.state.lock();
        let until = Instant::now() + patience;
        state.waiting += 1;
        while state.taken && !self.freed.wait_until(&mut state, until).timed_out() {}
        state.waiting -= 1;
        if state.taken {
            return None;
        }
        state.taken = true;
        Some(WriterGuard { lock: self.clone() })
    }

    /// Whether a thread waits.
    pub(crate) fn is_contended(&self) -> bool {
        self.state.lock().waiting > 0
    }
}

impl WriterGuard {
    /// Whether a thread waits for this guard to be dropped.
    pub(crate) fn is_contended(&self) -> bool {
        self.lock.is_contended()
    }
}

impl Drop for WriterGuard {
    fn drop(&mut self) {
        self.lock.state.lock().taken = false;
        self.lock.freed.notify_one();
    }
}
