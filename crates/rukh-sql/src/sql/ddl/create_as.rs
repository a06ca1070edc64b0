//! CREATE TABLE … AS: a table of the columns of a query, and its rows; materialized views, which keep the query, and REFRESH.
//!
//! The table is made before its rows are written; when that fails, it is dropped again, and so it is by the next open after a crash.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, Index, KeyExpr, Materialized, PUBLIC, Table, View};
use rukh_engine::Numbering;
use rukh_syntax::sql_text;
use rukh_syntax::{
    ColumnDefinition, CreateTableStatement, CreateViewStatement, Name, ObjectName, Statement, TableSource,
    TypeName, quoted,
};

use super::create_table::create_table_to_fill;
use super::names::{is_taken, schema_of};
use super::view::{check_no_parameters, view};
use crate::bind::names::type_names;
use crate::bind::names::views::{resolve_stored, stored_query};
use crate::bind::spelling::parsing::parse;
use crate::sql::dml;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::types::data_type_of;
use rukh_keys::DataType;
use rukh_syntax::shown_name;
use rukh_syntax::sqlparser::ast;

/// Runs CREATE TABLE … AS; returns its tag.
pub(super) fn create_table_as(
    session: &mut Session,
    statement: &CreateTableStatement,
    source: &TableSource,
) -> Result<String, SqlError> {
    let tag = match statement.materialized {
        true => "CREATE MATERIALIZED VIEW",
        false => "CREATE TABLE AS",
    };
    let catalog = session.engine().catalog();
    if is_taken(session, &catalog, &statement.name, statement.if_not_exists)? {
        return Ok(tag.to_string());
    }
    check_no_parameters(&source.query)?;
    let query = match statement.materialized {
        true => Some(query_of(session, &catalog, statement, source)?),
        false => None,
    };
    let mut whole = statement.clone();
    whole.source = None;
    let planned = match &query {
        Some(view) => stored_query(&view.sql, &catalog)?,
        None => source.query.clone(),
    };
    whole.columns = columns(session, statement, &planned, source)?;
    create_table_to_fill(session, &whole, source.with_data || query.is_some())?;
    if !source.with_data && query.is_none() {
        return Ok(tag.to_string());
    }
    let table = session.table(&statement.name)?.id;
    let count = match source.with_data {
        true => {
            let sql = match &query {
                Some(view) => view.sql.clone(),
                None => {
                    let mut query = source.query.clone();
                    type_names::spell_out(&mut query);
                    sql_text(&query)
                }
            };
            fill(session, &statement.name, &sql).map(Some)
        }
        false => Ok(None),
    };
    let filled = count.and_then(|count| {
        let filled = session.engine().alter_table(table, |_, filling| {
            let mut filled = filling.clone();
            filled.options.filling = false;
            filled.materialized = query.map(|query| {
                Box::new(Materialized {
                    query,
                    populated: source.with_data,
                })
            });
            Ok::<_, SqlError>(filled)
        });
        filled.map(|_| count)
    });
    match filled {
        Ok(Some(count)) => Ok(format!("SELECT {count}")),
        Ok(None) => Ok(tag.to_string()),
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
    query: &ast::Query,
    source: &TableSource,
) -> Result<Vec<ColumnDefinition>, SqlError> {
    let plan = session.plan_of(query)?;
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
        ty: TypeName::Known(data_type_of(field)),
        nullable: None,
        default: None,
        family: None,
        generated: None,
        identity: None,
    };
    Ok(fields.iter().enumerate().map(column).collect())
}

/// Fails on a type that only results have: with 42P16 on rows, as PostgreSQL, with 0A000 on arrays of several dimensions.
fn check_stored(field: &Field) -> Result<(), SqlError> {
    check_no_row(field)?;
    if !field.data_type().is_nested() || data_type_of(field).is_composed() {
        return Ok(());
    }
    let name = shown_name(field.name());
    let message = format!("column \"{name}\" is an array of several dimensions, which tables cannot store");
    Err(SqlError::unsupported(message).with_hint("Cast it, for example to TEXT."))
}

/// Fails with 42P16 on a column whose values are rows.
pub(super) fn check_no_row(field: &Field) -> Result<(), SqlError> {
    let declared = data_type_of(field);
    let ty = match field.data_type() {
        _ if matches!(declared.element().unwrap_or(declared), DataType::Record(of) if !of.is_of_relation()) =>
        {
            return Ok(());
        }
        ArrowType::Struct(_) => "record",
        ArrowType::List(of) if matches!(of.data_type(), ArrowType::Struct(_)) => "record[]",
        _ => return Ok(()),
    };
    let message = format!("column \"{}\" has pseudo-type {ty}", shown_name(field.name()));
    Err(SqlError::statement("42P16", message))
}

