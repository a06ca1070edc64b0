//! Casts to domains: a cast to the type of the values, and a call that checks them.
//!
//! | written  | is                                                                                |
//! |----------|-----------------------------------------------------------------------------------|
//! | `x::d`   | `domain_value(CAST(x AS INTEGER), '{…}')`, whose text is the domain's definition   |

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rukh_catalog::Domain;
use rukh_engine::{DomainRules, EngineError};
use rukh_error::SqlError;
use rukh_functions::functions::common::undefined::undefined_function;
use rukh_functions::scalars::datums_from_array;
use rukh_syntax::sqlparser::ast::{Expr, Value, VisitorMut};
use rukh_syntax::{WalkMut, make};

use crate::bind::spelling::parsing::parse_expression;
use crate::bind::spelling::spelled::DOMAIN_VALUE;

/// Definitions whose compiled conditions are kept.
const KEPT_MAX: usize = 256;

/// Compiles the conditions of a domain.
type Compile = fn(&Domain) -> Result<DomainRules, EngineError>;

/// Makes the function known.
pub(crate) fn register(registry: &mut dyn FunctionRegistry, compile: Compile) {
    let function = ScalarUDF::from(DomainValue {
        signature: Signature::any(2, Volatility::Immutable),
        compile,
    });
    // It replaces nothing.
    let _ = registry.register_udf(Arc::new(function));
}

/// The name of what is cast, until it stands there.
const OPERAND: &str = "operand";

/// Puts the cast that is meant, and the call that checks its value, in the place of a cast to a domain.
pub(crate) fn spell(expr: &mut Expr, domain: &Domain) {
    let (Ok(mut cast), Ok(definition)) = (
        parse_expression(&format!("CAST({OPERAND} AS {})", domain.ty)),
        serde_json::to_string(domain),
    ) else {
        return;
    };
    let Expr::Cast { expr: operand, .. } = expr else {
        return;
    };
    let operand = std::mem::replace(operand.as_mut(), Expr::Value(Value::Null.into()));
    let _ = cast.walk_mut(&mut Placing(Some(operand)));
    let definition = Expr::Value(Value::SingleQuotedString(definition).into());
    *expr = make::call(DOMAIN_VALUE, vec![cast, definition]);
}

/// Puts an operand in its place.
struct Placing(Option<Expr>);

impl VisitorMut for Placing {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) if name.value == OPERAND => {
                self.0.take().into_iter().for_each(|operand| *expr = operand);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Gives a value that is one of a domain; fails on others.
#[derive(Debug)]
struct DomainValue {
    signature: Signature,
    compile: Compile,
}

/// A domain with its conditions, compiled.
struct Checked {
    domain: Domain,
    rules: DomainRules,
}

static CHECKED: LazyLock<Mutex<HashMap<String, Arc<Checked>>>> = LazyLock::new(Mutex::default);

fn checked(definition: &str, compile: Compile) -> DataFusionResult<Arc<Checked>> {
    let kept = |key: &str| {
        let kept = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(key).cloned()
    };
    if let Some(found) = kept(definition) {
        return Ok(found);
    }
    let external = |error: SqlError| DataFusionError::External(Box::new(error));
    let domain: Domain = serde_json::from_str(definition).map_err(|_| taken())?;
    let rules = compile(&domain).map_err(|error| external(error.into()))?;
    let found = Arc::new(Checked { domain, rules });
    let mut kept = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= KEPT_MAX {
        kept.clear();
    }
    kept.insert(definition.to_string(), found.clone());
    Ok(found)
}

/// The error of a call that no cast is spelled as.
fn taken() -> DataFusionError {
    undefined_function(DOMAIN_VALUE, &[])
}

/// There is one.
impl PartialEq for DomainValue {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for DomainValue {}

impl Hash for DomainValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        DOMAIN_VALUE.hash(state);
    }
}

impl ScalarUDFImpl for DomainValue {
    fn name(&self) -> &str {
        DOMAIN_VALUE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        types.first().cloned().ok_or_else(taken)
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        let definition = match arguments.scalar_arguments {
            [_, Some(definition)] => definition.try_as_str().flatten(),
            _ => None,
        };
        checked(definition.ok_or_else(taken)?, self.compile)?;
        arguments.arg_fields.first().cloned().ok_or_else(taken)
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = arguments.number_rows;
        let [value, ColumnarValue::Scalar(definition)] = arguments.args.as_slice() else {
            return Err(taken());
        };
        let definition: &ScalarValue = definition;
        let checked = checked(definition.try_as_str().flatten().ok_or_else(taken)?, self.compile)?;
        let array = match value {
            ColumnarValue::Scalar(value) => value.to_array()?,
            ColumnarValue::Array(_) => value.clone().into_array(rows)?,
        };
        let external = |error: SqlError| DataFusionError::External(Box::new(error));
        let values = datums_from_array(&array, &checked.domain.ty).map_err(|_| taken())?;
        let values: Vec<_> = values.iter().collect();
        let holds = checked.rules.check(&values);
        holds.map_err(|error| external(error.into()))?;
        Ok(value.clone())
    }
}
