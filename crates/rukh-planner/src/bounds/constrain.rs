//! From conjuncts to the spans of one key: what the key can narrow, and what that proves.
//!
//! 1. [`Knowledge`]: every conjunct as boxes over terms, whatever the key, and the box of all that
//!    pass. Nothing in it: no row, no key is read.
//! 2. The product of that box and of the conjuncts with several boxes, over the terms that the key
//!    knows of, bounded; a conjunct past the bound takes part with the hull of its boxes. Where all of it was
//!    made before, whatever the key, that is taken.
//! 3. [`project`]: boxes over terms become boxes over the elements of the key; the hash of a point
//!    is a point of a HASH element; terms that the key does not have are dropped. Boxes get the one form that
//!    their rows have (`decided`); many are only taken apart where they overlap and that helps (`overlap`).
//! 4. Spans of each box (`spans`).
//! 5. A conjunct is *proven*, and never checked again, if it is exact and every row in the spans
//!    passes it: the spans are exactly boxes it took part in, or the box that a span stands for lies
//!    in one of its boxes.

use std::borrow::Cow;
use std::sync::Arc;

use rukh_keys::{DataType, Datum, hash_datum};

use crate::bounds::decided::decided;
use crate::bounds::overlap::taken_apart;
use crate::bounds::ranges::range_count;
use crate::bounds::spans::{BoxSpans, SPANS_MAX, SpanOptions, spans_of_boxes};
use crate::conditions::boxes::{Boxes, Budget, TermBox, hull, simplify};
use crate::conditions::domain::{few_values, point, points};
use crate::conditions::interval::IntervalSet;
use crate::conditions::term::{TermId, TermTypes};
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::Query;
use crate::inputs::target::{Slot, Target};

/// Most subset tests made to prove one conjunct.
const PROOF_WORK_MAX: usize = 262_144;

/// Most values of a column that are hashed, whatever the statistics say: the seeks then take 40 ms
/// at most, reading all of a table that has grown since may take minutes.
const HASH_VALUES_MAX: usize = SPANS_MAX;

/// The spans of one key, and what they prove.
#[derive(Clone)]
pub(crate) struct Constraint {
    /// Empty if no row can pass.
    pub(crate) boxes: Vec<BoxSpans>,
    /// Per conjunct, whether it needs no further check.
    pub(crate) proven: Vec<bool>,
}

/// Finds the spans of a key. `given` has the conjuncts that hold for every entry of the source anyway.
pub(crate) fn constrain(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    given: &[bool],
    options: SpanOptions,
) -> Constraint {
    let nothing = || Constraint {
        boxes: Vec::new(),
        proven: vec![true; query.conjuncts.len()],
    };
    let start = knowledge.start(query);
    let slots = target.search_slots();
    let (boxes, mut included) = product_for_key(query, knowledge, start, slots);
    if boxes.is_empty() {
        return nothing();
    }
    let boxes = match options.expand {
        true => apart(paired_hashes(boxes, slots), slots, &mut included),
        false => Cow::Owned(vec![hull(&boxes)]),
    };
    let mut spans = spans_of_boxes(&boxes, slots, options);
    if range_count(&spans, target) > options.budget {
        let buckets = target.layout.salt().map_or(1, |salt| usize::from(salt.buckets));
        let budget = (options.budget / buckets).max(1);
        let mut boxes = boxes;
        if boxes.len() > budget {
            boxes = Cow::Owned(vec![hull(&boxes)]);
            let is_single = |conjunct: &Boxes| conjunct.list.len() < 2;
            included
                .iter_mut()
                .zip(&knowledge.conjuncts)
                .for_each(|(own, c)| *own &= is_single(c));
        }
        spans = spans_of_boxes(&boxes, slots, SpanOptions { budget, ..options });
    }
    let holds = |at: usize| {
        let conjunct = &knowledge.conjuncts[at];
        given[at] || (conjunct.exact && is_proven(conjunct, included[at] && options.expand, &spans))
    };
    let proven = (0..query.conjuncts.len()).map(holds).collect();
    Constraint { boxes: spans, proven }
}

/// Boxes in their one form, if that is little work; else those that overlap taken apart where that helps.
fn apart<'k>(boxes: Cow<'k, [TermBox]>, slots: &[Slot], included: &mut [bool]) -> Cow<'k, [TermBox]> {
    if boxes.len() < 2 {
        return boxes;
    }
    let Some(decided) = decided(&boxes, slots) else {
        return taken_apart(boxes, slots);
    };
    included.iter_mut().for_each(|own| *own &= decided.exact);
    Cow::Owned(decided.boxes)
}

