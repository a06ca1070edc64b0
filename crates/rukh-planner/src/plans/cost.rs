//! What a path is likely to read, and what that is likely to cost.
//!
//! The unit of cost is a microsecond of one core. The constants are measurements of the storage
//! underneath: a get of neighbouring keys took 1.6 µs and of random ones 3.4 µs, batched gets 1.3 to
//! 3.0 µs a key, an iterator passed 8 million keys a second, decoding a row takes about 0.15 µs.

use std::borrow::Cow;

use rukh_keys::{Datum, Span};

use crate::bounds::constrain::{Constraint, project};
use crate::bounds::masked::Masks;
use crate::bounds::ranges::Placed;
use crate::bounds::spans::BoxSpans;
use crate::conditions::boxes::{Boxes, TermBox};
use crate::conditions::domain::ordinal;
use crate::conditions::interval::IntervalSet;
use crate::conditions::lower::lower;
use crate::conditions::term::{TermId, TermKind, TermTypes};
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Query, Source};
use crate::inputs::statistics::UNKNOWN_SHARE;
use crate::inputs::target::{Slot, Target};
use crate::plans::columnar::{ColumnarRead, ColumnarShape, columnar_cost};

/// Cost of positioning an iterator, or of one get.
pub(crate) const SEEK: f64 = 2.5;
/// Cost of passing one key.
pub(crate) const KEY: f64 = 0.12;
/// Cost of fetching one row of the table for an index entry.
pub(crate) const LOOKUP: f64 = 2.2;
/// Cost of decoding one row and checking it.
pub(crate) const ROW: f64 = 0.15;
/// Cost of one comparison of a sort.
const SORT: f64 = 0.05;

/// What a path is likely to read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Keys that iterators pass.
    pub keys: f64,
    /// Times that iterators are positioned.
    pub seeks: f64,
    /// Rows fetched from the table.
    pub lookups: f64,
    /// Rows that pass all conditions.
    pub rows: f64,
    /// Microseconds of one core, all in all.
    pub cost: f64,
}

/// A part of the cost of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CostPart {
    Keys,
    Seeks,
    Lookups,
    /// Decoding, checking and sorting.
    Rows,
}

impl Estimate {
    /// The part of the cost in which this is most above another estimate.
    pub(crate) fn dearest_part(&self, other: &Estimate) -> CostPart {
        let parts = |estimate: &Estimate| {
            let (keys, seeks) = (estimate.keys * KEY, estimate.seeks * SEEK);
            let lookups = estimate.lookups * LOOKUP;
            [
                (CostPart::Keys, keys),
                (CostPart::Seeks, seeks),
                (CostPart::Lookups, lookups),
                (CostPart::Rows, estimate.cost - keys - seeks - lookups),
            ]
        };
        let pairs = parts(self).into_iter().zip(parts(other));
        let differences = pairs.map(|((part, own), (_, other))| (part, own - other));
        let dearest = differences.reduce(|best, next| if next.1 > best.1 { next } else { best });
        dearest.map_or(CostPart::Rows, |(part, _)| part)
    }
}

/// What matters about a path, beside its spans.
pub(crate) struct PathShape<'a> {
    pub(crate) target: &'a Target,
    pub(crate) constraint: &'a Constraint,
    pub(crate) placed: &'a Placed,
    pub(crate) masks: &'a Masks,
    /// Conjuncts checked on the index entry, before the lookup.
    pub(crate) residual_index: &'a [usize],
    pub(crate) covering: bool,
    /// Whether the wanted order is that of the path.
    pub(crate) ordered: bool,
}

