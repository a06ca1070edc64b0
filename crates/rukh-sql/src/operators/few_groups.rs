//! GROUP BY of a columnar scan whose groups are known to be few: the partial aggregate of each thread.
//!
//! DataFusion hashes and compares the columns that rows are grouped by, all of them for each row. Here each column's values get
//! numbers in the order in which they are seen, and so do pairs of numbers, until one number tells the group:
//!
//! | column a | column b | number of a | number of b | of both: the group |
//! |----------|----------|-------------|-------------|--------------------|
//! | `N`      | `O`      | 1           | 1           | 0                  |
//! | `R`      | `F`      | 2           | 2           | 1                  |
//! | `N`      | `F`      | 1           | 2           | 2                  |
//! | NULL     | `F`      | 0           | 2           | 3                  |
//!
//! Values are integers of 64 bits, and so are texts of up to seven bytes with their length; longer ones are looked up first. What
//! is summed, counted and compared is DataFusion's own, and so is the final aggregate of what the threads give out: results are
//! the same in every bit. Where groups turn out to be many, those that are there are given out and forgotten.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, UInt32Array};
use datafusion::arrow::compute::{concat, take};
use datafusion::arrow::datatypes::{
    ArrowPrimitiveType, DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, SchemaRef,
    Time64MicrosecondType, TimeUnit, TimestampMicrosecondType,
};
use datafusion::common::cast::as_boolean_array;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Statistics};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{EmitTo, GroupsAccumulator};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildStats, DisplayAs, DisplayFormatType, ExecutionPlan, InputOrderMode, PlanProperties,
    ReplaceChildrenOptions, StatisticsArgs,
};
use futures::StreamExt;
use rukh_planner::TermId;

use super::one_per_group::Input;

/// Groups that a thread has at once, about.
const GROUPS_MAX: usize = 8192;

/// Columns that rows are grouped by, at most.
const COLUMNS_MAX: usize = 8;

/// Replaces partial aggregates of columnar scans. Runs when all else is in its place.
#[derive(Debug)]
pub(crate) struct FewGroups;

