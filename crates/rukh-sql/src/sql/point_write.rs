//! UPDATE and DELETE of one row by its primary key, without a plan.
//!
//! | statement                                     | reads and writes                     |
//! |-----------------------------------------------|--------------------------------------|
//! | `UPDATE t SET c = c + 1 WHERE k = 'x'`         | one get, one put and what indexes take |
//! | the same, `c` being a COUNTER                 | one get, to see that the row is there, and a merge |
//! | `DELETE FROM t WHERE a = $1 AND b = $2`        | one get, one delete and what indexes take |
//!
//! A statement is taken when it says nothing but these: `column = constant` for each column of the primary
//! key, the constant being of the column's type or a literal in quotes of its input syntax, and new values
//! that are constants or an integer column plus or minus a constant. Everything else, and whatever would be
//! an error, goes the general way, which gives the same rows and the error. It matters because
//! writers run one after the other, and planning takes ten times as long as the write.

use std::sync::Arc;

use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, Column, ColumnId, ColumnValues, KeyExpr, Table};
use rukh_engine::{AddOutcome, Row, ScanCounters, ScanRequest, Snapshot, Write};
use rukh_keys::{DataType, Datum, KeyRange, ValueError};
use rukh_syntax::sqlparser::ast::{
    self, AssignmentTarget, BinaryOperator, Expr, FromTable, ObjectNamePart, TableFactor, TableWithJoins,
};
use rukh_syntax::{ObjectName, Statement, folded};

use crate::bind::spelling::literal_values::literal;
use crate::exec::session_settings::settings::PathSetting;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::scalars::datum_from_scalar;

/// A change of the row under one key.
struct PointWrite {
    table: Arc<Table>,
    key: Vec<Datum>,
    change: Change,
}

enum Change {
    Delete,
    /// Positions of columns with what they become.
    Update(Vec<(usize, NewValue)>),
}

enum NewValue {
    Constant(Datum),
    /// An integer column, by position, and what is added to it.
    Sum(usize, i64),
}

/// Runs an UPDATE or DELETE by key and returns its tag; `None` if the statement is anything else.
pub(crate) fn run(
    session: &mut Session,
    statement: &Statement,
    params: &[ScalarValue],
) -> Result<Option<String>, SqlError> {
    if session.settings.path != PathSetting::Auto {
        return Ok(None);
    }
    let (verb, write) = match statement {
        Statement::Update(update) if update.with.is_none() => {
            ("UPDATE", of_update(&session.catalog(), &update.ast, params))
        }
        Statement::Delete(delete) if delete.with.is_none() => {
            ("DELETE", of_delete(&session.catalog(), &delete.ast, params))
        }
        _ => return Ok(None),
    };
    let Some(write) = write else {
        return Ok(None);
    };
    let count = write.run(session)?;
    Ok(count.map(|count| format!("{verb} {count}")))
}

impl PointWrite {
    /// Runs the change; `None` if the row is not one for it, which then is as it was.
    fn run(self, session: &mut Session) -> Result<Option<u64>, SqlError> {
        let mut write = session.begin_write()?;
        let context = session.plain_context(write.snapshot().clone());
        let catalog = &context.snapshot.catalog;
        let newest = catalog.table_named(&self.table.schema, &self.table.name);
        if !newest.is_ok_and(|newest| Arc::ptr_eq(newest, &self.table)) {
            return Ok(None);
        }
        if let Some(count) = self.add(&mut write)? {
            session.check_cancel()?;
            context.add_commit(write.commit(session.durability())?);
            let counters = ScanCounters {
                lookups: 1,
                ..ScanCounters::default()
            };
            session.ran_directly(context, &counters);
            return Ok(Some(count));
        }
        let (old, counters) = self.stored(&context.snapshot)?;
        let count = match (old, &self.change) {
            (None, _) => 0,
            (Some(old), Change::Delete) => write.delete(&self.table, vec![old])?,
            (Some(old), Change::Update(values)) => match changed(&self.table, &old, values) {
                Some(new) => write.update(&self.table, vec![(old, new)])?,
                None => return Ok(None),
            },
        };
        session.check_cancel()?;
        context.add_commit(write.commit(session.durability())?);
        session.ran_directly(context, &counters);
        Ok(Some(count))
    }

    /// Adds to counters, where that is all that is to be done; `None` if nothing was done.
    fn add(&self, write: &mut Write) -> Result<Option<u64>, SqlError> {
        let Change::Update(values) = &self.change else {
            return Ok(None);
        };
        let amount = |(position, value): &(usize, NewValue)| match value {
            NewValue::Sum(of, amount) if of == position => Some((self.table.columns[*of].id, *amount)),
            _ => None,
        };
        let Some(amounts) = values.iter().map(amount).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let columns: Vec<ColumnId> = amounts.iter().map(|(id, _)| *id).collect();
        if !write.can_add(&self.table, &columns) {
            return Ok(None);
        }
        Ok(match write.add(&self.table, &self.key, &amounts)? {
            AddOutcome::Done => Some(1),
            AddOutcome::NoRow => Some(0),
            // The general way returns the error.
            AddOutcome::OutOfRange => None,
        })
    }

