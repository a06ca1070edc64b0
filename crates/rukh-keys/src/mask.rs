//! Masked compare: tests on encoded keys without decoding them.
//!
//! Several [`FieldTest`]s become one program. All bytes that must be equal to something, of
//! whatever columns, fold into words of mask and value and are checked first; that includes the
//! leading bytes that all intervals of a field share. What is left of a field in at most 8 bytes
//! is loaded as a number and compared with one interval or searched in many; anything wider is
//! compared as a slice.
//!
//! A key has sections, in each of which every column begins at the same byte: one ends with each column of variable
//! width. The program of a section is run on the key from there on; the end marks before it are all that is read to find it.
//!
//! The step to the next key that could match is in `candidate`.

use crate::decode::section_start;
use crate::field_test::{Allowed, FieldTest};
use crate::layout::Slot;
use std::sync::Arc;

/// Tests of many columns, run on the bytes of a key in one pass.
///
/// Invariant: the tests are of one section, sorted by their place, and no two are of one field. Those of later sections
/// are behind.
///
/// ```
/// use rukh_keys::{DataType, Datum, Edge, KeyColumn, KeyLayout, MaskedCompare, SortOrder};
///
/// let column = KeyColumn { ty: DataType::Integer, order: SortOrder::Asc, nullable: false };
/// let layout = KeyLayout::new(vec![column, column], None);
/// let five = Datum::Int(5);
/// let test = layout.field_test(1, &[(Some((&five, Edge::Included)), None)], false);
/// let masked = MaskedCompare::new(test.into_iter().collect());
/// assert!(masked.matches(&layout.encode(&[Datum::Int(1), Datum::Int(7)])?));
/// assert!(!masked.matches(&layout.encode(&[Datum::Int(9), Datum::Int(4)])?));
/// # Ok::<(), rukh_keys::ValueError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaskedCompare {
    pub(crate) tests: Vec<FieldTest>,
    /// The bytes a key must have for all tests of fixed width.
    pub(crate) end: usize,
    /// Whether some test lets no key pass.
    pub(crate) never: bool,
    /// Whether no two tests share bits, so that the next candidate can be computed.
    pub(crate) disjoint: bool,
    words: Vec<MaskedWord>,
    checks: Vec<Check>,
    pub(crate) behind: Option<Box<Behind>>,
}

/// Tests of later sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Behind {
    /// The columns of variable width between the section before and that of the tests.
    passed: Arc<[Slot]>,
    pub(crate) compare: MaskedCompare,
}

impl Behind {
    /// Returns where the tests begin; `None` of bytes that are no key.
    #[inline]
    pub(crate) fn start(&self, key: &[u8]) -> Option<usize> {
        section_start(key, &self.passed)
    }

    #[inline]
    fn matches(&self, key: &[u8]) -> bool {
        self.start(key)
            .is_none_or(|start| self.compare.matches(&key[start..]))
    }
}

/// What a scan does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Candidate {
    /// Seek to the key written to `out`.
    Seek,
    /// Stop: no key that is left can match.
    End,
}

/// Eight bytes of a key of which the masked ones must have one value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MaskedWord {
    offset: usize,
    mask: u64,
    value: u64,
}

/// A test that is not an equality.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Check {
    /// A number of at most 8 bytes that lies in one interval, ends included.
    Between { number: Number, low: u64, high: u64 },
    /// A number of at most 8 bytes that lies in one of several sorted intervals.
    AnyOf {
        number: Number,
        intervals: Vec<(u64, u64)>,
    },
    /// Any other test.
    Slow(FieldTest),
}

/// Where a number lies in a key: load 8 bytes, shift, mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Number {
    load_at: usize,
    shift: u32,
    mask: u64,
}

/// No test: every key matches.
impl Default for MaskedCompare {
    fn default() -> Self {
        MaskedCompare::new(Vec::new())
    }
}

impl MaskedCompare {
    /// Folds tests into one program. Several tests of one field must all hold.
    pub fn new(mut tests: Vec<FieldTest>) -> Self {
        tests.retain(|test| !test.is_always());
        tests.sort_by_key(|test| (test.section(), test.start_bit(), test.end_bit()));
        MaskedCompare::of_sections(join_fields(tests), 0)
    }

    /// Makes the program of sorted tests, all of this section or later ones.
    fn of_sections(mut tests: Vec<FieldTest>, section: usize) -> Self {
        let later = tests.split_off(tests.partition_point(|test| test.section() == section));
        let next = later.first().map(|test| test.passed.clone());
        let behind = next.map(|passed| {
            let compare = MaskedCompare::of_sections(later, passed.len());
            let passed = passed[section..].into();
            Box::new(Behind { passed, compare })
        });
        let end = tests
            .iter()
            .map(|test| test.end_bit().div_ceil(8))
            .max()
            .unwrap_or(0);
        let disjoint = tests
            .windows(2)
            .all(|pair| pair[0].width().is_some() && pair[0].end_bit() <= pair[1].start_bit());
        let mut program = Program::default();
        tests.iter().for_each(|test| program.add(test));
        let never =
            tests.iter().any(FieldTest::is_never) || behind.as_ref().is_some_and(|it| it.compare.never);
        let words = fold_equalities(program.equalities, end);
        MaskedCompare {
            tests,
            end,
            never,
            disjoint,
            words,
            checks: program.checks,
            behind,
        }
    }

    /// Whether there is no test: every key matches.
    pub fn is_empty(&self) -> bool {
        self.tests.is_empty() && self.behind.is_none()
    }

