//! REPACK: blocks of what a columnar table or index has beside them.

use rukh_catalog::{CatalogError, Table};
use rukh_engine::{Engine, EngineError};
use rukh_kv::KvError;

use crate::sql::session::Session;
use rukh_error::SqlError;

/// Makes blocks of what a columnar table has beside them.
pub(super) fn repack(session: &mut Session, table: &Table) -> Result<(), SqlError> {
    if !table.is_columnar() {
        let message = format!("table \"{}\" is not columnar", table.name);
        return Err(SqlError::statement("42809", message));
    }
    // What the last statement saw need not stay, and nor need what has died since.
    session.forget_snapshot();
    let task = session.task(format!("table {}", table.name), "rows");
    let repacked = session.engine().repack_index(Engine::layout_id(table), &task);
    repacked.map(|_| ()).map_err(|error| {
        let gone = CatalogError::UnknownTable {
            name: table.name.clone(),
        };
        repack_error(error, gone)
    })
}

/// Returns the error of a repack, of what was dropped while it ran by its name.
pub(in crate::sql::ddl) fn repack_error(error: EngineError, gone: CatalogError) -> SqlError {
    match error {
        EngineError::Catalog(CatalogError::UnknownIndex { .. } | CatalogError::UnknownTable { .. })
        | EngineError::Kv(KvError::UnknownTable { .. }) => gone.into(),
        other => other.into(),
    }
}
