//! INSERT and UPSERT: rows of VALUES or of a query, completed by defaults.

use std::sync::Arc;

use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, ColumnId, Table};
use rukh_engine::{OnConflict, Row, Write};
use rukh_syntax::sqlparser::ast::{self, Expr, SetExpr, TableObject};

use super::add::Adder;
use super::assign::literals_of;
use super::conflict::{Conflict, conflict_of};
use super::resolve::Resolver;
use super::returning::{Returning, Written};
use super::target::{Scope, Target, commit, refuse, target};
use super::values::{RowFiller, Values, check_given, check_width};
use crate::bind::names::view_target::{Change, ViewTarget};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::scalars::check_assigned;
use rukh_syntax::{InsertStatement, ObjectName, folded};

/// Runs INSERT or UPSERT.
pub(crate) fn insert(
    session: &mut Session,
    statement: &InsertStatement,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    check_insert(&statement.ast)?;
    let mut write = session.begin_write()?;
    let written = insert_into(session, &mut write, statement, params, Scope::Alone)?;
    commit(session, write)?;
    Ok(written)
}

/// Runs INSERT or UPSERT within a write, which the caller commits.
pub(super) fn insert_into(
    session: &mut Session,
    write: &mut Write,
    statement: &InsertStatement,
    params: &[ScalarValue],
    scope: Scope,
) -> Result<Written, SqlError> {
    let insert = &statement.ast;
    let (target, name) = insert_target(&write.snapshot().catalog, insert)?;
    let columns = target.named_columns(&insert.columns)?;
    let returning = Returning::new(
        insert.returning.as_ref(),
        (&target, &name),
        Vec::new(),
        params,
        write,
    )?;
    let returning = returning.map(|returning| returning.under(statement.with.as_ref()));
    let mut conflict = conflict_of(&target, &name, statement)?;
    let Target { table, view } = target;
    if let Some(view) = &view {
        conflict.spell_out(view);
    }
    let adder = match returning {
        None if view.is_none() && scope == Scope::Alone => Adder::new(&table, &name, &conflict, params),
        _ => None,
    };
    let inserter = || {
        Ok::<_, SqlError>(Inserter {
            way: Way::new(&table, &name, conflict, params)?,
            table: table.clone(),
            view,
            returning,
            count: 0,
        })
    };
    match literal_rows(insert) {
        Some(rows) => {
            let columns = leading(insert, columns, width_of(&rows)?);
            let mut filler = RowFiller::new(session, &table, &columns)?.overriding(statement.overriding);
            let mut filled = Vec::with_capacity(rows.len());
            for row in rows {
                let mut values = Values {
                    session,
                    snapshot: write.snapshot(),
                    with: statement.with.as_ref(),
                    table: &table,
                    columns: &columns,
                    params,
                    overriding: statement.overriding,
                };
                filled.push(filler.fill(values.row(row)?)?);
            }
            if let Some(adder) = adder.filter(|adder| adder.takes(write, &filled)) {
                let count = adder.put(write, filled)?;
                return Ok(Written { count, rows: None });
            }
            let mut inserter = inserter()?;
            inserter.put(session, write, &columns, filled)?;
            inserter.finish(session, write)
        }
        None => match &insert.source {
            None => {
                let row = RowFiller::new(session, &table, &[])?.fill(Vec::new())?;
                let mut inserter = inserter()?;
                inserter.put(session, write, &columns, vec![row])?;
                inserter.finish(session, write)
            }
            Some(source) => {
                let mut inserter = inserter()?;
                let context = session.context(write.snapshot().clone(), source)?;
                let mut rows = session.query(source, params, &context)?;
                let columns = leading(insert, columns, rows.columns().len());
                check_width(rows.columns().len(), columns.len())?;
                let schema = rows.schema();
                let literals = literals_of(source, columns.len());
                for ((id, field), is_literal) in columns.iter().zip(schema.fields()).zip(literals) {
                    let column = table.column(*id).expect("named columns exist");
                    check_given(column, statement.overriding)?;
                    if !is_literal {
                        check_assigned(field, &column.ty, &column.name)?;
                    }
                }
                let mut filler = RowFiller::new(session, &table, &columns)?.overriding(statement.overriding);
                while let Some(batch) = rows.next_batch()? {
                    let filled = filler.fill_batch(&batch, &table, &columns)?;
                    inserter.put(session, write, &columns, filled)?;
                }
                inserter.finish(session, write)
            }
        },
    }
}

/// How rows get into the table.
enum Way<'a> {
    Insert(OnConflict),
    Upsert,
    Resolve(Box<Resolver<'a>>),
}

