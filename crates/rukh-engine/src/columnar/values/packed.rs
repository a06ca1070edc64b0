//! Integers of one block, packed: a base, and what each value is above it in as few bits as serve.
//!
//! ```text
//! constant   0x00, base i64                                        every value is the base
//! bits       0x01, base i64, width u8, ⌈n·width/8⌉ bytes            value - base, lowest bits first
//! runs       0x02, base i64, width u8, count u32, count × end u32,  a run is value - base and the
//!            ⌈count·width/8⌉ bytes                                  row behind its last one
//! ```
//!
//! Numbers are little-endian; widths are 1, 2, 4, 8, 16, 32 and 64, so that a compare of packed values
//! is a compare of machine words, many at once. The owner of packed values
//! stores their number.

use crate::columnar::BlockError;
use crate::columnar::values::mask;
use smallvec::SmallVec;

/// Ranges of values, both ends included.
pub(crate) type Ranges = [(i128, i128)];

const CONSTANT: u8 = 0;
const BITS: u8 = 1;
const RUNS: u8 = 2;

/// Ranges up to which each is compared with all values; more are looked up by value.
const COMPARED_RANGES_MAX: usize = 4;

/// Values of so many bits are looked at one by one where few rows are left: one in [`FEW_SHARE`].
const WIDE: u8 = 32;
const FEW_SHARE: usize = 16;

/// Packed integers, borrowed from the bytes that hold them.
///
/// Invariant: made by [`Packed::parse`], so `data` has all values, and the ends of runs ascend to `len`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packed<'a> {
    len: usize,
    base: i64,
    form: Form<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Constant,
    Bits {
        width: u8,
        data: &'a [u8],
    },
    Runs {
        width: u8,
        ends: &'a [[u8; 4]],
        data: &'a [u8],
    },
}

/// Appends packed integers.
pub(crate) fn pack(values: &[i64], out: &mut Vec<u8>) {
    let base = values.iter().copied().min().unwrap_or_default();
    let greatest = values.iter().copied().max().unwrap_or_default();
    if base == greatest {
        out.push(CONSTANT);
        out.extend_from_slice(&base.to_le_bytes());
        return;
    }
    let width = width_of(greatest.wrapping_sub(base) as u64);
    let runs = 1 + values.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let in_runs = 4 + 4 * runs + bytes_of(runs, width);
    let as_runs = in_runs * 2 < bytes_of(values.len(), width);
    out.push(if as_runs { RUNS } else { BITS });
    out.extend_from_slice(&base.to_le_bytes());
    out.push(width);
    if !as_runs {
        pack_bits(values.iter().copied(), base, width, out);
        return;
    }
    out.extend_from_slice(&(runs as u32).to_le_bytes());
    let lasts = || (0..values.len()).filter(|at| values.get(at + 1) != Some(&values[*at]));
    lasts().for_each(|at| out.extend_from_slice(&(at as u32 + 1).to_le_bytes()));
    pack_bits(lasts().map(|at| values[at]), base, width, out);
}

/// Returns the narrowest width that holds a value.
fn width_of(greatest: u64) -> u8 {
    let bits = 64 - greatest.leading_zeros() as u8;
    bits.max(1).next_power_of_two()
}

fn bytes_of(count: usize, width: u8) -> usize {
    (count * usize::from(width)).div_ceil(8)
}

fn pack_bits(values: impl Iterator<Item = i64>, base: i64, width: u8, out: &mut Vec<u8>) {
    let above = values.map(|value| value.wrapping_sub(base) as u64);
    match width {
        8 => out.extend(above.map(|above| above as u8)),
        16 => above.for_each(|above| out.extend_from_slice(&(above as u16).to_le_bytes())),
        32 => above.for_each(|above| out.extend_from_slice(&(above as u32).to_le_bytes())),
        64 => above.for_each(|above| out.extend_from_slice(&above.to_le_bytes())),
        width => {
            let start = out.len();
            for (at, above) in above.enumerate() {
                let bit = at * usize::from(width);
                if bit.is_multiple_of(8) {
                    out.push(0);
                }
                out[start + bit / 8] |= (above as u8) << (bit % 8);
            }
        }
    }
}

