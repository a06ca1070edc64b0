//! Tests on encoded key bytes for what spans do not prove.

use std::sync::Arc;

use rukh_keys::{Bound, Edge, Field, FieldTest, KeyLayout, MaskedCompare};

use crate::bounds::constrain::{Constraint, project};
use crate::bounds::spans::{BoxSpans, high_bound};
use crate::conditions::boxes::{Boxes, TermBox};
use crate::conditions::domain::as_point;
use crate::conditions::interval::{Cut, Interval, IntervalSet, Side};
use crate::conditions::term::TermId;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::Query;
use crate::inputs::target::{Slot, Target};

/// A masked compare as EXPLAIN shows it: one column of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MaskedTest {
    /// Position of the column in the key layout.
    pub column: usize,
    /// The test as SQL: `code = 404`, `day >= 5`.
    pub sql: String,
    /// Where the column lies in the keys.
    pub field: Field,
    /// The last column of variable width before it, from whose end the place is counted; `None` where it is the same in every key.
    pub behind: Option<String>,
}

/// Displays the place: `bytes 4..8`, `bytes 0..8 behind sensor`.
impl std::fmt::Display for MaskedTest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.behind {
            None => write!(f, "{}", self.field),
            Some(name) => write!(f, "{} behind {name}", self.field),
        }
    }
}

/// The masked compares of a path, and the conjuncts they prove.
pub(crate) struct Masks {
    pub(crate) compare: MaskedCompare,
    pub(crate) tests: Vec<MaskedTest>,
    /// Per column tested, the values allowed.
    pub(crate) sets: Vec<(usize, IntervalSet)>,
    /// Per conjunct, whether spans or masked compares prove it.
    pub(crate) proven: Vec<bool>,
}

impl Masks {
    /// No masked compares.
    pub(crate) fn none(proven: Vec<bool>) -> Masks {
        Masks {
            compare: MaskedCompare::new(Vec::new()),
            tests: Vec::new(),
            sets: Vec::new(),
            proven,
        }
    }
}

/// Finds the masked compares of what the spans of `constraint` leave open.
pub(crate) fn masks(
    query: &Query<'_>,
    knowledge: &Knowledge,
    target: &Target,
    constraint: &mut Constraint,
) -> Masks {
    let slots = target.search_slots();
    let mut masks = Masks::none(std::mem::take(&mut constraint.proven));
    if !masks.proven.contains(&false) {
        return masks;
    }
    let known = knowledge.known.as_ref();
    let Some(known) = known.and_then(|known| project(known.clone(), slots, query)) else {
        return masks;
    };
    let mut fields = Vec::new();
    for (column, set) in open_sets(&known, slots, constraint) {
        let Some((test, field)) = field_test(&target.layout, column, &slots[column], &set) else {
            continue;
        };
        fields.push(test);
        let sql = slots[column].describe(&set);
        let behind = field.behind.map(|at| slots[at].name.clone());
        masks.tests.push(MaskedTest {
            column,
            sql,
            field,
            behind,
        });
        masks.sets.push((column, set));
    }
    for (at, conjunct) in knowledge.conjuncts.iter().enumerate() {
        masks.proven[at] |= is_tested(conjunct, slots, constraint, &masks.sets);
    }
    masks.compare = MaskedCompare::new(fields);
    masks
}

/// The sets of a box that the spans do not prove already, by slot.
fn open_sets<'a>(
    implied: &'a TermBox,
    slots: &'a [Slot],
    constraint: &'a Constraint,
) -> impl Iterator<Item = (usize, IntervalSet)> + 'a {
    let of_slot = |(at, slot): (usize, &'a Slot)| Some((at, implied.get(slot.term?)?, slot.term?));
    slots
        .iter()
        .enumerate()
        .filter_map(of_slot)
        .filter(|(_, set, term)| !spans_prove(constraint, *term, set))
        .map(|(at, set, _)| (at, set.as_ref().clone()))
}

