//! Calls of functions in a select list.

use rukh_functions::is_aggregate;
use rukh_syntax::Walk;
use rukh_syntax::sqlparser::ast::{self, Expr, Visitor};

/// Whether a SELECT gives what such a function returns, subqueries aside.
pub(crate) fn calls(select: &ast::Select, test: fn(&ast::Function) -> bool) -> bool {
    let mut items = select.projection.iter();
    items.any(|item| item.walk(&mut Calls { test, depth: 0 }).is_break())
}

/// Looks for a call outside of subqueries.
struct Calls {
    test: fn(&ast::Function) -> bool,
    depth: usize,
}

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
        self.depth += 1;
        std::ops::ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> std::ops::ControlFlow<()> {
        self.depth -= 1;
        std::ops::ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> std::ops::ControlFlow<()> {
        match expr {
            Expr::Function(call) if self.depth == 0 && (self.test)(call) => std::ops::ControlFlow::Break(()),
            _ => std::ops::ControlFlow::Continue(()),
        }
    }
}

/// Whether a part of a statement calls an aggregate, outside of subqueries.
pub(crate) fn calls_aggregate(part: &impl Walk) -> bool {
    let test = |call: &ast::Function| call.over.is_none() && is_aggregate(&call.name.to_string());
    part.walk(&mut Calls { test, depth: 0 }).is_break()
}
