//! ON CONFLICT DO UPDATE and ON DUPLICATE KEY UPDATE: rows are inserted, or change those in their way.
//!
//! The new values of a row in the way are computed on it and, for ON CONFLICT, on the row that was to be
//! inserted, which is called `excluded`. PostgreSQL lets no row be written twice so; in Phoenix each row that
//! was to be inserted changes what the ones before it have left.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::scalar::ScalarValue;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{Obstacle, OnConflict, Row, Write};
use rukh_syntax::sqlparser::ast::{Expr, SelectItem};

use super::assign::{assigned, is_literal};
use super::conflict::ConflictUpdate;
use crate::bind::types::table_schema::table_schema;
use crate::sql::computed::{Clause, Computed, Relation, make_batch};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::batch::batch_of_rows;

/// Rows that are looked up together.
const CHUNK_ROWS: usize = 1024;

/// Puts rows into a table by a rule for those in their way.
pub(super) struct Resolver<'a> {
    table: Arc<Table>,
    arbiter: OnConflict,
    /// Columns that get new values, and whether those are literals.
    targets: Vec<(ColumnId, bool)>,
    /// The new values, then the condition if there is one.
    computed: Computed,
    has_condition: bool,
    repeats: bool,
    chunk_rows: usize,
    params: &'a [ScalarValue],
}

/// A row in the way, and the one that was to be inserted, which is the `at`-th.
struct Pair {
    at: usize,
    old: Row,
    proposed: Row,
}

impl<'a> Resolver<'a> {
    /// Compiles new values and condition; `name` is the table's within the statement.
    pub(super) fn new(
        table: &Arc<Table>,
        name: &str,
        update: ConflictUpdate,
        params: &'a [ScalarValue],
    ) -> Result<Self, SqlError> {
        let relation = |name: &str| Relation {
            name: name.to_string(),
            schema: table_schema(table),
        };
        let mut relations = vec![relation(name)];
        if !update.repeats {
            relations.push(relation("excluded"));
        }
        let item = |expr: &Expr| SelectItem::UnnamedExpr(expr.clone());
        let (targets, values): (Vec<_>, Vec<_>) = update.assignments.into_iter().unzip();
        let items: Vec<_> = values.iter().chain(&update.selection).map(item).collect();
        // A row that is given another key frees the one it had for the rows that follow.
        let moves = targets.iter().any(|id| update.arbiter_columns.contains(id));
        let literals = values.iter().map(is_literal);
        Ok(Resolver {
            table: table.clone(),
            arbiter: update.arbiter,
            targets: targets.into_iter().zip(literals).collect(),
            computed: Computed::new(relations, &items, Clause::Update, params)?,
            has_condition: update.selection.is_some(),
            repeats: update.repeats,
            chunk_rows: if moves { 1 } else { CHUNK_ROWS },
            params,
        })
    }

    /// Puts rows; returns those that were inserted or changed, as they are stored now.
    pub(super) fn put(
        &mut self,
        session: &mut Session,
        write: &mut Write,
        rows: Vec<Row>,
    ) -> Result<Vec<Row>, SqlError> {
        write.keep_written();
        let mut written = Vec::with_capacity(rows.len());
        let mut rows = rows.into_iter();
        loop {
            let chunk: Vec<Row> = rows.by_ref().take(self.chunk_rows).collect();
            if chunk.is_empty() {
                return Ok(written);
            }
            session.check_cancel()?;
            written.extend(self.put_chunk(session, write, chunk)?);
        }
    }

