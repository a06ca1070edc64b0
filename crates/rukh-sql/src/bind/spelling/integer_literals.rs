//! Whole numbers that are INTEGER where they fit, as in PostgreSQL: DataFusion's are BIGINT.
//!
//! Each number is cast, so that whatever is planned above it has its type from the start; casts of literals become literals again
//! when the plan is typed (`typed_casts`). Numbers that DataFusion takes for something else than values stay as they are: positions
//! of columns in ORDER BY and GROUP BY, limits, bounds of frames, arguments of functions that ask for constants.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_functions::casts::texts::CAST_VARCHAR;
use rukh_functions::functions::times::round_moment::ROUND_MOMENT;
use rukh_syntax::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Fetch, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, LimitClause, OrderBy, OrderByKind, Query, Select, Subscript, TableFactor,
    UnaryOperator, Value, VisitorMut, WindowFrameBound, WindowType,
};
use rukh_syntax::{WalkMut, folded, make};

/// Functions that ask for constants, or whose types follow from the constant.
const OF_CONSTANTS: [&str; 18] = [
    CAST_VARCHAR,
    ROUND_MOMENT,
    "round",
    "trunc",
    "lag",
    "lead",
    "nth_value",
    "ntile",
    "range",
    "percentile_cont",
    "percentile_disc",
    "approx_percentile_cont",
    "array_element",
    "array_slice",
    "json_element",
    "grouping",
    "to_timestamp",
    "hash",
];

/// Casts the whole numbers of a statement or expression to INTEGER where they fit.
pub(crate) fn typed(node: &mut impl WalkMut) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Numbers);
    let ControlFlow::Continue(()) = node.walk_mut(&mut Unmarked);
}

/// Takes the marks away, which DataFusion does not know.
struct Unmarked;

impl VisitorMut for Unmarked {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Value(value) = expr
            && let Value::Number(_, is_kept) = &mut value.value
        {
            *is_kept = false;
        }
        ControlFlow::Continue(())
    }
}

struct Numbers;

/// A number that is left as it is, marked by the flag that other databases have for long numbers.
fn keep(expr: &mut Expr) {
    match expr {
        Expr::Value(value) => {
            if let Value::Number(_, is_kept) = &mut value.value {
                *is_kept = true;
            }
        }
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => keep(expr),
        Expr::BinaryOp { left, right, .. } => {
            keep(left);
            keep(right);
        }
        _ => {}
    }
}

/// Whether an expression is a whole number that INTEGER holds with this sign, and is not kept.
fn is_integer(expr: &Expr, sign: &str) -> bool {
    match expr {
        Expr::Value(value) => {
            matches!(&value.value, Value::Number(digits, false) if format!("{sign}{digits}").parse::<i32>().is_ok())
        }
        _ => false,
    }
}

fn cast(number: &mut Expr) {
    keep(number);
    let inner = std::mem::replace(number, Expr::Value(Value::Null.into()));
    *number = make::cast(inner, DataType::Integer(None));
}

fn keep_arguments(arguments: &mut [FunctionArg]) {
    for argument in arguments {
        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) = argument {
            keep(value);
        }
    }
}

/// Whether a function asks for constants among its arguments.
pub(crate) fn asks_for_constants(call: &Function) -> bool {
    let name = call.name.0.last().and_then(|part| part.as_ident()).map(folded);
    name.is_some_and(|name| OF_CONSTANTS.contains(&name.as_str()))
}

fn keep_of_function(call: &mut Function) {
    if asks_for_constants(call)
        && let FunctionArguments::List(list) = &mut call.args
    {
        keep_arguments(&mut list.args);
    }
    if let Some(WindowType::WindowSpec(window)) = &mut call.over
        && let Some(frame) = &mut window.window_frame
    {
        for bound in [Some(&mut frame.start_bound), frame.end_bound.as_mut()]
            .into_iter()
            .flatten()
        {
            if let WindowFrameBound::Preceding(Some(rows)) | WindowFrameBound::Following(Some(rows)) = bound {
                keep(rows);
            }
        }
    }
}

/// Keeps a number that is the position of a column.
fn keep_position(key: &mut Expr) {
    if let Expr::Value(_) = key {
        keep(key);
    }
}

fn keep_positions(order_by: &mut OrderBy) {
    if let OrderByKind::Expressions(keys) = &mut order_by.kind {
        keys.iter_mut().for_each(|key| keep_position(&mut key.expr));
    }
}

impl VisitorMut for Numbers {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        for key in query.order_by.iter_mut() {
            keep_positions(key);
        }
        match &mut query.limit_clause {
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                limit.iter_mut().for_each(keep);
                offset.iter_mut().for_each(|offset| keep(&mut offset.value));
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => {
                keep(offset);
                keep(limit);
            }
            None => {}
        }
        if let Some(Fetch {
            quantity: Some(quantity),
            ..
        }) = &mut query.fetch
        {
            keep(quantity);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        if let GroupByExpr::Expressions(keys, _) = &mut select.group_by {
            for key in keys {
                match key {
                    Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets) => {
                        sets.iter_mut().flatten().for_each(keep_position);
                    }
                    key => keep_position(key),
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<Infallible> {
        match relation {
            TableFactor::Function { args, .. } => keep_arguments(args),
            TableFactor::Table { args: Some(args), .. } => keep_arguments(&mut args.args),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        match expr {
            Expr::Function(call) => keep_of_function(call),
            Expr::Interval(interval) => keep(&mut interval.value),
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Subscript(Subscript::Index { index }) = access {
                        keep(index);
                    }
                }
            }
            Expr::BinaryOp {
                op: BinaryOperator::Arrow | BinaryOperator::LongArrow,
                right,
                ..
            } => keep(right),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: number,
            } if is_integer(number, "-") => cast(expr),
            number if is_integer(number, "") => cast(number),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
