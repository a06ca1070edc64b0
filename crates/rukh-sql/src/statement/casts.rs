//! Casts and numbers that DataFusion does not have, spelled out.
//!
//! | written                   | becomes                              |
//! |---------------------------|--------------------------------------|
//! | `CAST(x AS VARCHAR(3))`   | `left(CAST(x AS VARCHAR), 3)`        |
//! | `CAST(x AS CHAR(3))`      | `rtrim(left(CAST(x AS VARCHAR), 3))` |
//! | `CAST(x AS UUID)`         | `to_uuid(CAST(x AS VARCHAR))`        |
//! | `UUID 'a0ee…'`            | `to_uuid('a0ee…')`                   |
//! | `1e300`                   | `CAST('1e300' AS DOUBLE)`            |
//! | `INTERVAL '1 day 02:00'`  | an interval in words DataFusion reads |

use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    self, CastKind, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments,
    Ident, TypedString, Value, VisitorMut,
};
use rukh_keys::DataType;

use super::data_type;
use super::number::is_double;
use crate::walk::WalkMut;
use rukh_functions::forms::interval_text::Interval;

/// Spells out the casts of a tree.
pub(super) fn spell_out(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Spell);
}

struct Spell;

impl VisitorMut for Spell {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(spelled) = spelled(expr) {
            *expr = spelled;
        }
        ControlFlow::Continue(())
    }
}

fn spelled(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Interval(interval) if interval.leading_field.is_none() => {
            let words = interval_words(&interval.value)?;
            Some(Expr::Interval(ast::Interval {
                value: Box::new(words),
                ..interval.clone()
            }))
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: ty @ ast::DataType::Interval { .. },
            ..
        } => Some(cast(&interval_words(expr)?, ty.clone())),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: ty,
            ..
        } => {
            let text = || as_text(expr);
            match data_type(ty).ok()? {
                DataType::Varchar(Some(length)) => Some(left(text(), length)),
                DataType::Char(length) => Some(call("rtrim", vec![left(text(), length)])),
                DataType::Uuid => Some(call("to_uuid", vec![text()])),
                _ => None,
            }
        }
        Expr::TypedString(TypedString {
            data_type: ast::DataType::Uuid,
            value,
            ..
        }) => Some(call("to_uuid", vec![Expr::Value(value.clone())])),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if is_double(digits) => {
                let text = Expr::Value(Value::SingleQuotedString(digits.clone()).into());
                Some(cast(&text, ast::DataType::DoublePrecision))
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the literal of an interval in words that DataFusion reads; `None` for what is no such literal.
fn interval_words(literal: &Expr) -> Option<Expr> {
    let Expr::Value(value) = literal else {
        return None;
    };
    let Value::SingleQuotedString(text) = &value.value else {
        return None;
    };
    let words = Interval::read(text)?.words();
    Some(Expr::Value(
        Value::SingleQuotedString(words).with_span(value.span),
    ))
}

fn as_text(expr: &Expr) -> Expr {
    cast(expr, ast::DataType::Varchar(None))
}

fn cast(expr: &Expr, data_type: ast::DataType) -> Expr {
    let expr = Box::new(expr.clone());
    Expr::Cast {
        kind: CastKind::Cast,
        expr,
        data_type,
        array: false,
        format: None,
    }
}

fn left(text: Expr, length: u32) -> Expr {
    call(
        "left",
        vec![text, Expr::Value(Value::Number(length.to_string(), false).into())],
    )
}

/// Makes a call.
pub(crate) fn call(name: &str, arguments: Vec<Expr>) -> Expr {
    let argument = |expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr));
    Expr::Function(Function {
        name: ast::ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: arguments.into_iter().map(argument).collect(),
            clauses: Vec::new(),
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}
