//! What was committed lately, as far as open transactions have to know of it: first committer wins.
//!
//! While transactions are open, every commit notes the keys that it touched under the number of the
//! commit: keys of rows changed, also of those put back as they were, and UNIQUE keys taken. A
//! transaction remembers the number at its beginning, and may commit if none of the keys it touched
//! itself was noted since. Adds to counters are notes of their own kind: they conflict with any other
//! change of the row, not with one another. Rows that were only locked are touched, too: as if changed
//! (`FOR UPDATE`), or so that a change by another is a conflict and the lock is none for others (`FOR SHARE`, and for all
//! of a table `LOCK TABLE`). Of a key a fingerprint of 64 bits is kept; two keys that share one are
//! taken for a conflict that is none, never the other way round. What no open transaction is older
//! than is forgotten, and without open transactions nothing is noted at all.
//!
//! Past [`KEYS_MAX`] keys the notes become coarse: of each table, the number of its last change.
//! Changes of whole tables, by bulk loads and TRUNCATE, are noted like that at once.
//!
//! Deliberately not here: changed definitions, which a commit compares itself (`transaction`).

use crate::state::row_locks::{LockKey, LockMode};
use parking_lot::Mutex;
use rukh_catalog::{IndexId, TableId};
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering, fence};

/// Keys noted at most, which take some 60 MiB.
const KEYS_MAX: usize = 1 << 20;

/// A key that a statement touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) table: TableId,
    fingerprint: u64,
    kind: Kind,
}

/// How a key was touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Changed,
    /// Added to, and nothing else.
    Added,
    /// Locked as if it were changed.
    Locked,
    /// Read, and to be as it was at the commit.
    Shared,
    /// Not a key: the table, of which nothing is to have changed at the commit.
    Table,
}

/// How rows are locked that a transaction reads, until its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLock {
    /// As if they were changed: two transactions that do so conflict.
    Update,
    /// So that no other transaction may change them; others may do the same.
    Share,
}

/// The last commits that touched a key, each kind by itself; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    changed: u64,
    added: u64,
}

/// The notes of one database.
pub(crate) struct Commits {
    /// How many transactions are open.
    open: AtomicUsize,
    notes: Mutex<Notes>,
    hasher: RandomState,
    keys_max: usize,
}

#[derive(Default)]
struct Notes {
    /// The number of the last commit noted.
    number: u64,
    /// How many transactions began at each number.
    open: BTreeMap<u64, usize>,
    /// The last commit that touched each key.
    keys: HashMap<u64, Last>,
    /// Each touch with its commit, oldest first.
    order: VecDeque<(u64, Touch)>,
    /// The last commit that touched a table, where keys are not recorded.
    tables: HashMap<TableId, u64>,
}

/// An open transaction, until dropped.
pub(crate) struct Registration {
    commits: Arc<Commits>,
    began: u64,
}

impl Default for Commits {
    fn default() -> Self {
        Commits::with_keys_max(KEYS_MAX)
    }
}

impl Touch {
    /// Returns what is locked, and how, where transactions wait for one another.
    pub(crate) fn lock(&self) -> (LockKey, LockMode) {
        let mode = match self.kind {
            Kind::Changed | Kind::Locked | Kind::Table => LockMode::Exclusive,
            Kind::Added => LockMode::Added,
            Kind::Shared => LockMode::Shared,
        };
        ((self.table, self.fingerprint), mode)
    }

    /// Whether the row was changed, not only locked.
    pub(crate) fn is_change(&self) -> bool {
        matches!(self.kind, Kind::Changed | Kind::Added)
    }
}

/// Returns the locks of keys that are touched: of the tables, and of the keys in their order.
pub(crate) fn wanted_locks(touched: &[Touch]) -> impl Iterator<Item = (LockKey, LockMode)> {
    let rows = touched.iter().filter(|touch| touch.kind != Kind::Table);
    let tables: BTreeSet<TableId> = rows.map(|touch| touch.table).collect();
    let tables = tables.into_iter().map(|table| ((table, 0), LockMode::Within));
    tables.chain(touched.iter().map(Touch::lock))
}

impl Commits {
    fn with_keys_max(keys_max: usize) -> Self {
        Commits {
            open: AtomicUsize::new(0),
            notes: Mutex::default(),
            hasher: RandomState::new(),
            keys_max,
        }
    }

    /// Registers a transaction. To be called before it takes its snapshot: then each commit that the
    /// snapshot does not have is noted.
    pub(crate) fn register(self: &Arc<Self>) -> Registration {
        let mut notes = self.notes.lock();
        self.open.fetch_add(1, Ordering::SeqCst);
        let began = notes.number;
        *notes.open.entry(began).or_default() += 1;
        Registration {
            commits: self.clone(),
            began,
        }
    }

