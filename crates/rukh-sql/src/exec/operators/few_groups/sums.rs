//! Counts and sums of the rows of a batch by group, as states that the aggregates of DataFusion take over: one value for each group, not
//! for each row.
//!
//! | aggregate                 | its state for a group of a batch         |
//! |---------------------------|------------------------------------------|
//! | `count(*)`, `count(a)`    | the rows, those where `a` is not NULL    |
//! | `min(a)`, `max(a)` of integers, decimals, dates and times in vectors | the least, the greatest value; NULL if all rows are |
//! | `sum(a)` of decimals      | the sum; NULL if all rows are            |
//! | `sum(a)` of SMALLINT and INTEGER in vectors | the same in 64 bits, which must hold it |
//! | `sum(a)` of BIGINT in vectors | as of decimals |
//! | `avg(a)` of decimals, `sum` of products of 256 bits | rows that are not NULL, and their sum; NULL if all rows are |
//!
//! Sums are exact: in 64 bits where the ends of the values prove that they fit, else in 128.

#![warn(clippy::arithmetic_side_effects)]

use std::rc::Rc;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Decimal256Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Schema, i256};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{Column, Literal};
use rukh_engine::ColumnVector;

use super::decimals::{Computed, Decimals, Values};
use crate::exec::vectors::{int_array, null_buffer};

/// An aggregate whose states are made here.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Summed {
    Rows,
    /// The rows in which the column at a position is not NULL.
    Filled(usize),
    /// The least value of the column at a position.
    Least(usize),
    Greatest(usize),
    /// The sum of a node, and the type of its state.
    Sum(usize, DataType),
    /// The sum of a column of integers, as BIGINT.
    Integers(usize),
    /// How many values of a node there are, and their sum, which has this type.
    CountAndSum(usize, DataType),
}

/// States of some groups.
pub(super) struct States {
    pub(super) groups: Vec<usize>,
    pub(super) arrays: Vec<ArrayRef>,
}

/// The rows of a batch by group.
pub(super) struct GroupRows<'a> {
    /// The group of each row.
    groups: &'a [u32],
    /// By group, how many rows it has.
    counts: Vec<u64>,
    /// The sums of nodes, which several aggregates may want.
    sums: Vec<(usize, Rc<Sums>)>,
}

/// Sums that one after another row is added to in turn, so that no addition waits for the one before.
const LANES: usize = 4;

