//! The algebra of sets and boxes, checked against bitmaps on small domains: what each branch of it gives is what
//! the bits say.
//!
//! | checked                                              | how                                          |
//! |------------------------------------------------------|----------------------------------------------|
//! | union, intersection, difference, complement, subset, meeting, enclosing, hull, parts, coarsening | all pairs of sets of six values and NULL |
//! | the ways by look-up of few intervals among many      | all sets of six values beside combs of 64    |
//! | intersection, subset, meeting of boxes; hull; joining boxes; products | random lists of boxes over three terms |
//! | the one form of boxes                                | the same, cut up and shuffled                |
//! | what is past a bound: products, long lists, long sets | all rows are still there                     |
//! | spans of boxes                                       | every tuple of the domain, in all directions, under small bounds |

use std::sync::Arc;

use rukh_catalog::ColumnId;
use rukh_keys::{DataType, Datum, KeyColumn, KeyLayout, SortOrder};

use crate::bounds::decided::decided;
use crate::bounds::spans::{SpanOptions, spans_of_boxes};
use crate::conditions::boxes::{Boxes, Budget, TermBox, hull, simplify};
use crate::conditions::interval::{Cut, Interval, IntervalSet};
use crate::conditions::mix::Mix;
use crate::conditions::term::{TermId, TermType, TermTypes};
use crate::inputs::target::Slot;

/// Bit of NULL.
const NULL: u64 = 1 << 63;

/// The set of the values `0 .. width` whose bits are set, and of NULL.
fn set_of(bits: u64, width: i64) -> IntervalSet {
    let cut = |at: i64| match at {
        0 => Cut::Min,
        at if at == width => Cut::Max,
        at => Cut::before(Datum::Int(at)),
    };
    let one = |at: i64| Interval {
        low: cut(at),
        high: cut(at + 1),
    };
    let present = (0..width).filter(|at| bits >> at & 1 == 1);
    let mut set = IntervalSet::from_intervals(present.map(one).collect());
    set.null = bits & NULL != 0;
    set
}

/// The bits of a set.
fn bits_of(set: &IntervalSet, width: i64) -> u64 {
    let at = |cut: &Cut| match cut {
        Cut::Min => 0,
        Cut::Max => width,
        Cut::At(Datum::Int(at), _) => *at,
        Cut::At(other, _) => panic!("{other:?} is no value of the domain"),
    };
    let bits = set
        .intervals()
        .iter()
        .flat_map(|one| at(&one.low)..at(&one.high))
        .fold(0, |bits, at| bits | 1_u64 << at);
    bits | if set.null { NULL } else { 0 }
}

/// Checks all operations on two sets.
fn check_pair(a: u64, b: u64, width: i64) {
    let (x, y) = (set_of(a, width), set_of(b, width));
    let bits = |set: &IntervalSet| bits_of(set, width);
    assert_eq!((bits(&x), bits(&y)), (a, b));
    assert_eq!(bits(&x.intersect(&y)), a & b, "{x:?} and {y:?}");
    assert_eq!(bits(&IntervalSet::union([&x, &y])), a | b, "{x:?} or {y:?}");
    assert_eq!(bits(&x.minus(&y)), a & !b, "{x:?} without {y:?}");
    assert_eq!(x.is_subset(&y), a & !b == 0, "{x:?} in {y:?}");
    assert_eq!(x.meets(&y), a & b != 0, "{x:?} meets {y:?}");
    let is_one = y.intervals().len() == 1;
    // Only a set of one interval is looked at, and only as a whole.
    assert_eq!(y.encloses(&x), is_one && a & !b == 0, "{y:?} around {x:?}");
    assert_eq!(x == y, a == b);
}

