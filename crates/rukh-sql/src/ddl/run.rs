//! From a statement that defines something to the work, and what the others have in common.

use rukh_catalog::{Catalog, Column, ColumnId, Table};

use super::alter::alter_table;
use super::alter_index::{alter_index, reindex_index, reindex_table};
use super::alter_sequence::alter_sequence;
use super::comment::comment;
use super::create_as::create_table_as;
use super::create_index::create_index;
use super::create_table::create_table;
use super::moves::{rename, set_schema};
use super::remove::{drop_indexes, drop_sequences, drop_tables, drop_views, truncate};
use super::schema::{schema, unknown};
use super::sequence::create_sequence;
use super::view::create_view;
use crate::context::Notice;
use crate::session::Session;
use rukh_error::SqlError;
use rukh_syntax::{Name, ObjectName, Ownable, Statement};

pub(super) use rukh_catalog::PUBLIC;

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
        } => drop_views(session, names, *if_exists, *cascade).map(|()| "DROP VIEW"),
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
        } => drop_sequences(session, names, *if_exists, *cascade).map(|()| "DROP SEQUENCE"),
        Statement::DropTable {
            names,
            if_exists,
            cascade,
        } => drop_tables(session, names, *if_exists, *cascade).map(|()| "DROP TABLE"),
        Statement::Schema(statement) => schema(session, statement),
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
        Statement::Truncate { tables, restart } => {
            truncate(session, tables, *restart).map(|()| "TRUNCATE TABLE")
        }
        _ => Err(SqlError::internal("the statement defines nothing")),
    };
    tag.map(str::to_string)
}

/// Whether a name is taken: a notice if the statement allows for it, else an error.
pub(super) fn is_taken(
    session: &mut Session,
    catalog: &Catalog,
    name: &ObjectName,
    if_not_exists: bool,
) -> Result<bool, SqlError> {
    let schema = schema_of(catalog, name)?;
    match catalog.check_name_free(schema, &name.name) {
        Ok(()) => Ok(false),
        Err(_) if if_not_exists => {
            let message = format!("relation \"{}\" already exists, skipping", name.name);
            session.notice(Notice::new(message).with_sqlstate("42P07"));
            Ok(true)
        }
        Err(error) => Err(SqlError::from(error).at(name.position)),
    }
}

/// Returns the schema of the name of something new, which must be there.
pub(super) fn schema_of<'n>(catalog: &Catalog, name: &'n ObjectName) -> Result<&'n str, SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    match catalog.has_schema(schema) {
        true => Ok(schema),
        false if ["pg_catalog", "information_schema"].contains(&schema) => {
            let message = format!("permission denied to create \"{schema}.{}\"", name.name);
            Err(SqlError::statement("42501", message)
                .at(name.position)
                .with_detail("System catalog modifications are currently disallowed."))
        }
        false => Err(unknown(schema).at(name.position)),
    }
}

pub(super) fn column_id(columns: &[Column], name: &Name) -> Result<ColumnId, SqlError> {
    let found = columns.iter().find(|column| column.name == name.text);
    found
        .map(|column| column.id)
        .ok_or_else(|| SqlError::undefined_column(&name.text).at(name.position))
}

pub(super) fn column_ids(columns: &[Column], names: &[Name]) -> Result<Vec<ColumnId>, SqlError> {
    names.iter().map(|name| column_id(columns, name)).collect()
}

/// Returns `t_a_b_idx`, or with the first number behind it that makes it free.
pub(super) fn free_name(catalog: &Catalog, table: &Table, parts: &[String], suffix: &str) -> String {
    free_name_beside(catalog, table, parts, suffix, &[])
}

/// As [`free_name`], with names that others of the same statement get.
pub(super) fn free_name_beside(
    catalog: &Catalog,
    table: &Table,
    parts: &[String],
    suffix: &str,
    names: &[String],
) -> String {
    let base = format!("{}_{}_{suffix}", table.name, parts.join("_"));
    let is_free =
        |name: &String| catalog.check_name_free(&table.schema, name).is_ok() && !names.contains(name);
    let mut numbered = (1u32..).map(|n| format!("{base}{n}"));
    match is_free(&base) {
        true => base,
        false => numbered.find(is_free).unwrap_or(base),
    }
}
