//! Tables in blocks, shown as if each row were stored under its key: what lookups by key, scans that skip or go
//! backwards, checks and whatever else reads rows one by one stand on.
//!
//! An [`Unpacked`] snapshot gives the column family of a columnar table's changes the rows of the table: changes,
//! and where there is none what blocks have. All else it passes on. It is read from one snapshot, as blocks and
//! changes must be.

use crate::columnar::caches::kept::{KeptBlock, KeptBlocks};
use crate::columnar::scans::changes::Change;
use crate::columnar::scans::open::{Block, KeyColumns};
use crate::columnar::scans::scan::{BlockScan, BlockScanSpec};
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::head::Head;
use crate::columnar::stored::pieces::Pieces;
use crate::columnar::values::vector::ColumnVector;
use crate::forms::codec::DatumRefs;
use crate::forms::entry::{DELETED, IndexCodec};
use crate::storage::watch::States;
use crate::{EngineError, Row};
use rukh_keys::{Datum, DatumRef, KeyRange, MaskedCompare};
use rukh_kv::{KvCursor, KvError, KvSnapshot, Position, ScanSpec, ScanStats, Traffic, scan_position};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Most rows that are decoded together.
const WINDOW_MAX: usize = 1024;

/// The columnar tables of a database, by the name of the column family of their changes.
pub(crate) type Packed = HashMap<String, Arc<IndexCodec>>;

/// A snapshot in which columnar tables look as if they were stored row by row.
pub(crate) struct Unpacked {
    pub(crate) kv: Arc<dyn KvSnapshot>,
    pub(crate) tables: Arc<Packed>,
    pub(crate) kept: Arc<KeptBlocks>,
    /// What is known of the moment of the snapshot (`watch`).
    pub(crate) states: States,
    /// Which values its readers look at, if not all: what others have is shown as NULL.
    pub(crate) wanted: Option<Wanted>,
}

/// Which values of a columnar table a reader looks at.
#[derive(Clone)]
pub(crate) struct Wanted {
    /// The column family of the table's changes.
    pub(crate) storage: String,
    /// By their number among the columns that are not in the key, ascending.
    pub(crate) ordinals: Arc<[usize]>,
}

impl KvSnapshot for Unpacked {
    fn tables(&self) -> Vec<String> {
        self.kv.tables()
    }

    fn traffic(&self) -> Traffic {
        self.kv.traffic()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let stored = self.kv.get(table, key)?;
        match self.tables.get(table) {
            None => Ok(stored),
            Some(index) => match stored {
                Some(change) => Ok(Some(change).filter(|change| change != DELETED)),
                None => Ok(self.rows(index).get(&[key])?.pop().flatten()),
            },
        }
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let mut values = self.kv.multi_get(table, keys)?;
        let Some(index) = self.tables.get(table) else {
            return Ok(values);
        };
        let mut unchanged: Vec<usize> = (0..keys.len()).filter(|at| values[*at].is_none()).collect();
        unchanged.sort_by_key(|at| &keys[*at]);
        let wanted: Vec<&[u8]> = unchanged.iter().map(|at| keys[*at].as_slice()).collect();
        for value in &mut values {
            value.take_if(|change| change == DELETED);
        }
        for (at, value) in unchanged.into_iter().zip(self.rows(index).get(&wanted)?) {
            values[at] = value;
        }
        Ok(values)
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let Some(index) = self.tables.get(table) else {
            return self.kv.scan(table, spec);
        };
        let position = Merged {
            rows: self.rows(index),
            range: KeyRange::all(),
            reverse: spec.reverse,
            values: !spec.keys_only,
            masked: spec.masked.clone(),
            changes: None,
            change: Next::Unknown,
            at: 0,
            row: Next::Unknown,
            first_rows: match (spec.limit, spec.masked.is_empty()) {
                (Some(limit), true) => usize::try_from(limit).unwrap_or(WINDOW_MAX),
                _ => 1,
            },
            here: None,
            error: None,
        };
        scan_position(spec, position)
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        let Some(index) = self.tables.get(table).filter(|_| spec.masked.is_empty()) else {
            let mut cursor = self.scan(table, spec.keys_only())?;
            let mut keys = 0;
            cursor.for_each(&mut |_, _| {
                keys += 1;
                std::ops::ControlFlow::Continue(())
            })?;
            return Ok((keys, cursor.stats()));
        };
        let blocks = BlockScanSpec {
            ranges: spec.ranges,
            tests: Vec::new(),
            columns: Vec::new(),
            reverse: false,
            first: Vec::new(),
            either_end: false,
            cancel: spec.cancel,
        };
        let scan = BlockScan::new(self.kv.clone(), index.clone(), blocks)?;
        let mut scan = scan.keeping((&self.kept, self.states));
        let (mut rows, most) = (0, spec.limit.unwrap_or(u64::MAX));
        while rows < most
            && let Some(batch) = scan.next_batch(usize::try_from(most - rows).unwrap_or(usize::MAX))?
        {
            rows += batch.rows as u64;
        }
        let counters = scan.counters();
        let stats = ScanStats {
            ranges: counters.ranges,
            seeks: counters.seeks,
            keys_examined: counters.keys_examined,
            masked_misses: counters.masked_misses,
            bytes_read: counters.bytes_read,
        };
        Ok((rows.min(most), stats))
    }
}

