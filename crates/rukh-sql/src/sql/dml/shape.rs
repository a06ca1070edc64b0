//! Describes a DML statement before it runs: what it reads, assigns and returns.

use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::{self, Expr, Ident, Query, SelectItem, SetExpr, TableWithJoins, Value};

use super::assign::assignments;
use super::change::{Reading, reading_of_delete, reading_of_update};
use super::conflict::{Conflict, conflict_of};
use super::insert::{check_insert, insert_target, leading, literal_rows, width_of};
use super::merge::{ACTION, MergeReading, action_name, insert_values};
use super::target::{Target, relation_of};
use super::values::{check_width, is_default};
use rukh_error::SqlError;
use rukh_syntax::make::{derived, select_from, select_values};
use rukh_syntax::{
    DeleteStatement, InsertStatement, MergeAction, MergeKind, MergeStatement, UpdateStatement,
};

/// A statement that writes, taken apart.
pub(crate) struct WriteShape {
    /// Expressions, and the types of the columns that they are stored in.
    pub(crate) assigned: Vec<(Expr, DataType)>,
    /// Queries that hold every expression of the statement which is no mere value.
    pub(crate) reads: Vec<ast::Query>,
    /// A query whose columns are those of RETURNING.
    pub(crate) returning: Option<ast::Query>,
}

/// Takes INSERT or UPSERT apart.
pub(crate) fn insert_shape(catalog: &Catalog, statement: &InsertStatement) -> Result<WriteShape, SqlError> {
    let insert = &statement.ast;
    check_insert(insert)?;
    let (target, name) = insert_target(catalog, insert)?;
    let columns = target.named_columns(&insert.columns)?;
    let table = &target.table;
    let mut shape = WriteShape {
        assigned: Vec::new(),
        reads: Vec::new(),
        returning: None,
    };
    match literal_rows(insert) {
        Some(rows) => {
            let columns = leading(insert, columns, width_of(&rows)?);
            for row in rows {
                check_width(row.len(), columns.len())?;
                shape.assign(row.iter(), &types_of(table, &columns));
                let values = row
                    .iter()
                    .filter(|expr| !matches!(expr, Expr::Value(_)) && !is_default(expr));
                let values: Vec<_> = values.cloned().map(SelectItem::UnnamedExpr).collect();
                if !values.is_empty() {
                    shape.reads.push(Query {
                        with: statement.with.clone(),
                        ..select_values(values)
                    });
                }
            }
        }
        None => {
            if let Some(source) = &insert.source {
                let types = types_of(table, &columns);
                if let SetExpr::Select(select) = source.body.as_ref() {
                    shape.assign(select.projection.iter().filter_map(plain), &types);
                }
                shape.reads.push(source.as_ref().clone());
            }
        }
    }
    let stored = relation_of(table, &name);
    if let Conflict::Update(update) = conflict_of(&target, &name, statement)? {
        let values = update.assignments.iter().map(|(_, expr)| expr);
        let (ids, items): (Vec<ColumnId>, Vec<SelectItem>) = (
            update.assignments.iter().map(|(id, _)| *id).collect(),
            values.clone().cloned().map(SelectItem::UnnamedExpr).collect(),
        );
        shape.assign(values, &types_of(table, &ids));
        let mut from = vec![stored.clone()];
        if !update.repeats {
            from.push(relation_of(table, "excluded"));
        }
        shape.reads.push(select_from(items, from, update.selection));
    }
    if let Some(items) = &insert.returning {
        shape.returning = Some(Query {
            with: statement.with.clone(),
            ..select_from(items.clone(), vec![stored], None)
        });
    }
    Ok(shape)
}

/// Takes UPDATE apart.
pub(crate) fn update_shape(catalog: &Catalog, update: &UpdateStatement) -> Result<WriteShape, SqlError> {
    Ok(change_shape(&reading_of_update(catalog, update)?))
}

