//! From boxes over the elements of a key to spans.
//!
//! Leading elements that are points are written out, one span prefix for each combination; the
//! first element with an interval ends that. Behind it nothing can be proven by a span, but the
//! ends of a span still move as far in as the later elements allow (on INTEGER columns):
//!
//! | box                         | spans                          | exact | because                 |
//! |-----------------------------|--------------------------------|-------|-------------------------|
//! | a = 1, b >= 5               | `[/1/5 - /1]`                  | yes   |                         |
//! | a IN (1, 3), b BETWEEN 2, 4 | `[/1/2 - /1/4]` `[/3/2 - /3/4]`| yes   |                         |
//! | a > 2, b > 5                | `[/3/6 - ]`                    | no    | `/4/0` lies inside      |
//! | a <= 7, b <= 5              | `[ - /7/5]`                    | no    | `/6/9` lies inside      |
//! | b = 5                       | `[ - ]`                        | no    | a is free               |
//! | a > 'x' (text), b > 5       | `(/'x' - ]`                    | no    | no next text to extend  |
//!
//! Moving the start in is right because the rows it leaves out have the first value of the interval
//! and fail the later condition; it needs a first value, so an excluded bound of a type whose
//! values have no next one ends it.
//!
//! The number of spans is bounded by `budget`: past it, elements are widened to the interval around
//! all their values, from the last on; behind a single prefix to as many intervals as fit. Spans may
//! be too wide, never too narrow.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use rukh_keys::{DataType, Datum, Edge, Span};

use crate::conditions::boxes::TermBox;
use crate::conditions::domain::{as_point, count, is_point, last_value, values};
use crate::conditions::interval::{Cut, Interval, IntervalSet, Side};
use crate::inputs::target::Slot;

/// Most spans of a path.
pub(crate) const SPANS_MAX: usize = 16_384;

/// Most values of an interval that are written out as points when later elements are constrained.
pub(crate) const SMALL_INTERVAL: usize = 1_024;

/// What becomes of one box.
#[derive(Clone)]
pub(crate) struct BoxSpans {
    pub(crate) spans: Vec<PrefixSpan>,
    /// Whether the spans are exactly the box.
    pub(crate) exact: bool,
    /// A box that holds all rows in the spans, if that is not the box itself.
    widened: Option<TermBox>,
    /// The box itself.
    pub(crate) source: TermBox,
}

impl BoxSpans {
    /// A box that holds all rows in the spans: what the spans prove.
    pub(crate) fn proven(&self) -> &TermBox {
        self.widened.as_ref().unwrap_or(&self.source)
    }

    /// The span of a box that fixes each of some leading elements to one value, and no others;
    /// `None` of any other box. No two elements of a key are the same term: the catalog sees to that.
    fn of_point(one: &TermBox, slots: &[Slot]) -> Option<BoxSpans> {
        let mut datums = Vec::with_capacity(one.sets().len());
        for slot in slots.iter().take(one.sets().len()) {
            let set = one.get(slot.term?)?;
            datums.push(match (set.intervals(), set.null) {
                ([interval], false) => as_point(slot.ty, interval)?,
                ([], true) => Datum::Null,
                _ => return None,
            });
        }
        if datums.is_empty() || datums.len() != one.sets().len() {
            return None;
        }
        Some(BoxSpans {
            spans: vec![PrefixSpan {
                fixed: datums.len(),
                span: Span::prefix(datums),
            }],
            exact: true,
            widened: None,
            source: one.clone(),
        })
    }
}

/// A span and how many of its leading datums are the same at both ends.
#[derive(Clone)]
pub(crate) struct PrefixSpan {
    pub(crate) span: Span,
    pub(crate) fixed: usize,
}

/// How spans are made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanOptions {
    /// Most spans in all.
    pub(crate) budget: usize,
    /// Most values of an interval that are written out.
    pub(crate) small: usize,
    /// Whether several values of an element may make several spans.
    pub(crate) expand: bool,
}