impl<'a> Packed<'a> {
    /// Reads `len` packed integers from the start of `bytes`; returns what is behind them, too.
    pub(crate) fn parse(bytes: &'a [u8], len: usize, trust: Trust) -> Result<(Self, &'a [u8]), BlockError> {
        let (kind, rest) = bytes.split_first().ok_or(BlockError::Truncated)?;
        let (base, rest) = rest.split_first_chunk().ok_or(BlockError::Truncated)?;
        let base = i64::from_le_bytes(*base);
        let (form, rest) = match *kind {
            CONSTANT => (Form::Constant, rest),
            BITS => {
                let (width, rest) = parse_width(rest)?;
                let (data, rest) = split(rest, bytes_of(len, width))?;
                (Form::Bits { width, data }, rest)
            }
            RUNS => {
                let (width, rest) = parse_width(rest)?;
                let (count, rest) = rest.split_first_chunk().ok_or(BlockError::Truncated)?;
                let count = u32::from_le_bytes(*count) as usize;
                let (ends, rest) = split(rest, count.saturating_mul(4))?;
                let (ends, _) = ends.as_chunks();
                if trust == Trust::None {
                    check_ends(ends, len)?;
                }
                let (data, rest) = split(rest, bytes_of(count, width))?;
                (Form::Runs { width, ends, data }, rest)
            }
            _ => return Err(BlockError::Invalid("an unknown packing")),
        };
        Ok((Packed { len, base, form }, rest))
    }

