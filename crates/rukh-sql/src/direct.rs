//! Direct plans: queries that are one key access, run without DataFusion.
//!
//! A plan is made from DataFusion's optimised logical plan once, with parameters left open, and bound
//! and run as often as wanted. Whether it holds for given parameters is decided when it starts: the
//! access path must deliver the order, and decoded values must be all that is left to check; otherwise
//! the query runs the general way, with the same rows.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{
    Aggregate, Expr, FetchType, Limit, LogicalPlan, Projection, SkipType, Sort, TableScan,
};
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{RowCursor, ScanCounters, ScanRequest};
use rukh_keys::{Datum, Span};
use rukh_planner::{AccessPath, Constant, OrderKey, Plan, Predicate, TermId, Union, UnionArm, access_path};

use crate::SqlError;
use crate::access::{Conditions, Read, Wanted, accepts, engine_source, is_decidable};
use crate::context::{StatementContext, counted_since};
use crate::provider::RukhTable;
use crate::rows::Columns;

/// Most keys, by estimate, that a direct plan reads; larger scans gain from batches and both cores.
const DIRECT_KEYS_MAX: f64 = 10_000.0;

/// Rows fetched at a time.
const CHUNK_ROWS: usize = 1024;

/// A query on one table that may run as one key access.
#[derive(Debug)]
pub(crate) struct DirectPlan {
    conditions: Conditions,
    shape: Shape,
    shown: Columns,
}

/// What is wanted of the rows that fulfil the conditions.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    /// Columns given out.
    output: Vec<ColumnId>,
    order: Vec<OrderKey>,
    skip: u64,
    fetch: Option<u64>,
    /// Only the number of rows is wanted.
    count: bool,
}

impl DirectPlan {
    /// Returns the direct plan of an optimised logical plan, if it has the form of one.
    pub(crate) fn of(plan: &LogicalPlan) -> Result<Option<Self>, SqlError> {
        let Some((table, filters, shape)) = shape_of(plan) else {
            return Ok(None);
        };
        let conjuncts: Vec<Expr> = filters.iter().flat_map(split_conjunction).cloned().collect();
        if conjuncts.iter().any(Expr::is_volatile) {
            return Ok(None);
        }
        let conditions = Conditions::translate(&table, &conjuncts)?;
        let schema: SchemaRef = Arc::new(plan.schema().as_arrow().clone());
        Ok(Some(DirectPlan {
            conditions,
            shape,
            shown: Columns::of(schema),
        }))
    }

