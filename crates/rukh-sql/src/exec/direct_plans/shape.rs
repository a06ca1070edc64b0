//! What a query on one table asks, read off DataFusion's optimised logical plan.
//!
//! Plans of limits, sorts, projections and one scan have a shape, and so have aggregates of a few kinds:
//!
//! | plan                                            | shape                                    |
//! |-------------------------------------------------|------------------------------------------|
//! | `count(*)`, `min(a)`, `max(a)`, several of them | `totals`                                 |
//! | `DISTINCT a`, `max(b) … GROUP BY a`, `DISTINCT ON` | `groups`: one row of each             |
//!
//! Deliberately not here: whether it can run directly, which depends on the access path.

use std::sync::Arc;

use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::expr::{AggregateFunction, NullTreatment};
use datafusion::logical_expr::{
    Aggregate, Expr, FetchType, Limit, LogicalPlan, Projection, SkipType, Sort, SortExpr, TableScan,
};
use rukh_catalog::{ColumnId, Table};
use rukh_planner::{GroupRow, Grouped, OrderKey, TermId};

use crate::exec::operators::both;
use crate::exec::provider::RukhTable;

/// What is wanted of the rows that fulfil the conditions.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Shape {
    /// Columns given out.
    pub(crate) output: Vec<ColumnId>,
    pub(crate) order: Vec<OrderKey>,
    pub(crate) skip: u64,
    pub(crate) fetch: Option<u64>,
    /// One row of each group is wanted.
    pub(crate) groups: Option<Grouped>,
    /// Only these are wanted, in one row; empty if rows are.
    pub(crate) totals: Vec<Total>,
}

/// An aggregate over all rows that fulfil the conditions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Total {
    /// The number of rows.
    Count,
    /// The least or greatest value of a column, and how to read it.
    Extreme { column: ColumnId, rows: Grouped },
}

impl Shape {
    /// The rows wanted before any are skipped.
    pub(crate) fn limit(&self) -> Option<u64> {
        self.fetch.map(|fetch| fetch.saturating_add(self.skip))
    }

    /// Whether it is nothing but columns of rows.
    fn is_plain(&self) -> bool {
        self.fetch.is_none() && self.skip == 0 && self.groups.is_none() && self.totals.is_empty()
    }
}

/// The table, the filters of its scan, and what is wanted of the rows.
pub(crate) type Shaped = (Arc<Table>, Vec<Expr>, Shape);

/// Takes apart a plan of limits, sorts, projections, an aggregate and one scan.
pub(crate) fn shape_of(plan: &LogicalPlan) -> Option<Shaped> {
    match plan {
        LogicalPlan::TableScan(scan) => scan_shape(scan),
        LogicalPlan::SubqueryAlias(alias) => shape_of(&alias.input),
        LogicalPlan::Projection(projection) => projected(projection),
        LogicalPlan::Sort(sort) => sorted(sort),
        LogicalPlan::Limit(limit) => limited(limit),
        LogicalPlan::Aggregate(aggregate) => aggregated(aggregate),
        _ => None,
    }
}

fn scan_shape(scan: &TableScan) -> Option<Shaped> {
    let provider = source_as_provider(&scan.source).ok()?;
    let all = provider.schema().fields().len();
    let table = provider.downcast_ref::<RukhTable>()?.table().clone();
    if table.is_unpopulated() {
        return None;
    }
    let positions = scan.projection.clone().unwrap_or_else(|| (0..all).collect());
    let output = positions
        .iter()
        .map(|position| table.columns[*position].id)
        .collect();
    let shape = Shape {
        output,
        fetch: scan.fetch.map(|fetch| fetch as u64),
        ..Shape::default()
    };
    Some((table, scan.filters.clone(), shape))
}

fn projected(projection: &Projection) -> Option<Shaped> {
    let (table, filters, mut shape) = shape_of(&projection.input)?;
    let schema = projection.input.schema();
    let position = |expr: &Expr| schema.maybe_index_of_column(plain_column(expr)?);
    let positions: Vec<usize> = projection.expr.iter().map(position).collect::<Option<_>>()?;
    match shape.totals.is_empty() {
        true => shape.output = positions.iter().map(|at| shape.output[*at]).collect(),
        false if positions.is_empty() => return None,
        false => shape.totals = positions.iter().map(|at| shape.totals[*at].clone()).collect(),
    }
    Some((table, filters, shape))
}

fn plain_column(expr: &Expr) -> Option<&datafusion::common::Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => plain_column(&alias.expr),
        _ => None,
    }
}

fn sorted(sort: &Sort) -> Option<Shaped> {
    let (table, filters, mut shape) = shape_of(&sort.input)?;
    if !shape.totals.is_empty() || shape.fetch.is_some() || shape.skip > 0 {
        return None;
    }
    let order = order_keys(&sort.expr, &sort.input, &shape)?;
    if let Some(Grouped { by, .. }) = &shape.groups
        && order.iter().any(|key| !by.contains(&key.term))
    {
        return None;
    }
    shape.order = order;
    shape.fetch = sort.fetch.map(|fetch| fetch as u64);
    Some((table, filters, shape))
}

