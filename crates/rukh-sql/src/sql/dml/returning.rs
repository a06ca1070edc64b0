//! RETURNING: the rows that a statement wrote, as a query gives rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use rukh_catalog::Table;
use rukh_engine::{Row, Write};
use rukh_syntax::sqlparser::ast::{Expr, Ident, SelectItem, With};

use super::target::Target;
use crate::bind::names::view_target::{ViewColumn, ViewTarget};
use crate::bind::types::table_schema::table_schema;
use crate::exec::rows::Rows;
use crate::sql::computed::{Clause, Computed, Relation, make_batch};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::batch::batch_of_rows;

/// Most bytes of rows that one statement may return: they are held until it has been committed.
pub(super) const RETURNED_BYTES_MAX: usize = 512 << 20;

/// Makes the error for more rows than can be held.
pub(super) fn too_much() -> SqlError {
    let message = format!("RETURNING gives more than {RETURNED_BYTES_MAX} bytes");
    SqlError::statement("54000", message).with_hint("Return fewer rows or columns.")
}

/// What a statement that writes gives back.
pub(crate) struct Written {
    /// How many rows it wrote or removed.
    pub(crate) count: u64,
    /// Those of RETURNING, if it has that.
    pub(crate) rows: Option<Rows>,
}

/// What of a row is there for RETURNING.
enum Shown {
    /// All of it.
    All,
    /// The columns at these positions.
    Some(Vec<usize>),
    /// The columns of a view, some of which have values of their own.
    View(Computed, SchemaRef),
}

/// Evaluates RETURNING on the rows of a statement as they are written.
pub(super) struct Returning<'a> {
    table: Arc<Table>,
    shown: Shown,
    computed: Computed,
    params: &'a [ScalarValue],
    batches: Vec<RecordBatch>,
    bytes: usize,
}

impl<'a> Returning<'a> {
    /// Compiles the items of RETURNING, if there are some, on the table under the name that the statement
    /// gives it, and on the relations that it is joined with. `write` then keeps the rows.
    pub(super) fn new(
        items: Option<&Vec<SelectItem>>,
        (target, name): (&Target, &str),
        joined: Vec<Relation>,
        params: &'a [ScalarValue],
        write: &mut Write,
    ) -> Result<Option<Self>, SqlError> {
        let Some(items) = items else { return Ok(None) };
        let Target { table, view } = target;
        let shown = match (view, table.row_id()) {
            (Some(view), _) => view_columns(table, name, view)?,
            (None, Some(row_id)) => Shown::Some((0..row_id).collect()),
            (None, None) => Shown::All,
        };
        let schema = match &shown {
            Shown::All => table_schema(table),
            Shown::Some(shown) => Arc::new(
                table_schema(table)
                    .project(shown)
                    .map_err(DataFusionError::from)?,
            ),
            Shown::View(_, schema) => schema.clone(),
        };
        let mut relations = vec![Relation {
            name: name.to_string(),
            schema,
        }];
        relations.extend(joined);
        write.keep_written();
        Ok(Some(Returning {
            table: table.clone(),
            shown,
            computed: Computed::new(relations, items, Clause::Returning, params)?,
            params,
            batches: Vec::new(),
            bytes: 0,
        }))
    }

    /// Lets subqueries name the queries of a WITH before the statement.
    pub(super) fn under(mut self, with: Option<&With>) -> Self {
        self.computed = self.computed.under(with);
        self
    }

    /// Adds rows of the table, beside the columns of the relations joined.
    pub(super) fn add(
        &mut self,
        session: &mut Session,
        write: &Write,
        rows: &[Row],
        joined: &[ArrayRef],
    ) -> Result<(), SqlError> {
        if rows.is_empty() {
            return Ok(());
        }
        let batch = self.evaluate(session, write, rows, joined)?;
        self.bytes += batch.get_array_memory_size();
        if self.bytes > RETURNED_BYTES_MAX {
            return Err(too_much());
        }
        self.batches.push(batch);
        Ok(())
    }

    /// Returns the rows.
    pub(super) fn finish(mut self, session: &mut Session, write: &Write) -> Result<Rows, SqlError> {
        if self.batches.is_empty() {
            let fields = self.computed.columns().fields().iter();
            let shown = match &self.shown {
                Shown::All => self.table.columns.len(),
                Shown::Some(shown) => shown.len(),
                Shown::View(_, schema) => schema.fields().len(),
            };
            let widths = fields.skip(shown);
            let joined: Vec<ArrayRef> = widths
                .map(|field| datafusion::arrow::array::new_empty_array(field.data_type()))
                .collect();
            let empty = self.evaluate(session, write, &[], &joined)?;
            self.batches.push(empty);
        }
        Ok(Rows::batches(self.batches[0].schema(), self.batches))
    }

    fn evaluate(
        &self,
        session: &mut Session,
        write: &Write,
        rows: &[Row],
        joined: &[ArrayRef],
    ) -> Result<RecordBatch, SqlError> {
        let types: Vec<_> = self.table.columns.iter().map(|column| column.ty).collect();
        let batch = batch_of_rows(table_schema(&self.table), &types, rows)?;
        let snapshot = write.snapshot().clone();
        let batch = match &self.shown {
            Shown::All => batch,
            Shown::Some(shown) => batch.project(shown).map_err(DataFusionError::from)?,
            Shown::View(columns, _) => columns.evaluate(session, &snapshot, &batch, &[])?,
        };
        let mut columns = batch.columns().to_vec();
        columns.extend(joined.iter().cloned());
        let batch = make_batch(self.computed.columns().clone(), columns, rows.len())?;
        self.computed.evaluate(session, &snapshot, &batch, self.params)
    }
}

/// Returns what is there of rows that go through a view.
fn view_columns(table: &Table, name: &str, view: &ViewTarget) -> Result<Shown, SqlError> {
    let own = |column: &ViewColumn| match column.value {
        None => column.id.and_then(|id| table.position(id)),
        Some(_) => None,
    };
    let own: Option<Vec<usize>> = view.columns.iter().map(own).collect();
    if let Some(own) = own {
        return Ok(Shown::Some(own));
    }
    let relation = Relation {
        name: name.to_string(),
        schema: table_schema(table),
    };
    let quoted = |text: &str| Ident::with_quote('"', text);
    let item = |column: &ViewColumn| SelectItem::ExprWithAlias {
        expr: column
            .value
            .clone()
            .unwrap_or_else(|| Expr::Identifier(quoted(&column.name))),
        alias: quoted(&column.name),
    };
    let items: Vec<SelectItem> = view.columns.iter().map(item).collect();
    let columns = Computed::new(vec![relation], &items, Clause::Returning, &[])?;
    let schema = columns.schema().ok_or_else(|| {
        let message = format!("RETURNING of view \"{}\" is not supported", table.name);
        SqlError::unsupported(message).with_detail("A column of the view needs more than its row.")
    })?;
    let schema = schema.clone();
    Ok(Shown::View(columns, schema))
}
