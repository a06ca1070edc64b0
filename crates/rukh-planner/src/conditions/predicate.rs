//! The predicate tree: what a WHERE clause says, in words the planner knows.
//!
//! `rukh-sql` translates SQL expressions into it; what has no word here becomes
//! [`Predicate::Opaque`] and stays in the residual. A predicate is a condition under SQL's
//! three-valued logic; rows are kept when it IS TRUE.
//!
//! Deliberately not here: what a predicate means for keys (`lower`), how it is computed for a row
//! (`evaluate`).

use rukh_keys::{DataType, Datum};

use crate::conditions::term::TermId;

/// A constant with its own type, which need not be that of the term it is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Constant {
    /// The value; NULL has any type.
    pub datum: Datum,
    /// Type of the value: has the scale of a decimal.
    pub ty: DataType,
}

impl Constant {
    /// Makes a constant.
    pub fn new(datum: Datum, ty: DataType) -> Constant {
        Constant { datum, ty }
    }

    /// Returns NULL of any type.
    pub fn null() -> Constant {
        Constant::new(Datum::Null, DataType::Varchar(None))
    }
}

/// Makes `From<$rust> for Constant`.
macro_rules! constant_from {
    ($($rust:ty: $ty:expr, $kind:ident;)*) => {
        $(impl From<$rust> for Constant {
            fn from(value: $rust) -> Constant {
                Constant::new(Datum::$kind(value.into()), $ty)
            }
        })*
    };
}

constant_from! {
    bool: DataType::Boolean, Boolean;
    i8: DataType::TinyInt, Int;
    i16: DataType::SmallInt, Int;
    i32: DataType::Integer, Int;
    i64: DataType::BigInt, Int;
    f32: DataType::Real, Float;
    f64: DataType::Double, Float;
    String: DataType::Varchar(None), Text;
    &str: DataType::Varchar(None), Text;
    Vec<u8>: DataType::Varbinary(None), Bytes;
}

impl<T: Into<Constant>> From<Option<T>> for Constant {
    fn from(value: Option<T>) -> Constant {
        value.map_or_else(Constant::null, Into::into)
    }
}

/// A comparison operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompareOp {
    /// `=`
    Eq,
    /// `<>`
    NotEq,
    /// `<`
    Lt,
    /// `<=`
    LtEq,
    /// `>`
    Gt,
    /// `>=`
    GtEq,
}

impl CompareOp {
    /// Returns the operator for the operands in the other order: `1 < a` is `a > 1`.
    pub fn flipped(self) -> CompareOp {
        match self {
            CompareOp::Lt => CompareOp::Gt,
            CompareOp::LtEq => CompareOp::GtEq,
            CompareOp::Gt => CompareOp::Lt,
            CompareOp::GtEq => CompareOp::LtEq,
            same => same,
        }
    }

    /// Returns the operator that is true where this one is false.
    pub fn negated(self) -> CompareOp {
        match self {
            CompareOp::Eq => CompareOp::NotEq,
            CompareOp::NotEq => CompareOp::Eq,
            CompareOp::Lt => CompareOp::GtEq,
            CompareOp::LtEq => CompareOp::Gt,
            CompareOp::Gt => CompareOp::LtEq,
            CompareOp::GtEq => CompareOp::Lt,
        }
    }

    /// Returns the operator as SQL.
    pub fn sql(self) -> &'static str {
        match self {
            CompareOp::Eq => "=",
            CompareOp::NotEq => "<>",
            CompareOp::Lt => "<",
            CompareOp::LtEq => "<=",
            CompareOp::Gt => ">",
            CompareOp::GtEq => ">=",
        }
    }

    /// Returns whether the operator holds for operands that compare so.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            CompareOp::Eq => ordering.is_eq(),
            CompareOp::NotEq => ordering.is_ne(),
            CompareOp::Lt => ordering.is_lt(),
            CompareOp::LtEq => ordering.is_le(),
            CompareOp::Gt => ordering.is_gt(),
            CompareOp::GtEq => ordering.is_ge(),
        }
    }
}

/// What `date_trunc` cuts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TimeUnit {
    /// A millionth of a second: leaves a timestamp as it is.
    Microsecond,
    /// A thousandth of a second.
    Millisecond,
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
    /// A week from Monday on.
    Week,
    /// A month.
    Month,
    /// Three months from January, April, July or October on.
    Quarter,
    /// A year.
    Year,
}

