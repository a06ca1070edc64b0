//! Statements with their parameters: what they are, where they may run, and runs of them.

use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;
use rukh::{Connection, DataType, Description, Error, Rows, Statement, StatementKind, Value};
use tokio::sync::mpsc;
use tonic::Status;

use crate::held::{Shared, shared};
use crate::parameters;
use crate::run::Runs;
use crate::session::Place;
use crate::shown::schema;
use crate::waits;

/// A statement that a session has prepared.
pub(crate) struct PreparedStatement {
    pub(crate) statement: Arc<dyn Shared<Statement>>,
    /// The transaction that it was prepared in.
    pub(crate) transaction: Option<Bytes>,
    /// Batches of parameters for the next query.
    bound: Mutex<Arc<[RecordBatch]>>,
}

impl PreparedStatement {
    /// Keeps a statement.
    pub(crate) fn new(statement: Arc<dyn Shared<Statement>>, transaction: Option<Bytes>) -> Self {
        PreparedStatement {
            statement,
            transaction,
            bound: Mutex::new(Arc::from([])),
        }
    }

    /// Keeps parameters for the next query.
    pub(crate) fn bind(&self, batches: Vec<RecordBatch>) {
        *self.bound.lock() = batches.into();
    }

    /// Returns the statement with the parameters that were bound.
    pub(crate) fn call(&self) -> Call {
        Call {
            statement: self.statement.clone(),
            bound: self.bound.lock().clone(),
        }
    }
}

/// A statement to be run, once for each row of its parameters.
pub(crate) struct Call {
    pub(crate) statement: Arc<dyn Shared<Statement>>,
    bound: Arc<[RecordBatch]>,
}

impl Call {
    /// Makes a call without parameters.
    pub(crate) fn plain(statement: Statement) -> Self {
        Call {
            statement: shared(statement),
            bound: Arc::from([]),
        }
    }

    fn rows(&self, description: &Description) -> Result<Vec<Vec<Value>>, Error> {
        if self.bound.iter().all(|batch| batch.num_columns() == 0) {
            return match description.parameters.len() {
                0 => Ok(vec![Vec::new()]),
                wanted => Err(unbound(wanted)),
            };
        }
        let mut rows = Vec::new();
        for batch in self.bound.iter() {
            rows.extend(parameters::rows(batch, description)?);
        }
        Ok(rows)
    }

    /// Returns the schema of the rows; `None` if there are none.
    pub(crate) fn schema(&self, connection: &mut Connection) -> Result<Option<SchemaRef>, Error> {
        let description = connection.describe(self.statement.get(), &[])?;
        if description.schema.is_none() || self.bound.is_empty() {
            return Ok(description.schema.as_deref().map(schema::as_sent));
        }
        self.schema_of(connection, &self.rows(&description)?)
    }

    /// Returns the schema of the rows for the types of these parameters.
    fn schema_of(
        &self,
        connection: &mut Connection,
        rows: &[Vec<Value>],
    ) -> Result<Option<SchemaRef>, Error> {
        let first = rows.first().map(Vec::as_slice).unwrap_or_default();
        let given: Vec<Option<DataType>> = first.iter().map(|value| Some(value.ty)).collect();
        let description = connection.describe(self.statement.get(), &given)?;
        Ok(description.schema.as_deref().map(schema::as_sent))
    }

    /// Returns the schema of the rows, and how to get them.
    pub(crate) fn begin(self, connection: &mut Connection) -> Result<(SchemaRef, Runs), Error> {
        let description = connection.describe(self.statement.get(), &[])?;
        let rows = self.rows(&description)?;
        let schema = self.schema_of(connection, &rows)?;
        let schema = schema.ok_or_else(|| Error::syntax("the statement gives no rows"))?;
        let (statement, mut rows) = (self.statement, rows.into_iter());
        let next = move |connection: &mut Connection| -> Result<Option<Rows>, Error> {
            let Some(row) = rows.next() else {
                return Ok(None);
            };
            connection.query_prepared(statement.get(), &row).map(Some)
        };
        Ok((schema, Box::new(next)))
    }