impl Unpacked {
    fn rows(&self, index: &Arc<IndexCodec>) -> Rows {
        let wanted = self
            .wanted
            .as_ref()
            .filter(|wanted| wanted.storage == index.storage);
        Rows {
            values: value_slots(index, wanted.map(|wanted| &*wanted.ordinals)),
            kv: self.kv.clone(),
            index: index.clone(),
            kept: self.kept.clone(),
            state: self.states.blocks,
            checked: Vec::new(),
            block: None,
            window: Window::default(),
        }
    }
}

/// Returns the slots of the values to be read: those of these ordinals, or all, and those of times.
fn value_slots(index: &IndexCodec, ordinals: Option<&[usize]>) -> Vec<usize> {
    let elements = index.layout.columns().len();
    let slots = index.blocks().expect("the table is columnar").types.len();
    match ordinals {
        None => (elements..slots).collect(),
        Some(ordinals) => {
            let times = index.life_slot().unwrap_or(slots);
            let named = ordinals.iter().map(|ordinal| elements + ordinal);
            named.filter(|slot| *slot < times).chain(times..slots).collect()
        }
    }
}

/// An error as one of storage: what blocks are found to be is corruption, all else comes from below.
impl From<EngineError> for KvError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Kv(error) => error,
            EngineError::Cancelled => KvError::Cancelled,
            EngineError::Corruption { name, key, message } => KvError::Corruption {
                table: None,
                key: None,
                message: format!("{name}{key}: {message}"),
            },
            error => KvError::Corruption {
                table: None,
                key: None,
                message: error.to_string(),
            },
        }
    }
}

/// The rows of blocks, one block open at a time.
struct Rows {
    kv: Arc<dyn KvSnapshot>,
    index: Arc<IndexCodec>,
    kept: Arc<KeptBlocks>,
    /// The state of blocks, if it is known.
    state: Option<u64>,
    /// The identities of blocks that this snapshot is known to have as they are kept.
    checked: Vec<u64>,
    /// The slots of the values that are read.
    values: Vec<usize>,
    block: Option<Block>,
    window: Window,
}

/// Returns the block that has rows on both sides of a key, or at it, if it is kept and a snapshot, which belongs to this state of
/// blocks, has it as it is kept; `checked` are those of which it was seen already.
fn kept_block(
    kv: &dyn KvSnapshot,
    (kept, state): (&KeptBlocks, Option<u64>),
    index: &IndexCodec,
    key: &[u8],
    checked: &mut Vec<u64>,
) -> Result<Option<Arc<KeptBlock>>, EngineError> {
    let storage = &index.blocks().expect("the table is columnar").storage;
    let Some(block) = kept.at(storage, key) else {
        return Ok(None);
    };
    if !block.is_of(state) && !checked.contains(&block.identity()) {
        let (key, value) = block.head();
        if kv.get(storage, key)?.as_deref() != Some(value) {
            kept.lose(&block);
            return Ok(None);
        }
        checked.push(block.identity());
        block.see(state);
    }
    block.touch();
    Ok(Some(block))
}

