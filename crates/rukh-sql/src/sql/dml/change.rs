//! UPDATE and DELETE: a query for the rows concerned, whose old and new images go to the engine.
//!
//! `UPDATE t … FROM u` and `DELETE FROM t USING u` read a join. A row of the table that several rows of the
//! join have is changed once, by the first of them; PostgreSQL does not say which it is either.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{FieldRef, Schema, SchemaRef};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, Column, ColumnId, Table};
use rukh_engine::{Row, Write};
use rukh_syntax::sqlparser::ast::{
    self, Expr, FromTable, Ident, SelectItem, SelectItemQualifiedWildcardKind, TableFactor, TableWithJoins,
    UpdateTableFromKind, Value,
};

use super::assign::{assignments, is_literal};
use super::remove::remove_rows;
use super::returning::{Returning, Written};
use super::target::{Scope, Target, changed_relation_of, commit, refuse, target};
use crate::bind::names::view_target::{Change, ViewTarget};
use crate::sql::computed::Relation;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::scalars::{assigned_datums, check_assigned, datums_from_array};
use rukh_syntax::HIDDEN;
use rukh_syntax::make::derived;
use rukh_syntax::{DeleteStatement, ObjectName, UpdateStatement, folded};

/// Runs UPDATE.
pub(crate) fn update(
    session: &mut Session,
    update: &UpdateStatement,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    let mut write = session.begin_write()?;
    let written = update_within(session, &mut write, update, params, Scope::Alone)?;
    commit(session, write)?;
    Ok(written)
}

/// Runs UPDATE within a write, which the caller commits.
pub(super) fn update_within(
    session: &mut Session,
    write: &mut Write,
    update: &UpdateStatement,
    params: &[ScalarValue],
    scope: Scope,
) -> Result<Written, SqlError> {
    let catalog = write.snapshot().catalog.clone();
    change(
        session,
        write,
        reading_of_update(&catalog, update)?,
        params,
        scope,
    )
}

/// Runs DELETE.
pub(crate) fn delete(
    session: &mut Session,
    delete: &DeleteStatement,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    let mut write = session.begin_write()?;
    let reading = reading_of_delete(&write.snapshot().catalog, delete)?;
    if reading.returning.is_none() {
        return remove_rows(session, write, &reading.table, &reading.query(), params);
    }
    let written = change(session, &mut write, reading, params, Scope::Alone)?;
    commit(session, write)?;
    Ok(written)
}

/// Runs DELETE within a write, which the caller commits.
pub(super) fn delete_within(
    session: &mut Session,
    write: &mut Write,
    delete: &DeleteStatement,
    params: &[ScalarValue],
    scope: Scope,
) -> Result<Written, SqlError> {
    let catalog = write.snapshot().catalog.clone();
    change(
        session,
        write,
        reading_of_delete(&catalog, delete)?,
        params,
        scope,
    )
}

/// Returns name and query of an UPDATE, for EXPLAIN.
pub(crate) fn update_query(
    session: &Session,
    update: &UpdateStatement,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_update(&session.catalog(), update)?;
    Ok((reading.table.name.clone(), reading.query()))
}

/// Returns name and query of a DELETE, for EXPLAIN.
pub(crate) fn delete_query(
    session: &Session,
    delete: &DeleteStatement,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_delete(&session.catalog(), delete)?;
    Ok((reading.table.name.clone(), reading.query()))
}

/// How an UPDATE or DELETE reads the rows it concerns, and what it does with them.
pub(super) struct Reading<'a> {
    /// WITH before the statement.
    pub(super) with: Option<&'a ast::With>,
    /// The view that the rows are changed through.
    pub(super) view: Option<Arc<ViewTarget>>,
    pub(super) table: Arc<Table>,
    /// The name of the table within the statement.
    pub(super) name: String,
    /// New values of an UPDATE; `None` for DELETE.
    pub(super) assignments: Option<Vec<(ColumnId, Expr)>>,
    /// The table, then what it is joined with.
    pub(super) from: Vec<TableWithJoins>,
    selection: Option<&'a Expr>,
    pub(super) returning: Option<&'a Vec<SelectItem>>,
}

