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
//! Deliberately not here: recursive queries, FULL JOIN and GROUPING SETS that read outer columns, and outer rows that are
//! computed with volatile functions, since they would be computed twice. Those stay as they are, and are refused later.
//!
//! A subquery that reads outside and calls volatile functions is to run once for each row; a domain and a join would run it once for each
//! value. [`volatile_once_a_row`] refuses it.

use std::sync::Arc;

use datafusion::arrow::datatypes::FieldRef;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, JoinType, NullEquality, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::{Exists, InSubquery, Sort as SortKey};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, FetchType, Filter, Join, Limit, Projection, SkipType, Sort,
    SubqueryAlias, Union, Unnest, Values, Window,
};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, binary_expr, cast, lit, when,
};
use datafusion::optimizer::decorrelate::PullUpCorrelatedExpr;

use crate::once::is_volatile;
use crate::outer_columns::{free_columns, query_of};
use crate::subqueries::counted;
use rukh_error::HIDDEN;
use rukh_error::SqlError;

/// Makes joins of the subqueries of which DataFusion makes none.
pub(crate) fn joined_by_domain(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let mut domains = 0;
    let plan = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Filter(filter) => of_filter(filter, &mut domains),
        LogicalPlan::Projection(projection) => of_projection(projection, &mut domains),
        LogicalPlan::Join(join) => of_lateral(join, &mut domains),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(plan.data)
}

