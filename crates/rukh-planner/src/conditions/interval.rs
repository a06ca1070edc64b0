//! Sets of values of one term: sorted disjoint intervals, and NULL or not.
//!
//! Intervals end at [`Cut`]s, places *between* values, rather than at values with an edge: every
//! operation is then a comparison of cuts, and no type is needed. Where a type has a next value,
//! the place after a value is always written as the place before the next one (`domain` does it),
//! so that equal sets look equal and `[1 - 3]` touches `[4 - 6]`.
//!
//! Deliberately not here: types, and how a constant becomes a cut (`domain`).

use std::cmp::Ordering;

use rukh_keys::Datum;

/// Which side of a value a cut lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Side {
    Before,
    After,
}

/// A place between the values of a type: before all, beside one, after all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Cut {
    Min,
    At(Datum, Side),
    Max,
}

impl Cut {
    pub(crate) fn before(datum: Datum) -> Cut {
        Cut::At(datum, Side::Before)
    }

    pub(crate) fn after(datum: Datum) -> Cut {
        Cut::At(datum, Side::After)
    }

    fn rank(&self) -> u8 {
        match self {
            Cut::Min => 0,
            Cut::At(..) => 1,
            Cut::Max => 2,
        }
    }
}

impl Ord for Cut {
    fn cmp(&self, other: &Cut) -> Ordering {
        match (self, other) {
            // Nearly all comparisons of long lists are of integers.
            (Cut::At(Datum::Int(a), x), Cut::At(Datum::Int(b), y)) => a.cmp(b).then(x.cmp(y)),
            (Cut::At(a, x), Cut::At(b, y)) => a.cmp(b).then(x.cmp(y)),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Cut {
    fn partial_cmp(&self, other: &Cut) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The values between two cuts.
///
/// Invariant: `low < high`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Interval {
    pub(crate) low: Cut,
    pub(crate) high: Cut,
}

/// A set of values, NULL perhaps among them.
///
/// Invariant: intervals are sorted, disjoint, and do not touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct IntervalSet {
    intervals: Vec<Interval>,
    /// Whether NULL is in the set.
    pub(crate) null: bool,
}

impl IntervalSet {
    /// The set of nothing.
    pub(crate) fn empty() -> IntervalSet {
        IntervalSet::default()
    }

    /// The set of NULL alone.
    pub(crate) fn only_null() -> IntervalSet {
        IntervalSet {
            intervals: Vec::new(),
            null: true,
        }
    }

    /// All values but NULL.
    pub(crate) fn not_null() -> IntervalSet {
        IntervalSet::between(Cut::Min, Cut::Max)
    }

    /// All values, and NULL if a term may be NULL.
    pub(crate) fn everything(nullable: bool) -> IntervalSet {
        IntervalSet {
            null: nullable,
            ..IntervalSet::not_null()
        }
    }

    /// The values between two cuts; none if they are not in order.
    pub(crate) fn between(low: Cut, high: Cut) -> IntervalSet {
        let intervals = if low < high {
            vec![Interval { low, high }]
        } else {
            Vec::new()
        };
        IntervalSet {
            intervals,
            null: false,
        }
    }

    /// Sorts and joins intervals into a set without NULL.
    pub(crate) fn from_intervals(mut intervals: Vec<Interval>) -> IntervalSet {
        intervals.sort_by(|a, b| a.low.cmp(&b.low));
        let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            match joined.last_mut() {
                Some(last) if last.high >= interval.low => {
                    if interval.high > last.high {
                        last.high = interval.high;
                    }
                }
                _ => joined.push(interval),
            }
        }
        IntervalSet {
            intervals: joined,
            null: false,
        }
    }

    pub(crate) fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.intervals.is_empty() && !self.null
    }

    /// Whether all values are in the set, NULL not counted.
    pub(crate) fn has_all_values(&self) -> bool {
        matches!(
            self.intervals.as_slice(),
            [Interval {
                low: Cut::Min,
                high: Cut::Max
            }]
        )
    }

    /// Whether the set says nothing about a term that may (not) be NULL.
    pub(crate) fn is_everything(&self, nullable: bool) -> bool {
        self.has_all_values() && (self.null || !nullable)
    }

    /// The values in both sets: by walking both, or by looking up the few intervals of one among the
    /// many of the other.
    pub(crate) fn intersect(&self, other: &IntervalSet) -> IntervalSet {
        let null = self.null && other.null;
        let intervals = if is_far_shorter(&self.intervals, &other.intervals) {
            looked_up(&self.intervals, &other.intervals)
        } else if is_far_shorter(&other.intervals, &self.intervals) {
            looked_up(&other.intervals, &self.intervals)
        } else {
            walked(&self.intervals, &other.intervals)
        };
        IntervalSet { intervals, null }
    }