impl SpanOptions {
    pub(crate) fn usual() -> SpanOptions {
        SpanOptions {
            budget: SPANS_MAX,
            small: SMALL_INTERVAL,
            expand: true,
        }
    }
}

/// Returns the spans of boxes whose terms are those of `slots`.
pub(crate) fn spans_of_boxes(boxes: &[TermBox], slots: &[Slot], options: SpanOptions) -> Vec<BoxSpans> {
    let mut narrow = Counts::new(SMALL_INTERVAL);
    let mut pieces = Vec::with_capacity(boxes.len());
    for one in boxes {
        match BoxSpans::of_point(one, slots) {
            Some(point) => pieces.push(Piece::Point(point)),
            None if options.expand => SlotBox::split(one, slots, &mut narrow, &mut pieces),
            None => pieces.push(Piece::Box(SlotBox::new(one.clone(), slots))),
        }
    }
    if pieces.len() > options.budget {
        let whole = |one: &TermBox| Piece::Box(SlotBox::new(one.clone(), slots));
        pieces = boxes.iter().map(whole).collect();
    }
    let mut counts = Counts::new(options.small);
    let wanted = pieces.iter().map(|piece| match piece {
        Piece::Point(_) => 1,
        Piece::Box(one) => one.wanted(slots, &mut counts),
    });
    let total = wanted.fold(0_usize, usize::saturating_add);
    let each = match total <= options.budget {
        true => options.budget,
        false => (options.budget / pieces.len().max(1)).max(1),
    };
    let options = SpanOptions {
        budget: each,
        ..options
    };
    let spans = pieces.into_iter().map(|piece| match piece {
        Piece::Point(point) => point,
        Piece::Box(one) => one.spans(slots, options),
    });
    spans.collect()
}

/// A box, or a part of one.
enum Piece {
    /// One value of each of some leading elements, which is one span.
    Point(BoxSpans),
    Box(SlotBox),
}

/// How many values the sets of elements have, if each interval has few; long sets that many boxes
/// share are counted once.
struct Counts {
    small: usize,
    /// By slot and address; the set is kept, so that no other takes its address.
    long: HashMap<(usize, usize), (Option<usize>, Arc<IntervalSet>)>,
}

impl Counts {
    fn new(small: usize) -> Counts {
        Counts {
            small,
            long: HashMap::new(),
        }
    }

    fn of(&mut self, at: usize, slot: &Slot, set: &Arc<IntervalSet>) -> Option<usize> {
        const LONG: usize = 8;
        let count = || -> Option<usize> {
            let counts = set
                .intervals()
                .iter()
                .map(|one| value_count(one, slot.ty, self.small));
            counts.sum()
        };
        if set.intervals().len() < LONG {
            return count();
        }
        let address = (at, Arc::as_ptr(set) as usize);
        if let Some((known, _)) = self.long.get(&address) {
            return *known;
        }
        let count = count();
        self.long.insert(address, (count, set.clone()));
        count
    }
}

/// A box with its sets by slot.
struct SlotBox {
    source: TermBox,
    sets: Vec<Option<Arc<IntervalSet>>>,
    /// Slots up to the last constrained one.
    constrained: usize,
}

impl SlotBox {
    fn new(source: TermBox, slots: &[Slot]) -> SlotBox {
        let set = |slot: &Slot| {
            source
                .get(slot.term?)
                .filter(|set| !slot.is_everything(set))
                .cloned()
        };
        let sets: Vec<_> = slots.iter().map(set).collect();
        let constrained = sets.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
        SlotBox {
            source,
            sets,
            constrained,
        }
    }

    /// Splits a box where an element has both points and intervals and later ones are constrained,
    /// so that the points can be written out.
    fn split(one: &TermBox, slots: &[Slot], counts: &mut Counts, into: &mut Vec<Piece>) {
        let whole = SlotBox::new(one.clone(), slots);
        for (at, slot) in slots.iter().enumerate().take(whole.constrained.saturating_sub(1)) {
            let Some(set) = &whole.sets[at] else { break };
            if counts.of(at, slot, set).is_some() {
                continue;
            }
            let is_narrow = |interval: &Interval| value_count(interval, slot.ty, SMALL_INTERVAL).is_some();
            let (narrow, wide) = set.partition(is_narrow);
            if narrow.is_empty() {
                break;
            }
            let part = |set: IntervalSet| {
                let mut one = one.clone();
                if let Some(term) = slot.term {
                    one.put(term, Some(Arc::new(set)));
                }
                one
            };
            SlotBox::split(&part(narrow), slots, counts, into);
            into.push(Piece::Box(SlotBox::new(part(wide), slots)));
            return;
        }
        into.push(Piece::Box(whole));
    }

