//! The passes that bind a query, in their order: from its tree to a logical plan that has PostgreSQL's meaning.
//!
//! | step           | is                                                                                         |
//! |----------------|--------------------------------------------------------------------------------------------|
//! | [`TREE_PASSES`] | rewrite the tree: what DataFusion does not read, or reads with another meaning            |
//! | `planned`      | DataFusion resolves names; functions and operators get PostgreSQL's types from their tables |
//! | [`PLAN_PASSES`] | correct the plan where its rows would differ from PostgreSQL's                            |
//! | `literals`     | parameters get their values, literals and operands their types                             |
//! | `once`         | what is volatile in WITH is computed once                                                  |
//! | `optimised`    | DataFusion's optimizer, with our rules among its own (`plans::push_down`)                  |
//!
//! The scripts in `tests/passes` have queries, and what each pass makes of them: one script for each rule.

use datafusion::common::ParamValues;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::scalar::ScalarValue;
use datafusion::sql::parser::Statement as PlannedStatement;
use futures::future::LocalBoxFuture;
use rukh_catalog::Catalog;
use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{self, Query};

use crate::bind::names::outputs::stars;
use crate::bind::names::{
    grouped_keys, joined, named_windows, outer_names, past, populated, sample, set_literals, short_aliases,
    views, whole_rows,
};
use crate::bind::plans::correlated::{joined_by_domain, volatile_left, volatile_refused};
use crate::bind::plans::subqueries::single_values;
use crate::bind::plans::{
    computed_limits, inner_order, late_volatile, on_subqueries, once, outer_aggregates, set_operations,
    union_fields,
};
use crate::bind::spelling::parameters::arrays::with_arrays;
use crate::bind::spelling::parameters::frames::with_frames;
use crate::bind::spelling::parameters::series::with_series;
use crate::bind::spelling::parameters::types::{types_of, with_types};
use crate::bind::spelling::rewrite::rewrite;
use crate::bind::spelling::{
    cast_names, computed_values, condition_literals, integer_literals, values_types,
};
use crate::bind::types::bound_aggregates;
use crate::bind::types::coercions::nothing_left;
use crate::bind::types::in_lists::{join_again, keep_apart};
use crate::bind::types::literals::type_literals;

/// A pass over the tree of a query.
enum TreePass {
    /// Reads the tree alone, and takes any.
    Spelling(fn(&mut Query)),
    /// Reads the tree alone.
    Syntax(fn(&mut Query) -> Result<(), SqlError>),
    /// Reads the definitions, too.
    Catalog(fn(&mut Query, &Catalog) -> Result<(), SqlError>),
    /// Has DataFusion plan parts of the query, for the names and types of their columns.
    Columns(for<'a> fn(&'a SessionState, &'a mut Query) -> LocalBoxFuture<'a, Result<(), SqlError>>),
}

use TreePass::{Catalog as WithCatalog, Columns, Spelling, Syntax};

/// The passes over the tree, with the names of their modules.
const TREE_PASSES: &[(&str, TreePass)] = &[
    (
        "views",
        WithCatalog(|query, catalog| views::expand(query, catalog).map(drop)),
    ),
    ("populated", Syntax(populated::expand)),
    ("computed_limits", Spelling(computed_limits::mark_ties)),
    ("values_types", Spelling(values_types::alike)),
    ("computed_values", Spelling(computed_values::spell_out)),
    ("condition_literals", Spelling(condition_literals::read)),
    ("named_windows", Syntax(named_windows::spell_out)),
    ("sample", WithCatalog(sample::expand)),
    ("past", WithCatalog(past::expand)),
    ("outer_aggregates", WithCatalog(outer_aggregates::spell_out)),
    (
        "short_aliases",
        Columns(|state, query| Box::pin(short_aliases::spell_out(state, query))),
    ),
    ("whole_rows", WithCatalog(whole_rows::mark)),
    (
        "joined",
        Columns(|state, query| Box::pin(joined::expand(state, query))),
    ),
    (
        "outer_names",
        WithCatalog(|query, catalog| {
            outer_names::spell_out(query, catalog);
            Ok(())
        }),
    ),
    (
        "stars",
        Columns(|state, query| Box::pin(stars::expand(state, query))),
    ),
    (
        "grouped_keys",
        WithCatalog(|query, catalog| {
            grouped_keys::complete(query, catalog);
            Ok(())
        }),
    ),
    (
        "set_literals",
        Columns(|state, query| Box::pin(set_literals::read(state, query))),
    ),
    ("cast_names", Spelling(cast_names::tell_apart)),
    ("rewrite", Syntax(rewrite)),
    ("integer_literals", Spelling(integer_literals::typed)),
    ("bound_aggregates", Syntax(bound_aggregates::read_literals)),
];

