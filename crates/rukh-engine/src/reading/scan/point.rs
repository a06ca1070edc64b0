//! Reads of one row by its whole key, and of the rows of a short key prefix: prepared once, run often.
//!
//! A scan comes to the same rows. What it prepares for each question, this prepares once for all of them: where
//! the columns are, which families are read.

use super::visit::visit_rows;
use super::{Plan, ScanCounters, ScanRequest};
use crate::columnar::PointRow;
use crate::forms::entry::{EntryPlace, IndexCodec};
use crate::reading::scan::plan::Access;
use crate::reading::snapshot::Snapshot;
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, TableId};
use rukh_keys::{Datum, DatumRef, ValueError};
use rukh_kv::ScanSpec;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Reads columns of rows by whole keys, or by prefixes of them.
pub struct PointReader {
    plan: Plan,
    /// The requested values of family 0.
    ordinals: Arc<[usize]>,
    /// The slots of blocks that have them, of a columnar table whose blocks have all requested columns.
    slots: Option<Vec<usize>>,
    /// Of such a table, the slots that have the requested columns, in their order.
    shown: Option<Vec<usize>>,
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
        let ordinals = plan.ordinals();
        let in_blocks = |access: &Access| matches!(access, Access::Key(_) | Access::Value { fetched: 0, .. });
        let index = plan.codec.blocks.as_ref();
        let index = index.filter(|_| plan.columns.iter().all(in_blocks));
        let slot = |index: &IndexCodec, ordinal: usize| index.slot(EntryPlace::Included(ordinal));
        let slots = index.map(|index| ordinals.iter().map(|ordinal| slot(index, *ordinal)).collect());
        let shown = index.map(|index| {
            let slot_of = |access: &Access| match access {
                Access::Key(at) => Some(*at),
                Access::Value { ordinal, .. } => Some(slot(index, *ordinal)),
                _ => None,
            };
            plan.columns.iter().filter_map(slot_of).collect()
        });
        Ok(PointReader {
            ordinals,
            slots,
            shown,
            plan,
        })
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
    /// The snapshot must be one that [`PointReader::fits`]. Fails on datums that the key cannot have, other than CHARs too wide for it,
    /// and with [`EngineError::Corruption`].
    pub fn read(
        &self,
        snapshot: &Snapshot,
        key: &[DatumRef<'_>],
    ) -> Result<(Option<Row>, ScanCounters), EngineError> {
        let (plan, codec) = (&self.plan, &self.plan.codec);
        let mut row_key = Vec::with_capacity(64);
        match codec.key.encode_into(key, &mut row_key) {
            Err(ValueError::WideForKey { .. }) => return Ok((None, ScanCounters::default())),
            encoded => encoded?,
        }
        let mut counters = ScanCounters {
            ranges: 1,
            seeks: 1,
            ..ScanCounters::default()
        };
        let found = match &self.slots {
            Some(slots) => snapshot.point_row(codec, &row_key, slots)?,
            None => None,
        };
        let base = match found {
            Some(PointRow::Absent) => None,
            Some(PointRow::Change(value)) => Some(value),
            Some(PointRow::Kept(values)) => {
                (counters.keys_examined, counters.rows) = (1, 1);
                return Ok((Some(self.row_of(&row_key, values, &mut counters)?), counters));
            }
            Some(PointRow::Unknown) | None => {
                let kv = snapshot.narrowed(codec, &self.ordinals);
                kv.get(&codec.families[0].storage, &row_key)?
            }
        };
        let Some(base) = base else {
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

    /// Makes a row of its key and the requested values, in the order of their ordinals.
    fn row_of(
        &self,
        key: &[u8],
        values: Vec<Datum>,
        counters: &mut ScanCounters,
    ) -> Result<Row, EngineError> {
        let codec = &self.plan.codec;
        let mut row = Row::with_capacity(self.plan.columns.len());
        for access in &self.plan.columns {
            row.push(match access {
                Access::Key(at) => {
                    let datum = codec.key.decode_column(key, *at);
                    datum.map_err(|e| codec.corruption(key, e.into()))?.into_owned()
                }
                Access::Value { ordinal, .. } => {
                    let nth = self.ordinals.binary_search(ordinal).ok();
                    let value = nth
                        .and_then(|nth| values.get(nth))
                        .cloned()
                        .unwrap_or(Datum::Null);
                    counters.bytes_read += bytes_of(&value);
                    value
                }
                _ => unreachable!("only what is in blocks is read so"),
            });
        }
        Ok(row)
    }

    /// Whether the rows of a prefix are read by one scan that gives all requested columns, so that
    /// [`PointReader::read_prefix`] serves, with [`crate::Engine::latest`] as well as with a snapshot.
    pub fn is_single_scan(&self) -> bool {
        !self.plan.batched && self.plan.codec.key.salt().is_none()
    }

    /// Returns the columns of the rows whose primary keys begin with these datums, one for each leading element,
    /// in the order of the key or against it; and what was read. No rows if there are more than `most`.
    ///
    /// The snapshot must be one that [`PointReader::fits`], the reader [`PointReader::is_single_scan`]. Fails as
    /// [`PointReader::read`], and with [`EngineError::Cancelled`].
    pub fn read_prefix(
        &self,
        snapshot: &Snapshot,
        key: &[DatumRef<'_>],
        reverse: bool,
        fetch: Option<u64>,
        most: usize,
        cancel: Arc<AtomicBool>,
    ) -> Result<(Option<Vec<Row>>, ScanCounters), EngineError> {
        let (plan, codec) = (&self.plan, &self.plan.codec);
        let limit = fetch.map_or(most as u64 + 1, |fetch| fetch.min(most as u64 + 1));
        let range = codec.key.prefix_range(key)?;
        if let Some(slots) = self.shown.as_ref().filter(|_| !reverse)
            && let Some(rows) = snapshot.prefix_rows(codec, (&range, key.len()), slots, limit as usize)?
        {
            let counters = ScanCounters {
                ranges: 1,
                seeks: 1,
                keys_examined: rows.len() as u64,
                rows: rows.len() as u64,
                bytes_read: rows.iter().flatten().map(bytes_of).sum(),
                ..ScanCounters::default()
            };
            return Ok(((rows.len() <= most).then_some(rows), counters));
        }
        let spec = ScanSpec {
            reverse,
            limit: Some(limit),
            keys_only: !plan.values,
            cancel: Some(cancel),
            ..ScanSpec::ranges(vec![range])
        };
        let kv = snapshot.narrowed(codec, &self.ordinals);
        let mut cursor = kv.scan(plan.storage(), spec)?;
        let mut rows = Vec::new();
        visit_rows(cursor.as_mut(), plan, &mut |view| {
            let mut row = Row::with_capacity(plan.columns.len());
            for column in 0..plan.columns.len() {
                row.push(view.datum(column)?.into_owned());
            }
            rows.push(row);
            Ok(())
        })?;
        let counters = ScanCounters {
            rows: rows.len() as u64,
            ..cursor.stats().into()
        };
        Ok(((rows.len() <= most).then_some(rows), counters))
    }
}

/// Returns the bytes that a value takes, about.
fn bytes_of(value: &Datum) -> u64 {
    match value {
        Datum::Null => 0,
        Datum::Text(text) => text.len() as u64,
        Datum::Bytes(bytes) => bytes.len() as u64,
        _ => 8,
    }
}