impl PhysicalOptimizerRule for FewGroups {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| {
            let serves = node.downcast_ref::<AggregateExec>().is_some_and(serves);
            Ok(match serves {
                true => {
                    Transformed::yes(Arc::new(FewGroupsExec { aggregate: node }) as Arc<dyn ExecutionPlan>)
                }
                false => Transformed::no(node),
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "few_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether an aggregate is one of few groups of a columnar scan.
fn serves(aggregate: &AggregateExec) -> bool {
    let by = aggregate.group_expr();
    let plain = *aggregate.mode() == AggregateMode::Partial
        && by.is_single()
        && !by.has_grouping_set()
        && (1..=COLUMNS_MAX).contains(&by.expr().len())
        && aggregate.limit_options().is_none()
        && aggregate.dynamic_expressions_produced().is_empty()
        && *aggregate.input_order_mode() == InputOrderMode::Linear;
    let mut aggregates = aggregate.aggr_expr().iter();
    plain
        && aggregates
            .all(|one| one.groups_accumulator_supported() && !one.is_distinct() && one.order_bys().is_empty())
        && has_few_groups(aggregate)
}

/// Whether an aggregate is of a columnar scan, and statistics say that its groups are few.
fn has_few_groups(aggregate: &AggregateExec) -> bool {
    let input = Input {
        plan: aggregate.input(),
    };
    let Some(scan) = input.scan().filter(|scan| scan.path().columnar.is_some()) else {
        return false;
    };
    if !scan.context().methods.few_groups {
        return false;
    }
    let known = scan.conditions().statistics(scan.context());
    let schema = aggregate.input().schema();
    let mut groups = 1_u64;
    for (expr, _) in aggregate.group_expr().expr() {
        let distinct = input
            .column(expr)
            .and_then(|id| known.terms.get(&TermId::column(id))?.distinct);
        let (Some(distinct), Ok(ty)) = (distinct, expr.data_type(&schema)) else {
            return false;
        };
        // NULL is a group, too.
        groups = groups.saturating_mul(distinct.saturating_add(1));
        if !is_numbered(&ty) {
            return false;
        }
    }
    groups <= GROUPS_MAX as u64
}

/// Whether values of a type are told apart by their bits.
fn is_numbered(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Boolean
            | DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Time64(TimeUnit::Microsecond)
            | DataType::Timestamp(TimeUnit::Microsecond, _)
            | DataType::Utf8
    )
}

/// A partial aggregate of few groups.
#[derive(Debug)]
pub(crate) struct FewGroupsExec {
    /// The same as DataFusion does it.
    aggregate: Arc<dyn ExecutionPlan>,
}

impl FewGroupsExec {
    fn aggregate(&self) -> DataFusionResult<&AggregateExec> {
        let aggregate = self.aggregate.downcast_ref::<AggregateExec>();
        aggregate.ok_or_else(|| DataFusionError::Internal("a group of what is no aggregate".to_string()))
    }
}

impl DisplayAs for FewGroupsExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FewGroupsExec")
    }
}

impl ExecutionPlan for FewGroupsExec {
    fn name(&self) -> &'static str {
        "FewGroupsExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.aggregate.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.aggregate.children()
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        self.aggregate.apply_expressions(f)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        options: ReplaceChildrenOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let aggregate = self.aggregate.clone().replace_children(children, options)?;
        Ok(Arc::new(FewGroupsExec { aggregate }))
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let anew = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
        self.replace_children(children, anew)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.aggregate.child_stats_requests(partition)
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        self.aggregate.statistics_from_inputs(inputs, args)
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let aggregate = self.aggregate()?;
        let of = |(one, filter): (&Arc<_>, &Option<Arc<dyn PhysicalExpr>>)| {
            let one: &Arc<datafusion::physical_expr::aggregate::AggregateFunctionExpr> = one;
            Ok(Aggregate {
                arguments: one.expressions(),
                filter: filter.clone(),
                accumulator: one.create_groups_accumulator()?,
            })
        };
        let pairs = aggregate.aggr_expr().iter().zip(aggregate.filter_expr());
        let by: Vec<Arc<dyn PhysicalExpr>> = aggregate.group_expr().input_exprs();
        let grouping = Grouping {
            input: aggregate.input().execute(partition, context.clone())?,
            numbers: Numbers::new(by.len()),
            firsts: vec![Vec::new(); by.len()],
            by,
            aggregates: pairs.map(of).collect::<DataFusionResult<_>>()?,
            schema: self.schema(),
            reservation: MemoryConsumer::new("FewGroups").register(context.memory_pool()),
            rows_max: context.session_config().batch_size(),
            ready: None,
            ended: false,
        };
        let stream = futures::stream::try_unfold(grouping, |mut grouping| async move {
            let batch = grouping.next().await?;
            Ok(batch.map(|batch| (batch, grouping)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            self.schema(),
            Box::pin(stream),
        )))
    }
}

/// One aggregate of the rows of each group.
struct Aggregate {
    arguments: Vec<Arc<dyn PhysicalExpr>>,
    filter: Option<Arc<dyn PhysicalExpr>>,
    accumulator: Box<dyn GroupsAccumulator>,
}

/// One partition being grouped.
struct Grouping {
    input: SendableRecordBatchStream,
    by: Vec<Arc<dyn PhysicalExpr>>,
    aggregates: Vec<Aggregate>,
    numbers: Numbers,
    /// By column, the values of groups, in their order.
    firsts: Vec<Vec<ArrayRef>>,
    schema: SchemaRef,
    reservation: MemoryReservation,
    /// Rows of a batch given out.
    rows_max: usize,
    /// Groups to be given out.
    ready: Option<RecordBatch>,
    ended: bool,
}

impl Grouping {
    /// Returns the next groups; `None` at the end.
    async fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.ready.take() {
                let shown = batch.num_rows().min(self.rows_max);
                if shown < batch.num_rows() {
                    self.ready = Some(batch.slice(shown, batch.num_rows() - shown));
                }
                return Ok(Some(batch.slice(0, shown)));
            }
            if self.ended {
                return Ok(None);
            }
            match self.input.next().await.transpose()? {
                Some(batch) => self.add(&batch)?,
                None => {
                    self.ended = true;
                    self.give_out()?;
                }
            }
        }
    }

    /// Adds rows to their groups; gives all groups out if they have become many.
    fn add(&mut self, batch: &RecordBatch) -> DataFusionResult<()> {
        let rows = batch.num_rows();
        let by = self.by.iter().map(|expr| expr.evaluate(batch)?.into_array(rows));
        let by: Vec<ArrayRef> = by.collect::<DataFusionResult<_>>()?;
        let (groups, firsts) = self.numbers.groups(&by, rows)?;
        if !firsts.is_empty() {
            let firsts = UInt32Array::from(firsts);
            for (column, values) in self.firsts.iter_mut().zip(&by) {
                column.push(take(values, &firsts, None)?);
            }
        }
        for one in &mut self.aggregates {
            let arguments = one
                .arguments
                .iter()
                .map(|expr| expr.evaluate(batch)?.into_array(rows));
            let arguments: Vec<ArrayRef> = arguments.collect::<DataFusionResult<_>>()?;
            let filter = one
                .filter
                .as_ref()
                .map(|filter| filter.evaluate(batch)?.into_array(rows));
            let filter = filter.transpose()?;
            let filter: Option<&BooleanArray> = match &filter {
                Some(filter) => Some(as_boolean_array(filter)?),
                None => None,
            };
            one.accumulator
                .update_batch(&arguments, &groups, filter, self.numbers.count())?;
        }
        let is_many = self.numbers.count() > GROUPS_MAX;
        if is_many || self.reservation.try_resize(self.bytes()).is_err() {
            self.give_out()?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let accumulators = self.aggregates.iter().map(|one| one.accumulator.size());
        let firsts = self
            .firsts
            .iter()
            .flatten()
            .map(|values| values.get_array_memory_size());
        accumulators.chain(firsts).sum::<usize>() + self.numbers.bytes()
    }

    /// Makes a batch of all groups, and begins anew.
    fn give_out(&mut self) -> DataFusionResult<()> {
        if self.numbers.count() == 0 {
            return Ok(());
        }
        let mut columns = Vec::with_capacity(self.schema.fields().len());
        for values in &mut self.firsts {
            let values = std::mem::take(values);
            let values: Vec<&dyn Array> = values.iter().map(AsRef::as_ref).collect();
            columns.push(concat(&values)?);
        }
        for one in &mut self.aggregates {
            columns.extend(one.accumulator.state(EmitTo::All)?);
        }
        self.numbers = Numbers::new(self.by.len());
        self.reservation.free();
        self.ready = Some(RecordBatch::try_new(self.schema.clone(), columns)?);
        Ok(())
    }
}

