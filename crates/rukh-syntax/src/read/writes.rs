//! WITH whose queries write: `WITH moved AS (DELETE FROM a RETURNING *) INSERT INTO b SELECT * FROM moved`.
//!
//! Each query that writes becomes a statement of its own, which has the queries before it as its WITH. To those behind
//! it its rows are a table in memory: `moved` stands for `SELECT * FROM` a name that no statement can write ([`rows_name`]).

use std::ops::ControlFlow;

use sqlparser::ast::{self, Ident, Visitor};
use sqlparser::parser::{IsOptional, Parser};
use sqlparser::tokenizer::Token;

use super::merge::merge;
use super::query::{delete, insert, settle, update};
use super::reader::Reader;
use crate::StatementError;
use crate::nodes::Walk;
use crate::nodes::make::select_unqualified;
use crate::text::rows_name;
use crate::tree::{ObjectName, Statement, WritesStatement, folded};

/// Reads WITH, at least one query of which writes, and the statement behind it.
pub(crate) fn writes(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    let position = reader.position();
    let with_token = reader.take();
    let recursive = reader.accept(&["recursive"]);
    let mut with = ast::With {
        with_token: with_token.into(),
        recursive,
        cte_tables: Vec::new(),
    };
    let mut read = Read::default();
    loop {
        let place = reader.position();
        match reader.writing_query_is_next() {
            true => read.writing_query(reader, &mut with, place)?,
            false => {
                let mut query = reader.parse(Parser::parse_cte)?;
                settle(reader, &mut query, place)?;
                read.take_name(&query.alias.name, place)?;
                read.check_reads(&query)?;
                with.cte_tables.push(query);
            }
        }
        if !reader.accept_token(&Token::Comma) {
            break;
        }
    }
    // WITH without queries is none: those that return nothing have no name for others.
    let with = (!with.cte_tables.is_empty()).then_some(with);
    let statement = match () {
        () if reader.peeks_any(&["insert", "upsert"]) => insert(reader, with)?,
        () if reader.peeks(&["update"]) => update(reader, with)?,
        () if reader.peeks(&["delete"]) => delete(reader, with)?,
        () if reader.peeks(&["merge"]) => merge(reader, with)?,
        () => {
            let mut query = reader.parse(Parser::parse_query)?;
            if query.with.is_some() {
                return Err(StatementError::syntax("WITH stands before a statement once").at(position));
            }
            query.with = with;
            settle(reader, &mut *query, position)?;
            Statement::Query(query)
        }
    };
    read.check_statement(&statement)?;
    Ok(Statement::Writes(Box::new(WritesStatement {
        parts: read.parts,
        statement,
    })))
}

/// What was read of WITH so far.
#[derive(Default)]
struct Read {
    parts: Vec<Statement>,
    /// All names.
    names: Vec<String>,
    /// Those of queries without RETURNING.
    silent: Vec<String>,
}

impl Read {
    /// Reads `name [(column, …)] AS (statement)`.
    fn writing_query(
        &mut self,
        reader: &mut Reader<'_>,
        with: &mut ast::With,
        position: usize,
    ) -> Result<(), StatementError> {
        let name = reader.parse(Parser::parse_identifier)?;
        self.take_name(&name, position)?;
        let columns =
            reader.parse(|parser| parser.parse_parenthesized_column_list(IsOptional::Optional, false))?;
        let column = |name| ast::TableAliasColumnDef {
            name,
            data_type: None,
        };
        let columns = columns.into_iter().map(column).collect();
        reader.expect(&["as"])?;
        reader.accept(&["not"]);
        reader.accept(&["materialized"]);
        reader.expect_token(&Token::LParen)?;
        let before = (!with.cte_tables.is_empty()).then(|| with.clone());
        let statement = match () {
            () if reader.peeks(&["update"]) => update(reader, before)?,
            () if reader.peeks(&["delete"]) => delete(reader, before)?,
            () if reader.peeks(&["merge"]) => {
                return Err(reader.unsupported("MERGE not supported in WITH query"));
            }
            () => insert(reader, before)?,
        };
        self.check_statement(&statement)?;
        let closing = reader.peek().clone();
        reader.expect_token(&Token::RParen)?;
        match returns(&statement) {
            false => self.silent.push(folded(&name)),
            true => {
                let table = Ident::with_quote('"', rows_name(self.parts.len()));
                with.cte_tables.push(ast::Cte {
                    alias: ast::TableAlias {
                        explicit: true,
                        name,
                        columns,
                        at: None,
                    },
                    query: Box::new(select_unqualified(table)),
                    from: None,
                    materialized: None,
                    closing_paren_token: closing.into(),
                });
            }
        }
        self.parts.push(statement);
        Ok(())
    }

    fn take_name(&mut self, name: &Ident, position: usize) -> Result<(), StatementError> {
        let name = folded(name);
        if self.names.contains(&name) {
            let message = format!("WITH query name \"{name}\" specified more than once");
            return Err(StatementError::statement("42712", message).at(position));
        }
        self.names.push(name);
        Ok(())
    }

    /// Fails if a statement reads a query that returns nothing.
    fn check_statement(&self, statement: &Statement) -> Result<(), StatementError> {
        match statement {
            Statement::Query(query) => self.check_reads(query),
            Statement::Insert(insert) => {
                self.check_reads(&insert.ast.source)?;
                self.check_reads(&insert.ast.returning)
            }
            Statement::Update(update) => {
                self.check_reads(&update.ast.assignments)?;
                self.check_reads(&update.ast.from)?;
                self.check_reads(&update.ast.selection)?;
                self.check_reads(&update.ast.returning)
            }
            Statement::Delete(delete) => {
                self.check_reads(&delete.ast.using)?;
                self.check_reads(&delete.ast.selection)?;
                self.check_reads(&delete.ast.returning)
            }
            Statement::Merge(merge) => self.check_reads(&merge.source),
            _ => Ok(()),
        }
    }

    fn check_reads(&self, part: &impl Walk) -> Result<(), StatementError> {
        struct Finder<'a>(&'a [String]);
        impl Visitor for Finder<'_> {
            type Break = ObjectName;

            fn pre_visit_relation(&mut self, relation: &ast::ObjectName) -> ControlFlow<ObjectName> {
                match ObjectName::from_ast(relation) {
                    Ok(name) if name.schema.is_none() && self.0.contains(&name.name) => {
                        ControlFlow::Break(name)
                    }
                    _ => ControlFlow::Continue(()),
                }
            }
        }
        match part.walk(&mut Finder(&self.silent)) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(name) => {
                let message = format!("WITH query \"{}\" does not have a RETURNING clause", name.name);
                Err(StatementError::unsupported(message).at(name.position))
            }
        }
    }
}

fn returns(statement: &Statement) -> bool {
    match statement {
        Statement::Insert(insert) => insert.ast.returning.is_some(),
        Statement::Update(update) => update.ast.returning.is_some(),
        Statement::Delete(delete) => delete.ast.returning.is_some(),
        _ => false,
    }
}
