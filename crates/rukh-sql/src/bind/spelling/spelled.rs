//! Calls that are spelled as other calls: `json_agg` and its kin, `age` of one time, `jsonb_extract_path`. Arguments have been put in
//! their places before (`named_arguments`).
//!
//! | written                       | becomes                                                            |
//! |-------------------------------|--------------------------------------------------------------------|
//! | `json_agg(x)`                 | `json_agg_of_text('[' || string_agg(json_element(x), ', ') || ']')` |
//! | `jsonb_object_agg(k, x)`      | `jsonb_object_agg_of_text('{ ' || string_agg(json_member(k, x), ', ') || ' }')` |
//! | `jsonb_extract_path(d, 'a', 'b')` | `d #> ARRAY['a', 'b']`                                         |
//! | `row_to_json(ROW(x, y))`      | `row_to_json(json_row('f1', x, 'f2', y))`                          |
//! | `age(x)`                      | `age(current_date, x)`                                             |
//! | `count(1)`                    | `count(*)`: DataFusion takes both for one column where a query has both |
//! | `string_agg(x, d)`, d a column | `substr(string_agg(coalesce(d, '') || x, ''), length(first d) + 1)` |

use rukh_catalog::Domain;
use rukh_functions::functions::json::make::{AGGREGATES, ELEMENT, MEMBER, ROW};
use rukh_functions::functions::times::ages::AGE;
use rukh_syntax::sqlparser::ast::{
    Array, ArrayElemTypeDef, BinaryOperator, DataType, DuplicateTreatment, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName, Value,
};

use crate::bind::spelling::literal_values::row;
use rukh_syntax::make::{and, binary, call, cast, nested};

/// The function that casts to domains call: see `domain_casts`.
pub(crate) const DOMAIN_VALUE: &str = "domain_value";

/// Returns the value within a cast to a domain, which is of the type of the domain's values, and the domain.
pub(crate) fn domain_call(expr: &Expr) -> Option<(&Expr, Domain)> {
    let Expr::Function(call) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(cast)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(definition))),
        ] if call.name.to_string() == DOMAIN_VALUE => match &definition.value {
            Value::SingleQuotedString(text) => Some((cast, serde_json::from_str(text).ok()?)),
            _ => None,
        },
        _ => None,
    }
}

/// `substr` of what `string_agg` is spelled as, which has its name.
const JOINED: &str = "string_agg_joined";

/// What stands before a row in an array but the first.
const LINE: &str = "\n ";

/// Returns what calls of these functions are spelled as; `None` for all others, and those that stay as they are.
pub(crate) fn spelled(function: &Function) -> Option<Expr> {
    aggregated(function)
        .or_else(|| spelled_age(function))
        .or_else(|| delimited(function))
        .or_else(|| at_path(function))
        .or_else(|| counted(function))
}

/// Counts rows where a constant is counted in each of them.
fn counted(function: &Function) -> Option<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(constant)))] = list.args.as_slice() else {
        return None;
    };
    let is_there = matches!(
        constant.value,
        Value::Number(..) | Value::SingleQuotedString(_) | Value::Boolean(_)
    );
    let is_plain = list.duplicate_treatment.is_none() && list.clauses.is_empty();
    let is_count = function.name.to_string().eq_ignore_ascii_case("count");
    (is_count && is_there && is_plain).then(|| {
        let all = FunctionArg::Unnamed(FunctionArgExpr::Wildcard);
        let args = FunctionArguments::List(FunctionArgumentList {
            args: vec![all],
            ..list.clone()
        });
        Expr::Function(Function {
            args,
            ..function.clone()
        })
    })
}

/// Gives the values of rows that become documents the names that PostgreSQL gives them.
pub(crate) fn name_fields(function: &mut Function) {
    const MAKERS: [&str; 6] = [
        "to_json",
        "to_jsonb",
        "row_to_json",
        "json_agg",
        "jsonb_agg",
        ELEMENT,
    ];
    let name = function.name.0.last().and_then(|part| part.as_ident());
    if !name.is_some_and(|name| MAKERS.iter().any(|maker| name.value.eq_ignore_ascii_case(maker))) {
        return;
    }
    if let FunctionArguments::List(list) = &mut function.args {
        for argument in &mut list.args {
            if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument
                && let Some(named) = named_fields(value)
            {
                *value = named;
            }
        }
    }
}

