//! Versions: what a table keeps of rows that are changed or removed.
//!
//! In the batch that ends it, an image goes to the history (`rukh_catalog::Table::history`): its values as they are,
//! under the key of the row with the time at which it ended. Nothing is decoded but the key, unless the history has
//! indexes: their entries are derived from image and key as those of a row are (`maintain`). The values say when they
//! were written, so an image stands from then to its end. An image that ended in the microsecond in which it began was
//! never seen by others, and is not kept.
//!
//! Of each row the newest images are kept, one less than the table says, beside the present one; what is too much goes
//! in the same batch, with its entries. Lifetimes bound the history, too, by the times in the values (`lifetime`).
//!
//! An image never changes, only families of it go, which no index reads. So the state of its entries follows from
//! whether it is there.

use crate::EngineError;
use crate::forms::codec::TableCodec;
use crate::forms::entry::KeyedRow;
use crate::forms::maintain::{Maintainer, RowChange};
use crate::forms::row;
use crate::reading::definitions::Definitions;
use crate::reading::lifetime::Live;
use crate::reading::lookup::fetch_values;
use crate::reading::snapshot::Snapshot;
use crate::state::shared::Inner;
use crate::writing::pending::CHUNK_ROWS;
use rukh_catalog::{Family, Table};
use rukh_keys::{Datum, KeyRange};
use rukh_kv::{Durability, KvSnapshot, ScanSpec, WriteBatch};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Bytes that the end of an image takes at the end of its key.
const END_LEN: usize = 8;

/// Images that are removed by one batch.
const REMOVED_TOGETHER: usize = 10_000;

