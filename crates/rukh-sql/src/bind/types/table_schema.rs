//! Tables as Arrow schemas.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use rukh_catalog::{Column, Table};
use rukh_functions::types::{TYPE_KEY, arrow_type, declared_text};
use rukh_syntax::HIDDEN;

/// The metadata of the field of row ids.
const ROW_ID_KEY: &str = "rukh.row_id";

/// What follows the name of a table in a query that reads its row ids; such a name can be neither typed nor given.
const WITH_ROW_IDS: char = HIDDEN;

/// Returns the name under which a table shows its row ids; its own if it has none.
pub(crate) fn with_row_ids(table: &Table) -> String {
    match table.row_id() {
        Some(_) => format!("{}{WITH_ROW_IDS}", table.name),
        None => table.name.clone(),
    }
}

/// Returns the name of a table that such a name stands for.
pub(crate) fn without_row_ids(name: &str) -> Option<&str> {
    name.strip_suffix(WITH_ROW_IDS)
}

/// Returns the columns of a table that were declared as Arrow fields, in their order.
pub(crate) fn declared_schema(table: &Table) -> SchemaRef {
    let fields = table.declared_columns().iter().map(field);
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

/// Returns all columns of a table as Arrow fields: those declared, in their order, and the row id.
pub(crate) fn table_schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

/// Whether a field, of a table or of what a query makes of it, is that of row ids.
pub(crate) fn is_row_id(field: &Field) -> bool {
    field.metadata().contains_key(ROW_ID_KEY)
}

fn field(column: &Column) -> Field {
    let mut metadata = HashMap::from([(TYPE_KEY.to_string(), declared_text(&column.ty))]);
    if column.values.row_id {
        metadata.insert(ROW_ID_KEY.to_string(), String::new());
    }
    Field::new(&column.name, arrow_type(&column.ty), column.nullable).with_metadata(metadata)
}
