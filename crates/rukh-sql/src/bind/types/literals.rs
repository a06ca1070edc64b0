//! Operands take the types that PostgreSQL's operators give them, where DataFusion's rules differ.
//!
//! | operands                   | DataFusion                     | here, as in PostgreSQL           |
//! |----------------------------|--------------------------------|----------------------------------|
//! | text literal and any type  | compares texts                 | the literal is read in that type |
//! | values of several types     | other types in part            | see `coercions`                  |
//! | DATE and INTERVAL          | a DATE                         | a TIMESTAMP                      |
//! | coalesce(n, '5')           | a text                         | an integer                       |
//! | frames over TIME and BINARY | an error                      | groups of equals                 |
//! | sums of integers too large | wrap around                    | error 22003                      |
//! | floats divided by zero     | Infinity                       | error 22012                      |
//! | `-n` of the least integer  | itself                         | error 22003                      |
//! | floats too large or small  | Infinity, 0                    | error 22003 (`arithmetic`)       |
//! | lead(n, 1, -1.4)           | an integer                     | a decimal                        |
//! | array_agg(DISTINCT n)      | in any order                   | in that of the values            |
//! | `'7 days'` beside an INTERVAL | compares texts              | an interval                      |
//! | intervals compared, sorted | months first                   | a month is 30 days (`interval_order`) |
//! | `timestamp - timestamp`    | a Duration                     | an INTERVAL (`time_difference`)  |
//! | `s ~ 'a.b'`                | a point is no newline          | it is one, too                   |
//! | `'today'` beside a DATE    | an error                       | a day (`moment_words`)           |
//! | casts                      | Arrow's                        | PostgreSQL's (`typed_casts`)     |
//!
//! `day >= '2015-10-01'` compares dates, `n = '5'` integers, and `n = 'five'` is an error that says so
//! (DataFusion would compare texts). Literals compared with UUIDs and CHARs get their stored form.

