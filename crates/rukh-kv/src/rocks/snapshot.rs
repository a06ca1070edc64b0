//! Reading the database: gets, batched gets, scans.

use super::failure::{key_failure, table_failure};
use super::opened::Open;
use super::{PinnedIterator, PinnedSnapshot, TableHandle};
use crate::drive::{Driver, Position};
use crate::{KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats};
use parking_lot::{Mutex, RwLock};
use rocksdb::ReadOptions;
use rukh_keys::KeyRange;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Weak};

/// The tables of a database at one moment, by name.
pub(super) type Tables = HashMap<Arc<str>, Arc<TableHandle>>;

/// Up to this many ranges, each gets an iterator of its own that ends where the range does; beyond,
/// one iterator is sent from range to range, which is cheaper than making many.
const OWN_ITERATOR_RANGES_MAX: usize = 4;
/// Keys looked up at once; more are taken in turns, so that the blocks pinned meanwhile are few.
const LOOKUP_KEYS_MAX: usize = 1024;

/// Bytes read at once where nearly all of a range will be read.
const READ_AHEAD_BYTES: usize = 256 << 10;

/// The database at a snapshot or, without one, as it is at each read.
pub(super) struct RocksSnapshot {
    tables: Arc<Tables>,
    /// Points to `snapshot`.
    read: ReadOptions,
    snapshot: Option<Arc<PinnedSnapshot>>,
}

impl RocksSnapshot {
    pub(super) fn new(tables: Arc<Tables>, snapshot: Option<PinnedSnapshot>) -> RocksSnapshot {
        let mut read = ReadOptions::default();
        let snapshot = snapshot.map(Arc::new);
        if let Some(snapshot) = &snapshot {
            snapshot.apply_to(&mut read);
        }
        RocksSnapshot {
            tables,
            read,
            snapshot,
        }
    }

    fn table(&self, name: &str) -> Result<&Arc<TableHandle>, KvError> {
        self.tables.get(name).ok_or_else(|| KvError::unknown_table(name))
    }

    fn driver(&self, table: &str, spec: ScanSpec) -> Result<Driver<RocksPosition>, KvError> {
        let table = Arc::clone(self.table(table)?);
        let snapshot = self.snapshot.clone();
        let read_ahead = spec.read_ahead;
        Driver::new(spec, |ranges| {
            let position = RocksPosition::new(table, snapshot, ranges);
            Ok(RocksPosition {
                read_ahead,
                ..position
            })
        })
    }

    /// Looks sorted keys up and adds their values in the same order.
    fn lookup(
        &self,
        table: &TableHandle,
        keys: &mut dyn Iterator<Item = &[u8]>,
        values: &mut Vec<Option<Vec<u8>>>,
    ) -> Result<(), KvError> {
        // Without a snapshot, two turns would see two states.
        let turn_keys = if self.snapshot.is_some() {
            LOOKUP_KEYS_MAX
        } else {
            usize::MAX
        };
        loop {
            let turn: Vec<Cow<[u8]>> = keys.take(turn_keys).map(|key| table.native(key)).collect();
            if turn.is_empty() {
                return Ok(());
            }
            let native = turn.iter().map(|key| &**key);
            let found = table
                .db
                .batched_multi_get_cf_opt(&table.family, native, true, &self.read);
            for (key, value) in turn.iter().zip(found) {
                let fail = |error| key_failure("read", &table.name, table.key_of(key), error);
                let value = value.map_err(fail)?;
                values.push(value.map(|value| value.to_vec()));
            }
        }
    }
}

impl KvSnapshot for RocksSnapshot {
    fn tables(&self) -> Vec<String> {
        names(&self.tables)
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let table = self.table(table)?;
        let value = table.db.get_cf_opt(&table.family, table.native(key), &self.read);
        value.map_err(|error| key_failure("read", &table.name, key, error))
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let table = self.table(table)?;
        let mut sorted = Vec::with_capacity(keys.len());
        if keys.is_sorted() {
            self.lookup(table, &mut keys.iter().map(Vec::as_slice), &mut sorted)?;
            return Ok(sorted);
        }
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by(|a, b| keys[*a].cmp(&keys[*b]));
        self.lookup(
            table,
            &mut order.iter().map(|at| keys[*at].as_slice()),
            &mut sorted,
        )?;
        let mut values = vec![None; keys.len()];
        for (at, value) in order.into_iter().zip(sorted) {
            values[at] = value;
        }
        Ok(values)
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        Ok(Box::new(self.driver(table, spec)?))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        let mut driver = self.driver(table, spec.keys_only())?;
        let keys = driver.count()?;
        Ok((keys, driver.stats()))
    }
}

