//! Columnar indexes compared with what they should be: their entries read back as ordinary ones, and
//! their blocks checked for themselves.

use super::BlockError;
use super::scans::scan::{BlockScan, BlockScanSpec};
use super::stored::block::Piece;
use super::stored::column::{self, Column};
use super::stored::filter::{Filter, hash_of_row};
use super::stored::head::{self, Head};
use super::stored::pieces::{Cut, Parts};
use super::values::test::ColumnTest;
use super::values::vector::ColumnVector;
use crate::EngineError;
use crate::columnar::stored::error::corruption;
use crate::forms::entry::{IndexCodec, entry_key};
use crate::forms::times::{self, Numbers};
use rukh_keys::{Datum, DatumRef, KeyRange};
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

/// Entries read together.
const BATCH_ROWS: usize = 1024;

/// Reads the entries of a columnar index as if they were stored one by one.
pub(crate) struct EntryReader {
    index: Arc<IndexCodec>,
    scan: BlockScan,
}

impl EntryReader {
    /// Begins to read; of entries that carry times those that pass `life`.
    pub(crate) fn new(
        kv: Arc<dyn KvSnapshot>,
        index: Arc<IndexCodec>,
        life: Option<ColumnTest>,
    ) -> Result<Self, EngineError> {
        let columns = (0..index.blocks().expect("the index is columnar").types.len()).collect();
        let life = life.and_then(|test| Some((index.life_slot()?, test)));
        let spec = BlockScanSpec {
            ranges: vec![KeyRange::all()],
            tests: life.into_iter().collect(),
            columns,
            reverse: false,
            first: Vec::new(),
            either_end: false,
            cancel: None,
        };
        let scan = BlockScan::new(kv, index.clone(), spec)?;
        Ok(EntryReader { index, scan })
    }

    /// Reads further keys and values; `None` at the end.
    #[allow(clippy::type_complexity)] // two lists
    pub(crate) fn next(&mut self) -> Result<Option<(Vec<Vec<u8>>, Vec<Vec<u8>>)>, EngineError> {
        let Some(batch) = self.scan.next_batch(BATCH_ROWS)? else {
            return Ok(None);
        };
        let (mut keys, mut values) = (Vec::with_capacity(batch.rows), Vec::with_capacity(batch.rows));
        for row in 0..batch.rows {
            let datums = batch
                .columns
                .iter()
                .map(|column| column.datum(row).map(DatumRef::into_owned));
            let datums: Result<Vec<Datum>, BlockError> = datums.collect();
            let datums = datums.map_err(|e| corruption(&self.index, &[], None, e))?;
            let (mut key, mut value) = (Vec::new(), Vec::new());
            self.index.encode_slots(&datums, &mut key, &mut value)?;
            keys.push(key);
            values.push(value);
        }
        Ok(Some((keys, values)))
    }
}

/// Checks every block of an index for itself, and that there is nothing beside blocks; shows what is
/// wrong to `note`, a corruption error each.
pub(crate) fn check_blocks(
    kv: &dyn KvSnapshot,
    index: &IndexCodec,
    note: &mut dyn FnMut(EngineError) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let blocks = index.blocks().expect("the index is columnar");
    let heads = Piece::Head.range(&KeyRange::all());
    let mut cursor = kv.scan(&blocks.storage, ScanSpec::ranges(vec![heads]))?;
    let mut last_key: Option<Vec<u8>> = None;
    // By first key; nothing of those whose heads do not decode.
    let mut known: BTreeMap<Vec<u8>, Option<Shape>> = BTreeMap::new();
    while let Some((key, value)) = owned(cursor.as_mut())? {
        let (_, first) = Piece::of(&key).map_err(|e| corruption(index, &[], None, e))?;
        let shape = Head::parse(&key, &value).map(|head| Shape::of(&head));
        known.insert(first.to_vec(), shape.ok());
        let checked = check_block(kv, index, first, &value, last_key.as_deref());
        match checked {
            Ok(last) => last_key = Some(last),
            Err(error) => note(error)?,
        }
    }
    let mut strays = 0;
    let mut cursor = kv.scan(&blocks.storage, ScanSpec::all().keys_only())?;
    cursor.for_each(&mut |key, _| {
        let belongs = match Piece::of(key) {
            Ok((Piece::Head, first)) => known.contains_key(first),
            Ok((Piece::Column(number), of)) => {
                let block = known
                    .range::<[u8], _>((Bound::Unbounded, Bound::Included(of)))
                    .next_back();
                block.is_some_and(|(first, shape)| match shape {
                    Some(shape) => shape.has(number, first, of),
                    None => true,
                })
            }
            Ok((Piece::Filter(number), first)) => match known.get(first) {
                Some(Some(shape)) => shape.filters.contains(&number),
                Some(None) => true,
                None => false,
            },
            Err(_) => false,
        };
        strays += u64::from(!belongs);
        ControlFlow::Continue(())
    })?;
    match strays {
        0 => Ok(()),
        _ => note(index.corruption(&[], format!("there are {strays} pieces that belong to no block"))),
    }
}

