//! The order of a subquery is kept: `SELECT * FROM (SELECT … ORDER BY a) x LIMIT 3` gives the first three.
//!
//! DataFusion leaves out the ORDER BY of a subquery in FROM, and where it stands, threads may mix the rows. Here it
//! is lifted to where order matters, and is an ORDER BY like any other there:
//!
//! | where order matters                            | what becomes of the inner ORDER BY             |
//! |------------------------------------------------|------------------------------------------------|
//! | the result of the statement                    | its ORDER BY, if it has none                   |
//! | LIMIT and OFFSET                               | the same of the query that they belong to      |
//! | `array_agg(x)`, `string_agg(x, ',')`, `first_value(x)` | `array_agg(x ORDER BY …)`              |
//! | `row_number() OVER ()`, `lag(x) OVER (PARTITION BY p)` | `OVER (… ORDER BY …)`                  |
//! | `sum(x) OVER (ROWS UNBOUNDED PRECEDING)`         | the same                                       |
//! | `SELECT DISTINCT ON (k) …`                     | what follows `k` in the order                  |
//! | a part of UNION ALL                            | the part's place, then its rows' places in it  |
//!
//! It is lifted through select lists, conditions, aliases, WITH and views, along columns of its own where the query around it
//! does not show what is ordered by. Joins, groups, DISTINCT and other set operations have no order: an ORDER BY below them
//! that no LIMIT needs is left out, as a sort is that another one follows.
//!
//! The ORDER BY of an aggregate whose result does not depend on it, `avg(x ORDER BY k)`, is left out. DataFusion would sort
//! for it, and hands the sort keys to the aggregate as further arguments.
//!
//! Invariant: a plan without an ORDER BY inside of another query or of an aggregate stays as it is.

use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{Sort as SortKey, WindowFunction};
use datafusion::logical_expr::logical_plan::{
    Aggregate, DistinctOn, Filter, Projection, Sort, SubqueryAlias, Union, Window,
};
use datafusion::logical_expr::{
    Distinct, Expr, LogicalPlan, LogicalPlanBuilder, WindowFrameUnits, WindowFunctionDefinition, lit,
};

use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_walk::{PlanTree, Tree};

/// Aggregates whose result depends on the order of what they are given.
const OF_ORDER: [&str; 5] = [
    "array_agg",
    "string_agg",
    "first_value",
    "last_value",
    "nth_value",
];

/// Window functions of places in a partition, whatever is equal there.
const OF_PLACE: [&str; 4] = ["row_number", "ntile", "lag", "lead"];

/// Window functions of values that stand at a place of the frame.
const OF_FRAME: [&str; 3] = ["first_value", "last_value", "nth_value"];

/// Lifts the ORDER BYs of subqueries to where order matters. The plan is one that is not optimised yet.
pub(crate) fn lift(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.turn_all_up(&mut without_idle_order)?.data;
    let own = usize::from(has_own_order(&plan));
    if sorts(&plan)? == own {
        return Ok(plan);
    }
    let mut lifter = Lifter { names: 0 };
    Ok(lifter.result(plan)?)
}

