//! `generate_series` of whole numbers that INTEGER holds gives INTEGER, as in PostgreSQL, and of days TIMESTAMPTZ: DataFusion's gives BIGINT
//! and TIMESTAMP.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::catalog::view::ViewTable;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::datasource::provider_as_source;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::session_state::SessionState;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, cast, ident};
use datafusion::scalar::ScalarValue;

use rukh_functions::types::arrow_type;
use rukh_keys::DataType;
use rukh_walk::Tree;

use crate::bind::types::bound_calls::is_unbound;
use crate::bind::types::expressions::bound_constant;

/// Name of the function, and of what it is made of.
const SERIES: &str = "generate_series";

/// Puts the function in the place of DataFusion's.
pub(crate) fn register(state: &mut SessionState) {
    if let Some(usual) = state.table_functions().get(SERIES) {
        let usual = usual.function().clone();
        state.register_udtf(SERIES, Arc::new(IntegerSeries { usual }));
    }
}

#[derive(Debug)]
struct IntegerSeries {
    usual: Arc<dyn TableFunctionImpl>,
}

/// Whether an argument is one of a series of INTEGER, as NULL is beside others.
fn is_integer(bound: &Expr) -> bool {
    match bound {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => i32::try_from(*value).is_ok(),
        Expr::Literal(value, _) => value.data_type().is_null(),
        _ => false,
    }
}

/// Returns an argument whose calls are computed, which are not bound yet where a table function is planned.
fn computed(bound: Expr) -> DataFusionResult<Expr> {
    let calls = |part: &Expr| matches!(part, Expr::ScalarFunction(call) if is_unbound(&call.func));
    if !bound.any(&mut |part| Ok(calls(part)))? {
        return Ok(bound);
    }
    let bound = bound_constant(bound).map_err(|error| DataFusionError::External(Box::new(error)))?;
    Ok(match bound {
        Expr::Literal(value, metadata) if value.data_type().is_integer() => {
            Expr::Literal(value.cast_to(&ArrowType::Int64)?, metadata)
        }
        other => other,
    })
}

impl TableFunctionImpl for IntegerSeries {
    fn call_with_args(&self, arguments: TableFunctionArgs) -> DataFusionResult<Arc<dyn TableProvider>> {
        let bounds = arguments.exprs().iter().cloned().map(computed);
        let bounds = bounds.collect::<DataFusionResult<Vec<_>>>()?;
        let arguments = TableFunctionArgs::new(&bounds, arguments.session());
        let is_integer = arguments.exprs().iter().all(is_integer);
        let is_day = |bound: &Expr| matches!(bound, Expr::Literal(ScalarValue::Date32(_), _));
        let are_days = matches!(arguments.exprs(), [from, to, _] if is_day(from) && is_day(to));
        let usual = self.usual.call_with_args(arguments)?;
        if !is_integer && !are_days {
            return Ok(usual);
        }
        let fields = usual.schema();
        let values = fields.fields().iter().map(|field| {
            let value = ident(field.name());
            match field.data_type() {
                ArrowType::Int64 => cast(value, ArrowType::Int32).alias(field.name()),
                ArrowType::Timestamp(..) => {
                    cast(value, arrow_type(&DataType::TIMESTAMP_TZ)).alias(field.name())
                }
                _ => value,
            }
        });
        let plan = LogicalPlanBuilder::scan(SERIES, provider_as_source(usual), None)?;
        let plan = plan.project(values.collect::<Vec<_>>())?.build()?;
        Ok(Arc::new(ViewTable::new(plan, None)))
    }
}
