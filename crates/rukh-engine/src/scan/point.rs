//! Reads of one row by its whole key: prepared once, asked often.
//!
//! A scan of one point comes to the same row. What it prepares for each question, this prepares once for
//! all of them: where the columns are, which families are read.

use std::sync::Arc;

use rukh_catalog::{ColumnId, TableId};
use rukh_keys::DatumRef;
use smallvec::SmallVec;

use super::{Plan, ScanCounters, ScanRequest};
use crate::snapshot::Snapshot;
use crate::{EngineError, Row};

/// Reads columns of rows by whole keys.
pub struct PointReader {
    plan: Plan,
}

impl std::fmt::Debug for PointReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = &self.plan.codec.table.name;
        f.debug_struct("PointReader")
            .field("table", table)
            .finish_non_exhaustive()
    }
}

impl PointReader {
    /// Prepares to read these columns of a table, as it is defined in a snapshot.
    ///
    /// Fails on a table or column that is not there.
    pub fn new(snapshot: &Snapshot, table: TableId, columns: Vec<ColumnId>) -> Result<Self, EngineError> {
        let codec = snapshot.codec(table)?.clone();
        let request = ScanRequest::all(codec.table.clone(), columns);
        let plan = Plan::new(codec, &request, false)?;
        Ok(PointReader { plan })
    }

    /// Whether a row is read by one get: then [`crate::Engine::latest`] serves as well as a snapshot.
    pub fn is_single_get(&self) -> bool {
        self.plan.fetched.len() == 1
    }

    /// Whether the table is defined in a snapshot as it was when this was prepared.
    pub fn fits(&self, snapshot: &Snapshot) -> bool {
        let codec = snapshot.codec(self.plan.codec.table.id);
        codec.is_ok_and(|codec| Arc::ptr_eq(codec, &self.plan.codec))
    }

    /// Returns the columns of the row whose primary key has these datums, one for each element in key order;
    /// and what was read.
    ///
    /// The snapshot must be one that [`PointReader::fits`]. Fails on datums that the key cannot have, and with
    /// [`EngineError::Corruption`].
    pub fn read(
        &self,
        snapshot: &Snapshot,
        key: &[DatumRef<'_>],
    ) -> Result<(Option<Row>, ScanCounters), EngineError> {
        let (plan, codec) = (&self.plan, &self.plan.codec);
        let mut row_key = Vec::with_capacity(64);
        codec.key.encode_into(key, &mut row_key)?;
        let mut counters = ScanCounters {
            ranges: 1,
            seeks: 1,
            ..ScanCounters::default()
        };
        let Some(base) = snapshot.kv.get(&codec.families[0].storage, &row_key)? else {
            return Ok((None, counters));
        };
        let mut values: SmallVec<[Option<Vec<u8>>; 1]> = SmallVec::new();
        values.push(Some(base));
        for family in &plan.fetched[1..] {
            values.push(snapshot.kv.get(&codec.families[*family].storage, &row_key)?);
        }
        (counters.keys_examined, counters.rows) = (1, 1);
        counters.bytes_read = values.iter().flatten().map(|value| value.len() as u64).sum();
        let view = plan.row(&row_key, values.iter().map(Option::as_deref))?;
        let mut row = Row::with_capacity(plan.columns.len());
        for column in 0..plan.columns.len() {
            row.push(view.datum(column)?.into_owned());
        }
        Ok((Some(row), counters))
    }
}
