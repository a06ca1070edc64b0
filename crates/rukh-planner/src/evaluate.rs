//! Computes a predicate for one row: the meaning that everything else in this crate must keep.
//!
//! SQL's three-valued logic: `Some(true)`, `Some(false)`, or `None` for NULL. Comparisons of
//! different types follow the table in `value`. What cannot be computed is `None` too: opaque
//! parts, parameters without a value, types that do not compare, text that does not read as the
//! type it meets.

use std::cmp::Ordering;

use rukh_keys::{DataType, Datum};

use crate::functions::{apply, result_type};
use crate::like::Pattern;
use crate::predicate::{CompareOp, Operand, Predicate};
use crate::term::{TermId, TermTypes};
use crate::value::{Value, compare, constant_value};

/// Computes a predicate for the row whose terms `values` gives.
///
/// A row is kept if the result is `Some(true)`. [`Predicate::is_understood`] tells whether the
/// result can be relied on; opaque parts and parameters count as NULL.
pub fn evaluate(
    predicate: &Predicate,
    types: &dyn TermTypes,
    values: &dyn Fn(TermId) -> Datum,
) -> Option<bool> {
    Row { types, values }.predicate(predicate)
}

struct Row<'a> {
    types: &'a dyn TermTypes,
    values: &'a dyn Fn(TermId) -> Datum,
}

impl Row<'_> {
    fn predicate(&self, predicate: &Predicate) -> Option<bool> {
        match predicate {
            Predicate::True => Some(true),
            Predicate::False => Some(false),
            Predicate::Compare { op, left, right } => self.compare(*op, left, right),
            Predicate::RowCompare { op, left, right } => self.row_compare(*op, left, right),
            Predicate::In {
                operand,
                list,
                negated,
            } => {
                let found = any(list
                    .iter()
                    .map(|element| self.compare(CompareOp::Eq, operand, element)));
                found.map(|found| found != *negated)
            }
            Predicate::RowIn { left, list, negated } => {
                let found = any(list.iter().map(|row| self.row_compare(CompareOp::Eq, left, row)));
                found.map(|found| found != *negated)
            }
            Predicate::IsNull { operand, negated } => Some(self.value(operand)?.is_null() != *negated),
            Predicate::IsDistinct { left, right, negated } => {
                self.is_distinct(left, right).map(|distinct| distinct != *negated)
            }
            Predicate::Like {
                operand,
                pattern,
                escape,
                case_insensitive,
                negated,
            } => {
                let matches = match (self.value(pattern)?, self.value(operand)?) {
                    (Value::Text(pattern), Value::Text(text)) => {
                        Pattern::new(&pattern, *escape, *case_insensitive).matches(&text)
                    }
                    (Value::Text(pattern), Value::Bytes(bytes)) if !case_insensitive => {
                        Pattern::for_bytes(&pattern, *escape).matches_bytes(&bytes)
                    }
                    _ => return None,
                };
                Some(matches != *negated)
            }
            Predicate::StartsWith { operand, prefix } => self.starts_with(operand, prefix),
            Predicate::IsTrue { operand, negated } => self.is_boolean(operand, true, *negated),
            Predicate::IsFalse { operand, negated } => self.is_boolean(operand, false, *negated),
            Predicate::And(parts) => all(parts.iter().map(|part| self.predicate(part))),
            Predicate::Or(parts) => any(parts.iter().map(|part| self.predicate(part))),
            Predicate::Not(inner) => self.predicate(inner).map(|holds| !holds),
            Predicate::NotTrue(inner) => Some(self.predicate(inner) != Some(true)),
            Predicate::Opaque(_) => None,
        }
    }

    fn compare(&self, op: CompareOp, left: &Operand, right: &Operand) -> Option<bool> {
        self.order(left, right).map(|ordering| op.holds(ordering))
    }

    /// Compares two operands; `None` if one is NULL or they do not compare.
    fn order(&self, left: &Operand, right: &Operand) -> Option<Ordering> {
        let a = self.value_beside(left, right)?;
        let b = self.value_beside(right, left)?;
        if a.is_null() || b.is_null() {
            return None;
        }
        compare(&a, &b)
    }

    fn row_compare(&self, op: CompareOp, left: &[Operand], right: &[Operand]) -> Option<bool> {
        if left.len() != right.len() {
            return None;
        }
        let pairs = || left.iter().zip(right);
        match op {
            CompareOp::Eq => all(pairs().map(|(a, b)| self.compare(op, a, b))),
            CompareOp::NotEq => any(pairs().map(|(a, b)| self.compare(op, a, b))),
            _ => {
                for (a, b) in pairs() {
                    let ordering = self.order(a, b)?;
                    if ordering.is_ne() {
                        return Some(op.holds(ordering));
                    }
                }
                Some(op.holds(Ordering::Equal))
            }
        }
    }

    fn is_distinct(&self, left: &Operand, right: &Operand) -> Option<bool> {
        let a = self.value_beside(left, right)?;
        let b = self.value_beside(right, left)?;
        match (a.is_null(), b.is_null()) {
            (true, true) => Some(false),
            (true, false) | (false, true) => Some(true),
            (false, false) => compare(&a, &b).map(Ordering::is_ne),
        }
    }

    fn is_boolean(&self, operand: &Operand, wanted: bool, negated: bool) -> Option<bool> {
        let is = match self.value(operand)? {
            Value::Boolean(value) => value == wanted,
            Value::Null => false,
            _ => return None,
        };
        Some(is != negated)
    }

    fn starts_with(&self, operand: &Operand, prefix: &Operand) -> Option<bool> {
        match (self.value(prefix)?, self.value(operand)?) {
            (Value::Text(prefix), Value::Text(text)) => Some(text.starts_with(prefix.as_ref())),
            (Value::Text(prefix), Value::Bytes(bytes)) => Some(bytes.starts_with(prefix.as_bytes())),
            _ => None,
        }
    }

    fn value(&self, operand: &Operand) -> Option<Value<'static>> {
        match operand {
            Operand::Term(term) => {
                let ty = self.types.term_type(*term)?.ty;
                Value::new(&(self.values)(*term), ty).map(Value::into_owned)
            }
            Operand::Constant(k) => Value::new(&k.datum, k.ty).map(Value::into_owned),
            Operand::Parameter(_) => None,
            Operand::Function(function, inner) => {
                result_type(function, self.type_of(inner)?)?;
                apply(function, self.value(inner)?)
            }
        }
    }

    /// The value of an operand; a constant as it compares with the other operand.
    fn value_beside(&self, operand: &Operand, other: &Operand) -> Option<Value<'static>> {
        match operand {
            Operand::Constant(k) => {
                constant_value(&k.datum, k.ty, self.type_of(other)?).map(Value::into_owned)
            }
            _ => self.value(operand),
        }
    }

    fn type_of(&self, operand: &Operand) -> Option<DataType> {
        match operand {
            Operand::Term(term) => Some(self.types.term_type(*term)?.ty),
            Operand::Constant(k) => Some(k.ty),
            Operand::Parameter(_) => None,
            Operand::Function(function, inner) => result_type(function, self.type_of(inner)?),
        }
    }
}

/// AND: false if one is false, else NULL if one is NULL.
fn all(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut answer = Some(true);
    for part in parts {
        match part {
            Some(false) => return Some(false),
            None => answer = None,
            Some(true) => {}
        }
    }
    answer
}

/// OR: true if one is true, else NULL if one is NULL.
fn any(parts: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    all(parts.map(|part| part.map(|holds| !holds))).map(|none| !none)
}
