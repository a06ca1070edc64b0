//! What is written to rows without reading them: adds to counters, and patches of other columns.
//!
//! Both are merges (`rukh_kv::MergeOperator`): storage keeps an operand beside the row's value and folds the
//! two when the value is read, or when it tidies up. As where a column lies in a value depends on
//! layouts that storage does not know, folding does not change the row's own bytes: patches and the sums of what
//! was added come behind them, and every reader of the value applies them. Rewriting the row, for
//! whatever reason, leaves neither.
//!
//! ```text
//! changed value      the value, with bits set in its first byte, then what they say:
//! bit 0x40           patches (`patch`), then their length in bytes, u32
//! bit 0x80           sums, then their number n, one byte, at least 1
//! sums               n × (column u32, sum i128), ascending by column
//! operand            kind 1 byte, n 1 byte, sums; for kinds 3 and 4 the length of patches u32, and patches; then
//!                    for kinds 2 and 4 the value
//! kinds 1, 3         change the row, which is there
//! kinds 2, 4         change the row or, if there is none, make it the value
//! ```
//!
//! All numbers are little-endian. Patches are applied before sums: where both are of one column, the sum was added later.
//! Sums are kept in 128 bits, so that the order of adds does not matter;
//! a counter whose sum leaves 64 bits reads as the nearest number that they hold.

use crate::forms::patch::{Patch, Patches};
use crate::forms::row::{FORMAT_PLAIN, RowDecodeError};
use rukh_catalog::ColumnId;
use rukh_keys::DatumRef;
use rukh_kv::MergeOperator;
use smallvec::SmallVec;

/// Set in the first byte of a value that sums come behind.
const SUMMED: u8 = 0x80;

/// Set in the first byte of a value that patches come behind.
const PATCHED: u8 = 0x40;

/// The bits of the first byte that say what comes behind the row's own bytes.
pub(crate) const CHANGED: u8 = SUMMED | PATCHED;

/// Bytes of one sum.
const SUM_LEN: usize = 4 + 16;

/// Bytes of the length of patches.
const PATCHES_LEN: usize = 4;

/// The kinds of operands.
const ADD: u8 = 1;
const ADD_OR_PUT: u8 = 2;
const CHANGE: u8 = 3;
const CHANGE_OR_PUT: u8 = 4;

/// What sums come behind if the row that was added to is not there. That is either dead, its table having
/// a lifetime by now: then storage forgot it first, and this is as dead as it. Or it is corrupt, which
/// the next read finds out.
const NO_ROW: &[u8] = &[FORMAT_PLAIN];

/// Sums by column, ascending.
type Amounts = SmallVec<[(u32, i128); 2]>;

/// Folds adds and patches into rows; what a store has to be opened with for both.
///
/// Without it every one of them reads its row and rewrites it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterMerge;

impl MergeOperator for CounterMerge {
    fn name(&self) -> &str {
        "rukh.counters"
    }

    fn fold(&self, _: &[u8], value: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut operands = operands.iter();
        let mut changes = Changes::default();
        let base = match value {
            Some(value) => value,
            None => {
                let first = Operand::read(operands.next()?)?;
                first.row.unwrap_or_else(|| {
                    changes = first.changes;
                    NO_ROW
                })
            }
        };
        for operand in operands {
            changes.then(&Operand::read(operand)?.changes);
        }
        with_changes(base, &changes)
    }

    fn combine(&self, _: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let (older, newer) = (Operand::read(older)?, Operand::read(newer)?);
        let row = match older.row {
            // Where there is no row, the first makes it and the second changes it.
            Some(row) => Some(with_changes(row, &newer.changes)?),
            // The row was there for the first, so it is there for the second.
            None => None,
        };
        let mut changes = older.changes;
        changes.then(&newer.changes);
        Some(changes.operand(row.as_deref()))
    }
}

/// What is done to a row without reading it.
#[derive(Clone, Debug, Default)]
struct Changes<'a> {
    /// By column, ascending; applied first.
    patches: SmallVec<[Patch<'a>; 4]>,
    amounts: Amounts,
}

