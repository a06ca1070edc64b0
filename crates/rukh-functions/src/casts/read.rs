//! Texts read as values: casts of a column of texts to BYTEA and INTERVAL. Literals are read when a statement is planned, by the
//! same rules.
//!
//! | text                     | cast to  | DataFusion               | here, as in PostgreSQL |
//! |--------------------------|----------|--------------------------|------------------------|
//! | `\x4142`                 | BYTEA    | the six characters       | two bytes              |
//! | `a\\b`, `a\001`          | BYTEA    | the characters           | escapes are read       |
//! | `1 day 02:03`            | INTERVAL | words of its own         | every form of `IntervalStyle` |

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BinaryBuilder, IntervalMonthDayNanoArray, StringArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use rukh_error::SqlError;
use rukh_keys::{DataType, Datum, Interval};

use crate::casts::texts::is_text;
use crate::forms::intervals::{INTERVAL, arrow_of};

static READ: LazyLock<[Arc<ScalarUDF>; 2]> = LazyLock::new(|| {
    [ArrowType::Binary, INTERVAL].map(|to| {
        let signature = Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable);
        Arc::new(ScalarUDF::from(Read { to, signature }))
    })
});

/// Returns a cast of a text to BYTEA or INTERVAL; `None` of other casts.
pub fn read_text(expr: &Expr, to: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let from = expr.get_type(schema).ok()?;
    let function = match to {
        ArrowType::Binary | ArrowType::LargeBinary | ArrowType::BinaryView => &READ[0],
        ArrowType::Interval(_) => &READ[1],
        _ => return None,
    };
    is_text(&from).then(|| function.call(vec![expr.clone()]))
}

/// Reads a text as an interval. Fails with 22007.
pub fn read_interval(text: &str) -> DataFusionResult<ScalarValue> {
    let interval = Interval::read(text).ok_or_else(|| {
        let message = format!("invalid input syntax for type interval: \"{text}\"");
        DataFusionError::External(Box::new(SqlError::statement("22007", message)))
    })?;
    Ok(ScalarValue::IntervalMonthDayNano(Some(arrow_of(interval)?)))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Read {
    to: ArrowType,
    signature: Signature,
}

impl ScalarUDFImpl for Read {
    fn name(&self) -> &str {
        match self.to {
            ArrowType::Binary => "read_bytea",
            _ => "read_interval",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.to.clone())
    }

    /// The field that DataFusion's cast has: plans that were made with that one hold on to it.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let from = arguments.arg_fields.first();
        let nullable = from.is_none_or(|from| from.is_nullable());
        let metadata = from.map(|from| from.metadata().clone()).unwrap_or_default();
        let field = Field::new(self.name(), self.to.clone(), nullable);
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_scalar = matches!(arguments.args.as_slice(), [ColumnarValue::Scalar(_)]);
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let [texts] = arrays.as_slice() else {
            return Err(DataFusionError::Internal(format!(
                "{} takes one text",
                self.name()
            )));
        };
        let texts = cast(texts, &ArrowType::Utf8)?;
        let values = match self.to {
            ArrowType::Binary => bytes_of(texts.as_string::<i32>())?,
            _ => intervals_of(texts.as_string::<i32>())?,
        };
        match is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&values, 0)?)),
            false => Ok(ColumnarValue::Array(values)),
        }
    }
}

fn bytes_of(texts: &StringArray) -> DataFusionResult<ArrayRef> {
    let mut values = BinaryBuilder::with_capacity(texts.len(), 0);
    for text in texts {
        let read = text
            .map(|text| DataType::Varbinary(None).parse_text(text))
            .transpose();
        let read = read.map_err(|error| DataFusionError::External(Box::new(SqlError::from(error))))?;
        match read {
            Some(Datum::Bytes(bytes)) => values.append_value(bytes),
            _ => values.append_null(),
        }
    }
    Ok(Arc::new(values.finish()))
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