use datafusion::arrow::datatypes::{DataType as ArrowType, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{AggregateFunction, Case, InList, ScalarFunction, WindowFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::type_coercion::binary::type_union_coercion;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, LogicalPlan, Operator, ScalarUDF, Subquery, binary_expr, cast,
    lit,
};
use rukh_keys::DataType;

use crate::bind::plans::window_frames::{around_infinity, framed};
use crate::bind::plans::zero_order;
use crate::bind::types::bound_aggregates;
use crate::bind::types::bound_calls::{bound, is_unbound};
use crate::bind::types::chosen_types::chosen_type;
use crate::bind::types::coercions::{coerced, coerced_node};
use crate::bind::types::interval_order;
use crate::bind::types::operand_types::{self, check_union};
use crate::bind::types::typed_casts::{self, is_typed, literal_text, value_of_text};
use crate::bind::types::union_types::alike_in_columns;

use rukh_error::SqlError;
use rukh_functions::casts::numbers::{cast_number, double_of};
use rukh_functions::casts::read::{read_interval, read_text};
use rukh_functions::casts::table::Kind;
use rukh_functions::casts::texts::{cast_to_text, concatenated, is_text};
use rukh_functions::casts::times::cast_time;
use rukh_functions::forms::numerics::NAN;
use rukh_functions::functions::common::declared::declared_as;
use rukh_functions::functions::common::exact::{exact_call, exact_operator};
use rukh_functions::functions::lists::quantified;
use rukh_functions::functions::networks::cast_address_to_text;
use rukh_functions::functions::numbers::arithmetic::{checked, checked_function};
use rukh_functions::functions::numbers::wide_number::{self, digits_beside, digits_of, wide_digits};
use rukh_functions::functions::texts::regex::{self, POINT_IS_ANY};
use rukh_functions::functions::texts::similar::SIMILAR_TO_ESCAPE;
use rukh_functions::functions::times::extract::DATE_PART;
use rukh_functions::functions::times::time_difference::time_difference;
use rukh_functions::signatures::overloaded::column_type;
use rukh_functions::signatures::resolve::common;
use rukh_functions::types::are_uuids;
use rukh_functions::types::{arrow_type, data_type_of};
use rukh_walk::{PlanTree, Tree};

/// Types the string literals of every comparison in the plan, subqueries included.
///
/// Fails with 22P02 or 22007 on a literal that its type cannot read.
pub(crate) fn type_literals(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let typed = plan.turn_all_up(&mut |node| {
        // The types of columns come from below.
        let node = node.recompute_schema()?;
        check_union(&node).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let node = alike_in_columns(node)?.data;
        let schema = merge_schema(&node.inputs());
        node.each_expression(&mut |expr| {
            typed_casts::check(expr, &schema)?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        let names = NamePreserver::new(&node);
        let node = node.turn_expressions(&mut |expr| {
            let name = names.save(&expr);
            let typed = typed_part(expr, &schema)?;
            Ok(Transformed::yes(name.restore(typed)))
        })?;
        // What stands above reads the types of its columns from here.
        let node = node.data.recompute_schema()?;
        let node = zero_order::of_node(interval_order::of_node(node)?.data)?.data;
        coerced_node(node)?.transform_data(around_infinity)
    })?;
    Ok(typed.data)
}

/// Types the string literals of one expression on the columns of `schema`.
pub(crate) fn typed_expression(expr: Expr, schema: &DFSchema) -> Result<Expr, SqlError> {
    Ok(typed_part(expr, schema)?)
}

/// Types an expression, and casts its operands.
pub(crate) fn typed_part(expr: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let typed = expr.turn_up(&mut |expr| {
        if let Some(text) = text_of_char(&expr, schema) {
            return Ok(Transformed::yes(text));
        }
        let typed = typed_expr(expr, schema)?;
        let is_changed = typed.transformed;
        let typed = coerced(typed.data, schema)?.data;
        Ok(match chosen_type(&typed, schema) {
            Some(ty) => Transformed::yes(declared_as(typed, &ty)),
            None => Transformed::new_transformed(typed, is_changed),
        })
    })?;
    match typed.transformed {
        // What is put in a place may have operands of its own.
        true => Ok(typed.data.turn_up(&mut |expr| coerced(expr, schema))?.data),
        false => Ok(typed.data),
    }
}

fn typed_expr(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let typed = typed_operands(expr, schema)?;
    operand_types::check(&typed.data, schema)?;
    typed.transform_data(|expr| interval_order::compared(expr, schema))
}

/// Returns the cast of a CHAR(n) to TEXT as one that is shown without blanks.
fn text_of_char(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::Cast(cast) = expr else { return None };
    let (_, field) = cast.expr.to_field(schema).ok()?;
    let is_char = is_text(cast.field.data_type()) && matches!(data_type_of(&field), DataType::Char(_));
    is_char.then(|| declared_as(cast.expr.as_ref().clone(), &DataType::Varchar(None)))
}

/// Returns `timestamp - timestamp` as a function that gives an interval.
fn difference_of(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Minus,
        right,
    }) = expr
    else {
        return None;
    };
    let function = time_difference(&left.get_type(schema).ok()?, &right.get_type(schema).ok()?)?;
    Some(function.call(vec![left.as_ref().clone(), right.as_ref().clone()]))
}

fn typed_operands(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    if let Some(difference) = difference_of(&expr, schema) {
        return Ok(Transformed::yes(difference));
    }
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_arithmetic(op) => {
            let (new_left, new_right) = (computed(&left, &right, schema), computed(&right, &left, schema));
            let changed = new_left.is_some() || new_right.is_some();
            let left = new_left.unwrap_or(*left);
            let right = new_right.unwrap_or(*right);
            match checked_function(op, &left, &right, schema) {
                Some(function) if exact_operator(&function).is_some() => {
                    Ok(Transformed::yes(exact_call(&function, vec![left, right])))
                }
                Some(function) => Ok(Transformed::yes(function.call(vec![left, right]))),
                None => {
                    let (left, right) = (Box::new(left), Box::new(right));
                    let sum = Expr::BinaryExpr(BinaryExpr { left, op, right });
                    Ok(Transformed::new_transformed(sum, changed))
                }
            }
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if interval_order::compares(op) => {
            if let Some(exact) = beside_wide_number(&left, op, &right, schema) {
                return Ok(Transformed::yes(exact));
            }
            let (new_left, new_right) = (retyped(&left, &right, schema)?, retyped(&right, &left, schema)?);
            let changed = new_left.is_some() || new_right.is_some();
            let left = new_left.map_or(left, Box::new);
            let right = new_right.map_or(right, Box::new);
            Ok(Transformed::new_transformed(
                Expr::BinaryExpr(BinaryExpr { left, op, right }),
                changed,
            ))
        }
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: op @ Operator::StringConcat,
            right,
        }) => {
            let beside_text = |side: &Expr, other: &Expr| {
                let other = other.get_type(schema).ok()?;
                (is_text(&other))
                    .then(|| cast_address_to_text(side, schema).or_else(|| cast_to_text(side, schema)))
                    .flatten()
            };
            let (new_left, new_right) = (beside_text(&left, &right), beside_text(&right, &left));
            let changed = new_left.is_some() || new_right.is_some();
            let left = new_left.map_or(left, Box::new);
            let right = new_right.map_or(right, Box::new);
            let joined = Expr::BinaryExpr(BinaryExpr { left, op, right });
            Ok(Transformed::new_transformed(joined, changed))
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if is_regex(op) => {
            let pattern = match read_pattern(&right)? {
                ReadPattern::AsItIs => None,
                ReadPattern::Spelled(pattern) => Some(Box::new(pattern)),
                ReadPattern::Ours(pattern) => {
                    let ignores_case = matches!(op, Operator::RegexIMatch | Operator::RegexNotIMatch);
                    let is_negated = matches!(op, Operator::RegexNotMatch | Operator::RegexNotIMatch);
                    let function = regex::operator(ignores_case, is_negated);
                    return Ok(Transformed::yes(function.call(vec![*left, pattern])));
                }
            };
            let changed = pattern.is_some();
            let right = pattern.unwrap_or(right);
            let matched = Expr::BinaryExpr(BinaryExpr { left, op, right });
            Ok(Transformed::new_transformed(matched, changed))
        }
        Expr::Negative(inner) => {
            let negated = negated_float(&inner, schema).or_else(|| negated_integer(&inner, schema));
            let changed = negated.is_some();
            let negated = negated.unwrap_or(Expr::Negative(inner));
            Ok(Transformed::new_transformed(negated, changed))
        }
        Expr::WindowFunction(mut function) => {
            if let Some(args) =
                bound_aggregates::bound(function.fun.name(), true, &function.params.args, schema)?
            {
                function.params.args = args;
            }
            check_count(&function)?;
            let function = beyond_null(function, schema)?;
            framed(with_default_alike(function, schema)?, schema)
        }
        Expr::AggregateFunction(mut call) => {
            check_texts(&call, schema)?;
            let args = bound_aggregates::bound(call.func.name(), false, &call.params.args, schema)?;
            let changed = args.is_some();
            call.params.args = args.unwrap_or(call.params.args);
            let mut ordered = in_order_of_values(call);
            ordered.transformed |= changed;
            Ok(ordered)
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let ty = expr.get_type(schema);
            if ty.is_ok_and(|ty| are_wide([low.as_ref(), high.as_ref()], &ty)) {
                let (from, to) = match negated {
                    false => (Operator::GtEq, Operator::LtEq),
                    true => (Operator::Lt, Operator::Gt),
                };
                let part = |op, bound: Box<Expr>| {
                    typed_operands(binary_expr(expr.as_ref().clone(), op, *bound), schema)
                };
                let (low, high) = (part(from, low)?.data, part(to, high)?.data);
                return Ok(Transformed::yes(match negated {
                    false => low.and(high),
                    true => low.or(high),
                }));
            }
            let low = retyped(&low, &expr, schema)?.map_or(low, Box::new);
            let high = retyped(&high, &expr, schema)?.map_or(high, Box::new);
            Ok(Transformed::yes(Expr::Between(Between {
                expr,
                negated,
                low,
                high,
            })))
        }
        Expr::InList(InList { expr, list, negated }) => {
            let list = match among_wide_numbers(&expr, list, schema) {
                Ok(list) if list.is_empty() => {
                    let null = lit(ScalarValue::Boolean(None));
                    return Ok(Transformed::yes(match negated {
                        false => expr.is_null().and(null),
                        true => expr.is_not_null().or(null),
                    }));
                }
                Ok(list) | Err(list) => list,
            };
            // A literal has the type of what is no literal, the value or the first such of the list.
            let typed = |expr: &&Expr| literal_text(expr).is_none() && !is_null_text(expr);
            let anchor = std::iter::once(expr.as_ref()).chain(&list).find(typed);
            let anchor = anchor.unwrap_or(&expr).clone();
            let expr = Box::new(retyped(&expr, &anchor, schema)?.unwrap_or(*expr));
            let list = list
                .into_iter()
                .map(|element| Ok(retyped(&element, &anchor, schema)?.unwrap_or(element)))
                .collect::<DataFusionResult<Vec<_>>>()?;
            Ok(Transformed::yes(Expr::InList(InList { expr, list, negated })))
        }
        Expr::InSubquery(mut among) => match literal_beside(&among.expr, &among.subquery)? {
            Some(literal) => {
                among.expr = Box::new(literal);
                Ok(Transformed::yes(Expr::InSubquery(among)))
            }
            None => Ok(Transformed::no(Expr::InSubquery(among))),
        },
        Expr::SetComparison(mut comparison) => {
            let literal = literal_beside(&comparison.expr, &comparison.subquery)?;
            let changed = literal.is_some();
            comparison.expr = literal.map_or(comparison.expr, Box::new);
            Ok(Transformed::new_transformed(
                Expr::SetComparison(comparison),
                changed,
            ))
        }
        Expr::Cast(cast) => typed_casts::typed(cast, schema),
        Expr::Case(case) => typed_case(case, schema),
        Expr::ScalarFunction(call) if is_unbound(&call.func) => bound(call, schema).map(Transformed::yes),
        // A field has one name in all expressions, by which those of indexes are found.
        Expr::ScalarFunction(ScalarFunction { func, mut args }) if func.name() == DATE_PART => {
            if let [Expr::Literal(field, _), _] = args.as_mut_slice()
                && let Some(Some(name)) = field.try_as_str()
            {
                *field = ScalarValue::from(name.to_uppercase());
            }
            Ok(Transformed::yes(func.call(args)))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if exact_operator(&func).is_some() => {
            Ok(Transformed::yes(exact_call(&func, args)))
        }
        Expr::ScalarFunction(ScalarFunction { func, args })
            if quantified::operator_of(func.name()).is_some() =>
        {
            let (args, changed) = among_elements(args, schema)?;
            Ok(Transformed::new_transformed(func.call(args), changed))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if takes_alike(&func) => {
            let (args, changed) = alike(args, schema)?;
            Ok(Transformed::new_transformed(func.call(args), changed))
        }
        Expr::ScalarFunction(ScalarFunction { func, args })
            if matches!(func.name(), "concat" | "concat_ws") =>
        {
            let text = |arg: Expr| concatenated(&arg, schema).unwrap_or(arg);
            Ok(Transformed::yes(func.call(args.into_iter().map(text).collect())))
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) if func.name() == "format" => {
            let text = |arg: Expr| concatenated(&arg, schema).unwrap_or_else(|| cast(arg, ArrowType::Utf8));
            Ok(Transformed::yes(func.call(args.into_iter().map(text).collect())))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// Returns a literal in the type of what a subquery gives; `None` where it stays as it is.
fn literal_beside(expr: &Expr, subquery: &Subquery) -> DataFusionResult<Option<Expr>> {
    match (literal_text(expr), subquery.subquery.schema().fields().first()) {
        (Some(text), Some(given)) => read_in(text, given),
        _ => Ok(None),
    }
}

/// Returns a comparison with a number that no decimal holds, exactly; `None` of all others.
fn beside_wide_number(left: &Expr, op: Operator, right: &Expr, schema: &DFSchema) -> Option<Expr> {
    let of_left = || Some((left, digits_beside(right, &left.get_type(schema).ok()?)?, false));
    let of_right = || Some((right, digits_beside(left, &right.get_type(schema).ok()?)?, true));
    if wide_digits(left).is_some() && wide_digits(right).is_some() {
        return None;
    }
    let (x, digits, number_is_left) = of_left().or_else(of_right)?;
    wide_number::compared(x, &x.get_type(schema).ok()?, op, &digits, number_is_left)
}

/// Leaves out of a list the numbers that a decimal cannot be; returns it as `Err` if all its numbers have a type in common with the decimal.
fn among_wide_numbers(expr: &Expr, list: Vec<Expr>, schema: &DFSchema) -> Result<Vec<Expr>, Vec<Expr>> {
    let ty = match expr.get_type(schema) {
        Ok(ty) if are_wide(&list, &ty) => ty,
        _ => return Err(list),
    };
    let exact = |element: Expr| match digits_of(&element) {
        None => Some(element),
        Some(digits) => match wide_number::exact(&ty, &digits) {
            Some(number) => number,
            None => Some(element),
        },
    };
    Ok(list.into_iter().filter_map(exact).collect())
}

/// Whether no DECIMAL holds some numbers together with the values of a type, or with each other.
fn are_wide<'a>(numbers: impl IntoIterator<Item = &'a Expr>, ty: &ArrowType) -> bool {
    let mut beside = vec![ty.clone()];
    numbers.into_iter().any(|number| {
        let is_wide = beside.iter().any(|ty| digits_beside(number, ty).is_some());
        if let Expr::Literal(value @ ScalarValue::Decimal128(..), _) = number {
            let ty = value.data_type();
            if !beside.contains(&ty) {
                beside.push(ty);
            }
        }
        is_wide
    })
}

/// Fails with 22016 or 22014 on the 0th row of a frame, or less, and on no parts of a partition.
fn check_count(function: &WindowFunction) -> DataFusionResult<()> {
    let (name, args) = (function.fun.name(), &function.params.args);
    let (state, count) = match (name, args.as_slice()) {
        ("nth_value", [_, count]) => ("22016", count),
        ("ntile", [count]) => ("22014", count),
        _ => return Ok(()),
    };
    let literal = match count {
        Expr::Cast(cast) => cast.expr.as_ref(),
        count => count,
    };
    let value = match literal {
        Expr::Literal(value, _) => value.cast_to(&ArrowType::Int64).ok(),
        _ => None,
    };
    match value {
        Some(ScalarValue::Int64(Some(..=0))) => {
            let message = format!("argument of {name} must be greater than zero");
            Err(DataFusionError::External(Box::new(SqlError::statement(
                state, message,
            ))))
        }
        _ => Ok(()),
    }
}

fn is_regex(op: Operator) -> bool {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch)
}

/// How a regular expression is matched.
enum ReadPattern {
    /// By DataFusion's operator.
    AsItIs,
    /// By DataFusion's operator, whose points are to match newlines.
    Spelled(Expr),
    /// By our function, because the two mean something else by it, or because it is known by the row only.
    Ours(Expr),
}

fn read_pattern(pattern: &Expr) -> DataFusionResult<ReadPattern> {
    Ok(match pattern {
        Expr::Literal(..) => match literal_text(pattern) {
            Some(text) if !text.starts_with(POINT_IS_ANY) => {
                let is_plain = regex::is_plain(text);
                match is_plain.map_err(|error| DataFusionError::External(Box::new(error)))? {
                    false => ReadPattern::Ours(pattern.clone()),
                    true if text.contains('.') => ReadPattern::Spelled(lit(format!("{POINT_IS_ANY}{text}"))),
                    true => ReadPattern::AsItIs,
                }
            }
            _ => ReadPattern::AsItIs,
        },
        Expr::ScalarFunction(call) if call.func.name() == SIMILAR_TO_ESCAPE => ReadPattern::AsItIs,
        Expr::Placeholder(_) => ReadPattern::Ours(cast(pattern.clone(), ArrowType::Utf8)),
        other => ReadPattern::Ours(other.clone()),
    })
}

/// Gives `lead` and `lag` by NULL rows NULL to look at.
fn beyond_null(
    mut function: Box<WindowFunction>,
    schema: &DFSchema,
) -> DataFusionResult<Box<WindowFunction>> {
    let is_moved = matches!(function.fun.name(), "lead" | "lag");
    if let [value, by, rest @ ..] = function.params.args.as_mut_slice()
        && is_moved
        && is_null(by)
    {
        let null = Expr::Literal(ScalarValue::try_from(&value.get_type(schema)?)?, None);
        (*value, *by) = (null.clone(), lit(1_i64));
        rest.fill(null);
    }
    Ok(function)
}

/// Whether an expression is NULL, perhaps cast.
fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_null(&cast.expr),
        Expr::Literal(value, _) => value.is_null(),
        _ => false,
    }
}

/// Brings what `lead` and `lag` look at and what they give beyond the ends to one type: `lead(n, 1, -1.4)` is NUMERIC.
fn with_default_alike(
    mut function: Box<WindowFunction>,
    schema: &DFSchema,
) -> DataFusionResult<Box<WindowFunction>> {
    if !matches!(function.fun.name(), "lead" | "lag") {
        return Ok(function);
    }
    let [value, _, default] = function.params.args.as_slice() else {
        return Ok(function);
    };
    let types = (value.get_type(schema)?, default.get_type(schema)?);
    let is_wider = match &types {
        (value, default) if !value.is_numeric() || !default.is_numeric() || value == default => false,
        (value, default) if value.is_integer() => {
            !default.is_integer() || value.primitive_width() < default.primitive_width()
        }
        (value, default) => is_decimal(value) && !default.is_integer(),
    };
    let common = match is_wider {
        true => type_union_coercion(&types.0, &types.1),
        false => None,
    };
    if let Some(common) = common {
        let has_float = types.0.is_floating() || types.1.is_floating();
        let common = if has_float { ArrowType::Float64 } else { common };
        for at in [0, 2] {
            let argument = function.params.args[at].clone();
            function.params.args[at] =
                cast_number(&argument, &common, schema).unwrap_or_else(|| cast(argument, common.clone()));
        }
    }
    Ok(function)
}

fn is_decimal(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Decimal128(..) | ArrowType::Decimal256(..))
}

