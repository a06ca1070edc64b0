//! Columns of VALUES whose cells have types that Arrow does not tell apart: DataFusion takes no other cells beside these.
//!
//! | written                                        | becomes                                      |
//! |------------------------------------------------|----------------------------------------------|
//! | `VALUES ('a0ee…'::uuid), (NULL), ('b0ee…')`    | `VALUES ('a0ee…'::uuid), (NULL::uuid), ('b0ee…'::uuid)` |
//! | `VALUES ('a'::varchar(3)), ('b'::varchar(5))`  | both cells VARCHAR                           |

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_functions::functions::declared::DECLARED;
use rukh_keys::DataType;
use rukh_syntax::make::call;
use rukh_syntax::sqlparser::ast::{self, Expr, Query, SetExpr, Value, VisitorMut};
use rukh_syntax::{WalkMut, data_type};

use crate::typed_parameters::cast;

/// Gives the cells of each column one type.
pub(crate) fn alike(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        of_body(&mut query.body);
        ControlFlow::Continue(())
    }
}

fn of_body(body: &mut SetExpr) {
    match body {
        SetExpr::SetOperation { left, right, .. } => {
            of_body(left);
            of_body(right);
        }
        SetExpr::Values(values) if values.rows.len() > 1 => {
            let width = values.rows.iter().map(|row| row.content.len()).min();
            for at in 0..width.unwrap_or(0) {
                let mut cells: Vec<&mut Expr> =
                    values.rows.iter_mut().map(|row| &mut row.content[at]).collect();
                of_column(&mut cells);
            }
        }
        _ => {}
    }
}

fn of_column(cells: &mut [&mut Expr]) {
    let types: Vec<Option<DataType>> = cells.iter().map(|cell| told(cell)).collect();
    if types.iter().all(|ty| *ty == types[0]) {
        return;
    }
    if types.contains(&Some(DataType::Uuid)) {
        for cell in cells {
            if is_untyped(cell) {
                cast(cell, ast::DataType::Uuid);
            }
        }
        return;
    }
    for (cell, ty) in cells.iter_mut().zip(types) {
        if ty.is_some() {
            let value = std::mem::replace(*cell, Expr::Value(Value::Null.into()));
            let text = Value::SingleQuotedString(DataType::Varchar(None).to_string());
            **cell = call(DECLARED, vec![value, Expr::Value(text.into())]);
        }
    }
}

/// Returns the type of a cell that is a cast to a UUID, or to a text of some length.
fn told(cell: &Expr) -> Option<DataType> {
    let ty = match cell {
        Expr::Nested(inner) => return told(inner),
        Expr::Cast { data_type, .. } => data_type,
        Expr::TypedString(typed) => &typed.data_type,
        _ => return None,
    };
    data_type(ty).ok().filter(|ty| {
        matches!(
            ty,
            DataType::Uuid | DataType::Char(_) | DataType::Varchar(Some(_))
        )
    })
}

fn is_untyped(cell: &Expr) -> bool {
    match cell {
        Expr::Nested(inner) => is_untyped(inner),
        Expr::Value(value) => {
            matches!(
                value.value,
                Value::SingleQuotedString(_) | Value::Null | Value::Placeholder(_)
            )
        }
        _ => false,
    }
}
