//! A snapshot with changes on top.

use super::cursor::MergeCursor;
use super::{Claim, Kept, Tables, kept};
use crate::drive::Driver;
use crate::memory::{RowsPosition, Table};
use crate::store::count_shown;
use crate::{KvCursor, KvError, KvSnapshot, MergeOperator, ScanSpec, ScanStats, Traffic, merge};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The changes of an overlay at one moment, over the snapshot that they are changes of.
pub(super) struct OverlayView {
    pub(super) base: Arc<dyn KvSnapshot>,
    pub(super) tables: Arc<Tables>,
    /// Tables of which nothing of the base is shown.
    pub(super) cleared: Arc<BTreeSet<String>>,
    pub(super) claim: Arc<Claim>,
    pub(super) operator: Option<Arc<dyn MergeOperator>>,
}

impl OverlayView {
    /// Returns the changes of a table, if there are any.
    fn changed(&self, table: &str) -> Option<&Arc<Table>> {
        self.tables.get(table).filter(|table| !table.is_empty())
    }

    /// Returns what is below the changes of a table, unless nothing of it is shown.
    fn below(&self, table: &str) -> Option<&dyn KvSnapshot> {
        (!self.cleared.contains(table)).then_some(self.base.as_ref())
    }

    /// Returns the value that a key has below its changes.
    fn stored(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        self.below(table).map_or(Ok(None), |base| base.get(table, key))
    }

    /// Returns a cursor over rows of the overlay, or over none.
    fn own(&self, rows: Arc<Table>, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let (claim, reverse) = (Arc::clone(&self.claim), spec.reverse);
        let driver = Driver::new(spec, |_| {
            Ok(RowsPosition::new(rows, claim.sequence, claim, reverse))
        })?;
        Ok(Box::new(driver))
    }

    /// Returns the value of a key that something is kept of; `stored` is what the base has.
    fn value(
        &self,
        table: &str,
        key: &[u8],
        kept: Kept<'_>,
        stored: Option<Vec<u8>>,
    ) -> Result<Option<Vec<u8>>, KvError> {
        let operand = match kept {
            Kept::Deleted => return Ok(None),
            Kept::Value(value) => return Ok(Some(value.to_vec())),
            Kept::Merged(operand) => operand,
        };
        let operator = self.operator.as_deref();
        let operator = operator.ok_or_else(|| merge::unfoldable(table, key))?;
        merge::fold(operator, table, key, stored.as_deref(), &[operand]).map(Some)
    }
}

impl KvSnapshot for OverlayView {
    fn tables(&self) -> Vec<String> {
        self.base.tables()
    }

    fn traffic(&self) -> Traffic {
        self.base.traffic()
    }

    fn get(&self, table: &str, key: &[u8]) -> Result<Option<Vec<u8>>, KvError> {
        let bytes = self
            .changed(table)
            .and_then(|rows| rows.value(key, self.claim.sequence));
        match bytes.as_deref().and_then(kept) {
            Some(merged @ Kept::Merged(_)) => self.value(table, key, merged, self.stored(table, key)?),
            Some(kept) => self.value(table, key, kept, None),
            None => self.stored(table, key),
        }
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let stored = |keys: &[Vec<u8>]| match self.below(table) {
            Some(base) => base.multi_get(table, keys),
            None => Ok(vec![None; keys.len()]),
        };
        let Some(rows) = self.changed(table) else {
            return stored(keys);
        };
        let own = rows.values(keys, self.claim.sequence);
        let changes: Vec<Option<Kept<'_>>> = own.iter().map(|bytes| kept(bytes.as_deref()?)).collect();
        let is_wanted = |change: &Option<Kept<'_>>| matches!(change, None | Some(Kept::Merged(_)));
        let wanted = keys.iter().zip(&changes).filter(|(_, change)| is_wanted(change));
        let wanted: Vec<Vec<u8>> = wanted.map(|(key, _)| key.clone()).collect();
        let mut stored = stored(&wanted)?.into_iter();
        let values = keys.iter().zip(changes).map(|(key, change)| {
            let stored = is_wanted(&change).then(|| stored.next().flatten()).flatten();
            match change {
                None => Ok(stored),
                Some(kept) => self.value(table, key, kept, stored),
            }
        });
        values.collect()
    }

    fn scan(&self, table: &str, spec: ScanSpec) -> Result<Box<dyn KvCursor>, KvError> {
        let rows = match (self.changed(table), self.below(table)) {
            (None, Some(base)) => return base.scan(table, spec),
            (None, None) => return self.own(Arc::default(), spec),
            (Some(rows), _) => rows,
        };
        let all = ScanSpec {
            limit: None,
            ..spec.clone()
        };
        let base = match self.below(table) {
            Some(base) => base.scan(table, all.clone())?,
            None => self.own(Arc::default(), all.clone())?,
        };
        // The value kept for a key shows whether it was deleted.
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
            self.operator.clone(),
            table,
            &spec,
        )))
    }

    fn count(&self, table: &str, spec: ScanSpec) -> Result<(u64, ScanStats), KvError> {
        match (self.changed(table), self.below(table)) {
            (None, Some(base)) => base.count(table, spec),
            _ => count_shown(self.scan(table, spec.keys_only())?),
        }
    }
}
