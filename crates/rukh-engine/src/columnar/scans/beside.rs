//! The changes beside the blocks of a range, in the order of a scan: chunks that are kept, and where there are none what storage has.
//!
//! A scan asks for the changes up to the end of the block it is about to show. What is read for this becomes a chunk: of all keys up to
//! the next change, so that blocks without changes have none of their own. It is kept if the state of the table is known.
//!
//! Deliberately not here: what is kept, and for how long (`chunks`).

use crate::EngineError;
use crate::columnar::caches::chunk::{Chunk, ChunkBuilder};
use crate::columnar::caches::chunks::{ChunksOf, Found};
use crate::columnar::caches::kept::KeptBlocks;
use crate::columnar::scans::changes::Change;
use crate::forms::entry::IndexCodec;
use rukh_keys::KeyRange;
use rukh_kv::{KvCursor, KvSnapshot, ScanSpec};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// Changes of a chunk, at most.
const CHANGES_MAX: usize = 4096;

/// Where changes come from.
pub(crate) struct ChangeSource<'s> {
    pub(crate) kv: &'s dyn KvSnapshot,
    pub(crate) index: &'s IndexCodec,
    /// By slot whether its column is wanted.
    pub(crate) wanted: &'s [bool],
    /// Where chunks are kept, and which ones are meant, if that is known.
    pub(crate) kept: Option<(&'s KeptBlocks, &'s ChunksOf)>,
}

/// Changes of a range being read.
pub(crate) struct Beside {
    /// What is left of the range, behind the present chunk.
    rest: Option<KeyRange>,
    reverse: bool,
    /// The present chunk, and what was not taken of it.
    chunk: Option<Taken>,
    stored: Option<Stored>,
}

/// Some changes of a chunk.
#[derive(Clone)]
pub(crate) struct Taken {
    pub(crate) chunk: Arc<Chunk>,
    pub(crate) changes: Range<usize>,
    /// Whether the chunk was cached: this request for it is at least the second.
    pub(crate) was_kept: bool,
}

/// Where the wanted changes end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Until<'k> {
    /// Up to a key.
    At(&'k [u8]),
    /// Before a key, in the order of the scan.
    Before(&'k [u8]),
}

impl Until<'_> {
    fn takes(self, key: &[u8], reverse: bool) -> bool {
        match (self, reverse) {
            (Until::At(end), false) => key <= end,
            (Until::At(end), true) => key >= end,
            (Until::Before(end), false) => key < end,
            (Until::Before(end), true) => key > end,
        }
    }

    /// Whether the wanted changes end before a range begins.
    fn is_before(self, rest: &KeyRange, reverse: bool) -> bool {
        let (Until::At(end) | Until::Before(end)) = self;
        match (reverse, &rest.limit) {
            (false, _) => !self.takes(&rest.start, reverse),
            (true, Some(limit)) => limit.as_slice() <= end,
            (true, None) => false,
        }
    }
}

/// Changes in storage.
struct Stored {
    cursor: Box<dyn KvCursor>,
    /// One that was read already.
    ahead: Option<Change>,
}

impl Beside {
    /// Begins to read the changes of a range, or none.
    pub(crate) fn new(range: Option<KeyRange>, reverse: bool) -> Self {
        Beside {
            rest: range.filter(|range| !range.is_empty()),
            reverse,
            chunk: None,
            stored: None,
        }
    }

    /// Takes the next changes up to a key, or all if there is none, as far as they come in one chunk; says whether others up to it follow.
    pub(crate) fn take(
        &mut self,
        source: &ChangeSource<'_>,
        until: Option<Until<'_>>,
    ) -> Result<(Option<Taken>, bool), EngineError> {
        if !self.has(source, until)? {
            return Ok((None, false));
        }
        let Some(present) = &mut self.chunk else {
            return Ok((None, false));
        };
        let left = present.changes.clone();
        let (chunk, all) = (&present.chunk, left.clone());
        let taken = match (until, self.reverse) {
            (None, _) => all,
            (Some(Until::At(end)), false) => left.start..chunk.first_behind(all, end),
            (Some(Until::Before(end)), false) => left.start..chunk.first_from(all, end),
            (Some(Until::At(end)), true) => chunk.first_from(all, end)..left.end,
            (Some(Until::Before(end)), true) => chunk.first_behind(all, end)..left.end,
        };
        present.changes = match self.reverse {
            false => taken.end..left.end,
            true => left.start..taken.start,
        };
        let taken = Taken {
            changes: taken,
            ..present.clone()
        };
        Ok((Some(taken), self.has(source, until)?))
    }

    /// Whether there are changes up to a key, or any if there is none.
    pub(crate) fn has(
        &mut self,
        source: &ChangeSource<'_>,
        until: Option<Until<'_>>,
    ) -> Result<bool, EngineError> {
        let reverse = self.reverse;
        loop {
            if let Some(present) = self.chunk.as_ref().filter(|present| !present.changes.is_empty()) {
                let Range { start, end } = present.changes;
                let next = present.chunk.key(if reverse { end - 1 } else { start });
                return Ok(until.is_none_or(|until| until.takes(next, reverse)));
            }
            let Some(rest) = self.rest.take() else {
                return Ok(false);
            };
            if until.is_some_and(|until| until.is_before(&rest, reverse)) {
                self.rest = Some(rest);
                return Ok(false);
            }
            let (chunk, was_kept) = self.next_chunk(source, &rest, until)?;
            self.chunk = Some(Taken {
                changes: chunk.within(&rest),
                was_kept,
                chunk: chunk.clone(),
            });
            self.rest = behind(rest, &chunk.range, reverse);
        }
    }

