//! Decimals computed in integers of 64 bits, where the values of a batch prove that nothing overflows.
//!
//! Sums, differences and products of decimal columns and constants become nodes, each once however many aggregates use it.
//! For a batch, each node is a vector with the smallest and the greatest value that it can have:
//!
//! | node                    | values                | lie between                |
//! |-------------------------|-----------------------|----------------------------|
//! | `discount`              | 4, 7, 0 (hundredths)  | 0 and 7, as they are       |
//! | `1 - discount`          | 96, 93, 100           | 100 - 7 and 100 - 0        |
//! | `price * (1 - discount)` | …                    | the products of the ends   |
//!
//! Where an end has no place in 64 bits the node is not known for the batch, and the batch is computed as DataFusion does. Exact
//! integers of the same scale are what it computes in 128 bits, so that results are the same in every digit.
//!
//! Products that may need more than 128 bits are NUMERICs of 256, and are nodes, too: what 64 bits hold is the same in either.
//!
//! Columns of integers are nodes, too, as long as they are vectors.

#![warn(clippy::arithmetic_side_effects)]

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use datafusion::scalar::ScalarValue;

use super::rows::{Integers, Rows};
use rukh_functions::functions::common::exact::exact_operator;
use rukh_functions::functions::numbers::arithmetic::checked_operator;

/// Expressions over decimals.
#[derive(Default)]
pub(super) struct Decimals {
    nodes: Vec<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Node {
    kind: Kind,
    scale: i8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The column at a position.
    Column(usize),
    Constant(i64),
    Binary(Op, usize, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Add,
    Subtract,
    Multiply,
}

/// The values of a node for the rows of a batch.
pub(super) struct Values<'a> {
    /// One for each row, those of NULL mean nothing; a constant has one for all.
    pub(super) values: Cow<'a, [i64]>,
    pub(super) nulls: Option<NullBuffer>,
    /// What all values lie between, NULL's too.
    low: i64,
    high: i64,
}

impl Values<'_> {
    /// Whether sums of so many rows have a place in 64 bits.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "bounds of all rows were checked before the loop"
    )]
    pub(super) fn sums_fit(&self, rows: usize) -> bool {
        let most = u128::from(self.low.unsigned_abs().max(self.high.unsigned_abs()));
        most * rows as u128 <= i64::MAX as u128
    }
}

/// The nodes of a batch, computed lazily.
pub(super) struct Computed<'a> {
    decimals: &'a Decimals,
    rows: &'a Rows,
    /// By node; `Some(None)` of one that is not known for this batch.
    known: Vec<Option<Option<Rc<Values<'a>>>>>,
}

/// Returns an operator and its operands.
fn operation(
    expr: &Arc<dyn PhysicalExpr>,
) -> Option<(Operator, &Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>)> {
    if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        return Some((*binary.op(), binary.left(), binary.right()));
    }
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    match (
        checked_operator(call.fun()).or_else(|| exact_operator(call.fun())),
        call.args(),
    ) {
        (Some(op), [left, right]) => Some((op, left, right)),
        _ => None,
    }
}

impl Decimals {
    /// Adds an expression over columns of a schema; returns its node, `None` of what is not computed here.
    pub(super) fn add(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
        let scale = scale_of(&expr.data_type(schema).ok()?)?;
        if let Some(column) = expr.downcast_ref::<Column>().filter(|_| is_narrow(expr, schema)) {
            return Some(self.node(Kind::Column(column.index()), scale));
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            let ScalarValue::Decimal128(Some(value), ..) = literal.value() else {
                return None;
            };
            return Some(self.node(Kind::Constant(i64::try_from(*value).ok()?), scale));
        }
        let (op, left, right) = operation(expr)?;
        let op = match op {
            Operator::Plus => Op::Add,
            Operator::Minus => Op::Subtract,
            Operator::Multiply => Op::Multiply,
            _ => return None,
        };
        let (left, right) = (self.add(left, schema)?, self.add(right, schema)?);
        let (left, right) = match op {
            Op::Multiply => (left, right),
            Op::Add | Op::Subtract => (self.rescaled(left, scale)?, self.rescaled(right, scale)?),
        };
        let own = match op {
            Op::Multiply => self.nodes[left].scale.checked_add(self.nodes[right].scale)?,
            Op::Add | Op::Subtract => scale,
        };
        (own == scale).then(|| self.node(Kind::Binary(op, left, right), scale))
    }

