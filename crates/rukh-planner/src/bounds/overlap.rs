//! Boxes that overlap, taken apart so that spans can be exact.
//!
//! A box whose early elements are free, or wide, has no exact spans even if most of what it holds
//! lies in another box. What is left of it beside the other one may be a few points, which are
//! written out (on a key of INTEGER columns a, b, c):
//!
//! | condition                      | boxes                  | taken apart                  |
//! |--------------------------------|------------------------|------------------------------|
//! | `(a, b) <> (1, 2)`             | a <> 1; b <> 2         | a <> 1; a = 1, b <> 2        |
//! | `a > 1 OR a >= 1 AND b > 5`    | a > 1; a >= 1, b > 5   | a > 1; a = 1, b > 5          |
//! | `a = 1 OR b = 2`               | a = 1; b = 2           | the same: a <> 1 is wide     |

use std::borrow::Cow;
use std::sync::Arc;

use crate::bounds::spans::value_count;
use crate::conditions::boxes::TermBox;
use crate::conditions::interval::IntervalSet;
use crate::conditions::term::TermId;
use crate::inputs::target::Slot;

/// Most boxes of which each is compared with each.
const PAIRWISE_MAX: usize = 128;

/// Most values of an element that are written out to take a box apart.
const VALUES_MAX: usize = 64;

/// Takes boxes apart; the rows in them stay the same.
pub(crate) fn taken_apart<'k>(boxes: Cow<'k, [TermBox]>, slots: &[Slot]) -> Cow<'k, [TermBox]> {
    if boxes.len() < 2 || boxes.len() > PAIRWISE_MAX {
        return boxes;
    }
    let mut boxes = boxes.into_owned();
    for at in 0..boxes.len() {
        let mut one = boxes[at].clone();
        for slot in wide_slots(&one, slots) {
            let rests = boxes.iter().enumerate().filter(|(other, _)| *other != at);
            let rest = rests
                .filter_map(|(_, other)| rest_beside(&one, other, slot))
                .next();
            if let (Some(rest), Some(term)) = (rest, slot.term) {
                one.put(term, Some(Arc::new(rest)));
            }
        }
        boxes[at] = one;
    }
    Cow::Owned(boxes)
}

/// The elements before the last constrained one that have more values than can be written out.
fn wide_slots<'a>(one: &TermBox, slots: &'a [Slot]) -> impl Iterator<Item = &'a Slot> + use<'a> {
    let set = |slot: &Slot| slot.term.and_then(|term| one.get(term).cloned());
    let last = slots.iter().rposition(|slot| set(slot).is_some()).unwrap_or(0);
    let is_wide = |slot: &&Slot| slot.term.is_some() && set(slot).is_none_or(|set| !is_narrow(&set, slot));
    let wide: Vec<&Slot> = slots[..last].iter().filter(is_wide).collect();
    wide.into_iter()
}

/// What is left of a box along one element beside another box that holds it in all the others, if
/// that is few values.
fn rest_beside(one: &TermBox, other: &TermBox, slot: &Slot) -> Option<IntervalSet> {
    let term = slot.term?;
    let taken = other.get(term)?;
    let holds = |(own, set): &(TermId, Arc<IntervalSet>)| {
        *own == term || one.get(*own).is_some_and(|inner| inner.is_subset(set))
    };
    if !other.sets().iter().all(holds) {
        return None;
    }
    let rest = match one.get(term) {
        Some(set) => set.minus(taken),
        None => IntervalSet::everything(slot.nullable).minus(taken),
    };
    (!rest.is_empty() && is_narrow(&rest, slot)).then_some(rest)
}

fn is_narrow(set: &IntervalSet, slot: &Slot) -> bool {
    let counts = set
        .intervals()
        .iter()
        .map(|one| value_count(one, slot.ty, VALUES_MAX));
    let count: Option<usize> = counts.sum();
    count.is_some_and(|count| count <= VALUES_MAX)
}
