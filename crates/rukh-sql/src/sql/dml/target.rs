//! What all statements that write have in common: the table, its columns by name, the commit.

use std::sync::Arc;

use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_engine::Write;
use rukh_syntax::sqlparser::ast::{self, Ident, SetExpr, TableFactor, TableWithJoins};

use crate::bind::names::view_target::{Change, ViewTarget, view_target};
use crate::bind::types::table_schema::with_row_ids;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_syntax::ObjectName;
use rukh_syntax::make::select_table;

/// Makes the changes of a statement durable, unless it was cancelled.
pub(super) fn commit(session: &mut Session, write: Write) -> Result<(), SqlError> {
    session.check_cancel()?;
    let snapshot = write.snapshot().clone();
    let traffic = write.commit(session.durability())?;
    session.committed(snapshot.traffic(), traffic);
    Ok(())
}

/// Whether a statement has its write to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// It is all that is written.
    Alone,
    /// It is one of several that write at once: the queries of a WITH, and the statement behind it.
    Shared,
}

/// What a statement changes.
pub(super) struct Target {
    /// The table; for a view its table, with the names of the view.
    pub(super) table: Arc<Table>,
    pub(super) view: Option<Arc<ViewTarget>>,
}

pub(super) fn target(catalog: &Catalog, name: &ObjectName, change: Change) -> Result<Target, SqlError> {
    let schema = name.schema.as_deref().unwrap_or("public");
    if let Some(view) = catalog.view_named(schema, &name.name) {
        let view = view_target(catalog, view, change).map_err(|error| error.at(name.position))?;
        return Ok(Target {
            table: view.table.clone(),
            view: Some(Arc::new(view)),
        });
    }
    match catalog.table_named(schema, &name.name) {
        // REFRESH marks the table while it writes the rows.
        Ok(table) if table.materialized.is_some() && !table.options.filling => {
            Err(unchangeable(table).at(name.position))
        }
        Ok(table) => Ok(Target {
            table: table.clone(),
            view: None,
        }),
        Err(_) => Err(name.undefined().into()),
    }
}

/// Makes the error of a statement that would change the rows of a materialized view.
pub(crate) fn unchangeable(table: &Table) -> SqlError {
    let message = format!("cannot change materialized view \"{}\"", table.name);
    SqlError::statement("42809", message)
}

pub(super) fn refuse(given: bool, what: &str) -> Result<(), SqlError> {
    match given {
        true => Err(SqlError::unsupported(format!("{what} is not supported yet"))),
        false => Ok(()),
    }
}

impl Target {
    /// Returns the columns that the statement names, or all in declared order.
    pub(super) fn named_columns(&self, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>, SqlError> {
        match &self.view {
            Some(view) if names.is_empty() => Ok(view.columns.clone()),
            _ => named_columns(&self.table, names),
        }
    }
}

/// Returns the columns that the statement names, or all in declared order.
pub(super) fn named_columns(table: &Table, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>, SqlError> {
    if names.is_empty() {
        return Ok(table.declared_columns().iter().map(|column| column.id).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if columns.contains(&column.id) {
            let message = format!("column \"{}\" specified more than once", name.name);
            return Err(SqlError::statement("42701", message).at(name.position));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

pub(super) fn column_of<'t>(table: &'t Table, name: &ObjectName) -> Result<&'t Column, SqlError> {
    table.column_named(&name.name).ok_or_else(|| {
        let message = format!(
            "column \"{}\" of relation \"{}\" does not exist",
            name.name, table.name
        );
        SqlError::statement("42703", message).at(name.position)
    })
}

/// Makes `table AS name`.
pub(super) fn relation_of(table: &Table, name: &str) -> TableWithJoins {
    named(table, &table.name, name)
}

/// Returns a table whose rows a statement changes as an item of FROM, with its row ids, if it has some.
pub(super) fn changed_relation_of(table: &Table, name: &str) -> TableWithJoins {
    named(table, &with_row_ids(table), name)
}

fn named(table: &Table, shown: &str, name: &str) -> TableWithJoins {
    let query = select_table(&table.schema, shown);
    let mut from = match *query.body {
        SetExpr::Select(select) => select.from,
        _ => Vec::new(),
    };
    let mut relation = from.remove(0);
    if let TableFactor::Table { alias, .. } = &mut relation.relation {
        *alias = Some(ast::TableAlias {
            explicit: true,
            name: Ident::with_quote('"', name),
            columns: Vec::new(),
            at: None,
        });
    }
    relation
}
