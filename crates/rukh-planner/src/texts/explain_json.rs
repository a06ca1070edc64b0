//! EXPLAIN as JSON, for programs.
//!
//! One object per path; every member is always there:
//!
//! | member         | holds                                                                        |
//! |----------------|------------------------------------------------------------------------------|
//! | `kind`         | `empty`, `point lookup`, `skip scan`, `range scan`, `full scan`, `loose scan`, `columnar scan` |
//! | `table`        | name of the table                                                            |
//! | `index`        | name of the index read, or null                                              |
//! | `key`          | array of `{"expression", "descending"}`                                      |
//! | `ranges`       | array of `{"start", "start_included", "end", "end_included"}`: keys as text |
//! | `buckets`      | array of bucket numbers, or null for a key without salt                      |
//! | `byte_ranges`  | number of ranges over bytes, all buckets counted                             |
//! | `masked`       | array of `{"condition", "offset", "width", "bit"}`; bytes; width and bit may be null |
//! | `residual_index` | array of conditions checked on the index entry before the lookup            |
//! | `residual`     | array of conditions checked on decoded values                                |
//! | `covering`     | whether no lookup is needed                                                  |
//! | `lookup_columns` | array of column names                                                       |
//! | `group`        | null, or `{"by", "rows"}`: what distinguishes groups, `first`, `last` or `both` |
//! | `merge`        | null, or `{"by", "runs"}`: what distinguishes the runs that are merged, their number |
//! | `within`       | null, or `{"kind", "index", "ranges", "masked", "residual", "estimate"}` of the scan that rows have to be among |
//! | `reverse`      | whether it is read backwards                                                 |
//! | `order`        | array of `{"expression", "descending", "nulls_first"}`: the order delivered  |
//! | `ordered`      | whether that is the wanted order                                             |
//! | `columnar`     | null, or `{"tests", "columns"}`: conditions on encoded columns, names of columns read |
//! | `estimate`     | `{"keys", "seeks", "lookups", "rows", "cost_us"}`                            |
//! | `actual`       | null, or the members of [`Actuals`], `elapsed` as `elapsed_us` |
//!
//! Where the number of rows of a table is read, which is kept: `kind` (`row count`), `table` and `actual`.
//!
//! An open end of a range is empty. Ranges are cut off behind the first 1,000;
//! `byte_ranges` is their number.

use rukh_catalog::Table;
use rukh_keys::{Edge, SortOrder, Span};
use serde_json::{Value, json};

use crate::inputs::query::{Query, Source};
use crate::plans::access::AccessPath;
use crate::texts::explain::{Actuals, group_names, key_elements, run_names};

/// Most ranges that are listed.
const RANGES_LISTED: usize = 1_000;

/// Returns a path of a query as EXPLAIN (FORMAT JSON) shows it; `docs/explain.md` lists the members.
pub fn explain_json(query: &Query<'_>, path: &AccessPath, actuals: Option<&Actuals>) -> Value {
    let conditions =
        |positions: &[usize]| -> Vec<String> { positions.iter().map(|at| query.conjunct_sql(*at)).collect() };
    let column = |column: &rukh_catalog::ColumnId| query.table.column_name(*column).to_string();
    json!({
        "kind": path.kind_name(),
        "table": query.table.name,
        "index": index_name(query, path.source),
        "key": key_elements(query, path.source).iter().map(element).collect::<Vec<_>>(),
        "ranges": path.spans.iter().take(RANGES_LISTED).map(|span| range(span, path)).collect::<Vec<_>>(),
        "buckets": path.buckets,
        "byte_ranges": path.ranges.len(),
        "masked": path.masked_tests.iter().map(masked).collect::<Vec<_>>(),
        "residual_index": conditions(&path.residual_index),
        "residual": conditions(&path.residual),
        "covering": path.covering,
        "lookup_columns": path.lookup_columns.iter().map(column).collect::<Vec<_>>(),
        "group": path.loose.as_ref().map(|loose| group(query, path, loose.both_ends)),
        "merge": path.merge.as_ref().map(|merge| json!({
            "by": run_names(query, path, merge),
            "runs": merge.runs.len(),
        })),
        "within": path.within.as_ref().map(|within| json!({
            "kind": within.path.kind_name(),
            "index": index_name(query, within.path.source),
            "ranges": within.path.spans.iter().take(RANGES_LISTED).map(|span| range(span, &within.path)).collect::<Vec<_>>(),
            "masked": within.path.masked_tests.iter().map(masked).collect::<Vec<_>>(),
            "residual": conditions(&within.path.residual),
            "estimate": estimate(&within.path),
        })),
        "reverse": path.reverse,
        "order": path.order.iter().map(|key| order_key(query, key)).collect::<Vec<_>>(),
        "ordered": path.ordered,
        "columnar": path.columnar.as_ref().map(|read| json!({
            "tests": read.tests.iter().map(|test| &test.sql).collect::<Vec<_>>(),
            "columns": read.columns.iter().map(column).collect::<Vec<_>>(),
        })),
        "estimate": estimate(path),
        "actual": actuals.map(actual),
    })
}

