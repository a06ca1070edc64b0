//! `coalesce` of documents and arrays: DataFusion finds no common type of a JSONB and of a literal, which is read as one later.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::core;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
};

use crate::usual::as_usual;

/// Returns the function.
pub fn coalesce() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Coalesce {
        usual: core::coalesce(),
    }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Coalesce {
    usual: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for Coalesce {
    as_usual!(name signature return_type);

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let is_document = |ty: &&ArrowType| {
            matches!(
                ty,
                ArrowType::LargeBinary | ArrowType::LargeUtf8 | ArrowType::List(_)
            )
        };
        let is_open = |ty: &ArrowType| ty.is_null() || *ty == ArrowType::Utf8;
        match types.iter().find(is_document) {
            Some(document) if types.iter().all(|ty| ty == document || is_open(ty)) => {
                Ok(vec![document.clone(); types.len()])
            }
            _ => self.usual.coerce_types(types),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        self.usual.return_field_from_args(arguments)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> DataFusionResult<ExprSimplifyResult> {
        self.usual.simplify(args, info)
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.usual.conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        self.usual.short_circuits()
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        self.usual.invoke_with_args(arguments)
    }
}
