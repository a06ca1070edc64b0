//! String literals in a column of UNION, INTERSECT and EXCEPT: they are read as the type that the column has on the other side.
//!
//! | written                                        | becomes                                           |
//! |------------------------------------------------|---------------------------------------------------|
//! | `SELECT i FROM t UNION SELECT '5'`             | `SELECT i FROM t UNION SELECT CAST('5' AS INTEGER)` |
//! | `SELECT '5' UNION SELECT '6' UNION SELECT i …` | stays, and fails: the first two are texts by then   |
//!
//! DataFusion plans each side by itself, where a literal is a text. The types of columns come from DataFusion: each SELECT is planned
//! alone. One that cannot be planned alone (it reads the query around it) leaves the literals beside it as they are.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as PlannedStatement;
use rukh_error::SqlError;
use rukh_functions::functions::texts::to_uuid::TO_UUID;
use rukh_functions::types::data_type_of;
use rukh_keys::DataType;
use rukh_syntax::make::{self, call, query_of};
use rukh_syntax::sqlparser::ast::{
    self, ExactNumberInfo, Expr, Ident, Query, SelectItem, SetExpr, Value, Visitor, VisitorMut, With,
};
use rukh_syntax::{Walk, WalkMut, each_side};

use crate::bind::names::outer_names::joined_with;
use crate::bind::spelling::integer_literals;
use crate::bind::spelling::parameters::types::cast_type;
use crate::bind::spelling::rewrite::rewrite;
use crate::bind::types::coercions::unified_fields;

/// Casts the literals.
pub(crate) async fn read(state: &SessionState, query: &mut Query) -> Result<(), SqlError> {
    let mut finder = Finder::default();
    let ControlFlow::Continue(()) = query.walk(&mut finder);
    if finder.found.iter().all(Vec::is_empty) {
        return Ok(());
    }
    let mut planned = Vec::with_capacity(finder.found.len());
    for selects in finder.found {
        let mut fields = Vec::with_capacity(selects.len());
        for select in selects {
            fields.push(fields_of(state, select).await);
        }
        planned.push(fields);
    }
    let mut filler = Filler {
        planned: planned.into_iter(),
    };
    let ControlFlow::Continue(()) = query.walk_mut(&mut filler);
    Ok(())
}

/// Returns the columns of a query; none if it cannot be planned alone.
async fn fields_of(state: &SessionState, mut query: Query) -> Vec<FieldRef> {
    if rewrite(&mut query).is_err() {
        return Vec::new();
    }
    integer_literals::typed(&mut query);
    let statement = ast::Statement::Query(Box::new(query));
    let statement = PlannedStatement::Statement(Box::new(statement));
    let plan = state.statement_to_plan(statement).await;
    plan.map_or_else(
        |_| Vec::new(),
        |plan| plan.schema().fields().iter().cloned().collect(),
    )
}

/// Returns the select list of a side that is one SELECT.
fn items(body: &SetExpr) -> Option<&[SelectItem]> {
    match body {
        SetExpr::Select(select) => Some(&select.projection),
        SetExpr::Query(query) => items(&query.body),
        _ => None,
    }
}

fn items_mut(body: &mut SetExpr) -> Option<&mut [SelectItem]> {
    match body {
        SetExpr::Select(select) => Some(&mut select.projection),
        SetExpr::Query(query) => items_mut(&mut query.body),
        _ => None,
    }
}

/// Returns which columns of a side are string literals; none behind a star, whose width is unknown.
fn literals(body: &SetExpr) -> Vec<bool> {
    let items = items(body).unwrap_or_default().iter();
    items
        .map_while(|item| match item {
            SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(is_literal(expr)),
            _ => None,
        })
        .collect()
}

fn is_literal(expr: &Expr) -> bool {
    match expr {
        Expr::Nested(inner) => is_literal(inner),
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_)),
        _ => false,
    }
}

/// Collects, for each query that is a set operation, its sides as queries: none where no literal needs a type.
#[derive(Default)]
struct Finder {
    with: Vec<With>,
    found: Vec<Vec<Query>>,
}

