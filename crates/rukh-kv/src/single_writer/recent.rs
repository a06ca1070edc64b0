//! What was committed lately, as far as open watches need it.
//!
//! While a watch is open, every commit notes the keys that it touched under its version. A commit may follow if none of the
//! keys that it touched itself was noted since it was read. Adds are notes of their own kind: they conflict with any other
//! change of the key, not with one another. What no watch is older than is forgotten, and without watches nothing is noted at all.
//!
//! Past [`KEYS_MAX`] keys the notes become coarse: of each relation, the version of its last change.
//! Changes of whole relations, by bulk loads and TRUNCATE, are noted like that at once.

use crate::{Touch, TouchKind, Version};
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// Keys noted at most, which take some 60 MiB.
const KEYS_MAX: usize = 1 << 20;

/// The last commits that touched a key, each kind by itself; 0 is none.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    changed: Version,
    added: Version,
}

/// The notes of one store.
pub(super) struct Recent {
    /// The version of the last commit.
    version: AtomicU64,
    /// How many watches are open.
    open: AtomicUsize,
    notes: Mutex<Notes>,
    keys_max: usize,
}

#[derive(Default)]
struct Notes {
    /// How many watches began at each version.
    open: BTreeMap<Version, usize>,
    /// The last commit that touched each key.
    keys: HashMap<u64, Last>,
    /// Each touch of a key with its commit, oldest first.
    order: VecDeque<(Version, Touch)>,
    /// The last commit that touched a relation, where keys are not recorded.
    relations: HashMap<u32, Version>,
}

/// A watch, until dropped.
pub(super) struct Registration {
    recent: Arc<Recent>,
    began: Version,
}

impl Default for Recent {
    fn default() -> Self {
        Recent::with_keys_max(KEYS_MAX)
    }
}

impl Recent {
    fn with_keys_max(keys_max: usize) -> Self {
        Recent {
            version: AtomicU64::new(0),
            open: AtomicUsize::new(0),
            notes: Mutex::default(),
            keys_max,
        }
    }

    pub(super) fn version(&self) -> Version {
        self.version.load(Ordering::SeqCst)
    }

    pub(super) fn register(self: &Arc<Self>) -> Registration {
        let mut notes = self.notes.lock();
        self.open.fetch_add(1, Ordering::SeqCst);
        let began = self.version();
        *notes.open.entry(began).or_default() += 1;
        Registration {
            recent: self.clone(),
            began,
        }
    }

    pub(super) fn is_watched(&self) -> bool {
        fence(Ordering::SeqCst);
        self.open.load(Ordering::SeqCst) > 0
    }

    /// Notes a commit and returns its version. Called after the write, while the turn of the writer still lasts.
    pub(super) fn note(&self, touched: &[Touch]) -> Version {
        if touched.is_empty() || !self.is_watched() {
            return self.version.fetch_add(1, Ordering::SeqCst) + 1;
        }
        let mut notes = self.notes.lock();
        let version = self.version.fetch_add(1, Ordering::SeqCst) + 1;
        for touch in touched {
            match touch.kind {
                TouchKind::Shared | TouchKind::SharedRelation => continue,
                TouchKind::ChangedRelation => {
                    notes.relations.insert(touch.relation, version);
                    continue;
                }
                TouchKind::Added => notes.keys.entry(touch.key).or_default().added = version,
                TouchKind::Changed | TouchKind::Locked => {
                    notes.keys.entry(touch.key).or_default().changed = version;
                }
            }
            notes.order.push_back((version, *touch));
            if notes.order.len() > self.keys_max {
                notes.coarsen();
            }
        }
        version
    }

    /// Returns the position of the first key that a commit has touched since it was read.
    pub(super) fn changed(&self, touched: &[Touch]) -> Option<usize> {
        let newest = self.version();
        if touched.iter().all(|touch| touch.since >= newest) || !self.is_watched() {
            return None;
        }
        let notes = self.notes.lock();
        touched.iter().position(|touch| notes.is_stale(touch))
    }

    fn close(&self, began: Version) {
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
    pub(super) fn began(&self) -> Version {
        self.began
    }

    pub(super) fn recent(&self) -> &Recent {
        &self.recent
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.recent.close(self.began);
    }
}

impl Notes {
    /// Whether a commit has touched it since it was read.
    fn is_stale(&self, touch: &Touch) -> bool {
        let since = |version: Option<&Version>| version.is_some_and(|version| *version > touch.since);
        let last = || self.keys.get(&touch.key);
        since(self.relations.get(&touch.relation))
            || match touch.kind {
                TouchKind::SharedRelation | TouchKind::ChangedRelation => self.changed_since(touch),
                TouchKind::Added => since(last().map(|last| &last.changed)),
                TouchKind::Changed | TouchKind::Locked | TouchKind::Shared => {
                    since(last().map(|last| last.changed.max(last.added)).as_ref())
                }
            }
    }

    /// Whether a key of a relation was changed by a later commit.
    fn changed_since(&self, relation: &Touch) -> bool {
        let later = self.order.iter().rev();
        later
            .take_while(|(version, _)| *version > relation.since)
            .any(|(_, touch)| touch.relation == relation.relation && touch.kind.is_change())
    }

    /// Keeps of each relation only that it changed.
    fn coarsen(&mut self) {
        for (version, touch) in self.order.drain(..) {
            self.relations.insert(touch.relation, version);
        }
        self.keys.clear();
    }

