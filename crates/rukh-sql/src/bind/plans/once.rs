//! WITH queries that call volatile functions and are read more than once: they run once, as in PostgreSQL.
//!
//! DataFusion puts the plan of a WITH query where its name is read, so that `WITH r AS (SELECT random()) SELECT … FROM r a,
//! r b` gets two numbers. Without volatile functions there is no difference. Here the places that read one such query become
//! scans of a relation that keeps its rows in memory, counted as the memory of the query.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, TableReference, project_schema};
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, SubqueryAlias, TableType};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, Distribution, ExecutionPlan, Partitioning, PlanProperties,
};
use futures::future::{BoxFuture, Shared};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use parking_lot::Mutex;
use rukh_syntax::HIDDEN;
use rukh_syntax::Walk;
use rukh_syntax::sqlparser::ast;
use rukh_walk::{PlanTree, Tree};

/// What is run apart, however often it is read.
const APART: &str = "apart";

/// How the names of relations begin that run once whatever they are.
const KEPT_ROWS: &str = "kept_rows";

/// Names a relation that runs once and is kept where it is read more than once: `correlated` numbers its rows.
pub(crate) fn kept_rows(name: impl fmt::Display) -> String {
    format!("{KEPT_ROWS}{HIDDEN}{name}")
}

/// Has a plan run by itself, its rows kept: what is put around it does not go into it.
pub(crate) fn apart(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    kept(plan, APART)
}

/// Puts a plan into a relation that [`shared`] keeps, under a name; the columns have the names that they had.
pub(crate) fn kept(plan: LogicalPlan, name: impl fmt::Display) -> DataFusionResult<LogicalPlan> {
    let schema = plan.schema().clone();
    let relation = kept_rows(name);
    let name = |at: usize| format!("kept{HIDDEN}{at}");
    let columns = schema.columns().into_iter().enumerate();
    let columns = columns.map(|(at, column)| Expr::Column(column).alias(name(at)));
    let shown = schema.iter().enumerate().map(|(at, (table, field))| {
        let column = Column::new(Some(relation.as_str()), name(at));
        Expr::Column(column).alias_qualified(table.cloned(), field.name())
    });
    LogicalPlanBuilder::from(plan)
        .project(columns)?
        .alias(&relation)?
        .project(shown)?
        .build()
}

fn is_kept(alias: &SubqueryAlias) -> bool {
    let name = alias.alias.table();
    let is_named = name
        .strip_prefix(KEPT_ROWS)
        .is_some_and(|rest| rest.starts_with(HIDDEN));
    is_named && !matches!(alias.input.as_ref(), LogicalPlan::TableScan(_))
}

/// Returns the names of the WITH queries of a statement, at any depth.
pub(crate) fn names(query: &ast::Query) -> HashSet<String> {
    struct Names(HashSet<String>);

    impl ast::Visitor for Names {
        type Break = ();

        fn pre_visit_query(&mut self, query: &ast::Query) -> std::ops::ControlFlow<()> {
            if let Some(with) = query.with.as_ref().filter(|with| !with.recursive) {
                self.0
                    .extend(with.cte_tables.iter().map(|cte| cte.alias.name.value.clone()));
            }
            std::ops::ControlFlow::Continue(())
        }
    }

    let mut names = Names(HashSet::new());
    let _ = query.walk(&mut names);
    names.0
}

