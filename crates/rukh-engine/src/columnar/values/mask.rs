//! Masks: a byte for each row of a block, 1 if it is left and else 0.
//!
//! Bytes, not bits, so that compares of values of any width write them many at once. Eight of them are looked at as one word.
//!
//! Deliberately not here: the tests that set them (`column`, `packed`).

use std::ops::Range;

/// Words that are added up, byte by byte, before a byte of the sum could overflow.
const WORDS_MAX: usize = 255;

/// Returns how many rows are left.
pub(crate) fn ones(mask: &[u8]) -> usize {
    let (words, rest) = mask.as_chunks::<8>();
    let mut count = rest.iter().filter(|left| **left != 0).count();
    for some in words.chunks(WORDS_MAX) {
        let sum = some
            .iter()
            .fold(0_u64, |sum, word| sum.wrapping_add(u64::from_le_bytes(*word)));
        count += sum.to_le_bytes().into_iter().map(usize::from).sum::<usize>();
    }
    count
}

/// Returns which of some rows are left, in ascending order.
pub(crate) fn selected(mask: &[u8], rows: Range<usize>) -> Vec<u32> {
    let mut selected = Vec::with_capacity(ones(&mask[rows.clone()]));
    each(&mask[rows.clone()], |row| {
        selected.push((rows.start + row) as u32)
    });
    selected
}

/// Leaves those rows that are left already and are to be kept.
#[inline]
pub(crate) fn retain(mask: &mut [u8], mut keep: impl FnMut(usize) -> bool) {
    let (words, rest) = mask.as_chunks_mut::<8>();
    let behind = 8 * words.len();
    for (nth, word) in words.iter_mut().enumerate() {
        let mut left = u64::from_le_bytes(*word);
        while left != 0 {
            let at = left.trailing_zeros() as usize / 8;
            word[at] = u8::from(keep(8 * nth + at));
            left &= left - 1;
        }
    }
    for (nth, left) in rest.iter_mut().enumerate() {
        *left = u8::from(*left != 0 && keep(behind + nth));
    }
}

/// Calls `visit` for every row that is left, in ascending order.
#[inline]
pub(crate) fn each(mask: &[u8], mut visit: impl FnMut(usize)) {
    let (words, rest) = mask.as_chunks::<8>();
    for (nth, word) in words.iter().enumerate() {
        let mut left = u64::from_le_bytes(*word);
        while left != 0 {
            visit(8 * nth + left.trailing_zeros() as usize / 8);
            left &= left - 1;
        }
    }
    for (nth, left) in rest.iter().enumerate() {
        if *left != 0 {
            visit(8 * words.len() + nth);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_left_is_counted_and_found(mask in prop::collection::vec(0_u8..2, 0..5000), ends in any::<[prop::sample::Index; 2]>()) {
            let [mut start, mut end] = ends.map(|end| end.index(mask.len() + 1));
            if start > end {
                std::mem::swap(&mut start, &mut end);
            }
            let expected: Vec<u32> = (start..end).filter(|row| mask[*row] == 1).map(|row| row as u32).collect();
            prop_assert_eq!(ones(&mask[start..end]), expected.len());
            prop_assert_eq!(selected(&mask, start..end), expected);
            let mut kept = mask.clone();
            retain(&mut kept, |row| row % 3 == 1);
            let third = (0..mask.len()).map(|row| mask[row] & u8::from(row % 3 == 1));
            prop_assert!(third.eq(kept));
        }
    }

    #[test]
    fn a_mask_of_ones_is_counted() {
        assert_eq!(ones(&vec![1; 70_001]), 70_001);
    }
}