    /// Returns the table read.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.conditions.table
    }

    /// Returns the conditions.
    pub(crate) fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Returns whether this plan, with these parameters, asks the same as `other` does without any.
    pub(crate) fn is_like(&self, params: &[Constant], other: &DirectPlan) -> bool {
        Arc::ptr_eq(self.table(), other.table())
            && self.shape == other.shape
            && self.shown.schema == other.shown.schema
            && self.conditions.bound(params) == other.conditions.predicates
    }

    /// Chooses the access path for these parameters; `None` if the plan does not hold for them.
    pub(crate) fn path(&self, context: &StatementContext, params: &[Constant]) -> Option<Chosen> {
        let bound = self.conditions.bound(params);
        let wanted = self.wanted(&bound);
        let plan = self.conditions.plan(&wanted, context);
        let path = &plan.path;
        if let Some(union) = self.conditions.union(&wanted, context, path) {
            let holds = self.shape.order.is_empty()
                && !self.shape.count
                && union.arms.iter().all(is_arm_decidable)
                && union.estimate.keys <= DIRECT_KEYS_MAX;
            return holds.then_some(Chosen {
                union: Some(union),
                plan,
                bound,
            });
        }
        let left = || path.residual.iter().chain(&path.residual_index);
        let exact = left().next().is_none();
        // Columns are read by batches, on both cores.
        let holds = path.columnar.is_none()
            && (self.shape.order.is_empty() || path.ordered)
            && left().all(|position| is_decidable(&bound[*position]))
            && (path.estimate.keys <= DIRECT_KEYS_MAX || (self.shape.fetch.is_some() && exact))
            && (exact || !self.shape.count);
        holds.then_some(Chosen {
            plan,
            bound,
            union: None,
        })
    }

    /// Returns what the plan wants, for predicates with parameters filled in.
    pub(crate) fn wanted<'a>(&'a self, bound: &'a [Predicate]) -> Wanted<'a> {
        Wanted {
            predicates: bound,
            columns: &self.shape.output,
            order: &self.shape.order,
            limit: self
                .shape
                .fetch
                .map(|fetch| fetch.saturating_add(self.shape.skip)),
        }
    }

    /// Returns the spans of the primary key that the rows asked for are in, if these are all rows in them.
    pub(crate) fn proven_spans(&self, context: &StatementContext) -> Option<Vec<Span>> {
        let conditions = &self.conditions;
        let (hints, statistics) = (conditions.hints(context), conditions.statistics(context));
        let query = conditions.query(&self.wanted(&conditions.predicates), &hints, &statistics);
        let path = access_path(&query, rukh_planner::Source::Table)?;
        let proven = path.masked.is_empty() && path.residual.is_empty() && path.residual_index.is_empty();
        (proven && self.shape.fetch.is_none() && self.shape.skip == 0).then_some(path.spans)
    }

    /// Starts the plan with these parameters; `None` if it does not hold for them.
    pub(crate) fn start(
        &self,
        context: &Arc<StatementContext>,
        params: &[Constant],
    ) -> Result<Option<DirectCursor>, SqlError> {
        let Some(chosen) = self.path(context, params) else {
            return Ok(None);
        };
        context.planned();
        let path = chosen.plan.path;
        let (first, rest) = match chosen.union {
            None => (
                self.reading(&self.conditions, &path, &chosen.bound, context),
                Vec::new(),
            ),
            Some(union) => {
                let reading = |arm: UnionArm| {
                    let conditions = self.conditions.with_predicates(arm.conjuncts);
                    self.reading(&conditions, &arm.path, &conditions.predicates, context)
                };
                let mut readings = union.arms.into_iter().map(reading);
                let first = readings
                    .next()
                    .ok_or_else(|| SqlError::internal("a union has two paths at least"))?;
                (first, readings.collect())
            }
        };
        let source = match self.shape.count {
            true => Source::Count(Box::new(path)),
            false => Source::Rows(Box::new(context.snapshot.scan(first.request)?)),
        };
        Ok(Some(DirectCursor {
            source,
            shown: self.shown.clone(),
            width: self.shape.output.len(),
            columns: first.columns,
            residual: first.residual,
            rest: rest.into_iter(),
            skip: self.shape.skip,
            left: self.shape.fetch,
            table: self.table().clone(),
            context: context.clone(),
            seen: ScanCounters::default(),
        }))
    }

    /// Makes ready what a path is read by; `bound` are the conditions with parameters filled in.
    fn reading(
        &self,
        conditions: &Conditions,
        path: &AccessPath,
        bound: &[Predicate],
        context: &StatementContext,
    ) -> Reading {
        let residual = conditions.residual(path);
        let mut columns = self.shape.output.clone();
        for column in conditions.columns_read(&residual.row) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let picked = |positions: &[usize]| positions.iter().map(|i| bound[*i].clone()).collect::<Vec<_>>();
        let wanted = self
            .shape
            .fetch
            .map(|fetch| fetch.saturating_add(self.shape.skip));
        let read = Read {
            ranges: path.ranges.clone(),
            columns: columns.clone(),
            limit: wanted.filter(|_| residual.row.is_empty()),
            entry: picked(&residual.entry),
            entry_positions: &residual.entry,
            cancel: &context.cancel,
        };
        Reading {
            request: conditions.request(path, read),
            residual: picked(&residual.row),
            columns,
        }
    }
}

/// How a direct plan is run.
pub(crate) struct Chosen {
    /// The access path, and what else there was.
    pub(crate) plan: Plan,
    /// The conditions with parameters filled in.
    pub(crate) bound: Vec<Predicate>,
    /// Several paths that do better.
    pub(crate) union: Option<Union>,
}

