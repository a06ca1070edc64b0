//! Group commit: writers that wait for one another share a sync of the log.
//!
//! A sync takes milliseconds, in which a writer that is alone may as well hold the writer lock. Where
//! others wait for it, a commit is written to the log without a sync, gives up the lock, and waits
//! until the log is synced beyond it: one of the waiting threads syncs all that is written by then, and
//! meanwhile the next ones write. What is acknowledged is durable either way; others may see a commit
//! some milliseconds before that, and what they make of it is behind it in the log.
//!
//! Connections that commit again and again come back a moment after a sync has released them, and would miss the next one,
//! which those that came meanwhile begin at once: they would end in two halves that wait for each other's syncs. So the thread that syncs
//! first waits for those that the last sync released, for as long as that took at most, and not at all for a
//! while after a wait without effect ([`Gathering`]).
//!
//! When a sync fails, it is unknown what of the log is on disk, and no later commit is said to be durable.

use crate::KvError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Longest wait for others before a sync.
const GATHERING_MAX: Duration = Duration::from_millis(2);

/// Most syncs that are begun without waiting after a wait without effect.
const HURRIED_MAX: u32 = 256;

/// The commits that wait for a sync of the log.
#[derive(Default)]
pub(super) struct Group {
    state: Mutex<State>,
    changed: Condvar,
    /// Signalled when every expected commit has joined.
    gathered: Condvar,
}

#[derive(Default)]
struct State {
    /// Commits written so far without a sync.
    written: u64,
    /// How many of them, from the first, are known to be durable.
    synced: u64,
    /// Whether a thread is syncing.
    syncing: bool,
    failed: bool,
    gathering: Gathering,
}

/// For how many commits a sync waits.
#[derive(Default)]
struct Gathering {
    /// The number of commits when all that the last sync released have come back.
    expected: u64,
    /// How long the last sync took, or the longest wait.
    took: Duration,
    /// How many syncs are still to be begun at once, and how many were after the last vain wait.
    hurried: u32,
    hurry: u32,
    /// Whether a thread waits for others.
    waits: bool,
}

impl Gathering {
    /// Notes a sync for the commits up to `synced` from `before` on, at whose end `written` were written.
    fn released(&mut self, (before, synced, written): (u64, u64, u64), took: Duration) {
        self.expected = written + (synced - before);
        self.took = took.min(GATHERING_MAX);
    }

    /// Notes how many of the commits that were waited for have come.
    fn came(&mut self, missing: u64, came: u64) {
        let was_worth_it = came * 2 >= missing;
        self.hurry = match was_worth_it {
            true => 0,
            false => (self.hurry * 2).clamp(4, HURRIED_MAX),
        };
        self.hurried = self.hurry;
    }
}

/// Why a commit is not known to be durable.
#[derive(Debug)]
pub(super) enum Failure {
    /// The sync of this commit.
    Own(KvError),
    /// That of another, before or for this one.
    Others,
}

impl Group {
    /// Notes a commit that was written without a sync, and numbers it.
    pub(super) fn written(&self) -> u64 {
        let mut state = self.state.lock();
        state.written += 1;
        if state.gathering.waits && state.written >= state.gathering.expected {
            self.gathered.notify_one();
        }
        state.written
    }

