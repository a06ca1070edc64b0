//! Ranges that hold one row key each: read by gets, which are cheaper than seeks.

use rukh_keys::ScanCounters;
use rukh_keys::{KeyLayout, KeyRange, MaskedCompare, prefix_successor};

/// Row keys to be read, in order.
pub(crate) struct Points {
    keys: std::vec::IntoIter<Vec<u8>>,
    counters: ScanCounters,
}

impl Points {
    /// Returns the keys of `ranges` if each holds exactly one; those that fail `masked` are left out.
    pub(crate) fn of(
        layout: &KeyLayout,
        ranges: &[KeyRange],
        masked: &MaskedCompare,
        reverse: bool,
    ) -> Option<Points> {
        let width = fixed_width(layout);
        if !ranges.iter().all(|range| is_point(range, width)) {
            return None;
        }
        let keys = ranges.iter().map(|range| &range.start);
        let mut keys: Vec<_> = keys.filter(|key| masked.matches(key)).cloned().collect();
        if reverse {
            keys.reverse();
        }
        let counters = ScanCounters {
            ranges: ranges.len() as u64,
            ..ScanCounters::default()
        };
        Some(Points {
            keys: keys.into_iter(),
            counters,
        })
    }

    /// Returns the next key, which counts as a seek.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let key = self.keys.next();
        self.counters.seeks += u64::from(key.is_some());
        key
    }

    /// Notes how many of the keys were there, and their bytes.
    pub(crate) fn found(&mut self, keys: u64, bytes: u64) {
        self.counters.keys_examined += keys;
        self.counters.bytes_read += bytes;
    }

    pub(crate) fn counters(&self) -> ScanCounters {
        self.counters
    }
}

/// Whether no other key than its start can lie in the range: the limit is the next byte string, or
/// all keys are of the start's length and the limit is the next of them.
fn is_point(range: &KeyRange, width: Option<usize>) -> bool {
    let KeyRange {
        start,
        limit: Some(limit),
    } = range
    else {
        return false;
    };
    let next = limit.len() == start.len() + 1 && limit.ends_with(&[0]) && limit.starts_with(start);
    next || (width == Some(start.len()) && prefix_successor(start).as_ref() == Some(limit))
}

/// Returns the length of the keys of a layout without columns of variable width.
fn fixed_width(layout: &KeyLayout) -> Option<usize> {
    let last = layout.columns().len().checked_sub(1)?;
    let field = layout.field(last)?;
    match field.bit {
        Some(_) => Some(field.offset + 1),
        None => Some(field.offset + field.width?),
    }
}
