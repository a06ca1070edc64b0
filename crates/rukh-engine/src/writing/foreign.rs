//! FOREIGN KEY constraints: what becomes of rows that refer to others, and the check that what they refer to is there.
//!
//! All of it happens at the end of a statement, on the state that the statement leaves behind:
//!
//! 1. Values of referenced columns that rows have lost are looked for in the referencing tables. CASCADE, SET NULL and SET DEFAULT change
//!    the rows found, within the same statement; what these changes take away is treated in the same way, until there is nothing more.
//! 2. No row may be left that refers to such a value, if no other row has brought it back.
//! 3. Rows that are new, or refer to something else, must find it.
//!
//! Of a constraint that is deferred, 2 and 3 are noted, and done at the end of the transaction ([`DeferredCheck`]).
//!
//! Under snapshot isolation two transactions could each leave the constraint intact, and together break it: one deletes the row that the
//! other begins to refer to. So both touch the value of the referenced columns: a statement that refers to it *adds* to it, which goes together with
//! others that do, and one that takes it away *changes* it. Updates of other columns of the referenced row conflict with neither, like PostgreSQL's `FOR KEY SHARE`.

use crate::forms::compiled::Compiled;
use crate::reading::definitions::{Definitions, Reference};
use crate::state::touches::{ReferredValue, Touches};
use crate::writing::constraint::{
    Constraint, DeferredCheck, Enforced, Nulls, Values, is_touched, matching, offered, positions, present,
};
use crate::writing::existing::settle_arrivals;
use crate::writing::pending::{Image, Moves, PendingTable, Stored};
use crate::writing::write::Write;
use crate::{EngineError, Row, RowFunctions};
use rukh_catalog::{ForeignAction, ForeignKey, TableId};
use rukh_keys::Datum;
use rukh_kv::Touch;
use std::collections::BTreeMap;

/// A value that a row has lost, and the one that it has instead.
type Moved = ((Vec<u8>, Row), Row);

impl Write {
    /// Has referencing rows follow what the statement does to the rows they refer to, and checks that each refers to something.
    pub(crate) fn enforce(
        &mut self,
        is_deferred: &dyn Fn(&ForeignKey, TableId) -> bool,
    ) -> Result<Enforced, EngineError> {
        let definitions = self.snapshot.definitions.clone();
        if definitions.references.is_empty() {
            return Ok(Enforced::default());
        }
        let mut ended = self.follow(&definitions)?;
        let mut enforced = Enforced::default();
        let touches = self.inner.clone();
        let touches = &touches.touches;
        for (constraint, values) in &mut ended {
            self.forget_offered(constraint, values)?;
            name_all(constraint, values, &mut enforced.touched, |value| {
                touches.reference_ends(constraint.key.referenced, value)
            });
            if values.is_empty() {
                continue;
            }
            let is_restricted =
                [constraint.key.on_delete, constraint.key.on_update].contains(&ForeignAction::Restrict);
            if is_deferred(&constraint.key, constraint.referencing.table.id) && !is_restricted {
                let checks = values
                    .values()
                    .map(|value| DeferredCheck::of_value(constraint, value));
                enforced.deferred.extend(checks);
                continue;
            }
            if let Some((_, row)) = self.referencing(constraint, values)?.first() {
                let value = constraint.referred(row);
                return Err(constraint.still_referred(&value.map(|(_, value)| value).unwrap_or_default()));
            }
        }
        self.check_referred(&definitions, touches, is_deferred, &mut enforced)?;
        Ok(enforced)
    }

    /// Changes referencing rows as the constraints say, until nothing is left to do; returns the values that referenced rows have lost.
    fn follow(&mut self, definitions: &Definitions) -> Result<Vec<(Constraint, Values)>, EngineError> {
        let mut ended: Vec<(Constraint, Values)> = Vec::new();
        loop {
            for pending in self.tables.values_mut() {
                settle_arrivals(&self.snapshot, pending)?;
            }
            let mut steps: Vec<(usize, Values, Vec<Moved>)> = Vec::new();
            let tables: Vec<TableId> = self.tables.keys().copied().collect();
            for table in tables {
                for reference in definitions.references_to(table) {
                    let at = known_constraint(definitions, &mut ended, reference)?;
                    let (constraint, known) = &mut ended[at];
                    let (mut deleted, mut moved) = (Values::new(), Vec::new());
                    let moves = self.moves.get(&table);
                    for (value, new) in lost(constraint, &self.tables[&table], moves) {
                        if known.insert(value.0.clone(), value.1.clone()).is_some() {
                            continue;
                        }
                        match new {
                            None => drop(deleted.insert(value.0, value.1)),
                            Some(new) => moved.push((value, new)),
                        }
                    }
                    if !deleted.is_empty() || !moved.is_empty() {
                        steps.push((at, deleted, moved));
                    }
                }
            }
            if steps.is_empty() {
                return Ok(ended);
            }
            for (at, deleted, moved) in steps {
                self.act(&ended[at].0, deleted, moved)?;
            }
        }
    }

