//! Parameters that are arrays: `id = ANY ($1)`, `$1::int[]`.
//!
//! An array comes as its text, `{1,2}`, or as a value. When the values are known they are put into the query, element by element, so that `id = ANY ($1)` reads as
//! few keys as `id IN (1, 2)` does. Before, a parameter is declared an array of the type that it is compared with.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::scalar::ScalarValue;
use rukh_syntax::sqlparser::ast::{Array, BinaryOperator, DataType, Expr, Query, Value, Visitor, VisitorMut};

use crate::bind::spelling::parameters::types::cast;
use rukh_error::SqlError;
use rukh_functions::scalars::datums_from_array;
use rukh_functions::types::data_type_of_arrow;
use rukh_keys::{Datum, array_elements};
use rukh_syntax::{Walk, WalkMut};

/// Returns the number of a parameter that is all of an expression, or all of a cast to an array.
pub(crate) fn number_of(expr: &Expr) -> Option<usize> {
    parameter_within(expr, |ty| matches!(ty, DataType::Array(_)))
}

/// Returns the number of a parameter that is all of an expression, or all of a cast to such a type.
pub(crate) fn parameter_within(expr: &Expr, is_such: fn(&DataType) -> bool) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => parameter_within(inner, is_such),
        Expr::Cast { expr, data_type, .. } if is_such(data_type) => parameter_within(expr, is_such),
        Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => name.strip_prefix('$')?.parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the number of the parameter that stands for an array in an expression.
fn array_parameter(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } => number_of(right),
        Expr::Cast {
            data_type: DataType::Array(_),
            ..
        } => number_of(expr),
        _ => None,
    }
}

/// Returns the numbers of the parameters that are arrays.
pub(crate) fn array_parameters(tree: &impl Walk) -> Vec<usize> {
    let mut finder = Finder(Vec::new());
    // The finder never stops.
    let _ = tree.walk(&mut finder);
    finder.0
}

struct Finder(Vec<usize>);

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.0.extend(array_parameter(expr));
        ControlFlow::Continue(())
    }
}

/// Returns a query that compares with one element where it compares with an array that is a parameter: that
/// has a type.
pub(crate) fn with_elements(query: &Query) -> Cow<'_, Query> {
    if array_parameters(query).is_empty() {
        return Cow::Borrowed(query);
    }
    let mut query = query.clone();
    let ControlFlow::Continue(()) = query.walk_mut(&mut Elements);
    Cow::Owned(query)
}

struct Elements;

impl VisitorMut for Elements {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::AnyOp {
            left,
            compare_op,
            right,
            ..
        }
        | Expr::AllOp {
            left,
            compare_op,
            right,
        } = expr
            && number_of(right).is_some()
        {
            let element = match right.as_ref() {
                Expr::Cast { expr, .. } => expr.clone(),
                _ => right.clone(),
            };
            *expr = Expr::BinaryOp {
                left: left.clone(),
                op: compare_op.clone(),
                right: element,
            };
        }
        ControlFlow::Continue(())
    }
}

/// Returns a query with the arrays among its parameters written out; fails with 22P02 on a text that is no array.
pub(crate) fn with_arrays<'a>(query: &'a Query, params: &[ScalarValue]) -> Result<Cow<'a, Query>, SqlError> {
    if params.is_empty() || array_parameters(query).is_empty() {
        return Ok(Cow::Borrowed(query));
    }
    let mut query = query.clone();
    match query.walk_mut(&mut Arrays { params }) {
        ControlFlow::Continue(()) => Ok(Cow::Owned(query)),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Arrays<'a> {
    params: &'a [ScalarValue],
}

impl Arrays<'_> {
    /// Returns the elements of a parameter; `None` if it is NULL.
    fn elements(&self, number: usize) -> Result<Option<Vec<Expr>>, SqlError> {
        let value = number.checked_sub(1).and_then(|at| self.params.get(at));
        let all = match value {
            Some(value) if value.is_null() => return Ok(None),
            Some(ScalarValue::Utf8(Some(text))) => array_elements(text).ok_or_else(|| {
                let message = format!("malformed array literal: \"{text}\"");
                SqlError::statement("22P02", message)
            })?,
            Some(ScalarValue::List(list)) => {
                let ty = data_type_of_arrow(&list.value_type());
                let datums = datums_from_array(&list.value(0), &ty)?;
                let text = |datum: Datum| (!datum.is_null()).then(|| ty.format_text(&datum));
                datums.into_iter().map(text).collect()
            }
            _ => {
                let message = "op ANY/ALL (array) requires array on right side";
                return Err(SqlError::statement("42809", message));
            }
        };
        let literal = |element: Option<String>| match element {
            Some(text) => Value::SingleQuotedString(text),
            None => Value::Null,
        };
        let literals = all
            .into_iter()
            .map(|element| Expr::Value(literal(element).into()));
        Ok(Some(literals.collect()))
    }

    fn written_out(&self, expr: &Expr) -> Result<Option<Expr>, SqlError> {
        let Some(number) = array_parameter(expr) else {
            return Ok(None);
        };
        let Some(all) = self.elements(number)? else {
            let mut unknown = Expr::Value(Value::Null.into());
            cast(&mut unknown, DataType::Boolean);
            return Ok(match expr {
                Expr::Cast { .. } => None,
                _ => Some(unknown),
            });
        };
        Ok(Some(match expr {
            Expr::AnyOp { left, compare_op, .. } => any_of(left, compare_op, all),
            Expr::AllOp { left, compare_op, .. } => all_of(left, compare_op, all),
            Expr::Cast {
                kind,
                data_type,
                array,
                format,
                ..
            } => Expr::Cast {
                kind: kind.clone(),
                expr: Box::new(Expr::Array(Array {
                    elem: all,
                    named: true,
                })),
                data_type: data_type.clone(),
                array: *array,
                format: format.clone(),
            },
            _ => return Ok(None),
        }))
    }
}

/// Returns `left op ANY (ARRAY[…])` of these elements, written out.
pub(crate) fn any_of(left: &Expr, op: &BinaryOperator, all: Vec<Expr>) -> Expr {
    match op {
        BinaryOperator::Eq => listed(left, all, false),
        op => joined(left, op, all, BinaryOperator::Or, false),
    }
}

/// Returns `left op ALL (ARRAY[…])` of these elements, written out.
pub(crate) fn all_of(left: &Expr, op: &BinaryOperator, all: Vec<Expr>) -> Expr {
    match op {
        BinaryOperator::NotEq => listed(left, all, true),
        op => joined(left, op, all, BinaryOperator::And, true),
    }
}

fn listed(left: &Expr, list: Vec<Expr>, negated: bool) -> Expr {
    match list.is_empty() {
        true => Expr::Value(Value::Boolean(negated).into()),
        false => Expr::InList {
            expr: Box::new(left.clone()),
            list,
            negated,
        },
    }
}

/// Compares with each element, and joins the results; `empty` is the result without elements.
fn joined(left: &Expr, op: &BinaryOperator, all: Vec<Expr>, by: BinaryOperator, empty: bool) -> Expr {
    let compared = all.into_iter().map(|element| {
        Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(left.clone()),
            op: op.clone(),
            right: Box::new(element),
        }))
    });
    let together = compared.reduce(|left, right| {
        Expr::Nested(Box::new(Expr::BinaryOp {
            left: Box::new(left),
            op: by.clone(),
            right: Box::new(right),
        }))
    });
    together.unwrap_or(Expr::Value(Value::Boolean(empty).into()))
}

impl VisitorMut for Arrays<'_> {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        match self.written_out(expr) {
            Ok(Some(written)) => *expr = written,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}
