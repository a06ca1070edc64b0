//! `count(*)`, `count(a)`, `min(a)` and `max(a)` over all rows of a columnar scan: blocks whose rows are all wanted give them
//! by their heads, and only the rows of others are read.
//!
//! | block                                                          | is      |
//! |----------------------------------------------------------------|---------|
//! | all its rows pass the conditions, as its smallest and greatest values prove, and its head has all wanted totals | answered by its head |
//! | none of its rows can pass                                      | pruned  |
//! | some may pass, it has changes among its rows, or lies across an end of the range; a text has only its beginning in the head | read |
//!
//! What smallest and greatest values are is compared by the aggregates themselves, as that of rows is. Each thread gives out one row, of
//! what DataFusion's aggregate would.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::common::tree_node::{Transformed, TransformedResult};
use datafusion::common::{DataFusionError, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::Accumulator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use rukh_engine::TotalWanted;

use super::ScanExec;
use super::delegated::{stands_for, with_children};
use super::one_per_group::Input;
use super::rule::physical_rule;
use super::scan::TotalsScan;
use rukh_functions::errors::external;
use rukh_walk::Tree;

/// Replaces aggregates over all rows of columnar scans. Runs when all else is in its place.
#[derive(Debug)]
pub(crate) struct BlockTotals;

physical_rule!(BlockTotals, "block_totals", |plan, _| {
    plan.turn_up(&mut |node| {
        Ok(match totals_of_blocks(&node)? {
            Some(totals) => Transformed::yes(Arc::new(totals) as Arc<dyn ExecutionPlan>),
            None => Transformed::no(node),
        })
    })
    .data()
});

/// Returns what does the work of a node, if that is an aggregate over all rows which blocks can answer.
///
/// The rows of a scan by one thread are spread over others before they are aggregated; those that are left are not worth it.
fn totals_of_blocks(node: &Arc<dyn ExecutionPlan>) -> DataFusionResult<Option<BlockTotalsExec>> {
    let Some(aggregate) = node.downcast_ref::<AggregateExec>() else {
        return Ok(None);
    };
    let aggregate = match aggregate.input().downcast_ref::<RepartitionExec>() {
        None => node.clone(),
        Some(spread) => with_children(node, vec![spread.input().clone()])?,
    };
    let serves = aggregate
        .downcast_ref::<AggregateExec>()
        .and_then(measures)
        .is_some();
    Ok(serves.then_some(BlockTotalsExec { aggregate }))
}

/// What one aggregate asks, of a column at this position of the scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    /// The number of rows.
    Rows,
    /// The number of rows that are not NULL.
    Filled(usize),
    Least(usize),
    Greatest(usize),
}

impl Measure {
    fn column(self) -> Option<usize> {
        match self {
            Measure::Rows => None,
            Measure::Filled(column) | Measure::Least(column) | Measure::Greatest(column) => Some(column),
        }
    }
}

/// What an aggregate asks of the scan below it; `None` if heads are of no use for it.
fn measures(aggregate: &AggregateExec) -> Option<(&ScanExec, Vec<Measure>)> {
    let is_plain = matches!(aggregate.mode(), AggregateMode::Partial | AggregateMode::Single)
        && aggregate.group_expr().is_single()
        && aggregate.group_expr().expr().is_empty()
        && aggregate.filter_expr().iter().all(Option::is_none)
        && aggregate.limit_options().is_none();
    let input = Input {
        plan: aggregate.input(),
    };
    let scan = input.scan().filter(|scan| is_plain && scan.tells_totals())?;
    let each = aggregate.aggr_expr().iter().map(|call| {
        let [argument] = call.expressions().try_into().ok()?;
        let is_plain = !call.is_distinct() && call.order_bys().is_empty();
        let position = || scan.position_of(input.column(&argument)?);
        // Heads have bounds by stored values, whose order that of intervals is not.
        let schema = aggregate.input().schema();
        let is_ordered = !matches!(argument.data_type(&schema), Ok(DataType::Interval(_)) | Err(_));
        match call.fun().name() {
            _ if !is_plain => None,
            "count" if is_constant(&argument) => Some(Measure::Rows),
            "count" => position().map(Measure::Filled),
            "min" if is_ordered => position().map(Measure::Least),
            "max" if is_ordered => position().map(Measure::Greatest),
            _ => None,
        }
    });
    Some((scan, each.collect::<Option<_>>()?))
}

/// Whether an expression is a value that is not NULL.
pub(super) fn is_constant(argument: &Arc<dyn PhysicalExpr>) -> bool {
    let literal = argument.downcast_ref::<Literal>();
    literal.is_some_and(|literal| !literal.value().is_null())
}

/// Aggregates over all rows of a columnar scan.
#[derive(Debug)]
pub(crate) struct BlockTotalsExec {
    /// The same as DataFusion does it.
    aggregate: Arc<dyn ExecutionPlan>,
}

impl BlockTotalsExec {
    fn aggregate(&self) -> DataFusionResult<&AggregateExec> {
        let aggregate = self.aggregate.downcast_ref::<AggregateExec>();
        aggregate.ok_or_else(|| DataFusionError::Internal("totals of what is no aggregate".to_string()))
    }
}

