//! Repair of a damaged database, with the functions that indexes use.

use std::sync::Arc;

use rukh_engine::Repair;
use rukh_kv::{KvError, KvStore};

use crate::bind::types::expressions::Functions;
use rukh_error::SqlError;

/// Copies what can be read of a damaged database into an empty store, see [`rukh_engine::repair`].
pub fn repair(source: &dyn KvStore, target: Arc<dyn KvStore>) -> Result<Repair, SqlError> {
    Ok(rukh_engine::repair(source, target, Arc::new(Functions))?)
}

/// Makes an error of a store that could not be opened for a damaged log; `salvaged` has what can be read of it, if that
/// could be opened, and names the owner of the storage.
pub fn damaged_log(error: KvError, salvaged: Option<&dyn KvStore>) -> SqlError {
    let owner = match (&error, salvaged) {
        (
            KvError::DamagedLog {
                table: Some(table), ..
            },
            Some(store),
        ) => rukh_engine::owner_of_storage(store, table).ok().flatten(),
        _ => None,
    };
    let error = SqlError::from(error);
    match owner {
        Some(owner) => error.with_detail(format!("That is {owner}.")),
        None => error,
    }
}