/// Estimates a path.
pub(crate) fn estimate(query: &Query<'_>, knowledge: &Knowledge, shape: &PathShape<'_>) -> Estimate {
    if shape.placed.ranges.is_empty() {
        return Estimate::default();
    }
    let keys = keys_in_spans(
        query,
        shape,
        query.statistics.row_count() * share_indexed(query, shape),
    );
    let passing_masks = keys * masked_share(query, shape);
    let on_entry = shape.residual_index.iter().map(|at| &knowledge.conjuncts[*at]);
    Reading {
        seeks: shape.placed.ranges.len() as f64,
        keys,
        passing_masks,
        fetched: passing_masks * share_of_conjuncts(query, on_entry),
        share: share_of_conjuncts(query, knowledge.conjuncts.iter()),
        covering: shape.covering,
        sorts: !query.order.is_empty() && !shape.ordered,
    }
    .estimate(query)
}

/// Estimates a scan of a columnar index that gives out these columns.
pub(crate) fn estimate_columnar(
    query: &Query<'_>,
    knowledge: &Knowledge,
    shape: &PathShape<'_>,
    read: &ColumnarRead,
    checks: bool,
) -> Estimate {
    if shape.placed.ranges.is_empty() {
        return Estimate::default();
    }
    let keys = keys_in_spans(query, shape, query.statistics.row_count());
    let rows = query.statistics.row_count() * share_of_conjuncts(query, knowledge.conjuncts.iter());
    let rows = rows.min(keys);
    let sorts = !query.order.is_empty() && !shape.ordered;
    let (keys, cost) = columnar_cost(
        query,
        &ColumnarShape {
            layout: &shape.target.layout,
            source: shape.target.source,
            ranges: shape.placed.ranges.len(),
            keys,
            tests: &read.tests,
            given: read.columns.len() - read.tests.len(),
            checks,
            rows,
            sorts,
        },
    );
    Estimate {
        keys,
        seeks: shape.placed.ranges.len() as f64,
        lookups: 0.0,
        rows: query.limit.map_or(rows, |limit| rows.min(limit as f64)),
        cost: cost + if sorts { sort_cost(rows, query.limit) } else { 0.0 },
    }
}

/// What a path reads if it is read to its end.
pub(crate) struct Reading {
    /// Times that iterators are positioned.
    seeks: f64,
    /// Keys that iterators pass.
    keys: f64,
    /// Keys that pass the masked compares.
    passing_masks: f64,
    /// Those of them whose entries pass what is checked before the lookup.
    fetched: f64,
    /// The share of the rows for which all conjuncts are likely to be true.
    share: f64,
    covering: bool,
    sorts: bool,
}

impl Reading {
    /// One key of the table.
    pub(crate) fn single_key(share: f64) -> Reading {
        Reading {
            seeks: 1.0,
            keys: 1.0,
            passing_masks: 1.0,
            fetched: 1.0,
            share,
            covering: true,
            sorts: false,
        }
    }

    /// Estimates the path, which stops at the limit of the query if it may.
    pub(crate) fn estimate(self, query: &Query<'_>) -> Estimate {
        let rows = (query.statistics.row_count() * self.share).min(self.fetched);
        let read = stop_share(query.limit, rows, self.sorts);
        let lookups = if self.covering { 0.0 } else { self.fetched * read };
        let seeks = 1.0 + (self.seeks - 1.0) * read;
        let (keys, decoded) = (self.keys * read, self.passing_masks * read);
        let sorted = if self.sorts {
            sort_cost(rows, query.limit)
        } else {
            0.0
        };
        let cost = seeks * SEEK + keys * KEY + lookups * LOOKUP + decoded * ROW + sorted;
        let rows = query.limit.map_or(rows, |limit| rows.min(limit as f64));
        Estimate {
            keys,
            seeks,
            lookups,
            rows,
            cost,
        }
    }
}

/// The cost of sorting rows; for a limit only so many are kept at a time.
pub(crate) fn sort_cost(rows: f64, limit: Option<u64>) -> f64 {
    let kept = limit.map_or(rows, |limit| rows.min(limit as f64));
    rows * (kept + 2.0).log2() * SORT
}

