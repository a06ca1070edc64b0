//! A condition that an operator finds out while it runs, for a scan below it.
//!
//! DataFusion's hash joins say of the rows of one side what the keys of the other are: a list, if they
//! are few, else the least and the greatest. It is said for each partition of the join apart; here that
//! becomes one condition. What is not understood is left out, which makes the condition wider, never
//! narrower: no row is lost, and the operator that has the condition checks it anyway.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{RecordBatch, RecordBatchOptions};
use datafusion::arrow::datatypes::Schema;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{ColumnarValue, Operator};
use datafusion::physical_expr::expressions::{
    BinaryExpr, CaseExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr, Literal,
};
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use rukh_catalog::ColumnId;
use rukh_planner::{CompareOp, Operand, Predicate};

use super::scan_column::{CastColumn, Outputs, ScanColumn};
use rukh_error::SqlError;

/// The operator that knows all it will find out before it asks for the first row of a scan.
pub(super) const HASH_JOIN: &str = "hash join";

/// What a condition compares with, and is known before the first row, too.
pub(super) const SUBQUERY: &str = "subquery";

/// A sort that keeps some rows only, and knows more with every row.
pub(super) const FIRST_ROWS: &str = "first rows";

/// The columns of a filter: of its own input, and what they are of the current plan.
pub(super) type Columns = BTreeMap<usize, CastColumn>;

/// A condition that an operator finds out while it runs.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeFilter {
    filter: Arc<DynamicFilterPhysicalExpr>,
    /// The columns of the scan.
    columns: Columns,
    by: &'static str,
}

impl RuntimeFilter {
    /// Makes a filter for a scan that has these columns.
    pub(super) fn new(filter: Arc<DynamicFilterPhysicalExpr>, columns: Columns, by: &'static str) -> Self {
        RuntimeFilter { filter, columns, by }
    }

    /// Returns the filter as DataFusion knows it.
    pub(super) fn expr(&self) -> Arc<dyn PhysicalExpr> {
        self.filter.clone()
    }

    /// Returns how often what is known has changed.
    pub(super) fn generation(&self) -> u64 {
        self.filter.snapshot_generation()
    }

    /// Whether it comes closer while rows go up, and is not known before the first of them.
    pub(super) fn moves(&self) -> bool {
        !matches!(self.by, HASH_JOIN | SUBQUERY)
    }

    /// Returns the operator that finds it out, in words.
    pub(super) fn by(&self) -> &'static str {
        self.by
    }

    /// Returns the columns of the table that it reads.
    pub(super) fn columns_of(&self, outputs: Outputs<'_>) -> Vec<ColumnId> {
        let columns = self
            .columns
            .values()
            .filter_map(|cast| ScanColumn::of(outputs, cast));
        columns.map(|of| of.column).collect()
    }

    /// Returns what is known by now.
    pub(super) fn predicate(&self, outputs: Outputs<'_>) -> Result<Predicate, SqlError> {
        let current = self.filter.current()?;
        let reader = Reader {
            outputs,
            columns: &self.columns,
        };
        Ok(reader.predicate(current.as_ref()))
    }
}

/// Reads conditions on the rows of a scan.
struct Reader<'a> {
    outputs: Outputs<'a>,
    columns: &'a Columns,
}

