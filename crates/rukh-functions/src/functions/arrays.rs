//! Functions of arrays that do otherwise in DataFusion.
//!
//! | call                                | DataFusion        | here, as in PostgreSQL |
//! |-------------------------------------|-------------------|------------------------|
//! | `array_remove('{1,2,1}', 1)`        | the first         | all                    |
//! | `array_remove('{1,NULL}', NULL)`    | NULL              | `{1}`                  |
//! | `array_replace('{1,2,1}', 1, 5)`    | the first         | all                    |
//! | `beside_null(ARRAY[1])`             | `{1,NULL}`        | `{1}`                  |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, Scalar, new_empty_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::kernels::cmp::not_distinct;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{concat, filter, not};
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_nested::{remove, replace};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::functions::undefined::undefined_function;

/// `x || NULL` and `NULL || x`: x if it is an array, else NULL.
pub const BESIDE_NULL: &str = "beside_null";

/// Returns the functions, which take the place of DataFusion's.
pub fn functions() -> [Arc<ScalarUDF>; 3] {
    let signature = Signature::any(1, Volatility::Immutable);
    [
        Arc::new(ScalarUDF::from(Elementwise {
            usual: remove::array_remove_udf(),
        })),
        Arc::new(ScalarUDF::from(Elementwise {
            usual: replace::array_replace_udf(),
        })),
        Arc::new(ScalarUDF::from(BesideNull { signature })),
    ]
}

/// `array_remove` or `array_replace`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Elementwise {
    usual: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Elementwise {
    fn name(&self) -> &str {
        self.usual.name()
    }

    fn aliases(&self) -> &[String] {
        self.usual.aliases()
    }

    fn signature(&self) -> &Signature {
        self.usual.signature()
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [list, ..] => Ok(list.clone()),
            [] => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let lists = arguments.arg_fields.first();
        let lists = lists.ok_or_else(|| undefined_function(self.name(), &[]))?;
        Ok(Arc::new(lists.as_ref().clone().with_nullable(true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |value: &ColumnarValue| matches!(value, ColumnarValue::Scalar(_));
        let one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let (lists, element, by) = match arrays.as_slice() {
            [lists, element] => (lists, element, None),
            [lists, element, by] => (lists, element, Some(by)),
            _ => return Err(undefined_function(self.name(), &[])),
        };
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return self.usual.invoke_with_args(arguments);
        };
        let made: ArrayRef = Arc::new(changed(lists, element, by)?);
        match one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

/// Removes from each list what is not distinct from an element, or puts another in its place.
fn changed(lists: &ListArray, element: &ArrayRef, by: Option<&ArrayRef>) -> DataFusionResult<ListArray> {
    let (mut parts, mut lengths) = (Vec::with_capacity(lists.len()), Vec::with_capacity(lists.len()));
    for row in 0..lists.len() {
        if lists.is_null(row) {
            lengths.push(0);
            continue;
        }
        let values = lists.value(row);
        let is_it = not_distinct(&values, &Scalar::new(element.slice(row, 1)))?;
        let part = match by {
            Some(by) => zip(&is_it, &Scalar::new(by.slice(row, 1)), &values)?,
            None => filter(&values, &not(&is_it)?)?,
        };
        lengths.push(part.len());
        parts.push(part);
    }
    let ArrowType::List(field) = lists.data_type() else {
        return Err(DataFusionError::Internal(
            "lists have the type of lists".to_string(),
        ));
    };
    let references: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
    let values = match references.is_empty() {
        true => new_empty_array(field.data_type()),
        false => concat(&references)?,
    };
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(ListArray::try_new(
        field.clone(),
        offsets,
        values,
        lists.nulls().cloned(),
    )?)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BesideNull {
    signature: Signature,
}

impl ScalarUDFImpl for BesideNull {
    fn name(&self) -> &str {
        BESIDE_NULL
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ty @ ArrowType::List(_)] => Ok(ty.clone()),
            _ => Ok(ArrowType::Utf8),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.into_iter().next() {
            Some(value) if matches!(value.data_type(), ArrowType::List(_)) => Ok(value),
            _ => Ok(ColumnarValue::Scalar(ScalarValue::Utf8(None))),
        }
    }
}
