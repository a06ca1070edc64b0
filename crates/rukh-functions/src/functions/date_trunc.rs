//! `date_trunc`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, TimestampMicrosecondArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, TimeUnit, TimestampMicrosecondType};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_planner::TimeUnit as Unit;

use crate::functions::undefined::undefined_function;

/// Returns the function, beside DataFusion's for other types.
pub fn beside(others: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    let signature = Signature::user_defined(Volatility::Immutable);
    Arc::new(ScalarUDF::from(DateTrunc { others, signature }))
}

/// Returns the unit that `date_trunc` knows by this name.
pub fn time_unit(name: &str) -> Option<Unit> {
    Some(match name.to_ascii_lowercase().as_str() {
        "microsecond" | "microseconds" => Unit::Microsecond,
        "millisecond" | "milliseconds" => Unit::Millisecond,
        "second" => Unit::Second,
        "minute" => Unit::Minute,
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "quarter" => Unit::Quarter,
        "year" => Unit::Year,
        _ => return None,
    })
}

/// `date_trunc` of every timestamp that a column holds; DataFusion's is limited to the years of
/// nanoseconds in 64 bits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for DateTrunc {
    fn name(&self) -> &str {
        self.others.name()
    }

    fn aliases(&self) -> &[String] {
        self.others.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let micros = |zone: &Option<Arc<str>>| ArrowType::Timestamp(TimeUnit::Microsecond, zone.clone());
        match types {
            [unit, value] if unit.is_string() || unit.is_null() => {
                let value = match value {
                    ArrowType::Timestamp(_, zone) => micros(zone),
                    ArrowType::Time32(_) | ArrowType::Time64(_) => value.clone(),
                    ty if ty.is_string() || ty.is_null() => micros(&None),
                    ArrowType::Date32 | ArrowType::Date64 => micros(&None),
                    _ => return Err(undefined_function(self.name(), types)),
                };
                Ok(vec![ArrowType::Utf8, value])
            }
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [_, value] => Ok(value.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        self.others.output_ordering(input)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(name))),
            ColumnarValue::Array(values),
        ] = arguments.args.as_slice()
        else {
            return self.invoke_on_arrays(arguments);
        };
        let (ArrowType::Timestamp(TimeUnit::Microsecond, zone), Some(unit)) =
            (values.data_type(), time_unit(name))
        else {
            return self.others.invoke_with_args(arguments);
        };
        if zone
            .as_deref()
            .is_some_and(|zone| zone != "UTC" && zone != "+00:00")
        {
            return self.others.invoke_with_args(arguments);
        }
        let instants = values.as_primitive::<TimestampMicrosecondType>();
        let cut: TimestampMicrosecondArray = instants.unary(|micros| unit.truncate(micros));
        Ok(ColumnarValue::Array(Arc::new(
            cut.with_timezone_opt(zone.clone()),
        )))
    }
}

impl DateTrunc {
    /// A scalar goes the way of arrays: one rule for both.
    fn invoke_on_arrays(&self, mut arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [
            ColumnarValue::Scalar(ScalarValue::Utf8(Some(_))),
            ColumnarValue::Scalar(value),
        ] = arguments.args.as_slice()
        else {
            return self.others.invoke_with_args(arguments);
        };
        arguments.args[1] = ColumnarValue::Array(value.to_array()?);
        match self.invoke_with_args(arguments)? {
            ColumnarValue::Array(cut) => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&cut, 0)?)),
            scalar => Ok(scalar),
        }
    }
}
