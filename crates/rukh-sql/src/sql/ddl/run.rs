//! From a statement that defines something to the work, and what the others have in common.

use rukh_syntax::{Ownable, Statement};

use super::alter::index::{alter_index, reindex_index, reindex_table};
use super::alter::moves::{rename, set_schema};
use super::alter::sequence::alter_sequence;
use super::alter::table::alter_table;
use super::comment::comment;
use super::create_as::{create_table_as, refresh};
use super::create_index::create_index;
use super::create_table::create_table;
use super::function::function;
use super::remove::{Kind, drop_indexes, drop_relations, truncate};
use super::schema::schema;
use super::sequence::create_sequence;
use super::types;
use super::view::create_view;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs a statement that changes definitions; returns its tag.
pub(crate) fn run(session: &mut Session, statement: &Statement) -> Result<String, SqlError> {
    if let Statement::CreateTable(table) = statement
        && let Some(source) = &table.source
    {
        return create_table_as(session, table, source);
    }
    let tag = match statement {
        Statement::CreateTable(table) => create_table(session, table).map(|()| "CREATE TABLE"),
        Statement::CreateIndex(index) => create_index(session, index).map(|()| "CREATE INDEX"),
        Statement::AlterTable(alter) => alter_table(session, alter).map(|()| "ALTER TABLE"),
        Statement::AlterIndex {
            name,
            if_exists,
            action,
        } => alter_index(session, name, *if_exists, action).map(|()| "ALTER INDEX"),
        Statement::ReindexIndex { name } => reindex_index(session, name).map(|()| "REINDEX"),
        Statement::ReindexTable { name } => reindex_table(session, name).map(|()| "REINDEX"),
        Statement::Comment { on, text } => comment(session, on, text.as_ref()).map(|()| "COMMENT"),
        Statement::CreateView(view) => create_view(session, view).map(|()| "CREATE VIEW"),
        Statement::DropView {
            names,
            if_exists,
            cascade,
            materialized: true,
        } => drop_relations(session, Kind::Materialized, names, *if_exists, *cascade)
            .map(|()| "DROP MATERIALIZED VIEW"),
        Statement::DropView {
            names,
            if_exists,
            cascade,
            materialized: false,
        } => drop_relations(session, Kind::View, names, *if_exists, *cascade).map(|()| "DROP VIEW"),
        Statement::Refresh {
            name,
            concurrently,
            with_data,
        } => refresh(session, name, *concurrently, *with_data).map(|()| "REFRESH MATERIALIZED VIEW"),
        Statement::CreateSequence {
            name,
            if_not_exists,
            options,
            owned_by,
        } => create_sequence(session, name, *if_not_exists, options, owned_by.as_ref())
            .map(|()| "CREATE SEQUENCE"),
        Statement::DropSequence {
            names,
            if_exists,
            cascade,
        } => drop_relations(session, Kind::Sequence, names, *if_exists, *cascade).map(|()| "DROP SEQUENCE"),
        Statement::DropTable {
            names,
            if_exists,
            cascade,
        } => drop_relations(session, Kind::Table, names, *if_exists, *cascade).map(|()| "DROP TABLE"),
        Statement::Schema(statement) => schema(session, statement),
        Statement::Type(statement) => types::run(session, statement),
        Statement::Function(statement) => function(session, statement),
        Statement::Rename {
            kind: Ownable::Type,
            name,
            new,
            ..
        } => types::rename(session, name, new).map(|()| "ALTER TYPE"),
        Statement::SetSchema {
            kind: Ownable::Type,
            name,
            schema,
            ..
        } => types::set_schema(session, name, schema).map(|()| "ALTER TYPE"),
        Statement::AlterSequence(statement) => {
            alter_sequence(session, statement, |_| Ok(None)).map(|()| "ALTER SEQUENCE")
        }
        Statement::Rename {
            kind,
            name,
            if_exists,
            new,
        } => rename(session, *kind, name, *if_exists, new).map(|()| match kind {
            Ownable::View => "ALTER VIEW",
            _ => "ALTER SEQUENCE",
        }),
        Statement::SetSchema {
            kind,
            name,
            if_exists,
            schema,
        } => set_schema(session, *kind, name, *if_exists, schema).map(|()| match kind {
            Ownable::View => "ALTER VIEW",
            Ownable::Sequence => "ALTER SEQUENCE",
            _ => "ALTER TABLE",
        }),
        Statement::DropIndex { names, if_exists } => {
            drop_indexes(session, names, *if_exists).map(|()| "DROP INDEX")
        }
        Statement::Truncate {
            tables,
            restart,
            cascade,
        } => truncate(session, tables, *restart, *cascade).map(|()| "TRUNCATE TABLE"),
        _ => Err(SqlError::internal("the statement defines nothing")),
    };
    tag.map(str::to_string)
}