impl TimeUnit {
    /// Returns the unit as `date_trunc` spells it.
    pub fn sql(self) -> &'static str {
        match self {
            TimeUnit::Microsecond => "microseconds",
            TimeUnit::Millisecond => "milliseconds",
            TimeUnit::Second => "second",
            TimeUnit::Minute => "minute",
            TimeUnit::Hour => "hour",
            TimeUnit::Day => "day",
            TimeUnit::Week => "week",
            TimeUnit::Month => "month",
            TimeUnit::Quarter => "quarter",
            TimeUnit::Year => "year",
        }
    }
}

/// A function of one operand that keeps (or turns round) the order of its values, or hashes them.
///
/// NULL gives NULL. A value for which a function has no result makes the statement fail where it is computed.
/// A range on the operand is found with exact results: what SQL refuses as out of range is a larger number
/// there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// The day of a timestamp.
    CastDate,
    /// `date_trunc(unit, x)` of a date or timestamp, in UTC.
    DateTrunc(TimeUnit),
    /// The year of a date or timestamp.
    Year,
    /// `x + k`: exact numbers; floats of one type; days to a date; microseconds (an integer) to a timestamp.
    Add(Constant),
    /// `x - k`, as [`Function::Add`].
    Subtract(Constant),
    /// `k - x` of numbers.
    SubFrom(Constant),
    /// The first `n` characters (bytes) of a text (byte string): `left(x, n)`, `substr(x, 1, n)`.
    Substr(u32),
    /// The first `n` bytes (4, 8, 16) of the MD5, as `HASH(x, n)` in a key.
    Hash(u8),
    /// A cast that neither loses order nor fails: to a wider number, date to timestamp, CHAR to
    /// VARCHAR. Others are not understood.
    Cast(DataType),
    /// `floor(x)` of a number.
    Floor,
    /// `ceil(x)` of a number.
    Ceil,
    /// `round(x)` of a number: halves of integers and decimals go away from zero, those of floats to the
    /// even neighbour.
    Round,
    /// `round(x, n)` of a number: halves go away from zero; floats are multiplied, rounded and divided.
    RoundTo {
        /// Digits behind the point, or before it if negative.
        places: i32,
        /// Whether it is computed in REAL.
        single: bool,
    },
    /// `trunc(x)` of a float.
    Trunc,
    /// `x * k`
    Multiply(Constant),
    /// `x / k` of integers (towards zero) or floats; has no result where k is 0.
    Divide(Constant),
    /// `to_timestamp(x)`: the moment so many seconds, a DOUBLE, after 1970.
    ToTimestamp,
    /// `date_part('epoch', x)`: the seconds since 1970 of a date or timestamp, as a DOUBLE.
    Epoch,
    /// `EXTRACT(EPOCH FROM x)`: the same as a DECIMAL(20,6).
    Seconds,
    /// `date_bin(step, x, origin)` in microseconds.
    DateBin {
        /// Length of a bin, more than 0.
        step: i64,
        /// Where a bin begins.
        origin: i64,
    },
}

/// One side of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// A column or index expression.
    Term(TermId),
    /// A constant.
    Constant(Constant),
    /// A parameter, from 0 on; [`bind`] replaces it.
    Parameter(usize),
    /// A function of an operand.
    Function(Function, Box<Operand>),
}

impl Operand {
    /// The operand of a column's value.
    pub fn column(id: rukh_catalog::ColumnId) -> Operand {
        Operand::Term(TermId::column(id))
    }

    /// The operand of a text constant.
    pub fn text(text: impl Into<String>) -> Operand {
        Operand::Constant(Constant::new(Datum::Text(text.into()), DataType::Varchar(None)))
    }

    /// Visits every term.
    fn visit_terms(&self, visit: &mut dyn FnMut(TermId)) {
        match self {
            Operand::Term(term) => visit(*term),
            Operand::Constant(_) | Operand::Parameter(_) => {}
            Operand::Function(_, inner) => inner.visit_terms(visit),
        }
    }

    fn has_parameter(&self) -> bool {
        match self {
            Operand::Parameter(_) => true,
            Operand::Term(_) | Operand::Constant(_) => false,
            Operand::Function(_, inner) => inner.has_parameter(),
        }
    }
}

