//! From spans to byte ranges: sorted, disjoint, one set per bucket of a salted key.
//!
//! Spans that touch in bytes are joined: `[/1/3 - /1]` and `[/2 - ]` are one range, `(1, 2)` and
//! `(1, 3)` of an INTEGER key too. The salt byte is computed from the salt columns; where a box fixes
//! all of them, only their buckets are read.

use rukh_keys::{Datum, KeyLayout, KeyRange, Span};

use crate::bounds::spans::{BoxSpans, PrefixSpan};
use crate::conditions::boxes::TermBox;
use crate::conditions::domain::few_values;
use crate::inputs::target::Target;

/// Most combinations of salt column values that are hashed for one box.
const SALT_COMBINATIONS_MAX: usize = 1_024;

/// Most of them per bucket: as many are in all buckets all but surely.
const SALT_COMBINATIONS_PER_BUCKET: usize = 16;

/// The spans of a path, and where they lie.
pub(crate) struct Placed {
    /// Sorted in key order; spans of different buckets may overlap.
    pub(crate) spans: Vec<Span>,
    /// Buckets read, in order; `None` if the key has no salt.
    pub(crate) buckets: Option<Vec<u8>>,
    /// Sorted and disjoint.
    pub(crate) ranges: Vec<KeyRange>,
}

/// Places spans among the keys of a layout; takes the spans out of the boxes.
pub(crate) fn place_spans(boxes: &mut [BoxSpans], target: &Target) -> Placed {
    match target.layout.salt() {
        None => place_unsalted(boxes, &target.layout),
        Some(_) => place_salted(boxes, target),
    }
}

fn place_unsalted(boxes: &mut [BoxSpans], layout: &KeyLayout) -> Placed {
    let spans = boxes
        .iter_mut()
        .flat_map(|one| std::mem::take(&mut one.spans))
        .map(|prefix| prefix.span);
    let joined = join_spans(spans.map(|span| (layout.range(&span, None), span)).collect());
    let (ranges, spans) = joined.into_iter().unzip();
    Placed {
        spans,
        buckets: None,
        ranges,
    }
}

/// Sorts spans by their ranges and joins those that overlap or touch.
fn join_spans(mut spans: Vec<(KeyRange, Span)>) -> Vec<(KeyRange, Span)> {
    spans.retain(|(range, _)| !range.is_empty());
    spans.sort_by(|(a, _), (b, _)| a.start.cmp(&b.start));
    let mut joined: Vec<(KeyRange, Span)> = Vec::with_capacity(spans.len());
    for (range, span) in spans {
        match joined.last_mut() {
            Some((last, whole)) if reaches(last, &range.start) => {
                if ends_before(last, &range) {
                    last.limit = range.limit;
                    (whole.end, whole.end_edge) = (span.end, span.end_edge);
                }
            }
            _ => joined.push((range, span)),
        }
    }
    joined
}

fn reaches(range: &KeyRange, start: &[u8]) -> bool {
    range.limit.as_deref().is_none_or(|limit| limit >= start)
}

fn ends_before(range: &KeyRange, other: &KeyRange) -> bool {
    match (&range.limit, &other.limit) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(limit), Some(other)) => limit < other,
    }
}

/// Which buckets a span is read in.
type BucketSet = [bool; 256];

fn place_salted(boxes: &mut [BoxSpans], target: &Target) -> Placed {
    let layout = &target.layout;
    let mut spans: Vec<(BucketSet, Span)> = Vec::new();
    for one in boxes {
        let by_box = box_buckets(&one.source, target);
        for prefix in std::mem::take(&mut one.spans) {
            let fixed = &prefix.span.start[..prefix.fixed];
            spans.push((prefix_bucket(fixed, layout).unwrap_or(by_box), prefix.span));
        }
    }
    let mut ranges = Vec::new();
    let mut buckets = Vec::new();
    for bucket in layout.buckets() {
        let here = spans.iter().filter(|(set, _)| set[usize::from(bucket)]);
        let here = KeyRange::merge(here.map(|(_, span)| layout.range(span, Some(bucket))).collect());
        if !here.is_empty() {
            buckets.push(bucket);
            ranges.extend(here);
        }
    }
    let spans = joined_per_bucket_set(spans, layout);
    if matches!(spans.as_slice(), [span] if *span == Span::all()) {
        ranges = vec![KeyRange::all()];
    }
    Placed {
        spans,
        buckets: Some(buckets),
        ranges,
    }
}

