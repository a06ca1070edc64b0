//! Types of the columns of UNION and VALUES, where DataFusion's are not PostgreSQL's.
//!
//! | in one column                       | DataFusion                  | here        |
//! |-------------------------------------|-----------------------------|-------------|
//! | floats and decimals                 | decimals, not up to `1e300` | DOUBLE      |
//! | TIMESTAMPTZ and DATE (of UNION)     | nanoseconds without a zone  | TIMESTAMPTZ |
//! | CHAR(n) and other texts (of UNION)  | what the last input has     | TEXT        |

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Union, Values, cast};

use rukh_functions::casts::numbers::double_of;
use rukh_functions::functions::declared::declared_as;
use rukh_functions::types::{arrow_type, data_type_of};
use rukh_keys::DataType;

/// Casts what stands in one column with values of a type that DataFusion does not take for both.
pub(crate) fn doubled(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Union(union) => union_of_doubles(union),
        LogicalPlan::Values(values) => values_of_doubles(values),
        other => Ok(Transformed::no(other)),
    }
}

fn is_decimal(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// Returns for each column the type of all its values, if it has floats in one input and decimals in another, instants and days, or
/// CHARs and other texts.
fn mixed(inputs: &[Arc<LogicalPlan>]) -> Vec<Option<DataType>> {
    let columns = inputs.first().map_or(0, |input| input.schema().fields().len());
    let fields = |column: usize| {
        let inputs = inputs.iter();
        inputs.filter_map(move |input| input.schema().fields().get(column))
    };
    let has =
        |column: usize, test: fn(&ArrowType) -> bool| fields(column).any(|field| test(field.data_type()));
    (0..columns)
        .map(|column| {
            if has(column, ArrowType::is_floating) && has(column, is_decimal) {
                return Some(DataType::Double);
            }
            let is_instant = |ty: &ArrowType| matches!(ty, ArrowType::Timestamp(_, Some(_)));
            let is_day = |ty: &ArrowType| *ty == ArrowType::Date32;
            if has(column, is_instant) && has(column, is_day) {
                return Some(DataType::TIMESTAMP_TZ);
            }
            let typed = fields(column).filter(|field| !field.data_type().is_null());
            let mut types = typed.map(|field| data_type_of(field));
            let first = types.clone().next();
            let differ = types.clone().any(|ty| Some(ty) != first);
            (differ && types.any(|ty| matches!(ty, DataType::Char(_)))).then_some(DataType::Varchar(None))
        })
        .collect()
}

fn union_of_doubles(union: Union) -> DataFusionResult<Transformed<LogicalPlan>> {
    let mixed = mixed(&union.inputs);
    if mixed.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| -> DataFusionResult<_> {
        let schema = input.schema().clone();
        let column = |(at, (qualifier, field)): (usize, (Option<&_>, &Arc<Field>))| {
            let column = Expr::Column(Column::from((qualifier, field)));
            let typed = match &mixed[at] {
                Some(_) if is_decimal(field.data_type()) => double_of(&column, &schema),
                Some(ty @ DataType::TimestampTz { .. }) if arrow_type(ty) != *field.data_type() => {
                    cast(column, arrow_type(ty))
                }
                Some(ty @ DataType::Varchar(_)) if matches!(data_type_of(field), DataType::Char(_)) => {
                    declared_as(column, ty)
                }
                _ => return column,
            };
            typed.alias_qualified(qualifier.cloned(), field.name())
        };
        let columns: Vec<Expr> = schema.iter().enumerate().map(column).collect();
        let input = LogicalPlanBuilder::from(input).project(columns)?;
        Ok(Arc::new(input.build()?))
    });
    let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
    let union = Union::try_new_with_loose_types(inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// What VALUES casts to decimals, as they were built, is cast to DOUBLE.
fn values_of_doubles(values: Values) -> DataFusionResult<Transformed<LogicalPlan>> {
    let none = DFSchema::empty();
    let was_float = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, .. }) => expr.get_type(&none).is_ok_and(|ty| ty.is_floating()),
        _ => false,
    };
    let fields = values.schema.fields().iter().enumerate();
    let mixed: Vec<bool> = fields
        .map(|(at, field)| {
            is_decimal(field.data_type())
                && values.values.len() > 1
                && values.values.iter().any(|row| row.get(at).is_some_and(was_float))
        })
        .collect();
    if !mixed.contains(&true) {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let double = |expr: Expr| match expr {
        Expr::Cast(Cast { expr, .. }) if expr.get_type(&none).is_ok_and(|ty| ty.is_floating()) => {
            cast(*expr, ArrowType::Float64)
        }
        expr => double_of(&expr, &none),
    };
    let rows = values.values.into_iter().map(|row| {
        let row = row.into_iter().zip(&mixed);
        row.map(|(expr, is_mixed)| if *is_mixed { double(expr) } else { expr })
            .collect()
    });
    let rows: Vec<Vec<Expr>> = rows.collect();
    Ok(Transformed::yes(LogicalPlanBuilder::values(rows)?.build()?))
}
