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
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions::core::expr_fn::get_field;
use datafusion::logical_expr::expr::{InList, Placeholder};
use datafusion::logical_expr::{Between, Expr, ExprSchemable, Operator, binary_expr, cast, lit};
use rukh_error::SqlError;
use rukh_functions::casts::read::as_record;
use rukh_functions::casts::table::Kind;
use rukh_functions::functions::lists::array_order::order;
use rukh_functions::types::data_type_of;
use rukh_keys::DataType;

use crate::bind::types::typed_casts::literal_text;

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
    if !is_comparison && !is_distinct {
        return Ok(None);
    }
    // DataFusion gives a parameter the type of what it stands beside.
    let is_open = |parameter: &Placeholder| {
        let ty = parameter.field.as_ref().map(|field| field.data_type());
        ty.is_none_or(|ty| matches!(ty, ArrowType::Struct(_)))
    };
    // A literal beside a row is read as one of its type, and so is a parameter of no type.
    let beside = |side: &Expr, row: &Expr| {
        let text = match side {
            Expr::Placeholder(parameter) if is_open(parameter) => cast(side.clone(), ArrowType::Utf8),
            side if literal_text(side).is_some() => side.clone(),
            side => return side.clone(),
        };
        match row.to_field(schema).map(|(_, field)| data_type_of(&field)) {
            Ok(ty @ DataType::Record(_)) => as_record(&text, ty),
            _ => side.clone(),
        }
    };
    let (left, right) = (&beside(left, right), &beside(right, left));
    // Whether a row is there: one whose fields are all NULL is.
    let is_there = |row: &Expr| order(row.clone(), row.clone()).is_not_null();
    let nothing = |side: &Expr| matches!(side, Expr::Literal(value, _) if value.is_null());
    let (one, other) = match (fields_of(left, schema), fields_of(right, schema)) {
        (Some(one), Some(other)) => (one, other),
        (Some(_), None) if nothing(right) => return Ok(Some(beside_null(op, is_there(left)))),
        (None, Some(_)) if nothing(left) => return Ok(Some(beside_null(op, is_there(right)))),
        _ => return Ok(None),
    };
    check_alike(&one, &other).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let order = order(left.clone(), right.clone());
    let is_equal = order.clone().eq(lit(0));
    // Two rows that are not there are not distinct.
    let neither = || (!is_there(left)).and(!is_there(right));
    Ok(Some(match op {
        Operator::IsNotDistinctFrom => is_equal.is_true().or(neither()),
        Operator::IsDistinctFrom => is_equal.is_not_true().and(!neither()),
        _ => binary_expr(order, op, lit(0)),
    }))
}

/// Returns the comparison of a row with NULL.
fn beside_null(op: Operator, is_there: Expr) -> Expr {
    match op {
        Operator::IsNotDistinctFrom => !is_there,
        Operator::IsDistinctFrom => is_there,
        _ => lit(ScalarValue::Boolean(None)),
    }
}

/// Fails with 0A000 if a row is looked for among those of a subquery.
pub(crate) fn refuse_in_subquery(fields: &[&Field]) -> DataFusionResult<()> {
    match fields
        .iter()
        .any(|field| matches!(field.data_type(), ArrowType::Struct(_)))
    {
        true => {
            let error = SqlError::unsupported("IN, ANY and ALL of a subquery do not take rows as values");
            let error = error.with_hint("Write the fields: (a, b) IN (SELECT x, y …).");
            Err(DataFusionError::External(Box::new(error)))
        }
        false => Ok(()),
    }
}

/// Returns `row IN (…)` as comparisons; `None` of other values.
///
/// # Errors
/// Those of [`comparison`].
pub(crate) fn among(list: &InList, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    if fields_of(&list.expr, schema).is_none() {
        return Ok(None);
    }
    let mut found = lit(false);
    for item in &list.list {
        match comparison(&list.expr, Operator::Eq, item, schema)? {
            Some(equal) => found = found.or(equal),
            None => return Ok(None),
        }
    }
    Ok(Some(if list.negated { !found } else { found }))
}

/// Returns `row BETWEEN … AND …` as comparisons; `None` of other values.
///
/// # Errors
/// Those of [`comparison`].
pub(crate) fn between(between: &Between, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    let Between {
        expr,
        negated,
        low,
        high,
    } = between;
    if fields_of(expr, schema).is_none() {
        return Ok(None);
    }
    let low = comparison(expr, Operator::GtEq, low, schema)?;
    let high = comparison(expr, Operator::LtEq, high, schema)?;
    let within = low.zip(high).map(|(low, high)| low.and(high));
    Ok(within.map(|within| if *negated { !within } else { within }))
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
