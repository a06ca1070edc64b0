//! Boxes: the normal form of predicates.
//!
//! A [`TermBox`] holds one interval set per term it constrains and stands for the rows whose terms
//! all lie in their sets. A list of boxes stands for the rows in any of them. AND intersects boxes
//! pairwise, OR puts lists together; [`simplify`] then joins boxes that differ in one term and
//! drops those that lie in another.
//!
//! All work is bounded: products by [`PRODUCT_WORK_MAX`], lists by [`BOXES_MAX`]. Past a bound the
//! result is wider than needed, never narrower.

use std::cell::Cell;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::conditions::interval::IntervalSet;
use crate::conditions::mix::Mix;
use crate::conditions::term::{TermId, TermTypes};

/// Most boxes in a list.
pub(crate) const BOXES_MAX: usize = 16_384;

/// Most intersections made for all products of lists of one predicate or path.
const PRODUCT_WORK_MAX: usize = 65_536;

/// Most boxes times terms for which equal parts are looked for.
const SIMPLIFY_WORK_MAX: usize = 200_000;

/// Most boxes of which each is compared with each.
const PAIRWISE_MAX: usize = 64;

/// Most boxes that are joined without hashing them.
const FEW: usize = 8;

/// One interval set per constrained term, in order of terms; other terms may have any value.
///
/// Invariant: no set is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TermBox {
    sets: Vec<(TermId, Arc<IntervalSet>)>,
}

impl TermBox {
    /// The box of all rows.
    pub(crate) fn everything() -> TermBox {
        TermBox::default()
    }

    /// The box of all rows, with room for the sets of some terms.
    pub(crate) fn with_capacity(terms: usize) -> TermBox {
        TermBox {
            sets: Vec::with_capacity(terms),
        }
    }

    /// The box of one constrained term; `None` if no value is left.
    pub(crate) fn of(term: TermId, set: IntervalSet) -> Option<TermBox> {
        (!set.is_empty()).then(|| TermBox {
            sets: vec![(term, Arc::new(set))],
        })
    }

    pub(crate) fn is_everything(&self) -> bool {
        self.sets.is_empty()
    }

    pub(crate) fn sets(&self) -> &[(TermId, Arc<IntervalSet>)] {
        &self.sets
    }

    /// The set of a term, if it is constrained.
    pub(crate) fn get(&self, term: TermId) -> Option<&Arc<IntervalSet>> {
        let position = self.sets.binary_search_by_key(&term, |(term, _)| *term).ok()?;
        Some(&self.sets[position].1)
    }

    /// Sets, replaces or (with `None`) frees a term.
    pub(crate) fn put(&mut self, term: TermId, set: Option<Arc<IntervalSet>>) {
        match (self.sets.binary_search_by_key(&term, |(term, _)| *term), set) {
            (Ok(position), Some(set)) => self.sets[position].1 = set,
            (Ok(position), None) => drop(self.sets.remove(position)),
            (Err(position), Some(set)) => self.sets.insert(position, (term, set)),
            (Err(_), None) => {}
        }
    }

    /// The rows in both boxes; `None` if there are none.
    pub(crate) fn intersect(&self, other: &TermBox) -> Option<TermBox> {
        let mut sets = Vec::with_capacity(self.sets.len() + other.sets.len());
        let (mut left, mut right) = (self.sets.iter().peekable(), other.sets.iter().peekable());
        loop {
            match (left.peek(), right.peek()) {
                (Some((a, x)), Some((b, y))) if a == b => {
                    let both = intersect_sets(x, y)?;
                    sets.push((*a, both));
                    left.next();
                    right.next();
                }
                (Some((a, x)), Some((b, _))) if a < b => {
                    sets.push((*a, x.clone()));
                    left.next();
                }
                (Some((a, x)), None) => {
                    sets.push((*a, x.clone()));
                    left.next();
                }
                (_, Some((b, y))) => {
                    sets.push((*b, y.clone()));
                    right.next();
                }
                (None, None) => return Some(TermBox { sets }),
            }
        }
    }

