//! The bytes by which documents compare: [`Jsonb::order_key`].

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, BinaryArray};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, ScalarUDF};
use rukh_keys::Jsonb;

use crate::functions::common::of_array::of_array;

/// Returns an expression whose values have the order of documents, `None` of an expression of another type.
pub fn jsonb_order(expr: &Expr, ty: &ArrowType) -> Option<Expr> {
    (*ty == ArrowType::LargeBinary).then(|| ORDER.call(vec![expr.clone()]))
}

/// Returns the function.
pub fn function() -> Arc<ScalarUDF> {
    ORDER.clone()
}

static ORDER: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| {
    of_array(
        "jsonb_order",
        Some(ArrowType::LargeBinary),
        ArrowType::Binary,
        keys_of,
    )
});

/// Returns the bytes by which each document compares.
pub(crate) fn keys_of(forms: &ArrayRef) -> DataFusionResult<ArrayRef> {
    let forms = forms.as_binary::<i64>().iter();
    let keys = forms.map(|form| form.map(|form| Jsonb::new(form).order_key()));
    Ok(Arc::new(keys.collect::<BinaryArray>()))
}
