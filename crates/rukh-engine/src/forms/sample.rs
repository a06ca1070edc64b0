//! What ANALYZE gathers of the values of one column: counts, ends, common values, histogram.
//!
//! Rows and NULLs are counted, the smallest and the greatest value are found, and distinct values are
//! estimated over all rows (HyperLogLog, 4 KiB a column). Common values and the bounds of the
//! histogram come from a uniform [`Reservoir`] of rows, which is the whole table as long as that is
//! small; then distinct values are counted exactly, too. The sample is drawn by a generator with a
//! fixed seed: the same rows give the same statistics.
//!
//! What makes a value common, of a sample of n values: it is one of the 50 most frequent, it is there
//! twice, and either it is a fourth more frequent than the average or it fills a hundredth of the
//! sample. Where there are rows outside of the sample, it is there ten times, and more often than
//! chance would have it. Where the sample has all values there are, and no more than 50, all of them
//! are common.
//!
//! Memory is bounded: values of text and bytes count by their first 128 bytes.

use datasketches::hll::{HllSketch, HllType};
use rukh_keys::{Datum, DatumRef};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use xxhash_rust::xxh3::xxh3_64;

/// Rows of a sample, if columns are not so many that it has fewer.
const SAMPLE_ROWS_MAX: usize = 30_000;

/// Values of a sample, all columns counted.
const SAMPLE_VALUES_MAX: usize = 600_000;

/// Parts of equal size that a histogram has at most.
const PARTS_MAX: usize = 100;

/// Most values that are counted one by one.
const COMMON_MAX: usize = 50;

/// Times that a common value is in a sample which has not all rows.
const COMMON_IN_SAMPLE_MIN: usize = 10;

/// Bytes that are kept of a long text or byte string.
const WIDTH_MAX: usize = 128;

/// Longest bytes of a character: texts that were cut are at least so much shorter than the most.
const CHARACTER_BYTES_MAX: usize = 4;

/// Values of a column that are remembered as seen.
const RECENT: usize = 64;

/// Registers of a sketch, as a power of two: an error of 1.6 %.
const SKETCH_LG_K: u8 = 12;

/// What is known of the values of a column or an index expression.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueStatistics {
    /// Different values other than NULL, estimated.
    pub distinct: u64,
    /// Rows in which it is NULL.
    pub nulls: u64,
    /// The smallest value, of a long one the first bytes.
    pub min: Option<Datum>,
    /// The greatest value other than NULL, of a long one the first bytes.
    pub max: Option<Datum>,
    /// The most common values, the most common first.
    pub common: Vec<CommonValue>,
    /// Values between which equally many of the values that are not common lie, in order; of long
    /// ones the first bytes.
    pub bounds: Vec<Datum>,
}

/// A value that many rows have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonValue {
    /// The value.
    pub value: Datum,
    /// Rows that have it, estimated.
    pub rows: u64,
}

/// Says which rows of a table are in the sample, and at which place.
pub(crate) struct Reservoir {
    size: usize,
    seen: u64,
    state: u64,
}

impl Reservoir {
    /// A sample of rows with so many values.
    pub(crate) fn new(columns: usize) -> Reservoir {
        let rows = SAMPLE_VALUES_MAX / columns.max(1);
        Reservoir {
            size: rows.clamp(1, SAMPLE_ROWS_MAX),
            seen: 0,
            state: 0,
        }
    }

    /// Returns the place of the next row in the sample, if it gets one; the row there before goes.
    pub(crate) fn place(&mut self) -> Option<usize> {
        self.seen += 1;
        if self.seen <= self.size as u64 {
            return Some(self.seen as usize - 1);
        }
        let place = (u128::from(self.random()) * u128::from(self.seen)) >> 64;
        usize::try_from(place).ok().filter(|place| *place < self.size)
    }

    /// The generator SplitMix64 of Steele, Lea and Flood.
    fn random(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.state)
    }
}

