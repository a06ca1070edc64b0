//! Computes a predicate for one row: the meaning that everything else in this crate must keep.
//!
//! SQL's three-valued logic: `Some(true)`, `Some(false)`, or `None` for NULL. Comparisons of
//! different types follow the table in `value`. What has no result fails: a quotient by 0, a sum that its
//! type does not hold. The parts of AND and OR are computed one after another, as far as they are needed.
//!
//! What is not understood counts as NULL: opaque parts, parameters without a value, types that do not
//! compare, text that does not read as the type it meets. `computable` says where that may happen.

use std::cmp::Ordering;

use rukh_keys::{DataType, Datum, ValueError};

use crate::conditions::failure::computed;
use crate::conditions::functions::result_type;
use crate::conditions::like::Pattern;
use crate::conditions::predicate::{CompareOp, Operand, Predicate};
use crate::conditions::term::{TermId, TermTypes};
use crate::conditions::value::{Value, compare, constant_value};

/// Computes a predicate for the row whose terms `values` gives.
///
/// A row is kept if the result is `Some(true)`. [`Predicate::is_decidable`] returns whether the
/// result can be relied on; opaque parts and parameters count as NULL.
///
/// # Errors
///
/// A function of the predicate has no result for a value of the row: the statement fails with this.
pub fn evaluate(
    predicate: &Predicate,
    types: &dyn TermTypes,
    values: &dyn Fn(TermId) -> Datum,
) -> Result<Option<bool>, ValueError> {
    Row { types, values }.predicate(predicate)
}

struct Row<'a> {
    types: &'a dyn TermTypes,
    values: &'a dyn Fn(TermId) -> Datum,
}

/// The answer of a condition, NULL as `None`, unless it has none.
type Answer = Result<Option<bool>, ValueError>;

impl Row<'_> {
    fn predicate(&self, predicate: &Predicate) -> Answer {
        match predicate {
            Predicate::True => Ok(Some(true)),
            Predicate::False => Ok(Some(false)),
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
                Ok(found?.map(|found| found != *negated))
            }
            Predicate::RowIn { left, list, negated } => {
                let found = any(list.iter().map(|row| self.row_compare(CompareOp::Eq, left, row)));
                Ok(found?.map(|found| found != *negated))
            }
            Predicate::IsNull { operand, negated } => {
                let is_null = match operand {
                    // Of any type: a document is NULL or not, and compares with nothing here.
                    Operand::Term(term) => {
                        let known = self.types.term_type(*term);
                        known.map(|_| (self.values)(*term).is_null())
                    }
                    Operand::Constant(k) => Some(k.datum.is_null()),
                    other => self.value(other)?.map(|value| value.is_null()),
                };
                Ok(is_null.map(|is_null| is_null != *negated))
            }
            Predicate::IsDistinct { left, right, negated } => {
                let distinct = self.is_distinct(left, right)?;
                Ok(distinct.map(|distinct| distinct != *negated))
            }
            Predicate::Like {
                operand,
                pattern,
                escape,
                case_insensitive,
                negated,
            } => {
                let matches = match (self.value(pattern)?, self.value(operand)?) {
                    (Some(Value::Text(pattern)), Some(Value::Text(text))) => {
                        Pattern::new(&pattern, *escape, *case_insensitive).matches(&text)
                    }
                    (Some(Value::Text(pattern)), Some(Value::Bytes(bytes))) if !case_insensitive => {
                        Pattern::for_bytes(&pattern, *escape).matches_bytes(&bytes)
                    }
                    _ => return Ok(None),
                };
                Ok(Some(matches != *negated))
            }
            Predicate::StartsWith { operand, prefix } => self.starts_with(operand, prefix),
            Predicate::IsTrue { operand, negated } => self.is_boolean(operand, true, *negated),
            Predicate::IsFalse { operand, negated } => self.is_boolean(operand, false, *negated),
            Predicate::And(parts) => all(parts.iter().map(|part| self.predicate(part))),
            Predicate::Or(parts) => any(parts.iter().map(|part| self.predicate(part))),
            Predicate::Not(inner) => Ok(self.predicate(inner)?.map(|holds| !holds)),
            Predicate::NotTrue(inner) => Ok(Some(self.predicate(inner)? != Some(true))),
            Predicate::Opaque(_) => Ok(None),
        }
    }

    fn compare(&self, op: CompareOp, left: &Operand, right: &Operand) -> Answer {
        Ok(self.order(left, right)?.map(|ordering| op.holds(ordering)))
    }

    /// Compares two operands; `None` if one is NULL or they do not compare.
    fn order(&self, left: &Operand, right: &Operand) -> Result<Option<Ordering>, ValueError> {
        Ok(match self.pair(left, right)? {
            Some((a, b)) if !a.is_null() && !b.is_null() => compare(&a, &b),
            _ => None,
        })
    }

    fn row_compare(&self, op: CompareOp, left: &[Operand], right: &[Operand]) -> Answer {
        if left.len() != right.len() {
            return Ok(None);
        }
        let pairs = || left.iter().zip(right);
        match op {
            CompareOp::Eq => all(pairs().map(|(a, b)| self.compare(op, a, b))),
            CompareOp::NotEq => any(pairs().map(|(a, b)| self.compare(op, a, b))),
            _ => {
                for (a, b) in pairs() {
                    match self.order(a, b)? {
                        None => return Ok(None),
                        Some(ordering) if ordering.is_ne() => return Ok(Some(op.holds(ordering))),
                        Some(_) => {}
                    }
                }
                Ok(Some(op.holds(Ordering::Equal)))
            }
        }
    }

    fn is_distinct(&self, left: &Operand, right: &Operand) -> Answer {
        let Some((a, b)) = self.pair(left, right)? else {
            return Ok(None);
        };
        Ok(match (a.is_null(), b.is_null()) {
            (true, true) => Some(false),
            (true, false) | (false, true) => Some(true),
            (false, false) => compare(&a, &b).map(Ordering::is_ne),
        })
    }

    fn is_boolean(&self, operand: &Operand, wanted: bool, negated: bool) -> Answer {
        let is = match self.value(operand)? {
            Some(Value::Boolean(value)) => value == wanted,
            Some(Value::Null) => false,
            _ => return Ok(None),
        };
        Ok(Some(is != negated))
    }

    fn starts_with(&self, operand: &Operand, prefix: &Operand) -> Answer {
        Ok(match (self.value(prefix)?, self.value(operand)?) {
            (Some(Value::Text(prefix)), Some(Value::Text(text))) => Some(text.starts_with(prefix.as_ref())),
            (Some(Value::Text(prefix)), Some(Value::Bytes(bytes))) => {
                Some(bytes.starts_with(prefix.as_bytes()))
            }
            _ => None,
        })
    }

    /// The values of two operands as they compare; `None` if one is not understood.
    fn pair(&self, left: &Operand, right: &Operand) -> Result<Option<Pair>, ValueError> {
        let a = self.value_beside(left, right)?;
        let b = self.value_beside(right, left)?;
        Ok(a.zip(b))
    }

    /// The value of an operand; `None` if it is not understood.
    fn value(&self, operand: &Operand) -> Result<Option<Value<'static>>, ValueError> {
        match operand {
            Operand::Term(term) => Ok(self.types.term_type(*term).and_then(|found| {
                let datum = (self.values)(*term);
                Value::new(&datum, found.ty).map(Value::into_owned)
            })),
            Operand::Constant(k) => Ok(Value::new(&k.datum, k.ty).map(Value::into_owned)),
            Operand::Parameter(_) => Ok(None),
            Operand::Function(function, inner) => match (operand_type(inner, self.types), self.value(inner)?)
            {
                (Some(ty), Some(value)) => computed(function, value, ty),
                _ => Ok(None),
            },
        }
    }

    /// The value of an operand; a constant as it compares with the other operand.
    fn value_beside(&self, operand: &Operand, other: &Operand) -> Result<Option<Value<'static>>, ValueError> {
        match operand {
            Operand::Constant(k) => Ok(operand_type(other, self.types)
                .and_then(|ty| constant_value(&k.datum, k.ty, ty))
                .map(Value::into_owned)),
            _ => self.value(operand),
        }
    }
}