    /// Narrows the box to the rows that are in the other too; `false` if there are none, and the box
    /// is of no use then.
    pub(crate) fn narrow(&mut self, other: &TermBox) -> bool {
        other.sets.iter().all(|(term, set)| self.narrow_term(*term, set))
    }

    /// Narrows the box to the rows with a term in a set; `false` as above.
    pub(crate) fn narrow_term(&mut self, term: TermId, set: &Arc<IntervalSet>) -> bool {
        match self.sets.binary_search_by_key(&term, |(term, _)| *term) {
            Ok(position) => {
                let Some(both) = intersect_sets(&self.sets[position].1, set) else {
                    return false;
                };
                self.sets[position].1 = both;
            }
            Err(position) => self.sets.insert(position, (term, set.clone())),
        }
        true
    }

    /// Whether some row may lie in both boxes.
    pub(crate) fn meets(&self, other: &TermBox) -> bool {
        let meets = |(term, set): &(TermId, Arc<IntervalSet>)| {
            let own = self.get(*term);
            own.is_none_or(|own| Arc::ptr_eq(own, set) || own.meets(set))
        };
        other.sets.iter().all(meets)
    }

    /// Whether the boxes constrain a term that is the same.
    pub(crate) fn shares_term(&self, other: &TermBox) -> bool {
        other.sets.iter().any(|(term, _)| self.get(*term).is_some())
    }

    /// Whether every row of this box lies in the other.
    pub(crate) fn is_subset(&self, other: &TermBox) -> bool {
        let inside = |(term, outer): &(TermId, Arc<IntervalSet>)| {
            self.get(*term)
                .is_some_and(|inner| Arc::ptr_eq(inner, outer) || inner.is_subset(outer))
        };
        other.sets.iter().all(inside)
    }

    /// Frees the terms that `keep` refuses.
    pub(crate) fn retain(&mut self, keep: impl Fn(TermId) -> bool) {
        self.sets.retain(|(term, _)| keep(*term));
    }

    /// The box without the terms that `keep` refuses.
    pub(crate) fn retained(&self, keep: impl Fn(TermId, &IntervalSet) -> bool) -> TermBox {
        let kept = self.sets.iter().filter(|(term, set)| keep(*term, set));
        TermBox {
            sets: kept.cloned().collect(),
        }
    }
}

fn intersect_sets(a: &Arc<IntervalSet>, b: &Arc<IntervalSet>) -> Option<Arc<IntervalSet>> {
    if Arc::ptr_eq(a, b) || b.encloses(a) {
        return Some(a.clone());
    }
    if a.encloses(b) {
        return Some(b.clone());
    }
    let both = a.intersect(b);
    (!both.is_empty()).then(|| Arc::new(both))
}

/// The rows of a condition as boxes.
#[derive(Clone, Debug)]
pub(crate) struct Boxes {
    pub(crate) list: Vec<TermBox>,
    /// Whether the boxes are exactly the rows for which the condition is true; otherwise they hold
    /// these rows and others.
    pub(crate) exact: bool,
}

impl Boxes {
    /// No row.
    pub(crate) fn none() -> Boxes {
        Boxes {
            list: Vec::new(),
            exact: true,
        }
    }

    /// All rows, exactly.
    pub(crate) fn all() -> Boxes {
        Boxes {
            list: vec![TermBox::everything()],
            exact: true,
        }
    }

    /// All rows, since nothing better is known.
    pub(crate) fn unknown() -> Boxes {
        Boxes {
            list: vec![TermBox::everything()],
            exact: false,
        }
    }

    /// The rows with a term in a set.
    pub(crate) fn of(term: TermId, set: IntervalSet, nullable: bool, exact: bool) -> Boxes {
        if set.is_everything(nullable) {
            return Boxes {
                list: vec![TermBox::everything()],
                exact,
            };
        }
        Boxes {
            exact: exact || set.is_empty(),
            list: TermBox::of(term, set).into_iter().collect(),
        }
    }

