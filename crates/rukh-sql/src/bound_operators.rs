//! Operators of the table of signatures: which one two operands mean, and what a literal without a type is beside a value.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::signatures::overloaded::operand_type;
use rukh_functions::signatures::resolve::{self, Unresolved};
use rukh_functions::signatures::table::{self, Overload};

/// What is known of an operand before it is typed.
enum Operand {
    /// A value of a type.
    Of(Kind),
    /// A literal without a type, NULL, or a parameter.
    Unknown,
}

fn operand(expr: &Expr, schema: &DFSchema) -> Option<Operand> {
    if let Expr::Literal(ScalarValue::Utf8(_) | ScalarValue::Utf8View(_) | ScalarValue::Null, _) = expr {
        return Some(Operand::Unknown);
    }
    let (_, field) = expr.to_field(schema).ok()?;
    match field.data_type().is_null() {
        true => Some(Operand::Unknown),
        false => Kind::of_field(&field)
            .filter(|kind| *kind != Kind::Array)
            .map(Operand::Of),
    }
}

/// Returns the signature that an operator means; `None` where the table has none of the operator or nothing of its operands.
///
/// # Errors
/// 42883 where no signature takes the operands.
fn chosen(
    expr: &RawBinaryExpr,
    schema: &DFSchema,
) -> DataFusionResult<Option<(&'static Overload, [Operand; 2])>> {
    let name = expr.op.to_string();
    let Some(overloads) = table::operators().get(name.as_str()) else {
        return Ok(None);
    };
    let (Some(left), Some(right)) = (operand(&expr.left, schema), operand(&expr.right, schema)) else {
        return Ok(None);
    };
    let kind = |operand: &Operand| match operand {
        Operand::Of(kind) => Some(*kind),
        Operand::Unknown => None,
    };
    let kinds = [kind(&left), kind(&right)];
    let signatures = overloads.iter().map(|overload| overload.arguments.as_slice());
    match resolve::operator(signatures, &kinds) {
        Ok(at) => Ok(Some((&overloads[at], [left, right]))),
        Err(Unresolved::None) if kinds.iter().all(Option::is_some) => {
            let [left, right] = kinds.map(|kind| kind.map_or("unknown", Kind::name));
            let message = format!("operator does not exist: {left} {name} {right}");
            let error = SqlError::statement("42883", message).with_hint(
                "No operator matches the given name and argument types. You might need to add explicit type casts.",
            );
            Err(DataFusionError::External(Box::new(error)))
        }
        Err(_) => Ok(None),
    }
}

/// Reads literals without a type, and NULL, in the type that an operator takes in their place.
///
/// # Errors
/// 42883 where there is no such operator.
pub(crate) fn typed(mut expr: RawBinaryExpr, schema: &DFSchema) -> DataFusionResult<RawBinaryExpr> {
    let Some((signature, operands)) = chosen(&expr, schema)? else {
        return Ok(expr);
    };
    let sides = [&mut expr.left, &mut expr.right];
    for ((side, operand), kind) in sides.into_iter().zip(operands).zip(&signature.arguments) {
        if let (Operand::Unknown, Expr::Literal(value, _)) = (operand, &*side)
            && *kind != Kind::Text
        {
            let ty = operand_type(*kind, value);
            *side = cast(
                std::mem::replace(side, Expr::Literal(ScalarValue::Null, None)),
                ty,
            );
        }
    }
    Ok(expr)
}
