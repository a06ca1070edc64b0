//! What SQL has here and not in DataFusion: types of casts, and functions beside HASH.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray, TimestampMicrosecondArray};
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, TimeUnit, TimestampMicrosecondType,
};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast;
use rukh_keys::DataType;

use crate::SqlError;
use crate::ages;
use crate::bounded;
use crate::cast_names::cast_apart;
use crate::characters;
use crate::extract;
use crate::float_functions;
use crate::json;
use crate::moments;
use crate::operand_types;
use crate::rounding::{self, round_half_to_even};
use crate::similar;
use crate::statement::data_type;
use crate::time_zones::timezone;
use crate::to_char;
use crate::translate::time_unit;
use crate::types::arrow_type;
use crate::undefined::undefined_function;
use crate::waits;

/// Returns the functions beside HASH: those DataFusion lacks, and those that do more here.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    use datafusion::functions::{datetime, string, unicode};
    let sign = datafusion::functions::math::signum().as_ref().clone();
    let random = string::uuid().as_ref().clone();
    let ours = vec![
        Arc::new(ByteLength::beside(string::octet_length())),
        Arc::new(ByteLength::beside(unicode::character_length())),
        Arc::new(DateTrunc::beside(datetime::date_trunc())),
        cast_apart(),
        characters::chr(),
        round_half_to_even(),
        rounding::round(),
        moments::to_timestamp(),
        to_char::to_char(),
        Arc::new(sign.with_aliases(["sign"])),
        Arc::new(timezone()),
        extract::date_part(),
        operand_types::pg_typeof(),
        Arc::new(ScalarUDF::from(ToUuid::default())),
        Arc::new(random.with_aliases(["gen_random_uuid"])),
    ];
    ours.into_iter()
        .chain(float_functions::functions())
        .chain(rounding::others())
        .chain(waits::functions())
        .chain(similar::functions())
        .chain(ages::functions())
        .chain(bounded::functions())
        .chain(json::functions())
        .collect()
}

/// Types in casts mean what they mean in CREATE TABLE: timestamps are microseconds, FLOAT is DOUBLE.
#[derive(Debug)]
pub(crate) struct Types;

impl TypePlanner for Types {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        match data_type(sql_type) {
            Ok(ty) => Ok(Some(Arc::new(Field::new("", arrow_type(&ty), true)))),
            Err(_) if is_of_results(sql_type) => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }
}

/// Whether only results have this type, not columns: DataFusion knows it.
fn is_of_results(sql_type: &ast::DataType) -> bool {
    matches!(
        sql_type,
        ast::DataType::Interval { .. } | ast::DataType::Array(_) | ast::DataType::Struct(..)
    )
}

/// `to_uuid(text)`: the canonical form of a UUID; fails with 22P02 on other text.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ToUuid {
    signature: Signature,
}

impl Default for ToUuid {
    fn default() -> Self {
        ToUuid {
            signature: Signature::exact(vec![ArrowType::Utf8], Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for ToUuid {
    fn name(&self) -> &str {
        "to_uuid"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Utf8)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(ColumnarValue::Array(texts)) => Ok(ColumnarValue::Array(canonical_uuids(texts)?)),
            Some(ColumnarValue::Scalar(text)) => {
                let canonical = canonical_uuids(&text.to_array()?)?;
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&canonical, 0)?))
            }
            None => Err(DataFusionError::Internal("to_uuid takes a text".to_string())),
        }
    }
}

fn canonical_uuids(texts: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let canonical = texts
        .as_string::<i32>()
        .iter()
        .map(|text| text.map(canonical_uuid).transpose());
    Ok(Arc::new(canonical.collect::<DataFusionResult<StringArray>>()?))
}

fn canonical_uuid(text: &str) -> DataFusionResult<String> {
    match DataType::Uuid.parse_text(text) {
        Ok(datum) => Ok(DataType::Uuid.format_text(&datum)),
        Err(error) => Err(DataFusionError::External(Box::new(SqlError::from(error)))),
    }
}

/// `octet_length` and `length` of byte strings, beside those of texts that DataFusion has.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ByteLength {
    texts: Arc<ScalarUDF>,
    signature: Signature,
}

impl ByteLength {
    fn beside(texts: Arc<ScalarUDF>) -> ScalarUDF {
        ScalarUDF::from(ByteLength {
            texts,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
}

impl ScalarUDFImpl for ByteLength {
    fn name(&self) -> &str {
        self.texts.name()
    }

    fn aliases(&self) -> &[String] {
        self.texts.aliases()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [ArrowType::Null] => Ok(vec![ArrowType::Utf8]),
            [ty] if ty.is_string() => Ok(vec![ty.clone()]),
            [ty] if ty.is_binary() => Ok(vec![ArrowType::Binary]),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ArrowType::Binary] => Ok(ArrowType::Int32),
            _ => self.texts.return_type(types),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        match arguments.args.first() {
            Some(ColumnarValue::Array(values)) if *values.data_type() == ArrowType::Binary => {
                Ok(ColumnarValue::Array(length(values.as_ref())?))
            }
            Some(ColumnarValue::Scalar(ScalarValue::Binary(bytes))) => {
                let length = bytes.as_ref().map(|bytes| bytes.len() as i32);
                Ok(ColumnarValue::Scalar(ScalarValue::Int32(length)))
            }
            _ => self.texts.invoke_with_args(arguments),
        }
    }
}

/// `date_trunc` of every timestamp that a column holds; DataFusion's is limited to the years of
/// nanoseconds in 64 bits.
#[derive(Debug, PartialEq, Eq, Hash)]
struct DateTrunc {
    others: Arc<ScalarUDF>,
    signature: Signature,
}

impl DateTrunc {
    fn beside(others: Arc<ScalarUDF>) -> ScalarUDF {
        ScalarUDF::from(DateTrunc {
            others,
            signature: Signature::user_defined(Volatility::Immutable),
        })
    }
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
