//! Columns that a query reads of a table by whose primary key it groups.
//!
//! `SELECT a.*, count(*) FROM a JOIN b ON … GROUP BY a.id`: the key determines all columns of its row, so PostgreSQL takes them as if they
//! were in GROUP BY. They are added to it: no group becomes two by that.
//!
//! Only what stands outside of aggregates is added. Grouping sets are left as they are: a set without the key determines nothing.
//!
//! `GROUP BY a.id, (SELECT b.name FROM b WHERE b.name = a.name)`: DataFusion calls the group by the subquery's column, and finds `name` to be
//! ambiguous with `a.name` then. So such columns get names that are not shown.

use std::collections::{BTreeSet, HashSet};
use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::{Catalog, KeyExpr, PUBLIC, Table};
use rukh_functions::is_aggregate;
use rukh_syntax::sqlparser::ast::{
    Expr, GroupByExpr, Ident, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, Value, Visitor, VisitorMut,
};
use rukh_syntax::{HIDDEN, Walk, WalkMut, folded};

use super::outer_names::{name_of, names_of_with};

/// Adds to GROUP BY the columns that its keys determine.
pub(crate) fn complete(query: &mut Query, catalog: &Catalog) {
    let mut pass = Pass {
        catalog,
        named: Vec::new(),
    };
    let ControlFlow::Continue(()) = query.walk_mut(&mut pass);
}

struct Pass<'a> {
    catalog: &'a Catalog,
    /// What WITH of the queries around has named.
    named: Vec<Vec<String>>,
}

impl VisitorMut for Pass<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        self.named.push(names_of_with(query));
        name_subqueries(query);
        let order = query.order_by.clone();
        self.body(&mut query.body, order.as_ref());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.named.pop();
        ControlFlow::Continue(())
    }
}

/// Gives the columns of subqueries names of their own, if a query groups by one.
fn name_subqueries(query: &mut Query) {
    struct Namer;

    impl VisitorMut for Namer {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            if let Expr::Subquery(query) = expr
                && let SetExpr::Select(select) = query.body.as_mut()
                && let [item] = select.projection.as_mut_slice()
            {
                let named = match &*item {
                    SelectItem::UnnamedExpr(value) => match value {
                        Expr::Identifier(column) => Some((value.clone(), folded(column))),
                        Expr::CompoundIdentifier(parts) => {
                            parts.last().map(|column| (value.clone(), folded(column)))
                        }
                        _ => None,
                    },
                    // ORDER BY may name it.
                    SelectItem::ExprWithAlias { expr, alias } if query.order_by.is_none() => {
                        Some((expr.clone(), folded(alias)))
                    }
                    _ => None,
                };
                if let Some((expr, name)) = named.filter(|(_, name)| !name.contains(HIDDEN)) {
                    let alias = Ident::with_quote('"', format!("{name}{HIDDEN}grouped"));
                    *item = SelectItem::ExprWithAlias { expr, alias };
                }
            }
            ControlFlow::Continue(())
        }
    }

    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    let GroupByExpr::Expressions(groups, _) = &select.group_by else {
        return;
    };
    let mut groups = groups.iter().map(|group| by_place(group, &select.projection));
    if groups.any(|group| matches!(group, Expr::Subquery(_))) {
        let ControlFlow::Continue(()) = select.projection.walk_mut(&mut Namer);
        let ControlFlow::Continue(()) = select.group_by.walk_mut(&mut Namer);
        let ControlFlow::Continue(()) = select.having.walk_mut(&mut Namer);
        let ControlFlow::Continue(()) = query.order_by.walk_mut(&mut Namer);
    }
}