    /// Whether commits are to be noted. Read after a write, the answer holds for that write.
    pub(crate) fn is_watched(&self) -> bool {
        fence(Ordering::SeqCst);
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Names the key of a row.
    pub(crate) fn row(&self, table: TableId, key: &[u8]) -> Touch {
        Touch {
            table,
            fingerprint: self.hasher.hash_one((table.0, key)),
            kind: Kind::Changed,
        }
    }

    /// Names the key of a row that is only added to.
    pub(crate) fn added(&self, table: TableId, key: &[u8]) -> Touch {
        Touch {
            kind: Kind::Added,
            ..self.row(table, key)
        }
    }

    /// Names the key of a row that is locked.
    pub(crate) fn locked(&self, table: TableId, key: &[u8], lock: RowLock) -> Touch {
        Touch {
            kind: match lock {
                RowLock::Update => Kind::Locked,
                RowLock::Share => Kind::Shared,
            },
            ..self.row(table, key)
        }
    }

    /// Names a key of a UNIQUE index.
    pub(crate) fn unique(&self, table: TableId, index: IndexId, key: &[u8]) -> Touch {
        Touch {
            table,
            fingerprint: self.hasher.hash_one((table.0, index.0, key)),
            kind: Kind::Changed,
        }
    }

    /// Names a table that is to be as it was.
    pub(crate) fn table(&self, table: TableId) -> Touch {
        Touch {
            table,
            fingerprint: 0,
            kind: Kind::Table,
        }
    }

    /// Notes a commit. To be called after the write, while the writer lock is still held.
    pub(crate) fn note(&self, touched: &[Touch]) {
        if touched.is_empty() || !self.is_watched() {
            return;
        }
        let mut notes = self.notes.lock();
        notes.number += 1;
        let number = notes.number;
        let only_looks = |touch: &&Touch| matches!(touch.kind, Kind::Shared | Kind::Table);
        for touch in touched.iter().filter(|touch| !only_looks(touch)) {
            let last = notes.keys.entry(touch.fingerprint).or_default();
            match touch.kind {
                Kind::Added => last.added = number,
                _ => last.changed = number,
            }
            notes.order.push_back((number, *touch));
            if notes.order.len() > self.keys_max {
                notes.coarsen();
            }
        }
    }

    /// Notes a commit that changed unknown rows of tables.
    pub(crate) fn note_tables(&self, tables: impl IntoIterator<Item = TableId>) {
        if !self.is_watched() {
            return;
        }
        let mut notes = self.notes.lock();
        notes.number += 1;
        let number = notes.number;
        notes
            .tables
            .extend(tables.into_iter().map(|table| (table, number)));
    }

    fn close(&self, began: u64) {
        let mut notes = self.notes.lock();
        self.open.fetch_sub(1, Ordering::SeqCst);
        if let Some(count) = notes.open.get_mut(&began) {
            *count -= 1;
            if *count == 0 {
                notes.open.remove(&began);
                notes.forget();
            }
        }
    }
}

impl Registration {
    /// Returns the number of the last commit when the transaction began.
    pub(crate) fn began(&self) -> u64 {
        self.began
    }

    /// Returns the number of the last commit. The caller reads it before it takes a snapshot: then each commit that the
    /// snapshot does not have has a higher one.
    pub(crate) fn newest(&self) -> u64 {
        self.commits.notes.lock().number
    }

    /// Returns the table of a key that another commit has touched since the key was read: after the commit of the
    /// number beside it, which is none before the transaction began.
    pub(crate) fn conflict<'t>(
        &self,
        touched: impl IntoIterator<Item = (u64, &'t Touch)>,
    ) -> Option<TableId> {
        let notes = self.commits.notes.lock();
        if notes.number == self.began {
            return None;
        }
        let last = |touch: &Touch| {
            let last = notes.keys.get(&touch.fingerprint)?;
            Some(match touch.kind {
                Kind::Added => last.changed,
                _ => last.changed.max(last.added),
            })
        };
        let is_stale = |(read, touch): &(u64, &Touch)| {
            let since = |number: Option<u64>| number.is_some_and(|number| number > *read);
            since(notes.tables.get(&touch.table).copied())
                || match touch.kind {
                    Kind::Table => notes.changed_since(touch.table, *read),
                    _ => since(last(touch)),
                }
        };
        let mut touched = touched.into_iter();
        touched.find(is_stale).map(|(_, touch)| touch.table)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.commits.close(self.began);
    }
}

impl Notes {
    /// Whether a row of a table was changed by a commit with a higher number.
    fn changed_since(&self, table: TableId, number: u64) -> bool {
        let later = self.order.iter().rev().take_while(|(commit, _)| *commit > number);
        later
            .filter(|(_, touch)| touch.table == table)
            .any(|(_, touch)| touch.is_change())
    }

    /// Keeps of each table only that it changed.
    fn coarsen(&mut self) {
        for (number, touch) in self.order.drain(..) {
            self.tables.insert(touch.table, number);
        }
        self.keys.clear();
    }

