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

use rukh_keys::{DataType, Interval};
use rukh_syntax::sqlparser::ast::{self, CastKind, Expr, TypedString, Value, VisitorMut};

use rukh_syntax::make::call;
use rukh_syntax::{WalkMut, data_type, is_double};

/// Spells out the casts of a tree.
pub(crate) fn spell_out(node: &mut (impl WalkMut + ?Sized)) {
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

#[cfg(test)]
mod tests {
    use crate::parsing::parse;
    use rukh_syntax::Statement;

    #[test]
    fn casts_and_numbers_are_spelled_out() {
        let cases = [
            ("1e3, 1e300", "1000.0, CAST('1e300' AS DOUBLE PRECISION)"),
            (
                "a::varchar(3), CAST(b AS CHAR(2))",
                "left(CAST(a AS VARCHAR), 3), rtrim(left(CAST(b AS VARCHAR), 2))",
            ),
            (
                "UUID 'x', c::uuid, d::int",
                "to_uuid('x'), to_uuid(CAST(c AS VARCHAR)), d::INT",
            ),
        ];
        for (written, expected) in cases {
            let statement = parse(&format!("SELECT {written} FROM t")).expect("a statement");
            let Statement::Query(query) = statement else {
                panic!("{written} is no query");
            };
            assert_eq!(query.to_string(), format!("SELECT {expected} FROM t"));
        }
    }
}
