//! Advisory locks: locks on numbers, whose meaning programs agree on.
//!
//! A session holds them until it gives them up or ends, or until the end of a transaction; it may take one several times, and has to give
//! it up as often. They know nothing of row locks: a circle that goes through both is not found.
//!
//! Locks live in memory: they end with the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// What is locked: a number, or two; the two do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisoryKey {
    /// A number of 64 bits.
    One(i64),
    /// Two of 32 bits.
    Two(i32, i32),
}

/// How long a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdvisorySpan {
    /// Until it is given up, or the session ends.
    Session,
    /// Until the transaction ends.
    Transaction,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AdvisoryAnswer {
    /// The lock is held.
    Taken,
    /// Another session holds it, or comes first.
    Held,
    /// The sessions that hold it wait for this one.
    Deadlock,
}

/// The advisory locks of a database.
#[derive(Default)]
pub(crate) struct AdvisoryLocks {
    state: Mutex<State>,
    next: AtomicU64,
}

type OwnerId = u64;

#[derive(Default)]
struct State {
    locks: HashMap<AdvisoryKey, Vec<Holder>>,
    waits: HashMap<OwnerId, Wait>,
    /// Requests that began to wait, ever.
    waited: u64,
}

#[derive(Clone, Copy)]
struct Wait {
    key: AdvisoryKey,
    is_shared: bool,
    /// Its place among all that waited.
    place: u64,
}

/// How often a session holds a lock in a mode.
struct Holder {
    owner: OwnerId,
    is_shared: bool,
    by_session: u64,
    by_transaction: u64,
}

impl Holder {
    fn count(&mut self, span: AdvisorySpan) -> &mut u64 {
        match span {
            AdvisorySpan::Session => &mut self.by_session,
            AdvisorySpan::Transaction => &mut self.by_transaction,
        }
    }

    fn is_held(&self) -> bool {
        self.by_session > 0 || self.by_transaction > 0
    }
}

/// How often a transaction holds advisory locks, by number and mode.
#[derive(Clone, Debug, Default)]
pub struct HeldLocks(HashMap<(AdvisoryKey, bool), u64>);

/// The advisory locks of one session; dropping it gives them up.
pub struct AdvisoryOwner {
    locks: Arc<AdvisoryLocks>,
    id: OwnerId,
}

impl AdvisoryLocks {
    pub(crate) fn owner(self: &Arc<Self>) -> AdvisoryOwner {
        AdvisoryOwner {
            locks: self.clone(),
            id: self.next.fetch_add(1, Ordering::Relaxed),
        }
    }
}

impl AdvisoryOwner {
    /// Takes a lock if no other session stands in the way.
    pub fn try_lock(&self, key: AdvisoryKey, is_shared: bool, span: AdvisorySpan) -> bool {
        self.locks.state.lock().take(self.id, key, is_shared, span)
    }

    /// Takes a lock, or waits for it: the caller asks again after a while, or gives up ([`AdvisoryOwner::give_up`]).
    pub fn request(&self, key: AdvisoryKey, is_shared: bool, span: AdvisorySpan) -> AdvisoryAnswer {
        let mut state = self.locks.state.lock();
        if state.take(self.id, key, is_shared, span) {
            state.waits.remove(&self.id);
            return AdvisoryAnswer::Taken;
        }
        if !state.waits.contains_key(&self.id) {
            state.waited += 1;
            let place = state.waited;
            let wait = Wait {
                key,
                is_shared,
                place,
            };
            state.waits.insert(self.id, wait);
            if state.is_deadlock(self.id) {
                state.waits.remove(&self.id);
                return AdvisoryAnswer::Deadlock;
            }
        }
        AdvisoryAnswer::Held
    }

    /// Waits no longer.
    pub fn give_up(&self) {
        self.locks.state.lock().waits.remove(&self.id);
    }

    /// Gives a lock of the session up once; `false` if it does not hold it in this mode.
    pub fn unlock(&self, key: AdvisoryKey, is_shared: bool) -> bool {
        let mut state = self.locks.state.lock();
        let holders = state.locks.entry(key).or_default();
        let own = holders
            .iter_mut()
            .find(|holder| holder.owner == self.id && holder.is_shared == is_shared && holder.by_session > 0);
        let is_held = own.map(|holder| holder.by_session -= 1).is_some();
        state.clear(key);
        is_held
    }

    /// Returns the locks of the transaction, as a savepoint keeps them.
    pub fn of_transaction(&self) -> HeldLocks {
        let state = self.locks.state.lock();
        let own = state.locks.iter().flat_map(|(key, holders)| {
            let own = holders.iter().filter(|holder| holder.owner == self.id);
            own.map(move |holder| ((*key, holder.is_shared), holder.by_transaction))
        });
        HeldLocks(own.filter(|(_, count)| *count > 0).collect())
    }

    /// Gives up the locks that the transaction has taken since a savepoint.
    pub fn release_since(&self, savepoint: &HeldLocks) {
        let mut state = self.locks.state.lock();
        state.locks.retain(|key, holders| {
            for holder in holders.iter_mut().filter(|holder| holder.owner == self.id) {
                holder.by_transaction = savepoint.0.get(&(*key, holder.is_shared)).copied().unwrap_or(0);
            }
            holders.retain(Holder::is_held);
            !holders.is_empty()
        });
    }