    fn stored(&self, snapshot: &Snapshot) -> Result<(Option<Row>, ScanCounters), SqlError> {
        let columns = self.table.columns.iter().map(|column| column.id).collect();
        let key = match self.table.key_layout().encode(&self.key) {
            Err(ValueError::WideForKey { .. }) => return Ok((None, ScanCounters::default())),
            key => key?,
        };
        let request = ScanRequest {
            ranges: vec![KeyRange::point(key)],
            ..ScanRequest::all(self.table.clone(), columns)
        };
        let mut cursor = snapshot.scan(request)?;
        let mut row = None;
        cursor.next_rows(1, &mut |view| {
            let datums = (0..self.table.columns.len()).map(|at| Ok(view.datum(at)?.into_owned()));
            row = Some(datums.collect::<Result<Row, rukh_engine::EngineError>>()?);
            Ok(())
        })?;
        Ok((row, cursor.counters()))
    }
}

/// Returns the row with new values; `None` where one does not fit its column.
fn changed(table: &Table, old: &Row, values: &[(usize, NewValue)]) -> Option<Row> {
    let mut new = old.clone();
    for (position, value) in values {
        new[*position] = match value {
            NewValue::Constant(datum) => datum.clone(),
            NewValue::Sum(of, add) => match &old[*of] {
                Datum::Int(value) => {
                    let sum = Datum::Int(value.checked_add(*add)?);
                    table.columns[*position].ty.check(sum).ok()?
                }
                _ => return None,
            },
        };
    }
    Some(new)
}

fn of_update(catalog: &Catalog, update: &ast::Update, params: &[ScalarValue]) -> Option<PointWrite> {
    let ast::Update {
        update_token: _,
        optimizer_hints,
        table,
        assignments,
        from: None,
        selection: Some(selection),
        returning: None,
        output: None,
        or: None,
        order_by,
        limit: None,
    } = update
    else {
        return None;
    };
    if !optimizer_hints.is_empty() || !order_by.is_empty() {
        return None;
    }
    let table = plain_table(catalog, table)?;
    let mut values: Vec<(usize, NewValue)> = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let AssignmentTarget::ColumnName(name) = &assignment.target else {
            return None;
        };
        let [ObjectNamePart::Identifier(name)] = name.0.as_slice() else {
            return None;
        };
        let position = position_of(&table, name)?;
        if values.iter().any(|(other, _)| *other == position) {
            return None;
        }
        values.push((position, new_value(&table, position, &assignment.value, params)?));
    }
    let key = key_of(&table, selection, params)?;
    Some(PointWrite {
        table,
        key,
        change: Change::Update(values),
    })
}

fn of_delete(catalog: &Catalog, delete: &ast::Delete, params: &[ScalarValue]) -> Option<PointWrite> {
    let ast::Delete {
        delete_token: _,
        optimizer_hints,
        tables,
        from: FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from),
        using: None,
        selection: Some(selection),
        returning: None,
        output: None,
        order_by,
        limit: None,
    } = delete
    else {
        return None;
    };
    if !optimizer_hints.is_empty() || !tables.is_empty() || !order_by.is_empty() {
        return None;
    }
    let [from] = from.as_slice() else {
        return None;
    };
    let table = plain_table(catalog, from)?;
    let key = key_of(&table, selection, params)?;
    Some(PointWrite {
        table,
        key,
        change: Change::Delete,
    })
}

/// Returns a table that is named and nothing more.
///
/// All that a definition can say is listed: something new that a write has to heed must not go past.
fn plain_table(catalog: &Catalog, from: &TableWithJoins) -> Option<Arc<Table>> {
    let TableFactor::Table {
        name,
        alias: None,
        args: None,
        with_hints,
        version: None,
        with_ordinality: false,
        partitions,
        json_path: None,
        sample: None,
        index_hints,
    } = &from.relation
    else {
        return None;
    };
    if !(from.joins.is_empty() && with_hints.is_empty() && partitions.is_empty() && index_hints.is_empty()) {
        return None;
    }
    let name = ObjectName::from_ast(name).ok()?;
    let schema = name.schema.as_deref().unwrap_or("public");
    let table = catalog.table_named(schema, &name.name).ok()?;
    let Table {
        id: _,
        schema: _,
        name: _,
        columns,
        primary_key: _,
        named_key: _,
        salt: _,
        families: _,
        options: _,
        layouts: _,
        indexes: _,
        next_column: _,
        // The engine checks every row that it writes.
        checks: _,
        foreign_keys: _,
        dropped: _,
        comments: _,
        // General writes refuse it.
        materialized: None,
    } = &**table
    else {
        return None;
    };
    let is_plain = |column: &Column| {
        let Column {
            id: _,
            name: _,
            ty: _,
            nullable: _,
            default: _,
            family: _,
            values,
        } = column;
        let ColumnValues {
            missing: _,
            generated,
            identity,
            counter: _,
            // The engine checks its values.
            domain: _,
            row_id: _,
            declared: _,
        } = values;
        // Such a column may not take the value of a statement.
        generated.is_none() && identity.is_none()
    };
    columns.iter().all(is_plain).then(|| table.clone())
}

