//! The general way to run a query: a DataFusion plan whose leaves are our access paths.

use std::sync::Arc;

use datafusion::catalog::{CatalogProvider, CatalogProviderList, MemoryCatalogProviderList};
use datafusion::common::ParamValues;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement as PlannedStatement;
use rukh_catalog::Catalog;
use rukh_syntax::sqlparser::ast;

use crate::bind::names::joined;
use crate::bind::names::named_windows;
use crate::bind::names::outer_names;
use crate::bind::names::past;
use crate::bind::names::sample;
use crate::bind::names::short_aliases;
use crate::bind::names::stars;
use crate::bind::names::views;
use crate::bind::plans::computed_limits;
use crate::bind::plans::computed_values;
use crate::bind::plans::correlated::{joined_by_domain, volatile_left, volatile_refused};
use crate::bind::plans::inner_order;
use crate::bind::plans::late_volatile;
use crate::bind::plans::on_subqueries;
use crate::bind::plans::once;
use crate::bind::plans::outer_aggregates;
use crate::bind::plans::push_down::logical_rules;
use crate::bind::plans::set_operations;
use crate::bind::plans::subqueries::single_values;
use crate::bind::spelling::array_parameters::with_arrays;
use crate::bind::spelling::cast_names::tell_apart;
use crate::bind::spelling::condition_literals;
use crate::bind::spelling::integer_literals;
use crate::bind::spelling::rewrite::rewrite;
use crate::bind::spelling::typed_parameters::{types_of, with_types};
use crate::bind::spelling::values_types;
use crate::bind::types::bound_aggregates;
use crate::bind::types::cast_types::CastTypes;
use crate::bind::types::coercions::nothing_left;
use crate::bind::types::config::{CATALOG, session_config};
use crate::bind::types::expressions;
use crate::bind::types::in_lists::{join_again, keep_apart};
use crate::bind::types::integer_series;
use crate::bind::types::literals::type_literals;
use crate::exec::operators::{
    Abandoned, BlockTotals, FewGroups, LateColumns, LookupJoins, MergeJoins, OnePerGroup, OrderCheck,
    OrderUse, RepeatedSides, RuntimeFilters, TopN, ends_with,
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
    let mut state = SessionStateBuilder::new()
        .with_config(session_config())
        .with_runtime_env(env)
        .with_expr_planners(expressions::expr_planners())
        .with_default_features()
        .with_catalog_list(catalogs)
        .with_type_planner(Arc::new(CastTypes))
        .with_optimizer_rules(logical_rules())
        .with_physical_optimizer_rules(physical_rules())
        .build();
    rukh_functions::register(&mut state);
    integer_series::register(&mut state);
    state
}

/// Returns DataFusion's rules for physical plans, with ours where they belong.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> =
        vec![Arc::new(TopN), Arc::new(OnePerGroup)];
    let mut is_required = false;
    for rule in PhysicalOptimizer::new().rules {
        match rule.name() {
            // First it says which order the statement asks for, and the second time forgets it.
            "OutputRequirements" if is_required => rules.push(Arc::new(OrderUse)),
            "OutputRequirements" => is_required = true,
            // Between the last of DataFusion's rules for projections and those of sorts.
            "PushdownSort" => rules.push(Arc::new(LateColumns)),
            "SanityCheckPlan" => {
                rules.push(Arc::new(RuntimeFilters));
                rules.push(Arc::new(FewGroups));
                rules.push(Arc::new(BlockTotals));
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

/// Plans a query up to DataFusion's optimised logical plan, parameters filled in.
pub(crate) async fn logical_plan(
    state: &SessionState,
    catalog: &Catalog,
    query: &ast::Query,
    params: &[ScalarValue],
) -> Result<LogicalPlan, SqlError> {
    let query = with_types(with_arrays(query, params)?, &types_of(params));
    let plan = unoptimised_plan(state, catalog, &query).await?;
    let plan = match params.is_empty() {
        true => plan,
        false => plan.with_param_values(ParamValues::from(params.to_vec()))?,
    };
    let plan = type_literals(plan)?;
    nothing_left(&plan)?;
    let plan = once::shared(plan, &once::names(&query))?;
    let plan = keep_apart(plan)?;
    let plan = state.optimize(&plan).map_err(|error| of_form(error.into()))?;
    Ok(join_again(plan)?)
}

/// Returns the error of a plan that cannot be optimised. Its names were found before: one that is missing now was lost when a subquery
/// became a join.
fn of_form(error: SqlError) -> SqlError {
    match error.sqlstate {
        "42P01" | "42702" | "42703" => {
            SqlError::unsupported("a subquery that reads the query around it is not supported in this form")
        }
        _ => error,
    }
}

/// Resolves the names of a query; parameters stay open.
pub(crate) async fn unoptimised_plan(
    state: &SessionState,
    catalog: &Catalog,
    query: &ast::Query,
) -> Result<LogicalPlan, SqlError> {
    let mut query = query.clone();
    views::expand(&mut query, catalog)?;
    values_types::alike(&mut query);
    condition_literals::read(&mut query);
    named_windows::spell_out(&mut query)?;
    sample::expand(&mut query, catalog)?;
    past::expand(&mut query, catalog)?;
    outer_aggregates::spell_out(&mut query, catalog)?;
    short_aliases::spell_out(state, &mut query).await?;
    joined::expand(state, &mut query).await?;
    outer_names::spell_out(&mut query, catalog);
    stars::expand(state, &mut query).await?;
    tell_apart(&mut query);
    rewrite(&mut query)?;
    integer_literals::typed(&mut query);
    bound_aggregates::read_literals(&mut query)?;
    let statement = PlannedStatement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
    let plan = state.statement_to_plan(statement).await?;
    let plan = computed_values::selected(outer_aggregates::resolved(plan)?)?;
    let plan = computed_limits::numbered(plan)?;
    let plan = late_volatile::after_sorts(inner_order::lift(set_operations::counted(plan)?)?)?;
    let plan = on_subqueries::in_filters(volatile_refused(plan)?)?;
    volatile_left(joined_by_domain(single_values(plan)?)?)
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
