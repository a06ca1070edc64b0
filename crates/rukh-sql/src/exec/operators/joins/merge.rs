//! A join of two inputs in one order, as DataFusion does it, which says of its own order what is true.
//!
//! DataFusion takes it for ordered by one input and then by the other, and sorts the other where that order is wanted; see `repeated`.

use std::fmt;
use std::sync::Arc;

use datafusion::common::{JoinSide, JoinType};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::OrderingRequirements;
use datafusion::physical_plan::joins::SortMergeJoinExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties,
};

use super::repeated::{RepeatedExec, hidden_of};
use crate::exec::operators::delegated::stands_for;

/// Joins two inputs in one order, side by side.
#[derive(Debug)]
pub(crate) struct MergeJoinExec {
    join: Arc<SortMergeJoinExec>,
    properties: Arc<PlanProperties>,
}

impl MergeJoinExec {
    /// Makes a merge join of DataFusion's, which has no condition beside its keys.
    pub(crate) fn new(join: SortMergeJoinExec) -> DataFusionResult<Self> {
        let repeated = match join.join_type() {
            JoinType::Right => JoinSide::Left,
            _ => JoinSide::Right,
        };
        let [of_left, of_right] = hidden_of(join.join_type(), Some(repeated));
        let left = RepeatedExec::around(join.left().clone(), of_left);
        let right = RepeatedExec::around(join.right().clone(), of_right);
        let (on, options) = (join.on().to_vec(), join.sort_options.clone());
        let merge = SortMergeJoinExec::try_new(
            left,
            right,
            on,
            None,
            join.join_type(),
            options,
            join.null_equality(),
        )?;
        Ok(MergeJoinExec {
            properties: merge.properties().clone(),
            join: Arc::new(join),
        })
    }

    /// Returns a plan with a merge join in place of DataFusion's, if it is one.
    fn around(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(match plan.downcast_ref::<SortMergeJoinExec>() {
            Some(join) => Arc::new(MergeJoinExec::new(join.clone())?),
            None => plan,
        })
    }
}

impl DisplayAs for MergeJoinExec {
    fn fmt_as(&self, form: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.join.fmt_as(form, f)
    }
}

impl ExecutionPlan for MergeJoinExec {
    fn name(&self) -> &'static str {
        "MergeJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    stands_for!(join, Self::around);

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        self.join.input_distribution_requirements()
    }

    fn required_input_ordering(&self) -> Vec<Option<OrderingRequirements>> {
        self.join.required_input_ordering()
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        self.join.maintains_input_order()
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        self.join.execute(partition, context)
    }

    fn metrics(&self) -> Option<MetricsSet> {
        self.join.metrics()
    }

    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let swapped = self.join.try_swapping_with_projection(projection)?;
        swapped.map(Self::around).transpose()
    }
}
