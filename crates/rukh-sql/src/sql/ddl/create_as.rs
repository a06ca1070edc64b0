//! CREATE TABLE … AS: a table of the columns of a query, and its rows.
//!
//! The table is made before its rows are written; when that fails, it is dropped again, and so it is by the next open after a crash.

use datafusion::arrow::datatypes::Field;
use datafusion::scalar::ScalarValue;
use rukh_catalog::PUBLIC;
use rukh_syntax::{ColumnDefinition, CreateTableStatement, Name, Statement, TableSource, quoted};

use super::create_table::create_table_to_fill;
use super::names::is_taken;
use super::view::check_no_parameters;
use crate::bind::spelling::parsing::parse;
use crate::sql::dml;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::types::data_type_of;
use rukh_syntax::shown_name;

/// Runs CREATE TABLE … AS; returns its tag.
pub(super) fn create_table_as(
    session: &mut Session,
    statement: &CreateTableStatement,
    source: &TableSource,
) -> Result<String, SqlError> {
    let catalog = session.engine().catalog();
    if is_taken(session, &catalog, &statement.name, statement.if_not_exists)? {
        return Ok("CREATE TABLE AS".to_string());
    }
    check_no_parameters(&source.query)?;
    let mut whole = statement.clone();
    whole.source = None;
    whole.columns = columns(session, statement, source)?;
    create_table_to_fill(session, &whole, source.with_data)?;
    if !source.with_data {
        return Ok("CREATE TABLE AS".to_string());
    }
    let table = session.table(&statement.name)?.id;
    let filled = fill(session, statement, source).and_then(|count| {
        let filled = session.engine().alter_table(table, |_, filling| {
            let mut filled = filling.clone();
            filled.options.filling = false;
            Ok::<_, SqlError>(filled)
        });
        filled.map(|_| count)
    });
    match filled {
        Ok(count) => Ok(format!("SELECT {count}")),
        Err(error) => {
            session.engine().drop_table(table)?;
            Err(error)
        }
    }
}

/// Returns the columns of the query as those of a table.
fn columns(
    session: &mut Session,
    statement: &CreateTableStatement,
    source: &TableSource,
) -> Result<Vec<ColumnDefinition>, SqlError> {
    let plan = session.plan_of(&source.query)?;
    let fields = plan.schema().fields();
    if let Some(surplus) = source.names.get(fields.len()) {
        let message = "CREATE TABLE AS specifies too many column names";
        return Err(SqlError::syntax(message).at(surplus.position));
    }
    let stored = fields.iter().map(|field| check_stored(field));
    stored.collect::<Result<(), SqlError>>()?;
    let named = |(at, field): (usize, &datafusion::arrow::datatypes::FieldRef)| {
        source.names.get(at).cloned().unwrap_or_else(|| Name {
            text: shown_name(field.name()).to_string(),
            position: statement.name.position,
        })
    };
    let column = |(at, field): (usize, &datafusion::arrow::datatypes::FieldRef)| ColumnDefinition {
        counter: false,
        name: named((at, field)),
        ty: data_type_of(field),
        nullable: None,
        default: None,
        family: None,
        generated: None,
        identity: None,
    };
    Ok(fields.iter().enumerate().map(column).collect())
}

/// Fails with 0A000 on a type that only results have.
fn check_stored(field: &Field) -> Result<(), SqlError> {
    let what = match field.data_type() {
        ty if ty.is_nested() && data_type_of(field).element().is_none() => {
            "a row, or an array of several dimensions"
        }
        _ => return Ok(()),
    };
    let message = format!(
        "column \"{}\" is {what}, which tables cannot store",
        shown_name(field.name())
    );
    Err(SqlError::unsupported(message).with_hint("Cast it, for example to TEXT."))
}

fn fill(
    session: &mut Session,
    statement: &CreateTableStatement,
    source: &TableSource,
) -> Result<u64, SqlError> {
    let schema = statement.name.schema.as_deref().unwrap_or(PUBLIC);
    let name = &statement.name.name;
    let sql = format!("INSERT INTO {}.{} {}", quoted(schema), quoted(name), source.query);
    let Statement::Insert(insert) = parse(&sql)? else {
        return Err(SqlError::internal("INSERT was read as another statement"));
    };
    let params: &[ScalarValue] = &[];
    Ok(dml::insert(session, &insert, params)?.count)
}
