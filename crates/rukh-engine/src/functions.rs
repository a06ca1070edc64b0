//! Index expressions and partial predicates: the functions that an evaluator of SQL gives the engine.

use crate::EngineError;
use rukh_catalog::Table;
use rukh_keys::{DataType, Datum};
use std::sync::Arc;

/// All live columns of a row in declared order.
pub type Row = Vec<Datum>;

/// Compiles the SQL texts that index definitions hold.
pub trait RowFunctions: Send + Sync {
    /// Compiles an index expression or partial predicate over the columns of `table`; the result
    /// is of type `ty`, BOOLEAN for predicates.
    fn compile(&self, table: &Table, sql: &str, ty: &DataType) -> Result<Arc<dyn RowFunction>, EngineError>;
}

/// A compiled expression: deterministic, and without effects.
pub trait RowFunction: Send + Sync {
    /// Evaluates rows in declared column order; returns one datum a row, canonical for its type.
    fn evaluate(&self, rows: &[&[Datum]]) -> Result<Vec<Datum>, EngineError>;
}

/// A [`RowFunctions`] for databases without expressions: every compilation fails.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl RowFunctions for NoFunctions {
    fn compile(&self, _: &Table, sql: &str, _: &DataType) -> Result<Arc<dyn RowFunction>, EngineError> {
        let source = "expressions are not supported here".into();
        Err(EngineError::Function {
            sql: sql.to_string(),
            source,
        })
    }
}
