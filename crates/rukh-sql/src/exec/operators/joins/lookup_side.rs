//! The side of a lookup join whose rows are read by key.
//!
//! For the keys of some rows of the other side there is one condition, `k IN (…)` or
//! `(k, l) IN ((…), …)`, with which the scan of this side is planned as if it stood in the statement: the
//! planner makes points or prefix ranges of it, in the table or in an index, and adds what else WHERE
//! says. It may give more rows than have one of the keys, never less; the join compares them.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, Statistics};
use rukh_catalog::{ColumnId, KeyElement, KeyExpr, Table};
use rukh_keys::{DataType, Datum};
use rukh_planner::{AccessPath, CompareOp, Constant, Operand, Predicate, ScanKind, Source, TermId, TermKind};

use crate::exec::access::{Conditions, Wanted};
use crate::exec::operators::ScanExec;
use crate::exec::operators::scan_column::{CastColumn, ScanColumn};
use rukh_error::SqlError;
use rukh_functions::errors::external;
use rukh_functions::scalars::datums_from_array;
use rukh_functions::types::{arrow_type, data_type_of_arrow};

/// A scan to be read by key, and what stands between it and the join.
#[derive(Clone, Debug)]
pub(crate) struct LookupSide {
    scan: ScanExec,
    projection: Option<Arc<ProjectionExec>>,
    keys: Vec<LookupKey>,
    one: Arc<OneKey>,
}

/// A column that is compared with an expression of the other side.
#[derive(Clone, Debug)]
struct LookupKey {
    /// Position among the pairs that the join compares.
    pair: usize,
    column: ColumnId,
    /// The column, or its cast to a wider type.
    operand: Operand,
    /// Type of the values of the other side.
    ty: DataType,
    /// Whether these are texts that stand for UUIDs.
    is_uuid: bool,
}

/// How the rows of any one key are read.
#[derive(Debug)]
pub(crate) struct OneKey {
    /// The conditions of the scan and, behind them, an equality per key.
    pub(crate) conditions: Conditions,
    /// The path for them.
    pub(crate) path: AccessPath,
}

impl LookupSide {
    /// Makes the left input of a join one that is read by key; `None` if it has no key for it.
    pub(crate) fn of(join: &HashJoinExec) -> Option<LookupSide> {
        let (scan, projection) = scan_of(join.left())?;
        if scan.fetch().is_some() || scan.is_volatile() {
            return None;
        }
        let mut keys: Vec<LookupKey> = Vec::new();
        for (pair, (left, right)) in join.on().iter().enumerate() {
            let ty = data_type_of_arrow(&right.data_type(&join.right().schema()).ok()?);
            let column = CastColumn::of(left.as_ref(), projection.as_deref());
            let key = column.and_then(|column| LookupKey::new(&scan, pair, &column, ty));
            let is_new = |key: &LookupKey| keys.iter().all(|known| known.column != key.column);
            keys.extend(key.filter(is_new));
        }
        let one = OneKey::of(&scan, &keys)?;
        Some(LookupSide {
            scan,
            projection,
            keys,
            one: Arc::new(one),
        })
    }

    /// Returns the scan.
    pub(crate) fn scan(&self) -> &ScanExec {
        &self.scan
    }

    /// Returns how the rows of one key are read.
    pub(crate) fn one(&self) -> &OneKey {
        &self.one
    }

