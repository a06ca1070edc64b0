//! What changes with a type.
//!
//! What is of a type has its definition with it: a change of the type changes tables, views and stored texts with it, in one change.

use std::ops::ControlFlow;

use rukh_catalog::{
    Catalog, Function, KeyElement, KeyExpr, Table, Type, TypeKind, View, has_type, with_type,
};
use rukh_engine::DefinitionChanges;
use rukh_error::SqlError;
use rukh_syntax::sql_text;
use rukh_syntax::sqlparser::ast::{Expr, Value, Visitor};
use rukh_syntax::{Statement, Walk};

use crate::bind::names::type_names::{Change, renamed};
use crate::bind::spelling::parsing::{parse, parse_expression};

/// Fails if a type of this name exists, or a relation, whose rows have a type of its name.
pub(super) fn check_free(catalog: &Catalog, schema: &str, name: &str) -> Result<(), SqlError> {
    let is_relation = catalog.table_named(schema, name).is_ok() || catalog.view_named(schema, name).is_some();
    match is_relation || catalog.type_named(schema, name).is_some() {
        true => {
            let message = format!("type \"{name}\" already exists");
            Err(SqlError::statement("42710", message))
        }
        false => Ok(()),
    }
}

/// Returns what changes when a type gets another name or goes to another schema.
pub(super) fn moved_type(
    catalog: &Catalog,
    before: &Type,
    schema: &str,
    name: &str,
) -> Result<DefinitionChanges, SqlError> {
    let mut kind = before.kind.clone();
    let (old_schema, old_name) = match &mut kind {
        TypeKind::Enum(of) => (&mut of.schema, &mut of.name),
        TypeKind::Domain(of) => (&mut of.schema, &mut of.name),
        TypeKind::Record(of) => (&mut of.schema, &mut of.name),
    };
    *old_schema = schema.to_string();
    *old_name = name.to_string();
    let change = Change::Name {
        old: (before.schema(), before.name()),
        new: (schema, name),
    };
    changed(catalog, before, kind, Some(&change))
}

/// Returns the definitions that change with a type, and their texts as `change` says.
pub(super) fn changed(
    catalog: &Catalog,
    before: &Type,
    kind: TypeKind,
    change: Option<&Change<'_>>,
) -> Result<DefinitionChanges, SqlError> {
    let mut changes = DefinitionChanges::default();
    for table in catalog.tables() {
        let mut next = with_type(table.as_ref(), &kind).unwrap_or_else(|| Table::clone(table));
        if let Some(change) = change {
            texts_of(&mut next, |sql, is_query| renamed_text(sql, is_query, change))?;
        }
        if next != **table {
            changes.tables.push(next);
        }
    }
    for view in catalog.views() {
        let mut next = with_type(view.as_ref(), &kind).unwrap_or_else(|| View::clone(view));
        if let Some(change) = change {
            renamed_text(&mut next.sql, true, change)?;
        }
        if next != **view {
            changes.views.push(next);
        }
    }
    for function in catalog.functions() {
        let mut next = with_type(function.as_ref(), &kind).unwrap_or_else(|| Function::clone(function));
        if let Some(change) = change {
            renamed_text(&mut next.sql, true, change)?;
            let defaults = next
                .parameters
                .iter_mut()
                .filter_map(|parameter| parameter.default.as_mut());
            for default in defaults {
                renamed_text(default, false, change)?;
            }
        }
        if next != **function {
            changes.functions.push(next);
        }
    }
    let others = catalog.types().filter(|other| other.id() != before.id());
    let others = others.filter_map(|other| with_type(other.as_ref(), &kind));
    changes.types.extend(others);
    changes.types.push(Type {
        kind,
        comment: before.comment.clone(),
    });
    if let Some(Change::Label { old, .. }) = change {
        check_labels(catalog, before, &changes, old)?;
    }
    Ok(changes)
}

