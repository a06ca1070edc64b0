//! What is known about the rows of a table, and how many of them a set of values is likely to hold.
//!
//! | condition                  | share of the rows, as far as it is known                            |
//! |----------------------------|---------------------------------------------------------------------|
//! | a common value             | as counted                                                          |
//! | another value              | what common values and NULL leave, evenly over the other values     |
//! | an interval                | common values inside, and the share of the others by the histogram  |
//! | the same, no histogram     | the share of the way between the smallest and the greatest value    |
//! | past all that is known     | that of one value: rows may have come since                         |
//!
//! Guesses when nothing is known:
//!
//! | condition                          | share of the rows                              |
//! |------------------------------------|------------------------------------------------|
//! | one value                          | 1 / distinct values, or 0.005                  |
//! | one value of a small type          | 1 / values of the type (BOOLEAN 0.5)           |
//! | NULL                               | 0.01                                           |
//! | interval open at one end           | 1/3                                            |
//! | interval closed at both ends       | 0.005, and no more than its values have        |
//!
//! Invariant: shares lie between 0 and 1, and an interval never has less than one inside of it.

use std::collections::BTreeMap;

use rukh_keys::{DataType, Datum, Inet, NumericParts};

use crate::conditions::domain::{as_point, count, is_point, ordinals};
use crate::conditions::interval::{Cut, Interval, IntervalSet};
use crate::conditions::term::TermId;
use crate::inputs::distribution::{CommonValues, Histogram};
use crate::inputs::query::Source;

/// Rows of a table of which nothing is known. Large on purpose: to mistake a small table for a large
/// one costs microseconds, the reverse costs minutes.
const ROWS_DEFAULT: u64 = 1_000_000;
const EQUAL_SHARE: f64 = 0.005;
const NULL_SHARE: f64 = 0.01;
const OPEN_SHARE: f64 = 1.0 / 3.0;
const CLOSED_SHARE: f64 = 0.005;
/// Share of values that there are none of, for all that is known.
const LEAST_SHARE: f64 = 1e-7;
/// Most intervals of a set whose shares are summed up one by one.
const LOOKED_UP_MAX: usize = 64;
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
    /// Values that many rows have.
    pub common: CommonValues,
    /// The spread of all other values.
    pub histogram: Histogram,
}

impl TermStatistics {
    /// What the same says about the hash of the term.
    fn of_hash(&self) -> TermStatistics {
        TermStatistics {
            distinct: self.distinct,
            null_share: self.null_share,
            ..TermStatistics::default()
        }
    }

    /// The share of the rows that are not NULL.
    fn not_null(&self) -> f64 {
        1.0 - self.null_share.unwrap_or(0.0).clamp(0.0, 1.0)
    }

    /// The share of the rows that have neither NULL nor a common value.
    fn others(&self) -> f64 {
        (self.not_null() - self.common.total()).max(0.0)
    }

    /// The share of the rows that have a certain value which is not a common one.
    fn other_value(&self, ty: DataType) -> f64 {
        let Some(distinct) = self.distinct else {
            return equal_share(ty);
        };
        let values = distinct.saturating_sub(self.common.len() as u64).max(1);
        let share = (self.others() / values as f64).min(self.common.least());
        share.max(LEAST_SHARE)
    }

    /// The share of the values that are not common which lie in an interval, if that is known.
    fn others_inside(&self, interval: &Interval) -> Option<f64> {
        if !self.histogram.is_empty() {
            return Some(self.histogram.share_inside(interval));
        }
        let ends = vec![self.min.clone()?, self.max.clone()?];
        let between = Histogram::new(ends);
        (!between.is_empty()).then(|| between.share_inside(interval))
    }
}

/// What is known about the rows of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Number of rows.
    pub rows: Option<u64>,
    /// By column or expression.
    pub terms: BTreeMap<TermId, TermStatistics>,
    /// Rows of what is columnar that are in no block yet, about, where that is known.
    pub changes: BTreeMap<Source, u64>,
}

impl Statistics {
    /// Nothing is known.
    pub const UNKNOWN: Statistics = Statistics {
        rows: None,
        terms: BTreeMap::new(),
        changes: BTreeMap::new(),
    };

