//! Operators exist for the operands that PostgreSQL has them for; others are errors that name the types.
//!
//! DataFusion brings most operands to a common type, text as the last resort, and says of the rest that
//! it cannot. Here `text = integer` is an undefined operator (42883), and a condition that is no BOOLEAN
//! a wrong type (42804), before any row is read. Literals have been read in the type of the other operand
//! by then; those that have not, NULL, and parameters without a type fit anywhere.

#![warn(clippy::arithmetic_side_effects)]

use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Case, InList};
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Like, LogicalPlan, Operator, Union};

use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::functions::lists::quantified;
use rukh_functions::signatures::resolve::common;

use crate::bind::types::bound_operators::{
    check as exists, check_among as exists_among, may_be_uuid, operand,
};

/// Fails if an operator of the expression, at its top, does not exist for its operands.
pub(crate) fn check(expr: &Expr, schema: &DFSchema) -> DataFusionResult<()> {
    let checked = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match op {
            Operator::And | Operator::Or => {
                let name = if *op == Operator::And { "AND" } else { "OR" };
                condition(name, left, schema).and(condition(name, right, schema))
            }
            op => exists(left, &symbol(*op), right, schema),
        },
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
            exists(expr, operator, pattern, schema)
        }
        Expr::Between(Between { expr, low, high, .. }) => {
            exists(expr, ">=", low, schema).and(exists(expr, "<=", high, schema))
        }
        Expr::InList(InList { expr, list, .. }) => list
            .iter()
            .try_for_each(|element| exists(expr, "=", element, schema)),
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => match call.args.as_slice() {
            [value, other] => exists(value, "=", other, schema),
            _ => Ok(()),
        },
        Expr::ScalarFunction(call) if let Some((op, _)) = quantified::operator_of(call.func.name()) => {
            match call.args.as_slice() {
                [value, array] => exists_among(value, &symbol(op), array, schema),
                _ => Ok(()),
            }
        }
        Expr::ScalarFunction(call) if matches!(call.func.name(), "coalesce" | "greatest" | "least") => {
            alike(call.func.name(), &call.args, schema)
        }
        Expr::Not(inner) => condition("NOT", inner, schema),
        Expr::Negative(inner) => match known(inner, schema) {
            Some(kind) if !is_negated(kind) => {
                let message = format!("operator does not exist: - {kind}");
                Err(SqlError::statement("42883", message).with_hint(
                    "No operator matches the given name and argument types. You might need to add explicit type casts.",
                ))
            }
            _ => Ok(()),
        },
        Expr::Case(Case {
            expr: operand,
            when_then_expr,
            ..
        }) => when_then_expr.iter().try_for_each(|(when, _)| match operand {
            Some(operand) => exists(operand, "=", when, schema),
            None => condition("CASE/WHEN", when, schema),
        }),
        _ => Ok(()),
    };
    checked.map_err(|error| DataFusionError::External(Box::new(error)))
}

/// Fails if arguments of which a function returns one have no type in common.
fn alike(function: &str, arguments: &[Expr], schema: &DFSchema) -> Result<(), SqlError> {
    let mut kinds = arguments.iter().filter_map(|argument| known(argument, schema));
    let Some(first) = kinds.next() else { return Ok(()) };
    // A text may have been made of a UUID.
    let may_be = |kind: Kind| kind.is_text() || kind == Kind::Uuid;
    let differs = |kind: &Kind| common([first, *kind]).is_none() && !(may_be(first) && may_be(*kind));
    match kinds.find(differs) {
        None => Ok(()),
        Some(other) => {
            let function = function.to_uppercase();
            let message = format!("{function} types {first} and {other} cannot be matched");
            Err(SqlError::statement("42804", message))
        }
    }
}

/// Fails if the inputs of a UNION give a column types that have none in common.
pub(crate) fn check_union(plan: &LogicalPlan) -> Result<(), SqlError> {
    let LogicalPlan::Union(Union { inputs, .. }) = plan else {
        return Ok(());
    };
    let Some((first, rest)) = inputs.split_first() else {
        return Ok(());
    };
    for input in rest {
        for (left, right) in first.schema().fields().iter().zip(input.schema().fields()) {
            // A literal is a text until it is a UUID.
            let is_read = |text, kind| may_be_uuid(text) && kind == Some(Kind::Uuid);
            let kinds = (Kind::of_field(left), Kind::of_field(right));
            if is_read(left, kinds.1) || is_read(right, kinds.0) {
                continue;
            }
            let (Some(left), Some(right)) = kinds else {
                continue;
            };
            if common([left, right]).is_none() {
                let message = format!("UNION types {left} and {right} cannot be matched");
                return Err(SqlError::statement("42804", message));
            }
        }
    }
    Ok(())
}

/// Returns the type of an operand that has one.
fn known(expr: &Expr, schema: &DFSchema) -> Option<Kind> {
    operand(expr, schema).flatten()
}

/// Returns an operator as PostgreSQL writes it.
pub(crate) fn symbol(op: Operator) -> String {
    match op {
        Operator::NotEq => "<>".to_string(),
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => "=".to_string(),
        Operator::BitwiseXor => "#".to_string(),
        other => other.to_string(),
    }
}

fn is_negated(kind: Kind) -> bool {
    use Kind::{BigInt, Double, Integer, Interval, Numeric, Real, SmallInt};
    matches!(
        kind,
        SmallInt | Integer | BigInt | Real | Double | Numeric | Interval
    )
}

fn condition(place: &str, expr: &Expr, schema: &DFSchema) -> Result<(), SqlError> {
    let Some(kind) = known(expr, schema).filter(|kind| *kind != Kind::Boolean) else {
        return Ok(());
    };
    Err(SqlError::no_condition(place, &kind.to_string()))
}
