//! The number by which intervals compare, as a function: what compares, sorts or groups intervals does so by it.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use crate::forms::intervals::{INTERVAL, order_of};

/// Name of the function.
pub const INTERVAL_ORDER: &str = "interval_order";

/// Whole numbers of 38 digits: 2^31 months are 25 digits of nanoseconds.
const NUMBER: ArrowType = ArrowType::Decimal128(38, 0);

/// Returns [`order_of`] an interval, or `None` if the type is none of an interval.
pub fn interval_order(expr: &Expr, ty: &ArrowType) -> Option<Expr> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
        let signature = Signature::exact(vec![INTERVAL], Volatility::Immutable);
        Arc::new(ScalarUDF::from(IntervalOrder { signature }))
    });
    matches!(ty, ArrowType::Interval(_)).then(|| FUNCTION.call(vec![expr.clone()]))
}

/// Returns [`order_of`] an interval as a value of the function's type.
pub fn number_of(interval: IntervalMonthDayNano) -> ScalarValue {
    ScalarValue::Decimal128(Some(order_of(interval)), 38, 0)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct IntervalOrder {
    signature: Signature,
}

impl ScalarUDFImpl for IntervalOrder {
    fn name(&self) -> &str {
        INTERVAL_ORDER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(NUMBER)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let numbers = arrays.first().map(orders_of).unwrap_or_default();
        let numbers: Decimal128Array = numbers.into_iter().collect();
        let numbers = numbers.with_data_type(NUMBER);
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&numbers, 0)?)),
            false => Ok(ColumnarValue::Array(Arc::new(numbers))),
        }
    }
}

fn orders_of(intervals: &ArrayRef) -> Vec<Option<i128>> {
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    intervals.iter().map(|interval| interval.map(order_of)).collect()
}
