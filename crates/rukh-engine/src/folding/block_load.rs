//! Sorted entries of a load, as blocks where nothing is stored among them yet, and as changes elsewhere.
//!
//! The load holds the writer lock, so what is found free stays so until its files are there; a repack that is
//! under way notices new blocks among its own and starts over.

use crate::EngineError;
use crate::columnar::scans::changes::Change;
use crate::columnar::scans::open::block_at;
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::build::BlockBuilder;
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::head::Head;
use crate::forms::entry::IndexCodec;
use crate::state::shared::Inner;
use crate::state::unsettled::Loads;
use crate::storage::files::{LOADS, discard_files};
use crate::storage::sorter::Sorter;
use rukh_keys::KeyRange;
use rukh_kv::{KvSnapshot, KvStore, ScanSpec, SortedWriter};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// Entries on their way to blocks.
pub(crate) struct BlockLoad<'a> {
    kv: Arc<dyn KvSnapshot>,
    index: &'a IndexCodec,
    builder: BlockBuilder<'a>,
    /// The entries in the builder.
    waiting: Vec<Change>,
    /// Pieces of blocks, which storage has in another order.
    pieces: Sorter,
    bytes_max: usize,
    changes: Box<dyn SortedWriter>,
    /// Whether nothing is stored at all.
    empty: bool,
}

impl<'a> BlockLoad<'a> {
    /// Begins to load a columnar index or table; `kv` shows it as it is stored.
    pub(crate) fn new(
        inner: &Inner,
        kv: Arc<dyn KvSnapshot>,
        index: &'a IndexCodec,
    ) -> Result<Self, EngineError> {
        let blocks = index.blocks().expect("the index is columnar");
        let any = || ScanSpec::all().keys_only().limited(1);
        let empty = kv.count(&index.storage, any())?.0 == 0 && kv.count(&blocks.storage, any())?.0 == 0;
        Ok(BlockLoad {
            kv,
            index,
            builder: BlockBuilder::new(index, inner.debts.block_rows.load(Relaxed)),
            waiting: Vec::new(),
            pieces: Sorter::new(&inner.load_directory()?),
            bytes_max: inner.load_bytes_max(),
            changes: inner.store.local_files(LOADS)?.sorted_writer(&index.storage)?,
            empty,
        })
    }

    /// Adds an entry; its key is greater than the one before.
    pub(crate) fn add(&mut self, key: &[u8], value: &[u8]) -> Result<(), EngineError> {
        self.builder.add_entry(key, value)?;
        self.waiting.push((key.to_vec(), value.to_vec()));
        match self.builder.is_full() {
            true => self.settle(),
            false => Ok(()),
        }
    }

    /// Makes a block of the entries that wait, or changes.
    fn settle(&mut self) -> Result<(), EngineError> {
        let (Some((first, _)), Some((last, _))) = (self.waiting.first(), self.waiting.last()) else {
            return Ok(());
        };
        if self.is_free(first, last)? {
            for (key, value) in self.builder.finish()? {
                self.pieces.add(&key, &value);
            }
            if self.pieces.buffered_bytes() > self.bytes_max {
                self.pieces.spill()?;
            }
        } else {
            self.builder.clear();
            for (key, value) in &self.waiting {
                self.changes.add(key, value)?;
            }
        }
        self.waiting.clear();
        Ok(())
    }

    /// Whether neither a block nor a change lies between two keys, or on them.
    fn is_free(&self, first: &[u8], last: &[u8]) -> Result<bool, EngineError> {
        if self.empty {
            return Ok(true);
        }
        let range = KeyRange {
            start: first.to_vec(),
            limit: Some([last, &[0]].concat()),
        };
        let spec = ScanSpec::ranges(vec![range]).keys_only().limited(1);
        if self.kv.count(&self.index.storage, spec)?.0 > 0 {
            return Ok(false);
        }
        let storage = &self.index.blocks().expect("the index is columnar").storage;
        let Some(block) = block_at(self.kv.as_ref(), storage, last)? else {
            return Ok(true);
        };
        let key = Piece::Head.key(&block);
        let head = self.kv.get(storage, &key)?.unwrap_or_default();
        let head = Head::parse(&key, &head).map_err(|e| corruption(self.index, &block, None, e))?;
        Ok(head.last_key < first)
    }

    /// Writes the files, which wait to be ingested.
    pub(crate) fn finish(mut self, store: &dyn KvStore) -> Result<Loads, EngineError> {
        self.settle()?;
        let blocks = self.index.blocks().expect("the index is columnar");
        let mut writer = store.local_files(LOADS)?.sorted_writer(&blocks.storage)?;
        let mut pieces = self.pieces.finish()?;
        while pieces.advance()? {
            writer.add(pieces.key(), pieces.value())?;
        }
        let made = writer.finish()?;
        let changes = self.changes.finish().inspect_err(|_| {
            discard_files(store, &made);
        })?;
        let files = [
            (blocks.storage.clone(), made),
            (self.index.storage.clone(), changes),
        ];
        Ok(files.into_iter().filter(|(_, files)| !files.is_empty()).collect())
    }
}
