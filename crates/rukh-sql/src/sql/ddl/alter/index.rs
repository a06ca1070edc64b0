//! ALTER INDEX and REINDEX: the names of indexes, and whether they are filled.

use rukh_catalog::{CatalogError, Index, IndexId, IndexState, PUBLIC, Table, TableId};
use rukh_syntax::{IndexAction, ObjectName};

use super::repack::repack_error;
use crate::sql::ddl::create_index::index_error;
use crate::sql::ddl::names::{check_free, check_new_constraint, skipped};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ALTER INDEX.
pub(in crate::sql::ddl) fn alter_index(
    session: &mut Session,
    name: &ObjectName,
    if_exists: bool,
    action: &IndexAction,
) -> Result<(), SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let catalog = session.engine().catalog();
    let Ok((table, index)) = catalog.index_named(schema, &name.name) else {
        if let Some(table) = catalog.table_of_key(schema, &name.name) {
            return alter_key(session, table.id, name, action);
        }
        if if_exists {
            return skipped(session, name);
        }
        let message = format!("relation \"{}\" does not exist", name.name);
        return Err(SqlError::statement("42P01", message).at(name.position));
    };
    let (table, id) = (table.id, index.id);
    let done = alter_found(session, name, table, index, action);
    let catalog = session.engine().catalog();
    if done.is_err() && catalog.index(id).is_none() && catalog.index_named(schema, &name.name).is_ok() {
        // A rebuild has ended meanwhile, and the index has another id.
        return alter_index(session, name, if_exists, action);
    }
    done
}

/// Runs ALTER INDEX of the primary key of a table, which is the table itself.
fn alter_key(
    session: &mut Session,
    table: TableId,
    name: &ObjectName,
    action: &IndexAction,
) -> Result<(), SqlError> {
    match action {
        IndexAction::RenameTo(new_name) => {
            session.engine().alter_table(table, |catalog, before| {
                check_free(catalog, &before.schema, new_name)?;
                check_new_constraint(before, new_name)?;
                let mut next = before.clone();
                next.set_key_name(new_name.text.clone());
                Ok::<_, SqlError>(next)
            })?;
            Ok(())
        }
        IndexAction::Storage(notices) => {
            session.notices(notices);
            Ok(())
        }
        // Rows are stored in its order.
        IndexAction::Rebuild | IndexAction::Enable => Ok(()),
        IndexAction::Disable => {
            Err(SqlError::unsupported("the index of a primary key cannot be disabled").at(name.position))
        }
        IndexAction::Repack => {
            let message = format!("index \"{}\" is not columnar", name.name);
            Err(SqlError::statement("42809", message).at(name.position))
        }
    }
}

fn alter_found(
    session: &mut Session,
    name: &ObjectName,
    table: TableId,
    index: &Index,
    action: &IndexAction,
) -> Result<(), SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let (id, state, columnar) = (index.id, index.state, index.is_columnar());
    let placed = |error: SqlError| error.at(name.position);
    match action {
        IndexAction::RenameTo(new_name) => {
            session.engine().alter_table(table, |catalog, before| {
                check_free(catalog, schema, new_name)?;
                let mut next = before.clone();
                for index in next.indexes.iter_mut().filter(|index| index.id == id) {
                    index.name = new_name.text.clone();
                }
                Ok::<_, SqlError>(next)
            })?;
            Ok(())
        }
        IndexAction::Storage(notices) => {
            session.notices(notices);
            Ok(())
        }
        IndexAction::Repack if !columnar => {
            let message = format!("index \"{}\" is not columnar", name.name);
            Err(placed(SqlError::statement("42809", message)))
        }
        IndexAction::Repack => {
            session.forget_snapshot();
            let task = session.task(format!("index {}", name.name), "rows");
            let repacked = session.engine().repack_index(id, &task);
            repacked.map(|_| ()).map_err(|error| {
                let gone = CatalogError::UnknownIndex {
                    name: name.name.clone(),
                };
                placed(repack_error(error, gone))
            })
        }
        IndexAction::Enable if state == IndexState::Ready => Ok(()),
        IndexAction::Rebuild | IndexAction::Enable => rebuild(session, id, &name.name).map_err(placed),
        IndexAction::Disable if state == IndexState::Disabled => Ok(()),
        IndexAction::Disable => {
            let disabled = session.engine().disable_index(id);
            disabled.map_err(|error| placed(error.into()))
        }
    }
}

/// Runs REINDEX INDEX.
pub(in crate::sql::ddl) fn reindex_index(session: &mut Session, name: &ObjectName) -> Result<(), SqlError> {
    alter_index(session, name, false, &IndexAction::Rebuild)
}

/// Runs REINDEX TABLE: rebuilds all indexes of a table but those that are disabled.
pub(in crate::sql::ddl) fn reindex_table(session: &mut Session, name: &ObjectName) -> Result<(), SqlError> {
    let table = session.table(name)?;
    for (id, index) in enabled(&table) {
        rebuild(session, id, &index).map_err(|error| error.at(name.position))?;
    }
    Ok(())
}

fn enabled(table: &Table) -> Vec<(IndexId, String)> {
    let enabled = table
        .indexes
        .iter()
        .filter(|index| index.state != IndexState::Disabled);
    enabled.map(|index| (index.id, index.name.clone())).collect()
}

fn rebuild(session: &mut Session, id: IndexId, name: &str) -> Result<(), SqlError> {
    let task = session.task(format!("index {name}"), "rows");
    let rebuilt = session.engine().rebuild_index(id, &task);
    rebuilt.map(|_| ()).map_err(index_error)
}