/// The numbers of values, and of groups.
struct Numbers {
    columns: Vec<ColumnNumbers>,
    /// Numbers of what two columns have, then of that and what a third has, and so on; the last tells groups.
    pairs: Vec<Numbered>,
}

impl Numbers {
    fn new(columns: usize) -> Self {
        Numbers {
            columns: (0..columns).map(|_| ColumnNumbers::default()).collect(),
            pairs: (1..columns.max(2)).map(|_| Numbered::default()).collect(),
        }
    }

    /// Returns how many groups there are.
    fn count(&self) -> usize {
        self.pairs.last().map_or(0, |groups| groups.count as usize)
    }

    fn bytes(&self) -> usize {
        let columns = self.columns.iter().map(ColumnNumbers::bytes);
        columns.chain(self.pairs.iter().map(Numbered::bytes)).sum()
    }

    /// Returns the group of each row, and the first row of each group that is new.
    fn groups(&mut self, by: &[ArrayRef], rows: usize) -> DataFusionResult<(Vec<usize>, Vec<u32>)> {
        let (mut left, mut right) = (vec![0; rows], Vec::with_capacity(rows));
        let mut before = self.count();
        let (mut groups, mut firsts) = (Vec::with_capacity(rows), Vec::new());
        let last = self.pairs.len() - 1;
        let mut columns = self.columns.iter_mut().zip(by);
        if by.len() > 1
            && let Some((numbers, values)) = columns.next()
        {
            left.clear();
            numbers.of(values, &mut left)?;
        }
        for ((numbers, values), (nth, pairs)) in columns.zip(self.pairs.iter_mut().enumerate()) {
            right.clear();
            numbers.of(values, &mut right)?;
            for (left, right) in left.iter_mut().zip(&right) {
                *left = pairs.number(u64::from(*left) << 32 | u64::from(*right));
            }
            if nth < last {
                continue;
            }
            for (row, group) in left.iter().enumerate() {
                let group = *group as usize;
                if group == before {
                    before += 1;
                    firsts.push(row as u32);
                }
                groups.push(group);
            }
        }
        Ok((groups, firsts))
    }
}