/// Whether a conjunct says exactly that each of some columns lies in a set, and each of them is
/// tested or proven by the spans.
fn is_tested(
    conjunct: &Boxes,
    slots: &[Slot],
    constraint: &Constraint,
    tested: &[(usize, IntervalSet)],
) -> bool {
    let [one] = conjunct.list.as_slice() else {
        return false;
    };
    let holds = |(term, set): &(TermId, Arc<IntervalSet>)| {
        let is_in =
            |(at, inner): &(usize, IntervalSet)| slots[*at].term == Some(*term) && inner.is_subset(set);
        tested.iter().any(is_in) || spans_prove(constraint, *term, set)
    };
    conjunct.exact && one.sets().iter().all(holds)
}

pub(crate) fn spans_prove(constraint: &Constraint, term: TermId, set: &IntervalSet) -> bool {
    let holds = |spans: &BoxSpans| {
        spans
            .proven()
            .get(term)
            .is_some_and(|proven| proven.is_subset(set))
    };
    constraint.boxes.iter().all(holds)
}

fn field_test(
    layout: &KeyLayout,
    column: usize,
    slot: &Slot,
    set: &IntervalSet,
) -> Option<(FieldTest, Field)> {
    let field = layout.place(column)?;
    let bounds: Vec<_> = set
        .intervals()
        .iter()
        .map(|interval| bounds(interval, slot))
        .collect();
    let borrowed: Vec<(Bound<'_>, Bound<'_>)> = bounds
        .iter()
        .map(|(low, high)| {
            (
                low.as_ref().map(|(d, e)| (d, *e)),
                high.as_ref().map(|(d, e)| (d, *e)),
            )
        })
        .collect();
    let test = layout.field_test(column, &borrowed, set.null)?;
    Some((test, field))
}

type OwnedBound = Option<(rukh_keys::Datum, Edge)>;

/// The ends of an interval as datums.
fn bounds(interval: &Interval, slot: &Slot) -> (OwnedBound, OwnedBound) {
    if let Some(point) = as_point(slot.ty, interval) {
        return (
            Some((point.clone(), Edge::Included)),
            Some((point, Edge::Included)),
        );
    }
    let low = match &interval.low {
        Cut::At(datum, Side::Before) => Some((datum.clone(), Edge::Included)),
        Cut::At(datum, Side::After) => Some((datum.clone(), Edge::Excluded)),
        Cut::Min | Cut::Max => None,
    };
    (low, high_bound(interval, slot.ty, false))
}

impl Slot {
    /// Returns a set of values of the element as an SQL condition.
    pub(crate) fn describe(&self, set: &IntervalSet) -> String {
        describe_set(&self.name, self, set)
    }
}

fn describe_set(name: &str, slot: &Slot, set: &IntervalSet) -> String {
    let mut points = Vec::new();
    let mut parts = Vec::new();
    for interval in set.intervals() {
        let (low, high) = bounds(interval, slot);
        let show = |bound: &OwnedBound, included: &str, excluded: &str| {
            bound.as_ref().map(|(datum, edge)| {
                let op = if *edge == Edge::Included {
                    included
                } else {
                    excluded
                };
                format!("{name} {op} {}", slot.ty.display(datum))
            })
        };
        match (&low, &high) {
            (Some((a, Edge::Included)), Some((b, Edge::Included))) if a == b => {
                points.push(slot.ty.display(a).to_string());
            }
            (Some((a, Edge::Included)), Some((b, Edge::Included))) => {
                let (a, b) = (slot.ty.display(a), slot.ty.display(b));
                parts.push(format!("{name} BETWEEN {a} AND {b}"));
            }
            (None, None) => parts.push(format!("{name} IS NOT NULL")),
            _ => {
                let ends = [show(&low, ">=", ">"), show(&high, "<=", "<")];
                parts.push(ends.into_iter().flatten().collect::<Vec<_>>().join(" AND "));
            }
        }
    }
    match points.len() {
        0 => {}
        1 => parts.insert(0, format!("{name} = {}", points[0])),
        count => parts.insert(0, format!("{name} IN ({})", listed(&points, count))),
    }
    if set.null {
        parts.push(format!("{name} IS NULL"));
    }
    match parts.len() {
        0 => "FALSE".to_string(),
        _ => parts.join(" OR "),
    }
}

/// The first points of a list, and how many more there are.
fn listed(points: &[String], count: usize) -> String {
    const SHOWN: usize = 8;
    match count <= SHOWN {
        true => points.join(", "),
        false => format!("{}, … and {} more", points[..SHOWN].join(", "), count - SHOWN),
    }
}
