//! The relations of a query whose rows are locked, as far as its syntax shows.

use std::sync::Arc;

use rukh_catalog::{Catalog, Table};
use rukh_syntax::sqlparser::ast::{self, JoinOperator, Query, Select, SetExpr, TableFactor};
use rukh_syntax::{ObjectName, folded};

use crate::bind::names::view_target::{ViewTarget, of_one_table};
use rukh_error::SqlError;

/// Returns the tables whose rows a query locks.
pub(crate) fn names(query: &Query) -> Vec<ObjectName> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let relations = relations_of(select).unwrap_or_default().into_iter();
    let named = relations.filter(|relation| {
        let of = |lock: &ast::LockClause| is_of(lock, &relation.name);
        query.locks.iter().any(of)
    });
    named.filter_map(|relation| relation.table.ok()).collect()
}

/// An item of FROM.
pub(crate) struct Relation {
    pub(crate) name: String,
    /// The name of a table, or what else it is.
    pub(crate) table: Result<ObjectName, &'static str>,
    /// Whether a join may give rows without one of its own.
    pub(crate) nullable: bool,
}

impl Relation {
    /// Returns the table that the relation is, and the view of it that stands there.
    pub(crate) fn table(
        &self,
        catalog: &Catalog,
        query: &Query,
        clause: &str,
    ) -> Result<(Arc<Table>, Option<ViewTarget>), SqlError> {
        let unsupported = |what: &str| {
            let message = format!("{clause} cannot be applied to {what}");
            Err(SqlError::unsupported(message).with_hint("Say which tables are meant: FOR UPDATE OF table."))
        };
        let name = match &self.table {
            Ok(name) => name,
            Err(what) => return unsupported(what),
        };
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        if name.schema.is_none() && with.into_iter().any(|cte| folded(&cte.alias.name) == name.name) {
            return unsupported("a WITH query");
        }
        let schema = name.schema.as_deref().unwrap_or("public");
        let view = catalog.view_named(schema, &name.name);
        match catalog.table_named(schema, &name.name) {
            _ if self.nullable => unsupported("the nullable side of an outer join"),
            Ok(table) => Ok((table.clone(), None)),
            Err(_) if let Some(view) = view => match of_one_table(catalog, view) {
                Some((table, view)) => Ok((table, Some(view))),
                None => unsupported("a view that is not one of the rows of a table"),
            },
            Err(_) if is_of_system(name) => unsupported("a system table"),
            Err(_) => Err(name.undefined().into()),
        }
    }
}

/// Whether a clause is about a relation of this name.
pub(crate) fn is_of(lock: &ast::LockClause, name: &str) -> bool {
    match &lock.of {
        None => true,
        Some(of) => {
            of.0.last()
                .and_then(|part| part.as_ident())
                .is_some_and(|part| folded(part) == name)
        }
    }
}

/// Returns the items of FROM.
pub(crate) fn relations_of(select: &Select) -> Result<Vec<Relation>, SqlError> {
    let mut all = Vec::new();
    for from in &select.from {
        let mut joined = vec![relation(&from.relation)?];
        for join in &from.joins {
            let mut next = relation(&join.relation)?;
            match &join.join_operator {
                JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {}
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => next.nullable = true,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => {
                    joined.iter_mut().for_each(|before| before.nullable = true);
                }
                JoinOperator::FullOuter(_) => {
                    next.nullable = true;
                    joined.iter_mut().for_each(|before| before.nullable = true);
                }
                _ => {
                    return Err(SqlError::unsupported(
                        "rows of this kind of join cannot be locked",
                    ));
                }
            }
            joined.push(next);
        }
        all.append(&mut joined);
    }
    Ok(all)
}

fn relation(factor: &TableFactor) -> Result<Relation, SqlError> {
    let (table, alias) = match factor {
        TableFactor::Table {
            args: Some(_), alias, ..
        } => (Err("a function"), alias),
        TableFactor::Table {
            version: Some(_),
            alias,
            ..
        } => (Err("rows of the past"), alias),
        TableFactor::Table { name, alias, .. } => (Ok(ObjectName::from_ast(name)?), alias),
        TableFactor::Derived { alias, .. } => (Err("a subquery"), alias),
        TableFactor::Function { alias, .. } | TableFactor::TableFunction { alias, .. } => {
            (Err("a function"), alias)
        }
        TableFactor::NestedJoin { alias, .. } => (Err("a join"), alias),
        TableFactor::UNNEST { alias, .. } => (Err("a function"), alias),
        _ => (Err("this kind of relation"), &None),
    };
    let name = match (alias, &table) {
        (Some(alias), _) => folded(&alias.name),
        (None, Ok(name)) => name.name.clone(),
        (None, Err(_)) => String::new(),
    };
    Ok(Relation {
        name,
        table,
        nullable: false,
    })
}

fn is_of_system(name: &ObjectName) -> bool {
    let schema = name.schema.as_deref();
    schema.is_some_and(|schema| matches!(schema, "pg_catalog" | "information_schema"))
        || (schema.is_none() && name.name.starts_with("pg_"))
}
