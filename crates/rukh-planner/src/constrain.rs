//! From conjuncts to the spans of one key: what the key can narrow, and what that proves.
//!
//! 1. [`Knowledge`]: every conjunct as boxes over terms, whatever the key. Conjuncts of one box
//!    are intersected into a *base* box; the others are cut down by it (arms that contradict it go,
//!    terms it implies go). No box left: no row, no key is read.
//! 2. [`project`]: boxes over terms become boxes over the elements of the key; the hash of a point
//!    is a point of a HASH element; terms that the key does not have are dropped.
//! 3. The product of the base and of the conjuncts with several boxes, bounded; a conjunct past the
//!    bound takes part with the hull of its boxes.
//! 4. Spans of each box (`spans`).
//! 5. A conjunct is *proven*, and never checked again, if it is exact and every row in the spans
//!    passes it: the spans are exactly boxes it took part in, or the box that a span stands for lies
//!    in one of its boxes.

use std::sync::Arc;

use rukh_keys::hash_datum;

use crate::boxes::{Boxes, Budget, TermBox, hull, simplify};
use crate::domain::{point, points};
use crate::interval::IntervalSet;
use crate::lower::lower;
use crate::query::Query;
use crate::ranges::range_count;
use crate::spans::{BoxSpans, SPANS_MAX, SpanOptions, spans_of_boxes};
use crate::target::{Slot, Target};
use crate::term::{TermId, TermTypes};

/// Most subset tests made to prove one conjunct.
const PROOF_WORK_MAX: usize = 262_144;

/// Most times that the conjuncts are cut down by what they say together.
const CUT_DOWN_PASSES_MAX: usize = 8;

/// Most points of a column that are hashed.
const HASH_POINTS_MAX: usize = SPANS_MAX;

/// What the conjuncts say, whatever the key.
pub(crate) struct Knowledge {
    /// The boxes of each conjunct, given that all the others hold.
    pub(crate) conjuncts: Vec<Boxes>,
    /// The intersection of the conjuncts that are one box; `None` if no row can pass.
    pub(crate) base: Option<TermBox>,
}

impl Knowledge {
    pub(crate) fn of(query: &Query<'_>) -> Knowledge {
        let conjuncts = query
            .conjuncts
            .iter()
            .map(|conjunct| lower(conjunct, query))
            .collect();
        let mut knowledge = Knowledge {
            conjuncts,
            base: Some(TermBox::everything()),
        };
        knowledge.intersect_single();
        for _ in 0..CUT_DOWN_PASSES_MAX {
            if !knowledge.cut_down(query) {
                break;
            }
        }
        knowledge
    }

    /// Intersects the conjuncts of one box into the base.
    fn intersect_single(&mut self) {
        for conjunct in &self.conjuncts {
            self.base = match (&self.base, conjunct.list.as_slice()) {
                (Some(base), [one]) => base.intersect(one),
                (_, []) => None,
                (base, _) => base.clone(),
            };
        }
    }

    /// Cuts the other conjuncts down by the base; `true` if one became a single box, which then is
    /// in the base.
    ///
    /// A conjunct is cut down by those that were in the base before it only, so none is taken for
    /// granted on the strength of itself.
    fn cut_down(&mut self, query: &Query<'_>) -> bool {
        let mut grown = false;
        for conjunct in self
            .conjuncts
            .iter_mut()
            .filter(|conjunct| conjunct.list.len() > 1)
        {
            let Some(base) = &self.base else { return false };
            let open = |one: &TermBox| one.retained(|term, set| !implied(base, term, set));
            let possible = conjunct.list.iter().filter(|one| one.intersect(base).is_some());
            conjunct.list = simplify(possible.map(open).collect(), query);
            match conjunct.list.as_slice() {
                [] => self.base = None,
                [one] => {
                    self.base = base.intersect(one);
                    grown = true;
                }
                _ => {}
            }
        }
        grown
    }
}

fn implied(base: &TermBox, term: TermId, set: &IntervalSet) -> bool {
    base.get(term).is_some_and(|base| base.is_subset(set))
}

/// The spans of one key, and what they prove.
pub(crate) struct Constraint {
    /// Empty if no row can pass.
    pub(crate) boxes: Vec<BoxSpans>,
    /// Per conjunct, whether it needs no further check.
    pub(crate) proven: Vec<bool>,
}

