//! The order of two arrays, or of two rows, by which they compare as in PostgreSQL: element by element, NULL behind all values. Arrow's
//! comparisons have NULL before them, and DataFusion compares fields of rows by their names.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, DynComparator, Int32Array, make_comparator};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::{SortOptions, cast};
use datafusion::arrow::datatypes::{DataType as ArrowType, Float32Type, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};

use crate::functions::common::undefined::undefined_function;

/// Name of the function of [`order`].
pub const ARRAY_ORDER: &str = "array_order";

/// Returns the comparison of two arrays of one type, of their order with zero; `None` of operators that compare for equality, and of all
/// others.
pub fn array_comparison(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    match op {
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => Some(Expr::BinaryExpr(
            BinaryExpr::new(Box::new(order(left.clone(), right.clone())), op, Box::new(lit(0))),
        )),
        _ => None,
    }
}

/// Returns the order of two arrays of one type, or of two rows of as many fields: -1, 0 or 1; NULL if one is.
pub fn order(left: Expr, right: Expr) -> Expr {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::from(ArrayOrder { signature }))
    });
    FUNCTION.call(vec![left, right])
}

/// Whether two arrays, or two rows, are equal.
///
/// # Errors
/// 42883 if their types do not compare.
pub fn are_equal(one: &ScalarValue, other: &ScalarValue) -> DataFusionResult<bool> {
    let orders = orders(&one.to_array()?, &other.to_array()?)?;
    Ok(orders.is_valid(0) && orders.value(0) == 0)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayOrder {
    signature: Signature,
}

impl ScalarUDFImpl for ArrayOrder {
    fn name(&self) -> &str {
        ARRAY_ORDER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Int32)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let of_arrays = |arrays: &[ArrayRef]| match arrays {
            [left, right] => Ok(Arc::new(orders(left, right)?) as ArrayRef),
            _ => Err(undefined_function(self.name(), &[])),
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

fn orders(left: &ArrayRef, right: &ArrayRef) -> DataFusionResult<Int32Array> {
    let compare = comparator(left, right)?;
    let order = |row: usize| match compare(row, row) {
        Ordering::Less => -1,
        Ordering::Equal => 0,
        Ordering::Greater => 1,
    };
    let rows = 0..left.len();
    Ok(rows
        .map(|row| (left.is_valid(row) && right.is_valid(row)).then(|| order(row)))
        .collect())
}

/// Returns the comparison of a value of one array with one of the other, NULL behind all. Fields of rows are compared by their places.
fn comparator(left: &ArrayRef, right: &ArrayRef) -> DataFusionResult<DynComparator> {
    let options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let (Some(one), Some(other)) = (left.as_struct_opt(), right.as_struct_opt()) else {
        if left.data_type() == right.data_type() {
            return Ok(make_comparator(
                &with_one_zero(left)?,
                &with_one_zero(right)?,
                options,
            )?);
        }
        let Some(common) = comparison_coercion(left.data_type(), right.data_type()) else {
            return Err(undefined_function(
                "record_eq",
                &[left.data_type().clone(), right.data_type().clone()],
            ));
        };
        return Ok(make_comparator(
            &cast(left, &common)?,
            &cast(right, &common)?,
            options,
        )?);
    };
    let fields = one.columns().iter().zip(other.columns());
    let fields = fields.map(|(one, other)| comparator(one, other));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    let (one, other) = (one.nulls().cloned(), other.nulls().cloned());
    Ok(Box::new(move |left, right| {
        let is_null =
            |nulls: &Option<NullBuffer>, row| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        match (is_null(&one, left), is_null(&other, right)) {
            (false, false) => {
                let mut orders = fields.iter().map(|field| field(left, right));
                orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
            }
            (left, right) => left.cmp(&right),
        }
    }))
}

/// Returns floats of which equal ones are the same: one zero, and one NaN, which is greater than all others.
pub(crate) fn with_one_zero(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    Ok(match values.data_type() {
        ArrowType::Float32 => {
            let one = |value: f32| if value.is_nan() { f32::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float32Type>().unary::<_, Float32Type>(one))
        }
        ArrowType::Float64 => {
            let one = |value: f64| if value.is_nan() { f64::NAN } else { value + 0.0 };
            Arc::new(values.as_primitive::<Float64Type>().unary::<_, Float64Type>(one))
        }
        _ => values.clone(),
    })
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::ListArray;
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn null_elements_are_behind_all_others() {
        let arrays = |lists: [Option<Vec<Option<i32>>>; 5]| -> ArrayRef {
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(lists))
        };
        let left = arrays([
            Some(vec![Some(1), Some(2)]),
            Some(vec![None]),
            Some(vec![]),
            None,
            Some(vec![Some(1), None]),
        ]);
        let right = arrays([
            Some(vec![Some(1), None]),
            Some(vec![Some(9)]),
            Some(vec![None]),
            Some(vec![]),
            Some(vec![Some(1), None]),
        ]);
        let orders = orders(&left, &right).expect("both are arrays of integers");
        assert_eq!(
            orders,
            Int32Array::from(vec![Some(-1), Some(1), Some(-1), None, Some(0)])
        );
    }
}
