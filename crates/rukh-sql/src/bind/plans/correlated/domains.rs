//! Subqueries that read the query around them in ways of which DataFusion makes no join.
//!
//! DataFusion pulls conditions such as `s.k = t.k` up out of a subquery. It cannot where the subquery compares otherwise
//! below an aggregate, computes with outer columns, sorts, limits, unites or names what it filters. Here the outer values
//! are pushed down instead, as in Neumann and Kemper, "Unnesting Arbitrary Queries" (BTW 2015): the subquery is computed
//! once for each of the different outer values, its *domain*, and joined with the rows outside by them.
//!
//! ```text
//! SELECT (SELECT max(s.x) FROM s WHERE s.k < t.k) FROM t
//! SELECT v.max FROM t LEFT JOIN (SELECT d.k, max(s.x) FROM s, (SELECT DISTINCT k FROM t) d WHERE s.k < d.k GROUP BY d.k) v
//!                            ON t.k IS NOT DISTINCT FROM v.k
//! ```
//!
//! | in the subquery              | becomes, for a domain with the columns `d`                        |
//! |------------------------------|-------------------------------------------------------------------|
//! | a relation                   | its product with the domain                                        |
//! | aggregate, DISTINCT, window  | by `d` first; an aggregate without groups is there for every `d`   |
//! | `ORDER BY … LIMIT n`         | the rows whose `row_number() OVER (PARTITION BY d ORDER BY …)` is within n |
//! | join of two that read outside | a join by `d`, too                                                |
//! | UNION                        | a union of such                                                    |
//!
//! Subqueries of which DataFusion makes joins stay: `subqueries` has made single values of them before.
//!
//! A subquery that reads outside and calls volatile functions runs once for each row. So the rows outside are numbered and kept (`once`),
//! and the domain is all of them, the number being one of its columns:
//!
//! ```text
//! SELECT a, (SELECT s.x FROM s WHERE s.k = t.k ORDER BY random() LIMIT 1) FROM t
//! ```
//!
//! Outer rows that are computed with volatile functions are numbered and kept, too, since both sides of the join read them.
//!
//! Deliberately not here: recursive queries, FULL JOIN and GROUPING SETS that read outer columns, which stay as they are and
//! are refused later; volatile subqueries with IN, ANY and ALL, of which several are made, and in CASE and COALESCE, which may
//! not run them at all. [`volatile_refused`] and [`volatile_left`] refuse these.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Spans};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{Filter, Join, Projection, SubqueryAlias};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Subquery, lit};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

use super::exact::ExactForms;
use super::push::Push;
use crate::bind::plans::once::{is_volatile, kept};
use crate::bind::plans::outer_columns::{free_columns, query_of};
use crate::bind::plans::subqueries::counted;
use crate::bind::types::literals::typed_part;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_walk::{PlanTree, Tree};

