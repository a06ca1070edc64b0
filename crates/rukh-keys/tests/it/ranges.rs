//! Properties of key ranges: exactly the keys of a span, in every bucket; merging keeps keys.

use crate::support::{Row, any_layout, any_rows, any_value, config};
use proptest::prelude::*;
use rukh_keys::{DataType, Datum, Edge, KeyColumn, KeyLayout, KeyRange, SortOrder, Span, prefix_successor};

fn any_edge() -> BoxedStrategy<Edge> {
    prop_oneof![Just(Edge::Included), Just(Edge::Excluded)].boxed()
}

/// A boundary cut from a row.
fn cut(row: &Row, at: &prop::sample::Index) -> Row {
    row[..at.index(row.len() + 1)].to_vec()
}

/// A span with boundaries cut from rows, in either order.
fn span_of(rows: &[Row], cuts: &[prop::sample::Index; 2], edges: [Edge; 2]) -> Span {
    let [start_edge, end_edge] = edges;
    Span {
        start: cut(&rows[0], &cuts[0]),
        start_edge,
        end: cut(&rows[1], &cuts[1]),
        end_edge,
    }
}

fn layout_and_span() -> impl Strategy<Value = (KeyLayout, Vec<Row>, Span)> {
    let cuts = any::<[prop::sample::Index; 2]>();
    any_layout()
        .prop_flat_map(move |layout| {
            (
                Just(layout.clone()),
                any_rows(&layout, 6),
                cuts.clone(),
                [any_edge(), any_edge()],
                [any_wide(&layout), any_wide(&layout)],
            )
        })
        .prop_map(|(layout, rows, cuts, edges, wide)| {
            let mut span = span_of(&rows, &cuts, edges);
            for (bound, wide) in [&mut span.start, &mut span.end].into_iter().zip(wide) {
                if let Some((column, value)) = wide
                    && let Some(datum) = bound.get_mut(column)
                {
                    *datum = value;
                }
            }
            (layout, rows, span)
        })
}

/// A value of one column for a bound, perhaps one that no key has room for.
fn any_wide(layout: &KeyLayout) -> BoxedStrategy<Option<(usize, Datum)>> {
    let columns = layout.columns().to_vec();
    let value = (0..columns.len()).prop_flat_map(move |at| (Just(at), any_value(columns[at].ty)));
    prop::option::weighted(0.3, value).boxed()
}

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn a_range_holds_exactly_the_keys_of_its_span((layout, rows, span) in layout_and_span()) {
        for row in &rows {
            let key = layout.encode(row).unwrap();
            let range = layout.range(&span, layout.bucket(row));
            prop_assert_eq!(
                range.contains(&key),
                span.contains(&layout, row),
                "{} in {} of {}", layout.display(row), span.display(&layout), range
            );
        }
    }

    #[test]
    fn a_row_lies_in_the_range_of_one_bucket_only((layout, rows, span) in layout_and_span()) {
        let ranges = layout.ranges(&span);
        prop_assert!(ranges.windows(2).all(|pair| pair[0].limit.as_ref().is_some_and(|l| *l <= pair[1].start) || pair[1].is_empty()));
        for row in &rows {
            let key = layout.encode(row).unwrap();
            let holding = ranges.iter().filter(|range| range.contains(&key)).count();
            prop_assert_eq!(holding, usize::from(span.contains(&layout, row)));
        }
    }

    #[test]
    fn a_point_span_holds_no_other_key((layout, rows, _) in layout_and_span()) {
        let span = Span::prefix(rows[0].clone());
        let range = layout.range(&span, layout.bucket(&rows[0]));
        for row in &rows {
            prop_assert_eq!(range.contains(&layout.encode(row).unwrap()), *row == rows[0]);
        }
    }

    #[test]
    fn merging_keeps_the_keys(ends in proptest::collection::vec((0_u8..20, proptest::option::of(0_u8..20)), 0..8)) {
        let ranges: Vec<KeyRange> = ends.into_iter()
            .map(|(start, limit)| KeyRange { start: vec![start], limit: limit.map(|limit| vec![limit]) })
            .collect();
        let merged = KeyRange::merge(ranges.clone());
        for key in 0_u8..21 {
            let before = ranges.iter().any(|range| range.contains(&[key]));
            prop_assert_eq!(merged.iter().filter(|range| range.contains(&[key])).count(), usize::from(before));
        }
        prop_assert!(merged.iter().all(|range| !range.is_empty()));
        prop_assert!(merged.windows(2).all(|pair| pair[0].limit.as_ref().is_some_and(|l| *l < pair[1].start)));
    }

    #[test]
    fn intersecting_keeps_the_common_keys(a in any::<(u8, Option<u8>)>(), b in any::<(u8, Option<u8>)>(), key in any::<u8>()) {
        let range = |(start, limit): (u8, Option<u8>)| KeyRange { start: vec![start], limit: limit.map(|l| vec![l]) };
        let (a, b) = (range(a), range(b));
        prop_assert_eq!(a.intersect(&b).contains(&[key]), a.contains(&[key]) && b.contains(&[key]));
    }

    #[test]
    fn a_prefix_successor_is_the_next_key_without_the_prefix(prefix: Vec<u8>, other: Vec<u8>) {
        let behind = |successor: &[u8]| other.as_slice() >= successor;
        match prefix_successor(&prefix) {
            Some(successor) => prop_assert_eq!(other > prefix && !other.starts_with(&prefix), behind(&successor)),
            None => prop_assert!(prefix.iter().all(|byte| *byte == 0xff)),
        }
    }
}