    /// Returns the value of a row.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> i64 {
        debug_assert!(row < self.len);
        let above = match self.form {
            Form::Constant => 0,
            Form::Bits { width, data } => bits_at(data, width, row),
            Form::Runs { width, ends, data } => {
                let run = ends.partition_point(|end| u32::from_le_bytes(*end) as usize <= row);
                bits_at(data, width, run)
            }
        };
        self.base.wrapping_add(above as i64)
    }

    /// Appends all values.
    pub(crate) fn unpack(&self, out: &mut Vec<i64>) {
        match self.form {
            Form::Constant => out.resize(out.len() + self.len, self.base),
            Form::Bits { width, data } => unpack_bits(data, width, self.base, self.len, out),
            Form::Runs { width, ends, data } => {
                let start = out.len();
                for (run, end) in ends.iter().enumerate() {
                    let value = self.base.wrapping_add(bits_at(data, width, run) as i64);
                    out.resize(start + u32::from_le_bytes(*end) as usize, value);
                }
            }
        }
    }

    /// Appends what `of` makes of the values of some rows, which ascend or descend.
    pub(crate) fn read<T>(&self, rows: impl Iterator<Item = usize>, out: &mut Vec<T>, of: impl Fn(i64) -> T) {
        let of = |above: u64| of(self.base.wrapping_add(above as i64));
        match self.form {
            Form::Constant => out.extend(rows.map(|_| of(0))),
            Form::Bits { width: 8, data } => out.extend(rows.map(|row| of(u64::from(data[row])))),
            Form::Bits { width: 16, data } => {
                let words = data.as_chunks().0;
                out.extend(rows.map(|row| of(u64::from(u16::from_le_bytes(words[row])))));
            }
            Form::Bits { width: 32, data } => {
                let words = data.as_chunks().0;
                out.extend(rows.map(|row| of(u64::from(u32::from_le_bytes(words[row])))));
            }
            Form::Bits { width: 64, data } => {
                let words = data.as_chunks().0;
                out.extend(rows.map(|row| of(u64::from_le_bytes(words[row]))));
            }
            Form::Bits { width: 1, data } => out.extend(rows.map(|row| of(small::<1>(data, row)))),
            Form::Bits { width: 2, data } => out.extend(rows.map(|row| of(small::<2>(data, row)))),
            Form::Bits { data, .. } => out.extend(rows.map(|row| of(small::<4>(data, row)))),
            Form::Runs { width, ends, data } => {
                let end_of = |run: usize| u32::from_le_bytes(ends[run]) as usize;
                let (mut within, mut above) = (0..0, 0);
                out.extend(rows.map(|row| {
                    if !within.contains(&row) {
                        let run = ends.partition_point(|end| u32::from_le_bytes(*end) as usize <= row);
                        within = run.checked_sub(1).map_or(0, end_of)..end_of(run);
                        above = bits_at(data, width, run);
                    }
                    of(above)
                }));
            }
        }
    }

    /// Sets to 0 what `mask`, a byte of 0 or 1 for each row, has for rows whose value lies in none of the ranges.
    pub(crate) fn test(&self, ranges: &Ranges, mask: &mut [u8]) {
        let inside = ranges.iter().filter_map(|range| self.above_base(*range));
        let inside: SmallVec<[(u64, u64); COMPARED_RANGES_MAX]> = inside.collect();
        if inside.is_empty() {
            return mask.fill(0);
        }
        match self.form {
            Form::Constant => {}
            Form::Bits { width, data } => match inside.as_slice() {
                [range] if width >= WIDE && mask::ones(mask) * FEW_SHARE <= mask.len() => {
                    let is_inside = |row: usize| (range.0..=range.1).contains(&bits_at(data, width, row));
                    mask::retain(mask, is_inside);
                }
                _ => test_bits(data, width, &inside, mask),
            },
            Form::Runs { width, ends, data } => {
                let mut runs = vec![1; ends.len()];
                test_bits(data, width, &inside, &mut runs);
                let mut start = 0;
                for (end, passes) in ends.iter().zip(runs) {
                    let end = u32::from_le_bytes(*end) as usize;
                    if passes == 0 {
                        mask[start..end].fill(0);
                    }
                    start = end;
                }
            }
        }
    }

    /// Whether all values lie below `count`, and the base, which is the least of them, not below 0.
    pub(crate) fn is_within(&self, count: usize) -> bool {
        let greatest = match self.form {
            Form::Constant => 0,
            Form::Bits { width, data } => greatest_bits(data, width, self.len),
            Form::Runs { width, ends, data } => greatest_bits(data, width, ends.len()),
        };
        let (base, greatest) = (i128::from(self.base), i128::from(greatest));
        base >= 0 && base + greatest < count as i128
    }

    /// Names the form, for `dump`.
    pub(crate) fn form_name(&self) -> &'static str {
        match self.form {
            Form::Constant => "constant",
            Form::Bits { .. } => "packed",
            Form::Runs { .. } => "runs",
        }
    }

    /// Returns a range as what its values are above the base; `None` if no packed value can be in it.
    fn above_base(&self, (low, high): (i128, i128)) -> Option<(u64, u64)> {
        let base = i128::from(self.base);
        let most = match self.form {
            Form::Constant => 0,
            Form::Bits { width, .. } | Form::Runs { width, .. } => u64::MAX >> (64 - width),
        };
        let low = u64::try_from(low.saturating_sub(base).max(0)).ok()?;
        let high = high.saturating_sub(base).min(i128::from(most));
        let high = u64::try_from(high).ok()?;
        (low <= high).then_some((low, high))
    }
}

fn parse_width(bytes: &[u8]) -> Result<(u8, &[u8]), BlockError> {
    match bytes.split_first() {
        Some((width @ (1 | 2 | 4 | 8 | 16 | 32 | 64), rest)) => Ok((*width, rest)),
        Some(_) => Err(BlockError::Invalid("an unknown width")),
        None => Err(BlockError::Truncated),
    }
}

