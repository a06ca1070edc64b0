//! MERGE. sqlparser's own MERGE has neither `DO NOTHING` nor `DEFAULT VALUES`, so that it is read here;
//! relations, expressions and assignments are read by sqlparser.

use sqlparser::ast::{self, TableFactor};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use super::query::settle;
use super::reader::Reader;
use crate::StatementError;
use crate::tree::{MergeAction, MergeClause, MergeKind, MergeStatement, Overriding, Statement};

/// Reads MERGE.
pub(crate) fn merge(reader: &mut Reader<'_>, with: Option<ast::With>) -> Result<Statement, StatementError> {
    let position = reader.position();
    reader.expect(&["merge", "into"])?;
    let mut table = target(reader)?;
    reader.expect(&["using"])?;
    let mut source = reader.parse(Parser::parse_table_factor)?;
    reader.expect(&["on"])?;
    let on = reader.expression()?;
    let mut clauses = Vec::new();
    let mut closed: Vec<MergeKind> = Vec::new();
    while reader.peeks(&["when"]) {
        let place = reader.position();
        let clause = clause(reader)?;
        if closed.contains(&clause.kind) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(StatementError::syntax(message).at(place));
        }
        if clause.condition.is_none() {
            closed.push(clause.kind);
        }
        clauses.push(clause);
    }
    if clauses.is_empty() {
        return Err(reader.unexpected());
    }
    let mut returning = None;
    if reader.accept(&["returning"]) {
        returning = Some(reader.parse(Parser::parse_projection)?);
    }
    let mut on = Box::new(on);
    settle(reader, &mut table, position)?;
    settle(reader, &mut source, position)?;
    settle(reader, &mut on, position)?;
    settle(reader, &mut returning, position)?;
    for clause in &mut clauses {
        settle(reader, &mut clause.condition, position)?;
        match &mut clause.action {
            MergeAction::Update(assignments) => settle(reader, assignments, position)?,
            MergeAction::Insert { values, .. } => settle(reader, values, position)?,
            MergeAction::Delete | MergeAction::Nothing => {}
        }
    }
    Ok(Statement::Merge(Box::new(MergeStatement {
        with,
        table,
        source,
        on: *on,
        clauses,
        returning,
    })))
}

/// Reads the table that is changed.
fn target(reader: &mut Reader<'_>) -> Result<TableFactor, StatementError> {
    reader.accept(&["only"]);
    let position = reader.position();
    let table = reader.parse(Parser::parse_table_factor)?;
    match &table {
        TableFactor::Table { args: None, .. } => Ok(table),
        _ => Err(StatementError::syntax("MERGE changes a table").at(position)),
    }
}

fn clause(reader: &mut Reader<'_>) -> Result<MergeClause, StatementError> {
    reader.expect(&["when"])?;
    let kind = match () {
        () if reader.accept(&["not", "matched", "by", "source"]) => MergeKind::NotInSource,
        () if reader.accept(&["not", "matched", "by", "target"]) => MergeKind::NotInTarget,
        () if reader.accept(&["not", "matched"]) => MergeKind::NotInTarget,
        () => {
            reader.expect(&["matched"])?;
            MergeKind::Matched
        }
    };
    let condition = match reader.accept(&["and"]) {
        true => Some(reader.expression()?),
        false => None,
    };
    reader.expect(&["then"])?;
    let takes_rows = kind != MergeKind::NotInTarget;
    let action = match () {
        () if reader.accept(&["do", "nothing"]) => MergeAction::Nothing,
        () if takes_rows && reader.accept(&["delete"]) => MergeAction::Delete,
        () if takes_rows && reader.accept(&["update"]) => {
            reader.expect(&["set"])?;
            MergeAction::Update(reader.list(|reader| reader.parse(Parser::parse_assignment))?)
        }
        () if !takes_rows && reader.accept(&["insert"]) => insert(reader)?,
        () => return Err(reader.unexpected()),
    };
    Ok(MergeClause {
        kind,
        condition,
        action,
    })
}

fn insert(reader: &mut Reader<'_>) -> Result<MergeAction, StatementError> {
    let mut columns = Vec::new();
    if *reader.peek_at(0) == Token::LParen {
        columns = reader.parenthesised(|reader| reader.parse(|parser| parser.parse_object_name(false)))?;
    }
    let overriding = match () {
        () if reader.accept(&["overriding", "system", "value"]) => Some(Overriding::System),
        () if reader.accept(&["overriding", "user", "value"]) => Some(Overriding::User),
        () => None,
    };
    let position = reader.position();
    if reader.accept(&["default", "values"]) {
        return match columns.is_empty() {
            true => Ok(MergeAction::Insert {
                columns,
                overriding,
                values: Vec::new(),
            }),
            false => Err(StatementError::syntax("DEFAULT VALUES takes no list of columns").at(position)),
        };
    }
    reader.expect(&["values"])?;
    let values = reader.parenthesised(Reader::expression)?;
    Ok(MergeAction::Insert {
        columns,
        overriding,
        values,
    })
}
