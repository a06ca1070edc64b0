//! Operators of the table of signatures: which one two operands mean, and what a literal without a type is beside a value.

use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::signatures::overloaded::{kind, operand_type};
use rukh_functions::signatures::resolve::{self, Unresolved};
use rukh_functions::signatures::table::{self, Overload};

use crate::bound_calls::literal;

/// Returns the type of an operand, `Some(None)` of one without; `None` of arrays, and of what no operator of the table takes.
fn operand(expr: &Expr, schema: &DFSchema) -> Option<Option<Kind>> {
    let (_, field) = expr.to_field(schema).ok()?;
    let kind = kind(&field, literal(expr)).ok()?;
    (kind != Some(Kind::Array)).then_some(kind)
}

/// Returns the signature that an operator means; `None` where the table has none of the operator or nothing of its operands.
///
/// # Errors
/// 42883 where no signature takes the operands.
fn chosen(
    expr: &RawBinaryExpr,
    schema: &DFSchema,
) -> DataFusionResult<Option<(&'static Overload, [Option<Kind>; 2])>> {
    let name = expr.op.to_string();
    let Some(overloads) = table::operators().get(name.as_str()) else {
        return Ok(None);
    };
    let (Some(left), Some(right)) = (operand(&expr.left, schema), operand(&expr.right, schema)) else {
        return Ok(None);
    };
    let kinds = [left, right];
    let signatures = overloads.iter().map(|overload| overload.arguments.as_slice());
    match resolve::operator(signatures, &kinds) {
        Ok(at) => Ok(Some((&overloads[at], kinds))),
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
        if let (None, Expr::Literal(value, _)) = (operand, &*side)
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
