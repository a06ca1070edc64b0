//! Statistics: how many rows a table has, and how the values of its columns lie.
//!
//! Gathered by one pass over all rows, for each column and each expression that an index has as an
//! element (`sample`). Stored as JSON under the table's key in the column family `statistics`, and
//! kept in memory, because every planning asks for them.
//!
//! | format | holds                                                                             |
//! |--------|-----------------------------------------------------------------------------------|
//! | 1      | `rows`, and for each column `distinct` and `nulls`; has no member `format`        |
//! | 2      | `format`, `rows`, `columns` and `expressions`, each with [`ValueStatistics`]      |

use crate::defining::stale::Analyzing;
use crate::forms::sample::{Reservoir, ValueSample};
use crate::forms::statistics::{
    ColumnStatistics, ExpressionStatistics, Known, KnownStatistics, TableStatistics, decode, encode,
};
use crate::forms::stored::{self, STATISTICS};
use crate::progress::check_cancelled;
use crate::reading::scan::{RowView, ScanRequest};
use crate::state::shared::{Engine, Inner};
use crate::storage::row_counts::Growth;
use crate::writing::pending::row_bytes;
use crate::{EngineError, Progress, Row, RowFunction, RowFunctions};
use rukh_catalog::{ColumnId, IndexState, KeyExpr, Table, TableId, table_key};
use rukh_kv::{Durability, WriteBatch};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Rows between two looks at the watcher.
const ROWS_STEP: usize = 10_000;

/// Rows whose index expressions are evaluated together.
const EVALUATED_ROWS: usize = 1024;

/// Bytes of rows at which that happens earlier.
const EVALUATED_BYTES: u64 = 8 << 20;

impl Inner {
    /// Notes how many rows a committed statement added, less those it removed.
    pub(crate) fn note_growth(&self, id: TableId, rows: i64) {
        if let Some(known) = self.statistics.read().get(&id) {
            known.growth.fetch_add(rows, Ordering::Relaxed);
        }
    }

    /// Notes how tables have grown.
    pub(crate) fn note_all_growth(&self, grown: &Growth) {
        for (id, grown) in grown {
            self.note_growth(*id, grown.rows);
        }
    }
}

impl Engine {
    /// Gathers statistics of a table, or of a history by its id, and keeps them.
    pub fn analyze(&self, id: TableId, progress: &dyn Progress) -> Result<TableStatistics, EngineError> {
        self.analyze_as(id, progress, Durability::Synced)
    }

    /// The same, and says how durably the statistics are kept.
    pub(crate) fn analyze_as(
        &self,
        id: TableId,
        progress: &dyn Progress,
        durability: Durability,
    ) -> Result<TableStatistics, EngineError> {
        let inner = &self.inner;
        if self.is_read_only() {
            return Err(EngineError::ReadOnly);
        }
        let _analyzing = Analyzing::new(inner, id);
        let grown_before = self.growth(id);
        let changed_before = inner.changed_rows(id);
        let statistics = self.gather(id, progress)?;
        let _guard = inner.lock_writer()?;
        inner.definitions().codec(id)?;
        let mut batch = WriteBatch::new();
        batch.put(STATISTICS, &table_key(id), &encode(&statistics));
        inner.store.write(batch, durability)?;
        // Rows that came while others were read are not in the statistics.
        let known = Known::new(statistics.clone());
        known
            .growth
            .store(self.growth(id) - grown_before, Ordering::Relaxed);
        inner.statistics.write().insert(id, known);
        inner.forget_changed_rows(id, changed_before);
        Ok(statistics)
    }

    /// Returns what the last ANALYZE of a table found.
    pub fn statistics(&self, id: TableId) -> Option<Arc<TableStatistics>> {
        let all = self.inner.statistics.read();
        all.get(&id).map(|known| known.statistics.clone())
    }

    /// Returns how many rows a table has got since its statistics were gathered, less those it lost; 0
    /// for a table without statistics.
    ///
    /// Counts what this process wrote. A row put blindly counts as a new one, so a table may seem to
    /// have grown more than it has, never less.
    pub fn growth(&self, id: TableId) -> i64 {
        let all = self.inner.statistics.read();
        all.get(&id)
            .map_or(0, |known| known.growth.load(Ordering::Relaxed))
    }

    fn gather(&self, id: TableId, progress: &dyn Progress) -> Result<TableStatistics, EngineError> {
        let snapshot = self.snapshot();
        let codec = snapshot.definitions.codec(id)?.clone();
        progress.total(Some(self.store().approximate_keys(&codec.families[0].storage)?));
        let ids: Vec<ColumnId> = codec.table.columns.iter().map(|column| column.id).collect();
        let mut gatherer = Gatherer::new(&codec.table, self.inner.functions.as_ref())?;
        let mut cursor = snapshot.scan(ScanRequest::all(codec.table.clone(), ids.clone()))?;
        loop {
            let shown = cursor.next_rows(ROWS_STEP, &mut |row| gatherer.add(row))?;
            if shown == 0 {
                break;
            }
            progress.advance(shown as u64);
            check_cancelled(progress)?;
        }
        gatherer.finish(&ids)
    }
}

