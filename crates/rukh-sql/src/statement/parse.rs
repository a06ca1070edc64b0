//! The entries: one statement, or one expression, from its text.

use datafusion::sql::sqlparser::ast::Expr;

use super::many_rows::many_rows;
use super::reader::Reader;
use super::source::Source;
use super::{ObjectName, Statement, utility};
use rukh_error::SqlError;

/// Reads exactly one statement; a semicolon may end it.
///
/// Errors carry the place in characters from 1. An empty text is a syntax error at its end.
pub fn parse(sql: &str) -> Result<Statement, SqlError> {
    many_rows(sql).map_or_else(|| parse_whole(sql), Ok)
}

/// Reads one statement token by token.
pub(super) fn parse_whole(sql: &str) -> Result<Statement, SqlError> {
    let source = Source::new(sql);
    let mut reader = Reader::new(&source)?;
    let statement = utility::statement(&mut reader)?;
    reader.end()?;
    Ok(statement)
}

/// Reads a name with an optional schema, such as that in `nextval('public.s')`.
pub fn parse_object_name(text: &str) -> Result<ObjectName, SqlError> {
    let source = Source::new(text);
    let mut reader = Reader::new(&source)?;
    let name = reader.object_name()?;
    reader.end()?;
    Ok(name)
}

/// Reads exactly one expression, such as a stored default.
pub fn parse_expression(sql: &str) -> Result<Expr, SqlError> {
    let source = Source::new(sql);
    let mut reader = Reader::new(&source)?;
    let expression = reader.expression()?;
    reader.end()?;
    Ok(expression)
}