/// Returns the query of a materialized view, as views hold theirs.
fn query_of(
    session: &mut Session,
    catalog: &Catalog,
    statement: &CreateTableStatement,
    source: &TableSource,
) -> Result<View, SqlError> {
    let shown = CreateViewStatement {
        name: statement.name.clone(),
        or_replace: false,
        columns: source.names.clone(),
        query: source.query.clone(),
        check: None,
    };
    view(session, catalog, &shown, schema_of(catalog, &statement.name)?)
}

/// Runs REFRESH MATERIALIZED VIEW, in a block. The table is marked as unfinished meanwhile, and may then be written to.
pub(super) fn refresh(
    session: &mut Session,
    name: &ObjectName,
    concurrently: bool,
    with_data: bool,
) -> Result<(), SqlError> {
    let table = session.table(name)?;
    let Some(materialized) = &table.materialized else {
        let message = format!("\"{}\" is not a materialized view", name.name);
        return Err(SqlError::unsupported(message).at(name.position));
    };
    if concurrently {
        check_concurrent(&table, materialized)?;
    }
    let marked = |session: &Session, filling: bool| {
        session.engine().alter_table(table.id, |_, before| {
            let mut next = before.clone();
            next.options.filling = filling;
            if let Some(materialized) = &mut next.materialized {
                materialized.populated = with_data;
            }
            Ok::<_, SqlError>(next)
        })
    };
    marked(session, true)?;
    let sql = &materialized.query.sql;
    if concurrently {
        remove_gone(session, &table, sql)?;
        let all = format!("SELECT * FROM {}.{}", quoted(&table.schema), quoted(&table.name));
        fill(session, name, &format!("SELECT * FROM ({sql}) AS q EXCEPT {all}"))?;
    } else {
        session.engine().truncate_all(&[table.id], Numbering::Continue)?;
        if with_data {
            fill(session, name, sql)?;
        }
    }
    marked(session, false)?;
    Ok(())
}

/// Fails if no index distinguishes the rows of a materialized view, or they are not there.
fn check_concurrent(table: &Table, materialized: &Materialized) -> Result<(), SqlError> {
    if !materialized.populated {
        let message = "CONCURRENTLY cannot be used when the materialized view is not populated";
        return Err(SqlError::unsupported(message));
    }
    let is_of_columns = |index: &Index| {
        index.unique
            && index.predicate.is_none()
            && index
                .elements
                .iter()
                .all(|element| matches!(element.expr, KeyExpr::Column(_)))
    };
    match table.indexes.iter().any(is_of_columns) {
        true => Ok(()),
        false => {
            let message = format!(
                "cannot refresh materialized view \"{}.{}\" concurrently",
                table.schema, table.name
            );
            let hint =
                "Create a unique index with no WHERE clause on one or more columns of the materialized view.";
            Err(SqlError::statement("55000", message).with_hint(hint))
        }
    }
}

/// Deletes the rows of a materialized view that its query does not give any more.
fn remove_gone(session: &mut Session, table: &Table, sql: &str) -> Result<(), SqlError> {
    let alike = table.declared_columns().iter().enumerate().map(|(at, column)| {
        let name = quoted(&column.name);
        format!("q.c{at} IS NOT DISTINCT FROM m.{name}")
    });
    let alike = alike.collect::<Vec<_>>().join(" AND ");
    let columns = (0..table.declared_columns().len()).map(|at| format!("c{at}"));
    let columns = columns.collect::<Vec<_>>().join(", ");
    let name = format!("{}.{}", quoted(&table.schema), quoted(&table.name));
    let gone = format!(
        "DELETE FROM {name} AS m WHERE NOT EXISTS (SELECT 1 FROM ({sql}) AS q ({columns}) WHERE {alike})"
    );
    match parse(&gone)? {
        Statement::Delete(delete) => dml::delete(session, &delete, &[]).map(|_| ()),
        _ => Err(SqlError::internal("DELETE was read as another statement")),
    }
}

/// Writes the rows of a query into a table.
fn fill(session: &mut Session, name: &ObjectName, query: &str) -> Result<u64, SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let sql = format!("INSERT INTO {}.{} {query}", quoted(schema), quoted(&name.name));
    let Statement::Insert(mut insert) = parse(&sql)? else {
        return Err(SqlError::internal("INSERT was read as another statement"));
    };
    if let Some(query) = &mut insert.ast.source {
        resolve_stored(query, &session.engine().catalog())?;
    }
    let params: &[ScalarValue] = &[];
    Ok(dml::insert(session, &insert, params)?.count)
}