impl<'a> Way<'a> {
    fn new(
        table: &Arc<Table>,
        name: &str,
        conflict: Conflict,
        params: &'a [ScalarValue],
    ) -> Result<Self, SqlError> {
        Ok(match conflict {
            Conflict::Replace if table.row_id().is_some() => {
                let message = format!(
                    "UPSERT needs a primary key, and table \"{}\" has none",
                    table.name
                );
                return Err(SqlError::statement("42P10", message).with_hint("Say INSERT."));
            }
            Conflict::Replace => Way::Upsert,
            Conflict::Leave(conflict) => Way::Insert(conflict),
            Conflict::Update(update) => Way::Resolve(Box::new(Resolver::new(table, name, *update, params)?)),
        })
    }
}

/// Puts rows into a table, and keeps what RETURNING says of them.
struct Inserter<'a> {
    table: Arc<Table>,
    view: Option<Arc<ViewTarget>>,
    way: Way<'a>,
    returning: Option<Returning<'a>>,
    count: u64,
}

impl Inserter<'_> {
    fn put(
        &mut self,
        session: &mut Session,
        write: &mut Write,
        columns: &[ColumnId],
        mut rows: Vec<Row>,
    ) -> Result<(), SqlError> {
        let table = &self.table;
        let mut columns = columns.to_vec();
        if let Some(view) = &self.view {
            columns.extend(view.fill(&columns, &mut rows)?);
            if view.is_checked() {
                write.keep_written();
            }
        }
        let mut resolved = None;
        self.count += match &mut self.way {
            Way::Upsert => write.upsert(table, &columns, rows)?,
            Way::Insert(conflict) => write.insert(table, rows, *conflict)?,
            Way::Resolve(resolver) => {
                let rows = resolver.put(session, write, rows)?;
                let count = rows.len() as u64;
                resolved = Some(rows);
                count
            }
        };
        let checked = self.view.as_ref().filter(|view| view.is_checked());
        if checked.is_none() && self.returning.is_none() {
            return Ok(());
        }
        let written = write.take_written();
        let written = resolved.unwrap_or(written);
        if let Some(view) = checked {
            view.check(session, write, &written)?;
        }
        if let Some(returning) = &mut self.returning {
            returning.add(session, write, &written, &[])?;
        }
        Ok(())
    }

    fn finish(self, session: &mut Session, write: &Write) -> Result<Written, SqlError> {
        let rows = self.returning.map(|returning| returning.finish(session, write));
        let rows = rows.transpose()?;
        Ok(Written {
            count: self.count,
            rows,
        })
    }
}

pub(super) fn check_insert(insert: &ast::Insert) -> Result<(), SqlError> {
    refuse(
        insert.or.is_some() || insert.ignore || insert.overwrite || insert.replace_into,
        "this form of INSERT",
    )?;
    refuse(
        insert.partitioned.is_some() || !insert.assignments.is_empty(),
        "this form of INSERT",
    )
}

/// Returns the table, and the name that it has within the statement.
pub(super) fn insert_target(catalog: &Catalog, insert: &ast::Insert) -> Result<(Target, String), SqlError> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(SqlError::unsupported(
            "INSERT into a function or query is not supported",
        ));
    };
    let name = ObjectName::from_ast(name)?;
    let target = target(catalog, &name, Change::Insert)?;
    let alias = insert.table_alias.as_ref();
    Ok((target, alias.map_or(name.name, |alias| folded(&alias.alias))))
}

/// Without a list of columns, rows may be shorter than those of the table: the rest takes its defaults.
pub(super) fn leading(insert: &ast::Insert, mut columns: Vec<ColumnId>, width: usize) -> Vec<ColumnId> {
    if insert.columns.is_empty() {
        columns.truncate(width);
    }
    columns
}

/// Returns how many values each row of VALUES has.
pub(super) fn width_of(rows: &[&Vec<Expr>]) -> Result<usize, SqlError> {
    let width = rows.first().map_or(0, |row| row.len());
    match rows.iter().all(|row| row.len() == width) {
        true => Ok(width),
        false => Err(SqlError::syntax("VALUES lists must all be the same length")),
    }
}

/// Returns the rows of `VALUES`, when the source is nothing else.
pub(super) fn literal_rows(insert: &ast::Insert) -> Option<Vec<&Vec<Expr>>> {
    let query = insert.source.as_ref()?;
    let plain = query.with.is_none()
        && query.order_by.is_none()
        && query.limit_clause.is_none()
        && query.fetch.is_none();
    match query.body.as_ref() {
        SetExpr::Values(values) if plain => Some(values.rows.iter().map(|row| &row.content).collect()),
        _ => None,
    }
}
