//! Columns of VALUES whose cells have types that Arrow does not distinguish, or literals beside what has a type: DataFusion takes no other
//! cells beside these.
//!
//! | written                                        | becomes                                      |
//! |------------------------------------------------|----------------------------------------------|
//! | `VALUES ('a0ee…'::uuid), (NULL), ('b0ee…')`    | `VALUES ('a0ee…'::uuid), (NULL::uuid), ('b0ee…'::uuid)` |
//! | `VALUES ('a'::varchar(3)), ('b'::varchar(5))`  | both cells VARCHAR                           |
//! | `VALUES (date '2020-01-01'), ('2020-01-02')`   | `VALUES (date '2020-01-01'), ('2020-01-02'::date)` |
//! | `VALUES (1), ('2')`                            | `VALUES (1), ('2'::integer)`                 |

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_functions::casts::texts::{CAST_CHAR, CAST_VARCHAR};
use rukh_functions::functions::common::declared::DECLARED;
use rukh_functions::functions::texts::to_uuid::TO_UUID;
use rukh_keys::DataType;
use rukh_syntax::make::call;
use rukh_syntax::sqlparser::ast::{
    self, CastKind, ExactNumberInfo, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, SetExpr,
    Value, VisitorMut,
};
use rukh_syntax::{WalkMut, each_side_mut};

use crate::bind::spelling::parameters::types::cast;

/// Gives the cells of each column one type.
pub(crate) fn alike(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Columns);
}

struct Columns;

impl VisitorMut for Columns {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        each_side_mut(&mut query.body, &mut of_values);
        ControlFlow::Continue(())
    }
}

fn of_values(side: &mut SetExpr) {
    let SetExpr::Values(values) = side else {
        return;
    };
    let rows = &mut values.rows;
    if rows.len() < 2 {
        return;
    }
    let width = rows.iter().map(|row| row.content.len()).min();
    for at in 0..width.unwrap_or(0) {
        let mut cells: Vec<&mut Expr> = rows.iter_mut().map(|row| &mut row.content[at]).collect();
        of_column(&mut cells);
    }
}

fn of_column(cells: &mut [&mut Expr]) {
    if let Some(ty) = written_type(cells) {
        for cell in cells.iter_mut().filter(|cell| is_text(cell)) {
            cast(cell, ty.clone());
        }
    }
    let types: Vec<Option<DataType>> = cells.iter().map(|cell| known_type(cell)).collect();
    if types.iter().all(|ty| *ty == types[0]) {
        return;
    }
    if types.contains(&Some(DataType::Uuid)) {
        for cell in cells {
            if is_untyped(cell) {
                let text = std::mem::replace(*cell, Expr::Value(Value::Null.into()));
                **cell = call(TO_UUID, vec![text]);
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

/// Returns the type of the cells that are casts or integers, if all of them have one.
fn written_type(cells: &[&mut Expr]) -> Option<ast::DataType> {
    let mut types = cells.iter().filter_map(|cell| written(cell));
    let first = types.next()?;
    types.all(|ty| ty == first).then_some(first)
}

fn written(cell: &Expr) -> Option<ast::DataType> {
    match cell {
        Expr::Nested(inner) => written(inner),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            data_type,
            ..
        } => Some(data_type.clone()),
        Expr::TypedString(typed) => Some(typed.data_type.clone()),
        Expr::Interval(_) => Some(ast::DataType::Interval {
            fields: None,
            precision: None,
        }),
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(match digits.parse::<i32>() {
                Ok(_) => ast::DataType::Integer(None),
                Err(_) => ast::DataType::Numeric(ExactNumberInfo::None),
            }),
            Value::Boolean(_) => Some(ast::DataType::Boolean),
            _ => None,
        },
        _ => None,
    }
}

fn is_text(cell: &Expr) -> bool {
    match cell {
        Expr::Nested(inner) => is_text(inner),
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
        _ => false,
    }
}

/// Returns the type of a cell that is a cast to a UUID, or to a text of some length, as `casts` spells them.
fn known_type(cell: &Expr) -> Option<DataType> {
    let call = match cell {
        Expr::Nested(inner) => return known_type(inner),
        Expr::Function(call) => call,
        _ => return None,
    };
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    let argument = |at: usize| match list.args.get(at) {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(argument))) => Some(argument),
        _ => None,
    };
    match call.name.to_string().as_str() {
        TO_UUID => Some(DataType::Uuid),
        CAST_VARCHAR => {
            let length = argument(1)?.to_string().parse().ok()?;
            Some(DataType::Varchar(Some(length)))
        }
        CAST_CHAR => match known_type(argument(0)?)? {
            DataType::Varchar(Some(length)) => Some(DataType::Char(length)),
            _ => None,
        },
        _ => None,
    }
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