/// The values of a column seen so far.
pub(crate) struct ValueSample {
    sketch: HllSketch,
    nulls: u64,
    min: Option<Datum>,
    max: Option<Datum>,
    /// By place in the sample.
    sample: Vec<Datum>,
    /// Fingerprints of values seen of late, by their last bits: these are skipped.
    recent: [u64; RECENT],
}

impl ValueSample {
    pub(crate) fn new() -> Self {
        let sketch = HllSketch::new(SKETCH_LG_K, HllType::Hll8);
        ValueSample {
            sketch: sketch.expect("twelve is a size that sketches have"),
            nulls: 0,
            min: None,
            max: None,
            sample: Vec::new(),
            recent: [0; RECENT],
        }
    }

    /// Adds the value of a row with its place in the sample.
    pub(crate) fn add(&mut self, datum: &DatumRef<'_>, place: Option<usize>) {
        // Documents and arrays may be long, and no plan reads the order of their values.
        let is_document = matches!(datum, DatumRef::Jsonb(_) | DatumRef::Array(_));
        if let Some(place) = place.filter(|_| !is_document) {
            match self.sample.get_mut(place) {
                Some(kept) => *kept = shortened(datum),
                None => self.sample.push(shortened(datum)),
            }
        }
        if datum.is_null() {
            self.nulls += 1;
            return;
        }
        let fingerprint = fingerprint(datum);
        let recent = &mut self.recent[fingerprint as usize % RECENT];
        if *recent == fingerprint {
            return;
        }
        *recent = fingerprint;
        self.sketch.update(fingerprint);
        if is_document {
            return;
        }
        if self.min.as_ref().is_none_or(|min| *datum < min.as_ref()) {
            self.min = Some(shortened(datum));
        }
        if self.max.as_ref().is_none_or(|max| *datum > max.as_ref()) {
            self.max = Some(shortened(datum));
        }
    }

    /// Sums up, for a table of so many rows.
    pub(crate) fn finish(mut self, rows: u64) -> ValueStatistics {
        let values = rows.saturating_sub(self.nulls);
        self.sample.retain(|datum| !datum.is_null());
        self.sample.sort_unstable();
        let sample = Sorted {
            groups: groups(&self.sample),
            values: &self.sample,
            rows: values,
        };
        let estimated = (self.sketch.estimate().round() as u64).clamp(u64::from(values > 0), values);
        let distinct = match sample.is_whole() && !self.sample.iter().any(may_be_short) {
            true => sample.groups.len() as u64,
            false => estimated.max(sample.groups.len() as u64),
        };
        let common = sample.common(distinct);
        let bounds = sample.bounds(&common, self.min.as_ref(), self.max.as_ref());
        ValueStatistics {
            distinct,
            nulls: self.nulls,
            common: common.iter().map(|group| sample.common_value(group)).collect(),
            bounds,
            min: self.min,
            max: self.max,
        }
    }
}

/// The sampled values of a column in order, NULL left out.
struct Sorted<'a> {
    values: &'a [Datum],
    groups: Vec<Group>,
    /// Rows of the table that have a value.
    rows: u64,
}

/// Equal values of a sample: where they start, and how many they are.
#[derive(Clone, Copy)]
struct Group {
    start: usize,
    count: usize,
}

