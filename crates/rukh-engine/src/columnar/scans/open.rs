//! Blocks being read: columns that are fetched when they are wanted, and the place of a key among their rows.

use crate::EngineError;
use crate::columnar::BlockError;
use crate::columnar::caches::kept::{KeptBlock, KeptBlocks, Reader};
use crate::columnar::scans::first::Best;
use crate::columnar::scans::totals::Summary;
use crate::columnar::stored::block::Piece;
use crate::columnar::stored::column::{self, Column, Sought};
use crate::columnar::stored::error::corruption;
use crate::columnar::stored::filter::Filter;
use crate::columnar::stored::head::{BlockHead, Head};
use crate::columnar::stored::pieces::{Cut, Parts, Pieces};
use crate::columnar::values::mask;
use crate::columnar::values::sketch::Sketch;
use crate::columnar::values::vector::ColumnVector;
use crate::forms::codec::DatumRefs;
use crate::forms::entry::{Blocks, IndexCodec};
use crate::forms::times::Numbers;
use rukh_keys::{Datum, DatumRef, KeyRange, SortOrder};
use rukh_kv::{KvSnapshot, ScanSpec};
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that a value of a column takes of which a sketch is made, about.
const SKETCHED_BYTES_MIN: usize = 4;

/// A block that was not shown to its end.
pub(crate) struct Block {
    pub(crate) first_key: Vec<u8>,
    pub(crate) last_key: Vec<u8>,
    pub(crate) rows: usize,
    /// Its number among the blocks of a scan.
    pub(crate) nth: usize,
    /// The columns that are stored, others are newer.
    stored: Numbers,
    /// How they are cut, if any is.
    parts: Option<Arc<Parts>>,
    /// Whether a row may be left after the tests.
    pub(crate) alive: bool,
    /// Whether it was counted as read or as pruned.
    pub(crate) counted: bool,
    /// The tests that its head leaves open.
    pub(crate) open: Vec<usize>,
    /// The tests among these that filters may refute.
    pub(crate) filtered: Vec<usize>,
    /// The best values it may have for scans that want first rows only.
    pub(crate) bests: Vec<Best>,
    /// The totals of all its rows by its head, if that may do in place of them.
    pub(crate) summary: Option<Summary>,
    /// A byte of 0 or 1 for each row, if not all are left.
    pub(crate) mask: Option<Vec<u8>>,
    /// How many rows were left after the tests.
    pub(crate) left: usize,
    /// Columns of which something was read and checked.
    read: Vec<ReadColumn>,
    /// What is kept of it, and where, if its columns are to be.
    kept: Option<(Arc<KeptBlocks>, Arc<KeptBlock>)>,
    reader: Reader,
    /// The rows in the range that were not shown.
    pub(crate) next: usize,
    pub(crate) end: usize,
    /// Whether the ends in the range are known.
    pub(crate) placed: bool,
    /// Whether some of it was shown.
    pub(crate) begun: bool,
}

/// The pieces of a column that were read, from the first of them to the last.
struct ReadColumn {
    slot: usize,
    first: usize,
    pieces: SmallVec<[Option<Arc<Vec<u8>>>; 1]>,
}

impl ReadColumn {
    fn get(&self, piece: usize) -> Option<&Arc<Vec<u8>>> {
        self.pieces.get(piece.checked_sub(self.first)?)?.as_ref()
    }

    fn set(&mut self, piece: usize, value: Arc<Vec<u8>>) {
        if self.pieces.is_empty() {
            self.first = piece;
        }
        if let Some(before) = self.first.checked_sub(piece) {
            self.pieces.insert_many(0, std::iter::repeat_n(None, before));
            self.first = piece;
        }
        let at = piece - self.first;
        if at >= self.pieces.len() {
            self.pieces.resize(at + 1, None);
        }
        self.pieces[at] = Some(value);
    }
}

impl Blocks {
    /// Returns the key of the piece of a block that has the column of a slot.
    pub(crate) fn key(&self, slot: usize, first_key: &[u8]) -> Vec<u8> {
        Piece::Column(self.numbers[slot]).key(first_key)
    }
}

