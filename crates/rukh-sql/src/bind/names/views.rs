//! Views: queries under a name, put in their place before a statement is planned.
//!
//! A view is stored as SQL text whose tables have their schemas, so that no WITH around it can take their
//! names. Its columns are those that it had when it was made: `SELECT *` does not grow with its table.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, ColumnId, TableId, View, ViewColumn, ViewId};
use rukh_syntax::sqlparser::ast::{
    Ident, Query, SelectItem, TableAlias, TableFactor, TableWithJoins, VisitorMut, WildcardAdditionalOptions,
};

use crate::bind::names::outer_names::names_of_with;
use crate::bind::names::outputs::output_names::NAMELESS;
use crate::bind::names::{functions, past, type_names};
use crate::bind::spelling::parsing::parse;
use rukh_error::SqlError;
use rukh_syntax::make::select;
use rukh_syntax::{Statement, WalkMut, folded, shown_name};

/// Most views that one statement may stand for, those within views counted each time.
const VIEWS_MAX: usize = 200;

/// Most queries inside of one another, as in statements without views.
const QUERIES_MAX: usize = 32;

/// Puts the queries of views in the place of their names; returns the views that the query itself names.
pub(crate) fn expand(query: &mut Query, catalog: &Catalog) -> Result<Vec<ViewId>, SqlError> {
    if catalog.views().next().is_none() {
        return Ok(Vec::new());
    }
    let mut expander = Expander {
        catalog,
        scopes: Vec::new(),
        inside: Vec::new(),
        count: 0,
        named: Vec::new(),
    };
    match query.walk_mut(&mut expander) {
        ControlFlow::Continue(()) => Ok(expander.named),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Expander<'a> {
    catalog: &'a Catalog,
    /// Names that WITH gives to queries, by the query that it stands before.
    scopes: Vec<Vec<String>>,
    /// Whether each of the FROM items that the visit is inside of is a view.
    inside: Vec<bool>,
    count: usize,
    named: Vec<ViewId>,
}

impl VisitorMut for Expander<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.push(names_of_with(query));
        if self.count > 0 && self.scopes.len() > QUERIES_MAX {
            let message = format!("views make more than {QUERIES_MAX} queries inside of one another");
            return ControlFlow::Break(SqlError::statement("54001", message));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<SqlError> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<SqlError> {
        let view = self.view_of(factor);
        let is_inner = self.inside.contains(&true);
        self.inside.push(view.is_some());
        let Some(view) = view else {
            return ControlFlow::Continue(());
        };
        if let TableFactor::Table { sample: Some(_), .. } = factor {
            return ControlFlow::Break(SqlError::unsupported(
                "TABLESAMPLE of anything but a table is not supported",
            ));
        }
        if let TableFactor::Table {
            name,
            version: Some(_),
            ..
        } = factor
            && let Some(name) = name.0.last().and_then(|part| part.as_ident())
        {
            return ControlFlow::Break(past::no_table(name));
        }
        self.count += 1;
        if self.count > VIEWS_MAX {
            let message = format!("the statement stands for more than {VIEWS_MAX} views");
            return ControlFlow::Break(SqlError::statement("54001", message));
        }
        if !is_inner {
            self.named.push(view.id);
        }
        match derived(self.catalog, &view, factor) {
            Ok(derived) => *factor = derived,
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, _: &mut TableFactor) -> ControlFlow<SqlError> {
        self.inside.pop();
        ControlFlow::Continue(())
    }
}

impl Expander<'_> {
    /// Returns the view that a FROM item names.
    fn view_of(&self, factor: &TableFactor) -> Option<Arc<View>> {
        let TableFactor::Table { name, args: None, .. } = factor else {
            return None;
        };
        let parts: Vec<String> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(folded)
            .collect();
        match parts.as_slice() {
            [name] if self.scopes.iter().flatten().any(|known| known == name) => None,
            [name] => self.catalog.view_named("public", name).cloned(),
            [schema, name] => self.catalog.view_named(schema, name).cloned(),
            _ => None,
        }
    }
}

/// Reads a stored query, and resolves it.
pub(crate) fn stored_query(sql: &str, catalog: &Catalog) -> Result<Box<Query>, SqlError> {
    let Statement::Query(mut query) = parse(sql)? else {
        return Err(SqlError::internal("a view holds another statement than a query"));
    };
    resolve_stored(&mut query, catalog)?;
    Ok(query)
}

/// Puts the types and functions that a stored query names in the place of their names.
pub(crate) fn resolve_stored(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    functions::expand(query, catalog)?;
    type_names::resolve(query, &type_names::with_rows(catalog));
    Ok(())
}

/// Makes the FROM item that stands for a view, under the name or alias that it has there.
fn derived(catalog: &Catalog, view: &View, factor: &TableFactor) -> Result<TableFactor, SqlError> {
    let TableFactor::Table { alias, .. } = factor else {
        return Err(SqlError::internal("a view stands where no name is"));
    };
    let quoted = |text: &str| Ident::with_quote('"', text);
    let mut alias = alias.clone().unwrap_or_else(|| table_alias(quoted(&view.name)));
    alias.name = quoted(&folded(&alias.name));
    let query = stored_query(&view.sql, catalog)?;
    let sources: HashSet<&str> = view
        .columns
        .iter()
        .map(|column| source_of(view, column))
        .collect();
    if sources.len() < view.columns.len() {
        let message = format!("view \"{}\" has two columns of one name in its query", view.name);
        return Err(SqlError::unsupported(message).with_hint(
            "An older version made it. Create it again, with the columns named in the select list.",
        ));
    }
    let source = TableFactor::Derived {
        lateral: false,
        subquery: query,
        alias: Some(table_alias(quoted(&view.name))),
        sample: None,
    };
    let column = |column: &ViewColumn| SelectItem::ExprWithAlias {
        expr: rukh_syntax::sqlparser::ast::Expr::Identifier(quoted(source_of(view, column))),
        alias: quoted(&column.name),
    };
    let from = TableWithJoins {
        relation: source,
        joins: Vec::new(),
    };
    let subquery = select(view.columns.iter().map(column).collect(), from, None);
    Ok(TableFactor::Derived {
        lateral: false,
        subquery: Box::new(subquery),
        alias: Some(alias),
        sample: None,
    })
}

/// Returns the name that a column of a view has in its query. Views of older versions note the name that it has where the query stands
/// alone: one that has no twin is called as it is shown, in FROM.
fn source_of<'v>(view: &View, column: &'v ViewColumn) -> &'v str {
    let shown = shown_name(&column.source);
    let twins = view
        .columns
        .iter()
        .filter(|other| shown_name(&other.source) == shown);
    match shown == NAMELESS || twins.count() > 1 {
        true => &column.source,
        false => shown,
    }
}

