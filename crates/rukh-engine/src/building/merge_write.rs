//! From sorted entries to files, with the check that keys stay unique.

use crate::EngineError;
use crate::folding::block_load::BlockLoad;
use crate::forms::entry::IndexCodec;
use crate::forms::maintain::Maintainer;
use crate::reading::snapshot::Snapshot;
use crate::state::builds::Build;
use crate::state::unsettled::Loads;
use crate::storage::files::{discard_files, writer_of_unread};
use crate::storage::sorter::Merge;
use crate::writing::existing::check_collision;
use parking_lot::Mutex;
use rukh_keys::KeyRange;
use rukh_kv::{KvStore, LoadFile, ScanSpec, SortedWriter};
use std::sync::Arc;

/// Entries looked up together, and between two ticks.
const CHUNK: usize = 1024;

/// The column family that entries are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A family of the table, by position.
    Family(usize),
    /// An index, by position.
    Index(usize),
}

impl Target {
    /// Returns the name of the column family.
    pub(crate) fn storage(self, maintainer: &Maintainer) -> &str {
        match self {
            Target::Family(nth) => &maintainer.codec.families[nth].storage,
            Target::Index(nth) => &maintainer.indexes[nth].codec.storage,
        }
    }

    /// Returns how a columnar index or table is stored.
    pub(crate) fn layout(self, maintainer: &Maintainer) -> Option<&Arc<IndexCodec>> {
        match self {
            Target::Family(0) => maintainer.codec.blocks.as_ref(),
            Target::Family(_) => None,
            Target::Index(nth) => {
                Some(&maintainer.indexes[nth].codec).filter(|index| index.blocks().is_some())
            }
        }
    }

    /// Orders column families as they must become visible.
    pub(crate) fn ingest_order(self) -> (u8, usize) {
        match self {
            Target::Family(0) => (1, 0),
            Target::Family(nth) => (0, nth),
            Target::Index(nth) => (2, nth),
        }
    }
}

/// Where the entries of one column family, or of one index, go.
pub(crate) struct Destination<'a> {
    /// Whose they are.
    pub(crate) target: Target,
    /// Makes blocks of them, if they are those of a columnar index or table.
    pub(crate) blocks: Option<BlockLoad<'a>>,
    /// Takes their keys only.
    pub(crate) beside: Vec<Beside>,
}

/// Writes sorted entries as files that wait to be ingested, and calls `tick` for every thousand, and adds their
/// keys to the files beside.
///
/// Fails with [`EngineError::UniqueViolation`] or [`EngineError::HashCollision`] on two rows with
/// one row key, and on a UNIQUE key of two rows. Only family 0 detects two rows with one row key:
/// other column families leave the second out.
pub(crate) fn write_sorted(
    store: &Arc<dyn KvStore>,
    snapshot: &Snapshot,
    maintainer: &Maintainer,
    mut merge: Merge,
    to: Destination<'_>,
    tick: &mut dyn FnMut(u64) -> Result<(), EngineError>,
) -> Result<Loads, EngineError> {
    let Destination {
        target,
        blocks,
        mut beside,
    } = to;
    let mut output = match blocks {
        Some(blocks) => Output::Blocks(Box::new(blocks)),
        None => Output::Rows(writer_of_unread(store, target.storage(maintainer))?),
    };
    let mut check = Check::new(snapshot, maintainer, target);
    let (mut last_key, mut last_value) = (Vec::new(), Vec::new());
    let mut count = 0;
    while merge.advance()? {
        let (key, value) = (merge.key(), merge.value());
        if count > 0 && key == last_key.as_slice() {
            check.compare(key, &last_value, value)?;
            continue;
        }
        check.add(key, value)?;
        output.add(key, value)?;
        for other in &mut beside {
            other.add(key)?;
        }
        last_key.clear();
        last_key.extend_from_slice(key);
        last_value.clear();
        last_value.extend_from_slice(value);
        count += 1;
        if count % CHUNK == 0 {
            tick(CHUNK as u64)?;
        }
    }
    check.look_up()?;
    tick((count % CHUNK) as u64)?;
    let loads = match output {
        Output::Rows(writer) => vec![(target.storage(maintainer).to_string(), writer.finish()?)],
        Output::Blocks(blocks) => blocks.finish(store.as_ref())?,
    };
    for other in beside {
        other.finish().inspect_err(|_| {
            let files = loads.iter().flat_map(|(_, files)| files).cloned();
            discard_files(store.as_ref(), &files.collect::<Vec<LoadFile>>());
        })?;
    }
    Ok(loads)
}