impl Block {
    /// A block of so many rows, with nothing read.
    fn unread(keys: [&[u8]; 2], rows: usize, stored: Numbers, reader: Reader) -> Self {
        let [first_key, last_key] = keys;
        Block {
            first_key: first_key.to_vec(),
            last_key: last_key.to_vec(),
            rows,
            nth: 0,
            stored,
            parts: None,
            alive: true,
            bests: Vec::new(),
            counted: false,
            summary: None,
            mask: None,
            left: rows,
            open: Vec::new(),
            filtered: Vec::new(),
            read: Vec::new(),
            kept: None,
            reader,
            next: 0,
            end: rows,
            placed: false,
            begun: false,
        }
    }

    /// Makes a block of its head, with nothing read.
    pub(crate) fn new(head: &Head<'_>, first_key: &[u8]) -> Self {
        Block {
            parts: head.parts.clone(),
            ..Block::unread(
                [first_key, head.last_key],
                head.rows,
                head.numbers(),
                Reader::Rows,
            )
        }
    }

    /// Has its columns kept, and takes those that are.
    pub(crate) fn keep(mut self, kept: &Arc<KeptBlocks>, block: Option<Arc<KeptBlock>>) -> Self {
        self.kept = block.map(|block| (kept.clone(), block));
        self
    }

    /// Makes a block of its head for a scan, with nothing read; its columns are kept where there is room, and those taken that are.
    pub(crate) fn of_scan(head: &BlockHead, kept: Option<(Arc<KeptBlocks>, Arc<KeptBlock>)>) -> Self {
        Block {
            parts: head.parts.clone(),
            kept,
            ..Block::unread(
                [head.first_key(), head.last_key()],
                head.rows,
                head.numbers,
                Reader::Scan,
            )
        }
    }

    /// Makes a block of what is kept of it.
    pub(crate) fn of_kept(kept: &Arc<KeptBlocks>, block: Arc<KeptBlock>) -> Self {
        Block {
            parts: block.parts.clone(),
            kept: Some((kept.clone(), block.clone())),
            ..Block::unread(
                [&block.first_key, &block.last_key],
                block.rows,
                block.numbers,
                Reader::Rows,
            )
        }
    }

    /// Returns the rows in the range that were not shown.
    pub(crate) fn in_range(&self) -> Range<usize> {
        self.next..self.end
    }

    /// Returns what is kept of it.
    pub(crate) fn kept_block(&self) -> Option<&Arc<KeptBlock>> {
        self.kept.as_ref().map(|(_, block)| block)
    }