impl<'a> Changes<'a> {
    fn read(patches: Patches<'a>, sums: Sums<'_>) -> Option<Changes<'a>> {
        let patches = patches.iter().collect::<Result<SmallVec<_>, _>>().ok()?;
        Some(Changes {
            patches,
            amounts: sums.iter().collect(),
        })
    }

    /// Makes this what it does, and then what others do.
    fn then(&mut self, newer: &Changes<'a>) {
        for patch in &newer.patches {
            self.amounts.retain(|(column, _)| *column != patch.column);
            match self
                .patches
                .binary_search_by_key(&patch.column, |known| known.column)
            {
                Ok(at) => self.patches[at] = *patch,
                Err(at) => self.patches.insert(at, *patch),
            }
        }
        self.amounts = sum(&self.amounts, &newer.amounts);
    }

    /// Returns the patches as they are stored.
    fn patch_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.patches.iter().for_each(|patch| patch.append_to(&mut bytes));
        bytes
    }

    fn operand(&self, row: Option<&[u8]>) -> Vec<u8> {
        operand(&self.amounts, &self.patch_bytes(), row)
    }
}

/// An operand, taken apart.
struct Operand<'a> {
    changes: Changes<'a>,
    /// What the row is where there is none.
    row: Option<&'a [u8]>,
}

impl<'a> Operand<'a> {
    fn read(bytes: &'a [u8]) -> Option<Operand<'a>> {
        let (kind, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first()?;
        let (sums, rest) = rest.split_at_checked(usize::from(*count) * SUM_LEN)?;
        let (patches, rest) = match *kind {
            CHANGE | CHANGE_OR_PUT => {
                let (len, rest) = rest.split_first_chunk()?;
                rest.split_at_checked(u32::from_le_bytes(*len) as usize)?
            }
            _ => (&[][..], rest),
        };
        let row = match *kind {
            ADD | CHANGE if rest.is_empty() => None,
            ADD_OR_PUT | CHANGE_OR_PUT => Some(rest),
            _ => return None,
        };
        Some(Operand {
            changes: Changes::read(Patches(patches), Sums(sums))?,
            row,
        })
    }
}

/// Returns the operand that patches columns of one family and adds to others, and, given a value, makes the row if there is
/// none.
pub(crate) fn operand(amounts: &[(u32, i128)], patches: &[u8], row: Option<&[u8]>) -> Vec<u8> {
    let row_len = row.map_or(0, <[u8]>::len);
    let mut bytes = Vec::with_capacity(2 + amounts.len() * SUM_LEN + PATCHES_LEN + patches.len() + row_len);
    bytes.push(match (patches.is_empty(), row.is_some()) {
        (true, false) => ADD,
        (true, true) => ADD_OR_PUT,
        (false, false) => CHANGE,
        (false, true) => CHANGE_OR_PUT,
    });
    bytes.push(count(amounts));
    put_sums(amounts, &mut bytes);
    if !patches.is_empty() {
        bytes.extend_from_slice(&length(patches));
        bytes.extend_from_slice(patches);
    }
    bytes.extend_from_slice(row.unwrap_or_default());
    bytes
}

/// Returns one list of sums, each column once.
pub(crate) fn sum(one: &[(u32, i128)], other: &[(u32, i128)]) -> Amounts {
    let mut amounts = Amounts::from_slice(one);
    for (column, amount) in other {
        match amounts.binary_search_by_key(column, |(column, _)| *column) {
            Ok(at) => amounts[at].1 = amounts[at].1.saturating_add(*amount),
            Err(at) => amounts.insert(at, (*column, *amount)),
        }
    }
    amounts
}

/// Returns a value with more done to it; `None` if it is no value.
fn with_changes<'a>(value: &'a [u8], newer: &Changes<'a>) -> Option<Vec<u8>> {
    let (row, patches, sums) = split(value).ok()?;
    let mut changes = Changes::read(patches, sums)?;
    changes.then(newer);
    let patches = changes.patch_bytes();
    let mut bytes =
        Vec::with_capacity(row.len() + patches.len() + PATCHES_LEN + changes.amounts.len() * SUM_LEN + 1);
    bytes.extend_from_slice(row);
    let format = bytes.first_mut()?;
    *format &= !CHANGED;
    if !patches.is_empty() {
        *format |= PATCHED;
    }
    if !changes.amounts.is_empty() {
        *format |= SUMMED;
    }
    if !patches.is_empty() {
        bytes.extend_from_slice(&patches);
        bytes.extend_from_slice(&length(&patches));
    }
    if !changes.amounts.is_empty() {
        put_sums(&changes.amounts, &mut bytes);
        bytes.push(count(&changes.amounts));
    }
    Some(bytes)
}

fn length(patches: &[u8]) -> [u8; PATCHES_LEN] {
    let len = u32::try_from(patches.len()).expect("a statement holds less than storage takes as one value");
    len.to_le_bytes()
}

fn count(amounts: &[(u32, i128)]) -> u8 {
    u8::try_from(amounts.len()).expect("the catalog lets a table have no more than 255 counters")
}

fn put_sums(amounts: &[(u32, i128)], bytes: &mut Vec<u8>) {
    for (column, amount) in amounts {
        bytes.extend_from_slice(&column.to_le_bytes());
        bytes.extend_from_slice(&amount.to_le_bytes());
    }
}

/// What was added to the counters of a row since it was written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sums<'a>(&'a [u8]);

impl Sums<'_> {
    /// Whether nothing was added.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the value of a column with what was added to it.
    pub(crate) fn on<'d>(&self, column: ColumnId, datum: DatumRef<'d>) -> DatumRef<'d> {
        let added = self.iter().find(|(other, _)| *other == column.0);
        match (datum, added) {
            (DatumRef::Int(value), Some((_, added))) => {
                let sum = i128::from(value).saturating_add(added);
                DatumRef::Int(sum.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
            }
            (datum, _) => datum,
        }
    }

    fn iter(&self) -> impl Iterator<Item = (u32, i128)> + '_ {
        self.0.chunks_exact(SUM_LEN).filter_map(|sum| {
            let (column, amount) = sum.split_first_chunk()?;
            Some((
                u32::from_le_bytes(*column),
                i128::from_le_bytes(*amount.first_chunk()?),
            ))
        })
    }
}