/// A row as found for a read of some of its values.
pub(crate) enum PointRow {
    /// There is no such row.
    Absent,
    /// It is among the changes, with this value.
    Change(Vec<u8>),
    /// It is in a block, and has these values of the requested ones, in their order.
    Kept(Vec<Datum>),
    /// It may be in a block of which not all that is needed is kept.
    Unknown,
}

/// Looks for the row with a key among the changes of a columnar table, then in what is kept of its blocks, for the values of
/// these slots. The snapshot belongs to the state of blocks.
pub(crate) fn point_row(
    kv: &dyn KvSnapshot,
    kept: (&KeptBlocks, Option<u64>),
    index: &IndexCodec,
    key: &[u8],
    slots: &[usize],
) -> Result<PointRow, EngineError> {
    match kv.get(&index.storage, key)? {
        Some(change) if change == DELETED => return Ok(PointRow::Absent),
        Some(change) => return Ok(PointRow::Change(change)),
        None => {}
    }
    let Some(block) = kept_block(kv, kept, index, key, &mut Vec::new())? else {
        return Ok(PointRow::Unknown);
    };
    let rows = block.rows_at(key);
    let Some(columns) = KeyColumns::of_kept(index, &block, &rows, index.layout.columns().len())? else {
        return Ok(PointRow::Unknown);
    };
    let Ok(row) = columns.search(rows, key, None)? else {
        return Ok(PointRow::Absent);
    };
    let mut values = Vec::with_capacity(slots.len());
    for slot in slots {
        let Some(column) = block.column(index, *slot, row..row + 1)? else {
            return Ok(PointRow::Unknown);
        };
        let datum = column.datum(row);
        let datum = datum.map_err(|e| corruption(index, &block.first_key, Some(*slot), e))?;
        values.push(datum.into_owned());
    }
    Ok(PointRow::Kept(values))
}

/// Returns the values of these slots of the first rows, at most so many, whose keys begin with some elements that take this
/// range; `None` where a change lies among them, or not all that is needed is kept of one block. The snapshot belongs to the
/// state of blocks.
pub(crate) fn prefix_rows(
    kv: &dyn KvSnapshot,
    kept: (&KeptBlocks, Option<u64>),
    index: &IndexCodec,
    (range, elements): (&KeyRange, usize),
    slots: &[usize],
    most: usize,
) -> Result<Option<Vec<Row>>, EngineError> {
    let Some(block) = kept_block(kv, kept, index, &range.start, &mut Vec::new())? else {
        return Ok(None);
    };
    let changes = ScanSpec::ranges(vec![range.clone()]).keys_only().limited(1);
    if index.layout.salt().is_some() || kv.count(&index.storage, changes)?.0 > 0 {
        return Ok(None);
    }
    let prefix = index.layout.decode_prefix(&range.start, elements);
    let prefix = prefix.map_err(|e| index.corruption(&range.start, e))?;
    let prefix: DatumRefs<'_> = prefix.iter().map(Datum::as_ref).collect();
    let part = block.rows_at(&range.start);
    let Some(keys) = KeyColumns::of_kept(index, &block, &part, elements)? else {
        return Ok(None);
    };
    let Some(mut row) = keys.first_with(part, &prefix)? else {
        return Ok(None);
    };
    let mut found = Vec::new();
    while row < block.rows && found.len() < most {
        let part = row..block.part_end(row).min(row + most - found.len());
        let Some(keys) = KeyColumns::of_kept(index, &block, &part, elements)? else {
            return Ok(None);
        };
        let Some(count) = keys.count_from(part.clone(), &prefix)? else {
            return Ok(None);
        };
        let before = found.len();
        found.resize_with(before + count, || Row::with_capacity(slots.len()));
        for slot in slots.iter().filter(|_| count > 0) {
            let Some(column) = block.column(index, *slot, row..row + count)? else {
                return Ok(None);
            };
            for (nth, out) in found[before..].iter_mut().enumerate() {
                let datum = column.datum(row + nth);
                let datum = datum.map_err(|e| corruption(index, &block.first_key, Some(*slot), e))?;
                out.push(datum.into_owned());
            }
        }
        if count < part.len() {
            return Ok(Some(found));
        }
        row = part.end;
    }
    // Behind the last row of the block others may follow.
    Ok((found.len() == most).then_some(found))
}

