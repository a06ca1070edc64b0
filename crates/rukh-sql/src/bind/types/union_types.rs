//! Types of the columns of UNION and VALUES, where DataFusion's are not PostgreSQL's.
//!
//! | in one column                       | DataFusion                  | here        |
//! |-------------------------------------|-----------------------------|-------------|
//! | floats and decimals                 | decimals, not up to `1e300` | floats      |
//! | TIMESTAMPTZ and DATE (of UNION)     | nanoseconds without a zone  | TIMESTAMPTZ |
//! | texts of several lengths (of UNION) | what the last input has     | VARCHAR     |

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Union, Values};

use rukh_functions::functions::common::declared::declared_as;
use rukh_functions::types::data_type_of;

use crate::bind::types::coercions::{converted, unified_fields};
use rukh_keys::DataType;

/// Casts what stands in one column with values of another type to the type that both have in common.
pub(crate) fn alike_in_columns(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    match node {
        LogicalPlan::Union(union) => alike_in_union(union),
        LogicalPlan::Values(values) => alike_in_values(values),
        other => Ok(Transformed::no(other)),
    }
}

fn is_decimal(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// Whether a type has texts of some lengths only.
fn has_length(ty: &DataType) -> bool {
    matches!(ty, DataType::Char(_) | DataType::Varchar(Some(_)))
}

/// What a column of an input becomes.
enum Become {
    /// A value of another type.
    Cast(ArrowType),
    /// A text of any length: another input has others.
    Text,
}

/// Returns for each column what its values become, if they are of several types.
fn mixed(inputs: &[Arc<LogicalPlan>]) -> Vec<Option<Become>> {
    let columns = inputs.first().map_or(0, |input| input.schema().fields().len());
    let fields = |column: usize| {
        let inputs = inputs.iter();
        inputs.filter_map(move |input| input.schema().fields().get(column))
    };
    (0..columns)
        .map(|column| {
            let first = fields(column).next()?;
            if fields(column).any(|field| field.data_type() != first.data_type()) {
                return unified_fields(fields(column).map(|field| (field, None))).map(Become::Cast);
            }
            let mut types = fields(column).map(|field| data_type_of(field));
            let first = types.clone().next();
            let differ = types.clone().any(|ty| Some(ty) != first);
            (differ && types.any(|ty| has_length(&ty))).then_some(Become::Text)
        })
        .collect()
}

fn alike_in_union(union: Union) -> DataFusionResult<Transformed<LogicalPlan>> {
    let mixed = mixed(&union.inputs);
    if mixed.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Union(union)));
    }
    let inputs = union.inputs.into_iter().map(|input| -> DataFusionResult<_> {
        let schema = input.schema().clone();
        let column = |(at, (qualifier, field)): (usize, (Option<&_>, &Arc<Field>))| {
            let column = Expr::Column(Column::from((qualifier, field)));
            let typed = match &mixed[at] {
                // The column would say that it is what it was: a TINYINT, or a REAL beside a DECIMAL.
                Some(Become::Cast(ty)) if !field.metadata().is_empty() => {
                    let to = Field::new(field.name(), ty.clone(), field.is_nullable());
                    let expr = match converted(column, ty, &schema)? {
                        Expr::Cast(Cast { expr, .. }) => expr,
                        other => Box::new(other),
                    };
                    Expr::Cast(Cast::new_from_field(expr, Arc::new(to)))
                }
                Some(Become::Cast(ty)) if ty != field.data_type() => converted(column, ty, &schema)?,
                Some(Become::Text) if has_length(&data_type_of(field)) => {
                    declared_as(column, &DataType::Varchar(None))
                }
                _ => return Ok(column),
            };
            Ok(typed.alias_qualified(qualifier.cloned(), field.name()))
        };
        let columns = schema.iter().enumerate().map(column);
        let columns = columns.collect::<DataFusionResult<Vec<Expr>>>()?;
        let input = LogicalPlanBuilder::from(input).project(columns)?;
        Ok(Arc::new(input.build()?))
    });
    let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
    let union = Union::try_new_with_loose_types(inputs)?;
    Ok(Transformed::yes(LogicalPlan::Union(union)))
}

/// What VALUES casts to decimals, as they were built, is cast to the float that it was: DOUBLE if one is.
fn alike_in_values(values: Values) -> DataFusionResult<Transformed<LogicalPlan>> {
    let none = DFSchema::empty();
    let float = |expr: &Expr| match expr {
        Expr::Cast(Cast { expr, .. }) => expr.get_type(&none).ok().filter(ArrowType::is_floating),
        _ => None,
    };
    let fields = values.schema.fields().iter().enumerate();
    let mixed: Vec<Option<ArrowType>> = fields
        .map(|(at, field)| {
            let is_mixed = is_decimal(field.data_type()) && values.values.len() > 1;
            let cells = values
                .values
                .iter()
                .filter(|_| is_mixed)
                .filter_map(|row| row.get(at));
            let floats: Vec<ArrowType> = cells.filter_map(float).collect();
            let is_double = floats.contains(&ArrowType::Float64);
            let first = floats.into_iter().next();
            if is_double {
                Some(ArrowType::Float64)
            } else {
                first
            }
        })
        .collect();
    if mixed.iter().all(Option::is_none) {
        return Ok(Transformed::no(LogicalPlan::Values(values)));
    }
    let typed = |expr: Expr, ty: &ArrowType| match expr {
        Expr::Cast(Cast { expr, .. }) if expr.get_type(&none).is_ok_and(|ty| ty.is_floating()) => {
            converted(*expr, ty, &none)
        }
        expr => converted(expr, ty, &none),
    };
    let rows = values.values.into_iter().map(|row| {
        let row = row.into_iter().zip(&mixed);
        row.map(|(expr, ty)| match ty {
            Some(ty) => typed(expr, ty),
            None => Ok(expr),
        })
        .collect()
    });
    let rows = rows.collect::<DataFusionResult<Vec<Vec<Expr>>>>()?;
    Ok(Transformed::yes(LogicalPlanBuilder::values(rows)?.build()?))
}
