//! `VALUES ((SELECT 1), 2), (3, 4)`: rows of subqueries.
//!
//! DataFusion computes VALUES when it plans, before any subquery has run. Here each row becomes a SELECT without FROM, and several rows their
//! UNION ALL, ordered by their places:
//!
//! ```text
//! SELECT column1, column2 FROM (SELECT 1 AS place, (SELECT 1) AS column1, 2 AS column2
//!                               UNION ALL SELECT 2, 3, 4) rows ORDER BY place
//! ```

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::make::{derived, ordered, query_of, select, select_values};
use rukh_syntax::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Value, Visitor, VisitorMut,
};
use rukh_syntax::{HIDDEN, Walk, WalkMut, each_side_mut};

/// Makes SELECTs of VALUES with subqueries.
pub(crate) fn spell_out(query: &mut Query) {
    let ControlFlow::Continue(()) = query.walk_mut(&mut Rows);
}

struct Rows;

impl VisitorMut for Rows {
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
    let rows = || values.rows.iter().map(|row| &row.content);
    if !rows().flatten().any(has_query) {
        return;
    }
    let width = rows().map(Vec::len).min().unwrap_or(0);
    let selects = rows().zip(1..).map(|(row, place)| {
        let cells = row.iter().cloned().zip(1..);
        let cells = cells.map(|(cell, number)| item(cell, &column(number)));
        let place = item(
            Expr::Value(Value::Number(format!("{place}"), false).into()),
            PLACE,
        );
        *select_values([place].into_iter().chain(cells).collect()).body
    });
    let Some(united) = united(selects.collect()) else {
        return;
    };
    let columns = (1..=width).map(|number| SelectItem::UnnamedExpr(name(&column(number))));
    let from = derived(query_of(united), &format!("rows{HIDDEN}"), Vec::new());
    let all = ordered(select(columns.collect(), from, None), name(PLACE));
    *side = SetExpr::Query(Box::new(all));
}

/// Returns the UNION ALL of rows in their order. It is as deep as the logarithm of their number: there may be thousands.
fn united(mut rows: Vec<SetExpr>) -> Option<SetExpr> {
    while rows.len() > 1 {
        let mut pairs = Vec::with_capacity(rows.len().div_ceil(2));
        let mut left = rows.into_iter();
        while let Some(above) = left.next() {
            pairs.push(match left.next() {
                Some(below) => SetExpr::SetOperation {
                    op: SetOperator::Union,
                    set_quantifier: SetQuantifier::All,
                    left: Box::new(above),
                    right: Box::new(below),
                },
                None => above,
            });
        }
        rows = pairs;
    }
    rows.pop()
}

/// The name of the column by which rows are ordered.
const PLACE: &str = "place\u{2063}";

/// Returns the name of a column of VALUES, counted from 1.
fn column(number: usize) -> String {
    format!("column{number}")
}

fn name(text: &str) -> Expr {
    Expr::Identifier(Ident::with_quote('"', text))
}

fn item(expr: Expr, alias: &str) -> SelectItem {
    SelectItem::ExprWithAlias {
        expr,
        alias: Ident::with_quote('"', alias),
    }
}

fn has_query(cell: &Expr) -> bool {
    struct Queries;

    impl Visitor for Queries {
        type Break = ();

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    cell.walk(&mut Queries).is_break()
}
