//! From the vectors of columnar indexes to Arrow, without going by single values where the two agree.
//!
//! | values                                              | become Arrow's by                                     |
//! |-----------------------------------------------------|-------------------------------------------------------|
//! | BIGINT, TIME, TIMESTAMP; DECIMAL of over 18 digits  | giving their memory away                              |
//! | texts and byte strings                              | giving it away, their ends too; texts are checked to be UTF-8 |
//! | texts and byte strings by number                    | a copy of each                                        |
//! | narrower integers, DATE, floats, BOOLEAN; DECIMAL of 18 digits at most; UUID | a conversion of each value: vectors have 64 bits of each, Arrow less, or 128 |
//!
//! The Arrow type of each column is [`rukh_functions::types::arrow_type`]'s, as in `batch`.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Decimal256Array, Float32Array,
    Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, IntervalMonthDayNanoArray, LargeBinaryArray,
    LargeStringArray, RecordBatch, RecordBatchOptions, StringArray, StringBuilder, Time64MicrosecondArray,
    TimestampMicrosecondArray, TimestampSecondArray,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use datafusion::arrow::datatypes::SchemaRef;
use rukh_engine::{ColumnBatch, ColumnVector, Strings, Values, ranked_float, ranked_real};
use rukh_functions::batch::array_of;
use rukh_functions::forms::intervals::arrow_of;
use rukh_functions::forms::numerics::unscaled_of_form;
use rukh_functions::types::arrow_type;
use rukh_keys::{DataType, Datum, Interval};

use rukh_error::SqlError;

/// Makes a batch of vectors, one for each field of the schema.
pub(crate) fn record_batch(schema: SchemaRef, batch: ColumnBatch) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows));
    let columns = batch.columns.into_iter().map(array);
    let columns = columns.collect::<Result<Vec<_>, SqlError>>()?;
    RecordBatch::try_new_with_options(schema, columns, &options)
        .map_err(|error| SqlError::internal(error.to_string()))
}

/// Returns which rows of a vector are not NULL, or `None` if none is.
pub(crate) fn null_buffer(vector: &ColumnVector) -> Option<NullBuffer> {
    let nulls = vector.nulls()?;
    Some(nulls.iter().map(|null| !null).collect())
}

/// Makes an array of a vector.
pub(crate) fn array(vector: ColumnVector) -> Result<ArrayRef, SqlError> {
    let ty = *vector.data_type();
    let nulls = null_buffer(&vector);
    let too_much = || SqlError::internal("a batch has more than 4 GiB of text");
    Ok(match vector.into_values() {
        Values::Int(values) => int_array(&ty, values, nulls),
        Values::Wide(values) if ty == DataType::Interval => intervals(&values, nulls.as_ref())?,
        Values::Wide(values) => decimals(&ty, values, nulls),
        Values::Bytes(strings) => byte_array(&ty, strings, nulls)?,
        Values::Coded(coded) => byte_array(&ty, coded.strings().ok_or_else(too_much)?, nulls)?,
    })
}

/// Makes an array of integers, or of what is held as such.
pub(crate) fn int_array(ty: &DataType, values: Vec<i64>, nulls: Option<NullBuffer>) -> ArrayRef {
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
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            Arc::new(TimestampMicrosecondArray::new(values.into(), nulls).with_data_type(arrow_type(ty)))
        }
        DataType::Enum(_) => {
            Arc::new(TimestampSecondArray::new(values.into(), nulls).with_data_type(arrow_type(ty)))
        }
        _ => Arc::new(Int64Array::new(values.into(), nulls)),
    }
}

fn decimals(ty: &DataType, values: Vec<i128>, nulls: Option<NullBuffer>) -> ArrayRef {
    let array = Decimal128Array::new(values.into(), nulls);
    Arc::new(array.with_data_type(arrow_type(ty)))
}

/// Intervals have microseconds in 64 bits, and nanoseconds in Arrow.
fn intervals(values: &[i128], nulls: Option<&NullBuffer>) -> Result<ArrayRef, SqlError> {
    let interval = |(row, bits): (usize, &i128)| match nulls.is_some_and(|nulls| nulls.is_null(row)) {
        true => Ok(None),
        false => Ok(Some(arrow_of(Interval::of_bits(*bits))?)),
    };
    let values = values.iter().enumerate().map(interval);
    let values = values.collect::<Result<IntervalMonthDayNanoArray, SqlError>>()?;
    Ok(Arc::new(values))
}

/// Arrays and rows are taken apart one by one.
fn arrays(ty: &DataType, strings: &Strings, nulls: Option<&NullBuffer>) -> Result<ArrayRef, SqlError> {
    let rows = 0..strings.offsets.len().saturating_sub(1);
    let datums = rows.map(|row| match nulls.is_some_and(|nulls| nulls.is_null(row)) {
        true => Datum::Null,
        false => Datum::Array(strings.get(row).to_vec()),
    });
    array_of(ty, &datums.collect::<Vec<Datum>>())
}

