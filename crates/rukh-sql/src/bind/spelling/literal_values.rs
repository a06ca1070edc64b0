//! Values of literals, parameters and rows, read without a plan.

use std::borrow::Cow;

use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_functions::scalars::scalar_from_datum;
use rukh_keys::{DataType, Datum, NUMERIC_HALF};
use rukh_syntax::folded;
use rukh_syntax::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

/// Returns the value of a literal or parameter, or `None` for any other expression.
pub(crate) fn literal(expr: &Expr, params: &[ScalarValue]) -> Result<Option<ScalarValue>, SqlError> {
    Ok(match expr {
        Expr::Nested(inner) => literal(inner, params)?,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => number(&format!("-{digits}")),
                _ => None,
            },
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => number(digits),
            Value::SingleQuotedString(text) => Some(ScalarValue::Utf8(Some(text.clone()))),
            Value::Boolean(value) => Some(ScalarValue::Boolean(Some(*value))),
            Value::Null => Some(ScalarValue::Null),
            Value::Placeholder(name) => Some(parameter(name, params)?),
            _ => None,
        },
        _ => None,
    })
}

/// Reads an integer or decimal literal; one that is neither goes the long way.
fn number(digits: &str) -> Option<ScalarValue> {
    if let Ok(value) = digits.parse::<i64>() {
        return Some(ScalarValue::Int64(Some(value)));
    }
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let half = usize::from(NUMERIC_HALF);
    if digits.bytes().filter(u8::is_ascii_digit).count() > half {
        let is_exact = scale <= half && !digits.contains(['e', 'E']);
        let datum = DataType::NUMERIC.parse_text(digits).ok().filter(|_| is_exact)?;
        return Some(scalar_from_datum(&datum, &DataType::NUMERIC));
    }
    let ty = DataType::Decimal {
        precision: 38,
        scale: u8::try_from(scale).ok().filter(|s| *s <= 38)?,
    };
    match ty.parse_text(digits).ok()? {
        Datum::Decimal(value) => Some(ScalarValue::Decimal128(Some(value), 38, scale as i8)),
        _ => None,
    }
}

fn parameter(name: &str, params: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let number = name
        .strip_prefix('$')
        .and_then(|digits| digits.parse::<usize>().ok());
    let value = number.and_then(|n| n.checked_sub(1)).and_then(|n| params.get(n));
    value
        .cloned()
        .ok_or_else(|| SqlError::statement("42P02", format!("there is no parameter {name}")))
}

/// Returns the elements of `(a, b)` or `ROW(a, b)`; a parenthesised scalar is no row.
pub(crate) fn row(expr: &Expr) -> Option<Cow<'_, [Expr]>> {
    match expr {
        Expr::Tuple(elements) => Some(Cow::Borrowed(elements)),
        Expr::Nested(inner) => row(inner),
        Expr::Function(call) => row_values(call).map(Cow::Owned),
        _ => None,
    }
}

/// Returns the values of `ROW(…)`; `None` of other calls, and of rows of whole tables.
fn row_values(call: &Function) -> Option<Vec<Expr>> {
    let is_row =
        matches!(call.name.0.as_slice(), [part] if part.as_ident().is_some_and(|name| folded(name) == "row"));
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let value = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    match is_row && !list.args.is_empty() {
        true => list.args.iter().map(value).collect(),
        false => None,
    }
}
