//! Operators exist for the operands that PostgreSQL has them for; others are errors that name the types.
//!
//! DataFusion brings most operands to a common type, text as the last resort, and says of the rest that
//! it cannot. Here `text = integer` is an undefined operator (42883), and a condition that is no BOOLEAN
//! a wrong type (42804), before any row is read. Literals have been read in the type of the other operand
//! by then; those that have not, NULL, and parameters without a type fit anywhere.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, Like, LogicalPlan, Operator, Union,
};

use rukh_error::SqlError;
use rukh_functions::types::postgres_name_of;

/// What operators tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    /// Fits anywhere: NULL, literals without a type, parameters, and types that are none of ours.
    Any,
    Boolean,
    Number,
    Text,
    Bytes,
    Date,
    Time,
    Timestamp,
    Interval,
}

fn is_nested(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|ty| ty.is_nested())
}

/// Fails if an operator of the expression, at its top, does not exist for its operands.
pub(crate) fn check(expr: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    let at = |expr| Operand::of(expr, schema);
    let checked = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => binary(&at(left), *op, &at(right)),
        Expr::Like(Like {
            negated,
            expr,
            pattern,
            case_insensitive,
            ..
        }) => {
            let operator = match (negated, case_insensitive) {
                (false, false) => "~~",
                (true, false) => "!~~",
                (false, true) => "~~*",
                (true, true) => "!~~*",
            };
            match is_nested(expr, schema) || is_nested(pattern, schema) {
                true => Err(SqlError::statement(
                    "42883",
                    format!("operator does not exist: {operator} of arrays or rows"),
                )),
                false => texts(&at(expr), operator, &at(pattern)),
            }
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            let value = at(expr);
            compared(&value, Operator::GtEq, &at(low)).and(compared(&value, Operator::LtEq, &at(high)))
        }
        Expr::InList(InList { expr, list, .. }) => {
            let value = at(expr);
            list.iter()
                .try_for_each(|element| compared(&value, Operator::Eq, &at(element)))
        }
        Expr::Not(inner) => condition("NOT", &at(inner)),
        Expr::Negative(inner) => {
            let operand = at(inner);
            match operand.family {
                Family::Any | Family::Number | Family::Interval => Ok(()),
                _ => Err(undefined(&format!("- {}", operand.name))),
            }
        }
        Expr::Case(Case {
            expr: operand,
            when_then_expr,
            ..
        }) => when_then_expr.iter().try_for_each(|(when, _)| match operand {
            Some(operand) => compared(&at(operand), Operator::Eq, &at(when)),
            None => condition("CASE/WHEN", &at(when)),
        }),
        _ => Ok(()),
    };
    checked.map_err(|error| DataFusionError::External(Box::new(error)))
}

/// Fails if the inputs of a UNION give a column types of different families.
pub(crate) fn check_union(plan: &LogicalPlan) -> Result<(), SqlError> {
    let LogicalPlan::Union(Union { inputs, .. }) = plan else {
        return Ok(());
    };
    let Some((first, rest)) = inputs.split_first() else {
        return Ok(());
    };
    for input in rest {
        for (left, right) in first.schema().fields().iter().zip(input.schema().fields()) {
            let (left, right) = (Operand::of_field(left), Operand::of_field(right));
            if !alike(left.family, right.family) {
                let message = format!("UNION types {} and {} cannot be matched", left.name, right.name);
                return Err(SqlError::statement("42804", message));
            }
        }
    }
    Ok(())
}

/// The type of an operand, as far as operators and messages care.
struct Operand {
    family: Family,
    name: &'static str,
}