/// Returns what EXPLAIN (FORMAT JSON) shows where the number of rows of a table is read: `kind`, `table` and `actual`.
pub fn row_count_json(table: &Table, actuals: Option<&Actuals>) -> Value {
    json!({ "kind": "row count", "table": table.name, "actual": actuals.map(actual) })
}

/// The name of the index that a source is.
pub(crate) fn index_name(query: &Query<'_>, source: Source) -> Option<String> {
    match source {
        Source::Table => None,
        Source::Index(id) => query.table.index(id).map(|index| index.name.clone()),
    }
}

/// The groups of a loose scan.
fn group(query: &Query<'_>, path: &AccessPath, both_ends: bool) -> Value {
    let rows = match (both_ends, path.reverse) {
        (true, _) => "both",
        (false, false) => "first",
        (false, true) => "last",
    };
    json!({ "by": group_names(query, path), "rows": rows })
}

fn element((sql, order): &(String, SortOrder)) -> Value {
    json!({ "expression": sql, "descending": *order == SortOrder::Desc })
}

fn range(span: &Span, path: &AccessPath) -> Value {
    json!({
        "start": path.layout.display(&span.start).to_string(),
        "start_included": span.start_edge == Edge::Included,
        "end": path.layout.display(&span.end).to_string(),
        "end_included": span.end_edge == Edge::Included,
    })
}

fn masked(test: &crate::bounds::masked::MaskedTest) -> Value {
    json!({
        "condition": test.sql,
        "behind": test.behind,
        "offset": test.field.offset,
        "width": test.field.width,
        "bit": test.field.bit,
    })
}

fn order_key(query: &Query<'_>, key: &crate::inputs::query::OrderKey) -> Value {
    json!({
        "expression": query.term_sql(key.term),
        "descending": key.descending,
        "nulls_first": key.nulls_first,
    })
}

pub(crate) fn estimate(path: &AccessPath) -> Value {
    let estimate = &path.estimate;
    json!({
        "keys": estimate.keys,
        "seeks": estimate.seeks,
        "lookups": estimate.lookups,
        "rows": estimate.rows,
        "cost_us": estimate.cost,
    })
}

fn actual(actuals: &Actuals) -> Value {
    let counters = &actuals.counters;
    json!({
        "ranges": counters.ranges,
        "seeks": counters.seeks,
        "keys_examined": counters.keys_examined,
        "masked_misses": counters.masked_misses,
        "lookups": counters.lookups,
        "rows": counters.rows,
        "bytes_read": counters.bytes_read,
        "blocks_read": counters.blocks_read,
        "blocks_pruned": counters.blocks_pruned,
        "blocks_told": counters.blocks_told,
        "delta_rows": counters.delta_rows,
        "elapsed_us": actuals.elapsed.as_micros() as u64,
    })
}