/// The least cost of a path that reads all keys, to the end.
pub(crate) fn least_cost_of_all(query: &Query<'_>) -> f64 {
    SEEK + query.statistics.row_count().max(1.0) * KEY
}

/// The share of a scan that is read until a LIMIT is reached.
pub(crate) fn stop_share(limit: Option<u64>, rows: f64, sorts: bool) -> f64 {
    match limit {
        Some(limit) if !sorts && rows > 0.0 => (limit as f64 / rows).min(1.0),
        _ => 1.0,
    }
}

fn keys_in_spans(query: &Query<'_>, shape: &PathShape<'_>, total: f64) -> f64 {
    let slots = shape.target.search_slots();
    let spans = shape.placed.spans.iter();
    let most = spans
        .map(|span| most_keys(span, shape.target))
        .sum::<Option<f64>>();
    if shape
        .placed
        .spans
        .iter()
        .all(|span| is_whole_key(span, shape.target))
    {
        return most.unwrap_or(total).min(total.max(1.0));
    }
    let share = |one: &TermBox| {
        slots
            .iter()
            .map(|slot| slot_share(query, one, slot))
            .product::<f64>()
    };
    let shares: f64 = shape.constraint.boxes.iter().map(|one| share(one.proven())).sum();
    (total * shares.min(1.0)).min(most.unwrap_or(total)).max(1.0)
}

/// The number of keys that a span can hold at most, if all elements but the last have one value.
fn most_keys(span: &Span, target: &Target) -> Option<f64> {
    if is_whole_key(span, target) {
        return Some(1.0);
    }
    let (start, end) = (span.start.split_last()?, span.end.split_last()?);
    let ends = start.1 == end.1 && names_whole_key(&span.start, target) && names_whole_key(&span.end, target);
    let ty = target.slots.get(start.1.len()).filter(|_| ends)?.ty;
    Some(ordinal(ty, end.0)?.abs_diff(ordinal(ty, start.0)?) as f64 + 1.0)
}

/// Whether a span names one key at most.
pub(crate) fn is_whole_key(span: &Span, target: &Target) -> bool {
    span.start == span.end && names_whole_key(&span.start, target)
}

/// Whether no two keys begin with these datums.
fn names_whole_key(datums: &[Datum], target: &Target) -> bool {
    let unique = target.unique && datums.len() == target.searchable;
    datums.len() == target.slots.len() || (unique && !datums.iter().any(Datum::is_null))
}

/// The share of the rows that have an entry in a partial index, beside what its spans say.
fn share_indexed(query: &Query<'_>, shape: &PathShape<'_>) -> f64 {
    let Source::Index(id) = shape.target.source else {
        return 1.0;
    };
    let Some((_, predicate)) = query.index_predicates.iter().find(|(of, _)| *of == id) else {
        return 1.0;
    };
    let boxes = lower(predicate, query);
    let [one] = boxes.list.as_slice() else {
        return share_of_boxes(query, &boxes);
    };
    let in_spans = |term| {
        let proven = shape.constraint.boxes.iter().map(BoxSpans::proven);
        proven.into_iter().all(|proven| proven.get(term).is_some())
    };
    let open = one.sets().iter().filter(|(term, _)| !in_spans(*term));
    open.map(|(term, set)| share_of_term(query, *term, set)).product()
}

fn slot_share(query: &Query<'_>, one: &TermBox, slot: &Slot) -> f64 {
    let set = slot.term.and_then(|term| one.get(term));
    set.map_or(1.0, |set| slot_set_share(query, slot, set))
}

/// The share of the rows whose element of the key lies in a set.
fn slot_set_share(query: &Query<'_>, slot: &Slot, set: &IntervalSet) -> f64 {
    match (slot.hash_of, slot.term) {
        (Some((column, _)), _) => query.statistics.hash_share(TermId::column(column), slot.ty, set),
        (None, Some(term)) => query.statistics.share(term, slot.ty, set),
        (None, None) => 1.0,
    }
}

