//! What is known of tables, in the planner's words, kept as long as it is true.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use parking_lot::RwLock;
use rukh_catalog::{IndexId, Table, TableId};
use rukh_engine::{Engine, TableStatistics, ValueStatistics};
use rukh_planner::{CommonValues, Histogram, IndexExpression, Source, Statistics, TermId, TermStatistics};

/// What is known of a table that was never analyzed.
static UNKNOWN: LazyLock<Arc<Statistics>> = LazyLock::new(|| Arc::new(Statistics::UNKNOWN));

/// The statistics of the tables of a database, in the planner's words.
#[derive(Debug, Default)]
pub(crate) struct KnownStatistics(RwLock<HashMap<TableId, Known>>);

/// The statistics of one table, and what they were made of.
#[derive(Debug)]
struct Known {
    found: Arc<TableStatistics>,
    table: Arc<Table>,
    rows: u64,
    changes: BTreeMap<Source, u64>,
    statistics: Arc<Statistics>,
}

impl KnownStatistics {
    /// Returns what is known of a table's rows; nothing before its first ANALYZE.
    pub(crate) fn of(
        &self,
        engine: &Engine,
        table: &Arc<Table>,
        expressions: &[IndexExpression],
    ) -> Arc<Statistics> {
        let Some(found) = engine.statistics(table.id) else {
            return UNKNOWN.clone();
        };
        let rows = present_rows(found.rows, engine.growth(table.id));
        let changes = present_changes(engine, table.id);
        if let Some(known) = self.0.read().get(&table.id)
            && Arc::ptr_eq(&known.found, &found)
            && Arc::ptr_eq(&known.table, table)
            && known.rows == rows
            && known.changes == changes
        {
            return known.statistics.clone();
        }
        let statistics = Arc::new(Statistics {
            changes: changes.clone(),
            ..converted(&found, rows, expressions)
        });
        let known = Known {
            found,
            table: table.clone(),
            rows,
            changes,
            statistics: statistics.clone(),
        };
        let is_known = |id: &TableId, known: &mut Known| {
            engine
                .statistics(*id)
                .is_some_and(|found| Arc::ptr_eq(&found, &known.found))
        };
        let mut all = self.0.write();
        // Tables that are gone go from here too.
        all.retain(is_known);
        all.insert(table.id, known);
        statistics
    }
}

/// Changes beside blocks that do not count.
const CHANGES_MIN: u64 = 1_024;

/// Changes that what is columnar of a table has beside its blocks, counted to the next power of two; few are none.
fn present_changes(engine: &Engine, table: TableId) -> BTreeMap<Source, u64> {
    let about = |changes: u64| match changes < CHANGES_MIN {
        true => 0,
        false => changes.checked_next_power_of_two().unwrap_or(u64::MAX),
    };
    let source = |index: Option<IndexId>| index.map_or(Source::Table, Source::Index);
    let known = engine.changes_beside_blocks(table).into_iter();
    known
        .map(|(index, changes)| (source(index), about(changes)))
        .collect()
}

/// Rows that a table is taken to have, of which so many were found and so many have come since.
fn present_rows(found: u64, growth: i64) -> u64 {
    let growth = u64::try_from(growth).unwrap_or(0);
    match growth < found.saturating_add(LOADED_MIN) {
        true => found,
        false => found
            .saturating_add(growth)
            .checked_next_power_of_two()
            .unwrap_or(u64::MAX),
    }
}

fn converted(found: &TableStatistics, rows: u64, expressions: &[IndexExpression]) -> Statistics {
    let of_values = |values: &ValueStatistics| of_values(values, found.rows, rows);
    let columns = found
        .columns
        .iter()
        .map(|column| (TermId::column(column.column), of_values(&column.values)));
    let of_expression = |(position, expression): (usize, &IndexExpression)| {
        let known = found
            .expressions
            .iter()
            .find(|known| known.sql == expression.sql)?;
        Some((TermId::expression(position as u32), of_values(&known.values)))
    };
    let of_expressions = expressions.iter().enumerate().filter_map(of_expression);
    // Of an empty table nothing is known but that.
    let terms = columns.chain(of_expressions).filter(|_| found.rows > 0);
    Statistics {
        rows: Some(rows),
        terms: terms.collect(),
        ..Statistics::default()
    }
}

