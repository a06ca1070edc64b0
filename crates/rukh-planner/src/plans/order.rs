//! The order in which a path delivers rows.

use crate::bounds::spans::is_single_value;
use crate::conditions::boxes::TermBox;
use crate::conditions::term::{TermId, TermTypes};
use crate::inputs::query::{OrderKey, Query};
use crate::inputs::target::{Slot, Target};

/// The order of a path.
pub(crate) struct PathOrder {
    /// Whether to read backwards.
    pub(crate) reverse: bool,
    /// The order delivered: elements fixed to one value are left out.
    pub(crate) delivered: Vec<OrderKey>,
    /// Whether that is the wanted order.
    pub(crate) satisfied: bool,
}

/// Compares the wanted order with that of the key.
///
/// `sorted` means that ranges are read in key order (one bucket at most), `single` that there is one
/// row at most. Elements fixed to one value by `base` do not count, on either side.
///
/// | key            | condition | wanted order      | reads                           |
/// |----------------|-----------|-------------------|---------------------------------|
/// | (a, b)         | a = 1     | b                 | forward                         |
/// | (a, b)         |           | a DESC, b DESC    | backward                        |
/// | (a, b DESC)    |           | a DESC, b         | backward                        |
/// | (a, b)         |           | a, b DESC         | a sort is needed                |
/// | (a)            |           | a, c              | forward: the key is unique      |
/// | (a) nullable   |           | a NULLS FIRST     | a sort is needed: NULLs are last|
/// | (a) nullable   | a > 5     | a NULLS FIRST     | forward: there are no NULLs     |
pub(crate) fn path_order(
    query: &Query<'_>,
    target: &Target,
    base: &TermBox,
    sorted: bool,
    single: bool,
) -> PathOrder {
    let direction = required_direction(query, target, base);
    let satisfied = query.order.is_empty() || single || (sorted && direction.is_some());
    let reverse = sorted && direction == Some(Direction::Backward);
    let delivered = if sorted {
        delivered(query, target, base, 0, reverse)
    } else {
        Vec::new()
    };
    PathOrder {
        reverse,
        delivered,
        satisfied,
    }
}

/// A way to read a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Forward,
    Backward,
}

/// The direction that gives the wanted order, if one does.
pub(crate) fn required_direction(query: &Query<'_>, target: &Target, base: &TermBox) -> Option<Direction> {
    let mut direction = None;
    let mut at = 0;
    for key in query.order {
        if is_fixed(query, base, key.term) {
            continue;
        }
        at = next_open(query, target, base, at);
        let Some(slot) = target.slots.get(at).filter(|_| !is_past_unique(target, base, at)) else {
            // All of the key is in order: no two rows are equal so far.
            break;
        };
        let here = slot_direction(slot, key, base)?;
        if direction.is_some_and(|before| before != here) {
            return None;
        }
        direction = Some(here);
        at += 1;
    }
    Some(direction.unwrap_or(Direction::Forward))
}

/// The first element from `at` on that is not fixed to one value.
pub(crate) fn next_open(query: &Query<'_>, target: &Target, base: &TermBox, at: usize) -> usize {
    let is_open = |slot: &Slot| !slot.term.is_some_and(|term| is_fixed(query, base, term));
    let open = target.slots.iter().skip(at).position(is_open);
    open.map_or(target.slots.len(), |ahead| at + ahead)
}

/// Whether the elements before `at` name at most one row.
pub(crate) fn is_past_unique(target: &Target, base: &TermBox, at: usize) -> bool {
    let has_value = |slot: &Slot| !may_be_null(slot, base);
    target.unique && at >= target.searchable && target.search_slots().iter().all(has_value)
}

pub(crate) fn may_be_null(slot: &Slot, base: &TermBox) -> bool {
    slot.nullable
        && slot
            .term
            .and_then(|term| base.get(term))
            .is_none_or(|set| set.null)
}

pub(crate) fn is_fixed(types: &dyn TermTypes, base: &TermBox, term: TermId) -> bool {
    let ty = types.term_type(term);
    let set = base.get(term).zip(ty);
    set.is_some_and(|(set, ty)| is_single_value(set, ty.ty))
}

pub(crate) fn slot_direction(slot: &Slot, key: &OrderKey, base: &TermBox) -> Option<Direction> {
    let nulls_fit = !may_be_null(slot, base) || key.nulls_first == key.descending;
    if slot.term != Some(key.term) || !nulls_fit || slot.hash_of.is_some() {
        return None;
    }
    match slot.descending == key.descending {
        true => Some(Direction::Forward),
        false => Some(Direction::Backward),
    }
}

/// The order of keys by their elements from `first` on.
pub(crate) fn delivered(
    query: &Query<'_>,
    target: &Target,
    base: &TermBox,
    first: usize,
    reverse: bool,
) -> Vec<OrderKey> {
    let mut keys = Vec::new();
    for slot in &target.slots[first..] {
        let Some(term) = slot.term.filter(|_| slot.hash_of.is_none()) else {
            match slot.term.is_some_and(|term| is_fixed(query, base, term)) {
                true => continue,
                false => break,
            }
        };
        if !is_fixed(query, base, term) {
            let descending = slot.descending != reverse;
            keys.push(OrderKey {
                term,
                descending,
                nulls_first: descending,
            });
        }
    }
    keys
}
