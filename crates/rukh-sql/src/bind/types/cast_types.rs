//! Types in casts.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::planner::TypePlanner;
use rukh_functions::types::arrow_type;
use rukh_syntax::sqlparser::ast;

use rukh_syntax::data_type;

/// Types in casts mean what they mean in CREATE TABLE: timestamps are microseconds, FLOAT is DOUBLE.
#[derive(Debug)]
pub(crate) struct CastTypes;

impl TypePlanner for CastTypes {
    fn plan_type_field(&self, sql_type: &ast::DataType) -> DataFusionResult<Option<FieldRef>> {
        match data_type(sql_type) {
            Ok(ty) => Ok(Some(Arc::new(Field::new("", arrow_type(&ty), true)))),
            Err(_) if is_of_results(sql_type) => Ok(None),
            Err(error) => Err(DataFusionError::External(Box::new(error))),
        }
    }
}

/// Whether only results have this type, not columns: DataFusion knows it.
fn is_of_results(sql_type: &ast::DataType) -> bool {
    matches!(
        sql_type,
        ast::DataType::Interval { .. } | ast::DataType::Array(_) | ast::DataType::Struct(..)
    )
}
