//! From a key that does not match to the next one that could: how a range scan skips.
//!
//! A key is seen as a number written in digits of different kinds: tested fields, which take only
//! some values, and the gaps between them, which take any (bits that are the same in all keys of
//! the layout, such as the unused ones of booleans, do not count). The next candidate raises the last
//! digit that can be raised without passing the first field that fails, and sets everything behind
//! it to its smallest values. The previous candidate is the mirror image.
//!
//! ```text
//! (a INTEGER, b INTEGER), b in 5..=6
//!
//! key      next candidate   because
//! /1/3     /1/5             b can be raised to 5
//! /1/9     /2/5             b cannot, so a is raised and b set to its smallest
//! /1/5     /1/5 and 00      the key matches: the next key at all
//! ```
//!
//! Each section of a key is a number of its own. Where a later one cannot be raised, the next candidate is behind all keys
//! that begin alike up to its start:
//!
//! ```text
//! (a VARCHAR, b INTEGER), b in 5..=6
//!
//! /'x'/3   /'x'/5           b can be raised to 5
//! /'x'/9   behind /'x'      b cannot: the next value of a, whatever it is
//! ```

use crate::field_test::{Allowed, FieldTest};
use crate::mask::{Candidate, MaskedCompare};
use crate::successor::make_prefix_successor;
use std::ops::Range;

impl MaskedCompare {
    /// Writes to `out` a key greater than `key` such that no key between them matches, to seek to
    /// in a forward scan.
    ///
    /// For a key that fails a test it is the smallest byte string that passes the tests of the section that fails; for one
    /// that matches, the smallest that is greater. [`Candidate::End`] means that no greater key
    /// matches.
    pub fn next_candidate(&self, key: &[u8], out: &mut Vec<u8>) -> Candidate {
        out.clear();
        if self.never {
            return Candidate::End;
        }
        if let Some(failed) = self.first_failed(key) {
            return self.raised(key, failed, out);
        }
        let Some((start, behind)) = self.failed_behind(key) else {
            out.extend_from_slice(key);
            out.push(0);
            return Candidate::Seek;
        };
        if behind.next_candidate(&key[start..], out) == Candidate::Seek {
            put_before(&key[..start], out);
            return Candidate::Seek;
        }
        // All keys that begin like this one up to the section are passed.
        out.clear();
        out.extend_from_slice(&key[..start]);
        if !make_prefix_successor(out, 0) {
            return Candidate::End;
        }
        match self.first_failed(out) {
            None => Candidate::Seek,
            Some(failed) => {
                let passed = std::mem::take(out);
                self.raised(&passed, failed, out)
            }
        }
    }

    /// Writes to `out` a bound not greater than `key` such that no key from it up to and including
    /// `key` matches unless it is `key` itself: a reverse scan goes on with the greatest key
    /// smaller than `out`.
    ///
    /// [`Candidate::End`] means that no smaller key matches.
    pub fn previous_candidate(&self, key: &[u8], out: &mut Vec<u8>) -> Candidate {
        out.clear();
        if self.never {
            return Candidate::End;
        }
        if let Some(failed) = self.first_failed(key) {
            out.extend_from_slice(&key[..self.end]);
            return match self.lower(key, failed, out) {
                true => Candidate::Seek,
                false => Candidate::End,
            };
        }
        let Some((start, behind)) = self.failed_behind(key) else {
            out.extend_from_slice(key);
            return Candidate::Seek;
        };
        match behind.previous_candidate(&key[start..], out) {
            Candidate::Seek => put_before(&key[..start], out),
            Candidate::End => {
                out.clear();
                out.extend_from_slice(&key[..start]);
            }
        }
        Candidate::Seek
    }

    fn raised(&self, key: &[u8], failed: usize, out: &mut Vec<u8>) -> Candidate {
        out.extend_from_slice(&key[..self.end]);
        match self.raise(key, failed, out) {
            true => {
                self.fill_behind(out);
                Candidate::Seek
            }
            false => Candidate::End,
        }
    }

