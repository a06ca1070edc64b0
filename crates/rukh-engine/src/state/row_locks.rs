//! Row locks: transactions that wait for one another instead of failing at their commit.
//!
//! A transaction that was begun with a [`Patience`] locks each row when a statement of it changes the row,
//! and holds the lock until its end. Other transactions that want the row wait in a queue. Statements outside of transactions
//! lock the rows that they change for as long as they run, while there are such transactions ([`StatementLocks`]).
//!
//! | mode      | taken for                                   | goes together with |
//! |-----------|---------------------------------------------|--------------------|
//! | Exclusive | changes, `FOR UPDATE`, UNIQUE values, `LOCK TABLE` | nothing      |
//! | Shared    | `FOR SHARE`                                 | Shared             |
//! | Added     | adds to a COUNTER                           | Added              |
//! | Within    | the table of each locked row                | Within             |
//!
//! Locks are granted in the order of the requests; only an owner that already holds a lock in a weaker mode
//! passes the queue. A request that closes a circle of waiters fails ([`EngineError::Deadlock`]): the search follows
//! the graph of waiters when a request begins to wait, which is when circles come about.
//!
//! A lock decides the order, and nothing else. Whether a snapshot is recent enough to change the row is checked in
//! storage (`CommitOrder`) once the lock is held, and bulk loads, TRUNCATE and DDL, which take no row locks, are found there, too.
//! Locks live in memory: they end with the process.
//!
//! Invariant: no thread waits for a row lock while it holds the writer lock.

use crate::EngineError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use rukh_catalog::TableId;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often a waiter checks whether to go on waiting.
const LOOK: Duration = Duration::from_millis(10);

/// Memory counted for a lock that is held, in bytes.
pub(crate) const LOCK_BYTES: usize = 160;

/// What is locked: a row, or a UNIQUE value, by the fingerprint of its key; 0 is the table itself.
pub(crate) type LockKey = (TableId, u64);

/// How a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockMode {
    Exclusive,
    Shared,
    Added,
    Within,
}

impl LockMode {
    fn goes_with(self, other: LockMode) -> bool {
        self == other && self != LockMode::Exclusive
    }

    /// Returns the mode that has the rights of both.
    fn with(self, other: LockMode) -> LockMode {
        match self == other {
            true => self,
            false => LockMode::Exclusive,
        }
    }
}

/// How long a transaction waits for row locks.
#[derive(Clone)]
pub struct Patience {
    /// The longest wait for one lock; `None` is for as long as it takes.
    pub timeout: Option<Duration>,
    /// Returns whether to give up; called a hundred times a second.
    pub cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

impl Default for Patience {
    fn default() -> Self {
        Patience {
            timeout: None,
            cancelled: Arc::new(|| false),
        }
    }
}

impl fmt::Debug for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Patience")
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// The row locks of one database.
#[derive(Default)]
pub(crate) struct RowLocks {
    state: Mutex<State>,
    /// How many may hold locks.
    owners: AtomicUsize,
    next: AtomicU64,
}

type OwnerId = u64;

#[derive(Default)]
struct State {
    locks: HashMap<LockKey, Lock>,
    /// The lock that each waiter waits for.
    waits: HashMap<OwnerId, LockKey>,
}

#[derive(Default)]
struct Lock {
    holders: Vec<(OwnerId, LockMode)>,
    queue: VecDeque<Arc<Waiter>>,
}

struct Waiter {
    owner: OwnerId,
    mode: LockMode,
    granted: AtomicBool,
    woken: Condvar,
}

/// An owner of locks, until dropped.
pub(crate) struct LockOwner {
    locks: Arc<RowLocks>,
    id: OwnerId,
    held: Mutex<Vec<Held>>,
}

/// A lock that was taken, or taken in a stronger mode.
struct Held {
    key: LockKey,
    before: Option<LockMode>,
}

impl RowLocks {
    /// Whether an owner may hold locks.
    pub(crate) fn are_in_use(&self) -> bool {
        self.owners.load(Ordering::SeqCst) > 0
    }

    /// Makes what a statement outside of transactions locks its rows with; `None` while no transaction locks rows.
    pub(crate) fn statement(self: &Arc<Self>) -> Option<Arc<StatementLocks>> {
        self.are_in_use().then(|| Arc::new(StatementLocks::new(self)))
    }

    pub(crate) fn owner(self: &Arc<Self>) -> LockOwner {
        self.owners.fetch_add(1, Ordering::SeqCst);
        LockOwner {
            locks: self.clone(),
            id: self.next.fetch_add(1, Ordering::Relaxed),
            held: Mutex::default(),
        }
    }
}

impl LockOwner {
    /// Takes a lock; `false` if another holds it, or comes first.
    pub(crate) fn try_lock(&self, key: LockKey, mode: LockMode) -> bool {
        self.take(&mut self.locks.state.lock(), key, mode)
    }