    pub(crate) fn is_none(&self) -> bool {
        self.list.is_empty()
    }

    /// Whether this is all rows, exactly.
    pub(crate) fn is_all(&self) -> bool {
        self.exact && self.list.iter().any(TermBox::is_everything)
    }

    /// Both conditions.
    pub(crate) fn and(self, other: Boxes, budget: &Budget) -> Boxes {
        if self.is_none() || other.is_none() {
            return Boxes::none();
        }
        let exact = self.exact && other.exact;
        if let Some(list) = budget.product(&self.list, &other.list) {
            return Boxes {
                exact: exact || list.is_empty(),
                list,
            };
        }
        let (few, many) = match self.list.len() <= other.list.len() {
            true => (self.list, other.list),
            false => (other.list, self.list),
        };
        let hull = hull(&many);
        let list: Vec<_> = few.iter().filter_map(|one| one.intersect(&hull)).collect();
        Boxes {
            exact: list.is_empty(),
            list,
        }
    }

    /// Any of the conditions.
    pub(crate) fn or(parts: Vec<Boxes>, types: &dyn TermTypes) -> Boxes {
        if parts.iter().any(Boxes::is_all) {
            return Boxes::all();
        }
        let exact = parts.iter().all(|part| part.exact);
        Boxes::united(
            parts.into_iter().flat_map(|part| part.list).collect(),
            exact,
            types,
        )
    }

    /// The rows in any of the boxes.
    pub(crate) fn united(list: Vec<TermBox>, exact: bool, types: &dyn TermTypes) -> Boxes {
        let list = simplify(list, types);
        match list.len() <= BOXES_MAX {
            true => Boxes { list, exact },
            false => Boxes {
                list: vec![hull(&list)],
                exact: false,
            },
        }
    }
}

/// What may still be spent on products of lists of boxes.
pub(crate) struct Budget {
    intersections: Cell<usize>,
}

impl Budget {
    pub(crate) fn new() -> Budget {
        Budget {
            intersections: Cell::new(PRODUCT_WORK_MAX),
        }
    }

    /// Intersects each box with each; `None` if that is too much work or gives too many boxes.
    /// Intersecting with a single box is always possible.
    pub(crate) fn product(&self, left: &[TermBox], right: &[TermBox]) -> Option<Vec<TermBox>> {
        let work = left.len().saturating_mul(right.len());
        if left.len() > 1 && right.len() > 1 {
            self.intersections
                .set(self.intersections.get().checked_sub(work)?);
        }
        let pairs = left.iter().flat_map(|a| right.iter().map(move |b| (a, b)));
        let boxes: Vec<_> = pairs.filter_map(|(a, b)| a.intersect(b)).collect();
        (boxes.len() <= BOXES_MAX).then_some(boxes)
    }
}

/// The values in any of the sets, of which many may be one and the same.
fn union<'a>(sets: impl Iterator<Item = &'a Arc<IntervalSet>>) -> Arc<IntervalSet> {
    let mut sets: Vec<&Arc<IntervalSet>> = sets.collect();
    sets.sort_by_key(|set| Arc::as_ptr(set));
    sets.dedup_by(|a, b| Arc::ptr_eq(a, b));
    match sets.as_slice() {
        [one] => (*one).clone(),
        _ => Arc::new(IntervalSet::union(sets.into_iter().map(Arc::as_ref))),
    }
}

/// Returns the smallest box that holds all of the boxes.
pub(crate) fn hull(boxes: &[TermBox]) -> TermBox {
    let Some(first) = boxes.first() else {
        return TermBox::everything();
    };
    let mut hull = TermBox::everything();
    for (term, _) in &first.sets {
        let sets: Option<Vec<_>> = boxes.iter().map(|one| one.get(*term)).collect();
        if let Some(sets) = sets {
            hull.sets.push((*term, union(sets.into_iter())));
        }
    }
    hull
}

