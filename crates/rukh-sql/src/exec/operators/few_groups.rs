//! GROUP BY of a columnar scan whose groups are known to be few: the partial aggregate of each thread.
//!
//! DataFusion hashes and compares the columns that rows are grouped by, all of them for each row. Here each column's values get
//! numbers in the order in which they are seen, and so do pairs of numbers, until one number identifies the group:
//!
//! | column a | column b | number of a | number of b | of both: the group |
//! |----------|----------|-------------|-------------|--------------------|
//! | `N`      | `O`      | 1           | 1           | 0                  |
//! | `R`      | `F`      | 2           | 2           | 1                  |
//! | `N`      | `F`      | 1           | 2           | 2                  |
//! | NULL     | `F`      | 0           | 2           | 3                  |
//!
//! Values are integers of 64 bits, and so are texts of up to seven bytes with their length; longer ones are looked up first. Numbers of
//! integers that lie near each other are found in a table, and so are those of pairs (`numbers`). Rows are
//! counted and decimals summed for each batch (`sums`), in 64 bits where these are enough (`decimals`). Where the input is the scan itself, all this is done on its
//! vectors (`rows`): texts have numbers there already, by block, and integers need not become Arrow's. All else that is computed is DataFusion's own, and
//! so is the final aggregate of what the threads give out: results are the same in every bit. Where groups turn out to be many, those that are there are given out and
//! forgotten.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::concat;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::DataFusionError;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use rukh_planner::TermId;
use rukh_walk::Tree;

use super::ScanExec;
use super::delegated::stands_for;
use super::one_per_group::Input;
use super::rule::physical_rule;
use super::scan::Given;
use decimals::Decimals;
use numbers::{Numbers, is_numbered};
use rows::{Keys, Rows};
use sums::{GroupRows, Summed};
use work::{Call, Work};

mod decimals;
mod numbers;
mod rows;
mod sums;
mod work;

/// Groups that a thread has at once, about.
const GROUPS_MAX: usize = 8192;

/// Columns that rows are grouped by, at most.
const COLUMNS_MAX: usize = 8;

/// Replaces partial aggregates of columnar scans. Runs when all else is in its place.
#[derive(Debug)]
pub(crate) struct FewGroups;

physical_rule!(FewGroups, "few_groups", |plan, _| {
    plan.turn_up(&mut |node| {
        let serves = node.downcast_ref::<AggregateExec>().is_some_and(serves);
        Ok(match serves {
            true => Transformed::yes(Arc::new(FewGroupsExec { aggregate: node }) as Arc<dyn ExecutionPlan>),
            false => Transformed::no(node),
        })
    })
    .data()
});

/// Whether an aggregate is one of few groups of a columnar scan.
fn serves(aggregate: &AggregateExec) -> bool {
    let by = aggregate.group_expr();
    let plain = *aggregate.mode() == AggregateMode::Partial
        && by.is_single()
        && !by.has_grouping_set()
        && (1..=COLUMNS_MAX).contains(&by.expr().len())
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty()
        && *aggregate.input_order_mode() == InputOrderMode::Linear;
    let mut aggregates = aggregate.aggr_expr().iter();
    plain
        && aggregates
            .all(|one| one.groups_accumulator_supported() && !one.is_distinct() && one.order_bys().is_empty())
        && has_few_groups(aggregate)
}

/// Whether an aggregate is of a columnar scan, and statistics say that its groups are few.
fn has_few_groups(aggregate: &AggregateExec) -> bool {
    let input = Input {
        plan: aggregate.input(),
    };
    let Some(scan) = input.scan().filter(|scan| scan.path().columnar.is_some()) else {
        return false;
    };
    if !scan.context().methods.few_groups {
        return false;
    }
    let known = scan.conditions().statistics(scan.context());
    let schema = aggregate.input().schema();
    let mut groups = 1_u64;
    for (expr, _) in aggregate.group_expr().expr() {
        let distinct = input
            .column(expr)
            .and_then(|id| known.terms.get(&TermId::column(id))?.distinct);
        let (Some(distinct), Ok(ty)) = (distinct, expr.data_type(&schema)) else {
            return false;
        };
        // NULL is a group, too.
        groups = groups.saturating_mul(distinct.saturating_add(1));
        if !is_numbered(&ty) {
            return false;
        }
    }
    groups <= GROUPS_MAX as u64
}

