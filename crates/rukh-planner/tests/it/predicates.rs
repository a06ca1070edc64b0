//! Random predicates over the terms of a world.

use rukh_keys::{DataType, Datum};
use rukh_planner::{CompareOp, Constant, Function, Operand, Predicate, TermId, TermTypes, TimeUnit};

use crate::choices::Choices;
use crate::domains::constant;
use crate::worlds::World;

const OPS: &[CompareOp] = &[
    CompareOp::GtEq,
    CompareOp::Gt,
    CompareOp::Lt,
    CompareOp::Eq,
    CompareOp::LtEq,
    CompareOp::NotEq,
];

const UNITS: &[TimeUnit] = &[
    TimeUnit::Day,
    TimeUnit::Hour,
    TimeUnit::Week,
    TimeUnit::Month,
    TimeUnit::Quarter,
    TimeUnit::Year,
    TimeUnit::Minute,
    TimeUnit::Second,
    TimeUnit::Millisecond,
    TimeUnit::Microsecond,
];

const PATTERNS: &[&str] = &[
    "a%",
    "a",
    "ab%",
    "a_",
    "%b",
    "%",
    "a%b",
    "",
    "a\\%",
    "é%",
    "a b%",
    "ab %",
    "\u{10ffff}%",
    "abc%",
    "_",
    "A%",
];

/// A tree of conditions of at most this depth.
pub fn predicate(choices: &mut Choices, world: &World, depth: usize) -> Predicate {
    if depth == 0 || choices.is_used_up() {
        return leaf(choices, world);
    }
    match choices.below(9) {
        0..=4 => leaf(choices, world),
        5 => Predicate::And(parts(choices, world, depth)),
        6 | 7 => Predicate::Or(parts(choices, world, depth)),
        _ => Predicate::Not(Box::new(predicate(choices, world, depth - 1))),
    }
}

fn parts(choices: &mut Choices, world: &World, depth: usize) -> Vec<Predicate> {
    (0..2 + choices.below(2))
        .map(|_| predicate(choices, world, depth - 1))
        .collect()
}

/// One condition.
pub fn leaf(choices: &mut Choices, world: &World) -> Predicate {
    match choices.below(18) {
        0..=4 => comparison(choices, world),
        5 => between(choices, world),
        6 | 16 => row_comparison(choices, world),
        7 | 8 | 17 => in_list(choices, world),
        9 => row_in(choices, world),
        10 => Predicate::IsNull {
            operand: subject(choices, world).0,
            negated: choices.one_in(2),
        },
        11 => distinct(choices, world),
        12 => like(choices, world),
        13 => starts_with(choices, world),
        14 => boolean_test(choices, world),
        _ => odd(choices, world),
    }
}

fn term(choices: &mut Choices, world: &World) -> TermId {
    let column = choices.pick(&world.table.columns).id;
    match choices.below(12) {
        10 => TermId::expression(column.0),
        11 => TermId::hash(column, *choices.pick(&[4, 8, 16])),
        _ => TermId::column(column),
    }
}

fn column_where(choices: &mut Choices, world: &World, wanted: impl Fn(DataType) -> bool) -> Option<TermId> {
    let columns: Vec<_> = world
        .table
        .columns
        .iter()
        .filter(|column| wanted(column.ty))
        .collect();
    (!columns.is_empty()).then(|| TermId::column(choices.pick(&columns).id))
}

fn type_of(world: &World, term: TermId) -> DataType {
    world
        .query(&[])
        .term_type(term)
        .expect("terms are made of the world")
        .ty
}

/// A term and the type of constants to compare it with; sometimes inside a function.
fn subject(choices: &mut Choices, world: &World) -> (Operand, DataType) {
    let term = term(choices, world);
    let ty = type_of(world, term);
    let plain = Operand::Term(term);
    if !choices.one_in(4) {
        return (plain, ty);
    }
    let (function, result) = function(choices, ty);
    (Operand::Function(function, Box::new(plain)), result)
}

