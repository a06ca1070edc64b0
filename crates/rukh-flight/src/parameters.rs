//! Parameters as batches of rows, and as the statement takes them.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::sql::server::PeekableFlightDataStream;
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use rukh::{DataType, Description, Error, Value, arrow_type};
use tonic::Status;

use crate::error::malformed;

/// Returns the schema of a statement's parameters, named `$1`, `$2`, …; arrays are lists.
pub(crate) fn schema(description: &Description) -> Schema {
    let field = |(at, ty): (usize, &DataType)| {
        let plain = match ty {
            // Documents come as texts.
            DataType::Json | DataType::Jsonb => ArrowType::Utf8,
            ty => arrow_type(ty),
        };
        let arrow = match description.arrays.contains(&at) {
            true => ArrowType::List(Arc::new(Field::new_list_field(plain, true))),
            false => plain,
        };
        Field::new(format!("${}", at + 1), arrow, true)
    };
    Schema::new(
        description
            .parameters
            .iter()
            .enumerate()
            .map(field)
            .collect::<Vec<_>>(),
    )
}

/// Returns the rows of a batch as a statement's parameters; fails if there are more or fewer than it takes.
pub(crate) fn rows(batch: &RecordBatch, description: &Description) -> Result<Vec<Vec<Value>>, Error> {
    let (given, wanted) = (batch.num_columns(), description.parameters.len());
    if given != wanted {
        let message = format!("{given} parameters were bound, but the statement requires {wanted}");
        return Err(Error::statement("08P01", message));
    }
    let mut rows: Vec<Vec<Value>> = (0..batch.num_rows()).map(|_| Vec::with_capacity(given)).collect();
    for (at, (array, ty)) in batch.columns().iter().zip(&description.parameters).enumerate() {
        // Arrays come as lists, or as texts such as {1,2}.
        let ty = match description.arrays.contains(&at) {
            true => &DataType::Varchar(None),
            false => ty,
        };
        let values = rukh::values_of_array(array, ty).map_err(|mut error| {
            error.message = format!("parameter ${}: {}", at + 1, error.message);
            error
        })?;
        for (row, value) in rows.iter_mut().zip(values) {
            row.push(value);
        }
    }
    Ok(rows)
}

/// Reads the batches that a client puts; the message that only says what they are for is passed over.
pub(crate) fn batches(
    stream: PeekableFlightDataStream,
) -> impl Stream<Item = Result<RecordBatch, Status>> + Send + Unpin {
    let data = stream.try_filter(|data| futures::future::ready(!data.data_header.is_empty()));
    let batches = FlightRecordBatchStream::new_from_flight_data(data.map_err(FlightError::from).boxed());
    let next = |mut batches: FlightRecordBatchStream| async move {
        // The decoder is not made for bytes that lie.
        match AssertUnwindSafe(batches.next()).catch_unwind().await {
            Ok(None) => None,
            Ok(Some(Ok(batch))) => Some((Ok(batch), Some(batches))),
            Ok(Some(Err(error))) => Some((Err(status_of(error)), None)),
            Err(_) => Some((Err(malformed("a batch cannot be read")), None)),
        }
    };
    let next = move |batches: Option<FlightRecordBatchStream>| async move {
        match batches {
            Some(batches) => next(batches).await,
            None => None,
        }
    };
    Box::pin(futures::stream::unfold(Some(batches), next))
}

fn status_of(error: FlightError) -> Status {
    match error {
        FlightError::Tonic(status) => *status,
        other => malformed(format!("a batch cannot be read: {other}")),
    }
}