/// A partial aggregate of few groups.
#[derive(Debug)]
pub(crate) struct FewGroupsExec {
    /// The same as DataFusion does it.
    aggregate: Arc<dyn ExecutionPlan>,
}

impl FewGroupsExec {
    fn aggregate(&self) -> DataFusionResult<&AggregateExec> {
        let aggregate = self.aggregate.downcast_ref::<AggregateExec>();
        aggregate.ok_or_else(|| DataFusionError::Internal("a group of what is no aggregate".to_string()))
    }
}

impl DisplayAs for FewGroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FewGroupsExec")
    }
}

impl ExecutionPlan for FewGroupsExec {
    fn name(&self) -> &'static str {
        "FewGroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    stands_for!(aggregate, |aggregate| Ok(Arc::new(FewGroupsExec { aggregate })));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let aggregate = self.aggregate()?;
        let Work {
            input,
            by,
            calls,
            decimals,
        } = Work::of(aggregate)?;
        let by = by
            .iter()
            .map(position_of)
            .collect::<DataFusionResult<Vec<usize>>>()?;
        let grouping = Grouping {
            input: input_rows(&input, &by, partition, &context)?,
            numbers: Numbers::new(by.len()),
            firsts: vec![Vec::new(); by.len()],
            by,
            aggregates: calls
                .into_iter()
                .map(Aggregate::new)
                .collect::<DataFusionResult<_>>()?,
            decimals,
            schema: self.schema(),
            reservation: MemoryConsumer::new("FewGroups").register(context.memory_pool()),
            rows_max: context.session_config().batch_size(),
            ready: None,
            ended: false,
        };
        let stream = futures::stream::try_unfold(grouping, |mut grouping| async move {
            let batch = grouping.next().await?;
            Ok(batch.map(|batch| (batch, grouping)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            Box::pin(stream),
        )))
    }
}

fn position_of(expr: &Arc<dyn PhysicalExpr>) -> DataFusionResult<usize> {
    let column = expr.downcast_ref::<Column>();
    let column = column.ok_or_else(|| DataFusionError::Internal("a group by what is no column".to_string()));
    Ok(column?.index())
}

/// Reads a partition of the input, rows of which are grouped by some columns: straight from the blocks where a scan is all there is.
fn input_rows(
    input: &Arc<dyn ExecutionPlan>,
    by: &[usize],
    partition: usize,
    context: &Arc<TaskContext>,
) -> DataFusionResult<BoxStream<'static, DataFusionResult<Rows>>> {
    if let Some(scan) = input.downcast_ref::<ScanExec>() {
        let schema = scan.schema();
        let given = scan.vectors(partition, by.to_vec());
        return Ok(Box::pin(given.map_ok(move |given| match given {
            Given::Arrow(batch) => Rows::Arrow(batch),
            Given::Vectors(batch) => Rows::of_vectors(batch, schema.clone()),
        })));
    }
    let batches = input.execute(partition, context.clone())?;
    Ok(Box::pin(batches.map_ok(Rows::Arrow)))
}

/// One aggregate of the rows of each group.
struct Aggregate {
    /// The columns of the input that its arguments and its filter are of.
    columns: Vec<usize>,
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    accumulator: Box<dyn GroupsAccumulator>,
    /// How states of a batch are made, where it is not the accumulator that looks at its rows.
    summed: Option<Summed>,
}

impl Aggregate {
    fn new(call: Call) -> DataFusionResult<Self> {
        Ok(Aggregate {
            accumulator: call.call.create_groups_accumulator()?,
            columns: call.columns,
            arguments: call.arguments,
            filter: call.filter,
            summed: call.summed,
        })
    }

