//! `count(*)` of a table, wherever it is in a query, where the number of rows is kept.
//!
//! A query that is nothing but this count is a direct plan. In subqueries, unions and below other operators the aggregate over all rows of
//! a scan without conditions is replaced by the number that the snapshot has.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};
use rukh_catalog::Table;
use rukh_walk::Tree;

use super::block_totals::is_constant;
use super::one_per_group::Input;
use super::rule::physical_rule;

/// Replaces counts of all rows of a table. Runs before work is spread over threads.
#[derive(Debug)]
pub(crate) struct RowCounts;

physical_rule!(RowCounts, "row_counts", |plan, _| {
    plan.turn_down(&mut |node| {
        Ok(match counted(&node) {
            Some(count) => Transformed::yes(Arc::new(count) as Arc<dyn ExecutionPlan>),
            None => Transformed::no(node),
        })
    })
    .data()
});

/// Returns what does the work of a node, if that counts the rows of a table and nothing else.
fn counted(node: &Arc<dyn ExecutionPlan>) -> Option<RowCountExec> {
    let aggregate = node.downcast_ref::<AggregateExec>()?;
    let below = match aggregate.mode() {
        AggregateMode::Single => aggregate,
        AggregateMode::Final => aggregate.input().downcast_ref::<AggregateExec>()?,
        _ => return None,
    };
    let is_plain = below.group_expr().is_single()
        && below.group_expr().expr().is_empty()
        && below.filter_expr().iter().all(Option::is_none)
        && below.limit_options().is_none();
    let counts_rows = below.aggr_expr().iter().all(|call| {
        let arguments = call.expressions();
        call.fun().name() == "count" && !call.is_distinct() && arguments.iter().all(is_constant)
    });
    let schema = node.schema();
    let mut fields = schema.fields().iter();
    let is_whole = is_plain && counts_rows && fields.all(|field| *field.data_type() == DataType::Int64);
    let input = Input { plan: below.input() };
    let (table, rows) = input.scan().filter(|_| is_whole)?.kept_rows()?;
    let properties = PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    );
    let properties = properties.with_scheduling_type(SchedulingType::Cooperative);
    Some(RowCountExec {
        table,
        rows: i64::try_from(rows).unwrap_or(i64::MAX),
        properties: Arc::new(properties),
    })
}

/// The number of rows of a table, in each column.
#[derive(Debug)]
pub(crate) struct RowCountExec {
    table: Arc<Table>,
    rows: i64,
    properties: Arc<PlanProperties>,
}

impl RowCountExec {
    /// Returns the table.
    pub(crate) fn table(&self) -> &Table {
        &self.table
    }
}

impl DisplayAs for RowCountExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RowCountExec: table={}", self.table.name)
    }
}

impl ExecutionPlan for RowCountExec {
    fn name(&self) -> &'static str {
        "RowCountExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let columns = self.schema().fields().len();
        let rows: ArrayRef = Arc::new(Int64Array::from(vec![self.rows]));
        let row = RecordBatch::try_new(self.schema(), vec![rows; columns])?;
        let row = futures::stream::once(async move { Ok(row) });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            Box::pin(row),
        )))
    }
}