impl Finder {
    fn sides(&self, body: &SetExpr) -> Vec<Query> {
        let mut columns = Vec::new();
        each_side(body, &mut |side| columns.push(literals(side)));
        let is_literal = |side: &Vec<bool>, at: usize| side.get(at).copied().unwrap_or(false);
        let width = columns.iter().map(Vec::len).max().unwrap_or(0);
        let is_mixed = |at: usize| {
            let first = is_literal(&columns[0], at);
            columns.iter().any(|side| is_literal(side, at) != first)
        };
        if !(0..width).any(is_mixed) {
            return Vec::new();
        }
        let mut sides = Vec::new();
        each_side(body, &mut |side| {
            let mut query = match side {
                SetExpr::Query(query) => query.as_ref().clone(),
                other => query_of(other.clone()),
            };
            if query.with.is_none() {
                query.with = joined_with(&self.with);
            }
            sides.push(query);
        });
        sides
    }
}

impl Visitor for Finder {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        self.with.extend(query.with.clone());
        if matches!(*query.body, SetExpr::SetOperation { .. }) {
            let sides = self.sides(&query.body);
            self.found.push(sides);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        if query.with.is_some() {
            self.with.pop();
        }
        ControlFlow::Continue(())
    }
}

/// What is known of a column of a side.
enum Column {
    /// A string literal.
    Literal,
    /// It has a type.
    Typed(FieldRef),
    Unknown,
}

/// Casts literals, in the order in which [`Finder`] meets their queries.
struct Filler {
    planned: std::vec::IntoIter<Vec<Vec<FieldRef>>>,
}

impl VisitorMut for Filler {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        if matches!(*query.body, SetExpr::SetOperation { .. }) {
            let sides = self.planned.next().unwrap_or_default();
            if !sides.is_empty() {
                filled(&mut query.body, &mut sides.into_iter());
            }
        }
        ControlFlow::Continue(())
    }
}

/// Casts the literals of a set operation; returns its columns.
fn filled(body: &mut SetExpr, planned: &mut std::vec::IntoIter<Vec<FieldRef>>) -> Vec<Column> {
    let SetExpr::SetOperation { left, right, .. } = body else {
        let literals = literals(body);
        let is_literal = |at: usize| literals.get(at).copied().unwrap_or(false);
        let fields = planned.next().unwrap_or_default().into_iter().enumerate();
        let column = |(at, field)| match is_literal(at) {
            true => Column::Literal,
            false => Column::Typed(field),
        };
        return fields.map(column).collect();
    };
    let columns = filled(left, planned).into_iter().zip(filled(right, planned));
    let columns = columns.enumerate().map(|(at, columns)| match columns {
        (Column::Literal, Column::Typed(field)) => {
            cast(left, at, &field);
            Column::Typed(field)
        }
        (Column::Typed(field), Column::Literal) => {
            cast(right, at, &field);
            Column::Typed(field)
        }
        (Column::Typed(one), Column::Typed(other)) => in_common(one, &other),
        _ => Column::Unknown,
    });
    columns.collect()
}

fn in_common(one: FieldRef, other: &FieldRef) -> Column {
    if one.data_type() == other.data_type() {
        return Column::Typed(one);
    }
    match unified_fields([(&one, None), (other, None)].into_iter()) {
        Some(ty) => Column::Typed(Arc::new(Field::new(one.name(), ty, true))),
        None => Column::Unknown,
    }
}

/// Casts the literal that is a column of a side to the type of a field. A text stays one.
fn cast(side: &mut SetExpr, at: usize, field: &FieldRef) {
    let Some(item) = items_mut(side).and_then(|items| items.get_mut(at)) else {
        return;
    };
    let (expr, alias) = match item {
        SelectItem::UnnamedExpr(expr) => (expr.clone(), Ident::with_quote('"', "?column?")),
        SelectItem::ExprWithAlias { expr, alias } => (expr.clone(), alias.clone()),
        _ => return,
    };
    let typed = match (field.data_type(), data_type_of(field)) {
        (_, DataType::Uuid) => call(TO_UUID, vec![expr]),
        // The digits of the other side are no bound.
        (_, DataType::Decimal { .. }) => make::cast(expr, ast::DataType::Numeric(ExactNumberInfo::None)),
        (_, ty) => match cast_type(ty) {
            Some(ty) => make::cast(expr, ty),
            None => return,
        },
    };
    *item = SelectItem::ExprWithAlias { expr: typed, alias };
}