/// Most boxes of a conjunct that are simplified once more where nothing else narrows them.
const SIMPLIFIED_MAX: usize = 1_000;

/// Intersects all conjuncts over the elements of a key; returns per conjunct whether each of the
/// resulting boxes lies in one of its own.
fn product_for_key<'k>(
    query: &Query<'_>,
    knowledge: &'k Knowledge,
    mut start: Vec<TermBox>,
    slots: &[Slot],
) -> (Cow<'k, [TermBox]>, Vec<bool>) {
    let budget = Budget::new();
    let whole = |boxes: &Boxes| {
        let in_key = |one: &TermBox| one.sets().iter().all(|(term, _)| has_term(slots, *term));
        boxes.list.iter().all(in_key)
    };
    let mut included: Vec<bool> = knowledge.conjuncts.iter().map(whole).collect();
    if let Some(product) = &knowledge.product {
        let product = budget.product(&start, product).unwrap_or_else(|| product.clone());
        let projected = product.into_iter().filter_map(|one| project(one, slots, query));
        return (Cow::Owned(simplify(projected.collect(), query)), included);
    }
    let concerns = |term| has_term(slots, term) || is_hashed(slots, term);
    let narrows = |one: &TermBox| one.retained(|term, _| concerns(term));
    start.iter_mut().for_each(|one| one.retain(concerns));
    let mut boxes: Cow<'k, [TermBox]> = Cow::Owned(simplify(start, query));
    let several = |at: &usize| knowledge.conjuncts[*at].list.len() > 1;
    let mut order: Vec<usize> = (0..knowledge.conjuncts.len()).filter(several).collect();
    order.sort_by_key(|at| knowledge.conjuncts[*at].list.len());
    for at in order {
        let list = &knowledge.conjuncts[at].list;
        // What is whole has been simplified before.
        let narrowing = match list
            .iter()
            .all(|one| one.sets().iter().all(|(term, _)| concerns(*term)))
        {
            true => Cow::Borrowed(list.as_slice()),
            false => Cow::Owned(simplify(list.iter().map(narrows).collect(), query)),
        };
        if narrowing.iter().any(TermBox::is_everything) {
            continue;
        }
        if let [one] = boxes.as_ref()
            && narrowing.iter().all(|narrow| narrow.is_subset(one))
        {
            // What two conditions of one conjunct leave may be less than its boxes say.
            boxes = match one.is_everything() || narrowing.len() > SIMPLIFIED_MAX {
                true => narrowing,
                false => Cow::Owned(simplify(narrowing.into_owned(), query)),
            };
            continue;
        }
        boxes = match budget.product(&boxes, &narrowing) {
            Some(product) => Cow::Owned(simplify(product, query)),
            None => {
                included[at] = false;
                let hull = hull(&narrowing);
                Cow::Owned(boxes.iter().filter_map(|one| one.intersect(&hull)).collect())
            }
        };
    }
    // Without a hash, nothing is left to be dropped from boxes, and nothing comes to them.
    if !slots.iter().any(|slot| slot.hash_of.is_some()) {
        return (boxes, included);
    }
    let projected = boxes
        .into_owned()
        .into_iter()
        .filter_map(|one| project(one, slots, query));
    (Cow::Owned(simplify(projected.collect(), query)), included)
}

fn has_term(slots: &[Slot], term: TermId) -> bool {
    slots.iter().any(|slot| slot.term == Some(term))
}

fn is_hashed(slots: &[Slot], term: TermId) -> bool {
    let is_its_hash = |slot: &Slot| {
        slot.hash_of
            .is_some_and(|(column, _)| TermId::column(column) == term)
    };
    slots.iter().any(is_its_hash)
}

