//! Columns in pieces: so that one row is read without the thousands beside it.
//!
//! A block's rows fall into *parts*, as many rows in each, the last one shorter. The head has the key of each part's first
//! row, so that a key is looked for in one part. A column that takes many bytes is stored in several pieces, each of one, two,
//! four, … parts; one that takes few is stored whole. A piece lies under the key of its own first row.
//!
//! ```text
//! rows       4 bytes   rows of a part
//! keys                 of every part but the first: 4 bytes length, key of its first row
//! columns    1 byte    by place: p if its pieces have 2^p parts, 255 if it is whole
//! ```

use crate::columnar::BlockError;
use crate::columnar::stored::column::{Column, Sought};
use crate::columnar::stored::head::Reader;
use crate::columnar::values::test::Test;
use crate::columnar::values::vector::ColumnVector;
use rukh_keys::DatumRef;
use smallvec::SmallVec;
use std::cmp::Ordering;
use std::ops::Range;

/// Parts of a block that has as many rows as new blocks have.
const PARTS: usize = 32;

/// What stands for a column that is stored whole.
const WHOLE: u8 = 255;

/// How many rows blocks have, and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cutting {
    /// Rows of a part.
    part_rows: usize,
    /// Bytes that a piece should not have more of.
    piece_bytes: usize,
}

impl Cutting {
    /// Says how columns of blocks of so many rows are cut: those of more than a byte for each row.
    pub(crate) fn new(block_rows: usize) -> Self {
        Cutting {
            part_rows: (block_rows / PARTS).max(1),
            piece_bytes: block_rows,
        }
    }

    /// Returns how many parts the pieces of a column should have, as a power of two, the fewest first, if it takes so many
    /// bytes whole; none if it is to stay whole.
    pub(crate) fn choices(self, rows: usize, bytes: usize) -> impl Iterator<Item = u8> {
        let fits = move |shift: &u8| bytes / rows.max(1) * (self.part_rows << shift) <= self.piece_bytes;
        let most = (0..16).take_while(fits).last().unwrap_or(0);
        let is_long = bytes > self.piece_bytes;
        (most..16).take_while(move |shift| is_long && self.part_rows << shift < rows)
    }

    /// Returns the rows of the pieces of so many parts.
    pub(crate) fn pieces(self, shift: u8, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let piece_rows = self.part_rows << shift;
        let end = rows.end;
        rows.step_by(piece_rows)
            .map(move |start| start..(start + piece_rows).min(end))
    }
}

/// How the columns of a block are cut.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parts {
    rows: usize,
    /// The keys of the first rows of all parts but the first, one behind the other, and where each ends.
    keys: Vec<u8>,
    ends: Vec<u32>,
    /// By place of the column.
    shifts: Vec<u8>,
}