/// Fails with 0A000 if a correlated subquery calls volatile functions.
pub(crate) fn volatile_once_a_row(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|part| {
                if let Some(query) = query_of(part)
                    && is_volatile(&query.subquery)?
                    && !free_columns(&query.subquery)?.is_empty()
                {
                    let message = "volatile functions in a correlated subquery are not supported";
                    return Err(DataFusionError::External(Box::new(SqlError::unsupported(
                        message,
                    ))));
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(plan)
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
        let counts = conjunct.transform_up(|part| match is_stuck(&part, &schema)? {
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
        expr.apply(|part| {
            if let Expr::ScalarSubquery(query) = part
                && is_stuck(part, &schema)?
                && !queries.contains(query)
            {
                queries.push(query.clone());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let mut joined = input.clone();
    let mut values: Vec<(Subquery, Column)> = Vec::new();
    for query in queries {
        let outer = read_of(&query.subquery, &schema)?;
        let Some(computed) = pushed(&query.subquery, &input, &outer, domains)? else {
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
        let replaced = expr.transform_up(|part| {
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
    if outer.is_empty() || becomes_join(inner, Kind::Value) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let Some(computed) = pushed(&body, &join.left, &outer, domains)? else {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    };
    let left = join.left.as_ref().clone();
    let shown = join.schema.columns().into_iter().map(Expr::Column);
    let (_, keys) = split_keys(&computed, outer.len());
    let joined = joined_by(left, computed, outer, &keys, join.join_type, join.filter.clone())?;
    let plan = LogicalPlanBuilder::from(joined).project(shown)?.build()?;
    Ok(Transformed::yes(plan))
}

/// Joins by keys of which NULL is one.
fn joined_by(
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
    expr.exists(|part| is_stuck(part, schema))
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
    Ok(!free.is_empty() && (reads_further || !becomes_join(&query.subquery, kind)))
}

/// What a subquery is asked for.
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
    let tried = plan.clone().rewrite(&mut pull_up);
    tried.is_ok() && pull_up.can_pull_up && !filters_what_is_hidden(plan, false)
}

/// Whether a condition on outer columns stands where DataFusion does not pull it up rightly: below a name, through which
/// it does not hand the columns that are compared, below a window, or on the side of a join that may be made up.
fn filters_what_is_hidden(plan: &LogicalPlan, is_hidden: bool) -> bool {
    let hides = |at: usize| match plan {
        LogicalPlan::SubqueryAlias(_) | LogicalPlan::Window(_) | LogicalPlan::Unnest(_) => true,
        LogicalPlan::Join(join) => match join.join_type {
            JoinType::Inner => false,
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => at == 1,
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

/// Computes a subquery for each of the different values that the outer columns have in a plan: its columns, then those
/// of the domain. `None` if it cannot be told how.
fn pushed(
    plan: &LogicalPlan,
    input: &LogicalPlan,
    outer: &[Column],
    domains: &mut usize,
) -> DataFusionResult<Option<LogicalPlan>> {
    if outer.is_empty() {
        return Ok(Some(plan.clone()));
    }
    let is_volatile = input.exists(|node| Ok(node.expressions().iter().any(Expr::is_volatile)))?;
    if is_volatile {
        return Ok(None);
    }
    let mut push = Push {
        input,
        outer,
        domains,
    };
    push.down(plan)
}

fn columns_of(plan: &LogicalPlan) -> Vec<Column> {
    plan.schema().columns()
}

/// Returns the columns of a plan, and apart from them its last ones.
fn split_keys(plan: &LogicalPlan, keys: usize) -> (Vec<Column>, Vec<Column>) {
    let mut columns = columns_of(plan);
    let keys = columns.split_off(columns.len().saturating_sub(keys));
    (columns, keys)
}

/// Pushes a domain down into the plan of a subquery.
struct Push<'a> {
    /// What the domain is taken from.
    input: &'a LogicalPlan,
    /// Its columns that the subquery reads.
    outer: &'a [Column],
    /// How many names were given.
    domains: &'a mut usize,
}

/// A plan whose last columns are those of the domain.
type Pushed = Option<LogicalPlan>;

impl Push<'_> {
    /// Returns the domain under a name of its own.
    fn domain(&mut self) -> DataFusionResult<LogicalPlan> {
        *self.domains += 1;
        let name = |at: usize| format!("outer{HIDDEN}{}{HIDDEN}{at}", self.domains);
        let columns = self.outer.iter().enumerate();
        let columns = columns.map(|(at, column)| Expr::Column(column.clone()).alias(name(at)));
        LogicalPlanBuilder::from(self.input.clone())
            .project(columns)?
            .distinct()?
            .alias(format!("outer{HIDDEN}{}", self.domains))?
            .build()
    }

    fn reads_outside(&self, plan: &LogicalPlan) -> DataFusionResult<bool> {
        let free = free_columns(plan)?;
        Ok(free.iter().any(|column| self.outer.contains(column)))
    }

    fn keys(&self, plan: &LogicalPlan) -> Vec<Column> {
        split_keys(plan, self.outer.len()).1
    }

    fn down(&mut self, plan: &LogicalPlan) -> DataFusionResult<Pushed> {
        if !self.reads_outside(plan)? {
            let is_one_row = matches!(plan, LogicalPlan::EmptyRelation(empty)
                if empty.produce_one_row && empty.schema.fields().is_empty());
            let domain = self.domain()?;
            return Ok(Some(match is_one_row {
                true => domain,
                false => LogicalPlanBuilder::from(plan.clone())
                    .cross_join(domain)?
                    .build()?,
            }));
        }
        match plan {
            LogicalPlan::Projection(projection) => self.projection(projection),
            LogicalPlan::Filter(filter) => self.filter(filter),
            LogicalPlan::SubqueryAlias(alias) => {
                let Some(input) = self.down(&alias.input)? else {
                    return Ok(None);
                };
                let alias = SubqueryAlias::try_new(Arc::new(input), alias.alias.clone())?;
                Ok(Some(LogicalPlan::SubqueryAlias(alias)))
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => self.sort(sort),
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let input = self.down(input)?;
                Ok(input.map(|input| LogicalPlan::Distinct(Distinct::All(Arc::new(input)))))
            }
            LogicalPlan::Distinct(Distinct::On(distinct)) => self.distinct_on(distinct),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Window(window) => self.window(window),
            LogicalPlan::Unnest(unnest) => self.unnest(unnest),
            LogicalPlan::Values(values) => self.values(values),
            _ => Ok(None),
        }
    }

    /// Reads outer columns where the domain of an input has them.
    fn inner(&self, expr: Expr, keys: &[Column]) -> DataFusionResult<Expr> {
        let inner = expr.transform_up(|part| match part {
            Expr::OuterReferenceColumn(field, column) => Ok(match self.key(&column, keys) {
                Some(key) => Transformed::yes(Expr::Column(key)),
                None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
            }),
            other => self.inner_query(other, keys),
        })?;
        Ok(inner.data)
    }

    fn all_inner(&self, exprs: &[Expr], keys: &[Column]) -> DataFusionResult<Vec<Expr>> {
        exprs.iter().map(|expr| self.inner(expr.clone(), keys)).collect()
    }

    fn keys_inner(&self, keys: &[SortKey], domain: &[Column]) -> DataFusionResult<Vec<SortKey>> {
        let inner = |key: &SortKey| {
            let expr = self.inner(key.expr.clone(), domain)?;
            Ok(SortKey { expr, ..key.clone() })
        };
        keys.iter().map(inner).collect()
    }

    fn key(&self, column: &Column, keys: &[Column]) -> Option<Column> {
        let at = self.outer.iter().position(|known| known == column)?;
        keys.get(at).cloned()
    }

    /// Reads outer columns of subqueries within where the domain has them.
    fn inner_query(&self, expr: Expr, keys: &[Column]) -> DataFusionResult<Transformed<Expr>> {
        let moved = |query: Subquery| self.moved(query, keys);
        Ok(match expr {
            Expr::ScalarSubquery(query) => Transformed::yes(Expr::ScalarSubquery(moved(query)?)),
            Expr::Exists(exists) => {
                let subquery = moved(exists.subquery)?;
                Transformed::yes(Expr::Exists(Exists { subquery, ..exists }))
            }
            Expr::InSubquery(list) => {
                let subquery = moved(list.subquery)?;
                Transformed::yes(Expr::InSubquery(InSubquery { subquery, ..list }))
            }
            other => Transformed::no(other),
        })
    }

    fn moved(&self, query: Subquery, keys: &[Column]) -> DataFusionResult<Subquery> {
        let to_key = |part: Expr| match &part {
            Expr::OuterReferenceColumn(field, column) => Ok(match self.key(column, keys) {
                Some(key) => Transformed::yes(Expr::OuterReferenceColumn(FieldRef::clone(field), key)),
                None => Transformed::no(part),
            }),
            _ => Ok(Transformed::no(part)),
        };
        let plan = query
            .subquery
            .as_ref()
            .clone()
            .transform_up_with_subqueries(|node| {
                let names = NamePreserver::new(&node);
                node.map_expressions(|expr| {
                    let name = names.save(&expr);
                    let expr = expr.transform_up(to_key)?;
                    Ok(expr.update_data(|expr| name.restore(expr)))
                })
            })?;
        let outer = query.outer_ref_columns.into_iter();
        let outer = outer.map(|column| Ok(column.transform_up(to_key)?.data));
        Ok(Subquery {
            subquery: Arc::new(plan.data),
            outer_ref_columns: outer.collect::<DataFusionResult<_>>()?,
            spans: query.spans,
        })
    }

    /// Gives columns of a plan the names of a schema; the keys follow.
    fn renamed(
        plan: LogicalPlan,
        columns: Vec<Expr>,
        keys: Vec<Column>,
        schema: &DFSchema,
    ) -> DataFusionResult<Pushed> {
        let named = columns
            .into_iter()
            .zip(schema.iter())
            .map(|(expr, (relation, field))| {
                let is_named = matches!(&expr, Expr::Column(column)
                if column.relation.as_ref() == relation && column.name == *field.name());
                match is_named {
                    true => expr,
                    false => expr.alias_qualified(relation.cloned(), field.name()),
                }
            });
        let exprs = named.chain(keys.into_iter().map(Expr::Column)).collect();
        let projection = Projection::try_new(exprs, Arc::new(plan))?;
        Ok(Some(LogicalPlan::Projection(projection)))
    }

    fn projection(&mut self, projection: &Projection) -> DataFusionResult<Pushed> {
        let Some(input) = self.down(&projection.input)? else {
            return Ok(None);
        };
        let keys = self.keys(&input);
        let exprs = self.all_inner(&projection.expr, &keys)?;
        Self::renamed(input, exprs, keys, &projection.schema)
    }

    fn filter(&mut self, filter: &Filter) -> DataFusionResult<Pushed> {
        let Some(input) = self.down(&filter.input)? else {
            return Ok(None);
        };
        let condition = self.inner(filter.predicate.clone(), &self.keys(&input))?;
        let filter = Filter::try_new(condition, Arc::new(input))?;
        Ok(Some(LogicalPlan::Filter(filter)))
    }

    fn sort(&mut self, sort: &Sort) -> DataFusionResult<Pushed> {
        let Some(input) = self.down(&sort.input)? else {
            return Ok(None);
        };
        let expr = self.keys_inner(&sort.expr, &self.keys(&input))?;
        Ok(Some(LogicalPlan::Sort(Sort {
            expr,
            input: Arc::new(input),
            fetch: None,
        })))
    }

    fn aggregate(&mut self, aggregate: &Aggregate) -> DataFusionResult<Pushed> {
        let is_plain = |expr: &Expr| !matches!(expr, Expr::GroupingSet(_));
        if !aggregate.group_expr.iter().all(is_plain) {
            return Ok(None);
        }
        let Some(input) = self.down(&aggregate.input)? else {
            return Ok(None);
        };
        let keys = self.keys(&input);
        let groups = self.all_inner(&aggregate.group_expr, &keys)?;
        let computed = self.all_inner(&aggregate.aggr_expr, &keys)?;
        let groups: Vec<Expr> = keys.iter().cloned().map(Expr::Column).chain(groups).collect();
        let has_groups = groups.len() > keys.len();
        let plan = LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(input), groups, computed)?);
        let mut columns = columns_of(&plan);
        let values = columns.split_off(keys.len());
        if has_groups {
            let values = values.into_iter().map(Expr::Column).collect();
            return Self::renamed(plan, values, columns, &aggregate.schema);
        }
        // Without groups there is a row for no rows, too.
        let of_nothing = aggregate.aggr_expr.iter().zip(&values).map(|(expr, column)| {
            let value = Expr::Column(column.clone());
            let Expr::AggregateFunction(call) = expr.clone().unalias_nested().data else {
                return Ok(value);
            };
            let ty = plan.schema().field_from_column(column)?.data_type();
            let default: ScalarValue = call.func.default_value(ty)?;
            match default.is_null() {
                true => Ok(value),
                false => when(value.clone().is_null(), lit(default)).otherwise(value),
            }
        });
        let values = of_nothing.collect::<DataFusionResult<Vec<Expr>>>()?;
        let domain = self.domain()?;
        let all = columns_of(&domain);
        let joined = joined_by(domain, plan, all.clone(), &columns, JoinType::Left, None)?;
        Self::renamed(joined, values, all, &aggregate.schema)
    }

    fn limit(&mut self, limit: &Limit) -> DataFusionResult<Pushed> {
        let below = |input: &Arc<LogicalPlan>| {
            LogicalPlan::Limit(Limit {
                skip: limit.skip.clone(),
                fetch: limit.fetch.clone(),
                input: input.clone(),
            })
        };
        let (input, order) = match limit.input.as_ref() {
            LogicalPlan::Projection(projection) => {
                let input = Arc::new(below(&projection.input));
                return self.projection(&Projection::try_new(projection.expr.clone(), input)?);
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let input = Arc::new(below(&alias.input));
                let alias = SubqueryAlias::try_new(input, alias.alias.clone())?;
                return self.down(&LogicalPlan::SubqueryAlias(alias));
            }
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => (sort.input.as_ref(), sort.expr.as_slice()),
            other => (other, [].as_slice()),
        };
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return Ok(None);
        };
        let Some(input) = self.down(input)? else {
            return Ok(None);
        };
        let (columns, keys) = split_keys(&input, self.outer.len());
        let by = keys.iter().cloned().map(Expr::Column).collect();
        let order = self.keys_inner(order, &keys)?;
        let number = row_number().partition_by(by);
        let number = match order.is_empty() {
            true => number.build()?,
            false => number.order_by(order).build()?,
        };
        let place = Expr::Column(Column::new_unqualified(number.schema_name().to_string()));
        let skip = i64::try_from(skip).unwrap_or(i64::MAX);
        let mut within = place.clone().gt(lit(skip));
        if let Some(fetch) = fetch {
            let last = skip.saturating_add(i64::try_from(fetch).unwrap_or(i64::MAX));
            within = within.and(place.lt_eq(lit(last)));
        }
        let shown = columns.into_iter().chain(keys).map(Expr::Column);
        let plan = LogicalPlanBuilder::from(input)
            .window(vec![number])?
            .filter(within)?
            .project(shown)?
            .build()?;
        Ok(Some(plan))
    }

    fn distinct_on(&mut self, distinct: &DistinctOn) -> DataFusionResult<Pushed> {
        let Some(input) = self.down(&distinct.input)? else {
            return Ok(None);
        };
        let keys = self.keys(&input);
        let domain = || keys.iter().cloned().map(Expr::Column);
        let on = domain()
            .chain(self.all_inner(&distinct.on_expr, &keys)?)
            .collect();
        let select: Vec<Expr> = self.all_inner(&distinct.select_expr, &keys)?;
        let select = select.into_iter().chain(domain()).collect();
        let sort = match &distinct.sort_expr {
            Some(sort) => {
                let first = domain().map(|key| key.sort(true, false));
                Some(first.chain(self.keys_inner(sort, &keys)?).collect())
            }
            None => None,
        };
        let plan = LogicalPlanBuilder::from(input)
            .distinct_on(on, select, sort)?
            .build()?;
        let (columns, keys) = split_keys(&plan, keys.len());
        let columns = columns.into_iter().map(Expr::Column).collect();
        Self::renamed(plan, columns, keys, &distinct.schema)
    }

    fn join(&mut self, join: &Join) -> DataFusionResult<Pushed> {
        use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right};
        let (left, right) = (self.reads_outside(&join.left)?, self.reads_outside(&join.right)?);
        let (push_left, push_right) = match join.join_type {
            Inner => (left || !right, right),
            Left | LeftSemi | LeftAnti => (true, right),
            Right => (left, true),
            _ => return Ok(None),
        };
        let (left, right) = (join.left.as_ref(), join.right.as_ref());
        let left_side = if push_left {
            self.down(left)?
        } else {
            Some(left.clone())
        };
        let right_side = if push_right {
            self.down(right)?
        } else {
            Some(right.clone())
        };
        let (Some(left), Some(right)) = (left_side, right_side) else {
            return Ok(None);
        };
        let count = self.outer.len();
        let (left_columns, left_keys) = split_keys(&left, if push_left { count } else { 0 });
        let (right_columns, right_keys) = split_keys(&right, if push_right { count } else { 0 });
        let keys = if push_left && join.join_type != Right {
            &left_keys
        } else {
            &right_keys
        };
        let mut on = Vec::new();
        let mut conditions: Vec<Expr> = Vec::new();
        for (one, other) in &join.on {
            match one.contains_outer() || other.contains_outer() {
                true if join.null_equality == NullEquality::NullEqualsNull => return Ok(None),
                true => conditions.push(one.clone().eq(other.clone())),
                false => on.push((one.clone(), other.clone())),
            }
        }
        conditions.extend(join.filter.clone());
        let mut conditions = self.all_inner(&conditions, keys)?;
        if push_left && push_right {
            let pairs = left_keys.iter().zip(&right_keys);
            conditions.extend(pairs.map(|(one, other)| {
                let (one, other) = (Expr::Column(one.clone()), Expr::Column(other.clone()));
                binary_expr(one, Operator::IsNotDistinctFrom, other)
            }));
        }
        let keys = keys.clone();
        let plan = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            conjunction(conditions),
            join.join_type,
            join.join_constraint,
            join.null_equality,
            join.null_aware,
        )?;
        let columns = match join.join_type {
            LeftSemi | LeftAnti => left_columns,
            _ => left_columns.into_iter().chain(right_columns).collect(),
        };
        let columns = columns.into_iter().map(Expr::Column).collect();
        Self::renamed(LogicalPlan::Join(plan), columns, keys, &join.schema)
    }

    fn union(&mut self, union: &Union) -> DataFusionResult<Pushed> {
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let Some(input) = self.down(input)? else {
                return Ok(None);
            };
            inputs.push(Arc::new(input));
        }
        let plan = LogicalPlan::Union(Union::try_new_with_loose_types(inputs)?);
        let (columns, keys) = split_keys(&plan, self.outer.len());
        let columns = columns.into_iter().map(Expr::Column).collect();
        Self::renamed(plan, columns, keys, &union.schema)
    }

    fn window(&mut self, window: &Window) -> DataFusionResult<Pushed> {
        let Some(input) = self.down(&window.input)? else {
            return Ok(None);
        };
        let (mut columns, keys) = split_keys(&input, self.outer.len());
        let by_domain = |expr: Expr| {
            let inner = expr.transform_up(|part| match part {
                Expr::WindowFunction(mut call) => {
                    let domain = keys.iter().cloned().map(Expr::Column);
                    let by = std::mem::take(&mut call.params.partition_by);
                    call.params.partition_by = domain.chain(by).collect();
                    Ok(Transformed::yes(Expr::WindowFunction(call)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            Ok(inner.data)
        };
        let calls = self.all_inner(&window.window_expr, &keys)?;
        let calls: Vec<Expr> = calls
            .into_iter()
            .map(by_domain)
            .collect::<DataFusionResult<_>>()?;
        let plan = LogicalPlan::Window(Window::try_new(calls, Arc::new(input))?);
        let computed = columns_of(&plan).split_off(columns.len() + keys.len());
        columns.extend(computed);
        let columns = columns.into_iter().map(Expr::Column).collect();
        Self::renamed(plan, columns, keys, &window.schema)
    }

    fn unnest(&mut self, unnest: &Unnest) -> DataFusionResult<Pushed> {
        if unnest.list_type_columns.iter().any(|(_, list)| list.depth > 1) {
            return Ok(None);
        }
        let Some(input) = self.down(&unnest.input)? else {
            return Ok(None);
        };
        let plan = Unnest::try_new(
            Arc::new(input),
            unnest.exec_columns.clone(),
            unnest.options.clone(),
        )?;
        Ok(Some(LogicalPlan::Unnest(plan)))
    }

    fn values(&mut self, values: &Values) -> DataFusionResult<Pushed> {
        let mut rows = Vec::with_capacity(values.values.len());
        for row in &values.values {
            let domain = self.domain()?;
            let keys = columns_of(&domain);
            let typed = self
                .all_inner(row, &keys)?
                .into_iter()
                .zip(values.schema.fields());
            let typed = typed
                .map(|(expr, field)| cast(expr, field.data_type().clone()))
                .collect();
            rows.extend(Self::renamed(domain, typed, keys, &values.schema)?.map(Arc::new));
        }
        let plan = match rows.as_slice() {
            [one] => one.as_ref().clone(),
            _ => LogicalPlan::Union(Union::try_new_with_loose_types(rows)?),
        };
        let (columns, keys) = split_keys(&plan, self.outer.len());
        let columns = columns.into_iter().map(Expr::Column).collect();
        Self::renamed(plan, columns, keys, &values.schema)
    }
}
