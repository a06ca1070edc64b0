//! Functions on arrays that DataFusion lacks: `array_or_empty` and `array_with_places`, which `syntax` writes.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListArray, StructArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use rukh_error::SqlError;

/// A function of one array.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct OfArray {
    kind: Kind,
    signature: Signature,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An array, or an empty one in the place of NULL.
    OrEmpty,
    /// The elements `x` with their places `n`, counted from 1.
    Expanded,
}

impl OfArray {
    pub(super) fn new(kind: Kind) -> Self {
        OfArray {
            kind,
            signature: Signature::any(1, Volatility::Immutable),
        }
    }

    fn wrong(&self, ty: &ArrowType) -> DataFusionError {
        let message = format!("function {}({ty}) does not exist", self.name());
        DataFusionError::External(Box::new(SqlError::statement("42883", message)))
    }

    fn element(&self, ty: &ArrowType) -> DataFusionResult<FieldRef> {
        match ty {
            ArrowType::List(of) => Ok(of.clone()),
            // NULL, which is a text where nothing says otherwise.
            ArrowType::Null | ArrowType::Utf8 => Ok(Arc::new(Field::new("item", ArrowType::Utf8, true))),
            other => Err(self.wrong(other)),
        }
    }
}

fn expanded_fields(of: &FieldRef) -> Fields {
    Fields::from(vec![
        Field::new("x", of.data_type().clone(), true),
        Field::new("n", ArrowType::Int32, true),
    ])
}

impl ScalarUDFImpl for OfArray {
    fn name(&self) -> &str {
        match self.kind {
            Kind::OrEmpty => "array_or_empty",
            Kind::Expanded => "array_with_places",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[ArrowType]) -> DataFusionResult<ArrowType> {
        let of = self.element(arguments.first().unwrap_or(&ArrowType::Null))?;
        Ok(match self.kind {
            Kind::OrEmpty => ArrowType::List(of),
            Kind::Expanded => {
                let each = ArrowType::Struct(expanded_fields(&of));
                ArrowType::List(Arc::new(Field::new("item", each, true)))
            }
        })
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let Some(argument) = arguments.args.first() else {
            return Err(self.wrong(&ArrowType::Null));
        };
        let arrays = argument.to_array(arguments.number_rows)?;
        let of = self.element(arrays.data_type())?;
        let wanted = ArrowType::List(of.clone());
        let arrays = match arrays.data_type() {
            ArrowType::List(_) => arrays,
            other if arrays.logical_null_count() < arrays.len() => return Err(self.wrong(other)),
            _ => datafusion::arrow::array::new_null_array(&wanted, arrays.len()),
        };
        let lists = arrays.as_list::<i32>();
        let result: ArrayRef = match self.kind {
            Kind::OrEmpty => Arc::new(ListArray::try_new(
                of,
                OffsetBuffer::from_lengths((0..lists.len()).map(|at| match lists.is_null(at) {
                    true => 0,
                    false => lists.value_length(at) as usize,
                })),
                present(lists)?,
                None,
            )?),
            Kind::Expanded => {
                let lengths = (0..lists.len()).map(|at| match lists.is_null(at) {
                    true => 0,
                    false => lists.value_length(at) as usize,
                });
                let places: Int32Array = lengths.clone().flat_map(|length| 1..=length as i32).collect();
                let fields = expanded_fields(&of);
                let each =
                    StructArray::try_new(fields.clone(), vec![present(lists)?, Arc::new(places)], None)?;
                Arc::new(ListArray::try_new(
                    Arc::new(Field::new("item", ArrowType::Struct(fields), true)),
                    OffsetBuffer::from_lengths(lengths),
                    Arc::new(each),
                    lists.nulls().cloned(),
                )?)
            }
        };
        Ok(ColumnarValue::Array(result))
    }
}

/// Returns the elements of all arrays that are not NULL, one after another.
fn present(lists: &ListArray) -> DataFusionResult<ArrayRef> {
    let values: Vec<ArrayRef> = lists.iter().flatten().collect();
    let values: Vec<&dyn Array> = values.iter().map(|values| values.as_ref()).collect();
    match values.is_empty() {
        true => Ok(datafusion::arrow::array::new_empty_array(&lists.value_type())),
        false => Ok(datafusion::arrow::compute::concat(&values)?),
    }
}