/// A condition on a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Predicate {
    /// Always true.
    True,
    /// Never true.
    False,
    /// `left op right`
    Compare {
        /// Operator.
        op: CompareOp,
        /// Left side.
        left: Operand,
        /// Right side.
        right: Operand,
    },
    /// `(a, b) op (c, d)`; both sides have the same length.
    RowCompare {
        /// Operator.
        op: CompareOp,
        /// Left side.
        left: Vec<Operand>,
        /// Right side.
        right: Vec<Operand>,
    },
    /// `x [NOT] IN (…)`
    In {
        /// What is looked for.
        operand: Operand,
        /// Where.
        list: Vec<Operand>,
        /// NOT IN.
        negated: bool,
    },
    /// `(a, b) [NOT] IN ((…), …)`; every element has the length of `left`.
    RowIn {
        /// What is looked for.
        left: Vec<Operand>,
        /// Where.
        list: Vec<Vec<Operand>>,
        /// NOT IN.
        negated: bool,
    },
    /// `x IS [NOT] NULL`
    IsNull {
        /// What is tested.
        operand: Operand,
        /// IS NOT NULL.
        negated: bool,
    },
    /// `x IS [NOT] DISTINCT FROM y`
    IsDistinct {
        /// Left side.
        left: Operand,
        /// Right side.
        right: Operand,
        /// IS NOT DISTINCT FROM.
        negated: bool,
    },
    /// `x [NOT] LIKE pattern`
    Like {
        /// What is tested.
        operand: Operand,
        /// Pattern, a text constant or parameter: `%` stands for any text, `_` for one character.
        pattern: Operand,
        /// Takes the meaning from the next character; `None` is the default, a backslash.
        escape: Option<char>,
        /// ILIKE.
        case_insensitive: bool,
        /// NOT LIKE.
        negated: bool,
    },
    /// `starts_with(x, prefix)`
    StartsWith {
        /// What is tested.
        operand: Operand,
        /// The wanted first characters, a text constant or parameter.
        prefix: Operand,
    },
    /// `x IS [NOT] TRUE` of a boolean operand.
    IsTrue {
        /// What is tested.
        operand: Operand,
        /// IS NOT TRUE.
        negated: bool,
    },
    /// `x IS [NOT] FALSE` of a boolean operand.
    IsFalse {
        /// What is tested.
        operand: Operand,
        /// IS NOT FALSE.
        negated: bool,
    },
    /// All of them.
    And(Vec<Predicate>),
    /// One of them at least.
    Or(Vec<Predicate>),
    /// Not.
    Not(Box<Predicate>),
    /// `condition IS NOT TRUE`: false or NULL.
    NotTrue(Box<Predicate>),
    /// A condition that has no word here: a position in [`Query::opaque`](crate::Query::opaque).
    Opaque(u32),
}

impl Predicate {
    /// `left op right`
    pub fn compare(op: CompareOp, left: Operand, right: Operand) -> Predicate {
        Predicate::Compare { op, left, right }
    }

    /// Visits every term that the predicate speaks about, some more than once.
    pub fn visit_terms(&self, visit: &mut dyn FnMut(TermId)) {
        self.visit_operands(&mut |operand| operand.visit_terms(visit));
    }

    /// Visits the positions of opaque parts.
    pub fn visit_opaque(&self, visit: &mut dyn FnMut(u32)) {
        match self {
            Predicate::Opaque(position) => visit(*position),
            Predicate::And(all) | Predicate::Or(all) => {
                all.iter().for_each(|part| part.visit_opaque(visit));
            }
            Predicate::Not(inner) | Predicate::NotTrue(inner) => inner.visit_opaque(visit),
            _ => {}
        }
    }

    /// Returns whether the predicate has neither opaque parts nor parameters.
    pub fn is_understood(&self) -> bool {
        let mut understood = true;
        self.visit_opaque(&mut |_| understood = false);
        self.visit_operands(&mut |operand| understood &= !operand.has_parameter());
        understood
    }

