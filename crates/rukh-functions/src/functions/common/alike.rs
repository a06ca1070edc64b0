//! `coalesce`, `nullif`, `greatest`, `least` and `ARRAY[…]` of bytes, documents, intervals, arrays, times and enums: DataFusion finds no
//! common type of one and of a literal, which is read as one later, and of some of them none with a NULL.

#![warn(clippy::arithmetic_side_effects)]

use std::sync::{Arc, LazyLock};

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::plan_err;
use datafusion::error::Result as DataFusionResult;
use datafusion::functions::core;
use datafusion::functions_nested::make_array::make_array_udf;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};

use crate::functions::networks::network_type;
use crate::usual::as_usual;

/// Returns the functions.
pub fn functions() -> impl Iterator<Item = Arc<ScalarUDF>> {
    let usual = [core::coalesce(), core::nullif(), core::greatest(), core::least()];
    usual.into_iter().map(alike)
}

/// Returns the function that `ARRAY[…]` with a NULL among its elements is a call of.
pub fn make_array() -> Arc<ScalarUDF> {
    static MAKE_ARRAY: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| alike(make_array_udf()));
    MAKE_ARRAY.clone()
}

fn alike(usual: Arc<ScalarUDF>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Alike {
        usual,
        signature: Signature::user_defined(Volatility::Immutable),
    }))
}

/// Whether a value of a type may be a literal that is not read yet, or NULL.
fn is_open(ty: &ArrowType) -> bool {
    ty.is_null() || *ty == ArrowType::Utf8
}

/// Returns the type that addresses, and networks, have in common with literals among them; `None` where others are among them.
fn address(types: &[ArrowType]) -> Option<ArrowType> {
    let known = || types.iter().filter(|ty| !is_open(ty));
    let first = known()
        .next()
        .filter(|ty| matches!(ty, ArrowType::FixedSizeBinary(_)))?;
    let are_alike = known().all(|ty| ty == first);
    network_type(known()).or_else(|| are_alike.then(|| first.clone()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Alike {
    usual: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Alike {
    as_usual!(name return_type is_strict);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[ArrowType]) -> DataFusionResult<Vec<ArrowType>> {
        let is_document = |ty: &&ArrowType| {
            matches!(
                ty,
                ArrowType::Binary
                    | ArrowType::LargeBinary
                    | ArrowType::LargeUtf8
                    | ArrowType::List(_)
                    | ArrowType::Interval(_)
            ) || ty.is_temporal()
        };
        // Arrow casts nothing to an address: literals are read as one, and networks are cast, before the call runs.
        if address(types).is_some() {
            return Ok(types.to_vec());
        }
        let common = match types.iter().find(is_document) {
            Some(document) if types.iter().all(|ty| ty == document || is_open(ty)) => Some(document.clone()),
            _ => match (
                self.usual.signature().type_signature == TypeSignature::UserDefined,
                types,
            ) {
                (true, types) => return self.usual.coerce_types(types),
                (false, [left, right]) => comparison_coercion(left, right),
                (false, _) => None,
            },
        };
        match common {
            Some(common) => Ok(vec![common; types.len()]),
            None => plan_err!("{} takes two values that compare", self.name()),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs) -> DataFusionResult<FieldRef> {
        let types: Vec<ArrowType> = arguments
            .arg_fields
            .iter()
            .map(|field| field.data_type().clone())
            .collect();
        let Some(address) = address(&types) else {
            return self.usual.return_field_from_args(arguments);
        };
        let fields = arguments.arg_fields.iter();
        let typed = fields.map(|field| Arc::new(field.as_ref().clone().with_data_type(address.clone())));
        self.usual.return_field_from_args(ReturnFieldArgs {
            arg_fields: &typed.collect::<Vec<_>>(),
            scalar_arguments: arguments.scalar_arguments,
        })
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
