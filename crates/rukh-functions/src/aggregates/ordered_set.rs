//! `percentile_disc(fraction) WITHIN GROUP (ORDER BY x)` and `mode() WITHIN GROUP (ORDER BY x)`, which DataFusion lacks, of values of
//! every type that has an order.
//!
//! Of n values in order the first is given whose place is at least `fraction * n`. The mode is the most frequent value; of
//! several the first in order. NULLs do not count. Values are kept in memory, which counts as that of the query.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::compute::{SortOptions, concat, is_not_null, sort};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Schema};
use datafusion::common::ScalarValue;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::{AggregateOrderSensitivity, format_state_name};
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, ReversedUDAF, Signature, Volatility,
};
use rukh_error::SqlError;

use crate::functions::common::undefined::undefined_function;

/// Returns the aggregates.
pub fn aggregates() -> [Arc<AggregateUDF>; 2] {
    [Kind::Percentile, Kind::Mode].map(|kind| {
        let signature = Signature::user_defined(Volatility::Immutable);
        Arc::new(AggregateUDF::from(OrderedSet { kind, signature }))
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Percentile,
    Mode,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OrderedSet {
    kind: Kind,
    signature: Signature,
}

impl AggregateUDFImpl for OrderedSet {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Percentile => "percentile_disc",
            Kind::Mode => "mode",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let has_order = |ty: &ArrowType| !ty.is_nested() && !matches!(ty, ArrowType::Interval(_));
        match (self.kind, types) {
            (Kind::Mode, [value]) if has_order(value) => Ok(vec![value.clone()]),
            (Kind::Percentile, [value, fraction])
                if has_order(value) && (fraction.is_numeric() || fraction.is_null()) =>
            {
                Ok(vec![value.clone(), ArrowType::Float64])
            }
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        let value = types.first().cloned();
        value.ok_or_else(|| undefined_function(self.name(), types))
    }

    fn return_field(&self, arguments: &[FieldRef]) -> DataFusionResult<FieldRef> {
        let types: Vec<ArrowType> = arguments.iter().map(|field| field.data_type().clone()).collect();
        let field = Field::new(self.name(), self.return_type(&types)?, true);
        let metadata = arguments.first().map(|value| value.metadata().clone());
        Ok(Arc::new(field.with_metadata(metadata.unwrap_or_default())))
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        let values = Field::new_list_field(arguments.return_field.data_type().clone(), true);
        let name = format_state_name(arguments.name, self.name());
        Ok(vec![Arc::new(Field::new(
            name,
            ArrowType::List(Arc::new(values)),
            true,
        ))])
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        if arguments.is_distinct {
            let message = format!("{}(DISTINCT …) is not supported", self.name());
            return Err(DataFusionError::External(Box::new(SqlError::unsupported(
                message,
            ))));
        }
        let is_descending = arguments
            .order_bys
            .first()
            .is_some_and(|key| key.options.descending);
        Ok(Box::new(Values {
            ty: arguments.return_field.data_type().clone(),
            fraction: match self.kind {
                Kind::Mode => None,
                Kind::Percentile => Some(fraction(&arguments)?),
            },
            is_descending,
            parts: Vec::new(),
        }))
    }

    fn supports_within_group_clause(&self) -> bool {
        true
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::NotSupported
    }
}

/// Returns the fraction, a constant; none if it is NULL. Fails with 22003 outside of 0 to 1.
fn fraction(arguments: &AccumulatorArgs<'_>) -> DataFusionResult<Option<f64>> {
    let none = RecordBatch::new_empty(Arc::new(Schema::empty()));
    // What reads a column cannot be computed on none.
    let value = arguments.exprs.get(1).map(|expr| expr.evaluate(&none));
    let Some(Ok(ColumnarValue::Scalar(value))) = value else {
        let error = SqlError::unsupported("the fraction of percentile_disc has to be a constant");
        return Err(DataFusionError::External(Box::new(error)));
    };
    match value.cast_to(&ArrowType::Float64)? {
        ScalarValue::Float64(Some(fraction)) if !(0.0..=1.0).contains(&fraction) => {
            let message = format!("percentile value {fraction} is not between 0 and 1");
            let error = SqlError::statement("22003", message);
            Err(DataFusionError::External(Box::new(error)))
        }
        ScalarValue::Float64(fraction) => Ok(fraction),
        _ => Ok(None),
    }
}

/// The values of a group.
#[derive(Debug)]
struct Values {
    ty: ArrowType,
    /// Which value is wanted: the most frequent one if there is no fraction.
    fraction: Option<Option<f64>>,
    is_descending: bool,
    /// Values that are not NULL.
    parts: Vec<ArrayRef>,
}

impl Values {
    fn add(&mut self, values: &ArrayRef) -> DataFusionResult<()> {
        let there = match values.null_count() {
            0 => values.clone(),
            _ => datafusion::arrow::compute::filter(values, &is_not_null(values)?)?,
        };
        if !there.is_empty() {
            self.parts.push(there);
        }
        Ok(())
    }

    fn all(&self) -> DataFusionResult<ArrayRef> {
        let parts: Vec<&dyn Array> = self.parts.iter().map(|part| part.as_ref()).collect();
        match parts.is_empty() {
            true => Ok(datafusion::arrow::array::new_empty_array(&self.ty)),
            false => Ok(concat(&parts)?),
        }
    }

    #[expect(
        clippy::arithmetic_side_effects,
        reason = "places within an array, and a product of floats"
    )]
    fn place(&self, sorted: &ArrayRef) -> DataFusionResult<Option<usize>> {
        match self.fraction {
            Some(fraction) => Ok(fraction.map(|fraction| {
                let place = (fraction * sorted.len() as f64).ceil().max(1.0);
                place as usize - 1
            })),
            None => {
                let (mut best, mut best_length, mut start) = (0, 0, 0);
                let mut last = ScalarValue::try_from_array(sorted, 0)?;
                for at in 1..=sorted.len() {
                    let value = match at < sorted.len() {
                        true => Some(ScalarValue::try_from_array(sorted, at)?),
                        false => None,
                    };
                    if value.as_ref() == Some(&last) {
                        continue;
                    }
                    if at - start > best_length {
                        (best, best_length) = (start, at - start);
                    }
                    start = at;
                    if let Some(value) = value {
                        last = value;
                    }
                }
                Ok(Some(best))
            }
        }
    }
}

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        match values.first() {
            Some(values) => self.add(values),
            None => Ok(()),
        }
    }

    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        let all = self.all()?;
        if all.is_empty() {
            return ScalarValue::try_from(&self.ty);
        }
        let options = SortOptions {
            descending: self.is_descending,
            nulls_first: false,
        };
        let sorted = sort(&all, Some(options))?;
        match self.place(&sorted)? {
            Some(place) => ScalarValue::try_from_array(&sorted, place),
            None => ScalarValue::try_from(&self.ty),
        }
    }

    #[expect(clippy::arithmetic_side_effects, reason = "bytes that are in memory")]
    fn size(&self) -> usize {
        let bytes = self.parts.iter().map(|part| part.get_array_memory_size());
        size_of_val(self) + bytes.sum::<usize>()
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![
            SingleRowListArrayBuilder::new(self.all()?).build_list_scalar(),
        ])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let Some(lists) = states.first() else {
            return Ok(());
        };
        for list in lists.as_list::<i32>().iter().flatten() {
            self.add(&list)?;
        }
        Ok(())
    }
}