    /// Visits the operands of every comparison.
    pub(crate) fn visit_operands(&self, visit: &mut dyn FnMut(&Operand)) {
        match self {
            Predicate::True | Predicate::False | Predicate::Opaque(_) => {}
            Predicate::Compare { left, right, .. } | Predicate::IsDistinct { left, right, .. } => {
                visit(left);
                visit(right);
            }
            Predicate::RowCompare { left, right, .. } => {
                left.iter().chain(right).for_each(visit);
            }
            Predicate::In { operand, list, .. } => {
                visit(operand);
                list.iter().for_each(visit);
            }
            Predicate::RowIn { left, list, .. } => {
                left.iter().chain(list.iter().flatten()).for_each(visit);
            }
            Predicate::Like {
                operand,
                pattern: text,
                ..
            }
            | Predicate::StartsWith {
                operand,
                prefix: text,
            } => {
                visit(operand);
                visit(text);
            }
            Predicate::IsNull { operand, .. }
            | Predicate::IsTrue { operand, .. }
            | Predicate::IsFalse { operand, .. } => visit(operand),
            Predicate::And(all) | Predicate::Or(all) => {
                all.iter().for_each(|part| part.visit_operands(visit));
            }
            Predicate::Not(inner) | Predicate::NotTrue(inner) => inner.visit_operands(visit),
        }
    }
}

/// Returns the predicate with every parameter replaced by its constant.
///
/// A parameter without a constant stays, and a condition on it is not understood.
pub fn bind(predicate: &Predicate, parameters: &[Constant]) -> Predicate {
    let operand = |operand: &Operand| bind_operand(operand, parameters);
    let operands = |all: &[Operand]| all.iter().map(operand).collect::<Vec<_>>();
    match predicate {
        Predicate::Compare { op, left, right } => Predicate::Compare {
            op: *op,
            left: operand(left),
            right: operand(right),
        },
        Predicate::RowCompare { op, left, right } => Predicate::RowCompare {
            op: *op,
            left: operands(left),
            right: operands(right),
        },
        Predicate::In {
            operand: of,
            list,
            negated,
        } => Predicate::In {
            operand: operand(of),
            list: operands(list),
            negated: *negated,
        },
        Predicate::RowIn { left, list, negated } => Predicate::RowIn {
            left: operands(left),
            list: list.iter().map(|row| operands(row)).collect(),
            negated: *negated,
        },
        Predicate::IsNull { operand: of, negated } => Predicate::IsNull {
            operand: operand(of),
            negated: *negated,
        },
        Predicate::IsDistinct { left, right, negated } => Predicate::IsDistinct {
            left: operand(left),
            right: operand(right),
            negated: *negated,
        },
        Predicate::Like {
            operand: of,
            pattern,
            escape,
            case_insensitive,
            negated,
        } => Predicate::Like {
            operand: operand(of),
            pattern: operand(pattern),
            escape: *escape,
            case_insensitive: *case_insensitive,
            negated: *negated,
        },
        Predicate::StartsWith { operand: of, prefix } => Predicate::StartsWith {
            operand: operand(of),
            prefix: operand(prefix),
        },
        Predicate::IsTrue { operand: of, negated } => Predicate::IsTrue {
            operand: operand(of),
            negated: *negated,
        },
        Predicate::IsFalse { operand: of, negated } => Predicate::IsFalse {
            operand: operand(of),
            negated: *negated,
        },
        Predicate::And(all) => Predicate::And(bind_all(all, parameters)),
        Predicate::Or(all) => Predicate::Or(bind_all(all, parameters)),
        Predicate::Not(inner) => Predicate::Not(Box::new(bind(inner, parameters))),
        Predicate::NotTrue(inner) => Predicate::NotTrue(Box::new(bind(inner, parameters))),
        Predicate::True | Predicate::False | Predicate::Opaque(_) => predicate.clone(),
    }
}

fn bind_all(all: &[Predicate], parameters: &[Constant]) -> Vec<Predicate> {
    all.iter().map(|part| bind(part, parameters)).collect()
}

fn bind_operand(operand: &Operand, parameters: &[Constant]) -> Operand {
    match operand {
        Operand::Parameter(position) => match parameters.get(*position) {
            Some(constant) => Operand::Constant(constant.clone()),
            None => operand.clone(),
        },
        Operand::Function(function, inner) => {
            Operand::Function(function.clone(), Box::new(bind_operand(inner, parameters)))
        }
        Operand::Term(_) | Operand::Constant(_) => operand.clone(),
    }
}
