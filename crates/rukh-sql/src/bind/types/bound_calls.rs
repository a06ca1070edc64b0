//! Calls of functions of the table of signatures (`rukh_functions::signatures`), bound to their implementations.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{Cast, ScalarFunction};
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, cast};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use rukh_functions::casts::read::read_interval;
use rukh_functions::casts::table::Kind;
use rukh_functions::casts::texts::{cast_to_text, elements_to_text, is_text};
use rukh_functions::casts::times::cast_time;
use rukh_functions::functions::networks::cast_address_to_text;
use rukh_functions::functions::times::extract::{EXTRACT, WHOLE, whole_part};
use rukh_functions::functions::times::time_zones;
use rukh_functions::signatures::overloaded::{Implementation, Overloaded, column_type, overloaded};
use rukh_functions::signatures::resolve::Meant;

use rukh_functions::types::arrow_type;
use rukh_keys::DataType;
use rukh_walk::Tree;

use crate::bind::types::typed_casts::{literal_text, typed, value_of_text};

/// Whether calls of a function are to be bound.
pub(crate) fn is_unbound(function: &ScalarUDF) -> bool {
    overloaded(function).is_some()
}

/// Returns the types of the arguments that a call of the table takes; `None` of other calls, and of those that mean none.
pub(crate) fn taken(call: &ScalarFunction, schema: &DFSchema) -> Option<Vec<Kind>> {
    let function = overloaded(&call.func)?;
    let (signature, _) = meant(function, call, schema).ok()?;
    Some(signature.arguments)
}

/// Returns the signature that a call means, and the arguments as the implementation takes them.
fn meant(
    function: &Overloaded,
    call: &ScalarFunction,
    schema: &DFSchema,
) -> DataFusionResult<(Meant, Vec<FieldRef>)> {
    let fields = call.args.iter().map(|arg| Ok(arg.to_field(schema)?.1));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    let literals: Vec<Option<&ScalarValue>> = call.args.iter().map(literal).collect();
    let signature = function.chosen(&fields, &literals)?;
    let taken = function.taken(&signature, &fields, &literals);
    Ok((signature, taken))
}

/// Binds a call: to the implementation, with the casts that the signature takes. Calls of functions that are not in the table stay.
///
/// # Errors
/// 42883 if no signature takes the arguments, 42725 if several do; as the type's input on a literal.
pub(crate) fn bound(call: ScalarFunction, schema: &DFSchema) -> DataFusionResult<Expr> {
    let Some(function) = overloaded(&call.func) else {
        return Ok(Expr::ScalarFunction(call));
    };
    let (signature, taken) = meant(function, &call, schema)?;
    let arguments = call.args.iter().zip(&signature.arguments).zip(&taken);
    match function.implementation(&signature) {
        Implementation::Cast => {
            let result = |value| argument(value, signature.result, &cast_field(&signature), schema);
            match call.args.first() {
                // A cast reads a literal in its own type.
                Some(text) if literal_text(text).is_some() => result(text.clone()),
                // A CHAR is one no more.
                Some(text) if signature.result == Kind::Text && signature.arguments[0].is_text() => {
                    Ok(cast(text.clone(), ArrowType::Utf8))
                }
                _ => {
                    let mut arguments = arguments;
                    let ((value, kind), field) = arguments.next().ok_or_else(no_argument)?;
                    result(argument(value.clone(), *kind, field, schema)?)
                }
            }
        }
        Implementation::Function(usual) => {
            let arguments = arguments.map(|((arg, kind), field)| argument(arg.clone(), *kind, field, schema));
            let mut arguments = arguments.collect::<DataFusionResult<Vec<_>>>()?;
            if let ("array_to_string", [array, ..]) = (usual.name(), arguments.as_mut_slice())
                && let Some(texts) = elements_to_text(array, schema)
            {
                *array = texts;
            }
            match (usual.name(), arguments.as_mut_slice()) {
                ("quote_literal" | "quote_nullable", [value]) if !is_text(&value.get_type(schema)?) => {
                    *value = cast_address_to_text(value, schema)
                        .or_else(|| cast_to_text(value, schema))
                        .unwrap_or_else(|| cast(value.clone(), ArrowType::Utf8));
                }
                // The type of the result is of so many digits.
                ("round" | "trunc", [_, digits]) => *digits = folded(digits)?,
                _ => {}
            }
            let call = match usual.name() {
                "date_trunc" if arguments.len() == 3 => in_zone(&usual, arguments)?,
                EXTRACT => extracted(&usual, arguments, signature.result, schema)?,
                _ => usual.call(arguments),
            };
            let ty = call.get_type(schema)?;
            let wanted = Overloaded::result(&signature, &ty);
            match ty == wanted || is_text(&ty) && is_text(&wanted) {
                true => Ok(call),
                false => Ok(typed(Cast::new(Box::new(call), wanted), schema)?.data),
            }
        }
    }
}

