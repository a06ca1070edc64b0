//! What ANALYZE found, in the planner's words.
//!
//! Converted once per ANALYZE and definition of a table, and shared by all sessions of a database:
//! every planning asks for it. Statistics change by ANALYZE alone, which a load of many rows runs at
//! its end, so that the same history gives the same plans. But a table that has doubled since is not
//! taken for the small one that it was: its rows are then counted to the next power of two.

use rukh_catalog::Table;

use crate::exec::known_statistics::LOADED_MIN;
use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ANALYZE of a table, and of its history.
pub(crate) fn analyze(session: &Session, table: &Table) -> Result<(), SqlError> {
    let mut parts = vec![(table.name.clone(), table.id)];
    parts.extend(table.history().map(|history| (history.name, history.id)));
    for (name, id) in parts {
        let task = session.task(format!("analyze {name}"), "rows");
        session.engine().analyze(id, &task)?;
    }
    Ok(())
}

/// Analyzes a table after a load, if the rows loaded are many beside those that its statistics know of:
/// more than 1,000 and a fifth.
///
/// The rows are there whatever becomes of it: if it fails or is cancelled, a notice says so.
pub(crate) fn analyze_after_load(session: &mut Session, table: &Table, loaded: u64) {
    let known = session
        .engine()
        .statistics(table.id)
        .map_or(0, |known| known.rows);
    if session.is_in_block() || !session.settings.auto_analyze || loaded < LOADED_MIN + known / 5 {
        return;
    }
    let task = session.task(format!("analyze {}", table.name), "rows");
    if let Err(error) = session.engine().analyze(table.id, &task) {
        let message = format!("table \"{}\" was loaded but not analyzed: {error}", table.name);
        session.notice(Notice::warning(message));
    }
}