/// Rows of the open block that are decoded.
#[derive(Default)]
struct Window {
    start: usize,
    rows: usize,
    columns: Vec<ColumnVector>,
    /// How many rows to decode next time.
    size: usize,
}

impl Rows {
    /// Opens the block of the head that a scan finds first; returns whether it finds one.
    fn open(&mut self, spec: ScanSpec) -> Result<bool, EngineError> {
        let storage = &self.index.blocks().expect("the table is columnar").storage;
        let mut heads = self.kv.scan(storage, spec.limited(1))?;
        self.block = None;
        self.window.rows = 0;
        let Some(entry) = heads.next()? else {
            return Ok(false);
        };
        let (_, first) = Piece::of(entry.key).map_err(|e| corruption(&self.index, &[], None, e))?;
        let head = Head::parse(entry.key, entry.value);
        let head = head.map_err(|e| corruption(&self.index, first, None, e))?;
        let kept = self.kept.block(storage, (entry.key, entry.value), &head);
        self.block = Some(Block::new(&head, first).keep(&self.kept, kept));
        Ok(true)
    }

    /// Returns the block that has rows on both sides of a key, or at it, if it is kept.
    fn kept_at(&mut self, key: &[u8]) -> Result<Option<Arc<KeptBlock>>, EngineError> {
        let of = (self.kept.as_ref(), self.state);
        kept_block(self.kv.as_ref(), of, &self.index, key, &mut self.checked)
    }

    fn open_kept(&mut self, kept: Arc<KeptBlock>) {
        self.block = Some(Block::of_kept(&self.kept, kept));
        self.window.rows = 0;
    }

    /// Opens the last block that begins at a key or before; returns whether there is one.
    fn open_at(&mut self, key: &[u8]) -> Result<bool, EngineError> {
        match self.kept_at(key)? {
            Some(kept) => self.open_kept(kept),
            None => return self.open_before(Some(&[key, &[0]].concat())),
        }
        Ok(true)
    }

    /// Opens the last block that begins before a key, or without a key the last one; returns whether there is one.
    fn open_before(&mut self, limit: Option<&[u8]>) -> Result<bool, EngineError> {
        let range = Piece::Head.range(&KeyRange {
            start: Vec::new(),
            limit: limit.map(<[u8]>::to_vec),
        });
        self.open(ScanSpec::ranges(vec![range]).reversed())
    }

    /// Opens the first block that begins at a key or behind it; returns whether there is one.
    fn open_from(&mut self, start: &[u8]) -> Result<bool, EngineError> {
        let range = Piece::Head.range(&KeyRange {
            start: start.to_vec(),
            limit: None,
        });
        self.open(ScanSpec::ranges(vec![range]))
    }

    /// Returns the values of the rows with these ascending keys.
    fn get(&mut self, keys: &[&[u8]]) -> Result<Vec<Option<Vec<u8>>>, EngineError> {
        let mut values = vec![None; keys.len()];
        let mut at = 0;
        while at < keys.len() {
            let kept = self.kept_at(keys[at])?;
            if let Some(kept) = &kept {
                let read = self.get_kept(kept, &keys[at..], &mut values[at..])?;
                at += read;
                if read > 0 {
                    continue;
                }
            }
            match kept {
                Some(kept) => self.open_kept(kept),
                None if self.open_before(Some(&[keys[at], &[0]].concat()))? => {}
                None => {
                    at += 1;
                    continue;
                }
            }
            let last_key = self.block.as_ref().map(|block| block.last_key.clone());
            let last_key = last_key.unwrap_or_default();
            let begin = at;
            at += 1;
            while at < keys.len() && keys[at] <= last_key.as_slice() {
                at += 1;
            }
            // Of a key behind the block nothing has to be read.
            if keys[begin] <= last_key.as_slice() {
                self.get_in_block(&keys[begin..at], &mut values[begin..at])?;
            }
        }
        Ok(values)
    }

