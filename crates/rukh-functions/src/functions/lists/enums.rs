//! The labels of an enum: `enum_first`, `enum_last`, `enum_range`. The type of the argument says which enum, its value does not matter,
//! but to `enum_range` of two, where NULL is an end without a bound.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, TimestampSecondType};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_keys::{DataType, Datum, EnumType};

use crate::batch::array_of;
use crate::functions::common::undefined::undefined_function;
use crate::scalars::scalar_from_datum;
use crate::types::enum_of;

/// Returns the functions.
pub(crate) fn functions() -> [ScalarUDF; 3] {
    [
        ("enum_first", Gives::First),
        ("enum_last", Gives::Last),
        ("enum_range", Gives::Range),
    ]
    .map(|(name, gives)| {
        ScalarUDF::from(Labels {
            name,
            gives,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Gives {
    First,
    Last,
    Range,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Labels {
    name: &'static str,
    gives: Gives,
    signature: Signature,
}

impl ScalarUDFImpl for Labels {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types.first().and_then(enum_of) {
            Some(_) => Ok(types.to_vec()),
            None => Err(undefined_function(self.name, types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        let of = types
            .first()
            .ok_or_else(|| undefined_function(self.name, types))?;
        Ok(match self.gives {
            Gives::First | Gives::Last => of.clone(),
            Gives::Range => ArrowType::new_list(of.clone(), true),
        })
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        let types = arguments.arg_fields.iter().map(|field| field.data_type().clone());
        let ty = self.return_type(&types.collect::<Vec<_>>())?;
        Ok(Arc::new(Field::new(self.name, ty, true)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let types: Vec<ArrowType> = arguments.args.iter().map(ColumnarValue::data_type).collect();
        let of = types.first().and_then(enum_of);
        let of = of.ok_or_else(|| undefined_function(self.name, &types))?;
        let labels = &of.definition().labels;
        let end = match self.gives {
            Gives::First => labels.first(),
            Gives::Last => labels.last(),
            Gives::Range => return ranges(of, &arguments.args),
        };
        let end = end.map_or(Datum::Null, |label| Datum::Int(label.code.into()));
        Ok(ColumnarValue::Scalar(scalar_from_datum(
            &end,
            &DataType::Enum(of),
        )))
    }
}

/// Returns the labels between two, or all.
fn ranges(of: EnumType, arguments: &[ColumnarValue]) -> DataFusionResult<ColumnarValue> {
    let is_scalar = arguments
        .iter()
        .all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
    let ends = match arguments {
        [_] => Vec::new(),
        _ => ColumnarValue::values_to_arrays(arguments)?,
    };
    let rows = ends.first().map_or(1, |array| array.len());
    let (mut values, mut lengths) = (Vec::new(), Vec::with_capacity(rows));
    for row in 0..rows {
        let end = |at: usize| {
            let codes = ends.get(at)?.as_primitive_opt::<TimestampSecondType>()?;
            codes.is_valid(row).then(|| codes.value(row))
        };
        let (low, high) = (end(0), end(1));
        let codes = of.definition().labels.iter().map(|label| i64::from(label.code));
        let before = values.len();
        values.extend(
            codes
                .filter(|code| low.is_none_or(|low| low <= *code) && high.is_none_or(|high| *code <= high))
                .map(Datum::Int),
        );
        lengths.push(values.len().saturating_sub(before));
    }
    let values =
        array_of(&DataType::Enum(of), &values).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let lists: ArrayRef = Arc::new(ListArray::try_new(
        field,
        OffsetBuffer::from_lengths(lengths),
        values,
        None,
    )?);
    Ok(match is_scalar || ends.is_empty() {
        true => ColumnarValue::Scalar(ScalarValue::try_from_array(&lists, 0)?),
        false => ColumnarValue::Array(lists),
    })
}
