//! What SQL has here and not in DataFusion: types of casts, and functions beside HASH.

use std::any::Any;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, Datum, StringArray, TimestampMicrosecondArray};
use datafusion::arrow::compute::kernels::length::length;
use datafusion::arrow::compute::kernels::numeric;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, FieldRef, Float32Type, Float64Type, TimeUnit, TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::type_coercion::binary::binary_numeric_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, Operator, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr_common::datum::apply;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast;
use rukh_keys::{DataType, ValueError};

use crate::SqlError;
use crate::ages;
use crate::bounded;
use crate::cast_names::cast_apart;
use crate::characters;
use crate::json;
use crate::moments;
use crate::rounding::{self, round_half_to_even};
use crate::similar;
use crate::statement::data_type;
use crate::time_zones::timezone;
use crate::to_char;
use crate::translate::time_unit;
use crate::types::{arrow_type, data_type_of_arrow};

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
        Arc::new(ScalarUDF::from(ToUuid::default())),
        Arc::new(random.with_aliases(["gen_random_uuid"])),
    ];
    ours.into_iter()
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

pub(crate) fn undefined_function(name: &str, types: &[ArrowType]) -> DataFusionError {
    let types: Vec<String> = types
        .iter()
        .map(|ty| data_type_of_arrow(ty).postgres_name())
        .collect();
    let message = format!("function {name}({}) does not exist", types.join(", "));
    let error = SqlError::statement("42883", message).with_hint(
        "No function matches the given name and argument types. You might need to add type casts.",
    );
    DataFusionError::External(Box::new(error))
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

/// Returns the function that computes `op` on integers and fails when the result is too large.
pub(crate) fn checked(op: Operator) -> Option<Arc<ScalarUDF>> {
    static CHECKED: LazyLock<[Arc<ScalarUDF>; 4]> = LazyLock::new(|| {
        [
            Operator::Plus,
            Operator::Minus,
            Operator::Multiply,
            Operator::Divide,
        ]
        .map(|op| {
            let signature = Signature::user_defined(Volatility::Immutable);
            Arc::new(ScalarUDF::from(Checked { op, signature }))
        })
    });
    let position = match op {
        Operator::Plus => 0,
        Operator::Minus => 1,
        Operator::Multiply => 2,
        Operator::Divide => 3,
        _ => return None,
    };
    Some(CHECKED[position].clone())
}

/// Returns the operator that a function of [`checked`] stands for.
pub(crate) fn checked_operator(function: &ScalarUDF) -> Option<Operator> {
    let inner: &dyn Any = function.inner().as_ref();
    inner.downcast_ref::<Checked>().map(|checked| checked.op)
}

/// A sum, difference or product of integers, or a quotient of floats; DataFusion's operators wrap around
/// and give infinity instead of failing.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Operator,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Operator::Plus => "int_add",
            Operator::Minus => "int_subtract",
            Operator::Multiply => "int_multiply",
            _ => "float_divide",
        }
    }

    fn display_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        self.schema_name(args)
    }

    fn schema_name(&self, args: &[Expr]) -> DataFusionResult<String> {
        let [left, right] = args else {
            return Ok(self.name().to_string());
        };
        Ok(format!(
            "{} {} {}",
            left.schema_name(),
            self.op,
            right.schema_name()
        ))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        match types {
            [ArrowType::Float32, ArrowType::Float32] if self.op == Operator::Divide => Ok(types.to_vec()),
            [_, _] if self.op == Operator::Divide => Ok(vec![ArrowType::Float64; 2]),
            [left, right] => {
                let common = binary_numeric_coercion(left, right)
                    .or_else(|| left.is_null().then(|| right.clone()))
                    .or_else(|| right.is_null().then(|| left.clone()))
                    .filter(|common| !common.is_null())
                    .unwrap_or(ArrowType::Int64);
                Ok(vec![common.clone(), common])
            }
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [left, _] => Ok(left.clone()),
            _ => Err(undefined_function(self.name(), types)),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let [left, right] = arguments.args.as_slice() else {
            return Err(undefined_function(self.name(), &[]));
        };
        let compute = match self.op {
            Operator::Plus => numeric::add,
            Operator::Minus => numeric::sub,
            Operator::Multiply => numeric::mul,
            _ => divide_floats,
        };
        apply(left, right, |left, right| {
            compute(left, right).map_err(|error| match error {
                ArrowError::ArithmeticOverflow(_) => {
                    let ty = data_type_of_arrow(left.get().0.data_type());
                    let error = SqlError::from(ValueError::IntegerOutOfRange { ty });
                    ArrowError::ExternalError(Box::new(error))
                }
                other => other,
            })
        })
    }

    fn output_ordering(&self, input: &[ExprProperties]) -> DataFusionResult<SortProperties> {
        let [left, right] = input else {
            return Ok(SortProperties::Unordered);
        };
        Ok(match self.op {
            Operator::Plus => left.sort_properties.add(&right.sort_properties),
            Operator::Minus => left.sort_properties.sub(&right.sort_properties),
            _ => SortProperties::Unordered,
        })
    }
}

/// Divides floats; fails on a divisor of zero, unless the dividend is NaN.
fn divide_floats(left: &dyn Datum, right: &dyn Datum) -> Result<ArrayRef, ArrowError> {
    let quotients = numeric::div(left, right)?;
    let at = |values: &dyn Datum, row| match values.get() {
        (array, true) => float_at(array, 0),
        (array, false) => float_at(array, row),
    };
    let is_by_zero = |row| {
        float_at(&quotients, row).is_some_and(|quotient| !quotient.is_finite())
            && at(right, row) == Some(0.0)
            && at(left, row).is_some_and(|dividend| !dividend.is_nan())
    };
    match (0..quotients.len()).any(is_by_zero) {
        true => Err(ArrowError::DivideByZero),
        false => Ok(quotients),
    }
}

fn float_at(array: &dyn Array, row: usize) -> Option<f64> {
    if array.is_null(row) {
        return None;
    }
    let single = array.as_primitive_opt::<Float32Type>();
    let double = || Some(array.as_primitive_opt::<Float64Type>()?.value(row));
    single.map(|floats| f64::from(floats.value(row))).or_else(double)
}