pub(super) fn reading_of_update<'a>(
    catalog: &Catalog,
    statement: &'a UpdateStatement,
) -> Result<Reading<'a>, SqlError> {
    let update = &statement.ast;
    let (target, name) = changed_table(catalog, &update.table, Change::Update)?;
    let assignments = assignments(&target, &name, &update.assignments)?;
    let Target { table, view } = target;
    let joined = match &update.from {
        None => Vec::new(),
        Some(UpdateTableFromKind::AfterSet(joined)) => joined.clone(),
        Some(UpdateTableFromKind::BeforeSet(_)) => {
            return Err(SqlError::syntax("FROM comes after SET in UPDATE"));
        }
    };
    let with = statement.with.as_ref();
    let changed = changed_relation(&table, view.as_deref(), &name, &update.table, with);
    Ok(Reading {
        with,
        view,
        assignments: Some(assignments),
        from: std::iter::once(changed).chain(joined).collect(),
        selection: update.selection.as_ref(),
        returning: update.returning.as_ref(),
        table,
        name,
    })
}

pub(super) fn reading_of_delete<'a>(
    catalog: &Catalog,
    statement: &'a DeleteStatement,
) -> Result<Reading<'a>, SqlError> {
    let delete = &statement.ast;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [from] = from.as_slice() else {
        return Err(SqlError::unsupported(
            "DELETE from several tables is not supported",
        ));
    };
    let (Target { table, view }, name) = changed_table(catalog, from, Change::Delete)?;
    let joined = delete.using.clone().unwrap_or_default();
    let with = statement.with.as_ref();
    let changed = changed_relation(&table, view.as_deref(), &name, from, with);
    Ok(Reading {
        with,
        view,
        table,
        name,
        assignments: None,
        from: std::iter::once(changed).chain(joined).collect(),
        selection: delete.selection.as_ref(),
        returning: delete.returning.as_ref(),
    })
}

/// Returns the relation that a statement changes as its query names it: no query of WITH hides it.
fn changed_relation(
    table: &Arc<Table>,
    view: Option<&ViewTarget>,
    name: &str,
    given: &TableWithJoins,
    with: Option<&ast::With>,
) -> TableWithJoins {
    match with {
        _ if let Some(view) = view => derived(view.query.clone(), name, Vec::new()),
        None if table.row_id().is_none() => given.clone(),
        _ => changed_relation_of(table, name),
    }
}

/// Returns the table that a statement changes, and the name that it has there.
pub(super) fn changed_table(
    catalog: &Catalog,
    from: &TableWithJoins,
    change: Change,
) -> Result<(Target, String), SqlError> {
    refuse(!from.joins.is_empty(), "JOIN with the table to change")?;
    let TableFactor::Table { name, alias, .. } = &from.relation else {
        return Err(SqlError::unsupported("UPDATE and DELETE take one table"));
    };
    let name = ObjectName::from_ast(name)?;
    let target = target(catalog, &name, change)?;
    let name = match alias {
        Some(alias) => folded(&alias.name),
        None => name.name,
    };
    Ok((target, name))
}

impl Reading<'_> {
    /// Returns the query for the rows concerned: all columns of the table, then the new values, then, for
    /// RETURNING, the columns of each relation joined, behind a column that marks where they begin.
    pub(super) fn query(&self) -> ast::Query {
        let quoted = |text: &str| Ident::with_quote('"', text);
        let column = |column: &Column| {
            let parts = vec![quoted(&self.name), quoted(&column.name)];
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
        };
        let value = |(position, (_, value)): (usize, &(ColumnId, Expr))| SelectItem::ExprWithAlias {
            expr: value.clone(),
            alias: quoted(&format!("new value {position}")),
        };
        let mut items: Vec<SelectItem> = self.table.columns.iter().map(column).collect();
        items.extend(self.assignments.iter().flatten().enumerate().map(value));
        if self.returning.is_some() {
            items.extend(joined_items(&self.joined_names()));
        }
        ast::Query {
            with: self.with.cloned(),
            ..rukh_syntax::make::select_from(items, self.from.clone(), self.selection.cloned())
        }
    }

    /// Returns the names of the relations that the table is joined with.
    fn joined_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for from in &self.from[1..] {
            relation_names(from, &mut names);
        }
        names
    }

    /// Returns the assignments, each with the column of the query that has its values.
    fn assigned<'f>(
        &'f self,
        fields: &'f [FieldRef],
    ) -> impl Iterator<Item = (&'f (ColumnId, Expr), &'f FieldRef)> {
        let values = fields.iter().skip(self.table.columns.len());
        self.assignments.iter().flatten().zip(values)
    }

    fn is_joined(&self) -> bool {
        self.from.len() > 1
    }

    fn width(&self) -> usize {
        self.table.columns.len() + self.assignments.as_ref().map_or(0, Vec::len)
    }
}

