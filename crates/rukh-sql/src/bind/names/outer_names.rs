//! Relations that subqueries name by a name that a column has, too.
//!
//! `SELECT … FROM t a WHERE EXISTS (SELECT 1 FROM big b WHERE b.a = a.a)`: DataFusion takes `a.a` for a field of the column
//! `b.a`, and does not look further out. So such a relation gets a name that no column has, and that is not shown:
//! everywhere in the query, if no other relation of the query has its name.
//!
//! Beside that, what the queries around a place name by WITH.

use std::collections::{BTreeSet, HashMap};
use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::Catalog;
use rukh_syntax::sqlparser::ast::{
    Expr, Ident, ObjectName, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableAlias,
    TableFactor, Visitor, VisitorMut, With,
};

use rukh_syntax::HIDDEN;
use rukh_syntax::{Walk, WalkMut, folded};

/// Renames the relations of a query that a subquery would not find.
pub(crate) fn spell_out(query: &mut Query, catalog: &Catalog) {
    let mut names = Names::default();
    let ControlFlow::Continue(()) = query.walk(&mut names);
    let is_column = |name: &str| catalog.tables().any(|table| table.column_named(name).is_some());
    let renamed: HashMap<String, Ident> = names
        .relations
        .into_iter()
        .filter(|(name, relation)| relation.count == 1 && relation.is_used_within && is_column(name))
        .map(|(name, _)| {
            let new = Ident::with_quote('"', format!("{name}{HIDDEN}outer"));
            (name, new)
        })
        .collect();
    if !renamed.is_empty() {
        let rows = HashMap::new();
        let ControlFlow::Continue(()) = query.walk_mut(&mut Rename { renamed, rows });
    }
}

/// Gives all relations of a query names of their own, with a number behind them that is not shown. `columns` are the names that columns
/// of them may have.
///
/// A query that names a relation with its schema stays as it is.
pub(crate) fn number(query: &mut Query, number: usize, columns: &BTreeSet<String>) {
    let mut names = Names::default();
    let ControlFlow::Continue(()) = query.walk(&mut names);
    if names.has_schemas {
        return;
    }
    let relations = names.relations.into_keys();
    let renamed: HashMap<String, Ident> = relations
        .map(|name| {
            let new = Ident::with_quote('"', format!("{name}{HIDDEN}{number}"));
            (name, new)
        })
        .collect();
    let rows = renamed.iter().filter(|(name, _)| !columns.contains(*name));
    let rows = rows.map(|(name, new)| (name.clone(), new.clone())).collect();
    let ControlFlow::Continue(()) = query.walk_mut(&mut Rename { renamed, rows });
}

/// A name of relations.
#[derive(Default)]
struct Relation {
    /// How many relations have it.
    count: usize,
    /// How many queries are around the last of them.
    depth: usize,
    /// Whether a query within that one uses it.
    is_used_within: bool,
}

/// Collects the names of relations, and where columns are qualified by them.
#[derive(Default)]
struct Names {
    depth: usize,
    relations: HashMap<String, Relation>,
    uses: Vec<(String, usize)>,
    /// Whether a column is qualified by a relation with its schema.
    has_schemas: bool,
}

impl Visitor for Names {
    type Break = Infallible;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.depth -= 1;
        if self.depth == 0 {
            for (name, depth) in std::mem::take(&mut self.uses) {
                if let Some(relation) = self.relations.get_mut(&name) {
                    relation.is_used_within |= depth > relation.depth;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        if let Some(name) = name_of(factor) {
            let relation = self.relations.entry(name).or_default();
            relation.count += 1;
            relation.depth = self.depth;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
        if let Expr::CompoundIdentifier(parts) = expr {
            match parts.as_slice() {
                [relation, _] => self.uses.push((folded(relation), self.depth)),
                // With its schema; it has to keep its name.
                [.., relation, _] => {
                    self.relations.entry(folded(relation)).or_default().count += 2;
                    self.has_schemas = true;
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// Returns the names of the queries that WITH of a query has.
pub(crate) fn names_of_with(query: &Query) -> Vec<String> {
    let with = query.with.iter().flat_map(|with| &with.cte_tables);
    with.map(|table| folded(&table.alias.name)).collect()
}

/// Returns the WITH of queries around a place, the outermost first, as one; inner names hide outer ones.
pub(super) fn joined_with(with: &[With]) -> Option<With> {
    with.iter().cloned().reduce(|mut outer, inner| {
        let hides = |name: &Ident| {
            let mut names = inner.cte_tables.iter().map(|cte| folded(&cte.alias.name));
            names.any(|known| known == folded(name))
        };
        outer.cte_tables.retain(|cte| !hides(&cte.alias.name));
        outer.cte_tables.extend(inner.cte_tables);
        outer.recursive |= inner.recursive;
        outer
    })
}

/// Leaves of WITH what a FROM reads, also through others: the query of a name may hold the FROM itself.
pub(super) fn only_named(mut with: With, from: &impl Walk) -> With {
    struct Names(Vec<String>);
    impl Visitor for Names {
        type Break = std::convert::Infallible;

        fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<Self::Break> {
            self.0
                .extend(relation.0.last().and_then(|part| part.as_ident()).map(folded));
            ControlFlow::Continue(())
        }
    }
    let mut names = Names(Vec::new());
    let ControlFlow::Continue(()) = from.walk(&mut names);
    // Queries read those before them, and recursive ones themselves.
    let mut is_read = Vec::new();
    for cte in with.cte_tables.iter().rev() {
        is_read.push(names.0.contains(&folded(&cte.alias.name)));
        if is_read.last() == Some(&true) {
            let ControlFlow::Continue(()) = cte.query.walk(&mut names);
        }
    }
    with.cte_tables.retain(|_| is_read.pop().unwrap_or(true));
    with
}

/// Returns the name of a table or subquery in FROM.
pub(crate) fn name_of(factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::Function {
            alias: Some(alias), ..
        }
        | TableFactor::UNNEST {
            alias: Some(alias), ..
        } => Some(folded(&alias.name)),
        TableFactor::Table {
            name, alias: None, ..
        } => name.0.last().and_then(|part| part.as_ident()).map(folded),
        _ => None,
    }
}

struct Rename {
    renamed: HashMap<String, Ident>,
    /// Those whose name alone is a row of theirs.
    rows: HashMap<String, Ident>,
}

impl VisitorMut for Rename {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        let Some(new) = name_of(factor).and_then(|name| self.renamed.get(&name)) else {
            return ControlFlow::Continue(());
        };
        if let TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } = factor
        {
            match alias {
                Some(alias) => alias.name = new.clone(),
                None => {
                    *alias = Some(TableAlias {
                        explicit: true,
                        name: new.clone(),
                        columns: Vec::new(),
                        at: None,
                    });
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
                && let Some(relation) = name.0.last().and_then(|part| part.as_ident())
                && let Some(new) = self.renamed.get(&folded(relation))
            {
                *name = vec![new.clone()].into();
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [relation, _] = parts.as_mut_slice()
            && let Some(new) = self.renamed.get(&folded(relation))
        {
            let span = relation.span;
            *relation = new.clone();
            relation.span = span;
        }
        if let Expr::Identifier(name) = expr
            && let Some(new) = self.rows.get(&folded(name))
        {
            *name = new.clone();
        }
        ControlFlow::Continue(())
    }
}
