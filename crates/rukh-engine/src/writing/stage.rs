//! The one place that puts rows and their index entries into a batch.

use crate::EngineError;
use crate::forms::codec::FamilyCodec;
use crate::forms::entry::DELETED;
use crate::forms::maintain::{Maintainer, RowChange};
use crate::writing::unique::NetChange;
use rukh_keys::Datum;
use rukh_kv::WriteBatch;

/// Adds what `changes` do to the families of the table, then what `entries` do to each index.
///
/// Of a row that was there only families whose columns changed are written, or, if the row carries
/// times, all but those that live for a time of their own. Family 0 has every
/// row; another family has none of a row whose columns in it are all NULL.
pub(crate) fn stage(
    maintainer: &Maintainer,
    changes: &[RowChange<'_>],
    entries: &[Vec<NetChange>],
    batch: &mut WriteBatch,
) -> Result<(), EngineError> {
    let mut value = Vec::new();
    for change in changes {
        for (nth, family) in maintainer.codec.families.iter().enumerate() {
            let is_renewed = |family: &FamilyCodec| change.times.is_some() && family.is_renewed();
            let has_entry = |row: &[Datum]| nth == 0 || !family.is_absent(row);
            let had_entry = change.blind || change.old.is_some_and(has_entry);
            match (change.old, change.new) {
                (Some(old), Some(new)) if !is_renewed(family) && family.is_unchanged(old, new) => {}
                (_, Some(new)) if has_entry(new) => {
                    value.clear();
                    family.encode(new, change.times, &mut value)?;
                    batch.put(&family.storage, change.key, &value);
                }
                // A block may have the row still.
                _ if had_entry && maintainer.codec.blocks.is_some() => {
                    batch.put(&family.storage, change.key, DELETED);
                }
                _ if had_entry => batch.delete(&family.storage, change.key),
                _ => {}
            }
        }
    }
    for (index, changes) in maintainer.indexes.iter().zip(entries) {
        for change in changes {
            match &change.value {
                Some(value) => batch.put(&index.codec.storage, &change.key, value),
                // A block may have the entry still.
                None if index.codec.index.is_columnar() => {
                    batch.put(&index.codec.storage, &change.key, DELETED);
                }
                None => batch.delete(&index.codec.storage, &change.key),
            }
        }
    }
    Ok(())
}
