//! Parameters of a series in FROM: `FROM generate_series(1, $1)`.
//!
//! Rows of a series are made as they are read, of constants: when the values of parameters are known they are put into the query. Before,
//! values of their types stand for them, which change no type.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::scalar::ScalarValue;
use rukh_error::SqlError;
use rukh_functions::scalars::datum_from_scalar;
use rukh_functions::types::data_type_of_arrow;
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, Query, TableFactor, UnaryOperator, Value, Visitor,
    VisitorMut,
};
use rukh_syntax::{Walk, WalkMut};

use crate::bind::spelling::parameters::arrays::parameter_within;
use crate::bind::spelling::parameters::types::{cast, cast_type, parameter_of};
use crate::bind::system::series;

/// Returns the types of parameters beside others in a series, as PostgreSQL has them: of whole numbers, of numbers with digits behind
/// the point, or of moments with a step that is an interval.
pub(crate) fn types_in_call(call: &Function) -> Vec<(usize, DataType)> {
    match series::is_named(&call.name) {
        true => types_in(&series::arguments_of(call).unwrap_or_default()),
        false => Vec::new(),
    }
}

/// As [`types_in_call`], of a series in FROM.
pub(crate) fn types_in_factor(factor: &TableFactor) -> Vec<(usize, DataType)> {
    let arguments = arguments_of(factor).into_iter().flatten();
    let values = arguments.filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    });
    types_in(&values.collect::<Vec<_>>())
}

fn types_in(arguments: &[Expr]) -> Vec<(usize, DataType)> {
    let Some(ty) = series::type_of(arguments) else {
        return Vec::new();
    };
    let told = arguments.iter().enumerate().filter_map(|(at, argument)| {
        let number = parameter_within(argument, |_| false)?;
        let ty = match (at, ty) {
            (2, DataType::Timestamp { .. } | DataType::TimestampTz { .. }) => DataType::Interval,
            _ => ty,
        };
        Some((number, ty))
    });
    told.collect()
}

fn arguments_of(factor: &TableFactor) -> Option<&[FunctionArg]> {
    match factor {
        TableFactor::Table {
            name,
            args: Some(arguments),
            ..
        } if series::is_named(name) => Some(&arguments.args),
        TableFactor::Function { name, args, .. } if series::is_named(name) => Some(args),
        _ => None,
    }
}

fn arguments_mut(factor: &mut TableFactor) -> Option<&mut [FunctionArg]> {
    match factor {
        TableFactor::Table {
            name,
            args: Some(arguments),
            ..
        } if series::is_named(name) => Some(&mut arguments.args),
        TableFactor::Function { name, args, .. } if series::is_named(name) => Some(args),
        _ => None,
    }
}

/// Whether a series in FROM has parameters.
pub(crate) fn has_series_parameters(tree: &impl Walk) -> bool {
    tree.walk(&mut Finder).is_break()
}

struct Finder;

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match arguments_of(factor) {
            Some(arguments) if arguments.to_vec().walk(&mut OfParameter).is_break() => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Breaks off at a parameter.
struct OfParameter;

impl Visitor for OfParameter {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match parameter_of(expr) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns a query whose series in FROM have the values of their parameters.
pub(crate) fn with_series<'a>(
    query: Cow<'a, Query>,
    params: &[ScalarValue],
) -> Result<Cow<'a, Query>, SqlError> {
    if params.is_empty() || !has_series_parameters(query.as_ref()) {
        return Ok(query);
    }
    let mut query = query.into_owned();
    let literals = params.iter().map(literal).collect::<Result<Vec<_>, SqlError>>()?;
    // The visitor never stops.
    let _ = query.walk_mut(&mut Written(&literals));
    Ok(Cow::Owned(query))
}

/// Returns a query whose series in FROM have values of the types of their parameters.
pub(crate) fn with_samples<'a>(query: Cow<'a, Query>, types: &[Option<DataType>]) -> Cow<'a, Query> {
    if !has_series_parameters(query.as_ref()) {
        return query;
    }
    let mut query = query.into_owned();
    let samples: Vec<Expr> = types
        .iter()
        .map(|ty| sample(ty.unwrap_or(DataType::Integer)))
        .collect();
    // The visitor never stops.
    let _ = query.walk_mut(&mut Written(&samples));
    Cow::Owned(query)
}

/// Returns a value of a type.
fn sample(ty: DataType) -> Expr {
    let text = match ty {
        DataType::SmallInt | DataType::Integer => {
            return Expr::Value(Value::Number("1".to_string(), false).into());
        }
        DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. } => "2000-01-01",
        DataType::Interval => "1 day",
        _ => "1",
    };
    let mut sample = Expr::Value(Value::SingleQuotedString(text.to_string()).into());
    cast_type(ty).into_iter().for_each(|ty| cast(&mut sample, ty));
    sample
}

struct Written<'l>(&'l [Expr]);

impl VisitorMut for Written<'_> {
    type Break = Infallible;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        for argument in arguments_mut(factor).into_iter().flatten() {
            let _ = argument.walk_mut(&mut Values(self.0));
        }
        ControlFlow::Continue(())
    }
}

struct Values<'l>(&'l [Expr]);

impl VisitorMut for Values<'_> {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        let known = parameter_of(expr).and_then(|number| self.0.get(number.checked_sub(1)?));
        if let Some(literal) = known {
            *expr = literal.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Returns a value as the tree has it.
fn literal(value: &ScalarValue) -> Result<Expr, SqlError> {
    let ty = data_type_of_arrow(&value.data_type());
    let datum = datum_from_scalar(value, &ty, "parameter")?;
    let of_type = cast_type(ty);
    let is_integer = matches!(
        ty,
        DataType::TinyInt | DataType::SmallInt | DataType::Integer | DataType::BigInt
    );
    if datum.is_null() && is_integer {
        return Ok(Expr::Value(Value::Null.into()));
    }
    if datum.is_null() {
        let mut null = Expr::Value(Value::Null.into());
        of_type.into_iter().for_each(|ty| cast(&mut null, ty));
        return Ok(null);
    }
    let text = ty.format_text(&datum);
    if is_integer {
        let number = |digits: &str| Expr::Value(Value::Number(digits.to_string(), false).into());
        return Ok(match text.strip_prefix('-') {
            Some(digits) => Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: Box::new(number(digits)),
            },
            None => number(&text),
        });
    }
    let mut literal = Expr::Value(Value::SingleQuotedString(text).into());
    of_type.into_iter().for_each(|ty| cast(&mut literal, ty));
    Ok(literal)
}