    /// Gives up all locks of a span.
    pub fn release(&self, span: AdvisorySpan) {
        let mut state = self.locks.state.lock();
        state.locks.retain(|_, holders| {
            for holder in holders.iter_mut().filter(|holder| holder.owner == self.id) {
                *holder.count(span) = 0;
            }
            holders.retain(Holder::is_held);
            !holders.is_empty()
        });
    }
}

impl Drop for AdvisoryOwner {
    fn drop(&mut self) {
        self.give_up();
        self.release(AdvisorySpan::Transaction);
        self.release(AdvisorySpan::Session);
    }
}

impl State {
    fn take(&mut self, owner: OwnerId, key: AdvisoryKey, is_shared: bool, span: AdvisorySpan) -> bool {
        let place = self.waits.get(&owner).map(|wait| wait.place);
        let is_before = |wait: &Wait| place.is_none_or(|place| wait.place < place);
        let mut others = self.waits.iter().filter(|(waiter, _)| **waiter != owner);
        let is_passed =
            others.any(|(_, wait)| wait.key == key && !(wait.is_shared && is_shared) && is_before(wait));
        let holders = self.locks.entry(key).or_default();
        let is_holder = holders.iter().any(|holder| holder.owner == owner);
        let is_free = holders
            .iter()
            .all(|holder| holder.owner == owner || holder.is_shared && is_shared);
        // An owner that holds it already does not queue.
        if !is_free || is_passed && !is_holder {
            self.clear(key);
            return false;
        }
        let own = holders
            .iter_mut()
            .find(|holder| holder.owner == owner && holder.is_shared == is_shared);
        match own {
            Some(holder) => *holder.count(span) += 1,
            None => {
                let mut holder = Holder {
                    owner,
                    is_shared,
                    by_session: 0,
                    by_transaction: 0,
                };
                *holder.count(span) += 1;
                holders.push(holder);
            }
        }
        true
    }

    /// Forgets a lock that no session holds.
    fn clear(&mut self, key: AdvisoryKey) {
        if let Some(holders) = self.locks.get_mut(&key) {
            holders.retain(Holder::is_held);
            if holders.is_empty() {
                self.locks.remove(&key);
            }
        }
    }

    /// Whether those that an owner waits for wait for it.
    fn is_deadlock(&self, owner: OwnerId) -> bool {
        let (mut seen, mut left) = (vec![owner], vec![owner]);
        while let Some(waiter) = left.pop() {
            let Some(wait) = self.waits.get(&waiter) else {
                continue;
            };
            let holders = self.locks.get(&wait.key).into_iter().flatten();
            for holder in holders.filter(|holder| !(holder.is_shared && wait.is_shared)) {
                match holder.owner {
                    holder if holder == waiter => {}
                    holder if holder == owner => return true,
                    holder if seen.contains(&holder) => {}
                    holder => {
                        seen.push(holder);
                        left.push(holder);
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: AdvisoryKey = AdvisoryKey::One(1);
    const OTHER: AdvisoryKey = AdvisoryKey::Two(0, 1);

    #[test]
    fn locks_are_counted_and_end_with_their_span() {
        let locks = Arc::<AdvisoryLocks>::default();
        let (one, other) = (locks.owner(), locks.owner());
        assert!(one.try_lock(KEY, false, AdvisorySpan::Session));
        assert!(one.try_lock(KEY, false, AdvisorySpan::Session));
        assert!(one.try_lock(KEY, true, AdvisorySpan::Transaction));
        assert!(other.try_lock(OTHER, false, AdvisorySpan::Session));
        assert!(!other.try_lock(KEY, true, AdvisorySpan::Session));
        assert!(one.unlock(KEY, false) && one.unlock(KEY, false) && !one.unlock(KEY, false));
        assert!(other.try_lock(KEY, true, AdvisorySpan::Session));
        assert!(!other.try_lock(KEY, false, AdvisorySpan::Session));
        one.release(AdvisorySpan::Transaction);
        assert!(other.try_lock(KEY, false, AdvisorySpan::Session));
        drop(other);
        assert!(one.try_lock(KEY, false, AdvisorySpan::Session));
        drop(one);
        assert!(locks.state.lock().locks.is_empty());
    }

    #[test]
    fn requests_wait_in_order_and_circles_are_found() {
        let locks = Arc::<AdvisoryLocks>::default();
        let (one, two, three) = (locks.owner(), locks.owner(), locks.owner());
        let (span, held) = (AdvisorySpan::Session, AdvisoryAnswer::Held);
        assert_eq!(one.request(KEY, true, span), AdvisoryAnswer::Taken);
        assert_eq!(two.request(KEY, false, span), held);
        // A later one does not overtake it.
        assert_eq!(three.request(KEY, true, span), held);
        assert!(one.unlock(KEY, true));
        assert_eq!(three.request(KEY, true, span), held);
        assert_eq!(two.request(KEY, false, span), AdvisoryAnswer::Taken);
        three.give_up();
        assert!(three.try_lock(OTHER, false, span));
        assert_eq!(two.request(OTHER, false, span), held);
        assert_eq!(three.request(KEY, false, span), AdvisoryAnswer::Deadlock);
        two.give_up();
        assert_eq!(three.request(KEY, false, span), held);
        drop(two);
        assert_eq!(three.request(KEY, false, span), AdvisoryAnswer::Taken);
    }
}
