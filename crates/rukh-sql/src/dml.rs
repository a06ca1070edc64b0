//! INSERT, UPSERT, UPDATE and DELETE, planned by us: read through an access path, then write.
//!
//! UPDATE and DELETE run a query for the rows concerned on the statement's own snapshot and hand old
//! and new rows to the engine, which keeps every index in the same atomic batch. DataFusion's hooks for
//! DELETE and UPDATE are not used: they lose filters.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    self, AssignmentTarget, ConflictTarget, Expr, FromTable, Ident, OnConflictAction, OnInsert, SelectItem,
    SetExpr, TableFactor, TableObject, TableWithJoins, UnaryOperator, Value,
};
use rukh_catalog::{Catalog, Column, ColumnId, KeyElement, KeyExpr, Table};
use rukh_engine::{OnConflict, Row, Snapshot, Write};
use rukh_keys::{DataType, Datum};

use crate::SqlError;
use crate::expressions::{evaluate_constant, evaluate_default};
use crate::scalars::{assigned_datums, datum_from_scalar, datums_from_array};
use crate::session::Session;
use crate::statement::{InsertStatement, ObjectName};

/// Runs INSERT or UPSERT; returns the number of rows written.
pub(crate) fn insert(
    session: &mut Session,
    statement: &InsertStatement,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let insert = &statement.ast;
    check_insert(insert)?;
    let mut write = session.begin_write()?;
    let table = target(&write.snapshot().catalog, &insert_target(insert)?)?;
    let columns = target_columns(&table, insert)?;
    let conflict = conflict_of(&table, insert)?;
    let mut filler = RowFiller::new(&table, &columns)?;
    let mut count = 0;
    let mut put = |write: &mut Write, rows: Vec<Row>| -> Result<(), SqlError> {
        count += match statement.upsert {
            true => write.upsert(&table, &columns, rows)?,
            false => write.insert(&table, rows, conflict)?,
        };
        Ok(())
    };
    match literal_rows(insert) {
        Some(rows) => {
            let mut filled = Vec::with_capacity(rows.len());
            for row in rows {
                let mut values = Values {
                    session,
                    snapshot: write.snapshot(),
                    table: &table,
                    columns: &columns,
                    params,
                };
                filled.push(filler.fill(values.row(row)?)?);
            }
            put(&mut write, filled)?;
        }
        None => {
            let Some(source) = &insert.source else {
                let row = filler.fill(vec![None; columns.len()])?;
                put(&mut write, vec![row])?;
                return finish(session, write, count);
            };
            let context = session.context(write.snapshot().clone(), source)?;
            let mut rows = session.query(source, params, &context)?;
            check_width(rows.columns().len(), columns.len())?;
            while let Some(batch) = rows.next_batch()? {
                put(&mut write, filler.fill_batch(&batch, &table, &columns)?)?;
            }
        }
    }
    finish(session, write, count)
}

/// Runs UPDATE; returns the number of rows changed.
pub(crate) fn update(
    session: &mut Session,
    update: &ast::Update,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let mut write = session.begin_write()?;
    let Reading {
        table,
        query,
        assignments,
    } = reading_of_update(&write.snapshot().catalog, update)?;
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        let old = stored_rows(&batch, &table)?;
        let new = changed_rows(&batch, &table, &old, &assignments)?;
        count += write.update(&table, old.into_iter().zip(new).collect())?;
    }
    finish(session, write, count)
}

/// Runs DELETE; returns the number of rows removed.
pub(crate) fn delete(
    session: &mut Session,
    delete: &ast::Delete,
    params: &[ScalarValue],
) -> Result<u64, SqlError> {
    let mut write = session.begin_write()?;
    let Reading { table, query, .. } = reading_of_delete(&write.snapshot().catalog, delete)?;
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += write.delete(&table, stored_rows(&batch, &table)?)?;
    }
    finish(session, write, count)
}

/// Returns name and query of an UPDATE, for EXPLAIN.
pub(crate) fn update_query(
    session: &Session,
    update: &ast::Update,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_update(&session.catalog(), update)?;
    Ok((reading.table.name.clone(), reading.query))
}

/// Returns name and query of a DELETE, for EXPLAIN.
pub(crate) fn delete_query(
    session: &Session,
    delete: &ast::Delete,
) -> Result<(String, ast::Query), SqlError> {
    let reading = reading_of_delete(&session.catalog(), delete)?;
    Ok((reading.table.name.clone(), reading.query))
}

/// How an UPDATE or DELETE reads the rows it concerns.
struct Reading {
    table: Arc<Table>,
    query: ast::Query,
    assignments: Vec<(ColumnId, Expr)>,
}