    /// Whether some value, or NULL, is in both sets.
    pub(crate) fn meets(&self, other: &IntervalSet) -> bool {
        let (few, many) = match self.intervals.len() <= other.intervals.len() {
            true => (&self.intervals, &other.intervals),
            false => (&other.intervals, &self.intervals),
        };
        let is_met = |one: &Interval| {
            let at = many.partition_point(|interval| interval.high <= one.low);
            many.get(at).is_some_and(|interval| interval.low < one.high)
        };
        (self.null && other.null) || few.iter().any(is_met)
    }

    /// Whether one interval of the set holds all values between two cuts.
    pub(crate) fn holds_between(&self, low: &Cut, high: &Cut) -> bool {
        let at = self.intervals.partition_point(|interval| interval.high <= *low);
        let holds = |interval: &Interval| interval.low <= *low && *high <= interval.high;
        self.intervals.get(at).is_some_and(holds)
    }

    /// Whether one interval of this set, and NULL if need be, holds all of the other.
    pub(crate) fn encloses(&self, other: &IntervalSet) -> bool {
        let [own] = self.intervals.as_slice() else {
            return false;
        };
        let holds = match (other.intervals.first(), other.intervals.last()) {
            (Some(first), Some(last)) => own.low <= first.low && last.high <= own.high,
            _ => true,
        };
        holds && (self.null || !other.null)
    }

    /// The values of this set that are not in the other.
    pub(crate) fn minus(&self, other: &IntervalSet) -> IntervalSet {
        self.intersect(&other.complement(!other.null))
    }

    /// The values in any of the sets.
    pub(crate) fn union<'a>(sets: impl IntoIterator<Item = &'a IntervalSet>) -> IntervalSet {
        let mut null = false;
        let mut intervals: Vec<&Interval> = Vec::new();
        for set in sets {
            null |= set.null;
            intervals.extend(&set.intervals);
        }
        intervals.sort_unstable_by(|a, b| a.low.cmp(&b.low));
        let mut joined: Vec<Interval> = Vec::with_capacity(intervals.len());
        for interval in intervals {
            match joined.last_mut() {
                Some(last) if last.high >= interval.low => {
                    if interval.high > last.high {
                        last.high = interval.high.clone();
                    }
                }
                _ => joined.push(interval.clone()),
            }
        }
        IntervalSet {
            null,
            intervals: joined,
        }
    }

    /// All values that are not in the set; NULL is in the result if `null`.
    pub(crate) fn complement(&self, null: bool) -> IntervalSet {
        let mut intervals = Vec::with_capacity(self.intervals.len() + 1);
        let mut low = Cut::Min;
        for interval in &self.intervals {
            if low < interval.low {
                intervals.push(Interval {
                    low,
                    high: interval.low.clone(),
                });
            }
            low = interval.high.clone();
        }
        if low < Cut::Max {
            intervals.push(Interval { low, high: Cut::Max });
        }
        IntervalSet { intervals, null }
    }

    pub(crate) fn is_subset(&self, other: &IntervalSet) -> bool {
        if self.null && !other.null {
            return false;
        }
        if is_far_shorter(&self.intervals, &other.intervals) {
            return self.intervals.iter().all(|inner| {
                let at = other
                    .intervals
                    .partition_point(|interval| interval.high < inner.high);
                other
                    .intervals
                    .get(at)
                    .is_some_and(|interval| interval.low <= inner.low)
            });
        }
        let mut outer = other.intervals.iter().peekable();
        self.intervals.iter().all(|inner| {
            while outer.next_if(|interval| interval.high < inner.high).is_some() {}
            outer.peek().is_some_and(|interval| interval.low <= inner.low)
        })
    }

    /// The set without its holes; with NULL in it everything up to NULL belongs to it, since NULL
    /// lies behind the greatest value.
    pub(crate) fn hull(&self) -> IntervalSet {
        let (Some(first), Some(last)) = (self.intervals.first(), self.intervals.last()) else {
            return self.clone();
        };
        let high = if self.null { Cut::Max } else { last.high.clone() };
        let intervals = vec![Interval {
            low: first.low.clone(),
            high,
        }];
        IntervalSet {
            intervals,
            null: self.null,
        }
    }

    /// Splits the set into the intervals that pass a test, NULL with them, and the others.
    pub(crate) fn partition(&self, test: impl Fn(&Interval) -> bool) -> (IntervalSet, IntervalSet) {
        let (passing, others) = self.intervals.iter().cloned().partition(test);
        (
            IntervalSet {
                intervals: passing,
                null: self.null,
            },
            IntervalSet {
                intervals: others,
                null: false,
            },
        )
    }

    /// Joins neighbouring intervals so that at most `count` stay: the set may only grow.
    pub(crate) fn coarsened(&self, count: usize) -> IntervalSet {
        let size = self.intervals.len().div_ceil(count.max(1)).max(1);
        let join = |group: &[Interval]| Interval {
            low: group[0].low.clone(),
            high: group[group.len() - 1].high.clone(),
        };
        let intervals = self.intervals.chunks(size).map(join).collect();
        IntervalSet {
            intervals,
            null: self.null,
        }
    }
}

