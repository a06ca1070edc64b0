//! BACKUP, CHECKPOINT, COMPACT, VACUUM, and what SHOW STATS shows of storage.

use std::path::Path;
use std::time::UNIX_EPOCH;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use rukh_catalog::Table;
use rukh_engine::{Engine, PartKind, StoredPart};
use rukh_keys::{DataType, Datum};
use rukh_kv::{Backup, Backups, TableUsage};
use rukh_syntax::{ObjectName, VacuumStatement};

use crate::exec::rows::Rows;
use crate::exec::text_batch::text_batch;
use crate::pg::show::{batch, texts};
use crate::sql::session::Session;
use crate::sql::statistics::analyze;
use rukh_error::SqlError;

/// Runs BACKUP DATABASE; returns what was added.
pub(crate) fn backup(session: &Session, directory: &str, keep: Option<usize>) -> Result<Rows, SqlError> {
    let directory = Path::new(directory);
    let backup = session.engine().backup(directory)?;
    if let Some(newest) = keep {
        Backups::open(directory)?.keep(newest)?;
    }
    Ok(Rows::ready(backup_rows(&[backup])?))
}

/// Runs SHOW BACKUPS.
pub(crate) fn backups(directory: &str) -> Result<RecordBatch, SqlError> {
    backup_rows(&Backups::open(directory)?.list())
}

fn backup_rows(backups: &[Backup]) -> Result<RecordBatch, SqlError> {
    batch([
        (
            "backup",
            numbers(backups.iter().map(|backup| u64::from(backup.id))),
        ),
        ("taken", texts(backups.iter().map(|backup| Some(taken(backup))))),
        ("bytes", numbers(backups.iter().map(|backup| backup.bytes))),
        (
            "files",
            numbers(backups.iter().map(|backup| u64::from(backup.files))),
        ),
    ])
}

/// Returns the time of a backup, in UTC.
fn taken(backup: &Backup) -> String {
    let since = backup.taken.duration_since(UNIX_EPOCH).unwrap_or_default();
    let micros = i64::try_from(since.as_micros()).unwrap_or(i64::MAX);
    DataType::TIMESTAMP_TZ.format_text(&Datum::Timestamp(micros))
}

/// Runs CHECKPOINT: flushes, or writes a copy.
pub(crate) fn checkpoint(session: &Session, directory: Option<&str>) -> Result<(), SqlError> {
    match directory {
        Some(directory) => session.engine().checkpoint(Path::new(directory))?,
        None => session.engine().flush()?,
    }
    Ok(())
}

/// Runs COMPACT. What the session's last statement saw need not stay for it.
pub(crate) fn compact(session: &mut Session, table: Option<&ObjectName>) -> Result<(), SqlError> {
    session.forget_snapshot();
    let table = table.map(|name| session.table(name)).transpose()?;
    let label = match &table {
        Some(table) => format!("compact {}", table.name),
        None => "compact".to_string(),
    };
    let task = session.task(label, "parts");
    Ok(session.engine().compact(table.map(|table| table.id), &task)?)
}

/// Runs VACUUM: storage tidies up by itself, so by itself it only looks whether the tables are there.
pub(crate) fn vacuum(session: &mut Session, vacuum: &VacuumStatement) -> Result<(), SqlError> {
    session.forget_snapshot();
    let named = vacuum.tables.iter().map(|name| session.table(name));
    let named = named.collect::<Result<Vec<_>, _>>()?;
    let tables = match vacuum.tables.is_empty() {
        true => session.catalog().tables().cloned().collect(),
        false => named,
    };
    for table in tables {
        if vacuum.full {
            let task = session.task(format!("compact {}", table.name), "parts");
            session.engine().compact(Some(table.id), &task)?;
        }
        if vacuum.analyze {
            analyze(session, &table)?;
        }
    }
    Ok(())
}

/// Runs SHOW STATS: one row for each table, further family, and index.
pub(crate) fn stats(engine: &Engine, table: Option<&Table>) -> Result<RecordBatch, SqlError> {
    let usage = engine.usage(table.map(|table| table.id))?;
    let part = |text: fn(&StoredPart) -> String| texts(usage.iter().map(|(part, _)| Some(text(part))));
    let number = |number: fn(&TableUsage) -> u64| numbers(usage.iter().map(|(_, usage)| number(usage)));
    batch([
        ("table", part(|part| part.table.name.clone())),
        ("name", part(|part| part.name.clone())),
        ("kind", part(|part| kind(part.kind).to_string())),
        ("storage", part(|part| part.storage.clone())),
        ("entries", number(|usage| usage.keys)),
        ("file_bytes", number(|usage| usage.file_bytes)),
        ("blob_bytes", number(|usage| usage.blob_bytes)),
        ("buffer_bytes", number(|usage| usage.buffer_bytes)),
        ("reader_bytes", number(|usage| usage.reader_bytes)),
        (
            "levels",
            texts(usage.iter().map(|(_, usage)| Some(levels(usage)))),
        ),
        ("debt_bytes", number(|usage| usage.debt_bytes)),
        ("stalls", number(|usage| usage.stalls)),
    ])
}

fn kind(kind: PartKind) -> &'static str {
    match kind {
        PartKind::Rows => "table",
        PartKind::Family => "family",
        PartKind::Index => "index",
        PartKind::History => "history",
    }
}

/// Returns the files of each level that has some: `0:3 6:12`.
fn levels(usage: &TableUsage) -> String {
    let levels = usage.level_files.iter().enumerate();
    let shown: Vec<String> = levels
        .filter(|(_, files)| **files > 0)
        .map(|(level, files)| format!("{level}:{files}"))
        .collect();
    shown.join(" ")
}

/// Runs SHOW DATABASE STATS.
pub(crate) fn database_stats(engine: &Engine) -> Result<RecordBatch, SqlError> {
    let usage = engine.store_usage()?;
    let rows = [
        ("cache_bytes", usage.cache_bytes.to_string()),
        ("cache_bytes_max", usage.cache_bytes_max.to_string()),
        ("buffer_bytes", usage.buffer_bytes.to_string()),
        ("buffer_bytes_max", usage.buffer_bytes_max.to_string()),
        ("log_bytes", usage.log_bytes.to_string()),
        ("flushes", usage.flushes.to_string()),
        ("compactions", usage.compactions.to_string()),
        ("snapshots", usage.snapshots.to_string()),
        (
            "delayed_bytes_per_second",
            usage.delayed_bytes_per_second.to_string(),
        ),
        ("writes_stopped", usage.writes_stopped.to_string()),
        ("background_errors", usage.background_errors.to_string()),
    ];
    let (names, values) = rows
        .into_iter()
        .map(|(name, value)| (name.to_string(), value))
        .unzip();
    text_batch(&["name", "value"], [names, values])
}

fn numbers(values: impl Iterator<Item = u64>) -> ArrayRef {
    std::sync::Arc::new(
        values
            .map(|value| Some(i64::try_from(value).unwrap_or(i64::MAX)))
            .collect::<Int64Array>(),
    )
}