/// Fails with 0A000 on `string_agg` of byte strings, whose result is none of texts.
fn check_texts(call: &AggregateFunction, schema: &DFSchema) -> DataFusionResult<()> {
    match call.params.args.first() {
        Some(value) if call.func.name() == "string_agg" && value.get_type(schema)?.is_binary() => {
            let error = SqlError::unsupported("string_agg of byte strings is not supported");
            Err(DataFusionError::External(Box::new(error)))
        }
        _ => Ok(()),
    }
}

/// DISTINCT sorts, so that what collects values gives them in order.
fn in_order_of_values(mut call: AggregateFunction) -> Transformed<Expr> {
    let collects = matches!(call.func.name(), "array_agg" | "string_agg");
    let is_sorted = collects && call.params.distinct && call.params.order_by.is_empty();
    if is_sorted && let Some(value) = call.params.args.first() {
        call.params.order_by = vec![value.clone().sort(true, false)];
    }
    Transformed::new_transformed(Expr::AggregateFunction(call), is_sorted)
}

/// Whether the arguments of a function are brought to one type, as the results of CASE are.
fn takes_alike(function: &ScalarUDF) -> bool {
    matches!(
        function.name(),
        "coalesce" | "greatest" | "least" | "nullif" | "make_array"
    )
}

