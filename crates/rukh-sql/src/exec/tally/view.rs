//! `pg_stat_statements` as a role may see it: administrators all texts, others their own.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema};
use rukh_catalog::Catalog;

use super::entries::{Cost, Entry};
use rukh_error::SqlError;

/// The name of the view.
pub(crate) const NAME: &str = "pg_stat_statements";
/// The name of the function that forgets all.
pub(crate) const RESET: &str = "pg_stat_statements_reset";

/// Returns the rows of the view; `user` is the reading role, `None` for one that sees all.
pub(crate) fn rows(
    entries: &[Arc<Entry>],
    catalog: &Catalog,
    user: Option<&str>,
) -> Result<RecordBatch, SqlError> {
    let mut all: Vec<(&Entry, Cost)> = entries
        .iter()
        .map(|entry| (entry.as_ref(), entry.cost()))
        .filter(|(_, cost)| cost.calls > 0)
        .collect();
    all.sort_by(|(a, _), (b, _)| (&a.user, &a.text).cmp(&(&b.user, &b.text)));
    let is_shown = |entry: &Entry| user.is_none() || entry.user.as_deref() == user;
    let role = |entry: &Entry| {
        let role = catalog.role_named(entry.user.as_deref()?)?;
        i32::try_from(role.id.0).ok()
    };
    let text = |entry: &Entry| match is_shown(entry) {
        true => entry.text.clone(),
        false => "<insufficient privilege>".to_string(),
    };
    let ms = |value: &dyn Fn(&Cost) -> f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values(
            all.iter().map(|(_, cost)| value(cost)),
        ))
    };
    let count = |value: &dyn Fn(&Cost) -> u64| -> ArrayRef {
        let number = |(_, cost): &(&Entry, Cost)| i64::try_from(value(cost)).unwrap_or(i64::MAX);
        Arc::new(Int64Array::from_iter_values(all.iter().map(number)))
    };
    let entries = || all.iter().map(|(entry, _)| *entry);
    let columns: [(&str, ArrayRef); 12] = [
        ("userid", Arc::new(entries().map(role).collect::<Int32Array>())),
        (
            "dbid",
            Arc::new(entries().map(|_| Some(1)).collect::<Int32Array>()),
        ),
        (
            "queryid",
            Arc::new(
                entries()
                    .map(|entry| is_shown(entry).then_some(entry.id))
                    .collect::<Int64Array>(),
            ),
        ),
        (
            "query",
            Arc::new(StringArray::from_iter_values(entries().map(text))),
        ),
        ("calls", count(&|cost| cost.calls)),
        ("total_exec_time", ms(&|cost| cost.total_ms)),
        ("min_exec_time", ms(&|cost| cost.min_ms)),
        ("max_exec_time", ms(&|cost| cost.max_ms)),
        ("mean_exec_time", ms(&|cost| cost.total_ms / cost.calls as f64)),
        ("rows", count(&|cost| cost.rows)),
        (
            "plan",
            Arc::new(all.iter().map(|(_, cost)| cost.plan).collect::<StringArray>()),
        ),
        ("keys_examined", count(&|cost| cost.keys)),
    ];
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|(name, array)| (Field::new(name, array.data_type().clone(), true), array))
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays)
        .map_err(|error| SqlError::internal(error.to_string()))
}