/// Leaves out the ORDER BY of aggregates that compute the same in any order.
fn without_idle_order(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    let is_idle = |expr: &Expr| match unaliased(expr) {
        Expr::AggregateFunction(function) => {
            !function.params.order_by.is_empty()
                && !OF_ORDER.contains(&function.func.name())
                && !function.func.supports_within_group_clause()
        }
        _ => false,
    };
    match node {
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(is_idle) => {
            let without = |expr: Expr| match is_idle(&expr) {
                false => Ok(expr),
                true => renamed(expr, |part| {
                    if let Expr::AggregateFunction(function) = part {
                        function.params.order_by.clear();
                    }
                }),
            };
            let Aggregate {
                input,
                group_expr,
                aggr_expr,
                ..
            } = aggregate;
            let aggr_expr = aggr_expr
                .into_iter()
                .map(without)
                .collect::<DataFusionResult<_>>()?;
            let aggregate = Aggregate::try_new(input, group_expr, aggr_expr)?;
            Ok(Transformed::yes(LogicalPlan::Aggregate(aggregate)))
        }
        other => Ok(Transformed::no(other)),
    }
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

/// Counts the sorts of a plan and of its subqueries.
fn sorts(plan: &LogicalPlan) -> DataFusionResult<usize> {
    let mut count = 0;
    plan.each_of_all(&mut |node| {
        count += usize::from(matches!(node, LogicalPlan::Sort(_)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(count)
}

/// Whether a query is sorted by its own ORDER BY: nothing is above it but what the query shows, and LIMIT.
fn has_own_order(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Sort(_) => true,
        LogicalPlan::Limit(limit) => has_own_order(&limit.input),
        LogicalPlan::Projection(of) => of.expr.iter().all(is_column) && has_own_order(&of.input),
        _ => false,
    }
}

/// Whether the order of a plan's rows can be taken out of it.
fn passes_order_on(plan: &LogicalPlan) -> bool {
    use LogicalPlan::{Filter, Limit, Projection, Sort, SubqueryAlias, Union, Window};
    match plan {
        Sort(sort) => sort.fetch.is_none(),
        Limit(_) | Projection(_) | Filter(_) | SubqueryAlias(_) | Window(_) | Union(_) => true,
        _ => false,
    }
}

/// Whether an expression is a column, under its name or another one.
fn is_column(expr: &Expr) -> bool {
    column_of(expr).is_some()
}

fn column_of(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => column_of(&alias.expr),
        _ => None,
    }
}

/// A column by which rows are ordered, by its place.
#[derive(Clone, Copy, Debug)]
struct Key {
    at: usize,
    asc: bool,
    nulls_first: bool,
}

/// A plan whose rows are to be in an order.
///
/// Invariant: its first columns are those of the plan that it was made of; columns behind them are there for the order alone.
struct Ordered {
    plan: LogicalPlan,
    /// None if there is no order.
    keys: Vec<Key>,
    /// Whether the plan gives its rows in the order by itself.
    stands: bool,
}

impl Ordered {
    fn without_order(plan: LogicalPlan) -> Self {
        Ordered {
            plan,
            keys: Vec::new(),
            stands: false,
        }
    }

    /// Returns the keys as expressions on the columns of the plan.
    fn sort_keys(&self) -> Vec<SortKey> {
        let key = |key: &Key| SortKey {
            expr: column_at(&self.plan, key.at),
            asc: key.asc,
            nulls_first: key.nulls_first,
        };
        self.keys.iter().map(key).collect()
    }

    /// Returns a plan that gives rows in the order, if there is one.
    fn sorted(self) -> LogicalPlan {
        if self.keys.is_empty() || self.stands {
            return self.plan;
        }
        LogicalPlan::Sort(Sort {
            expr: self.sort_keys(),
            input: Arc::new(self.plan),
            fetch: None,
        })
    }
}

fn column_at(plan: &LogicalPlan, at: usize) -> Expr {
    Expr::Column(Column::from(plan.schema().qualified_field(at)))
}

/// Leaves of a plan its first columns.
fn first_columns(plan: LogicalPlan, count: usize) -> DataFusionResult<LogicalPlan> {
    if plan.schema().fields().len() == count {
        return Ok(plan);
    }
    let columns: Vec<Expr> = (0..count).map(|at| column_at(&plan, at)).collect();
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// Lifts orders, and gives columns of theirs names.
struct Lifter {
    names: usize,
}

impl Lifter {
    /// Lifts orders up to the result of a statement.
    fn result(&mut self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        if has_own_order(&plan) {
            return self.with_own_order(plan);
        }
        let shown = plan.schema().fields().len();
        let ordered = self.lifted(plan)?;
        first_columns(ordered.sorted(), shown)
    }

    /// Keeps a query's own ORDER BY where it stands.
    fn with_own_order(&mut self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let is_sort = matches!(plan, LogicalPlan::Sort(_));
        let plan = self.within_expressions(plan)?;
        let changed = plan.turn_children(&mut |input| {
            let input = match is_sort {
                true => self.settled(input),
                false => self.with_own_order(input),
            };
            input.map(Transformed::yes)
        })?;
        Ok(changed.data)
    }

    /// Lifts orders within the subqueries of a node's expressions.
    fn within_expressions(&mut self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let changed = plan.map_subqueries(|subquery| self.settled(subquery).map(Transformed::yes))?;
        Ok(changed.data)
    }

    /// Lifts orders within a plan whose own order does not matter. It has the same columns afterwards.
    fn settled(&mut self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        match plan {
            LogicalPlan::Sort(Sort {
                input, fetch: None, ..
            }) => self.settled(Arc::unwrap_or_clone(input)),
            LogicalPlan::Limit(_) if has_own_order(&plan) => self.with_own_order(plan),
            LogicalPlan::Limit(_) | LogicalPlan::Window(_) => {
                let shown = plan.schema().fields().len();
                first_columns(self.lifted(plan)?.plan, shown)
            }
            LogicalPlan::Aggregate(_) => {
                let LogicalPlan::Aggregate(aggregate) = self.within_expressions(plan)? else {
                    return Err(unexpected());
                };
                self.aggregated(aggregate)
            }
            LogicalPlan::Distinct(Distinct::On(DistinctOn { sort_expr: None, .. })) => {
                let LogicalPlan::Distinct(Distinct::On(distinct)) = self.within_expressions(plan)? else {
                    return Err(unexpected());
                };
                self.first_of_each(distinct)
            }
            plan => {
                let plan = self.within_expressions(plan)?;
                let changed = plan.turn_children(&mut |input| self.settled(input).map(Transformed::yes))?;
                Ok(changed.data)
            }
        }
    }

    /// Removes the order from a plan, to be applied above it.
    fn lifted(&mut self, plan: LogicalPlan) -> DataFusionResult<Ordered> {
        if !passes_order_on(&plan) {
            return Ok(Ordered::without_order(self.settled(plan)?));
        }
        match self.within_expressions(plan)? {
            LogicalPlan::Sort(Sort {
                expr,
                input,
                fetch: None,
            }) => {
                let input = self.settled(Arc::unwrap_or_clone(input))?;
                self.keyed(input, expr)
            }
            LogicalPlan::Limit(mut limit) => {
                let input = self.lifted(Arc::unwrap_or_clone(limit.input))?;
                let keys = input.keys.clone();
                limit.input = Arc::new(input.sorted());
                Ok(Ordered {
                    plan: LogicalPlan::Limit(limit),
                    stands: !keys.is_empty(),
                    keys,
                })
            }
            LogicalPlan::Projection(projection) => self.projected(projection),
            LogicalPlan::Filter(Filter { predicate, input, .. }) => {
                let input = self.lifted(Arc::unwrap_or_clone(input))?;
                Ok(Ordered {
                    plan: LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(input.plan))?),
                    keys: input.keys,
                    stands: false,
                })
            }
            LogicalPlan::SubqueryAlias(SubqueryAlias { input, alias, .. }) => {
                let input = self.lifted(Arc::unwrap_or_clone(input))?;
                Ok(Ordered {
                    plan: LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(input.plan), alias)?),
                    ..input
                })
            }
            LogicalPlan::Window(window) => self.windowed(window),
            LogicalPlan::Union(union) => self.in_sequence(union),
            plan => Ok(Ordered::without_order(self.settled(plan)?)),
        }
    }

    /// Returns a name that no column has.
    fn name(&mut self) -> String {
        self.names += 1;
        format!("order{HIDDEN}{}", self.names)
    }

    /// Makes columns of keys that are none.
    fn keyed(&mut self, input: LogicalPlan, keys: Vec<SortKey>) -> DataFusionResult<Ordered> {
        let schema = input.schema().clone();
        let mut columns: Vec<Expr> = schema.columns().into_iter().map(Expr::Column).collect();
        let count = columns.len();
        let mut places = Vec::with_capacity(keys.len());
        for SortKey {
            expr,
            asc,
            nulls_first,
        } in keys
        {
            let place = column_of(&expr).and_then(|column| schema.index_of_column(column).ok());
            let at = place.unwrap_or_else(|| {
                columns.push(expr.alias(self.name()));
                columns.len() - 1
            });
            places.push(Key { at, asc, nulls_first });
        }
        let plan = match columns.len() == count {
            true => input,
            false => LogicalPlanBuilder::from(input).project(columns)?.build()?,
        };
        Ok(Ordered {
            plan,
            keys: places,
            stands: false,
        })
    }

    /// Takes keys along that a select list does not show. What changes from row to row is computed on rows in order.
    fn projected(&mut self, projection: Projection) -> DataFusionResult<Ordered> {
        let Projection { mut expr, input, .. } = projection;
        let input = self.lifted(Arc::unwrap_or_clone(input))?;
        let places: Vec<Column> = input.plan.schema().columns();
        let stands = input.stands && expr.iter().all(is_column);
        let mut keys = input.keys.clone();
        for key in &mut keys {
            let column = &places[key.at];
            key.at = match expr.iter().position(|shown| column_of(shown) == Some(column)) {
                Some(at) => at,
                None => {
                    expr.push(Expr::Column(column.clone()).alias(self.name()));
                    expr.len() - 1
                }
            };
        }
        let input = match expr.iter().any(Expr::is_volatile) {
            true => input.sorted(),
            false => input.plan,
        };
        Ok(Ordered {
            plan: LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input))?),
            keys,
            stands,
        })
    }

    /// Has aggregates without an order of their own take rows in that of the input.
    fn aggregated(&mut self, aggregate: Aggregate) -> DataFusionResult<LogicalPlan> {
        let Aggregate {
            input,
            group_expr,
            mut aggr_expr,
            ..
        } = aggregate;
        let input = Arc::unwrap_or_clone(input);
        if !aggr_expr.iter().any(takes_order) {
            let input = self.settled(input)?;
            return Ok(LogicalPlan::Aggregate(Aggregate::try_new(
                Arc::new(input),
                group_expr,
                aggr_expr,
            )?));
        }
        let input = self.lifted(input)?;
        let order = input.sort_keys();
        for expr in &mut aggr_expr {
            if takes_order(expr) {
                *expr = renamed(expr.clone(), |part| {
                    if let Expr::AggregateFunction(function) = part {
                        function.params.order_by.clone_from(&order);
                    }
                })?;
            }
        }
        Ok(LogicalPlan::Aggregate(Aggregate::try_new(
            Arc::new(input.plan),
            group_expr,
            aggr_expr,
        )?))
    }

    /// Has window functions without an order of their own take rows in that of the input.
    fn windowed(&mut self, window: Window) -> DataFusionResult<Ordered> {
        let Window {
            input,
            mut window_expr,
            ..
        } = window;
        let input = Arc::unwrap_or_clone(input);
        let shown = input.schema().fields().len();
        let is_whole = |expr: &Expr| {
            window_of(expr)
                .is_some_and(|of| of.params.partition_by.is_empty() && of.params.order_by.is_empty())
        };
        let keeps_order = window_expr.iter().all(is_whole);
        let input = match keeps_order || window_expr.iter().any(takes_window_order) {
            true => self.lifted(input)?,
            false => Ordered::without_order(self.settled(input)?),
        };
        let order = input.sort_keys();
        for expr in window_expr.iter_mut().filter(|expr| takes_window_order(expr)) {
            *expr = renamed(expr.clone(), |part| {
                if let Expr::WindowFunction(function) = part {
                    function.params.order_by.clone_from(&order);
                }
            })?;
        }
        let (computed, hidden) = (window_expr.len(), input.plan.schema().fields().len() - shown);
        let keys = input.keys.clone();
        let plan = LogicalPlan::Window(Window::try_new(window_expr, Arc::new(input.plan))?);
        if hidden == 0 {
            return Ok(Ordered {
                plan,
                keys: if keeps_order { keys } else { Vec::new() },
                stands: false,
            });
        }
        // What is computed stands behind the columns that are there for the order.
        let kept = if keeps_order { hidden } else { 0 };
        let behind = shown + hidden;
        let places = (0..shown)
            .chain(behind..behind + computed)
            .chain(shown..shown + kept);
        let columns: Vec<Expr> = places.map(|at| column_at(&plan, at)).collect();
        let moved = |key: Key| Key {
            at: if key.at < shown { key.at } else { key.at + computed },
            ..key
        };
        Ok(Ordered {
            plan: LogicalPlanBuilder::from(plan).project(columns)?.build()?,
            keys: match keeps_order {
                true => keys.into_iter().map(moved).collect(),
                false => Vec::new(),
            },
            stands: false,
        })
    }

    /// Has DISTINCT ON choose the first row in the order of the input.
    fn first_of_each(&mut self, distinct: DistinctOn) -> DataFusionResult<LogicalPlan> {
        let DistinctOn {
            on_expr,
            select_expr,
            input,
            ..
        } = distinct;
        let input = self.lifted(Arc::unwrap_or_clone(input))?;
        let mut order: Vec<SortKey> = match input.keys.is_empty() {
            true => Vec::new(),
            false => on_expr.iter().map(|on| on.clone().sort(true, false)).collect(),
        };
        let further = input.sort_keys().into_iter();
        order.extend(further.filter(|key| !on_expr.contains(&key.expr)));
        let sort_expr = (!order.is_empty()).then_some(order);
        let distinct = DistinctOn::try_new(on_expr, select_expr, sort_expr, Arc::new(input.plan))?;
        Ok(LogicalPlan::Distinct(Distinct::On(distinct)))
    }

    /// Gives the rows of each part of a UNION ALL a place, if some of its parts are in an order.
    fn in_sequence(&mut self, union: Union) -> DataFusionResult<Ordered> {
        let shown = union.schema.fields().len();
        let inputs = union.inputs.into_iter().map(Arc::unwrap_or_clone);
        let parts = inputs
            .map(|input| self.lifted(input))
            .collect::<DataFusionResult<Vec<_>>>()?;
        if parts.iter().all(|part| part.keys.is_empty()) {
            let plans = parts.into_iter().map(|part| Arc::new(part.plan)).collect();
            return Ok(Ordered::without_order(LogicalPlan::Union(Union {
                inputs: plans,
                schema: union.schema,
            })));
        }
        let names = [self.name(), self.name()];
        let placed = parts
            .into_iter()
            .enumerate()
            .map(|(nth, part)| placed(part, shown, nth, &names).map(Arc::new));
        let placed = placed.collect::<DataFusionResult<Vec<_>>>()?;
        let key = |at| Key {
            at,
            asc: true,
            nulls_first: false,
        };
        Ok(Ordered {
            plan: LogicalPlan::Union(Union::try_new_with_loose_types(placed)?),
            keys: vec![key(shown), key(shown + 1)],
            stands: false,
        })
    }
}

