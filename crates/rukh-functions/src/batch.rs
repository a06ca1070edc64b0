//! From rows to Arrow: one builder per column, fed with borrowed datums.
//!
//! The Arrow type of each column is [`crate::types::arrow_type`]'s. UUIDs become their canonical text,
//! whose order is that of their bytes.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Decimal256Builder,
    FixedSizeBinaryBuilder, Float32Builder, Float64Builder, Int8Builder, Int16Builder, Int32Builder,
    Int64Builder, IntervalMonthDayNanoBuilder, LargeBinaryBuilder, LargeStringBuilder, ListArray,
    RecordBatch, RecordBatchOptions, StringBuilder, StructArray, Time64MicrosecondBuilder,
    TimestampMicrosecondBuilder, TimestampSecondBuilder,
};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::datatypes::{Field, SchemaRef};
use datafusion::error::DataFusionError;
use rukh_keys::{
    CIDR_WIDE, DataType, Datum, DatumRef, INET_WIDE, Inet, RecordType, array_values, record_values,
};

use rukh_error::SqlError;

use crate::forms::intervals::arrow_of;
use crate::forms::numerics::unscaled_of_form;

/// Collects the values of one column.
enum ColumnBuilder {
    Boolean(BooleanBuilder),
    TinyInt(Int8Builder),
    SmallInt(Int16Builder),
    Integer(Int32Builder),
    BigInt(Int64Builder),
    Real(Float32Builder),
    Double(Float64Builder),
    Decimal(Decimal128Builder),
    /// With its scale.
    Numeric(Decimal256Builder, i8),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    /// And whether they are networks.
    Inet(FixedSizeBinaryBuilder, bool),
    /// Codes of labels.
    Enum(TimestampSecondBuilder),
    Text(StringBuilder),
    Bytes(BinaryBuilder),
    Interval(IntervalMonthDayNanoBuilder),
    List(Box<ListColumn>),
    Record(Box<RecordColumn>),
    Json(LargeStringBuilder),
    Jsonb(LargeBinaryBuilder),
}

/// Collects arrays: their elements one after the other, and where each ends.
struct ListColumn {
    element: DataType,
    elements: ColumnBuilder,
    ends: Vec<i32>,
    /// Whether each array is there.
    present: Vec<bool>,
}

impl ListColumn {
    fn append(&mut self, datum: &DatumRef<'_>) -> Result<(), SqlError> {
        let mut end = self.ends.last().copied().unwrap_or_default();
        if let DatumRef::Array(form) = datum {
            let values = array_values(self.element, form);
            let values = values.ok_or_else(|| SqlError::corruption("an array that is none"))?;
            for value in &values {
                self.elements.append(value.as_ref())?;
            }
            let count = i32::try_from(values.len()).ok();
            let next = count.and_then(|count| end.checked_add(count));
            end =
                next.ok_or_else(|| SqlError::statement("54000", "a batch has too many elements of arrays"))?;
        }
        self.ends.push(end);
        self.present.push(!datum.is_null());
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let lengths = std::mem::take(&mut self.ends);
        let ends = OffsetBuffer::new(std::iter::once(0).chain(lengths).collect::<Vec<i32>>().into());
        let field = Arc::new(Field::new_list_field(
            crate::types::arrow_type(&self.element),
            true,
        ));
        let nulls = NullBuffer::from(std::mem::take(&mut self.present));
        Arc::new(ListArray::new(field, ends, self.elements.finish(), Some(nulls)))
    }
}

/// Collects rows: a column for each of their fields.
struct RecordColumn {
    of: RecordType,
    fields: Vec<ColumnBuilder>,
    /// Whether each row is there.
    present: Vec<bool>,
}

impl RecordColumn {
    fn append(&mut self, datum: &DatumRef<'_>) -> Result<(), SqlError> {
        let values = match datum {
            DatumRef::Array(form) => {
                let values = record_values(self.of, form);
                values.ok_or_else(|| SqlError::corruption("a row that is none"))?
            }
            _ => vec![Datum::Null; self.fields.len()],
        };
        for (field, value) in self.fields.iter_mut().zip(&values) {
            field.append(value.as_ref())?;
        }
        self.present.push(!datum.is_null());
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        let values = self.fields.iter_mut().map(ColumnBuilder::finish).collect();
        let nulls = NullBuffer::from(std::mem::take(&mut self.present));
        let length = nulls.len();
        Arc::new(match self.of.fields() {
            [] => StructArray::new_empty_fields(length, Some(nulls)),
            _ => StructArray::new(crate::types::record_fields(self.of), values, Some(nulls)),
        })
    }
}

/// Appends a value when the datum has the given kind, NULL when it is NULL, and fails otherwise.
macro_rules! append {
    ($builder:expr, $datum:expr, $kind:ident, $value:ident => $converted:expr) => {
        match $datum {
            DatumRef::Null => $builder.append_null(),
            DatumRef::$kind($value) => $builder.append_value($converted),
            other => return Err(unexpected(&other)),
        }
    };
}

