//! The bytes by which documents compare: [`Jsonb::order_key`].

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{AsArray, BinaryArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;
use rukh_keys::Jsonb;

/// Returns an expression whose values have the order of documents, `None` of an expression of another type.
pub fn jsonb_order(expr: &Expr, ty: &ArrowType) -> Option<Expr> {
    (*ty == ArrowType::LargeBinary).then(|| ORDER.call(vec![expr.clone()]))
}

/// Returns the function.
pub fn function() -> Arc<ScalarUDF> {
    ORDER.clone()
}

static ORDER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    let signature = Signature::exact(vec![ArrowType::LargeBinary], Volatility::Immutable);
    Arc::new(ScalarUDF::from(Order { signature }))
});

#[derive(Debug, PartialEq, Eq, Hash)]
struct Order {
    signature: Signature,
}

impl ScalarUDFImpl for Order {
    fn name(&self) -> &str {
        "jsonb_order"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(ArrowType::Binary)
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let key = |form: &[u8]| Jsonb::new(form).order_key();
        match arguments.args.as_slice() {
            [ColumnarValue::Scalar(ScalarValue::LargeBinary(form))] => Ok(ColumnarValue::Scalar(
                ScalarValue::Binary(form.as_deref().map(key)),
            )),
            [ColumnarValue::Array(forms)] => {
                let forms = forms.as_binary::<i64>().iter();
                let keys: BinaryArray = forms.map(|form| form.map(key)).collect();
                Ok(ColumnarValue::Array(Arc::new(keys)))
            }
            _ => Err(DataFusionError::Internal("jsonb_order takes a JSONB".to_string())),
        }
    }
}