    /// Takes a lock; waits for it where another holds it.
    ///
    /// Fails with [`EngineError::Deadlock`], [`EngineError::LockTimeout`] and [`EngineError::Cancelled`].
    pub(crate) fn lock(&self, key: LockKey, mode: LockMode, patience: &Patience) -> Result<(), EngineError> {
        let mut state = self.locks.state.lock();
        if self.take(&mut state, key, mode) {
            return Ok(());
        }
        let before = state.mode_of(self.id, key);
        let waiter = state.enqueue(self.id, key, mode);
        let waited = match state.is_deadlock(self.id) {
            true => Err(EngineError::Deadlock),
            false => wait(&mut state, &waiter, patience),
        };
        match &waited {
            Ok(()) => self.held.lock().push(Held { key, before }),
            Err(_) => state.give_up(self.id, key),
        }
        waited
    }

    /// Takes a lock that is free, or held in a compatible mode, and that has no waiter.
    fn take(&self, state: &mut State, key: LockKey, mode: LockMode) -> bool {
        let lock = match state.locks.entry(key) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(Lock::default()).holders.push((self.id, mode));
                self.held.lock().push(Held { key, before: None });
                return true;
            }
        };
        let before = lock.mode_of(self.id);
        let wanted = before.map_or(mode, |before| before.with(mode));
        if before == Some(LockMode::Exclusive) || before == Some(wanted) {
            return true;
        }
        let passes = before.is_some() || lock.queue.is_empty();
        if !passes || !lock.admits(self.id, wanted) {
            return false;
        }
        lock.hold(self.id, wanted);
        self.held.lock().push(Held { key, before });
        true
    }

    /// Returns how many requests were granted so far.
    pub(crate) fn count(&self) -> usize {
        self.held.lock().len()
    }

    /// Gives up what was granted after the first `count` requests.
    pub(crate) fn release_after(&self, count: usize) {
        let released = {
            let mut held = self.held.lock();
            let from = count.min(held.len());
            held.split_off(from)
        };
        let mut state = self.locks.state.lock();
        for Held { key, before } in released.into_iter().rev() {
            state.release(self.id, key, before);
        }
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        self.release_after(0);
        self.locks.owners.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Waits until a lock is granted, or there is a reason to give up.
fn wait(state: &mut MutexGuard<'_, State>, waiter: &Waiter, patience: &Patience) -> Result<(), EngineError> {
    let until = patience.timeout.map(|timeout| Instant::now() + timeout);
    loop {
        waiter.woken.wait_for(state, LOOK);
        if waiter.granted.load(Ordering::Relaxed) {
            return Ok(());
        }
        if (patience.cancelled)() {
            return Err(EngineError::Cancelled);
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Err(EngineError::LockTimeout);
        }
    }
}

impl Lock {
    fn mode_of(&self, owner: OwnerId) -> Option<LockMode> {
        let held = self.holders.iter().find(|(holder, _)| *holder == owner);
        held.map(|(_, mode)| *mode)
    }

    /// Whether all other holders go with a mode.
    fn admits(&self, owner: OwnerId, mode: LockMode) -> bool {
        let mut others = self.holders.iter().filter(|(holder, _)| *holder != owner);
        others.all(|(_, held)| held.goes_with(mode))
    }

    fn hold(&mut self, owner: OwnerId, mode: LockMode) {
        match self.holders.iter_mut().find(|(holder, _)| *holder == owner) {
            Some((_, held)) => *held = mode,
            None => self.holders.push((owner, mode)),
        }
    }
}

impl State {
    fn mode_of(&self, owner: OwnerId, key: LockKey) -> Option<LockMode> {
        self.locks.get(&key).and_then(|lock| lock.mode_of(owner))
    }

    /// Has an owner wait: at the end of the queue, or at its head if the owner holds the lock in a weaker mode.
    fn enqueue(&mut self, owner: OwnerId, key: LockKey, mode: LockMode) -> Arc<Waiter> {
        let lock = self.locks.entry(key).or_default();
        let before = lock.mode_of(owner);
        let waiter = Arc::new(Waiter {
            owner,
            mode: before.map_or(mode, |before| before.with(mode)),
            granted: AtomicBool::new(false),
            woken: Condvar::new(),
        });
        match before {
            Some(_) => lock.queue.push_front(waiter.clone()),
            None => lock.queue.push_back(waiter.clone()),
        }
        self.waits.insert(owner, key);
        waiter
    }

    /// Takes an owner out of the queue.
    fn give_up(&mut self, owner: OwnerId, key: LockKey) {
        self.waits.remove(&owner);
        if let Some(lock) = self.locks.get_mut(&key) {
            lock.queue.retain(|waiter| waiter.owner != owner);
        }
        self.grant(key);
    }

    /// Takes a lock from its holder, or gives it back in the mode held before.
    fn release(&mut self, owner: OwnerId, key: LockKey, before: Option<LockMode>) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        match before {
            Some(mode) => lock.hold(owner, mode),
            None => lock.holders.retain(|(holder, _)| *holder != owner),
        }
        self.grant(key);
    }

    /// Grants a lock to the first owners of its queue; forgets a lock without owner and waiter.
    fn grant(&mut self, key: LockKey) {
        let Some(lock) = self.locks.get_mut(&key) else {
            return;
        };
        while let Some(first) = lock.queue.front() {
            if !lock.admits(first.owner, first.mode) {
                break;
            }
            let (owner, mode) = (first.owner, first.mode);
            first.granted.store(true, Ordering::Relaxed);
            first.woken.notify_one();
            lock.queue.pop_front();
            lock.hold(owner, mode);
            self.waits.remove(&owner);
        }
        if lock.holders.is_empty() && lock.queue.is_empty() {
            self.locks.remove(&key);
        }
    }

    /// Whether an owner that waits does so for itself, by way of others.
    fn is_deadlock(&self, owner: OwnerId) -> bool {
        let (mut seen, mut next) = (HashSet::new(), self.blockers(owner));
        while let Some(other) = next.pop() {
            if other == owner {
                return true;
            }
            if seen.insert(other) {
                next.extend(self.blockers(other));
            }
        }
        false
    }

    /// Returns the owners that an owner waits for: holders of another mode, and all that come first.
    fn blockers(&self, owner: OwnerId) -> Vec<OwnerId> {
        let lock = self.waits.get(&owner).and_then(|key| self.locks.get(key));
        let Some(lock) = lock else {
            return Vec::new();
        };
        let at = lock.queue.iter().position(|waiter| waiter.owner == owner);
        let ahead = lock.queue.iter().take(at.unwrap_or(0)).map(|waiter| waiter.owner);
        let mode = at.map_or(LockMode::Exclusive, |at| lock.queue[at].mode);
        let holders = lock
            .holders
            .iter()
            .filter(|(holder, held)| *holder != owner && !held.goes_with(mode));
        holders.map(|(holder, _)| *holder).chain(ahead).collect()
    }
}