fn named_fields(value: &Expr) -> Option<Expr> {
    let values = row(value)?;
    let pair = |(at, value): (usize, &Expr)| {
        let value = named_fields(value).unwrap_or_else(|| value.clone());
        [text(&format!("f{}", at + 1)), value]
    };
    Some(call(ROW, values.iter().enumerate().flat_map(pair).collect()))
}

/// Returns the operator that `jsonb_extract_path` or one of its kin is, and the document as its operand.
pub(crate) fn path_operator(function: &str, document: &Expr) -> Option<(BinaryOperator, Expr)> {
    let op = match function {
        "json_extract_path" | "jsonb_extract_path" => BinaryOperator::HashArrow,
        "json_extract_path_text" | "jsonb_extract_path_text" => BinaryOperator::HashLongArrow,
        _ => return None,
    };
    let ty = match function.starts_with("jsonb") {
        true => DataType::JSONB,
        false => DataType::JSON,
    };
    // A literal is a document.
    let document = match document {
        Expr::Value(_) => cast(document.clone(), ty),
        _ => nested(document.clone()),
    };
    Some((op, document))
}

/// Returns what `jsonb_extract_path` and its kin are.
fn at_path(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let mut arguments = list
        .args
        .iter()
        .map(argument)
        .collect::<Option<Vec<Expr>>>()?
        .into_iter();
    let (op, document) = path_operator(&name, &arguments.next()?)?;
    let path = Expr::Array(Array {
        elem: arguments.collect(),
        named: true,
    });
    let of_texts = DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(DataType::Text), None));
    Some(nested(binary(&document, op, &cast(path, of_texts))))
}

/// Returns what `json_agg(x)` is: `json_agg_of_text('[' || string_agg(json_element(x), ', ') || ']')`.
fn aggregated(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let (_, of_text) = AGGREGATES.iter().find(|(aggregate, _)| *aggregate == name)?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    if function.over.is_some() {
        return None;
    }
    let (element, comma, [open, close]) = match (list.args.as_slice(), name.contains("object")) {
        ([FunctionArg::Unnamed(FunctionArgExpr::Expr(value))], false) => {
            // PostgreSQL puts each row on a line, but not the NULL of a row that an outer join made up.
            let comma = if is_row(value) { ", \n " } else { ", " };
            let element = match row_or_none(value) {
                Some(on_a_line) => call("coalesce", vec![on_a_line, text("null")]),
                None => call(ELEMENT, vec![value.clone()]),
            };
            (element, comma, ["[", "]"])
        }
        (
            [
                FunctionArg::Unnamed(FunctionArgExpr::Expr(key)),
                FunctionArg::Unnamed(FunctionArgExpr::Expr(value)),
            ],
            true,
        ) => (call(MEMBER, vec![key.clone(), value.clone()]), ", ", ["{ ", " }"]),
        _ => return None,
    };
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    let is_on_lines = matches!(&element, Expr::Function(call) if call.name.to_string() == "coalesce");
    let joined = Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new("string_agg")]),
        args: FunctionArguments::List(FunctionArgumentList {
            args: vec![argument(element), argument(text(comma))],
            ..list.clone()
        }),
        ..function.clone()
    });
    let joined = match is_on_lines {
        true => call("ltrim", vec![joined, text(LINE)]),
        false => joined,
    };
    let document = beside(beside(text(open), joined), text(close));
    Some(call(of_text, vec![document]))
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
    when.result = beside(text(LINE), call(ELEMENT, vec![when.result.clone()]));
    Some(value)
}

/// Whether a call is of an aggregate that makes a document.
pub(crate) fn is_aggregate(expr: &Expr) -> bool {
    let Expr::Function(function) = expr else {
        return false;
    };
    let name = function.name.0.last().and_then(|part| part.as_ident());
    let is_name = |name: &Ident| {
        AGGREGATES
            .iter()
            .any(|(known, _)| name.value.eq_ignore_ascii_case(known))
    };
    name.is_some_and(is_name)
}

/// Returns the name that what is spelled out here had.
pub(crate) fn written(name: &str) -> &str {
    let aggregate = AGGREGATES.iter().find(|(_, of_text)| *of_text == name);
    match (aggregate, name) {
        (Some((aggregate, _)), _) => aggregate,
        (None, JOINED) => "string_agg",
        (None, other) => other,
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