/// Lets the WITH queries of these names that are volatile and read more than once run once, and relations that are kept.
pub(crate) fn shared(plan: LogicalPlan, names: &HashSet<String>) -> DataFusionResult<LogicalPlan> {
    let mut found: Vec<(SubqueryAlias, usize)> = Vec::new();
    plan.each_of_all(&mut |node| {
        if let LogicalPlan::SubqueryAlias(alias) = node
            && (is_kept(alias) || (names.contains(alias.alias.table()) && is_volatile(&alias.input)?))
        {
            match found.iter_mut().find(|(known, _)| known == alias) {
                Some((_, count)) => *count += 1,
                None => found.push((alias.clone(), 1)),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    found.retain(|(alias, count)| *count > 1 || alias.alias.table() == kept_rows(APART));
    // Those within others first: the plans of the others are changed by it.
    let is_within = |alias: &SubqueryAlias| {
        alias.input.any(&mut |node| {
        Ok(matches!(node, LogicalPlan::SubqueryAlias(inner) if found.iter().any(|(known, _)| known == inner)))
    })
    };
    let mut innermost = Vec::new();
    for (alias, _) in &found {
        if !is_within(alias)? {
            innermost.push((alias, Arc::new(Once::new(&alias.input))));
        }
    }
    if innermost.is_empty() {
        return Ok(plan);
    }
    let replaced = plan.turn_all_down(&mut |node| {
        let LogicalPlan::SubqueryAlias(alias) = &node else {
            return Ok(Transformed::no(node));
        };
        let Some((_, relation)) = innermost.iter().find(|(known, _)| *known == alias) else {
            return Ok(Transformed::no(node));
        };
        let name = TableReference::bare(alias.alias.table());
        let scan = LogicalPlanBuilder::scan(name, provider_as_source(relation.clone()), None)?;
        let scan = scan.alias(alias.alias.clone())?.build()?;
        Ok(Transformed::yes(scan))
    })?;
    shared(replaced.data, names)
}

/// Whether a plan calls volatile functions whenever it runs, in subqueries, too.
pub(crate) fn is_volatile(plan: &LogicalPlan) -> DataFusionResult<bool> {
    let mut volatile = false;
    plan.each_of_all(&mut |node| {
        if let LogicalPlan::SubqueryAlias(alias) = node
            && is_kept(alias)
        {
            return Ok(TreeNodeRecursion::Jump);
        }
        volatile |= node.expressions().iter().any(Expr::is_volatile);
        Ok(if volatile {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    Ok(volatile)
}

/// The rows of a WITH query, when they are known.
type Rows = Shared<BoxFuture<'static, Result<Arc<Kept>, Arc<DataFusionError>>>>;

/// Rows, and the memory that they take.
#[derive(Debug)]
struct Kept {
    batches: Vec<RecordBatch>,
    _memory: MemoryReservation,
}

/// A WITH query that runs once.
struct Once {
    query: LogicalPlan,
    schema: SchemaRef,
    rows: Arc<Mutex<Option<Rows>>>,
}

impl Once {
    fn new(query: &Arc<LogicalPlan>) -> Self {
        Once {
            schema: Arc::new(query.schema().as_arrow().clone()),
            query: query.as_ref().clone(),
            rows: Arc::default(),
        }
    }
}

impl fmt::Debug for Once {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Once")
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl TableProvider for Once {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _: &[Expr],
        _: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = state.create_physical_plan(&self.query).await?;
        let schema = project_schema(&self.schema, projection)?;
        Ok(Arc::new(OnceExec {
            properties: Arc::new(properties(&schema)),
            input,
            columns: projection.cloned(),
            rows: self.rows.clone(),
        }))
    }
}

fn properties(schema: &SchemaRef) -> PlanProperties {
    PlanProperties::new(
        EquivalenceProperties::new(schema.clone()),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Final,
        Boundedness::Bounded,
    )
}

/// Gives the rows of a query that runs once for all its readers.
struct OnceExec {
    input: Arc<dyn ExecutionPlan>,
    /// The columns that are read, all if `None`.
    columns: Option<Vec<usize>>,
    rows: Arc<Mutex<Option<Rows>>>,
    properties: Arc<PlanProperties>,
}

impl fmt::Debug for OnceExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnceExec")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

impl DisplayAs for OnceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "once")
    }
}

impl ExecutionPlan for OnceExec {
    fn name(&self) -> &str {
        "OnceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn required_input_distribution(&self) -> Vec<Distribution> {
        vec![Distribution::SinglePartition]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn for<'e> FnMut(&'e Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        Ok(Arc::new(OnceExec {
            input: input.unwrap_or_else(|| self.input.clone()),
            columns: self.columns.clone(),
            rows: self.rows.clone(),
            properties: self.properties.clone(),
        }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let mut known = self.rows.lock();
        let rows = match known.as_ref() {
            Some(rows) => rows.clone(),
            None => {
                let memory = MemoryConsumer::new("WITH query").register(context.memory_pool());
                let input = self.input.execute(partition, context)?;
                let rows = collected(input, memory).map(|rows| rows.map_err(Arc::new));
                known.insert(rows.boxed().shared()).clone()
            }
        };
        drop(known);
        let columns = self.columns.clone();
        let given = async move {
            let rows = rows.await.map_err(DataFusionError::Shared)?;
            let count = rows.batches.len();
            // It keeps the rows, and so the memory that is counted, until its last reader ends.
            let shown = move |at: usize| -> DataFusionResult<RecordBatch> {
                match &columns {
                    None => Ok(rows.batches[at].clone()),
                    Some(columns) => Ok(rows.batches[at].project(columns)?),
                }
            };
            Ok::<_, DataFusionError>(stream::iter((0..count).map(shown)))
        };
        let schema = self.properties.equivalence_properties().schema().clone();
        let batches = stream::once(given).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

async fn collected(
    mut input: SendableRecordBatchStream,
    memory: MemoryReservation,
) -> DataFusionResult<Arc<Kept>> {
    let mut batches = Vec::new();
    while let Some(batch) = input.next().await {
        let batch = batch?;
        memory.try_grow(batch.get_array_memory_size())?;
        batches.push(batch);
    }
    Ok(Arc::new(Kept {
        batches,
        _memory: memory,
    }))
}
