//! EXPLAIN as text.
//!
//! ```text
//! range scan on index t@by_period
//!   key        period ASC, system_id ASC, user_id ASC
//!   ranges     [/201510 - /201511]
//!   residual   user_id = 'dave'  (before the lookup)
//!              minutes > 5
//!   lookup     t (minutes)
//!   order      period, system_id
//!   estimate   10000 keys, 50 lookups, 50 rows
//! ```
//!
//! What is read again and again, each time for other values of some key columns, says so instead of
//! ranges: see [`explain_lookup_text`].
//!
//! A line that has nothing to say is left out. Behind `ranges` stand `buckets` for a salted key, in
//! which the ranges are read, and `masked`. A loose scan has `group`: what distinguishes groups, and which
//! row is read of each; where ranges are merged in order, `merge` shows by what they differ. `residual` before a lookup is checked on the index entry
//! and says so. `within` is another scan, which gives the primary keys of the rows that are to be read. ANALYZE appends `actual` and `time`.

use std::fmt::Write;
use std::time::Duration;

use rukh_catalog::{KeyElement, Table};
use rukh_keys::{ScanCounters, SortOrder};

use crate::inputs::query::{OrderKey, Query, Source};
use crate::plans::access::Merge;
use crate::plans::access::Within;
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::columnar::ColumnarRead;

/// Most ranges that are written.
const RANGES_SHOWN: usize = 8;

/// What running a path did, for EXPLAIN ANALYZE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Actuals {
    /// What was read.
    pub counters: ScanCounters,
    /// Time that reading took, of all threads together.
    pub elapsed: Duration,
}

/// Writes a path of a query as EXPLAIN shows it, each line ended; with `actuals` as EXPLAIN ANALYZE.
pub fn explain_text(query: &Query<'_>, path: &AccessPath, actuals: Option<&Actuals>) -> String {
    text_of(query, path, &range_texts(path), actuals)
}

/// Writes a path that is read for one value of `keys` after another; it was planned for any one of them.
///
/// ```text
/// point lookup on table customers
///   key        id ASC
///   ranges     1 for each customer_id
///   estimate   1 keys, 1 rows
/// ```
pub fn explain_lookup_text(
    query: &Query<'_>,
    path: &AccessPath,
    keys: &[String],
    actuals: Option<&Actuals>,
) -> String {
    let ranges = format!("{} for each {}", path.ranges.len(), keys.join(", "));
    text_of(query, path, &[ranges], actuals)
}

/// Writes that the number of rows of a table is read, which is kept with every commit.
///
/// ```text
/// row count of table logs
///   kept       with every commit
/// ```
pub fn row_count_text(table: &Table, actuals: Option<&Actuals>) -> String {
    let mut text = format!(
        "row count of table {}\n  {:<10} with every commit\n",
        table.name, "kept"
    );
    if let Some(actuals) = actuals {
        let _ = writeln!(text, "  {:<10} {}", "actual", actual_text(actuals));
        let _ = writeln!(text, "  {:<10} {}", "time", time_text(actuals));
    }
    text
}

/// Writes what a scan came to read when it ran, as lines that follow those of [`explain_text`].
///
/// ```text
///   narrowed   skip scan on table orders
///              [/7 - /7]
///              [/9 - /9]
/// ```
pub fn narrowed_text(query: &Query<'_>, path: &AccessPath) -> String {
    let mut text = format!(
        "  {:<10} {} on {}\n",
        "narrowed",
        path.kind_name(),
        scanned(query, path)
    );
    let tests = masked_texts(path)
        .into_iter()
        .map(|test| format!("masked {}", test.trim_end()));
    for part in range_texts(path).into_iter().chain(tests) {
        let _ = writeln!(text, "  {:<10} {part}", "");
    }
    text
}

fn text_of(query: &Query<'_>, path: &AccessPath, ranges: &[String], actuals: Option<&Actuals>) -> String {
    let mut text = format!("{} on {}\n", path.kind_name(), scanned(query, path));
    let mut line = |word: &str, rest: &str| {
        // Writing into a String does not fail.
        let _ = writeln!(text, "  {word:<10} {rest}");
    };
    line("key", &key_text(query, path.source));
    for (at, range) in ranges.iter().enumerate() {
        line(if at == 0 { "ranges" } else { "" }, range);
    }
    if let Some(buckets) = bucket_text(path) {
        line("buckets", &buckets);
    }
    for (at, test) in masked_texts(path).iter().enumerate() {
        line(if at == 0 { "masked" } else { "" }, test);
    }
    for (at, check) in residual_texts(query, path).iter().enumerate() {
        line(if at == 0 { "residual" } else { "" }, check);
    }
    if let Some(read) = path.columnar.as_ref().filter(|_| path.kind != ScanKind::Empty) {
        line("columns", &columns_text(query, read));
    }
    if let Some(within) = &path.within {
        for (at, part) in within_texts(query, within).iter().enumerate() {
            line(if at == 0 { "within" } else { "" }, part);
        }
    }
    if !path.covering && path.kind != ScanKind::Empty {
        line("lookup", &lookup_text(query, path));
    }
    if let Some(group) = group_text(query, path) {
        line("group", &group);
    }
    if let Some(merge) = &path.merge {
        line("merge", &merge_text(query, path, merge));
    }
    if path.kind != ScanKind::Empty && !path.order.is_empty() {
        line("order", &order_text(query, path));
    }
    line("estimate", &estimate_text(path));
    if let Some(actuals) = actuals {
        line("actual", &actual_text(actuals));
        if path.columnar.is_some() {
            line("blocks", &blocks_text(&actuals.counters));
        }
        line("time", &time_text(actuals));
    }
    text
}

