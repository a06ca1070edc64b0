//! Counters: numbers that are added to without being read.
//!
//! An add is a merge (`rukh_kv::MergeOperator`): storage keeps it beside the row's value and folds the
//! two when the value is read, or when it tidies up. As where a column lies in a value depends on
//! layouts that storage does not know, folding does not change the row's own bytes: the sums of what
//! was added come behind them, and whoever opens the value adds them. Writing the row anew, for
//! whatever reason, leaves no sums.
//!
//! ```text
//! value with sums    the value, with bit 0x80 set in its first byte, then the sums
//! sums               n × (column u32, sum i128), ascending by column; then n, one byte, at least 1
//! operand            kind 1 byte, sums, then for kind 2 the value
//! kind 1             add to the row, which is there
//! kind 2             add to the row or, if there is none, make it the value
//! ```
//!
//! All numbers are little-endian. Sums are kept in 128 bits, so that the order of adds does not matter;
//! a counter whose sum leaves 64 bits reads as the nearest number that they hold.

use crate::row::{FORMAT_PLAIN, RowDecodeError};
use rukh_catalog::ColumnId;
use rukh_keys::DatumRef;
use rukh_kv::MergeOperator;
use smallvec::SmallVec;

/// Set in the first byte of a value that sums come behind.
pub(crate) const SUMMED: u8 = 0x80;

/// Bytes of one sum.
const SUM_LEN: usize = 4 + 16;

/// The kinds of operands.
const ADD: u8 = 1;
const ADD_OR_PUT: u8 = 2;

/// What sums come behind if the row that was added to is not there. That is either dead, its table having
/// a lifetime by now: then storage forgot it first, and this is as dead as it. Or it is corrupt, which
/// whoever reads it finds out.
const NO_ROW: &[u8] = &[FORMAT_PLAIN];

/// Sums by column, ascending.
type Amounts = SmallVec<[(u32, i128); 2]>;

/// Folds adds into rows; what a store has to be opened with for counters.
///
/// Without it every add reads its row and writes it anew.
#[derive(Clone, Copy, Debug, Default)]
pub struct CounterMerge;

impl MergeOperator for CounterMerge {
    fn name(&self) -> &str {
        "rukh.counters"
    }

    fn fold(&self, _: &[u8], value: Option<&[u8]>, operands: &[&[u8]]) -> Option<Vec<u8>> {
        let mut operands = operands.iter();
        let mut amounts = Amounts::new();
        let base = match value {
            Some(value) => value,
            None => {
                let first = Operand::read(operands.next()?)?;
                first.row.unwrap_or_else(|| {
                    amounts = first.amounts;
                    NO_ROW
                })
            }
        };
        for operand in operands {
            amounts = sum(&amounts, &Operand::read(operand)?.amounts);
        }
        with_sums(base, &amounts)
    }

    fn combine(&self, _: &[u8], older: &[u8], newer: &[u8]) -> Option<Vec<u8>> {
        let (older, newer) = (Operand::read(older)?, Operand::read(newer)?);
        let amounts = sum(&older.amounts, &newer.amounts);
        let row = match older.row {
            // Where there is no row, the first makes it and the second adds to it.
            Some(row) => Some(with_sums(row, &newer.amounts)?),
            // The row was there for the first, so it is there for the second.
            None => None,
        };
        Some(operand(&amounts, row.as_deref()))
    }
}

/// An add, taken apart.
struct Operand<'a> {
    amounts: Amounts,
    /// What the row is where there is none.
    row: Option<&'a [u8]>,
}