    /// Finds the values of rows with ascending keys of which the first lies in a block, for as long as all that they need is
    /// kept of it; returns for how many.
    fn get_kept(
        &self,
        block: &KeptBlock,
        keys: &[&[u8]],
        values: &mut [Option<Vec<u8>>],
    ) -> Result<usize, EngineError> {
        let slots = self.index.blocks().expect("the table is columnar").types.len();
        let elements = self.index.layout.columns().len();
        let mut datums = vec![Datum::Null; slots];
        let within = keys.iter().take_while(|key| **key <= block.last_key.as_slice());
        // Columns as far as the key before needed them: the next one may lie beside it.
        let mut parsed: Option<(Range<usize>, KeyColumns<'_>)> = None;
        let mut columns: Vec<Option<Pieces<'_>>> = self.values.iter().map(|_| None).collect();
        for (nth, key) in within.clone().enumerate() {
            let rows = block.rows_at(key);
            if parsed.as_ref().is_none_or(|(part, _)| *part != rows) {
                let found = KeyColumns::of_kept(&self.index, block, &rows, elements)?;
                parsed = found.map(|found| (rows.clone(), found));
            }
            let Some((_, parsed)) = &parsed else {
                return Ok(nth);
            };
            let Ok(row) = parsed.search(rows, key, None)? else {
                continue;
            };
            for (slot, column) in self.values.iter().zip(&mut columns) {
                if column.as_ref().is_none_or(|column| !column.has(row)) {
                    *column = block.column(&self.index, *slot, row..row + 1)?;
                }
                let Some(column) = column else {
                    return Ok(nth);
                };
                let datum = column.datum(row);
                let datum = datum.map_err(|e| corruption(&self.index, &block.first_key, Some(*slot), e))?;
                datums[*slot] = datum.into_owned();
            }
            let mut value = Vec::with_capacity(64);
            self.index.encode_included(&datums, &mut value)?;
            values[nth] = Some(value);
        }
        Ok(within.count())
    }

    /// Finds the values of the rows of the open block with these ascending keys.
    fn get_in_block(&mut self, keys: &[&[u8]], values: &mut [Option<Vec<u8>>]) -> Result<(), EngineError> {
        for key in keys {
            let rows = self.block.as_ref().expect("a block is open").rows_at(key);
            self.read_columns(false, rows)?;
        }
        let block = self.block.as_ref().expect("a block is open");
        let columns = KeyColumns::new(&self.index, block)?;
        let mut found = Vec::new();
        for (nth, key) in keys.iter().enumerate() {
            if let Ok(row) = columns.search(block.rows_at(key), key, None)? {
                found.push((nth, row));
            }
        }
        drop(columns);
        for (_, row) in &found {
            self.read_values(*row..row + 1)?;
        }
        let block = self.block.as_ref().expect("a block is open");
        let read = |slot: &usize| (!found.is_empty()).then(|| block.column(&self.index, *slot));
        let columns = self.values.iter().filter_map(read);
        let columns: Vec<Pieces<'_>> = columns.collect::<Result<_, _>>()?;
        let slots = self.index.blocks().expect("the table is columnar").types.len();
        let mut datums = vec![Datum::Null; slots];
        for (nth, row) in found {
            for (column, slot) in columns.iter().zip(&self.values) {
                let datum = column.datum(row);
                let datum = datum.map_err(|e| corruption(&self.index, &block.first_key, Some(*slot), e))?;
                datums[*slot] = datum.into_owned();
            }
            let mut value = Vec::with_capacity(64);
            self.index.encode_included(&datums, &mut value)?;
            values[nth] = Some(value);
        }
        Ok(())
    }

    /// Returns the slots that are read: the elements of the key, and with values those that are wanted.
    fn slots(&self, values: bool) -> impl Iterator<Item = usize> + use<> {
        let values = if values { self.values.clone() } else { Vec::new() };
        (0..self.index.layout.columns().len()).chain(values)
    }

    /// Reads the columns of the open block as far as some rows need them: those of its keys, or all that are wanted.
    fn read_columns(&mut self, values: bool, rows: Range<usize>) -> Result<(), EngineError> {
        (0..self.index.layout.columns().len()).try_for_each(|slot| self.read_column(slot, rows.clone()))?;
        if values { self.read_values(rows) } else { Ok(()) }
    }

    /// Reads the values of some rows of the open block that are wanted.
    fn read_values(&mut self, rows: Range<usize>) -> Result<(), EngineError> {
        (0..self.values.len()).try_for_each(|nth| self.read_column(self.values[nth], rows.clone()))
    }

    fn read_column(&mut self, slot: usize, rows: Range<usize>) -> Result<(), EngineError> {
        let block = self.block.as_mut().expect("a block is open");
        block.read_column(self.kv.as_ref(), &self.index, slot, rows)?;
        Ok(())
    }

    /// Decodes rows of the open block, whose columns were read; in the order of [`Rows::slots`].
    fn decode(&self, rows: &[u32], values: bool) -> Result<Vec<ColumnVector>, EngineError> {
        let types = &self.index.blocks().expect("the table is columnar").types;
        let block = self.block.as_ref().expect("a block is open");
        let column = |slot: usize| {
            let mut vector = ColumnVector::new(types[slot]);
            let read = block.column(&self.index, slot)?.read_rows(rows, &mut vector);
            read.map_err(|e| corruption(&self.index, &block.first_key, Some(slot), e))?;
            Ok(vector)
        };
        self.slots(values).map(column).collect()
    }

    fn datum<'v>(
        &self,
        columns: &'v [ColumnVector],
        slot: usize,
        row: usize,
    ) -> Result<DatumRef<'v>, EngineError> {
        let datum = columns[slot].datum(row);
        datum.map_err(|e| corruption(&self.index, &[], Some(slot), e))
    }

    /// Encodes the value of a decoded row as that of a table stored in rows.
    fn value_of(&self, columns: &[ColumnVector], row: usize) -> Result<Vec<u8>, EngineError> {
        let elements = self.index.layout.columns().len();
        let slots = self.index.blocks().expect("the table is columnar").types.len();
        let mut datums = vec![Datum::Null; slots];
        for (nth, slot) in self.values.iter().enumerate() {
            let datum = columns[elements + nth].datum(row);
            let datum = datum.map_err(|e| corruption(&self.index, &[], Some(*slot), e))?;
            datums[*slot] = datum.into_owned();
        }
        let mut value = Vec::with_capacity(64);
        self.index.encode_included(&datums, &mut value)?;
        Ok(value)
    }

    /// Encodes the key of a decoded row.
    fn key_of(&self, columns: &[ColumnVector], row: usize) -> Result<Vec<u8>, EngineError> {
        let datums = (0..self.index.layout.columns().len()).map(|slot| self.datum(columns, slot, row));
        let datums: Vec<DatumRef<'_>> = datums.collect::<Result<_, _>>()?;
        let mut key = Vec::with_capacity(32);
        self.index.layout.encode_into(&datums, &mut key)?;
        Ok(key)
    }

    /// Decodes a row of the open block with some that follow in scan order, unless it is decoded; returns its
    /// place among them.
    fn look_at(&mut self, row: usize, reverse: bool, values: bool) -> Result<usize, EngineError> {
        if !(self.window.start..self.window.start + self.window.rows).contains(&row) {
            let rows = self.block.as_ref().expect("a block is open").rows;
            let size = self.window.size.clamp(1, WINDOW_MAX);
            let (start, end) = match reverse {
                true => ((row + 1).saturating_sub(size), row + 1),
                false => (row, (row + size).min(rows)),
            };
            self.read_columns(values, start..end)?;
            let wanted: Vec<u32> = (start..end).map(|row| row as u32).collect();
            self.window = Window {
                start,
                rows: end - start,
                columns: self.decode(&wanted, values)?,
                size: size * 4,
            };
        }
        Ok(row - self.window.start)
    }
}

