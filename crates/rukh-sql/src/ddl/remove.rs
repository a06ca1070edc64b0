//! DROP and TRUNCATE.

use std::sync::Arc;

use rukh_catalog::{Catalog, Column, Table};

use super::run::PUBLIC;
use crate::SqlError;
use crate::context::Notice;
use crate::session::Session;
use crate::statement::ObjectName;
use crate::views::views_on;

pub(super) fn drop_tables(
    session: &mut Session,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for name in names {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match catalog.table_named(schema, &name.name) {
            Ok(table) if !tables.iter().any(|known| known.id == table.id) => tables.push(table.clone()),
            Ok(_) => {}
            Err(_) if catalog.index_named(schema, &name.name).is_ok() => {
                return Err(wrong_kind(name, "a table", "Use DROP INDEX to remove an index."));
            }
            Err(_) if catalog.view_named(schema, &name.name).is_some() => {
                return Err(wrong_kind(name, "a table", "Use DROP VIEW to remove a view."));
            }
            Err(_) => unknown(session, "table", name, if_exists, "42P01")?,
        }
    }
    for table in &tables {
        check_no_views(&catalog, table, None)?;
    }
    for table in tables {
        session.engine().drop_table(table.id)?;
    }
    Ok(())
}

pub(super) fn drop_indexes(
    session: &mut Session,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut indexes = Vec::new();
    for name in names {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match catalog.index_named(schema, &name.name) {
            Ok((_, index)) if !indexes.contains(&index.id) => indexes.push(index.id),
            Ok(_) => {}
            Err(_) if catalog.table_named(schema, &name.name).is_ok() => {
                return Err(wrong_kind(name, "an index", "Use DROP TABLE to remove a table."));
            }
            Err(_) => unknown(session, "index", name, if_exists, "42704")?,
        }
    }
    for index in indexes {
        session.engine().drop_index(index)?;
    }
    Ok(())
}

/// Fails if a view reads a table, or one of its columns, which is to go.
pub(super) fn check_no_views(
    catalog: &Catalog,
    table: &Table,
    column: Option<&Column>,
) -> Result<(), SqlError> {
    let views = views_on(catalog, table.id, column.map(|column| column.id));
    if views.is_empty() {
        return Ok(());
    }
    let this = match column {
        Some(column) => format!("column {} of table {}", column.name, table.name),
        None => format!("table {}", table.name),
    };
    let detail: Vec<String> = views
        .iter()
        .map(|view| format!("view {} depends on {this}", view.name))
        .collect();
    let message = format!("cannot drop {this} because other objects depend on it");
    Err(SqlError::statement("2BP01", message)
        .with_detail(detail.join("\n"))
        .with_hint("Drop the views first."))
}

fn wrong_kind(name: &ObjectName, kind: &str, hint: &str) -> SqlError {
    let message = format!("\"{}\" is not {kind}", name.name);
    SqlError::statement("42809", message)
        .at(name.position)
        .with_hint(hint)
}

/// Takes note of a name to drop that is not known, or fails.
pub(super) fn unknown(
    session: &mut Session,
    kind: &str,
    name: &ObjectName,
    if_exists: bool,
    sqlstate: &'static str,
) -> Result<(), SqlError> {
    let message = format!("{kind} \"{}\" does not exist", name.name);
    if !if_exists {
        return Err(SqlError::statement(sqlstate, message).at(name.position));
    }
    session.notice(Notice::new(format!("{message}, skipping")));
    Ok(())
}

pub(super) fn truncate(session: &Session, names: &[ObjectName]) -> Result<(), SqlError> {
    let tables = names
        .iter()
        .map(|name| session.table(name))
        .collect::<Result<Vec<_>, _>>()?;
    for table in tables {
        session.engine().truncate(table.id)?;
    }
    Ok(())
}
