//! Comparisons with elements of arrays: `x = ANY (array)`, `x < ALL (array)`.
//!
//! | array                          | ANY, DataFusion     | ANY here, as in PostgreSQL      | ALL                       |
//! |--------------------------------|---------------------|---------------------------------|---------------------------|
//! | NULL                           | NULL                | NULL                            | NULL                      |
//! | empty                          | false               | false                           | true                      |
//! | an element decides             | true                | true                            | false                     |
//! | none does, one or x is NULL    | false               | NULL                            | NULL                      |
//! | none does                      | false               | false                           | true                      |
//!
//! The value and the elements come in one type: binding gives them that of the operator.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply_cmp;

use rukh_error::SqlError;

use crate::functions::common::undefined::undefined_function;
use crate::functions::json::order::keys_of;
use crate::functions::times::interval_order::orders_of;

/// Operators, and the ends of the functions' names.
const OPERATORS: [(Operator, &str, &str); 6] = [
    (Operator::Eq, "any_equal", "all_equal"),
    (Operator::NotEq, "any_not_equal", "all_not_equal"),
    (Operator::Lt, "any_less", "all_less"),
    (Operator::LtEq, "any_at_most", "all_at_most"),
    (Operator::Gt, "any_greater", "all_greater"),
    (Operator::GtEq, "any_at_least", "all_at_least"),
];

/// Returns the functions.
pub(crate) fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    OPERATORS.into_iter().flat_map(|(op, any, all)| {
        [(any, false), (all, true)].map(|(name, all)| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::from(Quantified {
                name,
                op,
                all,
                signature,
            }))
        })
    })
}

/// Returns the name of the function that compares a value with the elements of an array; `None` of operators that compare in another way.
pub fn function_of(op: &str, all: bool) -> Option<&'static str> {
    let op = if op == "<>" { "!=" } else { op };
    let found = OPERATORS.iter().find(|(known, ..)| known.to_string() == op);
    found.map(|(_, any_name, all_name)| if all { *all_name } else { *any_name })
}

/// Returns the operator of one of the functions, and whether it is of ALL.
pub fn operator_of(function: &str) -> Option<(Operator, bool)> {
    OPERATORS.iter().find_map(|(op, any, all)| match function {
        name if name == *any => Some((*op, false)),
        name if name == *all => Some((*op, true)),
        _ => None,
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Quantified {
    name: &'static str,
    op: Operator,
    all: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Quantified {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [_, _] => Ok(types.to_vec()),
            _ => Err(undefined_function(self.name, types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            // A literal is a text until it is read.
            [_, ArrowType::List(_) | ArrowType::Null | ArrowType::Utf8] => Ok(ArrowType::Boolean),
            // Not of `coerce_types`, whose errors DataFusion replaces.
            _ => {
                let message = "op ANY/ALL (array) requires array on right side";
                let error = SqlError::statement("42809", message);
                Err(DataFusionError::External(Box::new(error)))
            }
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = |argument: &ColumnarValue| matches!(argument, ColumnarValue::Scalar(_));
        let is_one = arguments.args.iter().all(is_scalar);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [values, lists] = arrays.as_slice() else {
            return Err(undefined_function(self.name, &[]));
        };
        let compared = self.compared(values, lists)?;
        Ok(match is_one {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&compared, 0)?),
            false => ColumnarValue::Array(Arc::new(compared)),
        })
    }
}

impl Quantified {
    fn undefined(&self, value: &ArrayRef, other: &ArrayRef) -> DataFusionError {
        undefined_function(self.name, &[value.data_type().clone(), other.data_type().clone()])
    }

    fn compared(&self, values: &ArrayRef, lists: &ArrayRef) -> DataFusionResult<BooleanArray> {
        if lists.data_type().is_null() {
            return Ok(BooleanArray::new_null(values.len()));
        }
        let Some(lists) = lists.as_list_opt::<i32>() else {
            return Err(self.undefined(values, lists));
        };
        // The value of each row stands beside each element of its array.
        let (mut rows, mut places) = (Vec::new(), Vec::new());
        for (row, ends) in lists.offsets().windows(2).enumerate() {
            if let [start, end] = ends
                && lists.is_valid(row)
            {
                for place in *start..*end {
                    rows.push(u32::try_from(row).unwrap_or(u32::MAX));
                    places.push(u32::try_from(place).unwrap_or(u32::MAX));
                }
            }
        }
        let left = take(values, &UInt32Array::from(rows), None)?;
        let right = take(lists.values(), &UInt32Array::from(places), None)?;
        if !right.is_empty() && (left.data_type() != right.data_type() || right.data_type().is_nested()) {
            return Err(self.undefined(&left, &right));
        }
        let (left, right) = (ordered(left)?, ordered(right)?);
        let each = apply_cmp(self.op, &ColumnarValue::Array(left), &ColumnarValue::Array(right))?;
        let each = each.to_array(lists.values().len())?;
        let each = each.as_boolean();
        let mut at = 0_usize;
        let of_row = |row: usize| -> Option<bool> {
            if lists.is_null(row) {
                return None;
            }
            let count = usize::try_from(lists.value_length(row)).unwrap_or_default();
            let end = at.saturating_add(count);
            let (mut decides, mut is_unknown) = (false, false);
            for place in at..end {
                match each.is_null(place) {
                    true => is_unknown = true,
                    false => decides |= each.value(place) != self.all,
                }
            }
            at = end;
            match decides {
                true => Some(!self.all),
                false => (!is_unknown).then_some(self.all),
            }
        };
        Ok((0..lists.len()).map(of_row).collect())
    }
}

/// Returns what values compare by.
fn ordered(values: ArrayRef) -> DataFusionResult<ArrayRef> {
    match values.data_type() {
        ArrowType::Interval(_) => orders_of(&values),
        ArrowType::LargeBinary => keys_of(&values),
        _ => Ok(values),
    }
}
