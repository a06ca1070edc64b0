//! Casts that a query writes: whether PostgreSQL has them, and what they give where DataFusion's gives something else.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::math;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use rukh_error::SqlError;
use rukh_functions::casts::documents::cast_document;
use rukh_functions::casts::numbers::cast_number;
use rukh_functions::casts::read::{as_record, read_text};
use rukh_functions::casts::table::{Kind, check_cast};
use rukh_functions::casts::texts::{cast_to_text, elements_to_text, is_text};
use rukh_functions::casts::times::cast_time;
use rukh_functions::errors::external;
use rukh_functions::functions::networks::{cast_address_to_text, cast_network};
use rukh_functions::functions::numbers::rounding::round_half_to_even;
use rukh_functions::functions::texts::to_uuid::TO_UUID;
use rukh_functions::scalars::scalar_from_datum;
use rukh_functions::signatures::overloaded::{INT2_DIGITS, INT4_DIGITS, INT8_DIGITS, column_type};
use rukh_functions::types::{TYPE_KEY, arrow_type, data_type_of, declared_text};
use rukh_keys::DataType;
use rukh_syntax::data_type;
use rukh_syntax::sqlparser::ast;
use rukh_walk::Tree;

use crate::bind::spelling::moment_words::moment_of;

/// Fails with 42846 if an expression of a statement casts as PostgreSQL does not.
///
/// What is stored was checked when it was defined, and is not again: a database opens whatever an earlier version took.
pub(crate) fn check(expr: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    expr.each(&mut |part| {
        match part {
            Expr::Cast(Cast { expr, field }) => checked(expr, field, schema)?,
            // What casts to UUID are spelled as.
            Expr::ScalarFunction(call) if call.func.name() == TO_UUID => {
                let uuid = Field::new("", arrow_type(&DataType::Uuid), true);
                let uuid = uuid.with_metadata([(TYPE_KEY.to_string(), DataType::Uuid.to_string())].into());
                call.args
                    .iter()
                    .try_for_each(|value| checked(value, &uuid, schema))?;
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn checked(value: &Expr, to: &Field, schema: &DFSchema) -> DataFusionResult<()> {
    match value.to_field(schema) {
        Ok((_, from)) => check_cast(&from, to),
        // Parameters have no type yet.
        Err(_) => Ok(()),
    }
}

/// Returns a cast as PostgreSQL has it. Fails as the type's input does on a literal.
pub(crate) fn typed(cast: Cast, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let Cast { expr, field } = cast;
    let to = field.data_type();
    let declared = data_type_of(&field);
    if let DataType::Record(_) = declared.element().unwrap_or(declared) {
        return Ok(Transformed::yes(as_record(&expr, declared)));
    }
    if let Some(text) = literal_text(&expr).filter(|_| is_typed(to) && *to != arrow_type(&DataType::NUMERIC))
    {
        let value = value_of_text(&data_type_of(&field), text)?;
        return Ok(Transformed::yes(Expr::Cast(Cast::new_from_field(
            Box::new(value),
            field,
        ))));
    }
    if *to == arrow_type(&DataType::NUMERIC)
        && let Some(number) = with_its_digits(&expr, schema)?
    {
        return Ok(Transformed::yes(number));
    }
    if let Some(integer) = integer_literal(&expr, to) {
        return Ok(Transformed::yes(integer));
    }
    if changes_nothing(&expr, &field, schema) {
        return Ok(Transformed::yes(*expr));
    }
    if let (ArrowType::List(element), Some(scalar)) = (to, nested_scalar(&expr, schema))
        && !matches!(element.data_type(), ArrowType::List(_))
    {
        // A type of arrays is one for all numbers of dimensions.
        if *element.data_type() != scalar {
            let message = "arrays of more than one dimension cannot be cast to arrays of another type";
            return Err(external(SqlError::unsupported(message)));
        }
        return Ok(Transformed::yes(*expr));
    }
    if let Some(document) = cast_document(&expr, to, schema) {
        if !to.is_numeric() {
            return Ok(Transformed::yes(document));
        }
        let cast = Cast::new_from_field(Box::new(document), field);
        return Ok(Transformed::yes(typed(cast, schema)?.data));
    }
    if let Some(network) = cast_network(&expr, to, schema) {
        return Ok(Transformed::yes(network));
    }
    let own = match to {
        to if is_text(to) => cast_address_to_text(&expr, schema).or_else(|| cast_to_text(&expr, schema)),
        ArrowType::List(of)
            if is_text(of.data_type()) && !is_array_of(&expr, &ArrowType::Boolean, schema) =>
        {
            elements_to_text(&expr, schema).or_else(|| read_text(&expr, to, schema))
        }
        to => read_text(&expr, to, schema)
            .or_else(|| cast_time(&expr, to, schema))
            .or_else(|| cast_number(&expr, to, schema)),
    };
    if let Some(own) = own {
        return Ok(Transformed::yes(own));
    }
    let whole = match to.is_signed_integer() {
        true => rounded(&expr, schema),
        false => None,
    };
    let is_changed = whole.is_some();
    let cast = Cast::new_from_field(whole.map_or(expr, Box::new), field);
    Ok(Transformed::new_transformed(Expr::Cast(cast), is_changed))
}

/// Returns a cast to NUMERIC with as many digits after the point as the number is known to have; `None` where that is not known.
fn with_its_digits(expr: &Expr, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    if let Some(text) = literal_text(expr) {
        let ty = column_type(Kind::Numeric, Some(text)).unwrap_or(DataType::NUMERIC);
        return value_of_text(&ty, text).map(Some);
    }
    let digits = match expr.get_type(schema)? {
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => return Ok(Some(expr.clone())),
        ArrowType::Int8 | ArrowType::Int16 => INT2_DIGITS,
        ArrowType::Int32 => INT4_DIGITS,
        ArrowType::Int64 => INT8_DIGITS,
        _ => return Ok(None),
    };
    Ok(Some(cast(expr.clone(), ArrowType::Decimal128(digits, 0))))
}

/// Returns a whole number of a statement as INTEGER, as which it is cast (`integer_literals`); `None` of all others.
fn integer_literal(expr: &Expr, to: &ArrowType) -> Option<Expr> {
    match (expr, to) {
        (Expr::Literal(ScalarValue::Int64(Some(value)), _), ArrowType::Int32) => {
            let value = i32::try_from(*value).ok()?;
            Some(Expr::Literal(ScalarValue::Int32(Some(value)), None))
        }
        (Expr::Negative(number), ArrowType::Int32) => match number.as_ref() {
            Expr::Literal(ScalarValue::Int64(Some(value)), _) => {
                let value = value.checked_neg().and_then(|value| i32::try_from(value).ok())?;
                Some(Expr::Literal(ScalarValue::Int32(Some(value)), None))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Whether a column is cast to the type that it has.
fn changes_nothing(expr: &Expr, to: &FieldRef, schema: &DFSchema) -> bool {
    matches!(expr, Expr::Column(_))
        && expr.to_field(schema).is_ok_and(|(_, from)| {
            from.data_type() == to.data_type() && data_type_of(&from).unrounded() == data_type_of(to)
        })
}

/// Returns the type of the scalars in an array of more than one dimension; `None` of anything else.
fn nested_scalar(expr: &Expr, schema: &DFSchema) -> Option<ArrowType> {
    let ArrowType::List(of) = expr.get_type(schema).ok()? else {
        return None;
    };
    let mut of = of.data_type().clone();
    let mut is_nested = false;
    while let ArrowType::List(inner) = &of {
        of = inner.data_type().clone();
        is_nested = true;
    }
    is_nested.then_some(of)
}

fn is_array_of(expr: &Expr, element: &ArrowType, schema: &DFSchema) -> bool {
    matches!(expr.get_type(schema), Ok(ArrowType::List(of)) if of.data_type() == element)
}

/// Rounds what is cast to an integer: decimals half away from zero, floats half to even.
fn rounded(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let function = match expr.get_type(schema).ok()? {
        ArrowType::Decimal128(..) | ArrowType::Decimal256(..) => math::round(),
        ArrowType::Float32 | ArrowType::Float64 => round_half_to_even(),
        _ => return None,
    };
    Some(function.call(vec![expr.clone()]))
}

/// Returns the text of a literal that has no other type.
pub(crate) fn literal_text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

/// Reads a text as a value of a type.
pub(crate) fn value_of_text(ty: &DataType, text: &str) -> DataFusionResult<Expr> {
    if let Some(moment) = moment_of(text, ty) {
        return Ok(moment);
    }
    let datum = ty.parse_text(text);
    let datum = datum.map_err(|error| DataFusionError::External(Box::new(SqlError::from(error))))?;
    Ok(Expr::Literal(scalar_from_datum(&datum, ty), None))
}

/// Whether texts beside values of a type are read as such values.
pub(crate) fn is_typed(arrow: &ArrowType) -> bool {
    let is_address = matches!(arrow, ArrowType::FixedSizeBinary(_));
    arrow.is_numeric()
        || arrow.is_binary()
        || is_address
        || *arrow == ArrowType::Boolean
        || is_typed_time(arrow)
}

/// Returns whether values of the type are dates, times or timestamps.
fn is_typed_time(arrow: &ArrowType) -> bool {
    matches!(
        arrow,
        ArrowType::Date32 | ArrowType::Time64(_) | ArrowType::Time32(_) | ArrowType::Timestamp(..)
    )
}

/// Types in casts mean what they mean in CREATE TABLE: timestamps are microseconds, FLOAT is DOUBLE.
#[derive(Debug)]
pub(crate) struct CastTypes;

impl TypePlanner for CastTypes {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        match data_type(sql_type) {
            Ok(ty) => {
                let field = Field::new("", arrow_type(&ty), true);
                let field = match ty.element().unwrap_or(ty) {
                    // Rows do not show which type they are of.
                    DataType::Record(_) => {
                        field.with_metadata([(TYPE_KEY.to_string(), declared_text(&ty))].into())
                    }
                    _ => field,
                };
                Ok(Some(Arc::new(field)))
            }
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