impl ColumnBuilder {
    fn new(ty: &DataType, rows: usize) -> Self {
        match ty {
            DataType::Boolean => ColumnBuilder::Boolean(BooleanBuilder::with_capacity(rows)),
            DataType::TinyInt => ColumnBuilder::TinyInt(Int8Builder::with_capacity(rows)),
            DataType::SmallInt => ColumnBuilder::SmallInt(Int16Builder::with_capacity(rows)),
            DataType::Integer => ColumnBuilder::Integer(Int32Builder::with_capacity(rows)),
            DataType::BigInt => ColumnBuilder::BigInt(Int64Builder::with_capacity(rows)),
            DataType::Real => ColumnBuilder::Real(Float32Builder::with_capacity(rows)),
            DataType::Double => ColumnBuilder::Double(Float64Builder::with_capacity(rows)),
            DataType::Decimal { .. } => ColumnBuilder::Decimal(
                Decimal128Builder::with_capacity(rows).with_data_type(crate::types::arrow_type(ty)),
            ),
            DataType::Numeric { scale, .. } => ColumnBuilder::Numeric(
                Decimal256Builder::with_capacity(rows).with_data_type(crate::types::arrow_type(ty)),
                *scale as i8,
            ),
            DataType::Date => ColumnBuilder::Date(Date32Builder::with_capacity(rows)),
            DataType::Time { .. } => ColumnBuilder::Time(Time64MicrosecondBuilder::with_capacity(rows)),
            DataType::Timestamp { .. } | DataType::TimestampTz { .. } => ColumnBuilder::Timestamp(
                TimestampMicrosecondBuilder::with_capacity(rows).with_data_type(crate::types::arrow_type(ty)),
            ),
            DataType::Enum(_) => ColumnBuilder::Enum(
                TimestampSecondBuilder::with_capacity(rows).with_data_type(crate::types::arrow_type(ty)),
            ),
            DataType::Interval => ColumnBuilder::Interval(IntervalMonthDayNanoBuilder::with_capacity(rows)),
            DataType::Array(element) => ColumnBuilder::List(Box::new(ListColumn {
                element: **element,
                elements: ColumnBuilder::new(element, rows),
                ends: Vec::with_capacity(rows),
                present: Vec::with_capacity(rows),
            })),
            DataType::Record(of) => {
                let fields = of.fields().iter();
                ColumnBuilder::Record(Box::new(RecordColumn {
                    of: *of,
                    fields: fields.map(|field| ColumnBuilder::new(&field.ty, rows)).collect(),
                    present: Vec::with_capacity(rows),
                }))
            }
            DataType::Json => ColumnBuilder::Json(LargeStringBuilder::with_capacity(rows, rows * 32)),
            DataType::Jsonb => ColumnBuilder::Jsonb(LargeBinaryBuilder::with_capacity(rows, rows * 32)),
            DataType::Inet | DataType::Cidr => {
                let is_network = *ty == DataType::Cidr;
                let width = if is_network { CIDR_WIDE } else { INET_WIDE };
                let builder = FixedSizeBinaryBuilder::with_capacity(rows, width as i32);
                ColumnBuilder::Inet(builder, is_network)
            }
            DataType::Uuid | DataType::Char(_) | DataType::Varchar(_) => {
                ColumnBuilder::Text(StringBuilder::with_capacity(rows, rows * 16))
            }
            DataType::Binary(_) | DataType::Varbinary(_) => {
                ColumnBuilder::Bytes(BinaryBuilder::with_capacity(rows, rows * 16))
            }
        }
    }