/// Splits bytes after the first `count`.
pub(crate) fn split(bytes: &[u8], count: usize) -> Result<(&[u8], &[u8]), BlockError> {
    bytes.split_at_checked(count).ok_or(BlockError::Truncated)
}

fn check_ends(ends: &[[u8; 4]], len: usize) -> Result<(), BlockError> {
    let mut before = 0;
    for end in ends {
        let end = u32::from_le_bytes(*end) as usize;
        if end <= before {
            return Err(BlockError::Invalid("runs that do not ascend"));
        }
        before = end;
    }
    match before == len {
        true => Ok(()),
        false => Err(BlockError::Invalid("runs of another number of rows")),
    }
}

#[inline]
fn bits_at(data: &[u8], width: u8, at: usize) -> u64 {
    let chunk = |size: usize| &data[at * size..(at + 1) * size];
    match width {
        8 => u64::from(data[at]),
        16 => u64::from(u16::from_le_bytes(array(chunk(2)))),
        32 => u64::from(u32::from_le_bytes(array(chunk(4)))),
        64 => u64::from_le_bytes(array(chunk(8))),
        width => {
            let bit = at * usize::from(width);
            u64::from((data[bit / 8] >> (bit % 8)) & low_bits(width))
        }
    }
}

/// Returns a value of 1, 2 or 4 bits.
#[inline]
fn small<const WIDTH: usize>(data: &[u8], at: usize) -> u64 {
    let each = 8 / WIDTH;
    u64::from((data[at / each] >> (at % each * WIDTH)) & low_bits(WIDTH as u8))
}

#[inline]
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().unwrap_or([0; N])
}

/// The lowest `width` bits of a byte; `width` is less than 8.
fn low_bits(width: u8) -> u8 {
    (1 << width) - 1
}

/// Gives each value of 1, 2 or 4 bits a byte of its own.
fn spread(data: &[u8], width: u8, len: usize) -> Vec<u8> {
    let mut out = match width {
        1 => spread_each::<8>(data, width),
        2 => spread_each::<4>(data, width),
        _ => spread_each::<2>(data, width),
    };
    out.truncate(len);
    out
}

/// The same for all values of each byte, of which it has `EACH`.
fn spread_each<const EACH: usize>(data: &[u8], width: u8) -> Vec<u8> {
    let mask = low_bits(width);
    let mut out = vec![0; data.len() * EACH];
    for (byte, values) in data.iter().zip(out.as_chunks_mut::<EACH>().0) {
        *values = std::array::from_fn(|at| (byte >> (at as u8 * width)) & mask);
    }
    out
}

/// Returns the greatest of some values, 0 if there are none.
fn greatest_bits(data: &[u8], width: u8, len: usize) -> u64 {
    match width {
        8 => greatest(data.iter().copied()),
        16 => greatest(data.as_chunks().0.iter().map(|v| u16::from_le_bytes(*v))),
        32 => greatest(data.as_chunks().0.iter().map(|v| u32::from_le_bytes(*v))),
        64 => greatest(data.as_chunks().0.iter().map(|v| u64::from_le_bytes(*v))),
        width => greatest(spread(data, width, len).into_iter()),
    }
}

fn greatest<T: Ord + Default + Into<u64>>(values: impl Iterator<Item = T>) -> u64 {
    values.fold(T::default(), T::max).into()
}

fn unpack_bits(data: &[u8], width: u8, base: i64, len: usize, out: &mut Vec<i64>) {
    let value = |above: u64| base.wrapping_add(above as i64);
    match width {
        8 => out.extend(data.iter().map(|v| value(u64::from(*v)))),
        16 => out.extend(
            data.as_chunks()
                .0
                .iter()
                .map(|v| value(u64::from(u16::from_le_bytes(*v)))),
        ),
        32 => out.extend(
            data.as_chunks()
                .0
                .iter()
                .map(|v| value(u64::from(u32::from_le_bytes(*v)))),
        ),
        64 => out.extend(data.as_chunks().0.iter().map(|v| value(u64::from_le_bytes(*v)))),
        width => out.extend(spread(data, width, len).into_iter().map(|v| value(u64::from(v)))),
    }
}

