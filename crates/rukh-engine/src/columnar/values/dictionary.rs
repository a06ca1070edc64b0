//! Byte strings of a column being encoded: as a dictionary of those that differ, where these are few, or one behind the other.

use crate::columnar::values::packed::pack;
use crate::columnar::values::vector::Strings;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Rows after which it is looked whether a dictionary is likely to pay: one in so many of those of a column.
const SAMPLE_SHARE: usize = 8;

/// As many rows at least.
const SAMPLE_MIN: usize = 64;

/// It is not where more of these rows have values of their own than all but one in so many.
const REPEATED_SHARE: usize = 16;

/// Appends the byte strings of some rows as a dictionary with codes, or as they are; returns whether as a dictionary.
pub(crate) fn encode(strings: &Strings, rows: &[usize], out: &mut Vec<u8>) -> bool {
    // More distinct values than half of the rows are no dictionary.
    let distinct_max = rows.len().div_ceil(2);
    let sample = (rows.len() / SAMPLE_SHARE).max(SAMPLE_MIN);
    let mut numbers: HashMap<&[u8], u32, Seeded> = HashMap::with_capacity_and_hasher(sample, Seeded::new());
    // Values as they are seen first, and by row which of them it has.
    let (mut values, mut of_rows): (Vec<&[u8]>, Vec<u32>) = (Vec::new(), Vec::with_capacity(rows.len()));
    let mut last: Option<(&[u8], u32)> = None;
    for (seen, row) in rows.iter().enumerate() {
        let value = strings.get(*row);
        let number = match last {
            Some((last, number)) if last == value => number,
            _ => *numbers.entry(value).or_insert_with(|| {
                values.push(value);
                values.len() as u32 - 1
            }),
        };
        let is_sample = seen + 1 == sample;
        if values.len() > distinct_max || (is_sample && values.len() > sample - sample / REPEATED_SHARE) {
            put_strings(rows.iter().map(|row| strings.get(*row)), out);
            return false;
        }
        of_rows.push(number);
        last = Some((value, number));
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by_key(|number| values[*number]);
    let mut codes = vec![0_i64; values.len()];
    for (code, number) in order.iter().enumerate() {
        codes[*number] = code as i64;
    }
    out.extend_from_slice(&(values.len() as u32).to_le_bytes());
    put_strings(order.iter().map(|number| values[*number]), out);
    let packed: Vec<i64> = of_rows.iter().map(|number| codes[*number as usize]).collect();
    pack(&packed, out);
    true
}

/// Makes hashes that cannot be foreseen, by XXH3.
#[derive(Clone, Copy)]
struct Seeded(u64);

impl Seeded {
    fn new() -> Self {
        Seeded(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seeded {
    type Hasher = SeededHasher;

    fn build_hasher(&self) -> SeededHasher {
        SeededHasher(self.0)
    }
}

/// The hash so far.
struct SeededHasher(u64);

impl Hasher for SeededHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = self.0.wrapping_add(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn put_strings<'a>(strings: impl Iterator<Item = &'a [u8]> + Clone, out: &mut Vec<u8>) {
    let mut end = 0_u32;
    for string in strings.clone() {
        end += string.len() as u32;
        out.extend_from_slice(&end.to_le_bytes());
    }
    strings.for_each(|string| out.extend_from_slice(string));
}