/// Joins the spans that are read in the same buckets, and sorts all of them.
fn joined_per_bucket_set(mut spans: Vec<(BucketSet, Span)>, layout: &KeyLayout) -> Vec<Span> {
    spans.sort_by_key(|(set, _)| *set);
    let groups = spans.chunk_by(|a, b| a.0 == b.0);
    let ranged = |span: &Span| (layout.range(span, Some(0)), span.clone());
    let joined = groups.flat_map(|group| join_spans(group.iter().map(|(_, span)| ranged(span)).collect()));
    let mut joined: Vec<_> = joined.collect();
    joined.sort_by(|(a, _), (b, _)| a.start.cmp(&b.start));
    joined.into_iter().map(|(_, span)| span).collect()
}

/// The bucket of keys that begin with these datums, if they name all salt columns.
fn prefix_bucket(prefix: &[Datum], layout: &KeyLayout) -> Option<BucketSet> {
    let columns = &layout.salt()?.columns;
    let datums: Option<Vec<Datum>> = columns.iter().map(|at| prefix.get(*at).cloned()).collect();
    let mut set = [false; 256];
    set[usize::from(layout.bucket_of(&datums?)?)] = true;
    Some(set)
}

/// The buckets of the keys in a box: all, unless it fixes every salt column to few values.
fn box_buckets(one: &TermBox, target: &Target) -> BucketSet {
    let layout = &target.layout;
    let Some(combinations) = salt_combinations(one, target) else {
        return all_buckets(layout);
    };
    let mut set = [false; 256];
    for datums in combinations {
        match layout.bucket_of(&datums) {
            Some(bucket) => set[usize::from(bucket)] = true,
            None => return all_buckets(layout),
        }
    }
    set
}

fn all_buckets(layout: &KeyLayout) -> BucketSet {
    let mut set = [false; 256];
    layout
        .buckets()
        .for_each(|bucket| set[usize::from(bucket)] = true);
    set
}

/// The combinations of values of the salt columns in a box, if they are few.
fn salt_combinations(one: &TermBox, target: &Target) -> Option<Vec<Vec<Datum>>> {
    let salt = target.layout.salt()?;
    let most = (usize::from(salt.buckets) * SALT_COMBINATIONS_PER_BUCKET).min(SALT_COMBINATIONS_MAX);
    let mut combinations: Vec<Vec<Datum>> = vec![Vec::new()];
    for column in &salt.columns {
        let slot = target.slots.get(*column)?;
        let values = few_values(slot.ty, one.get(slot.term?)?, most / combinations.len().max(1))?;
        let longer = |prefix: &Vec<Datum>| {
            let with = |value: &Datum| prefix.iter().cloned().chain([value.clone()]).collect();
            values.iter().map(with).collect::<Vec<_>>()
        };
        combinations = combinations.iter().flat_map(longer).collect();
    }
    Some(combinations)
}

/// How many ranges the spans of boxes make before any are joined.
pub(crate) fn range_count(boxes: &[BoxSpans], target: &Target) -> usize {
    let layout = &target.layout;
    if layout.salt().is_none() {
        return boxes.iter().map(|one| one.spans.len()).sum();
    }
    let count = |set: &BucketSet| set.iter().filter(|read| **read).count();
    let of_box = |one: &BoxSpans| {
        let whole = count(&box_buckets(&one.source, target));
        let of_span = |prefix: &PrefixSpan| {
            let fixed = &prefix.span.start[..prefix.fixed];
            prefix_bucket(fixed, layout).map_or(whole, |_| 1)
        };
        one.spans.iter().map(of_span).sum::<usize>()
    };
    boxes.iter().map(of_box).sum()
}
