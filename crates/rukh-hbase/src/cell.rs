//! Cells, rows of them, and the cell block of a frame: HBase's `KeyValueCodec`.
//!
//! | bytes | what                                             |
//! |-------|--------------------------------------------------|
//! | 4     | length of all that follows                       |
//! | 4, 4  | lengths of key and value                         |
//! | 2, …  | length of the row, the row                       |
//! | 1, …  | length of the family, the family                 |
//! | …     | the qualifier: what the key has left             |
//! | 8, 1  | timestamp, kind                                  |
//! | …     | the value                                        |

use bytes::{Buf, BufMut, Bytes, BytesMut};

use crate::proto::data;

/// The timestamp that lets the server choose.
pub const LATEST: u64 = i64::MAX as u64;

/// Bytes of a key that are not row, family or qualifier.
const KEY_OVERHEAD: usize = 2 + 1 + 8 + 1;

/// What a cell is. Reads return puts only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum CellKind {
    /// A value.
    Put = 4,
    /// Deletes the cell of exactly its timestamp.
    Delete = 8,
    /// Deletes the cells of a family of exactly its timestamp.
    DeleteFamilyVersion = 10,
    /// Deletes all cells of the column up to its timestamp.
    DeleteColumn = 12,
    /// Deletes all cells of the family up to its timestamp.
    DeleteFamily = 14,
}

impl CellKind {
    fn of(code: u8) -> Option<CellKind> {
        let kinds = [
            CellKind::Put,
            CellKind::Delete,
            CellKind::DeleteFamilyVersion,
            CellKind::DeleteColumn,
            CellKind::DeleteFamily,
        ];
        kinds.into_iter().find(|kind| *kind as u8 == code)
    }
}

/// One cell. Its parts share the memory of the answer that it came with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The row.
    pub row: Bytes,
    /// The column family.
    pub family: Bytes,
    /// The qualifier, which may be empty.
    pub qualifier: Bytes,
    /// The timestamp, by custom milliseconds since 1970.
    pub timestamp: u64,
    /// What it is.
    pub kind: CellKind,
    /// The value.
    pub value: Bytes,
}

impl From<data::Cell> for Cell {
    fn from(cell: data::Cell) -> Cell {
        Cell {
            row: cell.row.unwrap_or_default(),
            family: cell.family.unwrap_or_default(),
            qualifier: cell.qualifier.unwrap_or_default(),
            timestamp: cell.timestamp.unwrap_or_default(),
            // What is read is a put.
            kind: CellKind::Put,
            value: cell.value.unwrap_or_default(),
        }
    }
}

/// The cells of one row that a get or a scan returned, in HBase's order; none where the row has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// By family and qualifier, the newest first.
    pub cells: Vec<Cell>,
}

impl Row {
    /// Returns whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Returns the key of the row; empty where nothing was found.
    pub fn key(&self) -> Bytes {
        self.cells
            .first()
            .map_or_else(Bytes::new, |cell| cell.row.clone())
    }

    /// Returns the newest cell of a column.
    pub fn cell(&self, family: &[u8], qualifier: &[u8]) -> Option<&Cell> {
        let is_named = |cell: &&Cell| cell.family == family && cell.qualifier == qualifier;
        self.cells.iter().find(is_named)
    }

    /// Returns the newest value of a column.
    pub fn value(&self, family: &[u8], qualifier: &[u8]) -> Option<&Bytes> {
        self.cell(family, qualifier).map(|cell| &cell.value)
    }
}

/// Appends a cell to a cell block. Lengths were checked when the mutation was made.
pub(crate) fn encode(cell: &Cell, out: &mut BytesMut) {
    let key = KEY_OVERHEAD + cell.row.len() + cell.family.len() + cell.qualifier.len();
    out.put_u32((8 + key + cell.value.len()) as u32);
    out.put_u32(key as u32);
    out.put_u32(cell.value.len() as u32);
    out.put_u16(cell.row.len() as u16);
    out.put_slice(&cell.row);
    out.put_u8(cell.family.len() as u8);
    out.put_slice(&cell.family);
    out.put_slice(&cell.qualifier);
    out.put_u64(cell.timestamp);
    out.put_u8(cell.kind as u8);
    out.put_slice(&cell.value);
}

/// Takes the first cell off a cell block; says what is wrong where there is none.
pub(crate) fn decode(block: &mut Bytes) -> Result<Cell, &'static str> {
    let mut cell = take(block, 4)
        .and_then(|mut length| take(block, length.get_u32() as usize))
        .ok_or("a cell block ends within a cell")?;
    parse(&mut cell).ok_or("a cell's lengths contradict each other")
}

fn parse(cell: &mut Bytes) -> Option<Cell> {
    let mut lengths = take(cell, 8)?;
    let (key, value) = (lengths.get_u32() as usize, lengths.get_u32() as usize);
    let mut key = take(cell, key)?;
    let value = take(cell, value)?;
    let row = take(&mut key, 2).and_then(|mut length| take(&mut key, length.get_u16() as usize))?;
    let family = take(&mut key, 1).and_then(|mut length| take(&mut key, length.get_u8() as usize))?;
    let qualifier = key
        .len()
        .checked_sub(9)
        .and_then(|length| take(&mut key, length))?;
    let timestamp = key.get_u64();
    let kind = CellKind::of(key.get_u8())?;
    Some(Cell {
        row,
        family,
        qualifier,
        timestamp,
        kind,
        value,
    })
}

/// Takes `length` bytes off the front, if there are as many.
pub(crate) fn take(bytes: &mut Bytes, length: usize) -> Option<Bytes> {
    (length <= bytes.len()).then(|| bytes.split_to(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Bytes {
        let mut block = BytesMut::new();
        let cell = Cell {
            row: Bytes::from_static(b"row"),
            family: Bytes::from_static(b"d"),
            qualifier: Bytes::new(),
            timestamp: 7,
            kind: CellKind::Put,
            value: Bytes::from_static(b"value"),
        };
        encode(&cell, &mut block);
        block.freeze()
    }

    #[test]
    fn a_cell_survives_the_block() {
        let mut block = example();
        let cell = decode(&mut block).unwrap();
        assert_eq!(
            (&cell.row[..], &cell.value[..], cell.timestamp),
            (&b"row"[..], &b"value"[..], 7)
        );
        assert!(block.is_empty());
    }

    #[test]
    fn damaged_blocks_are_errors() {
        let block = example();
        for end in 0..block.len() {
            assert!(decode(&mut block.slice(..end)).is_err(), "cut at {end}");
        }
        for place in 0..block.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut damaged = block.to_vec();
                damaged[place] = byte;
                // Whatever comes out, nothing panics and nothing is read past the block.
                if let Ok(cell) = decode(&mut Bytes::from(damaged)) {
                    assert!(cell.row.len() + cell.value.len() <= block.len());
                }
            }
        }
    }
}
