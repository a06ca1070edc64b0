//! Rows as values, which are Structs in Arrow: how they compare, and what IS NULL is of them.
//!
//! | written             | is                                                                                   |
//! |---------------------|--------------------------------------------------------------------------------------|
//! | `r = s`, `r < s`, … | the order of the two, field by field, NULL behind all values: never NULL if both are rows |
//! | `r IS NULL`         | whether all fields are NULL                                                           |
//! | `r IS NOT NULL`     | whether none is                                                                       |
//! | `(r).a`             | the field; 42703 if there is none                                                     |
//!
//! DataFusion compares fields of one name, and makes NULL of those that have none.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Fields};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::{Expr, ExprSchemable, Operator, lit};
use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::functions::lists::array_order::order;

/// Returns the fields of a row; `None` of other values.
fn fields_of(expr: &Expr, schema: &DFSchema) -> Option<Fields> {
    match expr.get_type(schema) {
        Ok(ArrowType::Struct(fields)) => Some(fields),
        _ => None,
    }
}

/// Returns the comparison of two rows; `None` of other operands and operators.
///
/// # Errors
/// 42804 if they differ in the number or the types of their fields, 42883 if a type has no order.
pub(crate) fn comparison(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> DataFusionResult<Option<Expr>> {
    let is_comparison = matches!(
        op,
        Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
    );
    let is_distinct = matches!(op, Operator::IsDistinctFrom | Operator::IsNotDistinctFrom);
    let (Some(one), Some(other)) = (fields_of(left, schema), fields_of(right, schema)) else {
        return Ok(None);
    };
    if !is_comparison && !is_distinct {
        return Ok(None);
    }
    check_alike(&one, &other).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let order = order(left.clone(), right.clone());
    Ok(Some(match op {
        // Two rows that are NULL are not distinct.
        Operator::IsNotDistinctFrom | Operator::IsDistinctFrom => {
            let both = left.clone().is_null().and(right.clone().is_null());
            let same = order.clone().is_not_null().and(order.eq(lit(0))).or(both);
            match op {
                Operator::IsDistinctFrom => !same,
                _ => same,
            }
        }
        _ => datafusion::logical_expr::binary_expr(order, op, lit(0)),
    }))
}

fn check_alike(left: &Fields, right: &Fields) -> Result<(), SqlError> {
    if left.len() != right.len() {
        let message = "cannot compare record types with different numbers of columns";
        return Err(SqlError::statement("42804", message));
    }
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        let kind = |field: &Field| Kind::of_field(field);
        let (Some(left), Some(right)) = (kind(left), kind(right)) else {
            continue;
        };
        if left != right && !(left.is_text() && right.is_text()) {
            let message = format!(
                "cannot compare dissimilar column types {left} and {right} at record column {}",
                at.saturating_add(1)
            );
            return Err(SqlError::statement("42804", message));
        }
        if matches!(left, Kind::Json | Kind::Interval) {
            let message = format!("rows with columns of the type {left} do not compare");
            return Err(SqlError::unsupported(message));
        }
    }
    Ok(())
}

/// Returns what `IS NULL`, or `IS NOT NULL`, is of a row; `None` of other values.
pub(crate) fn null_test(expr: &Expr, is_null: bool, schema: &DFSchema) -> Option<Expr> {
    let fields = fields_of(expr, schema)?;
    let tests = fields.iter().map(|field| {
        let value = get_field(expr.clone(), field.name().as_str());
        match is_null {
            true => value.is_null(),
            false => value.is_not_null(),
        }
    });
    tests.reduce(Expr::and)
}
