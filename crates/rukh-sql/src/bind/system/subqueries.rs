//! Subqueries on `pg_catalog`, in a form that DataFusion runs.
//!
//! 1. A query that joins with a table which never has rows has none. Its conditions and computed columns,
//!    which need not be planned, go: `SELECT f(x) AS a FROM pg_policy WHERE …` becomes
//!    `SELECT NULL AS a FROM pg_policy WHERE false`. As a subquery it is NULL, an empty array, or false.
//! 2. DataFusion plans a correlated subquery only where it aggregates, and EXISTS only in WHERE. Elsewhere
//!    they become lateral joins: `SELECT (SELECT d.x FROM pg_attrdef d WHERE d.y = a.y) FROM pg_attribute a`
//!    is `SELECT s.x FROM pg_attribute a LEFT JOIN LATERAL (SELECT …) s ON true`. That is the same as long
//!    as the subquery gives one row at most, which those that clients send to `pg_catalog` do.
//!
//! Queries of other tables stay as they are.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::make::{call, case};
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, Query, Select, SelectItem, SetExpr,
    TableAlias, TableFactor, TableWithJoins, Value, Visitor, VisitorMut,
};
use rukh_syntax::{Walk, WalkMut};

use super::nothing::{aggregates, boolean, gives_nothing, has_no_rows, is_never, null, without_rows};
use super::syntax::system_name;
use super::system_tables::system_table;
use super::tableoids;

/// Rewrites the subqueries of a tree.
pub(crate) fn spell_out_subqueries(node: &mut (impl WalkMut + ?Sized)) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Rewrite { joined: 0 });
}

struct Rewrite {
    /// How many lateral joins there are, for their names.
    joined: usize,
}

impl VisitorMut for Rewrite {
    type Break = Infallible;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        tableoids::spell_out(select);
        if has_no_rows(select) && !aggregates(select) {
            without_rows(select);
            return ControlFlow::Continue(());
        }
        self.join_subqueries(select);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        let nothing = matches!(query.body.as_ref(), SetExpr::Select(select)
            if (has_no_rows(select) || is_never(select)) && !aggregates(select));
        if nothing {
            // No rows have any order.
            query.order_by = None;
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let replacement = match expr {
            Expr::Subquery(query) if gives_nothing(query) => Some(null()),
            Expr::Exists { subquery, negated } if gives_nothing(subquery) => Some(boolean(*negated)),
            Expr::InSubquery {
                subquery, negated, ..
            } if gives_nothing(subquery) => Some(boolean(*negated)),
            _ => None,
        };
        if let Some(replacement) = replacement {
            *expr = replacement;
        }
        ControlFlow::Continue(())
    }
}

impl Rewrite {
    /// Makes lateral joins of the subqueries in the columns of a query, and of those in its WHERE.
    fn join_subqueries(&mut self, select: &mut Select) {
        let has_star = select
            .projection
            .iter()
            .any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..)));
        if has_star || !may_join(&select.from) || !has_subquery(select) || aggregates(select) {
            return;
        }
        let mut joins = Joins {
            depth: 0,
            in_projection: true,
            joined: self.joined,
            joins: Vec::new(),
        };
        for item in &mut select.projection {
            let ControlFlow::Continue(()) = item.walk_mut(&mut joins);
        }
        joins.in_projection = false;
        let ControlFlow::Continue(()) = select.selection.walk_mut(&mut joins);
        self.joined = joins.joined;
        if joins.joins.is_empty() {
            return;
        }
        let mut items = std::mem::take(&mut select.from).into_iter();
        let Some(mut all) = items.next() else { return };
        for item in items {
            all.joins.push(Join {
                relation: item.relation,
                global: false,
                join_operator: JoinOperator::CrossJoin(JoinConstraint::None),
            });
            all.joins.extend(item.joins);
        }
        all.joins.append(&mut joins.joins);
        select.from = vec![all];
    }
}

/// Whether a subquery stands in the columns of a query, or in its WHERE.
fn has_subquery(select: &Select) -> bool {
    let mut finder = Subqueries;
    let in_columns = select
        .projection
        .iter()
        .any(|item| item.walk(&mut finder).is_break());
    in_columns || select.selection.walk(&mut finder).is_break()
}

struct Subqueries;