    /// Forgets what happened before the oldest open transaction began.
    fn forget(&mut self) {
        let Some(oldest) = self.open.first_key_value().map(|(began, _)| *began) else {
            self.keys = HashMap::new();
            self.order = VecDeque::new();
            self.tables.clear();
            return;
        };
        while let Some((number, touch)) = self.order.front().copied() {
            if number > oldest {
                break;
            }
            self.order.pop_front();
            let last = self.keys.get(&touch.fingerprint);
            if last.is_some_and(|last| last.changed.max(last.added) == number) {
                self.keys.remove(&touch.fingerprint);
            }
        }
        self.tables.retain(|_, number| *number > oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: TableId = TableId(1);
    const U: TableId = TableId(2);

    /// Returns a conflict of keys that were read when the transaction began.
    fn conflict(transaction: &Registration, touched: &[Touch]) -> Option<TableId> {
        transaction.conflict(touched.iter().map(|touch| (transaction.began(), touch)))
    }

    #[test]
    fn what_is_committed_after_the_beginning_conflicts() {
        let commits = Arc::new(Commits::default());
        let (a, b) = (commits.row(T, b"a"), commits.row(T, b"b"));
        commits.note(&[a]);
        let early = commits.register();
        commits.note(&[a]);
        let late = commits.register();
        assert_eq!(conflict(&early, &[b, a]), Some(T));
        assert_eq!(conflict(&early, &[b]), None);
        assert_eq!(conflict(&late, &[a, b]), None);
        assert_eq!(conflict(&early, &[commits.row(U, b"a")]), None);
        commits.note_tables([U]);
        assert_eq!(
            conflict(&late, &[a, commits.unique(U, IndexId(7), b"k")]),
            Some(U)
        );
    }

    #[test]
    fn adds_conflict_with_changes_only() {
        let commits = Arc::new(Commits::default());
        let (changed, added) = (commits.row(T, b"a"), commits.added(T, b"a"));
        let transaction = commits.register();
        commits.note(&[added]);
        assert_eq!(conflict(&transaction, &[added]), None);
        assert_eq!(conflict(&transaction, &[changed]), Some(T));
        commits.note(&[changed]);
        commits.note(&[added]);
        assert_eq!(conflict(&transaction, &[added]), Some(T));
    }

    #[test]
    fn locks_conflict_with_changes_and_those_for_update_with_each_other() {
        let commits = Arc::new(Commits::default());
        let [changed, update, share] = [
            commits.row(T, b"a"),
            commits.locked(T, b"a", RowLock::Update),
            commits.locked(T, b"a", RowLock::Share),
        ];
        let transaction = commits.register();
        commits.note(&[share]);
        assert_eq!(conflict(&transaction, &[changed, update, share]), None);
        commits.note(&[update]);
        for touch in [changed, update, share] {
            assert_eq!(conflict(&transaction, &[touch]), Some(T));
        }
        let next = commits.register();
        commits.note(&[commits.added(T, b"a")]);
        assert_eq!(conflict(&next, &[share]), Some(T));
    }

    #[test]
    fn a_locked_table_conflicts_with_any_change_of_it_and_with_no_lock() {
        let commits = Arc::new(Commits::with_keys_max(3));
        let (table, other) = (commits.table(T), commits.table(U));
        commits.note(&[commits.row(T, b"a")]);
        let transaction = commits.register();
        commits.note(&[table, other]);
        commits.note(&[commits.locked(T, b"a", RowLock::Update)]);
        assert_eq!(conflict(&transaction, &[table]), None);
        commits.note(&[commits.added(T, b"a")]);
        assert_eq!(conflict(&transaction, &[other, table]), Some(T));
        let next = commits.register();
        assert_eq!(conflict(&next, &[table]), None);
        let keys: Vec<Touch> = (0..4_u8).map(|key| commits.row(U, &[key])).collect();
        commits.note(&keys);
        assert_eq!(conflict(&next, &[other]), Some(U));
    }

    #[test]
    fn nothing_is_kept_that_nobody_can_ask_for() {
        let commits = Arc::new(Commits::default());
        let key = commits.row(T, b"a");
        commits.note(&[key]);
        assert_eq!(commits.notes.lock().order.len(), 0);
        let first = commits.register();
        commits.note(&[key]);
        commits.note_tables([U]);
        let second = commits.register();
        commits.note(&[key]);
        drop(first);
        assert_eq!(commits.notes.lock().order.len(), 1);
        assert!(commits.notes.lock().tables.is_empty());
        assert_eq!(conflict(&second, &[key]), Some(T));
        drop(second);
        let notes = commits.notes.lock();
        assert!(notes.keys.is_empty() && notes.order.is_empty() && notes.open.is_empty());
    }

    #[test]
    fn too_many_keys_become_tables() {
        let commits = Arc::new(Commits::with_keys_max(3));
        let transaction = commits.register();
        let keys: Vec<Touch> = (0..4_u8).map(|key| commits.row(T, &[key])).collect();
        commits.note(&keys[..3]);
        assert_eq!(conflict(&transaction, &keys[3..]), None);
        commits.note(&keys[3..]);
        assert!(commits.notes.lock().keys.is_empty());
        assert_eq!(conflict(&transaction, &keys[..1]), Some(T));
        assert_eq!(conflict(&transaction, &[commits.row(U, b"a")]), None);
    }
}
