//! Toy expressions: one function of one column, as text.
//!
//! | expression        | is                                                |
//! |-------------------|---------------------------------------------------|
//! | `double(a)`       | twice an integer; BIGINT                          |
//! | `lower(b)`        | lower case; VARCHAR                               |
//! | `inverse(a)`      | 1000 / a; BIGINT; an error for 0                  |
//! | `a > 5`           | predicate                                         |
//! | `b IS NOT NULL`   | predicate                                         |

use rukh_catalog::Table;
use rukh_engine::{EngineError, RowFunction, RowFunctions};
use rukh_keys::{DataType, Datum};
use std::sync::Arc;

pub struct ToyFunctions;

struct ToyFunction {
    sql: String,
    position: usize,
    apply: fn(&Datum, i64) -> Option<Datum>,
    argument: i64,
}

/// Returns the names of the columns that an expression reads.
pub fn columns_of(sql: &str) -> Vec<String> {
    let inner = sql
        .split_once('(')
        .map_or(sql, |(_, rest)| rest.trim_end_matches(')'));
    vec![inner.split(' ').next().unwrap_or_default().to_string()]
}

/// Returns the type of an expression.
pub fn type_of(sql: &str) -> DataType {
    match sql.starts_with("lower") {
        true => DataType::Varchar(None),
        false => DataType::BigInt,
    }
}

impl RowFunctions for ToyFunctions {
    fn compile(&self, table: &Table, sql: &str, _: &DataType) -> Result<Arc<dyn RowFunction>, EngineError> {
        let failed = |why: &str| EngineError::Function {
            sql: sql.to_string(),
            source: why.into(),
        };
        let column = table
            .column_named(&columns_of(sql)[0])
            .ok_or_else(|| failed("unknown column"))?;
        let position = table
            .position(column.id)
            .ok_or_else(|| failed("unknown column"))?;
        let argument = sql
            .rsplit(' ')
            .next()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        let apply: fn(&Datum, i64) -> Option<Datum> = match sql {
            _ if sql.starts_with("double(") => double,
            _ if sql.starts_with("lower(") => lower,
            _ if sql.starts_with("inverse(") => inverse,
            _ if sql.contains(" > ") => greater,
            _ if sql.ends_with(" IS NOT NULL") => |datum, _| Some(Datum::Boolean(!datum.is_null())),
            _ => return Err(failed("unknown function")),
        };
        Ok(Arc::new(ToyFunction {
            sql: sql.to_string(),
            position,
            apply,
            argument,
        }))
    }
}

impl RowFunction for ToyFunction {
    fn evaluate(&self, rows: &[&[Datum]]) -> Result<Vec<Datum>, EngineError> {
        let failed = || EngineError::Function {
            sql: self.sql.clone(),
            source: "division by zero".into(),
        };
        let datums = rows
            .iter()
            .map(|row| (self.apply)(&row[self.position], self.argument));
        datums.map(|datum| datum.ok_or_else(failed)).collect()
    }
}

fn double(datum: &Datum, _: i64) -> Option<Datum> {
    Some(match datum {
        Datum::Int(value) => Datum::Int(value * 2),
        _ => Datum::Null,
    })
}

fn lower(datum: &Datum, _: i64) -> Option<Datum> {
    Some(match datum {
        Datum::Text(text) => Datum::Text(text.to_lowercase()),
        _ => Datum::Null,
    })
}

fn inverse(datum: &Datum, _: i64) -> Option<Datum> {
    match datum {
        Datum::Int(0) => None,
        Datum::Int(value) => Some(Datum::Int(1000 / value)),
        _ => Some(Datum::Null),
    }
}

fn greater(datum: &Datum, argument: i64) -> Option<Datum> {
    Some(match datum {
        Datum::Int(value) => Datum::Boolean(*value > argument),
        _ => Datum::Null,
    })
}
