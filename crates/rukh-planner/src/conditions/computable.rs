//! What `evaluate` can be relied on for: where everything has a type, and what meets compares.
//!
//! `evaluate` takes what it does not understand for NULL, and a row for which a condition is NULL is not
//! kept. So a condition with such a part must be checked elsewhere: it is not decidable.

use rukh_keys::{DataType, Datum};
use std::borrow::Cow;

use crate::conditions::evaluate::operand_type;
use crate::conditions::predicate::{Operand, Predicate};
use crate::conditions::term::{TermKind, TermTypes};
use crate::conditions::value::{Value, compare, compared_element, compared_record, constant_value};

impl Predicate {
    /// Returns whether [`evaluate`](crate::evaluate()) can decide the predicate, by the values of columns alone:
    /// it is about nothing else, and all of it is understood.
    pub fn is_decidable(&self, types: &dyn TermTypes) -> bool {
        let mut columns_only = self.is_understood();
        self.visit_terms(&mut |term| columns_only &= matches!(term.kind(), TermKind::Column(_)));
        columns_only && is_computable(self, types)
    }
}

/// Returns whether [`evaluate`](crate::evaluate()) understands the whole of a predicate.
pub(crate) fn is_computable(predicate: &Predicate, types: &dyn TermTypes) -> bool {
    let typed = |operand: &Operand| operand_type(operand, types);
    let compare = |left: &Operand, right: &Operand| compares(left, right, types);
    let rows = |left: &[Operand], right: &[Operand]| {
        left.len() == right.len() && left.iter().zip(right).all(|(a, b)| compare(a, b))
    };
    match predicate {
        Predicate::True | Predicate::False => true,
        Predicate::Opaque(_) => false,
        Predicate::Compare { left, right, .. } | Predicate::IsDistinct { left, right, .. } => {
            compare(left, right)
        }
        Predicate::RowCompare { left, right, .. } => rows(left, right),
        Predicate::In { operand, list, .. } => list.iter().all(|element| compare(operand, element)),
        Predicate::RowIn { left, list, .. } => list.iter().all(|row| rows(left, row)),
        Predicate::IsNull { operand, .. } => typed(operand).is_some(),
        Predicate::Like {
            operand,
            pattern,
            case_insensitive,
            ..
        } => {
            is_text(pattern)
                && typed(operand).is_some_and(|ty| ty.is_text() || ty.is_bytes() && !case_insensitive)
        }
        Predicate::StartsWith { operand, prefix } => {
            is_text(prefix) && typed(operand).is_some_and(|ty| ty.is_text() || ty.is_bytes())
        }
        Predicate::IsTrue { operand, .. } | Predicate::IsFalse { operand, .. } => {
            is_null(operand) || typed(operand) == Some(DataType::Boolean)
        }
        Predicate::And(parts) | Predicate::Or(parts) => parts.iter().all(|part| is_computable(part, types)),
        Predicate::Not(inner) | Predicate::NotTrue(inner) => is_computable(inner, types),
    }
}

fn is_null(operand: &Operand) -> bool {
    matches!(operand, Operand::Constant(k) if k.datum.is_null())
}

fn is_text(operand: &Operand) -> bool {
    matches!(operand, Operand::Constant(k) if matches!(k.datum, Datum::Text(_) | Datum::Null))
}

/// Whether the values of two operands compare, whichever they are.
fn compares(left: &Operand, right: &Operand, types: &dyn TermTypes) -> bool {
    let a = sample_beside(left, right, types);
    let b = sample_beside(right, left, types);
    a.zip(b)
        .is_some_and(|(a, b)| a.is_null() || b.is_null() || compare(&a, &b).is_some())
}

/// A constant as it compares with another operand; of others any value of their type.
fn sample_beside<'a>(operand: &'a Operand, other: &Operand, types: &dyn TermTypes) -> Option<Value<'a>> {
    match operand {
        Operand::Constant(k) => constant_value(&k.datum, k.ty, operand_type(other, types)?),
        operand => sample(operand_type(operand, types)?),
    }
}

/// A value of a type; `None` of types whose values are not compared here.
fn sample(ty: DataType) -> Option<Value<'static>> {
    Some(match ty {
        DataType::Boolean => Value::Boolean(false),
        DataType::Decimal { scale, .. } => Value::Decimal(0, scale),
        DataType::Numeric { .. } => Value::Int(0),
        DataType::Real | DataType::Double => Value::Float(0.0),
        DataType::Date => Value::Date(0),
        DataType::Time { .. } => Value::Time(0),
        DataType::Timestamp { .. } | DataType::TimestampTz { .. } => Value::Timestamp(0),
        DataType::Uuid => Value::Uuid([0; 16]),
        DataType::Inet | DataType::Cidr => Value::Inet(Cow::Borrowed(&[])),
        DataType::Enum(of) => Value::Enum(0, of),
        ty if ty.is_text() => Value::Text(Cow::Borrowed("")),
        ty if ty.is_bytes() => Value::Bytes(Cow::Borrowed(&[])),
        DataType::Array(element) => Value::Array(Cow::Borrowed(&[0]), compared_element(*element)?),
        DataType::Record(of) => Value::Row(Cow::Borrowed(&[]), compared_record(of)?),
        ty if !ty.is_of_keys() => return None,
        _ => Value::Int(0),
    })
}