impl<'a> Operand<'a> {
    fn read(bytes: &'a [u8]) -> Option<Operand<'a>> {
        let (kind, rest) = bytes.split_first()?;
        let (count, rest) = rest.split_first()?;
        let (sums, rest) = rest.split_at_checked(usize::from(*count) * SUM_LEN)?;
        let row = match *kind {
            ADD if rest.is_empty() => None,
            ADD_OR_PUT => Some(rest),
            _ => return None,
        };
        Some(Operand {
            amounts: Sums(sums).iter().collect(),
            row,
        })
    }
}

/// Returns the operand that adds to columns of one family and, given a value, makes the row if there is none.
pub(crate) fn operand(amounts: &[(u32, i128)], row: Option<&[u8]>) -> Vec<u8> {
    let row_len = row.map_or(0, <[u8]>::len);
    let mut bytes = Vec::with_capacity(2 + amounts.len() * SUM_LEN + row_len);
    bytes.push(if row.is_some() { ADD_OR_PUT } else { ADD });
    bytes.push(count(amounts));
    put_sums(amounts, &mut bytes);
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

/// Returns a value with more added to it; `None` if it is no value.
fn with_sums(value: &[u8], amounts: &[(u32, i128)]) -> Option<Vec<u8>> {
    let (row, sums) = split(value).ok()?;
    let known: Amounts = sums.iter().collect();
    let amounts = sum(&known, amounts);
    if amounts.is_empty() {
        return Some(value.to_vec());
    }
    let mut bytes = Vec::with_capacity(row.len() + amounts.len() * SUM_LEN + 1);
    bytes.extend_from_slice(row);
    *bytes.first_mut()? |= SUMMED;
    put_sums(&amounts, &mut bytes);
    bytes.push(count(&amounts));
    Some(bytes)
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

/// Takes a stored value apart: the row's own bytes, and what was added.
#[inline]
pub(crate) fn split(value: &[u8]) -> Result<(&[u8], Sums<'_>), RowDecodeError> {
    match value.first() {
        Some(format) if format & SUMMED != 0 => split_sums(value),
        _ => Ok((value, Sums::default())),
    }
}

fn split_sums(value: &[u8]) -> Result<(&[u8], Sums<'_>), RowDecodeError> {
    let parts = value.split_last().and_then(|(count, rest)| {
        let row_len = rest.len().checked_sub(usize::from(*count) * SUM_LEN)?;
        (*count > 0).then(|| rest.split_at(row_len))
    });
    let (row, sums) = parts.ok_or(RowDecodeError::InvalidSums)?;
    Ok((row, Sums(sums)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_operand() -> impl Strategy<Value = Vec<u8>> {
        let amounts = prop::collection::btree_map(0_u32..3, any::<i64>(), 0..3);
        let row = prop::option::of(Just(vec![1, 0, 0, 9]));
        (amounts, row).prop_map(|(amounts, row)| {
            let amounts: Vec<_> = amounts
                .into_iter()
                .map(|(column, amount)| (column, i128::from(amount)))
                .collect();
            operand(&amounts, row.as_deref())
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
            operand in prop::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..50),
        ) {
            let _ = CounterMerge.fold(b"k", value.as_deref(), &[&operand]);
            let _ = CounterMerge.combine(b"k", &operand, &operand);
        }
    }

    #[test]
    fn a_counter_beyond_64_bits_reads_as_the_nearest_number() {
        let value = [1, 0, 0];
        let add = operand(&[(3, i128::from(i64::MAX))], None);
        let folded = CounterMerge.fold(b"k", Some(&value), &[&add, &add]).unwrap();
        let (row, sums) = split(&folded).unwrap();
        assert_eq!(row[0], 1 | SUMMED);
        assert_eq!(sums.on(ColumnId(3), DatumRef::Int(5)), DatumRef::Int(i64::MAX));
        assert_eq!(sums.on(ColumnId(4), DatumRef::Int(5)), DatumRef::Int(5));
        assert_eq!(sums.on(ColumnId(3), DatumRef::Null), DatumRef::Null);
        let less = operand(&[(3, -2 * i128::from(i64::MAX))], None);
        let folded = CounterMerge.fold(b"k", Some(&folded), &[&less]).unwrap();
        let (_, sums) = split(&folded).unwrap();
        assert_eq!(sums.on(ColumnId(3), DatumRef::Int(5)), DatumRef::Int(5));
    }
}