/// A span as its printed form with the range it must give: (column kinds, span, range).
#[test]
fn ranges_of_the_known_hard_cases() {
    let column = |ty, order| KeyColumn {
        ty,
        order,
        nullable: false,
    };
    let int = column(DataType::Integer, SortOrder::Asc);
    let text = column(DataType::Varchar(None), SortOrder::Asc);
    let text_desc = column(DataType::Varchar(None), SortOrder::Desc);
    let bit = column(DataType::Boolean, SortOrder::Asc);
    let nullable = KeyColumn {
        nullable: true,
        ..column(DataType::TinyInt, SortOrder::Asc)
    };
    let word = |text: &str| Datum::Text(text.into());
    let (yes, no) = (Datum::Boolean(true), Datum::Boolean(false));
    let span = |start: &[Datum], start_edge, end: &[Datum], end_edge| Span {
        start: start.to_vec(),
        start_edge,
        end: end.to_vec(),
        end_edge,
    };
    use Edge::{Excluded, Included};
    let cases = [
        // A raw last column: the value is the rest of the key, so the next key is one zero byte longer.
        (
            vec![text],
            span(&[word("a")], Included, &[], Included),
            "[/'a' - ]",
            "[61 - ]",
        ),
        (
            vec![text],
            span(&[word("a")], Excluded, &[word("b")], Included),
            "(/'a' - /'b']",
            "[6100 - 6200)",
        ),
        (
            vec![int, text],
            Span::prefix(vec![Datum::Int(1), word("a")]),
            "[/1/'a' - /1/'a']",
            "[8000000161 - 800000016100)",
        ),
        (
            vec![int, text],
            Span::prefix(vec![Datum::Int(1)]),
            "[/1 - /1]",
            "[80000001 - 80000002)",
        ),
        // In a terminated column 'a' is not the prefix of 'aa'.
        (
            vec![text, int],
            Span::prefix(vec![word("a")]),
            "[/'a' - /'a']",
            "[610001 - 610002)",
        ),
        (
            vec![text_desc],
            span(&[], Included, &[word("a")], Excluded),
            "[ - /'a')",
            "[ - 9efffe)",
        ),
        // Booleans share bytes: prefixes end inside of them.
        (
            vec![bit, bit, bit],
            Span::prefix(vec![yes.clone(), no.clone()]),
            "[/true/false - /true/false]",
            "[80 - c0)",
        ),
        (
            vec![bit, bit, bit],
            Span::prefix(vec![yes.clone()]),
            "[/true - /true]",
            "[80 - ]",
        ),
        (
            vec![bit, bit],
            span(&[no], Excluded, &[], Included),
            "(/false - ]",
            "[80 - ]",
        ),
        // NULL is a datum of spans.
        (
            vec![nullable],
            Span::prefix(vec![Datum::Null]),
            "[/NULL - /NULL]",
            "[0200 - 0201)",
        ),
        (
            vec![nullable],
            span(&[], Included, &[Datum::Null], Excluded),
            "[ - /NULL)",
            "[ - 0200)",
        ),
        // The end of the domain.
        (
            vec![int],
            span(&[Datum::Int(i32::MAX.into())], Excluded, &[], Included),
            "(/2147483647 - ]",
            "[ - )",
        ),
    ];
    for (columns, span, printed, range) in cases {
        let layout = KeyLayout::new(columns, None);
        assert_eq!(span.display(&layout).to_string(), printed);
        assert_eq!(layout.range(&span, None).to_string(), range, "{printed}");
    }
}

#[test]
fn a_datum_outside_of_its_type_widens() {
    let layout = KeyLayout::new(vec![crate::support::ascending(DataType::TinyInt); 2], None);
    let span = Span::prefix(vec![Datum::Int(1), Datum::Int(1000)]);
    assert_eq!(
        layout.range(&span, None),
        layout.range(&Span::prefix(vec![Datum::Int(1)]), None)
    );
}
