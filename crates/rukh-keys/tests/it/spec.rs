//! The examples of `docs/key-encoding.md`, so that the specification holds.
//!
//! Every table there whose header is `layout | key | bytes` is checked both ways, and every one
//! with the header `layout | span | range` against the ranges made.

use crate::notation::{Example, parse_key, parse_layout};
use rukh_keys::{Datum, Edge, KeyLayout, Span};

const SPECIFICATION: &str = include_str!("../../../../docs/key-encoding.md");

#[test]
fn the_examples_of_the_specification_hold() {
    let rows = table_rows("| layout | key | bytes |");
    assert!(rows.len() > 30, "the specification has an example per type");
    for [layout, key, bytes] in rows {
        Example::new(&layout, &key, &bytes).check(&format!("{layout} {key}"));
    }
}

#[test]
fn the_ranges_of_the_specification_hold() {
    let rows = table_rows("| layout | span | range |");
    assert!(rows.len() > 5, "the specification has examples of ranges");
    for [layout, span, range] in rows {
        let layout = parse_layout(&layout);
        let parsed = parse_span(&layout, &span);
        assert_eq!(parsed.display(&layout).to_string(), span);
        assert_eq!(
            layout.range(&parsed, Some(0)).to_string(),
            range,
            "{span} on {layout:?}"
        );
    }
}

/// The cells of all tables with a header, without the backquotes around them.
fn table_rows(header: &str) -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    let mut inside = false;
    for line in SPECIFICATION.lines() {
        if !line.starts_with('|') || line == header {
            inside = line == header;
        } else if inside && !line.starts_with("|-") {
            rows.push(cells(line));
        }
    }
    rows
}

fn cells(line: &str) -> [String; 3] {
    let cells: Vec<String> = line
        .trim_matches('|')
        .split('|')
        .map(|cell| cell.trim().trim_matches('`').to_owned())
        .collect();
    cells.try_into().unwrap_or_else(|_| panic!("three cells: {line}"))
}

/// Reads `[/1/5 - /1]`.
fn parse_span(layout: &KeyLayout, text: &str) -> Span {
    let edge = |bracket: char| {
        if "[]".contains(bracket) {
            Edge::Included
        } else {
            Edge::Excluded
        }
    };
    let (first, last) = (
        text.chars().next().expect("a bracket"),
        text.chars().last().expect("a bracket"),
    );
    let (start, end) = text[1..text.len() - 1].split_once(" - ").expect("two boundaries");
    Span {
        start: parse_prefix(layout, start),
        start_edge: edge(first),
        end: parse_prefix(layout, end),
        end_edge: edge(last),
    }
}

fn parse_prefix(layout: &KeyLayout, text: &str) -> Vec<Datum> {
    let columns = layout.columns()[..text.matches('/').count()].to_vec();
    parse_key(&KeyLayout::new(columns, None), text)
}