/// The database at a snapshot, until that is taken away: an idle snapshot does not prevent the database from being opened again.
pub(super) struct LentSnapshot(RwLock<Option<RocksSnapshot>>);

impl LentSnapshot {
    fn read<T>(&self, read: impl FnOnce(&RocksSnapshot) -> Result<T, KvError>) -> Result<T, KvError> {
        self.0.read().as_ref().map_or(Err(KvError::SnapshotGone), read)
    }
}

impl KvSnapshot for LentSnapshot {
    fn tables(&self) -> Vec<String> {
        self.read(|snapshot| Ok(snapshot.tables())).unwrap_or_default()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.read(|snapshot| snapshot.get(table, key))
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        self.read(|snapshot| snapshot.multi_get(table, keys))
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        self.read(|snapshot| snapshot.scan(table, spec))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        self.read(|snapshot| snapshot.count(table, spec))
    }
}

/// The snapshots that were lent.
#[derive(Default)]
pub(super) struct Lent(Mutex<Vec<Weak<LentSnapshot>>>);

/// Snapshots among which those that are gone are looked for.
const LENT_MIN: usize = 64;

impl Lent {
    /// Lends a snapshot.
    pub(super) fn lend(&self, snapshot: RocksSnapshot) -> Arc<LentSnapshot> {
        let lent = Arc::new(LentSnapshot(RwLock::new(Some(snapshot))));
        let mut all = self.0.lock();
        if all.len() == all.capacity() {
            all.retain(|lent| lent.strong_count() > 0);
            let known = all.len().max(LENT_MIN);
            all.reserve(known);
        }
        all.push(Arc::downgrade(&lent));
        lent
    }

    /// Takes all snapshots away and returns whether that could be done: there is no reader, and only they and the open state hold the database.
    pub(super) fn take_away(&self, open: &Open) -> bool {
        let mut all = self.0.lock();
        let lent: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
        let guards: Option<Vec<_>> = lent.iter().map(|lent| lent.0.try_write()).collect();
        let Some(mut guards) = guards else {
            return false;
        };
        if !are_alone(open, guards.iter().filter_map(|guard| guard.as_ref())) {
            return false;
        }
        guards.iter_mut().for_each(|guard| **guard = None);
        all.clear();
        true
    }
}

/// Whether a database has no cursor, load or anything else but these snapshots.
fn are_alone<'s>(open: &Open, snapshots: impl Iterator<Item = &'s RocksSnapshot>) -> bool {
    let mut tables: HashMap<*const Tables, &Tables> =
        HashMap::from([(Arc::as_ptr(&open.tables), &*open.tables)]);
    let mut shares = 1;
    for snapshot in snapshots {
        let pinned = snapshot.snapshot.as_ref();
        if pinned.is_some_and(|pinned| Arc::strong_count(pinned) > 1) {
            return false;
        }
        tables.insert(Arc::as_ptr(&snapshot.tables), &*snapshot.tables);
        shares += usize::from(pinned.is_some());
    }
    let mut handles: HashMap<*const TableHandle, (&Arc<TableHandle>, usize)> = HashMap::new();
    let of_tables = tables.values().flat_map(|tables| tables.values());
    for handle in of_tables.chain(open.shared.values()) {
        handles.entry(Arc::as_ptr(handle)).or_insert((handle, 0)).1 += 1;
    }
    Arc::strong_count(&open.latest) == 1
        && handles
            .values()
            .all(|(handle, known)| Arc::strong_count(handle) == *known)
        && Arc::strong_count(&open.db) == shares + handles.len()
}

/// The view of a store that was closed, or could not be opened again: why, then.
pub(super) struct ClosedSnapshot(Option<String>);

impl ClosedSnapshot {
    pub(super) fn of(error: &KvError) -> ClosedSnapshot {
        let is_closed = matches!(error, KvError::Closed);
        ClosedSnapshot((!is_closed).then(|| error.to_string()))
    }

    fn error(&self) -> KvError {
        match &self.0 {
            None => KvError::Closed,
            Some(why) => KvError::io("read", io::Error::other(why.clone())),
        }
    }
}