/// What was seen of a table so far.
struct Gatherer {
    rows: u64,
    reservoir: Reservoir,
    columns: Vec<ValueSample>,
    expressions: Vec<Expression>,
    /// Rows whose expressions are still to be evaluated, with their places in the sample.
    waiting: Vec<(Row, Option<usize>)>,
    waiting_bytes: u64,
}

/// An expression with what was seen of its values.
struct Expression {
    sql: String,
    function: Arc<dyn RowFunction>,
    sample: ValueSample,
}

impl Gatherer {
    fn new(table: &Table, functions: &dyn RowFunctions) -> Result<Self, EngineError> {
        let expressions = expressions(table, functions)?;
        let columns = table.columns.len();
        Ok(Gatherer {
            rows: 0,
            reservoir: Reservoir::new(columns + expressions.len()),
            columns: (0..columns).map(|_| ValueSample::new()).collect(),
            expressions,
            waiting: Vec::new(),
            waiting_bytes: 0,
        })
    }

    /// Adds a row, whose view gives all columns in declared order.
    fn add(&mut self, row: &RowView<'_>) -> Result<(), EngineError> {
        self.rows += 1;
        let place = self.reservoir.place();
        for (at, sample) in self.columns.iter_mut().enumerate() {
            sample.add(&row.datum(at)?, place);
        }
        if self.expressions.is_empty() {
            return Ok(());
        }
        let datums = (0..self.columns.len()).map(|at| Ok(row.datum(at)?.into_owned()));
        let datums = datums.collect::<Result<Row, EngineError>>()?;
        self.waiting_bytes += row_bytes(&datums);
        self.waiting.push((datums, place));
        match self.waiting.len() < EVALUATED_ROWS && self.waiting_bytes < EVALUATED_BYTES {
            true => Ok(()),
            false => self.evaluate(),
        }
    }

    /// Evaluates the expressions of the rows that wait for it.
    fn evaluate(&mut self) -> Result<(), EngineError> {
        let rows: Vec<&[_]> = self.waiting.iter().map(|(row, _)| row.as_slice()).collect();
        for expression in &mut self.expressions {
            let values = expression.function.evaluate(&rows)?;
            for (value, (_, place)) in values.iter().zip(&self.waiting) {
                expression.sample.add(&value.as_ref(), *place);
            }
        }
        self.waiting.clear();
        self.waiting_bytes = 0;
        Ok(())
    }

    fn finish(mut self, ids: &[ColumnId]) -> Result<TableStatistics, EngineError> {
        self.evaluate()?;
        let rows = self.rows;
        let columns = ids.iter().zip(self.columns).map(|(id, sample)| ColumnStatistics {
            column: *id,
            values: sample.finish(rows),
        });
        let expressions = self
            .expressions
            .into_iter()
            .map(|expression| ExpressionStatistics {
                sql: expression.sql,
                values: expression.sample.finish(rows),
            });
        Ok(TableStatistics {
            rows,
            columns: columns.collect(),
            expressions: expressions.collect(),
        })
    }
}

/// The expressions that the indexes of a table have as elements, each once.
fn expressions(table: &Table, functions: &dyn RowFunctions) -> Result<Vec<Expression>, EngineError> {
    let mut found: Vec<Expression> = Vec::new();
    let ready = table
        .indexes
        .iter()
        .filter(|index| index.state == IndexState::Ready);
    for element in ready.flat_map(|index| index.key_elements(table)) {
        let KeyExpr::Expression { sql, ty, .. } = element.expr else {
            continue;
        };
        if !found.iter().any(|known| known.sql == sql) {
            found.push(Expression {
                function: functions.compile(table, &sql, &ty)?,
                sql,
                sample: ValueSample::new(),
            });
        }
    }
    Ok(found)
}

/// Reads all statistics.
pub(crate) fn load_statistics(inner: &Inner) -> Result<KnownStatistics, EngineError> {
    let snapshot = inner.store.latest();
    let mut known = KnownStatistics::new();
    if !snapshot.tables().iter().any(|table| table == stored::STATISTICS) {
        return Ok(known);
    }
    let definitions = inner.definitions();
    let tables = definitions.catalog.tables().map(|table| table.id);
    for id in tables.flat_map(|id| [id, id.history()]) {
        if definitions.codec(id).is_err() {
            continue;
        }
        if let Some(value) = snapshot.get(STATISTICS, &table_key(id))? {
            known.extend(decode(&value)?.map(|statistics| (id, Known::new(statistics))));
        }
    }
    Ok(known)
}