/// Returns the value of an expression that is one already, whatever is cast to what.
fn folded(expr: &Expr) -> DataFusionResult<Expr> {
    let is_constant = !expr.any(&mut |part| Ok(!matches!(part, Expr::Literal(..) | Expr::Cast(_))))?;
    match is_constant {
        true => ExprSimplifier::new(SimplifyContext::default()).simplify(expr.clone()),
        false => Ok(expr.clone()),
    }
}

/// Returns a call of `extract` or `date_part`: by the function that an index may be of, where that gives the same.
fn extracted(
    usual: &ScalarUDF,
    mut arguments: Vec<Expr>,
    result: Kind,
    schema: &DFSchema,
) -> DataFusionResult<Expr> {
    let whole = match arguments.as_mut_slice() {
        [Expr::Literal(field, _), of] => {
            let whole = whole_part(field, &of.get_type(schema)?);
            if let Some(Some(name)) = field.try_as_str() {
                *field = ScalarValue::from(name.to_uppercase());
            }
            whole
        }
        _ => None,
    };
    // `date_part` takes a DATE as a TIMESTAMP, which has a time.
    if let [_, of] = arguments.as_mut_slice()
        && whole.is_none()
        && result == Kind::Double
        && of.get_type(schema)? == ArrowType::Date32
    {
        *of = cast_time(of, &arrow_type(&DataType::TIMESTAMP), schema).unwrap_or_else(|| of.clone());
    }
    Ok(match whole {
        Some(whole) if result == Kind::Numeric => cast(whole.call(arguments), WHOLE),
        Some(whole) => whole.call(arguments),
        None => usual.call(arguments),
    })
}

/// Returns `date_trunc` of what the clocks of a zone show, as a moment again.
fn in_zone(date_trunc: &ScalarUDF, mut arguments: Vec<Expr>) -> DataFusionResult<Expr> {
    let (Some(zone), Some(moment)) = (arguments.pop(), arguments.pop()) else {
        return Err(no_argument());
    };
    let timezone = time_zones::timezone();
    let shown = timezone.call(vec![zone.clone(), moment]);
    arguments.push(shown);
    Ok(timezone.call(vec![zone, date_trunc.call(arguments)]))
}

fn no_argument() -> DataFusionError {
    DataFusionError::Internal("a cast takes a value".to_string())
}

/// Returns the field of what a function that casts gives.
fn cast_field(signature: &Meant) -> Field {
    let ty = Overloaded::result(signature, &ArrowType::Null);
    Field::new("", ty, true)
}

/// Returns the value of a literal.
pub(crate) fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        _ => None,
    }
}

/// Returns an argument in the type of a signature.
pub(crate) fn argument(value: Expr, kind: Kind, taken: &Field, schema: &DFSchema) -> DataFusionResult<Expr> {
    if let Some(text) = literal_text(&value) {
        return match column_type(kind, Some(text)) {
            _ if kind.is_text() => Ok(value),
            Some(ty) => match value_of_text(&ty, text)? {
                // INTEGER, where the implementation takes BIGINT.
                Expr::Literal(value, metadata) if value.data_type().is_integer() => {
                    Ok(Expr::Literal(value.cast_to(taken.data_type())?, metadata))
                }
                value => Ok(value),
            },
            None if matches!(kind, Kind::Array(_)) => {
                Ok(typed(Cast::new(Box::new(value), taken.data_type().clone()), schema)?.data)
            }
            None => Ok(Expr::Literal(read_interval(text)?, None)),
        };
    }
    let present = value.get_type(schema)?;
    let ty = taken.data_type();
    match &value {
        _ if present == *ty || is_text(&present) && is_text(ty) => Ok(value),
        Expr::Literal(null, _) if null.is_null() => Ok(Expr::Literal(ScalarValue::try_from(ty)?, None)),
        // The digits that a number has beside an array: a cast to NUMERIC would leave it its own.
        _ if kind == Kind::Numeric && (present.is_integer() || present.is_decimal()) => {
            Ok(cast(value, ty.clone()))
        }
        _ => Ok(typed(Cast::new(Box::new(value), ty.clone()), schema)?.data),
    }
}
