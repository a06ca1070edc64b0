//! Columns read by scans from storage: piece by piece, or as a stream where one is wanted after the other.
//!
//! The pieces of a column lie side by side in storage, those of neighbouring blocks, too. A scan that wants nearly all of them reads them by one
//! cursor for each column: storage then reads ahead, many pieces at once, where each would be a read of the disk by itself. A scan that skips blocks, or
//! wants one row of each, gets pieces by their keys.
//!
//! Deliberately not here: what is kept, and what is wanted.

use crate::EngineError;
use crate::columnar::stored::block::Piece;
use crate::forms::entry::{Blocks, IndexCodec};
use rukh_keys::KeyRange;
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use std::ops::Range;

/// Blocks in a row whose column is wanted before it is read as a stream.
const RUN_MIN: usize = 4;

/// Of the blocks, and of the pieces of their column, one in so many is wanted at least.
const WANTED_SHARE: usize = 2;

/// Pieces passed over one by one before the cursor is sent to a key.
const STEPS_MAX: usize = 4;

/// What a value is under each of some keys.
type Found = Vec<Option<Vec<u8>>>;

/// The streams of a scan, by slot.
pub(crate) struct Streams {
    streams: Vec<Stream>,
    /// Whether blocks come from the last to the first: then there are none.
    reverse: bool,
}

#[derive(Default)]
struct Stream {
    /// How many blocks in a row were wanted, and the one behind the last of them.
    run: usize,
    next_block: usize,
    cursor: Option<Box<dyn KvCursor>>,
    /// The last key that was read by the cursor.
    at: Vec<u8>,
}

/// Some pieces of a column that are wanted.
pub(crate) struct WantedPieces<'k> {
    /// The slot of the column.
    pub(crate) slot: usize,
    /// Their keys, ascending.
    pub(crate) keys: &'k [Vec<u8>],
    /// The first block of the scan that they are of, and the one behind the last; and how many pieces of the column these have.
    pub(crate) blocks: Range<usize>,
    pub(crate) pieces: usize,
}

impl Streams {
    pub(crate) fn new(reverse: bool) -> Self {
        Streams {
            streams: Vec::new(),
            reverse,
        }
    }

    /// Reads pieces of a column. Those of blocks behind those of earlier calls come cheap.
    pub(crate) fn read(
        &mut self,
        kv: &dyn KvSnapshot,
        index: &IndexCodec,
        wanted: &WantedPieces<'_>,
    ) -> Result<Found, EngineError> {
        let blocks = index.blocks().expect("the index is columnar");
        if self.streams.len() <= wanted.slot {
            self.streams.resize_with(wanted.slot + 1, Stream::default);
        }
        let stream = &mut self.streams[wanted.slot];
        if !self.reverse && stream.flows(wanted) {
            return stream.read(kv, blocks, wanted);
        }
        let storage = &blocks.storage;
        match wanted.keys {
            [key] => Ok(vec![kv.get(storage, key)?]),
            keys => Ok(kv.multi_get(storage, keys)?),
        }
    }
}

impl Stream {
    /// Notes what is wanted; returns whether it comes cheaper by the cursor.
    fn flows(&mut self, wanted: &WantedPieces<'_>) -> bool {
        let blocks = &wanted.blocks;
        let is_ahead = self.at.as_slice() < wanted.keys.first().map_or(&[], Vec::as_slice);
        if !is_ahead {
            return false;
        }
        let is_dense = wanted.keys.len() * WANTED_SHARE >= wanted.pieces;
        if !is_dense || blocks.start >= self.next_block + WANTED_SHARE {
            *self = Stream::default();
        }
        if is_dense {
            self.run += blocks.len();
            self.next_block = blocks.end;
        }
        self.run > RUN_MIN
    }

    fn read(
        &mut self,
        kv: &dyn KvSnapshot,
        blocks: &Blocks,
        wanted: &WantedPieces<'_>,
    ) -> Result<Found, EngineError> {
        let cursor = match &mut self.cursor {
            Some(cursor) => cursor,
            None => {
                let all = Piece::Column(blocks.numbers[wanted.slot]).range(&KeyRange::all());
                let start = wanted.keys.first().cloned().unwrap_or_default();
                let rest = KeyRange { start, ..all };
                let spec = ScanSpec::ranges(vec![rest]).reading_ahead();
                self.cursor.insert(kv.scan(&blocks.storage, spec)?)
            }
        };
        let mut found = Vec::with_capacity(wanted.keys.len());
        for key in wanted.keys {
            found.push(find(cursor.as_mut(), key)?);
        }
        if let Some(last) = wanted.keys.last() {
            self.at.clone_from(last);
        }
        Ok(found)
    }
}

/// Moves a cursor on to a key; returns its value.
fn find(cursor: &mut dyn KvCursor, key: &[u8]) -> Result<Option<Vec<u8>>, EngineError> {
    let mut steps = 0;
    loop {
        let Some(entry) = cursor.next()? else {
            return Ok(None);
        };
        if entry.key >= key {
            return Ok((entry.key == key).then(|| entry.value.to_vec()));
        }
        steps += 1;
        if steps == STEPS_MAX {
            cursor.skip_to(key)?;
        }
    }
}