/// The numbers of the values of one column; that of NULL is 0.
#[derive(Default)]
struct ColumnNumbers {
    values: Numbered,
    /// Texts that are too long to be integers.
    texts: HashMap<Box<[u8]>, u64>,
    texts_bytes: usize,
}

/// Bytes of a text that is an integer together with its length.
const SHORT_MAX: usize = 7;

/// What stands where a short text has its length.
const LONG: u64 = 0xff << 56;

impl ColumnNumbers {
    fn bytes(&self) -> usize {
        self.values.bytes() + self.texts_bytes
    }

    /// Appends the number of each value.
    fn of(&mut self, values: &ArrayRef, out: &mut Vec<u32>) -> DataFusionResult<()> {
        match values.data_type() {
            DataType::Boolean => {
                let values = values.as_boolean();
                out.extend((0..values.len()).map(|row| match values.is_null(row) {
                    true => 0,
                    false => 1 + u32::from(values.value(row)),
                }));
            }
            DataType::Int8 => self.of_integers::<Int8Type>(values, out),
            DataType::Int16 => self.of_integers::<Int16Type>(values, out),
            DataType::Int32 => self.of_integers::<Int32Type>(values, out),
            DataType::Int64 => self.of_integers::<Int64Type>(values, out),
            DataType::Date32 => self.of_integers::<Date32Type>(values, out),
            DataType::Time64(TimeUnit::Microsecond) => self.of_integers::<Time64MicrosecondType>(values, out),
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                self.of_integers::<TimestampMicrosecondType>(values, out);
            }
            DataType::Utf8 => {
                let values = values.as_string::<i32>();
                let mut last: Option<(&str, u32)> = None;
                for row in 0..values.len() {
                    let number = match (values.is_null(row), last) {
                        (true, _) => 0,
                        (false, Some((text, number))) if text == values.value(row) => number,
                        (false, _) => {
                            let text = values.value(row);
                            let key = self.key_of(text.as_bytes());
                            let number = 1 + self.values.number(key);
                            last = Some((text, number));
                            number
                        }
                    };
                    out.push(number);
                }
            }
            other => {
                let message = format!("values of type {other} have no numbers");
                return Err(DataFusionError::Internal(message));
            }
        }
        Ok(())
    }

    fn of_integers<T: ArrowPrimitiveType<Native: Into<i64>>>(
        &mut self,
        values: &ArrayRef,
        out: &mut Vec<u32>,
    ) {
        let values = values.as_primitive::<T>();
        let mut number = |value: T::Native| {
            let value: i64 = value.into();
            1 + self.values.number(value as u64)
        };
        match values.nulls() {
            None => out.extend(values.values().iter().map(|value| number(*value))),
            Some(nulls) => {
                let rows = values.values().iter().zip(nulls.iter());
                out.extend(rows.map(|(value, is_there)| match is_there {
                    true => number(*value),
                    false => 0,
                }));
            }
        }
    }

    /// Returns an integer that no other text has.
    fn key_of(&mut self, text: &[u8]) -> u64 {
        if text.len() <= SHORT_MAX {
            let mut bytes = [0; 8];
            bytes[..text.len()].copy_from_slice(text);
            return u64::from_le_bytes(bytes) | (text.len() as u64) << 56;
        }
        if let Some(key) = self.texts.get(text) {
            return *key;
        }
        let key = LONG | self.texts.len() as u64;
        self.texts.insert(text.into(), key);
        self.texts_bytes += text.len() + 64;
        key
    }
}

