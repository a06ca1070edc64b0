//! The order of two arrays, by which they compare as in PostgreSQL: element by element, NULL behind all values. Arrow's comparisons have
//! NULL before them.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, Int32Array, make_comparator};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility, lit,
};

use crate::functions::common::undefined::undefined_function;

/// Returns the comparison of two arrays of one type, of their order with zero; `None` of operators that compare for equality, and of all
/// others.
pub fn array_comparison(left: &Expr, op: Operator, right: &Expr) -> Option<Expr> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::any(2, Volatility::Immutable);
        Arc::new(ScalarUDF::from(ArrayOrder { signature }))
    });
    let order = || FUNCTION.call(vec![left.clone(), right.clone()]);
    match op {
        Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => Some(Expr::BinaryExpr(
            BinaryExpr::new(Box::new(order()), op, Box::new(lit(0))),
        )),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayOrder {
    signature: Signature,
}

impl ScalarUDFImpl for ArrayOrder {
    fn name(&self) -> &str {
        "array_order"
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
    let options = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let compare = make_comparator(left, right, options)?;
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