fn position_of(table: &Table, name: &ast::Ident) -> Option<usize> {
    let name = folded(name);
    table.columns.iter().position(|column| column.name == name)
}

/// Returns the primary key that a condition names, if it says that and nothing else.
fn key_of(table: &Table, condition: &Expr, params: &[ScalarValue]) -> Option<Vec<Datum>> {
    let mut equalities = Vec::with_capacity(table.primary_key.len());
    equalities_of(table, condition, params, &mut equalities)?;
    let datum = |element: &rukh_catalog::KeyElement| {
        let KeyExpr::Column(id) = element.expr else {
            return None;
        };
        let position = table.position(id)?;
        let at = equalities.iter().position(|(other, _)| *other == position)?;
        Some(equalities[at].1.clone())
    };
    let key: Vec<Datum> = table.primary_key.iter().map(datum).collect::<Option<_>>()?;
    (key.len() == equalities.len()).then_some(key)
}

/// Collects the equalities of a conjunction, each column once.
fn equalities_of(
    table: &Table,
    condition: &Expr,
    params: &[ScalarValue],
    equalities: &mut Vec<(usize, Datum)>,
) -> Option<()> {
    match condition {
        Expr::Nested(inner) => equalities_of(table, inner, params, equalities),
        Expr::BinaryOp { left, op, right } if *op == BinaryOperator::And => {
            equalities_of(table, left, params, equalities)?;
            equalities_of(table, right, params, equalities)
        }
        Expr::BinaryOp { left, op, right } if *op == BinaryOperator::Eq => {
            let (column, value) = match (&**left, &**right) {
                (Expr::Identifier(column), value) | (value, Expr::Identifier(column)) => (column, value),
                _ => return None,
            };
            let position = position_of(table, column)?;
            let datum = constant(&table.columns[position].ty, value, params)?;
            let twice = equalities.iter().any(|(other, _)| *other == position);
            (!twice).then(|| equalities.push((position, datum)))
        }
        _ => None,
    }
}

fn new_value(table: &Table, position: usize, value: &Expr, params: &[ScalarValue]) -> Option<NewValue> {
    let ty = &table.columns[position].ty;
    match value {
        Expr::Nested(inner) => new_value(table, position, inner, params),
        Expr::BinaryOp { left, op, right } if ty.is_integer() => {
            let (column, value) = match (&**left, op, &**right) {
                (Expr::Identifier(column), BinaryOperator::Plus | BinaryOperator::Minus, value) => {
                    (column, value)
                }
                (value, BinaryOperator::Plus, Expr::Identifier(column)) => (column, value),
                _ => return None,
            };
            let of = position_of(table, column)?;
            let add = integer(value, params)?;
            let add = match op {
                BinaryOperator::Minus => add.checked_neg()?,
                _ => add,
            };
            table.columns[of]
                .ty
                .is_integer()
                .then_some(NewValue::Sum(of, add))
        }
        value => assigned(&table.columns[position], value, params).map(NewValue::Constant),
    }
}

/// Returns a constant with which a key column is compared, if comparing is being the same datum.
///
/// A literal in quotes has the type of what it is compared with; one of a zoned timestamp depends on the
/// session, and blanks and lengths matter for text of fixed length, so these go the general way.
fn constant(ty: &DataType, value: &Expr, params: &[ScalarValue]) -> Option<Datum> {
    let scalar = literal(value, params).ok()??;
    let datum = match (ty, &scalar) {
        (ty, ScalarValue::Int64(Some(value))) if ty.is_integer() => Datum::Int(*value),
        (DataType::Varchar(_), ScalarValue::Utf8(Some(text))) => Datum::Text(text.clone()),
        (
            DataType::Date | DataType::Timestamp { .. } | DataType::Uuid | DataType::Inet,
            ScalarValue::Utf8(Some(text)),
        ) => ty.unrounded().parse_text(text).ok()?,
        (DataType::Date, ScalarValue::Date32(Some(days))) => Datum::Date(*days),
        (DataType::Timestamp { .. }, ScalarValue::TimestampMicrosecond(Some(time), None))
        | (DataType::TimestampTz { .. }, ScalarValue::TimestampMicrosecond(Some(time), Some(_))) => {
            Datum::Timestamp(*time)
        }
        (DataType::Boolean, ScalarValue::Boolean(Some(value))) => Datum::Boolean(*value),
        _ => return None,
    };
    ty.check(datum.clone()).ok().filter(|checked| *checked == datum)
}

/// Returns a constant as it is stored in a column.
fn assigned(column: &Column, value: &Expr, params: &[ScalarValue]) -> Option<Datum> {
    let scalar = literal(value, params).ok()??;
    let datum = datum_from_scalar(&scalar, &column.ty, &column.name).ok()?;
    (column.nullable || !datum.is_null()).then_some(datum)
}

fn integer(value: &Expr, params: &[ScalarValue]) -> Option<i64> {
    match literal(value, params).ok()?? {
        ScalarValue::Int64(value) => value,
        _ => None,
    }
}
