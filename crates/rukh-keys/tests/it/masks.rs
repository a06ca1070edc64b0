//! Masked compare = decoded compare, on random layouts, rows and tests of several columns.

use crate::support::{Row, any_layout, any_rows, any_value, ascending, config};
use proptest::collection::vec;
use proptest::prelude::*;
use rukh_keys::{Bound, DataType, Datum, Edge, FieldTest, KeyColumn, KeyLayout, MaskedCompare, SortOrder};

/// One end of an interval of values, owned.
type End = Option<(Datum, Edge)>;

/// A test of a column: intervals of values, and whether NULL passes.
#[derive(Debug, Clone)]
pub struct Test {
    column: usize,
    intervals: Vec<(End, End)>,
    nulls: bool,
}

impl Test {
    /// Decides on the decoded row.
    pub fn matches(&self, row: &Row) -> bool {
        let value = &row[self.column];
        if value.is_null() {
            return self.nulls;
        }
        self.intervals.iter().any(|(low, high)| {
            let above = low
                .as_ref()
                .is_none_or(|(low, edge)| low < value || (low == value && *edge == Edge::Included));
            let below = high
                .as_ref()
                .is_none_or(|(high, edge)| value < high || (high == value && *edge == Edge::Included));
            above && below
        })
    }

    pub fn field_test(&self, layout: &KeyLayout) -> Option<FieldTest> {
        fn bound(end: &End) -> Bound<'_> {
            end.as_ref().map(|(datum, edge)| (datum, *edge))
        }
        let intervals: Vec<_> = self
            .intervals
            .iter()
            .map(|(low, high)| (bound(low), bound(high)))
            .collect();
        layout.field_test(self.column, &intervals, self.nulls)
    }
}

fn any_end(column: KeyColumn, values: Vec<Datum>) -> BoxedStrategy<End> {
    let value = prop_oneof![proptest::sample::select(values), any_value(column.ty)];
    let edge = prop_oneof![2 => Just(Edge::Included), 1 => Just(Edge::Excluded)];
    proptest::option::weighted(0.8, (value, edge)).boxed()
}

/// Intervals with ends in or out of order, points among them.
fn any_test(layout: &KeyLayout, rows: &[Row], column: usize) -> BoxedStrategy<Test> {
    let kind = layout.columns()[column];
    let mut values: Vec<Datum> = rows
        .iter()
        .map(|row| row[column].clone())
        .filter(|v| !v.is_null())
        .collect();
    let nulls = any::<bool>();
    if values.is_empty() {
        return nulls
            .prop_map(move |nulls| Test {
                column,
                intervals: vec![(None, None)],
                nulls,
            })
            .boxed();
    }
    values.sort();
    values.dedup();
    let point = proptest::sample::select(values.clone()).prop_map(|value| {
        let end = Some((value, Edge::Included));
        (end.clone(), end)
    });
    let interval = (any_end(kind, values.clone()), any_end(kind, values));
    let intervals = prop_oneof![
        2 => vec(point.clone(), 1..2),
        1 => vec(point, 2..6),
        2 => vec(interval.clone(), 1..2),
        1 => vec(interval, 0..4),
    ];
    (intervals, nulls)
        .prop_map(move |(intervals, nulls)| Test {
            column,
            intervals,
            nulls,
        })
        .boxed()
}

/// A layout, rows of it, and tests on some columns, sometimes two on one column.
pub fn layout_rows_and_tests(count: usize) -> BoxedStrategy<(KeyLayout, Vec<Row>, Vec<Test>)> {
    any_layout()
        .prop_flat_map(move |layout| (Just(layout.clone()), any_rows(&layout, count)))
        .prop_flat_map(|(layout, rows)| {
            let columns = layout.columns().len();
            let (layout_of, rows_of) = (layout.clone(), rows.clone());
            let one = (0..columns).prop_flat_map(move |column| any_test(&layout_of, &rows_of, column));
            (Just(layout), Just(rows), vec(one, 1..5))
        })
        .boxed()
}

/// The tests that can be made on key bytes, and the program of them.
pub fn masked(layout: &KeyLayout, tests_of: Vec<Test>) -> (Vec<Test>, MaskedCompare) {
    let (tests_of, tests): (Vec<_>, Vec<_>) = tests_of
        .into_iter()
        .filter_map(|one| one.field_test(layout).map(|test| (one, test)))
        .unzip();
    (tests_of, MaskedCompare::new(tests))
}

proptest! {
    #![proptest_config(config(600))]

    #[test]
    fn masked_compare_is_decoded_compare((layout, rows, tests_of) in layout_rows_and_tests(8)) {
        for one in &tests_of {
            prop_assert!(one.field_test(&layout).is_some());
        }
        let (tests_of, masked) = masked(&layout, tests_of);
        for row in &rows {
            let key = layout.encode(row).unwrap();
            prop_assert_eq!(masked.matches(&key), tests_of.iter().all(|one| one.matches(row)), "{}", layout.display(row));
            for (one, test) in tests_of.iter().map(|one| (one, one.field_test(&layout).unwrap())) {
                prop_assert_eq!(test.matches(&key), one.matches(row), "{} at {}", layout.display(row), test);
            }
        }
    }
}

#[test]
fn tests_print_their_place_and_bytes() {
    let int = ascending(DataType::Integer);
    let five = Datum::Int(5);
    let at_least_five: (Bound<'_>, Bound<'_>) = (Some((&five, Edge::Included)), None);
    let shown = |column: KeyColumn, interval, nulls| {
        let layout = KeyLayout::new(vec![int, column], None);
        layout
            .field_test(1, &[interval], nulls)
            .map(|test| test.to_string())
    };
    let descending = KeyColumn {
        order: SortOrder::Desc,
        ..int
    };
    assert_eq!(
        shown(int, at_least_five, false).unwrap(),
        "bytes 4..8 in 80000005 - ffffffff"
    );
    assert_eq!(
        shown(descending, at_least_five, false).unwrap(),
        "bytes 4..8 in 00000000 - 7ffffffa"
    );
    let one = Datum::Int(1);
    let equal = (Some((&one, Edge::Included)), Some((&one, Edge::Included)));
    let small = KeyColumn {
        ty: DataType::SmallInt,
        nullable: true,
        ..int
    };
    assert_eq!(
        shown(small, equal, true).unwrap(),
        "bytes 4..7 in 018001, 020000 - 02ffff"
    );
    let yes = Datum::Boolean(true);
    let equal = (Some((&yes, Edge::Included)), Some((&yes, Edge::Included)));
    assert_eq!(
        shown(ascending(DataType::Boolean), equal, false).unwrap(),
        "byte 4 bit 0 in 1"
    );
    // Bounds that are no values of the column give no test.
    assert_eq!(shown(int, equal, false), None);
    assert_eq!(
        shown(int, (Some((&Datum::Null, Edge::Included)), None), false),
        None
    );
    let great = Datum::Int(1 << 40);
    assert_eq!(shown(int, (None, Some((&great, Edge::Included))), false), None);
}

#[test]
fn without_tests_every_key_matches() {
    let masked = MaskedCompare::new(Vec::new());
    assert!(masked.is_empty() && masked.matches(b"") && masked.matches(b"any"));
    assert_eq!(masked, MaskedCompare::default());
}