impl Parts {
    /// Says how columns are cut whose pieces have these parts by place, `None` if whole; of rows with these keys.
    pub(crate) fn new<'k>(
        cutting: Cutting,
        shifts: impl Iterator<Item = Option<u8>>,
        rows: Range<usize>,
        key_of: &dyn Fn(usize) -> &'k [u8],
    ) -> Option<Parts> {
        let shifts: Vec<u8> = shifts.map(|shift| shift.unwrap_or(WHOLE)).collect();
        if shifts.iter().all(|shift| *shift == WHOLE) {
            return None;
        }
        let mut parts = Parts {
            rows: cutting.part_rows,
            keys: Vec::new(),
            ends: Vec::new(),
            shifts,
        };
        for part in cutting.pieces(0, rows).skip(1) {
            parts.push(key_of(part.start));
        }
        Some(parts)
    }

    fn push(&mut self, key: &[u8]) {
        self.keys.extend_from_slice(key);
        self.ends.push(self.keys.len() as u32);
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.rows as u32).to_le_bytes());
        for part in 1..=self.ends.len() {
            let key = self.key(part);
            out.extend_from_slice(&(key.len() as u32).to_le_bytes());
            out.extend_from_slice(key);
        }
        out.extend_from_slice(&self.shifts);
    }

    /// Reads how a block of so many rows and columns is cut.
    pub(crate) fn parse(reader: &mut Reader<'_>, rows: usize, columns: usize) -> Result<Parts, BlockError> {
        let part_rows = reader.u32()? as usize;
        if part_rows == 0 {
            return Err(BlockError::Invalid("parts without rows"));
        }
        let mut parts = Parts {
            rows: part_rows,
            keys: Vec::new(),
            ends: Vec::new(),
            shifts: Vec::new(),
        };
        for _ in 1..rows.div_ceil(part_rows) {
            let length = reader.u32()? as usize;
            parts.push(reader.take(length)?);
        }
        parts.shifts = reader.take(columns)?.to_vec();
        if parts.shifts.iter().any(|shift| *shift != WHOLE && *shift >= 16) {
            return Err(BlockError::Invalid("pieces of too many parts"));
        }
        if (2..=parts.ends.len()).any(|part| parts.key(part - 1) >= parts.key(part)) {
            return Err(BlockError::Invalid("parts that do not ascend"));
        }
        Ok(parts)
    }

    /// Returns the key of the first row of a part, not the first one.
    fn key(&self, part: usize) -> &[u8] {
        let start = part.checked_sub(2).map_or(0, |before| self.ends[before]);
        &self.keys[start as usize..self.ends[part - 1] as usize]
    }

    /// Returns the rows of the part that a key lies in.
    pub(crate) fn rows_at(&self, key: &[u8], rows: usize) -> Range<usize> {
        let (mut low, mut high) = (0, self.ends.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.key(middle + 1) <= key {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low * self.rows..((low + 1) * self.rows).min(rows)
    }

    /// Returns the first row behind the part that a row lies in.
    pub(crate) fn end_of(&self, row: usize) -> usize {
        (row / self.rows + 1) * self.rows
    }

    /// Returns the key of a row that is the first of a part, but not of the block.
    pub(crate) fn key_at(&self, row: usize) -> Option<&[u8]> {
        (row > 0 && row.is_multiple_of(self.rows)).then(|| self.key(row / self.rows))
    }

    /// Returns the bytes that it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.keys.len() + 4 * self.ends.len() + self.shifts.len()
    }

    /// Returns the rows of the pieces of the column at a place, if it is in pieces.
    fn piece_rows(&self, place: usize) -> Option<usize> {
        let shift = self.shifts.get(place).filter(|shift| **shift != WHOLE)?;
        Some(self.rows << shift)
    }

    /// Returns the key of the first row of a piece, not the first one.
    fn piece_key(&self, piece_rows: usize, piece: usize) -> &[u8] {
        self.key(piece * (piece_rows / self.rows))
    }
}

/// How one column of a block is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cut<'a> {
    parts: Option<&'a Parts>,
    pub(crate) piece_rows: usize,
    pub(crate) pieces: usize,
}

impl<'a> Cut<'a> {
    /// Returns how the column at a place is cut, in a block of so many rows; without a place it is whole.
    pub(crate) fn of(parts: Option<&'a Parts>, place: Option<usize>, rows: usize) -> Self {
        let in_pieces = parts
            .zip(place)
            .and_then(|(parts, place)| parts.piece_rows(place));
        match in_pieces {
            Some(piece_rows) => Cut {
                parts,
                piece_rows,
                pieces: rows.div_ceil(piece_rows),
            },
            None => Cut {
                parts: None,
                piece_rows: rows,
                pieces: 1,
            },
        }
    }

