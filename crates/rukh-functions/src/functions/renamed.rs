//! Functions of DataFusion under other names, where the name tells what a statement wrote.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

/// Returns a function under another name.
pub fn renamed(usual: Arc<ScalarUDF>, name: &'static str) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Renamed { usual, name }))
}

/// Returns the function that another one is under another name; `None` of those that have their own.
pub fn usual(function: &ScalarUDF) -> Option<&Arc<ScalarUDF>> {
    let renamed = function.inner().downcast_ref::<Renamed>()?;
    Some(&renamed.usual)
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Renamed {
    usual: Arc<ScalarUDF>,
    name: &'static str,
}

impl ScalarUDFImpl for Renamed {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        self.usual.signature()
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        self.usual.coerce_types(types)
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        self.usual.return_type(types)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        self.usual.return_field_from_args(arguments)
    }

    fn is_strict(&self) -> bool {
        self.usual.inner().is_strict()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.usual.invoke_with_args(arguments)
    }
}