type Pair = (Value<'static>, Value<'static>);

/// Returns the type of an operand; `None` if it is not understood.
pub(crate) fn operand_type(operand: &Operand, types: &dyn TermTypes) -> Option<DataType> {
    match operand {
        Operand::Term(term) => Some(types.term_type(*term)?.ty),
        Operand::Constant(k) => Some(k.ty),
        Operand::Parameter(_) => None,
        Operand::Function(function, inner) => result_type(function, operand_type(inner, types)?),
    }
}

/// AND: false if one is false, else NULL if one is NULL.
fn all(parts: impl Iterator<Item = Answer>) -> Answer {
    let mut answer = Some(true);
    for part in parts {
        match part? {
            Some(false) => return Ok(Some(false)),
            None => answer = None,
            Some(true) => {}
        }
    }
    Ok(answer)
}

/// OR: true if one is true, else NULL if one is NULL.
fn any(parts: impl Iterator<Item = Answer>) -> Answer {
    let none = all(parts.map(|part| Ok(part?.map(|holds| !holds))));
    Ok(none?.map(|none| !none))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::conditions::term::TermType;

    struct Of(DataType);

    impl TermTypes for Of {
        fn term_type(&self, _: TermId) -> Option<TermType> {
            Some(TermType {
                ty: self.0,
                nullable: true,
            })
        }
    }

    #[test]
    fn values_of_types_that_do_not_compare_are_null_or_not() {
        let values = [
            (DataType::Jsonb, Datum::Jsonb(Vec::new())),
            (DataType::Json, Datum::Text("1".to_string())),
            (
                DataType::Interval,
                Datum::Interval(rukh_keys::Interval::default()),
            ),
            (DataType::Char(2).array(), Datum::Array(vec![0])),
        ];
        for (ty, value) in values {
            for (datum, is_null) in [(value, true), (Datum::Null, false)] {
                let is_not_null = Predicate::IsNull {
                    operand: Operand::Term(TermId(0)),
                    negated: true,
                };
                let answer = evaluate(&is_not_null, &Of(ty), &|_| datum.clone());
                assert_eq!(answer.unwrap(), Some(is_null), "{ty}");
            }
        }
    }
}