impl DisplayAs for BlockTotalsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let aggregate = self.aggregate.downcast_ref::<AggregateExec>();
        let names = aggregate.map_or(&[][..], |aggregate| aggregate.aggr_expr());
        let names: Vec<&str> = names.iter().map(|call| call.name()).collect();
        write!(f, "BlockTotalsExec: {}", names.join(", "))
    }
}

impl ExecutionPlan for BlockTotalsExec {
    fn name(&self) -> &'static str {
        "BlockTotalsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    stands_for!(aggregate, |aggregate| Ok(Arc::new(BlockTotalsExec { aggregate })));

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let aggregate = self.aggregate()?;
        let Some((scan, measures)) = measures(aggregate) else {
            // Its input was replaced by another.
            return self.aggregate.execute(partition, context);
        };
        let pairs = measures.iter().zip(aggregate.aggr_expr());
        let tallies = pairs.map(|(measure, call)| Tally::new(*measure, call));
        let totals = Totals {
            wanted: wanted(&measures),
            tallies: tallies.collect::<DataFusionResult<_>>()?,
            is_partial: *aggregate.mode() == AggregateMode::Partial,
            schema: self.schema(),
        };
        let scan = scan.clone();
        let row = async move {
            let scan = scan.start_totals(partition, totals.wanted.clone());
            totals.row(scan.map_err(external)?).await
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            Box::pin(futures::stream::once(row)),
        )))
    }
}

/// Returns the wanted totals of each column.
fn wanted(measures: &[Measure]) -> Vec<TotalWanted> {
    let mut wanted: Vec<TotalWanted> = Vec::new();
    for one in measures {
        let Some(column) = one.column() else { continue };
        let known = wanted.iter().position(|wanted| wanted.column == column);
        let at = known.unwrap_or_else(|| {
            wanted.push(TotalWanted {
                column,
                least: false,
                greatest: false,
            });
            wanted.len() - 1
        });
        wanted[at].least |= matches!(one, Measure::Least(_));
        wanted[at].greatest |= matches!(one, Measure::Greatest(_));
    }
    wanted
}

/// The totals of one partition on their way.
struct Totals {
    wanted: Vec<TotalWanted>,
    tallies: Vec<Tally>,
    /// Whether the final aggregate is made above.
    is_partial: bool,
    schema: SchemaRef,
}

/// One aggregate on its way.
struct Tally {
    measure: Measure,
    rows: u64,
    /// What compares values.
    accumulator: Box<dyn Accumulator>,
}

impl Totals {
    /// Returns the row of all totals.
    async fn row(mut self, scan: Option<TotalsScan>) -> DataFusionResult<RecordBatch> {
        if let Some(mut scan) = scan {
            while let Some(batch) = scan.next_batch().map_err(external)? {
                for tally in &mut self.tallies {
                    tally.add(&batch)?;
                }
                // A cancelled statement ends here.
                tokio::task::yield_now().await;
            }
            if let Some(totals) = scan.head_totals().map_err(external)? {
                for tally in &mut self.tallies {
                    let of = |column| self.wanted.iter().position(|wanted| wanted.column == column);
                    let at = tally.measure.column().and_then(of).unwrap_or_default();
                    match tally.measure {
                        Measure::Rows => tally.rows += totals.rows,
                        Measure::Filled(_) => tally.rows += totals.filled[at],
                        Measure::Least(_) => tally.compare(&totals.ends.slice(0, 1), at)?,
                        Measure::Greatest(_) => tally.compare(&totals.ends.slice(1, 1), at)?,
                    }
                }
            }
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for tally in &mut self.tallies {
            for value in tally.finish(self.is_partial)? {
                columns.push(value.to_array()?);
            }
        }
        Ok(RecordBatch::try_new(self.schema, columns)?)
    }
}

impl Tally {
    fn new(measure: Measure, call: &Arc<AggregateFunctionExpr>) -> DataFusionResult<Self> {
        Ok(Tally {
            measure,
            rows: 0,
            accumulator: call.create_accumulator()?,
        })
    }

    /// Adds rows.
    fn add(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let rows = batch.num_rows();
        match self.measure {
            Measure::Rows => self.rows += rows as u64,
            Measure::Filled(column) => self.rows += (rows - batch.column(column).null_count()) as u64,
            Measure::Least(column) | Measure::Greatest(column) => self.compare(batch, column)?,
        }
        Ok(())
    }

    fn compare(&mut self, batch: &RecordBatch, column: usize) -> DataFusionResult<()> {
        self.accumulator.update_batch(&[batch.column(column).clone()])
    }

    /// Returns what the aggregate gives out.
    fn finish(&mut self, is_partial: bool) -> DataFusionResult<Vec<ScalarValue>> {
        match (self.measure, is_partial) {
            (Measure::Rows | Measure::Filled(_), _) => {
                let rows = i64::try_from(self.rows).unwrap_or(i64::MAX);
                Ok(vec![ScalarValue::Int64(Some(rows))])
            }
            (_, true) => self.accumulator.state(),
            (_, false) => Ok(vec![self.accumulator.evaluate()?]),
        }
    }
}