fn reading_of_update(catalog: &Catalog, update: &ast::Update) -> Result<Reading, SqlError> {
    refuse(
        update.from.is_some() || !update.table.joins.is_empty(),
        "UPDATE ... FROM",
    )?;
    refuse(update.returning.is_some(), "RETURNING")?;
    refuse(
        !update.order_by.is_empty() || update.limit.is_some(),
        "ORDER BY and LIMIT in UPDATE",
    )?;
    let table = target(catalog, &factor_name(&update.table)?)?;
    let assignments = assignments(&table, &update.assignments)?;
    let values = assignments.iter().map(|(_, value)| value.clone()).collect();
    let query = rows_query(&table, &update.table, values, update.selection.clone());
    Ok(Reading {
        table,
        query,
        assignments,
    })
}

fn reading_of_delete(catalog: &Catalog, delete: &ast::Delete) -> Result<Reading, SqlError> {
    refuse(delete.using.is_some(), "DELETE ... USING")?;
    refuse(delete.returning.is_some(), "RETURNING")?;
    refuse(
        !delete.order_by.is_empty() || delete.limit.is_some(),
        "ORDER BY and LIMIT in DELETE",
    )?;
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    let [from] = from.as_slice() else {
        return Err(SqlError::unsupported(
            "DELETE from several tables is not supported",
        ));
    };
    let table = target(catalog, &factor_name(from)?)?;
    let query = rows_query(&table, from, Vec::new(), delete.selection.clone());
    Ok(Reading {
        table,
        query,
        assignments: Vec::new(),
    })
}

/// Returns the query whose rows an UPDATE or DELETE concerns: all columns, then the new values.
fn rows_query(
    table: &Table,
    from: &TableWithJoins,
    values: Vec<Expr>,
    selection: Option<Expr>,
) -> ast::Query {
    let column =
        |column: &Column| SelectItem::UnnamedExpr(Expr::Identifier(Ident::with_quote('"', &column.name)));
    let value = |(position, value): (usize, Expr)| SelectItem::ExprWithAlias {
        expr: value,
        alias: Ident::with_quote('"', format!("new value {position}")),
    };
    let projection = table
        .columns
        .iter()
        .map(column)
        .chain(values.into_iter().enumerate().map(value));
    crate::rewrite::select(projection.collect(), from.clone(), selection)
}

fn finish(session: &Session, write: Write, count: u64) -> Result<u64, SqlError> {
    session.check_cancel()?;
    write.commit(session.durability())?;
    Ok(count)
}

fn target(catalog: &Catalog, name: &ObjectName) -> Result<Arc<Table>, SqlError> {
    let schema = name.schema.as_deref().unwrap_or("public");
    let table = catalog.table_named(schema, &name.name);
    table
        .cloned()
        .map_err(|error| SqlError::from(error).at(name.position))
}

fn refuse(given: bool, what: &str) -> Result<(), SqlError> {
    match given {
        true => Err(SqlError::unsupported(format!("{what} is not supported yet"))),
        false => Ok(()),
    }
}

fn check_insert(insert: &ast::Insert) -> Result<(), SqlError> {
    refuse(insert.returning.is_some(), "RETURNING")?;
    refuse(
        insert.or.is_some() || insert.ignore || insert.overwrite || insert.replace_into,
        "this form of INSERT",
    )?;
    refuse(
        insert.partitioned.is_some() || !insert.assignments.is_empty(),
        "this form of INSERT",
    )
}

fn insert_target(insert: &ast::Insert) -> Result<ObjectName, SqlError> {
    match &insert.table {
        TableObject::TableName(name) => ObjectName::from_ast(name),
        _ => Err(SqlError::unsupported(
            "INSERT into a function or query is not supported",
        )),
    }
}

fn conflict_of(table: &Table, insert: &ast::Insert) -> Result<OnConflict, SqlError> {
    match &insert.on {
        None => Ok(OnConflict::Error),
        Some(OnInsert::OnConflict(on)) if matches!(on.action, OnConflictAction::DoNothing) => {
            match &on.conflict_target {
                None => Ok(OnConflict::Ignore),
                Some(ConflictTarget::Columns(names)) => {
                    let names: Vec<ast::ObjectName> = names.iter().map(|name| name.clone().into()).collect();
                    conflict_on(table, &named_columns(table, &names)?)
                }
                Some(ConflictTarget::OnConstraint(name)) => conflict_on_constraint(table, name),
            }
        }
        Some(_) => Err(
            SqlError::unsupported("ON CONFLICT DO UPDATE is not supported yet")
                .with_hint("UPSERT INTO writes the row whether its key exists or not."),
        ),
    }
}