/// Where sorted entries go.
enum Output<'a> {
    Rows(Box<dyn SortedWriter>),
    Blocks(Box<BlockLoad<'a>>),
}

impl Output<'_> {
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        match self {
            Output::Rows(writer) => Ok(writer.add(key, value)?),
            Output::Blocks(blocks) => blocks.add(key, value),
        }
    }
}

/// Files with the keys that a load brings, for the build of an index.
pub(crate) struct Beside {
    pub(crate) build: Arc<Build>,
    pub(crate) writer: Box<dyn SortedWriter>,
    /// Where the finished files go.
    pub(crate) files: Arc<Mutex<Loads>>,
}

impl Beside {
    fn add(&mut self, row_key: &[u8]) -> Result<(), EngineError> {
        let key = Build::touched_key(self.build.pass(), row_key);
        Ok(self.writer.add(&key, &[])?)
    }

    fn finish(self) -> Result<(), EngineError> {
        let files = self.writer.finish()?;
        self.files.lock().push((self.build.touched(), files));
        Ok(())
    }
}

/// The check of sorted entries, against each other and against stored ones.
struct Check<'a> {
    snapshot: &'a Snapshot,
    maintainer: &'a Maintainer,
    target: Target,
    /// Entries to be looked up.
    keys: Vec<Vec<u8>>,
    values: Vec<Vec<u8>>,
    /// Whether anything is stored at or behind the first key; unknown before there is one.
    anything_stored: Option<bool>,
}

impl<'a> Check<'a> {
    fn new(snapshot: &'a Snapshot, maintainer: &'a Maintainer, target: Target) -> Self {
        let (keys, values) = (Vec::new(), Vec::new());
        Check {
            snapshot,
            maintainer,
            target,
            keys,
            values,
            anything_stored: None,
        }
    }

    /// Notes an entry to be looked up, if a stored one would matter and there may be one.
    fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        let exclusive = match self.target {
            Target::Family(nth) => nth == 0,
            Target::Index(nth) => self.maintainer.indexes[nth].is_exclusive(key),
        };
        if !exclusive || !self.anything_stored(key)? {
            return Ok(());
        }
        self.keys.push(key.to_vec());
        self.values.push(value.to_vec());
        match self.keys.len() < CHUNK {
            true => Ok(()),
            false => self.look_up(),
        }
    }

    fn anything_stored(&mut self, first: &[u8]) -> Result<bool, EngineError> {
        if let Some(known) = self.anything_stored {
            return Ok(known);
        }
        let range = KeyRange {
            start: first.to_vec(),
            limit: None,
        };
        let spec = ScanSpec::ranges(vec![range]).keys_only().limited(1);
        let (found, _) = self
            .snapshot
            .kv
            .count(self.target.storage(self.maintainer), spec)?;
        self.anything_stored = Some(found > 0);
        Ok(found > 0)
    }

    /// Looks up the entries noted; fails if one is stored for another row.
    fn look_up(&mut self) -> Result<(), EngineError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        let stored = self
            .snapshot
            .kv
            .multi_get(self.target.storage(self.maintainer), &self.keys)?;
        for (at, old) in stored.into_iter().enumerate() {
            if let Some(old) = old {
                self.compare(&self.keys[at], &old, &self.values[at])?;
            }
        }
        self.keys.clear();
        self.values.clear();
        Ok(())
    }

    /// Fails if two entries with one key are a violation that this column family detects.
    fn compare(&self, key: &[u8], old: &[u8], new: &[u8]) -> Result<(), EngineError> {
        let codec = &self.maintainer.codec;
        match self.target {
            Target::Family(0) => {
                let old = codec.decode_row(key, &[Some(old)])?;
                let new = codec.decode_row(key, &[Some(new)])?;
                check_collision(codec, key, &old, &new)?;
                Err(codec.duplicate_key(&new))
            }
            Target::Family(_) => Ok(()),
            Target::Index(nth) => {
                let index = &self.maintainer.indexes[nth];
                match index.codec.owner(codec, key, old)? == index.codec.owner(codec, key, new)? {
                    true => Ok(()),
                    false => Err(index.duplicate(&codec.table, key)),
                }
            }
        }
    }
}