/// Reads a literal beside an array in the type of its elements, and an array that is a literal as one of the type of the value.
fn among_elements(args: Vec<Expr>, schema: &DFSchema) -> DataFusionResult<(Vec<Expr>, bool)> {
    let [value, array] = args.as_slice() else {
        return Ok((args, false));
    };
    let field = array.to_field(schema)?.1;
    if let Some(text) = literal_text(array) {
        let ty = value.get_type(schema)?;
        let ty = if ty.is_null() { ArrowType::Utf8 } else { ty };
        let list = ArrowType::new_list(ty, true);
        let read = read_text(&lit(text), &list, &DFSchema::empty());
        return Ok(match read {
            Some(array) => (vec![value.clone(), array], true),
            None => (args, false),
        });
    }
    let ArrowType::List(of) = field.data_type() else {
        return Ok((args, false));
    };
    let typed = match literal_text(value) {
        Some(text) if are_uuids(&field) => Some(value_of_text(&DataType::Uuid, text)?),
        Some(text) => read_in(text, of)?,
        None if is_null_text(value) => Some(Expr::Literal(ScalarValue::try_from(of.data_type())?, None)),
        None => None,
    };
    Ok(match typed {
        Some(value) => (vec![value, array.clone()], true),
        None => (args, false),
    })
}

