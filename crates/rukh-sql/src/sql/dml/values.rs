//! The rows of VALUES: expressions to datums, and defaults for what is not given.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::Field;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Column, ColumnId, Identity, Sequence, Table};
use rukh_engine::{Row, Snapshot};
use rukh_keys::Datum;
use rukh_syntax::sqlparser::ast::{Expr, With};

use crate::bind::spelling::literal_values::literal;
use crate::bind::spelling::moment_words::moment_cast;
use crate::bind::types::expressions::{DefaultValue, evaluate_constant};
use crate::exec::session_settings::transaction_time::TransactionTime;
use crate::pg::sequences::{Sequences, sequence_of_default};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::scalars::{assigned_datums, check_assigned, datum_from_scalar};
use rukh_syntax::Overriding;

pub(super) fn check_width(given: usize, wanted: usize) -> Result<(), SqlError> {
    match given.cmp(&wanted) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SqlError::syntax(
            "INSERT has more expressions than target columns",
        )),
        std::cmp::Ordering::Less => Err(SqlError::syntax(
            "INSERT has more target columns than expressions",
        )),
    }
}

/// Fails if a statement may not give values to a column.
pub(super) fn check_given(column: &Column, overriding: Option<Overriding>) -> Result<(), SqlError> {
    match computed_kind(column) {
        None => Ok(()),
        Some(_) if overriding.is_some() && column.values.generated.is_none() => Ok(()),
        Some(kind) => {
            let name = &column.name;
            let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
            let error = SqlError::statement("428C9", message);
            let error = error.with_detail(format!("Column \"{name}\" is {kind}."));
            Err(match column.values.generated {
                Some(_) => error,
                None => error.with_hint("Use OVERRIDING SYSTEM VALUE to override."),
            })
        }
    }
}

/// Says what a column is that takes no values of statements.
pub(super) fn computed_kind(column: &Column) -> Option<&'static str> {
    match (&column.values.generated, column.values.identity) {
        (Some(_), _) => Some("a generated column"),
        (_, Some(Identity::Always)) => Some("an identity column defined as GENERATED ALWAYS"),
        _ => None,
    }
}

pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Turns the expressions of VALUES into datums: literals and parameters at once, the rest by a query.
pub(super) struct Values<'a> {
    pub(super) session: &'a mut Session,
    pub(super) snapshot: &'a Snapshot,
    /// WITH before the statement.
    pub(super) with: Option<&'a With>,
    pub(super) table: &'a Table,
    pub(super) columns: &'a [ColumnId],
    pub(super) params: &'a [ScalarValue],
    pub(super) overriding: Option<Overriding>,
}

impl Values<'_> {
    /// Returns one datum per named column; `None` for DEFAULT.
    pub(super) fn row(&mut self, row: &[Expr]) -> Result<Vec<Option<Datum>>, SqlError> {
        check_width(row.len(), self.columns.len())?;
        let (table, columns) = (self.table, self.columns);
        let pairs = row.iter().zip(columns);
        pairs
            .map(|(expr, id)| self.value(expr, table.column(*id).expect("named columns exist")))
            .collect()
    }

    fn value(&mut self, expr: &Expr, column: &Column) -> Result<Option<Datum>, SqlError> {
        if is_default(expr) {
            return Ok(None);
        }
        check_given(column, self.overriding)?;
        let moment = moment_cast(expr, &column.ty);
        let expr = moment.as_ref().unwrap_or(expr);
        let known = match literal(expr, self.params)? {
            Some(scalar) => return datum_from_scalar(&scalar, &column.ty, &column.name).map(Some),
            None if moment.is_some() => None,
            None => evaluate_constant(expr)?,
        };
        let scalar = match known {
            Some(scalar) => scalar,
            None => self
                .session
                .evaluate(self.snapshot, self.with, expr, self.params)?,
        };
        let field = Field::new(&column.name, scalar.data_type(), true);
        check_assigned(&field, &column.ty, &column.name)?;
        datum_from_scalar(&scalar, &column.ty, &column.name).map(Some)
    }
}

