//! From the vectors of columnar indexes to Arrow, without going by single values where the two agree.
//!
//! The Arrow type of each column is [`crate::types::arrow_type`]'s, as in `batch`.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray, StringBuilder,
    Time64MicrosecondArray, TimestampMicrosecondArray,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::SchemaRef;
use rukh_engine::{ColumnBatch, ColumnVector, Strings, Values, ranked_float, ranked_real};
use rukh_keys::{DataType, Datum};

use crate::SqlError;

/// Makes a batch of vectors, one for each field of the schema.
pub(crate) fn record_batch(schema: SchemaRef, batch: ColumnBatch) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    let columns = batch.columns.into_iter().map(array);
    let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| SqlError::internal(error.to_string()))
}

fn array(vector: ColumnVector) -> Result<ArrayRef, SqlError> {
    let ty = *vector.data_type();
    let nulls = vector
        .nulls()
        .map(|nulls| nulls.iter().map(|null| !null).collect::<NullBuffer>());
    Ok(match vector.into_values() {
        Values::Int(values) => int_array(&ty, values, nulls),
        Values::Wide(values) => decimals(&ty, values, nulls),
        Values::Bytes(strings) => byte_array(&ty, strings, nulls)?,
    })
}

fn int_array(ty: &DataType, values: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef {
    macro_rules! each {
        ($array:ty, $value:ident => $converted:expr) => {{
            let values: Vec<_> = values.into_iter().map(|$value| $converted).collect();
            Arc::new(<$array>::new(ScalarBuffer::from(values), nulls))
        }};
    }
    match ty {
        DataType::Boolean => {
            let values = values.into_iter().map(|value| value != 0).collect();
            Arc::new(BooleanArray::new(values, nulls))
        }
        DataType::TinyInt => each!(Int8Array, v => v as i8),
        DataType::SmallInt => each!(Int16Array, v => v as i16),
        DataType::Integer => each!(Int32Array, v => v as i32),
        DataType::Real => each!(Float32Array, v => ranked_real(v)),
        DataType::Double => each!(Float64Array, v => ranked_float(v)),
        DataType::Decimal { .. } => decimals(ty, values.into_iter().map(i128::from).collect(), nulls),
        DataType::Date => each!(Date32Array, v => v as i32),
        DataType::Time { .. } => Arc::new(Time64MicrosecondArray::new(values.into(), nulls)),
        DataType::Timestamp | DataType::TimestampTz => Arc::new(
            TimestampMicrosecondArray::new(values.into(), nulls).with_data_type(crate::types::arrow_type(ty)),
        ),
        _ => Arc::new(Int64Array::new(values.into(), nulls)),
    }
}

fn decimals(ty: &DataType, values: Vec<i128>, nulls: Option<NullBuffer>) -> ArrayRef {
    let array = Decimal128Array::new(values.into(), nulls);
    Arc::new(array.with_data_type(crate::types::arrow_type(ty)))
}

fn byte_array(ty: &DataType, strings: Strings, nulls: Option<NullBuffer>) -> Result<ArrayRef, SqlError> {
    let too_large = |_| SqlError::internal("a batch has more than 2 GiB of text");
    if *ty == DataType::Uuid {
        return uuids(&strings, nulls.as_ref());
    }
    let offsets = strings.offsets.iter().map(|offset| i32::try_from(*offset));
    let offsets = offsets.collect::<Result<Vec<_>, _>>().map_err(too_large)?;
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let data = Buffer::from_vec(strings.data);
    let invalid = |error: datafusion::arrow::error::ArrowError| {
        SqlError::corruption(format!("a columnar index has values of another type: {error}"))
    };
    Ok(match ty.is_text() {
        true => Arc::new(StringArray::try_new(offsets, data, nulls).map_err(invalid)?),
        false => Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(invalid)?),
    })
}

/// UUIDs become their canonical text.
fn uuids(strings: &Strings, nulls: Option<&NullBuffer>) -> Result<ArrayRef, SqlError> {
    let rows = strings.offsets.len() - 1;
    let mut builder = StringBuilder::with_capacity(rows, rows * 36);
    for row in 0..rows {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            builder.append_null();
            continue;
        }
        let bytes = strings.get(row).try_into();
        let bytes = bytes.map_err(|_| SqlError::corruption("a UUID of another length".to_string()))?;
        builder.append_value(DataType::Uuid.format_text(&Datum::Uuid(bytes)));
    }
    Ok(Arc::new(builder.finish()))
}
