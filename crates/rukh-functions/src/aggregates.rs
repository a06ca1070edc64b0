//! `min` and `max` as PostgreSQL has them: NaN is the greatest float, and the type of the column stays. And aggregates
//! that DataFusion does not compute over frames that move.

#![warn(clippy::arithmetic_side_effects)]

pub mod exact;
pub mod floats;
mod intervals;
mod ordered_set;
pub mod recomputed;
pub mod sum;

use std::cmp::Ordering;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Float64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_aggregate::bit_and_or_xor::{bit_and_udaf, bit_or_udaf, bit_xor_udaf};
use datafusion::functions_aggregate::bool_and_or::{bool_and_udaf, bool_or_udaf};
use datafusion::functions_aggregate::min_max::{max_udaf, min_udaf};
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, ReversedUDAF, StatisticsArgs};

use rukh_keys::DataType;

use crate::aggregates::recomputed::{Recomputed, always_recomputed, sliding};
use crate::types::data_type_of;
use crate::usual::as_usual;

/// Returns the aggregates that replace DataFusion's.
pub fn aggregates() -> Vec<Arc<AggregateUDF>> {
    let extremes = [(min_udaf(), Ordering::Less), (max_udaf(), Ordering::Greater)]
        .map(|(usual, wanted)| Arc::new(AggregateUDF::from(Extreme { usual, wanted })));
    let every = bool_and_udaf().as_ref().clone().with_aliases(["every"]);
    let framed = [
        Arc::new(every),
        bool_or_udaf(),
        bit_and_udaf(),
        bit_or_udaf(),
        bit_xor_udaf(),
    ]
    .map(|usual| Arc::new(AggregateUDF::from(Framed { usual })));
    let others = exact::aggregates(floats::aggregates())
        .into_iter()
        .chain([sum::sum()]);
    let others = others.chain(ordered_set::aggregates());
    extremes.into_iter().chain(framed).chain(others).collect()
}

/// An aggregate of DataFusion, over frames that move, too.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Framed {
    usual: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for Framed {
    as_usual!(name aliases signature coerce_types return_type state_fields groups_accumulator_supported create_groups_accumulator);

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        self.usual.accumulator(arguments)
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        // DataFusion's takes values out of a frame again, and gives 0 for a frame without values.
        match self.name() == bit_xor_udaf().name() {
            true => Ok(always_recomputed(&self.usual, &arguments)),
            false => sliding(&self.usual, arguments),
        }
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }
}

/// `min` or `max`: DataFusion's, but for floats, which it compares with NaN in any place.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Extreme {
    usual: Arc<AggregateUDF>,
    /// How a value compares with the one that it replaces.
    wanted: Ordering,
}

impl AggregateUDFImpl for Extreme {
    as_usual!(name signature coerce_types return_type state_fields create_groups_accumulator order_sensitivity set_monotonicity);

    fn return_field(&self, arguments: &[FieldRef]) -> DataFusionResult<FieldRef> {
        let usual = self.usual.return_field(arguments)?;
        Ok(match arguments {
            [argument] if argument.data_type() == usual.data_type() => {
                let field = Field::new(usual.name(), usual.data_type().clone(), true);
                // The greatest VARCHAR(n) is a TEXT.
                match data_type_of(argument) {
                    DataType::Varchar(_) => Arc::new(field),
                    _ => Arc::new(field.with_metadata(argument.metadata().clone())),
                }
            }
            _ => usual,
        })
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        match arguments.return_field.data_type() {
            ty if ty.is_floating() => Ok(Box::new(ExtremeFloat {
                ty: ty.clone(),
                wanted: self.wanted,
                value: None,
            })),
            ArrowType::Interval(_) => Ok(Box::new(intervals::Extreme::new(self.wanted))),
            _ => self.usual.accumulator(arguments),
        }
    }

    fn groups_accumulator_supported(&self, arguments: AccumulatorArgs<'_>) -> bool {
        let ty = arguments.return_field.data_type();
        let is_ours = ty.is_floating() || matches!(ty, ArrowType::Interval(_));
        !is_ours && self.usual.groups_accumulator_supported(arguments)
    }

    fn create_sliding_accumulator(
        &self,
        arguments: AccumulatorArgs<'_>,
    ) -> DataFusionResult<Box<dyn Accumulator>> {
        let wanted = self.wanted;
        match arguments.return_field.data_type() {
            ArrowType::Interval(_) => Ok(Box::new(Recomputed::new(move || intervals::Extreme::new(wanted)))),
            _ => self.usual.create_sliding_accumulator(arguments),
        }
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn is_descending(&self) -> Option<bool> {
        Some(self.wanted == Ordering::Greater)
    }

    fn value_from_stats(&self, statistics: &StatisticsArgs<'_>) -> Option<ScalarValue> {
        self.usual.value_from_stats(statistics)
    }
}

/// The least or greatest float so far.
#[derive(Debug)]
struct ExtremeFloat {
    ty: ArrowType,
    wanted: Ordering,
    value: Option<f64>,
}

impl Accumulator for ExtremeFloat {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let Some(values) = values.first() else {
            return Ok(());
        };
        let floats = cast(values.as_ref(), &ArrowType::Float64)?;
        for value in floats.as_primitive::<Float64Type>().iter().flatten() {
            if self
                .value
                .is_none_or(|known| compare(value, known) == self.wanted)
            {
                self.value = Some(value);
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        ScalarValue::Float64(self.value).cast_to(&self.ty)
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

/// Compares floats as keys do: NaN is greatest, and -0 is 0.
fn compare(one: f64, other: f64) -> Ordering {
    one.partial_cmp(&other)
        .unwrap_or_else(|| one.is_nan().cmp(&other.is_nan()))
}
