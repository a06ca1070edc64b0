//! Results: rows of a query as record batches or as datums, read as they are made.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use rukh_keys::{DataType, Datum};

use crate::exec::blanks::{fill_row, filled};
use crate::exec::columns::{ColumnInfo, Columns};
use crate::exec::context::StatementContext;
use crate::exec::direct_plans::direct::DirectCursor;
use crate::exec::documents::{shown, shown_schema};
use crate::exec::runtime::Running;
use crate::exec::slow_log::Watch;
use crate::exec::tally::Counting;
use rukh_error::SqlError;
use rukh_functions::batch::batch_of_rows;
use rukh_functions::scalars::datums_from_array;

/// The rows of a query, made as they are read; dropping them ends the query.
pub struct Rows {
    schema: SchemaRef,
    /// The schema in which documents are texts.
    shown: SchemaRef,
    columns: Arc<[ColumnInfo]>,
    /// The columns that are arrays, which become texts where rows are given out.
    arrays: Vec<(usize, DataType)>,
    /// Whether there are columns of CHAR(n).
    has_blanks: bool,
    source: Source,
    context: Option<Arc<StatementContext>>,
    pending: VecDeque<Vec<Datum>>,
    /// The transaction block that an error aborts.
    block: Option<Aborted>,
    /// Logs the statement, should it turn out to be slow.
    watch: Option<Watch>,
    /// Counts what the statement has cost, when it is over.
    counting: Option<Counting>,
}

/// What gives batches one after another, `None` after the last.
pub(crate) trait NextBatch: Send + Sync {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError>;
}

/// Whether a block is aborted; rows that are still being read can abort theirs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aborted(Arc<AtomicBool>);

impl Aborted {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

enum Source {
    /// A running DataFusion plan.
    Stream(Running, Arc<StatementContext>),
    /// A running direct plan.
    Direct(Box<DirectCursor>),
    /// What FETCH takes of a cursor.
    Fetch(Box<dyn NextBatch>),
    /// Batches made in advance: SHOW, EXPLAIN and the like.
    Ready(VecDeque<RecordBatch>),
}

/// Gives a batch the names of the schema.
fn named(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let same = batch
        .schema_ref()
        .fields()
        .iter()
        .zip(schema.fields())
        .all(|(a, b)| a.name() == b.name());
    if same {
        return Ok(batch);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let named = RecordBatch::try_new_with_options(schema.clone(), batch.columns().to_vec(), &options);
    Ok(named.map_err(DataFusionError::from)?)
}

impl Rows {
    /// Makes rows of a running DataFusion plan.
    pub(crate) fn running(running: Running, context: Arc<StatementContext>) -> Self {
        let columns = Columns::of(running.schema());
        Self::new(columns, Source::Stream(running, context.clone()), Some(context))
    }

    /// Makes rows of a running direct plan.
    pub(crate) fn direct(cursor: DirectCursor, context: Arc<StatementContext>) -> Self {
        Self::new(cursor.columns(), Source::Direct(Box::new(cursor)), Some(context))
    }

    /// Makes rows of datums in memory, which fit the columns.
    pub(crate) fn at_hand(columns: Columns, rows: impl IntoIterator<Item = Vec<Datum>>) -> Self {
        let mut made = Self::new(columns, Source::Ready(VecDeque::new()), None);
        made.pending.extend(rows);
        made
    }

    /// Makes rows of a batch made in advance.
    pub(crate) fn ready(batch: RecordBatch) -> Self {
        Self::new(
            Columns::of(batch.schema()),
            Source::Ready(VecDeque::from([batch])),
            None,
        )
    }

    /// Makes rows of batches made in advance.
    pub(crate) fn batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self::new(Columns::of(schema), Source::Ready(batches.into()), None)
    }

    /// Makes rows of what FETCH takes of a cursor.
    pub(crate) fn fetched(schema: SchemaRef, fetch: impl NextBatch + 'static) -> Self {
        Self::new(Columns::of(schema), Source::Fetch(Box::new(fetch)), None)
    }

    fn new(columns: Columns, source: Source, context: Option<Arc<StatementContext>>) -> Self {
        Rows {
            shown: shown_schema(&columns.schema),
            arrays: columns.arrays(),
            schema: columns.schema,
            columns: columns.info,
            has_blanks: columns.has_blanks,
            source,
            context,
            pending: VecDeque::new(),
            block: None,
            watch: None,
            counting: None,
        }
    }

    /// Logs the statement at its end if it turns out to be slow.
    pub(crate) fn watch(&mut self, watch: Option<Watch>) {
        self.watch = watch;
    }

    /// Lets the statement be counted when it is over.
    pub(crate) fn count_by(&mut self, counting: Option<Counting>) {
        self.counting = counting;
        // A row that was read by its key is there before the client takes it.
        if let Some(counting) = &mut self.counting {
            counting.rows += self.pending.len() as u64;
        }
    }

    /// Lets an error among the rows abort the transaction block that they are read in.
    pub(crate) fn abort_on_error(&mut self, block: Aborted) {
        self.block = Some(block);
    }

    fn noted<T>(&self, result: Result<T, SqlError>) -> Result<T, SqlError> {
        result.inspect_err(|_| {
            if let Some(block) = &self.block {
                block.set();
            }
        })
    }

    /// Returns the Arrow schema.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns names and types of the columns.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Returns names and types as the binary format of COPY has them: arrays have their own types, not that of texts.
    ///
    /// # Errors
    /// 0A000 if there are arrays of several dimensions.
    pub(crate) fn binary_columns(&self) -> Result<Vec<ColumnInfo>, SqlError> {
        let mut columns = self.columns.to_vec();
        for (place, ty) in &self.arrays {
            columns[*place].ty = *ty;
        }
        let is_text = |column: &ColumnInfo| column.ty == DataType::Varchar(None);
        let mut fields = self.schema.fields().iter().zip(&columns);
        match fields.find(|(field, column)| field.data_type().is_list() && is_text(column)) {
            None => Ok(columns),
            Some((field, _)) => {
                let message = format!("array \"{}\" cannot be copied in binary", field.name());
                Err(SqlError::unsupported(message))
            }
        }
    }

    /// Returns the next rows as a batch, or `None` at the end.
    ///
    /// Rows already taken by [`Rows::next_row`] in part of a batch come first.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let batch = self.read_batch();
        self.noted(batch)
    }

