//! Statistics: how many rows a table has, and how many different values each column.
//!
//! Gathered by one pass over all rows. Distinct values are counted by HyperLogLog sketches, whose
//! estimates are within a few percent at 4 KiB a column. Stored as JSON under the table's key in
//! the column family `statistics`, and kept in memory, because every planning asks for them.

use crate::engine::{Engine, Inner};
use crate::progress::check_cancelled;
use crate::scan::ScanRequest;
use crate::stored::{self, STATISTICS};
use crate::{EngineError, Progress};
use datasketches::hll::{HllSketch, HllType};
use rukh_catalog::{ColumnId, TableId, table_key};
use rukh_kv::{Durability, WriteBatch};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Registers of a sketch, as a power of two: an error of 1.6 %.
const SKETCH_LG_K: u8 = 12;

/// Rows between two looks at the watcher.
const ROWS_STEP: usize = 10_000;

/// What is known of a table's data, as of the last ANALYZE.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableStatistics {
    /// Rows.
    pub rows: u64,
    /// Live columns in declared order.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnStatistics {
    /// The column.
    pub column: ColumnId,
    /// Different values other than NULL, estimated.
    pub distinct: u64,
    /// Rows in which it is NULL.
    pub nulls: u64,
}

/// The statistics of all tables, kept in memory.
pub(crate) type KnownStatistics = HashMap<TableId, Arc<TableStatistics>>;

impl Engine {
    /// Counts the rows of a table and the different values of each column, and keeps the result.
    pub fn analyze(&self, id: TableId, progress: &dyn Progress) -> Result<TableStatistics, EngineError> {
        let inner = &self.inner;
        if self.is_read_only() {
            return Err(EngineError::ReadOnly);
        }
        let statistics = self.gather(id, progress)?;
        let _guard = inner.lock_writer()?;
        inner.definitions().codec(id)?;
        let mut batch = WriteBatch::new();
        let value = serde_json::to_vec(&statistics).expect("statistics have no map");
        batch.put(STATISTICS, &table_key(id), &value);
        inner.store.write(batch, Durability::Synced)?;
        inner.statistics.write().insert(id, Arc::new(statistics.clone()));
        Ok(statistics)
    }

    /// Returns what the last ANALYZE of a table found.
    pub fn statistics(&self, id: TableId) -> Option<Arc<TableStatistics>> {
        self.inner.statistics.read().get(&id).cloned()
    }

    fn gather(&self, id: TableId, progress: &dyn Progress) -> Result<TableStatistics, EngineError> {
        let snapshot = self.snapshot();
        let codec = snapshot.definitions.codec(id)?.clone();
        progress.total(Some(self.store().approximate_keys(&codec.families[0].storage)?));
        let ids: Vec<ColumnId> = codec.table.columns.iter().map(|column| column.id).collect();
        let mut sketches: Vec<ColumnSketch> = ids.iter().map(|_| ColumnSketch::new()).collect();
        let mut cursor = snapshot.scan(ScanRequest::all(codec.table.clone(), ids.clone()))?;
        let mut rows = 0;
        loop {
            let shown = cursor.next_rows(ROWS_STEP, &mut |row| {
                for (at, sketch) in sketches.iter_mut().enumerate() {
                    sketch.add(&row.datum(at)?);
                }
                Ok(())
            })?;
            if shown == 0 {
                break;
            }
            rows += shown as u64;
            progress.advance(shown as u64);
            check_cancelled(progress)?;
        }
        let columns = ids
            .iter()
            .zip(sketches)
            .map(|(id, sketch)| sketch.finish(*id, rows));
        Ok(TableStatistics {
            rows,
            columns: columns.collect(),
        })
    }
}

/// The values of a column seen so far.
struct ColumnSketch {
    sketch: HllSketch,
    nulls: u64,
}

impl ColumnSketch {
    fn new() -> Self {
        let sketch = HllSketch::new(SKETCH_LG_K, HllType::Hll8);
        ColumnSketch {
            sketch: sketch.expect("twelve is a size that sketches have"),
            nulls: 0,
        }
    }

    fn add(&mut self, datum: &rukh_keys::DatumRef<'_>) {
        match datum.is_null() {
            true => self.nulls += 1,
            false => self.sketch.update(datum),
        }
    }

    fn finish(self, column: ColumnId, rows: u64) -> ColumnStatistics {
        let values = rows - self.nulls;
        let distinct = (self.sketch.estimate().round() as u64).clamp(u64::from(values > 0), values);
        ColumnStatistics {
            column,
            distinct,
            nulls: self.nulls,
        }
    }
}

/// Reads all statistics; what does not decode is left out, since they are advice only.
pub(crate) fn load_statistics(inner: &Inner) -> Result<KnownStatistics, EngineError> {
    let snapshot = inner.store.latest();
    let mut known = KnownStatistics::new();
    if !snapshot.tables().iter().any(|table| table == stored::STATISTICS) {
        return Ok(known);
    }
    for table in inner.definitions().catalog.tables() {
        let value = snapshot.get(STATISTICS, &table_key(table.id))?;
        let statistics = value.and_then(|value| serde_json::from_slice(&value).ok());
        known.extend(statistics.map(|statistics| (table.id, Arc::new(statistics))));
    }
    Ok(known)
}
