//! Texts read as values: casts of a column of texts. Literals are read when a statement is planned, by the same rules
//! (`rukh_keys`'s input of each type).
//!
//! | text                     | cast to   | DataFusion               | here, as in PostgreSQL |
//! |--------------------------|-----------|--------------------------|------------------------|
//! | `\x4142`                 | BYTEA     | the six characters       | two bytes              |
//! | `a\\b`, `a\001`          | BYTEA     | the characters           | escapes are read       |
//! | `1 day 02:03`            | INTERVAL  | words of its own         | every form of `IntervalStyle` |
//! | `2024-01-01 12:00+02`    | TIMESTAMP | 10 o'clock               | 12 o'clock             |
//! | `0042`                   | TIME      | 42 microseconds          | 00:42                  |
//! | `{1,2}`                  | INTEGER[] | no integer               | two integers           |
//! | `1`                      | INTEGER[] | one integer              | 22P02                  |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, IntervalMonthDayNanoArray, ListArray, StringArray};
use datafusion::arrow::buffer::{NullBuffer, OffsetBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, array_elements};

use crate::batch::array_of;
use crate::casts::texts::is_text;
use crate::errors::external;
use crate::forms::intervals::{INTERVAL, arrow_of};
use crate::scalars::assigned_datums;
use crate::types::{TYPE_KEY, arrow_type, data_type_of_arrow, declared_text};

/// What a text is read as.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Target {
    Type(DataType),
    Interval,
    /// An array of one dimension.
    Array(DataType),
    /// An array of what the elements of one of texts are read as.
    Elements(DataType),
}

impl Target {
    /// Returns what a cast to a type reads; `None` of texts, and of what texts are not read as.
    fn of(to: &ArrowType) -> Option<Target> {
        match to {
            ArrowType::Interval(_) => Some(Target::Interval),
            ArrowType::List(element) => {
                let ty = data_type_of_arrow(element.data_type());
                (arrow_type(&ty) == *element.data_type()).then_some(Target::Array(ty))
            }
            ty if is_text(ty) => None,
            ty => {
                let read = data_type_of_arrow(ty);
                (arrow_type(&read) == *ty).then_some(Target::Type(read))
            }
        }
    }

    fn arrow(&self) -> ArrowType {
        match self {
            Target::Type(ty) => arrow_type(ty),
            Target::Interval => INTERVAL,
            Target::Array(of) | Target::Elements(of) => ArrowType::List(element(of)),
        }
    }

    fn read(&self, values: &ArrayRef) -> DataFusionResult<ArrayRef> {
        if let Target::Elements(of) = self {
            return elements_of(values.as_list(), of);
        }
        let texts = cast(values, &ArrowType::Utf8)?;
        let texts: &StringArray = texts.as_string();
        match self {
            Target::Type(ty) => values_of(texts.iter(), ty),
            Target::Interval => intervals_of(texts),
            Target::Array(of) | Target::Elements(of) => arrays_of(texts, of),
        }
    }
}

fn element(ty: &DataType) -> FieldRef {
    Arc::new(Field::new_list_field(arrow_type(ty), true))
}

/// Returns a cast of a text that reads it; `None` of other casts.
pub fn read_text(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let target = match (&from, Target::of(to)?) {
        (from, target) if is_text(from) => target,
        (ArrowType::List(from), Target::Array(of))
            if is_text(from.data_type()) && !is_text(&arrow_type(&of)) =>
        {
            Target::Elements(of)
        }
        _ => return None,
    };
    let signature = match target {
        Target::Elements(_) => Signature::any(1, Volatility::Immutable),
        _ => Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable),
    };
    let name = match &target {
        Target::Type(ty) => format!("read_{}", ty.postgres_name().replace(' ', "_")),
        Target::Interval => "read_interval".to_string(),
        Target::Array(of) => format!("read_{}_array", of.postgres_name().replace(' ', "_")),
        Target::Elements(of) => format!("read_{}_elements", of.postgres_name().replace(' ', "_")),
    };
    let read = Read {
        name,
        target,
        signature,
    };
    Some(ScalarUDF::from(read).call(vec![expr.clone()]))
}

/// Returns a cast to a composite type, or to arrays of one: of a text, which is read, or of a row, whose fields are cast in their order.
pub fn as_record(expr: &Expr, to: DataType) -> Expr {
    let signature = Signature::any(1, Volatility::Immutable);
    let name = format!("as_{}", to.postgres_name());
    ScalarUDF::from(AsRecord { name, to, signature }).call(vec![expr.clone()])
}

