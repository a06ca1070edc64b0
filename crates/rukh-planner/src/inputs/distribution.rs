//! How the values of a term are spread: the common ones with their shares, bounds between the others.
//!
//! [`CommonValues`] are counted one by one. Between each two neighbouring bounds of a [`Histogram`]
//! lie equally many of the other values, and between two bounds they are taken to lie evenly:
//!
//! | bounds           | cut        | position                                    |
//! |------------------|------------|---------------------------------------------|
//! | 0, 10, 20, 100   | before 15  | (1 + 5/10) / 3 = 0.5                        |
//! | 0, 10, 20, 100   | before 0   | 0                                           |
//! | 0, 10, 10, 100   | after 10   | 2/3: a third of the values are 10           |
//! | 'aa', 'ae'       | before 'ac'| behind the common start: (c - a) / (e - a)  |
//!
//! Invariant: a later cut never has a smaller position.

use rukh_keys::{DataType, Datum, NumericParts};

use crate::conditions::domain::is_point;
use crate::conditions::interval::{Cut, Interval, IntervalSet, Side};

/// The most common values of a term, each with its share of the rows, 0 to 1.
///
/// Invariant: sorted by value, no value twice, shares are not negative and sum up to 1 at most.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CommonValues {
    values: Vec<(Datum, f64)>,
    total: f64,
    /// The smallest share.
    least: f64,
}

impl CommonValues {
    /// Sorts values with their shares of the rows; NULL and shares that are no numbers are left out.
    pub fn new(mut values: Vec<(Datum, f64)>) -> CommonValues {
        values.retain(|(value, share)| !value.is_null() && *share > 0.0 && *share <= 1.0);
        values.sort_by(|(a, _), (b, _)| a.cmp(b));
        values.dedup_by(|(a, _), (b, _)| a == b);
        let sum = values.iter().fold(0.0, |sum, (_, share)| sum + share);
        if sum > 1.0 {
            values.iter_mut().for_each(|(_, share)| *share /= sum);
        }
        let shares = values.iter().map(|(_, share)| *share);
        CommonValues {
            total: sum.min(1.0),
            least: shares.fold(1.0, f64::min),
            values,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }

    /// The share of the rows that have one of the values.
    pub(crate) fn total(&self) -> f64 {
        self.total
    }

    /// The share of the rarest of the values, 1 if there are none.
    pub(crate) fn least(&self) -> f64 {
        if self.values.is_empty() { 1.0 } else { self.least }
    }

    /// The share of the rows that have this value, if it is a common one.
    pub(crate) fn share(&self, value: &Datum) -> Option<f64> {
        let at = self
            .values
            .binary_search_by(|(common, _)| common.cmp(value))
            .ok()?;
        Some(self.values[at].1)
    }

    /// How many of the values are alone in their interval of a set, and the share of the rows that have
    /// one of them.
    pub(crate) fn alone_in(&self, ty: DataType, set: &IntervalSet) -> (usize, f64) {
        let intervals = set.intervals();
        let is_alone = |value: &Datum| {
            let at = intervals.partition_point(|interval| !lies_before(value, &interval.high));
            let found = intervals
                .get(at)
                .filter(|interval| !lies_before(value, &interval.low));
            found.is_some_and(|interval| is_point(ty, interval))
        };
        let alone = self.values.iter().filter(|(value, _)| is_alone(value));
        alone.fold((0, 0.0), |(count, sum), (_, share)| (count + 1, sum + share))
    }

    /// The share of the rows that have one of the values in an interval.
    pub(crate) fn share_inside(&self, interval: &Interval) -> f64 {
        let before = |cut: &Cut| self.values.partition_point(|(value, _)| lies_before(value, cut));
        let (start, end) = (before(&interval.low), before(&interval.high));
        self.values[start..end.max(start)]
            .iter()
            .map(|(_, share)| share)
            .sum()
    }
}

/// Bounds that cut the values of a term into parts of equal size.
///
/// Invariant: sorted; empty, or two bounds at least.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    bounds: Vec<Datum>,
}

impl Histogram {
    /// Sorts bounds, the smallest and the greatest value among them; NULL is left out.
    pub fn new(mut bounds: Vec<Datum>) -> Histogram {
        bounds.retain(|bound| !bound.is_null());
        bounds.sort();
        if bounds.len() < 2 {
            bounds.clear();
        }
        Histogram { bounds }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bounds.is_empty()
    }

    /// The share of the values that lie in an interval, 0 to 1.
    pub(crate) fn share_inside(&self, interval: &Interval) -> f64 {
        (self.position(&interval.high) - self.position(&interval.low)).clamp(0.0, 1.0)
    }

    /// The share of the values that lie before a cut, 0 to 1.
    fn position(&self, cut: &Cut) -> f64 {
        let datum = match cut {
            Cut::Min => return 0.0,
            Cut::Max => return 1.0,
            Cut::At(datum, _) => datum,
        };
        let before = self.bounds.partition_point(|bound| lies_before(bound, cut));
        match before {
            0 => 0.0,
            all if all == self.bounds.len() => 1.0,
            some => {
                let within = fraction(&self.bounds[some - 1], &self.bounds[some], datum);
                ((some - 1) as f64 + within) / (self.bounds.len() - 1) as f64
            }
        }
    }
}

/// Whether a value lies before a cut.
fn lies_before(value: &Datum, cut: &Cut) -> bool {
    match cut {
        Cut::Min => false,
        Cut::Max => true,
        Cut::At(datum, Side::Before) => value < datum,
        Cut::At(datum, Side::After) => value <= datum,
    }
}

