//! The changes beside a block, shown among its rows: where they belong, which pass, and all of it in key order.
//!
//! Changes are tested by column, as blocks are. Where they belong is searched in the key columns of their block: among the rows that are left
//! after the tests, of which there are few more often than not; or, for a chunk that serves a second scan, among all rows, and then it is known from
//! there on.

use crate::EngineError;
use crate::columnar::caches::chunk::Place;
use crate::columnar::scans::beside::{ChangeSource, Taken};
use crate::columnar::scans::open::{Block, KeyColumns};
use crate::columnar::scans::scan::{BlockScan, within};
use crate::columnar::stored::error::corruption;
use crate::columnar::values::mask::{ones, selected};
use std::ops::Range;
use std::sync::Arc;

/// Rows of a block are many if they are one in so many at least.
const MANY_SHARE: usize = 2;

/// What is appended to a batch, in order.
enum Segment {
    /// Some of the rows selected.
    Rows(Range<usize>),
    /// A change that passed the tests.
    Change(usize),
}

/// Changes that are put in the place of the rows that they replace, among many others that are left.
struct Patches {
    /// These rows and the others, and the first to the last of them.
    rows: Vec<u32>,
    within: Range<usize>,
    /// By change, which of these rows it replaces.
    at: Vec<usize>,
}

impl Patches {
    /// Returns how changes are put among rows; `None` if one replaces none, or there are few rows.
    fn of(mask: &[u8], shown: Range<usize>, places: &[Place], passing: &[usize]) -> Option<Self> {
        let replaced = || passing.iter().map(|nth| places[*nth]);
        let has_place = |place: Place| place.replaced && shown.contains(&(place.row as usize));
        if passing.is_empty() || !replaced().all(has_place) {
            return None;
        }
        if ones(&mask[shown.clone()]) * MANY_SHARE < mask.len() {
            return None;
        }
        let mut all = mask.to_vec();
        replaced().for_each(|place| all[place.row as usize] = 1);
        let rows = selected(&all, shown);
        let mut next = 0;
        let at = replaced().map(|place| {
            next += rows[next..].partition_point(|row| *row < place.row);
            next
        });
        Some(Patches {
            at: at.collect(),
            within: within(Some(&rows), 0..0),
            rows,
        })
    }
}