fn masked_share(query: &Query<'_>, shape: &PathShape<'_>) -> f64 {
    let slots = shape.target.search_slots();
    let share = |(column, set): &(usize, IntervalSet)| slot_set_share(query, &slots[*column], set);
    shape.masks.sets.iter().map(share).product()
}

/// Most intervals of sets that are intersected for an estimate.
const INTERSECTED_MAX: usize = 8;

/// The share of the rows for which all of some conjuncts are likely to be true.
///
/// Conditions on different terms are taken to be independent, those on one term are not: `day >= 1`
/// and `day < 2` together are the share of one interval.
pub(crate) fn share_of_conjuncts<'a>(query: &Query<'_>, conjuncts: impl Iterator<Item = &'a Boxes>) -> f64 {
    let mut terms: Vec<(TermId, Cow<'a, IntervalSet>)> = Vec::new();
    let mut others = 1.0;
    for conjunct in conjuncts {
        let [one] = conjunct.list.as_slice() else {
            others *= share_of_boxes(query, conjunct);
            continue;
        };
        for (term, set) in one.sets() {
            let known = terms.iter_mut().find(|(known, _)| known == term);
            match known {
                None => terms.push((*term, Cow::Borrowed(set))),
                Some((_, known)) if known.intervals().len().max(set.intervals().len()) <= INTERSECTED_MAX => {
                    *known = Cow::Owned(known.intersect(set));
                }
                Some(_) => others *= share_of_term(query, *term, set),
            }
        }
        if !conjunct.exact {
            others *= UNKNOWN_SHARE;
        }
    }
    let of_term = |(term, set): &(TermId, Cow<'_, IntervalSet>)| share_of_term(query, *term, set);
    terms.iter().map(of_term).product::<f64>() * others
}

/// Most boxes whose shares are summed up; of more, so many are taken for all.
const SUMMED_MAX: usize = 1_024;

/// The share of the rows for which a conjunct is likely to be true.
pub(crate) fn share_of_boxes(query: &Query<'_>, conjunct: &Boxes) -> f64 {
    let of_box = |one: &TermBox| {
        let sets = one.sets().iter();
        sets.map(|(term, set)| share_of_term(query, *term, set))
            .product::<f64>()
    };
    let step = conjunct.list.len().div_ceil(SUMMED_MAX).max(1);
    let sum: f64 = conjunct.list.iter().step_by(step).map(of_box).sum();
    let boxes = sum * conjunct.list.len() as f64 / conjunct.list.len().div_ceil(step).max(1) as f64;
    match conjunct.exact {
        true => boxes.min(1.0),
        false => boxes.min(1.0) * UNKNOWN_SHARE,
    }
}

pub(crate) fn share_of_term(query: &Query<'_>, term: TermId, set: &IntervalSet) -> f64 {
    let ty = query.term_type(term);
    ty.map_or(1.0, |ty| match term.kind() {
        TermKind::Hash { column, .. } => query.statistics.hash_share(TermId::column(column), ty.ty, set),
        _ => query.statistics.share(term, ty.ty, set),
    })
}

/// What is known of the rows, with what it says about hashes in the key.
pub(crate) fn known_for_key<'a>(
    query: &Query<'_>,
    known: Option<&'a TermBox>,
    target: &Target,
) -> Cow<'a, TermBox> {
    let Some(known) = known else {
        return Cow::Owned(TermBox::everything());
    };
    let slots = target.search_slots();
    if !slots.iter().any(|slot| slot.hash_of.is_some()) {
        return Cow::Borrowed(known);
    }
    let mut whole = known.clone();
    let projected = project(known.clone(), slots, query).unwrap_or_default();
    for (term, set) in projected.sets() {
        whole.put(*term, Some(set.clone()));
    }
    Cow::Owned(whole)
}
