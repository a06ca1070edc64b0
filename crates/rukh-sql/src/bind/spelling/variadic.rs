//! Calls that give an array for the arguments of a function that takes any number of them. A function whose arguments are known only when
//! the array is has a twin that takes the array.
//!
//! | written                                  | becomes                                              |
//! |------------------------------------------|------------------------------------------------------|
//! | `concat(VARIADIC a)`                     | `array_to_string(a, '')`                             |
//! | `concat_ws(s, VARIADIC a)`               | `array_to_string(a, s)`                              |
//! | `json_build_array(VARIADIC a)` and kin   | `json_build_array_of(a)`                             |
//! | `jsonb_extract_path(d, VARIADIC a)`      | `jsonb_extract_path(d, …)` is `d #> a`               |
//! | `num_nulls(VARIADIC a)`                  | `cardinality(a) - cardinality(array_remove(a, NULL))` |
//! | `format(f, VARIADIC ARRAY[x, y])`        | `format(f, x, y)`                                    |
//!
//! `VARIADIC a` is an argument of the name [`variadic`] to sqlparser.

use rukh_error::SqlError;
use rukh_functions::functions::json::make::OF_ELEMENTS;
use rukh_syntax::make::{binary, call, nested};
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Select,
    SelectItem, Value,
};
use rukh_syntax::{folded, variadic};

use crate::bind::names::outputs::output_names::name_of;
use crate::bind::spelling::spelled::path_operator;

/// Returns the array that an argument says to be the arguments.
fn array_of(argument: &FunctionArg) -> Option<&Expr> {
    let (name, value) = match argument {
        FunctionArg::Named {
            name,
            arg: FunctionArgExpr::Expr(value),
            ..
        }
        | FunctionArg::ExprNamed {
            name: Expr::Identifier(name),
            arg: FunctionArgExpr::Expr(value),
            ..
        } => (name, value),
        _ => return None,
    };
    (name.value == variadic()).then_some(value)
}

/// Gives columns that are such calls their names, before the calls become others.
pub(crate) fn name_columns(select: &mut Select) {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) = item
            && let Expr::Function(function) = &*expr
            && let FunctionArguments::List(list) = &function.args
            && list.args.last().is_some_and(|last| array_of(last).is_some())
            && let Some(name) = name_of(expr)
        {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', name),
            };
        }
    }
}

/// Returns what a call with VARIADIC is spelled as; `None` of any other call.
///
/// # Errors
/// 42601 where VARIADIC is not the last argument, 42883 of functions that take a certain number of arguments, 0A000 of `format` with an
/// array whose length is not written.
pub(crate) fn spelled(function: &Function) -> Result<Option<Expr>, SqlError> {
    let FunctionArguments::List(list) = &function.args else {
        return Ok(None);
    };
    let Some((last, before)) = list.args.split_last() else {
        return Ok(None);
    };
    if before.iter().any(|argument| array_of(argument).is_some()) {
        return Err(SqlError::syntax("VARIADIC argument must be the last argument"));
    }
    let Some(array) = array_of(last) else {
        return Ok(None);
    };
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let name = name.map(folded).unwrap_or_default();
    let expressions = before.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let before: Option<Vec<Expr>> = expressions.collect();
    let array = array.clone();
    let of_elements = OF_ELEMENTS.iter().find(|(of, _)| *of == name);
    let becomes = match (name.as_str(), before.as_deref(), of_elements) {
        (_, Some([]), Some((_, of_elements))) => call(of_elements, vec![array]),
        ("concat", Some([]), _) => call("array_to_string", vec![array, text("")]),
        ("concat_ws", Some([between]), _) => call("array_to_string", vec![array, between.clone()]),
        ("num_nulls", Some([]), _) => {
            let all = call("cardinality", vec![array.clone()]);
            nested(binary(&all, BinaryOperator::Minus, &not_null(array)))
        }
        ("num_nonnulls", Some([]), _) => not_null(array),
        ("format", Some([_]), _) => {
            let Expr::Array(elements) = without_cast(&array) else {
                let message =
                    "format(…, VARIADIC array) is supported where the elements are written: ARRAY[…]";
                return Err(SqlError::unsupported(message));
            };
            let arguments = before.into_iter().flatten().chain(elements.elem.clone());
            call("format", arguments.collect())
        }
        (name, Some([document]), _) if let Some((operator, document)) = path_operator(name, document) => {
            nested(binary(&document, operator, &array))
        }
        (name, ..) => {
            let message = format!("function {name} does not exist");
            let hint = "It takes no VARIADIC argument.";
            return Err(SqlError::statement("42883", message).with_hint(hint));
        }
    };
    Ok(Some(becomes))
}

fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}

fn not_null(array: Expr) -> Expr {
    let rest = call("array_remove", vec![array, Expr::Value(Value::Null.into())]);
    call("cardinality", vec![rest])
}

fn without_cast(expr: &Expr) -> &Expr {
    match expr {
        Expr::Cast { expr, .. } => without_cast(expr),
        Expr::Nested(expr) => without_cast(expr),
        other => other,
    }
}