    /// Does what a constraint says of the rows that refer to values which are gone, or have become others.
    fn act(
        &mut self,
        constraint: &Constraint,
        deleted: Values,
        moved: Vec<Moved>,
    ) -> Result<(), EngineError> {
        let table = constraint.referencing.table.clone();
        // Rows that follow are none that the statement returns.
        let written = self.written.take();
        if !matches!(
            constraint.key.on_delete,
            ForeignAction::NoAction | ForeignAction::Restrict
        ) && !deleted.is_empty()
        {
            let found = self.referencing(constraint, &deleted)?;
            let rows: Vec<Row> = found.into_iter().map(|(_, row)| row).collect();
            match constraint.key.on_delete {
                ForeignAction::Cascade => drop(self.delete(&table, rows)?),
                action => {
                    let values = self.values_of(constraint, action)?;
                    let changes = rows.into_iter().map(|row| with_values(constraint, row, &values));
                    let changes: Vec<(Row, Row)> = changes.collect();
                    self.update(&table, changes)?;
                }
            }
        }
        if !matches!(
            constraint.key.on_update,
            ForeignAction::NoAction | ForeignAction::Restrict
        ) && !moved.is_empty()
        {
            let new: BTreeMap<Vec<u8>, Row> = moved
                .iter()
                .map(|((old, _), new)| (old.clone(), new.clone()))
                .collect();
            let old: Values = moved.into_iter().map(|(old, _)| old).collect();
            let found = self.referencing(constraint, &old)?;
            let mut changes = Vec::with_capacity(found.len());
            let default = self.values_of(constraint, constraint.key.on_update)?;
            for (_, row) in found {
                let values = match constraint.key.on_update {
                    ForeignAction::Cascade => {
                        let new = constraint.referred(&row).and_then(|(value, _)| new.get(&value));
                        converted(constraint, new.map_or(&[], Vec::as_slice))?
                    }
                    _ => default.clone(),
                };
                changes.push(with_values(constraint, row, &values));
            }
            self.update(&table, changes)?;
        }
        self.written = written;
        Ok(())
    }

    /// Returns the values that an action gives the referencing columns.
    fn values_of(&self, constraint: &Constraint, action: ForeignAction) -> Result<Row, EngineError> {
        match action {
            ForeignAction::SetDefault => defaults(constraint, &*self.inner.functions),
            _ => Ok(vec![Datum::Null; constraint.key.columns.len()]),
        }
    }

    /// Returns the rows that refer to one of these values, as the statement leaves them, with their keys.
    fn referencing(
        &self,
        constraint: &Constraint,
        values: &Values,
    ) -> Result<Vec<(Vec<u8>, Row)>, EngineError> {
        let codec = &constraint.referencing;
        let pending = self.tables.get(&codec.table.id);
        let mut rows = Vec::new();
        matching(
            &self.snapshot,
            codec,
            &constraint.key.columns,
            values,
            &mut |key, row| {
                if !is_touched(pending, &key) {
                    rows.push((key, row));
                }
            },
        )?;
        rows.extend(present(pending).map(|(key, row)| (key.clone(), row.clone())));
        rows.retain(|(_, row)| {
            constraint
                .referred(row)
                .is_some_and(|(value, _)| values.contains_key(&value))
        });
        Ok(rows)
    }

    /// Takes out values that a row of the referenced table has, as the statement leaves it.
    fn forget_offered(&self, constraint: &Constraint, values: &mut Values) -> Result<(), EngineError> {
        let offered = offered(
            &self.snapshot,
            self.tables.get(&constraint.key.referenced),
            constraint,
            values,
        )?;
        values.retain(|value, _| !offered.contains(value));
        Ok(())
    }