/// Returns all columns of each of these relations, behind a column that marks where they begin.
pub(super) fn joined_items(names: &[String]) -> Vec<SelectItem> {
    let quoted = |text: &str| Ident::with_quote('"', text);
    let items = names.iter().enumerate().flat_map(|(nth, name)| {
        let mark = SelectItem::ExprWithAlias {
            expr: Expr::Value(Value::Null.into()),
            alias: quoted(&mark(nth)),
        };
        let all = SelectItemQualifiedWildcardKind::ObjectName(quoted(name).into());
        [mark, SelectItem::QualifiedWildcard(all, Default::default())]
    });
    items.collect()
}

fn mark(nth: usize) -> String {
    format!("mark{HIDDEN}{nth}")
}

/// Adds the names by which the relations of a FROM item are known.
pub(super) fn relation_names(from: &TableWithJoins, names: &mut Vec<String>) {
    let factors = from.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&from.relation).chain(factors) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => relation_names(table_with_joins, names),
            TableFactor::Table {
                alias: None, name, ..
            } => {
                let last = name.0.last().and_then(|part| part.as_ident());
                names.extend(last.map(folded));
            }
            TableFactor::Table {
                alias: Some(alias), ..
            }
            | TableFactor::Derived {
                alias: Some(alias), ..
            }
            | TableFactor::Function {
                alias: Some(alias), ..
            }
            | TableFactor::NestedJoin {
                alias: Some(alias), ..
            } => names.push(folded(&alias.name)),
            _ => {}
        }
    }
}

/// Reads the rows concerned, and has the engine change or remove them.
fn change(
    session: &mut Session,
    write: &mut Write,
    reading: Reading<'_>,
    params: &[ScalarValue],
    scope: Scope,
) -> Result<Written, SqlError> {
    let table = &reading.table;
    let target = Target {
        table: table.clone(),
        view: reading.view.clone(),
    };
    let checked = reading.view.as_ref().filter(|view| view.is_checked());
    let query = reading.query();
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let names = match reading.returning {
        Some(_) => reading.joined_names(),
        None => Vec::new(),
    };
    let schema = rows.schema();
    for ((id, value), field) in reading.assigned(schema.fields()) {
        if !is_literal(value) {
            let column = table.column(*id).expect("assignments name columns of the table");
            check_assigned(field, &column.ty, &column.name)?;
        }
    }
    let joined = Joined::new(&schema, reading.width(), names);
    let mut returning = Returning::new(
        reading.returning,
        (&target, &reading.name),
        joined.relations(),
        params,
        write,
    )?;
    returning = returning.map(|returning| returning.under(reading.with));
    if checked.is_some() {
        write.keep_written();
    }
    let mut seen = HashSet::new();
    let mut count = 0;
    while let Some(mut batch) = rows.next_batch()? {
        let mut old = stored_rows(&batch, table)?;
        if reading.is_joined() {
            (batch, old) = first_of_each(write, table, &mut seen, batch, old)?;
        }
        if scope == Scope::Shared {
            (batch, old) = untouched(write, table, batch, old)?;
        }
        count += match &reading.assignments {
            None => write.delete(table, old)?,
            Some(assignments) => {
                let new = changed_rows(&batch, table, &old, assignments)?;
                write.update(table, old.into_iter().zip(new).collect())?
            }
        };
        let written = write.take_written();
        if let Some(view) = checked.filter(|_| reading.assignments.is_some()) {
            view.check(session, write, &written)?;
        }
        if let Some(returning) = &mut returning {
            returning.add(session, write, &written, &joined.columns(&batch))?;
        }
    }
    let rows = returning.map(|returning| returning.finish(session, write));
    let rows = rows.transpose()?;
    Ok(Written { count, rows })
}