impl Visitor for Subqueries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// Whether FROM items can be written as one chain of joins.
fn may_join(from: &[TableWithJoins]) -> bool {
    let keeps_left = |join: &Join| {
        matches!(
            join.join_operator,
            JoinOperator::Join(_)
                | JoinOperator::Inner(_)
                | JoinOperator::CrossJoin(_)
                | JoinOperator::Left(_)
                | JoinOperator::LeftOuter(_)
        )
    };
    !from.is_empty() && (from.len() == 1 || from.iter().flat_map(|item| &item.joins).all(keeps_left))
}

/// Takes subqueries out of expressions.
struct Joins {
    depth: usize,
    in_projection: bool,
    joined: usize,
    joins: Vec<Join>,
}

impl VisitorMut for Joins {
    type Break = Infallible;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        match expr {
            Expr::Subquery(query) if self.in_projection || is_correlated_shape(query) => {
                if let Some(item) = joinable(query) {
                    *expr = self.join_value(query, item);
                }
            }
            Expr::Exists { subquery, negated } if self.in_projection && joinable(subquery).is_some() => {
                let one = Expr::Value(Value::Number("1".to_string(), false).into());
                let count = self.join(subquery, call("count", vec![one]));
                let zero = || Expr::Value(Value::Number("0".to_string(), false).into());
                let op = if *negated {
                    BinaryOperator::Eq
                } else {
                    BinaryOperator::Gt
                };
                *expr = Expr::Nested(Box::new(Expr::BinaryOp {
                    left: Box::new(call("coalesce", vec![count, zero()])),
                    op,
                    right: Box::new(zero()),
                }));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Whether a subquery has a condition, in which it may read the query around it.
fn is_correlated_shape(query: &Query) -> bool {
    matches!(query.body.as_ref(), SetExpr::Select(select) if select.selection.is_some())
}

/// Returns the column of a subquery that can be joined with: a plain one of tables of `pg_catalog`.
fn joinable(query: &Query) -> Option<Expr> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return None;
    };
    let plain = query.with.is_none()
        && query.limit_clause.is_none()
        && query.order_by.is_none()
        && query.fetch.is_none()
        && select.distinct.is_none()
        && !aggregates(select)
        && !select.from.is_empty()
        && select.from.iter().all(is_of_catalog);
    let [SelectItem::UnnamedExpr(item) | SelectItem::ExprWithAlias { expr: item, .. }] =
        select.projection.as_slice()
    else {
        return None;
    };
    plain.then(|| item.clone())
}

fn is_of_catalog(item: &TableWithJoins) -> bool {
    let known = |factor: &TableFactor| match factor {
        TableFactor::Table { name, args: None, .. } => {
            let name = system_name(name);
            name.is_some_and(|(schema, name)| {
                system_table(&name).is_some() && schema.is_none_or(|schema| schema == "pg_catalog")
            })
        }
        _ => false,
    };
    known(&item.relation) && item.joins.iter().all(|join| known(&join.relation))
}

/// The tables of a subquery: the names that its columns are qualified with, and the columns.
fn tables_of(query: &Query) -> Vec<(String, Vec<&'static str>)> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let factors = select.from.iter().flat_map(|item| {
        let joined = item.joins.iter().map(|join| &join.relation);
        std::iter::once(&item.relation).chain(joined)
    });
    let table = |factor: &TableFactor| match factor {
        TableFactor::Table { name, alias, .. } => {
            let (_, name) = system_name(name)?;
            let columns = system_table(&name)?.column_names().collect();
            Some((
                alias
                    .as_ref()
                    .map_or(name, |alias| alias.name.value.to_lowercase()),
                columns,
            ))
        }
        _ => None,
    };
    factors.filter_map(table).collect()
}

/// Puts columns of a lateral join in the place of those of the subquery.
struct Columns<'a> {
    tables: &'a [(String, Vec<&'static str>)],
    alias: Ident,
    found: Vec<Expr>,
}

impl Columns<'_> {
    fn is_inner(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Identifier(name) => {
                let name = name.value.to_lowercase();
                self.tables
                    .iter()
                    .any(|(_, columns)| columns.contains(&name.as_str()))
            }
            Expr::CompoundIdentifier(parts) if parts.len() > 1 => {
                let table = parts[parts.len() - 2].value.to_lowercase();
                self.tables.iter().any(|(name, _)| *name == table)
            }
            _ => false,
        }
    }

    fn name(at: usize) -> Ident {
        Ident::with_quote('"', format!("pg_value_{at}"))
    }
}