/// Integers, numbered from 0 in the order in which they are seen: a table of open addresses.
#[derive(Default)]
struct Numbered {
    /// Integers and one more than their number; 0 where there is none. None, or a power of two, half of them free.
    slots: Vec<(u64, u32)>,
    count: u32,
}

/// Slots of a table at first.
const SLOTS_MIN: usize = 64;

impl Numbered {
    fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u64, u32)>()
    }

    /// Returns the number of an integer.
    #[inline]
    fn number(&mut self, key: u64) -> u32 {
        if self.slots.len() < 2 * (self.count as usize + 1) {
            self.grow();
        }
        let at = self.place(key);
        match self.slots[at].1 {
            0 => {
                self.count += 1;
                self.slots[at] = (key, self.count);
                self.count - 1
            }
            number => number - 1,
        }
    }

    /// Returns where an integer is, or belongs.
    #[inline]
    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mixed = key.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut at = (mixed ^ (mixed >> 32)) as usize & mask;
        while self.slots[at].1 != 0 && self.slots[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(SLOTS_MIN);
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); slots]);
        for (key, number) in old.into_iter().filter(|(_, number)| *number != 0) {
            let at = self.place(key);
            self.slots[at] = (key, number);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use datafusion::arrow::array::{Int16Array, StringArray};

    #[test]
    fn integers_are_numbered_as_they_are_seen() {
        let mut numbered = Numbered::default();
        let keys: Vec<u64> = (0..5000)
            .map(|nth: u64| nth.wrapping_mul(0x1234_5678_9abc_def1))
            .collect();
        for round in 0..2 {
            for (nth, key) in keys.iter().enumerate() {
                assert_eq!(numbered.number(*key), nth as u32, "round {round}");
            }
        }
        assert_eq!(numbered.count, 5000);
    }

    #[test]
    fn groups_are_those_of_their_values() {
        let texts = ["a", "", "a\0", "abcdefg", "abcdefgh", "abcdefghi", "\u{ff}ß"];
        let text = |row: usize| (row % 11 != 3).then(|| texts[row * 7 % 5 + row % 3]);
        let number = |row: usize| (row % 7 != 2).then_some((row % 4) as i16 - 2);
        let columns: [ArrayRef; 3] = [
            Arc::new((0..1000).map(text).collect::<StringArray>()),
            Arc::new((0..1000).map(number).collect::<Int16Array>()),
            Arc::new(
                (0..1000)
                    .map(|row| (row % 5 != 0).then_some(row % 2 == 0))
                    .collect::<BooleanArray>(),
            ),
        ];
        for count in 1..=3 {
            let by = &columns[3 - count..];
            let mut numbers = Numbers::new(count);
            let mut known: Vec<Vec<String>> = Vec::new();
            let shown = |row: usize| -> Vec<String> {
                let cell = |column: &ArrayRef| format!("{:?}", column.slice(row, 1));
                by.iter().map(cell).collect()
            };
            for start in [0, 400, 800] {
                let rows = 200.min(1000 - start);
                let part: Vec<ArrayRef> = by.iter().map(|column| column.slice(start, rows)).collect();
                let (groups, firsts) = numbers.groups(&part, rows).unwrap();
                known.extend(firsts.iter().map(|row| shown(start + *row as usize)));
                assert_eq!(known.len(), numbers.count());
                for (row, group) in groups.iter().enumerate() {
                    assert_eq!(known[*group], shown(start + row));
                }
            }
        }
    }
}