/// Completes rows of the named columns to rows of the table, with defaults evaluated once unless they are volatile.
pub(super) struct RowFiller<'a> {
    table: &'a Table,
    /// Position in the table of each named column.
    targets: Vec<usize>,
    /// Positions of columns whose values are passed over.
    ignored: Vec<usize>,
    defaults: HashMap<usize, Default>,
    sequences: Arc<Sequences>,
    /// The value of `now()` in defaults.
    time: TransactionTime,
}

/// What a column has that is not given.
enum Default {
    /// The value of an expression.
    Value(DefaultValue),
    /// The next number.
    Next(Arc<Sequence>),
}

impl<'a> RowFiller<'a> {
    pub(super) fn new(session: &Session, table: &'a Table, columns: &[ColumnId]) -> Result<Self, SqlError> {
        let position = |id: &ColumnId| table.position(*id).expect("named columns exist");
        let targets = columns.iter().map(position).collect();
        Ok(RowFiller {
            table,
            targets,
            ignored: Vec::new(),
            defaults: HashMap::new(),
            sequences: session.sequences.clone(),
            time: session.time.clone(),
        })
    }

    /// Passes over values of identity columns if the statement says so.
    pub(super) fn overriding(mut self, overriding: Option<Overriding>) -> Self {
        if overriding == Some(Overriding::User) {
            let columns = self.table.columns.iter().enumerate();
            let identity = columns.filter(|(_, column)| column.values.identity.is_some());
            self.ignored = identity.map(|(position, _)| position).collect();
        }
        self
    }

    pub(super) fn fill(&mut self, values: Vec<Option<Datum>>) -> Result<Row, SqlError> {
        let mut row: Vec<Option<Datum>> = vec![None; self.table.columns.len()];
        for (target, value) in self.targets.iter().zip(values) {
            row[*target] = value.filter(|_| !self.ignored.contains(target));
        }
        row.into_iter()
            .enumerate()
            .map(|(position, value)| value.map_or_else(|| self.default(position), Ok))
            .collect()
    }

    pub(super) fn fill_batch(
        &mut self,
        batch: &RecordBatch,
        table: &Table,
        columns: &[ColumnId],
    ) -> Result<Vec<Row>, SqlError> {
        let mut given: Vec<Vec<Option<Datum>>> = (0..batch.num_rows())
            .map(|_| Vec::with_capacity(columns.len()))
            .collect();
        for (array, id) in batch.columns().iter().zip(columns) {
            let column = table.column(*id).expect("named columns exist");
            for (row, datum) in given
                .iter_mut()
                .zip(assigned_datums(array, &column.ty, &column.name)?)
            {
                row.push(Some(datum));
            }
        }
        given.into_iter().map(|values| self.fill(values)).collect()
    }

    fn default(&mut self, position: usize) -> Result<Datum, SqlError> {
        let column = &self.table.columns[position];
        if !self.defaults.contains_key(&position) {
            let default = self.evaluated(column)?;
            self.defaults.insert(position, default);
        }
        match &self.defaults[&position] {
            Default::Value(value) => value.next(&column.ty, &column.name),
            Default::Next(sequence) => Ok(column.ty.check(Datum::Int(self.sequences.next(sequence)?))?),
        }
    }

    fn evaluated(&self, column: &Column) -> Result<Default, SqlError> {
        let Some(sql) = column.default_sql() else {
            return Ok(Default::Value(DefaultValue::Same(Datum::Null)));
        };
        match sequence_of_default(sql) {
            Some(name) => self.sequences.named(&name).map(Default::Next),
            None => {
                DefaultValue::compile(sql, &column.ty, &column.name, self.time.micros()).map(Default::Value)
            }
        }
    }
}