fn check_one(a: u64, width: i64) {
    let set = set_of(a, width);
    let all = (1_u64 << width) - 1;
    let bits = |set: &IntervalSet| bits_of(set, width);
    assert_eq!(bits(&set.complement(false)), all & !a);
    assert_eq!(bits(&set.complement(true)), all & !a | NULL);
    assert_eq!(set.is_empty(), a == 0);
    assert_eq!(set.has_all_values(), a & all == all);
    assert_eq!(set.is_everything(true), a == all | NULL);
    let hull = bits(&set.hull());
    assert_eq!(hull & a, a);
    let from = (a & all).trailing_zeros();
    let up_to = 64 - (a & all).leading_zeros();
    let end = if a & NULL != 0 { width as u32 } else { up_to };
    let expected = if a & all == 0 {
        0
    } else {
        (1_u64 << end) - (1_u64 << from)
    };
    assert_eq!(hull, expected | a & NULL, "{set:?}");
    for count in 1..4 {
        let coarse = set.coarsened(count);
        assert!(coarse.intervals().len() <= count.max(1));
        assert_eq!(bits(&coarse) & a, a);
    }
    let (first, rest) = set.partition(|one| one.low == Cut::Min);
    assert_eq!(bits(&first) | bits(&rest), a);
    assert_eq!(bits(&first) & bits(&rest), 0);
    for low in 0..width {
        for high in low + 1..=width {
            let between = (1_u64 << high) - (1_u64 << low);
            let (low, high) = (set_of(1 << low, width), set_of(1 << (high - 1), width));
            let holds = set.holds_between(&low.intervals()[0].low, &high.intervals()[0].high);
            assert_eq!(holds, between & !a == 0, "{set:?}");
        }
    }
}

#[test]
fn sets_are_their_bits() {
    let all = || (0..64_u64).flat_map(|bits| [bits, bits | NULL]);
    for a in all() {
        check_one(a, 6);
        all().for_each(|b| check_pair(a, b, 6));
    }
}

#[test]
fn few_intervals_among_many_are_their_bits() {
    let combs = [
        0x5555_5555_5555_5555,
        0x3333_3333_3333_3333,
        0x0101_1111_0505_5555,
    ];
    for comb in combs.map(|comb: u64| comb & !(1 << 62)) {
        for bits in 0..64_u64 {
            // Spread over the comb, so that their ends lie in and between its teeth.
            for spread in [
                bits,
                bits << 30,
                bits << 55 & !NULL & !(1 << 62),
                bits * 0x0010_0400_1001,
            ] {
                let spread = spread & !NULL & !(1 << 62);
                check_pair(spread, comb, 62);
                check_pair(comb, spread, 62);
            }
        }
    }
}

/// Values of a term in lists of boxes, NULL apart.
const WIDTH: i64 = 4;

/// All values of a term and NULL, as bits of a row of five.
const STATES: usize = WIDTH as usize + 1;

struct Three;

impl TermTypes for Three {
    fn term_type(&self, term: TermId) -> Option<TermType> {
        (0..3)
            .any(|id| term == TermId::column(ColumnId(id)))
            .then_some(TermType {
                ty: DataType::BigInt,
                nullable: true,
            })
    }
}

/// The rows of boxes, as 125 bits.
fn rows_of(boxes: &[TermBox]) -> u128 {
    let holds = |one: &TermBox, row: [usize; 3]| {
        (0..3).all(|id| {
            one.get(TermId::column(ColumnId(id as u32))).is_none_or(|set| {
                let bits = bits_of(set, WIDTH);
                let bit = if row[id] == STATES - 1 { NULL } else { 1 << row[id] };
                bits & bit != 0
            })
        })
    };
    let mut rows = 0;
    for at in 0..STATES.pow(3) {
        let row = [at % STATES, at / STATES % STATES, at / STATES / STATES];
        if boxes.iter().any(|one| holds(one, row)) {
            rows |= 1 << at;
        }
    }
    rows
}

/// Numbers that look random, and are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        use std::hash::Hasher;
        self.0 += 1;
        let mut mix = Mix::default();
        mix.write_u64(self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        mix.finish() >> 7
    }

    fn one_box(&mut self) -> TermBox {
        let mut made = TermBox::everything();
        for id in 0..3 {
            let bits = self.next();
            let set = set_of(bits & 15 | (bits & 16) << 59, WIDTH);
            if bits & 96 != 0 && !set.is_empty() && !set.is_everything(true) {
                made.put(TermId::column(ColumnId(id)), Some(Arc::new(set)));
            }
        }
        made
    }

    fn boxes(&mut self) -> Vec<TermBox> {
        (0..1 + self.next() % 6).map(|_| self.one_box()).collect()
    }
}

