//! Aggregates and window functions of the table of signatures: which signature a call means, and its arguments in the signature's types.
//!
//! | written                        | becomes                                   |
//! |--------------------------------|-------------------------------------------|
//! | `bool_and('t')`, `ntile('2')`  | `bool_and(CAST('t' AS BOOLEAN))`, at once |
//! | `sum('5')`                     | error 42725: sums of several types fit    |
//! | `corr(i, j)` of integers       | `corr(CAST(i AS DOUBLE), …)`              |
//! | `lag(i, 1, '5')`               | `lag(i, 1, 5)`                            |
//! | `avg(day)`, `string_agg(i, ',')` | error 42883                             |
//!
//! Literals are read before the query is planned, where the signatures leave one type for them: DataFusion computes the types of
//! results then. All else waits until the types of columns and parameters are known.
//!
//! Deliberately not here: aggregates that PostgreSQL has not, and arguments of types that no signature takes (rows, JSON).

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::{Expr, ExprSchemable, lit};
use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::errors::external;
use rukh_functions::signatures::overloaded::{argument_type, chosen_of, column_type, kind, unresolved};
use rukh_functions::signatures::resolve;
use rukh_functions::signatures::table::{self, Overload, Parameter};
use rukh_syntax::sqlparser::ast::{
    self, Expr as AstExpr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Value, VisitorMut,
};
use rukh_syntax::{WalkMut, folded};

use crate::bind::spelling::parameters::types::{cast, cast_type};
use crate::bind::types::bound_calls::{argument, literal};
use crate::bind::types::bound_operators::{is_open, operand};

/// Returns the arguments of a call in the types of the signature that it means; whether any is another one.
///
/// # Errors
/// 42883 if no signature takes the arguments, 42725 if several do; as the type's input on a literal.
pub(crate) fn bound(
    name: &str,
    is_window: bool,
    args: &[Expr],
    schema: &DFSchema,
) -> DataFusionResult<Option<Vec<Expr>>> {
    if name == "count" {
        return counts_one(args, schema).map(|()| None);
    }
    let Some(overloads) = overloads(name, is_window) else {
        return Ok(None);
    };
    let of_values = takes_values_first(name);
    let in_order = |mut args: Vec<Expr>| {
        if of_values {
            args.reverse();
        }
        args
    };
    let args = in_order(args.to_vec());
    if args.iter().any(is_open) {
        return Ok(None);
    }
    let fields = args.iter().map(|arg| Ok(arg.to_field(schema)?.1));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    let literals: Vec<Option<&ScalarValue>> = args.iter().map(literal).collect();
    let kinds = fields
        .iter()
        .zip(&literals)
        .map(|(field, literal)| kind(field, *literal));
    let Ok(kinds) = kinds.collect::<Result<Vec<Option<Kind>>, _>>() else {
        return Ok(None);
    };
    let meant = chosen_of(name, overloads, &fields, &literals)?;
    if kinds
        .iter()
        .zip(&meant.arguments)
        .all(|(of, taken)| is_taken(*of, *taken))
    {
        return Ok(None);
    }
    let all = args
        .iter()
        .zip(&fields)
        .zip(&literals)
        .zip(kinds.iter().zip(&meant.arguments));
    let typed = all.map(|(((arg, field), literal), (of, taken))| {
        if is_taken(*of, *taken) {
            return Ok(match (literal, name) {
                // A number that was left as a constant is an INTEGER beside other numbers.
                (Some(ScalarValue::Int64(Some(number))), "lag" | "lead") => {
                    i32::try_from(*number).map_or_else(|_| arg.clone(), lit)
                }
                _ => arg.clone(),
            });
        }
        let ty = argument_type(*taken, field, *literal);
        argument(arg.clone(), *taken, &Field::new(field.name(), ty, true), schema)
    });
    Ok(Some(in_order(typed.collect::<DataFusionResult<_>>()?)))
}

/// Returns the types that a call takes in the places of its arguments, parameters without a type among them; `None` where they may be
/// several.
pub(crate) fn taken(name: &str, is_window: bool, args: &[Expr], schema: &DFSchema) -> Option<Vec<Kind>> {
    let overloads = overloads(name, is_window)?;
    let kinds = args.iter().map(|arg| operand(arg, schema).flatten());
    let mut kinds: Vec<Option<Kind>> = kinds.collect();
    if takes_values_first(name) {
        kinds.reverse();
    }
    let mut taken = resolve::function(overloads, &kinds).ok()?.arguments;
    if takes_values_first(name) {
        taken.reverse();
    }
    Some(taken)
}