fn typed_case(case: Case, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let Case {
        expr,
        when_then_expr,
        else_expr,
    } = case;
    let (mut whens, mut thens): (Vec<Expr>, Vec<Expr>) = when_then_expr
        .into_iter()
        .map(|(when, then)| (*when, *then))
        .unzip();
    let mut changed = false;
    for when in &mut whens {
        let typed = match (&expr, literal_text(when)) {
            (Some(operand), _) => retyped(when, operand, schema)?,
            (None, Some(text)) => Some(value_of_text(&DataType::Boolean, text)?),
            (None, None) => None,
        };
        if let Some(typed) = typed {
            *when = typed;
            changed = true;
        }
    }
    let has_else = else_expr.is_some();
    thens.extend(else_expr.map(|otherwise| *otherwise));
    let (mut thens, new) = alike(thens, schema)?;
    let else_expr = if has_else { thens.pop().map(Box::new) } else { None };
    let pairs = whens.into_iter().zip(thens);
    let case = Case {
        expr,
        when_then_expr: pairs
            .map(|(when, then)| (Box::new(when), Box::new(then)))
            .collect(),
        else_expr,
    };
    Ok(Transformed::new_transformed(Expr::Case(case), changed || new))
}

/// Reads text literals among expressions of which one will be the value in the type of the others, and says whether there are any.
fn alike(values: Vec<Expr>, schema: &DFSchema) -> DataFusionResult<(Vec<Expr>, bool)> {
    let is_anchor = |value: &&Expr| {
        literal_text(value).is_none() && value.get_type(schema).is_ok_and(|ty| ty != ArrowType::Null)
    };
    let kind = |value: &&Expr| {
        value
            .to_field(schema)
            .ok()
            .and_then(|(_, field)| Kind::of_field(&field))
    };
    let anchors = || values.iter().filter(is_anchor);
    let of_all = common(anchors().filter_map(|value| kind(&value)));
    let anchor = anchors().find(|value| kind(value) == of_all).or(anchors().next());
    let typed = values
        .iter()
        .map(|value| match (literal_text(value), anchor) {
            (Some(text), Some(anchor)) => read_as(text, anchor, schema),
            _ => Ok(None),
        })
        .collect::<DataFusionResult<Vec<Option<Expr>>>>()?;
    let changed = typed.iter().any(Option::is_some);
    let pairs = typed.into_iter().zip(values);
    Ok((
        pairs.map(|(typed, value)| typed.unwrap_or(value)).collect(),
        changed,
    ))
}

