//! `ON DUPLICATE KEY UPDATE c = c + n` and `ON CONFLICT (key) DO UPDATE SET c = t.c + n` of counters:
//! rows and what is added go to storage as merges, and nothing is read.
//!
//! Amounts are constants or, for ON CONFLICT, columns of the row that was to be inserted. Whatever else a
//! statement asks goes the way of `resolve`, which gives the same rows.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::scalar::ScalarValue;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{OnConflict, Row, Write};
use rukh_keys::Datum;
use rukh_syntax::sqlparser::ast::{BinaryOperator, Expr};

use super::conflict::{Conflict, ConflictUpdate};
use super::resolve::second_time;
use crate::bind::spelling::literal_values::literal;
use rukh_error::SqlError;
use rukh_syntax::folded;

/// Counters with what is added to each.
pub(super) struct Adder {
    table: Arc<Table>,
    columns: Vec<ColumnId>,
    amounts: Vec<Amount>,
    /// Whether rows of one key may come several times.
    repeats: bool,
}

/// What is added to a counter.
enum Amount {
    Constant(i64),
    /// The value of the row that was to be inserted at a position, or its negative.
    Excluded {
        position: usize,
        negative: bool,
    },
}

impl Adder {
    /// Reads what a statement does with a row in the way; `None` unless it only adds. `name` is the
    /// table's within the statement.
    pub(super) fn new(
        table: &Arc<Table>,
        name: &str,
        conflict: &Conflict,
        params: &[ScalarValue],
    ) -> Option<Adder> {
        let Conflict::Update(update) = conflict else {
            return None;
        };
        let ConflictUpdate {
            arbiter: OnConflict::IgnoreKey,
            arbiter_columns: _,
            assignments,
            selection: None,
            repeats,
        } = &**update
        else {
            return None;
        };
        let reader = Reader {
            table,
            name,
            params,
            repeats: *repeats,
        };
        let amounts = assignments.iter().map(|(id, expr)| reader.amount(*id, expr));
        Some(Adder {
            table: table.clone(),
            columns: assignments.iter().map(|(id, _)| *id).collect(),
            amounts: amounts.collect::<Option<_>>()?,
            repeats: *repeats,
        })
    }

    /// Whether these rows may be put by [`Adder::put`].
    pub(super) fn takes(&self, write: &Write, rows: &[Row]) -> bool {
        rows.iter().all(|row| {
            write.can_insert_or_add(&self.table, &self.columns, row)
                && self.amounts.iter().all(|amount| amount.of(row).is_some())
        })
    }

    /// Puts rows, or adds to those in their way; returns how many were given.
    pub(super) fn put(&self, write: &mut Write, rows: Vec<Row>) -> Result<u64, SqlError> {
        let mut met = HashSet::new();
        for row in rows.iter().filter(|_| !self.repeats) {
            if !met.insert(write.row_key(&self.table, row)?) {
                return Err(second_time());
            }
        }
        let amounts: Vec<Vec<(ColumnId, i64)>> = rows.iter().map(|row| self.amounts(row)).collect();
        Ok(write.insert_or_add(&self.table, rows, &amounts)?)
    }

    fn amounts(&self, row: &Row) -> Vec<(ColumnId, i64)> {
        let pairs = self.columns.iter().zip(&self.amounts);
        pairs
            .filter_map(|(id, amount)| Some((*id, amount.of(row)?)))
            .collect()
    }
}

impl Amount {
    /// Returns what is added for a row; `None` if it is no number.
    fn of(&self, row: &Row) -> Option<i64> {
        match self {
            Amount::Constant(amount) => Some(*amount),
            Amount::Excluded { position, negative } => match row.get(*position)? {
                Datum::Int(value) if *negative => value.checked_neg(),
                Datum::Int(value) => Some(*value),
                _ => None,
            },
        }
    }
}

/// Reads assignments.
struct Reader<'a> {
    table: &'a Table,
    name: &'a str,
    params: &'a [ScalarValue],
    repeats: bool,
}

impl Reader<'_> {
    /// Returns what an assignment adds to its column; `None` if it is anything else.
    fn amount(&self, id: ColumnId, expr: &Expr) -> Option<Amount> {
        let (left, op, right) = match expr {
            Expr::Nested(inner) => return self.amount(id, inner),
            Expr::BinaryOp { left, op, right } => (&**left, op, &**right),
            _ => return None,
        };
        match op {
            BinaryOperator::Plus if self.is_column(id, left) => self.operand(right, false),
            BinaryOperator::Plus if self.is_column(id, right) => self.operand(left, false),
            BinaryOperator::Minus if self.is_column(id, left) => self.operand(right, true),
            _ => None,
        }
    }

    /// Whether an expression is the column as the row in the way has it.
    fn is_column(&self, id: ColumnId, expr: &Expr) -> bool {
        let name = match expr {
            // With `excluded` beside the table, the name alone would be ambiguous.
            Expr::Identifier(name) if self.repeats => name,
            Expr::CompoundIdentifier(names) => match names.as_slice() {
                [relation, name] if folded(relation) == self.name => name,
                _ => return false,
            },
            _ => return false,
        };
        self.table.column_name(id) == folded(name)
    }

    fn operand(&self, expr: &Expr, negative: bool) -> Option<Amount> {
        match expr {
            Expr::Nested(inner) => self.operand(inner, negative),
            Expr::CompoundIdentifier(names) if !self.repeats => {
                let [relation, name] = names.as_slice() else {
                    return None;
                };
                let column = self.table.column_named(&folded(name))?;
                let is_given = folded(relation) == "excluded"
                    && column.ty.is_integer()
                    && column.values.generated.is_none();
                let position = self.table.position(column.id)?;
                is_given.then_some(Amount::Excluded { position, negative })
            }
            _ => match literal(expr, self.params).ok()?? {
                ScalarValue::Int64(Some(amount)) if negative => amount.checked_neg().map(Amount::Constant),
                ScalarValue::Int64(Some(amount)) => Some(Amount::Constant(amount)),
                _ => None,
            },
        }
    }
}
