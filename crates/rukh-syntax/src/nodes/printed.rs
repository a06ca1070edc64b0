//! SQL text of syntax trees.
//!
//! sqlparser prints the text of a literal as if it could not know whether quotes in it are doubled already: of the text `a''b` it makes
//! `'a''b'`, which reads back as `a'b`, and of `a\'b` it makes `'a\'b'`, where the literal ends too early. Such literals are printed
//! as `E'…'`, in which every quote and backslash is escaped. Of `- -1` it makes `--1`, which is a comment.

use std::fmt::Display;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, UnaryOperator, Value, ValueWithSpan, VisitMut, VisitorMut};

use super::walk::WalkMut;

/// Returns a tree as SQL text that reads back as the same tree, but for parentheses.
pub fn sql_text<N: VisitMut + Clone + Display>(tree: &N) -> String {
    let mut tree = tree.clone();
    let ControlFlow::Continue(()) = tree.walk_mut(&mut Escaped);
    tree.to_string()
}

/// Has literals escaped, and minus signs put into parentheses, that sqlparser prints as something else.
struct Escaped;

impl VisitorMut for Escaped {
    type Break = std::convert::Infallible;

    fn pre_visit_value(&mut self, value: &mut ValueWithSpan) -> ControlFlow<Self::Break> {
        if let Value::SingleQuotedString(text) = &mut value.value
            && (text.contains("''") || text.contains("\\'"))
        {
            value.value = Value::EscapedStringLiteral(std::mem::take(text));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr: of,
        } = expr
            && of.to_string().starts_with('-')
        {
            let inner = std::mem::replace(of.as_mut(), Expr::Value(Value::Null.into()));
            **of = Expr::Nested(Box::new(inner));
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::ast::Expr;

    use super::sql_text;
    use crate::{Respell, Tree};

    struct AsItIs;

    impl Respell for AsItIs {
        fn queries(&self, _: &mut dyn Tree) {}

        fn expression(&self, _: &mut Expr) {}
    }

    #[test]
    fn signs_in_a_row_are_no_comment() {
        for sql in ["- -a", "- - -1", "-(-a) - -b", "- -a::int", "-(-a + 1)"] {
            let printed = sql_text(&crate::parse_expression(sql, &AsItIs).unwrap());
            assert!(!printed.contains("--"), "{sql} is printed as {printed}");
            let again = crate::parse_expression(&printed, &AsItIs).unwrap();
            assert_eq!(sql_text(&again), printed, "{sql}");
        }
    }

    #[test]
    fn every_text_reads_back_as_itself() {
        let pieces = ["'", "''", "\\", "\\'", "a", "\n", "é", "\"", "%", "\\n", "$$"];
        for one in pieces {
            for two in pieces {
                for three in pieces {
                    let text = format!("{one}{two}{three}");
                    let literal = format!("lower('{}' || x)", text.replace('\'', "''"));
                    let read = crate::parse_expression(&literal, &AsItIs).unwrap();
                    let printed = sql_text(&read);
                    let again: Expr = crate::parse_expression(&printed, &AsItIs).unwrap();
                    assert_eq!(again, read, "{text:?} is printed as {printed}");
                }
            }
        }
    }
}
