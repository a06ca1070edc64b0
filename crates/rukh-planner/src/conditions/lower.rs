//! From a predicate to boxes: the rows for which it IS TRUE.
//!
//! NOT is pushed down to the comparisons on the way (De Morgan), where it turns an operator round;
//! under three-valued logic a comparison with NULL is true neither way. What is not understood
//! becomes "all rows, not exact", so nothing is ever lost: the conjunct stays in the residual.

use rukh_keys::{DataType, Datum};

use crate::conditions::boxes::{Boxes, Budget, TermBox};
use crate::conditions::domain::{self, bytes_prefix, text_prefix};
use crate::conditions::evaluate::evaluate;
use crate::conditions::functions::Chain;
use crate::conditions::interval::IntervalSet;
use crate::conditions::like::Pattern;
use crate::conditions::points::PointLists;
use crate::conditions::predicate::{CompareOp, Constant, Function, Operand, Predicate};
use crate::conditions::term::{TermId, TermKind, TermTypes};

/// Most rows of a NOT IN over row values that are looked at.
const NOT_IN_ROWS_MAX: usize = 8;

/// Returns the rows for which a predicate is true.
pub(crate) fn lower(predicate: &Predicate, types: &dyn TermTypes) -> Boxes {
    Lowering {
        types,
        budget: Budget::new(),
    }
    .predicate(predicate, false)
}

struct Lowering<'a> {
    types: &'a dyn TermTypes,
    budget: Budget,
}

/// A term inside functions.
struct Subject<'a> {
    term: TermId,
    nullable: bool,
    chain: Chain<'a>,
}

impl Subject<'_> {
    /// A row of the set for which a function has no result is one that the statement fails for: it has to be
    /// checked.
    fn boxes(&self, set: IntervalSet) -> Boxes {
        let exact = self.chain.has_results(&set);
        Boxes::of(self.term, set, self.nullable, exact)
    }

    /// The type of the term if no function is around it.
    fn bare_type(&self) -> Option<DataType> {
        self.chain.functions.is_empty().then_some(self.chain.ty)
    }
}