/// Checks the arguments of `count`, which takes one of any type.
fn counts_one(args: &[Expr], schema: &DFSchema) -> DataFusionResult<()> {
    if args.len() == 1 {
        return Ok(());
    }
    let fields = args.iter().map(|arg| Ok(arg.to_field(schema)?.1));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    let literals: Vec<Option<&ScalarValue>> = args.iter().map(literal).collect();
    let none = resolve::Unresolved::None;
    Err(external(unresolved("count", none, &fields, &literals)))
}

/// Whether a signature takes values of a type as they are.
fn is_taken(of: Option<Kind>, taken: Kind) -> bool {
    of == Some(taken) || of.is_some_and(Kind::is_text) && taken.is_text()
}

fn overloads(name: &str, is_window: bool) -> Option<&'static [Overload]> {
    let of_window = || {
        table::windows()
            .get(name)
            .filter(|_| is_window)
            .map(Vec::as_slice)
    };
    of_window().or_else(|| table::aggregate(name))
}

/// Whether DataFusion puts the values of WITHIN GROUP before the fraction.
fn takes_values_first(name: &str) -> bool {
    matches!(name, "percentile_cont" | "percentile_disc")
}

/// Reads literals without a type in that of the signatures, where those leave one.
///
/// # Errors
/// 42725 where several signatures take literals, 42804 where nothing gives a polymorphic type its meaning, 42809 if `count` has no
/// argument.
pub(crate) fn read_literals(node: &mut impl WalkMut) -> Result<(), SqlError> {
    match node.walk_mut(&mut Literals) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Literals;

impl VisitorMut for Literals {
    type Break = SqlError;

    fn pre_visit_expr(&mut self, expr: &mut AstExpr) -> ControlFlow<SqlError> {
        match expr {
            AstExpr::Function(call) => match read_call(call) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            },
            _ => ControlFlow::Continue(()),
        }
    }
}

fn read_call(call: &mut Function) -> Result<(), SqlError> {
    let Some(name) = call.name.0.last().and_then(|part| part.as_ident()).map(folded) else {
        return Ok(());
    };
    let FunctionArguments::List(list) = &mut call.args else {
        return Ok(());
    };
    if name == "count" && list.args.is_empty() {
        let message = "count(*) must be used to call a parameterless aggregate function";
        return Err(SqlError::statement("42809", message));
    }
    let Some(overloads) = overloads(&name, call.over.is_some()) else {
        return Ok(());
    };
    let mut args = Vec::with_capacity(list.args.len() + call.within_group.len());
    for arg in &mut list.args {
        match arg {
            FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => args.push(value),
            _ => return Ok(()),
        }
    }
    args.extend(call.within_group.iter_mut().map(|key| &mut key.expr));
    let types = literal_types(&name, overloads, &args)?;
    for (arg, ty) in args.into_iter().zip(types) {
        if let Some(ty) = ty {
            cast(arg, ty);
        }
    }
    Ok(())
}

/// Returns the types that literals among the arguments are read in.
fn literal_types(
    name: &str,
    overloads: &[Overload],
    args: &[&mut AstExpr],
) -> Result<Vec<Option<ast::DataType>>, SqlError> {
    let are_literals: Vec<bool> = args.iter().map(|arg| is_untyped(arg)).collect();
    let count = args.len();
    let mut found = vec![None; count];
    if !are_literals.contains(&true) {
        return Ok(found);
    }
    let of_count: Vec<&Overload> = overloads
        .iter()
        .filter(|of| of.arguments.len() == count)
        .collect();
    if are_literals.iter().all(|is_literal| *is_literal) && !of_count.is_empty() {
        let meant = resolve::function(overloads, &vec![None; count]).map_err(|why| {
            let untyped = Arc::new(Field::new("", ArrowType::Null, true));
            unresolved(name, why, &vec![untyped; count], &[])
        })?;
        return Ok(meant.arguments.into_iter().map(sql_type).collect());
    }
    for (at, is_literal) in are_literals.into_iter().enumerate() {
        let mut kinds = of_count.iter().map(|of| of.arguments[at]);
        if let (true, Some(first @ Parameter::Is(kind))) = (is_literal, kinds.next())
            && kinds.all(|other| other == first)
        {
            found[at] = sql_type(kind);
        }
    }
    Ok(found)
}

/// Returns the type that a literal is cast to; `None` of texts.
fn sql_type(kind: Kind) -> Option<ast::DataType> {
    match column_type(kind, None) {
        Some(_) if kind == Kind::Numeric => Some(ast::DataType::Numeric(ast::ExactNumberInfo::None)),
        Some(ty) => cast_type(ty),
        None => None,
    }
}

/// Whether an expression is a text literal or NULL.
fn is_untyped(expr: &AstExpr) -> bool {
    match expr {
        AstExpr::Nested(inner) => is_untyped(inner),
        AstExpr::Value(value) => matches!(value.value, Value::SingleQuotedString(_) | Value::Null),
        _ => false,
    }
}
