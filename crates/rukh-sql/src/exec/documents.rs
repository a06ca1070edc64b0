//! Documents, addresses and labels as they are shown: in Arrow JSON, JSONB, INET, CIDR and enums are texts to clients and in files, with their type in the field's
//! metadata.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, StringArray, StructArray,
};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, Fields, Schema, SchemaRef, TimestampSecondType,
};
use datafusion::error::DataFusionError;
use rukh_error::SqlError;
use rukh_functions::types::{TYPE_KEY, data_type_of_arrow, enum_of};
use rukh_keys::{DataType, Inet, Jsonb};

/// Returns the type that values of an Arrow type are shown in; `None` where they are shown as they are.
fn shown_type(ty: &ArrowType) -> Option<ArrowType> {
    match ty {
        ArrowType::LargeUtf8 | ArrowType::LargeBinary | ArrowType::FixedSizeBinary(_) => {
            Some(ArrowType::Utf8)
        }
        ty if enum_of(ty).is_some() => Some(ArrowType::Utf8),
        ArrowType::List(of) => Some(ArrowType::List(shown_field(of)?)),
        ArrowType::Struct(fields) => Some(ArrowType::Struct(shown_fields(fields)?)),
        _ => None,
    }
}

fn shown_field(field: &FieldRef) -> Option<FieldRef> {
    let ty = shown_type(field.data_type())?;
    let mut metadata = field.metadata().clone();
    if ty == ArrowType::Utf8 {
        metadata.insert(
            TYPE_KEY.to_string(),
            data_type_of_arrow(field.data_type()).to_string(),
        );
    }
    let shown = Field::new(field.name(), ty, field.is_nullable());
    Some(Arc::new(shown.with_metadata(metadata)))
}

/// Returns the fields that rows are shown with; `None` if all are shown as they are.
fn shown_fields(fields: &Fields) -> Option<Fields> {
    let is_shown = fields.iter().any(|field| shown_type(field.data_type()).is_some());
    let shown = |field: &FieldRef| shown_field(field).unwrap_or_else(|| field.clone());
    is_shown.then(|| fields.iter().map(shown).collect())
}

/// Returns the schema that documents and labels are shown in.
pub fn shown_schema(schema: &SchemaRef) -> SchemaRef {
    if schema
        .fields()
        .iter()
        .all(|field| shown_type(field.data_type()).is_none())
    {
        return schema.clone();
    }
    let fields = schema.fields().iter();
    let fields = fields.map(|field| shown_field(field).unwrap_or_else(|| field.clone()));
    Arc::new(Schema::new_with_metadata(
        fields.collect::<Vec<FieldRef>>(),
        schema.metadata().clone(),
    ))
}

/// Returns a batch with its documents and labels as texts.
pub(crate) fn shown(batch: RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, SqlError> {
    let columns = batch.columns().iter().map(shown_array);
    let columns = columns.collect::<Result<Vec<ArrayRef>, SqlError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(
        RecordBatch::try_new_with_options(schema.clone(), columns, &options)
            .map_err(DataFusionError::from)?,
    )
}

fn shown_array(array: &ArrayRef) -> Result<ArrayRef, SqlError> {
    Ok(match array.data_type() {
        ArrowType::LargeUtf8 => Arc::new(array.as_string::<i64>().iter().collect::<StringArray>()),
        ArrowType::LargeBinary => {
            let forms = array.as_binary::<i64>().iter();
            let texts = forms.map(|form| form.map(|form| Jsonb::new(form).to_string()));
            Arc::new(texts.collect::<StringArray>())
        }
        ArrowType::FixedSizeBinary(_) => {
            let ty = data_type_of_arrow(array.data_type());
            let addresses = array.as_fixed_size_binary().iter();
            let text = |bytes| Some(Inet::of_wide(bytes)?.text(ty == DataType::Cidr));
            Arc::new(
                addresses
                    .map(|bytes| bytes.and_then(text))
                    .collect::<StringArray>(),
            )
        }
        ArrowType::List(of) => match shown_field(of) {
            None => array.clone(),
            Some(field) => {
                let list = array.as_list::<i32>();
                let (offsets, nulls) = (list.offsets().clone(), list.nulls().cloned());
                let values = shown_array(list.values())?;
                Arc::new(ListArray::try_new(field, offsets, values, nulls).map_err(DataFusionError::from)?)
            }
        },
        ArrowType::Struct(fields) => match shown_fields(fields) {
            None => array.clone(),
            Some(fields) => {
                let record = array.as_struct();
                let values = record.columns().iter().map(shown_array);
                let values = values.collect::<Result<Vec<_>, SqlError>>()?;
                let nulls = record.nulls().cloned();
                Arc::new(StructArray::try_new(fields, values, nulls).map_err(DataFusionError::from)?)
            }
        },
        ty => match enum_of(ty) {
            None => array.clone(),
            Some(of) => {
                let codes = array.as_primitive::<TimestampSecondType>().iter();
                let labels = codes.map(|code| code.and_then(|code| of.definition().label(code)));
                Arc::new(labels.collect::<StringArray>())
            }
        },
    })
}