impl BlockScan {
    /// Says where changes come from.
    pub(crate) fn change_source(&self) -> ChangeSource<'_> {
        let kept = self.kept.as_ref();
        ChangeSource {
            kv: self.kv.as_ref(),
            index: &self.index,
            wanted: &self.wanted,
            kept: kept.and_then(|(kept, _)| Some((kept.as_ref(), self.changes_of.as_ref()?))),
        }
    }

    /// Shows the rows of a block up to the last of these changes, or to its end, and the changes
    /// where they belong.
    pub(crate) fn merge(&mut self, block: &mut Block, taken: &Taken, more: bool) -> Result<(), EngineError> {
        let mut mask = block.mask.take().unwrap_or_else(|| vec![1; block.rows]);
        let known = match taken.was_kept {
            true => self.places(block, taken)?,
            false => None,
        };
        let places = match known {
            Some(places) => places,
            None => self.search_left(block, taken, &mask, more)?,
        };
        for place in places.iter().filter(|place| place.replaced) {
            mask[place.row as usize] = 0;
        }
        // Up to the last change, if others follow.
        let last = match self.reverse {
            false => places.last(),
            true => places.first(),
        };
        let last = last.map_or(0, |place| place.row as usize);
        let shown = match (self.reverse, more) {
            (_, false) => block.in_range(),
            (false, true) => block.next..last,
            (true, true) => last..block.end,
        };
        let passing = self.pass(taken);
        match self.columns.is_empty() {
            true => self.batch.rows += ones(&mask[shown.clone()]) + passing.len(),
            false => self.show_both(block, (&mask, shown.clone()), (taken, &places, &passing))?,
        }
        match self.reverse {
            false => block.next = shown.end,
            true => block.end = shown.start,
        }
        block.mask = Some(mask);
        Ok(())
    }

    /// Shows the rows that are left of some, and the changes that pass where they belong.
    fn show_both(
        &mut self,
        block: &mut Block,
        (mask, shown): (&[u8], Range<usize>),
        (taken, places, passing): (&Taken, &[Place], &[usize]),
    ) -> Result<(), EngineError> {
        let patches = match self.reverse {
            false => Patches::of(mask, shown.clone(), places, passing),
            true => None,
        };
        let mut rows = selected(mask, shown);
        if self.reverse {
            rows.reverse();
        }
        let mut segments = Vec::with_capacity(2 * passing.len() + 1);
        let mut next = 0;
        for nth in passing {
            let place = places[*nth].row;
            let before = rows[next..].partition_point(|row| (*row >= place) == self.reverse);
            segments.push(Segment::Rows(next..next + before));
            segments.push(Segment::Change(taken.changes.start + nth));
            next += before;
        }
        segments.push(Segment::Rows(next..rows.len()));
        let within = within(Some(&rows), 0..0);
        for nth in 0..self.columns.len() {
            let slot = self.columns[nth];
            let patches = patches.as_ref().filter(|_| self.batch.columns[nth].is_fixed());
            let needed = patches.map_or(&within, |patches| &patches.within);
            self.read_column(block, slot, needed.clone())?;
            let column = block.column(&self.index, slot)?;
            let out = &mut self.batch.columns[nth];
            let failed = |e| corruption(&self.index, &block.first_key, Some(slot), e);
            if let Some(patches) = patches {
                let start = out.len();
                match patches.within.len() == block.rows && patches.rows.len() == block.rows {
                    true => column.read_all(out).map_err(failed)?,
                    false => column.read_rows(&patches.rows, out).map_err(failed)?,
                }
                let changes = passing.iter().map(|at| taken.changes.start + at);
                let values = taken.chunk.column(slot);
                let mut each = patches.at.iter().zip(changes);
                each.try_for_each(|(at, change)| out.put(start + at, values, change))
                    .map_err(failed)?;
                continue;
            }
            if passing.is_empty() {
                column.read_rows(&rows, out).map_err(failed)?;
                continue;
            }
            // All at once, and then in turn with changes.
            let mut read = out.empty();
            column.read_rows(&rows, &mut read).map_err(failed)?;
            let changes = taken.chunk.column(slot);
            for segment in &segments {
                match segment {
                    Segment::Rows(some) => out.append(&read, some.clone()).map_err(failed)?,
                    Segment::Change(at) => out.push(&changes.datum(*at).map_err(failed)?)?,
                }
            }
        }
        self.batch.rows += rows.len() + passing.len();
        Ok(())
    }

    /// Shows changes that no block has rows beside.
    pub(crate) fn show_changes(&mut self, taken: &Taken) -> Result<(), EngineError> {
        let passing = self.pass(taken);
        for (nth, slot) in self.columns.iter().enumerate() {
            let (out, changes) = (&mut self.batch.columns[nth], taken.chunk.column(*slot));
            for at in &passing {
                let datum = changes.datum(taken.changes.start + at);
                out.push(&datum.map_err(|e| corruption(&self.index, &[], Some(*slot), e))?)?;
            }
        }
        self.batch.rows += passing.len();
        Ok(())
    }

    /// Returns which of some changes are entries that pass all tests, by their number among these, in the order of the scan.
    fn pass(&mut self, taken: &Taken) -> Vec<usize> {
        let count = taken.changes.len() as u64;
        self.counters.delta_rows += count;
        self.counters.keys_examined += count;
        let (mask, missed) = taken.chunk.passing(&self.tests, taken.changes.clone());
        self.counters.masked_misses += missed as u64;
        let mut passing: Vec<usize> = Vec::new();
        crate::columnar::values::mask::each(&mask, |at| passing.push(at));
        if self.reverse {
            passing.reverse();
        }
        passing
    }

    /// Searches the places of changes among the rows that are left of a block, or among all if these are not all its changes.
    fn search_left(
        &mut self,
        block: &mut Block,
        taken: &Taken,
        mask: &[u8],
        more: bool,
    ) -> Result<Vec<Place>, EngineError> {
        // Where these are all changes, only the rows that are left matter.
        let candidates = (!more).then(|| selected(mask, block.in_range()));
        let wanted = candidates.as_ref().map(|rows| within(Some(rows), 0..0));
        self.read_key_columns(block, wanted.unwrap_or(0..block.rows))?;
        let keys = KeyColumns::new(&self.index, block)?;
        let end = block.end;
        match &candidates {
            Some(rows) => {
                let row_at = |at: usize| rows.get(at).map_or(end, |row| *row as usize);
                search(&keys, taken, taken.changes.clone(), 0..rows.len(), row_at)
            }
            None => search(&keys, taken, taken.changes.clone(), block.next..end, |row| row),
        }
    }

    /// Returns the places of changes among all rows of a block, if they are known or its key columns are all kept.
    fn places(&self, block: &Block, taken: &Taken) -> Result<Option<Vec<Place>>, EngineError> {
        let Some(kept) = block.kept_block() else {
            return Ok(None);
        };
        let chunk = &taken.chunk;
        let known = match chunk.places(kept.identity()) {
            Some(known) => known,
            None => {
                let elements = self.index.layout.columns().len();
                let all = 0..block.rows;
                let Some(keys) = KeyColumns::of_kept(&self.index, kept, &all, elements)? else {
                    return Ok(None);
                };
                let start = chunk.first_from(0..chunk.len(), &block.first_key);
                let changes = start..chunk.first_behind(start..chunk.len(), &block.last_key);
                let places = search(&keys, taken, changes.clone(), all, |row| row)?;
                let places: Arc<[Place]> = places.into();
                chunk.place(kept.identity(), changes.clone(), &places);
                (changes, places)
            }
        };
        let (among, places) = known;
        let place = |change: usize| match change.checked_sub(among.start) {
            None => Place::before(block.next),
            Some(nth) => places
                .get(nth)
                .copied()
                .unwrap_or_else(|| Place::before(block.end)),
        };
        Ok(Some(taken.changes.clone().map(place).collect()))
    }
}

/// Searches the places of changes among rows, which ascend.
fn search(
    keys: &KeyColumns<'_>,
    taken: &Taken,
    changes: Range<usize>,
    mut left: Range<usize>,
    row_at: impl Fn(usize) -> usize,
) -> Result<Vec<Place>, EngineError> {
    let mut places = Vec::with_capacity(changes.len());
    for change in changes {
        let found = keys.search_by(left.clone(), &row_at, taken.chunk.key(change), None)?;
        left.start = found.unwrap_or_else(|at| at);
        places.push(Place {
            row: row_at(left.start) as u32,
            replaced: found.is_ok(),
        });
    }
    Ok(places)
}
