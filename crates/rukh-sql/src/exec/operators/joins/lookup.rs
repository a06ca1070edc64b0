//! A join that reads the rows of one side by the keys of the other.
//!
//! Some rows of the outer side are taken at a time, the rows of the inner side that have one of their keys
//! are read ([`LookupSide`]), and these two are joined by hash as DataFusion does it: duplicates, NULLs,
//! further conditions and rows without a partner come out as in any other join, since all partners of a
//! row are in memory. Rows come in the order of the outer side.
//!
//! Few rows are taken at first, for the sake of LIMIT, and then more, but never so many that what is read
//! for them would be large.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinSide, JoinType, Statistics};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::joins::utils::build_join_schema;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};
use futures::StreamExt;

use crate::exec::operators::delegated::recomputed_children;

use super::LookupSide;
use super::repeated::{RepeatedExec, hidden_of};
use rukh_error::SqlError;
use rukh_functions::errors::external;

/// Rows of the outer side that are taken first, and at most.
const OUTER_ROWS_FIRST: usize = 128;
const OUTER_ROWS_MAX: usize = 8192;

/// Rows of the inner side that are held at most, unless one row of the outer side has more partners.
const INNER_ROWS_MAX: usize = 128 * 1024;

/// Joins by lookups.
#[derive(Debug)]
pub(crate) struct LookupJoinExec {
    /// The same join by hash: the inner side is left, the outer side right.
    join: HashJoinExec,
    inner: LookupSide,
}

impl LookupJoinExec {
    /// Makes a lookup join of a hash join whose left input is that side.
    pub(crate) fn new(join: HashJoinExec, inner: LookupSide) -> DataFusionResult<Self> {
        // What is looked up comes in another order than that in which it would be scanned, if in any.
        let [of_left, of_right] = hidden_of(*join.join_type(), Some(JoinSide::Left));
        let left = RepeatedExec::around(join.left().clone(), of_left);
        let right = RepeatedExec::around(join.right().clone(), of_right);
        let inputs = vec![left, right];
        let join = join.builder().with_new_children(inputs)?;
        Ok(LookupJoinExec {
            join: join.recompute_properties().build()?,
            inner,
        })
    }

    /// Returns the side that is read by key.
    pub(crate) fn inner(&self) -> &LookupSide {
        &self.inner
    }

    /// Returns the same join by hash: the inner side is left, the outer side right.
    pub(crate) fn by_hash(&self) -> &HashJoinExec {
        &self.join
    }

    /// Returns the type of the join, the outer side being the left one.
    pub(crate) fn join_type(&self) -> JoinType {
        self.join.join_type().swap()
    }

    /// Returns which column of the outer side each column is, if it is one.
    fn outer_columns(&self) -> impl Iterator<Item = Option<usize>> {
        let (left, right) = (self.join.left().schema(), self.join.right().schema());
        let (_, places) = build_join_schema(&left, &right, self.join.join_type());
        let all = (0..places.len()).collect();
        let given = self.join.projection.as_ref().map_or(all, |given| given.to_vec());
        let of = move |at: usize| (places[at].side == JoinSide::Right).then_some(places[at].index);
        given.into_iter().map(of)
    }

    /// Returns the expressions of the outer side that rows are read by.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.inner.pairs().map(|pair| &self.join.on()[pair].1)
    }
}