/// Returns the type that a function of [`as_record`] casts to.
pub fn record_cast(function: &ScalarUDF) -> Option<DataType> {
    function.inner().downcast_ref::<AsRecord>().map(|cast| cast.to)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct AsRecord {
    name: String,
    to: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for AsRecord {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(arrow_type(&self.to))
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let metadata = [(TYPE_KEY.to_string(), declared_text(&self.to))];
        let field = Field::new(self.name(), arrow_type(&self.to), true);
        Ok(Arc::new(field.with_metadata(metadata.into())))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let of_arrays = |arrays: &[ArrayRef]| {
            if let (ArrowType::List(of), Some(element)) = (arrays[0].data_type(), self.to.element())
                && is_text(of.data_type())
            {
                return elements_of(arrays[0].as_list(), &element);
            }
            let datums = assigned_datums(&arrays[0], &self.to, self.name()).map_err(external)?;
            array_of(&self.to, &datums).map_err(external)
        };
        make_scalar_function(of_arrays, Vec::new())(&arguments.args)
    }
}

/// Returns the type that a function casts a text to if it is one of these casts.
pub fn read_cast(function: &ScalarUDF) -> Option<ArrowType> {
    let read = function.inner().downcast_ref::<Read>()?;
    Some(read.target.arrow())
}

/// Reads a text as an interval. Fails with 22007, or 22015 if its numbers are too large.
pub fn read_interval(text: &str) -> DataFusionResult<ScalarValue> {
    let Datum::Interval(interval) = DataType::Interval.parse_text(text).map_err(external)? else {
        return Ok(ScalarValue::IntervalMonthDayNano(None));
    };
    Ok(ScalarValue::IntervalMonthDayNano(Some(arrow_of(interval)?)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Read {
    name: String,
    target: Target,
    signature: Signature,
}

impl ScalarUDFImpl for Read {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.target.arrow())
    }

    /// The field that DataFusion's cast has: plans that were made with that one hold on to it.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let from = arguments.arg_fields.first();
        let nullable = from.is_none_or(|from| from.is_nullable());
        let metadata = from.map(|from| from.metadata().clone()).unwrap_or_default();
        let field = Field::new(self.name(), self.target.arrow(), nullable);
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [texts] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!("{} takes one text", self.name)));
        };
        let values = self.target.read(texts)?;
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)),
            false => Ok(ColumnarValue::Array(values)),
        }
    }
}

fn values_of<'a>(texts: impl Iterator<Item = Option<&'a str>>, ty: &DataType) -> DataFusionResult<ArrayRef> {
    let read = |text: Option<&str>| text.map_or(Ok(Datum::Null), |text| ty.parse_text(text));
    let values = texts
        .map(read)
        .collect::<Result<Vec<Datum>, _>>()
        .map_err(external)?;
    array_of(ty, &values).map_err(external)
}

fn intervals_of(texts: &StringArray) -> DataFusionResult<ArrayRef> {
    let intervals = texts
        .iter()
        .map(|text| match text.map(read_interval).transpose()? {
            Some(ScalarValue::IntervalMonthDayNano(interval)) => Ok(interval),
            _ => Ok(None),
        });
    let intervals: IntervalMonthDayNanoArray = intervals.collect::<DataFusionResult<_>>()?;
    Ok(Arc::new(intervals))
}

fn elements_of(lists: &ListArray, of: &DataType) -> DataFusionResult<ArrayRef> {
    let texts = cast(lists.values(), &ArrowType::Utf8)?;
    let values = values_of(texts.as_string::<i32>().iter(), of)?;
    let offsets = lists.offsets().clone();
    Ok(Arc::new(ListArray::try_new(
        element(of),
        offsets,
        values,
        lists.nulls().cloned(),
    )?))
}

fn arrays_of(texts: &StringArray, of: &DataType) -> DataFusionResult<ArrayRef> {
    let mut all: Vec<Option<String>> = Vec::new();
    let mut lengths = Vec::with_capacity(texts.len());
    for text in texts {
        let before = all.len();
        if let Some(text) = text {
            all.extend(array_elements(text).ok_or_else(|| {
                let message = format!("malformed array literal: \"{text}\"");
                external(SqlError::statement("22P02", message))
            })?);
        }
        lengths.push(all.len().saturating_sub(before));
    }
    let values = values_of(all.iter().map(Option::as_deref), of)?;
    let nulls: NullBuffer = texts.iter().map(|text| text.is_some()).collect();
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(Arc::new(ListArray::try_new(
        element(of),
        offsets,
        values,
        Some(nulls),
    )?))
}
