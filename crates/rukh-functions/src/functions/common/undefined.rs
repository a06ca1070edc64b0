//! What is said of calls that no function takes.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::DataFusionError;

use crate::types::data_type_of_arrow;
use rukh_error::SqlError;

/// Makes the error of a call with arguments of these types, 42883.
pub fn undefined_function(name: &str, types: &[ArrowType]) -> DataFusionError {
    let types: Vec<String> = types
        .iter()
        .map(|ty| data_type_of_arrow(ty).postgres_name())
        .collect();
    let message = format!("function {name}({}) does not exist", types.join(", "));
    let error = SqlError::statement("42883", message).with_hint(
        "No function matches the given name and argument types. You might need to add explicit type casts.",
    );
    DataFusionError::External(Box::new(error))
}
