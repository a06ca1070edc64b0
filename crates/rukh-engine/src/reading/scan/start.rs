//! Where scans of a snapshot begin.

use super::request::{columnar_index, storage_name};
use crate::EngineError;
use crate::columnar;
use crate::forms::codec::TableCodec;
use crate::reading::scan::{ColumnarCursor, RowCursor, ScanRequest, Source};
use crate::reading::snapshot::Snapshot;
use rukh_catalog::Table;
use rukh_keys::ScanCounters;
use rukh_keys::{KeyRange, MaskedCompare};
use rukh_kv::ScanSpec;
use std::sync::Arc;

impl Snapshot {
    /// Starts a scan of a table, through its own key order or that of an index.
    ///
    /// Fails on a column or index that the table does not have, and on an index that is not ready.
    pub fn scan(&self, mut request: ScanRequest) -> Result<RowCursor, EngineError> {
        let codec = self.codec(request.table.id)?;
        if let (Source::Index(_), Some(index)) = (request.source, columnar_index(codec, request.source)?) {
            request.tests.extend(self.life_test(index));
        }
        RowCursor::new(codec.clone(), self, request)
    }

    /// Counts the rows whose keys lie in `ranges` and pass `masked`, without touching a value.
    ///
    /// In a partial index these are the rows that have an entry.
    pub fn count(
        &self,
        table: &Table,
        source: Source,
        ranges: Vec<KeyRange>,
        masked: MaskedCompare,
    ) -> Result<(u64, ScanCounters), EngineError> {
        let codec = self.codec(table.id)?;
        if masked.is_empty() && columnar_index(codec, source)?.is_some() {
            return self.count_columnar(codec, source, ranges);
        }
        let storage = storage_name(codec, source)?;
        let spec = ScanSpec::ranges(ranges).masked(masked).keys_only();
        let (rows, stats) = self.kv.count(storage, spec)?;
        Ok((rows, ScanCounters { rows, ..stats.into() }))
    }

    /// Counts the entries of a columnar index in `ranges`.
    fn count_columnar(
        &self,
        codec: &Arc<TableCodec>,
        source: Source,
        ranges: Vec<KeyRange>,
    ) -> Result<(u64, ScanCounters), EngineError> {
        let request = ScanRequest {
            source,
            ranges,
            ..ScanRequest::all(codec.table.clone(), Vec::new())
        };
        let mut cursor = self.scan_columnar(request)?;
        while cursor.next_batch(usize::MAX)?.is_some() {}
        let counters = cursor.counters();
        Ok((counters.rows, counters))
    }

    /// Starts a scan of a columnar index that gives out its columns as vectors; all requested columns
    /// must be in the index.
    ///
    /// Fails as [`Snapshot::scan`] does, and on an index that is not columnar. `masked`, `limit` and `entry_filter` of the request are not looked at.
    pub fn scan_columnar(&self, mut request: ScanRequest) -> Result<ColumnarCursor, EngineError> {
        let codec = self.codec(request.table.id)?;
        if let Some(index) = columnar_index(codec, request.source)? {
            request.tests.extend(self.life_test(index));
        }
        ColumnarCursor::new(codec.clone(), self, request)
    }

    /// Cuts ranges into at most `parts` lists that hold roughly equal amounts of data, in order.
    ///
    /// Returns one list where the data is small or its distribution not known.
    pub fn split(
        &self,
        table: &Table,
        source: Source,
        ranges: Vec<KeyRange>,
        parts: usize,
    ) -> Result<Vec<Vec<KeyRange>>, EngineError> {
        let codec = self.codec(table.id)?;
        if let Some(index) = columnar_index(codec, source)? {
            let ranges = KeyRange::merge(ranges);
            let most = parts.saturating_mul(crate::storage::split::POINTS_PER_PART);
            let points = columnar::first_keys(
                self.raw.as_ref(),
                index,
                (self.kept().0, self.kept().1.blocks),
                &ranges,
                most,
            )?;
            return Ok(crate::storage::split::split_at(ranges, &points, parts));
        }
        let storage = storage_name(codec, source)?;
        crate::storage::split::split(self.store.as_ref(), storage, ranges, parts)
    }
}