    /// Has the accumulator look at all rows of a batch.
    fn update(&mut self, rows: &Rows, groups: &[usize], count: usize) -> DataFusionResult<()> {
        let batch = &rows.project(&self.columns)?;
        let rows = rows.count();
        let arguments = self
            .arguments
            .iter()
            .map(|expr| expr.evaluate(batch)?.into_array(rows));
        let arguments: Vec<ArrayRef> = arguments.collect::<DataFusionResult<_>>()?;
        let filter = self
            .filter
            .as_ref()
            .map(|filter| filter.evaluate(batch)?.into_array(rows));
        let filter = filter.transpose()?;
        let filter: Option<&BooleanArray> = match &filter {
            Some(filter) => Some(as_boolean_array(filter)?),
            None => None,
        };
        self.accumulator.update_batch(&arguments, groups, filter, count)
    }
}

/// One partition being grouped.
struct Grouping {
    input: BoxStream<'static, DataFusionResult<Rows>>,
    /// The columns of the input that rows are grouped by.
    by: Vec<usize>,
    aggregates: Vec<Aggregate>,
    /// What is summed.
    decimals: Decimals,
    numbers: Numbers,
    /// By column, the values of groups, in their order.
    firsts: Vec<Vec<ArrayRef>>,
    schema: SchemaRef,
    reservation: MemoryReservation,
    /// Rows of a batch given out.
    rows_max: usize,
    /// Groups to be given out.
    ready: Option<RecordBatch>,
    ended: bool,
}

impl Grouping {
    /// Returns the next groups; `None` at the end.
    async fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.take() {
                let shown = batch.num_rows().min(self.rows_max);
                if shown < batch.num_rows() {
                    self.ready = Some(batch.slice(shown, batch.num_rows() - shown));
                }
                return Ok(Some(batch.slice(0, shown)));
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.next().await.transpose()? {
                Some(rows) => self.add(&rows)?,
                None => {
                    self.ended = true;
                    self.give_out()?;
                }
            }
        }
    }

    /// Adds rows to their groups; gives all groups out if they have become many.
    fn add(&mut self, rows: &Rows) -> DataFusionResult<()> {
        let by: Vec<Keys<'_>> = self.by.iter().map(|column| rows.keys(*column)).collect();
        let (groups, firsts) = self.numbers.groups(&by, rows.count())?;
        if !firsts.is_empty() {
            let firsts = UInt32Array::from(firsts);
            for (values, column) in self.firsts.iter_mut().zip(&self.by) {
                values.push(rows.taken(*column, &firsts)?);
            }
        }
        let count = self.numbers.count();
        let mut by_group = GroupRows::new(&groups, count);
        let mut computed = self.decimals.of(rows);
        let mut indices: Option<Vec<usize>> = None;
        for one in &mut self.aggregates {
            let summed = one.summed.as_ref();
            match summed.and_then(|summed| summed.states(&mut computed, &mut by_group)) {
                Some(states) => one
                    .accumulator
                    .merge_batch(&states.arrays, &states.groups, count)?,
                None => {
                    let each = || groups.iter().map(|group| *group as usize).collect();
                    one.update(rows, indices.get_or_insert_with(each), count)?;
                }
            }
        }
        let is_many = self.numbers.count() > GROUPS_MAX;
        if is_many || self.reservation.try_resize(self.bytes()).is_err() {
            self.give_out()?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let accumulators = self.aggregates.iter().map(|one| one.accumulator.size());
        let firsts = self
            .firsts
            .iter()
            .flatten()
            .map(|values| values.get_array_memory_size());
        accumulators.chain(firsts).sum::<usize>() + self.numbers.bytes()
    }

    /// Emits all groups as a batch, and clears the table.
    fn give_out(&mut self) -> DataFusionResult<()> {
        if self.numbers.count() == 0 {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for values in &mut self.firsts {
            let values = std::mem::take(values);
            let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&values)?);
        }
        for one in &mut self.aggregates {
            columns.extend(one.accumulator.state(EmitTo::All)?);
        }
        self.numbers = Numbers::new(self.by.len());
        self.reservation.free();
        self.ready = Some(RecordBatch::try_new(self.schema.clone(), columns)?);
        Ok(())
    }
}
