//! Values as text: casts to VARCHAR, `||` and concat write what PostgreSQL writes.
//!
//! | value                       | DataFusion             | here                     |
//! |-----------------------------|------------------------|--------------------------|
//! | TIMESTAMP                   | `2024-01-02T03:04:05`  | `2024-01-02 03:04:05`    |
//! | TIMESTAMPTZ                 | `2024-01-02T03:04:05Z` | `2024-01-02 03:04:05+00` |
//! | TIME                        | `03:04:05.500`         | `03:04:05.5`             |
//! | DOUBLE 1e20                 | `1e20`                 | `1e+20`                  |
//! | VARBINARY                   | the bytes as UTF-8     | `\x6162`                 |
//! | BOOLEAN in concat           | `true`                 | `t`                      |
//! | NUMERIC without digits      | 38 digits after the point | as many as it has     |
//! | lists                       | `[1, 2]`               | `{1,2}`                  |
//! | intervals                   | `1 mons 2 hours`       | `1 mon 02:00:00`         |
//!
//! UUIDs are texts in Arrow; a cast of one to text makes it one for SQL, too.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, ListArray, StringArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};
use rukh_keys::{DataType, Datum};

use crate::errors::external;
use crate::scalars::{cast_text, datums_from_array};
use crate::types::{TYPE_KEY, data_type_of};

/// What casts to VARCHAR(n) are spelled with: `left` under another name, which takes the text of a value of any type.
pub const CAST_VARCHAR: &str = "cast_varchar";

/// What casts to CHAR(n) are spelled with: `rtrim` under another name.
pub const CAST_CHAR: &str = "cast_char";

static TEXT: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::any(1, Volatility::Immutable);
    Arc::new(ScalarUDF::from(Text { signature }))
});

/// Returns a cast to text that writes the value as PostgreSQL does; `None` where DataFusion's cast does.
pub fn cast_to_text(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let (_, field) = expr.to_field(schema).ok()?;
    let own = match field.data_type() {
        // Years before 1 and after 9999 among them.
        ArrowType::Date32
        | ArrowType::Timestamp(..)
        | ArrowType::Time32(_)
        | ArrowType::Time64(_)
        | ArrowType::Float32
        | ArrowType::Float64
        | ArrowType::Decimal256(..)
        | ArrowType::Binary
        | ArrowType::LargeBinary
        | ArrowType::LargeUtf8
        | ArrowType::BinaryView
        | ArrowType::List(_)
        | ArrowType::Struct(_)
        | ArrowType::Interval(_)
        | ArrowType::Duration(_) => true,
        _ => data_type_of(&field) == DataType::Uuid,
    };
    own.then(|| TEXT.call(vec![expr.clone()]))
}

/// Returns an argument of concat as text; `None` where DataFusion writes it as PostgreSQL does.
pub fn concatenated(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr.get_type(schema) {
        Ok(ArrowType::Boolean | ArrowType::FixedSizeBinary(_)) => Some(TEXT.call(vec![expr.clone()])),
        _ => cast_to_text(expr, schema),
    }
}

/// Returns an array of texts for one of other values, each written as PostgreSQL does; `None` where Arrow's cast does. A BOOLEAN is `t`
/// or `f`.
pub fn elements_to_text(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    match expr.get_type(schema) {
        Ok(ArrowType::List(of)) if !is_text(of.data_type()) && !of.data_type().is_null() => {
            let signature = Signature::any(1, Volatility::Immutable);
            Some(ScalarUDF::from(Texts { signature }).call(vec![expr.clone()]))
        }
        _ => None,
    }
}

/// `x AS TEXT[]`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Texts {
    signature: Signature,
}

impl ScalarUDFImpl for Texts {
    fn name(&self) -> &str {
        "as_texts"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::new_list(ArrowType::Utf8, true))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let is_one = matches!(arguments.args.first(), Some(ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&arguments.args)?;
        let lists = arrays.first().and_then(|array| array.as_list_opt::<i32>());
        let lists = lists.ok_or_else(|| DataFusionError::Internal("as_texts takes arrays".to_string()))?;
        let made: ArrayRef = Arc::new(text_lists(lists)?);
        match is_one {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

fn text_lists(lists: &ListArray) -> DataFusionResult<ListArray> {
    let values: ArrayRef = match lists.values().as_list_opt::<i32>() {
        Some(inner) => Arc::new(text_lists(inner)?),
        None => {
            let field = Field::new("", lists.value_type(), true);
            let ty = data_type_of(&field);
            let datums = datums_from_array(lists.values(), &ty).map_err(external)?;
            let text = |datum: &Datum| (!datum.is_null()).then(|| cast_text(datum, &ty));
            Arc::new(datums.iter().map(text).collect::<StringArray>())
        }
    };
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Ok(ListArray::try_new(
        field,
        lists.offsets().clone(),
        values,
        lists.nulls().cloned(),
    )?)
}

/// Whether a function is the one that these casts become.
pub fn is_cast_to_text(function: &ScalarUDF) -> bool {
    *function == **TEXT
}

/// Whether an Arrow type is one of texts: JSON is none.
pub fn is_text(arrow: &ArrowType) -> bool {
    matches!(arrow, ArrowType::Utf8 | ArrowType::Utf8View)
}

/// `x AS VARCHAR`.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Text {
    signature: Signature,
}

impl ScalarUDFImpl for Text {
    fn name(&self) -> &str {
        "as_text"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    /// The field that DataFusion's cast has: plans that were made with that one hold on to it. A text keeps
    /// no word of UUIDs, though, or it would be one.
    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let from = arguments.arg_fields.first();
        let nullable = from.is_none_or(|from| from.is_nullable());
        let declared = from.filter(|from| data_type_of(from) != DataType::Uuid);
        let declared = declared.and_then(|from| from.metadata().get_key_value(TYPE_KEY));
        let metadata = declared
            .map(|(key, ty)| (key.clone(), ty.clone()))
            .into_iter()
            .collect();
        let field = Field::new(self.name(), ArrowType::Utf8, nullable);
        Ok(Arc::new(field.with_metadata(metadata)))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let ([value], [field]) = (arguments.args.as_slice(), arguments.arg_fields.as_slice()) else {
            return Err(DataFusionError::Internal(
                "as_text takes one argument".to_string(),
            ));
        };
        let ty = data_type_of(field);
        match value {
            ColumnarValue::Array(values) => Ok(ColumnarValue::Array(Arc::new(texts(values, &ty)?))),
            ColumnarValue::Scalar(value) => {
                let text = texts(&value.to_array()?, &ty)?;
                let text = text.iter().next().flatten().map(str::to_string);
                Ok(ColumnarValue::Scalar(ScalarValue::Utf8(text)))
            }
        }
    }
}

fn texts(values: &ArrayRef, ty: &DataType) -> DataFusionResult<StringArray> {
    let datums = datums_from_array(values, ty).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let text = |datum: &Datum| (!datum.is_null()).then(|| ty.format_text(datum));
    Ok(datums.iter().map(text).collect())
}
