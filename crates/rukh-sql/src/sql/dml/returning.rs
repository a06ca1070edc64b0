//! RETURNING: the rows that a statement wrote, as a query gives rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{Row, Write};
use rukh_syntax::sqlparser::ast::{SelectItem, With};

use super::target::Target;
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

/// Evaluates RETURNING on the rows of a statement as they are written.
pub(super) struct Returning<'a> {
    table: Arc<Table>,
    /// Positions of the columns of a view, if rows go through one.
    shown: Option<Vec<usize>>,
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
        let position = |id: &ColumnId| table.position(*id).expect("a view has columns of its table");
        let shown = view
            .as_ref()
            .map(|view| view.columns.iter().map(position).collect::<Vec<_>>())
            .or_else(|| Some((0..table.row_id()?).collect()));
        let schema = table_schema(table);
        let schema = match &shown {
            Some(shown) => Arc::new(schema.project(shown).map_err(DataFusionError::from)?),
            None => schema,
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
            let shown = self.shown.as_ref().map_or(self.table.columns.len(), Vec::len);
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
        let batch = match &self.shown {
            Some(shown) => batch.project(shown).map_err(DataFusionError::from)?,
            None => batch,
        };
        let mut columns = batch.columns().to_vec();
        columns.extend(joined.iter().cloned());
        let batch = make_batch(self.computed.columns().clone(), columns, rows.len())?;
        let snapshot = write.snapshot().clone();
        self.computed.evaluate(session, &snapshot, &batch, self.params)
    }
}