    /// Adds a column of integers, cast to BIGINT or not; returns its node, `None` of what is no such column.
    pub(super) fn add_integers(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
        let cast = expr.downcast_ref::<CastExpr>();
        let of = match cast.filter(|cast| *cast.cast_type() == DataType::Int64) {
            Some(cast) => cast.expr(),
            None => expr,
        };
        let column = of.downcast_ref::<Column>()?.index();
        let ty = schema.fields().get(column)?.data_type();
        let is_integer = matches!(
            ty,
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64
        );
        is_integer.then(|| self.node(Kind::Column(column), 0))
    }

    /// Returns the scale of a node; `None` if it is the same for all rows.
    pub(super) fn scale(&self, node: usize) -> Option<i8> {
        let varies = match self.nodes[node].kind {
            Kind::Column(_) => true,
            Kind::Constant(_) => false,
            Kind::Binary(_, left, right) => self.scale(left).or(self.scale(right)).is_some(),
        };
        varies.then_some(self.nodes[node].scale)
    }

    /// Returns the node of a kind, which is made if there is none.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "bounds of all rows were checked before the loop"
    )]
    fn node(&mut self, kind: Kind, scale: i8) -> usize {
        let node = Node { kind, scale };
        let known = self.nodes.iter().position(|known| *known == node);
        known.unwrap_or_else(|| {
            self.nodes.push(node);
            self.nodes.len() - 1
        })
    }

    /// Returns a node with more digits behind the point.
    #[expect(
        clippy::arithmetic_side_effects,
        reason = "bounds of all rows were checked before the loop"
    )]
    fn rescaled(&mut self, of: usize, scale: i8) -> Option<usize> {
        let digits = u32::try_from(scale.checked_sub(self.nodes[of].scale)?).ok()?;
        let factor = 10_i64.checked_pow(digits)?;
        match (factor, self.nodes[of].kind) {
            (1, _) => Some(of),
            (_, Kind::Constant(value)) => {
                let value = value.checked_mul(factor)?;
                Some(self.node(Kind::Constant(value), scale))
            }
            _ => {
                let factor = self.node(Kind::Constant(factor), scale - self.nodes[of].scale);
                Some(self.node(Kind::Binary(Op::Multiply, of, factor), scale))
            }
        }
    }

    /// Returns the nodes for a batch, none of them computed.
    pub(super) fn of<'a>(&'a self, rows: &'a Rows) -> Computed<'a> {
        Computed {
            decimals: self,
            rows,
            known: self.nodes.iter().map(|_| None).collect(),
        }
    }
}

/// Whether values of an expression have 128 bits.
fn is_narrow(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    expr.data_type(schema)
        .is_ok_and(|ty| matches!(ty, DataType::Decimal128(..)))
}

fn scale_of(ty: &DataType) -> Option<i8> {
    match ty {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            Some(*scale).filter(|scale| *scale >= 0)
        }
        _ => None,
    }
}

