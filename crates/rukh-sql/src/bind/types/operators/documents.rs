//! Operators of JSON and JSONB, which functions compute.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::planner::{RawBinaryExpr, RawFieldAccessExpr};
use datafusion::logical_expr::{Expr, GetFieldAccess, Operator, cast, lit};
use rukh_functions::casts::table::Kind;
use rukh_functions::functions::json::path::{EXISTS_OPERATOR, MATCH_OPERATOR};
use rukh_functions::functions::{by_row, json};
use rukh_syntax::sqlparser::ast::BinaryOperator;

use crate::bind::types::bound_operators::operand;

/// Returns the call that an operator of documents is; `None` of all others. Literals have been read as what the operator takes.
pub(crate) fn planned(expr: &RawBinaryExpr, schema: &DFSchema) -> Option<Expr> {
    let left = operand(&expr.left, schema)??;
    // A literal that no operator made anything else of is a text.
    let right = operand(&expr.right, schema)?.unwrap_or(Kind::Text);
    let function = match (left, right) {
        (Kind::Json, right) => read(&expr.op, "json", right)?,
        (Kind::Jsonb, Kind::Jsonb) => match expr.op {
            BinaryOperator::AtArrow => "jsonb_contains",
            BinaryOperator::ArrowAt => "jsonb_contained",
            BinaryOperator::StringConcat => "jsonb_concat",
            _ => return None,
        }
        .to_string(),
        (Kind::Jsonb, right) => match (&expr.op, right) {
            (BinaryOperator::Minus, _) => "jsonb_delete".to_string(),
            (BinaryOperator::HashMinus, Kind::Array(_)) => "jsonb_delete_path".to_string(),
            (BinaryOperator::Question, right) if right.is_text() => "jsonb_exists".to_string(),
            (BinaryOperator::QuestionPipe, Kind::Array(_)) => "jsonb_exists_any".to_string(),
            (BinaryOperator::QuestionAnd, Kind::Array(_)) => "jsonb_exists_all".to_string(),
            (BinaryOperator::AtQuestion, right) if right.is_text() => EXISTS_OPERATOR.to_string(),
            (BinaryOperator::AtAt, right) if right.is_text() => MATCH_OPERATOR.to_string(),
            (op, right) => read(op, "jsonb", right)?,
        },
        _ => return None,
    };
    let mut functions = json::access::functions().chain(json::path::functions());
    let found = functions.find(|known| known.name() == function);
    let function = found.or_else(|| by_row::function(&function))?;
    let right = match right {
        Kind::SmallInt | Kind::Integer => cast(expr.right.clone(), ArrowType::Int32),
        _ => expr.right.clone(),
    };
    Some(function.call(vec![expr.left.clone(), right]))
}

/// Returns what `d['a']` and `d[1]` are of a JSONB: `d #> ARRAY['a']`.
pub(crate) fn subscript(access: &RawFieldAccessExpr, schema: &DFSchema) -> Option<Expr> {
    if operand(&access.expr, schema)?? != Kind::Jsonb {
        return None;
    }
    let step = match &access.field_access {
        GetFieldAccess::NamedStructField { name } => Expr::Literal(name.clone(), None),
        GetFieldAccess::ListIndex { key } => key.as_ref().clone(),
        GetFieldAccess::ListRange { .. } => return None,
    };
    let path = make_array(vec![cast(step, ArrowType::Utf8)]);
    let mut functions = json::access::functions();
    let at_path = functions.find(|function| function.name() == "jsonb_extract_path")?;
    Some(at_path.call(vec![access.expr.clone(), path]))
}

/// Returns a call of a function that reads a member of a document by its name.
pub(crate) fn member(function: &str, document: &Expr, name: &str) -> Option<Expr> {
    let mut functions = json::access::functions();
    let function = functions.find(|known| known.name() == function)?;
    Some(function.call(vec![document.clone(), lit(name)]))
}

/// Returns the operator that a function computes.
pub(crate) fn operator_of(function: &str) -> Option<Operator> {
    Some(match function {
        "jsonb_contains" => Operator::AtArrow,
        "jsonb_contained" => Operator::ArrowAt,
        "jsonb_exists" => Operator::Question,
        "jsonb_exists_any" => Operator::QuestionPipe,
        "jsonb_exists_all" => Operator::QuestionAnd,
        "textregexeq" => Operator::RegexMatch,
        "textregexne" => Operator::RegexNotMatch,
        "texticregexeq" => Operator::RegexIMatch,
        "texticregexne" => Operator::RegexNotIMatch,
        EXISTS_OPERATOR => Operator::AtQuestion,
        MATCH_OPERATOR => Operator::AtAt,
        "jsonb_concat" => Operator::StringConcat,
        "jsonb_delete" => Operator::Minus,
        "jsonb_delete_path" => Operator::HashMinus,
        _ => {
            let access = function
                .strip_prefix("jsonb_")
                .or_else(|| function.strip_prefix("json_"))?;
            match access {
                "object_field" | "array_element" => Operator::Arrow,
                "object_field_text" | "array_element_text" => Operator::LongArrow,
                "extract_path" => Operator::HashArrow,
                "extract_path_text" => Operator::HashLongArrow,
                _ => return None,
            }
        }
    })
}

/// Returns the name of the function of `->`, `->>`, `#>` or `#>>`.
fn read(op: &BinaryOperator, prefix: &str, by: Kind) -> Option<String> {
    let is_integer = matches!(by, Kind::SmallInt | Kind::Integer);
    let (is_path, ending) = match op {
        BinaryOperator::Arrow => (false, ""),
        BinaryOperator::LongArrow => (false, "_text"),
        BinaryOperator::HashArrow => (true, ""),
        BinaryOperator::HashLongArrow => (true, "_text"),
        _ => return None,
    };
    let name = match by {
        Kind::Array(_) if is_path => "extract_path",
        by if by.is_text() && !is_path => "object_field",
        _ if is_integer && !is_path => "array_element",
        _ => return None,
    };
    Some(format!("{prefix}_{name}{ending}"))
}