impl DisplayAs for LookupJoinExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = self.join.on().iter();
        let pairs: Vec<String> = pairs
            .map(|(inner, outer)| format!("({outer}, {inner})"))
            .collect();
        write!(
            f,
            "LookupJoinExec: join_type={:?}, on=[{}]",
            self.join_type(),
            pairs.join(", ")
        )?;
        if let Some(filter) = self.join.filter() {
            write!(f, ", filter={}", filter.expression())?;
        }
        if self.join.contains_projection() {
            let schema = self.schema();
            let names: Vec<&str> = schema
                .fields()
                .iter()
                .map(|field| field.name().as_str())
                .collect();
            write!(f, ", projection=[{}]", names.join(", "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for LookupJoinExec {
    fn name(&self) -> &'static str {
        "LookupJoinExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.join.properties()
    }

    /// Rows come in the order of the outer side. DataFusion takes a column's position here for its
    /// position there when it moves sorts below, so this is said only where that holds.
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![
            self.outer_columns()
                .enumerate()
                .all(|(at, outer)| outer == Some(at)),
        ]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![self.join.right()]
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        self.join.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let inputs = [vec![self.join.left().clone()], children].concat();
        let join = self.join.builder().with_new_children(inputs)?;
        Ok(Arc::new(LookupJoinExec {
            join: join.recompute_properties().build()?,
            inner: self.inner.clone(),
        }))
    }

    recomputed_children!();

    /// Leaves out columns that no operator above reads.
    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let column = |projected: &ProjectionExpr| {
            let column = projected.expr.downcast_ref::<Column>()?;
            (column.name() == projected.alias).then(|| column.index())
        };
        let columns: Option<Vec<usize>> = projection.expr().iter().map(column).collect();
        let Some(columns) = columns else {
            return Ok(None);
        };
        Ok(Some(Arc::new(LookupJoinExec {
            join: self.join.with_projection(Some(columns))?,
            inner: self.inner.clone(),
        })))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        let both = [self.inner.statistics()?, inputs[0].clone()];
        self.join.statistics_from_inputs(&both, args)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let reservation = MemoryConsumer::new("LookupJoin").register(context.memory_pool());
        let lookups = Lookups {
            outer: self.join.right().execute(partition, context.clone())?,
            template: self.join.builder().reset_state().build()?,
            inner: self.inner.clone(),
            context,
            waiting: Vec::new(),
            size: OUTER_ROWS_FIRST,
            joined: None,
            reservation,
        };
        let stream = futures::stream::try_unfold(lookups, |mut lookups| async move {
            let batch = lookups.next().await?;
            Ok(batch.map(|batch| (batch, lookups)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            Box::pin(stream),
        )))
    }
}

/// One partition of the outer side being joined.
struct Lookups {
    outer: SendableRecordBatchStream,
    template: HashJoinExec,
    inner: LookupSide,
    context: Arc<TaskContext>,
    /// Rows of the outer side that are not yet joined.
    waiting: Vec<RecordBatch>,
    /// Rows of the outer side to take next.
    size: usize,
    /// The join of the rows taken.
    joined: Option<SendableRecordBatchStream>,
    /// The memory of the rows read for them.
    reservation: MemoryReservation,
}

impl Lookups {
    async fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            if let Some(joined) = &mut self.joined {
                match joined.next().await.transpose()? {
                    Some(batch) if batch.num_rows() > 0 => return Ok(Some(batch)),
                    Some(_) => continue,
                    None => self.joined = None,
                }
            }
            let Some(rows) = self.take().await? else {
                return Ok(None);
            };
            self.start(rows)?;
        }
    }

    /// Takes the next rows of the outer side.
    async fn take(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        let mut count: usize = self.waiting.iter().map(RecordBatch::num_rows).sum();
        while count < self.size
            && let Some(batch) = self.outer.next().await.transpose()?
        {
            count += batch.num_rows();
            self.waiting.push(batch);
        }
        if count == 0 {
            return Ok(None);
        }
        let all = match std::mem::take(&mut self.waiting) {
            mut one if one.len() == 1 => one.remove(0),
            several => concat_batches(&self.outer.schema(), &several)?,
        };
        let taken = count.min(self.size);
        if taken < count {
            self.waiting.push(all.slice(taken, count - taken));
        }
        Ok(Some(all.slice(0, taken)))
    }

    /// Reads the partners of rows and starts to join them; rows whose partners are too many wait.
    fn start(&mut self, mut rows: RecordBatch) -> DataFusionResult<()> {
        let partners = loop {
            if let Some(partners) = self.partners(&rows)? {
                break partners;
            }
            let half = rows.num_rows() / 2;
            self.waiting.insert(0, rows.slice(half, rows.num_rows() - half));
            rows = rows.slice(0, half);
            self.size = half;
        };
        let read: usize = partners.iter().map(RecordBatch::num_rows).sum();
        if read < INNER_ROWS_MAX / 4 {
            self.size = (self.size * 2).min(OUTER_ROWS_MAX);
        }
        let inner = MemorySourceConfig::try_new_exec(&[partners], self.template.left().schema(), None)?;
        let outer = MemorySourceConfig::try_new(&[vec![rows]], self.template.right().schema(), None)?;
        // A hash join keeps rows without a partner in their place only if it knows of an order.
        let order = self.template.right().output_ordering().cloned();
        let outer = outer.try_with_sort_information(order.into_iter().collect())?;
        let outer = DataSourceExec::from_data_source(outer);
        let join = self.template.builder().with_new_children(vec![inner, outer])?;
        let join = join.reset_state().recompute_properties().build()?;
        self.joined = Some(join.execute(0, self.context.clone())?);
        Ok(())
    }

    /// Reads the partners of rows; `None` if they are too many and the rows more than one.
    fn partners(&mut self, rows: &RecordBatch) -> DataFusionResult<Option<Vec<RecordBatch>>> {
        self.reservation.free();
        let Some(condition) = self.inner.condition(self.template.on(), rows)? else {
            return Ok(Some(Vec::new()));
        };
        let (mut partners, mut count) = (Vec::new(), 0);
        let reservation = &mut self.reservation;
        let is_too_many = |count: usize| count > INNER_ROWS_MAX && rows.num_rows() > 1;
        let take = &mut |batch: RecordBatch| {
            count += batch.num_rows();
            reservation
                .try_grow(batch.get_array_memory_size())
                .map_err(SqlError::from)?;
            partners.push(batch);
            Ok(!is_too_many(count))
        };
        self.inner.read(condition, take).map_err(external)?;
        Ok((!is_too_many(count)).then_some(partners))
    }
}