impl Sorted<'_> {
    /// Whether the sample has all rows.
    fn is_whole(&self) -> bool {
        self.values.len() as u64 == self.rows
    }

    fn value(&self, group: &Group) -> &Datum {
        &self.values[group.start]
    }

    fn common_value(&self, group: &Group) -> CommonValue {
        let rows = group.count as u128 * u128::from(self.rows) / self.values.len().max(1) as u128;
        CommonValue {
            value: self.value(group).clone(),
            rows: u64::try_from(rows).unwrap_or(self.rows),
        }
    }

    /// The most common values, the most common first.
    fn common(&self, distinct: u64) -> Vec<Group> {
        let count = self.values.len();
        let all_known = self.groups.len() <= COMMON_MAX && self.groups.len() as u64 >= distinct;
        let floor = if self.is_whole() { 2 } else { COMMON_IN_SAMPLE_MIN };
        let average = count as f64 / distinct.max(1) as f64;
        // Of a sample, what is four deviations above the average is so not by chance.
        let chance = if self.is_whole() {
            0.0
        } else {
            4.0 * average.sqrt()
        };
        let frequent = (average * 1.25).max(average + chance);
        let frequent = frequent.min(count as f64 / PARTS_MAX as f64);
        let least = match all_known && self.groups.len() < count {
            true => 1,
            false => floor.max(frequent.ceil() as usize),
        };
        let is_common = |group: &&Group| group.count >= least && !may_be_short(self.value(group));
        let mut common: Vec<Group> = self.groups.iter().filter(is_common).copied().collect();
        common.sort_by_key(|group| (std::cmp::Reverse(group.count), group.start));
        common.truncate(COMMON_MAX);
        common
    }

    /// The bounds of the histogram of all values but the common ones.
    fn bounds(&self, common: &[Group], min: Option<&Datum>, max: Option<&Datum>) -> Vec<Datum> {
        let is_common = |start: usize| common.iter().any(|group| group.start == start);
        let others = self.groups.iter().filter(|group| !is_common(group.start));
        let others: Vec<Group> = others.copied().collect();
        let count: usize = others.iter().map(|group| group.count).sum();
        if others.len() < 2 {
            return Vec::new();
        }
        let parts = PARTS_MAX.min(count - 1);
        let mut bounds = Vec::with_capacity(parts + 1);
        let (mut group, mut passed) = (0, 0);
        for part in 0..=parts {
            let at = part * (count - 1) / parts;
            while passed + others[group].count <= at {
                passed += others[group].count;
                group += 1;
            }
            bounds.push(self.value(&others[group]).clone());
        }
        // The ends of the sample are not those of the table.
        let is_other = |end: &Datum| !common.iter().any(|group| self.value(group) == end);
        if let Some(min) = min.filter(|min| is_other(min)) {
            bounds[0] = min.clone();
        }
        if let Some(max) = max.filter(|max| is_other(max)) {
            bounds[parts] = max.clone();
        }
        bounds
    }
}

/// The runs of equal values among sorted ones.
fn groups(values: &[Datum]) -> Vec<Group> {
    let mut start = 0;
    let group = |run: &[Datum]| {
        let group = Group {
            start,
            count: run.len(),
        };
        start += run.len();
        group
    };
    values.chunk_by(|a, b| a == b).map(group).collect()
}

/// Returns a number that differs between values, but for once in 2^64 pairs of them; never 0.
fn fingerprint(datum: &DatumRef<'_>) -> u64 {
    let of_number = |bits: u64| mixed(bits ^ 0x9e37_79b9_7f4a_7c15);
    let found = match datum {
        DatumRef::Null => 0,
        DatumRef::Boolean(v) => of_number(u64::from(*v)),
        DatumRef::Int(v) | DatumRef::Time(v) | DatumRef::Timestamp(v) => of_number(*v as u64),
        DatumRef::Float(v) if v.is_nan() => of_number(f64::NAN.to_bits()),
        // One zero of the two.
        DatumRef::Float(v) => of_number((v + 0.0).to_bits()),
        DatumRef::Date(v) => of_number(u64::from(*v as u32)),
        DatumRef::Decimal(v) => xxh3_64(&v.to_le_bytes()),
        DatumRef::Uuid(v) => xxh3_64(v),
        DatumRef::Text(v) => xxh3_64(v.as_bytes()),
        DatumRef::Interval(v) => xxh3_64(&v.to_bits().to_le_bytes()),
        DatumRef::Bytes(v)
        | DatumRef::Numeric(v)
        | DatumRef::Inet(v)
        | DatumRef::Jsonb(v)
        | DatumRef::Array(v) => xxh3_64(v),
    };
    found.max(1)
}