    fn append(&mut self, datum: DatumRef<'_>) -> Result<(), SqlError> {
        match self {
            ColumnBuilder::Boolean(b) => append!(b, datum, Boolean, v => v),
            ColumnBuilder::TinyInt(b) => append!(b, datum, Int, v => v as i8),
            ColumnBuilder::SmallInt(b) => append!(b, datum, Int, v => v as i16),
            ColumnBuilder::Integer(b) => append!(b, datum, Int, v => v as i32),
            ColumnBuilder::BigInt(b) => append!(b, datum, Int, v => v),
            ColumnBuilder::Real(b) => append!(b, datum, Float, v => v as f32),
            ColumnBuilder::Double(b) => append!(b, datum, Float, v => v),
            ColumnBuilder::Decimal(b) => append!(b, datum, Decimal, v => v),
            ColumnBuilder::Numeric(b, scale) => match &datum {
                DatumRef::Null => b.append_null(),
                DatumRef::Numeric(form) => match unscaled_of_form(form, *scale) {
                    Some(value) => b.append_value(value),
                    None => return Err(unexpected(&datum)),
                },
                other => return Err(unexpected(other)),
            },
            ColumnBuilder::Date(b) => append!(b, datum, Date, v => v),
            ColumnBuilder::Time(b) => append!(b, datum, Time, v => v),
            ColumnBuilder::Timestamp(b) => append!(b, datum, Timestamp, v => v),
            ColumnBuilder::Inet(b, is_network) => match &datum {
                DatumRef::Null => b.append_null(),
                DatumRef::Inet(form) => match Inet::of_form(form) {
                    Some(value) => b
                        .append_value(value.to_wide(*is_network))
                        .map_err(DataFusionError::from)?,
                    None => return Err(unexpected(&datum)),
                },
                other => return Err(unexpected(other)),
            },
            ColumnBuilder::Enum(b) => append!(b, datum, Int, v => v),
            ColumnBuilder::Bytes(b) => append!(b, datum, Bytes, v => v.as_ref()),
            ColumnBuilder::List(b) => match datum {
                DatumRef::Null | DatumRef::Array(_) => b.append(&datum)?,
                other => return Err(unexpected(&other)),
            },
            ColumnBuilder::Record(b) => match datum {
                DatumRef::Null | DatumRef::Array(_) => b.append(&datum)?,
                other => return Err(unexpected(&other)),
            },
            ColumnBuilder::Json(b) => append!(b, datum, Text, v => v.as_ref()),
            ColumnBuilder::Jsonb(b) => append!(b, datum, Jsonb, v => v.as_ref()),
            ColumnBuilder::Interval(b) => append!(b, datum, Interval, v => arrow_of(v)?),
            ColumnBuilder::Text(b) => match datum {
                DatumRef::Null => b.append_null(),
                DatumRef::Text(v) => b.append_value(v.as_ref()),
                DatumRef::Uuid(_) => b.append_value(DataType::Uuid.format_text(&datum.into_owned())),
                other => return Err(unexpected(&other)),
            },
        }
        Ok(())
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            ColumnBuilder::Boolean(b) => Arc::new(b.finish()),
            ColumnBuilder::TinyInt(b) => Arc::new(b.finish()),
            ColumnBuilder::SmallInt(b) => Arc::new(b.finish()),
            ColumnBuilder::Integer(b) => Arc::new(b.finish()),
            ColumnBuilder::BigInt(b) => Arc::new(b.finish()),
            ColumnBuilder::Real(b) => Arc::new(b.finish()),
            ColumnBuilder::Double(b) => Arc::new(b.finish()),
            ColumnBuilder::Decimal(b) => Arc::new(b.finish()),
            ColumnBuilder::Numeric(b, _) => Arc::new(b.finish()),
            ColumnBuilder::Date(b) => Arc::new(b.finish()),
            ColumnBuilder::Time(b) => Arc::new(b.finish()),
            ColumnBuilder::Timestamp(b) => Arc::new(b.finish()),
            ColumnBuilder::Inet(b, _) => Arc::new(b.finish()),
            ColumnBuilder::Enum(b) => Arc::new(b.finish()),
            ColumnBuilder::Text(b) => Arc::new(b.finish()),
            ColumnBuilder::Bytes(b) => Arc::new(b.finish()),
            ColumnBuilder::Interval(b) => Arc::new(b.finish()),
            ColumnBuilder::List(b) => b.finish(),
            ColumnBuilder::Record(b) => b.finish(),
            ColumnBuilder::Json(b) => Arc::new(b.finish()),
            ColumnBuilder::Jsonb(b) => Arc::new(b.finish()),
        }
    }
}

/// Makes an array of values of a type.
pub fn array_of(ty: &DataType, values: &[Datum]) -> Result<ArrayRef, SqlError> {
    let mut builder = ColumnBuilder::new(ty, values.len());
    for value in values {
        builder.append(value.as_ref())?;
    }
    Ok(builder.finish())
}

/// Collects rows into a [`RecordBatch`] of a fixed schema.
pub struct BatchBuilder {
    schema: SchemaRef,
    columns: Vec<ColumnBuilder>,
    rows: usize,
}

impl BatchBuilder {
    /// Makes a builder for columns of these types; `schema` must have the Arrow types of `types`.
    pub fn new(schema: SchemaRef, types: &[DataType], rows: usize) -> Self {
        let columns = types.iter().map(|ty| ColumnBuilder::new(ty, rows)).collect();
        BatchBuilder {
            schema,
            columns,
            rows: 0,
        }
    }

    /// Appends a value to one column; every column must get one per row.
    pub fn append(&mut self, column: usize, datum: DatumRef<'_>) -> Result<(), SqlError> {
        self.columns[column].append(datum)
    }

    /// Counts a row whose values were appended.
    pub fn end_row(&mut self) {
        self.rows += 1;
    }

    /// Returns the rows as a batch and starts another.
    pub fn finish(&mut self) -> Result<RecordBatch, SqlError> {
        let columns = self.columns.iter_mut().map(ColumnBuilder::finish).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(std::mem::take(&mut self.rows)));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options)
            .map_err(|error| SqlError::internal(error.to_string()))
    }
}

/// Makes one batch of owned rows.
pub fn batch_of_rows(
    schema: SchemaRef,
    types: &[DataType],
    rows: &[Vec<Datum>],
) -> Result<RecordBatch, SqlError> {
    let mut builder = BatchBuilder::new(schema, types, rows.len());
    for row in rows {
        for (column, datum) in row.iter().enumerate() {
            builder.append(column, datum.as_ref())?;
        }
        builder.end_row();
    }
    builder.finish()
}

fn unexpected(datum: &DatumRef<'_>) -> SqlError {
    SqlError::internal(format!(
        "a stored value is a {}, which its column is not",
        datum.kind_name()
    ))
}