    /// Returns the schema of [`Rows::shown_batch`].
    pub fn shown_schema(&self) -> SchemaRef {
        self.shown.clone()
    }

    /// Returns the next rows as [`Rows::next_batch`] does, values of CHAR(n) filled with blanks to n characters, and documents as texts.
    pub fn shown_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        match self.filled_batch()? {
            Some(batch) if !Arc::ptr_eq(&self.shown, &self.schema) => shown(batch, &self.shown).map(Some),
            batch => Ok(batch),
        }
    }

    /// The same, documents as they are computed with.
    pub(crate) fn filled_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        match self.next_batch()? {
            Some(batch) if self.has_blanks => filled(batch, self.types()).map(Some),
            batch => Ok(batch),
        }
    }

    /// Returns the next row as [`Rows::next_row`] does, values of CHAR(n) filled with blanks to n characters.
    pub fn shown_row(&mut self) -> Result<Option<Vec<Datum>>, SqlError> {
        let mut row = self.next_row()?;
        if let (true, Some(row)) = (self.has_blanks, &mut row) {
            fill_row(row, self.types());
        }
        Ok(row)
    }

    fn types(&self) -> impl Iterator<Item = DataType> {
        self.columns.iter().map(|column| column.ty)
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        if !self.pending.is_empty() {
            let rows: Vec<_> = self.pending.drain(..).collect();
            return self.to_batch(&rows).map(Some);
        }
        let batch = match &mut self.source {
            Source::Stream(running, context) => {
                let batch = running.next(&context.cancel)?;
                let named = |batch: RecordBatch| named(batch, &self.schema);
                batch.map(named).transpose()?
            }
            Source::Fetch(fetch) => fetch.next_batch()?,
            Source::Ready(batches) => batches.pop_front(),
            Source::Direct(cursor) => {
                let rows = cursor.next_rows()?;
                match rows.is_empty() {
                    true => None,
                    false => Some(self.to_batch(&rows)?),
                }
            }
        };
        self.count(batch.as_ref().map(|batch| batch.num_rows()));
        Ok(batch)
    }

    /// Returns the next row as datums, or `None` at the end.
    pub fn next_row(&mut self) -> Result<Option<Vec<Datum>>, SqlError> {
        while self.pending.is_empty() {
            let more = self.refill();
            if !self.noted(more)? {
                return Ok(None);
            }
        }
        let mut row = self.pending.pop_front();
        for (at, ty) in &self.arrays {
            if let Some(value) = row.as_mut().and_then(|row| row.get_mut(*at))
                && let Datum::Array(_) = value
            {
                *value = Datum::Text(ty.format_text(value));
            }
        }
        Ok(row)
    }

    /// Fetches more rows into `pending`; false at the end.
    fn refill(&mut self) -> Result<bool, SqlError> {
        if let Source::Direct(cursor) = &mut self.source {
            self.pending = cursor.next_rows()?.into();
            self.count(Some(self.pending.len()).filter(|n| *n > 0));
            return Ok(!self.pending.is_empty());
        }
        let Some(batch) = self.read_batch()? else {
            return Ok(false);
        };
        let mut columns = self.columns.to_vec();
        for (at, ty) in &self.arrays {
            columns[*at].ty = *ty;
        }
        self.pending = rows_of_batch(&batch, &columns)?.into();
        Ok(true)
    }

    fn to_batch(&self, rows: &[Vec<Datum>]) -> Result<RecordBatch, SqlError> {
        let mut types: Vec<_> = self.types().collect();
        for (at, ty) in &self.arrays {
            types[*at] = *ty;
        }
        batch_of_rows(self.schema.clone(), &types, rows)
    }

    fn count(&mut self, rows: Option<usize>) {
        if let Some(context) = &self.context {
            match rows {
                Some(rows) => context.totals.add_rows(rows as u64),
                None => context.finished(),
            }
        }
        match (rows, &mut self.counting) {
            (Some(rows), Some(counting)) => counting.rows += rows as u64,
            (Some(_), None) => {}
            (None, _) => (self.watch, self.counting) = (None, None),
        }
    }
}

/// Turns a batch into rows of datums.
pub(crate) fn rows_of_batch(
    batch: &RecordBatch,
    columns: &[ColumnInfo],
) -> Result<Vec<Vec<Datum>>, SqlError> {
    let mut rows: Vec<Vec<Datum>> = (0..batch.num_rows())
        .map(|_| Vec::with_capacity(columns.len()))
        .collect();
    for (array, column) in batch.columns().iter().zip(columns) {
        let datums = datums_from_array(array, &column.ty)?;
        for (row, datum) in rows.iter_mut().zip(datums) {
            row.push(datum);
        }
    }
    Ok(rows)
}
