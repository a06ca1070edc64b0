//! A scan under way that needs less of what is ahead.

use super::{Driver, PATIENCE_MIN, Phase, Position, normal_form};
use rukh_keys::{KeyRange, MaskedCompare};

impl<P: Position> Driver<P> {
    /// Goes on with what of the ranges ahead lies in `ranges`, under another masked compare.
    pub(crate) fn narrow(&mut self, ranges: Vec<KeyRange>, masked: MaskedCompare) {
        let ahead = self.ahead();
        let ranges = normal_form(ranges);
        let mut common = Vec::new();
        let (mut own, mut other) = (ahead.iter().peekable(), ranges.iter().peekable());
        while let (Some(a), Some(b)) = (own.peek(), other.peek()) {
            let both = a.intersect(b);
            if !both.is_empty() {
                common.push(both);
            }
            match ends_first(a, b) {
                true => drop(own.next()),
                false => drop(other.next()),
            }
        }
        if self.reverse {
            common.reverse();
        }
        self.passed += if self.started { self.at as u64 + 1 } else { 0 };
        self.ranges = common;
        self.masked = (!masked.is_empty()).then_some(masked);
        self.at = 0;
        self.started = false;
        self.misses = 0;
        self.patience = PATIENCE_MIN;
        self.landed = false;
        self.phase = match self.phase {
            Phase::Done => Phase::Done,
            _ => Phase::Begin,
        };
    }

    /// Returns the keys ahead as ranges in ascending order.
    fn ahead(&self) -> Vec<KeyRange> {
        let key = self.position.key();
        let (first, from) = match self.phase {
            Phase::Done => (self.ranges.len(), None),
            Phase::Begin | Phase::Enter => (self.at, None),
            Phase::NextRange => (self.at + 1, None),
            Phase::Step if key.is_none() => (self.at + 1, None),
            Phase::Step => (self.at, key.map(|key| (key, false))),
            Phase::Examine | Phase::Leap => (self.at, key.map(|key| (key, true))),
        };
        let rest = self.ranges.get(first..).unwrap_or_default().iter();
        let mut ahead: Vec<KeyRange> = rest.cloned().collect();
        if let Some((key, included)) = from {
            let beyond = beyond(key, included, self.reverse);
            ahead
                .iter_mut()
                .for_each(|range| *range = range.intersect(&beyond));
            ahead.retain(|range| !range.is_empty());
        }
        if self.reverse {
            ahead.reverse();
        }
        ahead
    }
}

/// The keys behind one in scan order, perhaps with it.
fn beyond(key: &[u8], included: bool, reverse: bool) -> KeyRange {
    let mut edge = key.to_vec();
    // The edge lies before the key where a forward scan begins with it, else right behind it.
    if included == reverse {
        edge.push(0);
    }
    match reverse {
        true => KeyRange {
            start: Vec::new(),
            limit: Some(edge),
        },
        false => KeyRange {
            start: edge,
            limit: None,
        },
    }
}

fn ends_first(a: &KeyRange, b: &KeyRange) -> bool {
    match (&a.limit, &b.limit) {
        (Some(a), Some(b)) => a <= b,
        (limit, _) => limit.is_some(),
    }
}
