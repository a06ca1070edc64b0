//! A snapshot with changes on top.

use super::cursor::MergeCursor;
use super::{Claim, Kept, Tables, kept};
use crate::drive::Driver;
use crate::memory::{RowsPosition, Table};
use crate::store::count_shown;
use crate::{KvCursor, KvError, KvSnapshot, MergeOperator, ScanSpec, ScanStats, Traffic, merge};
use std::sync::Arc;

/// The changes of an overlay at one moment, over the snapshot that they are changes of.
pub(super) struct OverlayView {
    base: Arc<dyn KvSnapshot>,
    tables: Arc<Tables>,
    claim: Arc<Claim>,
    operator: Option<Arc<dyn MergeOperator>>,
}

impl OverlayView {
    pub(super) fn new(
        base: Arc<dyn KvSnapshot>,
        tables: Arc<Tables>,
        claim: Arc<Claim>,
        operator: Option<Arc<dyn MergeOperator>>,
    ) -> OverlayView {
        OverlayView {
            base,
            tables,
            claim,
            operator,
        }
    }

    /// Returns the changes of a table, if there are any.
    fn changed(&self, table: &str) -> Option<&Arc<Table>> {
        self.tables.get(table).filter(|table| !table.is_empty())
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
            Some(merged @ Kept::Merged(_)) => self.value(table, key, merged, self.base.get(table, key)?),
            Some(kept) => self.value(table, key, kept, None),
            None => self.base.get(table, key),
        }
    }

    fn multi_get(&self, table: &str, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>, KvError> {
        let Some(rows) = self.changed(table) else {
            return self.base.multi_get(table, keys);
        };
        let own = rows.values(keys, self.claim.sequence);
        let changes: Vec<Option<Kept<'_>>> = own.iter().map(|bytes| kept(bytes.as_deref()?)).collect();
        let is_wanted = |change: &Option<Kept<'_>>| matches!(change, None | Some(Kept::Merged(_)));
        let wanted = keys.iter().zip(&changes).filter(|(_, change)| is_wanted(change));
        let wanted: Vec<Vec<u8>> = wanted.map(|(key, _)| key.clone()).collect();
        let mut stored = self.base.multi_get(table, &wanted)?.into_iter();
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
        let Some(rows) = self.changed(table) else {
            return self.base.scan(table, spec);
        };
        let all = ScanSpec {
            limit: None,
            ..spec.clone()
        };
        let base = self.base.scan(table, all.clone())?;
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
        match self.changed(table) {
            None => self.base.count(table, spec),
            Some(_) => count_shown(self.scan(table, spec.keys_only())?),
        }
    }
}
