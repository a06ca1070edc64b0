//! What stands for an aggregate that a subquery calls and that belongs to the query around it, until the query is planned. Neither
//! function is ever computed.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::type_coercion::functions::fields_with_udf;
use datafusion::logical_expr::{
    AggregateUDF, ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};
use rukh_error::SqlError;

/// Holds the place of an aggregate: its name, its number and its arguments.
pub const OUTER_AGGREGATE: &str = "outer_aggregate\u{2063}";

/// Stands for its first argument, which holds subqueries; the others are numbers of aggregates, and the aggregates.
pub const WITH_OUTER: &str = "with_outer\u{2063}";

/// The error of an aggregate of outer columns where it cannot be moved.
pub fn misplaced() -> DataFusionError {
    let message = "aggregates of columns of an outer query are not supported in such a subquery";
    DataFusionError::External(Box::new(SqlError::unsupported(message)))
}

/// Adds the functions to a session, whose aggregates they stand for.
pub fn register(state: &mut SessionState) -> DataFusionResult<()> {
    let aggregates = state.aggregate_functions().clone();
    state.register_udf(Arc::new(ScalarUDF::from(OuterAggregate {
        aggregates,
        signature: Signature::variadic_any(Volatility::Immutable),
    })))?;
    state.register_udf(Arc::new(ScalarUDF::from(WithOuter {
        signature: Signature::variadic_any(Volatility::Immutable),
    })))?;
    Ok(())
}

/// The place of an aggregate; it is never computed.
#[derive(Debug)]
struct OuterAggregate {
    aggregates: HashMap<String, Arc<AggregateUDF>>,
    signature: Signature,
}

impl PartialEq for OuterAggregate {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for OuterAggregate {}

impl Hash for OuterAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        OUTER_AGGREGATE.hash(state);
    }
}

impl ScalarUDFImpl for OuterAggregate {
    fn name(&self) -> &str {
        OUTER_AGGREGATE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Err(misplaced())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let name = arguments.scalar_arguments.first().copied().flatten();
        let aggregate = match name {
            Some(ScalarValue::Utf8(Some(name))) => self.aggregates.get(name),
            _ => None,
        };
        let aggregate = aggregate.ok_or_else(misplaced)?;
        let values = arguments.arg_fields.get(2..).unwrap_or_default();
        aggregate.return_field(&fields_with_udf(values, aggregate.as_ref())?)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        Err(misplaced())
    }
}

/// An expression with subqueries that read aggregates; it is never computed.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WithOuter {
    signature: Signature,
}

impl ScalarUDFImpl for WithOuter {
    fn name(&self) -> &str {
        WITH_OUTER
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        types.first().cloned().ok_or_else(misplaced)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        Err(misplaced())
    }
}
