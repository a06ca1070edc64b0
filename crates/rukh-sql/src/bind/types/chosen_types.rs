//! Types that Arrow does not have, of expressions that choose one of several values: UUIDs, CHAR(n), VARCHAR(n).

use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};
use rukh_functions::types::{are_uuids, data_type_of};
use rukh_keys::DataType;

use crate::bind::types::typed_casts::literal_text;

/// Functions that return elements of their arguments' arrays, or arrays of them.
const OF_ARRAYS: [&str; 9] = [
    "array_append",
    "array_concat",
    "array_element",
    "array_prepend",
    "array_remove",
    "array_remove_all",
    "array_replace_all",
    "array_slice",
    "array_resize",
];

fn is_uuid(expr: &Expr, schema: &DFSchema) -> bool {
    let field = expr.to_field(schema);
    field.is_ok_and(|(_, field)| data_type_of(&field) == DataType::Uuid)
}

fn are_of_uuids(expr: &Expr, schema: &DFSchema) -> bool {
    expr.to_field(schema).is_ok_and(|(_, field)| are_uuids(&field))
}

/// Returns the type of what an expression chooses one of, where Arrow does not have it: UUIDs, CHAR(n) and VARCHAR(n) of one
/// length; texts where only some are such CHARs. A literal beside UUIDs is one, and a text beside CHARs.
pub(crate) fn chosen_type(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let is_null = |value: &&Expr| matches!(value, Expr::Literal(value, _) if value.is_null());
    let values: Vec<&Expr> = match expr {
        Expr::Case(case) => {
            let thens = case.when_then_expr.iter().map(|(_, then)| then);
            thens.chain(&case.else_expr).map(AsRef::as_ref).collect()
        }
        Expr::ScalarFunction(call) => match (call.func.name(), call.args.as_slice()) {
            // A literal beside UUIDs is one.
            ("make_array", values) => {
                let is_literal = |value: &&Expr| matches!(value, Expr::Literal(..));
                let (literals, values): (Vec<&Expr>, Vec<&Expr>) = values.iter().partition(is_literal);
                let are_uuids = values.iter().all(|value| is_uuid(value, schema));
                let are_texts = literals
                    .iter()
                    .all(|value| literal_text(value).is_some() || is_null(value));
                return (are_uuids && are_texts && !values.is_empty()).then_some(DataType::Uuid);
            }
            (name, arguments) if OF_ARRAYS.contains(&name) => {
                let mut arguments = arguments.iter();
                return arguments
                    .any(|argument| are_of_uuids(argument, schema))
                    .then_some(DataType::Uuid);
            }
            ("nullif", [value, _]) => vec![value],
            ("coalesce" | "greatest" | "least", values) => values.iter().collect(),
            _ => return None,
        },
        _ => return None,
    };
    let values = values.into_iter().filter(|value| !is_null(value));
    let types: Vec<(DataType, bool)> = values
        .map(|value| {
            let (_, field) = value.to_field(schema).ok()?;
            Some((data_type_of(&field), matches!(value, Expr::Literal(..))))
        })
        .collect::<Option<_>>()?;
    let is_value = |(_, is_literal): &&(DataType, bool)| !is_literal;
    let of_values = || types.iter().filter(is_value).map(|(ty, _)| ty);
    let first = of_values().next()?;
    if of_values().all(|ty| *ty == DataType::Uuid) {
        return Some(DataType::Uuid);
    }
    let is_char = |ty: &DataType| matches!(ty, DataType::Char(_));
    match types.iter().all(|(ty, _)| ty == first) {
        true => matches!(first, DataType::Char(_) | DataType::Varchar(Some(_))).then_some(*first),
        false => of_values().any(is_char).then_some(DataType::Varchar(None)),
    }
}
