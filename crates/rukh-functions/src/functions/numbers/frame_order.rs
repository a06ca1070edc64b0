//! The order of a window frame with room at the ends of its type: what a frame adds its distances to.
//!
//! | type                     | becomes                                                          |
//! |--------------------------|------------------------------------------------------------------|
//! | SMALLINT, INTEGER        | BIGINT                                                           |
//! | BIGINT                   | DECIMAL(38, 0)                                                   |
//! | DECIMAL(p, s)            | DECIMAL(38, s)                                                   |
//! | TIMESTAMP                | as it is, but infinity and what lies beyond the year 247000 stand there |
//! | DATE                     | TIMESTAMP, which distances of hours are added to                 |
//!
//! Without it `2147483647 + 1` is the least INTEGER to Arrow, and a frame around an infinite date takes other rows with it.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Date32Type, TimeUnit, TimestampMicrosecondType};
use datafusion::common::{ScalarValue, exec_err};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, lit,
};

/// The last day that dates stand for, from 1970-01-01; Arrow's calendar ends in the year 262142.
const DAYS_MAX: i32 = 90_000_000;

const MICROS_OF_DAY: i64 = 86_400_000_000;

/// The last moment that timestamps stand for, in microseconds: [`DAYS_MAX`] days.
const MICROS_MAX: i64 = DAYS_MAX as i64 * MICROS_OF_DAY;

/// Name of the function.
const FRAME_ORDER: &str = "frame_order";

/// Returns an order of a frame with room for its distances; `None` where its type has it.
pub fn frame_order(order: &Expr, ty: &ArrowType) -> Option<Expr> {
    static FUNCTION: LazyLock<Arc<ScalarUDF>> =
        LazyLock::new(|| Arc::new(ScalarUDF::from(FrameOrder::new())));
    type_with_room(ty).map(|_| FUNCTION.call(vec![order.clone()]))
}

/// Whether an order is what [`frame_order`] returns.
pub fn is_frame_order(order: &Expr) -> bool {
    matches!(order, Expr::ScalarFunction(call) if call.func.name() == FRAME_ORDER)
}

/// Returns whether a moment, given as [`frame_order`] returns it, stands for infinity; `None` of another type.
pub fn is_infinite(order: &Expr, ty: &ArrowType) -> Option<Expr> {
    let ArrowType::Timestamp(TimeUnit::Microsecond, zone) = ty else {
        return None;
    };
    let ends = [-MICROS_MAX, MICROS_MAX];
    let ends = ends.map(|end| ScalarValue::TimestampMicrosecond(Some(end), zone.clone()));
    let [first, last] = ends.map(|end| order.clone().eq(lit(end)));
    Some(first.or(last))
}

/// Returns the type in which the order of a frame has room; `None` where it is as it is.
pub fn type_with_room(ty: &ArrowType) -> Option<ArrowType> {
    match ty {
        ArrowType::Int8 | ArrowType::Int16 | ArrowType::Int32 => Some(ArrowType::Int64),
        ArrowType::Int64 => Some(ArrowType::Decimal128(38, 0)),
        ArrowType::Decimal128(precision, scale) if *precision < 38 => Some(ArrowType::Decimal128(38, *scale)),
        ArrowType::Date32 => Some(ArrowType::Timestamp(TimeUnit::Microsecond, None)),
        ArrowType::Timestamp(TimeUnit::Microsecond, _) => Some(ty.clone()),
        _ => None,
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct FrameOrder {
    signature: Signature,
}

impl FrameOrder {
    fn new() -> Self {
        FrameOrder {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for FrameOrder {
    fn name(&self) -> &str {
        FRAME_ORDER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ty] => Ok(type_with_room(ty).unwrap_or_else(|| ty.clone())),
            _ => exec_err!("frame_order takes one value"),
        }
    }

    // Rows that are in the order of the value are in this one.
    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        Ok(input
            .first()
            .map_or(SortProperties::Unordered, |value| value.sort_properties))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let values = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [values] = values.as_slice() else {
            return exec_err!("frame_order takes one value");
        };
        Ok(ColumnarValue::Array(with_room(values)?))
    }
}

fn with_room(values: &ArrayRef) -> DataFusionResult<ArrayRef> {
    Ok(match values.data_type() {
        ArrowType::Date32 => {
            let days = values.as_primitive::<Date32Type>();
            let moment = |day: i32| i64::from(day.clamp(-DAYS_MAX, DAYS_MAX)) * MICROS_OF_DAY;
            Arc::new(days.unary::<_, TimestampMicrosecondType>(moment))
        }
        ty @ ArrowType::Timestamp(TimeUnit::Microsecond, _) => {
            let moments = values.as_primitive::<TimestampMicrosecondType>();
            let moments =
                moments.unary::<_, TimestampMicrosecondType>(|moment| moment.clamp(-MICROS_MAX, MICROS_MAX));
            Arc::new(moments.with_data_type(ty.clone()))
        }
        ty => match type_with_room(ty) {
            Some(wide) => cast(values, &wide)?,
            None => values.clone(),
        },
    })
}
