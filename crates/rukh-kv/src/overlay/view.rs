//! A snapshot with changes on top.

use super::merge::MergeCursor;
use super::{Claim, Tables, change};
use crate::drive::Driver;
use crate::memory::{RowsPosition, Table};
use crate::store::count_shown;
use crate::{KvCursor, KvError, KvSnapshot, ScanSpec, ScanStats};
use std::sync::Arc;

/// The changes of an overlay at one moment, over the snapshot that they are changes of.
pub(super) struct OverlayView {
    base: Arc<dyn KvSnapshot>,
    tables: Arc<Tables>,
    claim: Arc<Claim>,
}

impl OverlayView {
    pub(super) fn new(base: Arc<dyn KvSnapshot>, tables: Arc<Tables>, claim: Arc<Claim>) -> OverlayView {
        OverlayView { base, tables, claim }
    }

    /// Returns the changes of a table, if there are any.
    fn changed(&self, table: &str) -> Option<&Arc<Table>> {
        self.tables.get(table).filter(|table| !table.is_empty())
    }
}

impl KvSnapshot for OverlayView {
    fn tables(&self) -> Vec<String> {
        self.base.tables()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let kept = self
            .changed(table)
            .and_then(|rows| rows.value(key, self.claim.sequence));
        match kept.as_deref().and_then(change) {
            Some(value) => Ok(value.map(<[u8]>::to_vec)),
            None => self.base.get(table, key),
        }
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let Some(rows) = self.changed(table) else {
            return self.base.multi_get(table, keys);
        };
        let kept = rows.values(keys, self.claim.sequence);
        let unchanged = keys.iter().zip(&kept).filter(|(_, kept)| kept.is_none());
        let unchanged: Vec<Vec<u8>> = unchanged.map(|(key, _)| key.clone()).collect();
        let mut stored = self.base.multi_get(table, &unchanged)?.into_iter();
        let value = |kept: Option<Vec<u8>>| match kept {
            Some(kept) => change(&kept).flatten().map(<[u8]>::to_vec),
            None => stored.next().flatten(),
        };
        Ok(kept.into_iter().map(value).collect())
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let Some(rows) = self.changed(table) else {
            return self.base.scan(table, spec);
        };
        let all = ScanSpec { limit: None, ..spec };
        let base = self.base.scan(table, all.clone())?;
        // Whether a key was deleted is told by what is kept as its value.
        let own = ScanSpec {
            keys_only: false,
            ..all
        };
        let (rows, claim) = (Arc::clone(rows), Arc::clone(&self.claim));
        let own = Driver::new(own, |_| {
            Ok(RowsPosition::new(rows, claim.sequence, claim, spec.reverse))
        })?;
        Ok(Box::new(MergeCursor::new(
            base,
            own,
            spec.reverse,
            spec.keys_only,
            spec.limit,
        )))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        match self.changed(table) {
            None => self.base.count(table, spec),
            Some(_) => count_shown(self.scan(table, spec.keys_only())?),
        }
    }
}