/// Returns boxes with the same rows: fewer, if boxes are equal, differ in one term, or lie in
/// another. Looks no further than is cheap.
pub(crate) fn simplify(boxes: Vec<TermBox>, types: &dyn TermTypes) -> Vec<TermBox> {
    if boxes.len() < 2 {
        return boxes;
    }
    if boxes.iter().any(TermBox::is_everything) {
        return vec![TermBox::everything()];
    }
    let terms = terms_of(&boxes);
    if boxes.len() <= FEW {
        return drop_contained(join_few(boxes, &terms, types));
    }
    if terms.len().saturating_mul(boxes.len()) > SIMPLIFY_WORK_MAX {
        return boxes;
    }
    let mut hashes = SetHashes::default();
    let mut hashed: Vec<Hashed> = boxes
        .into_iter()
        .map(|one| Hashed::new(one, &mut hashes))
        .collect();
    loop {
        let before = hashed.len();
        for term in &terms {
            hashed = join_along(hashed, *term, types, &mut hashes);
        }
        if hashed.len() == before || hashed.len() < 2 {
            break;
        }
    }
    drop_contained(hashed.into_iter().map(|hashed| hashed.one).collect())
}

/// The terms that any of the boxes constrains, in order.
fn terms_of(boxes: &[TermBox]) -> Vec<TermId> {
    let mut terms: Vec<TermId> = Vec::new();
    for (term, _) in boxes.iter().flat_map(|one| &one.sets) {
        if let Err(position) = terms.binary_search(term) {
            terms.insert(position, *term);
        }
    }
    terms
}

/// Joins boxes that differ in one term, by comparing each with each.
fn join_few(mut boxes: Vec<TermBox>, terms: &[TermId], types: &dyn TermTypes) -> Vec<TermBox> {
    loop {
        let before = boxes.len();
        for term in terms {
            let mut joined: Vec<TermBox> = Vec::with_capacity(boxes.len());
            while !boxes.is_empty() {
                let one = boxes.remove(0);
                let is_like = |other: &mut TermBox| equal_without(&one, other, *term);
                let same: Vec<TermBox> = boxes.extract_if(.., is_like).collect();
                joined.push(match same.as_slice() {
                    [] => one,
                    same => joined_along(&one, same, *term, types),
                });
            }
            boxes = joined;
        }
        if boxes.len() == before || boxes.len() < 2 {
            return boxes;
        }
    }
}

/// A box and others that are equal to it but for `term`, as one.
fn joined_along(one: &TermBox, others: &[TermBox], term: TermId, types: &dyn TermTypes) -> TermBox {
    let sets = [one].into_iter().chain(others).map(|one| one.get(term));
    // A box that leaves the term free holds the others.
    let sets: Option<Vec<_>> = sets.collect();
    let union = sets.map(|sets| union(sets.into_iter()));
    let nullable = types.term_type(term).is_none_or(|ty| ty.nullable);
    let mut joined = one.clone();
    joined.put(term, union.filter(|union| !union.is_everything(nullable)));
    joined
}

/// A box with the hashes of its sets, so that the hash of all but one is quick.
struct Hashed {
    one: TermBox,
    hashes: Vec<u64>,
    sum: u64,
}

impl Hashed {
    fn new(one: TermBox, known: &mut SetHashes) -> Hashed {
        let hashes: Vec<u64> = one.sets.iter().map(|set| known.of(set)).collect();
        let sum = hashes.iter().fold(0, |sum: u64, hash| sum.wrapping_add(*hash));
        Hashed { one, hashes, sum }
    }

    fn without(&self, term: TermId) -> u64 {
        match self.one.sets.binary_search_by_key(&term, |(term, _)| *term) {
            Ok(position) => self.sum.wrapping_sub(self.hashes[position]),
            Err(_) => self.sum,
        }
    }
}

