//! The general way to run a query: a DataFusion plan whose leaves are our access paths. `bind::passes` makes the logical plan.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, CatalogProviderList, MemoryCatalogProviderList};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};

use crate::bind::plans::push_down::logical_rules;
use crate::bind::spelling::domain_casts;
use crate::bind::types::bound_operators::FirstUses;
use crate::bind::types::config::{CATALOG, session_config};
use crate::bind::types::expressions;
use crate::bind::types::expressions::domain_rules;
use crate::bind::types::integer_series;
use crate::bind::types::typed_casts::CastTypes;
use crate::exec::operators::{
    Abandoned, ArmsInOrder, BlockTotals, FewGroups, FixedLimits, LateColumns, LimitsAgain, LookupJoins,
    MergeJoins, OnePerGroup, OrderCheck, OrderUse, RepeatedSides, RowCounts, RuntimeFilters, TopN,
    WholeSorts, ends_with,
};
use rukh_error::SqlError;

/// Memory that one database's queries share for sorts, joins and aggregates before they spill, bytes.
pub(crate) const QUERY_MEMORY_MAX: usize = 768 << 20;

/// Makes the environment that all sessions of a database share: memory limit and spill files.
pub(crate) fn runtime_env(memory_bytes: usize) -> Result<Arc<RuntimeEnv>, SqlError> {
    let builder = RuntimeEnvBuilder::new().with_memory_pool(Arc::new(FairSpillPool::new(memory_bytes)));
    Ok(Arc::new(builder.build()?))
}

/// Makes the DataFusion state of one session, whose tables are those of a catalog.
pub(crate) fn session_state(env: Arc<RuntimeEnv>, catalog: Arc<dyn CatalogProvider>) -> SessionState {
    let catalogs = Arc::new(MemoryCatalogProviderList::new());
    catalogs.register_catalog(CATALOG.to_string(), catalog);
    let uses = Arc::new(FirstUses::default());
    let mut state = SessionStateBuilder::new()
        .with_config(session_config().with_extension(uses.clone()))
        .with_runtime_env(env)
        .with_expr_planners(expressions::expr_planners(uses))
        .with_default_features()
        .with_catalog_list(catalogs)
        .with_type_planner(Arc::new(CastTypes))
        .with_optimizer_rules(logical_rules())
        .with_physical_optimizer_rules(physical_rules())
        .build();
    rukh_functions::register(&mut state);
    domain_casts::register(&mut state, domain_rules);
    integer_series::register(&mut state);
    state
}

/// Returns DataFusion's rules for physical plans, with ours where they belong.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> =
        vec![Arc::new(RowCounts), Arc::new(TopN), Arc::new(OnePerGroup)];
    let mut is_required = false;
    for rule in PhysicalOptimizer::new().rules {
        match rule.name() {
            // First it says which order the statement asks for, and the second time forgets it.
            "OutputRequirements" if is_required => rules.push(Arc::new(OrderUse)),
            "OutputRequirements" => is_required = true,
            // It places sorts.
            "EnsureRequirements" => {
                rules.extend::<[Arc<dyn PhysicalOptimizerRule + Send + Sync>; 3]>([
                    Arc::new(FixedLimits),
                    rule,
                    Arc::new(LimitsAgain),
                ]);
                continue;
            }
            // Between the last of DataFusion's rules for projections and those of sorts.
            "PushdownSort" => rules.push(Arc::new(LateColumns)),
            "SanityCheckPlan" => {
                rules.push(Arc::new(WholeSorts));
                rules.push(Arc::new(RuntimeFilters));
                rules.push(Arc::new(FewGroups));
                rules.push(Arc::new(BlockTotals));
                rules.push(Arc::new(ArmsInOrder));
                rules.push(Arc::new(OrderCheck));
                continue;
            }
            _ => {}
        }
        let selects_joins = rule.name() == "join_selection";
        rules.push(rule);
        if selects_joins {
            rules.push(Arc::new(LookupJoins));
            rules.push(Arc::new(MergeJoins));
            rules.push(Arc::new(RepeatedSides));
        }
    }
    rules
}

/// Makes the physical plan of an optimised logical one.
pub(crate) async fn physical_plan(
    state: &SessionState,
    plan: &LogicalPlan,
) -> Result<Arc<dyn ExecutionPlan>, SqlError> {
    Ok(state.query_planner().create_physical_plan(plan, state).await?)
}

/// Starts a physical plan, which ends when it is abandoned.
pub(crate) fn start(
    state: &SessionState,
    plan: Arc<dyn ExecutionPlan>,
    abandoned: &Abandoned,
) -> Result<datafusion::execution::SendableRecordBatchStream, SqlError> {
    Ok(execute_stream(ends_with(plan, abandoned)?, state.task_ctx())?)
}