/// Returns `-f` of a float or NUMERIC as a difference: DataFusion turns round the sign of NaN, too, which then is less than all numbers.
fn negated_float(float: &Expr, schema: &DFSchema) -> Option<Expr> {
    let zero = match float.get_type(schema).ok()? {
        _ if matches!(float, Expr::Literal(ScalarValue::Decimal256(Some(NAN), ..), _)) => {
            return Some(float.clone());
        }
        _ if matches!(float, Expr::Literal(..)) => return None,
        ty @ ArrowType::Decimal256(..) => ScalarValue::new_zero(&ty).ok()?,
        ArrowType::Float32 => ScalarValue::Float32(Some(-0.0)),
        ArrowType::Float64 => ScalarValue::Float64(Some(-0.0)),
        _ => return None,
    };
    let difference = checked(Operator::Minus)?;
    Some(difference.call(vec![Expr::Literal(zero, None), float.clone()]))
}

/// Returns `-n` as a difference that fails where the type does not hold it: DataFusion gives `n` itself.
fn negated_integer(integer: &Expr, schema: &DFSchema) -> Option<Expr> {
    let ty = integer.get_type(schema).ok()?;
    if matches!(integer, Expr::Literal(..)) || !ty.is_signed_integer() {
        return None;
    }
    let zero = Expr::Literal(ScalarValue::new_zero(&ty).ok()?, None);
    let difference = checked(Operator::Minus)?;
    Some(difference.call(vec![zero, integer.clone()]))
}

