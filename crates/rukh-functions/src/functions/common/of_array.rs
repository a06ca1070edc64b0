//! Functions of one value that are computed of an array at once: NULL of NULL, the same for the same.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::internal_err;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::utils::make_scalar_function;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// Computes the results of the values of an array.
type Compute = fn(&ArrayRef) -> DataFusionResult<ArrayRef>;

/// Makes a function of values of a type, or of any.
pub(crate) fn of_array(
    name: &'static str,
    taken: Option<ArrowType>,
    result: ArrowType,
    compute: Compute,
) -> Arc<ScalarUDF> {
    let signature = match taken {
        Some(taken) => Signature::exact(vec![taken], Volatility::Immutable),
        None => Signature::any(1, Volatility::Immutable),
    };
    Arc::new(ScalarUDF::from(OfArray {
        name,
        signature,
        result,
        compute,
    }))
}

#[derive(Debug)]
struct OfArray {
    name: &'static str,
    signature: Signature,
    result: ArrowType,
    compute: Compute,
}

impl PartialEq for OfArray {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OfArray {}

impl Hash for OfArray {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for OfArray {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(self.result.clone())
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let compute = |arrays: &[ArrayRef]| match arrays {
            [values] => (self.compute)(values),
            _ => internal_err!("{} takes one value", self.name),
        };
        make_scalar_function(compute, Vec::new())(&arguments.args)
    }
}