/// Takes a stored value apart: the row's own bytes, their first with bits of [`CHANGED`] if more comes, patches, and
/// what was added.
#[inline]
pub(crate) fn split(value: &[u8]) -> Result<(&[u8], Patches<'_>, Sums<'_>), RowDecodeError> {
    match value.first() {
        Some(format) if format & CHANGED != 0 => split_changes(*format, value),
        _ => Ok((value, Patches::default(), Sums::default())),
    }
}

fn split_changes(format: u8, value: &[u8]) -> Result<(&[u8], Patches<'_>, Sums<'_>), RowDecodeError> {
    let (row, sums) = match format & SUMMED {
        0 => (value, Sums::default()),
        _ => split_sums(value).ok_or(RowDecodeError::InvalidSums)?,
    };
    let (row, patches) = match format & PATCHED {
        0 => (row, Patches::default()),
        _ => split_patches(row).ok_or(RowDecodeError::InvalidPatches)?,
    };
    Ok((row, patches, sums))
}

fn split_sums(value: &[u8]) -> Option<(&[u8], Sums<'_>)> {
    let (count, rest) = value.split_last()?;
    let row_len = rest.len().checked_sub(usize::from(*count) * SUM_LEN)?;
    let (row, sums) = rest.split_at(row_len);
    (*count > 0).then_some((row, Sums(sums)))
}

