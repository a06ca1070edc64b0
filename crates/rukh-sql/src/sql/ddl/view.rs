//! CREATE VIEW.

use std::collections::HashSet;
use std::ops::ControlFlow;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::LogicalPlan;
use rukh_catalog::{Catalog, ColumnId, TableId, View, ViewColumn, ViewId};
use rukh_syntax::sqlparser::ast::{self, SelectItem, Visitor};
use rukh_syntax::{CreateViewStatement, HIDDEN, Walk, make, sql_text};

use super::create_as::check_no_row;
use super::names::{is_taken, schema_of};
use crate::bind::names::joined::stored_names::{self, Reads};
use crate::bind::names::type_names;
use crate::bind::names::view_target::is_updatable;
use crate::bind::names::views::{expand, qualify, resolve_stored, stored_query};
use crate::exec::provider::RukhTable;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::types::data_type_of;
use rukh_syntax::shown_name;
use rukh_walk::PlanTree;

/// Runs CREATE VIEW.
pub(super) fn create_view(session: &mut Session, statement: &CreateViewStatement) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let name = &statement.name;
    let schema = schema_of(&catalog, name)?;
    let old = catalog.view_named(schema, &name.name).cloned();
    match &old {
        Some(_) if statement.or_replace => {}
        _ => {
            is_taken(session, &catalog, name, false)?;
        }
    }
    let mut view = view(session, &catalog, statement, schema)?;
    if let Some(old) = &old {
        view.comment = old.comment.clone();
        check_replaced(old, &view).map_err(|error| error.at(name.position))?;
        if reads_view(&catalog, &view.views, old.id) {
            let message = format!(
                "infinite recursion detected in rules for relation \"{}\"",
                name.name
            );
            return Err(SqlError::statement("42P17", message).at(name.position));
        }
    }
    let created = session.engine().create_view(view);
    created.map_err(|error| SqlError::from(error).at(name.position))
}

/// Makes the definition of a view that has no id yet.
pub(super) fn view(
    session: &mut Session,
    catalog: &Catalog,
    statement: &CreateViewStatement,
    schema: &str,
) -> Result<View, SqlError> {
    check_no_parameters(&statement.query)?;
    let mut query = statement.query.as_ref().clone();
    qualify(&mut query, catalog);
    let of_rows = type_names::relations_named(&query)?;
    type_names::spell_out(&mut query);
    let named = stored_names::spell_out(&mut query, catalog, &mut |probe| {
        let mut probe = probe.clone();
        resolve_stored(&mut probe, catalog).ok()?;
        session.unoptimised_plan_of(&probe).ok()
    });
    let sql = sql_text(&query);
    // What is stored is what is planned, now and whenever the view is used.
    let mut stored = stored_query(&sql, catalog)?;
    let plan = session.plan_of(&stored)?;
    let names = |plan: &LogicalPlan| -> Vec<String> {
        let fields = plan.schema().fields().iter();
        fields.map(|field| field.name().clone()).collect()
    };
    let mut sources = names(&plan);
    let given = statement.columns.len();
    if given > sources.len() {
        let message = "CREATE VIEW specifies more column names than columns";
        return Err(SqlError::syntax(message).at(statement.columns[sources.len()].position));
    }
    let shown = sources
        .iter()
        .skip(given)
        .map(|source| shown_name(source).to_string());
    let given = statement.columns.iter().map(|name| name.text.clone());
    let shown: Vec<String> = given.chain(shown).collect();
    if let Some(name) = twin(&shown) {
        let message = format!("column \"{name}\" specified more than once");
        return Err(SqlError::statement("42701", message).at(statement.name.position));
    }
    // Where the view is used its query is one of FROM, whose columns may have other names beside a twin.
    if sources.iter().any(|name| name.contains(HIDDEN)) || twin(&sources).is_some() {
        let all = vec![SelectItem::Wildcard(Default::default())];
        let from = make::derived(stored.as_ref().clone(), &statement.name.name, Vec::new());
        sources = names(&session.plan_of(&make::select(all, from, None))?);
        if twin(&sources).is_some() {
            let message = "a view of two columns of one name that a star gives is not supported";
            return Err(SqlError::unsupported(message)
                .with_hint("Name the columns in the select list, as in SELECT a.x, b.x.")
                .at(statement.name.position));
        }
    }
    let mut columns: Vec<ViewColumn> = Vec::with_capacity(sources.len());
    for ((name, source), field) in shown.into_iter().zip(sources).zip(plan.schema().fields()) {
        check_no_row(&field.as_ref().clone().with_name(&name))?;
        columns.push(ViewColumn {
            name,
            source,
            ty: data_type_of(field),
        });
    }
    let mut reads = tables_read(&plan, named)?;
    let mut views = expand(&mut stored, catalog)?;
    // The types of rows go with their relations.
    for (schema, name) in of_rows {
        match (
            catalog.view_named(schema, name),
            catalog.table_named(schema, name),
        ) {
            (Some(view), _) => views.push(view.id),
            (None, Ok(table)) if reads.iter().all(|(known, _)| *known != table.id) => {
                let columns = table.declared_columns().iter().map(|column| column.id);
                reads.push((table.id, columns.collect()));
            }
            _ => {}
        }
    }
    let view = View {
        id: ViewId(0),
        schema: schema.to_string(),
        name: statement.name.name.clone(),
        columns,
        reads,
        views,
        sql,
        check: statement.check,
        comment: None,
    };
    if view.check.is_some() && !is_updatable(catalog, &view) {
        let message = "WITH CHECK OPTION is supported only on automatically updatable views";
        return Err(SqlError::unsupported(message).at(statement.name.position));
    }
    Ok(view)
}

