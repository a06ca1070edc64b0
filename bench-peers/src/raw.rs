//! RocksDB through `rukh-kv`, on the files that Rukh has written: what the storage itself takes.

use std::ops::ControlFlow;
use std::path::Path;
use std::thread;

use rukh_bench::Random;
use rukh_keys::KeyRange;
use rukh_kv::{KvStore, RocksOptions, RocksStore, ScanSpec};

use crate::peer::Failure;

/// Iterators that scan at once, each over its part of the keys.
pub const ITERATORS: usize = 2;

/// The tables, in the order in which they are made.
#[derive(Clone, Copy, Debug)]
pub enum Table {
    /// The scans.
    Scans,
    /// The readings.
    Readings,
}

/// Rukh's store, with the column family of one table.
pub struct Raw {
    store: RocksStore,
    table: String,
}

impl Raw {
    /// Opens the store of a database that is closed, for reading one of its tables.
    pub fn open(directory: &Path, cache_mib: u32, which: Table) -> Result<Raw, Failure> {
        let block_cache_bytes = (cache_mib as usize) << 20;
        let options = RocksOptions {
            read_only: true,
            block_cache_bytes,
            ..RocksOptions::default()
        };
        let store = RocksStore::open(directory, &options)?;
        let number = |name: &str| name.strip_prefix('t')?.parse::<u32>().ok();
        let tables = store.tables().into_iter();
        let mut tables: Vec<(u32, String)> = tables.filter_map(|name| Some((number(&name)?, name))).collect();
        tables.sort();
        let [(_, scans), (_, readings)] = tables.as_slice() else {
            return Err(Failure::new("the database has not two tables"));
        };
        let table = match which {
            Table::Scans => scans.clone(),
            Table::Readings => readings.clone(),
        };
        Ok(Raw { store, table })
    }

    /// Returns `count` stored keys, evenly spread over the table of `rows` rows, in random order.
    pub fn sample(&self, rows: u64, count: u64, seed: u64) -> Result<Vec<Vec<u8>>, Failure> {
        let step = (rows / count.max(1)).max(1);
        let mut keys = Vec::new();
        let mut place = 0u64;
        self.visit(KeyRange::all(), &mut |key| {
            if place.is_multiple_of(step) {
                keys.push(key.to_vec());
            }
            place += 1;
        })?;
        let mut random = Random::new(seed, 1 << 61);
        for last in (1..keys.len()).rev() {
            keys.swap(last, random.below(last as u64 + 1) as usize);
        }
        Ok(keys)
    }

    /// Gets every key, one by one; returns the keys found.
    pub fn points(&self, keys: &[Vec<u8>]) -> Result<u64, Failure> {
        let snapshot = self.store.snapshot();
        let mut found = 0;
        for key in keys {
            found += u64::from(std::hint::black_box(snapshot.get(&self.table, key)?).is_some());
        }
        Ok(found)
    }

    /// Reads the rows that share the first key column with each key; returns the rows found.
    pub fn prefixes(&self, keys: &[Vec<u8>]) -> Result<u64, Failure> {
        let snapshot = self.store.snapshot();
        let mut found = 0;
        for key in keys {
            let spec = ScanSpec::ranges(vec![first_column(key)]);
            snapshot.scan(&self.table, spec)?.for_each(&mut |key, value| {
                std::hint::black_box((key, value));
                found += 1;
                ControlFlow::Continue(())
            })?;
        }
        Ok(found)
    }

    /// Gets keys by lists of `at_once`; returns the keys found.
    pub fn lookups(&self, keys: &[Vec<u8>], at_once: usize) -> Result<u64, Failure> {
        let snapshot = self.store.snapshot();
        let mut found = 0;
        for keys in keys.chunks(at_once) {
            let values = std::hint::black_box(snapshot.multi_get(&self.table, keys)?);
            found += values.iter().flatten().count() as u64;
        }
        Ok(found)
    }

    /// Walks over all rows with one iterator, values included; returns the rows seen.
    pub fn range(&self) -> Result<u64, Failure> {
        let spec = ScanSpec::ranges(vec![KeyRange::all()]);
        let mut seen = 0;
        self.store
            .snapshot()
            .scan(&self.table, spec)?
            .for_each(&mut |key, value| {
                std::hint::black_box((key, value));
                seen += 1;
                ControlFlow::Continue(())
            })?;
        Ok(seen)
    }

    /// Walks over all keys with [`ITERATORS`] iterators at once; returns the keys seen.
    pub fn scan(&self) -> Result<u64, Failure> {
        let ranges = self.parts()?;
        thread::scope(|scope| {
            let walks: Vec<_> = ranges
                .into_iter()
                .map(|range| {
                    scope.spawn(|| {
                        self.visit(range, &mut |key| {
                            std::hint::black_box(key);
                        })
                    })
                })
                .collect();
            let mut seen = 0;
            for walk in walks {
                seen += walk
                    .join()
                    .map_err(|_| Failure::new("an iterator's thread ended early"))??;
            }
            Ok(seen)
        })
    }

    /// Returns the parts of the table that the iterators scan.
    fn parts(&self) -> Result<Vec<KeyRange>, Failure> {
        let points = self
            .store
            .split_points(&self.table, &KeyRange::all(), ITERATORS)?;
        let starts = std::iter::once(Vec::new()).chain(points.iter().cloned());
        let limits = points.iter().cloned().map(Some).chain(std::iter::once(None));
        Ok(starts
            .zip(limits)
            .map(|(start, limit)| KeyRange { start, limit })
            .collect())
    }

    /// Shows every key of a range to `see`; values stay unread. Returns the number of keys.
    fn visit(&self, range: KeyRange, see: &mut dyn FnMut(&[u8])) -> Result<u64, Failure> {
        let spec = ScanSpec::ranges(vec![range]).keys_only();
        let mut cursor = self.store.snapshot().scan(&self.table, spec)?;
        let mut seen = 0;
        cursor.for_each(&mut |key, _| {
            see(key);
            seen += 1;
            ControlFlow::Continue(())
        })?;
        Ok(seen)
    }
}

/// Returns the range of the keys that begin with the first column of `key`: a text without zero bytes,
/// up to the zero byte that ends it.
fn first_column(key: &[u8]) -> KeyRange {
    let end = key.iter().position(|byte| *byte == 0).unwrap_or(key.len());
    let start = key[..key.len().min(end + 1)].to_vec();
    let mut limit = start.clone();
    if let Some(last) = limit.last_mut() {
        *last += 1;
    }
    KeyRange {
        start,
        limit: Some(limit),
    }
}
