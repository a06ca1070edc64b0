//! What the conjuncts say together, whatever the key.
//!
//! Conjuncts of one box are intersected into a *base* box; the others are cut down by it: arms that
//! contradict it go, terms it implies go. What then is left of all of them gives one box that holds
//! every matching row; if nothing is left, no row passes and no key is read.
//!
//! | conjuncts                              | base  | others              | known            |
//! |----------------------------------------|-------|---------------------|------------------|
//! | a = 1, b > 5                           | both  |                     | the base         |
//! | a = 1, a = 2 OR b = 5                  | both  | become b = 5        | a = 1, b = 5     |
//! | (a, b) IN ((1, 2), (3, 4))             |       | as they are         | a 1, 3; b 2, 4   |
//! | a = 1 OR b = 1, a = 2 OR b = 2, a < b  |       | as they are         | a 1, 2; b 1, 2   |
//! | (a, b) IN ((1, 2)), (a, b) <> (1, 2)   | first | lose all their arms | nothing          |
//! | a = 5, a = b, b < c                    | a = 5 |                     | a, b 5; c from 5 |

use std::borrow::Cow;
use std::sync::Arc;

use crate::conditions::boxes::{Boxes, TermBox, hull, simplify};
use crate::conditions::domain::{few_values, point};
use crate::conditions::interval::{Cut, IntervalSet};
use crate::conditions::lower::lower;
use crate::conditions::predicate::{CompareOp, Operand, Predicate};
use crate::conditions::term::{TermId, TermTypes};
use crate::inputs::query::Query;

/// Most times that the conjuncts are cut down by what they say together.
const CUT_DOWN_PASSES_MAX: usize = 8;

/// Most intersections made to find what several conjuncts have in common.
const COMMON_WORK_MAX: usize = 8_192;

/// Most boxes kept of what several conjuncts have in common.
const COMMON_BOXES_MAX: usize = 256;

/// Most times that comparisons of columns carry what is known of one over to the other.
const CARRY_PASSES_MAX: usize = 4;

/// Most values of terms that are equal to each other which are kept apart.
const EQUAL_VALUES_MAX: usize = 64;

/// Most boxes made of values of terms that are equal.
const EQUAL_BOXES_MAX: usize = 1_024;

/// Most intervals of a set in the box that starts a product, unless a conjunct of one box says them.
const START_INTERVALS_MAX: usize = 64;

/// What the conjuncts say, whatever the key.
pub(crate) struct Knowledge {
    /// The boxes of each conjunct, given that all the others hold.
    pub(crate) conjuncts: Vec<Boxes>,
    /// The intersection of the conjuncts that are one box; `None` if no row can pass.
    base: Option<TermBox>,
    /// The product of the base and of all conjuncts with several boxes, if these are two at least and it is small.
    pub(crate) product: Option<Vec<TermBox>>,
    /// A box that holds all rows that pass; `None` if no row can. Says what is to be read, and
    /// proves nothing: it may rest on any of the conjuncts.
    pub(crate) known: Option<TermBox>,
    /// Terms that comparisons by `=` tie together, group by group.
    equal: Vec<Vec<TermId>>,
}

impl Knowledge {
    pub(crate) fn of(query: &Query<'_>) -> Knowledge {
        let lowered = query.conjuncts.iter().map(|conjunct| lower(conjunct, query));
        let mut knowledge = Knowledge {
            conjuncts: lowered.collect(),
            base: Some(TermBox::everything()),
            product: None,
            known: None,
            equal: Vec::new(),
        };
        knowledge.intersect_single();
        for _ in 0..CUT_DOWN_PASSES_MAX {
            if !knowledge.cut_down(query) {
                break;
            }
        }
        let known = knowledge.common(query);
        let mut relations = Vec::new();
        for conjunct in query.conjuncts {
            push_relations(conjunct, false, query, &mut relations);
        }
        knowledge.equal = equal_terms(&mut relations);
        knowledge.known = known.and_then(|known| carried_over(known, &knowledge.equal, &relations));
        knowledge
    }