/// What comes next of one of two sequences.
enum Next<T> {
    Unknown,
    Known(T),
    End,
}

/// A place among the rows of a columnar table: blocks and changes as one.
struct Merged {
    rows: Rows,
    range: KeyRange,
    reverse: bool,
    /// Whether values are wanted.
    values: bool,
    masked: MaskedCompare,
    changes: Option<Box<dyn KvCursor>>,
    change: Next<Change>,
    /// The row of the open block that comes next; in reverse the one behind it.
    at: usize,
    /// The key of the row that comes next.
    row: Next<Vec<u8>>,
    /// How many rows to decode at first.
    first_rows: usize,
    here: Option<Change>,
    error: Option<KvError>,
}

impl Merged {
    /// Opens the changes in what is left of the range.
    fn open_changes(&mut self, range: KeyRange) -> Result<(), EngineError> {
        let spec = ScanSpec {
            reverse: self.reverse,
            ..ScanSpec::ranges(vec![range])
        };
        self.changes = Some(self.rows.kv.scan(&self.rows.index.storage, spec)?);
        self.change = Next::Unknown;
        self.row = Next::Unknown;
        self.rows.window.size = self.first_rows;
        Ok(())
    }

    fn seek_forward(&mut self, key: &[u8]) -> Result<(), EngineError> {
        self.open_changes(KeyRange {
            start: key.to_vec(),
            limit: self.range.limit.clone(),
        })?;
        let within = self
            .rows
            .block
            .as_ref()
            .is_some_and(|block| block.first_key.as_slice() <= key && key <= block.last_key.as_slice());
        if within || self.rows.open_at(key)? {
            let block = self.rows.block.as_ref().expect("a block is open");
            self.at = match key <= block.last_key.as_slice() {
                true => self.place(key)?,
                false => block.rows,
            };
        } else {
            self.at = 0;
            if !self.rows.open_from(key)? {
                self.row = Next::End;
            }
        }
        self.advance()
    }

