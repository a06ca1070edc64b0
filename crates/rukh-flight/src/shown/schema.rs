//! Schemas as clients get them: the same before a statement runs and when it does.
//!
//! Whether values may be NULL is not known before, so that all may be. Columns carry the name of their SQL type
//! where Flight SQL puts it.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_flight::{IpcMessage, SchemaAsIpc};
use bytes::Bytes;
use rukh::arrow::array::{ArrayRef, AsArray, RecordBatch, RecordBatchOptions};
use rukh::arrow::compute::cast;
use rukh::arrow::datatypes::{DataType, Decimal256Type, Field, FieldRef, Schema, SchemaRef};
use rukh::arrow::ipc::writer::IpcWriteOptions;
use rukh::{Error, NUMERIC_NAN, TYPE_KEY, data_type_of, shown_schema};

/// Where Flight SQL puts the name of a column's type.
const TYPE_NAME: &str = "ARROW:FLIGHT:SQL:TYPE_NAME";

/// Returns the schema that clients get for a result's.
pub(crate) fn as_sent(schema: &Schema) -> SchemaRef {
    let schema = shown_schema(&Arc::new(schema.clone()));
    let field = |field: &FieldRef| {
        let mut metadata = HashMap::from([(TYPE_NAME.to_string(), type_name(field))]);
        if let Some(exact) = field.metadata().get(TYPE_KEY) {
            metadata.insert(TYPE_KEY.to_string(), exact.clone());
        }
        Field::new(field.name(), field.data_type().clone(), true).with_metadata(metadata)
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// Returns the name of a column's type; arrays of any dimensions are those of their elements.
fn type_name(field: &Field) -> String {
    let mut element = field;
    while let DataType::List(of) = element.data_type() {
        element = of;
    }
    // Documents are sent as texts.
    let document = element
        .metadata()
        .get(TYPE_KEY)
        .filter(|name| *name == "JSON" || *name == "JSONB");
    let name = document.map_or_else(|| data_type_of(element).to_string(), Clone::clone);
    match matches!(field.data_type(), DataType::List(_)) {
        true => format!("{name}[]"),
        false => name,
    }
}

/// Casts a batch to the schema that the client has.
pub(crate) fn fit(batch: RecordBatch, sent: &SchemaRef) -> Result<RecordBatch, Error> {
    if batch.num_columns() != sent.fields().len() {
        return Err(changed());
    }
    let columns = batch.columns().iter().zip(sent.fields());
    let columns = columns.map(|(array, field)| match array.data_type() == field.data_type() {
        true => Ok(array.clone()),
        false => cast(array, field.data_type()).map_err(|_| changed()),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    if columns.iter().any(has_nan) {
        let message = "NaN of type numeric has no form in Arrow";
        return Err(Error::unsupported(message).with_hint("Cast it to double precision."));
    }
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(sent.clone(), columns, &options).map_err(|error| broken(&error))
}

/// Whether a column has a NUMERIC, or an array of them, that is NaN.
fn has_nan(column: &ArrayRef) -> bool {
    match column.data_type() {
        DataType::Decimal256(..) => {
            let mut values = column.as_primitive::<Decimal256Type>().iter();
            values.any(|value| value == Some(NUMERIC_NAN))
        }
        DataType::List(_) => has_nan(column.as_list::<i32>().values()),
        _ => false,
    }
}

fn changed() -> Error {
    Error::unsupported("cached plan must not change result type")
}

/// Writes a schema as messages carry it.
pub(crate) fn encoded(schema: &Schema) -> Result<Bytes, Error> {
    let options = IpcWriteOptions::default();
    let message: IpcMessage = SchemaAsIpc::new(schema, &options)
        .try_into()
        .map_err(|error| broken(&error))?;
    Ok(message.0)
}

fn broken(error: &dyn std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}