    /// Appends the smallest bytes that pass the tests of later sections to a key that ends where they begin.
    fn fill_behind(&self, out: &mut Vec<u8>) {
        let Some(behind) = self.behind.as_deref() else {
            return;
        };
        if behind.start(out) == Some(out.len()) {
            let mut smallest = vec![0; behind.compare.end];
            behind.compare.fill_smallest(0, 0, &mut smallest);
            behind.compare.fill_behind(&mut smallest);
            out.extend_from_slice(&smallest);
        }
    }

    /// The tests of later sections with where they begin, if a key fails them.
    fn failed_behind(&self, key: &[u8]) -> Option<(usize, &MaskedCompare)> {
        let behind = self.behind.as_deref()?;
        let start = behind.start(key)?;
        (!behind.compare.matches(&key[start..])).then_some((start, &behind.compare))
    }

    /// The first field that fails; `None` if all pass or nothing can be said about the key.
    fn first_failed(&self, key: &[u8]) -> Option<usize> {
        if key.len() < self.end || !self.disjoint {
            return None;
        }
        self.tests.iter().position(|test| !test.holds(key))
    }

    /// Raises the field `failed`, or else the last gap or field before it that can be.
    fn raise(&self, key: &[u8], failed: usize, out: &mut Vec<u8>) -> bool {
        let mut field = failed;
        loop {
            let test = &self.tests[field];
            if test.raise(key, out) {
                self.fill_smallest(test.end_bit(), field + 1, out);
                return true;
            }
            let gap = self.gap_before(field);
            if increment_bits(out, gap.clone(), &test.live_bits) {
                self.fill_smallest(gap.end, field, out);
                return true;
            }
            match field.checked_sub(1) {
                Some(before) => field = before,
                None => return false,
            }
        }
    }

    /// Lowers the field `failed`, or else the last gap or field before it that can be.
    fn lower(&self, key: &[u8], failed: usize, out: &mut Vec<u8>) -> bool {
        let mut field = failed;
        loop {
            let test = &self.tests[field];
            if test.lower(key, out) {
                self.fill_greatest(test.end_bit(), field + 1, out);
                return true;
            }
            let gap = self.gap_before(field);
            if decrement_bits(out, gap.clone(), &test.live_bits) {
                self.fill_greatest(gap.end, field, out);
                return true;
            }
            match field.checked_sub(1) {
                Some(before) => field = before,
                None => return false,
            }
        }
    }

    /// The bits of each byte that can differ between keys; the others stay as a key has them.
    fn live_bits(&self) -> &[u8] {
        self.tests.last().map_or(&[], |test| &test.live_bits)
    }

    /// The bits between a field and the field before it.
    fn gap_before(&self, field: usize) -> Range<usize> {
        let start = field
            .checked_sub(1)
            .map_or(0, |before| self.tests[before].end_bit());
        start..self.tests[field].start_bit()
    }

    /// Gives everything from a bit on, where the fields from `field` on lie, its smallest value.
    fn fill_smallest(&self, from_bit: usize, field: usize, out: &mut Vec<u8>) {
        set_bits(out, from_bit..self.end * 8, self.live_bits(), false);
        for test in &self.tests[field..] {
            test.write_smallest(out);
        }
    }

    /// Gives everything from a bit on its greatest value, and turns that into the bound behind.
    fn fill_greatest(&self, from_bit: usize, field: usize, out: &mut Vec<u8>) {
        let last_is_rest = self.tests.last().is_some_and(|test| test.width().is_none());
        if last_is_rest && field == self.tests.len() {
            return; // the last field was lowered itself, and its bound is written
        }
        set_bits(out, from_bit..self.end * 8, self.live_bits(), true);
        for test in &self.tests[field..] {
            test.write_greatest(out);
        }
        if !last_is_rest {
            make_prefix_successor(out, 0);
        }
    }
}

