//! The number by which intervals compare, as a function: what compares, sorts or groups intervals does so by it.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalMonthDayNano, IntervalMonthDayNanoType};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, ScalarUDF};
use datafusion::scalar::ScalarValue;

use crate::forms::intervals::{INTERVAL, order_of};
use crate::functions::common::of_array::of_array;

/// Name of the function.
pub const INTERVAL_ORDER: &str = "interval_order";

/// Whole numbers of 38 digits: 2^31 months are 25 digits of nanoseconds.
const NUMBER: ArrowType = ArrowType::Decimal128(38, 0);

/// Returns [`order_of`] an interval, or `None` if the type is none of an interval.
pub fn interval_order(expr: &Expr, ty: &ArrowType) -> Option<Expr> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| of_array(INTERVAL_ORDER, Some(INTERVAL), NUMBER, orders_of));
    matches!(ty, ArrowType::Interval(_)).then(|| FUNCTION.call(vec![expr.clone()]))
}

/// Returns [`order_of`] an interval as a value of the function's type.
pub fn number_of(interval: IntervalMonthDayNano) -> ScalarValue {
    ScalarValue::Decimal128(Some(order_of(interval)), 38, 0)
}

/// Returns [`order_of`] each interval.
pub(crate) fn orders_of(intervals: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
    let orders = intervals.iter().map(|interval| interval.map(order_of));
    let orders: Decimal128Array = orders.collect();
    Ok(Arc::new(orders.with_data_type(NUMBER)))
}
