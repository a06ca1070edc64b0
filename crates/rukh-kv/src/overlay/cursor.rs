//! One scan of two: what a snapshot has, and the changes on top of it.
//!
//! Both sides scan the same ranges under the same masked compare in the same direction, which look
//! at keys only; so of a key that both show the change stands, and a deleted one hides the other.
//! What is merged into a value of the snapshot is folded when both are met.
//! Entries of the snapshot between two changes are handed on as they come, without being copied.

use super::{Claim, Kept, kept};
use crate::drive::Driver;
use crate::memory::RowsPosition;
use crate::{KeyValue, KvCursor, KvError, MergeOperator, ScanSpec, ScanStats, Visit, merge};
use std::cmp::Ordering;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The changes of a table, in scan order.
type Changes = Driver<RowsPosition<Arc<Claim>>>;

/// A cursor over a snapshot's entries with changes on top.
pub(super) struct MergeCursor {
    base: Box<dyn KvCursor>,
    own: Changes,
    own_at: At,
    operator: Option<Arc<dyn MergeOperator>>,
    /// The table, for errors.
    table: String,
    /// An entry of the base that was met and not shown yet.
    waiting: Option<Entry>,
    /// The entry of the base that has the key of the change that is to be shown.
    under: Option<Entry>,
    base_ended: bool,
    reverse: bool,
    keys_only: bool,
    left: Option<u64>,
    /// The entry that `next` showed.
    shown: Entry,
}

/// Where the changes stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// Before the next change.
    Before,
    /// On a change that is not shown yet.
    On,
    /// Behind the last.
    End,
}

#[derive(Debug, Default)]
struct Entry {
    key: Vec<u8>,
    value: Vec<u8>,
}

impl Entry {
    fn of(key: &[u8], value: &[u8]) -> Entry {
        Entry {
            key: key.to_vec(),
            value: value.to_vec(),
        }
    }

    fn set(&mut self, key: &[u8], value: &[u8]) {
        self.key.clear();
        self.key.extend_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(value);
    }
}

impl MergeCursor {
    /// Merges two scans that have no limit of their own.
    pub(super) fn new(
        base: Box<dyn KvCursor>,
        own: Changes,
        operator: Option<Arc<dyn MergeOperator>>,
        table: &str,
        spec: &ScanSpec,
    ) -> MergeCursor {
        MergeCursor {
            base,
            own,
            own_at: At::Before,
            operator,
            table: table.to_owned(),
            waiting: None,
            under: None,
            base_ended: false,
            reverse: spec.reverse,
            keys_only: spec.keys_only,
            left: spec.limit,
            shown: Entry::default(),
        }
    }

    fn drive(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError> {
        while self.left != Some(0) {
            if self.own_at == At::Before {
                let ended = self.own.drive(&mut |_, _| ControlFlow::Break(()))?;
                self.own_at = if ended { At::End } else { At::On };
            }
            let shown = match (self.next_change(), self.own_at) {
                (true, _) => self.show_change(visit)?,
                (false, At::End) if self.base_ended && self.waiting.is_none() => return Ok(true),
                (false, _) => self.show_base(visit)?,
            };
            if shown.is_break() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns whether the next entry is a change, and not one of the base that comes before it or
    /// has to be looked for.
    fn next_change(&mut self) -> bool {
        let (At::On, Some((key, _))) = (self.own_at, self.own.here()) else {
            return false;
        };
        let order = self
            .waiting
            .as_ref()
            .map(|waiting| order(self.reverse, &waiting.key, key));
        if order == Some(Ordering::Equal) {
            self.under = self.waiting.take();
        }
        match order {
            Some(order) => order.is_ge(),
            None => self.base_ended,
        }
    }

    fn show_change(&mut self, visit: &mut Visit<'_>) -> Result<ControlFlow<()>, KvError> {
        self.own_at = At::Before;
        let under = self.under.take();
        let Some((key, Some(change))) = self.own.here().map(|(key, bytes)| (key, kept(bytes))) else {
            return Ok(ControlFlow::Continue(()));
        };
        let folded;
        let value = match change {
            Kept::Deleted => return Ok(ControlFlow::Continue(())),
            _ if self.keys_only => &[],
            Kept::Value(value) => value,
            Kept::Merged(operand) => {
                let operator = self.operator.as_deref();
                let operator = operator.ok_or_else(|| merge::unfoldable(&self.table, key))?;
                let stored = under.as_ref().map(|entry| entry.value.as_slice());
                folded = merge::fold(operator, &self.table, key, stored, &[operand])?;
                &folded
            }
        };
        count_down(&mut self.left);
        Ok(visit(key, value))
    }

    /// Shows entries of the base up to the next change; the one that lies at or behind it waits.
    fn show_base(&mut self, visit: &mut Visit<'_>) -> Result<ControlFlow<()>, KvError> {
        if let Some(Entry { key, value }) = self.waiting.take() {
            count_down(&mut self.left);
            return Ok(visit(&key, &value));
        }
        let change = match self.own_at {
            At::On => self.own.here().map(|(key, _)| key),
            At::Before | At::End => None,
        };
        let (reverse, left, waiting) = (self.reverse, &mut self.left, &mut self.waiting);
        let mut flow = ControlFlow::Continue(());
        self.base_ended = self.base.for_each(&mut |key, value| {
            if change.is_some_and(|change| order(reverse, key, change).is_ge()) {
                *waiting = Some(Entry::of(key, value));
                return ControlFlow::Break(());
            }
            count_down(left);
            flow = visit(key, value);
            match *left {
                Some(0) => ControlFlow::Break(()),
                _ => flow,
            }
        })?;
        Ok(flow)
    }
}

impl KvCursor for MergeCursor {
    fn next(&mut self) -> Result<Option<KeyValue<'_>>, KvError> {
        let mut shown = std::mem::take(&mut self.shown);
        let ended = self.drive(&mut |key, value| {
            shown.set(key, value);
            ControlFlow::Break(())
        });
        self.shown = shown;
        let Entry { key, value } = &self.shown;
        Ok((!ended?).then_some(KeyValue { key, value }))
    }

    fn for_each(&mut self, visit: &mut Visit<'_>) -> Result<bool, KvError> {
        self.drive(visit)
    }

    fn skip_to(&mut self, bound: &[u8]) -> Result<(), KvError> {
        let reverse = self.reverse;
        let is_before = |key: &[u8]| match reverse {
            true => key >= bound,
            false => key < bound,
        };
        if self
            .waiting
            .as_ref()
            .is_none_or(|waiting| is_before(&waiting.key))
        {
            self.waiting = None;
            self.base.skip_to(bound)?;
        }
        match self.own_at {
            At::On if self.own.here().is_some_and(|(key, _)| is_before(key)) => {
                self.own_at = At::Before;
                self.own.skip_to(bound)?;
            }
            At::Before => self.own.skip_to(bound)?,
            At::On | At::End => {}
        }
        Ok(())
    }

    /// Adds up both sides, which walk the same ranges.
    fn stats(&self) -> ScanStats {
        let mut stats = self.base.stats();
        let ranges = stats.ranges;
        stats += self.own.stats();
        stats.ranges = ranges;
        stats
    }
}

/// Compares keys in scan order.
fn order(reverse: bool, a: &[u8], b: &[u8]) -> Ordering {
    if reverse { b.cmp(a) } else { a.cmp(b) }
}

fn count_down(left: &mut Option<u64>) {
    if let Some(left) = left {
        *left -= 1;
    }
}