/// Puts bytes before those of `out`.
fn put_before(bytes: &[u8], out: &mut Vec<u8>) {
    let moved = out.len();
    out.resize(bytes.len() + moved, 0);
    out.copy_within(..moved, bytes.len());
    out[..bytes.len()].copy_from_slice(bytes);
}

impl FieldTest {
    /// Writes the smallest allowed value that is greater than the key's; `false` if there is none.
    fn raise(&self, key: &[u8], out: &mut Vec<u8>) -> bool {
        let rest = &key[self.offset..];
        match &self.allowed {
            Allowed::Bit { bit, one, .. } => {
                let raised = *one && rest[0] & (0x80 >> bit) == 0;
                if raised {
                    out[self.offset] |= 0x80 >> bit;
                }
                raised
            }
            Allowed::Fixed { width, intervals } => {
                let field = self.offset..self.offset + width;
                raise_value(intervals, &rest[..*width], &mut out[field])
            }
            Allowed::Rest { ranges } => {
                let after = ranges.partition_point(|range| range.start.as_slice() <= rest);
                let Some(range) = ranges.get(after) else {
                    return false;
                };
                out.truncate(self.offset);
                out.extend_from_slice(&range.start);
                true
            }
        }
    }

    /// Writes the greatest allowed value that is smaller than the key's; of a field without end,
    /// the bound behind it. `false` if there is none.
    fn lower(&self, key: &[u8], out: &mut Vec<u8>) -> bool {
        let rest = &key[self.offset..];
        match &self.allowed {
            Allowed::Bit { bit, zero, .. } => {
                let lowered = *zero && rest[0] & (0x80 >> bit) != 0;
                if lowered {
                    out[self.offset] &= !(0x80 >> bit);
                }
                lowered
            }
            Allowed::Fixed { width, intervals } => {
                let field = self.offset..self.offset + width;
                lower_value(intervals, &rest[..*width], &mut out[field])
            }
            Allowed::Rest { ranges } => {
                let after = ranges.partition_point(|range| range.start.as_slice() <= rest);
                let Some(range) = after.checked_sub(1).map(|before| &ranges[before]) else {
                    return false;
                };
                out.truncate(self.offset);
                // The rest fails, so it lies behind the limit of the range before it.
                out.extend_from_slice(range.limit.as_deref().unwrap_or(rest));
                true
            }
        }
    }

    /// Writes the smallest allowed value.
    fn write_smallest(&self, out: &mut Vec<u8>) {
        match &self.allowed {
            Allowed::Bit { bit, zero, .. } => self.write_bit(*bit, !*zero, out),
            Allowed::Fixed { intervals, .. } => {
                if let Some((low, _)) = intervals.first() {
                    out[self.offset..self.offset + low.len()].copy_from_slice(low);
                }
            }
            Allowed::Rest { ranges } => {
                out.truncate(self.offset);
                out.extend(ranges.first().into_iter().flat_map(|range| &range.start));
            }
        }
    }

    /// Writes the greatest allowed value; of a field without end, the bound behind it.
    fn write_greatest(&self, out: &mut Vec<u8>) {
        match &self.allowed {
            Allowed::Bit { bit, one, .. } => self.write_bit(*bit, *one, out),
            Allowed::Fixed { intervals, .. } => {
                if let Some((_, high)) = intervals.last() {
                    out[self.offset..self.offset + high.len()].copy_from_slice(high);
                }
            }
            Allowed::Rest { ranges } => {
                out.truncate(self.offset);
                match ranges.last().and_then(|range| range.limit.as_deref()) {
                    Some(limit) => out.extend_from_slice(limit),
                    None => {
                        make_prefix_successor(out, 0);
                    }
                }
            }
        }
    }

    fn write_bit(&self, bit: u8, value: bool, out: &mut [u8]) {
        let at = self.offset * 8 + usize::from(bit);
        set_bits(out, at..at + 1, &[], value);
    }
}

