//! Keeps syntax trees shallow, so that no statement can exhaust the stack.
//!
//! sqlparser bounds nesting by parentheses, but `a OR b OR c …` becomes a tree as deep as it has
//! operators, and cloning, printing or planning such a tree recurses once for each. So
//!
//! 1. [`check_tokens`] refuses, before parsing, what would give a tree that cannot even be dropped;
//! 2. [`balance`] turns chains of AND, and of OR, into balanced trees: eight thousand terms are
//!    then thirteen levels deep. Both operators are associative, so the value is the same, and
//!    terms keep their order;
//! 3. [`check_tree`] refuses what is still too deep.

use std::convert::Infallible;
use std::ops::ControlFlow;

use sqlparser::ast::{BinaryOperator, Expr, Query, Select, SetExpr, Visitor, VisitorMut};
use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::walk::{Walk, WalkMut};
use crate::StatementError;

/// Most tokens between two commas, parentheses around them counted in. No token makes a tree more
/// than one level deeper, and dropping a tree of so many levels takes half a megabyte of stack.
const TOKENS_MAX: usize = 32_000;

/// Most levels of an expression.
const EXPRESSION_DEPTH_MAX: usize = 400;

/// Most set operations of one query, and most relations of one FROM.
const RELATIONS_MAX: usize = 200;

/// Most queries inside of one another: DataFusion plans a hundred only with more stack than threads have.
const QUERY_DEPTH_MAX: usize = 32;

/// Most queries inside of one another as parts of expressions: DataFusion plans each twice for every one
/// around it, so that twenty take seconds.
const SUBQUERY_DEPTH_MAX: usize = 14;

/// Shortest chain that is worth rebuilding.
const CHAIN_MIN: usize = 16;

/// Fails with 54001 if the tree of these tokens could be too deep to be dropped.
pub(crate) fn check_tokens(tokens: &[TokenWithSpan]) -> Result<(), StatementError> {
    let mut enclosing = Vec::new();
    let (mut outside, mut inside) = (0, 0);
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Comma => inside = 0,
            Token::LParen => {
                enclosing.push(inside);
                outside += inside;
                inside = 0;
            }
            Token::RParen => {
                inside = enclosing.pop().unwrap_or(0);
                outside -= inside;
            }
            _ => inside += 1,
        }
        if outside + inside > TOKENS_MAX {
            return Err(too_complex());
        }
    }
    Ok(())
}

/// Fails with 54001 if a tree is too deep to be planned.
pub(crate) fn check_tree(node: &impl Walk) -> Result<(), StatementError> {
    match node.walk(&mut Depth::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(too_complex()),
    }
}

/// Turns every chain of AND, and of OR, in a tree into a balanced one.
pub(crate) fn balance(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Balance);
}

fn too_complex() -> StatementError {
    StatementError::statement("54001", "the statement is too complex")
        .with_hint("Split it, or put long lists of values into IN (…) or VALUES.")
}

#[derive(Default)]
struct Depth {
    /// Expressions that enclose the one visited.
    expressions: usize,
    /// Queries that enclose the one visited.
    queries: usize,
    /// Those of them that are parts of expressions.
    subqueries: usize,
}

impl Depth {
    fn check(value: usize, max: usize) -> ControlFlow<()> {
        if value > max {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

impl Visitor for Depth {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.expressions += 1;
        self.subqueries += usize::from(is_subquery(expr));
        Depth::check(self.subqueries, SUBQUERY_DEPTH_MAX)?;
        Depth::check(self.expressions, EXPRESSION_DEPTH_MAX)
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.expressions -= 1;
        self.subqueries -= usize::from(is_subquery(expr));
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.queries += 1;
        Depth::check(self.queries, QUERY_DEPTH_MAX)?;
        Depth::check(set_operations(&query.body), RELATIONS_MAX)
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let relations = select.from.iter().map(|table| 1 + table.joins.len()).sum();
        Depth::check(relations, RELATIONS_MAX)
    }
}

fn is_subquery(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. }
    )
}

fn set_operations(body: &SetExpr) -> usize {
    let mut count = 0;
    let mut open = vec![body];
    while let Some(body) = open.pop() {
        if let SetExpr::SetOperation { left, right, .. } = body {
            count += 1;
            open.extend([left.as_ref(), right.as_ref()]);
        }
    }
    count
}

struct Balance;

impl VisitorMut for Balance {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::BinaryOp {
            op: BinaryOperator::And | BinaryOperator::Or,
            ..
        } = expr
        {
            balance_chain(expr);
        }
        ControlFlow::Continue(())
    }
}

/// Rebuilds an AND or OR whose left operands are a long chain of the same operator.
fn balance_chain(expr: &mut Expr) {
    let Expr::BinaryOp { op, .. } = &*expr else { return };
    let op = op.clone();
    if chain_length(expr, &op) >= CHAIN_MIN {
        let chain = std::mem::replace(expr, Expr::Tuple(Vec::new()));
        *expr = join_terms(terms_of(chain, &op), &op);
    }
}

fn chain_length(mut expr: &Expr, op: &BinaryOperator) -> usize {
    let mut length = 1;
    while let Expr::BinaryOp { left, op: found, .. } = expr
        && found == op
    {
        length += 1;
        expr = left;
    }
    length
}

/// Takes a left-deep chain apart into its terms, in order.
fn terms_of(mut chain: Expr, op: &BinaryOperator) -> Vec<Expr> {
    let mut terms = Vec::new();
    loop {
        match chain {
            Expr::BinaryOp {
                left,
                op: found,
                right,
            } if found == *op => {
                terms.push(*right);
                chain = *left;
            }
            first => {
                terms.push(first);
                terms.reverse();
                return terms;
            }
        }
    }
}

/// Joins neighbours pairwise until one tree is left, of logarithmic depth.
fn join_terms(mut terms: Vec<Expr>, op: &BinaryOperator) -> Expr {
    while terms.len() > 1 {
        let mut joined = Vec::with_capacity(terms.len().div_ceil(2));
        let mut terms_left = terms.into_iter();
        while let Some(left) = terms_left.next() {
            joined.push(match terms_left.next() {
                Some(right) => Expr::BinaryOp {
                    left: Box::new(left),
                    op: op.clone(),
                    right: Box::new(right),
                },
                None => left,
            });
        }
        terms = joined;
    }
    terms.pop().expect("a chain has at least one term")
}