/// Which pieces a block has.
struct Shape {
    rows: usize,
    numbers: Numbers,
    parts: Option<Arc<Parts>>,
    /// The numbers of the columns that have filters.
    filters: Vec<usize>,
}

impl Shape {
    fn of(head: &Head<'_>) -> Shape {
        Shape {
            filters: head
                .numbers()
                .iter()
                .filter(|number| head.has_filter(*number))
                .collect(),
            rows: head.rows,
            numbers: head.numbers(),
            parts: head.parts.clone(),
        }
    }

    /// Returns the keys of the pieces of a column of the block with this first key.
    fn keys(&self, number: usize, first: &[u8]) -> Vec<Vec<u8>> {
        let Some(place) = self.numbers.place(number) else {
            return Vec::new();
        };
        let cut = Cut::of(self.parts.as_deref(), Some(place), self.rows);
        let keys = (0..cut.pieces).map(|piece| Piece::Column(number).key(cut.key(piece, first)));
        keys.collect()
    }

    /// Whether the block with this first key has a piece of a column that begins with the row under `of`.
    fn has(&self, number: usize, first: &[u8], of: &[u8]) -> bool {
        let Some(place) = self.numbers.place(number) else {
            return false;
        };
        let cut = Cut::of(self.parts.as_deref(), Some(place), self.rows);
        (0..cut.pieces).any(|piece| cut.key(piece, first) == of)
    }
}

/// Returns the keys of all pieces of the block with a head, but that of the head.
pub(crate) fn pieces_of(head: &Head<'_>, first: &[u8]) -> Vec<Vec<u8>> {
    let mut keys = columns_of(head, first);
    let filters = Shape::of(head).filters.into_iter();
    keys.extend(filters.map(|number| Piece::Filter(number).key(first)));
    keys
}

/// Returns the keys of all pieces of the columns of the block with a head.
fn columns_of(head: &Head<'_>, first: &[u8]) -> Vec<Vec<u8>> {
    let shape = Shape::of(head);
    let numbers = shape.numbers.iter();
    numbers.flat_map(|number| shape.keys(number, first)).collect()
}

/// Checks that a filter lacks no value of its column.
fn check_filter(
    kv: &dyn KvSnapshot,
    storage: &str,
    key: &[u8],
    column: &ColumnVector,
) -> Result<Result<(), BlockError>, EngineError> {
    let value = kv.get(storage, key)?;
    let Some(value) = value else {
        return Ok(Err(BlockError::Missing));
    };
    let filter = match Filter::parse(key, &value) {
        Ok(filter) if filter.rows == column.len() => filter,
        Ok(_) => return Ok(Err(BlockError::Invalid("a filter of other rows"))),
        Err(error) => return Ok(Err(error)),
    };
    let mut values = (0..column.len()).filter(|row| !column.is_null(*row));
    Ok(
        match values.all(|row| filter.may_have(hash_of_row(column, row))) {
            true => Ok(()),
            false => Err(BlockError::Invalid("a filter that lacks a value")),
        },
    )
}

fn owned(cursor: &mut dyn KvCursor) -> Result<Option<(Vec<u8>, Vec<u8>)>, EngineError> {
    Ok(cursor
        .next()?
        .map(|entry| (entry.key.to_vec(), entry.value.to_vec())))
}