fn function(choices: &mut Choices, ty: DataType) -> (Function, DataType) {
    let small = |choices: &mut Choices| {
        Constant::new(
            Datum::Int(*choices.pick(&[1, -1, 100, i64::MAX, i64::MIN, 0])),
            DataType::BigInt,
        )
    };
    // What is computed of two INTEGERs is one; a literal of SQL is the type that holds it.
    let factor = |choices: &mut Choices| {
        let value = *choices.pick(&[2, -1, 1000, -7, i64::MAX, 0, 1, i64::MIN, 127, -128]);
        let ty = match i8::try_from(value) {
            Ok(_) if choices.one_in(2) => DataType::TinyInt,
            _ => DataType::BigInt,
        };
        Constant::new(Datum::Int(value), ty)
    };
    match ty {
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => {
            match choices.below(8) {
                5 => (Function::Epoch, DataType::Double),
                7 => (
                    Function::Seconds,
                    DataType::Decimal {
                        precision: 20,
                        scale: 6,
                    },
                ),
                6 => {
                    let step = *choices.pick(&[1, 900_000_000, 86_400_000_000, i64::MAX]);
                    let origin = *choices.pick(&[0, 1, -1, i64::MIN, i64::MAX]);
                    (Function::DateBin { step, origin }, DataType::TIMESTAMP)
                }
                0 => (Function::DateTrunc(*choices.pick(UNITS)), DataType::TIMESTAMP),
                1 => (Function::CastDate, DataType::Date),
                2 => (Function::Year, DataType::Integer),
                3 => (Function::Add(small(choices)), ty),
                _ => (Function::Cast(DataType::TIMESTAMP), DataType::TIMESTAMP),
            }
        }
        ty if ty.is_integer() => match choices.below(10) {
            6 => (Function::Multiply(factor(choices)), DataType::BigInt),
            7 => (Function::Divide(factor(choices)), DataType::BigInt),
            8 => {
                let places = *choices.pick(&[0, -1, -2, 3, -40]);
                (
                    Function::RoundTo {
                        places,
                        single: false,
                    },
                    ty,
                )
            }
            9 => (Function::Cast(DataType::TinyInt), DataType::TinyInt),
            0 => (Function::Add(small(choices)), DataType::BigInt),
            1 => (Function::Subtract(small(choices)), DataType::BigInt),
            2 => (Function::SubFrom(small(choices)), DataType::BigInt),
            3 => (Function::Cast(DataType::Double), DataType::Double),
            4 => (
                Function::Cast(DataType::Decimal {
                    precision: 20,
                    scale: 1,
                }),
                DataType::Decimal {
                    precision: 20,
                    scale: 1,
                },
            ),
            _ => (Function::Cast(DataType::BigInt), DataType::BigInt),
        },
        DataType::Decimal { .. } => match choices.below(7) {
            4 => (Function::Multiply(factor(choices)), ty),
            5 => {
                let places = *choices.pick(&[0, 1, -1, 2, -40]);
                (
                    Function::RoundTo {
                        places,
                        single: false,
                    },
                    ty,
                )
            }
            6 => (Function::Round, ty),
            0 => (Function::Floor, ty),
            1 => (Function::Ceil, ty),
            2 => (
                Function::SubFrom(Constant::new(
                    Datum::Decimal(15),
                    DataType::Decimal {
                        precision: 3,
                        scale: 1,
                    },
                )),
                ty,
            ),
            _ => (Function::Cast(DataType::Double), DataType::Double),
        },
        ty if ty.is_float() => match choices.below(11) {
            3 => (Function::Round, ty),
            4 => {
                let single = ty == DataType::Real;
                let places = *choices.pick(&[0, 1, -1, 2, 30]);
                (Function::RoundTo { places, single }, ty)
            }
            5 => (Function::Trunc, ty),
            6 => (Function::Add(float(choices, ty)), ty),
            7 => (Function::SubFrom(float(choices, ty)), ty),
            8 => (Function::Multiply(float(choices, ty)), ty),
            9 => (Function::Divide(float(choices, ty)), ty),
            10 => match ty {
                DataType::Double => (Function::ToTimestamp, DataType::TIMESTAMP_TZ),
                _ => (Function::Cast(DataType::BigInt), DataType::BigInt),
            },
            0 => (Function::Floor, ty),
            1 => (Function::Ceil, ty),
            _ => (Function::Cast(DataType::Double), DataType::Double),
        },
        ty if ty.is_text() => match choices.below(4) {
            0 => (Function::Cast(DataType::Varchar(None)), DataType::Varchar(None)),
            _ => (Function::Substr(choices.below(4) as u32), DataType::Varchar(None)),
        },
        ty if ty.is_bytes() => (
            Function::Substr(choices.below(4) as u32),
            DataType::Varbinary(None),
        ),
        _ => (Function::Hash(8), DataType::Varbinary(None)),
    }
}

/// A float to compute with.
fn float(choices: &mut Choices, ty: DataType) -> Constant {
    let value = *choices.pick(&[1.0, 1.5, -1.0, -0.25, 1e30, -1e-30]);
    let value = if ty == DataType::Real {
        f64::from(value as f32)
    } else {
        value
    };
    Constant::new(Datum::Float(value), ty)
}

