//! Errors on their way through DataFusion.

use datafusion::error::DataFusionError;
use rukh_error::SqlError;

/// Returns an error as DataFusion passes it on, unchanged, to what runs the plan.
pub fn external(error: impl Into<SqlError>) -> DataFusionError {
    DataFusionError::External(Box::new(error.into()))
}