/// One side of a comparison, as far as it is understood.
enum Side<'a> {
    Subject(Subject<'a>),
    Constant(&'a Constant),
    Unknown,
}

impl Lowering<'_> {
    /// The rows for which the predicate is true, or false if `negated`.
    fn predicate(&self, predicate: &Predicate, negated: bool) -> Boxes {
        match predicate {
            Predicate::True => truth(!negated),
            Predicate::False => truth(negated),
            Predicate::And(all) if !negated => self.all(all, negated),
            Predicate::Or(all) if negated => self.all(all, negated),
            Predicate::And(all) | Predicate::Or(all) => self.any(all, negated),
            Predicate::Not(inner) => self.predicate(inner, !negated),
            Predicate::NotTrue(inner) if negated => self.predicate(inner, false),
            Predicate::NotTrue(inner) => self.not_true(inner),
            Predicate::Opaque(_) => Boxes::unknown(),
            leaf => self
                .constant_truth(leaf, negated)
                .unwrap_or_else(|| self.leaf(leaf, negated)),
        }
    }

    fn all(&self, parts: &[Predicate], negated: bool) -> Boxes {
        let parts = parts.iter().map(|part| self.predicate(part, negated));
        parts.fold(Boxes::all(), |all, part| all.and(part, &self.budget))
    }

    fn any(&self, parts: &[Predicate], negated: bool) -> Boxes {
        let mut lists = PointLists::new(self.types);
        let mut list = Vec::with_capacity(parts.len());
        let mut exact = true;
        for part in parts {
            if let Some(arm) = lists.arm(part, negated) {
                if arm.as_ref().is_some_and(TermBox::is_everything) {
                    return Boxes::all();
                }
                list.extend(arm);
                continue;
            }
            let boxes = self.predicate(part, negated);
            if boxes.is_all() {
                return boxes;
            }
            exact &= boxes.exact;
            list.extend(boxes.list);
        }
        Boxes::united(list, exact, self.types)
    }

    /// The rows for which a predicate is false or NULL: where it is about one term, all that are not in its
    /// set.
    fn not_true(&self, inner: &Predicate) -> Boxes {
        let holds = self.predicate(inner, false);
        match holds.list.as_slice() {
            [] => Boxes::all(),
            _ if holds.is_all() => Boxes::none(),
            [one] if holds.exact => match one.sets() {
                [(term, set)] => {
                    let nullable = self.types.term_type(*term).is_none_or(|ty| ty.nullable);
                    let rest = set.complement(nullable && !set.null);
                    Boxes::of(*term, rest, nullable, !self.may_fail(inner))
                }
                _ => Boxes::unknown(),
            },
            _ => Boxes::unknown(),
        }
    }

    /// Whether a function in a predicate may have no result.
    fn may_fail(&self, predicate: &Predicate) -> bool {
        let mut fails = false;
        predicate.visit_operands(&mut |operand| {
            let subject = self.subject(operand);
            fails |= subject.is_some_and(|subject| !subject.chain.has_results(&IntervalSet::not_null()));
        });
        fails
    }

    /// The answer of a comparison that speaks about no term.
    fn constant_truth(&self, leaf: &Predicate, negated: bool) -> Option<Boxes> {
        let mut terms = false;
        leaf.visit_terms(&mut |_| terms = true);
        if terms || !leaf.is_understood() {
            return None;
        }
        match evaluate(leaf, self.types, &|_| Datum::Null) {
            Ok(answer) => Some(truth(answer == Some(!negated))),
            Err(_) => Some(Boxes::unknown()),
        }
    }

    fn leaf(&self, leaf: &Predicate, negated: bool) -> Boxes {
        match leaf {
            Predicate::Compare { op, left, right } => self.compare(turned(*op, negated), left, right),
            Predicate::RowCompare { op, left, right } => self.row_compare(turned(*op, negated), left, right),
            Predicate::In {
                operand,
                list,
                negated: not,
            } => match *not != negated {
                false => self.is_in(operand, list),
                true => self.is_not_in(operand, list),
            },
            Predicate::RowIn {
                left,
                list,
                negated: not,
            } => match *not != negated {
                false => self.row_in(left, list),
                true => self.row_not_in(left, list),
            },
            Predicate::IsNull {
                operand,
                negated: not,
            } => self.is_null(operand, *not != negated),
            Predicate::IsDistinct {
                left,
                right,
                negated: not,
            } => self.is_distinct(left, right, *not == negated),
            Predicate::Like {
                operand,
                pattern,
                escape,
                case_insensitive,
                negated: not,
            } => {
                let pattern_of = |text: &str| Pattern::new(text, *escape, *case_insensitive);
                let set = |text: &str, ty| pattern_of(text).set(ty);
                self.text_test(operand, pattern, set, *not != negated)
            }
            Predicate::StartsWith { operand, prefix } => {
                let set = |text: &str, ty: DataType| match ty.is_text() {
                    true => (text_prefix(ty, text), true),
                    false => (bytes_prefix(ty, text.as_bytes()), true),
                };
                self.text_test(operand, prefix, set, negated)
            }
            Predicate::IsTrue {
                operand,
                negated: not,
            } => self.is_boolean(operand, true, *not != negated),
            Predicate::IsFalse {
                operand,
                negated: not,
            } => self.is_boolean(operand, false, *not != negated),
            _ => Boxes::unknown(),
        }
    }

    fn side<'a>(&self, operand: &'a Operand) -> Side<'a> {
        match operand {
            Operand::Constant(constant) => Side::Constant(constant),
            other => self.subject(other).map_or(Side::Unknown, Side::Subject),
        }
    }

    /// Takes functions off a term; the hash of a column is a term of its own.
    fn subject<'a>(&self, operand: &'a Operand) -> Option<Subject<'a>> {
        let mut functions = Vec::new();
        let mut operand = operand;
        let mut term = loop {
            match operand {
                Operand::Term(term) => break *term,
                Operand::Function(function, inner) => {
                    functions.push(function);
                    operand = inner;
                }
                Operand::Constant(_) | Operand::Parameter(_) => return None,
            }
        };
        if let (Some(Function::Hash(bytes)), TermKind::Column(column)) = (functions.last(), term.kind()) {
            term = TermId::hash(column, *bytes);
            functions.pop();
        }
        functions.reverse();
        let ty = self.types.term_type(term)?;
        Some(Subject {
            term,
            nullable: ty.nullable,
            chain: Chain::new(functions, ty.ty)?,
        })
    }

    /// Rows where the terms of all operands have values: what any comparison of them implies.
    fn not_null(&self, operands: &[&Operand]) -> Boxes {
        let mut boxes = Boxes::unknown();
        for operand in operands {
            let mut term = None;
            let test = Predicate::IsNull {
                operand: (*operand).clone(),
                negated: true,
            };
            test.visit_terms(&mut |found| term = Some(found));
            let Some(term) = term else { continue };
            let Some(ty) = self.types.term_type(term) else {
                continue;
            };
            let values = Boxes::of(term, IntervalSet::not_null(), ty.nullable, false);
            boxes = boxes.and(values, &self.budget);
        }
        boxes
    }

    fn compare(&self, op: CompareOp, left: &Operand, right: &Operand) -> Boxes {
        match (self.side(left), self.side(right)) {
            (Side::Constant(k), _) | (_, Side::Constant(k)) if k.datum.is_null() => Boxes::none(),
            (Side::Subject(subject), Side::Constant(k)) => self
                .compare_constant(op, &subject, k)
                .unwrap_or_else(|| self.not_null(&[left])),
            (Side::Constant(k), Side::Subject(subject)) => self
                .compare_constant(op.flipped(), &subject, k)
                .unwrap_or_else(|| self.not_null(&[right])),
            (Side::Subject(a), Side::Subject(b)) if left == right && a.term == b.term => {
                match op.holds(std::cmp::Ordering::Equal) {
                    true => a.boxes(IntervalSet::not_null()),
                    false => Boxes::none(),
                }
            }
            _ => self.not_null(&[left, right]),
        }
    }

    fn compare_constant(&self, op: CompareOp, subject: &Subject<'_>, k: &Constant) -> Option<Boxes> {
        Some(subject.boxes(subject.chain.invert(op, k)?))
    }

    /// `(a, b) < (1, 2)` is `a < 1 OR a = 1 AND b < 2`; NULL among the constants makes the parts
    /// that hinge on it not true.
    fn row_compare(&self, op: CompareOp, left: &[Operand], right: &[Operand]) -> Boxes {
        if left.len() != right.len() || left.is_empty() {
            return Boxes::unknown();
        }
        let pairs = left.iter().zip(right);
        match op {
            CompareOp::Eq => pairs.fold(Boxes::all(), |all, (a, b)| {
                all.and(self.compare(op, a, b), &self.budget)
            }),
            CompareOp::NotEq => Boxes::or(pairs.map(|(a, b)| self.compare(op, a, b)).collect(), self.types),
            _ => self.row_order(op, left, right),
        }
    }

    fn row_order(&self, op: CompareOp, left: &[Operand], right: &[Operand]) -> Boxes {
        let strict = match op {
            CompareOp::Lt | CompareOp::LtEq => CompareOp::Lt,
            _ => CompareOp::Gt,
        };
        let mut equal = Boxes::all();
        let mut parts = Vec::with_capacity(left.len());
        for (position, (a, b)) in left.iter().zip(right).enumerate() {
            let last = position + 1 == left.len();
            let here = self.compare(if last { op } else { strict }, a, b);
            parts.push(equal.clone().and(here, &self.budget));
            equal = equal.and(self.compare(CompareOp::Eq, a, b), &self.budget);
            if equal.is_none() {
                break;
            }
        }
        Boxes::or(parts, self.types)
    }

    /// The set of the constants of a list for a subject, and what of the list is no such constant.
    fn list_set<'l>(&self, subject: &Subject<'_>, list: &'l [Operand]) -> (IntervalSet, Vec<&'l Operand>) {
        let mut intervals = Vec::with_capacity(list.len());
        let mut rest = Vec::new();
        for element in list {
            match element {
                Operand::Constant(k) if k.datum.is_null() => {}
                Operand::Constant(k) if subject.chain.functions.is_empty() => {
                    match subject.chain.place_bare(k) {
                        Some(place) => intervals.extend(place.equal()),
                        None => rest.push(element),
                    }
                }
                Operand::Constant(k) => match subject.chain.invert(CompareOp::Eq, k) {
                    Some(set) => intervals.extend_from_slice(set.intervals()),
                    None => rest.push(element),
                },
                _ => rest.push(element),
            }
        }
        (IntervalSet::from_intervals(intervals), rest)
    }

    fn is_in(&self, operand: &Operand, list: &[Operand]) -> Boxes {
        let Side::Subject(subject) = self.side(operand) else {
            let parts = list
                .iter()
                .map(|element| self.compare(CompareOp::Eq, operand, element));
            return Boxes::or(parts.collect(), self.types);
        };
        let (set, rest) = self.list_set(&subject, list);
        let mut parts = vec![subject.boxes(set)];
        parts.extend(
            rest.into_iter()
                .map(|element| self.compare(CompareOp::Eq, operand, element)),
        );
        Boxes::or(parts, self.types)
    }

    fn is_not_in(&self, operand: &Operand, list: &[Operand]) -> Boxes {
        let is_null = |element: &Operand| matches!(element, Operand::Constant(k) if k.datum.is_null());
        if list.is_empty() {
            return Boxes::all();
        }
        if list.iter().any(is_null) {
            return Boxes::none();
        }
        let differs = |all: Boxes, element: &Operand| {
            all.and(self.compare(CompareOp::NotEq, operand, element), &self.budget)
        };
        let Side::Subject(subject) = self.side(operand) else {
            return list.iter().fold(Boxes::all(), differs);
        };
        let (set, rest) = self.list_set(&subject, list);
        rest.into_iter()
            .fold(subject.boxes(set.complement(false)), differs)
    }

    fn row_in(&self, left: &[Operand], list: &[Vec<Operand>]) -> Boxes {
        let mut lists = PointLists::new(self.types);
        let arms: Option<Vec<_>> = list.iter().map(|row| lists.row(left, row)).collect();
        if let Some(arms) = arms {
            return Boxes::united(arms.into_iter().flatten().collect(), true, self.types);
        }
        let parts = list.iter().map(|row| self.row_compare(CompareOp::Eq, left, row));
        Boxes::or(parts.collect(), self.types)
    }

    fn row_not_in(&self, left: &[Operand], list: &[Vec<Operand>]) -> Boxes {
        let differs = |all: Boxes, row: &Vec<Operand>| {
            all.and(self.row_compare(CompareOp::NotEq, left, row), &self.budget)
        };
        let looked_at = list.iter().take(NOT_IN_ROWS_MAX).fold(Boxes::all(), differs);
        match list.len() <= NOT_IN_ROWS_MAX {
            true => looked_at,
            false => Boxes {
                exact: looked_at.is_none(),
                ..looked_at
            },
        }
    }

    fn is_null(&self, operand: &Operand, negated: bool) -> Boxes {
        match self.side(operand) {
            Side::Subject(subject) if negated => subject.boxes(IntervalSet::not_null()),
            Side::Subject(subject) if subject.nullable => subject.boxes(IntervalSet::only_null()),
            Side::Subject(_) => Boxes::none(),
            _ => Boxes::unknown(),
        }
    }

    fn is_distinct(&self, left: &Operand, right: &Operand, distinct: bool) -> Boxes {
        let (subject, k) = match (self.side(left), self.side(right)) {
            (Side::Subject(subject), Side::Constant(k)) | (Side::Constant(k), Side::Subject(subject)) => {
                (subject, k)
            }
            (Side::Subject(_), Side::Subject(_)) if left == right => return truth(!distinct),
            _ => return Boxes::unknown(),
        };
        let equal = match k.datum.is_null() {
            true if subject.nullable => IntervalSet::only_null(),
            true => IntervalSet::empty(),
            false => match subject.chain.invert(CompareOp::Eq, k) {
                Some(set) => set,
                None => return Boxes::unknown(),
            },
        };
        match distinct {
            true => subject.boxes(equal.complement(subject.nullable && !equal.null)),
            false => subject.boxes(equal),
        }
    }

    /// LIKE and `starts_with`: `set` gives the texts of a type that may pass, and whether all do.
    fn text_test(
        &self,
        operand: &Operand,
        text: &Operand,
        set: impl Fn(&str, DataType) -> (IntervalSet, bool),
        negated: bool,
    ) -> Boxes {
        let text = match text {
            Operand::Constant(Constant {
                datum: Datum::Text(text),
                ..
            }) => text,
            Operand::Constant(Constant {
                datum: Datum::Null, ..
            }) => return Boxes::none(),
            _ => return self.not_null(&[operand]),
        };
        let Side::Subject(subject) = self.side(operand) else {
            return Boxes::unknown();
        };
        let bare = subject.bare_type().filter(|ty| ty.is_text() || ty.is_bytes());
        let Some(ty) = bare else {
            return self.not_null(&[operand]);
        };
        match (set(text, ty), negated) {
            ((set, exact), false) => Boxes::of(subject.term, set, subject.nullable, exact),
            ((set, true), true) => subject.boxes(set.complement(false)),
            ((_, false), true) => self.not_null(&[operand]),
        }
    }

    fn is_boolean(&self, operand: &Operand, value: bool, negated: bool) -> Boxes {
        let Side::Subject(subject) = self.side(operand) else {
            return Boxes::unknown();
        };
        if subject.bare_type() != Some(DataType::Boolean) {
            return Boxes::unknown();
        }
        let set = domain::point(DataType::Boolean, &Datum::Boolean(value));
        match negated {
            true => subject.boxes(set.complement(subject.nullable)),
            false => subject.boxes(set),
        }
    }
}

fn truth(holds: bool) -> Boxes {
    if holds { Boxes::all() } else { Boxes::none() }
}

fn turned(op: CompareOp, negated: bool) -> CompareOp {
    if negated { op.negated() } else { op }
}
