//! The scan of one access path as a DataFusion operator.
//!
//! Partitions are runs of key ranges, so each partition is in key order. What spans and masked
//! compares do not prove is checked here, on batches, with the original expressions.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
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
use parking_lot::Mutex;
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{FirstRows, ScanCounters, ScanRequest};
use rukh_keys::DataType;
use rukh_planner::{AccessPath, Grouped, OrderKey, Source, TermId};

use super::parts::{Part, parts};
use super::scan_column::Outputs;
use crate::bind::types::table_schema::table_schema;
use crate::exec::access::{Conditions, Read, Wanted};
use crate::exec::context::{StatementContext, Totals};
use crate::exec::within::RowNames;
use among::Among;
use partition::{Reader, RowReader, ScanState};
use rukh_error::SqlError;
use rukh_functions::batch::BatchBuilder;
use rukh_functions::errors::external;
use rukh_walk::Tree;
use run_time::RunTime;
pub(crate) use totals::TotalsScan;
pub(crate) use vectors::Given;

mod among;
mod arms;
mod first;
mod order;
mod partition;
mod reading;
mod run_time;
mod totals;
mod vectors;
mod watch;

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
    partitions: Arc<[Part]>,
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
    /// What operators above find out while they run.
    run_time: RunTime,
    /// The only rows of a columnar scan that matter to the operators above, if not all do.
    first: Arc<[FirstRows]>,
    /// The rows that it has to be among, once they are known.
    among: Arc<Mutex<Option<Among>>>,
}

/// The request of a scan.
struct Ask<'a> {
    /// Positions in the table of the columns given out.
    output: Vec<usize>,
    /// Which rows matter, if one of each group does.
    groups: Option<Arc<Grouped>>,
    order: &'a [OrderKey],
    limit: Option<usize>,
    /// The only source that may be read, if it is not left open.
    source: Option<Source>,
    /// Most partitions.
    partitions: usize,
}