    /// Returns the positions, among the pairs that the join compares, of those that rows are read by.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = usize> + '_ {
        self.keys.iter().map(|key| key.pair)
    }

    /// Estimates the rows of the whole side.
    pub(crate) fn statistics(&self) -> DataFusionResult<Arc<Statistics>> {
        use datafusion::physical_plan::{StatisticsArgs, StatisticsContext};
        match &self.projection {
            Some(projection) => StatisticsContext::new().compute(projection.as_ref(), &StatisticsArgs::new()),
            None => StatisticsContext::new().compute(&self.scan, &StatisticsArgs::new()),
        }
    }

    /// Returns the condition on rows that have the key of one of these rows of the other side, given what
    /// the join compares of them; `None` if no row has.
    pub(crate) fn condition(
        &self,
        pairs: &[(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)],
        rows: &RecordBatch,
    ) -> DataFusionResult<Option<Predicate>> {
        let mut columns = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let values = pairs[key.pair].1.evaluate(rows)?.into_array(rows.num_rows())?;
            let datums = datums_from_array(&values, &key.ty).map_err(external)?;
            columns.push(
                datums
                    .into_iter()
                    .map(|datum| key.value(datum))
                    .collect::<Vec<_>>(),
            );
        }
        let mut seen = HashSet::with_capacity(rows.num_rows());
        for row in 0..rows.num_rows() {
            let tuple: Vec<Datum> = columns
                .iter_mut()
                .map(|c| std::mem::replace(&mut c[row], Datum::Null))
                .collect();
            if !tuple.iter().any(Datum::is_null) {
                seen.insert(tuple);
            }
        }
        let constants = |tuple: Vec<Datum>| -> Vec<Operand> {
            let types = self.keys.iter().map(LookupKey::constant_type);
            tuple
                .into_iter()
                .zip(types)
                .map(|(datum, ty)| Operand::Constant(Constant::new(datum, ty)))
                .collect()
        };
        let mut tuples = seen.into_iter().map(constants);
        let condition = match self.keys.as_slice() {
            _ if tuples.len() == 0 => return Ok(None),
            [key] => Predicate::In {
                operand: key.operand.clone(),
                list: tuples.flatten().collect(),
                negated: false,
            },
            keys if tuples.len() == 1 => {
                let tuple = tuples.next().unwrap_or_default();
                let equal = |(key, constant): (&LookupKey, Operand)| {
                    Predicate::compare(CompareOp::Eq, key.operand.clone(), constant)
                };
                Predicate::And(keys.iter().zip(tuple).map(equal).collect())
            }
            keys => Predicate::RowIn {
                left: keys.iter().map(|key| key.operand.clone()).collect(),
                list: tuples.collect(),
                negated: false,
            },
        };
        Ok(Some(condition))
    }

    /// Reads the rows that fulfil the condition, as the join takes them, until `take` returns `false`.
    pub(crate) fn read(
        &self,
        condition: Predicate,
        take: &mut dyn FnMut(RecordBatch) -> Result<bool, SqlError>,
    ) -> Result<(), SqlError> {
        self.scan
            .narrowed(vec![condition])?
            .read(&mut |batch| take(self.projected(batch)?))
    }

    fn projected(&self, batch: RecordBatch) -> Result<RecordBatch, SqlError> {
        let Some(projection) = &self.projection else {
            return Ok(batch);
        };
        let value = |expr: &Arc<dyn PhysicalExpr>| expr.evaluate(&batch)?.into_array(batch.num_rows());
        let columns = projection.expr().iter().map(|projected| value(&projected.expr));
        let columns = columns.collect::<DataFusionResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let projected = RecordBatch::try_new_with_options(projection.schema(), columns, &options);
        Ok(projected.map_err(DataFusionError::from)?)
    }
}

impl LookupKey {
    /// Makes a key of a column given out by a scan, if values of a type can be looked for in it exactly.
    fn new(scan: &ScanExec, pair: usize, column: &CastColumn, ty: DataType) -> Option<Self> {
        let of = ScanColumn::of(scan.outputs(), column)?;
        (arrow_type(&ty) == arrow_type(&of.ty)).then_some(LookupKey {
            pair,
            column: of.column,
            operand: of.operand,
            ty,
            is_uuid: of.ty == DataType::Uuid,
        })
    }

    /// Returns a value of the other side as it is looked for; NULL if no row can have it.
    fn value(&self, datum: Datum) -> Datum {
        match &datum {
            Datum::Text(text) if self.is_uuid => DataType::Uuid.parse_text(text).unwrap_or(Datum::Null),
            _ => datum,
        }
    }

