//! Expressions of a table, compiled.

use crate::{EngineError, RowFunction, RowFunctions};
use rukh_catalog::Table;
use rukh_keys::{DataType, Datum};
use std::sync::Arc;

/// A compiled expression with its text, for messages.
pub(crate) struct Compiled {
    sql: String,
    function: Arc<dyn RowFunction>,
}

impl Compiled {
    pub(crate) fn new(
        table: &Table,
        sql: &str,
        ty: &DataType,
        functions: &dyn RowFunctions,
    ) -> Result<Self, EngineError> {
        Ok(Compiled {
            function: functions.compile(table, sql, ty)?,
            sql: sql.to_string(),
        })
    }

    /// Evaluates rows; fails if the function does not give one datum a row.
    pub(crate) fn evaluate(&self, rows: &[&[Datum]]) -> Result<Vec<Datum>, EngineError> {
        let datums = self.function.evaluate(rows)?;
        match datums.len() == rows.len() {
            true => Ok(datums),
            false => Err(EngineError::Function {
                sql: self.sql.clone(),
                source: format!("{} values for {} rows", datums.len(), rows.len()).into(),
            }),
        }
    }
}