fn slots() -> Vec<Slot> {
    let slot = |id: u32| Slot {
        term: Some(TermId::column(ColumnId(id))),
        hash_of: None,
        ty: DataType::BigInt,
        nullable: true,
        descending: false,
        name: String::new(),
    };
    (0..3).map(slot).collect()
}

#[test]
fn boxes_are_their_rows() {
    let mut numbers = Numbers(1);
    for _ in 0..1_000 {
        let (left, right) = (numbers.boxes(), numbers.boxes());
        let (a, b) = (rows_of(&left), rows_of(&right));
        let (x, y) = (&left[0], &right[0]);
        let (own, other) = (rows_of(&left[..1]), rows_of(&right[..1]));
        let both = x.intersect(y);
        assert_eq!(
            both.as_ref()
                .map_or(0, |both| rows_of(std::slice::from_ref(both))),
            own & other
        );
        assert_eq!(x.meets(y), own & other != 0);
        assert!(!x.is_subset(y) || own & !other == 0);
        let mut narrowed = x.clone();
        assert_eq!(narrowed.narrow(y), own & other != 0);
        assert_eq!(rows_of(&simplify(left.clone(), &Three)), a);
        assert_eq!(rows_of(&[hull(&left)]) & a, a);
        let product = Budget::new().product(&left, &right).expect("few boxes");
        assert_eq!(rows_of(&product), a & b);
        let exact = |list: &[TermBox]| Boxes {
            list: list.to_vec(),
            exact: true,
        };
        assert_eq!(
            rows_of(&exact(&left).and(exact(&right), &Budget::new()).list),
            a & b
        );
        assert_eq!(
            rows_of(&Boxes::or(vec![exact(&left), exact(&right)], &Three).list),
            a | b
        );
    }
}

/// The same rows, cut up along one value of one term, in another order, some of them twice.
fn cut_up(boxes: &[TermBox], numbers: &mut Numbers) -> Vec<TermBox> {
    let mut cut = Vec::new();
    for one in boxes {
        let term = TermId::column(ColumnId((numbers.next() % 3) as u32));
        let bits = set_of(numbers.next() & 15, WIDTH);
        for half in [bits.complement(true), bits] {
            cut.extend(TermBox::of(term, half).and_then(|half| one.intersect(&half)));
        }
    }
    let again = cut.iter().take(2).cloned().collect::<Vec<_>>();
    cut.reverse();
    cut.extend(again);
    cut
}

#[test]
fn the_one_form_of_boxes_depends_on_their_rows_only() {
    let (mut numbers, slots) = (Numbers(7), slots());
    for _ in 0..1_000 {
        let boxes = numbers.boxes();
        let rows = rows_of(&boxes);
        let form = decided(&boxes, &slots).expect("few boxes");
        assert!(form.exact);
        assert_eq!(rows_of(&form.boxes), rows);
        let apart: u32 = form
            .boxes
            .iter()
            .map(|one| rows_of(std::slice::from_ref(one)).count_ones())
            .sum();
        assert_eq!(
            apart,
            rows.count_ones(),
            "no row is in two boxes: {:?}",
            form.boxes
        );
        let again = decided(&cut_up(&boxes, &mut numbers), &slots).expect("few boxes");
        assert_eq!(again.boxes, form.boxes);
    }
}

fn one_set(id: u32, set: IntervalSet) -> TermBox {
    TermBox::of(TermId::column(ColumnId(id)), set).expect("the set is not empty")
}

fn one_value(id: u32, value: i64) -> TermBox {
    let only = Interval {
        low: Cut::before(Datum::Int(value)),
        high: Cut::before(Datum::Int(value + 1)),
    };
    one_set(id, IntervalSet::from_intervals(vec![only]))
}

#[test]
fn a_product_past_its_budget_holds_all_its_rows() {
    let list = |id: u32| Boxes {
        list: (0..300).map(|value| one_value(id, value)).collect(),
        exact: true,
    };
    for (left, right) in [(list(0), list(1)), (list(1), list(0))] {
        let both = left.clone().and(right.clone(), &Budget::new());
        assert!(!both.exact && both.list.len() <= left.list.len());
        for (one, other) in left.list.iter().zip(&right.list) {
            let point = one.intersect(other).expect("of two terms");
            assert!(both.list.iter().any(|one| point.is_subset(one)));
        }
    }
    let few = list(0).and(list(0), &Budget::new());
    assert!(few.list.len() <= 300);
}