    /// The number of spans without a bound.
    fn wanted(&self, slots: &[Slot], counts: &mut Counts) -> usize {
        let mut wanted = 1_usize;
        for (at, slot) in slots.iter().enumerate().take(self.constrained) {
            let Some(set) = &self.sets[at] else { break };
            let parts = set.intervals().len() + usize::from(set.null);
            if at + 1 == self.constrained {
                return wanted.saturating_mul(parts);
            }
            match counts.of(at, slot, set) {
                Some(count) => wanted = wanted.saturating_mul(count + usize::from(set.null)),
                None => return wanted.saturating_mul(parts),
            }
        }
        wanted
    }

    fn spans(self, slots: &[Slot], options: SpanOptions) -> BoxSpans {
        let mut prefixes: Vec<Vec<Datum>> = vec![Vec::with_capacity(self.constrained)];
        let mut at = 0;
        while at + 1 < self.constrained {
            let Some(values) = self.values(at, slots, options, prefixes.len()) else {
                break;
            };
            prefixes = extended(prefixes, values);
            at += 1;
        }
        let segments = self.segments(at, slots, options, prefixes.len());
        let mut spans = Vec::with_capacity(prefixes.len() * segments.parts.len());
        for prefix in prefixes {
            spans.extend(
                segments
                    .parts
                    .iter()
                    .map(|part| self.span(&prefix, part, at, slots)),
            );
        }
        let exact = segments.exact && at + 1 >= self.constrained;
        let widened = Some(self.proven(at, segments.set, slots));
        BoxSpans {
            spans,
            exact,
            widened,
            source: self.source,
        }
    }

    /// The values of an element to write out, in key order, or `None` if spans end here.
    fn values(&self, at: usize, slots: &[Slot], options: SpanOptions, so_far: usize) -> Option<Vec<Datum>> {
        let slot = &slots[at];
        let at_least = self.sets[at].as_ref().map_or(0, |set| set.intervals().len());
        if at_least.saturating_mul(so_far) > options.budget {
            return None;
        }
        let mut values = match &self.sets[at] {
            Some(set) => values(slot.ty, &in_keys(slot.ty, set), options.small)?,
            None => free_values(slot)?,
        };
        if values.len().saturating_mul(so_far) > options.budget || (values.len() > 1 && !options.expand) {
            return None;
        }
        if slot.descending {
            values.reverse();
        }
        Some(values)
    }

    /// The intervals of an element in key order, joined if they are too many.
    fn segments(&self, at: usize, slots: &[Slot], options: SpanOptions, so_far: usize) -> Segments {
        let Some(set) = self.sets.get(at).and_then(Option::as_ref) else {
            return Segments {
                parts: vec![Part::Free],
                set: None,
                exact: self.constrained <= at,
            };
        };
        let parts = set.intervals().len() + usize::from(set.null);
        let room = options.budget / so_far.max(1);
        let (set, exact) = match parts {
            parts if parts > 1 && !options.expand => (Arc::new(set.hull()), false),
            parts if parts <= room => (set.clone(), true),
            _ if so_far == 1 => (Arc::new(set.coarsened(room.saturating_sub(1))), false),
            _ => (Arc::new(set.hull()), false),
        };
        Segments {
            parts: parts_in_key_order(&set, &slots[at]),
            set: Some(set),
            exact,
        }
    }

