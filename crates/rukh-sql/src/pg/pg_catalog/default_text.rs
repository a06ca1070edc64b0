//! Defaults of columns as `pg_get_expr` and `information_schema` show them, which clients read types and sequences from.
//!
//! | stored          | of a column of      | shown                         |
//! |-----------------|---------------------|-------------------------------|
//! | `'x'`           | TEXT, VARCHAR       | `'x'::text`, `'x'::character varying` |
//! | `'{}'`          | JSONB               | `'{}'::jsonb`                 |
//! | `-1`            | INTEGER             | `'-1'::integer`               |
//! | `nextval('s')`  | BIGINT              | `nextval('s'::regclass)`      |
//! | anything else   |                     | as it is stored               |
//!
//! The rules for constants are those of `get_const_expr` in PostgreSQL's `ruleutils.c`.

use rukh_catalog::{Catalog, Column};
use rukh_keys::DataType;
use rukh_syntax::quoted_string;
use rukh_syntax::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, UnaryOperator, Value,
};

use super::types;
use crate::bind::spelling::parsing::parse_expression;

/// Returns the default of a column; `None` if it has none, or takes numbers of an identity.
pub(crate) fn default_text(catalog: &Catalog, column: &Column) -> Option<String> {
    let sql = column
        .default
        .as_ref()
        .filter(|_| column.values.identity.is_none())?;
    Some(shown_default(
        catalog,
        sql,
        (&column.ty, types::column_oid(column)),
    ))
}

/// Returns a default of values of a type.
pub(super) fn default_of_type(catalog: &Catalog, sql: &str, ty: &DataType) -> String {
    shown_default(catalog, sql, (ty, types::oid_of(ty)))
}

/// `of` is the type, and the number under which clients know it.
fn shown_default(catalog: &Catalog, sql: &str, of: (&DataType, i64)) -> String {
    let expr = parse_expression(sql).ok();
    let shown = expr.and_then(|expr| shown(catalog, &expr, of));
    shown.unwrap_or_else(|| sql.to_string())
}

/// Returns the text of an expression that PostgreSQL writes otherwise than it is stored.
fn shown(catalog: &Catalog, expr: &Expr, of: (&DataType, i64)) -> Option<String> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => constant(catalog, text, of),
            _ => None,
        },
        Expr::TypedString(typed) => match &typed.value.value {
            Value::SingleQuotedString(text) => constant(catalog, text, of),
            _ => None,
        },
        Expr::Cast { expr: inner, .. } => match inner.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => constant(catalog, text, of),
                _ => None,
            },
            _ => None,
        },
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: inner,
        } => {
            let Expr::Value(value) = inner.as_ref() else {
                return None;
            };
            let Value::Number(digits, _) = &value.value else {
                return None;
            };
            let name = match digits.parse::<i32>() {
                Ok(_) => "integer",
                Err(_) if digits.parse::<i64>().is_ok() => "bigint",
                Err(_) => "numeric",
            };
            Some(format!("'-{digits}'::{name}"))
        }
        Expr::Function(call) if call.name.to_string() == "nextval" => {
            let FunctionArguments::List(list) = &call.args else {
                return None;
            };
            let [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name)))] = list.args.as_slice()
            else {
                return None;
            };
            Some(format!("nextval({name}::regclass)"))
        }
        _ => None,
    }
}

/// Returns a text as the constant of a type that it is read as.
fn constant(catalog: &Catalog, text: &str, (ty, oid): (&DataType, i64)) -> Option<String> {
    let text = ty.format_text(&ty.parse_text(text).ok()?);
    let is_bare = match ty {
        DataType::Boolean => return Some(if text == "t" { "true" } else { "false" }.to_string()),
        DataType::Integer => !text.starts_with('-'),
        DataType::Decimal { .. } | DataType::Numeric { .. } => {
            text.starts_with(|first: char| first.is_ascii_digit()) && !text.contains(['e', 'E'])
        }
        _ => false,
    };
    if is_bare {
        return Some(text);
    }
    let of = match ty {
        DataType::Char(_) => "bpchar".to_string(),
        _ => types::name_in(catalog, oid, None)?,
    };
    Some(format!("{}::{of}", quoted_string(&text)))
}