    /// A value of the term that is not a common one, for questions about any one value.
    ///
    /// ```
    /// # use rukh_keys::{DataType, Datum};
    /// # use rukh_planner::{Statistics, TermId};
    /// let any = Statistics::UNKNOWN.any_value(TermId(1), DataType::Integer);
    /// assert_eq!(any, Datum::Int(0));
    /// ```
    pub fn any_value(&self, term: TermId, ty: DataType) -> Datum {
        let known = self.terms.get(&term);
        let ends = known.map(|known| [&known.max, &known.min]);
        let ends = ends.into_iter().flatten().flatten();
        let is_common = |value: &&Datum| known.is_some_and(|known| known.common.share(value).is_some());
        let seldom = ends.clone().find(|value| !is_common(value)).or(ends.last());
        seldom.cloned().unwrap_or_else(|| zero(ty))
    }

    /// The share of the rows of a source that are in no block yet, if that is known.
    pub(crate) fn share_changed(&self, source: Source) -> Option<f64> {
        let changes = *self.changes.get(&source)? as f64;
        Some((changes / self.row_count().max(1.0)).min(1.0))
    }

    pub(crate) fn row_count(&self) -> f64 {
        self.rows.unwrap_or(ROWS_DEFAULT) as f64
    }

    /// Guesses how many values there are, NULL not counted.
    pub(crate) fn distinct(&self, term: TermId, ty: DataType) -> f64 {
        let known = self.terms.get(&term).and_then(|known| known.distinct);
        known
            .map_or_else(|| 1.0 / equal_share(ty), |distinct| distinct as f64)
            .max(1.0)
    }

    /// Guesses the share of the rows, 0 to 1, that have one certain value.
    pub(crate) fn point_share(&self, term: TermId, ty: DataType, value: &Datum) -> f64 {
        let known = self.terms.get(&term);
        value_share(ty, value, known).min(most(known))
    }

    /// Guesses the share of the rows, 0 to 1, that have a value of the set.
    pub(crate) fn share(&self, term: TermId, ty: DataType, set: &IntervalSet) -> f64 {
        share_of_set(ty, set, self.terms.get(&term))
    }

    /// The same for the hash of a column, by what is known of the column.
    pub(crate) fn hash_share(&self, column: TermId, ty: DataType, set: &IntervalSet) -> f64 {
        let known = self.terms.get(&column).map(TermStatistics::of_hash);
        share_of_set(ty, set, known.as_ref())
    }
}

/// The zero of a type, or what is most like it.
fn zero(ty: DataType) -> Datum {
    match ty {
        DataType::Boolean => Datum::Boolean(false),
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt => Datum::Int(0),
        DataType::Enum(_) => Datum::Int(0),
        DataType::Real | DataType::Double => Datum::Float(0.0),
        DataType::Decimal { .. } => Datum::Decimal(0),
        DataType::Numeric { .. } => Datum::Numeric(NumericParts::default().to_form()),
        DataType::Date => Datum::Date(0),
        DataType::Time { .. } => Datum::Time(0),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => Datum::Timestamp(0),
        DataType::Uuid => Datum::Uuid([0; 16]),
        DataType::Inet | DataType::Cidr => Datum::Inet(Inet::default().to_form()),
        DataType::Interval => Datum::Interval(rukh_keys::Interval::default()),
        DataType::Json => Datum::Text("null".to_string()),
        DataType::Jsonb => Datum::Jsonb(vec![0]),
        DataType::Array(_) => Datum::Array(vec![0]),
        DataType::Record(_) => Datum::Null,
        DataType::Char(_) | DataType::Varchar(_) => Datum::Text(String::new()),
        DataType::Binary(length) => Datum::Bytes(vec![0; length as usize]),
        DataType::Varbinary(_) => Datum::Bytes(Vec::new()),
    }
}

fn share_of_set(ty: DataType, set: &IntervalSet, known: Option<&TermStatistics>) -> f64 {
    let null_share = known.and_then(|known| known.null_share);
    let values = match set.has_all_values() {
        true => most(known),
        false if set.intervals().len() > LOOKED_UP_MAX => share_of_many(ty, set, known).min(most(known)),
        false => {
            let of_interval = |interval| share_of(interval, ty, known);
            let sum: f64 = set.intervals().iter().map(of_interval).sum();
            sum.min(most(known))
        }
    };
    match (set.null, null_share) {
        (true, Some(null_share)) => (values + null_share).min(1.0),
        (true, None) => (values * (1.0 - NULL_SHARE) + NULL_SHARE).min(1.0),
        (false, _) => values,
    }
}

/// The share of the rows that values can have at most: NULL has the others.
fn most(known: Option<&TermStatistics>) -> f64 {
    known.map_or(1.0, |known| known.not_null().max(LEAST_SHARE))
}

