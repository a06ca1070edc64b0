//! How the entries of a scan are walked over: which are shown, and which are collected for lookups.

use super::plan::Place;
use super::{EntryFilter, Plan, RowView, ScanRequest};
use crate::EngineError;
use crate::reading::groups::{Groups, Next};
use crate::reading::lookup::Batch;
use crate::reading::merged::MergedCursor;
use rukh_keys::KeyRange;
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use std::ops::ControlFlow;

/// Which entries are shown.
pub(super) struct Choice {
    pub(super) filter: Option<EntryFilter>,
    pub(super) groups: Option<Groups>,
    pub(super) reverse: bool,
}

pub(super) fn open_cursor(
    plan: &Plan,
    kv: &dyn KvSnapshot,
    request: &ScanRequest,
) -> Result<Box<dyn KvCursor>, EngineError> {
    let spec = |ranges: &[KeyRange]| ScanSpec {
        ranges: ranges.to_vec(),
        masked: request.masked.clone(),
        reverse: request.reverse,
        limit: request
            .limit
            .filter(|_| request.entry_filter.is_none() && request.groups.is_none()),
        keys_only: !plan.values,
        read_ahead: false,
        cancel: request.cancel.clone(),
    };
    let open = |ranges: &[KeyRange]| kv.scan(plan.storage(), spec(ranges));
    let Some(parts) = &request.merge else {
        return Ok(open(&request.ranges)?);
    };
    let mut cursors = Vec::with_capacity(parts.len());
    for part in parts {
        cursors.push((open(&part.ranges)?, part.prefix));
    }
    Ok(Box::new(MergedCursor::new(cursors, request.reverse)))
}

/// Shows all entries that are left, as rows.
pub(super) fn visit_rows(
    cursor: &mut dyn KvCursor,
    plan: &Plan,
    visit: &mut dyn FnMut(&RowView<'_>) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let mut outcome = Ok(());
    cursor.for_each(&mut |key, value| {
        let place = plan.entry(key, value);
        outcome = place.and_then(|place| {
            visit(&RowView {
                plan,
                columns: &plan.columns,
                place,
            })
        });
        match outcome {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        }
    })?;
    outcome
}

/// Shows further entries that are chosen to `visit`, until it returns `false`.
pub(super) fn visit_entries(
    cursor: &mut dyn KvCursor,
    plan: &Plan,
    choice: &mut Choice,
    visit: &mut dyn FnMut(&RowView<'_>, &[u8]) -> Result<bool, EngineError>,
) -> Result<(), EngineError> {
    let Choice {
        filter,
        groups,
        reverse,
    } = choice;
    // What became of an entry: `None` if it does not pass the filter, else what `visit` says.
    let mut step = |key: &[u8], value: &[u8]| -> Result<Option<bool>, EngineError> {
        let mut view = RowView {
            plan,
            columns: &plan.entry_columns,
            place: plan.entry(key, value)?,
        };
        if let Some(filter) = filter
            && !filter(&view)?
        {
            return Ok(None);
        }
        view.columns = &plan.columns;
        visit(&view, value).map(Some)
    };
    let Some(groups) = groups else {
        let mut outcome = Ok(());
        cursor.for_each(&mut |key, value| match step(key, value) {
            Ok(None | Some(true)) => ControlFlow::Continue(()),
            Ok(Some(false)) => ControlFlow::Break(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        })?;
        return outcome;
    };
    while !groups.ended && visit_group_rows(cursor, plan, groups, *reverse, &mut step)? {
        groups.seek(cursor, *reverse)?;
    }
    Ok(())
}

/// Shows a row of each group up to one that is to be sought past: `true`; `false` if none is.
fn visit_group_rows(
    cursor: &mut dyn KvCursor,
    plan: &Plan,
    groups: &mut Groups,
    reverse: bool,
    step: &mut dyn FnMut(&[u8], &[u8]) -> Result<Option<bool>, EngineError>,
) -> Result<bool, EngineError> {
    let mut outcome = Ok(false);
    cursor.for_each(&mut |key, value| {
        let go_on = match groups.meet(key) {
            Next::Step => Ok(true),
            Next::Seek => {
                outcome = Ok(true);
                Ok(false)
            }
            Next::Look => match step(key, value) {
                Ok(None) => Ok(true),
                Ok(Some(more)) => match groups.shown(plan.layout(), key, reverse) {
                    Ok(seek) => {
                        outcome = Ok(seek && more);
                        Ok(more && !seek)
                    }
                    Err(error) => Err(plan.entry_corruption(key, error.into())),
                },
                Err(error) => Err(error),
            },
        };
        match go_on {
            Ok(true) => ControlFlow::Continue(()),
            Ok(false) => ControlFlow::Break(()),
            Err(error) => {
                outcome = Err(error);
                ControlFlow::Break(())
            }
        }
    })?;
    outcome
}

/// Collects entries into `batch` until it has `size`.
pub(super) fn collect(
    cursor: &mut dyn KvCursor,
    plan: &Plan,
    choice: &mut Choice,
    batch: &mut Batch,
    size: usize,
) -> Result<(), EngineError> {
    visit_entries(cursor, plan, choice, &mut |view, value| {
        match &view.place {
            Place::Row { key, .. } => batch.push_row(key, value),
            Place::Vectors { .. } => return Ok(true),
            Place::Entry { key, entry } => {
                let row_key = |out: &mut Vec<u8>| entry.row_key(&plan.codec, out);
                let index = plan.index.as_ref().expect("entries come from an index");
                batch
                    .push_entry(key, row_key)
                    .map_err(|e| index.corruption(key, e))?;
            }
        }
        Ok(batch.len() < size)
    })
}
