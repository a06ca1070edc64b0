//! The entries: one statement, or one expression, from its text.

use sqlparser::ast::Expr;

use super::many_rows::many_rows;
use super::reader::Reader;
use super::utility;
use crate::StatementError;
use crate::nodes::{Respell, Tree};
use crate::text::Source;
use crate::tree::{ObjectName, Statement};

/// Spells nothing in another way: names have no words.
pub(super) struct AsItIs;

impl Respell for AsItIs {
    fn queries(&self, _: &mut dyn Tree) {}

    fn expression(&self, _: &mut Expr) {}
}

/// Reads exactly one statement; a semicolon may end it.
///
/// Errors carry the place in characters from 1. An empty text is a syntax error at its end.
pub fn parse(sql: &str, words: &dyn Respell) -> Result<Statement, StatementError> {
    many_rows(sql, words).map_or_else(|| parse_whole(sql, words), Ok)
}

/// Reads one statement token by token.
pub(crate) fn parse_whole(sql: &str, words: &dyn Respell) -> Result<Statement, StatementError> {
    let source = Source::new(sql);
    let mut reader = Reader::new(&source, words)?;
    let statement = utility::statement(&mut reader)?;
    reader.end()?;
    Ok(statement)
}

/// Reads a name with an optional schema, such as that in `nextval('public.s')`.
pub fn parse_object_name(text: &str) -> Result<ObjectName, StatementError> {
    let source = Source::new(text);
    let mut reader = Reader::new(&source, &AsItIs)?;
    let name = reader.object_name()?;
    reader.end()?;
    Ok(name)
}

/// Reads exactly one expression, such as a stored default.
pub fn parse_expression(sql: &str, words: &dyn Respell) -> Result<Expr, StatementError> {
    let source = Source::new(sql);
    let mut reader = Reader::new(&source, words)?;
    let expression = reader.expression()?;
    reader.end()?;
    Ok(expression)
}