/// The row locks of a statement outside of transactions, kept while it is run again.
///
/// The statement tries to lock what it changes when it commits. Where another holds a lock, the statement ends with
/// [`EngineError::Locked`] and changes nothing; [`StatementLocks::wait`] takes the lock without the writer lock, and the
/// statement is run again on the newest state.
pub struct StatementLocks {
    owner: LockOwner,
    blocked: Mutex<Option<(LockKey, LockMode)>>,
}

impl StatementLocks {
    pub(crate) fn new(locks: &Arc<RowLocks>) -> Self {
        StatementLocks {
            owner: locks.owner(),
            blocked: Mutex::default(),
        }
    }

    /// Takes all locks, or none is waited for and the first that is held by another is noted.
    pub(crate) fn try_all(&self, wanted: impl IntoIterator<Item = (LockKey, LockMode)>) -> bool {
        let busy = wanted
            .into_iter()
            .find(|(key, mode)| !self.owner.try_lock(*key, *mode));
        *self.blocked.lock() = busy;
        busy.is_none()
    }

    /// Waits for the lock that the statement could not take; `false` if it has not failed for that reason.
    ///
    /// Fails with [`EngineError::Deadlock`], [`EngineError::LockTimeout`] and [`EngineError::Cancelled`].
    pub fn wait(&self, patience: &Patience) -> Result<bool, EngineError> {
        let Some((key, mode)) = self.blocked.lock().take() else {
            return Ok(false);
        };
        self.lock(key, mode, patience)?;
        Ok(true)
    }

    pub(crate) fn lock(&self, key: LockKey, mode: LockMode, patience: &Patience) -> Result<(), EngineError> {
        self.owner.lock(key, mode, patience)
    }
}

#[cfg(test)]
mod tests {
    use super::LockMode::{Added, Exclusive, Shared};
    use super::*;

    const A: LockKey = (TableId(1), 1);
    const B: LockKey = (TableId(1), 2);