/// Finds the spans of a key. `given` tells conjuncts that hold for every entry of the source anyway.
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
    let Some(base) = &knowledge.base else {
        return nothing();
    };
    let slots = target.search_slots();
    let (boxes, mut included) = product_for_key(query, knowledge, base, slots);
    if boxes.is_empty() {
        return nothing();
    }
    let boxes = match options.expand {
        true => paired_hashes(boxes, slots),
        false => vec![hull(&boxes)],
    };
    let mut spans = spans_of_boxes(&boxes, slots, options);
    if range_count(&spans, target) > options.budget {
        let buckets = target.layout.salt().map_or(1, |salt| usize::from(salt.buckets));
        let budget = (options.budget / buckets).max(1);
        let mut boxes = boxes;
        if boxes.len() > budget {
            boxes = vec![hull(&boxes)];
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

/// Intersects all conjuncts over the elements of a key; tells per conjunct whether each of the
/// resulting boxes lies in one of its own.
fn product_for_key(
    query: &Query<'_>,
    knowledge: &Knowledge,
    base: &TermBox,
    slots: &[Slot],
) -> (Vec<TermBox>, Vec<bool>) {
    let budget = Budget::new();
    let whole = |boxes: &Boxes| {
        boxes
            .list
            .iter()
            .all(|one| one.sets().iter().all(|(t, _)| has_term(slots, *t)))
    };
    let mut included: Vec<bool> = knowledge.conjuncts.iter().map(whole).collect();
    let mut boxes = vec![project(base, slots, query)];
    let several = |at: &usize| knowledge.conjuncts[*at].list.len() > 1;
    let mut order: Vec<usize> = (0..knowledge.conjuncts.len()).filter(several).collect();
    order.sort_by_key(|at| knowledge.conjuncts[*at].list.len());
    for at in order {
        let projected = knowledge.conjuncts[at]
            .list
            .iter()
            .map(|one| project(one, slots, query));
        let projected = simplify(projected.collect(), query);
        if projected.iter().any(TermBox::is_everything) {
            continue;
        }
        boxes = match budget.product(&boxes, &projected) {
            Some(product) => simplify(product, query),
            None => {
                included[at] = false;
                let hull = hull(&projected);
                boxes.iter().filter_map(|one| one.intersect(&hull)).collect()
            }
        };
    }
    (boxes, included)
}

fn has_term(slots: &[Slot], term: TermId) -> bool {
    slots.iter().any(|slot| slot.term == Some(term))
}

/// Returns what a box says about the elements of a key.
pub(crate) fn project(one: &TermBox, slots: &[Slot], types: &dyn TermTypes) -> TermBox {
    let mut projected = one.retained(|term, _| has_term(slots, term));
    for slot in slots {
        let (Some((column, bytes)), Some(term)) = (slot.hash_of, slot.term) else {
            continue;
        };
        let Some(hashes) = hashed(one, TermId::column(column), bytes, types) else {
            continue;
        };
        let set = match projected.get(term) {
            Some(set) => set.intersect(&hashes),
            None => hashes,
        };
        projected.put(term, Some(Arc::new(set)));
    }
    projected
}

/// The hashes of a column's values, if it is constrained to points.
fn hashed(one: &TermBox, column: TermId, bytes: u8, types: &dyn TermTypes) -> Option<IntervalSet> {
    let set = one.get(column)?;
    if set.intervals().len() > HASH_POINTS_MAX {
        return None;
    }
    let hash_type = rukh_keys::DataType::Binary(u32::from(bytes));
    let hash = |datum| point(hash_type, &hash_datum(&datum, bytes));
    let hashes: Vec<_> = points(types.term_type(column)?.ty, set)?
        .into_iter()
        .map(hash)
        .collect();
    Some(IntervalSet::union(&hashes))
}

/// Where a key has both the hash of a column and the column, splits boxes so that each value stands
/// with its own hash only.
fn paired_hashes(boxes: Vec<TermBox>, slots: &[Slot]) -> Vec<TermBox> {
    let mut boxes = boxes;
    for slot in slots {
        let (Some((column, bytes)), Some(term)) = (slot.hash_of, slot.term) else {
            continue;
        };
        let Some(own) = slots.iter().find(|s| s.term == Some(TermId::column(column))) else {
            continue;
        };
        let split = |one: &TermBox| split_by_hash(one, term, TermId::column(column), own.ty, bytes);
        let split: Vec<_> = boxes.iter().flat_map(split).collect();
        if split.len() <= SPANS_MAX {
            boxes = split;
        }
    }
    boxes
}

fn split_by_hash(
    one: &TermBox,
    hash: TermId,
    column: TermId,
    ty: rukh_keys::DataType,
    bytes: u8,
) -> Vec<TermBox> {
    let Some(values) = one
        .get(column)
        .and_then(|set| points(ty, set))
        .filter(|all| all.len() > 1)
    else {
        return vec![one.clone()];
    };
    let hash_type = rukh_keys::DataType::Binary(u32::from(bytes));
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
                work <= PROOF_WORK_MAX && spans.proven.is_subset(one)
            })
    })
}