    /// Returns the chunk that has the first keys of what is left, and whether it was kept.
    fn next_chunk(
        &mut self,
        source: &ChangeSource<'_>,
        rest: &KeyRange,
        until: Option<Until<'_>>,
    ) -> Result<(Arc<Chunk>, bool), EngineError> {
        let Some((kept, of)) = source.kept else {
            let chunk = self.read(source, source.wanted, rest, until, None)?;
            return Ok((Arc::new(chunk), false));
        };
        let place = match self.reverse {
            false => Some(rest.start.as_slice()),
            true => rest.limit.as_deref(),
        };
        let mut wanted = source.wanted.to_vec();
        let bound = match kept.changes(of, place, self.reverse) {
            Found::Chunk(chunk) if chunk.has(source.wanted) => return Ok((chunk, true)),
            Found::Chunk(chunk) => {
                chunk.want(&mut wanted);
                match self.reverse {
                    false => chunk.range.limit.clone(),
                    true => Some(chunk.range.start.clone()),
                }
            }
            Found::Hole(next) => next,
        };
        let chunk = Arc::new(self.read(source, &wanted, rest, until, bound.as_deref())?);
        kept.keep_changes(of, &chunk, source.wanted);
        Ok((chunk, false))
    }

    /// Reads the changes from the beginning of what is left up to a key, not beyond a bound.
    fn read(
        &mut self,
        source: &ChangeSource<'_>,
        wanted: &[bool],
        rest: &KeyRange,
        until: Option<Until<'_>>,
        bound: Option<&[u8]>,
    ) -> Result<Chunk, EngineError> {
        let reverse = self.reverse;
        let stored = match &mut self.stored {
            Some(stored) => stored,
            None => {
                let spec = ScanSpec {
                    reverse,
                    ..ScanSpec::ranges(vec![rest.clone()])
                };
                self.stored.insert(Stored {
                    cursor: source.kv.scan(&source.index.storage, spec)?,
                    ahead: None,
                })
            }
        };
        stored.skip_to(rest, reverse)?;
        let is_wanted = |key: &[u8]| {
            let is_within = bound.is_none_or(|bound| (key < bound) != reverse);
            is_within && until.is_none_or(|until| until.takes(key, reverse))
        };
        let mut builder = ChunkBuilder::new(source.index, wanted);
        let next = match reverse {
            false => stored.read(rest, is_wanted, &mut |key, value| {
                builder.push(key, value)?;
                Ok(builder.len())
            })?,
            true => {
                let mut read: Vec<Change> = Vec::new();
                let next = stored.read(rest, is_wanted, &mut |key, value| {
                    read.push((key.to_vec(), value.to_vec()));
                    Ok(read.len())
                })?;
                for (key, value) in read.iter().rev() {
                    builder.push(key, value)?;
                }
                next
            }
        };
        let mut range = rest.clone();
        match reverse {
            false => {
                let ends = [next, bound.map(<[u8]>::to_vec)].into_iter().flatten();
                range.limit = ends.chain(range.limit).min();
            }
            true => {
                let behind = next.map(|mut key| {
                    key.push(0);
                    key
                });
                let starts = [behind, bound.map(<[u8]>::to_vec)].into_iter().flatten();
                range.start = starts.fold(range.start, Vec::max);
            }
        }
        Ok(builder.finish(range))
    }
}

/// Returns what of a range comes behind another one that has its beginning, or in reverse its end.
fn behind(rest: KeyRange, done: &KeyRange, reverse: bool) -> Option<KeyRange> {
    let rest = match reverse {
        false => KeyRange {
            start: done.limit.clone()?,
            ..rest
        },
        true => KeyRange {
            limit: Some(done.start.clone()),
            ..rest
        },
    };
    (!rest.is_empty()).then_some(rest)
}

impl Stored {
    /// Leaves out what comes before a range.
    fn skip_to(&mut self, range: &KeyRange, reverse: bool) -> Result<(), EngineError> {
        if self.ahead.as_ref().is_some_and(|(key, _)| range.contains(key)) {
            return Ok(());
        }
        self.ahead = None;
        match (reverse, &range.limit) {
            (false, _) => self.cursor.skip_to(&range.start)?,
            (true, Some(limit)) => self.cursor.skip_to(limit)?,
            (true, None) => {}
        }
        Ok(())
    }

    /// Passes the changes of a range to `show`, which returns how many it took, for as long as it takes all. Returns the key of
    /// the one that follows, if there is one.
    fn read(
        &mut self,
        range: &KeyRange,
        is_wanted: impl Fn(&[u8]) -> bool,
        show: &mut dyn FnMut(&[u8], &[u8]) -> Result<usize, EngineError>,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let mut seen = 0;
        if let Some((key, value)) = &self.ahead {
            if !is_wanted(key) {
                return Ok(Some(key.clone()));
            }
            seen = show(key, value)?;
            self.ahead = None;
        }
        let mut failed = None;
        let ahead = &mut self.ahead;
        self.cursor.for_each(&mut |key, value| {
            // A cursor need not skip keys outside of its ranges.
            if !range.contains(key) {
                return ControlFlow::Continue(());
            }
            if seen >= CHANGES_MAX || !is_wanted(key) {
                *ahead = Some((key.to_vec(), value.to_vec()));
                return ControlFlow::Break(());
            }
            match show(key, value) {
                Ok(shown) => {
                    seen = shown;
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok(self.ahead.as_ref().map(|(key, _)| key.clone())),
        }
    }
}
