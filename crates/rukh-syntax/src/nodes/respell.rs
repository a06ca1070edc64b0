//! What a caller spells in another way while a statement is read.

use sqlparser::ast::Expr;

use super::walk::Tree;

/// Spells out parts of a statement before its clauses are checked. What is spelled keeps its meaning.
pub trait Respell {
    /// Spells out a query, or another part of a statement that may hold queries.
    fn queries(&self, tree: &mut dyn Tree);

    /// Spells out an expression that stands alone, such as a default.
    fn expression(&self, expr: &mut Expr);
}
