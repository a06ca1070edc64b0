//! Patches: values of single columns that were written without reading the row.
//!
//! ```text
//! patch     column u32, layout u16, length u32, then so many bytes; NULL has the length 0xffffffff and none
//! patches   n × patch, ascending by column, each column once
//! ```
//!
//! All numbers are little-endian. The bytes are those that the column takes in a value of the row layout named, in its
//! fixed part or in its variable part. Patches stand behind a row's own bytes, which they leave as they are, and win over
//! them ([`crate::forms::counter`] says how they are put there); a column that the table no longer has is passed over.

use crate::forms::row::RowDecodeError;
use rukh_catalog::ColumnId;

/// The length that says NULL.
const NULL: u32 = u32::MAX;

/// Bytes of a patch before those of its column.
const HEADER_LEN: usize = 4 + 2 + 4;

/// What a patch makes of its column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Patch<'a> {
    pub(crate) column: u32,
    /// Version of the row layout that says the column's type.
    pub(crate) layout: u16,
    /// `None` is NULL.
    pub(crate) bytes: Option<&'a [u8]>,
}

impl Patch<'_> {
    /// Appends the patch.
    pub(crate) fn append_to(&self, out: &mut Vec<u8>) {
        let len = self.bytes.map_or(NULL, |bytes| {
            u32::try_from(bytes.len()).expect("the row format refuses longer values")
        });
        out.extend_from_slice(&self.column.to_le_bytes());
        out.extend_from_slice(&self.layout.to_le_bytes());
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(self.bytes.unwrap_or_default());
    }
}

/// Stored patches.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Patches<'a>(pub(crate) &'a [u8]);

impl<'a> Patches<'a> {
    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the patch of a column, if it has one.
    pub(crate) fn of(&self, column: ColumnId) -> Result<Option<Patch<'a>>, RowDecodeError> {
        for patch in self.iter() {
            let patch = patch?;
            if patch.column >= column.0 {
                return Ok((patch.column == column.0).then_some(patch));
            }
        }
        Ok(None)
    }

    /// Reads the patches; nothing comes after an error.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<Patch<'a>, RowDecodeError>> + use<'a> {
        let mut rest = self.0;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let read = read(rest);
            rest = read.map_or(&[][..], |(_, rest)| rest);
            Some(read.map(|(patch, _)| patch).ok_or(RowDecodeError::InvalidPatches))
        })
    }
}

/// Reads the first patch; returns it with what comes behind it.
fn read(bytes: &[u8]) -> Option<(Patch<'_>, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_LEN)?;
    let (column, header) = header.split_first_chunk()?;
    let (layout, len) = header.split_first_chunk()?;
    let (bytes, rest) = match u32::from_le_bytes(*len.first_chunk()?) {
        NULL => (None, rest),
        len => {
            let (bytes, rest) = rest.split_at_checked(len as usize)?;
            (Some(bytes), rest)
        }
    };
    let patch = Patch {
        column: u32::from_le_bytes(*column),
        layout: u16::from_le_bytes(*layout),
        bytes,
    };
    Some((patch, rest))
}
