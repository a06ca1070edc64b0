//! What ANALYZE found, in the planner's words.

use rukh_catalog::Table;
use rukh_engine::Engine;
use rukh_planner::{Statistics, TermId, TermStatistics};

/// Returns what is known of a table's rows; nothing before its first ANALYZE.
pub(crate) fn statistics_of(engine: &Engine, table: &Table) -> Statistics {
    let Some(known) = engine.statistics(table.id) else {
        return Statistics::UNKNOWN;
    };
    let rows = known.rows.max(1) as f64;
    let term = |column: &rukh_engine::ColumnStatistics| {
        let statistics = TermStatistics {
            distinct: Some(column.distinct),
            null_share: Some(column.nulls as f64 / rows),
            ..TermStatistics::default()
        };
        (TermId::column(column.column), statistics)
    };
    Statistics {
        rows: Some(known.rows),
        terms: known.columns.iter().map(term).collect(),
    }
}