#[test]
fn long_lists_are_left_as_they_are() {
    let count = 70_000;
    let boxes: Vec<TermBox> = (0..count)
        .map(|at| {
            let pair = one_value(0, at).intersect(&one_value(1, at));
            let three = pair.and_then(|pair| pair.intersect(&one_value(2, at)));
            three.expect("of three terms")
        })
        .collect();
    assert_eq!(simplify(boxes.clone(), &Three), boxes);
    assert!(hull(&[]).is_everything());
}

#[test]
fn boxes_that_share_a_long_set_are_joined() {
    let comb = Arc::new(set_of(0x5555_5555_5555, 48));
    let boxes: Vec<TermBox> = (0..20)
        .map(|value| {
            let mut one = one_value(0, value);
            one.put(TermId::column(ColumnId(1)), Some(comb.clone()));
            one
        })
        .collect();
    let joined = simplify(boxes, &Three);
    assert_eq!(joined.len(), 1);
    let first = joined[0].get(TermId::column(ColumnId(0))).expect("it is narrow");
    assert_eq!(bits_of(first, 48), (1 << 20) - 1);
    assert_eq!(joined[0].get(TermId::column(ColumnId(1))), Some(&comb));
}

/// A layout of three nullable columns in these directions, and its slots.
fn directed(descending: [bool; 3]) -> (KeyLayout, Vec<Slot>) {
    let column = |descending: &bool| KeyColumn {
        ty: DataType::BigInt,
        order: match descending {
            true => SortOrder::Desc,
            false => SortOrder::Asc,
        },
        nullable: true,
    };
    let mut slots = slots();
    for (slot, descending) in slots.iter_mut().zip(descending) {
        slot.descending = descending;
    }
    (
        KeyLayout::new(descending.iter().map(column).collect(), None),
        slots,
    )
}

/// The rows of the domain that spans hold, as the bits of [`rows_of`].
fn rows_within(spans: &[rukh_keys::Span], layout: &KeyLayout) -> u128 {
    let datum = |state: usize| match state {
        state if state == STATES - 1 => Datum::Null,
        state => Datum::Int(state as i64),
    };
    let is_within = |at: &usize| {
        let row = [*at % STATES, *at / STATES % STATES, *at / STATES / STATES].map(datum);
        spans.iter().any(|span| span.contains(layout, &row))
    };
    (0..STATES.pow(3))
        .filter(is_within)
        .fold(0, |rows, at| rows | 1 << at)
}

#[test]
fn spans_hold_the_rows_of_their_boxes() {
    let mut numbers = Numbers(3);
    for round in 0..2_000_u64 {
        let (layout, slots) = directed([round & 1 != 0, round & 2 != 0, round & 4 != 0]);
        let boxes = numbers.boxes();
        let options = SpanOptions {
            budget: [1, 2, 3, 10, 1_000][(numbers.next() % 5) as usize],
            small: [1, 4, 64][(numbers.next() % 3) as usize],
            expand: !numbers.next().is_multiple_of(4),
        };
        for (of_one, one) in spans_of_boxes(&boxes, &slots, options)
            .iter()
            .map(|made| (made, std::slice::from_ref(&made.source)))
        {
            let spans: Vec<_> = of_one.spans.iter().map(|one| one.span.clone()).collect();
            let (within, wanted) = (rows_within(&spans, &layout), rows_of(one));
            assert_eq!(within & wanted, wanted, "{one:?} loses rows by {options:?}");
            assert!(
                !of_one.exact || within == wanted,
                "{one:?} is not exact by {options:?}"
            );
            let proven = rows_of(std::slice::from_ref(of_one.proven()));
            assert_eq!(
                within & !proven,
                0,
                "{one:?} has rows that are not proven by {options:?}"
            );
        }
        let all = spans_of_boxes(&boxes, &slots, options);
        let sources: Vec<TermBox> = all.iter().map(|made| made.source.clone()).collect();
        assert_eq!(rows_of(&sources), rows_of(&boxes));
    }
    let nothing = spans_of_boxes(&[TermBox::everything()], &[], SpanOptions::usual());
    assert_eq!(nothing[0].spans[0].span, rukh_keys::Span::all());
}