impl Pass<'_> {
    fn body(&self, body: &mut SetExpr, order: Option<&OrderBy>) {
        match body {
            SetExpr::Select(select) => self.select(select, order),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left, None);
                self.body(right, None);
            }
            _ => {}
        }
    }

    fn select(&self, select: &mut Select, order: Option<&OrderBy>) {
        let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else {
            return;
        };
        if groups.is_empty() || !modifiers.is_empty() {
            return;
        }
        let mut relations = Relations::default();
        select
            .from
            .iter()
            .for_each(|item| self.relations(item, &mut relations));
        let grouped: HashSet<(String, String)> = groups
            .iter()
            .filter_map(|group| relations.column(by_place(group, &select.projection)))
            .collect();
        let has_key = |(name, table): &&(String, &Table)| {
            let mut elements = table.declared_key().iter();
            !table.declared_key().is_empty()
                && elements.all(|element| match element.expr {
                    KeyExpr::Column(id) => {
                        let column = table.column_name(id).to_string();
                        grouped.contains(&(name.clone(), column))
                    }
                    _ => false,
                })
        };
        let keyed: Vec<&(String, &Table)> = relations.tables.iter().filter(has_key).collect();
        if keyed.is_empty() {
            return;
        }
        let mut used = Used {
            relations: &relations,
            found: BTreeSet::new(),
            aggregates: 0,
            queries: 0,
        };
        for item in &select.projection {
            used.item(item);
        }
        let ControlFlow::Continue(()) = select.having.walk(&mut used);
        if let Some(OrderByKind::Expressions(order)) = order.map(|order| &order.kind) {
            let ControlFlow::Continue(()) = order.walk(&mut used);
        }
        let determined = used.found.into_iter().filter(|(relation, column)| {
            let is_keyed = keyed.iter().any(|(name, _)| name == relation);
            is_keyed && !grouped.contains(&(relation.clone(), column.clone()))
        });
        let added: Vec<Expr> = determined
            .map(|(relation, column)| {
                Expr::CompoundIdentifier(vec![
                    Ident::with_quote('"', relation),
                    Ident::with_quote('"', column),
                ])
            })
            .collect();
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            groups.extend(added);
        }
    }

    fn relations<'c>(&'c self, item: &TableWithJoins, relations: &mut Relations<'c>) {
        let joined = item.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&item.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin {
                    table_with_joins,
                    alias: None,
                    ..
                } => self.relations(table_with_joins, relations),
                factor => match name_of(factor).zip(self.table(factor)) {
                    Some(known) => relations.tables.push(known),
                    None => relations.has_others = true,
                },
            }
        }
    }

    /// Returns the table that a FROM item names.
    fn table(&self, factor: &TableFactor) -> Option<&Table> {
        let TableFactor::Table {
            name,
            args: None,
            alias,
            ..
        } = factor
        else {
            return None;
        };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(folded)).collect();
        match parts?.as_slice() {
            [name] if self.named.iter().flatten().any(|known| known == name) => None,
            [name] => self.catalog.table_named(PUBLIC, name).ok(),
            [schema, name] => self.catalog.table_named(schema, name).ok(),
            _ => None,
        }
        .map(AsRef::as_ref)
    }
}

/// What stands in FROM.
#[derive(Default)]
struct Relations<'c> {
    tables: Vec<(String, &'c Table)>,
    /// Whether there is something beside tables, whose columns are not known here.
    has_others: bool,
}

impl Relations<'_> {
    /// Returns the relation and the name of a column.
    fn column(&self, expr: &Expr) -> Option<(String, String)> {
        match expr {
            Expr::Nested(inner) => self.column(inner),
            Expr::Identifier(column) if !self.has_others => {
                let column = folded(column);
                let has = |(_, table): &&(String, &Table)| is_declared(table, &column);
                let mut owners = self.tables.iter().filter(has);
                match (owners.next(), owners.next()) {
                    (Some((relation, _)), None) => Some((relation.clone(), column)),
                    _ => None,
                }
            }
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., relation, column] => {
                    let (relation, column) = (folded(relation), folded(column));
                    let mut tables = self.tables.iter().filter(|(name, _)| *name == relation);
                    match (tables.next(), tables.next()) {
                        (Some((_, table)), None) if is_declared(table, &column) => Some((relation, column)),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }
}

fn is_declared(table: &Table, column: &str) -> bool {
    table.declared_columns().iter().any(|known| known.name == column)
}

/// Returns what a group stands for: `1` is the first item of the SELECT list.
fn by_place<'e>(group: &'e Expr, projection: &'e [SelectItem]) -> &'e Expr {
    let Expr::Value(value) = group else {
        return group;
    };
    let Value::Number(number, _) = &value.value else {
        return group;
    };
    let at = number
        .parse::<usize>()
        .ok()
        .and_then(|place| place.checked_sub(1));
    match at.and_then(|at| projection.get(at)) {
        Some(SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) => expr,
        _ => group,
    }
}

/// Collects the columns that stand outside of aggregates.
struct Used<'r, 'c> {
    relations: &'r Relations<'c>,
    found: BTreeSet<(String, String)>,
    aggregates: usize,
    queries: usize,
}

impl Used<'_, '_> {
    fn item(&mut self, item: &SelectItem) {
        let of = match item {
            SelectItem::Wildcard(_) => None,
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                name.0.last().and_then(|part| part.as_ident()).map(folded)
            }
            item => {
                let ControlFlow::Continue(()) = item.walk(self);
                return;
            }
        };
        for (name, table) in &self.relations.tables {
            if of.as_ref().is_none_or(|of| of == name) {
                let columns = table.declared_columns().iter();
                self.found
                    .extend(columns.map(|column| (name.clone(), column.name.clone())));
            }
        }
    }
}

fn aggregates(expr: &Expr) -> bool {
    let Expr::Function(call) = expr else {
        return false;
    };
    let name = call.name.0.last().and_then(|part| part.as_ident());
    call.over.is_none() && name.is_some_and(|name| is_aggregate(&folded(name)))
}

impl Visitor for Used<'_, '_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        self.aggregates += usize::from(aggregates(expr));
        // A name alone in a subquery is that of a column of the subquery, if it has one.
        let is_plain = self.queries == 0 || matches!(expr, Expr::CompoundIdentifier(_));
        if self.aggregates == 0 && is_plain {
            self.found.extend(self.relations.column(expr));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        self.aggregates -= usize::from(aggregates(expr));
        ControlFlow::Continue(())
    }
}
