//! What ANALYZE found, in the planner's words.
//!
//! Converted once per ANALYZE and definition of a table, and shared by all sessions of a database:
//! every planning asks for it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use rukh_catalog::{Table, TableId};
use rukh_engine::{Engine, TableStatistics, ValueStatistics};
use rukh_planner::{CommonValues, Histogram, IndexExpression, Statistics, TermId, TermStatistics};

/// What is known of a table that was never analyzed.
static UNKNOWN: LazyLock<Arc<Statistics>> = LazyLock::new(|| Arc::new(Statistics::UNKNOWN));

/// The statistics of the tables of a database, in the planner's words.
#[derive(Debug, Default)]
pub(crate) struct KnownStatistics(Mutex<HashMap<TableId, Known>>);

/// The statistics of one table, and what they were made of.
#[derive(Debug)]
struct Known {
    found: Arc<TableStatistics>,
    table: Arc<Table>,
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
        let mut all = self.0.lock();
        if let Some(known) = all.get(&table.id)
            && Arc::ptr_eq(&known.found, &found)
            && Arc::ptr_eq(&known.table, table)
        {
            return known.statistics.clone();
        }
        let statistics = Arc::new(converted(&found, expressions));
        let known = Known {
            found,
            table: table.clone(),
            statistics: statistics.clone(),
        };
        let is_known = |id: &TableId, known: &mut Known| {
            engine
                .statistics(*id)
                .is_some_and(|found| Arc::ptr_eq(&found, &known.found))
        };
        // Tables that are gone go from here too.
        all.retain(is_known);
        all.insert(table.id, known);
        statistics
    }
}

fn converted(found: &TableStatistics, expressions: &[IndexExpression]) -> Statistics {
    let columns = found.columns.iter().map(|column| {
        (
            TermId::column(column.column),
            of_values(&column.values, found.rows),
        )
    });
    let of_expression = |(position, expression): (usize, &IndexExpression)| {
        let known = found
            .expressions
            .iter()
            .find(|known| known.sql == expression.sql)?;
        let term = TermId::expression(position as u32);
        Some((term, of_values(&known.values, found.rows)))
    };
    let of_expressions = expressions.iter().enumerate().filter_map(of_expression);
    Statistics {
        rows: Some(found.rows),
        terms: columns.chain(of_expressions).collect(),
    }
}

fn of_values(values: &ValueStatistics, rows: u64) -> TermStatistics {
    let share = |count: u64| count as f64 / rows.max(1) as f64;
    let common = values
        .common
        .iter()
        .map(|common| (common.value.clone(), share(common.rows)));
    TermStatistics {
        distinct: Some(values.distinct),
        min: values.min.clone(),
        max: values.max.clone(),
        null_share: Some(share(values.nulls)),
        common: CommonValues::new(common.collect()),
        histogram: Histogram::new(values.bounds.clone()),
    }
}