/// Where the columns of the relations joined are in the rows read.
pub(super) struct Joined {
    relations: Vec<(Relation, std::ops::Range<usize>)>,
}

impl Joined {
    /// Finds the columns of these relations behind the first `width`.
    pub(super) fn new(schema: &SchemaRef, width: usize, names: Vec<String>) -> Self {
        let marks = (width..schema.fields().len()).filter(|at| schema.field(*at).name() == "mark");
        let marks: Vec<usize> = marks.collect();
        let ends = marks.iter().skip(1).copied().chain([schema.fields().len()]);
        let relations = names.into_iter().zip(marks.iter().zip(ends));
        let relations = relations.map(|(name, (mark, end))| {
            let fields: Vec<_> = schema.fields()[mark + 1..end].to_vec();
            let schema = Arc::new(Schema::new(fields));
            (Relation { name, schema }, mark + 1..end)
        });
        Joined {
            relations: relations.collect(),
        }
    }

    pub(super) fn relations(&self) -> Vec<Relation> {
        self.relations
            .iter()
            .map(|(relation, _)| relation.clone())
            .collect()
    }

    fn columns(&self, batch: &RecordBatch) -> Vec<ArrayRef> {
        let places = self.places().into_iter();
        places.map(|at| batch.column(at).clone()).collect()
    }

    /// Returns where all their columns are.
    pub(super) fn places(&self) -> Vec<usize> {
        let places = self.relations.iter().flat_map(|(_, places)| places.clone());
        places.collect()
    }
}

/// Leaves out rows of the join whose row of the table was there before.
fn first_of_each(
    write: &Write,
    table: &Table,
    seen: &mut HashSet<Vec<u8>>,
    batch: RecordBatch,
    rows: Vec<Row>,
) -> Result<(RecordBatch, Vec<Row>), SqlError> {
    let mut is_first = Vec::with_capacity(rows.len());
    for row in &rows {
        is_first.push(seen.insert(write.row_key(table, row)?));
    }
    chosen(batch, rows, is_first)
}

/// Leaves out rows that another query of the statement has changed: as in PostgreSQL, one change of a row takes place.
fn untouched(
    write: &Write,
    table: &Table,
    batch: RecordBatch,
    rows: Vec<Row>,
) -> Result<(RecordBatch, Vec<Row>), SqlError> {
    let mut is_untouched = Vec::with_capacity(rows.len());
    for row in &rows {
        is_untouched.push(!write.is_touched(table, row)?);
    }
    chosen(batch, rows, is_untouched)
}

/// Leaves out rows that are not chosen.
fn chosen(
    batch: RecordBatch,
    rows: Vec<Row>,
    is_chosen: Vec<bool>,
) -> Result<(RecordBatch, Vec<Row>), SqlError> {
    let kept = is_chosen.iter().zip(rows).filter(|(is_chosen, _)| **is_chosen);
    let kept = kept.map(|(_, row)| row).collect();
    let batch = filter_record_batch(&batch, &BooleanArray::from(is_chosen.clone()));
    Ok((batch.map_err(DataFusionError::from)?, kept))
}

/// Reads the leading columns of a batch back into rows of the table.
pub(super) fn stored_rows(batch: &RecordBatch, table: &Table) -> Result<Vec<Row>, SqlError> {
    let mut rows: Vec<Row> = (0..batch.num_rows())
        .map(|_| Vec::with_capacity(table.columns.len()))
        .collect();
    for (array, column) in batch.columns().iter().zip(&table.columns) {
        for (row, datum) in rows.iter_mut().zip(datums_from_array(array, &column.ty)?) {
            row.push(datum);
        }
    }
    Ok(rows)
}

fn changed_rows(
    batch: &RecordBatch,
    table: &Table,
    old: &[Row],
    assignments: &[(ColumnId, Expr)],
) -> Result<Vec<Row>, SqlError> {
    let mut new = old.to_vec();
    for (position, (id, _)) in assignments.iter().enumerate() {
        let column = table.column(*id).expect("assignments name columns of the table");
        let target = table.position(*id).expect("a column has a position");
        let values = assigned_datums(
            batch.column(table.columns.len() + position),
            &column.ty,
            &column.name,
        )?;
        for (row, value) in new.iter_mut().zip(values) {
            row[target] = value;
        }
    }
    Ok(new)
}