impl<'a> Computed<'a> {
    /// Returns the rows of the batch.
    pub(super) fn rows(&self) -> &'a Rows {
        self.rows
    }

    /// Returns the values of a node; `None` if 64 bits do not prove to be enough.
    pub(super) fn values(&mut self, node: usize) -> Option<Rc<Values<'a>>> {
        if let Some(known) = &self.known[node] {
            return known.clone();
        }
        let values = match self.decimals.nodes[node].kind {
            Kind::Column(column) => self.column(column),
            Kind::Constant(value) => Some(Values {
                values: Cow::Owned(vec![value]),
                nulls: None,
                low: value,
                high: value,
            }),
            Kind::Binary(op, left, right) => {
                let (left, right) = (self.values(left), self.values(right));
                let rows = self.rows.count();
                left.zip(right)
                    .and_then(|(left, right)| binary(op, &left, &right, rows))
            }
        };
        let values = values.map(Rc::new);
        self.known[node] = Some(values.clone());
        values
    }

    fn column(&self, column: usize) -> Option<Values<'a>> {
        let nulls = self.rows.nulls(column);
        match self.rows.integers(column)? {
            Integers::Short(values) => {
                let (low, high) = ends(values);
                Some(Values {
                    values: Cow::Borrowed(values),
                    nulls,
                    low,
                    high,
                })
            }
            Integers::Wide(values) => narrowed(values, nulls),
        }
    }
}

/// Returns integers of 128 bits in 64, if these are enough.
fn narrowed(values: &[i128], nulls: Option<NullBuffer>) -> Option<Values<'static>> {
    let mut fits = true;
    let each = values.iter().map(|wide| {
        let value = *wide as i64;
        fits &= i128::from(value) == *wide;
        value
    });
    let values: Vec<i64> = each.collect();
    let (low, high) = ends(&values);
    fits.then_some(Values {
        values: Cow::Owned(values),
        nulls,
        low,
        high,
    })
}

/// Returns the smallest and the greatest of some values.
fn ends(values: &[i64]) -> (i64, i64) {
    let all = values.iter().fold((i64::MAX, i64::MIN), |(low, high), value| {
        (low.min(*value), high.max(*value))
    });
    // Of no values, whatever.
    (all.0.min(all.1), all.1)
}

/// Computes a node of two others; `None` if a value could have no place in 64 bits.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "bounds of all rows were checked before the loop"
)]
fn binary(op: Op, left: &Values<'_>, right: &Values<'_>, rows: usize) -> Option<Values<'static>> {
    let ends = |one: i64, other: i64| {
        let (one, other) = (i128::from(one), i128::from(other));
        match op {
            Op::Add => one + other,
            Op::Subtract => one - other,
            Op::Multiply => one * other,
        }
    };
    let all = [
        ends(left.low, right.low),
        ends(left.low, right.high),
        ends(left.high, right.low),
        ends(left.high, right.high),
    ];
    let low = i64::try_from(*all.iter().min()?).ok()?;
    let high = i64::try_from(*all.iter().max()?).ok()?;
    let values = match op {
        Op::Add => each(left, right, rows, i64::wrapping_add),
        Op::Subtract => each(left, right, rows, i64::wrapping_sub),
        Op::Multiply => each(left, right, rows, i64::wrapping_mul),
    };
    Some(Values {
        values: Cow::Owned(values),
        nulls: NullBuffer::union(left.nulls.as_ref(), right.nulls.as_ref()),
        low,
        high,
    })
}