    /// Runs the statement for the rows bound, all of them or none; returns how many rows it has changed.
    pub(crate) fn update(self, place: &Place, connection: &mut Connection) -> Result<i64, Error> {
        let description = connection.describe(self.statement.get(), &[])?;
        let rows = self.rows(&description)?;
        match rows.as_slice() {
            [only] => run(connection, self.statement.get(), only),
            _ => together(place, self.statement.get(), connection, |connection| {
                let mut changed = 0;
                for row in &rows {
                    changed += run(connection, self.statement.get(), row)?;
                }
                Ok(changed)
            }),
        }
    }
}

fn unbound(wanted: usize) -> Error {
    let message = format!("0 parameters were bound, but the statement requires {wanted}");
    Error::statement("08P01", message)
}

fn run(connection: &mut Connection, statement: &Statement, row: &[Value]) -> Result<i64, Error> {
    let mut outcome = connection.execute_prepared(statement, row)?;
    match outcome.rows.take() {
        None => Ok(count(&outcome.tag)),
        Some(mut rows) => {
            let mut count = 0;
            while let Some(batch) = rows.next_batch()? {
                count += batch.num_rows() as i64;
            }
            Ok(count)
        }
    }
}

/// Runs several statements as one, in a transaction of their own where there is none.
fn together<T>(
    place: &Place,
    statement: &Statement,
    connection: &mut Connection,
    work: impl FnOnce(&mut Connection) -> Result<T, Error>,
) -> Result<T, Error> {
    // A statement that no transaction may hold runs once for each request.
    if matches!(place, Place::Within(_)) || statement.kind() == StatementKind::Alone {
        return work(connection);
    }
    connection.execute("BEGIN")?;
    match work(connection) {
        Ok(done) => connection.execute("COMMIT").map(|_| done),
        Err(error) => {
            connection.execute("ROLLBACK")?;
            Err(error)
        }
    }
}

/// Runs a statement for each row of the batches that come, all of them or none; returns how many rows it has
/// changed. Without a batch, or with one without columns, it runs for the rows that were bound before.
pub(crate) fn update_each(
    place: &Place,
    call: Call,
    connection: &mut Connection,
    mut batches: mpsc::Receiver<Result<RecordBatch, Status>>,
) -> Result<i64, Error> {
    let description = connection.describe(call.statement.get(), &[])?;
    let check = waits::check_of(connection);
    let mut next = || match waits::receive(&mut batches, &check)? {
        None => Ok(None),
        Some(Ok(batch)) => Ok(Some(batch).filter(|batch| batch.num_columns() > 0)),
        Some(Err(status)) => Err(Error::statement("08P01", status.message().to_string())),
    };
    let Some(first) = next()? else {
        return call.update(place, connection);
    };
    let statement = call.statement.get();
    together(place, statement, connection, |connection| {
        let mut changed = 0;
        let mut batch = Some(first);
        while let Some(rows) = batch {
            for row in parameters::rows(&rows, &description)? {
                changed += run(connection, statement, &row)?;
            }
            batch = next()?;
        }
        Ok(changed)
    })
}

/// Returns how many rows a statement has changed, as its tag says; 0 for those that change none.
pub(crate) fn count(tag: &str) -> i64 {
    let count = tag.rsplit(' ').next().and_then(|count| count.parse().ok());
    count.unwrap_or(0)
}

/// Fails on statements that the protocol has calls for.
pub(crate) fn check_kind(statement: &Statement, place: &Place) -> Result<(), Error> {
    match (statement.kind(), place) {
        (StatementKind::Begin | StatementKind::End, _) | (StatementKind::Transaction, Place::Alone) => {
            let message = "transactions of Flight SQL are begun and ended by its calls, not by statements";
            Err(Error::unsupported(message).with_hint("Use BeginTransaction and EndTransaction."))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_counts() {
        for (tag, number) in [("INSERT 0 4", 4), ("DELETE 2", 2), ("CREATE TABLE", 0), ("", 0)] {
            assert_eq!(count(tag), number, "{tag}");
        }
    }
}