impl Operand {
    fn of(expr: &Expr, schema: &DFSchema) -> Operand {
        let inner = match expr {
            Expr::Alias(alias) => &alias.expr,
            other => other,
        };
        if let Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_), _) = inner {
            return Operand::ANY;
        }
        if let Expr::Literal(ScalarValue::Int64(Some(value)), _) = inner
            && i32::try_from(*value).is_ok()
        {
            // PostgreSQL gives a literal the smaller type.
            return Operand {
                family: Family::Number,
                name: "integer",
            };
        }
        match expr.to_field(schema) {
            Ok((_, field)) => Operand::of_field(&field),
            Err(_) => Operand::ANY,
        }
    }

    const ANY: Operand = Operand {
        family: Family::Any,
        name: "unknown",
    };

    fn of_field(field: &datafusion::arrow::datatypes::Field) -> Operand {
        let family = match field.data_type() {
            ArrowType::Boolean => Family::Boolean,
            ty if ty.is_numeric() => Family::Number,
            ty if ty.is_string() => Family::Text,
            ty if ty.is_binary() => Family::Bytes,
            ArrowType::Date32 | ArrowType::Date64 => Family::Date,
            ArrowType::Time32(_) | ArrowType::Time64(_) => Family::Time,
            ArrowType::Timestamp(..) => Family::Timestamp,
            ArrowType::Interval(_) | ArrowType::Duration(_) => Family::Interval,
            _ => return Operand::ANY,
        };
        Operand {
            family,
            name: postgres_name_of(field),
        }
    }
}

fn binary(left: &Operand, op: Operator, right: &Operand) -> Result<(), SqlError> {
    use Operator::{
        And, Divide, Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, Minus, Modulo, Multiply,
        NotEq, Or, Plus, RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch,
    };
    match op {
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom => compared(left, op, right),
        And | Or => {
            let name = if op == And { "AND" } else { "OR" };
            condition(name, left).and(condition(name, right))
        }
        Plus | Minus | Multiply | Divide | Modulo => match computes(left.family, op, right.family) {
            true => Ok(()),
            false => Err(undefined(&format!("{} {op} {}", left.name, right.name))),
        },
        RegexMatch => texts(left, "~", right),
        RegexIMatch => texts(left, "~*", right),
        RegexNotMatch => texts(left, "!~", right),
        RegexNotIMatch => texts(left, "!~*", right),
        _ => Ok(()),
    }
}

fn compared(left: &Operand, op: Operator, right: &Operand) -> Result<(), SqlError> {
    if alike(left.family, right.family) {
        return Ok(());
    }
    let operator = match op {
        Operator::NotEq => "<>".to_string(),
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => "=".to_string(),
        other => other.to_string(),
    };
    Err(undefined(&format!("{} {operator} {}", left.name, right.name)))
}

fn texts(left: &Operand, operator: &str, right: &Operand) -> Result<(), SqlError> {
    let is_text = |operand: &Operand| matches!(operand.family, Family::Any | Family::Text);
    match is_text(left) && is_text(right) {
        true => Ok(()),
        false => Err(undefined(&format!("{} {operator} {}", left.name, right.name))),
    }
}

fn condition(place: &str, operand: &Operand) -> Result<(), SqlError> {
    match operand.family {
        Family::Any | Family::Boolean => Ok(()),
        _ => Err(SqlError::no_condition(place, operand.name)),
    }
}

/// Whether values of two families can be compared.
fn alike(left: Family, right: Family) -> bool {
    use Family::{Any, Date, Timestamp};
    left == right
        || left == Any
        || right == Any
        || matches!((left, right), (Date, Timestamp) | (Timestamp, Date))
}

/// Whether there is a sum, difference, product, quotient or remainder of two families.
fn computes(left: Family, op: Operator, right: Family) -> bool {
    use Family::{Any, Date, Interval, Number, Time, Timestamp};
    use Operator::{Divide, Minus, Multiply, Plus};
    let of_any = |family| matches!(family, Any | Number | Date | Time | Timestamp | Interval);
    match (left, right) {
        (Any, family) | (family, Any) => of_any(family),
        (Number, Number) => true,
        (Date, Number) => matches!(op, Plus | Minus),
        (Number, Date) => op == Plus,
        (Date | Time | Timestamp | Interval, Interval) => matches!(op, Plus | Minus),
        (Interval, Date | Time | Timestamp) => op == Plus,
        (Date | Timestamp, Date | Timestamp) | (Time, Time) => op == Minus,
        (Date, Time) | (Time, Date) => op == Plus,
        (Interval, Number) => matches!(op, Multiply | Divide),
        (Number, Interval) => op == Multiply,
        _ => false,
    }
}

fn undefined(call: &str) -> SqlError {
    SqlError::statement("42883", format!("operator does not exist: {call}")).with_hint(
        "No operator matches the given name and argument types. You might need to add explicit type casts.",
    )
}
