//! Calls of `nextval` and its kin in expressions.

use std::ops::ControlFlow;

use rukh_syntax::Walk;
use rukh_syntax::sqlparser::ast::{self, Visitor};

/// The functions of this file.
pub(crate) const FUNCTIONS: &[&str] = &["nextval", "currval", "lastval", "setval"];

/// Whether an expression calls one of the functions, outside of subqueries or within.
pub(crate) fn calls_sequence(expr: &ast::Expr) -> bool {
    struct Finder;
    impl Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            match expr {
                ast::Expr::Function(call)
                    if FUNCTIONS.contains(&call.name.to_string().to_lowercase().as_str()) =>
                {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }
    expr.walk(&mut Finder).is_break()
}

/// Returns the name in `nextval('name')`, if an expression is that and nothing else.
pub(crate) fn next_of(expr: &ast::Expr) -> Option<String> {
    let ast::Expr::Function(call) = expr else {
        return None;
    };
    let ast::FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(argument))] = list.args.as_slice() else {
        return None;
    };
    let argument = match argument {
        ast::Expr::Cast { expr, data_type, .. } if data_type.to_string().eq_ignore_ascii_case("regclass") => {
            expr
        }
        other => other,
    };
    match argument {
        ast::Expr::Value(value) if call.name.to_string().eq_ignore_ascii_case("nextval") => {
            match &value.value {
                ast::Value::SingleQuotedString(name) => Some(name.clone()),
                _ => None,
            }
        }
        _ => None,
    }
}
