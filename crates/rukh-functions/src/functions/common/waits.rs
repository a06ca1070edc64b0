//! `pg_sleep(seconds)`, `pg_sleep_for(interval)` and `pg_sleep_until(timestamptz)`: a wait that takes no thread, and ends
//! with its statement when that is cancelled or times out.
//!
//! Each row waits, one after the other, as in PostgreSQL. A result is an empty text, as a client shows `void`.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Float64Type, IntervalMonthDayNanoType, IntervalUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::async_udf::{AsyncScalarUDF, AsyncScalarUDFImpl};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_keys::DataType;

use crate::functions::common::undefined::undefined_function;
use crate::types::arrow_type;
use rukh_error::SqlError;

/// Longest wait of one call, seconds: a year.
const SECONDS_MAX: f64 = 366.0 * 86_400.0;

/// Returns the functions that wait.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let interval = ArrowType::Interval(IntervalUnit::MonthDayNano);
    let all = [
        ("pg_sleep", ArrowType::Float64),
        ("pg_sleep_for", interval),
        ("pg_sleep_until", arrow_type(&DataType::TIMESTAMP_TZ)),
    ];
    all.into_iter().map(|(name, argument)| {
        let signature = Signature::exact(vec![argument], Volatility::Volatile);
        Arc::new(AsyncScalarUDF::new(Arc::new(Sleep { name, signature })).into_scalar_udf())
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Sleep {
    name: &'static str,
    signature: Signature,
}

impl ScalarUDFImpl for Sleep {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let message = format!("{} is supported in the list of a SELECT only", self.name);
        Err(DataFusionError::External(Box::new(SqlError::unsupported(
            message,
        ))))
    }
}

#[async_trait]
impl AsyncScalarUDFImpl for Sleep {
    async fn invoke_async_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = arguments.number_rows;
        let Some(until) = arguments.args.first() else {
            return Err(undefined_function(self.name, &[]));
        };
        let until = until.to_array(rows)?;
        for row in 0..rows {
            if let Some(seconds) = seconds(&until, row) {
                // NaN and what is over already do not wait.
                let seconds = seconds.clamp(0.0, SECONDS_MAX);
                if seconds > 0.0 {
                    tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
                }
            }
        }
        let voids = (0..rows).map(|row| (!until.is_null(row)).then_some(""));
        Ok(ColumnarValue::Array(Arc::new(voids.collect::<StringArray>())))
    }
}

/// Returns how long a row is to wait.
fn seconds(values: &ArrayRef, row: usize) -> Option<f64> {
    if values.is_null(row) {
        return None;
    }
    if let Some(seconds) = values.as_primitive_opt::<Float64Type>() {
        return Some(seconds.value(row));
    }
    if let Some(intervals) = values.as_primitive_opt::<IntervalMonthDayNanoType>() {
        let interval = intervals.value(row);
        let days = f64::from(interval.months) * 30.0 + f64::from(interval.days);
        return Some(days * 86_400.0 + interval.nanoseconds as f64 / 1e9);
    }
    let moment = values.as_primitive_opt::<TimestampMicrosecondType>()?.value(row);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(moment as f64 / 1e6 - now.as_secs_f64())
}
