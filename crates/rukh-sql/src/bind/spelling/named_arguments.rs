//! Arguments by their names, and those that are left out: DataFusion's functions know them by their place only.
//!
//! | written                                       | becomes                                          |
//! |-----------------------------------------------|--------------------------------------------------|
//! | `make_interval(days => 3)`                    | `make_interval(0, 0, 0, 3, 0, 0, 0.0)`           |
//! | `jsonb_path_exists(d, '$.a', silent => true)` | `jsonb_path_exists(d, '$.a', CAST('{}' AS JSONB), true)` |
//! | `make_date(month => 2, year => 2024, day => 1)` | `make_date(2024, 2, 1)`                        |

use std::collections::HashMap;
use std::sync::LazyLock;

use rukh_syntax::folded;
use rukh_syntax::make::cast;
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Value,
};

/// PostgreSQL's functions whose arguments have names, those of each in one order whatever their types are: each argument with what it is
/// where a call does not give it.
const FUNCTIONS: &str = "\
make_interval: years 0, months 0, weeks 0, days 0, hours 0, mins 0, secs 0.0
make_date: year, month, day
make_time: hour, min, sec
make_timestamp: year, month, mday, hour, min, sec
make_timestamptz: year, month, mday, hour, min, sec, timezone
jsonb_set: jsonb_in, path, replacement, create_if_missing true
jsonb_set_lax: jsonb_in, path, replacement, create_if_missing true, null_value_treatment 'use_json_null'
jsonb_insert: jsonb_in, path, replacement, insert_after false
parse_ident: str, strict true
jsonb_path_exists: target, path, vars {}, silent false
jsonb_path_exists_tz: target, path, vars {}, silent false
jsonb_path_match: target, path, vars {}, silent false
jsonb_path_match_tz: target, path, vars {}, silent false
jsonb_path_query: target, path, vars {}, silent false
jsonb_path_query_array: target, path, vars {}, silent false
jsonb_path_query_array_tz: target, path, vars {}, silent false
jsonb_path_query_first: target, path, vars {}, silent false
jsonb_path_query_first_tz: target, path, vars {}, silent false
";

/// The arguments of a function, in their order.
type Parameters = Vec<(&'static str, Option<Expr>)>;

/// [`FUNCTIONS`] by their names.
static PARAMETERS: LazyLock<HashMap<&'static str, Parameters>> = LazyLock::new(|| {
    let functions = FUNCTIONS.lines().filter_map(|line| line.split_once(": "));
    functions
        .map(|(name, parameters)| (name, parameters.split(", ").map(parameter).collect()))
        .collect()
});

fn parameter(text: &'static str) -> (&'static str, Option<Expr>) {
    match text.split_once(' ') {
        None => (text, None),
        Some((name, usual)) => (name, Some(value(usual))),
    }
}

/// Returns the literal of a text.
fn value(text: &str) -> Expr {
    let string = |text: &str| Value::SingleQuotedString(text.to_string());
    let value = match text {
        "{}" => return cast(Expr::Value(string("{}").into()), DataType::JSONB),
        "true" | "false" => Value::Boolean(text == "true"),
        text if text.starts_with('\'') => string(text.trim_matches('\'')),
        digits => Value::Number(digits.to_string(), false),
    };
    Expr::Value(value.into())
}

/// Puts the arguments of a call in their places.
pub(crate) fn put_in_place(function: &mut Function) {
    let Some(name) = function
        .name
        .0
        .last()
        .and_then(|part| part.as_ident())
        .map(folded)
    else {
        return;
    };
    if let FunctionArguments::List(list) = &mut function.args
        && let Some(placed) = placed(&name, &list.args)
    {
        list.args = placed
            .into_iter()
            .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)))
            .collect();
    }
}

/// Returns the arguments of a call in their places; `None` where they are already, and where no function takes them.
pub(crate) fn placed(function: &str, arguments: &[FunctionArg]) -> Option<Vec<Expr>> {
    let parameters = PARAMETERS.get(function)?;
    // What is left out is always put in, so that a function has one signature.
    let has_usual = parameters.iter().any(|(_, usual)| usual.is_some());
    let is_named = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => assigned(expr).is_some(),
        FunctionArg::Unnamed(_) => false,
        _ => true,
    };
    if !(has_usual || arguments.iter().any(is_named)) {
        return None;
    }
    let names: Vec<Option<&str>> = parameters.iter().map(|(name, _)| Some(*name)).collect();
    let mut given = by_place(&names, arguments)?;
    // Arguments behind the last one may be left out.
    if !has_usual {
        let last = given.iter().rposition(Option::is_some);
        given.truncate(last.map_or(0, |last| last + 1));
    }
    let pairs = given.into_iter().zip(parameters);
    pairs
        .map(|(given, (_, usual))| given.or_else(|| usual.clone()))
        .collect()
}

/// Returns the arguments of a call by the places of its parameters, which may have names; `None` where a call with these arguments is
/// none of a function that has these parameters.
pub(crate) fn by_place(parameters: &[Option<&str>], arguments: &[FunctionArg]) -> Option<Vec<Option<Expr>>> {
    let mut given: Vec<Option<Expr>> = vec![None; parameters.len()];
    let place = |name: &Ident| {
        let name = folded(name);
        parameters.iter().position(|parameter| *parameter == Some(&name))
    };
    let mut names = false;
    for (at, argument) in arguments.iter().enumerate() {
        let (name, value) = match argument {
            // `name := value` is read as an expression.
            FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => match assigned(expr) {
                Some((name, value)) => (Some(name), value),
                None => (None, expr),
            },
            FunctionArg::Named {
                name,
                arg: FunctionArgExpr::Expr(value),
                ..
            }
            | FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg: FunctionArgExpr::Expr(value),
                ..
            } => (Some(name), value),
            _ => return None,
        };
        names |= name.is_some();
        let at = match name {
            Some(name) => place(name)?,
            // Behind a name all have names.
            None if names => return None,
            None => at,
        };
        if given.get_mut(at)?.replace(value.clone()).is_some() {
            return None;
        }
    }
    Some(given)
}

/// Returns the name and the value of `name := value`.
fn assigned(argument: &Expr) -> Option<(&Ident, &Expr)> {
    match argument {
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Assignment,
            right,
        } => match left.as_ref() {
            Expr::Identifier(name) => Some((name, right)),
            _ => None,
        },
        _ => None,
    }
}
