//! Columns of UNION say nothing of a type where their inputs say different things.
//!
//! The metadata of a field has what Arrow has no type for, as the length of a VARCHAR. Of the
//! inputs of a UNION, DataFusion's logical plan keeps what they have in common, its physical plan all of it; an
//! aggregate above then fails, since the two differ. The types are made alike when the plan is bound
//! (`types/union_types`), but the optimizer makes columns of expressions later: `coalesce(a, b)` is `a` where `a` is
//! NOT NULL.
//!
//! `coalesce(a, b)` of two lengths has none, and `a` beside a UNION's text would have its own.
//!
//! Where a relation turns out to have no rows, the optimizer makes NULLs of the Arrow types of its columns. Of rows as values that type
//! says less than that of the column, which it gets back here.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::Cast;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Union};
use rukh_functions::types::data_type_of;
use rukh_keys::DataType;
use rukh_walk::PlanTree;

type Metadata = HashMap<String, String>;

/// Takes the metadata from columns of UNION of which the inputs have different ones, and gives the others theirs.
///
/// The plan is an optimised one.
pub(crate) fn alike(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let mut is_found = false;
    plan.each_of_all(&mut |node| {
        if let LogicalPlan::Union(union) = node {
            let fields = union.schema.fields().iter();
            let mut both = fields.zip(common(union));
            is_found = is_found || both.any(|(field, common)| common.as_ref() != Some(field.metadata()));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    if !is_found {
        return Ok(plan);
    }
    let alike = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Union(union) => with_common(union).map(Transformed::yes),
        other => other.recompute_schema().map(Transformed::yes),
    })?;
    Ok(alike.data)
}

/// Gives columns of rows the composite types that they have in the schema of the plan as it was bound, and takes lengths from texts that
/// had none there.
///
/// The plan is an optimised one.
pub(crate) fn as_bound(plan: LogicalPlan, bound: &DFSchema) -> DataFusionResult<LogicalPlan> {
    let is_lost = |field: &FieldRef, bound: &FieldRef| {
        let is_row = matches!(bound.data_type(), ArrowType::Struct(_));
        match bound.metadata().is_empty() {
            true => matches!(data_type_of(field), DataType::Varchar(Some(_))),
            false => is_row && field.metadata().is_empty(),
        }
    };
    let schema = plan.schema().clone();
    let mut pairs = schema.fields().iter().zip(bound.fields());
    if !pairs.any(|(field, bound)| is_lost(field, bound)) {
        return Ok(plan);
    }
    let columns = schema
        .iter()
        .zip(bound.fields())
        .map(|((qualifier, field), bound)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            if !is_lost(field, bound) {
                return column;
            }
            let typed = field.as_ref().clone().with_metadata(bound.metadata().clone());
            let cast = Cast::new_from_field(Box::new(column), Arc::new(typed));
            Expr::Cast(cast).alias_qualified(qualifier.cloned(), field.name())
        });
    LogicalPlanBuilder::from(plan)
        .project(columns.collect::<Vec<_>>())?
        .build()
}

/// Returns for each column what the inputs say of it that say anything; `None` where they differ.
fn common(union: &Union) -> Vec<Option<Metadata>> {
    let columns = 0..union.schema.fields().len();
    let of_column = |column: usize| {
        let inputs = union.inputs.iter();
        let fields = inputs.filter_map(|input| input.schema().fields().get(column));
        let mut said = fields
            .map(|field| field.metadata())
            .filter(|said| !said.is_empty());
        let first = said.next();
        match said.all(|said| Some(said) == first) {
            true => Some(first.cloned().unwrap_or_default()),
            false => None,
        }
    };
    columns.map(of_column).collect()
}

fn with_common(union: Union) -> DataFusionResult<LogicalPlan> {
    let common = common(&union);
    let inputs = union.inputs.into_iter().map(|input| -> DataFusionResult<_> {
        let schema = input.schema().clone();
        let is_plain =
            |(field, common): (&FieldRef, &Option<_>)| common.is_some() || field.metadata().is_empty();
        if schema.fields().iter().zip(&common).all(is_plain) {
            return Ok(input);
        }
        let columns = schema.iter().zip(&common).map(|((qualifier, field), common)| {
            let column = Expr::Column(Column::from((qualifier, field)));
            match is_plain((field, common)) {
                true => column,
                false => {
                    let plain = field.as_ref().clone().with_metadata(Metadata::new());
                    let cast = Cast::new_from_field(Box::new(column), Arc::new(plain));
                    Expr::Cast(cast).alias_qualified(qualifier.cloned(), field.name())
                }
            }
        });
        let columns: Vec<Expr> = columns.collect();
        let input = LogicalPlanBuilder::from(input.as_ref().clone()).project(columns)?;
        Ok(Arc::new(input.build()?))
    });
    let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
    let fields = union.schema.iter().zip(common);
    let fields = fields.map(|((qualifier, field), common)| {
        let field = field.as_ref().clone().with_metadata(common.unwrap_or_default());
        (qualifier.cloned(), Arc::new(field))
    });
    let schema = DFSchema::new_with_metadata(fields.collect(), union.schema.metadata().clone())?;
    let schema = Arc::new(schema);
    Ok(LogicalPlan::Union(Union { inputs, schema }))
}
