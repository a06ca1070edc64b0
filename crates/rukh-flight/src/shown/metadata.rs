//! Metadata: schemas, tables and keys, as `information_schema` shows them to the session's user.

use std::sync::Arc;

use arrow_flight::sql::metadata::{GetDbSchemasBuilder, GetTablesBuilder};
use arrow_flight::sql::{CommandGetPrimaryKeys, CommandGetTables};
use rukh::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use rukh::arrow::datatypes::{DataType as ArrowType, Field, Schema, SchemaRef};
use rukh::{Connection, Error, Value};

use crate::shown::names::quoted;
use crate::shown::schema;

/// The one catalog.
pub(crate) const CATALOG: &str = "rukh";
/// The kinds of tables.
pub(crate) const TABLE_TYPES: [&str; 2] = ["TABLE", "VIEW"];

/// Adds the schemas.
pub(crate) fn schemas(
    connection: &mut Connection,
    mut builder: GetDbSchemasBuilder,
) -> Result<RecordBatch, Error> {
    let rows = connection.query("SELECT schema_name FROM information_schema.schemata")?;
    for row in rows {
        builder.append(CATALOG, row?.get::<String>(0)?);
    }
    builder
        .build()
        .map_err(|error| Error::internal(error.to_string()))
}

/// Adds the tables and views, with their columns where the request includes schemas.
pub(crate) fn tables(connection: &mut Connection, command: CommandGetTables) -> Result<RecordBatch, Error> {
    let with_columns = command.include_schema;
    let mut builder: GetTablesBuilder = command.into_builder();
    let names = "SELECT table_schema, table_name, CASE table_type WHEN 'VIEW' THEN 'VIEW' ELSE 'TABLE' END \
                 FROM information_schema.tables \
                 WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2";
    let rows = connection.query(names)?.collect::<Result<Vec<_>, Error>>()?;
    for row in rows {
        let (of, name, kind) = (
            row.get::<String>(0)?,
            row.get::<String>(1)?,
            row.get::<String>(2)?,
        );
        let columns = match with_columns {
            true => columns(connection, &of, &name)?,
            false => Some(Arc::new(Schema::empty())),
        };
        if let Some(columns) = columns {
            let appended = builder.append(CATALOG, of, name, kind, &columns);
            appended.map_err(|error| Error::internal(error.to_string()))?;
        }
    }
    builder
        .build()
        .map_err(|error| Error::internal(error.to_string()))
}

/// Returns the columns of a table; `None` if the user may not see them, or it is gone.
fn columns(connection: &mut Connection, of: &str, name: &str) -> Result<Option<SchemaRef>, Error> {
    let select = format!("SELECT * FROM {}.{}", quoted(of), quoted(name));
    let select = connection.prepare(&select)?;
    match connection.describe(&select, &[]) {
        Ok(description) => Ok(description.schema.as_deref().map(schema::as_sent)),
        Err(error) if matches!(error.sqlstate, "42501" | "42P01") => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the schema of primary keys.
pub(crate) fn primary_key_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("catalog_name", ArrowType::Utf8, true),
        Field::new("db_schema_name", ArrowType::Utf8, true),
        Field::new("table_name", ArrowType::Utf8, false),
        Field::new("column_name", ArrowType::Utf8, false),
        Field::new("key_name", ArrowType::Utf8, true),
        Field::new("key_sequence", ArrowType::Int32, false),
    ]))
}

/// Returns the columns of a table's primary key, in order.
pub(crate) fn primary_keys(
    connection: &mut Connection,
    command: &CommandGetPrimaryKeys,
) -> Result<RecordBatch, Error> {
    let sql = "SELECT k.table_schema, k.column_name, k.constraint_name \
               FROM information_schema.table_constraints c JOIN information_schema.key_column_usage k \
               ON k.constraint_schema = c.constraint_schema AND k.constraint_name = c.constraint_name \
               AND k.table_name = c.table_name \
               WHERE c.constraint_type = 'PRIMARY KEY' AND k.table_name = $1 \
               AND ($2 = '' OR k.table_schema = $2) ORDER BY 1, k.ordinal_position";
    let of = command.db_schema.clone().unwrap_or_default();
    let is_here = command
        .catalog
        .as_deref()
        .is_none_or(|catalog| catalog == CATALOG);
    let statement = connection.prepare(sql)?;
    let parameters = [Value::from(command.table.as_str()), Value::from(of)];
    let rows = connection.query_prepared(&statement, &parameters)?;
    let (mut schemas, mut columns, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for row in rows.filter(|_| is_here) {
        let row = row?;
        let (of, column) = (row.get::<String>(0)?, row.get::<String>(1)?);
        // A column and a function of it are one.
        if !columns.contains(&column) || schemas.last() != Some(&of) {
            schemas.push(of);
            columns.push(column);
            names.push(row.get::<String>(2)?);
        }
    }
    let mut sequence = Vec::with_capacity(columns.len());
    for (at, of) in schemas.iter().enumerate() {
        let is_next = at > 0 && schemas[at - 1] == *of;
        sequence.push(if is_next { sequence[at - 1] + 1 } else { 1 });
    }
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![CATALOG; columns.len()])),
        Arc::new(StringArray::from(schemas)),
        Arc::new(StringArray::from(vec![command.table.as_str(); columns.len()])),
        Arc::new(StringArray::from(columns)),
        Arc::new(StringArray::from(names)),
        Arc::new(Int32Array::from(sequence)),
    ];
    RecordBatch::try_new(primary_key_schema(), arrays).map_err(|error| Error::internal(error.to_string()))
}

/// Returns the foreign keys: tables have none.
pub(crate) fn foreign_keys() -> RecordBatch {
    let text = |name, nullable| Field::new(name, ArrowType::Utf8, nullable);
    RecordBatch::new_empty(Arc::new(Schema::new(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", ArrowType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        Field::new("update_rule", ArrowType::UInt8, false),
        Field::new("delete_rule", ArrowType::UInt8, false),
    ])))
}
