//! The scan of one access path as a DataFusion operator.
//!
//! Partitions are runs of key ranges, so each partition is in key order. What spans and masked
//! compares do not prove is checked here, on batches, with the original expressions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, Statistics};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::context::ExecutionProps;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr, create_physical_expr,
};
use datafusion::physical_plan::coop::cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, SchedulingType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
    SortOrderPushdownResult, StatisticsArgs,
};
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{ColumnarCursor, RowCursor, ScanCounters, ScanRequest};
use rukh_keys::DataType;
use rukh_planner::{AccessPath, Grouped, OrderKey, TermId};

use super::parts::{Part, parts};
use crate::SqlError;
use crate::access::{Conditions, Read, Wanted};
use crate::batch::BatchBuilder;
use crate::context::{StatementContext, Totals, counted_since};
use crate::types::table_schema;
use crate::vectors::record_batch;

mod arms;
mod reading;

/// Rows in a batch.
const BATCH_ROWS: usize = 8192;

/// Scans one access path of one table.
#[derive(Clone)]
pub(crate) struct ScanExec {
    context: Arc<StatementContext>,
    conditions: Arc<Conditions>,
    conjuncts: Arc<Vec<Expr>>,
    path: Arc<AccessPath>,
    /// Positions in the table of the columns given out.
    output: Vec<usize>,
    /// Columns read: those given out, then those only the residual needs.
    columns: Vec<ColumnId>,
    residual: Option<Arc<dyn PhysicalExpr>>,
    scan_schema: SchemaRef,
    partitions: Vec<Part>,
    /// The order that the path was chosen for.
    order: Arc<[OrderKey]>,
    /// Which rows matter, if one of each group does.
    groups: Option<Arc<Grouped>>,
    /// The limit that the path was chosen for; `fetch` may have come since.
    limit: Option<usize>,
    fetch: Option<usize>,
    properties: Arc<PlanProperties>,
    counters: Arc<Totals>,
    /// Nanoseconds that all partitions worked.
    busy_ns: Arc<AtomicU64>,
}

impl ScanExec {
    /// Plans the scan: chooses the access path and splits it over the cores.
    pub(crate) fn plan(
        context: &Arc<StatementContext>,
        table: &Arc<Table>,
        output: Vec<usize>,
        conjuncts: Vec<Expr>,
        limit: Option<usize>,
    ) -> Result<Self, SqlError> {
        let conditions = Conditions::translate(table, &conjuncts)?;
        Self::choose(
            context.clone(),
            Arc::new(conditions),
            Arc::new(conjuncts),
            output,
            None,
            &[],
            limit,
        )
    }

    fn choose(
        context: Arc<StatementContext>,
        conditions: Arc<Conditions>,
        conjuncts: Arc<Vec<Expr>>,
        output: Vec<usize>,
        groups: Option<Arc<Grouped>>,
        order: &[OrderKey],
        limit: Option<usize>,
    ) -> Result<Self, SqlError> {
        let table = &conditions.table;
        let given: Vec<ColumnId> = output
            .iter()
            .map(|position| table.columns[*position].id)
            .collect();
        let wanted = Wanted {
            predicates: &conditions.predicates,
            columns: &given,
            order,
            limit: limit.map(|limit| limit as u64),
            groups: groups.as_deref(),
        };
        let path = conditions.plan(&wanted, &context).path;
        let left = conditions.residual(&path);
        let mut columns = given;
        for column in conditions.columns_read(&left.row) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let scan_schema = projected_schema(table, &columns);
        let residual = residual_expr(&left.row, &conjuncts, &scan_schema)?;
        let partitions = parts(&context, table, &path, limit)?;
        let output_schema = Arc::new(
            table_schema(table)
                .project(&output)
                .map_err(DataFusionError::from)?,
        );
        let properties = Arc::new(properties(
            &path,
            order,
            &columns[..output.len()],
            output_schema,
            partitions.len(),
        ));
        Ok(ScanExec {
            context,
            conjuncts,
            path: Arc::new(path),
            output,
            columns,
            residual,
            scan_schema,
            partitions,
            order: order.into(),
            groups,
            limit,
            fetch: limit,
            properties,
            counters: Arc::default(),
            busy_ns: Arc::default(),
            conditions,
        })
    }