    fn cut(&self, index: &IndexCodec, slot: usize) -> Cut<'_> {
        let number = index.blocks().expect("the index is columnar").numbers[slot];
        Cut::of(self.parts.as_deref(), self.stored.place(number), self.rows)
    }

    /// Returns the rows that a key can be among.
    pub(crate) fn rows_at(&self, key: &[u8]) -> Range<usize> {
        match &self.parts {
            Some(parts) => parts.rows_at(key, self.rows),
            None => 0..self.rows,
        }
    }

    /// Returns what was read of a column.
    fn read_of(&mut self, slot: usize) -> &mut ReadColumn {
        let at = self.read.iter().position(|read| read.slot == slot);
        let at = at.unwrap_or_else(|| {
            self.read.push(ReadColumn {
                slot,
                first: 0,
                pieces: SmallVec::new(),
            });
            self.read.len() - 1
        });
        &mut self.read[at]
    }

    /// Returns how many pieces a column has.
    pub(crate) fn pieces(&self, index: &IndexCodec, slot: usize) -> usize {
        self.cut(index, slot).pieces
    }

    /// Takes the pieces of a column that some rows lie in from what is kept; returns those that are to be read from storage,
    /// with their keys.
    pub(crate) fn missing(
        &mut self,
        index: &IndexCodec,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<Missing, EngineError> {
        let blocks = index.blocks().expect("the index is columnar");
        let number = blocks.numbers[slot];
        let Some(place) = self.stored.place(number) else {
            // The block is older than the column.
            if self.read.iter().all(|read| read.slot != slot) {
                let key = blocks.key(slot, &self.first_key);
                let (ty, missing) = (blocks.types[slot], &blocks.missing[slot]);
                let value = column::encode_constant(&key, ty, missing, self.rows)?;
                self.read_of(slot).set(0, Arc::new(value));
            }
            return Ok(Missing::new());
        };
        let wanted = self.cut(index, slot).of_rows(rows);
        let kept = self.kept.as_ref().map(|(_, kept)| kept.clone());
        let read = self.read_of(slot);
        let mut missing = Missing::new();
        for piece in wanted {
            if read.get(piece).is_some() {
                continue;
            }
            match kept.as_ref().and_then(|kept| kept.piece(place, piece)) {
                Some(value) => read.set(piece, value.clone()),
                None => missing.push((piece, Vec::new())),
            }
        }
        let cut = self.cut(index, slot);
        for (piece, key) in &mut missing {
            *key = Piece::Column(number).key(cut.key(*piece, &self.first_key));
        }
        Ok(missing)
    }

    /// As [`Block::missing`], of pieces that have rows left.
    pub(crate) fn missing_of_left(
        &mut self,
        index: &IndexCodec,
        slot: usize,
    ) -> Result<Missing, EngineError> {
        let mut missing = self.missing(index, slot, 0..self.rows)?;
        let piece_rows = self.cut(index, slot).piece_rows;
        if let Some(mask) = &self.mask {
            let rows = |piece: usize| piece * piece_rows..((piece + 1) * piece_rows).min(mask.len());
            missing.retain(|(piece, _)| mask[rows(*piece)].contains(&1));
        }
        Ok(missing)
    }

    /// Takes the mask of the rows that a test has left; returns how many these are.
    pub(crate) fn leave(&mut self, mask: Vec<u8>) -> usize {
        self.left = mask::ones(&mask);
        self.alive = self.left > 0;
        self.mask = Some(mask);
        self.left
    }

    /// Returns the bytes of a column that were read.
    pub(crate) fn read_bytes(&self, slot: usize) -> usize {
        let read = self.read.iter().filter(|read| read.slot == slot);
        let pieces = read.flat_map(|read| read.pieces.iter().flatten());
        pieces.map(|piece| piece.len()).sum()
    }

    /// Returns the sketch of a column, if there is one.
    pub(crate) fn sketch(&self, index: &IndexCodec, slot: usize) -> Option<Arc<Sketch>> {
        let place = self.place(index, slot)?;
        let (_, block) = self.kept.as_ref()?;
        block.sketch(place).cloned()
    }

    /// Makes the sketch of a column of long values whose pieces were all read, where there is room for it.
    pub(crate) fn make_sketch(&self, index: &IndexCodec, slot: usize) {
        let Some((place, (kept, block))) = self.place(index, slot).zip(self.kept.as_ref()) else {
            return;
        };
        let read = self.read.iter().find(|read| read.slot == slot);
        let is_whole = read.is_some_and(|read| read.pieces.iter().all(Option::is_some));
        if !is_whole || self.read_bytes(slot) < SKETCHED_BYTES_MIN * self.rows {
            return;
        }
        let ty = index.blocks().expect("the index is columnar").types[slot];
        kept.keep_sketch(block, place, 2 * self.rows, || {
            let mut vector = ColumnVector::new(ty);
            self.column(index, slot).ok()?.read_all(&mut vector).ok()?;
            Sketch::new(&vector)
        });
    }

    /// Returns the filter of a column, if it is kept.
    pub(crate) fn kept_filter(&self, index: &IndexCodec, slot: usize) -> Option<Arc<Vec<u8>>> {
        let place = self.place(index, slot)?;
        let (_, block) = self.kept.as_ref()?;
        block.filter(place).cloned()
    }

    /// Checks the filter of a column that was read, and keeps it where there is room.
    pub(crate) fn take_filter(
        &self,
        index: &IndexCodec,
        slot: usize,
        key: &[u8],
        value: Option<Vec<u8>>,
    ) -> Result<Arc<Vec<u8>>, EngineError> {
        let failed = |e| corruption(index, &self.first_key, Some(slot), e);
        let value = value.ok_or_else(|| failed(BlockError::Missing))?;
        Filter::parse(key, &value).map_err(failed)?;
        let value = Arc::new(value);
        if let (Some((kept, block)), Some(place)) = (&self.kept, self.place(index, slot)) {
            kept.keep_filter(block, place, &value);
        }
        Ok(value)
    }

    /// Returns the place of the column of a slot among those that are stored.
    fn place(&self, index: &IndexCodec, slot: usize) -> Option<usize> {
        self.stored
            .place(index.blocks().expect("the index is columnar").numbers[slot])
    }

    /// Reads the pieces of a column that some rows lie in, unless they were read; returns the bytes read.
    pub(crate) fn read_column(
        &mut self,
        kv: &dyn KvSnapshot,
        index: &IndexCodec,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<u64, EngineError> {
        let storage = &index.blocks().expect("the index is columnar").storage;
        let missing = self.missing(index, slot, rows)?;
        let values = match missing.as_slice() {
            [] => return Ok(0),
            [(_, key)] => vec![kv.get(storage, key)?],
            _ => {
                let keys: Vec<Vec<u8>> = missing.iter().map(|(_, key)| key.clone()).collect();
                kv.multi_get(storage, &keys)?
            }
        };
        let mut bytes = 0;
        for ((piece, key), value) in missing.iter().zip(values) {
            bytes += self.take_piece(index, slot, *piece, key, value)?;
        }
        Ok(bytes)
    }

    /// Checks a piece of a column that was read, and takes it; returns its bytes.
    pub(crate) fn take_piece(
        &mut self,
        index: &IndexCodec,
        slot: usize,
        piece: usize,
        key: &[u8],
        value: Option<Vec<u8>>,
    ) -> Result<u64, EngineError> {
        let failed = |e| corruption(index, &self.first_key, Some(slot), e);
        let value = value.ok_or_else(|| failed(BlockError::Missing))?;
        let blocks = index.blocks().expect("the index is columnar");
        let column = Column::parse(blocks.types[slot], key, &value).map_err(failed)?;
        let cut = self.cut(index, slot);
        if column.rows() != cut.rows(piece, self.rows) {
            return Err(failed(BlockError::Invalid(
                "another number of rows than its head says",
            )));
        }
        let bytes = value.len() as u64;
        let value = Arc::new(value);
        if let (Some((kept, block)), Some(place)) = (&self.kept, self.stored.place(blocks.numbers[slot])) {
            kept.keep(block, self.reader, (place, piece), &value);
        }
        self.read_of(slot).set(piece, value);
        Ok(bytes)
    }

    /// Returns a column of which something was read.
    pub(crate) fn column(&self, index: &IndexCodec, slot: usize) -> Result<Pieces<'_>, EngineError> {
        let read = self.read.iter().find(|read| read.slot == slot);
        let read = read.expect("the column was read");
        let ty = index.blocks().expect("the index is columnar").types[slot];
        let mut columns = SmallVec::with_capacity(read.pieces.len());
        for piece in &read.pieces {
            let again = piece.as_ref().map(|value| Column::parse_again(ty, value));
            let column = again.transpose();
            columns.push(column.map_err(|e| corruption(index, &self.first_key, Some(slot), e))?);
        }
        Ok(Pieces::some(&self.cut(index, slot), read.first, columns))
    }
}

