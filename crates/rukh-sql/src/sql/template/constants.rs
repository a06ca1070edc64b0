//! Literals of a text as the constants that they are beside the columns of their comparisons.

use rukh_catalog::Table;
use rukh_keys::{DataType, Datum, NumericParts};
use rukh_planner::{Constant, Operand, Predicate, TermKind};

use crate::exec::translate::constant_of_scalar;
use rukh_functions::scalars::scalar_from_datum;
use rukh_syntax::{Literal, LiteralType};

/// Returns the types that parameters take from the columns they are compared with, by number;
/// `None` if one is used otherwise.
pub(crate) fn parameter_types(
    table: &Table,
    predicates: &[Predicate],
    parameters: usize,
) -> Option<Vec<DataType>> {
    let mut types = vec![None; parameters];
    for predicate in predicates {
        note_types(table, predicate, &mut types)?;
    }
    types.into_iter().collect()
}

fn note_types(table: &Table, predicate: &Predicate, types: &mut [Option<DataType>]) -> Option<()> {
    match predicate {
        Predicate::And(parts) | Predicate::Or(parts) => {
            parts.iter().try_for_each(|part| note_types(table, part, types))
        }
        Predicate::Not(part) | Predicate::NotTrue(part) => note_types(table, part, types),
        Predicate::Compare { left, right, .. } => {
            note_pair(table, left, right, types)?;
            note_pair(table, right, left, types)
        }
        Predicate::In { operand, list, .. } => list
            .iter()
            .try_for_each(|element| note_pair(table, operand, element, types)),
        Predicate::Like {
            operand: Operand::Term(_),
            pattern,
            ..
        } => match pattern {
            Operand::Parameter(number) => note(*number, DataType::Varchar(None), types),
            _ => Some(()),
        },
        Predicate::StartsWith {
            operand: Operand::Term(_),
            prefix,
        } => match prefix {
            Operand::Parameter(number) => note(*number, DataType::Varchar(None), types),
            _ => Some(()),
        },
        Predicate::IsNull {
            operand: Operand::Term(_),
            ..
        }
        | Predicate::IsTrue {
            operand: Operand::Term(_),
            ..
        }
        | Predicate::IsFalse {
            operand: Operand::Term(_),
            ..
        } => Some(()),
        _ => None,
    }
}

/// Notes the type of `parameter`, if it is one, from the column on the other side.
fn note_pair(
    table: &Table,
    column: &Operand,
    parameter: &Operand,
    types: &mut [Option<DataType>],
) -> Option<()> {
    match parameter {
        Operand::Parameter(number) => note(*number, type_of(table, column)?, types),
        Operand::Term(_) | Operand::Constant(_) => Some(()),
        // A parameter within a function has a type of its own.
        Operand::Function(..) => type_of(table, parameter).map(|_| ()),
    }
}

/// Returns the type of a column, or of functions of one.
fn type_of(table: &Table, operand: &Operand) -> Option<DataType> {
    match operand {
        Operand::Term(term) => match term.kind() {
            TermKind::Column(column) => table.column(column).map(|column| column.ty),
            _ => None,
        },
        Operand::Function(function, inner) => function.result_type(type_of(table, inner)?),
        Operand::Parameter(_) | Operand::Constant(_) => None,
    }
}

fn note(parameter: usize, ty: DataType, types: &mut [Option<DataType>]) -> Option<()> {
    let noted = types.get_mut(parameter)?;
    // A row value that is spelled out has it twice; it cannot have two types.
    let fits = noted.is_none_or(|noted| noted == ty);
    *noted = Some(ty);
    fits.then_some(())
}

/// Most integers that a DOUBLE distinguishes from all others.
const DOUBLE_INTEGER_MAX: u64 = 1 << 53;

/// Returns a literal as the constant that it is beside a column; `None` where PostgreSQL's rules
/// for that are not these: the value does not fit the type, or its kind is another one.
pub(crate) fn constant_of_literal(literal: &Literal, ty: DataType) -> Option<Constant> {
    let datum = match literal {
        Literal::Text(text) => match ty {
            DataType::Varchar(_) => Datum::Text(text.clone()),
            DataType::Char(_)
            | DataType::Uuid
            | DataType::Inet
            | DataType::Date
            | DataType::Time { .. }
            | DataType::Timestamp { .. }
            | DataType::TimestampTz { .. } => ty.unrounded().parse_text(text).ok()?,
            _ => return None,
        },
        Literal::Integer(value) => {
            let fits = match ty {
                DataType::TinyInt => i8::try_from(*value).is_ok(),
                DataType::SmallInt => i16::try_from(*value).is_ok(),
                DataType::Integer => i32::try_from(*value).is_ok(),
                DataType::BigInt => true,
                DataType::Decimal { .. } | DataType::Numeric { .. } | DataType::Double => {
                    return constant_of_number(i128::from(*value), 0, ty);
                }
                _ => return None,
            };
            match fits {
                true => Datum::Int(*value),
                false => return None,
            }
        }
        Literal::Decimal { unscaled, scale } => return constant_of_number(*unscaled, *scale, ty),
        Literal::Typed(of, text) => match (of, ty) {
            (LiteralType::Date, DataType::Date) | (LiteralType::Timestamp, DataType::Timestamp { .. }) => {
                ty.unrounded().parse_text(text).ok()?
            }
            _ => return None,
        },
    };
    let ty = match ty {
        DataType::Varchar(_) => DataType::Varchar(None),
        ty => ty,
    };
    constant_of_scalar(&scalar_from_datum(&datum, &ty))
}

/// Returns `unscaled / 10^scale` as a constant beside a column; `None` if the column does not distinguish it from
/// all other numbers.
fn constant_of_number(unscaled: i128, scale: u8, ty: DataType) -> Option<Constant> {
    let datum = match ty {
        DataType::Double => {
            let digits = unscaled.unsigned_abs();
            let is_exact = digits <= u128::from(DOUBLE_INTEGER_MAX) && scale <= 22;
            // Both are exact, so the quotient is the DOUBLE nearest to the number.
            is_exact.then(|| Datum::Float(unscaled as f64 / 10_f64.powi(i32::from(scale))))?
        }
        DataType::Decimal {
            precision,
            scale: own,
        } => {
            let more = own.checked_sub(scale)?;
            let scaled = unscaled.checked_mul(10_i128.checked_pow(u32::from(more))?)?;
            let limit = 10_i128.checked_pow(u32::from(precision))?;
            (scaled.abs() < limit).then_some(Datum::Decimal(scaled))?
        }
        DataType::Numeric {
            precision,
            scale: own,
        } => {
            let parts = NumericParts::of_decimal(unscaled, scale).filter(|_| scale <= own)?;
            let fits = parts.fits(precision.checked_sub(own)?);
            fits.then(|| Datum::Numeric(parts.to_form()))?
        }
        _ => return None,
    };
    constant_of_scalar(&scalar_from_datum(&datum, &ty))
}