/// The hashes of long sets that many boxes share.
#[derive(Default)]
struct SetHashes {
    /// By term and address; the set is kept, so that no other takes its address.
    long: HashMap<(TermId, usize), (u64, Arc<IntervalSet>)>,
}

impl SetHashes {
    fn of(&mut self, set: &(TermId, Arc<IntervalSet>)) -> u64 {
        const LONG: usize = 8;
        if set.1.intervals().len() < LONG {
            return hash_set(set);
        }
        let address = Arc::as_ptr(&set.1) as usize;
        let known = self.long.entry((set.0, address));
        known.or_insert_with(|| (hash_set(set), set.1.clone())).0
    }
}

fn hash_set(set: &(TermId, Arc<IntervalSet>)) -> u64 {
    let mut hasher = Mix::default();
    set.hash(&mut hasher);
    hasher.finish()
}

/// Joins boxes that are equal but for `term`; each result stands where the first of its boxes did.
fn join_along(
    boxes: Vec<Hashed>,
    term: TermId,
    types: &dyn TermTypes,
    hashes: &mut SetHashes,
) -> Vec<Hashed> {
    let keys = boxes
        .iter()
        .enumerate()
        .map(|(at, hashed)| (hashed.without(term), at));
    let mut keys: Vec<(u64, usize)> = keys.collect();
    keys.sort_unstable();
    let mut joined: Vec<Option<Hashed>> = boxes.into_iter().map(Some).collect();
    for run in keys.chunk_by(|a, b| a.0 == b.0).filter(|run| run.len() > 1) {
        join_run(run, term, types, &mut joined, hashes);
    }
    joined.into_iter().flatten().collect()
}

/// Joins the boxes of one hash into the first; should two hashes collide, their boxes stay apart.
fn join_run(
    run: &[(u64, usize)],
    term: TermId,
    types: &dyn TermTypes,
    all: &mut [Option<Hashed>],
    hashes: &mut SetHashes,
) {
    let mut same: Vec<TermBox> = Vec::with_capacity(run.len());
    for (_, at) in run {
        let is_like = |hashed: &mut Hashed| {
            same.first()
                .is_none_or(|one| equal_without(&hashed.one, one, term))
        };
        let like = all[*at].take_if(is_like);
        same.extend(like.map(|hashed| hashed.one));
    }
    let joined = joined_along(&same[0], &same, term, types);
    all[run[0].1] = Some(Hashed::new(joined, hashes));
}

fn equal_without(a: &TermBox, b: &TermBox, term: TermId) -> bool {
    let mut a = a.sets.iter().filter(|(own, _)| *own != term);
    let mut b = b.sets.iter().filter(|(own, _)| *own != term);
    loop {
        match (a.next(), b.next()) {
            (None, None) => return true,
            (Some((s, x)), Some((t, y))) if s == t && (Arc::ptr_eq(x, y) || x == y) => {}
            _ => return false,
        }
    }
}

/// Drops boxes that lie in another: in any other if there are few, else in one that constrains a
/// single term.
fn drop_contained(boxes: Vec<TermBox>) -> Vec<TermBox> {
    if boxes.len() <= PAIRWISE_MAX {
        let lies_in = |at: usize, other: usize| {
            at != other
                && boxes[at].is_subset(&boxes[other])
                && (at > other || !boxes[other].is_subset(&boxes[at]))
        };
        let kept = (0..boxes.len()).filter(|at| !(0..boxes.len()).any(|other| lies_in(*at, other)));
        return kept.map(|at| boxes[at].clone()).collect();
    }
    let wide: Vec<TermBox> = boxes.iter().filter(|one| one.sets.len() == 1).cloned().collect();
    if wide.is_empty() {
        return boxes;
    }
    let lies_in_wide = |one: &TermBox| {
        one.sets.len() > 1 && wide.iter().take(PAIRWISE_MAX).any(|other| one.is_subset(other))
    };
    boxes.into_iter().filter(|one| !lies_in_wide(one)).collect()
}
