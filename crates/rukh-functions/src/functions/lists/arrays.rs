//! Functions of arrays that do otherwise in DataFusion.
//!
//! | call                                | DataFusion        | here, as in PostgreSQL |
//! |-------------------------------------|-------------------|------------------------|
//! | `array_remove('{1,2,1}', 1)`        | the first         | all                    |
//! | `array_remove('{1,NULL}', NULL)`    | NULL              | `{1}`                  |
//! | `array_replace('{1,2,1}', 1, 5)`    | the first         | all                    |
//! | `beside_null(ARRAY[1])`             | `{1,NULL}`        | `{1}`                  |
//! | `'{1,NULL}' @> '{NULL}'`            | true              | false                  |
//! | `a && b`                            | an error          | whether they share an element |

#![warn(clippy::arithmetic_side_effects)]

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListArray, Scalar, new_empty_array};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::kernels::cmp::not_distinct;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::compute::{cast, concat, filter, not};
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::arrow::row::{Row, RowConverter, SortField};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::utils::make_scalar_function;
use datafusion::functions_nested::{remove, replace};
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::functions::common::undefined::undefined_function;
use crate::usual::as_usual;

/// `x || NULL` and `NULL || x`: x if it is an array, else NULL.
pub const BESIDE_NULL: &str = "beside_null";

/// Returns the functions, which take the place of DataFusion's.
pub fn functions() -> [Arc<ScalarUDF>; 5] {
    let signature = Signature::any(1, Volatility::Immutable);
    [
        contains(),
        overlaps(),
        Arc::new(ScalarUDF::from(Elementwise {
            usual: remove::array_remove_udf(),
        })),
        Arc::new(ScalarUDF::from(Elementwise {
            usual: replace::array_replace_udf(),
        })),
        Arc::new(ScalarUDF::from(BesideNull { signature })),
    ]
}

/// Returns the function of `a @> b`.
pub fn contains() -> Arc<ScalarUDF> {
    shares(true)
}

/// Returns the function of `a && b`.
pub fn overlaps() -> Arc<ScalarUDF> {
    shares(false)
}

fn shares(all: bool) -> Arc<ScalarUDF> {
    let signature = Signature::any(2, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Shares { all, signature }))
}

/// Whether an array has all elements of another, or any. A NULL is none of the elements.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Shares {
    all: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Shares {
    fn name(&self) -> &str {
        match self.all {
            true => "array_has_all",
            false => "array_has_any",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Boolean)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let of_arrays = |arrays: &[ArrayRef]| {
            let lists = arrays.iter().filter_map(|array| array.as_list_opt::<i32>());
            let lists: Vec<&ListArray> = lists.collect();
            let [whole, part] = lists.as_slice() else {
                // An array without elements has no type of them.
                let types: Vec<ArrowType> = arrays.iter().map(|array| array.data_type().clone()).collect();
                return Err(undefined_function(self.name(), &types));
            };
            let shared = (0..whole.len()).map(|row| match whole.is_null(row) || part.is_null(row) {
                true => Ok(None),
                false => shared(&whole.value(row), &part.value(row), self.all).map(Some),
            });
            let shared: BooleanArray = shared.collect::<DataFusionResult<_>>()?;
            Ok(Arc::new(shared) as ArrayRef)
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

/// Whether all values of a part, or any, are among those of a whole.
fn shared(whole: &ArrayRef, part: &ArrayRef, all: bool) -> DataFusionResult<bool> {
    if all && part.null_count() > 0 {
        return Ok(false);
    }
    // Numbers of other digits are equal all the same.
    let part = match whole.data_type() == part.data_type() {
        true => part.clone(),
        false => {
            let common = type_union_coercion(whole.data_type(), part.data_type());
            let ty = common.unwrap_or_else(|| whole.data_type().clone());
            return shared(&cast(whole, &ty)?, &cast(part, &ty)?, all);
        }
    };
    let rows = RowConverter::new(vec![SortField::new(whole.data_type().clone())])?;
    let (whole_rows, part_rows) = (
        rows.convert_columns(std::slice::from_ref(whole))?,
        rows.convert_columns(std::slice::from_ref(&part))?,
    );
    let among: HashSet<Row<'_>> = (0..whole.len())
        .filter(|at| whole.is_valid(*at))
        .map(|at| whole_rows.row(at))
        .collect();
    let mut found = (0..part.len())
        .filter(|at| part.is_valid(*at))
        .map(|at| among.contains(&part_rows.row(at)));
    Ok(match all {
        true => found.all(|is_found| is_found),
        false => found.any(|is_found| is_found),
    })
}

/// `array_remove` or `array_replace`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Elementwise {
    usual: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Elementwise {
    as_usual!(name aliases signature);

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
        let is_list = |value: &ColumnarValue| matches!(value.data_type(), ArrowType::List(_));
        if !arguments.args.first().is_some_and(is_list) {
            return self.usual.invoke_with_args(arguments);
        }
        let of_arrays = |arrays: &[ArrayRef]| {
            let (lists, element, by) = match arrays {
                [lists, element] => (lists, element, None),
                [lists, element, by] => (lists, element, Some(by)),
                _ => return Err(undefined_function(self.name(), &[])),
            };
            Ok(Arc::new(changed(lists.as_list::<i32>(), element, by)?) as ArrayRef)
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
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
            [ty @ (ArrowType::List(_) | ArrowType::Binary)] => Ok(ty.clone()),
            _ => Ok(ArrowType::Utf8),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.into_iter().next() {
            Some(value) if matches!(value.data_type(), ArrowType::List(_)) => Ok(value),
            _ => Ok(ColumnarValue::Scalar(ScalarValue::try_from(
                arguments.return_field.data_type(),
            )?)),
        }
    }
}