/// The same as the sum of all shares, in less time: common values are looked for among the intervals.
fn share_of_many(ty: DataType, set: &IntervalSet, known: Option<&TermStatistics>) -> f64 {
    let (points, ranges): (Vec<&Interval>, Vec<&Interval>) = set
        .intervals()
        .iter()
        .partition(|interval| is_point(ty, interval));
    let ranges: f64 = ranges.into_iter().map(|range| share_of(range, ty, known)).sum();
    let (common, share) = known.map_or((0, 0.0), |known| known.common.alone_in(ty, set));
    let one = known.map_or_else(|| equal_share(ty), |known| known.other_value(ty));
    ranges + share + points.len().saturating_sub(common) as f64 * one
}

fn share_of(interval: &Interval, ty: DataType, known: Option<&TermStatistics>) -> f64 {
    if let Some(value) = as_point(ty, interval) {
        return value_share(ty, &value, known);
    }
    let Some(known) = known else {
        return guessed(interval, ty, equal_share(ty));
    };
    let one = known.other_value(ty);
    let others = known
        .others_inside(interval)
        .unwrap_or_else(|| guessed(interval, ty, one));
    let inside = known.common.share_inside(interval) + known.others() * others;
    inside.clamp(one, 1.0)
}

/// The share of the values that an interval has, when nothing is known of where they lie.
fn guessed(interval: &Interval, ty: DataType, equal: f64) -> f64 {
    match (&interval.low, &interval.high) {
        (Cut::Min, Cut::Max) => 1.0,
        (Cut::Min, _) | (_, Cut::Max) => OPEN_SHARE,
        _ => match count(ty, interval) {
            Some(count) => (count as f64 * equal).min(CLOSED_SHARE),
            None => CLOSED_SHARE,
        },
    }
}

/// The share of the rows that have one value.
fn value_share(ty: DataType, value: &Datum, known: Option<&TermStatistics>) -> f64 {
    let Some(known) = known else {
        return equal_share(ty);
    };
    let common = known.common.share(value);
    common.map_or_else(|| known.other_value(ty), |share| share.max(LEAST_SHARE))
}

