//! What the conjuncts say together, whatever the key.
//!
//! Conjuncts of one box are intersected into a *base* box; the others are cut down by it: arms that
//! contradict it go, terms it implies go. What then is left of all of them gives one box that holds
//! every row asked for; if nothing is left, no row passes and no key is read.
//!
//! | conjuncts                              | base  | others              | known            |
//! |----------------------------------------|-------|---------------------|------------------|
//! | a = 1, b > 5                           | both  |                     | the base         |
//! | a = 1, a = 2 OR b = 5                  | both  | become b = 5        | a = 1, b = 5     |
//! | (a, b) IN ((1, 2), (3, 4))             |       | as they are         | a 1, 3; b 2, 4   |
//! | a = 1 OR b = 1, a = 2 OR b = 2, a < b  |       | as they are         | a 1, 2; b 1, 2   |
//! | (a, b) IN ((1, 2)), (a, b) <> (1, 2)   | first | lose all their arms | nothing          |
//! | a = 5, a = b, b < c                    | a = 5 |                     | a, b 5; c from 5 |

use std::sync::Arc;

use rukh_keys::Datum;

use crate::boxes::{Boxes, TermBox, hull, simplify};
use crate::domain::{point, points};
use crate::interval::{Cut, IntervalSet};
use crate::lower::lower;
use crate::predicate::{CompareOp, Operand, Predicate};
use crate::query::Query;
use crate::term::{TermId, TermTypes};

/// Most times that the conjuncts are cut down by what they say together.
const CUT_DOWN_PASSES_MAX: usize = 8;

/// Most intersections made to find what several conjuncts have in common.
const COMMON_WORK_MAX: usize = 8_192;

/// Most boxes kept of what several conjuncts have in common.
const COMMON_BOXES_MAX: usize = 256;

/// Most times that comparisons of columns carry what is known of one over to the other.
const CARRY_PASSES_MAX: usize = 4;

/// Most intervals of a set in the box that starts a product, unless a conjunct of one box says them.
const START_INTERVALS_MAX: usize = 64;

/// What the conjuncts say, whatever the key.
pub(crate) struct Knowledge {
    /// The boxes of each conjunct, given that all the others hold.
    pub(crate) conjuncts: Vec<Boxes>,
    /// The intersection of the conjuncts that are one box; `None` if no row can pass.
    base: Option<TermBox>,
    /// A box that holds all rows that pass; `None` if no row can. Says what is to be read, and
    /// proves nothing: it may rest on any of the conjuncts.
    pub(crate) known: Option<TermBox>,
    /// Comparisons of terms with one another.
    relations: Vec<Relation>,
}

impl Knowledge {
    pub(crate) fn of(query: &Query<'_>) -> Knowledge {
        let lowered = query.conjuncts.iter().map(|conjunct| lower(conjunct, query));
        let mut knowledge = Knowledge {
            conjuncts: lowered.collect(),
            base: Some(TermBox::everything()),
            known: None,
            relations: Vec::new(),
        };
        knowledge.intersect_single();
        for _ in 0..CUT_DOWN_PASSES_MAX {
            if !knowledge.cut_down(query) {
                break;
            }
        }
        let known = knowledge.common();
        for conjunct in query.conjuncts {
            push_relations(conjunct, false, query, &mut knowledge.relations);
        }
        knowledge.known = known.and_then(|known| carried_over(known, &knowledge.relations));
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
        let split = |boxes, relation| split_equal(boxes, relation, query);
        self.relations.iter().fold(vec![start], split)
    }

    /// Intersects the conjuncts of one box into the base.
    fn intersect_single(&mut self) {
        for conjunct in &self.conjuncts {
            self.base = match (self.base.take(), conjunct.list.as_slice()) {
                (Some(base), [one]) => base.intersect(one),
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

    /// The hull of the base and of what the conjuncts with several boxes have in common: of their
    /// product as far as it stays small, of each by itself past that.
    fn common(&self) -> Option<TermBox> {
        let mut common = vec![self.base.clone()?];
        let mut work = COMMON_WORK_MAX;
        let several = self.conjuncts.iter().filter(|conjunct| conjunct.list.len() > 1);
        let mut several: Vec<&Boxes> = several.collect();
        several.sort_by_key(|conjunct| conjunct.list.len());
        for conjunct in several {
            let pairs = common.len().saturating_mul(conjunct.list.len());
            if pairs > work || common.len() > COMMON_BOXES_MAX {
                common = vec![hull(&common)];
            }
            work = work.saturating_sub(pairs);
            let list = &conjunct.list;
            let both = common
                .iter()
                .flat_map(|a| list.iter().filter_map(|b| a.intersect(b)));
            common = both.collect();
            if common.is_empty() {
                return None;
            }
        }
        Some(hull(&common))
    }
}

fn implied(base: &TermBox, term: TermId, set: &IntervalSet) -> bool {
    base.get(term).is_some_and(|base| base.is_subset(set))
}

/// A comparison of one term with another of the same type.
type Relation = (CompareOp, TermId, TermId);

/// Narrows a box by comparisons of its terms with one another; `None` if no row can pass.
fn carried_over(mut known: TermBox, relations: &[Relation]) -> Option<TermBox> {
    for _ in 0..CARRY_PASSES_MAX {
        let before = known.clone();
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

/// Splits a box so that two terms that are equal have one value each, if that is few boxes.
fn split_equal(boxes: Vec<TermBox>, (op, a, b): &Relation, query: &Query<'_>) -> Vec<TermBox> {
    let values = |one: &TermBox| {
        let (set, own) = (one.get(*a)?, one.get(*b)?);
        let values = points(query.term_type(*a)?.ty, set)?;
        (values.len() > 1 && set == own).then_some(values)
    };
    let [one] = boxes.as_slice() else { return boxes };
    let Some((values, ty)) = values(one).zip(query.term_type(*a)) else {
        return boxes;
    };
    if *op != CompareOp::Eq || values.len() > START_INTERVALS_MAX {
        return boxes;
    }
    let with = |value: &Datum| {
        let set = Arc::new(point(ty.ty, value));
        let mut one = one.clone();
        one.put(*a, Some(set.clone()));
        one.put(*b, Some(set));
        one
    };
    values.iter().map(with).collect()
}

/// The values that `b` may have where `a op b` is true and `a` lies in a set.
fn related(op: CompareOp, set: &IntervalSet) -> Option<IntervalSet> {
    let (first, last) = (set.intervals().first()?, set.intervals().last()?);
    match op {
        CompareOp::Eq => Some(IntervalSet::from_intervals(set.intervals().to_vec())),
        CompareOp::Lt | CompareOp::LtEq => Some(IntervalSet::between(first.low.clone(), Cut::Max)),
        CompareOp::Gt | CompareOp::GtEq => Some(IntervalSet::between(Cut::Min, last.high.clone())),
        CompareOp::NotEq => None,
    }
}