impl KeptBlock {
    /// Returns the rows that a key can be among.
    pub(crate) fn rows_at(&self, key: &[u8]) -> Range<usize> {
        match &self.parts {
            Some(parts) => parts.rows_at(key, self.rows),
            None => 0..self.rows,
        }
    }

    /// Returns where the part ends that a row lies in.
    pub(crate) fn part_end(&self, row: usize) -> usize {
        match &self.parts {
            Some(parts) => parts.end_of(row).min(self.rows),
            None => self.rows,
        }
    }

    /// Returns a column as far as some rows need it, if all of that is kept.
    pub(crate) fn column(
        &self,
        index: &IndexCodec,
        slot: usize,
        rows: Range<usize>,
    ) -> Result<Option<Pieces<'_>>, EngineError> {
        let blocks = index.blocks().expect("the index is columnar");
        let Some(place) = self.numbers.place(blocks.numbers[slot]) else {
            return Ok(None);
        };
        let cut = Cut::of(self.parts.as_deref(), Some(place), self.rows);
        let wanted = cut.of_rows(rows);
        let first = wanted.start;
        let mut columns = SmallVec::new();
        for piece in wanted {
            let Some(value) = self.piece(place, piece) else {
                return Ok(None);
            };
            let column = Column::parse_again(blocks.types[slot], value);
            columns.push(Some(
                column.map_err(|e| corruption(index, &self.first_key, Some(slot), e))?,
            ));
        }
        Ok(Some(Pieces::some(&cut, first, columns)))
    }
}

