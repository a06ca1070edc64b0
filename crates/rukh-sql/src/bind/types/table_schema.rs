//! Tables as Arrow schemas.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use rukh_catalog::{Column, Table};
use rukh_functions::types::{TYPE_KEY, arrow_type};

/// Returns a table's columns as Arrow fields, in declared order.
pub(crate) fn table_schema(table: &Table) -> SchemaRef {
    Arc::new(Schema::new(table.columns.iter().map(field).collect::<Vec<_>>()))
}

fn field(column: &Column) -> Field {
    let metadata = HashMap::from([(TYPE_KEY.to_string(), column.ty.to_string())]);
    Field::new(&column.name, arrow_type(&column.ty), column.nullable).with_metadata(metadata)
}