/// Adds to a part of a UNION ALL which part it is, and the place of each row in it.
fn placed(part: Ordered, shown: usize, nth: usize, names: &[String; 2]) -> DataFusionResult<LogicalPlan> {
    let order = part.sort_keys();
    let [part_name, row_name] = names;
    let mut columns: Vec<Expr> = (0..shown).map(|at| column_at(&part.plan, at)).collect();
    columns.push(lit(nth as i64).alias(part_name));
    if order.is_empty() {
        columns.push(lit(0_i64).alias(row_name));
        return LogicalPlanBuilder::from(part.plan).project(columns)?.build();
    }
    let mut number = WindowFunction::new(row_number_udwf(), Vec::new());
    number.params.order_by = order;
    let number = Expr::WindowFunction(Box::new(number)).alias(row_name);
    let plan = LogicalPlanBuilder::from(part.plan)
        .window(vec![number])?
        .build()?;
    columns.push(Expr::Column(Column::new_unqualified(row_name)));
    LogicalPlanBuilder::from(plan).project(columns)?.build()
}

/// Changes the function of an expression, and leaves the expression its name.
fn renamed(expr: Expr, change: impl Fn(&mut Expr)) -> DataFusionResult<Expr> {
    let name = expr.schema_name().to_string();
    let mut expr = expr;
    match &mut expr {
        Expr::Alias(alias) => change(&mut alias.expr),
        other => change(other),
    }
    expr.alias_if_changed(name)
}