    /// Returns the table scanned.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.conditions.table
    }

    /// Returns the access path.
    pub(crate) fn path(&self) -> &AccessPath {
        &self.path
    }

    /// Returns the conditions that the path was planned for.
    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Returns what the scan wanted of its table when its path was chosen.
    pub(crate) fn wanted(&self) -> Wanted<'_> {
        Wanted {
            predicates: &self.conditions.predicates,
            columns: &self.columns[..self.output.len()],
            order: &self.order,
            limit: self.limit.map(|limit| limit as u64),
            groups: self.groups.as_deref(),
        }
    }

    /// Returns the column that the scan gives out at a position.
    pub(crate) fn column_at(&self, position: usize) -> Option<ColumnId> {
        self.columns[..self.output.len()].get(position).copied()
    }

    /// Returns the statement that the scan is part of.
    pub(crate) fn context(&self) -> &Arc<StatementContext> {
        &self.context
    }

    /// Returns what the scan has counted so far.
    pub(crate) fn counters(&self) -> ScanCounters {
        self.counters.load()
    }

    /// Returns the time that the scan has worked, all its partitions together.
    pub(crate) fn busy(&self) -> Duration {
        Duration::from_nanos(self.busy_ns.load(Ordering::Relaxed))
    }

    fn start(&self, partition: usize) -> Result<ScanState, SqlError> {
        let left = self.conditions.residual(&self.path);
        let entry = left
            .entry
            .iter()
            .map(|position| self.conditions.predicates[*position].clone());
        let Part { ranges, reverse } = self.partitions[partition].clone();
        let read = Read {
            ranges,
            columns: self.columns.clone(),
            limit: self
                .fetch
                .filter(|_| self.residual.is_none())
                .map(|fetch| fetch as u64),
            entry: entry.collect(),
            entry_positions: &left.entry,
            cancel: &self.context.cancel,
        };
        let request = ScanRequest {
            reverse,
            ..self.conditions.request(&self.path, read)
        };
        let types: Vec<DataType> = self
            .columns
            .iter()
            .map(|id| column_type(self.table(), *id))
            .collect();
        let reader = match self.path.columnar {
            Some(_) => Reader::Columns(
                Box::new(self.context.snapshot.scan_columnar(request)?),
                self.scan_schema.clone(),
            ),
            None => Reader::Rows(Box::new(RowReader {
                cursor: self.context.snapshot.scan(request)?,
                builder: BatchBuilder::new(self.scan_schema.clone(), &types, 0),
                columns: types.len(),
            })),
        };
        Ok(ScanState {
            reader,
            residual: self.residual.clone(),
            output: (0..self.output.len()).collect(),
            left: self.fetch,
            context: self.context.clone(),
            counters: self.counters.clone(),
            busy_ns: self.busy_ns.clone(),
            seen: ScanCounters::default(),
        })
    }
}

/// Returns columns of a table as a schema, in the given order.
fn projected_schema(table: &Table, columns: &[ColumnId]) -> SchemaRef {
    let all = table_schema(table);
    let field = |id: &ColumnId| {
        let position = table.position(*id).expect("a scan reads columns of its table");
        all.fields()[position].clone()
    };
    Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()))
}

fn column_type(table: &Table, id: ColumnId) -> DataType {
    table.column(id).expect("a scan reads columns of its table").ty
}

/// Compiles what the path leaves to check over the columns that the scan reads.
fn residual_expr(
    positions: &[usize],
    conjuncts: &[Expr],
    schema: &SchemaRef,
) -> Result<Option<Arc<dyn PhysicalExpr>>, SqlError> {
    let left = positions.iter().map(|position| conjuncts[*position].clone());
    let Some(expr) = conjunction(left) else {
        return Ok(None);
    };
    let unqualified = expr.transform(|expr| match expr {
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(Column::new_unqualified(
            column.name,
        )))),
        other => Ok(Transformed::no(other)),
    })?;
    let schema = DFSchema::try_from(schema.as_ref().clone())?;
    Ok(Some(create_physical_expr(
        &unqualified.data,
        &schema,
        &ExecutionProps::new(),
        &PhysicalPlanningContext::default(),
    )?))
}

