//! The quick way to the commonest plan: one key of the table.
//!
//! `a = 1 AND b = 'x'` on the key (a, b) needs no boxes, no product and no proofs. What comes out is
//! exactly what the general way gives, of which each step is known beforehand:
//!
//! | step of the general way | here                                                               |
//! |-------------------------|--------------------------------------------------------------------|
//! | boxes                   | one, of a point per element                                         |
//! | spans                   | the one key                                                        |
//! | proven                  | the equalities on the key; other conditions stay                    |
//! | masked compares         | none: the row is checked once decoded                               |
//! | order                   | any, of one row                                                    |
//!
//! Deliberately not here: everything else. A condition that is not `column op constant`, two on one
//! column, a value that the column cannot have, a hash in the key: `None`, and the general way is
//! taken.

use rukh_keys::{DataType, Datum, Span};

use crate::bounds::ranges::Placed;
use crate::conditions::boxes::Boxes;
use crate::conditions::domain::{as_point, place};
use crate::conditions::lower::lower;
use crate::conditions::predicate::{CompareOp, Constant, Operand, Predicate};
use crate::conditions::term::TermId;
use crate::conditions::value::constant_value;
use crate::inputs::query::{Query, Source};
use crate::inputs::target::Target;
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::cost::{Reading, share_of_boxes};

/// Most conjuncts that are compared with each other.
const CONJUNCTS_MAX: usize = 32;

/// Plans the read of one key of a table; `None` if the query is no such read.
pub(crate) fn point_path(query: &Query<'_>, target: &Target) -> Option<AccessPath> {
    let is_table = target.source == Source::Table && !target.hashed;
    let count = query.conjuncts.len();
    if !is_table || !query.hints.is_empty() || count < target.slots.len() || count > CONJUNCTS_MAX {
        return None;
    }
    let named = point_key(query, target)?;
    let span = Span::prefix(named.key);
    let bucket = match target.layout.salt() {
        None => None,
        Some(salt) => {
            let of = |at: &usize| span.start.get(*at).cloned();
            let datums: Option<Vec<Datum>> = salt.columns.iter().map(of).collect();
            Some(target.layout.bucket_of(&datums?)?)
        }
    };
    let range = target.layout.range(&span, bucket);
    if range.is_empty() {
        return None;
    }
    let placed = Placed {
        spans: vec![span],
        buckets: bucket.map(|bucket| vec![bucket]),
        ranges: vec![range],
    };
    let estimate = Reading::single_key(named.share).estimate(query);
    Some(AccessPath {
        residual: named.residual,
        ..AccessPath::new(target, ScanKind::PointLookup, placed, estimate)
    })
}

/// `column op constant` or `constant op column`, the constant not NULL.
fn comparison(conjunct: &Predicate) -> Option<(TermId, CompareOp, &Constant)> {
    let (term, op, constant) = match conjunct {
        Predicate::Compare {
            op,
            left: Operand::Term(term),
            right: Operand::Constant(constant),
        } => (*term, *op, constant),
        Predicate::Compare {
            op,
            left: Operand::Constant(constant),
            right: Operand::Term(term),
        } => (*term, op.flipped(), constant),
        _ => return None,
    };
    (!constant.datum.is_null()).then_some((term, op, constant))
}

/// What the conjuncts say, taken apart.
struct PointKey {
    /// The key that they name.
    key: Vec<Datum>,
    /// Positions of those that are to be checked on the row.
    residual: Vec<usize>,
    /// The share of the rows for which all are likely to be true.
    share: f64,
}

/// Takes the conjuncts apart, if there is an equality for each element of the key and each conjunct
/// is about a column of its own.
fn point_key(query: &Query<'_>, target: &Target) -> Option<PointKey> {
    let mut key = vec![Datum::Null; target.slots.len()];
    let mut residual = Vec::new();
    let mut others: Vec<TermId> = Vec::new();
    let mut share = 1.0;
    for (at, conjunct) in query.conjuncts.iter().enumerate() {
        let (term, op, constant) = comparison(conjunct)?;
        let position = target.slots.iter().position(|slot| slot.term == Some(term));
        if let Some(position) = position {
            if op != CompareOp::Eq || !key[position].is_null() {
                return None;
            }
            let ty = target.slots[position].ty;
            key[position] = equal_datum(ty, constant)?;
            share *= query.statistics.point_share(term, ty, &key[position]);
            continue;
        }
        if others.contains(&term) {
            return None;
        }
        others.push(term);
        let boxes = lower(conjunct, query);
        share *= share_of_boxes(query, &boxes);
        if is_open(&boxes)? {
            residual.push(at);
        }
    }
    let whole = !key.iter().any(Datum::is_null);
    whole.then_some(PointKey { key, residual, share })
}

/// Returns the one value of a type that is equal to a constant, which is not NULL; `None` if there is none,
/// or the two do not compare.
pub fn equal_datum(ty: DataType, constant: &Constant) -> Option<Datum> {
    let constant = constant_value(&constant.datum, constant.ty, ty)?;
    as_point(ty, &place(ty, &constant)?.equal()?)
}

/// Whether a conjunct is to be checked on the row; `None` if no row passes or it is not understood.
fn is_open(boxes: &Boxes) -> Option<bool> {
    match boxes.list.as_slice() {
        [one] if boxes.exact => Some(!one.is_everything()),
        _ => None,
    }
}