impl VisitorMut for Columns<'_> {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if self.is_inner(expr) {
            let known = self.found.iter().position(|found| found == expr);
            let at = known.unwrap_or(self.found.len());
            if known.is_none() {
                self.found.push(expr.clone());
            }
            *expr = Expr::CompoundIdentifier(vec![self.alias.clone(), Columns::name(at)]);
        }
        ControlFlow::Continue(())
    }
}

impl Joins {
    /// Joins with the columns that a subquery computes `item` of; returns what computes it.
    ///
    /// It may read the query around as well, which a subquery of a join may do in its conditions only.
    fn join_value(&mut self, query: &Query, mut item: Expr) -> Expr {
        if matches!(item, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            return self.join(query, item);
        }
        let tables = tables_of(query);
        let mut columns = Columns {
            tables: &tables,
            alias: Ident::with_quote('"', format!("pg_subquery_{}", self.joined + 1)),
            found: Vec::new(),
        };
        let ControlFlow::Continue(()) = item.walk_mut(&mut columns);
        let all = columns.found.into_iter().enumerate();
        let all = all.map(|(at, expr)| SelectItem::ExprWithAlias {
            expr,
            alias: Columns::name(at),
        });
        let others: Vec<SelectItem> = all.collect();
        let found = self.join_all(query, boolean(true), others);
        case(vec![(found, item)], None)
    }

    /// Joins with a subquery that gives `item`; returns the column that holds it.
    fn join(&mut self, query: &Query, item: Expr) -> Expr {
        self.join_all(query, item, Vec::new())
    }

    /// As [`Joins::join`], with more columns.
    fn join_all(&mut self, query: &Query, item: Expr, others: Vec<SelectItem>) -> Expr {
        self.joined += 1;
        let alias = Ident::with_quote('"', format!("pg_subquery_{}", self.joined));
        let column = Ident::with_quote('"', "pg_value");
        let mut query = query.clone();
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.projection = vec![SelectItem::ExprWithAlias {
                expr: item,
                alias: column.clone(),
            }];
            select.projection.extend(others);
        }
        let relation = TableFactor::Derived {
            lateral: true,
            subquery: Box::new(query),
            alias: Some(TableAlias {
                explicit: true,
                name: alias.clone(),
                columns: Vec::new(),
                at: None,
            }),
            sample: None,
        };
        self.joins.push(Join {
            relation,
            global: false,
            join_operator: JoinOperator::LeftOuter(JoinConstraint::On(boolean(true))),
        });
        Expr::CompoundIdentifier(vec![alias, column])
    }
}

#[cfg(test)]
mod tests {
    use crate::bind::spelling::parsing::parse;
    use rukh_syntax::Statement;

    fn check(written: &str, expected: &str) {
        let Ok(Statement::Query(query)) = parse(written) else {
            panic!("{written} is a query")
        };
        assert_eq!(query.to_string(), expected, "{written}");
    }

    #[test]
    fn queries_without_rows_need_no_plan() {
        check(
            "SELECT polname, f(polroles) AS r FROM pg_catalog.pg_policy WHERE polrelid = $1",
            "SELECT polname, CAST(NULL AS VARCHAR) AS r FROM pg_catalog.pg_policy WHERE false IS TRUE AND $1 IS NULL",
        );
        check(
            "SELECT 1 WHERE EXISTS (SELECT 1 FROM pg_catalog.pg_trigger)",
            "SELECT 1 WHERE false",
        );
        check(
            "SELECT a FROM t LEFT JOIN pg_catalog.pg_policy p ON p.oid = a",
            "SELECT a FROM t LEFT JOIN pg_catalog.pg_policy p ON p.oid = a",
        );
    }

    #[test]
    fn correlated_subqueries_are_joined() {
        check(
            "SELECT (SELECT d.adbin FROM pg_attrdef d WHERE d.adnum = a.attnum) FROM pg_attribute a",
            "SELECT \"pg_subquery_1\".\"pg_value\" AS \"adbin\" FROM pg_attribute a LEFT OUTER JOIN LATERAL \
             (SELECT d.adbin AS \"pg_value\" FROM pg_attrdef d WHERE d.adnum = a.attnum) AS \"pg_subquery_1\" \
             ON true",
        );
        check(
            "SELECT (SELECT max(b) FROM u WHERE u.a = t.a) FROM t",
            "SELECT (SELECT max(b) FROM u WHERE u.a = t.a) AS \"max\" FROM t",
        );
    }
}