    fn owners<const N: usize>() -> [LockOwner; N] {
        let locks = Arc::<RowLocks>::default();
        std::array::from_fn(|_| locks.owner())
    }

    /// Waits until an owner waits for a lock.
    fn until_queued(owner: &LockOwner, key: LockKey, length: usize) {
        while owner
            .locks
            .state
            .lock()
            .locks
            .get(&key)
            .map_or(0, |lock| lock.queue.len())
            < length
        {
            std::thread::yield_now();
        }
    }

    #[test]
    fn modes_go_together_or_not() {
        let cases = [
            (Shared, Shared, true),
            (Added, Added, true),
            (Shared, Added, false),
            (Exclusive, Shared, false),
            (Shared, Exclusive, false),
            (Exclusive, Exclusive, false),
        ];
        for (first, second, expected) in cases {
            let [a, b] = owners();
            assert!(a.try_lock(A, first));
            assert_eq!(b.try_lock(A, second), expected, "{first:?} beside {second:?}");
            assert!(b.try_lock(B, second));
            let [c] = owners();
            assert!(c.try_lock(A, first));
            assert!(c.try_lock(A, second), "one's own lock is no obstacle");
        }
    }

    #[test]
    fn a_lock_goes_to_the_first_that_waits() {
        let [a, b, c] = owners();
        assert!(a.try_lock(A, Exclusive));
        let order = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (nth, owner) in [&b, &c].into_iter().enumerate() {
                let order = &order;
                scope.spawn(move || {
                    owner.lock(A, Exclusive, &Patience::default()).unwrap();
                    order.lock().push(nth);
                    owner.release_after(0);
                });
                until_queued(&a, A, nth + 1);
            }
            a.release_after(0);
        });
        assert_eq!(*order.lock(), [0, 1]);
        let locks = c.locks.clone();
        drop((a, b, c));
        assert!(locks.state.lock().locks.is_empty() && !locks.are_in_use());
    }

    #[test]
    fn who_closes_a_circle_fails_and_the_others_go_on() {
        let [a, b] = owners();
        assert!(a.try_lock(A, Exclusive));
        assert!(b.try_lock(B, Exclusive));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| a.lock(B, Exclusive, &Patience::default()));
            until_queued(&b, B, 1);
            assert!(matches!(
                b.lock(A, Exclusive, &Patience::default()),
                Err(EngineError::Deadlock)
            ));
            b.release_after(0);
            waits.join().unwrap().unwrap();
        });
    }

    #[test]
    fn two_who_share_a_row_cannot_both_change_it() {
        let [a, b] = owners();
        assert!(a.try_lock(A, Shared));
        assert!(b.try_lock(A, Shared));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| a.lock(A, Exclusive, &Patience::default()));
            until_queued(&b, A, 1);
            assert!(matches!(
                b.lock(A, Exclusive, &Patience::default()),
                Err(EngineError::Deadlock)
            ));
            b.release_after(0);
            waits.join().unwrap().unwrap();
        });
    }

    #[test]
    fn a_wait_ends_by_time_and_by_request() {
        let [a, b] = owners();
        assert!(a.try_lock(A, Exclusive));
        let short = Patience {
            timeout: Some(Duration::from_millis(1)),
            ..Patience::default()
        };
        assert!(matches!(b.lock(A, Shared, &short), Err(EngineError::LockTimeout)));
        let unwilling = Patience {
            cancelled: Arc::new(|| true),
            ..Patience::default()
        };
        assert!(matches!(
            b.lock(A, Shared, &unwilling),
            Err(EngineError::Cancelled)
        ));
        assert!(a.locks.state.lock().waits.is_empty());
    }

    #[test]
    fn a_part_of_the_locks_is_given_back() {
        let [a, b] = owners();
        assert!(a.try_lock(A, Shared));
        let before = a.count();
        assert!(a.try_lock(A, Exclusive));
        assert!(a.try_lock(B, Exclusive));
        a.release_after(before);
        assert!(b.try_lock(B, Exclusive));
        assert!(b.try_lock(A, Shared));
        assert!(!b.try_lock(A, Exclusive));
    }

    #[test]
    fn a_statement_waits_for_what_it_could_not_take() {
        let locks = Arc::<RowLocks>::default();
        let (owner, statement) = (locks.owner(), StatementLocks::new(&locks));
        assert!(owner.try_lock(B, Exclusive));
        assert!(!statement.try_all([(A, Exclusive), (B, Added)]));
        drop(owner);
        assert!(statement.wait(&Patience::default()).unwrap());
        assert!(!statement.wait(&Patience::default()).unwrap());
        assert!(statement.try_all([(A, Exclusive), (B, Added)]));
    }
}