/// A pass over a plan.
type PlanPass = fn(LogicalPlan) -> Result<LogicalPlan, SqlError>;

/// The passes over the plan, with the names of their modules. Behind the last no subquery is volatile and reads the query around it.
const PLAN_PASSES: &[(&str, PlanPass)] = &[
    ("outer_aggregates", outer_aggregates::resolved),
    ("computed_limits", computed_limits::numbered),
    ("set_operations", set_operations::counted),
    ("inner_order", inner_order::lift),
    ("late_volatile", late_volatile::after_sorts),
    ("correlated", volatile_refused),
    ("on_subqueries", on_subqueries::in_filters),
    ("subqueries", single_values),
    ("correlated", joined_by_domain),
    ("correlated", volatile_left),
];

/// What a pass made.
#[cfg_attr(not(test), expect(dead_code, reason = "tests read what passes make"))]
pub(crate) enum Made<'m> {
    /// The tree of the query.
    Query(&'m Query),
    /// Its plan.
    Plan(&'m LogicalPlan),
}

/// Receives the name of each pass and what it made.
pub(crate) type PassWatch<'w> = dyn FnMut(&'static str, Made<'_>) + 'w;

/// Plans a query up to DataFusion's optimised logical plan, parameters filled in.
pub(crate) async fn logical_plan(
    state: &SessionState,
    catalog: &Catalog,
    query: &Query,
    params: &[ScalarValue],
) -> Result<LogicalPlan, SqlError> {
    watched_plan(state, catalog, query, params, &mut |_, _| {}).await
}

/// [`logical_plan`], which shows `watch` what each pass makes.
pub(crate) async fn watched_plan(
    state: &SessionState,
    catalog: &Catalog,
    query: &Query,
    params: &[ScalarValue],
    watch: &mut PassWatch<'_>,
) -> Result<LogicalPlan, SqlError> {
    let query = with_series(with_frames(with_arrays(query, params)?, params)?, params)?;
    let mut query = with_types(query, &types_of(params)).into_owned();
    // Those of views are among them.
    views::expand(&mut query, catalog)?;
    let volatile_names = once::names(&query);
    let plan = resolved(state, catalog, query, watch).await?;
    let plan = match params.is_empty() {
        true => plan,
        false => plan.with_param_values(ParamValues::from(params.to_vec()))?,
    };
    let plan = type_literals(plan)?;
    watch("literals", Made::Plan(&plan));
    nothing_left(&plan)?;
    let plan = once::shared(plan, &volatile_names)?;
    watch("once", Made::Plan(&plan));
    let plan = keep_apart(plan)?;
    let bound = plan.schema().clone();
    let plan = state.optimize(&plan).map_err(|error| of_form(error.into()))?;
    let plan = union_fields::alike(join_again(plan)?)?;
    let plan = union_fields::as_bound(plan, &bound)?;
    watch("optimised", Made::Plan(&plan));
    Ok(plan)
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
    query: &Query,
) -> Result<LogicalPlan, SqlError> {
    resolved(state, catalog, query.clone(), &mut |_, _| {}).await
}

async fn resolved(
    state: &SessionState,
    catalog: &Catalog,
    mut query: Query,
    watch: &mut PassWatch<'_>,
) -> Result<LogicalPlan, SqlError> {
    for (name, pass) in TREE_PASSES {
        match pass {
            Spelling(pass) => pass(&mut query),
            Syntax(pass) => pass(&mut query)?,
            WithCatalog(pass) => pass(&mut query, catalog)?,
            Columns(pass) => pass(state, &mut query).await?,
        }
        watch(name, Made::Query(&query));
    }
    let statement = PlannedStatement::Statement(Box::new(ast::Statement::Query(Box::new(query))));
    let mut plan = state.statement_to_plan(statement).await?;
    watch("planned", Made::Plan(&plan));
    for (name, pass) in PLAN_PASSES {
        plan = pass(plan)?;
        watch(name, Made::Plan(&plan));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests;