/// Returns a name that stands twice.
fn twin(names: &[String]) -> Option<&String> {
    let mut seen = HashSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

pub(super) fn check_no_parameters(query: &ast::Query) -> Result<(), SqlError> {
    struct Finder;
    impl Visitor for Finder {
        type Break = SqlError;

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<SqlError> {
            match expr {
                ast::Expr::Value(value) => match &value.value {
                    ast::Value::Placeholder(name) => {
                        let message = format!("there is no parameter {name}");
                        ControlFlow::Break(SqlError::statement("42P02", message))
                    }
                    _ => ControlFlow::Continue(()),
                },
                _ => ControlFlow::Continue(()),
            }
        }
    }
    match query.walk(&mut Finder) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// A view that replaces another begins with the columns of that.
fn check_replaced(old: &View, new: &View) -> Result<(), SqlError> {
    let invalid = |message: String| Err(SqlError::statement("42P16", message));
    if new.columns.len() < old.columns.len() {
        return invalid("cannot drop columns from view".to_string());
    }
    for (old, new) in old.columns.iter().zip(&new.columns) {
        if old.name != new.name {
            return invalid(format!(
                "cannot change name of view column \"{}\" to \"{}\"",
                old.name, new.name
            ));
        }
        if old.ty != new.ty {
            return invalid(format!(
                "cannot change data type of view column \"{}\" from {} to {}",
                old.name,
                old.ty.postgres_name(),
                new.ty.postgres_name()
            ));
        }
    }
    Ok(())
}

/// Whether one of these views is, or reads, the one with this id.
fn reads_view(catalog: &Catalog, views: &[ViewId], id: ViewId) -> bool {
    let mut waiting = views.to_vec();
    let mut seen: Vec<ViewId> = Vec::new();
    while let Some(next) = waiting.pop() {
        if next == id {
            return true;
        }
        if seen.contains(&next) {
            continue;
        }
        seen.push(next);
        let view = catalog.views().find(|view| view.id == next);
        waiting.extend(view.iter().flat_map(|view| view.views.iter().copied()));
    }
    false
}

/// Returns the tables that a plan reads, with the columns, and those that its query names.
fn tables_read(plan: &LogicalPlan, named: Reads) -> Result<Vec<(TableId, Vec<ColumnId>)>, SqlError> {
    let mut read: Vec<(TableId, Vec<ColumnId>)> = Vec::new();
    plan.each_of_all(&mut |node| {
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
            && let Some(provider) = provider.downcast_ref::<RukhTable>()
        {
            let table = provider.table();
            let all = || (0..table.declared_columns().len()).collect();
            let positions: Vec<usize> = scan.projection.clone().unwrap_or_else(all);
            let mut columns: Vec<ColumnId> = positions.iter().map(|at| table.columns[*at].id).collect();
            for filter in &scan.filters {
                let names = filter.column_refs();
                columns.extend(
                    names
                        .iter()
                        .filter_map(|name| Some(table.column_named(&name.name)?.id)),
                );
            }
            match read.iter_mut().find(|(id, _)| *id == table.id) {
                Some((_, known)) => known.extend(columns),
                None => read.push((table.id, columns)),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    for (table, column) in named {
        match read.iter_mut().find(|(id, _)| *id == table) {
            Some((_, known)) => known.push(column),
            None => read.push((table, vec![column])),
        }
    }
    for (_, columns) in &mut read {
        columns.sort();
        columns.dedup();
    }
    Ok(read)
}