    /// Checks that rows which are new, or refer to something else, refer to something.
    fn check_referred(
        &self,
        definitions: &Definitions,
        touches: &Touches,
        is_deferred: &dyn Fn(&ForeignKey, TableId) -> bool,
        enforced: &mut Enforced,
    ) -> Result<(), EngineError> {
        for (id, pending) in &self.tables {
            for key in &pending.maintainer.codec.table.foreign_keys {
                let constraint = Constraint::of(definitions, *id, key)?;
                let mut values = Values::new();
                let mut rows = Vec::new();
                for (row_key, row) in pending.rows.iter() {
                    let Image::Row(new) = &row.image else { continue };
                    let nulls = constraint.nulls(new);
                    if nulls == Nulls::Some && key.match_full {
                        return Err(EngineError::MixedNulls {
                            table: constraint.referencing.table.name.clone(),
                            constraint: key.name.clone(),
                        });
                    }
                    let is_same = |old: &Row| {
                        positions(&constraint.referencing.table, &key.columns).all(|at| old[at] == new[at])
                    };
                    if nulls != Nulls::None || matches!(&row.stored, Stored::Present(old) if is_same(old)) {
                        continue;
                    }
                    match constraint.referred(new) {
                        Some((bytes, value)) => {
                            rows.push((row_key, bytes.clone(), new));
                            values.insert(bytes, value);
                        }
                        None => return Err(constraint.nothing_there(new)),
                    }
                }
                if rows.is_empty() {
                    continue;
                }
                name_all(&constraint, &values, &mut enforced.touched, |value| {
                    touches.referred(key.referenced, value)
                });
                let referenced = self.tables.get(&key.referenced);
                let offered = offered(&self.snapshot, referenced, &constraint, &values)?;
                let missing = rows.iter().filter(|(_, value, _)| !offered.contains(value));
                if is_deferred(key, *id) {
                    let checks = missing.map(|(row_key, _, _)| DeferredCheck::of_row(&constraint, row_key));
                    enforced.deferred.extend(checks);
                } else if let Some((_, _, row)) = missing.into_iter().next() {
                    return Err(constraint.nothing_there(row));
                }
            }
        }
        Ok(())
    }
}

/// Returns the values that rows of a referenced table lose, each with what its row has instead.
fn lost(
    constraint: &Constraint,
    pending: &PendingTable,
    moves: Option<&Moves>,
) -> Vec<((Vec<u8>, Row), Option<Row>)> {
    let changed = pending.rows.iter().filter_map(|(key, row)| {
        let Stored::Present(old) = &row.stored else {
            return None;
        };
        let old = constraint.offered(old)?;
        let now = match moves {
            None => Some(row),
            Some(moves) => moves.key_of(key).and_then(|key| pending.rows.get(key)),
        };
        match now.map(|row| &row.image) {
            Some(Image::Untouched) => None,
            None | Some(Image::Gone) => Some((old, None)),
            Some(Image::Row(new)) => {
                let columns = &constraint.key.referenced_columns;
                let new_value: Row = positions(&constraint.referenced.table, columns)
                    .map(|at| new[at].clone())
                    .collect();
                (new_value != old.1).then_some((old, Some(new_value)))
            }
        }
    });
    changed.collect()
}

/// Returns the position of a constraint among those that are known, added if it was not.
fn known_constraint(
    definitions: &Definitions,
    known: &mut Vec<(Constraint, Values)>,
    reference: &Reference,
) -> Result<usize, EngineError> {
    let is_it = |(constraint, _): &(Constraint, Values)| {
        constraint.referencing.table.id == reference.table && constraint.key.name == reference.key.name
    };
    if let Some(at) = known.iter().position(is_it) {
        return Ok(at);
    }
    let constraint = Constraint::of(definitions, reference.table, &reference.key)?;
    known.push((constraint, Values::new()));
    Ok(known.len() - 1)
}

/// Returns a row, and the same with other values in the referencing columns.
fn with_values(constraint: &Constraint, row: Row, values: &[Datum]) -> (Row, Row) {
    let mut new = row.clone();
    let at = positions(&constraint.referencing.table, &constraint.key.columns);
    for (at, value) in at.zip(values) {
        new[at] = value.clone();
    }
    (row, new)
}

/// Returns values of the referenced columns as the referencing columns take them.
fn converted(constraint: &Constraint, values: &[Datum]) -> Result<Row, EngineError> {
    let table = &constraint.referencing.table;
    let at = positions(table, &constraint.key.columns);
    at.zip(values)
        .map(|(at, value)| Ok(table.columns[at].ty.check(value.clone())?))
        .collect()
}

/// Returns the defaults of the referencing columns.
fn defaults(constraint: &Constraint, functions: &dyn RowFunctions) -> Result<Row, EngineError> {
    let table = &constraint.referencing.table;
    let nulls: Row = vec![Datum::Null; table.columns.len()];
    let default = |at: usize| {
        let column = &table.columns[at];
        match column.default_sql() {
            None => Ok(Datum::Null),
            Some(sql) => {
                let compiled = Compiled::new(table, sql, &column.ty, functions)?;
                let value = compiled
                    .evaluate(&[nulls.as_slice()])?
                    .pop()
                    .unwrap_or(Datum::Null);
                Ok(column.ty.check(value)?)
            }
        }
    };
    positions(table, &constraint.key.columns).map(default).collect()
}

/// Names values to other transactions.
fn name_all(
    constraint: &Constraint,
    values: &Values,
    touched: &mut Vec<Touch>,
    touch: impl Fn(&ReferredValue) -> Touch,
) {
    let named = values.values().filter_map(|value| constraint.named(value));
    touched.extend(named.map(|value| touch(&value)));
}