/// Spreads the bits of a number over all bits; different numbers stay different.
fn mixed(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A value, of a long one the first bytes.
fn shortened(datum: &DatumRef<'_>) -> Datum {
    match datum {
        DatumRef::Text(text) => Datum::Text(text[..text.floor_char_boundary(WIDTH_MAX)].to_string()),
        DatumRef::Bytes(Cow::Borrowed(bytes)) => Datum::Bytes(bytes[..bytes.len().min(WIDTH_MAX)].to_vec()),
        DatumRef::Bytes(Cow::Owned(bytes)) => Datum::Bytes(bytes[..bytes.len().min(WIDTH_MAX)].to_vec()),
        other => other.to_owned(),
    }
}

/// Whether this may be the first bytes of a longer value.
fn may_be_short(datum: &Datum) -> bool {
    let length = match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    length > WIDTH_MAX - CHARACTER_BYTES_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(values: impl Iterator<Item = Datum>) -> ValueStatistics {
        let (mut reservoir, mut sample, mut rows) = (Reservoir::new(1), ValueSample::new(), 0);
        for value in values {
            sample.add(&value.as_ref(), reservoir.place());
            rows += 1;
        }
        sample.finish(rows)
    }

    fn integers(values: impl Iterator<Item = i64>) -> ValueStatistics {
        gathered(values.map(Datum::Int))
    }

    #[test]
    fn few_values_are_all_common() {
        let found = integers((0..1000).map(|n| if n % 10 == 0 { n % 3 } else { 7 }));
        let common: Vec<_> = found
            .common
            .iter()
            .map(|one| (one.value.clone(), one.rows))
            .collect();
        let expected = [(7, 900), (0, 34), (1, 33), (2, 33)];
        assert_eq!(common, expected.map(|(value, rows)| (Datum::Int(value), rows)));
        assert_eq!((found.distinct, found.bounds), (4, Vec::new()));
        assert_eq!((found.min, found.max), (Some(Datum::Int(0)), Some(Datum::Int(7))));
    }

    #[test]
    fn different_values_give_bounds_from_end_to_end() {
        let found = integers(0..1001);
        assert_eq!(
            found.bounds,
            (0..=100).map(|n| Datum::Int(n * 10)).collect::<Vec<_>>()
        );
        assert_eq!((found.distinct, found.common), (1001, Vec::new()));
        assert_eq!(integers(0..3).bounds, [0, 1, 2].map(Datum::Int));
        assert_eq!(integers(std::iter::empty()), ValueStatistics::default());
    }

    #[test]
    fn a_sample_of_many_rows_tells_of_all_of_them() {
        let rows = 400_000;
        let found = integers((0..rows).map(|n| if n % 4 == 0 { -1 } else { n }));
        let [common] = found.common.as_slice() else {
            panic!("{:?}", found.common);
        };
        assert_eq!(common.value, Datum::Int(-1));
        assert!((95_000..105_000).contains(&common.rows), "{}", common.rows);
        // The smallest value is a common one, which the histogram leaves out.
        assert!(found.bounds[0] > Datum::Int(0) && found.bounds[0] < Datum::Int(200));
        assert_eq!(found.bounds.last(), Some(&Datum::Int(rows - 1)));
        let even = |(part, bound): (usize, &Datum)| {
            let Datum::Int(bound) = bound else { return false };
            (bound - part as i64 * rows / 100).abs() < rows / 40
        };
        assert!(found.bounds.iter().enumerate().all(even), "{:?}", found.bounds);
        assert!(
            (290_000..=310_000).contains(&found.distinct),
            "{}",
            found.distinct
        );
    }

    #[test]
    fn long_texts_are_bounds_by_their_first_bytes_and_never_common() {
        let texts = (0..200).map(|n| Datum::Text(format!("{}{}", "é".repeat(100), n % 2)));
        let found = gathered(texts);
        assert_eq!(found.common, Vec::new());
        assert_eq!(found.min, Some(Datum::Text("é".repeat(64))));
        assert_eq!(found.distinct, 2);
    }

    #[test]
    fn nulls_are_counted_apart() {
        let found = gathered((0..100).map(|n| if n < 60 { Datum::Null } else { Datum::Int(n) }));
        assert_eq!((found.nulls, found.distinct), (60, 40));
        assert_eq!(found.bounds.len(), 40);
    }
}