/// Checks a block; returns its last key.
fn check_block(
    kv: &dyn KvSnapshot,
    index: &IndexCodec,
    first: &[u8],
    head: &[u8],
    before: Option<&[u8]>,
) -> Result<Vec<u8>, EngineError> {
    let failed = |slot: Option<usize>| move |e: BlockError| corruption(index, first, slot, e);
    let wrong = |what| corruption(index, first, None, BlockError::Invalid(what));
    let blocks = index.blocks().expect("the index is columnar");
    let head_key = Piece::Head.key(first);
    let parsed = Head::parse(&head_key, head).map_err(failed(None))?;
    let shape = Shape::of(&parsed);
    let (mut numbers, mut columns) = (Vec::new(), Vec::with_capacity(blocks.types.len()));
    for (slot, ty) in blocks.types.iter().enumerate() {
        let number = blocks.numbers[slot];
        if !parsed.numbers().contains(number) {
            // The block is older than the column, as only a table's can be, and older than times.
            match index.is_table() || number >= times::FIRST {
                true => continue,
                false => return Err(wrong("another number of columns")),
            }
        }
        let mut vector = ColumnVector::new(*ty);
        for key in shape.keys(number, first) {
            let value = kv.get(&blocks.storage, &key)?;
            let value = value.ok_or(BlockError::Missing).map_err(failed(Some(slot)))?;
            let column = Column::parse(*ty, &key, &value).map_err(failed(Some(slot)))?;
            column.read_all(&mut vector).map_err(failed(Some(slot)))?;
        }
        if vector.len() != parsed.rows {
            return Err(wrong("columns of different length"));
        }
        if shape.filters.contains(&number) {
            let key = Piece::Filter(number).key(first);
            check_filter(kv, &blocks.storage, &key, &vector)?.map_err(failed(Some(slot)))?;
        }
        numbers.push(number);
        columns.push(vector);
    }
    let elements = index.layout.columns().len();
    let (mut last, mut key) = (before.unwrap_or_default().to_vec(), Vec::new());
    for row in 0..parsed.rows {
        let datums = columns[..elements].iter().map(|column| column.datum(row));
        let datums: Result<Vec<DatumRef<'_>>, _> = datums.collect();
        let datums = datums.map_err(failed(None))?;
        key.clear();
        let encoded = index.layout.encode_into(&datums, &mut key);
        encoded.map_err(|_| wrong("a key that does not encode"))?;
        if row == 0 && key != first {
            return Err(wrong("another first key"));
        }
        if key <= last && (row > 0 || before.is_some()) {
            return Err(wrong("keys that do not ascend"));
        }
        let part = shape.parts.as_ref().and_then(|parts| parts.key_at(row));
        if part.is_some_and(|part| part != key) {
            return Err(wrong("another first key of a part"));
        }
        std::mem::swap(&mut last, &mut key);
    }
    if last != parsed.last_key {
        return Err(wrong("another last key"));
    }
    let identity = parsed.identity.unwrap_or_default();
    let made = head::encode(
        &head_key,
        &numbers,
        &columns,
        0..parsed.rows,
        &last,
        head::Extras {
            parts: None,
            filters: &[],
            identity,
        },
    );
    let made = Head::parse(&head_key, &made).map_err(failed(None))?;
    match numbers
        .iter()
        .all(|number| made.column(*number) == parsed.column(*number))
    {
        true => check_identity(kv, index, first, &parsed).map(|()| last),
        false => Err(wrong("a head that does not match its block")),
    }
}

/// Compares the identity in a head with that of the columns stored, those that were dropped counted.
fn check_identity(
    kv: &dyn KvSnapshot,
    index: &IndexCodec,
    first: &[u8],
    head: &Head<'_>,
) -> Result<(), EngineError> {
    let Some(expected) = head.identity else {
        return Ok(());
    };
    let storage = &index.blocks().expect("the index is columnar").storage;
    let keys = columns_of(head, first);
    let values = kv.multi_get(storage, &keys)?;
    let found = column::identity(values.iter().flatten().map(Vec::as_slice));
    match found {
        Ok(found) if found == expected => Ok(()),
        Ok(_) => Err(corruption(
            index,
            first,
            None,
            BlockError::Invalid("columns of another block"),
        )),
        Err(error) => Err(corruption(index, first, None, error)),
    }
}

/// What a piece of a block is of.
pub(crate) enum PieceOf {
    Block,
    /// A column, by slot; `None` if it is gone.
    Column(Option<usize>),
    /// The filter of a column.
    Filter(Option<usize>),
}

/// Prints a key of blocks as what it belongs to and the key of the first row.
pub(crate) fn piece_name(index: &IndexCodec, key: &[u8]) -> (PieceOf, Vec<u8>) {
    match Piece::of(key) {
        Ok((Piece::Head, first)) => (PieceOf::Block, first.to_vec()),
        Ok((Piece::Column(number), first)) => (PieceOf::Column(slot_of(index, number)), first.to_vec()),
        Ok((Piece::Filter(number), first)) => (PieceOf::Filter(slot_of(index, number)), first.to_vec()),
        Err(_) => (PieceOf::Block, key.to_vec()),
    }
}

/// Returns the slot of the column with a number; `None` if the column is gone.
fn slot_of(index: &IndexCodec, number: usize) -> Option<usize> {
    index.blocks()?.numbers.iter().position(|known| *known == number)
}

/// Prints the value of a piece of a block.
pub(crate) fn piece_value(index: &IndexCodec, key: &[u8], value: &[u8]) -> Result<String, BlockError> {
    let blocks = index.blocks().expect("the index is columnar");
    match Piece::of(key)? {
        (Piece::Head, _) => {
            let head = Head::parse(key, value)?;
            let last = entry_key(index, head.last_key);
            Ok(format!("{} rows to {last}", head.rows))
        }
        (Piece::Filter(_), _) => {
            let filter = Filter::parse(key, value)?;
            Ok(format!("filter of {} rows, {} bytes", filter.rows, value.len()))
        }
        (Piece::Column(number), _) => {
            let Some(slot) = slot_of(index, number) else {
                return Ok(format!("a column that was dropped, {} bytes", value.len()));
            };
            let ty = &blocks.types[slot];
            let column = Column::parse(*ty, key, value)?;
            Ok(format!(
                "{} rows, {}, {} bytes",
                column.rows(),
                column.encoding(),
                value.len()
            ))
        }
    }
}