fn table_alias(name: Ident) -> TableAlias {
    TableAlias {
        explicit: true,
        name,
        columns: Vec::new(),
        at: None,
    }
}

/// Gives the tables and views of a query their schema, and an alias where they have none.
pub(crate) fn qualify(query: &mut Query, catalog: &Catalog) {
    struct Qualifier<'a> {
        catalog: &'a Catalog,
        scopes: Vec<Vec<String>>,
    }
    impl VisitorMut for Qualifier<'_> {
        type Break = ();

        fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
            self.scopes.push(names_of_with(query));
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
            self.scopes.pop();
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            let TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } = factor
            else {
                return ControlFlow::Continue(());
            };
            let parts: Vec<Ident> = name
                .0
                .iter()
                .filter_map(|part| part.as_ident())
                .cloned()
                .collect();
            if let [only] = parts.as_slice() {
                let bare = folded(only);
                let is_known = self.catalog.table_named("public", &bare).is_ok()
                    || self.catalog.view_named("public", &bare).is_some();
                let is_with = self.scopes.iter().flatten().any(|known| *known == bare);
                if is_known && !is_with {
                    let quoted = |text: &str| Ident::with_quote('"', text);
                    *name = vec![quoted("public"), quoted(&bare)].into();
                    alias.get_or_insert_with(|| table_alias(quoted(&bare)));
                }
            }
            ControlFlow::Continue(())
        }

        /// FOR SYSTEM_TIME is read before an alias and printed behind it: it gets a query of its own.
        fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
            let mut relation = factor.clone();
            if let TableFactor::Table {
                version: Some(_),
                alias,
                ..
            } = &mut relation
            {
                let alias = alias.take();
                let from = TableWithJoins {
                    relation,
                    joins: Vec::new(),
                };
                let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
                *factor = TableFactor::Derived {
                    lateral: false,
                    subquery: Box::new(select(vec![all], from, None)),
                    alias,
                    sample: None,
                };
            }
            ControlFlow::Continue(())
        }
    }
    let mut qualifier = Qualifier {
        catalog,
        scopes: Vec::new(),
    };
    let _ = query.walk_mut(&mut qualifier);
}

/// Returns the views that read a table, or one of its columns, materialized ones, too.
pub(crate) fn views_on(catalog: &Catalog, table: TableId, column: Option<ColumnId>) -> Vec<&View> {
    let reads = |view: &&View| {
        view.reads
            .iter()
            .any(|(id, columns)| *id == table && column.is_none_or(|column| columns.contains(&column)))
    };
    let materialized = catalog.materialized().map(|(_, view)| view);
    let all = catalog.views().map(AsRef::as_ref).chain(materialized);
    all.filter(reads).collect()
}
