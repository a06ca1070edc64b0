//! ON CONFLICT: which key or unique index a statement means, and what it does with a row in the way.

use rukh_catalog::{ColumnId, KeyElement, KeyExpr, Table};
use rukh_engine::OnConflict;
use rukh_syntax::sqlparser::ast::{self, ConflictTarget, Expr, OnConflictAction, OnInsert};

use super::assign::assignments;
use super::target::Target;
use crate::bind::names::view_target::ViewTarget;
use crate::bind::types::expressions::stored_expression;
use rukh_error::SqlError;
use rukh_syntax::{InsertStatement, ObjectName};

/// What becomes of a row that is given for a key, or a UNIQUE value, that is taken.
pub(super) enum Conflict {
    /// It is left out, or an error.
    Leave(OnConflict),
    /// It replaces the columns that the statement names: UPSERT.
    Replace,
    /// It changes the row in its way.
    Update(Box<ConflictUpdate>),
}

/// DO UPDATE.
pub(super) struct ConflictUpdate {
    /// Where a row in the way is looked for.
    pub(super) arbiter: OnConflict,
    /// The columns by which it is found.
    pub(super) arbiter_columns: Vec<ColumnId>,
    pub(super) assignments: Vec<(ColumnId, Expr)>,
    /// WHERE.
    pub(super) selection: Option<Expr>,
    /// Phoenix's form: a row may be changed again by the rows that follow, and there is no `excluded`.
    pub(super) repeats: bool,
}

/// Reads ON CONFLICT or ON DUPLICATE KEY of a statement.
pub(super) fn conflict_of(
    target: &Target,
    name: &str,
    statement: &InsertStatement,
) -> Result<Conflict, SqlError> {
    let table = &*target.table;
    let on = match &statement.ast.on {
        None if statement.upsert => return Ok(Conflict::Replace),
        None => return Ok(Conflict::Leave(OnConflict::Error)),
        Some(OnInsert::OnConflict(on)) => on,
        Some(OnInsert::DuplicateKeyUpdate(given)) => {
            return Ok(Conflict::Update(Box::new(ConflictUpdate {
                arbiter: OnConflict::IgnoreKey,
                arbiter_columns: columns_of(table, OnConflict::IgnoreKey),
                assignments: assignments(target, name, given)?,
                selection: None,
                repeats: true,
            })));
        }
        Some(other) => return Err(SqlError::unsupported(format!("{other} is not supported"))),
    };
    let arbiter = match &on.conflict_target {
        // ON DUPLICATE KEY IGNORE.
        None if statement.upsert => OnConflict::IgnoreKey,
        None => OnConflict::Ignore,
        Some(ConflictTarget::Columns(names)) => {
            let names: Vec<ast::ObjectName> = names.iter().map(|name| name.clone().into()).collect();
            conflict_on(table, &target.named_columns(&names)?, statement.arbiter.as_ref())?
        }
        Some(ConflictTarget::OnConstraint(name)) => conflict_on_constraint(table, name)?,
    };
    match &on.action {
        OnConflictAction::DoNothing => Ok(Conflict::Leave(arbiter)),
        OnConflictAction::DoUpdate(_) if arbiter == OnConflict::Ignore => Err(SqlError::syntax(
            "ON CONFLICT DO UPDATE requires inference specification or constraint name",
        )
        .with_hint("For example, ON CONFLICT (column_name).")),
        OnConflictAction::DoUpdate(update) => Ok(Conflict::Update(Box::new(ConflictUpdate {
            arbiter,
            arbiter_columns: columns_of(table, arbiter),
            assignments: assignments(target, name, &update.assignments)?,
            selection: update.selection.clone(),
            repeats: false,
        }))),
    }
}

impl Conflict {
    /// Replaces columns of a view that its table does not have by what they stand for.
    pub(super) fn spell_out(&mut self, view: &ViewTarget) {
        if let Conflict::Update(update) = self {
            let values = update.assignments.iter_mut().map(|(_, value)| value);
            for expr in values.chain(&mut update.selection) {
                *expr = view.spelled_out(expr);
            }
        }
    }
}

/// Returns the columns that a key or index is made of.
fn columns_of(table: &Table, arbiter: OnConflict) -> Vec<ColumnId> {
    match arbiter {
        OnConflict::IgnoreIndex(id) => {
            let index = table.index(id);
            index.map_or(Vec::new(), |index| index.columns_read(table))
        }
        _ => table.primary_key.iter().flat_map(|e| e.expr.columns()).collect(),
    }
}

/// Finds the primary key or UNIQUE index that has just these columns, in any order; a partial index must have the
/// condition that is given.
fn conflict_on(
    table: &Table,
    columns: &[ColumnId],
    condition: Option<&Expr>,
) -> Result<OnConflict, SqlError> {
    let condition = condition.map(|condition| stored_expression(table, condition, "ON CONFLICT"));
    let condition = condition.transpose()?.map(|(_, sql)| sql);
    let is_of = |elements: &[KeyElement]| {
        let column = |element: &KeyElement| match element.expr {
            KeyExpr::Column(id) => Some(id),
            _ => None,
        };
        let held: Option<Vec<ColumnId>> = elements.iter().map(column).collect();
        held.is_some_and(|held| {
            held.iter().all(|id| columns.contains(id)) && columns.iter().all(|id| held.contains(id))
        })
    };
    if is_of(&table.primary_key) {
        return Ok(OnConflict::IgnoreKey);
    }
    let index = table.indexes.iter().find(|index| {
        let is_whole = match &index.predicate {
            None => true,
            Some(predicate) => condition.as_ref() == Some(&predicate.sql),
        };
        index.unique && index.state.is_maintained() && is_whole && is_of(&index.elements)
    });
    match index {
        Some(index) => Ok(OnConflict::IgnoreIndex(index.id)),
        None => Err(SqlError::statement(
            "42P10",
            "there is no unique or exclusion constraint matching the ON CONFLICT specification",
        )),
    }
}

fn conflict_on_constraint(table: &Table, name: &ast::ObjectName) -> Result<OnConflict, SqlError> {
    let name = ObjectName::from_ast(name)?;
    if table.key_name().as_ref() == Some(&name.name) {
        return Ok(OnConflict::IgnoreKey);
    }
    let index = table
        .indexes
        .iter()
        .find(|index| index.unique && index.state.is_maintained() && index.name == name.name);
    match index {
        Some(index) => Ok(OnConflict::IgnoreIndex(index.id)),
        None => {
            let message = format!(
                "constraint \"{}\" for table \"{}\" does not exist",
                name.name, table.name
            );
            Err(SqlError::statement("42704", message).at(name.position))
        }
    }
}