impl Summed {
    /// Returns how an aggregate without DISTINCT, ORDER BY and FILTER is summed, if it is; what it needs is added to `decimals`.
    pub(super) fn of(
        call: &AggregateFunctionExpr,
        arguments: &[Arc<dyn PhysicalExpr>],
        schema: &Schema,
        decimals: &mut Decimals,
    ) -> Option<Summed> {
        let [argument] = arguments else { return None };
        let fields = call.state_fields().ok()?;
        let types: Vec<&DataType> = fields.iter().map(|field| field.data_type()).collect();
        let literal = argument.downcast_ref::<Literal>();
        match (call.fun().name(), types.as_slice()) {
            ("count", [DataType::Int64]) => {
                let is_constant = literal.is_some_and(|literal| !literal.value().is_null());
                match argument.downcast_ref::<Column>() {
                    Some(column) => Some(Summed::Filled(column.index())),
                    None => is_constant.then_some(Summed::Rows),
                }
            }
            (name @ ("min" | "max"), [ty]) if is_ordered_as_integers(ty) => {
                let column = argument.downcast_ref::<Column>()?.index();
                let is_state = schema.fields().get(column)?.data_type() == *ty;
                is_state.then_some(match name {
                    "min" => Summed::Least(column),
                    _ => Summed::Greatest(column),
                })
            }
            ("sum", [sum @ DataType::Decimal128(_, scale)]) => {
                let node = match argument.data_type(schema).ok()?.is_integer() {
                    true => decimals.add_integers(argument, schema)?,
                    false => decimals.add(argument, schema)?,
                };
                (decimals.scale(node) == Some(*scale)).then(|| Summed::Sum(node, (*sum).clone()))
            }
            ("sum", [DataType::Int64]) => decimals.add_integers(argument, schema).map(Summed::Integers),
            (
                "avg" | "sum",
                [
                    DataType::UInt64,
                    sum @ (DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale)),
                ],
            ) => {
                let node = decimals.add(argument, schema)?;
                (decimals.scale(node) == Some(*scale)).then(|| Summed::CountAndSum(node, (*sum).clone()))
            }
            _ => None,
        }
    }

    /// Returns the states of the rows of a batch; `None` if a value may need more than 64 bits, or is in no vector.
    pub(super) fn states(&self, computed: &mut Computed<'_>, rows: &mut GroupRows<'_>) -> Option<States> {
        let decimals = |sums: Vec<i128>, nulls: Option<NullBuffer>, ty: &DataType| -> ArrayRef {
            match ty {
                DataType::Decimal256(..) => {
                    let sums = sums.into_iter().map(i256::from_i128).collect::<Vec<_>>();
                    Arc::new(Decimal256Array::new(sums.into(), nulls).with_data_type(ty.clone()))
                }
                _ => Arc::new(Decimal128Array::new(sums.into(), nulls).with_data_type(ty.clone())),
            }
        };
        Some(match self {
            Summed::Rows => {
                let (groups, counts) = present(&rows.counts);
                let counts: Int64Array = counts.map(|count| count as i64).collect::<Vec<_>>().into();
                States {
                    groups,
                    arrays: vec![Arc::new(counts)],
                }
            }
            Summed::Filled(column) => {
                let (groups, _) = present(&rows.counts);
                let counts = rows.filled(computed.rows().nulls(*column).as_ref());
                let counts = groups.iter().map(|group| counts[*group] as i64);
                let counts: Int64Array = counts.collect::<Vec<_>>().into();
                States {
                    groups,
                    arrays: vec![Arc::new(counts)],
                }
            }
            Summed::Least(column) => {
                let vector = computed.rows().vector(*column)?;
                rows.extremes(vector, i64::MAX, |value, least| value < least)?
            }
            Summed::Greatest(column) => {
                let vector = computed.rows().vector(*column)?;
                rows.extremes(vector, i64::MIN, |value, greatest| value > greatest)?
            }
            Summed::Sum(node, ty) => {
                let sums = rows.sums(*node, computed)?;
                States {
                    groups: sums.groups.clone(),
                    arrays: vec![decimals(sums.sums.clone(), sums.nulls(), ty)],
                }
            }
            Summed::Integers(node) => {
                let sums = rows.sums(*node, computed)?;
                let each = sums.sums.iter().map(|sum| i64::try_from(*sum).ok());
                let each = Int64Array::new(each.collect::<Option<_>>()?, sums.nulls());
                States {
                    groups: sums.groups.clone(),
                    arrays: vec![Arc::new(each)],
                }
            }
            Summed::CountAndSum(node, ty) => {
                let sums = rows.sums(*node, computed)?;
                let nulls = sums.nulls();
                let counts = UInt64Array::new(sums.counts.clone().into(), nulls.clone());
                States {
                    groups: sums.groups.clone(),
                    arrays: vec![Arc::new(counts), decimals(sums.sums.clone(), nulls, ty)],
                }
            }
        })
    }
}

/// Sums of the groups that have rows.
///
/// A group all of whose rows are NULL is among them, with NULL: accumulators take it that they are shown every group they have.
struct Sums {
    groups: Vec<usize>,
    /// How many values are not NULL.
    counts: Vec<u64>,
    sums: Vec<i128>,
}

impl Sums {
    fn nulls(&self) -> Option<NullBuffer> {
        which_are_there(self.counts.iter().copied())
    }
}

/// Returns which groups have values, by how many they have; `None` if all do.
fn which_are_there(counts: impl Iterator<Item = u64> + Clone) -> Option<NullBuffer> {
    let mut is_there = counts.map(|count| count > 0);
    let each = is_there.clone();
    is_there.any(|is_there| !is_there).then(|| each.collect())
}

/// Whether values are ordered as the integers that vectors have of them.
fn is_ordered_as_integers(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Int8
            | DataType::Int16
            | DataType::Int32
            | DataType::Int64
            | DataType::Date32
            | DataType::Time64(_)
            | DataType::Timestamp(..)
            | DataType::Decimal128(..)
    )
}

/// The groups that have rows, and how many.
fn present(counts: &[u64]) -> (Vec<usize>, impl Iterator<Item = u64>) {
    let groups = (0..counts.len()).filter(|group| counts[*group] > 0).collect();
    (groups, counts.iter().copied().filter(|count| *count > 0))
}