/// Whether looking up each of the few among the many is less work than walking both.
fn is_far_shorter(few: &[Interval], many: &[Interval]) -> bool {
    few.len().saturating_mul(8) < many.len()
}

/// The common parts of two lists, by walking both.
fn walked(left: &[Interval], right: &[Interval]) -> Vec<Interval> {
    let (mut left, mut right) = (left.iter(), right.iter());
    let (mut a, mut b) = (left.next(), right.next());
    let mut intervals = Vec::new();
    while let (Some(x), Some(y)) = (a, b) {
        push_common(x, y, &mut intervals);
        match x.high <= y.high {
            true => a = left.next(),
            false => b = right.next(),
        }
    }
    intervals
}

/// The common parts of two lists, by looking up each of the few.
fn looked_up(few: &[Interval], many: &[Interval]) -> Vec<Interval> {
    let mut intervals = Vec::new();
    for one in few {
        let first = many.partition_point(|interval| interval.high <= one.low);
        let meeting = many[first..]
            .iter()
            .take_while(|interval| interval.low < one.high);
        meeting.for_each(|interval| push_common(one, interval, &mut intervals));
    }
    intervals
}

fn push_common(a: &Interval, b: &Interval, into: &mut Vec<Interval>) {
    let low = (&a.low).max(&b.low);
    let high = (&a.high).min(&b.high);
    if low < high {
        into.push(Interval {
            low: low.clone(),
            high: high.clone(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of the integers between pairs of bounds: `(1, 4)` is 1, 2, 3.
    fn set(pairs: &[(i64, i64)]) -> IntervalSet {
        let cut = |at: i64| Cut::before(Datum::Int(at));
        let interval = |(low, high): &(i64, i64)| Interval {
            low: cut(*low),
            high: cut(*high),
        };
        IntervalSet::from_intervals(pairs.iter().map(interval).collect())
    }

    #[test]
    fn touching_intervals_join() {
        assert_eq!(set(&[(4, 7), (1, 4), (2, 3)]), set(&[(1, 7)]));
        assert_ne!(set(&[(1, 3), (4, 7)]), set(&[(1, 7)]));
    }

    #[test]
    fn intersection_keeps_common_values() {
        assert_eq!(
            set(&[(1, 5), (8, 20)]).intersect(&set(&[(3, 9), (10, 12)])),
            set(&[(3, 5), (8, 9), (10, 12)])
        );
        assert!(set(&[(1, 3)]).intersect(&set(&[(3, 9)])).is_empty());
    }

    #[test]
    fn few_are_looked_up_among_many() {
        let many: Vec<(i64, i64)> = (0..100).map(|n| (n * 10, n * 10 + 5)).collect();
        let (few, many) = (set(&[(3, 22), (27, 29), (990, 2000)]), set(&many));
        let both = set(&[(3, 5), (10, 15), (20, 22), (990, 995)]);
        assert_eq!(few.intersect(&many), both);
        assert_eq!(many.intersect(&few), both);
        assert!(both.is_subset(&many) && !few.is_subset(&many));
    }

    #[test]
    fn complement_twice_is_the_set() {
        let some = set(&[(1, 5), (8, 20)]);
        assert_eq!(some.complement(false).complement(false), some);
        assert!(IntervalSet::empty().complement(false).has_all_values());
        assert!(IntervalSet::not_null().complement(false).is_empty());
    }

    #[test]
    fn subset_looks_at_every_interval_and_null() {
        assert!(set(&[(1, 3), (8, 9)]).is_subset(&set(&[(0, 3), (5, 10)])));
        assert!(!set(&[(1, 3), (4, 9)]).is_subset(&set(&[(0, 3), (5, 10)])));
        assert!(!IntervalSet::only_null().is_subset(&IntervalSet::not_null()));
        assert!(IntervalSet::empty().is_subset(&IntervalSet::empty()));
    }
}