    /// Whether commits wait.
    pub(super) fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.synced < state.written
    }

    /// Waits until a commit is durable, and syncs if no other thread does.
    pub(super) fn wait(&self, commit: u64, sync: impl Fn() -> Result<(), KvError>) -> Result<(), Failure> {
        let mut state = self.state.lock();
        while state.synced < commit {
            if state.failed {
                return Err(Failure::Others);
            }
            if state.syncing {
                self.changed.wait(&mut state);
                continue;
            }
            state.syncing = true;
            self.gather(&mut state);
            let (before, all) = (state.synced, state.written);
            drop(state);
            let started = Instant::now();
            let outcome = sync();
            let took = started.elapsed();
            state = self.state.lock();
            state.syncing = false;
            match &outcome {
                Ok(()) => {
                    state.synced = all;
                    let written = state.written;
                    state.gathering.released((before, all, written), took);
                }
                Err(_) => state.failed = true,
            }
            self.changed.notify_all();
            outcome.map_err(Failure::Own)?;
        }
        Ok(())
    }

    /// Waits for the commits that the last sync has released, if they are likely to come back.
    fn gather(&self, state: &mut MutexGuard<'_, State>) {
        let missing = state.gathering.expected.saturating_sub(state.written);
        if missing == 0 {
            return;
        }
        if state.gathering.hurried > 0 {
            state.gathering.hurried -= 1;
            return;
        }
        let until = Instant::now() + state.gathering.took;
        let before = state.written;
        state.gathering.waits = true;
        while state.written < state.gathering.expected {
            if self.gathered.wait_until(state, until).timed_out() {
                break;
            }
        }
        state.gathering.waits = false;
        let came = state.written - before;
        state.gathering.came(missing, came);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    #[test]
    fn one_sync_is_for_all_that_is_written() {
        let (group, syncs) = (Group::default(), AtomicU64::new(0));
        let (first, second) = (group.written(), group.written());
        assert!(group.is_busy());
        let sync = || {
            syncs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        group.wait(second, sync).expect("the sync succeeds");
        group.wait(first, sync).expect("it was for both");
        assert_eq!((syncs.load(Ordering::Relaxed), group.is_busy()), (1, false));
    }

    #[test]
    fn what_is_written_during_a_sync_waits_for_the_next() {
        let group = Group::default();
        let first = group.written();
        let syncs = AtomicU64::new(0);
        let second = AtomicU64::new(0);
        group
            .wait(first, || {
                syncs.fetch_add(1, Ordering::Relaxed);
                second.store(group.written(), Ordering::Relaxed);
                Ok(())
            })
            .expect("the sync succeeds");
        assert!(group.is_busy());
        group
            .wait(second.into_inner(), || {
                syncs.fetch_add(1, Ordering::Relaxed);
                Ok(())
            })
            .expect("the sync succeeds");
        assert_eq!(syncs.into_inner(), 2);
    }

    #[test]
    fn a_sync_waits_for_those_whom_the_last_released_and_not_in_vain_again_and_again() {
        let (group, syncs) = (Group::default(), AtomicU64::new(0));
        let sync = || {
            syncs.fetch_add(1, Ordering::Relaxed);
            Ok(())
        };
        group.written();
        let second = group.written();
        group.wait(second, sync).expect("the sync succeeds");
        assert_eq!(group.state.lock().gathering.expected, 4);
        // Of two that were released one comes back: half of the rest is missed, the wait was not worth it.
        let third = group.written();
        group.wait(third, sync).expect("nobody else comes");
        assert_eq!(group.state.lock().gathering.hurried, 4);
        for left in (0..4).rev() {
            let next = (group.written(), group.written()).1;
            group.state.lock().gathering.expected = next + 1;
            group.wait(next, sync).expect("it is begun at once");
            assert_eq!(group.state.lock().gathering.hurried, left);
        }
        // The commit that was waited for ends the wait.
        let first = group.written();
        group.state.lock().gathering = Gathering {
            expected: first + 1,
            took: Duration::from_secs(1000),
            ..Gathering::default()
        };
        thread::scope(|scope| {
            let waiting = scope.spawn(|| group.wait(first, sync));
            while !group.state.lock().gathering.waits {
                thread::yield_now();
            }
            let second = group.written();
            waiting
                .join()
                .expect("it does not panic")
                .expect("the sync succeeds");
            assert!(group.state.lock().synced >= second);
        });
        assert_eq!(group.state.lock().gathering.hurry, 0);
    }

    #[test]
    fn a_failed_sync_is_one_for_all() {
        let group = Group::default();
        let (first, second) = (group.written(), group.written());
        let failed = group.wait(first, || Err(KvError::Closed));
        assert!(matches!(failed, Err(Failure::Own(KvError::Closed))));
        let failed = group.wait(second, || Ok(()));
        assert!(matches!(failed, Err(Failure::Others)));
    }
}
