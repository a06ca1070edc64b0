//! Parameters whose types are known before a query is planned: `day + $1` is a day later where a driver sends a number, and
//! another operator where it sends an interval.
//!
//! | written                    | becomes                                              |
//! |----------------------------|------------------------------------------------------|
//! | `day + $1`, `f($1)`, `-$1` | `day + CAST($1 AS SMALLINT)`, where that is its type |
//! | `$1 \|\| $2`               | `CAST($1 AS VARCHAR) \|\| …`, where neither has one    |
//!
//! Parameters of types that no column has (intervals, arrays) come as texts, and are cast wherever they stand ([`cast_in`]).
//!
//! Texts have no type of their own, as literals. Deliberately not here: comparisons with anything but literals and other parameters. They
//! take the type of the other side, and kept plans leave their parameters open.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::scalar::ScalarValue;
use rukh_functions::types::data_type_of_arrow;
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::{
    self, ArrayElemTypeDef, BinaryOperator, ExactNumberInfo, Expr, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, ObjectName, Query, TimezoneInfo, Value, VisitorMut,
};

use crate::bind::spelling::casts;
use crate::bind::spelling::integer_literals::asks_for_constants;
use rukh_syntax::{Statement, WalkMut, found_type, make};

/// Returns the types of the values of parameters.
pub(crate) fn types_of(params: &[ScalarValue]) -> Vec<Option<DataType>> {
    let ty = |value: &ScalarValue| Some(data_type_of_arrow(&value.data_type()));
    params.iter().map(ty).collect()
}

/// Returns a query whose operators and functions are of parameters of these types.
pub(crate) fn with_types<'a>(query: Cow<'a, Query>, types: &[Option<DataType>]) -> Cow<'a, Query> {
    if types.is_empty() {
        return query;
    }
    let mut query = query.into_owned();
    let ControlFlow::Continue(()) = query.walk_mut(&mut Types { types });
    Cow::Owned(query)
}

struct Types<'a> {
    types: &'a [Option<DataType>],
}

impl Types<'_> {
    /// Returns the type of a parameter that is all of an expression, `Some(None)` of one that is a text or has none yet.
    fn of(&self, expr: &Expr) -> Option<Option<ast::DataType>> {
        if let Expr::Nested(inner) = expr {
            return self.of(inner);
        }
        let number = parameter_of(expr)?;
        let ty = number.checked_sub(1).and_then(|at| self.types.get(at)).copied();
        Some(ty.flatten().and_then(cast_type))
    }

    fn typed(&self, expr: &mut Expr) {
        if let Some(Some(ty)) = self.of(expr) {
            cast(expr, ty);
        }
    }
}

/// Casts the parameters of a statement with these numbers, counted from 1.
pub(crate) fn cast_in(statement: &mut Statement, casts: &[(usize, ast::DataType)]) {
    let mut casts = Casts { casts };
    // The visitor never stops.
    let _ = match statement {
        Statement::Query(query) => query.walk_mut(&mut casts),
        Statement::Insert(insert) => {
            let _ = insert.with.walk_mut(&mut casts);
            insert.ast.walk_mut(&mut casts)
        }
        Statement::Update(update) => {
            let _ = update.with.walk_mut(&mut casts);
            update.ast.walk_mut(&mut casts)
        }
        Statement::Delete(delete) => {
            let _ = delete.with.walk_mut(&mut casts);
            delete.ast.walk_mut(&mut casts)
        }
        Statement::Writes(writes) => {
            let parts = writes.parts.iter_mut().chain([&mut writes.statement]);
            parts.for_each(|part| cast_in(part, casts.casts));
            return;
        }
        Statement::Explain { statement, .. } => return cast_in(statement, casts.casts),
        _ => return,
    };
}

struct Casts<'a> {
    casts: &'a [(usize, ast::DataType)],
}

impl VisitorMut for Casts<'_> {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let number = parameter_of(expr);
        if let Some((_, ty)) = self.casts.iter().find(|(of, _)| Some(*of) == number) {
            cast(expr, ty.clone());
        }
        ControlFlow::Continue(())
    }
}

/// Returns the number of an expression that is a parameter.
pub(crate) fn parameter_of(expr: &Expr) -> Option<usize> {
    let Expr::Value(value) = expr else { return None };
    match &value.value {
        Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
        _ => None,
    }
}