/// Adds to a batch what the history keeps of rows that are changed or removed at `now`; returns by how many images it
/// grows.
pub(crate) fn keep_former(
    snapshot: &Snapshot,
    codec: &TableCodec,
    history: &Maintainer,
    changes: &[RowChange<'_>],
    now: i64,
    batch: &mut WriteBatch,
) -> Result<i64, EngineError> {
    debug_assert!(
        changes.iter().all(|change| !change.blind),
        "rows with versions are read before they are written"
    );
    let images = &history.codec;
    let kept = images.table.families.iter();
    let kept: Vec<u64> = kept.map(|family| kept_of(&images.table, family)).collect();
    let ended: Vec<Vec<u8>> = changes
        .iter()
        .filter(|change| change.old.is_some())
        .map(|change| change.key.to_vec())
        .collect();
    let mut grown = 0;
    for keys in ended.chunks(CHUNK_ROWS) {
        let mut families = Vec::with_capacity(codec.families.len());
        for family in &codec.families {
            families.push(fetch_values(snapshot.kv.as_ref(), &family.storage, keys)?);
        }
        let (mut ended, mut surplus) = (Vec::new(), Vec::new());
        for (nth, row_key) in keys.iter().enumerate() {
            let Some(value) = &families[0][nth] else { continue };
            let started = row::times(value).map_or(codec.since(), |times| times.written);
            if started >= now {
                continue;
            }
            let key = image_key(codec, images, row_key, now)?;
            for ((family, values), kept) in images.families.iter().zip(&families).zip(&kept) {
                if let Some(value) = values[nth].as_ref().filter(|_| *kept > 0) {
                    batch.put(&family.storage, &key, value);
                }
            }
            surplus.extend(forget_oldest(snapshot.kv.as_ref(), images, &key, &kept, batch)?);
            ended.push((key, value.as_slice()));
        }
        grown += ended.len() as i64 - surplus.len() as i64;
        put_entries(history, &ended, batch)?;
        delete_entries(snapshot.kv.as_ref(), history, surplus, batch)?;
    }
    Ok(grown)
}

/// Adds the entries of images to a batch, which are given with their values of family 0.
fn put_entries(
    history: &Maintainer,
    images: &[(Vec<u8>, &[u8])],
    batch: &mut WriteBatch,
) -> Result<(), EngineError> {
    visit_entries(history, images, &mut |storage, key, value| {
        batch.put(storage, key, value)
    })
}

/// Removes the entries of images, of which those that are not there have none.
fn delete_entries(
    kv: &dyn KvSnapshot,
    history: &Maintainer,
    images: Vec<Vec<u8>>,
    batch: &mut WriteBatch,
) -> Result<(), EngineError> {
    if history.indexes.is_empty() {
        return Ok(());
    }
    for keys in images.chunks(CHUNK_ROWS) {
        let values = fetch_values(kv, &history.codec.families[0].storage, keys)?;
        let images = keys.iter().zip(&values);
        let images = images.filter_map(|(key, value)| Some((key.clone(), value.as_deref()?)));
        let images: Vec<(Vec<u8>, &[u8])> = images.collect();
        visit_entries(history, &images, &mut |storage, key, _| {
            batch.delete(storage, key)
        })?;
    }
    Ok(())
}

/// Shows the entries of images in all indexes of the history: column family, key, value.
fn visit_entries(
    history: &Maintainer,
    images: &[(Vec<u8>, &[u8])],
    visit: &mut dyn FnMut(&str, &[u8], &[u8]),
) -> Result<(), EngineError> {
    if history.indexes.is_empty() {
        return Ok(());
    }
    // Indexes read columns of family 0 only.
    let decode = |(key, value): &(Vec<u8>, &[u8])| history.codec.decode_row(key, &[Some(value)]);
    let rows = images.iter().map(decode).collect::<Result<Vec<_>, _>>()?;
    let keyed = images.iter().zip(&rows).map(|((key, value), row)| KeyedRow {
        key,
        row,
        times: row::times(value),
    });
    let keyed: Vec<KeyedRow<'_>> = keyed.collect();
    for index in &history.indexes {
        index.visit_entries(&keyed, &mut |_, key, value| {
            visit(&index.codec.storage, key, value);
            Ok(())
        })?;
    }
    Ok(())
}

/// Returns the range of the keys that images of a row have.
pub(crate) fn images_of(
    codec: &TableCodec,
    history: &TableCodec,
    row_key: &[u8],
) -> Result<KeyRange, EngineError> {
    let mut key = image_key(codec, history, row_key, 0)?;
    key.truncate(key.len() - END_LEN);
    Ok(KeyRange::prefix(key))
}

/// Returns the key of the image of a row that ended at a time.
fn image_key(
    codec: &TableCodec,
    history: &TableCodec,
    row_key: &[u8],
    ended: i64,
) -> Result<Vec<u8>, EngineError> {
    let elements = codec.key.decode(row_key);
    let mut elements = elements.map_err(|error| codec.corruption(row_key, error.into()))?;
    elements.push(Datum::Timestamp(ended));
    Ok(history.key.encode(&elements)?)
}

/// How many former images of a row are kept.
fn kept(table: &Table) -> u64 {
    let versions = table.options.versions;
    versions.map_or(0, |versions| u64::from(versions.kept).saturating_sub(1))
}

/// How many former images of a row have values of a family.
fn kept_of(table: &Table, family: &Family) -> u64 {
    let versions = family.options.versions;
    versions.map_or(kept(table), |kept| u64::from(kept).saturating_sub(1))
}

/// Removes the oldest image of a row where another under `key` makes it one too many, from each family that keeps
/// so many. Returns the key of the image if nothing of it is left.
fn forget_oldest(
    kv: &dyn KvSnapshot,
    history: &TableCodec,
    key: &[u8],
    kept: &[u64],
    batch: &mut WriteBatch,
) -> Result<Option<Vec<u8>>, EngineError> {
    let of_row = KeyRange::prefix(key[..key.len() - END_LEN].to_vec());
    // No more are looked at than there may be: those that were removed lie behind them.
    let spec = ScanSpec::ranges(vec![of_row]).keys_only().limited(kept[0]);
    let (mut count, mut oldest) = (0, None);
    let mut cursor = kv.scan(&history.families[0].storage, spec)?;
    cursor.for_each(&mut |key, _| {
        count += 1;
        for (family, kept) in history.families.iter().zip(kept) {
            if *kept == count {
                batch.delete(&family.storage, key);
            }
        }
        if count == kept[0] {
            oldest = Some(key.to_vec());
        }
        ControlFlow::Continue(())
    })?;
    Ok(oldest)
}

impl Inner {
    /// Removes the images that are too many once a table keeps fewer, as `next` says. The caller holds the writer lock.
    ///
    /// Done with what stores that, and what does not fit into one batch before: there are never more images than a
    /// definition says. Returns the batch.
    pub(crate) fn forget_surplus(
        &self,
        before: &Arc<Definitions>,
        next: &Table,
    ) -> Result<WriteBatch, EngineError> {
        let Some(history) = before.history(next.id) else {
            return Ok(WriteBatch::new());
        };
        // Families that go take what they hold with them.
        let kept: Vec<(&str, u64)> = history
            .families
            .iter()
            .zip(&history.table.families)
            .filter_map(|(stored, family)| {
                let next_family = next.families.iter().find(|known| known.id == family.id)?;
                let (before, now) = (kept_of(&history.table, family), kept_of(next, next_family));
                (now < before).then_some((stored.storage.as_str(), now))
            })
            .collect();
        if next.options.versions.is_none() || kept.is_empty() {
            return Ok(WriteBatch::new());
        }
        let maintainer = self.maintainer(before, next.id.history())?;
        let storage = &history.families[0].storage;
        let of_images = kept.iter().find(|(kept, _)| kept == storage);
        let of_images = of_images.map_or(u64::MAX, |(_, kept)| *kept);
        // Expired images are not counted: whether storage has removed them yet must not be seen.
        let live = Live {
            kv: self.store.snapshot(),
            rules: before.lifetimes.clone(),
            now: self.clock.now(),
        };
        let mut cursor = live.scan(storage, ScanSpec::all().keys_only())?;
        let (mut row, mut count) = (Vec::new(), 0);
        loop {
            let (mut batch, mut surplus) = (WriteBatch::new(), Vec::new());
            let more = !cursor.for_each(&mut |key, _| {
                let of_row = &key[..key.len().saturating_sub(END_LEN)];
                if row != of_row {
                    row.clear();
                    row.extend_from_slice(of_row);
                    count = 0;
                }
                count += 1;
                for (storage, kept) in &kept {
                    if count > *kept {
                        batch.delete(storage, key);
                    }
                }
                if count > of_images {
                    surplus.push(key.to_vec());
                }
                match batch.len() < REMOVED_TOGETHER {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                }
            })?;
            delete_entries(&live, &maintainer, surplus, &mut batch)?;
            if !more {
                return Ok(batch);
            }
            self.store.write(batch, Durability::Synced)?;
        }
    }
}
