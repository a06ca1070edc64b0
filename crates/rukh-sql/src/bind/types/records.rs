//! Rows as values, which are Structs in Arrow: how they compare, and what IS NULL is of them.
//!
//! | written             | is                                                                                   |
//! |---------------------|--------------------------------------------------------------------------------------|
//! | `r = s`, `r < s`, … | the order of the two, field by field, NULL behind all values: never NULL if both are rows; that of `record_order(r)` and `record_order(s)` if none is a constant |
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
use rukh_functions::functions::lists::record_order::{has_one_form, record_order};
use rukh_functions::types::{data_type_of, postgres_name};
use rukh_keys::DataType;

use crate::bind::types::interval_order::is_apart;
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
    let nothing = |side: &Expr| matches!(side, Expr::Literal(value, _) if value.is_null());
    let (one, other) = match (fields_of(left, schema), fields_of(right, schema)) {
        (Some(one), Some(other)) => (one, other),
        (Some(one), None) if nothing(right) => return Ok(beside_null(left, &ArrowType::Struct(one), op)),
        (None, Some(other)) if nothing(left) => return Ok(beside_null(right, &ArrowType::Struct(other), op)),
        _ => return Ok(None),
    };
    check_alike(&one, &other).map_err(|error| DataFusionError::External(Box::new(error)))?;
    let (one, other) = (ArrowType::Struct(one), ArrowType::Struct(other));
    // A constant stays legible, and gives ranges of a key. Of two rows their bytes are equal, by which joins find them.
    let is_constant = |side: &Expr| !side.any_column_refs() && !side.contains_outer();
    let compare_bytes =
        is_distinct || is_apart(&one) || is_apart(&other) || !(is_constant(left) || is_constant(right));
    if compare_bytes && has_one_form(&one, &other) {
        let bytes = record_order(left, &one).zip(record_order(right, &other));
        return Ok(bytes.map(|(left, right)| binary_expr(left, op, right)));
    }
    let order = order(left.clone(), right.clone());
    let is_equal = order.clone().eq(lit(0));
    // Two rows that are not there are not distinct. One whose fields are all NULL is there.
    let neither = || {
        let is_missing = |row: &Expr, ty| record_order(row, ty).map(Expr::is_null);
        let (left, right) = (is_missing(left, &one), is_missing(right, &other));
        left.zip(right)
            .map_or(lit(false), |(left, right)| left.and(right))
    };
    Ok(Some(match op {
        Operator::IsNotDistinctFrom => is_equal.is_true().or(neither()),
        Operator::IsDistinctFrom => is_equal.is_not_true().and(!neither()),
        _ => binary_expr(order, op, lit(0)),
    }))
}

/// Returns the comparison of a row with NULL.
fn beside_null(row: &Expr, ty: &ArrowType, op: Operator) -> Option<Expr> {
    let null = lit(ScalarValue::Binary(None));
    record_order(row, ty).map(|bytes| binary_expr(bytes, op, null))
}

/// Returns whether an expression is NULL itself: `IS NULL` of a row asks for its fields.
pub(crate) fn is_missing(expr: Expr, schema: &DFSchema) -> Expr {
    let bytes = expr.get_type(schema).ok().and_then(|ty| record_order(&expr, &ty));
    bytes.unwrap_or(expr).is_null()
}

/// Checks that the column of a subquery compares with what is looked for among its values, if one of them is a row.
///
/// # Errors
/// 42883 if only one is, 42804 if they differ in the number or the types of their fields, 0A000 if a field has no type.
pub(crate) fn check_beside_subquery(sought: &Field, given: &Field) -> DataFusionResult<()> {
    let external = |error| DataFusionError::External(Box::new(error));
    let (one, other) = match (sought.data_type(), given.data_type()) {
        (ArrowType::Struct(one), ArrowType::Struct(other)) => (one, other),
        (ArrowType::Struct(_), _) | (_, ArrowType::Struct(_)) => {
            let types = [sought, given].map(|field| postgres_name(&data_type_of(field)));
            let message = format!("operator does not exist: {} = {}", types[0], types[1]);
            return Err(external(SqlError::statement("42883", message)));
        }
        _ => return Ok(()),
    };
    check_alike(one, other).map_err(external)?;
    match has_one_form(sought.data_type(), given.data_type()) {
        true => Ok(()),
        false => {
            let message = "IN, ANY and ALL of a subquery do not take rows with fields of no type";
            let error = SqlError::unsupported(message).with_hint("Cast NULL to the type of the field.");
            Err(external(error))
        }
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
        if left == Kind::Json {
            let message = "could not identify a comparison function for type json";
            return Err(SqlError::statement("42883", message));
        }
    }
    match left.len() == right.len() {
        true => Ok(()),
        false => {
            let message = "cannot compare record types with different numbers of columns";
            Err(SqlError::statement("42804", message))
        }
    }
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