/// Returns the type that a parameter is cast to; `None` of texts, as which UUIDs come, too.
pub(crate) fn cast_type(ty: DataType) -> Option<ast::DataType> {
    use ast::DataType as Ast;
    Some(match ty {
        DataType::Boolean => Ast::Boolean,
        DataType::TinyInt => Ast::TinyInt(None),
        DataType::SmallInt => Ast::SmallInt(None),
        DataType::Integer => Ast::Integer(None),
        DataType::BigInt => Ast::BigInt(None),
        DataType::Real => Ast::Real,
        DataType::Double => Ast::DoublePrecision,
        DataType::Decimal { precision, scale } => {
            Ast::Decimal(ExactNumberInfo::PrecisionAndScale(precision.into(), scale.into()))
        }
        DataType::Numeric { .. } => Ast::Numeric(ExactNumberInfo::None),
        DataType::Date => Ast::Date,
        DataType::Time { .. } => Ast::Time(None, TimezoneInfo::None),
        DataType::Timestamp { .. } => Ast::Timestamp(None, TimezoneInfo::None),
        DataType::TimestampTz { .. } => Ast::Timestamp(None, TimezoneInfo::WithTimeZone),
        DataType::Binary(_) | DataType::Varbinary(_) => Ast::Bytea,
        DataType::Inet | DataType::Cidr => {
            let name = Ident::new(ty.to_string().to_lowercase());
            Ast::Custom(ObjectName::from(vec![name]), Vec::new())
        }
        DataType::Interval => Ast::Interval {
            fields: None,
            precision: None,
        },
        DataType::Array(element) => {
            let element = match *element {
                DataType::Uuid => Ast::Uuid,
                element => cast_type(element).unwrap_or(Ast::Text),
            };
            Ast::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None))
        }
        DataType::Enum(_) | DataType::Record(_) => return found_type(ty),
        DataType::Json => Ast::JSON,
        DataType::Jsonb => Ast::JSONB,
        DataType::Uuid | DataType::Char(_) | DataType::Varchar(_) => return None,
    })
}

/// Returns a type as a statement has it, with its length.
pub(crate) fn written_type(ty: DataType) -> ast::DataType {
    let length = |length: u32| {
        Some(ast::CharacterLength::IntegerLength {
            length: length.into(),
            unit: None,
        })
    };
    match ty {
        DataType::Uuid => ast::DataType::Uuid,
        DataType::Varchar(Some(characters)) => ast::DataType::Varchar(length(characters)),
        DataType::Char(characters) => ast::DataType::Char(length(characters)),
        other => cast_type(other).unwrap_or(ast::DataType::Text),
    }
}

pub(crate) fn cast(expr: &mut Expr, ty: ast::DataType) {
    let parameter = std::mem::replace(expr, Expr::Value(Value::Null.into()));
    *expr = make::cast(parameter, ty);
    // Arrow has no UUIDs: those of arrays are spelled out as in statements.
    casts::spell_out_uuids(expr);
}

/// Whether an expression is a literal or a parameter, perhaps cast.
fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) | Expr::Cast { expr: inner, .. } => is_constant(inner),
        expr => matches!(expr, Expr::Value(_)),
    }
}

fn compares(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

impl VisitorMut for Types<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::BinaryOp { left, op, right }
                if !compares(op) || (is_constant(left) && is_constant(right)) =>
            {
                let are_texts = [&left, &right].map(|side| self.of(side)) == [Some(None), Some(None)];
                if *op == BinaryOperator::StringConcat && are_texts {
                    cast(left, ast::DataType::Text);
                    cast(right, ast::DataType::Text);
                }
                self.typed(left);
                self.typed(right);
            }
            Expr::UnaryOp { expr, .. }
            | Expr::Extract { expr, .. }
            | Expr::Ceil { expr, .. }
            | Expr::Floor { expr, .. } => self.typed(expr),
            Expr::AtTimeZone { timestamp, time_zone } => {
                self.typed(timestamp);
                self.typed(time_zone);
            }
            Expr::Substring {
                expr,
                substring_from,
                substring_for,
                ..
            } => {
                let bounds = [substring_from, substring_for].into_iter().flatten();
                bounds.chain([expr]).for_each(|part| self.typed(part));
            }
            Expr::Function(call) if !asks_for_constants(call) => {
                if let FunctionArguments::List(list) = &mut call.args {
                    for argument in &mut list.args {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument {
                            self.typed(value);
                        }
                    }
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