    /// Forgets what happened before the oldest watch began.
    fn forget(&mut self) {
        let Some(oldest) = self.open.first_key_value().map(|(began, _)| *began) else {
            self.keys = HashMap::new();
            self.order = VecDeque::new();
            self.relations.clear();
            return;
        };
        while let Some((version, touch)) = self.order.front().copied() {
            if version > oldest {
                break;
            }
            self.order.pop_front();
            let last = self.keys.get(&touch.key);
            if last.is_some_and(|last| last.changed.max(last.added) == version) {
                self.keys.remove(&touch.key);
            }
        }
        self.relations.retain(|_, version| *version > oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: u32 = 1;
    const U: u32 = 2;

    fn touch(kind: TouchKind, relation: u32, key: u8) -> Touch {
        // A fingerprint is one of the relation and the key.
        let key = u64::from(relation) << 8 | u64::from(key);
        Touch {
            relation,
            key,
            kind,
            since: 0,
        }
    }

    fn changed(relation: u32, key: u8) -> Touch {
        touch(TouchKind::Changed, relation, key)
    }

    fn added(relation: u32, key: u8) -> Touch {
        touch(TouchKind::Added, relation, key)
    }

    fn relation(relation: u32) -> Touch {
        Touch {
            key: 0,
            ..touch(TouchKind::SharedRelation, relation, 0)
        }
    }

    /// Returns the relation of a conflict of keys that were read when the watch began.
    fn conflict(watch: &Registration, touched: &[Touch]) -> Option<u32> {
        let since = watch.began();
        let touched: Vec<Touch> = touched.iter().map(|touch| Touch { since, ..*touch }).collect();
        watch.recent().changed(&touched).map(|at| touched[at].relation)
    }

    #[test]
    fn what_is_committed_after_the_beginning_conflicts() {
        let recent = Arc::<Recent>::default();
        let (a, b) = (changed(T, b'a'), changed(T, b'b'));
        recent.note(&[a]);
        let early = recent.register();
        recent.note(&[a]);
        let late = recent.register();
        assert_eq!(conflict(&early, &[b, a]), Some(T));
        assert_eq!(conflict(&early, &[b]), None);
        assert_eq!(conflict(&late, &[a, b]), None);
        assert_eq!(conflict(&early, &[changed(U, b'a')]), None);
        recent.note(&[touch(TouchKind::ChangedRelation, U, 0)]);
        assert_eq!(conflict(&late, &[a, changed(U, b'k')]), Some(U));
    }

    #[test]
    fn adds_conflict_with_changes_only() {
        let recent = Arc::<Recent>::default();
        let (change, add) = (changed(T, b'a'), added(T, b'a'));
        let watch = recent.register();
        recent.note(&[add]);
        assert_eq!(conflict(&watch, &[add]), None);
        assert_eq!(conflict(&watch, &[change]), Some(T));
        recent.note(&[change]);
        recent.note(&[add]);
        assert_eq!(conflict(&watch, &[add]), Some(T));
    }

    #[test]
    fn locks_conflict_with_changes_and_those_for_update_with_each_other() {
        let recent = Arc::<Recent>::default();
        let [changed, update, share] = [
            changed(T, b'a'),
            touch(TouchKind::Locked, T, b'a'),
            touch(TouchKind::Shared, T, b'a'),
        ];
        let watch = recent.register();
        recent.note(&[share]);
        assert_eq!(conflict(&watch, &[changed, update, share]), None);
        recent.note(&[update]);
        for touch in [changed, update, share] {
            assert_eq!(conflict(&watch, &[touch]), Some(T));
        }
        let next = recent.register();
        recent.note(&[added(T, b'a')]);
        assert_eq!(conflict(&next, &[share]), Some(T));
    }

    #[test]
    fn a_locked_relation_conflicts_with_any_change_of_it_and_with_no_lock() {
        let recent = Arc::new(Recent::with_keys_max(3));
        let (table, other) = (relation(T), relation(U));
        recent.note(&[changed(T, b'a')]);
        let watch = recent.register();
        recent.note(&[table, other]);
        recent.note(&[touch(TouchKind::Locked, T, b'a')]);
        assert_eq!(conflict(&watch, &[table]), None);
        recent.note(&[added(T, b'a')]);
        assert_eq!(conflict(&watch, &[other, table]), Some(T));
        let next = recent.register();
        assert_eq!(conflict(&next, &[table]), None);
        let keys: Vec<Touch> = (0..4_u8).map(|key| changed(U, key)).collect();
        recent.note(&keys);
        assert_eq!(conflict(&next, &[other]), Some(U));
    }

    #[test]
    fn nothing_is_kept_that_no_watch_needs() {
        let recent = Arc::<Recent>::default();
        let key = changed(T, b'a');
        recent.note(&[key]);
        assert_eq!(recent.notes.lock().order.len(), 0);
        let first = recent.register();
        recent.note(&[key]);
        recent.note(&[touch(TouchKind::ChangedRelation, U, 0)]);
        let second = recent.register();
        recent.note(&[key]);
        drop(first);
        assert_eq!(recent.notes.lock().order.len(), 1);
        assert!(recent.notes.lock().relations.is_empty());
        assert_eq!(conflict(&second, &[key]), Some(T));
        drop(second);
        let notes = recent.notes.lock();
        assert!(notes.keys.is_empty() && notes.order.is_empty() && notes.open.is_empty());
    }

    #[test]
    fn too_many_keys_become_relations() {
        let recent = Arc::new(Recent::with_keys_max(3));
        let watch = recent.register();
        let keys: Vec<Touch> = (0..4_u8).map(|key| changed(T, key)).collect();
        recent.note(&keys[..3]);
        assert_eq!(conflict(&watch, &keys[3..]), None);
        recent.note(&keys[3..]);
        assert!(recent.notes.lock().keys.is_empty());
        assert_eq!(conflict(&watch, &keys[..1]), Some(T));
        assert_eq!(conflict(&watch, &[changed(U, b'a')]), None);
    }
}