/// An order over columns of a plan of this shape.
fn order_keys(order: &[SortExpr], plan: &LogicalPlan, shape: &Shape) -> Option<Vec<OrderKey>> {
    let key = |sort: &SortExpr| {
        Some(OrderKey {
            term: term_of(&sort.expr, plan, shape)?,
            descending: !sort.asc,
            nulls_first: sort.nulls_first,
        })
    };
    order.iter().map(key).collect()
}

fn term_of(expr: &Expr, plan: &LogicalPlan, shape: &Shape) -> Option<TermId> {
    let position = plan.schema().maybe_index_of_column(plain_column(expr)?)?;
    shape.output.get(position).copied().map(TermId::column)
}

fn limited(limit: &Limit) -> Option<Shaped> {
    let (table, filters, mut shape) = shape_of(&limit.input)?;
    let SkipType::Literal(skip) = limit.get_skip_type().ok()? else {
        return None;
    };
    let FetchType::Literal(fetch) = limit.get_fetch_type().ok()? else {
        return None;
    };
    if shape.skip > 0 || !shape.totals.is_empty() {
        return None;
    }
    // What is below was cut to skip + fetch rows; the limit cuts again.
    let below = shape.fetch.map(|below| below.saturating_sub(skip as u64));
    let fetch = fetch.map(|fetch| fetch as u64);
    shape.skip = skip as u64;
    shape.fetch = match (below, fetch) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Some((table, filters, shape))
}

fn aggregated(aggregate: &Aggregate) -> Option<Shaped> {
    let (table, filters, shape) = shape_of(&aggregate.input)?;
    if !shape.is_plain() {
        return None;
    }
    let shape = match aggregate.group_expr.is_empty() {
        true => totals(aggregate, &shape)?,
        false => grouped(aggregate, &shape)?,
    };
    Some((table, filters, shape))
}

/// `count(*)`, `min` and `max` of all rows.
fn totals(aggregate: &Aggregate, input: &Shape) -> Option<Shape> {
    let total = |expr: &Expr| {
        let call = plain_call(expr)?;
        if is_count_of_rows(call) {
            return Some(Total::Count);
        }
        let [argument] = call.params.args.as_slice() else {
            return None;
        };
        let term = term_of(argument, &aggregate.input, input)?;
        let row = match call.func.name() {
            "min" => GroupRow::Least(term),
            "max" => GroupRow::Greatest(term),
            _ => return None,
        };
        let rows = Grouped { by: Vec::new(), row };
        let column = term.as_column()?;
        Some(Total::Extreme { column, rows })
    };
    let totals: Vec<Total> = aggregate.aggr_expr.iter().map(total).collect::<Option<_>>()?;
    (!totals.is_empty()).then(|| Shape {
        totals,
        ..Shape::default()
    })
}

/// One row of each group: DISTINCT, `min` or `max`, DISTINCT ON.
fn grouped(aggregate: &Aggregate, input: &Shape) -> Option<Shape> {
    let term = |expr: &Expr| match expr {
        Expr::Column(_) | Expr::Alias(_) => term_of(expr, &aggregate.input, input),
        _ => None,
    };
    let by: Vec<TermId> = aggregate.group_expr.iter().map(term).collect::<Option<_>>()?;
    let mut output = by
        .iter()
        .map(|term| term.as_column())
        .collect::<Option<Vec<_>>>()?;
    let mut row = GroupRow::Any;
    for expr in &aggregate.aggr_expr {
        let call = plain_call(expr)?;
        let [argument] = call.params.args.as_slice() else {
            return None;
        };
        let argument = term(argument)?;
        let wanted = match call.func.name() {
            "min" => GroupRow::Least(argument),
            "max" => GroupRow::Greatest(argument),
            "first_value" => GroupRow::First(order_keys(&call.params.order_by, &aggregate.input, input)?),
            _ => return None,
        };
        row = both(row, wanted, &by)?;
        output.push(argument.as_column()?);
    }
    Some(Shape {
        output,
        groups: Some(Grouped { by, row }),
        ..Shape::default()
    })
}

/// The call of an aggregate without DISTINCT, FILTER and IGNORE NULLS.
fn plain_call(expr: &Expr) -> Option<&AggregateFunction> {
    match expr {
        Expr::Alias(alias) => plain_call(&alias.expr),
        Expr::AggregateFunction(call) => {
            let params = &call.params;
            let is_plain = !params.distinct
                && params.filter.is_none()
                && params.null_treatment != Some(NullTreatment::IgnoreNulls);
            is_plain.then_some(call)
        }
        _ => None,
    }
}

fn is_count_of_rows(call: &AggregateFunction) -> bool {
    let constant = |argument: &Expr| matches!(argument, Expr::Literal(value, _) if !value.is_null());
    call.func.name() == "count" && call.params.args.iter().all(constant)
}
