//! COMMENT ON.

use rukh_catalog::Table;

use super::run::{PUBLIC, column_id};
use crate::SqlError;
use crate::session::Session;
use crate::statement::CommentTarget;

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
    }
    Ok(())
}