impl<'a> GroupRows<'a> {
    /// Counts the rows of each of so many groups.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    pub(super) fn new(groups: &'a [u32], count: usize) -> Self {
        let mut lanes = vec![[0; LANES]; count];
        let (chunks, rest) = groups.as_chunks::<LANES>();
        for chunk in chunks {
            for (lane, group) in chunk.iter().enumerate() {
                lanes[*group as usize][lane] += 1;
            }
        }
        for group in rest {
            lanes[*group as usize][0] += 1;
        }
        GroupRows {
            groups,
            counts: lanes.into_iter().map(|lanes| lanes.iter().sum()).collect(),
            sums: Vec::new(),
        }
    }

    /// Returns by group how many rows are not NULL.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn filled(&self, nulls: Option<&NullBuffer>) -> Vec<u64> {
        let Some(nulls) = nulls else {
            return self.counts.clone();
        };
        let mut counts = vec![0; self.counts.len()];
        for row in nulls.valid_indices() {
            counts[self.groups[row] as usize] += 1;
        }
        counts
    }

    /// Returns by group the value that comes before all others; `None` if the vector has no integers.
    fn extremes(
        &self,
        vector: &ColumnVector,
        last: i64,
        is_before: impl Fn(i64, i64) -> bool,
    ) -> Option<States> {
        let rukh_engine::Values::Int(values) = vector.values() else {
            return None;
        };
        let nulls = null_buffer(vector);
        let counts = self.filled(nulls.as_ref());
        let mut best = vec![last; counts.len()];
        let mut see = |group: u32, value: i64| {
            let best = &mut best[group as usize];
            if is_before(value, *best) {
                *best = value;
            }
        };
        match &nulls {
            None => {
                let rows = self.groups.iter().zip(values);
                rows.for_each(|(group, value)| see(*group, *value));
            }
            Some(nulls) => nulls
                .valid_indices()
                .for_each(|row| see(self.groups[row], values[row])),
        }
        let (groups, _) = present(&self.counts);
        let nulls = which_are_there(groups.iter().map(|group| counts[*group]));
        let best: Vec<i64> = groups.iter().map(|group| best[*group]).collect();
        let arrays = vec![int_array(vector.data_type(), best, nulls)];
        Some(States { groups, arrays })
    }

    /// Returns the sums of a node by group; `None` if it is not known.
    fn sums(&mut self, node: usize, computed: &mut Computed<'_>) -> Option<Rc<Sums>> {
        if let Some((_, sums)) = self.sums.iter().find(|(known, _)| *known == node) {
            return Some(sums.clone());
        }
        let values = computed.values(node)?;
        let sums = Rc::new(self.sums_of(&values));
        self.sums.push((node, sums.clone()));
        Some(sums)
    }

    /// Sums values by group.
    fn sums_of(&self, values: &Values<'_>) -> Sums {
        let (groups, rows) = present(&self.counts);
        let of_groups = |sums: Vec<i128>| groups.iter().map(|group| sums[*group]).collect();
        let Some(nulls) = &values.nulls else {
            return Sums {
                sums: of_groups(self.add_up(values, &values.values)),
                counts: rows.collect(),
                groups,
            };
        };
        let counts = self.filled(Some(nulls));
        let there = values.values.iter().zip(nulls.iter());
        let there: Vec<i64> = there
            .map(|(value, is_there)| if is_there { *value } else { 0 })
            .collect();
        Sums {
            sums: of_groups(self.add_up(values, &there)),
            counts: groups.iter().map(|group| counts[*group]).collect(),
            groups,
        }
    }

    /// Adds up `rows`, which lie between the ends of `values` or are 0, by group.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "128 bits hold the sum of 2^64 numbers of 64 bits, and rows are counted in 64"
    )]
    fn add_up(&self, values: &Values<'_>, rows: &[i64]) -> Vec<i128> {
        if !values.sums_fit(rows.len()) {
            let mut sums = vec![0_i128; self.counts.len()];
            for (group, value) in self.groups.iter().zip(rows) {
                sums[*group as usize] += i128::from(*value);
            }
            return sums;
        }
        let mut lanes = vec![[0_i64; LANES]; self.counts.len()];
        let (groups, rest) = self.groups.as_chunks::<LANES>();
        let (values, values_rest) = rows.as_chunks::<LANES>();
        for (groups, values) in groups.iter().zip(values) {
            for (lane, (group, value)) in groups.iter().zip(values).enumerate() {
                let sum = &mut lanes[*group as usize][lane];
                *sum = sum.wrapping_add(*value);
            }
        }
        for (group, value) in rest.iter().zip(values_rest) {
            let sum = &mut lanes[*group as usize][0];
            *sum = sum.wrapping_add(*value);
        }
        let sum = |lanes: [i64; LANES]| lanes.iter().map(|sum| i128::from(*sum)).sum();
        lanes.into_iter().map(sum).collect()
    }
}
