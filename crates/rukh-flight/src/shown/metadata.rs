//! Metadata: schemas, tables and keys, as `information_schema` shows them to the session's user.

use std::sync::Arc;

use arrow_flight::sql::metadata::{GetDbSchemasBuilder, GetTablesBuilder};
use arrow_flight::sql::{CommandGetPrimaryKeys, CommandGetTables};
use rukh::arrow::array::{ArrayRef, Int32Array, RecordBatch, StringArray, UInt8Array};
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

/// A table by its schema and name; those of any, where they are empty.
#[derive(Default)]
pub(crate) struct Of {
    pub(crate) schema: String,
    pub(crate) table: String,
}

impl Of {
    pub(crate) fn new(schema: Option<String>, table: String) -> Self {
        let schema = schema.unwrap_or_default();
        Of { schema, table }
    }
}

/// Returns what the result of [`foreign_keys`] has.
pub(crate) fn foreign_key_schema() -> SchemaRef {
    let text = |name, nullable| Field::new(name, ArrowType::Utf8, nullable);
    Arc::new(Schema::new(vec![
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
    ]))
}

/// Returns the foreign keys from one table to another, a row for each column.
pub(crate) fn foreign_keys(
    connection: &mut Connection,
    referenced: &Of,
    referencing: &Of,
) -> Result<RecordBatch, Error> {
    let sql = "SELECT p.table_schema, p.table_name, p.column_name, k.table_schema, k.table_name, k.column_name, \
               k.constraint_name, r.unique_constraint_name, r.update_rule, r.delete_rule, k.ordinal_position \
               FROM information_schema.referential_constraints r JOIN information_schema.key_column_usage k \
               ON k.constraint_schema = r.constraint_schema AND k.constraint_name = r.constraint_name \
               JOIN information_schema.key_column_usage p \
               ON p.constraint_schema = r.unique_constraint_schema \
               AND p.constraint_name = r.unique_constraint_name \
               AND p.ordinal_position = k.position_in_unique_constraint \
               WHERE ($1 = '' OR p.table_schema = $1) AND ($2 = '' OR p.table_name = $2) \
               AND ($3 = '' OR k.table_schema = $3) AND ($4 = '' OR k.table_name = $4) ORDER BY 4, 5, 7, 11";
    let statement = connection.prepare(sql)?;
    let given = [
        &referenced.schema,
        &referenced.table,
        &referencing.schema,
        &referencing.table,
    ];
    let parameters = given.map(|text| Value::from(text.as_str()));
    let mut texts: [Vec<String>; 8] = Default::default();
    let mut rules: [Vec<u8>; 2] = Default::default();
    let mut sequence = Vec::new();
    for row in connection.query_prepared(&statement, &parameters)? {
        let row = row?;
        for (at, texts) in texts.iter_mut().enumerate() {
            texts.push(row.get::<String>(at)?);
        }
        for (at, rules) in rules.iter_mut().enumerate() {
            rules.push(rule(&row.get::<String>(8 + at)?));
        }
        let place = row.get::<i64>(10)?;
        sequence.push(i32::try_from(place).unwrap_or(i32::MAX));
    }
    let catalogs = || Arc::new(StringArray::from(vec![CATALOG; sequence.len()])) as ArrayRef;
    let [
        schemas,
        tables,
        columns,
        of_schemas,
        of_tables,
        of_columns,
        names,
        unique,
    ] = texts.map(|texts| Arc::new(StringArray::from(texts)) as ArrayRef);
    let [on_update, on_delete] = rules.map(|rules| Arc::new(UInt8Array::from(rules)) as ArrayRef);
    let arrays = vec![
        catalogs(),
        schemas,
        tables,
        columns,
        catalogs(),
        of_schemas,
        of_tables,
        of_columns,
        Arc::new(Int32Array::from(sequence.clone())),
        names,
        unique,
        on_update,
        on_delete,
    ];
    RecordBatch::try_new(foreign_key_schema(), arrays).map_err(|error| Error::internal(error.to_string()))
}

/// Returns the number of an action, as JDBC has it.
fn rule(name: &str) -> u8 {
    match name {
        "CASCADE" => 0,
        "RESTRICT" => 1,
        "SET NULL" => 2,
        "SET DEFAULT" => 4,
        _ => 3,
    }
}