/// Documents have ends of 64 bits in Arrow.
fn documents(ty: &DataType, strings: Strings, nulls: Option<NullBuffer>) -> Result<ArrayRef, SqlError> {
    let offsets: Vec<i64> = strings.offsets.iter().map(|end| i64::from(*end)).collect();
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let data = Buffer::from_vec(strings.data);
    Ok(match ty {
        DataType::Json => Arc::new(LargeStringArray::try_new(offsets, data, nulls).map_err(invalid)?),
        _ => Arc::new(LargeBinaryArray::try_new(offsets, data, nulls).map_err(invalid)?),
    })
}

fn invalid(error: datafusion::arrow::error::ArrowError) -> SqlError {
    SqlError::corruption(format!("a columnar index has values of another type: {error}"))
}

fn byte_array(ty: &DataType, strings: Strings, nulls: Option<NullBuffer>) -> Result<ArrayRef, SqlError> {
    match ty {
        DataType::Uuid => return uuids(&strings, nulls.as_ref()),
        DataType::Inet | DataType::Cidr => {
            let of_row = |row: usize| match nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                true => Datum::Null,
                false => Datum::Inet(strings.get(row).to_vec()),
            };
            let rows = 0..strings.offsets.len().saturating_sub(1);
            return array_of(ty, &rows.map(of_row).collect::<Vec<Datum>>());
        }
        DataType::Json | DataType::Jsonb => return documents(ty, strings, nulls),
        ty if ty.is_composed() => return arrays(ty, &strings, nulls.as_ref()),
        DataType::Numeric { scale, .. } => return numerics(ty, *scale as i8, &strings, nulls.as_ref()),
        _ => {}
    }
    // They ascend, so that all are integers with sign where the last one is.
    if strings
        .offsets
        .last()
        .is_some_and(|last| i32::try_from(*last).is_err())
    {
        return Err(SqlError::internal("a batch has more than 2 GiB of text"));
    }
    let count = strings.offsets.len();
    let offsets = ScalarBuffer::<i32>::new(Buffer::from_vec(strings.offsets), 0, count);
    let offsets = OffsetBuffer::new(offsets);
    let data = Buffer::from_vec(strings.data);
    Ok(match ty.is_text() {
        true => Arc::new(StringArray::try_new(offsets, data, nulls).map_err(invalid)?),
        false => Arc::new(BinaryArray::try_new(offsets, data, nulls).map_err(invalid)?),
    })
}

/// NUMERICs become numbers of one scale.
#[expect(clippy::arithmetic_side_effects, reason = "rows that are in memory")]
fn numerics(
    ty: &DataType,
    scale: i8,
    strings: &Strings,
    nulls: Option<&NullBuffer>,
) -> Result<ArrayRef, SqlError> {
    let rows = 0..strings.offsets.len() - 1;
    let values = rows.map(|row| {
        if nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        match unscaled_of_form(strings.get(row), scale) {
            Some(value) => Ok(Some(value)),
            None => Err(SqlError::corruption(
                "a columnar index has a NUMERIC that is none",
            )),
        }
    });
    let values = values.collect::<Result<Decimal256Array, SqlError>>()?;
    Ok(Arc::new(values.with_data_type(arrow_type(ty))))
}

/// UUIDs become their canonical text.
#[expect(clippy::arithmetic_side_effects, reason = "rows that are in memory")]
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

#[cfg(test)]
mod tests {
    use super::*;

    use datafusion::arrow::array::Array;

    #[test]
    fn texts_give_their_memory_away() {
        let mut strings = Strings::default();
        for text in ["", "ab", "\u{fc}", ""] {
            strings.data.extend_from_slice(text.as_bytes());
            strings.offsets.push(strings.data.len() as u32);
        }
        let (offsets, data) = (strings.offsets.as_ptr() as usize, strings.data.as_ptr() as usize);
        let nulls = Some(NullBuffer::from(vec![false, true, true, true]));
        let array = byte_array(&DataType::Varchar(None), strings, nulls);
        let array = array.map(|array| array.to_data());
        let buffers = array.map(|array| [0, 1].map(|at| array.buffers()[at].as_ptr() as usize));
        assert_eq!(buffers.ok(), Some([offsets, data]));
    }

    #[test]
    fn texts_are_utf_8() {
        let strings = Strings {
            offsets: vec![0, 1, 2],
            data: "\u{fc}".as_bytes().to_vec(),
        };
        assert!(byte_array(&DataType::Varchar(None), strings.clone(), None).is_err());
        assert!(byte_array(&DataType::Varbinary(None), strings, None).is_ok());
    }
}