    /// The box that spans ending at slot `at` with `set` prove.
    fn proven(&self, at: usize, set: Option<Arc<IntervalSet>>, slots: &[Slot]) -> TermBox {
        let mut proven = TermBox::everything();
        for (slot, set) in slots.iter().zip(&self.sets).take(at) {
            if let (Some(term), Some(set)) = (slot.term, set) {
                proven.put(term, Some(set.clone()));
            }
        }
        if let Some(term) = slots.get(at).and_then(|slot| slot.term) {
            proven.put(term, set);
        }
        proven
    }

    fn span(&self, prefix: &[Datum], part: &Part, at: usize, slots: &[Slot]) -> PrefixSpan {
        let (start, start_edge) = self.end(prefix, part, at, slots, End::Start);
        if let (Part::Point(_), true) = (part, at + 1 >= self.constrained) {
            return PrefixSpan {
                fixed: start.len(),
                span: Span::prefix(start),
            };
        }
        let (end, end_edge) = self.end(prefix, part, at, slots, End::End);
        let same = start.iter().zip(&end).take_while(|(a, b)| a == b).count();
        PrefixSpan {
            span: Span {
                start,
                start_edge,
                end,
                end_edge,
            },
            fixed: same,
        }
    }

    /// One end of a span: the prefix, the end of the part, and then as far into later elements as
    /// their first (last) values are known.
    fn end(&self, prefix: &[Datum], part: &Part, at: usize, slots: &[Slot], end: End) -> (Vec<Datum>, Edge) {
        let mut key = Vec::with_capacity(self.constrained.max(prefix.len()));
        key.extend_from_slice(prefix);
        let Some(slot) = slots.get(at) else {
            return (key, Edge::Included);
        };
        let later = at + 1 < self.constrained;
        let mut edge = push_end(&mut key, part_end(part, slot, end, later));
        let mut next = at + 1;
        while edge == Some(Edge::Included) && next < self.constrained {
            let Some(set) = &self.sets[next] else { break };
            let slot = &slots[next];
            let outer = outer_part(set, (end == End::Start) != slot.descending, slot.ty);
            let later = next + 1 < self.constrained;
            let pushed = push_end(&mut key, part_end(&outer, slot, end, later));
            next += 1;
            if pushed.is_none() {
                break;
            }
            edge = pushed;
        }
        (key, edge.unwrap_or(Edge::Included))
    }
}

/// Which end of a span, in key order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Start,
    End,
}

/// A piece of an element's set.
enum Part {
    /// All values and NULL.
    Free,
    /// One value, or NULL.
    Point(Datum),
    /// Several values.
    Values(Interval),
}

/// The pieces of the element that ends the spans.
struct Segments {
    parts: Vec<Part>,
    /// The set they make up.
    set: Option<Arc<IntervalSet>>,
    /// Whether that is the element's own set.
    exact: bool,
}

impl Part {
    fn new(interval: &Interval, ty: DataType) -> Part {
        as_point(ty, interval).map_or_else(|| Part::Values(interval.clone()), Part::Point)
    }
}

/// The pieces of a set in key order.
fn parts_in_key_order(set: &IntervalSet, slot: &Slot) -> Vec<Part> {
    let mut parts = Vec::with_capacity(set.intervals().len() + usize::from(set.null));
    parts.extend(
        set.intervals()
            .iter()
            .map(|interval| Part::new(interval, slot.ty)),
    );
    if set.null {
        parts.push(Part::Point(Datum::Null));
    }
    if slot.descending {
        parts.reverse();
    }
    parts
}

/// The piece of a set with its smallest values, or that with its greatest, NULL being the greatest.
fn outer_part(set: &IntervalSet, smallest: bool, ty: DataType) -> Part {
    let (first, last) = (set.intervals().first(), set.intervals().last());
    let values = if smallest { first } else { last };
    match values {
        Some(interval) if smallest || !set.null => Part::new(interval, ty),
        _ => Part::Point(Datum::Null),
    }
}

/// Pushes an end; `None` if it is open.
fn push_end(key: &mut Vec<Datum>, end: Option<(Datum, Edge)>) -> Option<Edge> {
    let (datum, edge) = end?;
    key.push(datum);
    Some(edge)
}