/// Compares all values with a range, in words of their own width.
macro_rules! compare_words {
    ($ty:ty, $words:expr, $range:expr, $mask:expr) => {{
        // Both fit: ranges end at the greatest value of the width.
        let (low, span) = ($range.0 as $ty, ($range.1 - $range.0) as $ty);
        for (word, mask) in $words.iter().zip($mask.iter_mut()) {
            *mask &= u8::from(<$ty>::from_le_bytes(*word).wrapping_sub(low) <= span);
        }
    }};
}

/// Sets `mask` to 0 for values that are in none of these ranges of what they are above the base.
fn test_bits(data: &[u8], width: u8, ranges: &[(u64, u64)], mask: &mut [u8]) {
    if let [range] = ranges {
        return test_range(data, width, *range, mask);
    }
    let mut pass = vec![0; mask.len()];
    if ranges.len() > COMPARED_RANGES_MAX {
        look_up(data, width, ranges, &mut pass);
    } else {
        let mut of_one = Vec::with_capacity(mask.len());
        for range in ranges {
            of_one.clear();
            of_one.resize(mask.len(), 1);
            test_range(data, width, *range, &mut of_one);
            pass.iter_mut().zip(&of_one).for_each(|(pass, one)| *pass |= one);
        }
    }
    mask.iter_mut().zip(&pass).for_each(|(mask, pass)| *mask &= pass);
}

fn test_range(data: &[u8], width: u8, range: (u64, u64), mask: &mut [u8]) {
    match width {
        8 => compare_words!(u8, data.as_chunks().0, range, mask),
        16 => compare_words!(u16, data.as_chunks().0, range, mask),
        32 => compare_words!(u32, data.as_chunks().0, range, mask),
        64 => compare_words!(u64, data.as_chunks().0, range, mask),
        2 | 4 => test_small(data, width, range, mask),
        _ => test_each_bit(data, range, mask),
    }
}

/// The same for values of 2 or 4 bits: eight of them are spread over the bytes of a word, which are compared at once.
fn test_small(data: &[u8], width: u8, range: (u64, u64), mask: &mut [u8]) {
    let bytes = usize::from(width);
    // What a byte of a value that is great enough, or small enough, carries into its highest bit.
    let from = (0x80 - range.0).wrapping_mul(ONES);
    let until = (0x80 + range.1).wrapping_mul(ONES);
    let test = |packed: &[u8], mask: u64| {
        let values = match *packed {
            [a, b] => spread_pairs(u16::from_le_bytes([a, b])),
            [a, b, c, d] => spread_nibbles(u32::from_le_bytes([a, b, c, d])),
            _ => 0,
        };
        let inside = values.wrapping_add(from) & until.wrapping_sub(values);
        mask & (inside >> 7) & ONES
    };
    let (masks, rest) = mask.as_chunks_mut::<8>();
    let behind = data.get(masks.len() * bytes..).unwrap_or_default();
    for (packed, mask) in data.chunks_exact(bytes).zip(masks) {
        *mask = test(packed, u64::from_le_bytes(*mask)).to_le_bytes();
    }
    let mut packed = [0; 4];
    packed[..behind.len().min(4)].copy_from_slice(&behind[..behind.len().min(4)]);
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let last = test(&packed[..bytes], u64::from_le_bytes(last)).to_le_bytes();
    rest.copy_from_slice(&last[..rest.len()]);
}

/// Gives each four bits a byte of their own.
fn spread_nibbles(packed: u32) -> u64 {
    let mut word = u64::from(packed);
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f
}

