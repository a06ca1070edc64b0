//! COMMENT ON.

use rukh_catalog::{Catalog, PUBLIC, Schema, Table};
use rukh_engine::DefinitionChanges;
use rukh_syntax::{CommentTarget, ObjectName};

use super::columns::column_id;
use super::function::function_named;
use super::names::type_named;
use super::names::unknown;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs COMMENT ON; no text removes the comment.
pub(super) fn comment(
    session: &mut Session,
    on: &CommentTarget,
    text: Option<&String>,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let change = |table: &Table, change: &dyn Fn(&mut Table)| {
        let mut next = table.clone();
        change(&mut next);
        Ok::<_, SqlError>(next)
    };
    let text = text.cloned();
    match on {
        CommentTarget::Table(name) => {
            let id = session.table(name)?.id;
            engine.alter_table(id, |_, table| {
                change(table, &|next| next.comments.table = text.clone())
            })?;
        }
        CommentTarget::Column { table, column } => {
            let id = session.table(table)?.id;
            engine.alter_table(id, |_, table| {
                let id = column_id(&table.columns, column).map_err(|_| {
                    let message = format!(
                        "column \"{}\" of relation \"{}\" does not exist",
                        column.text, table.name
                    );
                    SqlError::statement("42703", message).at(column.position)
                })?;
                change(table, &|next| {
                    match &text {
                        Some(text) => next.comments.columns.insert(id, text.clone()),
                        None => next.comments.columns.remove(&id),
                    };
                })
            })?;
        }
        CommentTarget::Constraint { table, name } => {
            let id = session.table(table)?.id;
            engine.alter_table(id, |_, table| {
                let known = table.constraint_comment(&name.text).ok_or_else(|| {
                    let message = format!(
                        "constraint \"{}\" for table \"{}\" does not exist",
                        name.text, table.name
                    );
                    SqlError::statement("42704", message).at(name.position)
                })?;
                change(table, &|next| {
                    match &text {
                        Some(text) => next.comments.constraints.insert(known.clone(), text.clone()),
                        None => next.comments.constraints.remove(&known),
                    };
                })
            })?;
        }
        CommentTarget::Index(name) => {
            let schema = name.schema.as_deref().unwrap_or(PUBLIC);
            let catalog = engine.catalog();
            let Ok((table, index)) = catalog.index_named(schema, &name.name) else {
                let message = format!("relation \"{}\" does not exist", name.name);
                return Err(SqlError::statement("42P01", message).at(name.position));
            };
            let id = index.id;
            engine.alter_table(table.id, |_, table| {
                change(table, &|next| {
                    match &text {
                        Some(text) => next.comments.indexes.insert(id, text.clone()),
                        None => next.comments.indexes.remove(&id),
                    };
                })
            })?;
        }
        CommentTarget::View(name) => {
            let schema = name.schema.as_deref().unwrap_or(PUBLIC);
            engine.change_definitions(|catalog| {
                let Some(view) = catalog.view_named(schema, &name.name) else {
                    return Err(not_a(catalog, schema, name, "a view"));
                };
                let mut view = view.as_ref().clone();
                view.comment = text.clone();
                Ok(DefinitionChanges {
                    views: vec![view],
                    ..DefinitionChanges::default()
                })
            })?;
        }
        CommentTarget::Sequence(name) => {
            let schema = name.schema.as_deref().unwrap_or(PUBLIC);
            engine.change_definitions(|catalog| {
                let Some(sequence) = catalog.sequence_named(schema, &name.name) else {
                    return Err(not_a(catalog, schema, name, "a sequence"));
                };
                let mut sequence = sequence.as_ref().clone();
                sequence.comment = text.clone();
                Ok(DefinitionChanges {
                    sequences: vec![sequence],
                    ..DefinitionChanges::default()
                })
            })?;
        }
        CommentTarget::Type(name) => {
            engine.change_definitions(|catalog| {
                let mut ty = type_named(catalog, name)?.clone();
                ty.comment = text.clone();
                Ok::<_, SqlError>(DefinitionChanges {
                    types: vec![ty],
                    ..DefinitionChanges::default()
                })
            })?;
        }
        CommentTarget::Function(name) => {
            engine.change_definitions(|catalog| {
                let mut function = function_named(catalog, name)?.clone();
                function.comment = text.clone();
                Ok::<_, SqlError>(DefinitionChanges {
                    functions: vec![function],
                    ..DefinitionChanges::default()
                })
            })?;
        }
        CommentTarget::Schema(name) => {
            engine.change_definitions(|catalog| {
                let mut schema = match catalog.schema_named(&name.text) {
                    Some(schema) => schema.as_ref().clone(),
                    None if catalog.has_schema(&name.text) => Schema::new(&name.text),
                    None => return Err(unknown(&name.text).at(name.position)),
                };
                schema.comment = text.clone();
                Ok(DefinitionChanges {
                    schemas: vec![schema],
                    ..DefinitionChanges::default()
                })
            })?;
        }
    }
    Ok(())
}

fn not_a(catalog: &Catalog, schema: &str, name: &ObjectName, kind: &str) -> SqlError {
    let error = match catalog.check_name_free(schema, &name.name) {
        Err(_) => SqlError::statement("42809", format!("\"{}\" is not {kind}", name.name)),
        Ok(()) => SqlError::undefined_table(&name.name),
    };
    error.at(name.position)
}
