//! Aggregates of intervals, as PostgreSQL has them: `sum` adds months, days and time apart, `avg` divides as `/` does, and `min`
//! and `max` compare as `<` does.
//!
//! DataFusion refuses averages, lets sums wrap around, and compares months first.

#![warn(clippy::arithmetic_side_effects)]

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, Int64Type, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::Accumulator;
use datafusion::logical_expr::utils::format_state_name;

use crate::forms::intervals::{INTERVAL, order_of, out_of_range};
use crate::functions::times::interval_scale::scaled;
use rukh_error::SqlError;

/// Whether these are the arguments of an aggregate of intervals.
pub(super) fn are_intervals(arguments: &[FieldRef]) -> bool {
    matches!(arguments, [argument] if matches!(argument.data_type(), ArrowType::Interval(_)))
}

/// What [`Total`] keeps of the rows of a group.
pub(super) fn state_fields(name: &str) -> Vec<FieldRef> {
    let field = |part: &str, ty| Arc::new(Field::new(format_state_name(name, part), ty, true));
    vec![field("sum", INTERVAL), field("rows", ArrowType::Int64)]
}

/// The sum of intervals, or their mean.
#[derive(Debug)]
pub(super) struct Total {
    is_mean: bool,
    months: i128,
    days: i128,
    nanoseconds: i128,
    rows: i64,
}

impl Total {
    /// Makes the accumulator of `sum` or `avg`. Fails with 0A000 for DISTINCT.
    pub(super) fn new(is_mean: bool, is_distinct: bool) -> DataFusionResult<Total> {
        if is_distinct {
            let message = "sums and means of DISTINCT intervals are not supported";
            return Err(DataFusionError::External(Box::new(SqlError::unsupported(
                message,
            ))));
        }
        Ok(Total {
            is_mean,
            months: 0,
            days: 0,
            nanoseconds: 0,
            rows: 0,
        })
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^63 parts of 64 bits, and rows are counted in 64"
    )]
    fn add(&mut self, sum: IntervalMonthDayNano, rows: i64, sign: i128) {
        self.months += sign * i128::from(sum.months);
        self.days += sign * i128::from(sum.days);
        self.nanoseconds += sign * i128::from(sum.nanoseconds);
        self.rows += rows;
    }

    fn sum(&self) -> DataFusionResult<Option<IntervalMonthDayNano>> {
        let part = |value: i128| i32::try_from(value).map_err(|_| out_of_range());
        if self.rows == 0 {
            return Ok(None);
        }
        Ok(Some(IntervalMonthDayNano {
            months: part(self.months)?,
            days: part(self.days)?,
            nanoseconds: i64::try_from(self.nanoseconds).map_err(|_| out_of_range())?,
        }))
    }
}

impl Accumulator for Total {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each(values, |interval| self.add(interval, 1, 1));
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each(values, |interval| self.add(interval, -1, -1));
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let sum = self.sum()?;
        let value = match sum.filter(|_| self.is_mean) {
            Some(sum) => {
                let mean = scaled(sum, self.rows as f64, true);
                Some(mean.map_err(|error| DataFusionError::External(Box::new(error)))?)
            }
            None => sum,
        };
        Ok(ScalarValue::IntervalMonthDayNano(value))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        let rows = ScalarValue::Int64(Some(self.rows));
        Ok(vec![ScalarValue::IntervalMonthDayNano(self.sum()?), rows])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        if let [sums, rows] = states {
            let sums = sums.as_primitive::<IntervalMonthDayNanoType>().iter();
            let rows = rows.as_primitive::<Int64Type>().iter();
            for state in sums.zip(rows) {
                if let (Some(sum), Some(rows)) = state {
                    self.add(sum, rows, 1);
                }
            }
        }
        Ok(())
    }
}

/// The least or greatest interval so far; of equal ones the last.
#[derive(Debug)]
pub(super) struct Extreme {
    wanted: Ordering,
    value: Option<IntervalMonthDayNano>,
}

impl Extreme {
    /// Makes the accumulator of `min` (`Less`) or `max` (`Greater`).
    pub(super) fn new(wanted: Ordering) -> Extreme {
        Extreme { wanted, value: None }
    }
}

impl Accumulator for Extreme {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        each(values, |interval| {
            let loses = |known| order_of(interval).cmp(&order_of(known)) == self.wanted.reverse();
            if !self.value.is_some_and(loses) {
                self.value = Some(interval);
            }
        });
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        Ok(ScalarValue::IntervalMonthDayNano(self.value))
    }

    fn size(&self) -> usize {
        size_of_val(self)
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        self.update_batch(states)
    }
}

/// Calls `take` with each interval that is not NULL.
fn each(values: &[ArrayRef], take: impl FnMut(IntervalMonthDayNano)) {
    if let Some(intervals) = values.first() {
        let intervals = intervals.as_primitive::<IntervalMonthDayNanoType>();
        intervals.iter().flatten().for_each(take);
    }
}
