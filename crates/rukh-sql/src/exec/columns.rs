//! The columns of results: names and types as a user sees them.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};
use rukh_functions::types::{WIRE_KEY, data_type_of, unnamed_record, wire_oid};
use rukh_keys::DataType;
use rukh_syntax::shown_name;

use crate::exec::blanks::is_filled;

/// Name and type of a result column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Name as SQL gives it.
    pub name: String,
    /// Type.
    pub ty: DataType,
    /// Number of PostgreSQL's type, for values that no column of a table has: arrays, numbers and names of
    /// objects. They come as text, but for numbers.
    pub oid: Option<u32>,
}

/// The columns of a result, as a user sees them.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    pub(crate) schema: SchemaRef,
    pub(crate) info: Arc<[ColumnInfo]>,
    /// Whether there are columns of CHAR(n).
    pub(crate) has_blanks: bool,
}

impl Columns {
    /// Names and types of the columns of a plan.
    pub(crate) fn of(schema: SchemaRef) -> Self {
        let schema = shown(schema);
        let info = |field: &FieldRef| {
            // Arrays come as texts.
            let ty = match data_type_of(field) {
                DataType::Array(_) => DataType::Varchar(None),
                ty => unnamed_record(field).unwrap_or(ty),
            };
            ColumnInfo {
                name: field.name().clone(),
                ty,
                oid: wire_oid(field),
            }
        };
        let info: Arc<[ColumnInfo]> = schema.fields().iter().map(info).collect();
        let has_blanks = info.iter().any(|column| is_filled(column.ty));
        Columns {
            schema,
            info,
            has_blanks,
        }
    }

    /// Returns the places and types of columns that are arrays, but for those of other types to clients.
    pub(crate) fn arrays(&self) -> Vec<(usize, DataType)> {
        let fields = self.schema.fields().iter().enumerate();
        let arrays = fields.filter_map(|(at, field)| {
            let is_other = field.metadata().contains_key(WIRE_KEY);
            let ty = data_type_of(field);
            (ty.element().is_some() && !is_other).then_some((at, ty))
        });
        arrays.collect()
    }

    /// Returns names and types.
    pub(crate) fn info(&self) -> Arc<[ColumnInfo]> {
        self.info.clone()
    }
}

/// Returns a schema with the names that a user sees.
fn shown(schema: SchemaRef) -> SchemaRef {
    let names: HashSet<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    // DataFusion counts the twins of a relation with an alias: `a`, `a:1`.
    let plain = |name: &str| match name.rsplit_once(':') {
        Some((twin, number)) if names.contains(twin) && number.parse::<u32>().is_ok() => twin.to_string(),
        _ => shown_name(name).to_string(),
    };
    if schema
        .fields()
        .iter()
        .all(|field| plain(field.name()) == *field.name())
    {
        return schema;
    }
    let field = |field: &FieldRef| field.as_ref().clone().with_name(plain(field.name()));
    let fields: Vec<Field> = schema.fields().iter().map(field).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}
