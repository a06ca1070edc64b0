//! Statements as the rest of this crate takes them: what PostgreSQL writes and DataFusion has not is spelled out while they are read.

use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::Expr;
use rukh_syntax::{Respell, Statement, Tree};

use crate::bind::spelling::casts;
use crate::bind::system::{subqueries, syntax};

/// Reads exactly one statement; see [`rukh_syntax::parse`].
pub(crate) fn parse(sql: &str) -> Result<Statement, SqlError> {
    Ok(rukh_syntax::parse(sql, &SpelledOut)?)
}

/// Reads exactly one expression; see [`rukh_syntax::parse_expression`].
pub(crate) fn parse_expression(sql: &str) -> Result<Expr, SqlError> {
    Ok(rukh_syntax::parse_expression(sql, &SpelledOut)?)
}

struct SpelledOut;

impl Respell for SpelledOut {
    fn queries(&self, tree: &mut dyn Tree) {
        syntax::spell_out(tree);
        subqueries::spell_out_subqueries(tree);
        casts::spell_out(tree);
    }

    fn expression(&self, expr: &mut Expr) {
        casts::spell_out(expr);
    }
}
