//! Which expressions of conditions those of indexes are.
//!
//! Two spellings are the same by their typed form. Beside that,
//!
//! - arithmetic of whole numbers is the same in INTEGER and in BIGINT: wherever both have a value, they have the same one, and the rows of an
//!   index are those where its expression has one. So an index on `(CAST(a AS BIGINT) % 10)`, as which versions before 0.3 stored
//!   `(a % 10)`, serves conditions on `a % 10`, and the other way round;
//! - `CAST(s AS VARCHAR(3))` is `left(s, 3)`, as which these versions stored it.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::ScalarValue;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use rukh_catalog::Table;
use rukh_functions::functions::common::declared::declared_value;
use rukh_functions::functions::common::renamed::usual;
use rukh_functions::functions::numbers::arithmetic::operator_of;
use rukh_keys::DataType;
use rukh_walk::Tree;

use crate::bind::types::expressions::normalise;

/// Returns the text by which expressions of indexes and of conditions are compared.
pub(crate) fn matched_text(table: &Table, expr: &Expr) -> String {
    let same = expr.clone().turn_up(&mut |part| {
        let spelled = match &part {
            part if declared_value(part).is_some() => declared_value(part).cloned(),
            Expr::ScalarFunction(call) => usual(&call.func).map(|usual| usual.call(call.args.clone())),
            _ => None,
        };
        let same = spelled.or_else(|| narrowed(table, &part));
        Ok(same.map_or(Transformed::no(part), Transformed::yes))
    });
    match same {
        Ok(same) if same.transformed => normalise(&same.data),
        _ => normalise(expr),
    }
}

/// Returns arithmetic of BIGINT in INTEGER; `None` of all else, and where a part needs BIGINT.
fn narrowed(table: &Table, expr: &Expr) -> Option<Expr> {
    let (left, op, right) = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => (left.as_ref(), *op, right.as_ref()),
        Expr::ScalarFunction(ScalarFunction { func, args }) => match (operator_of(func), args.as_slice()) {
            (Some(op), [left, right]) => (left, op, right),
            _ => return None,
        },
        _ => return None,
    };
    if !matches!(
        op,
        Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo
    ) {
        return None;
    }
    let (left, right) = (narrowed_operand(table, left)?, narrowed_operand(table, right)?);
    let (left, right) = (Box::new(left), Box::new(right));
    Some(Expr::BinaryExpr(BinaryExpr { left, op, right }))
}

fn narrowed_operand(table: &Table, operand: &Expr) -> Option<Expr> {
    match operand {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => {
            let value = i32::try_from(*value).ok()?;
            Some(Expr::Literal(ScalarValue::Int32(Some(value)), None))
        }
        Expr::Cast(Cast { expr, field }) if *field.data_type() == ArrowType::Int64 => match expr.as_ref() {
            Expr::Column(column) => {
                let of = table.column_named(&column.name)?;
                (of.ty == DataType::Integer).then(|| expr.as_ref().clone())
            }
            _ => None,
        },
        Expr::Literal(ScalarValue::Int32(_), _) => Some(operand.clone()),
        Expr::Column(column) => {
            let of = table.column_named(&column.name)?;
            (of.ty == DataType::Integer).then(|| operand.clone())
        }
        other => narrowed(table, other),
    }
}
