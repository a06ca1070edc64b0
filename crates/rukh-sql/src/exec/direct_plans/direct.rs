//! Direct plans: queries that are one key access, run without DataFusion.
//!
//! A plan is made from DataFusion's optimised logical plan once, with parameters left open, and bound
//! and run as often as wanted. Whether it holds for given parameters is decided when it starts: the
//! access path must deliver the order, and decoded values must be all that is left to check; otherwise
//! the query runs the general way, with the same rows.

use std::sync::Arc;
use std::time::Instant;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan};
use rukh_catalog::{ColumnId, Table};
use rukh_engine::{RowCursor, ScanCounters, ScanRequest};
use rukh_keys::{Datum, Span};
use rukh_planner::{AccessPath, Constant, Plan, Predicate, Union, UnionArm, access_path};

use crate::exec::access::{Conditions, Read, Wanted, accepts};
use crate::exec::columns::Columns;
use crate::exec::context::StatementContext;
use crate::exec::direct_plans::point_read::PointRead;
use crate::exec::direct_plans::prefix_read::PrefixRead;
use crate::exec::direct_plans::shape::{Shape, Total, shape_of};
use crate::exec::direct_plans::totals::{TotalRead, Totals};
use crate::exec::within::RowNames;
use rukh_error::SqlError;

/// Most keys, by estimate, that a direct plan reads; larger scans gain from batches and both cores.
const DIRECT_KEYS_MAX: f64 = 10_000.0;

/// Most keys, by estimate, that several totals read again which one of them has read: as many as
/// DataFusion's plan of one scan costs.
const KEYS_AGAIN_MAX: f64 = 2_000.0;

/// Rows fetched at a time.
const CHUNK_ROWS: usize = 1024;