/// Gives each two bits a byte of their own.
fn spread_pairs(packed: u16) -> u64 {
    let mut word = u64::from(packed);
    word = (word | word << 24) & 0x0000_00ff_0000_00ff;
    word = (word | word << 12) & 0x000f_000f_000f_000f;
    (word | word << 6) & 0x0303_0303_0303_0303
}

/// The same for single bits.
fn test_each_bit(data: &[u8], range: (u64, u64), mask: &mut [u8]) {
    // What is taken, all bits or those of one value.
    let taken = match range {
        (0, 0) => ONES,
        (1, _) => 0,
        _ => return,
    };
    let (masks, rest) = mask.as_chunks_mut::<8>();
    let behind = data.get(masks.len()).copied().unwrap_or_default();
    let pass = |byte: u8| (BYTES_OF_BITS[usize::from(byte)] ^ taken).to_le_bytes();
    for (byte, masks) in data.iter().zip(masks) {
        let left = u64::from_le_bytes(*masks) & u64::from_le_bytes(pass(*byte));
        *masks = left.to_le_bytes();
    }
    for (mask, pass) in rest.iter_mut().zip(pass(behind)) {
        *mask &= pass;
    }
}

/// A word of bytes of 1.
const ONES: u64 = 0x0101_0101_0101_0101;

/// By byte, a word with a byte of 0 or 1 for each of its bits, the least significant first.
static BYTES_OF_BITS: [u64; 256] = {
    let mut words = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            words[byte] |= ((byte as u64 >> bit) & 1) << (8 * bit);
            bit += 1;
        }
        byte += 1;
    }
    words
};

