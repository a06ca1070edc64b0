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
    /// Returns what a MERGE changes, which is no view.
    pub(super) fn of_table(table: &Arc<Table>) -> Self {
        Target {
            table: table.clone(),
            view: None,
        }
    }

    /// Returns the columns that an INSERT names, or all in declared order: those of a view that come before one that is computed or
    /// there already.
    pub(super) fn named_columns(&self, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>, SqlError> {
        if names.is_empty() {
            return Ok(match &self.view {
                None => self
                    .table
                    .declared_columns()
                    .iter()
                    .map(|column| column.id)
                    .collect(),
                Some(view) => {
                    let own = view.columns.iter().take_while(|column| column.value.is_none());
                    own.filter_map(|column| column.id).collect()
                }
            });
        }
        let mut columns = Vec::with_capacity(names.len());
        for name in names {
            let name = ObjectName::from_ast(name)?;
            let column = self.column(&name, "insert into")?;
            if columns.contains(&column.id) {
                let message = format!("column \"{}\" specified more than once", name.name);
                return Err(SqlError::statement("42701", message).at(name.position));
            }
            columns.push(column.id);
        }
        Ok(columns)
    }

    /// Returns the column of a name, to `insert into` it or `update` it.
    pub(super) fn column(&self, name: &ObjectName, change: &str) -> Result<&Column, SqlError> {
        let Some(view) = &self.view else {
            return self
                .table
                .column_named(&name.name)
                .ok_or_else(|| self.no_column(name));
        };
        let column = view
            .column_named(&name.name)
            .ok_or_else(|| self.no_column(name))?;
        let id = column.id.ok_or_else(|| {
            let message = format!(
                "cannot {change} column \"{}\" of view \"{}\"",
                name.name, self.table.name
            );
            SqlError::unsupported(message)
                .at(name.position)
                .with_detail("View columns that are not columns of their base relation are not updatable.")
        })?;
        self.table.column(id).ok_or_else(|| self.no_column(name))
    }

    fn no_column(&self, name: &ObjectName) -> SqlError {
        let message = format!(
            "column \"{}\" of relation \"{}\" does not exist",
            name.name, self.table.name
        );
        SqlError::statement("42703", message).at(name.position)
    }
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