fn split_patches(value: &[u8]) -> Option<(&[u8], Patches<'_>)> {
    let (rest, len) = value.split_last_chunk()?;
    let len = u32::from_le_bytes(*len) as usize;
    let (row, patches) = rest.split_at(rest.len().checked_sub(len)?);
    (len > 0).then_some((row, Patches(patches)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_operand() -> impl Strategy<Value = Vec<u8>> {
        let amounts = prop::collection::btree_map(0_u32..3, any::<i64>(), 0..3);
        let bytes = prop::option::of(prop::collection::vec(any::<u8>(), 0..3));
        let patches = prop::collection::btree_map(1_u32..5, bytes, 0..3);
        let row = prop::option::of(Just(vec![1, 0, 0, 9]));
        (amounts, patches, row).prop_map(|(amounts, patches, row)| {
            let amounts: Vec<_> = amounts
                .into_iter()
                .map(|(column, amount)| (column, i128::from(amount)))
                .collect();
            let mut all = Vec::new();
            for (column, bytes) in &patches {
                let bytes = bytes.as_deref();
                let (column, layout) = (*column, 0);
                Patch {
                    column,
                    layout,
                    bytes,
                }
                .append_to(&mut all);
            }
            operand(&amounts, &all, row.as_deref())
        })
    }

    proptest! {
        /// However operands are grouped, they fold into the same value.
        #[test]
        fn grouping_does_not_matter(
            operands in prop::collection::vec(any_operand(), 1..8),
            is_there in any::<bool>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let value = is_there.then(|| vec![1, 0, 0, 7]);
            let all: Vec<&[u8]> = operands.iter().map(Vec::as_slice).collect();
            let at_once = CounterMerge.fold(b"k", value.as_deref(), &all);
            let (first, second) = all.split_at(cut.index(all.len()) + 1);
            let first = first[1..].iter().fold(first[0].to_vec(), |older, newer| {
                CounterMerge.combine(b"k", &older, newer).unwrap()
            });
            let mut grouped: Vec<&[u8]> = vec![&first];
            grouped.extend(second);
            prop_assert_eq!(&CounterMerge.fold(b"k", value.as_deref(), &grouped), &at_once);
            let mut step = value;
            for operand in &all {
                step = CounterMerge.fold(b"k", step.as_deref(), &[operand]);
                if step.is_none() {
                    break;
                }
            }
            prop_assert_eq!(step, at_once);
        }

        /// Any bytes are an operand or none, a value or an error.
        #[test]
        fn any_bytes_fold_or_fail(
            value in prop::option::of(prop::collection::vec(any::<u8>(), 0..50)),
            operand in prop::collection::vec(prop_oneof![0_u8..5, any::<u8>()], 0..50),
        ) {
            let _ = CounterMerge.fold(b"k", value.as_deref(), &[&operand]);
            let _ = CounterMerge.combine(b"k", &operand, &operand);
        }
    }

    #[test]
    fn a_counter_beyond_64_bits_reads_as_the_nearest_number() {
        let value = [1, 0, 0];
        let add = operand(&[(3, i128::from(i64::MAX))], &[], None);
        let folded = CounterMerge.fold(b"k", Some(&value), &[&add, &add]).unwrap();
        let (row, _, sums) = split(&folded).unwrap();
        assert_eq!(row[0], 1 | SUMMED);
        assert_eq!(sums.on(ColumnId(3), DatumRef::Int(5)), DatumRef::Int(i64::MAX));
        assert_eq!(sums.on(ColumnId(4), DatumRef::Int(5)), DatumRef::Int(5));
        assert_eq!(sums.on(ColumnId(3), DatumRef::Null), DatumRef::Null);
        let less = operand(&[(3, -2 * i128::from(i64::MAX))], &[], None);
        let folded = CounterMerge.fold(b"k", Some(&folded), &[&less]).unwrap();
        let (_, _, sums) = split(&folded).unwrap();
        assert_eq!(sums.on(ColumnId(3), DatumRef::Int(5)), DatumRef::Int(5));
    }

    #[test]
    fn a_patch_wins_over_what_was_added_before_it() {
        let value = [1, 0, 0];
        let mut patch = Vec::new();
        let (column, layout, bytes) = (3, 0, Some(&[7_u8][..]));
        Patch {
            column,
            layout,
            bytes,
        }
        .append_to(&mut patch);
        let (add, set) = (operand(&[(3, 5), (4, 1)], &[], None), operand(&[], &patch, None));
        let folded = CounterMerge
            .fold(b"k", Some(&value), &[&add, &set, &add])
            .unwrap();
        let (row, patches, sums) = split(&folded).unwrap();
        assert_eq!(row, [1 | CHANGED, 0, 0]);
        assert_eq!(patches.of(ColumnId(3)).unwrap().unwrap().bytes, Some(&[7_u8][..]));
        assert_eq!(patches.of(ColumnId(4)).unwrap(), None);
        assert_eq!(sums.on(ColumnId(3), DatumRef::Int(7)), DatumRef::Int(12));
        assert_eq!(sums.on(ColumnId(4), DatumRef::Int(0)), DatumRef::Int(2));
    }
}