/// Whether an aggregate of a query depends on an order that it does not name.
fn takes_order(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => takes_order(&alias.expr),
        Expr::AggregateFunction(function) => {
            let params = &function.params;
            OF_ORDER.contains(&function.func.name()) && params.order_by.is_empty() && !params.distinct
        }
        _ => false,
    }
}

fn window_of(expr: &Expr) -> Option<&WindowFunction> {
    match expr {
        Expr::Alias(alias) => window_of(&alias.expr),
        Expr::WindowFunction(function) => Some(function),
        _ => None,
    }
}

/// Whether a window function depends on an order that it does not name, and on nothing that is equal in it.
fn takes_window_order(expr: &Expr) -> bool {
    let Some(function) = window_of(expr).filter(|function| function.params.order_by.is_empty()) else {
        return false;
    };
    let frame = &function.params.window_frame;
    let is_whole = frame.start_bound.is_unbounded() && frame.end_bound.is_unbounded();
    let by_rows = frame.units == WindowFrameUnits::Rows;
    match &function.fun {
        WindowFunctionDefinition::WindowUDF(of) if OF_PLACE.contains(&of.name()) => true,
        WindowFunctionDefinition::WindowUDF(of) => OF_FRAME.contains(&of.name()) && (is_whole || by_rows),
        WindowFunctionDefinition::AggregateUDF(of) => match is_whole {
            true => OF_ORDER.contains(&of.name()),
            false => by_rows,
        },
    }
}

fn unexpected() -> datafusion::error::DataFusionError {
    datafusion::error::DataFusionError::Internal("a node stays what it is within its expressions".to_string())
}