/// Declares the order of the rows and how many partitions there are.
///
/// The order asked for may name columns that the conditions fix, which the path's own order leaves out.
fn properties(
    path: &AccessPath,
    asked: &[OrderKey],
    columns: &[ColumnId],
    schema: SchemaRef,
    partitions: usize,
) -> PlanProperties {
    let sort_expr = |key: &OrderKey| {
        let position = columns.iter().position(|id| TermId::column(*id) == key.term)?;
        let expr = Arc::new(PhysicalColumn::new(schema.field(position).name(), position));
        let options = SortOptions {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        Some(PhysicalSortExpr { expr, options })
    };
    let asked = if path.ordered { asked } else { &[] };
    let orders = [path.order.as_slice(), asked]
        .map(|order| order.iter().map_while(sort_expr).collect::<Vec<_>>())
        .into_iter()
        .filter_map(LexOrdering::new);
    let equivalence = EquivalenceProperties::new_with_orderings(schema.clone(), orders);
    let partitioning = Partitioning::UnknownPartitioning(partitions);
    PlanProperties::new(
        equivalence,
        partitioning,
        EmissionType::Incremental,
        Boundedness::Bounded,
    )
    .with_scheduling_type(SchedulingType::Cooperative)
}

/// Where batches come from.
enum Reader {
    /// Rows, one by one.
    Rows(Box<RowReader>),
    /// A columnar index, and the schema of its batches.
    Columns(Box<ColumnarCursor>, SchemaRef),
}

struct RowReader {
    cursor: RowCursor,
    builder: BatchBuilder,
    columns: usize,
}

impl Reader {
    /// Reads the next rows, about as many as asked for; `None` at the end.
    fn read(&mut self, max: usize) -> Result<Option<RecordBatch>, SqlError> {
        match self {
            Reader::Rows(rows) => rows.read(max),
            Reader::Columns(cursor, schema) => {
                let batch = cursor.next_batch(max)?;
                batch.map(|batch| record_batch(schema.clone(), batch)).transpose()
            }
        }
    }

    fn counters(&self) -> ScanCounters {
        match self {
            Reader::Rows(rows) => rows.cursor.counters(),
            Reader::Columns(cursor, _) => cursor.counters(),
        }
    }
}

impl RowReader {
    fn read(&mut self, max: usize) -> Result<Option<RecordBatch>, SqlError> {
        let (builder, columns) = (&mut self.builder, self.columns);
        let mut failed = None;
        let read = self.cursor.next_rows(max, &mut |row| {
            for column in 0..columns {
                if let Err(error) = builder.append(column, row.datum(column)?) {
                    failed.get_or_insert(error);
                }
            }
            builder.end_row();
            Ok(())
        })?;
        failed.map_or(Ok(()), Err)?;
        match read {
            0 => Ok(None),
            _ => builder.finish().map(Some),
        }
    }
}

/// One partition being read.
struct ScanState {
    reader: Reader,
    residual: Option<Arc<dyn PhysicalExpr>>,
    output: Vec<usize>,
    /// Rows still wanted.
    left: Option<usize>,
    context: Arc<StatementContext>,
    counters: Arc<Totals>,
    busy_ns: Arc<AtomicU64>,
    seen: ScanCounters,
}

impl ScanState {
    /// Returns the next batch with at least one row, or `None` at the end, and counts the time.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let started = Instant::now();
        let batch = self.read_batch();
        let worked = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(worked, Ordering::Relaxed);
        batch
    }

    fn read_batch(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        while self.left != Some(0) {
            self.context.cancel.check()?;
            let read = self.read()?;
            self.count();
            let Some(batch) = read else {
                return Ok(None);
            };
            let batch = self.checked(batch)?;
            if batch.num_rows() > 0 {
                self.counters.add_rows(batch.num_rows() as u64);
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    fn read(&mut self) -> Result<Option<RecordBatch>, SqlError> {
        let max = self
            .left
            .filter(|_| self.residual.is_none())
            .unwrap_or(BATCH_ROWS)
            .min(BATCH_ROWS);
        let batch = self.reader.read(max)?;
        self.context.cancel.check()?;
        Ok(batch)
    }

    /// Keeps the rows that the residual accepts and the columns given out.
    fn checked(&mut self, batch: RecordBatch) -> Result<RecordBatch, SqlError> {
        let kept = match &self.residual {
            None => batch,
            Some(residual) => {
                let mask = residual.evaluate(&batch)?.into_array(batch.num_rows())?;
                let mask = mask
                    .as_any()
                    .downcast_ref::<BooleanArray>()
                    .ok_or_else(|| SqlError::internal("a condition gave no boolean"))?;
                filter_record_batch(&batch, mask).map_err(DataFusionError::from)?
            }
        };
        let given = kept.project(&self.output).map_err(DataFusionError::from)?;
        let given = match self.left {
            Some(left) if given.num_rows() > left => given.slice(0, left),
            _ => given,
        };
        if let Some(left) = &mut self.left {
            *left -= given.num_rows();
        }
        Ok(given)
    }

    /// Passes on what the cursor counted since the last time.
    fn count(&mut self) {
        let now = self.reader.counters();
        let new = counted_since(&now, &self.seen);
        self.context.totals.add(&new);
        self.counters.add(&new);
        self.seen = now;
    }
}

impl fmt::Debug for ScanExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScanExec")
            .field("table", &self.table().name)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScanExec: table={}", self.table().name)
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &'static str {
        "ScanExec"
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
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        match &self.residual {
            Some(residual) => f(residual),
            None => Ok(TreeNodeRecursion::Continue),
        }
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let state = self.start(partition).map_err(external)?;
        let stream = futures::stream::try_unfold(state, |mut state| async move {
            let batch = state.next_batch().map_err(external)?;
            Ok(batch.map(|batch| (batch, state)))
        });
        let stream = RecordBatchStreamAdapter::new(self.schema(), Box::pin(stream));
        Ok(Box::pin(cooperative(stream)))
    }

    fn partition_statistics(&self, partition: Option<usize>) -> DataFusionResult<Arc<Statistics>> {
        Ok(Arc::new(self.rows_estimated(partition)))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        Ok(Arc::new(self.rows_estimated(args.partition())))
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        Some(Arc::new(ScanExec {
            fetch: limit,
            ..self.clone()
        }))
    }

    fn fetch(&self) -> Option<usize> {
        self.fetch
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DataFusionResult<SortOrderPushdownResult<Arc<dyn ExecutionPlan>>> {
        let Some(order) = self.order_keys(order) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let scan = self.ordered_by(&order, self.fetch).map_err(external)?;
        Ok(match scan.path.ordered {
            true => SortOrderPushdownResult::Exact {
                inner: Arc::new(scan),
            },
            false => SortOrderPushdownResult::Unsupported,
        })
    }
}

impl ScanExec {
    /// Plans the scan anew for an order and a limit.
    fn ordered_by(&self, order: &[OrderKey], limit: Option<usize>) -> Result<Self, SqlError> {
        let (context, conditions) = (self.context.clone(), self.conditions.clone());
        let output = self.output.clone();
        let groups = self.groups.clone();
        Self::choose(
            context,
            conditions,
            self.conjuncts.clone(),
            output,
            groups,
            order,
            limit,
        )
    }

    /// Returns a scan that gives the first rows in this order and no more, if that is the cheapest way
    /// to them.
    pub(crate) fn first_in_order(
        &self,
        order: &[PhysicalSortExpr],
        fetch: usize,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let Some(order) = self.order_keys(order).filter(|_| self.fetch.is_none()) else {
            return Ok(None);
        };
        let scan = self.ordered_by(&order, Some(fetch)).map_err(external)?;
        Ok(scan
            .path
            .ordered
            .then(|| Arc::new(scan) as Arc<dyn ExecutionPlan>))
    }

    /// Returns a scan that gives the rows that matter, one of each group, and few others, if that is
    /// cheaper than to give all.
    pub(crate) fn one_per_group(&self, groups: Grouped) -> DataFusionResult<Option<ScanExec>> {
        if self.fetch.is_some() || self.groups.is_some() {
            return Ok(None);
        }
        let scan = Self::choose(
            self.context.clone(),
            self.conditions.clone(),
            self.conjuncts.clone(),
            self.output.clone(),
            Some(Arc::new(groups)),
            &self.order,
            None,
        );
        let scan = scan.map_err(external)?;
        Ok(scan.path.loose.is_some().then_some(scan))
    }

    /// Returns the column given out at a position.
    pub(crate) fn output_column(&self, position: usize) -> Option<ColumnId> {
        self.columns[..self.output.len()].get(position).copied()
    }

    /// Returns an order over plain columns as the planner asks for it.
    fn order_keys(&self, order: &[PhysicalSortExpr]) -> Option<Vec<OrderKey>> {
        let key = |sort: &PhysicalSortExpr| {
            let column = (sort.expr.as_ref() as &dyn std::any::Any).downcast_ref::<PhysicalColumn>()?;
            let term = TermId::column(*self.columns.get(column.index())?);
            Some(OrderKey {
                term,
                descending: sort.options.descending,
                nulls_first: sort.options.nulls_first,
            })
        };
        order.iter().map(key).collect()
    }
}

pub(super) fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
