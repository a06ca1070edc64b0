//! Floats and decimals in one column of UNION or VALUES are DOUBLE, as in PostgreSQL: DataFusion makes decimals of them,
//! which neither hold `1e300` nor print as floats do.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Union, Values, cast};

use rukh_functions::casts::numbers::double_of;

/// Casts the decimals in columns of a node that have floats, too.
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

/// Tells which columns have floats in one input and decimals in another.
fn mixed(inputs: &[Arc<LogicalPlan>]) -> Vec<bool> {
    let columns = inputs.first().map_or(0, |input| input.schema().fields().len());
    let has = |column: usize, test: fn(&ArrowType) -> bool| {
        let mut fields = inputs
            .iter()
            .filter_map(|input| input.schema().fields().get(column));
        fields.any(|field| test(field.data_type()))
    };
    (0..columns)
        .map(|column| has(column, ArrowType::is_floating) && has(column, is_decimal))
        .collect()
}

fn union_of_doubles(union: Union) -> DataFusionResult<Transformed<LogicalPlan>> {
    let mixed = mixed(&union.inputs);
    if !mixed.contains(&true) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| -> DataFusionResult<_> {
        let schema = input.schema().clone();
        let column = |(at, (qualifier, field)): (usize, (Option<&_>, &Arc<Field>))| {
            let column = Expr::Column(Column::from((qualifier, field)));
            match mixed[at] && is_decimal(field.data_type()) {
                true => double_of(&column, &schema).alias_qualified(qualifier.cloned(), field.name()),
                false => column,
            }
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