    fn put_chunk(
        &self,
        session: &mut Session,
        write: &mut Write,
        chunk: Vec<Row>,
    ) -> Result<Vec<Row>, SqlError> {
        let mut written: Vec<(usize, Row)> = Vec::with_capacity(chunk.len());
        let (mut places, mut rows): (Vec<usize>, Vec<Row>) = chunk.into_iter().enumerate().unzip();
        while !rows.is_empty() {
            let obstacles = write.obstacles(&self.table, &mut rows, self.arbiter)?;
            let (mut fresh_places, mut fresh) = (Vec::new(), Vec::new());
            let (mut pairs, mut again) = (Vec::new(), Vec::new());
            let mut met = HashSet::new();
            for ((at, proposed), obstacle) in places.into_iter().zip(rows).zip(obstacles) {
                match obstacle {
                    Obstacle::Free => {
                        fresh_places.push(at);
                        fresh.push(proposed);
                    }
                    Obstacle::Stored(old) | Obstacle::Written(old) if self.repeats => {
                        match met.insert(write.row_key(&self.table, &old)?) {
                            true => pairs.push(Pair { at, old, proposed }),
                            false => again.push((at, proposed)),
                        }
                    }
                    Obstacle::Earlier if self.repeats => again.push((at, proposed)),
                    Obstacle::Stored(old) => pairs.push(Pair { at, old, proposed }),
                    Obstacle::Written(_) | Obstacle::Earlier => return Err(second_time()),
                }
            }
            write.insert(&self.table, fresh, self.arbiter)?;
            written.extend(fresh_places.into_iter().zip(write.take_written()));
            let (changed_places, changes) = self.changes(session, write, pairs)?;
            write.resolve(&self.table, changes)?;
            written.extend(changed_places.into_iter().zip(write.take_written()));
            (places, rows) = again.into_iter().unzip();
        }
        // In the order given; a row that was changed several times stands once for each.
        written.sort_by_key(|(at, _)| *at);
        Ok(written.into_iter().map(|(_, row)| row).collect())
    }

    /// Returns the rows in the way that are to be changed: places, and images before and after.
    fn changes(
        &self,
        session: &mut Session,
        write: &mut Write,
        pairs: Vec<Pair>,
    ) -> Result<(Vec<usize>, Vec<(Row, Row)>), SqlError> {
        if pairs.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let values = self.evaluate(session, write, &pairs)?;
        let is_chosen: Vec<bool> = match self.has_condition {
            true => {
                let condition = values.column(self.targets.len());
                let condition = condition.as_boolean_opt().ok_or_else(not_boolean)?;
                (0..pairs.len())
                    .map(|at| condition.is_valid(at) && condition.value(at))
                    .collect()
            }
            false => vec![true; pairs.len()],
        };
        let mut columns = Vec::with_capacity(self.targets.len());
        for (nth, (id, is_literal)) in self.targets.iter().enumerate() {
            let column = self.table.column(*id).expect("assignments name columns");
            let position = self.table.position(*id).expect("a column has a position");
            let datums = assigned(&values, nth, column, *is_literal)?;
            columns.push((position, datums));
        }
        let (mut places, mut changes) = (Vec::new(), Vec::new());
        let mut changed = HashSet::new();
        for (nth, pair) in pairs.into_iter().enumerate() {
            let key = write.row_key(&self.table, &pair.old)?;
            // As in PostgreSQL the row is locked before WHERE is evaluated: another may be about to make it hold. What the statement has
            // changed cannot be.
            if changed.contains(&key) {
                return Err(second_time());
            }
            if !is_chosen[nth] {
                write.lock_row(&self.table, &pair.old)?;
                continue;
            }
            changed.insert(key);
            let mut new = pair.old.clone();
            for (position, datums) in &columns {
                new[*position] = datums[nth].clone();
            }
            places.push(pair.at);
            changes.push((pair.old, new));
        }
        Ok((places, changes))
    }

    fn evaluate(
        &self,
        session: &mut Session,
        write: &Write,
        pairs: &[Pair],
    ) -> Result<RecordBatch, SqlError> {
        let types: Vec<_> = self.table.columns.iter().map(|column| column.ty).collect();
        let schema = table_schema(&self.table);
        let batch_of = |row: fn(&Pair) -> &Row| {
            let rows: Vec<Row> = pairs.iter().map(|pair| row(pair).clone()).collect();
            batch_of_rows(schema.clone(), &types, &rows)
        };
        let mut columns = batch_of(|pair| &pair.old)?.columns().to_vec();
        if !self.repeats {
            columns.extend(batch_of(|pair| &pair.proposed)?.columns().iter().cloned());
        }
        let batch = make_batch(self.computed.columns().clone(), columns, pairs.len())?;
        let snapshot = write.snapshot().clone();
        self.computed.evaluate(session, &snapshot, &batch, self.params)
    }
}

pub(super) fn second_time() -> SqlError {
    let message = "ON CONFLICT DO UPDATE command cannot affect row a second time";
    SqlError::statement("21000", message).with_hint(
        "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.",
    )
}

fn not_boolean() -> SqlError {
    SqlError::statement("42804", "argument of WHERE must be type boolean")
}
