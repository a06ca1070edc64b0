//! Rows that a session reads by their keys, without a context of a statement: of a [`PointRead`] or a [`PrefixRead`].

use std::sync::atomic::Ordering;
use std::time::Instant;

use rukh_engine::PointReader;
use rukh_error::SqlError;
use rukh_keys::DatumRef;
use rukh_planner::Constant;
use smallvec::SmallVec;

use crate::exec::context::{QueryStats, RunPath};
use crate::exec::direct_plans::direct::DirectPlan;
use crate::exec::direct_plans::point_read::PointRead;
use crate::exec::direct_plans::prefix_read::{PrefixRead, PrefixReader, ROWS_MAX};
use crate::exec::rows::Rows;
use crate::sql::session::Session;

impl Session {
    /// Reads one row; `None` if the query is to be run as any other direct plan. `version` is that of the
    /// catalog that the plan was made for.
    pub(crate) fn read_point(
        &mut self,
        point: &PointRead,
        version: u64,
        params: &[Constant],
    ) -> Result<Option<Rows>, SqlError> {
        if self.settings.log_min_duration.is_some() {
            return Ok(None);
        }
        let started = Instant::now();
        let Some(key) = point.key.datums(params) else {
            return Ok(None);
        };
        let key: SmallVec<[DatumRef<'_>; 10]> = key.iter().map(|datum| datum.as_ref().as_ref()).collect();
        let known = point.reader.get();
        let latest = !self.is_in_block() && known.is_some_and(PointReader::is_single_get);
        let snapshot = match latest {
            true => self.engine().latest(point.table),
            false => self.snapshot(),
        };
        if snapshot.catalog.version != version {
            return Ok(None);
        }
        let before = snapshot.traffic();
        let reader = match known {
            Some(reader) => reader,
            None => {
                let made = PointReader::new(&snapshot, point.table, point.output.clone())?;
                point.reader.get_or_init(|| made)
            }
        };
        if !reader.fits(&snapshot) {
            return Ok(None);
        }
        let (row, counters) = match reader.read(&snapshot, &key) {
            Err(rukh_engine::EngineError::Value { .. }) => return Ok(None),
            read => read?,
        };
        if latest && !self.engine().has_definitions_of(&snapshot) {
            return Ok(None);
        }
        let elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ran_point(QueryStats {
            path: RunPath::Direct,
            counters,
            traffic: snapshot.traffic() - before,
            planning_us: 0,
            elapsed_us,
        });
        Ok(Some(Rows::at_hand(point.shown.clone(), row)))
    }

    /// Reads the rows of a prefix; `None` if the query is to be run as any other direct plan. `version` is that
    /// of the catalog that the plan was made for.
    pub(crate) fn read_prefix(
        &mut self,
        plan: &DirectPlan,
        prefix: &PrefixRead,
        version: u64,
        params: &[Constant],
    ) -> Result<Option<Rows>, SqlError> {
        if self.settings.log_min_duration.is_some() || prefix.long.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let started = Instant::now();
        let Some(key) = prefix.key.datums(params) else {
            return Ok(None);
        };
        let key: SmallVec<[DatumRef<'_>; 10]> = key.iter().map(|datum| datum.as_ref().as_ref()).collect();
        let latest = !self.is_in_block();
        let snapshot = match latest {
            true => self.engine().latest(prefix.table),
            false => self.snapshot(),
        };
        if snapshot.catalog.version != version {
            return Ok(None);
        }
        let before = snapshot.traffic();
        let reader = match prefix.reader.get() {
            Some(known) => known,
            None => {
                let context = self.plain_context(snapshot.clone());
                let made = prefix.reader(plan, &context, params)?;
                prefix.reader.get_or_init(|| made)
            }
        };
        let Some(PrefixReader { reader, reverse }) = reader else {
            return Ok(None);
        };
        if !reader.fits(&snapshot) {
            return Ok(None);
        }
        let cancel = self.cancel().flag();
        let read = reader.read_prefix(&snapshot, &key, *reverse, prefix.fetch, ROWS_MAX, cancel);
        let (rows, counters) = match read {
            Err(rukh_engine::EngineError::Value { .. }) => return Ok(None),
            read => read?,
        };
        let Some(mut rows) = rows else {
            prefix.long.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        if latest && !self.engine().has_definitions_of(&snapshot) {
            return Ok(None);
        }
        let skipped = usize::try_from(prefix.skip).map_or(rows.len(), |skip| skip.min(rows.len()));
        rows.drain(..skipped);
        let elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.ran_point(QueryStats {
            path: RunPath::Direct,
            counters,
            traffic: snapshot.traffic() - before,
            planning_us: 0,
            elapsed_us,
        });
        Ok(Some(Rows::at_hand(prefix.shown.clone(), rows)))
    }
}