impl KvSnapshot for ClosedSnapshot {
    fn tables(&self) -> Vec<String> {
        Vec::new()
    }

    fn get(&self, _: &str, _: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        Err(self.error())
    }

    fn multi_get(&self, _: &str, _: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        Err(self.error())
    }

    fn scan(&self, _: &str, _: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        Err(self.error())
    }
}

/// Returns the names of tables in ascending order.
pub(super) fn names(tables: &Tables) -> Vec<String> {
    let mut names: Vec<String> = tables.keys().map(|name| name.to_string()).collect();
    names.sort();
    names
}

/// A place in a table: an iterator, bounded by the range it is in or by all of them.
struct RocksPosition {
    table: Arc<TableHandle>,
    snapshot: Option<Arc<PinnedSnapshot>>,
    /// The ends of all ranges, when one iterator serves them all.
    hull: Option<KeyRange>,
    iterator: Option<PinnedIterator>,
    /// Bytes before the table's keys.
    number_bytes: usize,
    /// Whether nearly all will be read.
    read_ahead: bool,
    /// For a key as the column family has it.
    buffer: Vec<u8>,
}

impl RocksPosition {
    /// Prepares for these ranges, in ascending order.
    fn new(
        table: Arc<TableHandle>,
        snapshot: Option<Arc<PinnedSnapshot>>,
        ranges: &[KeyRange],
    ) -> RocksPosition {
        // Without a snapshot, two iterators would see two states.
        let own = if snapshot.is_some() {
            OWN_ITERATOR_RANGES_MAX
        } else {
            1
        };
        let hull = match ranges {
            [first, .., last] if ranges.len() > own => Some(KeyRange {
                start: first.start.clone(),
                limit: last.limit.clone(),
            }),
            _ => None,
        };
        RocksPosition {
            number_bytes: table.number_bytes(),
            table,
            snapshot,
            hull,
            iterator: None,
            read_ahead: false,
            buffer: Vec::new(),
        }
    }

    /// Makes an iterator that neither shows nor looks at keys outside the bounds.
    fn iterate(&self, bounds: &KeyRange) -> PinnedIterator {
        let mut options = self.table.bounds(bounds);
        options.set_auto_readahead_size(true);
        if self.read_ahead {
            options.set_readahead_size(READ_AHEAD_BYTES);
        }
        PinnedIterator::new(&self.table, self.snapshot.as_ref(), options)
    }
}

impl Position for RocksPosition {
    fn enter(&mut self, range: &KeyRange) -> Result<bool, KvError> {
        match &self.hull {
            Some(hull) => {
                if self.iterator.is_none() {
                    self.iterator = Some(self.iterate(hull));
                }
                Ok(false)
            }
            None => {
                self.iterator = None;
                self.iterator = Some(self.iterate(range));
                Ok(true)
            }
        }
    }

    fn seek(&mut self, key: &[u8]) {
        if let Some(pinned) = &mut self.iterator {
            pinned.iterator.seek(self.table.native_in(key, &mut self.buffer));
        }
    }

    fn seek_before(&mut self, limit: Option<&[u8]>) {
        let Some(PinnedIterator { iterator, .. }) = &mut self.iterator else {
            return;
        };
        match limit {
            None => iterator.seek_to_last(),
            Some(limit) => {
                let limit = self.table.native_in(limit, &mut self.buffer);
                iterator.seek_for_prev(limit);
                if iterator.key() == Some(limit) {
                    iterator.prev();
                }
            }
        }
    }

    fn next(&mut self) {
        if let Some(pinned) = &mut self.iterator {
            pinned.iterator.next();
        }
    }

    fn prev(&mut self) {
        if let Some(pinned) = &mut self.iterator {
            pinned.iterator.prev();
        }
    }

    fn key(&self) -> Option<&[u8]> {
        let native = self.iterator.as_ref()?.iterator.key()?;
        native.get(self.number_bytes..)
    }

    fn value(&self) -> &[u8] {
        self.iterator
            .as_ref()
            .and_then(|pinned| pinned.iterator.value())
            .unwrap_or_default()
    }

    fn status(&self) -> Result<(), KvError> {
        let status = self
            .iterator
            .as_ref()
            .map_or(Ok(()), |pinned| pinned.iterator.status());
        status.map_err(|error| table_failure("read", &self.table.name, error))
    }
}
