//! Texts in the places of conditions, which are read as BOOLEAN: `WHERE 't'`, `a AND 'f'`, `NOT 'no'`, `CASE WHEN 'y' …`.
//!
//! DataFusion takes no condition of another type; what is no BOOLEAN fails with 22P02.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    BinaryOperator, DataType, Expr, JoinConstraint, JoinOperator, Query, Select, SetExpr, UnaryOperator,
    Value, VisitorMut,
};
use rukh_syntax::{WalkMut, each_side_mut};

use crate::bind::spelling::parameters::types::cast;

/// Reads the texts that stand where conditions do.
pub(crate) fn read(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Conditions);
}

struct Conditions;

impl VisitorMut for Conditions {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        each_side_mut(&mut query.body, &mut |side| {
            if let SetExpr::Select(select) = side {
                of_select(select);
            }
        });
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::BinaryOp {
                left,
                op: BinaryOperator::And | BinaryOperator::Or,
                right,
            } => {
                condition(left);
                condition(right);
            }
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr,
            } => condition(expr),
            Expr::Case {
                operand: None,
                conditions,
                ..
            } => conditions
                .iter_mut()
                .for_each(|when| condition(&mut when.condition)),
            Expr::Function(call) => call.filter.as_deref_mut().into_iter().for_each(condition),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

fn of_select(select: &mut Select) {
    let joins = select.from.iter_mut().flat_map(|from| &mut from.joins);
    let joined = joins.filter_map(|join| match &mut join.join_operator {
        JoinOperator::Join(JoinConstraint::On(on))
        | JoinOperator::Inner(JoinConstraint::On(on))
        | JoinOperator::Left(JoinConstraint::On(on))
        | JoinOperator::LeftOuter(JoinConstraint::On(on))
        | JoinOperator::Right(JoinConstraint::On(on))
        | JoinOperator::RightOuter(JoinConstraint::On(on))
        | JoinOperator::FullOuter(JoinConstraint::On(on)) => Some(on),
        _ => None,
    });
    joined
        .chain(&mut select.selection)
        .chain(&mut select.having)
        .for_each(condition);
}

/// Reads a condition that is a text.
fn condition(expr: &mut Expr) {
    match expr {
        Expr::Nested(inner) => condition(inner),
        Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)) => {
            cast(expr, DataType::Boolean);
        }
        _ => {}
    }
}