/// Pieces that are to be read, with their keys.
pub(crate) type Missing = SmallVec<[(usize, Vec<u8>); 1]>;

/// The columns of a block that make its keys.
pub(crate) struct KeyColumns<'a> {
    index: &'a IndexCodec,
    first_key: &'a [u8],
    columns: Vec<Pieces<'a>>,
}

impl<'a> KeyColumns<'a> {
    pub(crate) fn new(index: &'a IndexCodec, block: &'a Block) -> Result<Self, EngineError> {
        let slots = 0..index.layout.columns().len();
        let columns = slots.map(|slot| block.column(index, slot));
        Ok(KeyColumns {
            index,
            first_key: &block.first_key,
            columns: columns.collect::<Result<_, _>>()?,
        })
    }

    /// The same, of as many elements, of what is kept of a block, if that is all that some rows need.
    pub(crate) fn of_kept(
        index: &'a IndexCodec,
        block: &'a KeptBlock,
        rows: &Range<usize>,
        elements: usize,
    ) -> Result<Option<Self>, EngineError> {
        let mut columns = Vec::with_capacity(elements);
        for slot in 0..elements {
            match block.column(index, slot, rows.clone())? {
                Some(column) => columns.push(column),
                None => return Ok(None),
            }
        }
        Ok(Some(KeyColumns {
            index,
            first_key: &block.first_key,
            columns,
        }))
    }

    /// Returns how many of some rows begin with these elements, one after the other from the first on.
    pub(crate) fn count_from(
        &self,
        rows: Range<usize>,
        elements: &[DatumRef<'_>],
    ) -> Result<Option<usize>, EngineError> {
        let Some(sought) = self.sought(elements) else {
            return Ok(None);
        };
        let mut count = 0;
        for row in rows {
            if self.compare(row, &sought)?.is_ne() {
                break;
            }
            count += 1;
        }
        Ok(Some(count))
    }

    fn datum(&self, slot: usize, row: usize) -> Result<DatumRef<'a>, EngineError> {
        let datum = self.columns[slot].datum(row);
        datum.map_err(|e| corruption(self.index, self.first_key, Some(slot), e))
    }

    pub(crate) fn key(&self, row: usize) -> Result<Vec<u8>, EngineError> {
        let datums = (0..self.columns.len()).map(|slot| self.datum(slot, row));
        let datums: Vec<DatumRef<'_>> = datums.collect::<Result<_, _>>()?;
        let mut key = Vec::with_capacity(32);
        let encoded = self.index.layout.encode_into(&datums, &mut key);
        encoded.map_err(|_| {
            let invalid = BlockError::Invalid("a key that does not encode");
            corruption(self.index, self.first_key, None, invalid)
        })?;
        Ok(key)
    }

    /// Returns the first of some rows whose key is `start` or behind it; the one behind them if there is none.
    pub(crate) fn first_from(&self, rows: Range<usize>, start: &[u8]) -> Result<usize, EngineError> {
        let elements = self.elements_of(start);
        let elements: Option<DatumRefs<'_>> = elements
            .as_ref()
            .map(|elements| elements.iter().map(Datum::as_ref).collect());
        let sought = elements.as_ref().and_then(|elements| self.sought(elements));
        first_where(rows, |row| match &sought {
            // Keys that begin with these elements begin with `start`.
            Some(sought) => Ok(self.compare(row, sought)?.is_lt()),
            None => Ok(self.key(row)?.as_slice() < start),
        })
    }