    fn constant_type(&self) -> DataType {
        if self.is_uuid { DataType::Uuid } else { self.ty }
    }
}

impl OneKey {
    /// Plans the read of one key; `None` if it would not narrow what is read.
    fn of(scan: &ScanExec, keys: &[LookupKey]) -> Option<OneKey> {
        if keys.is_empty() {
            return None;
        }
        let (base, context) = (scan.conditions(), scan.context());
        let columns: Vec<ColumnId> = keys.iter().map(|key| key.column).collect();
        let statistics = base.statistics(context);
        let equal = |id: &ColumnId| {
            let (term, ty) = (TermId::column(*id), base.table.column(*id)?.ty);
            let any = Constant::new(statistics.any_value(term, ty), ty);
            Some(Predicate::compare(
                CompareOp::Eq,
                Operand::Term(term),
                Operand::Constant(any),
            ))
        };
        let equalities = columns.iter().map(equal).collect::<Option<Vec<_>>>()?;
        let conditions = base.narrowed(equalities);
        // What else is said of the columns may rule out the value that stands for all.
        let own = base.predicates.len();
        let is_apart = |at: usize| at < own && speaks_of(&base.predicates[at], &columns);
        let planned = |(at, predicate): (usize, &Predicate)| match is_apart(at) {
            true => Predicate::True,
            false => predicate.clone(),
        };
        let planned: Vec<Predicate> = conditions.predicates.iter().enumerate().map(planned).collect();
        let wanted = Wanted {
            predicates: &planned,
            order: &[],
            limit: None,
            ..scan.wanted()
        };
        let mut path = conditions.plan(&wanted, context).path;
        if !narrows(&path, scan.path()) {
            return None;
        }
        path.residual_index.retain(|at| *at < own);
        path.residual.retain(|at| *at < own);
        path.residual.extend((0..own).filter(|at| is_apart(*at)));
        let elements = elements(&base.table, path.source);
        path.masked_tests.retain(
            |test| match elements.get(test.column).map(|element| &element.expr) {
                Some(KeyExpr::Column(id)) => !columns.contains(id),
                _ => true,
            },
        );
        Some(OneKey { conditions, path })
    }

    /// Returns what is wanted, as the path was planned.
    pub(crate) fn wanted<'a>(&'a self, scan: &'a ScanExec) -> Wanted<'a> {
        Wanted {
            predicates: &self.conditions.predicates,
            order: &[],
            limit: None,
            ..scan.wanted()
        }
    }
}

/// Whether the path for one key reads fewer keys than the path for all.
fn narrows(one: &AccessPath, all: &AccessPath) -> bool {
    match one.kind {
        ScanKind::PointLookup => true,
        ScanKind::SkipScan | ScanKind::RangeScan => one.estimate.keys * 2.0 <= all.estimate.keys,
        ScanKind::Empty | ScanKind::FullScan | ScanKind::Columnar => false,
    }
}

fn speaks_of(predicate: &Predicate, columns: &[ColumnId]) -> bool {
    let mut found = false;
    predicate.visit_terms(&mut |term| {
        found |= match term.kind() {
            TermKind::Column(column) | TermKind::Hash { column, .. } => columns.contains(&column),
            TermKind::Expression(_) => true,
        };
    });
    found
}

fn elements(table: &Table, source: Source) -> Vec<KeyElement> {
    match source {
        Source::Table => table.primary_key.clone(),
        Source::Index(id) => table
            .index(id)
            .map_or_else(Vec::new, |index| index.key_elements(table)),
    }
}

/// Takes apart an input that is a scan, or columns computed of one.
fn scan_of(plan: &Arc<dyn ExecutionPlan>) -> Option<(ScanExec, Option<Arc<ProjectionExec>>)> {
    if let Some(scan) = plan.downcast_ref::<ScanExec>() {
        return Some((scan.clone(), None));
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let scan = projection.input().downcast_ref::<ScanExec>()?;
    Some((scan.clone(), Some(Arc::new(projection.clone()))))
}