impl Reader<'_> {
    /// Returns a condition that holds wherever this one is true.
    fn predicate(&self, expr: &dyn PhysicalExpr) -> Predicate {
        self.understood(expr).unwrap_or(Predicate::True)
    }

    fn understood(&self, expr: &dyn PhysicalExpr) -> Option<Predicate> {
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left().as_ref(), binary.right().as_ref());
            return match binary.op() {
                Operator::And => Some(both(self.predicate(left), self.predicate(right))),
                Operator::Or => Some(any(vec![self.predicate(left), self.predicate(right)])),
                op => self.comparison(*op, left, right),
            };
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Some(match literal.value() {
                ScalarValue::Boolean(Some(true)) => Predicate::True,
                _ => Predicate::False,
            });
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.membership(list);
        }
        if let Some(case) = expr.downcast_ref::<CaseExpr>() {
            let mut branches = case.when_then_expr().iter().map(|(_, then)| then);
            let mut arms: Vec<Predicate> = branches
                .by_ref()
                .map(|then| self.predicate(then.as_ref()))
                .collect();
            arms.extend(case.else_expr().map(|other| self.predicate(other.as_ref())));
            return Some(any(arms));
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            let operand = self.column(is_null.arg().as_ref())?.operand;
            return Some(Predicate::IsNull {
                operand,
                negated: false,
            });
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            let operand = self.column(is_not_null.arg().as_ref())?.operand;
            return Some(Predicate::IsNull {
                operand,
                negated: true,
            });
        }
        None
    }

    fn comparison(
        &self,
        op: Operator,
        left: &dyn PhysicalExpr,
        right: &dyn PhysicalExpr,
    ) -> Option<Predicate> {
        let op = match op {
            Operator::Eq => CompareOp::Eq,
            Operator::Lt => CompareOp::Lt,
            Operator::LtEq => CompareOp::LtEq,
            Operator::Gt => CompareOp::Gt,
            Operator::GtEq => CompareOp::GtEq,
            _ => return None,
        };
        let (op, column, value) = match self.column(left) {
            Some(column) => (op, column, value_of(right)?),
            None => (op.flipped(), self.column(right)?, value_of(left)?),
        };
        let constant = Operand::Constant(column.constant(&value)?);
        Some(Predicate::compare(op, column.operand, constant))
    }

    fn membership(&self, list: &InListExpr) -> Option<Predicate> {
        if list.negated() {
            return None;
        }
        let values = list.list().iter().map(|value| value_of(value.as_ref()));
        let values = values.collect::<Option<Vec<_>>>()?;
        if let Some(column) = self.column(list.expr().as_ref()) {
            let constants = values.iter().map(|value| column.constant(value));
            let constants = constants.map(|constant| constant.map(Operand::Constant));
            return Some(Predicate::In {
                operand: column.operand.clone(),
                list: constants.collect::<Option<Vec<_>>>()?,
                negated: false,
            });
        }
        self.row_membership(list.expr().as_ref(), &values)
    }

    /// `struct(a, b) IN (…)`, of which the columns known are enough.
    fn row_membership(&self, expr: &dyn PhysicalExpr, values: &[ScalarValue]) -> Option<Predicate> {
        let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
        let parts = call.args().iter().map(|part| self.column(part.as_ref()));
        let parts: Vec<(usize, ScanColumn)> = parts
            .enumerate()
            .filter_map(|(at, part)| Some((at, part?)))
            .collect();
        if call.name() != "struct" || parts.is_empty() {
            return None;
        }
        let row = |value: &ScalarValue| {
            let ScalarValue::Struct(fields) = value else {
                return None;
            };
            let field = |(at, column): &(usize, ScanColumn)| {
                let value = ScalarValue::try_from_array(fields.columns().get(*at)?, 0).ok()?;
                column.constant(&value).map(Operand::Constant)
            };
            parts.iter().map(field).collect::<Option<Vec<_>>>()
        };
        let mut list = values.iter().map(row).collect::<Option<Vec<_>>>()?;
        let mut left: Vec<Operand> = parts.iter().map(|(_, column)| column.operand.clone()).collect();
        Some(match left.len() {
            1 => Predicate::In {
                operand: left.remove(0),
                list: list.iter_mut().map(|row| row.remove(0)).collect(),
                negated: false,
            },
            _ => Predicate::RowIn {
                left,
                list,
                negated: false,
            },
        })
    }

    fn column(&self, expr: &dyn PhysicalExpr) -> Option<ScanColumn> {
        let mut of = CastColumn::of(expr, None)?;
        let mut below = self.columns.get(&of.position)?.clone();
        below.casts.append(&mut of.casts);
        ScanColumn::of(self.outputs, &below)
    }
}

/// Returns the value of a literal, or of an expression over no columns but what subqueries gave.
fn value_of(expr: &dyn PhysicalExpr) -> Option<ScalarValue> {
    if let Some(literal) = expr.downcast_ref::<Literal>() {
        return Some(literal.value().clone());
    }
    let mut asks_column = expr.downcast_ref::<Column>().is_some();
    for child in expr.children() {
        asks_column |= !collect_columns(child).is_empty();
    }
    if asks_column || expr.is_volatile_node() {
        return None;
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(1));
    let none = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &rows).ok()?;
    match expr.evaluate(&none).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0).ok(),
    }
}

/// `one AND other`; a list says all that bounds of the same column could say.
fn both(one: Predicate, other: Predicate) -> Predicate {
    let mut all = Vec::new();
    for predicate in [one, other] {
        match predicate {
            Predicate::True => {}
            Predicate::False => return Predicate::False,
            Predicate::And(parts) => all.extend(parts),
            part => all.push(part),
        }
    }
    let listed: Vec<Operand> = all
        .iter()
        .filter_map(|part| match part {
            Predicate::In { operand, .. } => Some(operand.clone()),
            _ => None,
        })
        .collect();
    all.retain(|part| !matches!(part, Predicate::Compare { left, .. } if listed.contains(left)));
    match all.len() {
        0 => Predicate::True,
        1 => all.remove(0),
        _ => Predicate::And(all),
    }
}

/// One of these; lists of the same column become one list.
fn any(arms: Vec<Predicate>) -> Predicate {
    let mut all: Vec<Predicate> = Vec::new();
    for arm in arms {
        match arm {
            Predicate::True => return Predicate::True,
            Predicate::False => {}
            Predicate::Or(parts) => all.extend(parts),
            part => all.push(part),
        }
    }
    let mut united: Vec<Predicate> = Vec::new();
    for arm in all {
        let known = united.iter_mut().find_map(|known| unite(known, &arm));
        if known.is_none() {
            united.push(arm);
        }
    }
    match united.len() {
        0 => Predicate::False,
        1 => united.remove(0),
        _ => Predicate::Or(united),
    }
}

/// Adds the values of one list to another, if both are lists of the same.
fn unite(known: &mut Predicate, arm: &Predicate) -> Option<()> {
    match (known, arm) {
        (
            Predicate::In { operand, list, .. },
            Predicate::In {
                operand: same,
                list: more,
                ..
            },
        ) if operand == same => {
            list.extend(more.iter().cloned());
            Some(())
        }
        (
            Predicate::RowIn { left, list, .. },
            Predicate::RowIn {
                left: same,
                list: more,
                ..
            },
        ) if left == same => {
            list.extend(more.iter().cloned());
            Some(())
        }
        _ => None,
    }
}
