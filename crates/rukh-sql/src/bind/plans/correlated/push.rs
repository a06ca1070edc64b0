//! A domain pushed down into the plan of a subquery, node by node.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ExprSchema, JoinType, NullEquality, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_window::expr_fn::row_number;
use datafusion::logical_expr::expr::Sort as SortKey;
use datafusion::logical_expr::logical_plan::{
    Aggregate, Distinct, DistinctOn, FetchType, Filter, Join, Limit, Projection, SkipType, Sort,
    SubqueryAlias, Union, Unnest, Values, Window,
};
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{
    Expr, ExprFunctionExt, LogicalPlan, LogicalPlanBuilder, Operator, binary_expr, cast, lit, when,
};
use rukh_syntax::HIDDEN;
use rukh_walk::Tree;

use super::domains::{columns_of, joined_by, split_keys};
use crate::bind::plans::once::is_volatile;
use crate::bind::plans::outer_columns::{changed_within, free_columns, with_query};

/// Pushes a domain down into the plan of a subquery.
pub(super) struct Push<'a> {
    /// What the domain is taken from.
    pub(super) input: &'a LogicalPlan,
    /// Its columns that the subquery reads.
    pub(super) outer: &'a [Column],
    /// Whether the last of them numbers the rows: what is volatile is computed for each.
    pub(super) is_each_row: bool,
    /// How many names were given.
    pub(super) domains: &'a mut usize,
}

/// A plan whose last columns are those of the domain.
pub(super) type Pushed = Option<LogicalPlan>;

impl Push<'_> {
    /// Returns the domain under a name of its own.
    fn domain(&mut self) -> DataFusionResult<LogicalPlan> {
        *self.domains += 1;
        let name = |at: usize| format!("outer{HIDDEN}{}{HIDDEN}{at}", self.domains);
        let columns = self.outer.iter().enumerate();
        let columns = columns.map(|(at, column)| Expr::Column(column.clone()).alias(name(at)));
        let rows = LogicalPlanBuilder::from(self.input.clone()).project(columns)?;
        let rows = match self.is_each_row {
            true => rows,
            false => rows.distinct()?,
        };
        rows.alias(format!("outer{HIDDEN}{}", self.domains))?.build()
    }

    /// Whether a plan has other rows for other values of the domain.
    fn reads_outside(&self, plan: &LogicalPlan) -> DataFusionResult<bool> {
        if self.is_each_row && is_volatile(plan)? {
            return Ok(true);
        }
        let free = free_columns(plan)?;
        Ok(free.iter().any(|column| self.outer.contains(column)))
    }

    fn keys(&self, plan: &LogicalPlan) -> Vec<Column> {
        split_keys(plan, self.outer.len()).1
    }

    /// Returns a plan with the domain pushed into it; `None` where that is not implemented.
    pub(super) fn down(&mut self, plan: &LogicalPlan) -> DataFusionResult<Pushed> {
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
            // A function in FROM that reads the query around it: `FROM unnest(t.a)`.
            LogicalPlan::Subquery(query) => self.down(&query.subquery),
            _ => Ok(None),
        }
    }

    /// Reads outer columns where the domain of an input has them.
    fn inner(&self, expr: Expr, keys: &[Column]) -> DataFusionResult<Expr> {
        let inner = expr.turn_up(&mut |part| match part {
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
        with_query(expr, |query| {
            changed_within(query, &mut |part| match part {
                Expr::OuterReferenceColumn(field, column) => Ok(match self.key(&column, keys) {
                    Some(key) => Transformed::yes(Expr::OuterReferenceColumn(field, key)),
                    None => Transformed::no(Expr::OuterReferenceColumn(field, column)),
                }),
                other => Ok(Transformed::no(other)),
            })
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
            let inner = expr.turn_up(&mut |part| match part {
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