/// What a path is read by.
struct Reading {
    request: ScanRequest,
    columns: Vec<ColumnId>,
    residual: Vec<Predicate>,
}

/// Whether decoded values are all that is left to check of an arm.
fn is_arm_decidable(arm: &UnionArm) -> bool {
    let mut left = arm.path.residual.iter().chain(&arm.path.residual_index);
    left.all(|position| is_decidable(&arm.conjuncts[*position]))
}

/// A direct plan being run.
pub(crate) struct DirectCursor {
    source: Source,
    shown: Columns,
    /// Columns given out; further ones serve the residual.
    width: usize,
    columns: Vec<ColumnId>,
    residual: Vec<Predicate>,
    /// Paths to be read after this one.
    rest: std::vec::IntoIter<Reading>,
    skip: u64,
    left: Option<u64>,
    table: Arc<Table>,
    context: Arc<StatementContext>,
    seen: ScanCounters,
}

enum Source {
    Rows(Box<RowCursor>),
    Count(Box<AccessPath>),
    Done,
}

impl DirectCursor {
    /// Returns names and types of the columns given out.
    pub(crate) fn columns(&self) -> Columns {
        self.shown.clone()
    }

    /// Returns the next rows; none at the end.
    pub(crate) fn next_rows(&mut self) -> Result<Vec<Vec<Datum>>, SqlError> {
        match std::mem::replace(&mut self.source, Source::Done) {
            Source::Done => {
                self.context.finished();
                Ok(Vec::new())
            }
            Source::Count(path) => self.count(&path),
            Source::Rows(cursor) => self.read(cursor),
        }
    }

    fn count(&mut self, path: &AccessPath) -> Result<Vec<Vec<Datum>>, SqlError> {
        let source = engine_source(path.source);
        let (rows, counters) =
            self.context
                .snapshot
                .count(&self.table, source, path.ranges.clone(), path.masked.clone())?;
        self.context.totals.add(&counters);
        self.context.finished();
        let rows = i64::try_from(rows).unwrap_or(i64::MAX);
        Ok(match self.skip == 0 && self.left != Some(0) {
            true => vec![vec![Datum::Int(rows)]],
            false => Vec::new(),
        })
    }

    /// Reads on until there are rows to give or the end is reached.
    fn read(&mut self, mut cursor: Box<RowCursor>) -> Result<Vec<Vec<Datum>>, SqlError> {
        let mut rows = Vec::new();
        while rows.is_empty() && self.left != Some(0) {
            self.context.cancel.check()?;
            let read = self.read_chunk(&mut cursor, &mut rows)?;
            self.context.cancel.check()?;
            let counters = cursor.counters();
            self.context.totals.add(&counted_since(&counters, &self.seen));
            self.seen = counters;
            if read == 0 {
                let Some(next) = self.rest.next() else {
                    break;
                };
                (self.columns, self.residual) = (next.columns, next.residual);
                *cursor = self.context.snapshot.scan(next.request)?;
                self.seen = ScanCounters::default();
            }
        }
        match rows.is_empty() {
            true => self.context.finished(),
            false => self.source = Source::Rows(cursor),
        }
        Ok(rows)
    }

    fn read_chunk(&mut self, cursor: &mut RowCursor, rows: &mut Vec<Vec<Datum>>) -> Result<usize, SqlError> {
        let DirectCursor {
            table,
            residual,
            columns,
            width,
            skip,
            left,
            ..
        } = self;
        let read = cursor.next_rows(CHUNK_ROWS, &mut |view| {
            if *left == Some(0) {
                return Ok(());
            }
            let mut row = Vec::with_capacity(columns.len());
            for column in 0..columns.len() {
                row.push(view.datum(column)?.into_owned());
            }
            if !accepts(table, residual, columns, &row) {
                return Ok(());
            }
            if *skip > 0 {
                *skip -= 1;
                return Ok(());
            }
            if let Some(left) = left {
                *left -= 1;
            }
            row.truncate(*width);
            rows.push(row);
            Ok(())
        })?;
        Ok(read)
    }
}

