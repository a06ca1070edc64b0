//! `cast_apart(value, 'type')`: gives the value. It distinguishes two casts of one value, which have one name in DataFusion.
//!
//! The optimiser takes it away, so that plans are the same.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr as PlannedExpr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

/// The name of the function.
pub const CAST_APART: &str = "cast_apart";

/// Returns the function.
pub fn cast_apart() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(CastApart {
        signature: Signature::any(2, Volatility::Immutable),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CastApart {
    signature: Signature,
}

impl CastApart {
    fn missing(&self) -> DataFusionError {
        DataFusionError::Internal(format!("{} takes two arguments", self.name()))
    }
}

impl ScalarUDFImpl for CastApart {
    fn name(&self) -> &str {
        CAST_APART
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        types.first().cloned().ok_or_else(|| self.missing())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let field = arguments.arg_fields.first().ok_or_else(|| self.missing())?;
        Ok(field.clone())
    }

    fn simplify(
        &self,
        arguments: Vec<PlannedExpr>,
        _: &SimplifyContext,
    ) -> DataFusionResult<ExprSimplifyResult> {
        let first = arguments.into_iter().next();
        Ok(ExprSimplifyResult::Simplified(
            first.ok_or_else(|| self.missing())?,
        ))
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let first = arguments.args.into_iter().next();
        first.ok_or_else(|| self.missing())
    }
}