/// The share of the rows that have one value, when nothing is known.
fn equal_share(ty: DataType) -> f64 {
    // The values of the widest decimals are more than an integer counts.
    let values = ordinals(ty).and_then(|(min, max)| max.checked_sub(min)?.checked_add(1));
    match values {
        Some(values) if values <= 200 => 1.0 / values as f64,
        _ => EQUAL_SHARE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conditions::domain::{cut_after, cut_before, point};
    use proptest::prelude::*;

    #[test]
    fn the_widest_decimals_have_an_equal_share() {
        let ty = DataType::Decimal {
            precision: 38,
            scale: 9,
        };
        assert_eq!(equal_share(ty), EQUAL_SHARE);
        assert_eq!(equal_share(DataType::Boolean), 0.5);
    }

    /// Values of a small domain, so that bounds, common values and cuts meet.
    fn value(ty: DataType, number: i64) -> Datum {
        match ty {
            DataType::Integer => Datum::Int(number - 20),
            DataType::Double => Datum::Float((number - 20) as f64 / 3.0),
            _ => Datum::Text("ab".repeat(number as usize % 3) + &"c".repeat(number as usize / 3)),
        }
    }

    const TYPES: [DataType; 3] = [DataType::Integer, DataType::Double, DataType::Varchar(None)];

    fn known() -> impl Strategy<Value = (DataType, TermStatistics)> {
        let numbers = proptest::collection::vec(0_i64..40, 0..12);
        let shares = proptest::collection::vec((0_i64..40, 0.0..0.4_f64), 0..6);
        let distinct = proptest::option::of(0_u64..1000);
        let nulls = proptest::option::of(0.0..1.0_f64);
        let ends = (any::<bool>(), 0_i64..40, 0_i64..40);
        (0..3_usize, distinct, nulls, numbers, shares, ends).prop_map(
            |(ty, distinct, null_share, bounds, common, (has_ends, a, b))| {
                let ty = TYPES[ty];
                let mut ends = [value(ty, a), value(ty, b)];
                ends.sort();
                let [min, max] = ends.map(|end| has_ends.then_some(end));
                let left = 1.0 - null_share.unwrap_or(0.0);
                let common = common
                    .into_iter()
                    .map(|(at, share)| (value(ty, at), share * left / 2.0));
                let known = TermStatistics {
                    distinct,
                    min,
                    max,
                    null_share,
                    common: CommonValues::new(common.collect()),
                    histogram: Histogram::new(bounds.into_iter().map(|at| value(ty, at)).collect()),
                };
                (ty, known)
            },
        )
    }

    fn between(ty: DataType, low: Option<i64>, high: Option<i64>) -> IntervalSet {
        let low = low.map_or(Cut::Min, |low| cut_before(ty, &value(ty, low)));
        let high = high.map_or(Cut::Max, |high| cut_after(ty, &value(ty, high)));
        IntervalSet::between(low, high)
    }

    proptest! {
        /// What lies in an interval is no more than what lies around it, and never more than all.
        #[test]
        fn shares_grow_with_their_interval(
            (ty, known) in known(),
            cuts in proptest::array::uniform4(0_i64..40),
            open in any::<[bool; 2]>(),
        ) {
            let mut cuts = cuts;
            cuts.sort_by_key(|at| value(ty, *at));
            let [a, b, c, d] = cuts;
            let inner = between(ty, Some(b), Some(c));
            let outer = between(ty, open[0].then_some(a), open[1].then_some(d));
            let share = |set: &IntervalSet| share_of_set(ty, set, Some(&known));
            // Without any idea where values lie, an interval is guessed by its form alone.
            prop_assume!(!known.histogram.is_empty() || known.min.is_some());
            prop_assert!(share(&inner) > 0.0 && share(&outer) <= 1.0);
            prop_assert!(share(&inner) <= share(&outer) + 1e-9, "{} in {}", share(&inner), share(&outer));
            let one = share(&point(ty, &value(ty, b)));
            prop_assert!(one <= share(&inner) + 1e-9, "{one} in {}", share(&inner));
        }

        /// Parts of a domain sum up to all of it, but for what each part has at least.
        #[test]
        fn shares_of_parts_sum_up(
            (ty, known) in known(),
            cuts in proptest::collection::vec(0_i64..40, 0..6),
        ) {
            prop_assume!(!known.histogram.is_empty() || known.min.is_some());
            let all = IntervalSet::not_null();
            let mut rest = all.clone();
            let mut sum = 0.0;
            let mut parts = 1;
            for cut in cuts {
                let below = IntervalSet::between(Cut::Min, cut_before(ty, &value(ty, cut)));
                let part = rest.intersect(&below);
                if !part.is_empty() {
                    sum += share_of_set(ty, &part, Some(&known));
                    parts += 1;
                }
                rest = rest.minus(&below);
            }
            if !rest.is_empty() {
                sum += share_of_set(ty, &rest, Some(&known));
            }
            let whole = share_of_set(ty, &all, Some(&known));
            let least = known.other_value(ty);
            prop_assert!(sum <= whole + f64::from(parts) * least + 1e-9, "{sum} of {whole}");
            // One value alone is not looked for in the histogram.
            prop_assert!(sum >= whole - 1e-9 || ty == DataType::Integer, "{sum} of {whole}");
            let with_null = IntervalSet::everything(true);
            prop_assert!(share_of_set(ty, &with_null, Some(&known)) <= 1.0);
            if known.null_share.is_some() {
                prop_assert!(share_of_set(ty, &with_null, Some(&known)) > 1.0 - 1e-9);
            }
        }

        /// Sets of many intervals count as the sum of these.
        #[test]
        fn many_intervals_sum_up(
            (ty, known) in known(),
            pairs in proptest::collection::vec((0_i64..40, 0_i64..4), 0..12),
        ) {
            let part = |(at, more): &(i64, i64)| between(ty, Some(*at), Some(at + more));
            let parts: Vec<IntervalSet> = pairs.iter().map(part).collect();
            let set = IntervalSet::union(&parts);
            let sum: f64 = set.intervals().iter().map(|one| share_of(one, ty, Some(&known))).sum();
            let many = share_of_many(ty, &set, Some(&known));
            prop_assert!((sum - many).abs() < 1e-5, "{sum} and {many}");
        }

        /// A common value has its own share; all common ones together lie in the whole.
        #[test]
        fn common_values_have_their_share((ty, known) in known(), at in 0_i64..40) {
            let set = point(ty, &value(ty, at));
            let share = share_of_set(ty, &set, Some(&known));
            prop_assert!(share > 0.0 && share <= 1.0);
            if let Some(counted) = known.common.share(&value(ty, at)) {
                prop_assert_eq!(share, counted.max(LEAST_SHARE));
            }
        }
    }
}