/// Finds the primary key or UNIQUE index that has just these columns, in any order.
fn conflict_on(table: &Table, columns: &[ColumnId]) -> Result<OnConflict, SqlError> {
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
    let index = table
        .indexes
        .iter()
        .find(|index| index.unique && index.predicate.is_none() && is_of(&index.elements));
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
    if name.name == format!("{}_pkey", table.name) {
        return Ok(OnConflict::IgnoreKey);
    }
    let index = table
        .indexes
        .iter()
        .find(|index| index.unique && index.name == name.name);
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

/// Returns the columns that an INSERT fills: those named, or as many as VALUES gives, in declared order.
fn target_columns(table: &Table, insert: &ast::Insert) -> Result<Vec<ColumnId>, SqlError> {
    let mut columns = named_columns(table, &insert.columns)?;
    if insert.columns.is_empty()
        && let Some(width) = literal_rows(insert).and_then(|rows| rows.iter().map(|row| row.len()).max())
    {
        columns.truncate(width);
    }
    Ok(columns)
}

/// Returns the columns that the statement names, or all in declared order.
fn named_columns(table: &Table, names: &[ast::ObjectName]) -> Result<Vec<ColumnId>, SqlError> {
    if names.is_empty() {
        return Ok(table.columns.iter().map(|column| column.id).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if columns.contains(&column.id) {
            let message = format!("column \"{}\" specified more than once", name.name);
            return Err(SqlError::statement("42701", message).at(name.position));
        }
        columns.push(column.id);
    }
    Ok(columns)
}

fn column_of<'t>(table: &'t Table, name: &ObjectName) -> Result<&'t Column, SqlError> {
    table.column_named(&name.name).ok_or_else(|| {
        let message = format!(
            "column \"{}\" of relation \"{}\" does not exist",
            name.name, table.name
        );
        SqlError::statement("42703", message).at(name.position)
    })
}

fn assignments(table: &Table, given: &[ast::Assignment]) -> Result<Vec<(ColumnId, Expr)>, SqlError> {
    let mut found: Vec<(ColumnId, Expr)> = Vec::with_capacity(given.len());
    for assignment in given {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return Err(SqlError::unsupported("SET (a, b) = ... is not supported yet"));
        };
        let name = ObjectName::from_ast(name)?;
        let column = column_of(table, &name)?;
        if found.iter().any(|(id, _)| *id == column.id) {
            let message = format!("multiple assignments to same column \"{}\"", name.name);
            return Err(SqlError::statement("42601", message).at(name.position));
        }
        found.push((column.id, defaulted(column, &assignment.value)?));
    }
    Ok(found)
}

/// Replaces `SET c = DEFAULT` by the column's default.
fn defaulted(column: &Column, value: &Expr) -> Result<Expr, SqlError> {
    match (is_default(value), &column.default) {
        (false, _) => Ok(value.clone()),
        (true, None) => Ok(Expr::Value(Value::Null.into())),
        (true, Some(sql)) => crate::statement::parse_expression(sql),
    }
}

fn factor_name(from: &TableWithJoins) -> Result<ObjectName, SqlError> {
    match &from.relation {
        TableFactor::Table { name, .. } if from.joins.is_empty() => ObjectName::from_ast(name),
        _ => Err(SqlError::unsupported("UPDATE and DELETE take one table")),
    }
}

/// Reads the leading columns of a batch back into rows of the table.
fn stored_rows(batch: &RecordBatch, table: &Table) -> Result<Vec<Row>, SqlError> {
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

fn check_width(given: usize, wanted: usize) -> Result<(), SqlError> {
    match given.cmp(&wanted) {
        std::cmp::Ordering::Equal => Ok(()),
        std::cmp::Ordering::Greater => Err(SqlError::syntax(
            "INSERT has more expressions than target columns",
        )),
        std::cmp::Ordering::Less => Err(SqlError::syntax(
            "INSERT has more target columns than expressions",
        )),
    }
}

/// Returns the rows of `VALUES`, when the source is nothing else.
fn literal_rows(insert: &ast::Insert) -> Option<Vec<&Vec<Expr>>> {
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

fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(ident) if ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default"))
}

/// Turns the expressions of VALUES into datums: literals and parameters at once, the rest by a query.
struct Values<'a> {
    session: &'a mut Session,
    snapshot: &'a Snapshot,
    table: &'a Table,
    columns: &'a [ColumnId],
    params: &'a [ScalarValue],
}