    fn seek_backward(&mut self, limit: Option<&[u8]>) -> Result<(), EngineError> {
        self.open_changes(KeyRange {
            start: self.range.start.clone(),
            limit: limit.map(<[u8]>::to_vec),
        })?;
        match self.rows.open_before(limit)? {
            false => self.row = Next::End,
            true => {
                let block = self.rows.block.as_ref().expect("a block is open");
                self.at = match limit {
                    Some(limit) if limit <= block.last_key.as_slice() => self.place(limit)?,
                    _ => block.rows,
                };
            }
        }
        self.advance()
    }

    /// Finds the first row of the open block with this key or behind it.
    fn place(&mut self, key: &[u8]) -> Result<usize, EngineError> {
        let rows = self.rows.block.as_ref().expect("a block is open").rows_at(key);
        self.rows.read_columns(false, rows.clone())?;
        let block = self.rows.block.as_ref().expect("a block is open");
        KeyColumns::new(&self.rows.index, block)?.first_from(rows, key)
    }

    /// Finds the next row of blocks.
    fn next_row(&mut self) -> Result<Next<Vec<u8>>, EngineError> {
        let Some(block) = &self.rows.block else {
            return Ok(Next::End);
        };
        let passed = match self.reverse {
            true => self.at == 0,
            false => self.at >= block.rows,
        };
        if passed {
            let first = block.first_key.clone();
            let found = match self.reverse {
                true => self.rows.open_before(Some(&first))?,
                false => {
                    let last = block.last_key.clone();
                    self.rows.open_from(&[last.as_slice(), &[0]].concat())?
                }
            };
            let Some(block) = self.rows.block.as_ref().filter(|_| found) else {
                return Ok(Next::End);
            };
            self.at = if self.reverse { block.rows } else { 0 };
            let outside = match self.reverse {
                true => block.last_key < self.range.start,
                false => self.is_behind(&block.first_key),
            };
            if outside {
                return Ok(Next::End);
            }
        }
        let row = if self.reverse { self.at - 1 } else { self.at };
        let place = self.rows.look_at(row, self.reverse, self.values)?;
        let key = self.rows.key_of(&self.rows.window.columns, place)?;
        let outside = match self.reverse {
            true => key < self.range.start,
            false => self.is_behind(&key),
        };
        Ok(if outside { Next::End } else { Next::Known(key) })
    }

