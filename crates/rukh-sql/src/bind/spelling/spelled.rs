//! Calls that are spelled as other calls: `json_agg`, JSON within JSON, `age` of one time.
//!
//! | written                       | becomes                                                            |
//! |-------------------------------|--------------------------------------------------------------------|
//! | `json_agg(x)`                 | `json_raw('[' || string_agg(json_element(x), ', ') || ']')`        |
//! | `to_json((SELECT to_json(x)))`| `to_json(json_raw((SELECT to_json(x))))`                           |
//! | `age(x)`                      | `age(current_date, x)`                                             |
//! | `string_agg(x, d)`, d a column | `substr(string_agg(coalesce(d, '') || x, ''), length(first d) + 1)` |

use rukh_functions::functions::texts::json::{ELEMENT, OF_JSON, RAW, ROW};
use rukh_functions::functions::times::ages::AGE;
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, DuplicateTreatment, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList,
    FunctionArguments, Ident, ObjectName, SelectItem, SetExpr, Value,
};

use rukh_syntax::make::{and, call, nested};

/// The aggregate that is spelled out.
const AGGREGATE: &str = "json_agg";

/// `substr` of what `string_agg` is spelled as, which has its name.
const JOINED: &str = "string_agg_joined";

/// What stands before a row in an array but the first.
const LINE: &str = "\n ";

/// Returns what calls of these functions are spelled as; `None` for all others, and those that stay as they are.
pub(crate) fn spelled(function: &Function) -> Option<Expr> {
    aggregated(function)
        .or_else(|| with_raw_arguments(function))
        .or_else(|| spelled_age(function))
        .or_else(|| delimited(function))
}

/// Has arguments be taken for JSON that are, and whose column does not say so: what a subquery gives, or `coalesce`.
fn with_raw_arguments(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    if name != ELEMENT && !OF_JSON.contains(&name.as_str()) {
        return None;
    }
    let mut function = function.clone();
    let FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    let mut changed = false;
    for argument in &mut list.args {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) = argument
            && !matches!(expr, Expr::Function(inner) if inner.name.to_string() == RAW)
            && is_json(expr)
            && name != RAW
        {
            *expr = call(RAW, vec![expr.clone()]);
            changed = true;
        }
    }
    changed.then_some(Expr::Function(function))
}

/// Whether an expression, as it is written, gives JSON.
fn is_json(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_json(inner),
        Expr::Subquery(query) => match query.body.as_ref() {
            SetExpr::Select(select) => match select.projection.as_slice() {
                [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] => {
                    is_json(item)
                }
                _ => false,
            },
            _ => false,
        },
        Expr::Function(function) => {
            let name = function.name.to_string().to_ascii_lowercase();
            let any = || {
                match &function.args {
                FunctionArguments::List(list) => list.args.iter().any(|argument| {
                    matches!(argument, FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) if is_json(expr))
                }),
                _ => false,
            }
            };
            OF_JSON.contains(&name.as_str()) || (name == "coalesce" && any())
        }
        Expr::Case { conditions, .. } => conditions.iter().any(|when| is_json(&when.result)),
        _ => false,
    }
}

/// Returns what `json_agg(x)` is: `json_raw('[' || string_agg(json_element(x), ', ') || ']')`.
fn aggregated(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    if !name.value.eq_ignore_ascii_case(AGGREGATE) || function.over.is_some() {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(value))] = list.args.as_slice() else {
        return None;
    };
    // PostgreSQL puts each row on a line, but not the NULL of a row that an outer join made up.
    let may_be_none = row_or_none(value);
    let comma = if is_row(value) { ", \n " } else { ", " };
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let element = call(
        ELEMENT,
        vec![may_be_none.clone().unwrap_or_else(|| value.clone())],
    );
    let joined = Function {
        name: ObjectName::from(vec![Ident::new("string_agg")]),
        args: FunctionArguments::List(FunctionArgumentList {
            args: vec![argument(element), argument(text(comma))],
            ..list.clone()
        }),
        ..function.clone()
    };
    let joined = match may_be_none {
        Some(_) => call("ltrim", vec![Expr::Function(joined), text(LINE)]),
        None => Expr::Function(joined),
    };
    let array = beside(beside(text("["), joined), text("]"));
    Some(call(RAW, vec![array]))
}

