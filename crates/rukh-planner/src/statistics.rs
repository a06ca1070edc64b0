//! What is known about the rows of a table, and how many of them a set of values is likely to hold.
//!
//! Guesses when nothing is known:
//!
//! | condition                          | share of the rows                              |
//! |------------------------------------|------------------------------------------------|
//! | one value                          | 1 / distinct values, or 0.005                  |
//! | one value of a small type          | 1 / values of the type (BOOLEAN 0.5)           |
//! | NULL                               | 0.01                                           |
//! | interval, smallest and greatest known | its share of the way between them           |
//! | interval open at one end           | 1/3                                            |
//! | interval closed at both ends       | 1/10, and no more than its values have         |

use std::collections::BTreeMap;

use rukh_keys::{DataType, Datum};

use crate::domain::{count, is_point, ordinal, ordinals};
use crate::interval::{Cut, Interval, IntervalSet};
use crate::term::TermId;

/// Rows of a table of which nothing is known. Large on purpose: to mistake a small table for a large
/// one costs microseconds, the reverse costs minutes.
const ROWS_DEFAULT: u64 = 1_000_000;
const EQUAL_SHARE: f64 = 0.005;
const NULL_SHARE: f64 = 0.01;
const OPEN_SHARE: f64 = 1.0 / 3.0;
const CLOSED_SHARE: f64 = 0.1;
/// Share of the rows for which a condition that is not understood is guessed to be true.
pub(crate) const UNKNOWN_SHARE: f64 = 1.0 / 3.0;

/// What is known about the values of one column or index expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TermStatistics {
    /// Number of distinct values, NULL not counted.
    pub distinct: Option<u64>,
    /// Smallest value.
    pub min: Option<Datum>,
    /// Greatest value, NULL not counted.
    pub max: Option<Datum>,
    /// Share of the rows that have NULL, 0 to 1.
    pub null_share: Option<f64>,
}

/// What is known about the rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Number of rows.
    pub rows: Option<u64>,
    /// By column or expression.
    pub terms: BTreeMap<TermId, TermStatistics>,
}

impl Statistics {
    /// Nothing is known.
    pub const UNKNOWN: Statistics = Statistics {
        rows: None,
        terms: BTreeMap::new(),
    };

    pub(crate) fn row_count(&self) -> f64 {
        self.rows.unwrap_or(ROWS_DEFAULT) as f64
    }

    /// Guesses the share of the rows, 0 to 1, that have one certain value.
    pub(crate) fn point_share(&self, term: TermId, ty: DataType) -> f64 {
        equal_share(ty, self.terms.get(&term)).min(1.0)
    }

    /// Guesses the share of the rows, 0 to 1, that have a value of the set.
    pub(crate) fn share(&self, term: TermId, ty: DataType, set: &IntervalSet) -> f64 {
        let known = self.terms.get(&term);
        let null_share = known.and_then(|known| known.null_share).unwrap_or(NULL_SHARE);
        let values: f64 = set
            .intervals()
            .iter()
            .map(|interval| share_of(interval, ty, known))
            .sum();
        let values = if set.has_all_values() {
            1.0
        } else {
            values.min(1.0)
        };
        match set.null {
            true => (values * (1.0 - null_share) + null_share).min(1.0),
            false => values,
        }
    }
}

fn share_of(interval: &Interval, ty: DataType, known: Option<&TermStatistics>) -> f64 {
    if is_point(ty, interval) {
        return equal_share(ty, known);
    }
    if let Some(share) = known.and_then(|known| interpolated(interval, ty, known)) {
        return share;
    }
    match (&interval.low, &interval.high) {
        (Cut::Min, Cut::Max) => 1.0,
        (Cut::Min, _) | (_, Cut::Max) => OPEN_SHARE,
        _ => match count(ty, interval) {
            Some(count) => (count as f64 * equal_share(ty, known)).min(CLOSED_SHARE),
            None => CLOSED_SHARE,
        },
    }
}

fn equal_share(ty: DataType, known: Option<&TermStatistics>) -> f64 {
    if let Some(distinct) = known.and_then(|known| known.distinct) {
        return 1.0 / distinct.max(1) as f64;
    }
    match ordinals(ty) {
        Some((min, max)) if max - min < 200 => 1.0 / (max - min + 1) as f64,
        _ => EQUAL_SHARE,
    }
}

/// The share of the way between the smallest and the greatest value that an interval takes.
fn interpolated(interval: &Interval, ty: DataType, known: &TermStatistics) -> Option<f64> {
    let at = |datum: &Datum| match datum {
        Datum::Float(value) => value.is_finite().then_some(*value),
        other => ordinal(ty, other).map(|ordinal| ordinal as f64),
    };
    let (min, max) = (at(known.min.as_ref()?)?, at(known.max.as_ref()?)?);
    let clamped = |cut: &Cut, open: f64| match cut {
        Cut::At(datum, _) => at(datum).map(|at| at.clamp(min, max)),
        _ => Some(open),
    };
    let (low, high) = (clamped(&interval.low, min)?, clamped(&interval.high, max)?);
    let least = equal_share(ty, Some(known)).min(1.0);
    if max <= min {
        return Some(1.0);
    }
    Some(((high - low) / (max - min)).clamp(least.min(1e-6), 1.0))
}
