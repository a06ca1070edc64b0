//! A bare name that is a relation's of a subquery and a column's of a query around it: PostgreSQL takes the column.
//!
//! `SELECT … FROM orders o WHERE EXISTS (SELECT 1 FROM customers c WHERE c.id = c)`, `orders` having a column `c`, compares with `o.c`.
//! Such a name gets the relation of its column before it, so that it is not taken for the row of `c`.
//!
//! Deliberately not here: relations whose columns are unknown before they are planned, such as those that WITH names. Where one of the
//! subquery might have the column, and where only one of a query around might, the name stays as it is.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::Catalog;
use rukh_syntax::sqlparser::ast::{Expr, Ident, Query, Select, TableFactor, TableWithJoins, VisitorMut};
use rukh_syntax::{WalkMut, folded};

use super::{factors, has_column, relation_name};
use crate::bind::names::outer_names::names_of_with;

/// Gives such names their relation.
pub(super) fn qualify(query: &mut Query, catalog: &Catalog) {
    let mut qualifier = Qualifier {
        catalog,
        scopes: Vec::new(),
        hidden: Vec::new(),
        with: Vec::new(),
    };
    let ControlFlow::Continue(()) = query.walk_mut(&mut qualifier);
}

struct Qualifier<'c> {
    catalog: &'c Catalog,
    /// What the FROM of each SELECT around shows; `None` where it shows nothing: to ORDER BY, and to subqueries in it.
    scopes: Vec<Option<Vec<TableWithJoins>>>,
    /// What subqueries in FROM do not see, or see only in part.
    hidden: Vec<Option<Vec<TableWithJoins>>>,
    with: Vec<Vec<String>>,
}

impl Qualifier<'_> {
    /// Returns the relation whose column a bare name is; `None` where it is none of a query around.
    fn owner(&self, name: &str) -> Option<String> {
        let (own, around) = self.scopes.split_last()?;
        let own = own.as_ref()?;
        let is_own_relation =
            |name: &str| factors(own).any(|factor| relation_name(factor).as_deref() == Some(name));
        if !is_own_relation(name) || factors(own).any(|factor| self.has_column(factor, name) != Some(false)) {
            return None;
        }
        for from in around.iter().rev().flatten() {
            let with_column = factors(from).filter(|factor| self.has_column(factor, name) == Some(true));
            let owners: Vec<&TableFactor> = with_column.collect();
            match owners.as_slice() {
                [] => {}
                [owner] => return relation_name(owner).filter(|owner| !is_own_relation(owner)),
                _ => return None,
            }
        }
        None
    }

    fn has_column(&self, factor: &TableFactor, name: &str) -> Option<bool> {
        let of_with = match factor {
            TableFactor::Table { name, .. } if name.0.len() == 1 => name.0[0].as_ident().map(folded),
            _ => None,
        };
        match of_with.is_some_and(|name| self.with.iter().flatten().any(|known| *known == name)) {
            true => None,
            false => has_column(factor, name, self.catalog),
        }
    }
}

/// Returns the items of a FROM that stand before a relation, and of its own item the joins before it.
fn before(from: &[TableWithJoins], relation: &TableFactor) -> Vec<TableWithJoins> {
    let has_it =
        |item: &&TableWithJoins| factors(std::slice::from_ref(*item)).any(|factor| factor == relation);
    let mut shown: Vec<TableWithJoins> = from.iter().take_while(|item| !has_it(item)).cloned().collect();
    if let Some(own) = from.get(shown.len())
        && own.relation != *relation
    {
        let mut own = own.clone();
        let at = own.joins.iter().position(|join| join.relation == *relation);
        own.joins.truncate(at.unwrap_or(0));
        shown.push(own);
    }
    shown
}

impl VisitorMut for Qualifier<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        self.with.push(names_of_with(query));
        self.scopes.push(None);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Infallible> {
        self.with.pop();
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        self.scopes.push(Some(select.from.clone()));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<Infallible> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Derived { lateral, .. } = factor {
            let shown = self.scopes.last_mut().and_then(Option::take);
            if let (true, Some(from), Some(scope)) = (*lateral, &shown, self.scopes.last_mut()) {
                *scope = Some(before(from, factor));
            }
            self.hidden.push(shown);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Derived { .. } = factor
            && let (Some(scope), Some(hidden)) = (self.scopes.last_mut(), self.hidden.pop())
        {
            *scope = hidden;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Identifier(name) = expr
            && let Some(owner) = self.owner(&folded(name))
        {
            *expr = Expr::CompoundIdentifier(vec![Ident::with_quote('"', owner), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}