/// The ends have shown that nothing wraps.
#[inline]
fn each(left: &Values<'_>, right: &Values<'_>, rows: usize, op: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    match (left.values.as_ref(), right.values.as_ref()) {
        ([left], right) if rows != 1 => right.iter().map(|right| op(*left, *right)).collect(),
        (left, [right]) if rows != 1 => left.iter().map(|left| op(*left, *right)).collect(),
        (left, right) => left
            .iter()
            .zip(right)
            .map(|(left, right)| op(*left, *right))
            .collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    use datafusion::arrow::array::{Array, AsArray, Decimal128Array, RecordBatch};
    use datafusion::arrow::datatypes::{Decimal128Type, Field};

    fn batch(columns: &[(i8, &[Option<i128>])]) -> RecordBatch {
        let array = |(scale, values): &(i8, &[Option<i128>])| {
            let array = Decimal128Array::from(values.to_vec());
            Arc::new(array.with_data_type(DataType::Decimal128(38, *scale))) as Arc<dyn Array>
        };
        let arrays: Vec<_> = columns.iter().map(array).collect();
        let fields = arrays
            .iter()
            .enumerate()
            .map(|(at, array)| Field::new(format!("c{at}"), array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new(schema, arrays).unwrap()
    }

    fn column(at: usize) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new(&format!("c{at}"), at))
    }

    fn constant(value: i128, scale: i8) -> Arc<dyn PhysicalExpr> {
        Arc::new(Literal::new(ScalarValue::Decimal128(Some(value), 20, scale)))
    }

    fn op(left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
        Arc::new(BinaryExpr::new(left, op, right))
    }

    /// Computes an expression here and as DataFusion does; `None` where it is left to the latter.
    fn compute(expr: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Option<Vec<Option<i128>>> {
        let mut decimals = Decimals::default();
        let node = decimals.add(expr, &batch.schema()).unwrap();
        let rows = Rows::Arrow(batch.clone());
        let values = decimals.of(&rows).values(node)?;
        let is_null = |row: usize| values.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
        let found: Vec<Option<i128>> = (0..batch.num_rows())
            .map(|row| (!is_null(row)).then(|| i128::from(values.values[row])))
            .collect();
        let expected = expr
            .evaluate(batch)
            .unwrap()
            .into_array(batch.num_rows())
            .unwrap();
        assert_eq!(
            found,
            expected
                .as_primitive::<Decimal128Type>()
                .iter()
                .collect::<Vec<_>>()
        );
        Some(found)
    }

    #[test]
    fn what_is_computed_is_what_datafusion_computes() {
        let batch = batch(&[
            (2, &[Some(100), None, Some(-250), Some(0)]),
            (0, &[Some(3), Some(-7), None, Some(9)]),
        ]);
        let rest = op(constant(1, 0), Operator::Minus, column(0));
        let product = op(column(1), Operator::Multiply, rest.clone());
        let all = op(product.clone(), Operator::Plus, constant(12345, 4));
        for (expr, expected) in [
            (&rest, [Some(0), None, Some(350), Some(100)]),
            (&product, [Some(0), None, None, Some(900)]),
            (&all, [Some(12345), None, None, Some(102_345)]),
        ] {
            assert_eq!(compute(expr, &batch).as_deref(), Some(&expected[..]));
        }
    }

    #[test]
    fn what_may_need_more_than_64_bits_is_left_to_datafusion() {
        let most = i128::from(i64::MAX);
        let batch = batch(&[
            (0, &[Some(most), Some(i128::from(i64::MIN))]),
            (0, &[Some(most + 1), Some(0)]),
            (0, &[Some(most / 3), Some(3)]),
        ]);
        assert!(compute(&column(0), &batch).is_some());
        assert!(compute(&column(1), &batch).is_none());
        assert!(compute(&op(column(0), Operator::Plus, constant(1, 0)), &batch).is_none());
        assert!(compute(&op(column(0), Operator::Minus, column(2)), &batch).is_none());
        assert!(compute(&op(column(2), Operator::Multiply, constant(3, 0)), &batch).is_some());
        assert!(compute(&op(column(2), Operator::Multiply, constant(-4, 0)), &batch).is_none());
        assert!(compute(&op(column(2), Operator::Plus, constant(1, 1)), &batch).is_none());
    }

    #[test]
    fn one_expression_is_one_node() {
        let batch = batch(&[(2, &[Some(1)]), (2, &[Some(2)])]);
        let rest = || op(constant(1, 0), Operator::Minus, column(0));
        let mut decimals = Decimals::default();
        let one = decimals.add(&rest(), &batch.schema());
        let nodes = decimals.nodes.len();
        assert_eq!(
            (one, nodes),
            (decimals.add(&rest(), &batch.schema()), decimals.nodes.len())
        );
        assert!(
            decimals
                .add(&op(column(0), Operator::Divide, column(1)), &batch.schema())
                .is_none()
        );
        let constant = decimals.add(&constant(7, 1), &batch.schema()).unwrap();
        assert_eq!(decimals.scale(constant), None);
        assert_eq!(decimals.scale(one.unwrap()), Some(2));
    }
}
