//! JSON: one array of objects, or one object a line.
//!
//! | value                             | JSON                                     |
//! |-----------------------------------|------------------------------------------|
//! | NULL                              | `null`                                   |
//! | BOOLEAN                           | `true`, `false`                          |
//! | numbers, DECIMAL with its scale   | numbers                                  |
//! | `NaN`, `Infinity`                 | strings, as JSON has no such numbers     |
//! | timestamps                        | strings in ISO 8601                      |
//! | lists, structs                    | arrays, objects                          |
//! | all else                          | strings as in the other formats          |
//!
//! Column names are the keys, in column order; a result with two columns of one name gives two such
//! keys. When a result fails midway the array stays open, so that no reader takes it for the whole.

use std::io::{self, Write};

use rukh::NUMERIC_NAN;
use rukh::arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use rukh::arrow::datatypes::{DataType, Decimal256Type, Float32Type, Float64Type, SchemaRef};

use super::time::Spelling;
use super::{RowWriter, value};

/// Writes JSON objects.
pub struct JsonWriter {
    keys: Vec<String>,
    frame: Objects,
    rows: u64,
    line: String,
}

/// What surrounds the objects.
#[derive(PartialEq)]
enum Objects {
    Array,
    Lines,
}

impl JsonWriter {
    /// Returns a writer of one array for results of `schema`.
    pub fn array(schema: &SchemaRef) -> JsonWriter {
        JsonWriter::new(schema, Objects::Array)
    }

    /// Returns a writer of one object a line for results of `schema`.
    pub fn lines(schema: &SchemaRef) -> JsonWriter {
        JsonWriter::new(schema, Objects::Lines)
    }

    fn new(schema: &SchemaRef, frame: Objects) -> JsonWriter {
        let keys = schema.fields().iter().map(|field| quoted(field.name())).collect();
        JsonWriter {
            keys,
            frame,
            rows: 0,
            line: String::new(),
        }
    }

    fn push_row(&mut self, columns: &[ArrayRef], row: usize) {
        match self.frame {
            Objects::Array if self.rows > 0 => self.line.push_str(",\n"),
            Objects::Array | Objects::Lines => {}
        }
        self.line.push('{');
        for (position, (key, column)) in self.keys.iter().zip(columns).enumerate() {
            if position > 0 {
                self.line.push(',');
            }
            self.line.push_str(key);
            self.line.push(':');
            push_value(column, row, &mut self.line);
        }
        self.line.push('}');
        if self.frame == Objects::Lines {
            self.line.push('\n');
        }
        self.rows += 1;
    }
}

impl RowWriter for JsonWriter {
    fn begin(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if self.frame == Objects::Array { b"[" } else { b"" })
    }

    fn write_batch(&mut self, out: &mut dyn Write, batch: &RecordBatch) -> io::Result<()> {
        let columns = value::columns(batch)?;
        for row in 0..batch.num_rows() {
            self.push_row(&columns, row);
            out.write_all(self.line.as_bytes())?;
            self.line.clear();
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(if self.frame == Objects::Array { b"]\n" } else { b"" })
    }
}

fn push_value(column: &dyn Array, row: usize, out: &mut String) {
    if value::is_null(column, row) {
        out.push_str("null");
        return;
    }
    match column.data_type() {
        DataType::Boolean => out.push_str(if column.as_boolean().value(row) {
            "true"
        } else {
            "false"
        }),
        DataType::List(_) => push_array(&column.as_list::<i32>().value(row), out),
        DataType::LargeList(_) => push_array(&column.as_list::<i64>().value(row), out),
        DataType::FixedSizeList(..) => push_array(&column.as_fixed_size_list().value(row), out),
        DataType::Struct(_) => push_object(column, row, out),
        _ if is_json_number(column, row) => value::write_text(column, row, Spelling::Iso, out),
        _ => {
            let mut text = String::new();
            value::write_text(column, row, Spelling::Iso, &mut text);
            out.push_str(&quoted(&text));
        }
    }
}

fn is_json_number(column: &dyn Array, row: usize) -> bool {
    match column.data_type() {
        DataType::Float32 => column.as_primitive::<Float32Type>().value(row).is_finite(),
        DataType::Float64 => column.as_primitive::<Float64Type>().value(row).is_finite(),
        DataType::Decimal256(..) => column.as_primitive::<Decimal256Type>().value(row) != NUMERIC_NAN,
        data_type => data_type.is_numeric(),
    }
}

fn push_array(items: &ArrayRef, out: &mut String) {
    out.push('[');
    for row in 0..items.len() {
        if row > 0 {
            out.push(',');
        }
        push_value(items, row, out);
    }
    out.push(']');
}

fn push_object(column: &dyn Array, row: usize, out: &mut String) {
    let members = column.as_struct();
    out.push('{');
    for (position, (name, member)) in members.column_names().iter().zip(members.columns()).enumerate() {
        if position > 0 {
            out.push(',');
        }
        out.push_str(&quoted(name));
        out.push(':');
        push_value(member, row, out);
    }
    out.push('}');
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