/// The datum and edge at which a piece starts or ends in key order; `None` if it is open there.
fn part_end(part: &Part, slot: &Slot, end: End, later: bool) -> Option<(Datum, Edge)> {
    let interval = match part {
        Part::Free => return None,
        Part::Point(point) => return Some((point.clone(), Edge::Included)),
        Part::Values(interval) => interval,
    };
    let bound = match (end == End::Start) != slot.descending {
        true => low_bound(&interval.low),
        false => high_bound(interval, slot.ty, later),
    };
    // NULLs lie behind the greatest value in key order, before it in descending order.
    let null_beyond = slot.nullable && (end == End::End) != slot.descending;
    bound.or_else(|| null_beyond.then_some((Datum::Null, Edge::Excluded)))
}

fn low_bound(low: &Cut) -> Option<(Datum, Edge)> {
    match low {
        Cut::At(datum, Side::Before) => Some((datum.clone(), Edge::Included)),
        Cut::At(datum, Side::After) => Some((datum.clone(), Edge::Excluded)),
        Cut::Min | Cut::Max => None,
    }
}

/// The greatest value of an interval where that has a name; but instants are more readable as the
/// first that is not in it, unless the key goes on.
pub(crate) fn high_bound(interval: &Interval, ty: DataType, later: bool) -> Option<(Datum, Edge)> {
    let instant = matches!(
        ty,
        DataType::Time { .. } | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
    );
    match &interval.high {
        Cut::At(datum, Side::Before) => match last_value(ty, &interval.high) {
            Some(last) if later || !instant => Some((last, Edge::Included)),
            _ => Some((datum.clone(), Edge::Excluded)),
        },
        Cut::At(datum, Side::After) => Some((datum.clone(), Edge::Included)),
        Cut::Min | Cut::Max => None,
    }
}

/// Every prefix with every value behind it.
fn extended(mut prefixes: Vec<Vec<Datum>>, values: Vec<Datum>) -> Vec<Vec<Datum>> {
    if let [value] = values.as_slice() {
        prefixes.iter_mut().for_each(|prefix| prefix.push(value.clone()));
        return prefixes;
    }
    let with = |prefix: &Vec<Datum>, value: &Datum| {
        let mut longer = Vec::with_capacity(prefix.len() + 2);
        longer.extend_from_slice(prefix);
        longer.push(value.clone());
        longer
    };
    let all = prefixes
        .iter()
        .flat_map(|prefix| values.iter().map(move |value| with(prefix, value)));
    all.collect()
}

/// The values of an element that nothing is said about, if there are only two or three.
fn free_values(slot: &Slot) -> Option<Vec<Datum>> {
    if slot.ty != DataType::Boolean {
        return None;
    }
    values(slot.ty, &IntervalSet::everything(slot.nullable), 2)
}

/// Returns the values of a set that keys have room for, where that leaves few: a CHAR(1) of a key is one byte.
fn in_keys(ty: DataType, set: &IntervalSet) -> Cow<'_, IntervalSet> {
    if ty != DataType::Char(1) {
        return Cow::Borrowed(set);
    }
    let bytes = IntervalSet::between(Cut::Min, Cut::before(Datum::Text("\u{80}".to_string())));
    let mut held = set.intersect(&bytes);
    held.null = set.null;
    Cow::Owned(held)
}

/// How many values an interval of an element has, if they can be written out.
pub(crate) fn value_count(interval: &Interval, ty: DataType, small: usize) -> Option<usize> {
    if is_point(ty, interval) {
        return Some(1);
    }
    match count(ty, interval) {
        Some(count) => (count <= small as u128).then_some(count as usize),
        None => {
            let one = IntervalSet::from_intervals(vec![interval.clone()]);
            values(ty, &in_keys(ty, &one), small).map(|values| values.len())
        }
    }
}

/// Whether a set allows one value only.
pub(crate) fn is_single_value(set: &IntervalSet, ty: DataType) -> bool {
    match (set.intervals(), set.null) {
        ([], true) => true,
        ([one], false) => is_point(ty, one),
        _ => false,
    }
}