/// What was found of values among `found` rows, for a table that now has `rows`.
fn of_values(values: &ValueStatistics, found: u64, rows: u64) -> TermStatistics {
    let share = |count: u64| count as f64 / found.max(1) as f64;
    let common = values
        .common
        .iter()
        .map(|common| (common.value.clone(), share(common.rows)));
    // Where a value had few rows, new rows bring new values.
    let distinct = match values.distinct.saturating_mul(10) < found {
        true => values.distinct,
        false => (values.distinct as f64 * (rows as f64 / found.max(1) as f64)) as u64,
    };
    TermStatistics {
        distinct: Some(distinct),
        min: values.min.clone(),
        max: values.max.clone(),
        null_share: Some(share(values.nulls)),
        common: CommonValues::new(common.collect()),
        histogram: Histogram::new(values.bounds.clone()),
    }
}

/// Rows from which on a load is followed by ANALYZE, however small the table was.
pub(crate) const LOADED_MIN: u64 = 1_000;

#[cfg(test)]
mod tests {
    use rukh_keys::Datum;

    use super::*;
    use crate::sql::session::Session;

    #[test]
    fn a_table_that_doubled_is_counted_anew() {
        assert_eq!(present_rows(0, 999), 0);
        assert_eq!(present_rows(0, 1000), 1024);
        assert_eq!(present_rows(5000, 5999), 5000);
        assert_eq!(present_rows(5000, 6000), 16_384);
        assert_eq!(present_rows(5000, -4000), 5000);
        assert_eq!(present_rows(u64::MAX - 1, i64::MAX), u64::MAX - 1);
    }

    /// Runs a statement that gives one value.
    fn one(session: &mut Session, sql: &str) -> Datum {
        let outcome = session
            .execute(sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"));
        let mut rows = outcome.rows.expect("a query");
        let row = rows.next_row().expect("rows can be read");
        row.and_then(|row| row.into_iter().next()).unwrap_or(Datum::Null)
    }

    /// Rows that a condition is estimated to leave, and those that it leaves.
    fn estimated(session: &mut Session, condition: &str) -> (f64, f64) {
        let sql = format!("EXPLAIN (FORMAT JSON) SELECT id FROM t WHERE {condition}");
        let Datum::Text(json) = one(session, &sql) else {
            panic!("{sql} gives text");
        };
        let plan: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let estimate = plan["scan"]["estimate"]["rows"].as_f64().expect("an estimate");
        let counted = one(session, &format!("SELECT count(*) FROM t WHERE {condition}"));
        let Datum::Int(counted) = counted else {
            panic!("{condition}: {counted:?}");
        };
        (estimate, counted as f64)
    }

    #[test]
    fn estimates_of_one_column_are_near_the_truth() {
        let store = Arc::new(rukh_kv::MemoryStore::new());
        let mut session = crate::Shared::open(store, false)
            .expect("a new database")
            .session();
        let table =
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL, s VARCHAR, d DOUBLE NOT NULL)";
        let rows = "INSERT INTO t SELECT n, n * n / 1000, \
                    CASE WHEN n % 5 = 0 THEN NULL WHEN n % 3 = 0 THEN 'common' \
                    ELSE 'k' || lpad(CAST(n * 7919 % 10000 AS VARCHAR), 5, '0') END, \
                    sqrt(CAST(n AS DOUBLE)) FROM generate_series(0, 9999) AS g(n)";
        for sql in [table, rows, "ANALYZE t"] {
            session
                .execute(sql)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
        }
        let mut conditions: Vec<String> = ["s = 'common'", "s IS NULL", "s IS NOT NULL", "s <> 'common'"]
            .map(String::from)
            .to_vec();
        for step in 0..40 {
            let (low, high) = (step * 2500, step * 2500 + 1700 * (step % 7));
            conditions.push(format!("a >= {low} AND a < {high}"));
            conditions.push(format!("a > {high} OR a = {low}"));
            conditions.push(format!("d BETWEEN {} AND {}", step * 2, step * 3));
            conditions.push(format!("s > 'k{:05}' AND s <= 'k{:05}'", step * 200, step * 230));
            conditions.push(format!("s < 'k{:05}'", step * 250));
        }
        for condition in conditions {
            let (estimate, counted) = estimated(&mut session, &condition);
            // Two parts of the histogram, of 10,000 rows.
            assert!(
                (estimate - counted).abs() <= 200.0,
                "{condition}: {estimate}, but {counted}"
            );
        }
    }

    #[test]
    fn new_rows_bring_new_values_where_values_were_rare() {
        let values = |distinct| ValueStatistics {
            distinct,
            ..ValueStatistics::default()
        };
        assert_eq!(of_values(&values(1000), 1000, 8192).distinct, Some(8192));
        assert_eq!(of_values(&values(7), 1000, 8192).distinct, Some(7));
        let empty = TableStatistics::default();
        let known = converted(&empty, 1024, &[]);
        assert_eq!((known.rows, known.terms.len()), (Some(1024), 0));
    }
}