/// How far a value lies on the way from `low` to `high`, 0 to 1; half of it where that has no meaning.
fn fraction(low: &Datum, high: &Datum, value: &Datum) -> f64 {
    let way = match (low, high, value) {
        (Datum::Float(low), Datum::Float(high), Datum::Float(value)) => (value - low) / (high - low),
        (Datum::Text(low), Datum::Text(high), Datum::Text(value)) => {
            bytes_fraction(low.as_bytes(), high.as_bytes(), value.as_bytes())
        }
        (Datum::Numeric(low), Datum::Numeric(high), Datum::Numeric(value)) => {
            let number = |form| NumericParts::of_form(form).map_or(f64::NAN, NumericParts::to_double);
            let (low, high, value) = (number(low), number(high), number(value));
            (value - low) / (high - low)
        }
        (Datum::Bytes(low), Datum::Bytes(high), Datum::Bytes(value)) => bytes_fraction(low, high, value),
        (Datum::Inet(low), Datum::Inet(high), Datum::Inet(value)) => bytes_fraction(low, high, value),
        (Datum::Uuid(low), Datum::Uuid(high), Datum::Uuid(value)) => bytes_fraction(low, high, value),
        _ => match (whole(low), whole(high), whole(value)) {
            (Some(low), Some(high), Some(value)) => {
                value.saturating_sub(low) as f64 / high.saturating_sub(low) as f64
            }
            _ => f64::NAN,
        },
    };
    if way.is_nan() { 0.5 } else { way.clamp(0.0, 1.0) }
}

/// A value of a type whose values are counted in equal steps.
fn whole(datum: &Datum) -> Option<i128> {
    Some(match datum {
        Datum::Boolean(value) => i128::from(*value),
        Datum::Int(value) | Datum::Time(value) | Datum::Timestamp(value) => i128::from(*value),
        Datum::Decimal(value) => *value,
        Datum::Date(days) => i128::from(*days),
        _ => return None,
    })
}

/// The way of byte strings, by the eight bytes behind what both ends have in common.
fn bytes_fraction(low: &[u8], high: &[u8], value: &[u8]) -> f64 {
    let common = low.iter().zip(high).take_while(|(a, b)| a == b).count();
    let number = |bytes: &[u8]| {
        let mut eight = [0; 8];
        let behind = bytes.get(common..).unwrap_or_default();
        let length = behind.len().min(8);
        eight[..length].copy_from_slice(&behind[..length]);
        u64::from_be_bytes(eight)
    };
    let (low, high, value) = (number(low), number(high), number(value));
    value.saturating_sub(low) as f64 / high.saturating_sub(low) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram(bounds: &[i64]) -> Histogram {
        Histogram::new(bounds.iter().map(|bound| Datum::Int(*bound)).collect())
    }

    fn close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found} is not {expected}");
    }

    #[test]
    fn positions_lie_evenly_between_bounds() {
        let before = |bounds: &[i64], at: i64| histogram(bounds).position(&Cut::before(Datum::Int(at)));
        close(before(&[0, 10, 20, 100], 15), 0.5);
        close(before(&[0, 10, 20, 100], 0), 0.0);
        close(before(&[0, 10, 20, 100], -5), 0.0);
        close(before(&[0, 10, 20, 100], 101), 1.0);
        close(before(&[0, 10, 10, 100], 10), 1.0 / 3.0);
        close(
            histogram(&[0, 10, 10, 100]).position(&Cut::after(Datum::Int(10))),
            2.0 / 3.0,
        );
        close(before(&[5, 5], 5), 0.0);
        close(before(&[5, 5], 6), 1.0);
    }

    #[test]
    fn texts_lie_on_their_way_behind_the_common_start() {
        let texts = |bounds: [&str; 2], at: &str| {
            let bounds = bounds.map(|bound| Datum::Text(bound.to_string()));
            Histogram::new(bounds.to_vec()).position(&Cut::before(Datum::Text(at.to_string())))
        };
        close(texts(["aa", "ae"], "ac"), 0.5);
        close(texts(["", "b"], "a"), 97.0 / 98.0);
    }

    #[test]
    fn floats_without_a_way_between_them_count_half() {
        let ends = [f64::NEG_INFINITY, f64::INFINITY].map(Datum::Float);
        close(
            Histogram::new(ends.to_vec()).position(&Cut::before(Datum::Float(0.0))),
            0.5,
        );
    }

    #[test]
    fn common_values_are_found_by_value_and_by_interval() {
        let common = [(3, 0.2), (1, 0.5), (9, 0.1), (9, 0.1), (7, -1.0)];
        let common = CommonValues::new(common.map(|(value, share)| (Datum::Int(value), share)).to_vec());
        assert_eq!(common.len(), 3);
        close(common.total(), 0.8);
        close(common.least(), 0.1);
        assert_eq!(common.share(&Datum::Int(3)), Some(0.2));
        assert_eq!(common.share(&Datum::Int(4)), None);
        let inside = |low: i64, high: i64| {
            common.share_inside(&Interval {
                low: Cut::before(Datum::Int(low)),
                high: Cut::before(Datum::Int(high)),
            })
        };
        close(inside(1, 4), 0.7);
        close(inside(4, 9), 0.0);
        close(inside(4, 10), 0.1);
        let point = |at: i64| Interval {
            low: Cut::before(Datum::Int(at)),
            high: Cut::before(Datum::Int(at + 1)),
        };
        let wide = Interval {
            low: Cut::before(Datum::Int(5)),
            high: Cut::before(Datum::Int(20)),
        };
        let set = IntervalSet::from_intervals(vec![point(1), point(3), wide]);
        let (count, share) = common.alone_in(DataType::Integer, &set);
        assert_eq!(count, 2);
        close(share, 0.7);
    }
}