impl Values<'_> {
    /// Returns one datum per named column; `None` where DEFAULT is asked for.
    fn row(&mut self, row: &[Expr]) -> Result<Vec<Option<Datum>>, SqlError> {
        check_width(row.len(), self.columns.len())?;
        let (table, columns) = (self.table, self.columns);
        let pairs = row.iter().zip(columns);
        pairs
            .map(|(expr, id)| self.value(expr, table.column(*id).expect("named columns exist")))
            .collect()
    }

    fn value(&mut self, expr: &Expr, column: &Column) -> Result<Option<Datum>, SqlError> {
        if is_default(expr) {
            return Ok(None);
        }
        let known = match literal(expr, self.params)? {
            Some(scalar) => Some(scalar),
            None => evaluate_constant(expr)?,
        };
        let scalar = match known {
            Some(scalar) => scalar,
            None => self.session.evaluate(self.snapshot, expr, self.params)?,
        };
        datum_from_scalar(&scalar, &column.ty, &column.name).map(Some)
    }
}

/// Returns the value of a literal or parameter, or `None` for any other expression.
pub(crate) fn literal(expr: &Expr, params: &[ScalarValue]) -> Result<Option<ScalarValue>, SqlError> {
    Ok(match expr {
        Expr::Nested(inner) => literal(inner, params)?,
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => match &**expr {
            Expr::Value(value) => match &value.value {
                Value::Number(digits, _) => number(&format!("-{digits}")),
                _ => None,
            },
            _ => None,
        },
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => number(digits),
            Value::SingleQuotedString(text) => Some(ScalarValue::Utf8(Some(text.clone()))),
            Value::Boolean(value) => Some(ScalarValue::Boolean(Some(*value))),
            Value::Null => Some(ScalarValue::Null),
            Value::Placeholder(name) => Some(parameter(name, params)?),
            _ => None,
        },
        _ => None,
    })
}

/// Reads an integer or decimal literal; one that is neither goes the long way.
fn number(digits: &str) -> Option<ScalarValue> {
    if let Ok(value) = digits.parse::<i64>() {
        return Some(ScalarValue::Int64(Some(value)));
    }
    let scale = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let ty = DataType::Decimal {
        precision: 38,
        scale: u8::try_from(scale).ok().filter(|s| *s <= 38)?,
    };
    match ty.parse_text(digits).ok()? {
        Datum::Decimal(value) => Some(ScalarValue::Decimal128(Some(value), 38, scale as i8)),
        _ => None,
    }
}

fn parameter(name: &str, params: &[ScalarValue]) -> Result<ScalarValue, SqlError> {
    let number = name
        .strip_prefix('$')
        .and_then(|digits| digits.parse::<usize>().ok());
    let value = number.and_then(|n| n.checked_sub(1)).and_then(|n| params.get(n));
    value
        .cloned()
        .ok_or_else(|| SqlError::statement("42P02", format!("there is no parameter {name}")))
}

/// Completes rows of the named columns to rows of the table, with defaults evaluated once.
struct RowFiller<'a> {
    table: &'a Table,
    /// Position in the table of each named column.
    targets: Vec<usize>,
    defaults: HashMap<usize, Datum>,
}

impl<'a> RowFiller<'a> {
    fn new(table: &'a Table, columns: &[ColumnId]) -> Result<Self, SqlError> {
        let position = |id: &ColumnId| table.position(*id).expect("named columns exist");
        let targets = columns.iter().map(position).collect();
        Ok(RowFiller {
            table,
            targets,
            defaults: HashMap::new(),
        })
    }

    fn fill(&mut self, values: Vec<Option<Datum>>) -> Result<Row, SqlError> {
        let mut row: Vec<Option<Datum>> = vec![None; self.table.columns.len()];
        for (target, value) in self.targets.iter().zip(values) {
            row[*target] = value;
        }
        row.into_iter()
            .enumerate()
            .map(|(position, value)| value.map_or_else(|| self.default(position), Ok))
            .collect()
    }

    fn fill_batch(
        &mut self,
        batch: &RecordBatch,
        table: &Table,
        columns: &[ColumnId],
    ) -> Result<Vec<Row>, SqlError> {
        let mut given: Vec<Vec<Option<Datum>>> = (0..batch.num_rows())
            .map(|_| Vec::with_capacity(columns.len()))
            .collect();
        for (array, id) in batch.columns().iter().zip(columns) {
            let column = table.column(*id).expect("named columns exist");
            for (row, datum) in given
                .iter_mut()
                .zip(assigned_datums(array, &column.ty, &column.name)?)
            {
                row.push(Some(datum));
            }
        }
        given.into_iter().map(|values| self.fill(values)).collect()
    }

    fn default(&mut self, position: usize) -> Result<Datum, SqlError> {
        if let Some(known) = self.defaults.get(&position) {
            return Ok(known.clone());
        }
        let column = &self.table.columns[position];
        let value = match &column.default {
            None => Datum::Null,
            Some(sql) => evaluate_default(sql, &column.ty, &column.name)?,
        };
        self.defaults.insert(position, value.clone());
        Ok(value)
    }
}
