//! Reading whole rows of a table in batches, for work that goes over all of them: backfill, scrub,
//! analyze.

use crate::forms::codec::TableCodec;
use crate::forms::entry::KeyedRow;
use crate::forms::row::{self, Times};
use crate::reading::snapshot::Snapshot;
use crate::{EngineError, Row};
use rukh_keys::KeyRange;
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows of a batch at most.
const BATCH_ROWS: usize = 1024;

/// Bytes of values at which a batch ends early.
const BATCH_BYTES: usize = 8 << 20;

/// Stored rows, still encoded, in key order.
#[derive(Default)]
pub(crate) struct RawRows {
    pub(crate) keys: Vec<Vec<u8>>,
    /// By family, the value of each row.
    pub(crate) values: Vec<Vec<Option<Vec<u8>>>>,
}

/// Rows with their keys.
#[derive(Default)]
pub(crate) struct RowBatch {
    pub(crate) keys: Vec<Vec<u8>>,
    pub(crate) rows: Vec<Row>,
    /// The times that the rows carry.
    pub(crate) times: Vec<Option<Times>>,
}

impl RowBatch {
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn keyed(&self) -> impl Iterator<Item = KeyedRow<'_>> {
        let rows = self.keys.iter().zip(&self.rows).zip(&self.times);
        rows.map(|((key, row), times)| KeyedRow {
            key,
            row,
            times: *times,
        })
    }
}

/// Reads rows of a table, all of them for choice.
pub(crate) struct RowReader {
    codec: Arc<TableCodec>,
    kv: Arc<dyn KvSnapshot>,
    cursor: Box<dyn KvCursor>,
    /// By declared position, the columns that are wanted.
    wanted: Vec<bool>,
}

impl RowReader {
    pub(crate) fn new(snapshot: &Snapshot, codec: Arc<TableCodec>) -> Result<Self, EngineError> {
        RowReader::within(snapshot, codec, vec![KeyRange::all()])
    }

    /// Reads the rows in ranges of row keys, which are disjoint and ascending.
    pub(crate) fn within(
        snapshot: &Snapshot,
        codec: Arc<TableCodec>,
        ranges: Vec<KeyRange>,
    ) -> Result<Self, EngineError> {
        let storage = &codec.families[0].storage;
        let cursor = snapshot.kv.scan(storage, ScanSpec::ranges(ranges))?;
        Ok(RowReader {
            wanted: vec![true; codec.table.columns.len()],
            codec,
            kv: snapshot.kv.clone(),
            cursor,
        })
    }

    /// Reads these columns only, by declared position: in the rows all others are NULL.
    pub(crate) fn only(mut self, columns: &[usize]) -> Self {
        for (at, wanted) in self.wanted.iter_mut().enumerate() {
            *wanted = columns.contains(&at);
        }
        self
    }

    /// Reads further rows without decoding them; `None` at the end.
    pub(crate) fn next_raw(&mut self) -> Result<Option<RawRows>, EngineError> {
        let (mut keys, mut base, mut bytes) = (Vec::new(), Vec::new(), 0);
        self.cursor.for_each(&mut |key, value| {
            keys.push(key.to_vec());
            base.push(Some(value.to_vec()));
            bytes += value.len();
            match keys.len() < BATCH_ROWS && bytes < BATCH_BYTES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if keys.is_empty() {
            return Ok(None);
        }
        let mut values = vec![base];
        for family in &self.codec.families[1..] {
            values.push(self.kv.multi_get(&family.storage, &keys)?);
        }
        Ok(Some(RawRows { keys, values }))
    }

    /// Reads further rows; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<RowBatch>, EngineError> {
        let Some(raw) = self.next_raw()? else {
            return Ok(None);
        };
        let mut rows = Vec::with_capacity(raw.keys.len());
        let mut times = Vec::with_capacity(raw.keys.len());
        for at in 0..raw.keys.len() {
            rows.push(raw.decode_columns(&self.codec, at, &self.wanted)?);
            times.push(raw.times(at));
        }
        Ok(Some(RowBatch {
            keys: raw.keys,
            rows,
            times,
        }))
    }
}

impl RawRows {
    /// Returns the times that the row at a position carries.
    pub(crate) fn times(&self, at: usize) -> Option<Times> {
        row::times(self.values[0][at].as_deref()?)
    }

    /// Decodes the row at a position.
    pub(crate) fn decode(&self, codec: &TableCodec, at: usize) -> Result<Row, EngineError> {
        codec.decode_row(&self.keys[at], &self.of_row(at))
    }

    /// Decodes some columns of the row at a position; the others are NULL.
    fn decode_columns(&self, codec: &TableCodec, at: usize, wanted: &[bool]) -> Result<Row, EngineError> {
        codec.decode_columns(&self.keys[at], &self.of_row(at), wanted)
    }

    /// Returns what each family has of the row at a position.
    fn of_row(&self, at: usize) -> SmallVec<[Option<&[u8]>; 2]> {
        self.values.iter().map(|family| family[at].as_deref()).collect()
    }
}
