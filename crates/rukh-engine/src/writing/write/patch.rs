//! Changing columns without reading the row: merges instead of images before and after.
//!
//! `UPSERT INTO t (key, a) VALUES …` leaves the other columns of a row alone, or makes a row of their defaults. Where
//! neither index, rule, lifetime nor history depends on the row, both are one operand (`counter`): what to do with a row that is
//! there, and the row if there is none. Whether it is there is never read.

use super::{Write, row_key};
use crate::forms::codec::FamilyCodec;
use crate::forms::counter;
use crate::forms::maintain::Maintainer;
use crate::writing::pending::row_bytes;
use crate::{EngineError, Row};
use rukh_catalog::{ColumnId, Table};
use std::sync::Arc;

impl Write {
    /// Whether these rows can be upserted by [`Write::patch`].
    ///
    /// 1. Nothing depends on the rest of the row: no index, CHECK, FOREIGN KEY, generated column, hash in the key, time or history.
    ///    With `CHECK (a < b)`, `UPSERT (k, a)` must read `b`.
    /// 2. The row is one if there is none: its other columns may be as they are given. `b NOT NULL` without a default lets
    ///    the statement pass only where there is a row.
    /// 3. Each family has an entry of every row, or none of this one whether the row is new or not. Otherwise it is unknown
    ///    which entries come and go.
    ///
    /// For all rows of a statement the answer is the same: what it does not name are defaults.
    pub(super) fn can_patch(&self, maintainer: &Maintainer, named: &[ColumnId], rows: &[Row]) -> bool {
        let (codec, table) = (&maintainer.codec, &maintainer.codec.table);
        let is_named = |at: usize| named.contains(&table.columns[at].id);
        let is_left = |at: &usize| !codec.is_key_column(*at) && !is_named(*at);
        let depends = !table.indexes.is_empty()
            || !table.foreign_keys.is_empty()
            || codec.blocks.is_some()
            || table.options.timed
            || !maintainer.rules.is_empty()
            || codec.hashed_positions().next().is_some();
        let given = |row: &Row, at: usize| row.get(at).is_some_and(|datum| !datum.is_null());
        let fits_anyway = |row: &Row, at: usize| is_named(at) || table.columns[at].nullable || given(row, at);
        let is_settled = |row: &Row, family: &FamilyCodec| {
            let mut positions = family.positions.iter();
            let has_every_row = family.positions.iter().any(|at| !table.columns[*at].nullable);
            has_every_row || positions.all(|at| !is_named(*at) && !given(row, *at))
        };
        let all = || 0..table.columns.len();
        self.inner.store.merge_operator().is_some()
            && self.written.is_none()
            && !depends
            && all().any(|at| is_left(&at))
            && all().any(|at| is_named(at) && !codec.is_key_column(at))
            && rows.iter().all(|row| {
                all().all(|at| fits_anyway(row, at))
                    && codec.families[1..].iter().all(|family| is_settled(row, family))
            })
    }

    /// Adds rows or, where their keys are taken, sets the columns in `named` of the rows that have them; reads
    /// nothing. Returns how many were given.
    pub(super) fn patch(
        &mut self,
        table: &Arc<Table>,
        maintainer: &Maintainer,
        named: &[ColumnId],
        rows: &[Row],
    ) -> Result<u64, EngineError> {
        let codec = &maintainer.codec;
        let positions: Vec<usize> = named.iter().filter_map(|id| table.position(*id)).collect();
        for row in rows {
            codec.check_row(row)?;
            let key = row_key(codec, row)?;
            let mut operands = smallvec::SmallVec::new();
            for (nth, family) in codec.families.iter().enumerate() {
                let patches = family.patches(&positions, row)?;
                operands.push(match nth > 0 && family.is_absent(row) && patches.is_empty() {
                    true => None,
                    false => {
                        let mut value = Vec::new();
                        family.encode(row, None, &mut value)?;
                        Some(counter::operand(&[], &patches, Some(&value)))
                    }
                });
            }
            self.bytes += row_bytes(row);
            self.note_merge(table.id, key, operands, true)?;
        }
        Ok(rows.len() as u64)
    }
}