fn is_arithmetic(op: Operator) -> bool {
    use Operator::{Divide, Minus, Modulo, Multiply, Plus};
    matches!(op, Plus | Minus | Multiply | Divide | Modulo)
}

/// Returns an operand of a sum or product in the type it is computed in, if that is another one.
fn computed(operand: &Expr, other: &Expr, schema: &DFSchema) -> Option<Expr> {
    let date = matches!(operand.get_type(schema), Ok(ArrowType::Date32));
    if date && matches!(other.get_type(schema), Ok(ArrowType::Interval(_))) {
        return cast_time(operand, &arrow_type(&DataType::TIMESTAMP), schema);
    }
    as_double(operand, other, schema)
}

/// Returns a decimal as DOUBLE if `other` is a float, as PostgreSQL computes with the two.
fn as_double(decimal: &Expr, other: &Expr, schema: &DFSchema) -> Option<Expr> {
    let is = |expr: &Expr, test: fn(&ArrowType) -> bool| expr.get_type(schema).is_ok_and(|ty| test(&ty));
    if !is(decimal, is_decimal) || !is(other, ArrowType::is_floating) {
        return None;
    }
    Some(double_of(decimal, schema))
}

/// Returns `literal` in the type of `other`, or `None` when it stays as it is.
fn retyped(literal: &Expr, other: &Expr, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    if is_null_text(literal) {
        return null_as(other, schema);
    }
    let Some(text) = literal_text(literal) else {
        return Ok(None);
    };
    match is_null_text(other) || literal_text(other).is_some() {
        true => Ok(None),
        // Networks compare as the addresses that they are.
        false => match other.to_field(schema) {
            Ok((_, field)) if data_type_of(&field) == DataType::Cidr => {
                value_of_text(&DataType::Inet, text).map(Some)
            }
            _ => read_as(text, other, schema),
        },
    }
}