    fn is_behind(&self, key: &[u8]) -> bool {
        self.range
            .limit
            .as_ref()
            .is_some_and(|limit| key >= limit.as_slice())
    }

    /// Goes to what comes next.
    fn advance(&mut self) -> Result<(), EngineError> {
        self.here = None;
        loop {
            if let (Next::Unknown, Some(changes)) = (&self.change, &mut self.changes) {
                let next = changes.next()?;
                self.change = next.map_or(Next::End, |next| {
                    Next::Known((next.key.to_vec(), next.value.to_vec()))
                });
            }
            if let Next::Unknown = self.row {
                self.row = self.next_row()?;
            }
            let order = match (&self.change, &self.row) {
                (Next::Known((changed, _)), Next::Known(row)) => match self.reverse {
                    true => row.cmp(changed),
                    false => changed.cmp(row),
                },
                (Next::Known(_), _) => std::cmp::Ordering::Less,
                (_, Next::Known(_)) => std::cmp::Ordering::Greater,
                _ => return Ok(()),
            };
            if order.is_gt() {
                let Next::Known(key) = std::mem::replace(&mut self.row, Next::Unknown) else {
                    return Ok(());
                };
                let row = if self.reverse { self.at - 1 } else { self.at };
                // The value of a key that does not pass is not read.
                let value = match self.values && self.masked.matches(&key) {
                    true => self
                        .rows
                        .value_of(&self.rows.window.columns, row - self.rows.window.start)?,
                    false => Vec::new(),
                };
                self.step_row();
                self.here = Some((key, value));
                return Ok(());
            }
            if order.is_eq() {
                self.row = Next::Unknown;
                self.step_row();
            }
            if let Next::Known((key, value)) = std::mem::replace(&mut self.change, Next::Unknown)
                && value != DELETED
            {
                self.here = Some((key, value));
                return Ok(());
            }
        }
    }

    fn step_row(&mut self) {
        self.at = if self.reverse { self.at - 1 } else { self.at + 1 };
    }

    fn note(&mut self, moved: Result<(), EngineError>) {
        if let Err(error) = moved {
            self.here = None;
            self.error = Some(error.into());
        }
    }
}

impl Position for Merged {
    fn enter(&mut self, range: &KeyRange) -> Result<bool, KvError> {
        self.range = range.clone();
        Ok(true)
    }

    fn seek(&mut self, key: &[u8]) {
        let moved = self.seek_forward(key);
        self.note(moved);
    }

    fn seek_before(&mut self, limit: Option<&[u8]>) {
        let moved = self.seek_backward(limit);
        self.note(moved);
    }

    fn next(&mut self) {
        let moved = self.advance();
        self.note(moved);
    }

    fn prev(&mut self) {
        let moved = self.advance();
        self.note(moved);
    }

    fn key(&self) -> Option<&[u8]> {
        self.here.as_ref().map(|(key, _)| key.as_slice())
    }

    fn value(&self) -> &[u8] {
        self.here.as_ref().map_or(&[], |(_, value)| value)
    }

    fn status(&self) -> Result<(), KvError> {
        match &self.error {
            None => Ok(()),
            Some(KvError::Cancelled) => Err(KvError::Cancelled),
            Some(KvError::Corruption { table, key, message }) => Err(KvError::Corruption {
                table: table.clone(),
                key: key.clone(),
                message: message.clone(),
            }),
            Some(error) => Err(KvError::Corruption {
                table: None,
                key: None,
                message: error.to_string(),
            }),
        }
    }
}
