//! Aliases with fewer names than there are columns: `FROM t AS i (x, y)`, `WITH w (x) AS (…)`.
//!
//! In PostgreSQL the columns behind keep their names; DataFusion wants a name for each. So the names behind are spelled
//! out here. DataFusion itself gives the list of columns: the aliased relation is planned with a star alone. More
//! names than columns are 42P10.
//!
//! Deliberately not here: aliases of what reads the query around it (LATERAL), which cannot be planned alone.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::slice;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as PlannedStatement;
use rukh_syntax::make::select_from;
use rukh_syntax::sqlparser::ast::{
    self, Ident, Query, SelectItem, TableAlias, TableAliasColumnDef, TableFactor, TableWithJoins, Visitor,
    VisitorMut, With,
};
use rukh_syntax::{Walk, WalkMut};

use crate::bind::names::outer_names::{joined_with, only_named};
use crate::bind::names::query_width::width_of;
use crate::bind::spelling::rewrite::rewrite;
use rukh_error::SqlError;

/// Spells out the names that aliases of a query leave out.
pub(crate) async fn spell_out(state: &SessionState, query: &mut Query) -> Result<(), SqlError> {
    loop {
        let mut finder = Finder::default();
        let ControlFlow::Continue(()) = query.walk(&mut finder);
        let mut names = Vec::with_capacity(finder.found.len());
        for alias in finder.found {
            names.push(names_behind(state, alias).await?);
        }
        let are_missing = names.iter().flatten().any(|names| !names.is_empty());
        if are_missing {
            let mut filler = Filler { names: names.iter() };
            let ControlFlow::Continue(()) = query.walk_mut(&mut filler);
        }
        // An alias that could not be planned may stand for what has such aliases, too.
        if !are_missing || names.iter().all(Option::is_some) {
            return Ok(());
        }
    }
}

/// An alias with names, and a query of all columns that it stands for.
struct Alias {
    name: String,
    names: usize,
    all: Query,
}

/// Returns the names of the columns behind those that an alias names; `None` if they are unknown.
async fn names_behind(state: &SessionState, alias: Alias) -> Result<Option<Vec<Ident>>, SqlError> {
    let Alias { name, names, mut all } = alias;
    if rewrite(&mut all).is_err() {
        return Ok(None);
    }
    let statement = ast::Statement::Query(Box::new(all));
    let statement = PlannedStatement::Statement(Box::new(statement));
    let Ok(plan) = state.statement_to_plan(statement).await else {
        return Ok(None);
    };
    let fields = plan.schema().fields();
    if fields.len() < names {
        let message = format!(
            "table \"{name}\" has {} columns available but {names} columns specified",
            fields.len()
        );
        return Err(SqlError::statement("42P10", message));
    }
    let behind = fields.iter().skip(names);
    Ok(Some(
        behind.map(|field| Ident::with_quote('"', field.name())).collect(),
    ))
}

/// Whether an alias has as many names as the query has columns, as far as that can be seen.
fn is_whole(alias: &TableAlias, query: &Query) -> bool {
    alias.columns.is_empty() || width_of(query) == Some(alias.columns.len())
}

/// Returns the alias of a relation that may have too few names.
fn alias_of(factor: &mut TableFactor) -> Option<&mut TableAlias> {
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::NestedJoin {
            alias: Some(alias), ..
        } => (!alias.columns.is_empty()).then_some(alias),
        TableFactor::Derived {
            alias: Some(alias),
            subquery,
            ..
        } => (!is_whole(alias, subquery)).then_some(alias),
        _ => None,
    }
}

/// Collects the aliases of a query that may have too few names, in the order in which [`Filler`] meets them.
#[derive(Default)]
struct Finder {
    with: Vec<With>,
    found: Vec<Alias>,
}

impl Finder {
    fn add(&mut self, alias: &TableAlias, all: Query) {
        self.found.push(Alias {
            name: alias.name.value.clone(),
            names: alias.columns.len(),
            all,
        });
    }
}

impl Visitor for Finder {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        let Some(with) = &query.with else {
            return ControlFlow::Continue(());
        };
        for (at, cte) in with.cte_tables.iter().enumerate() {
            if !is_whole(&cte.alias, &cte.query) {
                let mut all = cte.query.as_ref().clone();
                let mut before = with.clone();
                before.cte_tables.truncate(at);
                self.with.push(before);
                if all.with.is_none() {
                    all.with = joined_with(&self.with).filter(|with| !with.cte_tables.is_empty());
                }
                self.with.pop();
                self.add(&cte.alias, all);
            }
        }
        self.with.push(with.clone());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        if query.with.is_some() {
            self.with.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        let mut factor = factor.clone();
        let Some(alias) = alias_of(&mut factor) else {
            return ControlFlow::Continue(());
        };
        let named = alias.clone();
        alias.columns = Vec::new();
        let from = TableWithJoins {
            relation: factor,
            joins: Vec::new(),
        };
        // The query of a name may hold the alias itself.
        let with = joined_with(&self.with).map(|with| only_named(with, &from));
        let mut all = select_from(vec![SelectItem::Wildcard(Default::default())], vec![from], None);
        all.with = with.filter(|with| !with.cte_tables.is_empty());
        self.add(&named, all);
        ControlFlow::Continue(())
    }
}

/// Adds names to the aliases.
struct Filler<'a> {
    names: slice::Iter<'a, Option<Vec<Ident>>>,
}

impl Filler<'_> {
    fn fill(&mut self, alias: &mut TableAlias) {
        let missing = self.names.next().into_iter().flatten().flatten();
        let missing = missing.map(|name| TableAliasColumnDef {
            name: name.clone(),
            data_type: None,
        });
        alias.columns.extend(missing);
    }
}

impl VisitorMut for Filler<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        for cte in query.with.iter_mut().flat_map(|with| &mut with.cte_tables) {
            if !is_whole(&cte.alias, &cte.query) {
                self.fill(&mut cte.alias);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let Some(alias) = alias_of(factor) {
            self.fill(alias);
        }
        ControlFlow::Continue(())
    }
}