fn comparison(choices: &mut Choices, world: &World) -> Predicate {
    let (operand, ty) = subject(choices, world);
    let constant = Operand::Constant(constant(choices, ty));
    let op = *choices.pick(OPS);
    match choices.one_in(4) {
        false => Predicate::compare(op, operand, constant),
        true => Predicate::compare(op, constant, operand),
    }
}

fn between(choices: &mut Choices, world: &World) -> Predicate {
    let (operand, ty) = subject(choices, world);
    let low = Operand::Constant(constant(choices, ty));
    let high = Operand::Constant(constant(choices, ty));
    Predicate::And(vec![
        Predicate::compare(CompareOp::GtEq, operand.clone(), low),
        Predicate::compare(CompareOp::LtEq, operand, high),
    ])
}

fn row_terms(choices: &mut Choices, world: &World) -> Vec<TermId> {
    (0..2 + choices.below(2)).map(|_| term(choices, world)).collect()
}

fn row_constants(choices: &mut Choices, world: &World, terms: &[TermId]) -> Vec<Operand> {
    terms
        .iter()
        .map(|term| Operand::Constant(constant(choices, type_of(world, *term))))
        .collect()
}

fn row_comparison(choices: &mut Choices, world: &World) -> Predicate {
    let terms = row_terms(choices, world);
    let right = row_constants(choices, world, &terms);
    let left = terms.into_iter().map(Operand::Term).collect();
    Predicate::RowCompare {
        op: *choices.pick(OPS),
        left,
        right,
    }
}

fn in_list(choices: &mut Choices, world: &World) -> Predicate {
    let (operand, ty) = subject(choices, world);
    let list = (0..1 + choices.below(4))
        .map(|_| Operand::Constant(constant(choices, ty)))
        .collect();
    Predicate::In {
        operand,
        list,
        negated: choices.one_in(3),
    }
}

fn row_in(choices: &mut Choices, world: &World) -> Predicate {
    let terms = row_terms(choices, world);
    let list = (0..1 + choices.below(3))
        .map(|_| row_constants(choices, world, &terms))
        .collect();
    let left = terms.into_iter().map(Operand::Term).collect();
    Predicate::RowIn {
        left,
        list,
        negated: choices.one_in(3),
    }
}

fn distinct(choices: &mut Choices, world: &World) -> Predicate {
    let (left, ty) = subject(choices, world);
    let right = Operand::Constant(constant(choices, ty));
    Predicate::IsDistinct {
        left,
        right,
        negated: choices.one_in(2),
    }
}

fn like(choices: &mut Choices, world: &World) -> Predicate {
    let wanted = |ty: DataType| ty.is_text() || ty.is_bytes();
    let Some(term) = column_where(choices, world, wanted) else {
        return comparison(choices, world);
    };
    Predicate::Like {
        operand: Operand::Term(term),
        pattern: Operand::text(*choices.pick(PATTERNS)),
        escape: None,
        case_insensitive: choices.one_in(5),
        negated: choices.one_in(3),
    }
}

fn starts_with(choices: &mut Choices, world: &World) -> Predicate {
    let wanted = |ty: DataType| ty.is_text() || ty.is_bytes();
    let Some(term) = column_where(choices, world, wanted) else {
        return comparison(choices, world);
    };
    let prefix = Operand::text(*choices.pick(&["a", "", "ab", "é", "a ", "\u{10ffff}", "abc"]));
    Predicate::StartsWith {
        operand: Operand::Term(term),
        prefix,
    }
}

fn boolean_test(choices: &mut Choices, world: &World) -> Predicate {
    let Some(term) = column_where(choices, world, |ty| ty == DataType::Boolean) else {
        return comparison(choices, world);
    };
    let (operand, negated) = (Operand::Term(term), choices.one_in(2));
    match choices.one_in(2) {
        true => Predicate::IsTrue { operand, negated },
        false => Predicate::IsFalse { operand, negated },
    }
}

/// Conditions at the edge of what is understood.
fn odd(choices: &mut Choices, world: &World) -> Predicate {
    let left = Operand::Term(term(choices, world));
    match choices.below(5) {
        0 => Predicate::compare(*choices.pick(OPS), left, Operand::Term(term(choices, world))),
        1 => Predicate::compare(*choices.pick(OPS), left.clone(), left),
        2 => Predicate::True,
        3 => Predicate::False,
        _ => Predicate::compare(*choices.pick(OPS), Operand::text("a"), Operand::text("b")),
    }
}
