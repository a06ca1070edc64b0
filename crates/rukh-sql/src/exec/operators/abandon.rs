//! Nested loop joins that end as soon as their reader is gone.
//!
//! A task of a query thread ends where it pauses. A nested loop join that finds few rows computes for minutes without a
//! pause, and what its statement has left, cancelled or gone, would keep the threads from all other statements. So its
//! condition, which is evaluated again and again, fails once the rows are not wanted.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef, Schema};
use datafusion::common::tree_node::Transformed;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::NestedLoopJoinExec;
use datafusion::physical_plan::joins::utils::JoinFilter;

use rukh_error::SqlError;
use rukh_walk::Tree;

/// Whether the rows of one run of a plan are wanted no more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    /// Marks the rows as unwanted.
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns a plan for one run, whose nested loop joins end when it is abandoned.
pub(crate) fn ends_with(
    plan: Arc<dyn ExecutionPlan>,
    abandoned: &Abandoned,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let watched = plan.turn_up(&mut |node| {
        let Some((join, filter)) = node
            .downcast_ref::<NestedLoopJoinExec>()
            .and_then(|join| Some((join, join.filter()?)))
        else {
            return Ok(Transformed::no(node));
        };
        let condition = Until {
            condition: filter.expression().clone(),
            abandoned: abandoned.clone(),
        };
        let columns = filter.column_indices().to_vec();
        let filter = JoinFilter::new(Arc::new(condition), columns, filter.schema().clone());
        let (left, right) = (join.left().clone(), join.right().clone());
        let projection = join.projection().as_ref().map(|columns| columns.to_vec());
        let join = NestedLoopJoinExec::try_new(left, right, Some(filter), join.join_type(), projection)?;
        Ok(Transformed::yes(Arc::new(join) as Arc<dyn ExecutionPlan>))
    })?;
    Ok(watched.data)
}

/// A condition that fails once the rows are not wanted.
#[derive(Debug)]
struct Until {
    condition: Arc<dyn PhysicalExpr>,
    abandoned: Abandoned,
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl PartialEq for Until {
    fn eq(&self, other: &Self) -> bool {
        self.condition.eq(&other.condition) && Arc::ptr_eq(&self.abandoned.0, &other.abandoned.0)
    }
}

impl Eq for Until {}

impl Hash for Until {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl PhysicalExpr for Until {
    fn data_type(&self, schema: &Schema) -> DataFusionResult<ArrowType> {
        self.condition.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> DataFusionResult<bool> {
        self.condition.nullable(schema)
    }

    fn return_field(&self, schema: &Schema) -> DataFusionResult<FieldRef> {
        self.condition.return_field(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        if self.abandoned.0.load(Ordering::Relaxed) {
            return Err(DataFusionError::External(Box::new(SqlError::cancelled())));
        }
        self.condition.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn PhysicalExpr>>,
    ) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        let condition = children.into_iter().next();
        Ok(Arc::new(Until {
            condition: condition.unwrap_or_else(|| self.condition.clone()),
            abandoned: self.abandoned.clone(),
        }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(f)
    }
}
