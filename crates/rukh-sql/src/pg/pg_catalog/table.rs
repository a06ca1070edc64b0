//! Tables of definitions: their columns as text, their rows as cells, and batches made of both.
//!
//! The columns of a table are written as PostgreSQL's manual lists them: `oid oid, relname name, relacl text[]`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int16Array, Int32Array, Int64Array, Int64Builder,
    ListBuilder, RecordBatch, StringArray, StringBuilder, TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType as ArrowType, Field, Float64Type, Int64Type, Schema, SchemaRef, TimeUnit,
};

use rukh_error::SqlError;
use rukh_functions::types::WIRE_KEY;

/// The type of a column, as far as clients distinguish it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Bool,
    Int2,
    Int4,
    Int8,
    Float8,
    Text,
    TimestampTz,
    /// The number of an object.
    Oid,
    /// The number of a function, which a server shows as its name.
    RegProc,
    /// The name of an object.
    Name,
    /// One character, `"char"`.
    Char,
    Json,
    TextArray,
    IntArray,
    Int2Array,
    OidArray,
    /// Numbers that are shown with blanks between them: `int2vector`.
    Vector,
    /// As those, of objects: `oidvector`.
    OidVector,
}

impl Kind {
    fn named(name: &str) -> Kind {
        match name {
            "bool" => Kind::Bool,
            "int2" => Kind::Int2,
            "int4" | "xid" => Kind::Int4,
            "int8" => Kind::Int8,
            "float4" | "float8" => Kind::Float8,
            "timestamptz" => Kind::TimestampTz,
            "oid" => Kind::Oid,
            "regproc" => Kind::RegProc,
            "name" => Kind::Name,
            "char" => Kind::Char,
            "json" => Kind::Json,
            "text[]" | "name[]" | "char[]" => Kind::TextArray,
            "int2[]" => Kind::Int2Array,
            "oid[]" => Kind::OidArray,
            "int2vector" => Kind::Vector,
            "oidvector" => Kind::OidVector,
            _ => Kind::Text,
        }
    }

    /// Returns the Arrow type of the values.
    pub(crate) fn arrow(self) -> ArrowType {
        let list = |of| ArrowType::List(Arc::new(Field::new("item", of, true)));
        match self {
            Kind::Bool => ArrowType::Boolean,
            Kind::Int2 => ArrowType::Int16,
            Kind::Int4 => ArrowType::Int32,
            Kind::Int8 | Kind::Oid | Kind::RegProc => ArrowType::Int64,
            Kind::Float8 => ArrowType::Float64,
            Kind::Text | Kind::Name | Kind::Char | Kind::Json => ArrowType::Utf8,
            Kind::TimestampTz => ArrowType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            Kind::TextArray => list(ArrowType::Utf8),
            Kind::IntArray | Kind::Int2Array | Kind::OidArray | Kind::Vector | Kind::OidVector => {
                list(ArrowType::Int64)
            }
        }
    }

    /// Returns the number of PostgreSQL's type where the values alone do not show it.
    pub(crate) fn wire(self) -> Option<u32> {
        match self {
            Kind::Oid => Some(26),
            Kind::RegProc => Some(24),
            Kind::Name => Some(19),
            Kind::Char => Some(18),
            Kind::Json => Some(114),
            Kind::Int2Array => Some(1005),
            Kind::OidArray => Some(1028),
            Kind::Vector => Some(22),
            Kind::OidVector => Some(30),
            _ => None,
        }
    }

    /// Returns the number of PostgreSQL's type.
    pub(crate) fn oid(self) -> i64 {
        match self {
            Kind::Bool => 16,
            Kind::Int2 => 21,
            Kind::Int4 => 23,
            Kind::Int8 => 20,
            Kind::Float8 => 701,
            Kind::Text => 25,
            Kind::TimestampTz => 1184,
            Kind::Oid => 26,
            Kind::RegProc => 24,
            Kind::Name => 19,
            Kind::Char => 18,
            Kind::Json => 114,
            Kind::TextArray => 1009,
            Kind::IntArray => 1016,
            Kind::Int2Array => 1005,
            Kind::OidArray => 1028,
            Kind::Vector => 22,
            Kind::OidVector => 30,
        }
    }

    /// Makes a field of this type.
    pub(crate) fn field(self, name: &str) -> Field {
        let wire = self.wire().map(|oid| (WIRE_KEY.to_string(), oid.to_string()));
        Field::new(name, self.arrow(), true).with_metadata(HashMap::from_iter(wire))
    }
}

/// A value of a table of definitions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Ints(Vec<i64>),
    Texts(Vec<Option<String>>),
}

macro_rules! cell_from {
    ($($from:ty => $value:ident, $cell:expr;)*) => {
        $(impl From<$from> for Cell {
            fn from($value: $from) -> Cell {
                $cell
            }
        })*
    };
}

cell_from! {
    bool => value, Cell::Bool(value);
    i64 => value, Cell::Int(value);
    i32 => value, Cell::Int(value.into());
    usize => value, Cell::Int(i64::try_from(value).unwrap_or(i64::MAX));
    &str => value, Cell::Text(value.to_string());
    &String => value, Cell::Text(value.clone());
    String => value, Cell::Text(value);
    Vec<i64> => value, Cell::Ints(value);
}

impl Cell {
    /// Returns the value as text; '' of NULL and of arrays.
    pub(crate) fn to_text(&self) -> String {
        match self {
            Cell::Text(text) => text.clone(),
            Cell::Int(number) => number.to_string(),
            Cell::Bool(value) => value.to_string(),
            Cell::Float(value) => value.to_string(),
            _ => String::new(),
        }
    }
}

impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Cell {
        value.map_or(Cell::Null, Into::into)
    }
}