/// Tests values against many ranges: by a table where values are small, else by search.
fn look_up(data: &[u8], width: u8, ranges: &[(u64, u64)], pass: &mut [u8]) {
    if width <= 16 {
        let mut table = vec![0_u8; 1 << width];
        for (low, high) in ranges {
            table[*low as usize..=*high as usize].fill(1);
        }
        for (at, pass) in pass.iter_mut().enumerate() {
            *pass |= table[bits_at(data, width, at) as usize];
        }
        return;
    }
    let mut sorted = ranges.to_vec();
    sorted.sort_unstable();
    for (at, pass) in pass.iter_mut().enumerate() {
        let value = bits_at(data, width, at);
        let behind = sorted.partition_point(|(low, _)| *low <= value);
        *pass |= u8::from(sorted[..behind].last().is_some_and(|(_, high)| value <= *high));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values of every width, runs of them, and the ends of the domain.
    fn values() -> impl Strategy<Value = Vec<i64>> {
        let one = |bits: u32, base: i64| {
            (0..=u64::MAX >> (63 - bits.min(63))).prop_map(move |above| base.wrapping_add(above as i64))
        };
        (0_u32..64, any::<i64>(), 1_usize..6).prop_flat_map(move |(bits, base, run)| {
            prop::collection::vec(one(bits, base), 0..80).prop_map(move |values| {
                values
                    .into_iter()
                    .flat_map(|v| std::iter::repeat_n(v, run * run))
                    .collect()
            })
        })
    }

    proptest! {
        #[test]
        fn unpacking_gives_back_what_was_packed(values in values()) {
            let mut bytes = Vec::new();
            pack(&values, &mut bytes);
            bytes.push(7);
            let (packed, rest) = Packed::parse(&bytes, values.len(), Trust::None).unwrap();
            prop_assert_eq!(rest, &[7]);
            let mut all = Vec::new();
            packed.unpack(&mut all);
            prop_assert_eq!(&all, &values);
            for (row, value) in values.iter().enumerate() {
                prop_assert_eq!(packed.get(row), *value);
            }
            for step in 1..5 {
                let rows: Vec<usize> = (0..values.len()).step_by(step).collect();
                let mut some: Vec<i64> = Vec::new();
                packed.read(rows.iter().copied(), &mut some, |value| value);
                packed.read(rows.iter().rev().copied(), &mut some, |value| value);
                let each: Vec<i64> = rows.iter().chain(rows.iter().rev()).map(|row| values[*row]).collect();
                prop_assert_eq!(some, each);
            }
        }

        #[test]
        fn packed_tests_are_tests_of_values(
            values in values(),
            ends in prop::collection::vec((any::<prop::sample::Index>(), -2_i128..3, 0_i128..6), 0..9),
            open in any::<(bool, bool)>(),
        ) {
            prop_assume!(!values.is_empty());
            let mut ranges: Vec<(i128, i128)> = ends.into_iter().map(|(at, off, width)| {
                let low = i128::from(values[at.index(values.len())]) + off;
                (low, low + width)
            }).collect();
            if open.0 {
                ranges.extend(ranges.first().map(|(_, high)| (i128::MIN, *high)));
            }
            if open.1 {
                ranges.extend(ranges.last().map(|(low, _)| (*low, i128::MAX)));
            }
            // As sets of values have them: sorted and disjoint.
            ranges.sort_unstable();
            let mut joined: Vec<(i128, i128)> = Vec::new();
            for (low, high) in ranges {
                match joined.last_mut() {
                    Some(last) if last.1 >= low => last.1 = last.1.max(high),
                    _ => joined.push((low, high)),
                }
            }
            let mut bytes = Vec::new();
            pack(&values, &mut bytes);
            let mut pass = vec![1; values.len()];
            Packed::parse(&bytes, values.len(), Trust::None).unwrap().0.test(&joined, &mut pass);
            for (value, pass) in values.iter().zip(pass) {
                let value = i128::from(*value);
                let expected = joined.iter().any(|(low, high)| (*low..=*high).contains(&value));
                prop_assert_eq!(pass == 1, expected);
            }
            // Of rows that are not left nothing is said.
            let mut few: Vec<u8> = (0..values.len()).map(|row| u8::from(row % 17 == 3)).collect();
            Packed::parse(&bytes, values.len(), Trust::None).unwrap().0.test(&joined, &mut few);
            for (row, value) in values.iter().enumerate() {
                let value = i128::from(*value);
                let expected = row % 17 == 3 && joined.iter().any(|(low, high)| (*low..=*high).contains(&value));
                prop_assert_eq!(few[row] == 1, expected);
            }
        }

        #[test]
        fn any_bytes_parse_or_fail(bytes in prop::collection::vec(0_u8..70, 0..60), len in 0_usize..40) {
            if let Ok((packed, _)) = Packed::parse(&bytes, len, Trust::None) {
                let mut all = Vec::new();
                packed.unpack(&mut all);
                prop_assert_eq!(all.len(), len);
                for (row, value) in all.iter().enumerate() {
                    prop_assert_eq!(packed.get(row), *value);
                }
                let mut again = Vec::new();
                packed.read(0..len, &mut again, |value| value);
                prop_assert_eq!(again, all);
                packed.test(&[(i128::MIN, i128::MAX)], &mut vec![0; len]);
            }
        }
    }

    #[test]
    fn runs_and_constants_are_short() {
        let size = |values: &[i64]| {
            let mut bytes = Vec::new();
            pack(values, &mut bytes);
            (bytes[0], bytes.len())
        };
        assert_eq!(size(&[5; 1000]), (CONSTANT, 9));
        let runs: Vec<i64> = (0..1000).map(|at| at / 500 * 1_000_000).collect();
        assert_eq!(size(&runs), (RUNS, 10 + 4 + 8 + 8));
        let bits: Vec<i64> = (0..1000).map(|at| 200 + at % 2).collect();
        assert_eq!(size(&bits), (BITS, 10 + 125));
    }
}

/// Whether the bytes of a column are still to be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// They may be anything.
    None,
    /// They passed [`Column::parse`], and did not change since.
    Parsed,
}