impl Ask<'_> {
    /// Asks for columns of all rows, in any order.
    fn all(context: &StatementContext, output: Vec<usize>) -> Self {
        Ask {
            output,
            groups: None,
            order: &[],
            limit: None,
            source: None,
            partitions: context.parallelism,
        }
    }
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
        let ask = Ask {
            limit,
            ..Ask::all(context, output)
        };
        Self::choose(context.clone(), Arc::new(conditions), Arc::new(conjuncts), ask)
    }

    fn choose(
        context: Arc<StatementContext>,
        conditions: Arc<Conditions>,
        conjuncts: Arc<Vec<Expr>>,
        ask: Ask<'_>,
    ) -> Result<Self, SqlError> {
        let Ask {
            output,
            groups,
            order,
            limit,
            ..
        } = ask;
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
        let path = match ask.source {
            None => conditions.plan(&wanted, &context).path,
            Some(source) => conditions
                .plan_on(source, &wanted, &context)
                .ok_or_else(|| SqlError::internal("what was read can be read again"))?,
        };
        let left = conditions.residual(&path);
        let mut columns = given;
        for column in conditions.columns_read(&left.row) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let scan_schema = projected_schema(table, &columns);
        let residual = residual_expr(&left.row, &conjuncts, &scan_schema)?;
        let partitions = parts(&context, table, &path, limit, ask.partitions)?;
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
            partitions: partitions.into(),
            order: order.into(),
            groups,
            limit,
            fetch: limit,
            properties,
            counters: Arc::default(),
            busy_ns: Arc::default(),
            run_time: RunTime::default(),
            first: Arc::default(),
            among: Arc::default(),
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

    /// Returns the columns that the scan gives out.
    pub(crate) fn outputs(&self) -> Outputs<'_> {
        Outputs {
            table: self.table(),
            columns: &self.columns[..self.output.len()],
        }
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

    /// Starts a partition; `None` if there is nothing to read in it.
    fn start(&self, partition: usize) -> Result<Option<ScanState>, SqlError> {
        match self.among()? {
            Some(Among::TooMany(scan)) => scan.start_among(partition, None),
            Some(Among::Names(names)) => self.start_among(partition, Some(names)),
            None => self.start_among(partition, None),
        }
    }

    fn start_among(
        &self,
        partition: usize,
        within: Option<Arc<RowNames>>,
    ) -> Result<Option<ScanState>, SqlError> {
        let Some(Part { ranges, reverse }) = self.partitions.get(partition).cloned() else {
            return Ok(None);
        };
        let left = self.conditions.residual(&self.path);
        let entry = left
            .entry
            .iter()
            .map(|position| self.conditions.predicates[*position].clone());
        let read = Read {
            ranges,
            columns: self.columns.clone(),
            limit: self
                .fetch
                .filter(|_| self.residual.is_none())
                .map(|fetch| fetch as u64),
            entry: entry.collect(),
            entry_positions: &left.entry,
            within,
            cancel: &self.context.cancel,
        };
        let request = ScanRequest {
            reverse,
            first: self.first.to_vec(),
            either_end: self.path.order.is_empty(),
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
        Ok(Some(ScanState {
            reader,
            residual: self.residual.clone(),
            output: (0..self.output.len()).collect(),
            left: self.fetch,
            context: self.context.clone(),
            counters: self.counters.clone(),
            busy_ns: self.busy_ns.clone(),
            seen: ScanCounters::default(),
            watch: None,
        }))
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
    let unqualified = expr.turn_up(&mut |expr| match expr {
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
/// The wanted order may name columns that the conditions fix, which the path's own order leaves out.
fn properties(
    path: &AccessPath,
    required: &[OrderKey],
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
    let required = if path.ordered { required } else { &[] };
    // A column without NULLs, or without rows, is in orders that contradict each other: the wanted one is enough.
    let differs = |one: &OrderKey| required.iter().any(|key| key.term == one.term && key != one);
    let is_empty = path.ranges.is_empty() && !required.is_empty();
    let own = match is_empty || path.order.iter().any(differs) {
        true => &[],
        false => path.order.as_slice(),
    };
    let orders = [own, required]
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
        if let Some(residual) = &self.residual
            && f(residual)? == TreeNodeRecursion::Stop
        {
            return Ok(TreeNodeRecursion::Stop);
        }
        self.run_time.apply_expressions(f)
    }

    fn execute(&self, partition: usize, _: Arc<TaskContext>) -> DataFusionResult<SendableRecordBatchStream> {
        let begun = Begun::Not(Box::new(self.clone()), partition);
        let stream = futures::stream::try_unfold(begun, |begun| async move {
            let Some(mut state) = begun.state().map_err(external)? else {
                return Ok(None);
            };
            let batch = state.next_batch().map_err(external)?;
            Ok(batch.map(|batch| (batch, Begun::Yes(state))))
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

    fn reset_state(self: Arc<Self>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(ScanExec {
            run_time: RunTime::default(),
            among: Arc::default(),
            ..self.as_ref().clone()
        }))
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
        // The first rows of another order are other rows: `SELECT * FROM (SELECT … ORDER BY ts DESC LIMIT 10) q ORDER BY ts`.
        let Some(order) = self.order_keys(order).filter(|_| self.fetch.is_none()) else {
            return Ok(SortOrderPushdownResult::Unsupported);
        };
        let scan = self.ordered_by(&order, None).map_err(external)?;
        Ok(match scan.path.ordered {
            true => SortOrderPushdownResult::Exact {
                inner: Arc::new(scan),
            },
            false => SortOrderPushdownResult::Unsupported,
        })
    }
}

/// One partition, which begins to be read with its first batch: what operators above find
/// out before that narrows it.
enum Begun {
    Not(Box<ScanExec>, usize),
    Yes(Box<ScanState>),
}

impl Begun {
    /// Returns the partition being read; `None` if there is nothing to read in it.
    fn state(self) -> Result<Option<Box<ScanState>>, SqlError> {
        match self {
            Begun::Yes(state) => Ok(Some(state)),
            Begun::Not(scan, partition) => {
                let narrowed = scan.narrowed_at_run_time()?;
                let reading = narrowed.as_deref().unwrap_or(&scan);
                let Some(mut state) = reading.start(partition)? else {
                    return Ok(None);
                };
                state.watch = scan.watch(reading);
                Ok(Some(Box::new(state)))
            }
        }
    }
}
