//! How a scan moves over an ordered table; shared by all stores.
//!
//! A store gives a [`Position`], something that can be sent to a key and stepped. The [`Driver`]
//! turns it into a cursor over the ranges of a [`ScanSpec`], in scan order (descending ranges when
//! the scan is reversed). Three rules keep it from reading what it does not need:
//!
//! 1. A range ends when a key past it is met. If that key lies in or beyond the next ranges, the
//!    ranges before it are empty and need no seek: `{1, 5, 9}` over the keys `{2, 9}` seeks once
//!    to 1, finds 2, seeks to 5, finds 9, which ends range 5 and is the answer of range 9.
//! 2. A range of one key ends with that key; no step is made to find out.
//! 3. A key that fails the masked compare is stepped over, [`PATIENCE_MIN`] times in a row; then
//!    the compare names the next key that could pass, and the position is sent there. Where that
//!    lands on a key that fails too, keys that could pass are no rarer than seeks are dear, and
//!    twice as many misses are suffered before the next one, up to [`PATIENCE_MAX`]; where it lands
//!    on one that passes, patience starts again at its least. So a range scan becomes a skip scan
//!    where the data says so, and stays a range scan where it does not.

use crate::{KeyValue, KvCursor, KvError, ScanSpec, ScanStats, Visit};
use rukh_keys::{Candidate, KeyRange, MaskedCompare};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

mod narrow;

/// Masked misses in a row that are stepped over before the first seek past them.
const PATIENCE_MIN: u32 = 4;
/// Masked misses in a row that are stepped over at most.
const PATIENCE_MAX: u32 = 64;
/// Keys between two looks at whether the scan is cancelled: well under a millisecond.
const CANCEL_STEP: u64 = 2048;

/// A place in an ordered table. Without a key, it is past either end or has met an error, which
/// `status` returns.
pub trait Position {
    /// Prepares for a range to be read next. Returns whether the position will show no key outside
    /// it, so that keys need not be compared with its ends.
    fn enter(&mut self, range: &KeyRange) -> Result<bool, KvError>;
    /// Moves to the first key not less than `key`.
    fn seek(&mut self, key: &[u8]);
    /// Moves to the last key less than `limit`, or the last of all.
    fn seek_before(&mut self, limit: Option<&[u8]>);
    /// Moves to the next greater key.
    fn next(&mut self);
    /// Moves to the next smaller key.
    fn prev(&mut self);
    /// Returns the key, if there is one here.
    fn key(&self) -> Option<&[u8]>;
    /// Returns the value of the key here; empty without a key.
    fn value(&self) -> &[u8];
    /// Returns the error that took the key away, if one did.
    fn status(&self) -> Result<(), KvError>;
}

/// Starts a scan of an ordered table that is not stored as one, but can be moved over.
pub fn scan_position<P: Position + Send + 'static>(
    spec: ScanSpec,
    position: P,
) -> Result<Box<dyn KvCursor>, KvError> {
    Ok(Box::new(Driver::new(spec, |_| Ok(position))?))
}

/// What is to be done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Go on with the first range.
    Begin,
    /// Go to the start of the current range.
    Enter,
    /// Look at the key the position is on.
    Examine,
    /// Step off the key the position is on.
    Step,
    /// Go on with the range after the current one.
    NextRange,
    /// The position is on a key past the current range: go on with the range it leads to.
    Leap,
    /// Nothing.
    Done,
}

/// A cursor over the ranges of a scan.
pub(crate) struct Driver<P> {
    position: P,
    /// In scan order. Invariant: none empty, sorted, disjoint.
    ranges: Vec<KeyRange>,
    at: usize,
    /// Ranges begun before the scan was narrowed.
    passed: u64,
    phase: Phase,
    /// Whether the position keeps to the current range by itself.
    bounded: bool,
    /// Whether the current range holds one key at most.
    one_key: bool,
    masked: Option<MaskedCompare>,
    reverse: bool,
    keys_only: bool,
    left: Option<u64>,
    /// Masked misses since the last seek or match.
    misses: u32,
    patience: u32,
    /// Whether the position was just sent here past masked misses.
    landed: bool,
    target: Vec<u8>,
    started: bool,
    stats: ScanStats,
    cancel: Option<Arc<AtomicBool>>,
}