    /// Whether a key passes all tests. A key too short for them passes: it is no key of the
    /// layout, and decoding it fails.
    #[inline]
    pub fn matches(&self, key: &[u8]) -> bool {
        if key.len() < self.end {
            return true;
        }
        !self.never
            && self
                .words
                .iter()
                .all(|word| load(key, word.offset) & word.mask == word.value)
            && self.checks.iter().all(|check| check.matches(key))
            && self.behind.as_ref().is_none_or(|behind| behind.matches(key))
    }
}

/// Joins neighbouring tests of one field.
fn join_fields(tests: Vec<FieldTest>) -> Vec<FieldTest> {
    let mut joined: Vec<FieldTest> = Vec::with_capacity(tests.len());
    for test in tests {
        match joined.last_mut().map(|last| (last.and(&test), last)) {
            Some((Some(both), last)) => *last = both,
            _ => joined.push(test),
        }
    }
    joined
}

/// Loads 8 bytes as a big-endian number; bytes behind the end of the key count as zero.
#[inline]
fn load(key: &[u8], offset: usize) -> u64 {
    match key.get(offset..offset + 8) {
        Some(bytes) => u64::from_be_bytes(bytes.try_into().unwrap_or_default()),
        None => load_short(key.get(offset..).unwrap_or_default()),
    }
}

fn load_short(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word[..bytes.len()].copy_from_slice(bytes);
    u64::from_be_bytes(word)
}

impl Number {
    fn new(offset: usize, width: usize) -> Number {
        let end = offset + width;
        let load_at = end.saturating_sub(8);
        let shift = 8 * (8 - (end - load_at)) as u32;
        Number {
            load_at,
            shift,
            mask: u64::MAX >> (64 - 8 * width),
        }
    }

    #[inline]
    fn of(&self, key: &[u8]) -> u64 {
        load(key, self.load_at) >> self.shift & self.mask
    }
}

impl Check {
    #[inline]
    fn matches(&self, key: &[u8]) -> bool {
        match self {
            Check::Between { number, low, high } => {
                let value = number.of(key);
                *low <= value && value <= *high
            }
            Check::AnyOf { number, intervals } => {
                let value = number.of(key);
                let after = intervals.partition_point(|(low, _)| *low <= value);
                after > 0 && intervals[after - 1].1 >= value
            }
            Check::Slow(test) => test.holds(key),
        }
    }
}

/// A byte of which the masked bits must have one value.
struct MaskedByte {
    offset: usize,
    mask: u8,
    value: u8,
}

#[derive(Default)]
struct Program {
    equalities: Vec<MaskedByte>,
    checks: Vec<Check>,
}

impl Program {
    fn add(&mut self, test: &FieldTest) {
        match &test.allowed {
            Allowed::Bit { bit, one, .. } => {
                let mask = 0x80 >> bit;
                let value = if *one { mask } else { 0 };
                self.equalities.push(MaskedByte {
                    offset: test.offset,
                    mask,
                    value,
                });
            }
            Allowed::Fixed { width, intervals } => self.add_fixed(test, *width, intervals),
            Allowed::Rest { .. } => self.checks.push(Check::Slow(test.clone())),
        }
    }

    /// Splits off the leading bytes that all intervals share.
    fn add_fixed(&mut self, test: &FieldTest, width: usize, intervals: &[(Vec<u8>, Vec<u8>)]) {
        let (Some((first, _)), Some((_, last))) = (intervals.first(), intervals.last()) else {
            return; // no key passes, which `never` tells
        };
        // The intervals are sorted: what the smallest and the greatest value share, all share.
        let shared = first
            .iter()
            .zip(last)
            .take_while(|(low, high)| low == high)
            .count();
        for (position, byte) in first[..shared].iter().enumerate() {
            let offset = test.offset + position;
            self.equalities.push(MaskedByte {
                offset,
                mask: 0xff,
                value: *byte,
            });
        }
        match width - shared {
            0 => {}
            left @ 1..=8 => {
                let number = Number::new(test.offset + shared, left);
                let values = |(low, high): &(Vec<u8>, Vec<u8>)| {
                    (number_of(&low[shared..]), number_of(&high[shared..]))
                };
                self.checks
                    .push(number_check(number, intervals.iter().map(values).collect()));
            }
            _ => self.checks.push(Check::Slow(test.clone())),
        }
    }
}

fn number_check(number: Number, intervals: Vec<(u64, u64)>) -> Check {
    match intervals.as_slice() {
        [(low, high)] => Check::Between {
            number,
            low: *low,
            high: *high,
        },
        _ => Check::AnyOf { number, intervals },
    }
}

/// The big-endian number of at most 8 bytes.
fn number_of(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Gathers masked bytes, sorted by place, into words that end within the first `end` bytes where
/// these are 8 or more.
fn fold_equalities(bytes: Vec<MaskedByte>, end: usize) -> Vec<MaskedWord> {
    let mut words: Vec<MaskedWord> = Vec::new();
    for byte in bytes {
        let fits = words.last().is_some_and(|word| byte.offset < word.offset + 8);
        if !fits {
            let offset = byte.offset.min(end.saturating_sub(8));
            words.push(MaskedWord {
                offset,
                mask: 0,
                value: 0,
            });
        }
        if let Some(word) = words.last_mut() {
            let shift = 8 * (7 - (byte.offset - word.offset));
            word.mask |= u64::from(byte.mask) << shift;
            word.value |= u64::from(byte.value) << shift;
        }
    }
    words
}