/// Visits the texts that a table stores; those of queries are marked.
fn texts_of(
    table: &mut Table,
    mut visit: impl FnMut(&mut String, bool) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    for column in &mut table.columns {
        let generated = column
            .values
            .generated
            .as_mut()
            .map(|generated| &mut generated.sql);
        for sql in column.default.iter_mut().chain(generated) {
            visit(sql, false)?;
        }
    }
    for check in &mut table.checks {
        visit(&mut check.sql, false)?;
    }
    for index in &mut table.indexes {
        if let Some(predicate) = &mut index.predicate {
            visit(&mut predicate.sql, false)?;
        }
        for element in &mut index.elements {
            visit_element(element, &mut visit)?;
        }
    }
    for element in &mut table.primary_key {
        visit_element(element, &mut visit)?;
    }
    match &mut table.materialized {
        Some(materialized) => visit(&mut materialized.query.sql, true),
        None => Ok(()),
    }
}

fn visit_element(
    element: &mut KeyElement,
    visit: &mut impl FnMut(&mut String, bool) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    match &mut element.expr {
        KeyExpr::Expression { sql, .. } => visit(sql, false),
        _ => Ok(()),
    }
}

/// A stored text as a tree.
enum Stored {
    Query(Statement),
    Expression(Expr),
}

impl Stored {
    fn read(sql: &str, is_query: bool) -> Result<Stored, SqlError> {
        Ok(match is_query {
            true => Stored::Query(parse(sql)?),
            false => Stored::Expression(parse_expression(sql)?),
        })
    }
}

/// Changes a stored text, if it says something of the type.
fn renamed_text(sql: &mut String, is_query: bool, change: &Change<'_>) -> Result<(), SqlError> {
    let text = match Stored::read(sql, is_query)? {
        Stored::Query(Statement::Query(mut query)) => {
            renamed(query.as_mut(), change).then(|| sql_text(&query))
        }
        Stored::Query(_) => None,
        Stored::Expression(mut expr) => renamed(&mut expr, change).then(|| sql_text(&expr)),
    };
    text.into_iter().for_each(|text| *sql = text);
    Ok(())
}

/// Fails if a text still has the former label: it may be one of the type that stands beside a column, without its name.
fn check_labels(
    catalog: &Catalog,
    before: &Type,
    changes: &DefinitionChanges,
    old: &str,
) -> Result<(), SqlError> {
    let refused = |what: String| {
        let message = format!("{what} has '{old}' without its type");
        Err(
            SqlError::unsupported("a label that is part of another definition is not renamed")
                .with_detail(message),
        )
    };
    let is_of_type = |table: &Table| has_type(table, before.id());
    for table in catalog.tables().filter(|table| is_of_type(table)) {
        let changed = changes.tables.iter().find(|changed| changed.id == table.id);
        let mut table = changed.unwrap_or(table).clone();
        let mut found = false;
        texts_of(&mut table, |sql, is_query| {
            found |= has_text(sql, is_query, old)?;
            Ok(())
        })?;
        if found {
            return refused(format!("table {}", table.name));
        }
    }
    for view in catalog.views() {
        let reads = view.reads.iter().filter_map(|(id, _)| catalog.table(*id));
        let changed = changes.views.iter().find(|changed| changed.id == view.id);
        let sql = &changed.unwrap_or(view).sql;
        if reads.map(|table| table.as_ref()).any(is_of_type) && has_text(sql, true, old)? {
            return refused(format!("view {}", view.name));
        }
    }
    Ok(())
}

fn has_text(sql: &str, is_query: bool, wanted: &str) -> Result<bool, SqlError> {
    struct Finder<'w>(&'w str);

    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text == self.0) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    Ok(match Stored::read(sql, is_query)? {
        Stored::Query(Statement::Query(query)) => query.walk(&mut Finder(wanted)).is_break(),
        Stored::Query(_) => false,
        Stored::Expression(expr) => expr.walk(&mut Finder(wanted)).is_break(),
    })
}