    /// Returns the key of the first row of a piece; that of the first is the block's.
    pub(crate) fn key(&self, piece: usize, first_key: &'a [u8]) -> &'a [u8] {
        match self.parts {
            Some(parts) if piece > 0 => parts.piece_key(self.piece_rows, piece),
            _ => first_key,
        }
    }

    /// Returns the pieces that some rows lie in.
    pub(crate) fn of_rows(&self, rows: Range<usize>) -> Range<usize> {
        match rows.is_empty() {
            true => 0..0,
            false => rows.start / self.piece_rows..(rows.end - 1) / self.piece_rows + 1,
        }
    }

    /// Returns how many rows a piece has, in a block of so many.
    pub(crate) fn rows(&self, piece: usize, rows: usize) -> usize {
        self.piece_rows.min(rows - piece * self.piece_rows)
    }
}

/// A column of a block, of which not every piece need have been read.
pub(crate) struct Pieces<'a> {
    piece_rows: usize,
    /// How many pieces the column has, and which is the first of those here.
    count: usize,
    first: usize,
    columns: SmallVec<[Option<Column<'a>>; 1]>,
}

impl<'a> Pieces<'a> {
    /// Makes a column, which is cut like this, of some pieces that follow one another from the `first` on: of one that many
    /// pieces make a single row takes no more than its own.
    pub(crate) fn some(cut: &Cut<'_>, first: usize, columns: SmallVec<[Option<Column<'a>>; 1]>) -> Self {
        Pieces {
            piece_rows: cut.piece_rows,
            count: cut.pieces,
            first,
            columns,
        }
    }

    /// Returns the piece that a row lies in, and the row's place in it.
    #[inline]
    fn at(&self, row: usize) -> Result<(&Column<'a>, usize), BlockError> {
        if let [Some(only)] = self.columns.as_slice() {
            let place = row.wrapping_sub(self.first * self.piece_rows);
            return match place < only.rows() {
                true => Ok((only, place)),
                false => Err(BlockError::Missing),
            };
        }
        let piece = (row / self.piece_rows).checked_sub(self.first);
        let piece = piece.and_then(|piece| self.columns.get(piece)?.as_ref());
        Ok((piece.ok_or(BlockError::Missing)?, row % self.piece_rows))
    }

    /// Whether the piece is here that a row lies in.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.at(row).is_ok()
    }

    fn all(&self) -> impl Iterator<Item = Result<&Column<'a>, BlockError>> {
        (0..self.count).map(|at| self.piece(at).ok_or(BlockError::Missing))
    }

    /// Returns a piece by its number, if it is here.
    fn piece(&self, at: usize) -> Option<&Column<'a>> {
        self.columns.get(at.checked_sub(self.first)?)?.as_ref()
    }

    /// Returns the datum of a row.
    pub(crate) fn datum(&self, row: usize) -> Result<DatumRef<'a>, BlockError> {
        let (piece, row) = self.at(row)?;
        piece.datum(row)
    }

    /// Compares the value of a row with one sought, NULLs last.
    #[inline]
    pub(crate) fn compare(&self, row: usize, sought: &Sought<'_>) -> Result<Ordering, BlockError> {
        let (piece, row) = self.at(row)?;
        Ok(piece.compare(row, sought))
    }

    /// Sets to 0 what `mask`, a byte of 0 or 1 for each row, has for rows that the test refuses.
    pub(crate) fn test(&self, test: &Test, mask: &mut [u8]) -> Result<(), BlockError> {
        for (at, mask) in (0..self.count).zip(mask.chunks_mut(self.piece_rows)) {
            match self.piece(at) {
                Some(piece) => piece.test(test, mask),
                // A piece of which no row is left is never read.
                None if mask.contains(&1) => return Err(BlockError::Missing),
                None => {}
            }
        }
        Ok(())
    }

    /// Appends all rows to a vector of the same type.
    pub(crate) fn read_all(&self, out: &mut ColumnVector) -> Result<(), BlockError> {
        self.all().try_for_each(|piece| piece?.read_all(out))
    }

    /// Appends some rows, in ascending or in descending order, to a vector of the same type.
    pub(crate) fn read_rows(&self, rows: &[u32], out: &mut ColumnVector) -> Result<(), BlockError> {
        if let (1, [Some(whole)]) = (self.count, self.columns.as_slice()) {
            return whole.read_rows(rows, out);
        }
        out.reserve(rows.len());
        let (mut left, mut within) = (rows, Vec::new());
        while let Some(first) = left.first() {
            let (piece, place) = self.at(*first as usize)?;
            let start = *first as usize - place;
            let in_piece = start..start + self.piece_rows;
            let count = left.partition_point(|row| in_piece.contains(&(*row as usize)));
            within.clear();
            within.extend(left[..count].iter().map(|row| row - start as u32));
            piece.read_rows(&within, out)?;
            left = &left[count..];
        }
        Ok(())
    }
}