/// A query on one table that may run as one key access.
#[derive(Debug)]
pub(crate) struct DirectPlan {
    conditions: Conditions,
    shape: Shape,
    shown: Columns,
    /// It is nothing but the read of one row by its key.
    point: Option<PointRead>,
    /// It may be nothing but the read of a key prefix.
    prefix: Option<PrefixRead>,
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
        let shown = Columns::of(schema);
        Ok(Some(DirectPlan {
            point: PointRead::of(&conditions, &shape, &shown),
            prefix: PrefixRead::of(&conditions, &shape, &shown),
            conditions,
            shape,
            shown,
        }))
    }

    /// Returns the read of one row by its key that this is, if so.
    pub(crate) fn point(&self) -> Option<&PointRead> {
        self.point.as_ref()
    }

    /// Returns the read of a key prefix that this may be, if so.
    pub(crate) fn prefix(&self) -> Option<&PrefixRead> {
        self.prefix.as_ref()
    }

    /// Returns the table read.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.conditions.table
    }

    /// Returns the names of the columns given out.
    pub(crate) fn column_names(&self) -> Vec<&str> {
        let fields = self.shown.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
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

    /// Chooses the access paths for these parameters, one for each total if there are some; `None` if
    /// the plan does not hold for them.
    pub(crate) fn paths(&self, context: &StatementContext, params: &[Constant]) -> Option<Vec<Chosen>> {
        let bound = self.conditions.bound(params);
        match self.shape.totals.len() {
            0 => Some(vec![self.chosen(context, bound, None)?]),
            count => {
                let totals = (0..count).map(Some);
                let chosen = totals.map(|total| self.chosen(context, bound.clone(), total));
                let chosen: Vec<Chosen> = chosen.collect::<Option<_>>()?;
                let keys = || chosen.iter().map(|one| one.plan.path.estimate.keys);
                let again = keys().sum::<f64>() - keys().fold(0.0, f64::max);
                (again <= KEYS_AGAIN_MAX).then_some(chosen)
            }
        }
    }

    /// Whether it gives the number of rows of the table, and nothing else.
    fn counts_table(&self) -> bool {
        self.shape.totals == [Total::Count] && self.conditions.predicates.is_empty()
    }

    fn chosen(
        &self,
        context: &StatementContext,
        bound: Vec<Predicate>,
        total: Option<usize>,
    ) -> Option<Chosen> {
        let wanted = self.wanted(&bound, total);
        let plan = self.conditions.plan(&wanted, context);
        let path = &plan.path;
        let all_rows = total.is_none() && self.shape.groups.is_none();
        if all_rows && let Some(union) = self.conditions.union(&wanted, context, path) {
            let holds = self.shape.order.is_empty()
                && union.arms.iter().all(|arm| is_arm_decidable(arm, self.table()))
                && union.estimate.keys <= DIRECT_KEYS_MAX;
            return holds.then_some(Chosen {
                union: Some(union),
                plan,
                bound,
                total,
                kept: None,
            });
        }
        let left = || path.residual.iter().chain(&path.residual_index);
        let exact = left().next().is_none();
        // The index within is read to its end.
        let stops = self.shape.fetch.is_some() && path.within.is_none();
        let counts = total.is_some_and(|at| self.shape.totals[at] == Total::Count);
        let grouped = self.shape.groups.is_none() || path.loose.as_ref().is_some_and(|loose| loose.exact);
        // Columns are read by batches, on both cores.
        let holds = path.columnar.is_none()
            && (self.shape.order.is_empty() || path.ordered)
            && grouped
            && left().all(|position| bound[*position].is_decidable(self.table().as_ref()))
            && (path.estimate.keys <= DIRECT_KEYS_MAX || (stops && exact))
            && (!counts || (exact && path.within.is_none()));
        // The number of rows is read, or found once.
        let counts_table = self.counts_table();
        let kept = counts_table.then(|| context.snapshot.kept_rows(self.table()).ok());
        let kept = kept.flatten().flatten();
        let can_count = || context.engine.can_count_rows(&context.snapshot, self.table());
        let is_known = kept.is_some() || counts_table && can_count();
        (holds || is_known).then_some(Chosen {
            plan,
            bound,
            union: None,
            total,
            kept,
        })
    }

    /// Returns what the plan wants, for predicates with parameters filled in: rows, or one total.
    pub(crate) fn wanted<'a>(&'a self, bound: &'a [Predicate], total: Option<usize>) -> Wanted<'a> {
        let shape = &self.shape;
        let rows = Wanted {
            predicates: bound,
            columns: &shape.output,
            order: &shape.order,
            limit: shape.limit(),
            groups: shape.groups.as_ref(),
        };
        match total.map(|at| &shape.totals[at]) {
            Some(Total::Extreme { column, rows: groups }) => Wanted {
                columns: std::slice::from_ref(column),
                groups: Some(groups),
                ..rows
            },
            Some(Total::Count) | None => rows,
        }
    }

    /// Returns the spans of the primary key that hold exactly the result's rows, if there are such.
    pub(crate) fn proven_spans(&self, context: &StatementContext) -> Option<Vec<Span>> {
        let conditions = &self.conditions;
        let (hints, statistics) = (conditions.hints(context), conditions.statistics(context));
        let query = conditions.query(&self.wanted(&conditions.predicates, None), &hints, &statistics);
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
        let Some(mut paths) = self.paths(context, params) else {
            return Ok(None);
        };
        context.planned();
        if !self.shape.totals.is_empty() {
            return Ok(Some(self.total(paths, context)));
        }
        let chosen = paths.remove(0);
        let path = chosen.plan.path;
        let (first, rest) = match chosen.union {
            None => (self.reading_within(path, &chosen.bound, context)?, Vec::new()),
            Some(union) => {
                let reading = |arm: UnionArm| {
                    let conditions = self.conditions.with_predicates(arm.conjuncts);
                    self.reading(
                        &conditions,
                        &arm.path,
                        &self.shape.output,
                        &conditions.predicates,
                        None,
                        context,
                    )
                };
                let mut readings = union.arms.into_iter().map(reading);
                let first = readings
                    .next()
                    .ok_or_else(|| SqlError::internal("a union has two paths at least"))?;
                (first, readings.collect())
            }
        };
        let source = Source::Rows(Box::new(context.snapshot.scan(first.request)?));
        Ok(Some(DirectCursor {
            source,
            shown: self.shown.clone(),
            width: self.shape.output.len(),
            columns: first.columns,
            residual: first.residual,
            part: (!rest.is_empty()).then_some(0),
            rest: rest.into_iter(),
            skip: self.shape.skip,
            left: self.shape.fetch,
            table: self.table().clone(),
            context: context.clone(),
            seen: ScanCounters::default(),
        }))
    }

    /// Makes ready what totals are read by.
    fn total(&self, paths: Vec<Chosen>, context: &Arc<StatementContext>) -> DirectCursor {
        let part = |(chosen, total): (Chosen, &Total)| {
            let path = chosen.plan.path;
            let Total::Extreme { column, rows } = total else {
                return match chosen.kept {
                    Some(rows) => TotalRead::Kept(rows),
                    None if self.counts_table() => TotalRead::Rows(Box::new(path)),
                    None => TotalRead::Count(Box::new(path)),
                };
            };
            let output = std::slice::from_ref(column);
            TotalRead::Extreme {
                reading: Box::new(self.reading(
                    &self.conditions,
                    &path,
                    output,
                    &chosen.bound,
                    None,
                    context,
                )),
                row: rows.row.clone(),
            }
        };
        let parts = paths.into_iter().zip(&self.shape.totals).map(part).collect();
        DirectCursor {
            source: Source::Totals(Totals { parts }),
            shown: self.shown.clone(),
            width: 0,
            columns: Vec::new(),
            residual: Vec::new(),
            part: None,
            rest: Vec::new().into_iter(),
            skip: 0,
            left: None,
            table: self.table().clone(),
            context: context.clone(),
            seen: ScanCounters::default(),
        }
    }

    /// Makes ready what the path of all rows is read by; reads what these have to be among.
    fn reading_within(
        &self,
        path: AccessPath,
        bound: &[Predicate],
        context: &StatementContext,
    ) -> Result<Reading, SqlError> {
        let conditions = &self.conditions;
        let reading = |path: &AccessPath, names| {
            self.reading(conditions, path, &self.shape.output, bound, names, context)
        };
        let Some(within) = &path.within else {
            return Ok(reading(&path, None));
        };
        let (names, counters) = conditions.names_within(within, bound, context)?;
        context.totals.add(&counters);
        if names.is_some() {
            return Ok(reading(&path, names));
        }
        let alone = conditions.plan_on(path.source, &self.wanted(bound, None), context);
        let alone = alone.ok_or_else(|| SqlError::internal("what was planned can be planned again"))?;
        Ok(reading(&alone, None))
    }

    /// Makes ready what a path is read by; `bound` are the conditions with parameters filled in.
    fn reading(
        &self,
        conditions: &Conditions,
        path: &AccessPath,
        output: &[ColumnId],
        bound: &[Predicate],
        within: Option<Arc<RowNames>>,
        context: &StatementContext,
    ) -> Reading {
        let residual = conditions.residual(path);
        let mut columns = output.to_vec();
        for column in conditions.columns_read(&residual.row) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let picked = |positions: &[usize]| positions.iter().map(|i| bound[*i].clone()).collect::<Vec<_>>();
        let read = Read {
            ranges: path.ranges.clone(),
            columns: columns.clone(),
            limit: self.shape.limit().filter(|_| residual.row.is_empty()),
            entry: picked(&residual.entry),
            entry_positions: &residual.entry,
            within,
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
    /// Which total it is for, if the plan has totals.
    pub(crate) total: Option<usize>,
    /// The number of rows of the table, if the total is that and it is kept.
    pub(crate) kept: Option<u64>,
}

/// What a path is read by.
pub(crate) struct Reading {
    pub(crate) request: ScanRequest,
    pub(crate) columns: Vec<ColumnId>,
    pub(crate) residual: Vec<Predicate>,
}

/// Whether decoded values are all that is left to check of an arm.
fn is_arm_decidable(arm: &UnionArm, table: &Table) -> bool {
    let mut left = arm.path.residual.iter().chain(&arm.path.residual_index);
    left.all(|position| arm.conjuncts[*position].is_decidable(table))
}

/// A direct plan being run.
pub(crate) struct DirectCursor {
    source: Source,
    shown: Columns,
    /// Columns given out; further ones serve the residual.
    width: usize,
    columns: Vec<ColumnId>,
    residual: Vec<Predicate>,
    /// The position of the path being read, if there are several.
    part: Option<usize>,
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
    Totals(Totals),
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
            Source::Totals(totals) => self.total(totals),
            Source::Rows(cursor) => self.read(cursor),
        }
    }

    fn total(&mut self, totals: Totals) -> Result<Vec<Vec<Datum>>, SqlError> {
        let row = totals.row(&self.table, &self.context)?;
        self.context.finished();
        Ok(vec![row])
    }

    /// Reads on until there are rows to give or the end is reached.
    fn read(&mut self, mut cursor: Box<RowCursor>) -> Result<Vec<Vec<Datum>>, SqlError> {
        let mut rows = Vec::new();
        while rows.is_empty() && self.left != Some(0) {
            self.context.cancel.check()?;
            let started = self.part.map(|_| Instant::now());
            let read = self.read_chunk(&mut cursor, &mut rows)?;
            self.context.cancel.check()?;
            let counters = cursor.counters();
            let new = counters - self.seen;
            self.context.totals.add(&new);
            self.seen = counters;
            if let (Some(part), Some(started)) = (self.part, started) {
                let rows = rows.len() as u64;
                let new = ScanCounters { rows, ..new };
                self.context.add_to_part(part, &new, started.elapsed());
            }
            if read == 0 {
                let Some(next) = self.rest.next() else {
                    break;
                };
                self.part = self.part.map(|part| part + 1);
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
            if !accepts(table, residual, columns, &row)? {
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