/// Returns what a box says about the elements of a key; `None` if a hash contradicts its column.
pub(crate) fn project(mut one: TermBox, slots: &[Slot], types: &dyn TermTypes) -> Option<TermBox> {
    if !slots.iter().any(|slot| slot.hash_of.is_some()) {
        one.retain(|term| has_term(slots, term));
        return Some(one);
    }
    let mut projected = one.retained(|term, _| has_term(slots, term));
    for slot in slots {
        let (Some((column, bytes)), Some(term)) = (slot.hash_of, slot.term) else {
            continue;
        };
        let column = TermId::column(column);
        let hashing = Hashing::new(slots, slot, column);
        let Some(hashes) = hashed(&one, column, bytes, hashing, types) else {
            continue;
        };
        let set = match projected.get(term) {
            Some(set) => set.intersect(&hashes),
            None => hashes,
        };
        if set.is_empty() {
            return None;
        }
        projected.put(term, Some(Arc::new(set)));
    }
    Some(projected)
}

/// Which values of a column are hashed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hashing {
    /// Each value of an interval.
    Each,
    /// Values alone in their interval: the column lies before its hash, and an interval is one span.
    Points,
}

impl Hashing {
    /// The choice for the hash of a column in a key.
    fn new(slots: &[Slot], hash: &Slot, column: TermId) -> Hashing {
        let mut before = slots.iter().take_while(|slot| slot.term != hash.term);
        match before.any(|slot| slot.term == Some(column)) {
            true => Hashing::Points,
            false => Hashing::Each,
        }
    }

    /// The values of a column to hash, if they are few.
    fn values(self, ty: DataType, set: &IntervalSet) -> Option<Vec<Datum>> {
        match self {
            Hashing::Each => few_values(ty, set, HASH_VALUES_MAX),
            Hashing::Points if set.intervals().len() > HASH_VALUES_MAX => None,
            Hashing::Points => points(ty, set),
        }
    }
}

/// The hashes of a column's values, if it is constrained to few.
fn hashed(
    one: &TermBox,
    column: TermId,
    bytes: u8,
    hashing: Hashing,
    types: &dyn TermTypes,
) -> Option<IntervalSet> {
    let set = one.get(column)?;
    let hash_type = DataType::Binary(u32::from(bytes));
    let hash = |datum| point(hash_type, &hash_datum(&datum, bytes));
    let values = hashing.values(types.term_type(column)?.ty, set)?;
    let hashes: Vec<_> = values.into_iter().map(hash).collect();
    Some(IntervalSet::union(&hashes))
}

/// Where a key has both the hash of a column and the column, splits boxes so that each value stands
/// with its own hash only.
fn paired_hashes<'k>(boxes: Cow<'k, [TermBox]>, slots: &[Slot]) -> Cow<'k, [TermBox]> {
    let mut boxes = boxes;
    for slot in slots {
        let (Some((column, bytes)), Some(term)) = (slot.hash_of, slot.term) else {
            continue;
        };
        let Some(own) = slots.iter().find(|s| s.term == Some(TermId::column(column))) else {
            continue;
        };
        let column = TermId::column(column);
        let hashing = Hashing::new(slots, slot, column);
        let split = |one: &TermBox| split_by_hash(one, term, column, own.ty, bytes, hashing);
        let split: Vec<_> = boxes.iter().flat_map(split).collect();
        if split.len() <= SPANS_MAX {
            boxes = Cow::Owned(split);
        }
    }
    boxes
}

fn split_by_hash(
    one: &TermBox,
    hash: TermId,
    column: TermId,
    ty: DataType,
    bytes: u8,
    hashing: Hashing,
) -> Vec<TermBox> {
    let Some(values) = one
        .get(column)
        .and_then(|set| hashing.values(ty, set))
        .filter(|all| all.len() > 1)
    else {
        return vec![one.clone()];
    };
    let hash_type = DataType::Binary(u32::from(bytes));
    let pair = |value| {
        let mut pair = one.clone();
        let own = point(hash_type, &hash_datum(&value, bytes));
        let own = one
            .get(hash)
            .map_or_else(|| own.clone(), |set| set.intersect(&own));
        pair.put(hash, Some(Arc::new(own)));
        pair.put(column, Some(Arc::new(point(ty, &value))));
        pair
    };
    values
        .into_iter()
        .map(pair)
        .filter(|pair| pair.sets().iter().all(|(_, set)| !set.is_empty()))
        .collect()
}

/// Whether every row in the spans passes a conjunct.
fn is_proven(conjunct: &Boxes, included: bool, boxes: &[BoxSpans]) -> bool {
    let mut work = 0;
    boxes.iter().all(|spans| {
        (included && spans.exact)
            || conjunct.list.iter().any(|one| {
                work += 1;
                work <= PROOF_WORK_MAX && spans.proven().is_subset(one)
            })
    })
}