/// Takes DELETE apart.
pub(crate) fn delete_shape(catalog: &Catalog, delete: &DeleteStatement) -> Result<WriteShape, SqlError> {
    Ok(change_shape(&reading_of_delete(catalog, delete)?))
}

/// Takes MERGE apart.
pub(crate) fn merge_shape(catalog: &Catalog, statement: &MergeStatement) -> Result<WriteShape, SqlError> {
    let reading = MergeReading::new(catalog, statement)?;
    let table = &reading.table;
    let mut shape = WriteShape {
        assigned: Vec::new(),
        reads: vec![reading.joined()],
        returning: None,
    };
    let source = TableWithJoins {
        relation: statement.source.clone(),
        joins: Vec::new(),
    };
    let target = relation_of(table, &reading.name);
    let read = |values: Vec<Expr>, from: Vec<TableWithJoins>, condition: Option<Expr>| Query {
        with: statement.with.clone(),
        ..select_from(
            values.into_iter().map(SelectItem::UnnamedExpr).collect(),
            from,
            condition,
        )
    };
    for clause in &statement.clauses {
        let values: Vec<(ColumnId, Expr)> = match &clause.action {
            MergeAction::Update(given) => assignments(&Target::of_table(table), &reading.name, given)?,
            MergeAction::Insert {
                columns,
                overriding,
                values,
            } => {
                let (columns, values) = insert_values(table, columns, *overriding, values)?;
                let given = columns
                    .into_iter()
                    .zip(values)
                    .filter(|(_, value)| !is_default(value));
                given.map(|(id, value)| (id, value.clone())).collect()
            }
            MergeAction::Delete | MergeAction::Nothing => Vec::new(),
        };
        let (ids, mut values): (Vec<ColumnId>, Vec<Expr>) = values.into_iter().unzip();
        shape.assign(values.iter(), &types_of(table, &ids));
        values.push(Expr::Value(Value::Null.into()));
        let from = match clause.kind {
            MergeKind::Matched => vec![target.clone(), source.clone()],
            MergeKind::NotInTarget => vec![source.clone()],
            MergeKind::NotInSource => vec![target.clone()],
        };
        shape.reads.push(read(values, from, clause.condition.clone()));
    }
    if let Some(items) = reading.returning() {
        let action = SelectItem::ExprWithAlias {
            expr: Expr::Value(Value::SingleQuotedString("INSERT".to_string()).into()),
            alias: Ident::with_quote('"', ACTION),
        };
        let actions = derived(select_values(vec![action]), &action_name(), Vec::new());
        let query = select_from(items, vec![target, source, actions], None);
        shape.returning = Some(Query {
            with: statement.with.clone(),
            ..query
        });
    }
    Ok(shape)
}

fn change_shape(reading: &Reading<'_>) -> WriteShape {
    let assignments = reading.assignments.iter().flatten();
    let ids: Vec<ColumnId> = assignments.clone().map(|(id, _)| *id).collect();
    let mut shape = WriteShape {
        assigned: Vec::new(),
        reads: vec![reading.query()],
        returning: None,
    };
    shape.assign(assignments.map(|(_, expr)| expr), &types_of(&reading.table, &ids));
    if let Some(items) = reading.returning {
        let mut from = reading.from.clone();
        if reading.view.is_some() || reading.table.row_id().is_some() {
            from[0] = relation_of(&reading.table, &reading.name);
        }
        shape.returning = Some(Query {
            with: reading.with.cloned(),
            ..select_from(items.clone(), from, None)
        });
    }
    shape
}

impl WriteShape {
    fn assign<'a>(&mut self, exprs: impl Iterator<Item = &'a Expr>, types: &[DataType]) {
        self.assigned.extend(exprs.cloned().zip(types.iter().copied()));
    }
}

fn plain(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

fn types_of(table: &Table, columns: &[ColumnId]) -> Vec<DataType> {
    let columns = columns.iter().filter_map(|id| table.column(*id));
    columns.map(|column: &Column| column.ty).collect()
}