    /// Returns the first of some rows that begins with these elements or lies behind all that do; `None` if one is of
    /// another type.
    pub(crate) fn first_with(
        &self,
        rows: Range<usize>,
        elements: &[DatumRef<'_>],
    ) -> Result<Option<usize>, EngineError> {
        let Some(sought) = self.sought(elements) else {
            return Ok(None);
        };
        first_where(rows, |row| Ok(self.compare(row, &sought)?.is_lt())).map(Some)
    }

    /// Returns the leading elements that a key is the encoding of and of nothing more, if that is plain: then it need not be
    /// compared with encoded keys.
    fn elements_of(&self, start: &[u8]) -> Option<Vec<Datum>> {
        let layout = &self.index.layout;
        let begins_behind = |column: &usize| {
            let field = layout.field(*column);
            field.is_some_and(|field| field.offset == start.len() && field.bit.unwrap_or(0) == 0)
        };
        let columns = (1..self.columns.len()).find(begins_behind)?;
        let elements = layout
            .decode_prefix(start, columns)
            .ok()
            .filter(|_| layout.salt().is_none())?;
        let mut encoded = Vec::with_capacity(start.len());
        {
            let datums: DatumRefs<'_> = elements.iter().map(Datum::as_ref).collect();
            layout.encode_prefix_into(&datums, &mut encoded).ok()?;
        }
        (encoded == start).then_some(elements)
    }

    /// Returns leading elements as columns store them; `None` if one is of another type.
    fn sought<'d>(&self, elements: &'d [DatumRef<'_>]) -> Option<SmallVec<[Sought<'d>; 12]>> {
        let types = &self.index.blocks()?.types;
        let each = types.iter().zip(elements);
        each.map(|(ty, datum)| column::sought(*ty, datum)).collect()
    }

    /// Looks for the row with a key: where it is, or would be.
    pub(crate) fn search(
        &self,
        rows: Range<usize>,
        key: &[u8],
        datums: Option<&[DatumRef<'_>]>,
    ) -> Result<Result<usize, usize>, EngineError> {
        self.search_by(rows, |row| row, key, datums)
    }

    /// As [`KeyColumns::search`], among places of ascending rows.
    pub(crate) fn search_by(
        &self,
        places: Range<usize>,
        row_at: impl Fn(usize) -> usize,
        key: &[u8],
        datums: Option<&[DatumRef<'_>]>,
    ) -> Result<Result<usize, usize>, EngineError> {
        if self.index.layout.salt().is_some() {
            // Datums alone do not say where a key is.
            let at = first_where(places.clone(), |at| Ok(self.key(row_at(at))?.as_slice() < key))?;
            return Ok(match at < places.end && self.key(row_at(at))? == key {
                true => Ok(at),
                false => Err(at),
            });
        }
        let mut decoded = Vec::with_capacity(self.columns.len());
        let datums = match datums {
            Some(datums) => &datums[..self.columns.len()],
            None => {
                let read = self.index.layout.decode_refs(key, &mut decoded);
                read.map_err(|e| self.index.corruption(key, e))?;
                &decoded
            }
        };
        let Some(sought) = self.sought(datums) else {
            return Err(self.index.corruption(key, "a key of other types"));
        };
        let (mut low, mut high) = (places.start, places.end);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.compare(row_at(middle), &sought)? {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Ok(Ok(middle)),
            }
        }
        Ok(Err(low))
    }

    /// Compares the key of a row with one of these elements.
    fn compare(&self, row: usize, sought: &[Sought<'_>]) -> Result<Ordering, EngineError> {
        for (slot, sought) in sought.iter().enumerate() {
            let order = self.columns[slot].compare(row, sought);
            let order = order.map_err(|e| corruption(self.index, self.first_key, Some(slot), e))?;
            if order.is_ne() {
                return Ok(match self.index.layout.columns()[slot].order {
                    SortOrder::Asc => order,
                    SortOrder::Desc => order.reverse(),
                });
            }
        }
        Ok(Ordering::Equal)
    }
}

/// Returns the first of some rows behind those that lie before a place.
fn first_where(
    rows: Range<usize>,
    is_before: impl Fn(usize) -> Result<bool, EngineError>,
) -> Result<usize, EngineError> {
    let (mut low, mut high) = (rows.start, rows.end);
    while low < high {
        let middle = low + (high - low) / 2;
        match is_before(middle)? {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    Ok(low)
}

/// Returns the first key of the last block that begins at `key` or before.
pub(crate) fn block_at(
    kv: &dyn KvSnapshot,
    storage: &str,
    key: &[u8],
) -> Result<Option<Vec<u8>>, EngineError> {
    let range = Piece::Head.range(&KeyRange {
        start: Vec::new(),
        limit: Some([key, &[0]].concat()),
    });
    let spec = ScanSpec::ranges(vec![range]).reversed().limited(1).keys_only();
    let mut cursor = kv.scan(storage, spec)?;
    // A key of heads is longer than its number: the range says so.
    Ok(cursor
        .next()?
        .and_then(|head| Some(Piece::of(head.key).ok()?.1.to_vec())))
}