fn time_text(actuals: &Actuals) -> String {
    format!("{:.3} ms", actuals.elapsed.as_secs_f64() * 1000.0)
}

/// What rows have to be among: the scan that gives their keys, and below it what it reads.
fn within_texts(query: &Query<'_>, within: &Within) -> Vec<String> {
    let path = &within.path;
    let mut texts = vec![format!(
        "{} on {}",
        path.kind_name(),
        source_name(query, path.source)
    )];
    texts.extend(range_texts(path).into_iter().map(|range| format!("  {range}")));
    let masked = masked_texts(path);
    texts.extend(masked.iter().map(|test| format!("  masked {}", test.trim_end())));
    let residual = path.residual.iter().map(|at| query.conjunct_sql(*at));
    texts.extend(residual.map(|check| format!("  residual {check}")));
    texts.push(format!("  {}", estimate_text(path)));
    texts
}

/// `table t` or `index t@i`; of a columnar scan `t@i`.
fn scanned(query: &Query<'_>, path: &AccessPath) -> String {
    let name = source_name(query, path.source);
    match path.kind {
        ScanKind::Columnar => match query.table.is_columnar() && path.source == Source::Table {
            true => query.table.name.clone(),
            false => name.trim_start_matches("index ").to_string(),
        },
        _ => name,
    }
}

/// `table t` or `index t@i`.
pub(crate) fn source_name(query: &Query<'_>, source: Source) -> String {
    let table = &query.table.name;
    match source {
        Source::Table => format!("table {table}"),
        Source::Index(id) => {
            let index = query
                .table
                .index(id)
                .map_or("(dropped)", |index| index.name.as_str());
            format!("index {table}@{index}")
        }
    }
}

/// The elements of a key as SQL and their direction.
pub(crate) fn key_elements(query: &Query<'_>, source: Source) -> Vec<(String, SortOrder)> {
    let elements: Vec<KeyElement> = match source {
        Source::Table => query.table.primary_key.clone(),
        Source::Index(id) => query
            .table
            .index(id)
            .map_or_else(Vec::new, |index| index.key_elements(query.table)),
    };
    elements
        .iter()
        .map(|element| (element.expr.sql(query.table), element.order))
        .collect()
}

fn key_text(query: &Query<'_>, source: Source) -> String {
    let element = |(sql, order): &(String, SortOrder)| match order {
        SortOrder::Asc => format!("{sql} ASC"),
        SortOrder::Desc => format!("{sql} DESC"),
    };
    let elements: Vec<String> = key_elements(query, source).iter().map(element).collect();
    elements.join(", ")
}

fn range_texts(path: &AccessPath) -> Vec<String> {
    if path.kind == ScanKind::Empty {
        return vec!["none".to_string()];
    }
    let shown = path.spans.iter().take(RANGES_SHOWN);
    let mut texts: Vec<String> = shown.map(|span| span.display(&path.layout).to_string()).collect();
    if path.spans.len() > RANGES_SHOWN {
        texts.push(format!("… and {} more", path.spans.len() - RANGES_SHOWN));
    }
    texts
}

fn bucket_text(path: &AccessPath) -> Option<String> {
    let read = path.buckets.as_ref()?;
    let all = path.layout.buckets().count();
    let listed: Vec<String> = read.iter().take(RANGES_SHOWN).map(u8::to_string).collect();
    Some(match read.len() {
        0 => return None,
        count if count == all => format!("all {all}"),
        count if count > RANGES_SHOWN => format!("{count} of {all}"),
        _ => format!("{} of {all}", listed.join(", ")),
    })
}

/// `sensor  (last of each)`.
fn group_text(query: &Query<'_>, path: &AccessPath) -> Option<String> {
    let loose = path.loose.as_ref()?;
    let names = group_names(query, path);
    let rows = match (loose.both_ends, path.reverse) {
        (true, _) => "first and last",
        (false, false) => "first",
        (false, true) => "last",
    };
    Some(match names.is_empty() {
        true => format!("none  ({rows} only)"),
        false => format!("{}  ({rows} of each)", names.join(", ")),
    })
}

