//! What heads say of the first rows of some order before any block was read.
//!
//! A block has a row at its best value, and all of its rows at the last one or before it. So a few blocks have as many rows as are wanted, and a
//! place is known that all of these lie at or before: what lies behind that place is not wanted, wherever it is met. Counted is what is
//! in the range for sure:
//!
//! | a block                                   | counts                                              |
//! |-------------------------------------------|-----------------------------------------------------|
//! | that a range has a part of                | not at all                                          |
//! | of whose rows a test may refuse some      | not at all                                          |
//! | with changes beside it                    | without as many rows as there are changes: each of them may be gone |
//!
//! A scan that may give rows out in any order begins at that end of its ranges whose block has the better value: what it finds there keeps it from reading
//! the others, also where tests refuse rows and nothing is sure.
//!
//! Deliberately not here: which blocks are read (`first`, `scan`).

use crate::EngineError;
use crate::columnar::caches::heads::HeadList;
use crate::columnar::scans::first::{Best, Firsts, Place};
use crate::columnar::scans::scan::BlockScan;
use crate::columnar::scans::streams::Streams;
use crate::columnar::stored::head::BlockHead;
use rukh_keys::{KeyRange, prefix_successor};
use rukh_kv::ScanSpec;
use std::collections::HashMap;
use std::ops::{ControlFlow, Range};

/// Blocks whose changes are counted, at most.
const BLOCKS_MAX: usize = 64;

impl BlockScan {
    /// Has a scan for the first rows of one order begin at the end that has the better ones, as far as heads show.
    pub(crate) fn choose_end(&mut self) {
        let ([firsts], Some(list)) = (self.firsts.as_slice(), self.head_list()) else {
            return;
        };
        let number = self.index.blocks().expect("the index is columnar").numbers[firsts.slot];
        let within = self.ranges.as_slice().iter().map(|range| list.within(range));
        let within: Vec<Range<usize>> = within.filter(|places| !places.is_empty()).collect();
        let low = within.iter().map(|places| places.start).min();
        let high = within.iter().map(|places| places.end - 1).max();
        let best = |place: usize| {
            let known = list.at(place).column(number);
            known.map_or(Best::Unknown, |known| firsts.best(&known))
        };
        let (Some(low), Some(high)) = (low.map(best), high.map(best)) else {
            return;
        };
        let reverse = match self.reverse {
            false => high.is_better(&low),
            true => !low.is_better(&high),
        };
        if reverse != self.reverse {
            let ranges: Vec<KeyRange> = self.ranges.by_ref().rev().collect();
            self.ranges = ranges.into_iter();
            self.streams = Streams::new(reverse);
            self.reverse = reverse;
        }
    }

    /// Takes note of the first rows that the blocks at some places of a list surely have in a range.
    pub(crate) fn prime(
        &mut self,
        list: &HeadList,
        places: Range<usize>,
        range: &KeyRange,
    ) -> Result<(), EngineError> {
        for nth in 0..self.firsts.len() {
            if let Some(place) = self.sure_place(&self.firsts[nth], list, places.clone(), range)? {
                self.firsts[nth].be_sure(place);
            }
        }
        Ok(())
    }

    /// Returns a place that as many rows as are wanted lie at or before.
    fn sure_place(
        &self,
        firsts: &Firsts,
        list: &HeadList,
        places: Range<usize>,
        range: &KeyRange,
    ) -> Result<Option<Place>, EngineError> {
        let number = self.index.blocks().expect("the index is columnar").numbers[firsts.slot];
        let mut ends: Vec<(Place, usize, usize)> = Vec::new();
        for block in places {
            let head = list.at(block);
            if !is_within(head, range) || !self.takes_all(head) {
                continue;
            }
            let known = head.column(number);
            let known = known.map(|known| firsts.places(&known)).unwrap_or_default();
            ends.extend(known.into_iter().map(|(place, rows)| (place, rows, block)));
        }
        ends.sort_unstable();
        // By block the changes beside it, and its rows that were counted.
        let mut counted: HashMap<usize, (usize, usize)> = HashMap::new();
        let mut sum = 0;
        for (place, rows, block) in ends {
            if counted.len() == BLOCKS_MAX && !counted.contains_key(&block) {
                break;
            }
            let (changes, before) = match counted.get(&block) {
                Some(counted) => *counted,
                None => (self.changes_beside(list.at(block))?, 0),
            };
            let now = rows.saturating_sub(changes).max(before);
            counted.insert(block, (changes, now));
            sum += now - before;
            if sum >= firsts.count() {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    /// Whether all rows of a block pass the tests.
    fn takes_all(&self, head: &BlockHead) -> bool {
        let blocks = self.index.blocks().expect("the index is columnar");
        self.tests
            .iter()
            .all(|(slot, test)| match head.column(blocks.numbers[*slot]) {
                Some(known) => known.holds(test),
                None => test.takes(blocks.types[*slot], &blocks.missing[*slot].as_ref()),
            })
    }

    /// Counts the changes among the keys of a block, as far as it has rows.
    fn changes_beside(&self, head: &BlockHead) -> Result<usize, EngineError> {
        if !self.changes {
            return Ok(0);
        }
        let keys = KeyRange {
            start: head.first_key().to_vec(),
            limit: prefix_successor(head.last_key()),
        };
        let mut cursor = self
            .kv
            .scan(&self.index.storage, ScanSpec::ranges(vec![keys]).keys_only())?;
        let mut changes = 0;
        cursor.for_each(&mut |_, _| {
            changes += 1;
            match changes < head.rows {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        Ok(changes)
    }
}

/// Whether all rows of a block are in a range.
fn is_within(head: &BlockHead, range: &KeyRange) -> bool {
    let ends_within = range
        .limit
        .as_ref()
        .is_none_or(|limit| head.last_key() < limit.as_slice());
    head.first_key() >= range.start.as_slice() && ends_within
}