/// Makes joins of the subqueries of which DataFusion makes none.
pub(crate) fn joined_by_domain(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let mut domains = 0;
    let plan = plan.turn_all_up(&mut |node| match node {
        LogicalPlan::Filter(filter) => of_filter(filter, &mut domains),
        LogicalPlan::Projection(projection) => of_projection(projection, &mut domains),
        LogicalPlan::Join(join) => of_lateral(join, &mut domains),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// Fails with 0A000 if a correlated subquery that calls volatile functions stands where it would not run once for each row.
pub(crate) fn volatile_refused(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let may_not_run = |expr: &Expr| match expr {
        Expr::Case(_) => true,
        Expr::ScalarFunction(call) => call.func.name() == "coalesce",
        _ => false,
    };
    each_expression(&plan, &mut |expr| {
        if may_not_run(expr) && expr.any(&mut is_volatile_correlated)? {
            return volatile_in("a correlated subquery of CASE or COALESCE");
        }
        let is_list = matches!(expr, Expr::InSubquery(_) | Expr::SetComparison(_));
        match is_list && is_volatile_correlated(expr)? {
            true => volatile_in("a correlated subquery of IN, ANY or ALL"),
            false => Ok(()),
        }
    })?;
    Ok(plan)
}

/// Fails with 0A000 if a correlated subquery that calls volatile functions is left, of which no join was made.
pub(crate) fn volatile_left(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    each_expression(&plan, &mut |expr| match is_volatile_correlated(expr)? {
        true => volatile_in("such a correlated subquery"),
        false => Ok(()),
    })?;
    plan.each_of_all(&mut |node| match node {
        LogicalPlan::Subquery(query)
            if is_volatile(&query.subquery)? && !free_columns(&query.subquery)?.is_empty() =>
        {
            volatile_in("such a correlated subquery")
        }
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(plan)
}

/// Whether an expression is a subquery that reads outside and calls volatile functions: it runs once for each row.
pub(crate) fn is_volatile_correlated(expr: &Expr) -> DataFusionResult<bool> {
    match query_of(expr) {
        Some(query) => Ok(is_volatile(&query.subquery)? && !free_columns(&query.subquery)?.is_empty()),
        None => Ok(false),
    }
}

fn volatile_in<T>(subquery: &str) -> DataFusionResult<T> {
    let message = format!("volatile functions in {subquery} are not supported");
    Err(DataFusionError::External(Box::new(SqlError::unsupported(
        message,
    ))))
}

/// Calls a function with each expression of a plan and of its subqueries, and each part of it.
fn each_expression(
    plan: &LogicalPlan,
    check: &mut dyn FnMut(&Expr) -> DataFusionResult<()>,
) -> DataFusionResult<()> {
    plan.each_of_all(&mut |node| {
        node.each_expression(&mut |expr| {
            expr.each(&mut |part| check(part).map(|()| TreeNodeRecursion::Continue))
        })
    })?;
    Ok(())
}

fn of_filter(filter: Filter, domains: &mut usize) -> DataFusionResult<Transformed<LogicalPlan>> {
    let schema = filter.input.schema().clone();
    if !has_stuck(&filter.predicate, &schema)? {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    }
    let (stuck, plain): (Vec<Expr>, Vec<Expr>) = split_conjunction_owned(filter.predicate.clone())
        .into_iter()
        .partition(|conjunct| has_stuck(conjunct, &schema).unwrap_or(true));
    let mut input = filter.input.as_ref().clone();
    if let Some(plain) = conjunction(plain) {
        input = LogicalPlanBuilder::from(input).filter(plain)?.build()?;
    }
    let as_counts = |conjunct: Expr| {
        let counts = conjunct.turn_up(&mut |part| match is_stuck(&part, &schema)? {
            true => counted(part, &schema),
            false => Ok(Transformed::no(part)),
        })?;
        Ok(counts.data)
    };
    let conditions: Vec<Expr> = stuck
        .into_iter()
        .map(as_counts)
        .collect::<DataFusionResult<_>>()?;
    let Some((joined, conditions)) = with_values(input, conditions, domains)? else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let shown = schema.columns().into_iter().map(Expr::Column);
    let plan = LogicalPlanBuilder::from(joined)
        .filter(conjunction(conditions).unwrap_or(lit(true)))?
        .project(shown)?
        .build()?;
    Ok(Transformed::yes(plan))
}

fn of_projection(projection: Projection, domains: &mut usize) -> DataFusionResult<Transformed<LogicalPlan>> {
    let schema = projection.input.schema().clone();
    let mut is_concerned = false;
    for expr in &projection.expr {
        is_concerned |= has_stuck(expr, &schema)?;
    }
    let names = NamePreserver::new_for_projection();
    let saved: Vec<_> = projection.expr.iter().map(|expr| names.save(expr)).collect();
    let values = match is_concerned {
        true => with_values(
            projection.input.as_ref().clone(),
            projection.expr.clone(),
            domains,
        )?,
        false => None,
    };
    let Some((joined, exprs)) = values else {
        return Ok(Transformed::no(LogicalPlan::Projection(projection)));
    };
    let exprs = exprs
        .into_iter()
        .zip(saved)
        .map(|(expr, name)| name.restore(expr));
    let plan = Projection::try_new(exprs.collect(), Arc::new(joined))?;
    Ok(Transformed::yes(LogicalPlan::Projection(plan)))
}

/// Joins a plan with the values of the stuck subqueries of expressions on it, which become columns; `None` if one has no
/// domain.
fn with_values(
    input: LogicalPlan,
    exprs: Vec<Expr>,
    domains: &mut usize,
) -> DataFusionResult<Option<(LogicalPlan, Vec<Expr>)>> {
    let schema = input.schema().clone();
    let mut queries: Vec<Subquery> = Vec::new();
    for expr in &exprs {
        expr.each(&mut |part| {
            if let Expr::ScalarSubquery(query) = part
                && is_stuck(part, &schema)?
                && !queries.contains(query)
            {
                queries.push(query.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let bodies = queries.iter().map(|query| query.subquery.as_ref());
    let (input, number) = numbered(input, bodies, domains)?;
    let mut read = Vec::new();
    for query in &queries {
        read.extend(read_of(&query.subquery, &schema)?);
    }
    let (input, forms) = ExactForms::beside(input, read, domains)?;
    let mut joined = input.clone();
    let mut values: Vec<(Subquery, Column)> = Vec::new();
    for query in queries {
        let exact = forms.read_by(query.clone())?;
        let outer = read_of(&exact.subquery, input.schema())?;
        let Some((computed, outer)) = pushed(&exact.subquery, &input, outer, number.as_ref(), domains)?
        else {
            return Ok(None);
        };
        *domains += 1;
        let (value, relation) = (
            format!("value{HIDDEN}{domains}"),
            format!("values{HIDDEN}{domains}"),
        );
        let mut columns = columns_of(&computed);
        let keys = columns.split_off(1);
        let first = columns
            .into_iter()
            .map(|column| Expr::Column(column).alias(&value));
        let computed = LogicalPlanBuilder::from(computed)
            .project(first.chain(keys.into_iter().map(Expr::Column)))?
            .alias(relation)?
            .build()?;
        let computed_columns = columns_of(&computed);
        joined = joined_by(
            joined,
            computed,
            outer,
            &computed_columns[1..],
            JoinType::Left,
            None,
        )?;
        values.push((query, computed_columns[0].clone()));
    }
    let replace = |expr: Expr| {
        let replaced = expr.turn_up(&mut |part| {
            let Expr::ScalarSubquery(query) = &part else {
                return Ok(Transformed::no(part));
            };
            match values.iter().find(|(known, _)| known == query) {
                Some((_, column)) => Ok(Transformed::yes(Expr::Column(column.clone()))),
                None => Ok(Transformed::no(part)),
            }
        })?;
        Ok(replaced.data)
    };
    let exprs = exprs.into_iter().map(replace).collect::<DataFusionResult<_>>()?;
    Ok(Some((joined, exprs)))
}

/// Makes a join of `FROM t, LATERAL (SELECT … t.k …)`.
fn of_lateral(join: Join, domains: &mut usize) -> DataFusionResult<Transformed<LogicalPlan>> {
    let body = match join.right.as_ref() {
        LogicalPlan::Subquery(query) => Some(query.subquery.as_ref().clone()),
        LogicalPlan::SubqueryAlias(alias) => match alias.input.as_ref() {
            LogicalPlan::Subquery(query) => {
                let alias = SubqueryAlias::try_new(query.subquery.clone(), alias.alias.clone())?;
                Some(LogicalPlan::SubqueryAlias(alias))
            }
            _ => None,
        },
        _ => None,
    };
    let takes = matches!(join.join_type, JoinType::Inner | JoinType::Left) && join.on.is_empty();
    let Some(body) = body.filter(|_| takes) else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let outer = read_of(&body, join.left.schema())?;
    let inner = match &body {
        LogicalPlan::SubqueryAlias(alias) => alias.input.as_ref(),
        other => other,
    };
    if outer.is_empty() || (becomes_join(inner, Kind::Value) && !is_volatile(inner)?) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    if join.join_type == JoinType::Inner && is_of_one_row(&body) && !is_volatile(&body)? {
        return of_each_row(&join, &body, domains);
    }
    let (left, number) = numbered(join.left.as_ref().clone(), std::iter::once(&body), domains)?;
    let (left, forms) = ExactForms::beside(left, outer, domains)?;
    let body = forms.read_by(Subquery {
        outer_ref_columns: body.all_out_ref_exprs(),
        subquery: Arc::new(body),
        spans: Spans::new(),
    })?;
    let outer = read_of(&body.subquery, left.schema())?;
    let Some((computed, outer)) = pushed(&body.subquery, &left, outer, number.as_ref(), domains)? else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let shown = join.schema.columns().into_iter().map(Expr::Column);
    let (_, keys) = split_keys(&computed, outer.len());
    let joined = joined_by(left, computed, outer, &keys, join.join_type, join.filter.clone())?;
    let plan = LogicalPlanBuilder::from(joined).project(shown)?.build()?;
    Ok(Transformed::yes(plan))
}

/// Whether a plan makes its rows of a single one without columns, each by itself: what functions in FROM give.
fn is_of_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row && empty.schema.fields().is_empty(),
        LogicalPlan::SubqueryAlias(alias) => is_of_one_row(&alias.input),
        LogicalPlan::Projection(projection) => is_of_one_row(&projection.input),
        LogicalPlan::Filter(filter) => is_of_one_row(&filter.input),
        LogicalPlan::Unnest(unnest) => is_of_one_row(&unnest.input),
        _ => false,
    }
}

/// Makes `FROM t, unnest(t.a)` of each row of `t` as it comes, without a join: all columns of the row are its domain.
fn of_each_row(
    join: &Join,
    body: &LogicalPlan,
    domains: &mut usize,
) -> DataFusionResult<Transformed<LogicalPlan>> {
    let outer = columns_of(&join.left);
    let mut push = Push {
        input: &join.left,
        outer: &outer,
        is_each_row: true,
        domains,
    };
    let Some(computed) = push.down(body)? else {
        return Ok(Transformed::no(LogicalPlan::Join(join.clone())));
    };
    let (columns, keys) = split_keys(&computed, outer.len());
    let shown = keys.into_iter().chain(columns).zip(join.schema.iter());
    let shown = shown.map(|(column, (relation, field))| {
        match column.relation.as_ref() == relation && column.name == *field.name() {
            true => Expr::Column(column),
            false => Expr::Column(column).alias_qualified(relation.cloned(), field.name()),
        }
    });
    let plan = LogicalPlanBuilder::from(computed).project(shown.collect::<Vec<Expr>>())?;
    let plan = match &join.filter {
        Some(filter) => plan.filter(filter.clone())?,
        None => plan,
    };
    Ok(Transformed::yes(plan.build()?))
}

/// Joins by keys of which NULL is one.
pub(super) fn joined_by(
    left: LogicalPlan,
    right: LogicalPlan,
    outer: Vec<Column>,
    keys: &[Column],
    join_type: JoinType,
    filter: Option<Expr>,
) -> DataFusionResult<LogicalPlan> {
    let filter = match outer.is_empty() {
        true => Some(filter.unwrap_or(lit(true))),
        false => filter,
    };
    LogicalPlanBuilder::from(left)
        .join_detailed(
            right,
            join_type,
            (outer, keys.to_vec()),
            filter,
            NullEquality::NullEqualsNull,
        )?
        .build()
}

fn has_stuck(expr: &Expr, schema: &DFSchema) -> DataFusionResult<bool> {
    expr.any(&mut |part| is_stuck(part, schema))
}

/// Whether an expression is a subquery that reads outside, and of which DataFusion makes no join.
fn is_stuck(expr: &Expr, schema: &DFSchema) -> DataFusionResult<bool> {
    let Some(query) = query_of(expr) else {
        return Ok(false);
    };
    let free = free_columns(&query.subquery)?;
    let reads_further = free.iter().any(|column| !schema.has_column(column));
    let kind = match expr {
        Expr::ScalarSubquery(_) => Kind::Value,
        Expr::Exists(_) => Kind::Exists,
        _ => Kind::List,
    };
    let stays = || -> DataFusionResult<bool> {
        Ok(is_volatile(&query.subquery)? || !becomes_join(&query.subquery, kind))
    };
    Ok(!free.is_empty() && (reads_further || stays()?))
}

/// What the query around it reads of a subquery.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Its only value, or its rows.
    Value,
    /// Whether it has rows.
    Exists,
    /// Whether some or all of its rows compare with a value.
    List,
}

/// Whether DataFusion makes a join of a subquery.
fn becomes_join(plan: &LogicalPlan, kind: Kind) -> bool {
    let mut pull_up = PullUpCorrelatedExpr::new()
        .with_need_handle_count_bug(kind == Kind::Value)
        .with_exists_sub_query(kind == Kind::Exists);
    let tried = typed_conditions(plan.clone()).and_then(|plan| plan.rewrite(&mut pull_up));
    tried.is_ok()
        && pull_up.can_pull_up
        && !reads_outside_in_from(plan).unwrap_or(true)
        && !filters_what_is_hidden(plan, false)
        && !has_namesakes(plan, pull_up.correlated_subquery_cols_map.values().flatten())
}

/// Returns a plan whose conditions compare as they will once operands have their types: DataFusion pulls up columns and casts of them, not
/// what else is computed of them.
fn typed_conditions(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    let typed = plan.turn_up(&mut |node| match node {
        LogicalPlan::Filter(filter) => {
            let predicate = typed_part(filter.predicate, filter.input.schema())?;
            let filter = Filter::try_new(predicate, filter.input)?;
            Ok(Transformed::yes(LogicalPlan::Filter(filter)))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(typed.data)
}

/// Whether a function or a LATERAL query in FROM reads what the whole query reads of those around it, as in
/// `(SELECT count(*) FROM unnest(t.a))`: DataFusion does not look into it.
fn reads_outside_in_from(plan: &LogicalPlan) -> DataFusionResult<bool> {
    let free = free_columns(plan)?;
    plan.any(&mut |node| match node {
        LogicalPlan::Subquery(query) => {
            let read = free_columns(&query.subquery)?;
            Ok(read.iter().any(|column| free.contains(column)))
        }
        _ => Ok(false),
    })
}

/// Whether columns of a query and those that its conditions on outer columns read have one name, and are of several tables: DataFusion pulls
/// them up without the names of their tables, and takes one for the other.
fn has_namesakes<'a>(plan: &LogicalPlan, read: impl Iterator<Item = &'a Column>) -> bool {
    let mut columns: Vec<Column> = plan.schema().columns();
    columns.extend(read.cloned());
    columns.iter().any(|one| {
        let is_namesake = |other: &&Column| other.name == one.name && other.relation != one.relation;
        columns.iter().any(|other| is_namesake(&other))
    })
}

/// Whether a condition on outer columns stands where DataFusion does not pull it up rightly: below a name, through which
/// it does not hand the columns that are compared, below a window, or on the side of a join that may be made up.
fn filters_what_is_hidden(plan: &LogicalPlan, is_hidden: bool) -> bool {
    let hides = |at: usize| match plan {
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Window(_) | LogicalPlan::Unnest(_) => true,
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner => false,
            JoinType::Left => at == 1,
            // Those of INTERSECT and EXCEPT have their columns below DISTINCT.
            _ => true,
        },
        _ => false,
    };
    match plan {
        LogicalPlan::Filter(filter) if is_hidden && filter.predicate.contains_outer() => true,
        _ => {
            let mut inputs = plan.inputs().into_iter().enumerate();
            inputs.any(|(at, input)| filters_what_is_hidden(input, is_hidden || hides(at)))
        }
    }
}

/// Returns the outer columns that a subquery reads of a schema.
fn read_of(plan: &LogicalPlan, schema: &DFSchema) -> DataFusionResult<Vec<Column>> {
    let free = free_columns(plan)?;
    Ok(free
        .into_iter()
        .filter(|column| schema.has_column(column))
        .collect())
}

/// Numbers the rows of a plan and keeps them, if it or one of the subqueries on it calls volatile functions. Returns the number's column.
fn numbered<'a>(
    input: LogicalPlan,
    mut queries: impl Iterator<Item = &'a LogicalPlan>,
    domains: &mut usize,
) -> DataFusionResult<(LogicalPlan, Option<Column>)> {
    let is_concerned = is_volatile(&input)?
        || queries.try_fold(false, |any, query| {
            Ok::<_, DataFusionError>(any || is_volatile(query)?)
        })?;
    if !is_concerned {
        return Ok((input, None));
    }
    *domains += 1;
    let name = format!("number{HIDDEN}{domains}");
    let number = row_number();
    let place = Expr::Column(Column::new_unqualified(number.schema_name().to_string()));
    let columns = columns_of(&input).into_iter().map(Expr::Column);
    let plan = LogicalPlanBuilder::from(input)
        .window(vec![number])?
        .project(columns.chain([place.alias(&name)]))?
        .build()?;
    let number = Column::new_unqualified(name);
    Ok((kept(plan, *domains)?, Some(number)))
}

/// Computes a subquery for each of the different values that the outer columns have in a plan, or for each of its numbered rows: its
/// columns, then those of the domain, which are returned. `None` where that is not implemented.
fn pushed(
    plan: &LogicalPlan,
    input: &LogicalPlan,
    mut outer: Vec<Column>,
    number: Option<&Column>,
    domains: &mut usize,
) -> DataFusionResult<Option<(LogicalPlan, Vec<Column>)>> {
    if outer.is_empty() {
        return Ok(Some((plan.clone(), outer)));
    }
    outer.extend(number.cloned());
    let mut push = Push {
        input,
        outer: &outer,
        is_each_row: number.is_some(),
        domains,
    };
    let pushed = push.down(plan)?;
    Ok(pushed.map(|pushed| (pushed, outer)))
}

pub(super) fn columns_of(plan: &LogicalPlan) -> Vec<Column> {
    plan.schema().columns()
}

/// Returns the columns of a plan, and apart from them its last ones.
pub(super) fn split_keys(plan: &LogicalPlan, keys: usize) -> (Vec<Column>, Vec<Column>) {
    let mut columns = columns_of(plan);
    let keys = columns.split_off(columns.len().saturating_sub(keys));
    (columns, keys)
}
