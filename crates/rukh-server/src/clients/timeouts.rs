//! One thread that cancels statements which run for too long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Weak};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::clients::registry::Slot;

/// A session whose statement is to be looked at, and when.
struct Deadline {
    at: Instant,
    slot: Weak<Slot>,
}

impl PartialEq for Deadline {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Deadline {}

impl PartialOrd for Deadline {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Deadline {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

/// The sessions whose statements have a deadline, the next first; each is there once or twice.
#[derive(Default)]
pub(crate) struct Timeouts {
    deadlines: Mutex<BinaryHeap<Reverse<Deadline>>>,
    changed: Condvar,
}

impl Timeouts {
    /// Starts the thread, which lives as long as the process does.
    pub(crate) fn start() -> std::io::Result<Arc<Self>> {
        let timeouts = Arc::new(Timeouts::default());
        let watched = timeouts.clone();
        std::thread::Builder::new()
            .name("rukh-timeouts".to_string())
            .spawn(move || watched.watch())?;
        Ok(timeouts)
    }

    /// Looks at the deadline of a session's statement at this time.
    pub(crate) fn add(&self, slot: &Arc<Slot>, at: Instant) {
        let mut deadlines = self.deadlines.lock();
        let is_next = deadlines.peek().is_none_or(|Reverse(next)| at < next.at);
        deadlines.push(Reverse(Deadline {
            at,
            slot: Arc::downgrade(slot),
        }));
        if is_next {
            self.changed.notify_one();
        }
    }

    fn watch(&self) {
        let mut deadlines = self.deadlines.lock();
        loop {
            let now = Instant::now();
            match deadlines.peek() {
                None => self.changed.wait(&mut deadlines),
                Some(Reverse(next)) if next.at > now => {
                    let at = next.at;
                    self.changed.wait_until(&mut deadlines, at);
                }
                Some(_) => {
                    if let Some(Reverse(due)) = deadlines.pop()
                        && let Some(slot) = due.slot.upgrade()
                        && let Some(at) = slot.look_at_deadline(now)
                    {
                        deadlines.push(Reverse(Deadline { at, slot: due.slot }));
                    }
                }
            }
        }
    }
}