/// Returns `string_agg` with a delimiter that is no constant: each value brings its own along, and that of the first is cut off.
fn delimited(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    if !name.value.eq_ignore_ascii_case("string_agg") || function.over.is_some() {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
        FunctionArg::Unnamed(FunctionArgExpr::Expr(delimiter)),
    ] = list.args.as_slice()
    else {
        return None;
    };
    let is_constant = match delimiter {
        Expr::Cast { expr, .. } => matches!(expr.as_ref(), Expr::Value(_)),
        other => matches!(other, Expr::Value(_)),
    };
    if is_constant || list.duplicate_treatment == Some(DuplicateTreatment::Distinct) {
        return None;
    }
    let delimiter = call("coalesce", vec![delimiter.clone(), text("")]);
    let aggregate = |name: &str, args: Vec<Expr>, filter: Option<Box<Expr>>| {
        let args = args
            .into_iter()
            .map(|expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)));
        Expr::Function(Function {
            name: ObjectName::from(vec![Ident::new(name)]),
            args: FunctionArguments::List(FunctionArgumentList {
                args: args.collect(),
                ..list.clone()
            }),
            filter,
            ..function.clone()
        })
    };
    let is_there = Expr::IsNotNull(Box::new(nested(value.clone())));
    let counted = match &function.filter {
        Some(filter) => and(nested(filter.as_ref().clone()), is_there),
        None => is_there,
    };
    let first = aggregate("first_value", vec![delimiter.clone()], Some(Box::new(counted)));
    let whole = aggregate(
        "string_agg",
        vec![beside(delimiter, nested(value.clone())), text("")],
        function.filter.clone(),
    );
    let one = Expr::Value(Value::Number("1".to_string(), false).into());
    let start = Expr::BinaryOp {
        left: Box::new(call("length", vec![first])),
        op: BinaryOperator::Plus,
        right: Box::new(one),
    };
    Some(call(JOINED, vec![whole, start]))
}

fn text(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}

fn beside(left: Expr, right: Expr) -> Expr {
    Expr::BinaryOp {
        left: Box::new(left),
        op: BinaryOperator::StringConcat,
        right: Box::new(right),
    }
}

/// Whether a value is a row of a relation.
fn is_row(value: &Expr) -> bool {
    matches!(value, Expr::Function(row) if row.name.to_string() == ROW)
}

/// Puts a row that may be none on a line, if it is one; `None` for all other values.
fn row_or_none(value: &Expr) -> Option<Expr> {
    let mut value = value.clone();
    let Expr::Case { conditions, .. } = &mut value else {
        return None;
    };
    let [when] = conditions.as_mut_slice() else {
        return None;
    };
    if !is_row(&when.result) {
        return None;
    }
    when.result = beside(text(LINE), when.result.clone());
    Some(call(RAW, vec![value]))
}

/// Whether a call is of the aggregate that makes an array.
pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident());
    name.is_some_and(|name| name.value.eq_ignore_ascii_case(AGGREGATE))
}

/// Returns the name that what is spelled out here had.
pub(crate) fn written(name: &str) -> &str {
    match name {
        RAW => AGGREGATE,
        JOINED => "string_agg",
        other => other,
    }
}

/// Returns `age(current_date, x)` of `age(x)`.
fn spelled_age(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(time))] if name.value.eq_ignore_ascii_case(AGE) => {
            let today = call("current_date", Vec::new());
            Some(call(AGE, vec![today, time.clone()]))
        }
        _ => None,
    }
}