/// Makes the cells of a row.
macro_rules! row {
    ($($value:expr),* $(,)?) => {
        vec![$($crate::pg::pg_catalog::table::Cell::from($value)),*]
    };
}
pub(crate) use row;

/// Reads the columns of a table.
pub(crate) fn columns(text: &str) -> Vec<(&str, Kind)> {
    let column = |text| -> Option<(&str, Kind)> {
        let (name, ty) = str::trim(text).split_once(' ')?;
        Some((name, Kind::named(ty.trim())))
    };
    text.split(',').filter_map(column).collect()
}

/// Makes the schema of a table.
pub(crate) fn schema(columns: &[(&str, Kind)]) -> SchemaRef {
    let fields: Vec<Field> = columns.iter().map(|(name, kind)| kind.field(name)).collect();
    Arc::new(Schema::new(fields))
}

/// Makes a batch of rows; each has a cell for each column.
pub(crate) fn batch(columns: &[(&str, Kind)], rows: &[Vec<Cell>]) -> Result<RecordBatch, SqlError> {
    let arrays = columns.iter().enumerate().map(|(at, (_, kind))| {
        let cells = rows.iter().map(|row| row.get(at).unwrap_or(&Cell::Null));
        array(*kind, cells)
    });
    RecordBatch::try_new(schema(columns), arrays.collect())
        .map_err(|error| SqlError::internal(error.to_string()))
}

/// Makes an array of cells; a cell of another type is NULL.
pub(crate) fn array<'a>(kind: Kind, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
    let int = |cell: &Cell| match cell {
        Cell::Int(value) => Some(*value),
        _ => None,
    };
    match kind {
        Kind::Bool => Arc::new(
            cells
                .map(|cell| match cell {
                    Cell::Bool(value) => Some(*value),
                    _ => None,
                })
                .collect::<BooleanArray>(),
        ),
        Kind::Int2 => Arc::new(
            cells
                .map(|cell| int(cell).and_then(|value| i16::try_from(value).ok()))
                .collect::<Int16Array>(),
        ),
        Kind::Int4 => Arc::new(
            cells
                .map(|cell| int(cell).and_then(|value| i32::try_from(value).ok()))
                .collect::<Int32Array>(),
        ),
        Kind::Int8 | Kind::Oid | Kind::RegProc => Arc::new(cells.map(int).collect::<Int64Array>()),
        Kind::Float8 => Arc::new(
            cells
                .map(|cell| match cell {
                    Cell::Float(value) => Some(*value),
                    cell => int(cell).map(|value| value as f64),
                })
                .collect::<Float64Array>(),
        ),
        Kind::TimestampTz => {
            let times: TimestampMicrosecondArray = cells.map(int).collect();
            Arc::new(times.with_timezone("UTC"))
        }
        Kind::Text | Kind::Name | Kind::Char | Kind::Json => Arc::new(
            cells
                .map(|cell| match cell {
                    Cell::Text(text) => Some(text.clone()),
                    _ => None,
                })
                .collect::<StringArray>(),
        ),
        Kind::TextArray => {
            let mut lists = ListBuilder::new(StringBuilder::new());
            for cell in cells {
                if let Cell::Texts(texts) = cell {
                    texts
                        .iter()
                        .for_each(|text| lists.values().append_option(text.as_ref()));
                }
                lists.append(matches!(cell, Cell::Texts(_)));
            }
            Arc::new(lists.finish())
        }
        Kind::IntArray | Kind::Int2Array | Kind::OidArray | Kind::Vector | Kind::OidVector => {
            let mut lists = ListBuilder::new(Int64Builder::new());
            for cell in cells {
                if let Cell::Ints(numbers) = cell {
                    numbers
                        .iter()
                        .for_each(|number| lists.values().append_value(*number));
                }
                lists.append(matches!(cell, Cell::Ints(_)));
            }
            Arc::new(lists.finish())
        }
    }
}

/// Returns the values of an argument as cells.
pub(crate) fn cells(array: &ArrayRef) -> Result<Vec<Cell>, SqlError> {
    let wrong = |error: datafusion::arrow::error::ArrowError| SqlError::statement("42883", error.to_string());
    let ty = array.data_type();
    Ok(match ty {
        ArrowType::Null => vec![Cell::Null; array.len()],
        ArrowType::Boolean => array.as_boolean().iter().map(Cell::from).collect(),
        ty if ty.is_integer() => {
            let wide = cast(array, &ArrowType::Int64).map_err(wrong)?;
            wide.as_primitive::<Int64Type>().iter().map(Cell::from).collect()
        }
        ty if ty.is_numeric() => {
            let wide = cast(array, &ArrowType::Float64).map_err(wrong)?;
            let floats = wide.as_primitive::<Float64Type>().iter();
            floats
                .map(|value| value.map_or(Cell::Null, Cell::Float))
                .collect()
        }
        ArrowType::List(_) | ArrowType::LargeList(_) => {
            let list = |values: ArrayRef| -> Result<Cell, SqlError> {
                let values = cast(&values, &ArrowType::Utf8).map_err(wrong)?;
                let texts = values.as_string::<i32>().iter();
                Ok(Cell::Texts(texts.map(|text| text.map(str::to_string)).collect()))
            };
            let plain = ArrowType::List(Arc::new(Field::new("item", ArrowType::Utf8, true)));
            let lists = cast(array, &plain).map_err(wrong)?;
            let lists = lists.as_list::<i32>().iter();
            lists
                .map(|values| values.map_or(Ok(Cell::Null), list))
                .collect::<Result<_, _>>()?
        }
        _ => {
            let texts = cast(array, &ArrowType::Utf8).map_err(wrong)?;
            texts.as_string::<i32>().iter().map(Cell::from).collect()
        }
    })
}