/// `3 runs by a`.
fn merge_text(query: &Query<'_>, path: &AccessPath, merge: &Merge) -> String {
    format!(
        "{} runs by {}",
        merge.runs.len(),
        run_names(query, path, merge).join(", ")
    )
}

/// What distinguishes the runs of a merge, as SQL.
pub(crate) fn run_names(query: &Query<'_>, path: &AccessPath, merge: &Merge) -> Vec<String> {
    let buckets = path.buckets.iter().filter(|buckets| buckets.len() > 1);
    let elements = key_elements(query, path.source).into_iter();
    let elements = elements.take(merge.columns).map(|(name, _)| name);
    buckets.map(|_| "bucket".to_string()).chain(elements).collect()
}

/// What distinguishes the groups of a loose scan, as SQL.
pub(crate) fn group_names(query: &Query<'_>, path: &AccessPath) -> Vec<String> {
    let Some(loose) = &path.loose else {
        return Vec::new();
    };
    let elements = key_elements(query, path.source);
    let mut names: Vec<String> = loose.open.iter().map(|at| elements[*at].0.clone()).collect();
    if loose.null_tag {
        names.push(format!("{} IS NULL", elements[loose.columns].0));
    }
    names
}

/// The tests with their places, in two columns.
fn masked_texts(path: &AccessPath) -> Vec<String> {
    const PLACE: usize = 28;
    let tests = || path.columnar.iter().flat_map(|read| &read.tests);
    let texts = path.masked_tests.iter().map(|test| &test.sql);
    let texts = texts.chain(tests().map(|test| &test.sql));
    let widest = texts.map(|text| text.chars().count() + 2).max();
    let width = widest.unwrap_or(0).max(PLACE);
    let on_keys = path
        .masked_tests
        .iter()
        .map(|test| format!("{:<width$}{test}", test.sql));
    let on_columns = tests().map(|test| format!("{:<width$}encoded", test.sql));
    on_keys.chain(on_columns).collect()
}

fn residual_texts(query: &Query<'_>, path: &AccessPath) -> Vec<String> {
    let before = path
        .residual_index
        .iter()
        .map(|at| format!("{}  (before the lookup)", query.conjunct_sql(*at)));
    before
        .chain(path.residual.iter().map(|at| query.conjunct_sql(*at)))
        .collect()
}

/// The columns read, none for a mere count.
fn columns_text(query: &Query<'_>, read: &ColumnarRead) -> String {
    let names = read.columns.iter().map(|column| query.table.column_name(*column));
    match read.columns.is_empty() {
        true => "none".to_string(),
        false => names.collect::<Vec<_>>().join(", "),
    }
}

fn blocks_text(counters: &ScanCounters) -> String {
    let told = match counters.blocks_told {
        0 => String::new(),
        told => format!("{told} told, "),
    };
    format!(
        "{} read, {} pruned, {told}{} delta rows",
        counters.blocks_read, counters.blocks_pruned, counters.delta_rows
    )
}

fn lookup_text(query: &Query<'_>, path: &AccessPath) -> String {
    let columns = path
        .lookup_columns
        .iter()
        .map(|column| query.table.column_name(*column));
    format!(
        "{} ({})",
        query.table.name,
        columns.collect::<Vec<_>>().join(", ")
    )
}

/// An order as ORDER BY spells it.
pub(crate) fn order_key_text(query: &Query<'_>, key: &OrderKey) -> String {
    let name = query.term_sql(key.term);
    match (key.descending, key.nulls_first == key.descending) {
        (false, true) => name,
        (true, true) => format!("{name} DESC"),
        (false, false) => format!("{name} NULLS FIRST"),
        (true, false) => format!("{name} DESC NULLS LAST"),
    }
}

fn order_text(query: &Query<'_>, path: &AccessPath) -> String {
    let keys: Vec<String> = path.order.iter().map(|key| order_key_text(query, key)).collect();
    let backwards = if path.reverse { "  (read backwards)" } else { "" };
    format!("{}{backwards}", keys.join(", "))
}

pub(crate) fn estimate_text(path: &AccessPath) -> String {
    let estimate = &path.estimate;
    let count = |number: f64| format!("{:.0}", number.ceil());
    let lookups = match path.covering {
        true => String::new(),
        false => format!("{} lookups, ", count(estimate.lookups)),
    };
    format!(
        "{} keys, {lookups}{} rows",
        count(estimate.keys),
        count(estimate.rows)
    )
}

/// Writes what running a path did, as the line `actual` does.
pub fn actual_text(actuals: &Actuals) -> String {
    let ScanCounters {
        ranges,
        seeks,
        keys_examined,
        masked_misses,
        lookups,
        rows,
        bytes_read,
        ..
    } = &actuals.counters;
    format!(
        "{ranges} ranges, {seeks} seeks, {keys_examined} keys examined, {masked_misses} masked misses, \
         {lookups} lookups, {rows} rows, {bytes_read} bytes"
    )
}