/// Whether an expression is a NULL without a type of its own, as a parameter may be.
fn is_null_text(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Literal(ScalarValue::Utf8(None) | ScalarValue::Utf8View(None), _)
    )
}

/// Returns NULL of the type of `other`, or `None` where that is text.
fn null_as(other: &Expr, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    match other.get_type(schema) {
        Ok(arrow) if is_typed(&arrow) || matches!(arrow, ArrowType::Interval(_) | ArrowType::List(_)) => {
            Ok(Some(Expr::Literal(ScalarValue::try_from(&arrow)?, None)))
        }
        _ => Ok(None),
    }
}

/// Returns a text literal as one of the type of `other`, or `None` when it stays text.
fn read_as(text: &str, other: &Expr, schema: &DFSchema) -> DataFusionResult<Option<Expr>> {
    match other.to_field(schema) {
        Ok((_, field)) => read_in(text, &field),
        Err(_) => Ok(None),
    }
}

/// Reads a literal in the type of a field, unless that is a text.
fn read_in(text: &str, field: &FieldRef) -> DataFusionResult<Option<Expr>> {
    if matches!(field.data_type(), ArrowType::Interval(_)) {
        return Ok(Some(Expr::Literal(read_interval(text)?, None)));
    }
    if field.data_type().is_list() && !are_uuids(field) {
        return Ok(read_text(&lit(text), field.data_type(), &DFSchema::empty()));
    }
    match target(field, text) {
        Some(ty) => value_of_text(&ty, text).map(Some),
        None => Ok(None),
    }
}

/// Returns the type to read a literal in, or `None` when text is compared as text.
fn target(field: &FieldRef, text: &str) -> Option<DataType> {
    let arrow = field.data_type();
    match data_type_of(field) {
        DataType::Uuid => Some(DataType::Uuid),
        DataType::Char(_) => Some(DataType::Char(text.len().max(1) as u32)),
        ty if ty.is_decimal() => column_type(Kind::Numeric, Some(text)),
        ty if is_typed(arrow) => Some(ty.unrounded()),
        _ => None,
    }
}