impl<P: Position> Driver<P> {
    /// Makes a cursor. `position` is built from the ranges that are left of those of the scan, in
    /// ascending order: not empty, sorted and disjoint.
    pub(crate) fn new(
        spec: ScanSpec,
        position: impl FnOnce(&[KeyRange]) -> Result<P, KvError>,
    ) -> Result<Driver<P>, KvError> {
        let mut ranges = normal_form(spec.ranges);
        let position = position(&ranges)?;
        if spec.reverse {
            ranges.reverse();
        }
        Ok(Driver {
            position,
            phase: Phase::Begin,
            ranges,
            at: 0,
            passed: 0,
            bounded: false,
            one_key: false,
            masked: (!spec.masked.is_empty()).then_some(spec.masked),
            reverse: spec.reverse,
            keys_only: spec.keys_only,
            left: spec.limit,
            misses: 0,
            patience: PATIENCE_MIN,
            landed: false,
            target: Vec::new(),
            started: false,
            stats: ScanStats::default(),
            cancel: spec.cancel,
        })
    }

    /// Shows entries to `visit` until it breaks or none are left; returns whether none are left.
    pub(crate) fn drive(
        &mut self,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<bool, KvError> {
        if self.left == Some(0) {
            self.phase = Phase::Done;
        }
        loop {
            match self.phase {
                Phase::Step => self.step(),
                Phase::Examine => {
                    if self.examine(visit)?.is_break() {
                        return Ok(false);
                    }
                }
                Phase::Begin => self.go_to_range(0),
                Phase::Enter => self.enter()?,
                Phase::NextRange => self.go_to_range(self.at + 1),
                Phase::Leap => self.leap(),
                Phase::Done => return Ok(true),
            }
        }
    }

    /// Returns the entry that [`Driver::drive`] broke at; the value also where the scan reads keys
    /// only.
    pub(crate) fn here(&self) -> Option<(&[u8], &[u8])> {
        Some((self.position.key()?, self.position.value()))
    }

    /// Counts the entries that are left.
    pub(crate) fn count(&mut self) -> Result<u64, KvError> {
        let mut keys = 0;
        self.drive(&mut |_, _| {
            keys += 1;
            ControlFlow::Continue(())
        })?;
        Ok(keys)
    }

    fn step(&mut self) {
        if self.reverse {
            self.position.prev();
        } else {
            self.position.next();
        }
        self.phase = Phase::Examine;
    }

    /// Looks at the key here: shows it, or says how to go on.
    #[inline]
    fn examine(
        &mut self,
        visit: &mut impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, KvError> {
        let Some(key) = self.position.key() else {
            self.exhausted()?;
            return Ok(ControlFlow::Continue(()));
        };
        if !self.bounded && self.is_past(key) {
            self.phase = Phase::Leap;
            return Ok(ControlFlow::Continue(()));
        }
        self.stats.keys_examined += 1;
        if self.stats.keys_examined.is_multiple_of(CANCEL_STEP) && self.is_cancelled() {
            return Err(KvError::Cancelled);
        }
        if let Some(masked) = &self.masked {
            if !masked.matches(key) {
                self.miss()?;
                return Ok(ControlFlow::Continue(()));
            }
            self.misses = 0;
            if self.landed {
                self.landed = false;
                self.patience = PATIENCE_MIN;
            }
        }
        let value = if self.keys_only {
            &[]
        } else {
            self.position.value()
        };
        self.stats.bytes_read += (key.len() + value.len()) as u64;
        self.phase = after_match(&mut self.left, self.one_key);
        Ok(visit(key, value))
    }

    fn is_cancelled(&self) -> bool {
        self.cancel
            .as_ref()
            .is_some_and(|cancel| cancel.load(Ordering::Relaxed))
    }

    /// Deals with a position that has no key.
    fn exhausted(&mut self) -> Result<(), KvError> {
        self.position.status()?;
        // A bounded position has no key left in this range, an unbounded one in none to come.
        self.phase = if self.bounded {
            Phase::NextRange
        } else {
            Phase::Done
        };
        Ok(())
    }

    /// Deals with a key that failed the masked compare.
    fn miss(&mut self) -> Result<(), KvError> {
        self.stats.masked_misses += 1;
        self.misses += 1;
        if self.landed {
            self.landed = false;
            self.patience = (self.patience * 2).min(PATIENCE_MAX);
        }
        self.phase = Phase::Step;
        if self.misses < self.patience {
            Ok(())
        } else {
            self.skip()
        }
    }

    /// Sends the position from a failed key to the next one that could pass.
    fn skip(&mut self) -> Result<(), KvError> {
        let (Some(masked), Some(key)) = (&self.masked, self.position.key()) else {
            return Ok(());
        };
        let candidate = if self.reverse {
            masked.previous_candidate(key, &mut self.target)
        } else {
            masked.next_candidate(key, &mut self.target)
        };
        self.misses = 0;
        if matches!(candidate, Candidate::End) {
            self.phase = Phase::Done;
            return Ok(());
        }
        let at = self.at;
        if self.go_to_target()? {
            self.landed = self.at == at;
        }
        Ok(())
    }

    /// Leaves out the keys that come before `bound` in scan order.
    pub(crate) fn skip_to(&mut self, bound: &[u8]) -> Result<(), KvError> {
        let is_ahead = match self.phase {
            Phase::Step | Phase::NextRange => self.position.key().is_none_or(|key| match self.reverse {
                true => bound <= key,
                false => bound > key,
            }),
            Phase::Begin => !self.ranges.is_empty(),
            _ => false,
        };
        if is_ahead {
            self.target.clear();
            self.target.extend_from_slice(bound);
            self.misses = 0;
            self.landed = false;
            self.go_to_target()?;
        }
        Ok(())
    }

    /// Sends the position to the target, or to the first range that does not lie before it; `false`
    /// if all do.
    fn go_to_target(&mut self) -> Result<bool, KvError> {
        let reached = self.range_with(|range, driver| driver.lies_before(range, &driver.target));
        if reached != self.at || !self.started {
            // The way leads out of the range, and its end is the next thing to be met.
            self.go_to_range(reached);
            if self.phase == Phase::Done {
                return Ok(false);
            }
            self.started = true;
            self.bounded = self.position.enter(&self.ranges[self.at])?;
        }
        self.seek_to_target();
        Ok(true)
    }

    /// Returns whether `range` lies wholly before the seek target, in scan order.
    fn lies_before(&self, range: &KeyRange, target: &[u8]) -> bool {
        if self.reverse {
            range.start.as_slice() >= target
        } else {
            range.limit.as_deref().is_some_and(|limit| limit <= target)
        }
    }

    /// Seeks to the target, or to the beginning of the current range where that comes later.
    fn seek_to_target(&mut self) {
        let range = &self.ranges[self.at];
        self.stats.seeks += 1;
        self.phase = Phase::Examine;
        if self.reverse {
            let limit = range
                .limit
                .as_deref()
                .map_or(&self.target[..], |limit| limit.min(&self.target));
            self.position.seek_before(Some(limit));
        } else {
            self.position.seek(range.start.as_slice().max(&self.target));
        }
    }

    /// Sends the position to the beginning of the current range.
    fn enter(&mut self) -> Result<(), KvError> {
        let range = &self.ranges[self.at];
        self.started = true;
        self.stats.seeks += 1;
        self.bounded = self.position.enter(range)?;
        if self.reverse {
            self.position.seek_before(range.limit.as_deref());
        } else {
            self.position.seek(&range.start);
        }
        self.misses = 0;
        self.landed = false;
        self.phase = Phase::Examine;
        Ok(())
    }

    /// Makes a range the current one, or ends the scan when there is none.
    fn go_to_range(&mut self, at: usize) {
        if at < self.ranges.len() {
            self.at = at;
            self.one_key = is_one_key(&self.ranges[at]);
            self.phase = Phase::Enter;
        } else {
            self.phase = Phase::Done;
        }
    }

    /// From a key past the current range, goes to the range that holds it or comes next.
    fn leap(&mut self) {
        let Some(key) = self.position.key() else {
            self.phase = Phase::Examine;
            return;
        };
        let reached = self.range_with(|range, driver| driver.ends_before(range, key));
        let inside = self.ranges.get(reached).is_some_and(|range| range.contains(key));
        self.misses = 0;
        self.landed = false;
        self.go_to_range(reached);
        if inside {
            // An unbounded position is on the first key of the range already.
            self.phase = Phase::Examine;
        }
    }

    /// Returns whether a position on `key` is past `range`, in scan order.
    fn ends_before(&self, range: &KeyRange, key: &[u8]) -> bool {
        if self.reverse {
            key < range.start.as_slice()
        } else {
            range.limit.as_deref().is_some_and(|limit| limit <= key)
        }
    }

    #[inline]
    fn is_past(&self, key: &[u8]) -> bool {
        self.ends_before(&self.ranges[self.at], key)
    }

    /// Returns the first unfinished range from the current one on. The current one
    /// and the next are tried first: they are the usual answers.
    fn range_with(&self, done: impl Fn(&KeyRange, &Self) -> bool) -> usize {
        for at in self.at..self.ranges.len().min(self.at + 2) {
            if !done(&self.ranges[at], self) {
                return at;
            }
        }
        let rest = self.ranges.get(self.at + 2..).unwrap_or_default();
        self.ranges.len() - rest.len() + rest.partition_point(|range| done(range, self))
    }
}

impl<P: Position + Send> KvCursor for Driver<P> {
    fn next(&mut self) -> Result<Option<KeyValue<'_>>, KvError> {
        if self.drive(&mut |_, _| ControlFlow::Break(()))? {
            return Ok(None);
        }
        let value = if self.keys_only {
            &[]
        } else {
            self.position.value()
        };
        Ok(self.position.key().map(|key| KeyValue { key, value }))
    }

    fn for_each(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError> {
        self.drive(&mut |key, value| visit(key, value))
    }

    fn skip_to(&mut self, bound: &[u8]) -> Result<(), KvError> {
        Driver::skip_to(self, bound)
    }

    fn narrow(&mut self, ranges: Vec<KeyRange>, masked: MaskedCompare) -> bool {
        Driver::narrow(self, ranges, masked);
        true
    }

    fn stats(&self) -> ScanStats {
        ScanStats {
            ranges: self.passed + if self.started { self.at as u64 + 1 } else { 0 },
            ..self.stats
        }
    }
}

/// Says how to go on after a shown key, and counts it against the limit.
#[inline]
fn after_match(left: &mut Option<u64>, one_key: bool) -> Phase {
    if let Some(left) = left {
        *left -= 1;
        if *left == 0 {
            return Phase::Done;
        }
    }
    if one_key { Phase::NextRange } else { Phase::Step }
}

/// Returns whether only the start of the range lies in it: the limit is the start and a zero byte.
fn is_one_key(range: &KeyRange) -> bool {
    range.limit.as_deref().is_some_and(|limit| {
        limit.len() == range.start.len() + 1 && limit.last() == Some(&0) && limit.starts_with(&range.start)
    })
}

/// Returns the same set of keys as ranges that are not empty, sorted and disjoint.
fn normal_form(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.retain(|range| !range.is_empty());
    let in_order = |pair: &[KeyRange]| {
        pair[0]
            .limit
            .as_ref()
            .is_some_and(|limit| *limit <= pair[1].start)
    };
    if ranges.windows(2).all(in_order) {
        ranges
    } else {
        KeyRange::merge(ranges)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// A position over a set of one-byte keys that counts its steps.
    struct Keys {
        keys: BTreeSet<Vec<u8>>,
        here: Option<Vec<u8>>,
        steps: u32,
    }

    impl Position for Keys {
        fn enter(&mut self, _: &KeyRange) -> Result<bool, KvError> {
            Ok(false)
        }
        fn seek(&mut self, key: &[u8]) {
            self.here = self.keys.range(key.to_vec()..).next().cloned();
        }
        fn seek_before(&mut self, limit: Option<&[u8]>) {
            self.here = match limit {
                Some(limit) => self.keys.range(..limit.to_vec()).next_back().cloned(),
                None => self.keys.last().cloned(),
            };
        }
        fn next(&mut self) {
            self.steps += 1;
            let next = self.here.take().map(|mut key| {
                key.push(0);
                key
            });
            self.here = next.and_then(|key| self.keys.range(key..).next().cloned());
        }
        fn prev(&mut self) {
            self.steps += 1;
            self.here = self
                .here
                .take()
                .and_then(|key| self.keys.range(..key).next_back().cloned());
        }
        fn key(&self) -> Option<&[u8]> {
            self.here.as_deref()
        }
        fn value(&self) -> &[u8] {
            &[]
        }
        fn status(&self) -> Result<(), KvError> {
            Ok(())
        }
    }

    fn range(start: u8, limit: u8) -> KeyRange {
        KeyRange {
            start: vec![start],
            limit: Some(vec![limit]),
        }
    }

    fn one(key: u8) -> KeyRange {
        KeyRange::point(vec![key])
    }

    /// Scans and returns the keys shown, the stats and the number of steps.
    fn scan(keys: &[u8], spec: ScanSpec) -> (Vec<u8>, ScanStats, u32) {
        let keys = keys.iter().map(|key| vec![*key]).collect();
        let mut driver = Driver::new(spec, |_| {
            Ok(Keys {
                keys,
                here: None,
                steps: 0,
            })
        })
        .unwrap();
        let mut shown = Vec::new();
        while let Some(entry) = driver.next().unwrap() {
            shown.push(entry.key[0]);
        }
        let stats = driver.stats();
        (shown, stats, driver.position.steps)
    }

    #[test]
    fn ranges_found_empty_on_the_way_need_no_seek() {
        let ranges = vec![one(1), one(3), one(4), one(9)];
        let (shown, stats, steps) = scan(&[2, 9], ScanSpec::ranges(ranges.clone()));
        assert_eq!((shown, stats.seeks, stats.ranges, steps), (vec![9], 2, 4, 0));
        let (shown, stats, steps) = scan(&[2, 9], ScanSpec::ranges(ranges).reversed());
        assert_eq!((shown, stats.seeks, stats.ranges, steps), (vec![9], 3, 4, 0));
    }

    #[test]
    fn a_range_of_one_key_is_not_stepped_out_of() {
        let (shown, stats, steps) = scan(&[1, 2, 3], ScanSpec::ranges(vec![one(1), one(3)]));
        assert_eq!(
            (shown, stats.seeks, stats.keys_examined, steps),
            (vec![1, 3], 2, 2, 0)
        );
    }

    #[test]
    fn adjacent_ranges_are_one_walk() {
        let ranges = vec![range(1, 3), range(3, 5)];
        let (shown, stats, _) = scan(&[1, 2, 3, 4, 5], ScanSpec::ranges(ranges.clone()));
        assert_eq!((shown, stats.seeks), (vec![1, 2, 3, 4], 1));
        let (shown, stats, _) = scan(&[1, 2, 3, 4, 5], ScanSpec::ranges(ranges).reversed());
        assert_eq!((shown, stats.seeks), (vec![4, 3, 2, 1], 1));
    }

    #[test]
    fn a_limit_stops_the_scan() {
        let (shown, stats, steps) = scan(&[1, 2, 3], ScanSpec::all().limited(2));
        assert_eq!((shown, stats.keys_examined, steps), (vec![1, 2], 2, 1));
        let (shown, stats, _) = scan(&[1, 2, 3], ScanSpec::all().limited(0));
        assert_eq!((shown, stats), (vec![], ScanStats::default()));
    }

    #[test]
    fn no_ranges_give_no_keys() {
        let (shown, stats, _) = scan(&[1], ScanSpec::ranges(vec![range(5, 5), range(7, 6)]));
        assert_eq!((shown, stats), (vec![], ScanStats::default()));
    }

    #[test]
    fn ranges_come_into_normal_form() {
        let open = KeyRange {
            start: vec![8],
            limit: None,
        };
        let given = vec![
            range(5, 7),
            range(1, 3),
            range(2, 4),
            range(3, 3),
            open.clone(),
            range(9, 10),
        ];
        assert_eq!(normal_form(given), vec![range(1, 4), range(5, 7), open]);
        assert_eq!(
            normal_form(vec![range(1, 3), range(3, 5)]),
            vec![range(1, 3), range(3, 5)]
        );
    }
}