/// Writes the smallest value of the intervals that is greater than `value`, if there is one.
fn raise_value(intervals: &[(Vec<u8>, Vec<u8>)], value: &[u8], out: &mut [u8]) -> bool {
    let first = intervals.partition_point(|(_, high)| high.as_slice() <= value);
    let Some((low, _)) = intervals.get(first) else {
        return false;
    };
    if low.as_slice() > value {
        out.copy_from_slice(low);
        return true;
    }
    out.copy_from_slice(value);
    increment_bits(out, 0..value.len() * 8, &[])
}

/// Writes the greatest value of the intervals that is smaller than `value`, if there is one.
fn lower_value(intervals: &[(Vec<u8>, Vec<u8>)], value: &[u8], out: &mut [u8]) -> bool {
    let behind = intervals.partition_point(|(low, _)| low.as_slice() < value);
    let Some((_, high)) = intervals[..behind].last() else {
        return false;
    };
    if high.as_slice() < value {
        out.copy_from_slice(high);
        return true;
    }
    out.copy_from_slice(value);
    decrement_bits(out, 0..value.len() * 8, &[])
}

/// Sets or clears the live bits of a range, bit 0 being the highest of the first byte.
fn set_bits(bytes: &mut [u8], bits: Range<usize>, live: &[u8], value: bool) {
    for (at, mask) in live_masks(bits, live) {
        if value {
            bytes[at] |= mask
        } else {
            bytes[at] &= !mask
        }
    }
}

/// Adds one to the number in the live bits of a range; `false`, and no change, if all are set.
fn increment_bits(bytes: &mut [u8], bits: Range<usize>, live: &[u8]) -> bool {
    let below_greatest = |byte: u8, mask: u8| byte & mask != mask;
    let Some((at, mask)) = last_byte(bytes, bits.clone(), live, below_greatest) else {
        return false;
    };
    // The lowest bit of the mask is the one to add at; the bits behind the byte turn to zero.
    bytes[at] += mask & mask.wrapping_neg();
    set_bits(bytes, bits.start.max(at * 8 + 8)..bits.end, live, false);
    true
}

/// Subtracts one from the number in the live bits of a range; `false`, and no change, if it is
/// zero.
fn decrement_bits(bytes: &mut [u8], bits: Range<usize>, live: &[u8]) -> bool {
    let above_smallest = |byte: u8, mask: u8| byte & mask != 0;
    let Some((at, mask)) = last_byte(bytes, bits.clone(), live, above_smallest) else {
        return false;
    };
    bytes[at] -= mask & mask.wrapping_neg();
    set_bits(bytes, bits.start.max(at * 8 + 8)..bits.end, live, true);
    true
}

/// The last byte of a range of bits for which `test` holds, with the mask of its live bits.
fn last_byte(
    bytes: &[u8],
    bits: Range<usize>,
    live: &[u8],
    test: impl Fn(u8, u8) -> bool,
) -> Option<(usize, u8)> {
    live_masks(bits, live)
        .rev()
        .find(|(at, mask)| test(bytes[*at], *mask))
}

/// The bytes that a range of bits touches, each with the mask of its live bits in the range. Bytes
/// that `live` does not reach are live as a whole.
fn live_masks(bits: Range<usize>, live: &[u8]) -> impl DoubleEndedIterator<Item = (usize, u8)> {
    let bytes = if bits.is_empty() {
        0..0
    } else {
        bits.start / 8..bits.end.div_ceil(8)
    };
    bytes.map(move |at| {
        let first = bits.start.saturating_sub(at * 8).min(8);
        let behind = (bits.end - at * 8).min(8);
        let mask = 0xff_u16 >> first & (0xff00_u16 >> behind) & 0xff;
        (at, mask as u8 & live.get(at).unwrap_or(&0xff))
    })
}
