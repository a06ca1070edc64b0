//! The time that statements see.
//!
//! Time never goes back within a process, whatever the system's clock does. A [`Moment`] is the time of one
//! statement: what it finds alive stays alive until it ends, because storage may forget only what is dead for
//! every moment that is held ([`Clock::horizon`]).

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where time comes from: microseconds since 1970-01-01 00:00 UTC.
pub type TimeSource = Arc<dyn Fn() -> i64 + Send + Sync>;

/// The clock of a database.
pub(crate) struct Clock {
    state: Mutex<State>,
}

struct State {
    source: TimeSource,
    /// The latest time that was given.
    last: i64,
    /// How many hold each moment.
    held: BTreeMap<i64, usize>,
}

impl State {
    fn now(&mut self) -> i64 {
        self.last = self.last.max((self.source)());
        self.last
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock {
            state: Mutex::new(State {
                source: Arc::new(system_time),
                last: i64::MIN,
                held: BTreeMap::new(),
            }),
        }
    }
}

impl Clock {
    /// Takes time from elsewhere from now on.
    pub(crate) fn set_source(&self, source: TimeSource) {
        self.state.lock().source = source;
    }

    /// Returns the present time.
    pub(crate) fn now(&self) -> i64 {
        self.state.lock().now()
    }

    /// Returns the present time, and holds it.
    pub(crate) fn moment(self: &Arc<Self>) -> Arc<Moment> {
        let mut state = self.state.lock();
        let time = state.now();
        *state.held.entry(time).or_default() += 1;
        Arc::new(Moment {
            time,
            clock: self.clone(),
        })
    }

    /// Returns a time that is not later than any moment held now or in future.
    pub(crate) fn horizon(&self) -> i64 {
        let mut state = self.state.lock();
        let now = state.now();
        state.held.keys().next().copied().unwrap_or(now)
    }
}

/// A time that a reader holds.
pub(crate) struct Moment {
    time: i64,
    clock: Arc<Clock>,
}

impl Moment {
    pub(crate) fn time(&self) -> i64 {
        self.time
    }
}

impl Drop for Moment {
    fn drop(&mut self) {
        let held = &mut self.clock.state.lock().held;
        if let Some(count) = held.get_mut(&self.time) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.time);
            }
        }
    }
}

fn system_time() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, Ordering};

    #[test]
    fn time_never_goes_back_and_the_horizon_waits_for_moments() {
        let time = Arc::new(AtomicI64::new(100));
        let clock = Arc::new(Clock::default());
        let source = time.clone();
        clock.set_source(Arc::new(move || source.load(Ordering::Relaxed)));
        let first = clock.moment();
        time.store(200, Ordering::Relaxed);
        let second = clock.moment();
        time.store(150, Ordering::Relaxed);
        assert_eq!((first.time(), second.time(), clock.now()), (100, 200, 200));
        assert_eq!(clock.horizon(), 100);
        drop(first);
        assert_eq!(clock.horizon(), 200);
        time.store(300, Ordering::Relaxed);
        assert_eq!(clock.horizon(), 200);
        drop(second);
        assert_eq!(clock.horizon(), 300);
    }
}