/// Takes apart a plan of limits, sorts, projections and one scan.
fn shape_of(plan: &LogicalPlan) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    match plan {
        LogicalPlan::TableScan(scan) => scan_shape(scan),
        LogicalPlan::SubqueryAlias(alias) => shape_of(&alias.input),
        LogicalPlan::Projection(projection) => projected(projection),
        LogicalPlan::Sort(sort) => sorted(sort),
        LogicalPlan::Limit(limit) => limited(limit),
        LogicalPlan::Aggregate(aggregate) => counted(aggregate),
        _ => None,
    }
}

fn scan_shape(scan: &TableScan) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    let provider = source_as_provider(&scan.source).ok()?;
    let table = provider.downcast_ref::<RukhTable>()?.table().clone();
    let positions = scan
        .projection
        .clone()
        .unwrap_or_else(|| (0..table.columns.len()).collect());
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

fn projected(projection: &Projection) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    let (table, filters, mut shape) = shape_of(&projection.input)?;
    if shape.count {
        return matches!(projection.expr.as_slice(), [expr] if plain_column(expr).is_some())
            .then_some((table, filters, shape));
    }
    let schema = projection.input.schema();
    let column = |expr: &Expr| {
        schema
            .maybe_index_of_column(plain_column(expr)?)
            .map(|i| shape.output[i])
    };
    shape.output = projection.expr.iter().map(column).collect::<Option<_>>()?;
    Some((table, filters, shape))
}

fn plain_column(expr: &Expr) -> Option<&datafusion::common::Column> {
    match expr {
        Expr::Column(column) => Some(column),
        Expr::Alias(alias) => plain_column(&alias.expr),
        _ => None,
    }
}

fn sorted(sort: &Sort) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    let (table, filters, mut shape) = shape_of(&sort.input)?;
    if shape.count || shape.fetch.is_some() || shape.skip > 0 {
        return None;
    }
    let schema = sort.input.schema();
    let key = |sort: &datafusion::logical_expr::SortExpr| {
        let position = schema.maybe_index_of_column(plain_column(&sort.expr)?)?;
        let term = TermId::column(shape.output[position]);
        Some(OrderKey {
            term,
            descending: !sort.asc,
            nulls_first: sort.nulls_first,
        })
    };
    shape.order = sort.expr.iter().map(key).collect::<Option<_>>()?;
    shape.fetch = sort.fetch.map(|fetch| fetch as u64);
    Some((table, filters, shape))
}

fn limited(limit: &Limit) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    let (table, filters, mut shape) = shape_of(&limit.input)?;
    let SkipType::Literal(skip) = limit.get_skip_type().ok()? else {
        return None;
    };
    let FetchType::Literal(fetch) = limit.get_fetch_type().ok()? else {
        return None;
    };
    if shape.skip > 0 || shape.count {
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

/// `count(*)` of a scan.
fn counted(aggregate: &Aggregate) -> Option<(Arc<Table>, Vec<Expr>, Shape)> {
    let [expr] = aggregate.aggr_expr.as_slice() else {
        return None;
    };
    if !aggregate.group_expr.is_empty() || !is_count_of_rows(expr) {
        return None;
    }
    let (table, filters, shape) = shape_of(&aggregate.input)?;
    let plain = shape.fetch.is_none() && shape.skip == 0 && !shape.count;
    plain.then(|| {
        (
            table,
            filters,
            Shape {
                count: true,
                ..Shape::default()
            },
        )
    })
}

fn is_count_of_rows(expr: &Expr) -> bool {
    let Expr::AggregateFunction(call) = unaliased(expr) else {
        return false;
    };
    let constant = |argument: &Expr| matches!(argument, Expr::Literal(value, _) if !value.is_null());
    call.func.name() == "count"
        && !call.params.distinct
        && call.params.filter.is_none()
        && call.params.args.iter().all(constant)
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}