    /// The boxes to multiply the conjuncts with several boxes into: the base, and what is known
    /// beyond it in few intervals. None if no row can pass.
    pub(crate) fn start(&self, query: &Query<'_>) -> Vec<TermBox> {
        let (Some(base), Some(known)) = (&self.base, &self.known) else {
            return Vec::new();
        };
        let mut start = known.clone();
        for (term, set) in known.sets() {
            if set.intervals().len() > START_INTERVALS_MAX {
                start.put(*term, base.get(*term).cloned());
            }
        }
        let split = |boxes, equal: &Vec<TermId>| split_equal(boxes, equal, query);
        self.equal.iter().fold(vec![start], split)
    }

    /// Intersects the conjuncts of one box into the base.
    fn intersect_single(&mut self) {
        for conjunct in &self.conjuncts {
            self.base = match (self.base.take(), conjunct.list.as_slice()) {
                (Some(mut base), [one]) => base.narrow(one).then_some(base),
                (_, []) => None,
                (base, _) => base,
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
            if base.is_everything() {
                return grown;
            }
            if !conjunct.list.iter().any(|one| one.shares_term(base)) {
                continue;
            }
            let open = |one: &TermBox| one.retained(|term, set| !implied(base, term, set));
            let possible = conjunct.list.iter().filter(|one| one.meets(base));
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

    /// The hull of the base and of what the conjuncts with several boxes have in common: of their
    /// product as far as it stays small, of each by itself past that.
    fn common(&mut self, query: &Query<'_>) -> Option<TermBox> {
        let base = self.base.clone()?;
        let several = self.conjuncts.iter().filter(|conjunct| conjunct.list.len() > 1);
        let mut several: Vec<&[TermBox]> = several.map(|conjunct| conjunct.list.as_slice()).collect();
        if several.is_empty() {
            return Some(base);
        }
        several.sort_by_key(|list| list.len());
        several.dedup();
        let mut is_product = several.len() > 1;
        let mut common: Cow<'_, [TermBox]> = Cow::Owned(vec![base]);
        let mut work = COMMON_WORK_MAX;
        for list in several {
            let pairs = common.len().saturating_mul(list.len());
            if pairs > work || common.len() > COMMON_BOXES_MAX {
                common = Cow::Owned(vec![hull(&common)]);
                is_product = false;
            }
            work = work.saturating_sub(pairs);
            common = match common.as_ref() {
                [one] if one.is_everything() => Cow::Borrowed(list),
                [one] => Cow::Owned(list.iter().filter_map(|b| one.intersect(b)).collect()),
                common => {
                    let both = common
                        .iter()
                        .flat_map(|a| list.iter().filter_map(|b| a.intersect(b)));
                    Cow::Owned(simplify(both.collect(), query))
                }
            };
            if common.is_empty() {
                return None;
            }
        }
        let known = hull(&common);
        self.product = is_product.then(|| common.into_owned());
        Some(known)
    }
}

fn implied(base: &TermBox, term: TermId, set: &IntervalSet) -> bool {
    base.get(term).is_some_and(|base| base.is_subset(set))
}

/// A comparison of one term with another of the same type.
type Relation = (CompareOp, TermId, TermId);

/// Narrows a box by comparisons of its terms with one another; `None` if no row can pass.
fn carried_over(mut known: TermBox, equal: &[Vec<TermId>], relations: &[Relation]) -> Option<TermBox> {
    if equal.is_empty() && relations.is_empty() {
        return Some(known);
    }
    for _ in 0..CARRY_PASSES_MAX {
        let before = known.clone();
        for terms in equal {
            known = with_common_values(known, terms)?;
        }
        for (op, from, to) in relations {
            let carried = known.get(*from).and_then(|set| related(*op, set));
            if let Some(carried) = carried.and_then(|set| TermBox::of(*to, set)) {
                known = known.intersect(&carried)?;
            }
        }
        if known == before {
            break;
        }
    }
    Some(known)
}

/// Gives terms that are equal the values that all of them may have; `None` if there are none.
fn with_common_values(mut known: TermBox, terms: &[TermId]) -> Option<TermBox> {
    let sets = terms.iter().filter_map(|term| known.get(*term));
    let common = sets.fold(IntervalSet::not_null(), |common, set| common.intersect(set));
    if common.is_empty() {
        return None;
    }
    if common.has_all_values() {
        // That none of them is NULL is known already.
        return Some(known);
    }
    let common = Arc::new(common);
    terms
        .iter()
        .for_each(|term| known.put(*term, Some(common.clone())));
    Some(known)
}

/// Finds comparisons of terms of one type, both ways round.
fn push_relations(conjunct: &Predicate, negated: bool, query: &Query<'_>, relations: &mut Vec<Relation>) {
    let turned = |op: CompareOp| if negated { op.negated() } else { op };
    let mut push = |op: CompareOp, left: &Operand, right: &Operand| {
        if let (Operand::Term(a), Operand::Term(b)) = (left, right)
            && a != b
            && query.term_type(*a).map(|a| a.ty) == query.term_type(*b).map(|b| b.ty)
        {
            relations.extend([(op, *a, *b), (op.flipped(), *b, *a)]);
        }
    };
    match (conjunct, negated) {
        (Predicate::And(all), false) | (Predicate::Or(all), true) => {
            all.iter()
                .for_each(|part| push_relations(part, negated, query, relations));
        }
        (Predicate::Not(inner), _) => push_relations(inner, !negated, query, relations),
        (Predicate::Compare { op, left, right }, _) => push(turned(*op), left, right),
        (Predicate::RowCompare { op, left, right }, _) if turned(*op) == CompareOp::Eq => {
            let pairs = left.iter().zip(right);
            pairs.for_each(|(a, b)| push(CompareOp::Eq, a, b));
        }
        _ => {}
    }
}

/// Takes the comparisons by `=` out: the terms that they tie together, group by group.
fn equal_terms(relations: &mut Vec<Relation>) -> Vec<Vec<TermId>> {
    let mut groups: Vec<Vec<TermId>> = Vec::new();
    for (_, a, b) in relations.extract_if(.., |(op, ..)| *op == CompareOp::Eq) {
        let tied = |group: &mut Vec<TermId>| group.contains(&a) || group.contains(&b);
        let mut whole: Vec<TermId> = groups.extract_if(.., tied).flatten().collect();
        whole.extend(
            [a, b]
                .into_iter()
                .filter(|term| !whole.contains(term))
                .collect::<Vec<_>>(),
        );
        groups.push(whole);
    }
    groups
}

/// Splits boxes so that terms that are equal have one value each, if that is few boxes.
fn split_equal(boxes: Vec<TermBox>, equal: &[TermId], query: &Query<'_>) -> Vec<TermBox> {
    let common = || {
        let term = *equal.first()?;
        let ty = query.term_type(term)?.ty;
        let values = few_values(ty, boxes.first()?.get(term)?, EQUAL_VALUES_MAX)?;
        let few = values.len() > 1 && values.len().saturating_mul(boxes.len()) <= EQUAL_BOXES_MAX;
        few.then_some((ty, values))
    };
    let Some((ty, values)) = common() else {
        return boxes;
    };
    let sets: Vec<_> = values.iter().map(|value| Arc::new(point(ty, value))).collect();
    let with = |one: &TermBox, set: &Arc<IntervalSet>| {
        let mut one = one.clone();
        equal.iter().for_each(|term| one.put(*term, Some(set.clone())));
        one
    };
    let split = boxes
        .iter()
        .flat_map(|one| sets.iter().map(move |set| with(one, set)));
    split.collect()
}

/// The values that `b` may have where `a op b` is true, not `=`, and `a` lies in a set.
fn related(op: CompareOp, set: &IntervalSet) -> Option<IntervalSet> {
    let (first, last) = (set.intervals().first()?, set.intervals().last()?);
    match op {
        CompareOp::Lt | CompareOp::LtEq => Some(IntervalSet::between(first.low.clone(), Cut::Max)),
        CompareOp::Gt | CompareOp::GtEq => Some(IntervalSet::between(Cut::Min, last.high.clone())),
        CompareOp::Eq | CompareOp::NotEq => None,
    }
}
