//! Counts and sums of the rows of a batch by group, as states that the aggregates of DataFusion take over: one value for each group, not
//! for each row.
//!
//! | aggregate                 | its state for a group of a batch         |
//! |---------------------------|------------------------------------------|
//! | `count(*)`                | the rows                                 |
//! | `sum(a)` of decimals      | the sum; NULL if all rows are            |
//! | `avg(a)` of decimals      | rows that are not NULL, and their sum; NULL if all rows are |
//!
//! Sums are exact: in 64 bits where the ends of the values prove that they fit, else in 128.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Decimal128Array, Int64Array, UInt64Array};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::Literal;

use super::decimals::{Computed, Decimals, Values};

/// An aggregate whose states are made here.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Summed {
    Rows,
    /// The sum of a node, and the type of its state.
    Sum(usize, DataType),
    /// The average of a node, and the type of the sum.
    Average(usize, DataType),
}

/// States of some groups.
pub(super) struct States {
    pub(super) groups: Vec<usize>,
    pub(super) arrays: Vec<ArrayRef>,
}

/// The rows of a batch by group.
pub(super) struct GroupRows<'a> {
    /// The group of each row.
    groups: &'a [usize],
    /// By group, how many rows it has.
    counts: Vec<u64>,
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
                is_constant.then_some(Summed::Rows)
            }
            ("sum", [sum @ DataType::Decimal128(_, scale)]) => {
                let node = decimals.add(argument, schema)?;
                (decimals.scale(node) == Some(*scale)).then(|| Summed::Sum(node, (*sum).clone()))
            }
            ("avg", [DataType::UInt64, sum @ DataType::Decimal128(_, scale)]) => {
                let node = decimals.add(argument, schema)?;
                (decimals.scale(node) == Some(*scale)).then(|| Summed::Average(node, (*sum).clone()))
            }
            _ => None,
        }
    }

    /// Returns the states of the rows of a batch; `None` if a value may need more than 64 bits.
    pub(super) fn states(&self, computed: &mut Computed<'_>, rows: &GroupRows<'_>) -> Option<States> {
        let decimals = |sums: Vec<i128>, nulls: Option<NullBuffer>, ty: &DataType| -> ArrayRef {
            let sums = Decimal128Array::new(sums.into(), nulls);
            Arc::new(sums.with_data_type(ty.clone()))
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
            Summed::Sum(node, ty) => {
                let sums = rows.sums(&*computed.values(*node)?);
                let nulls = sums.nulls();
                States {
                    groups: sums.groups,
                    arrays: vec![decimals(sums.sums, nulls, ty)],
                }
            }
            Summed::Average(node, ty) => {
                let sums = rows.sums(&*computed.values(*node)?);
                let nulls = sums.nulls();
                let counts = UInt64Array::new(sums.counts.into(), nulls.clone());
                States {
                    groups: sums.groups,
                    arrays: vec![Arc::new(counts), decimals(sums.sums, nulls, ty)],
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
        let is_there = || self.counts.iter().map(|count| *count > 0);
        is_there().any(|is_there| !is_there).then(|| is_there().collect())
    }
}

/// The groups that have rows, and how many.
fn present(counts: &[u64]) -> (Vec<usize>, impl Iterator<Item = u64>) {
    let groups = (0..counts.len()).filter(|group| counts[*group] > 0).collect();
    (groups, counts.iter().copied().filter(|count| *count > 0))
}

impl<'a> GroupRows<'a> {
    /// Counts the rows of each of so many groups.
    pub(super) fn new(groups: &'a [usize], count: usize) -> Self {
        let mut lanes = vec![[0; LANES]; count];
        for (row, group) in groups.iter().enumerate() {
            lanes[*group][row % LANES] += 1;
        }
        GroupRows {
            groups,
            counts: lanes.into_iter().map(|lanes| lanes.iter().sum()).collect(),
        }
    }

    /// Sums values by group.
    fn sums(&self, values: &Values) -> Sums {
        let (groups, rows) = present(&self.counts);
        let of_groups = |sums: Vec<i128>| groups.iter().map(|group| sums[*group]).collect();
        let Some(nulls) = &values.nulls else {
            return Sums {
                sums: of_groups(self.add_up(values, &values.values)),
                counts: rows.collect(),
                groups,
            };
        };
        let mut counts = vec![0; self.counts.len()];
        for row in nulls.valid_indices() {
            counts[self.groups[row]] += 1;
        }
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
    fn add_up(&self, values: &Values, rows: &[i64]) -> Vec<i128> {
        if !values.sums_fit(rows.len()) {
            let mut sums = vec![0_i128; self.counts.len()];
            for (group, value) in self.groups.iter().zip(rows) {
                sums[*group] += i128::from(*value);
            }
            return sums;
        }
        let mut lanes = vec![[0_i64; LANES]; self.counts.len()];
        for (row, (group, value)) in self.groups.iter().zip(rows).enumerate() {
            let sum = &mut lanes[*group][row % LANES];
            *sum = sum.wrapping_add(*value);
        }
        let sum = |lanes: [i64; LANES]| lanes.iter().map(|sum| i128::from(*sum)).sum();
        lanes.into_iter().map(sum).collect()
    }
}
