//! Rewrites of a parsed statement that keep its meaning and suit the planners.
//!
//! | written               | becomes                                            |
//! |-----------------------|----------------------------------------------------|
//! | `(a, b) = (1, 2)`     | `a = 1 AND b = 2`                                  |
//! | `(a, b) <> (1, 2)`    | `a <> 1 OR b <> 2`                                 |
//! | `(a, b) > (1, 2)`     | `a > 1 OR (a = 1 AND b > 2)`                       |
//! | `(a, b) >= (1, 2)`    | `a > 1 OR (a = 1 AND b >= 2)`                      |
//! | `(a, b) IN ((1, 2))`  | `(a = 1 AND b = 2)`, one arm per row, joined by OR |
//! | `(a, b) BETWEEN x AND y` | `(a, b) >= x AND (a, b) <= y`, rows x and y     |
//! | `(a, b) IS DISTINCT FROM (1, 2)` | `a IS DISTINCT FROM 1 OR b IS DISTINCT FROM 2` |
//! | `(a, b) IS NULL`      | `a IS NULL AND b IS NULL`; IS NOT NULL alike       |
//! | `a SIMILAR TO 'x%'`   | `a LIKE 'x%'`                                      |
//! | `a SIMILAR TO 'x+'`   | `a ~ similar_to_escape('x+')`                      |
//! | `a ^@ 'x'`            | `starts_with(a, 'x')`                              |
//! | `a[2:]`, `a[:2]`      | `a[2:2147483647]`, `a[1:2]`                        |
//! | `a IS DISTINCT FROM 'x'` | an operator, see `IS_DISTINCT`                     |
//! | `t AT TIME ZONE 'UTC'`| `timezone('UTC', t)`                               |
//! | `(a, b) OVERLAPS (c, d)` | `overlaps(a, b, c, d)`                          |
//!
//! | `SELECT a, a`         | a second name for the second, see `output_names`   |
//! | `SELECT count(*)`     | `SELECT count(*) AS count`                         |
//! | keys of ORDER BY and DISTINCT ON | see `order_names`, `positions`       |
//! | `a = ANY (SELECT …)`  | the subquery in another one, under a name          |
//! | `(a, b) IN (SELECT …)`, `(a, b) < (SELECT …)` | see `rows`       |
//! | `sum(a), sum(a::int)` | see `cast_names`                                   |
//! | `json_agg(a)`         | see `json`                                         |
//! | `age(t)`              | `age(current_date, t)`                             |
//! | `GROUP BY (a, b)`      | `GROUP BY a, b`, in GROUPING SETS too              |
//! | `SELECT 1 … HAVING c`  | `… GROUP BY () HAVING c`, if nothing aggregates    |
//! | `substr(a, 2)`, `position(a IN b)`, `trim(a)`, `overlay(a PLACING b FROM 2)` | calls like any other |
//! | `extract(year FROM t)` | `extract('YEAR', t)`                               |
//! | `substring(a FROM 'p')` | `regexp_substring(a, 'p')`                         |
//! | `concat(VARIADIC a)`    | see `variadic`                                     |
//! | `a || NULL`, `NULL || a` | `beside_null(a)`: an array stays as it is         |
//!
//! Those of row values are SQL's own definitions, NULLs included; DataFusion would compare structs
//! instead, which treats NULLs otherwise. The planner unites the arms into one range again.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    AccessExpr, BinaryOperator, DateTimeField, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, GroupByExpr, Ident, ObjectNamePart, Query, Select, SelectItem, SetExpr, Subscript,
    TableAlias, TableFactor, TableWithJoins, TrimWhereField, UnaryOperator, Value, ValueWithSpan, Visitor,
    VisitorMut, WildcardAdditionalOptions,
};

use crate::bind::names::outputs::order_names;
use crate::bind::names::outputs::output_names::{name_lateral, name_outputs, part_twins};
use crate::bind::names::outputs::positions;
use crate::bind::names::outputs::stars::name_schemas;
use crate::bind::spelling::casts::is_field;
use crate::bind::spelling::literal_values::row;
use crate::bind::spelling::moment_words;
use crate::bind::spelling::named_arguments;
use crate::bind::spelling::parameters::arrays::number_of;
use crate::bind::spelling::parameters::types::parameter_of;
use crate::bind::spelling::rows;
use crate::bind::spelling::select_calls::{self, calls_aggregate};
use crate::bind::spelling::spelled;
use crate::bind::spelling::variadic;
use rukh_error::SqlError;
use rukh_functions::casts::texts::CAST_VARCHAR;
use rukh_functions::functions::SQUARE_ROOT;
use rukh_functions::functions::by_row::BITWISE_NOT;
use rukh_functions::functions::lists::arrays::BESIDE_NULL;
use rukh_functions::functions::lists::quantified::function_of;
use rukh_functions::functions::texts::regex::SUBSTRING;
use rukh_functions::functions::texts::similar::SIMILAR_TO_ESCAPE;
use rukh_functions::functions::times::extract::EXTRACT;
use rukh_functions::functions::times::time_zones::TIMEZONE;
use rukh_keys::DataType;
use rukh_syntax::HIDDEN;
use rukh_syntax::make::{and, binary, call, join, nested, not, or, select};
use rukh_syntax::{Walk, WalkMut};

/// Rewrites in place; fails on rows of unequal length, as PostgreSQL does.
pub(crate) fn rewrite(node: &mut impl WalkMut) -> Result<(), SqlError> {
    match node.walk_mut(&mut Rewriter) {
        ControlFlow::Continue(()) => {}
        ControlFlow::Break(error) => return Err(error),
    }
    let ControlFlow::Continue(()) = node.walk_mut(&mut Afterwards);
    Ok(())
}

/// `IS DISTINCT FROM` as an operator that is planned by [`Intervals`](crate::bind::types::operators::intervals::Intervals), as `=` is.
pub(crate) const IS_DISTINCT: &str = "is distinct from";

/// The same of `IS NOT DISTINCT FROM`.
pub(crate) const IS_NOT_DISTINCT: &str = "is not distinct from";

/// Writes the bounds that a slice of an array leaves out; `None` if it has both.
fn bounded(root: &Expr, access_chain: &[AccessExpr]) -> Option<Expr> {
    let number = |number: i32| Expr::Value(Value::Number(number.to_string(), false).into());
    let is_open = |access: &AccessExpr| {
        matches!(access, AccessExpr::Subscript(Subscript::Slice { lower_bound, upper_bound, .. })
            if lower_bound.is_none() || upper_bound.is_none())
    };
    if !access_chain.iter().any(is_open) {
        return None;
    }
    let mut access_chain = access_chain.to_vec();
    for access in &mut access_chain {
        if let AccessExpr::Subscript(Subscript::Slice {
            lower_bound,
            upper_bound,
            ..
        }) = access
        {
            lower_bound.get_or_insert_with(|| number(1));
            upper_bound.get_or_insert_with(|| number(i32::MAX));
        }
    }
    Some(Expr::CompoundFieldAccess {
        root: Box::new(root.clone()),
        access_chain,
    })
}

/// Writes a comparison with a literal as an operator: DataFusion lets no other decide what the literal is beside an array or an interval.
fn by_operator(left: &Expr, operator: &str, right: &Expr) -> Option<Expr> {
    let is_untyped = |side: &Expr| {
        matches!(
            side,
            Expr::Value(ValueWithSpan {
                value: Value::SingleQuotedString(_) | Value::Placeholder(_),
                ..
            })
        )
    };
    (is_untyped(left) || is_untyped(right)).then(|| Expr::BinaryOp {
        left: Box::new(left.clone()),
        op: BinaryOperator::PGCustomBinaryOperator(vec![operator.to_string()]),
        right: Box::new(right.clone()),
    })
}

/// What is spelled when all else is: rows that are values still, and casts. `left` of a cast gets the name that casts are spelled with:
/// catalogs hold casts as this function.
struct Afterwards;

impl VisitorMut for Afterwards {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Function(call) = expr
            && let [ObjectNamePart::Identifier(name)] = call.name.0.as_mut_slice()
            && name.value == "left"
            && let FunctionArguments::List(list) = &call.args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Cast { data_type, .. }))) =
                list.args.first()
            && matches!(rukh_syntax::data_type(data_type), Ok(DataType::Varchar(None)))
        {
            *name = Ident::new(CAST_VARCHAR);
        }
        if let Some(row) = rows::value(expr) {
            *expr = row;
        }
        ControlFlow::Continue(())
    }
}

struct Rewriter;

impl VisitorMut for Rewriter {
    type Break = SqlError;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        if let Expr::Function(function) = expr {
            named_arguments::put_in_place(function);
            spelled::name_fields(function);
        }
        match expanded(expr) {
            Ok(Some(replacement)) => *expr = replacement,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        select_calls::keep_order(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        variadic::name_columns(select);
        if let Some(condition) = &mut select.selection {
            rows::spell_out_conjuncts(condition);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        group_by_having(select);
        group_by_elements(select);
        name_schemas(select);
        positions::of_groups(select)?;
        order_names::settle_distinct_on(select)?;
        name_outputs(select);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        let with = query.with.iter_mut().flat_map(|with| &mut with.cte_tables);
        with.for_each(|cte| part_twins(&mut cte.query));
        positions::of_order(query)?;
        order_names::settle(query)?;
        order_names::name_with(query);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, relation: &mut TableFactor) -> ControlFlow<SqlError> {
        if let TableFactor::Derived { subquery, .. } = relation {
            part_twins(subquery);
        }
        order_names::name_derived(relation);
        name_lateral(relation);
        ControlFlow::Continue(())
    }
}

/// Makes one group of what HAVING without GROUP BY chooses from, where no aggregate does.
fn group_by_having(select: &mut Select) {
    let GroupByExpr::Expressions(keys, modifiers) = &mut select.group_by else {
        return;
    };
    let Some(having) = select
        .having
        .as_ref()
        .filter(|_| keys.is_empty() && modifiers.is_empty())
    else {
        return;
    };
    if !calls_aggregate(having) && !calls_aggregate(&select.projection) {
        keys.push(Expr::GroupingSets(vec![Vec::new()]));
    }
}

/// Spells rows of GROUP BY as their elements: `(a, b)` is no row there, but the two.
fn group_by_elements(select: &mut Select) {
    let GroupByExpr::Expressions(keys, _) = &mut select.group_by else {
        return;
    };
    let elements = |key: Expr| match key {
        Expr::Tuple(elements) => elements,
        other => vec![other],
    };
    // `GROUP BY ()` is one group.
    for key in keys.iter_mut() {
        if matches!(key, Expr::Tuple(elements) if elements.is_empty()) {
            *key = Expr::GroupingSets(vec![Vec::new()]);
        }
    }
    *keys = std::mem::take(keys).into_iter().flat_map(elements).collect();
    for key in keys {
        let (Expr::GroupingSets(sets) | Expr::Cube(sets) | Expr::Rollup(sets)) = key else {
            continue;
        };
        for set in sets.iter_mut() {
            *set = std::mem::take(set).into_iter().flat_map(elements).collect();
        }
        // DataFusion knows ROLLUP and CUBE of single columns, each once.
        let has_twins = (1..sets.len()).any(|at| sets[..at].contains(&sets[at]));
        if has_twins || sets.iter().any(|set| set.len() > 1) {
            let sets = std::mem::take(sets);
            *key = match key {
                Expr::Rollup(_) => {
                    Expr::GroupingSets((0..=sets.len()).rev().map(|n| sets[..n].concat()).collect())
                }
                Expr::Cube(_) if sets.len() <= CUBE_MAX => Expr::GroupingSets(cube(&sets)),
                Expr::Cube(_) => Expr::Cube(sets),
                _ => Expr::GroupingSets(sets),
            };
        }
        if let Expr::GroupingSets(sets) = key {
            sets.iter_mut().for_each(drop_twins);
        }
    }
}

/// Leaves of columns that stand in a set twice the first.
fn drop_twins(set: &mut Vec<Expr>) {
    let mut kept: Vec<Expr> = Vec::with_capacity(set.len());
    for expr in set.drain(..) {
        if !kept.contains(&expr) {
            kept.push(expr);
        }
    }
    *set = kept;
}

/// Elements of a CUBE in PostgreSQL.
const CUBE_MAX: usize = 12;

/// Returns the sets of a CUBE: all choices of its elements.
fn cube(elements: &[Vec<Expr>]) -> Vec<Vec<Expr>> {
    let chosen = |choice: usize| {
        let chosen = elements
            .iter()
            .enumerate()
            .filter(|(at, _)| choice & (1 << at) != 0);
        chosen.flat_map(|(_, element)| element.clone()).collect()
    };
    (0..1_usize << elements.len()).rev().map(chosen).collect()
}

/// Gives the subquery of `ANY (SELECT …)` or `ALL (SELECT …)` a name of its own: DataFusion compares
/// its column with the outer one by name, which fails where both are of one table.
fn named_subquery(right: &Expr) -> Option<Box<Expr>> {
    match right {
        Expr::Subquery(subquery) => Some(Box::new(Expr::Subquery(named(subquery)))),
        _ => None,
    }
}

/// Returns a comparison with the elements of an array as a call of a function, unless the array is a parameter.
fn quantified(left: &Expr, op: &BinaryOperator, right: &Expr, all: bool) -> Option<Expr> {
    let name = function_of(&op.to_string(), all).filter(|_| number_of(right).is_none())?;
    Some(call(name, vec![left.clone(), right.clone()]))
}

/// Returns how many comparisons with ANY or ALL of a subquery are in a query: those around it have more.
fn comparisons_within(query: &Query) -> usize {
    struct Comparisons(usize);
    impl Visitor for Comparisons {
        type Break = Infallible;

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Infallible> {
            if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr {
                self.0 += usize::from(matches!(right.as_ref(), Expr::Subquery(_)));
            }
            ControlFlow::Continue(())
        }
    }
    let mut comparisons = Comparisons(0);
    let ControlFlow::Continue(()) = query.walk(&mut comparisons);
    comparisons.0
}

/// Returns a query of all that another one gives, under a name of its own.
fn named(query: &Query) -> Box<Query> {
    let derived = TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query.clone()),
        alias: Some(TableAlias {
            explicit: true,
            name: Ident::with_quote('"', format!("compared{HIDDEN}{}", comparisons_within(query))),
            columns: Vec::new(),
            at: None,
        }),
        sample: None,
    };
    let from = TableWithJoins {
        relation: derived,
        joins: Vec::new(),
    };
    let all = SelectItem::Wildcard(WildcardAdditionalOptions::default());
    Box::new(select(vec![all], from, None))
}

/// Returns the error of a unit behind an INTERVAL that is none of its fields. PostgreSQL takes it for the name of a column, and the text for
/// seconds, which is hardly meant.
fn no_field(unit: &DateTimeField, value: &Expr) -> SqlError {
    let unit = unit.to_string().to_lowercase();
    let error = SqlError::syntax(format!("syntax error at or near \"{unit}\""));
    error.with_hint(match value {
        Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(text),
            ..
        }) => format!("Write INTERVAL '{text} {unit}'."),
        _ => "The unit belongs into the text.".to_string(),
    })
}

/// Writes `(a, b) OVERLAPS (c, d)` as a call.
///
/// # Errors
/// 42601 where a side is no row of two values.
fn overlaps(left: &Expr, right: &Expr) -> Result<Expr, SqlError> {
    let pair = |side: &Expr, place: &str| match row(side).as_deref() {
        Some([from, to]) => Ok([from.clone(), to.clone()]),
        _ => {
            let message = format!("wrong number of parameters on {place} side of OVERLAPS expression");
            Err(SqlError::syntax(message))
        }
    };
    Ok(call(
        "overlaps",
        [pair(left, "left")?, pair(right, "right")?].concat(),
    ))
}

fn expanded(expr: &Expr) -> Result<Option<Expr>, SqlError> {
    match expr {
        Expr::Interval(interval) => {
            let mut units = interval.leading_field.iter().chain(&interval.last_field);
            match units.find(|unit| !is_field(unit)) {
                Some(unit) => Err(no_field(unit, &interval.value)),
                None => Ok(None),
            }
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::PGStartsWith,
            right,
        } => {
            let arguments = vec![left.as_ref().clone(), right.as_ref().clone()];
            Ok(Some(call("starts_with", arguments)))
        }
        Expr::UnaryOp { op, expr } => Ok(match op {
            UnaryOperator::PGSquareRoot => Some(call(SQUARE_ROOT, vec![expr.as_ref().clone()])),
            UnaryOperator::PGCubeRoot => Some(call("cbrt", vec![expr.as_ref().clone()])),
            UnaryOperator::PGAbs => Some(call("abs", vec![expr.as_ref().clone()])),
            UnaryOperator::BitwiseNot => Some(call(BITWISE_NOT, vec![expr.as_ref().clone()])),
            _ => None,
        }),
        Expr::SimilarTo {
            negated,
            expr,
            pattern,
            escape_char,
        } => {
            if escape_char.is_none() && is_plain_pattern(pattern) {
                return Ok(Some(Expr::Like {
                    negated: *negated,
                    any: false,
                    expr: expr.clone(),
                    pattern: pattern.clone(),
                    escape_char: None,
                }));
            }
            let mut arguments = vec![pattern.as_ref().clone()];
            arguments.extend(escape_char.clone().map(Expr::Value));
            let pattern = call(SIMILAR_TO_ESCAPE, arguments);
            let op = match negated {
                false => BinaryOperator::PGRegexMatch,
                true => BinaryOperator::PGRegexNotMatch,
            };
            Ok(Some(nested(binary(expr, op, &pattern))))
        }
        Expr::AtTimeZone { timestamp, time_zone } => {
            let arguments = vec![time_zone.as_ref().clone(), timestamp.as_ref().clone()];
            Ok(Some(call(TIMEZONE, arguments)))
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::StringConcat,
            right,
        } => Ok(match (is_null(left), is_null(right)) {
            (false, true) => Some(call(BESIDE_NULL, vec![left.as_ref().clone()])),
            (true, false) => Some(call(BESIDE_NULL, vec![right.as_ref().clone()])),
            _ => None,
        }),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Overlaps,
            right,
        } => overlaps(left, right).map(Some),
        Expr::BinaryOp { left, op, right } => match (row(left), row(right), right.as_ref()) {
            (Some(left), Some(right), _) => compare(&left, op, &right),
            (Some(left), None, Expr::Subquery(query)) if is_comparison(op) => {
                compare(&left, op, &rows::fields(query, left.len())?)
            }
            _ => Ok(None),
        },
        Expr::Between {
            expr,
            negated,
            low,
            high,
        } => match (row(expr), row(low), row(high)) {
            (Some(expr), Some(low), Some(high)) => between(&expr, &low, &high, *negated),
            _ => Ok(None),
        },
        Expr::IsDistinctFrom(left, right) => match (row(left), row(right)) {
            (Some(left), Some(right)) => distinct(&left, &right).map(Some),
            _ => Ok(by_operator(left, IS_DISTINCT, right)),
        },
        Expr::IsNotDistinctFrom(left, right) => match (row(left), row(right)) {
            (Some(left), Some(right)) => Ok(Some(not(distinct(&left, &right)?))),
            _ => Ok(by_operator(left, IS_NOT_DISTINCT, right)),
        },
        Expr::CompoundFieldAccess { root, access_chain } => {
            Ok(bounded(root, access_chain).or_else(|| rows::dotted(root, access_chain)))
        }
        Expr::IsNull(inner) => Ok(row(inner).map(|row| each(&row, Expr::IsNull))),
        Expr::IsNotNull(inner) => Ok(row(inner).map(|row| each(&row, Expr::IsNotNull))),
        Expr::InList { expr, list, negated } => match row(expr) {
            Some(left) if !list.is_empty() => in_list(&left, list, *negated).map(Some),
            _ => Ok(None),
        },
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => Ok(rows::spelled(expr, subquery, *negated).or_else(|| {
            // DataFusion joins with the columns of SELECT only.
            let are_values = matches!(subquery.body.as_ref(), SetExpr::Values(_));
            are_values.then(|| Expr::InSubquery {
                expr: expr.clone(),
                subquery: named(subquery),
                negated: *negated,
            })
        })),
        Expr::Overlay {
            expr,
            overlay_what,
            overlay_from,
            overlay_for,
        } => {
            let mut arguments = vec![expr, overlay_what, overlay_from];
            arguments.extend(overlay_for);
            let arguments = arguments.into_iter().map(|argument| argument.as_ref().clone());
            Ok(Some(call("overlay", arguments.collect())))
        }
        Expr::Substring {
            expr,
            substring_from: Some(pattern),
            substring_for: None,
            shorthand: false,
            ..
        } if is_text(pattern) || parameter_of(pattern).is_some() => {
            let arguments = vec![expr.as_ref().clone(), pattern.as_ref().clone()];
            Ok(Some(call(SUBSTRING, arguments)))
        }
        Expr::Substring {
            expr,
            substring_from,
            substring_for,
            shorthand,
            ..
        } => {
            let first = || Expr::Value(Value::Number("1".to_string(), false).into());
            let from = substring_from.as_deref().cloned().unwrap_or_else(first);
            let mut arguments = vec![expr.as_ref().clone(), from];
            arguments.extend(substring_for.as_deref().cloned());
            let name = if *shorthand { "substr" } else { "substring" };
            Ok(Some(call(name, arguments)))
        }
        Expr::Extract { field, expr, .. } => {
            let field = match field {
                DateTimeField::Custom(name) => name.value.clone(),
                other => other.to_string(),
            };
            let field = Expr::Value(Value::SingleQuotedString(field).into());
            Ok(Some(call(EXTRACT, vec![field, expr.as_ref().clone()])))
        }
        Expr::Position { expr, r#in } => {
            let arguments = vec![r#in.as_ref().clone(), expr.as_ref().clone()];
            Ok(Some(call("position", arguments)))
        }
        Expr::Trim {
            expr,
            trim_where,
            trim_what,
            trim_characters,
        } => {
            let name = match trim_where {
                Some(TrimWhereField::Leading) => "ltrim",
                Some(TrimWhereField::Trailing) => "rtrim",
                Some(TrimWhereField::Both) | None => "btrim",
            };
            let mut arguments = vec![expr.as_ref().clone()];
            arguments.extend(trim_what.as_deref().cloned());
            arguments.extend(trim_characters.iter().flatten().cloned());
            Ok(Some(call(name, arguments)))
        }
        Expr::Function(function) => Ok(variadic::spelled(function)?
            .or_else(|| spelled::spelled(function))
            .or_else(|| remainder(function))),
        Expr::AnyOp {
            left,
            compare_op,
            right,
            is_some,
        } => Ok(named_subquery(right)
            .map(|right| Expr::AnyOp {
                left: left.clone(),
                compare_op: compare_op.clone(),
                right,
                is_some: *is_some,
            })
            .or_else(|| quantified(left, compare_op, right, false))),
        Expr::AllOp {
            left,
            compare_op,
            right,
        } => Ok(named_subquery(right)
            .map(|right| Expr::AllOp {
                left: left.clone(),
                compare_op: compare_op.clone(),
                right,
            })
            .or_else(|| quantified(left, compare_op, right, true))),
        _ => Ok(None),
    }
}

fn is_text(expr: &Expr) -> bool {
    let value = match expr {
        Expr::Value(value) => &value.value,
        _ => return false,
    };
    matches!(
        value,
        Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_) | Value::DollarQuotedString(_)
    )
}

fn is_null(expr: &Expr) -> bool {
    matches!(
        expr,
        Expr::Value(ValueWithSpan {
            value: Value::Null,
            ..
        })
    )
}

/// `mod(x, y)` is `x % y`.
fn remainder(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(left)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(right)),
        ] if name.value.eq_ignore_ascii_case("mod") => {
            let (left, right) = (nested(left.clone()), nested(right.clone()));
            Some(nested(binary(&left, BinaryOperator::Modulo, &right)))
        }
        _ => None,
    }
}

/// Whether a pattern of SIMILAR TO says the same to LIKE.
fn is_plain_pattern(pattern: &Expr) -> bool {
    let Expr::Value(ValueWithSpan {
        value: Value::SingleQuotedString(text),
        ..
    }) = pattern
    else {
        return false;
    };
    !text.contains(['|', '*', '+', '?', '{', '}', '(', ')', '[', ']', '\\'])
}

fn is_comparison(op: &BinaryOperator) -> bool {
    use BinaryOperator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq)
}

/// `x BETWEEN low AND high` is `x >= low AND x <= high`; NOT BETWEEN is `x < low OR x > high`.
fn between(row: &[Expr], low: &[Expr], high: &[Expr], negated: bool) -> Result<Option<Expr>, SqlError> {
    let (from, to, join): (_, _, fn(Expr, Expr) -> Expr) = match negated {
        false => (BinaryOperator::GtEq, BinaryOperator::LtEq, and),
        true => (BinaryOperator::Lt, BinaryOperator::Gt, or),
    };
    let (low, high) = (compare(row, &from, low)?, compare(row, &to, high)?);
    Ok(low.zip(high).map(|(low, high)| nested(join(low, high))))
}

fn distinct(left: &[Expr], right: &[Expr]) -> Result<Expr, SqlError> {
    check_lengths(left, right)?;
    let distinct = |(l, r): (&Expr, &Expr)| {
        Expr::IsDistinctFrom(Box::new(nested(l.clone())), Box::new(nested(r.clone())))
    };
    Ok(nested(join(
        left.iter().zip(right).map(distinct),
        BinaryOperator::Or,
    )))
}

/// A test that each element of a row passes.
fn each(row: &[Expr], test: fn(Box<Expr>) -> Expr) -> Expr {
    let tests = row.iter().map(|element| test(Box::new(nested(element.clone()))));
    nested(join(tests, BinaryOperator::And))
}

fn compare(left: &[Expr], op: &BinaryOperator, right: &[Expr]) -> Result<Option<Expr>, SqlError> {
    check_lengths(left, right)?;
    Ok(match op {
        BinaryOperator::Eq => Some(equal(left, right)),
        BinaryOperator::NotEq => Some(not(equal(left, right))),
        BinaryOperator::Lt | BinaryOperator::LtEq => {
            Some(lexicographic(left, BinaryOperator::Lt, op.clone(), right))
        }
        BinaryOperator::Gt | BinaryOperator::GtEq => {
            Some(lexicographic(left, BinaryOperator::Gt, op.clone(), right))
        }
        _ => None,
    })
}

fn check_lengths(left: &[Expr], right: &[Expr]) -> Result<(), SqlError> {
    match left.len() == right.len() && !left.is_empty() {
        true => Ok(()),
        false => Err(SqlError::syntax("unequal number of entries in row expressions")),
    }
}

fn equal(left: &[Expr], right: &[Expr]) -> Expr {
    let pairs = left
        .iter()
        .zip(right)
        .map(|(l, r)| binary(l, BinaryOperator::Eq, r));
    join(pairs, BinaryOperator::And)
}

/// `a > 1 OR (a = 1 AND (b > 2 OR (b = 2 AND c >= 3)))`
fn lexicographic(left: &[Expr], strict: BinaryOperator, last: BinaryOperator, right: &[Expr]) -> Expr {
    let end = left.len() - 1;
    let mut result = binary(&left[end], last, &right[end]);
    for i in (0..end).rev() {
        let tie = and(binary(&left[i], BinaryOperator::Eq, &right[i]), nested(result));
        result = or(binary(&left[i], strict.clone(), &right[i]), nested(tie));
    }
    nested(result)
}

fn in_list(left: &[Expr], list: &[Expr], negated: bool) -> Result<Expr, SqlError> {
    let mut arms = Vec::with_capacity(list.len());
    for element in list {
        let right =
            row(element).ok_or_else(|| SqlError::syntax("unequal number of entries in row expressions"))?;
        check_lengths(left, &right)?;
        arms.push(nested(equal(left, &right)));
    }
    let any = nested(join_balanced(arms));
    Ok(match negated {
        false => any,
        true => Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(any),
        },
    })
}

/// Joins many arms by OR as a balanced tree, so that its depth stays small.
fn join_balanced(mut arms: Vec<Expr>) -> Expr {
    match arms.len() {
        0 => Expr::Value(Value::Boolean(false).into()),
        1 => arms.remove(0),
        n => {
            let right = arms.split_off(n / 2);
            or(nested(join_balanced(arms)), nested(join_balanced(right)))
        }
    }
}

/// Refuses what DataFusion would silently ignore.
pub(crate) fn check_supported(query: &Query) -> Result<(), SqlError> {
    match query.walk(&mut Checker) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Checker;

impl Visitor for Checker {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<SqlError> {
        match query.locks.is_empty() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(SqlError::unsupported(
                "FOR UPDATE and FOR SHARE are not supported here",
            )),
        }
    }
}

/// Returns whether a part of a query calls a function whose value changes from one run to the next: the optimiser
/// replaces these by constants, so a plan that has them must not be kept.
pub(crate) fn uses_clock(part: &impl Walk) -> bool {
    part.walk(&mut ClockFinder).is_break()
}

struct ClockFinder;

impl Visitor for ClockFinder {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        const CLOCKS: [&str; 13] = [
            "now",
            "current_date",
            "current_time",
            "current_timestamp",
            "today",
            "random",
            "uuid",
            "localtime",
            "localtimestamp",
            "transaction_timestamp",
            "statement_timestamp",
            "gen_random_uuid",
            "uuid_generate_v4",
        ];
        if let Expr::Value(value) = expr
            && let Value::SingleQuotedString(text) = &value.value
            && moment_words::depends_on_now(text)
        {
            return ControlFlow::Break(());
        }
        if let Expr::TypedString(typed) = expr
            && let Value::SingleQuotedString(text) = &typed.value.value
            && moment_words::depends_on_now(text)
        {
            return ControlFlow::Break(());
        }
        match expr {
            Expr::Function(call) if CLOCKS.contains(&call.name.to_string().to_lowercase().as_str()) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::spelling::parsing::parse_expression;

    fn check(written: &str, expected: &str) {
        let mut expr = parse_expression(written).expect("the expression parses");
        let expanded = rewrite(&mut expr).map(|()| expr.to_string());
        assert_eq!(
            expanded.unwrap_or_else(|error| error.message),
            expected,
            "{written}"
        );
    }

    #[test]
    fn row_values_are_spelled_out() {
        check("(a, b) = (1, 2)", "a = 1 AND b = 2");
        check("(a, b) <> (1, 2)", "NOT (a = 1 AND b = 2)");
        check("(a, b) > (1, 2)", "(a > 1 OR (a = 1 AND (b > 2)))");
        check("(a, b) <= (1, 2)", "(a < 1 OR (a = 1 AND (b <= 2)))");
        check(
            "(a, b) IN ((1, 2), (3, 4))",
            "((a = 1 AND b = 2) OR (a = 3 AND b = 4))",
        );
        check("(a, b) NOT IN ((1, 2))", "NOT (a = 1 AND b = 2)");
        check("ROW(a, b) = (1, 2)", "a = 1 AND b = 2");
        check("ROW(a, b) IN (ROW(1, 2))", "(a = 1 AND b = 2)");
        check(
            "(a, b) BETWEEN (1, 2) AND ROW(3, 4)",
            "((a > 1 OR (a = 1 AND (b >= 2))) AND (a < 3 OR (a = 3 AND (b <= 4))))",
        );
        check(
            "(a, b) NOT BETWEEN (1, 2) AND (3, 4)",
            "((a < 1 OR (a = 1 AND (b < 2))) OR (a > 3 OR (a = 3 AND (b > 4))))",
        );
        check(
            "(a, b) IS DISTINCT FROM (1, 2)",
            "(a IS DISTINCT FROM 1 OR b IS DISTINCT FROM 2)",
        );
        check("ROW(a, b) IS NULL", "(a IS NULL AND b IS NULL)");
        check(
            "(a, b) BETWEEN (1, 2) AND (3, 4, 5)",
            "unequal number of entries in row expressions",
        );
        check(
            "(a, b) = (1, 2, 3)",
            "unequal number of entries in row expressions",
        );
        check("(a + 1) > 2", "(a + 1) > 2");
        check("a ^@ 'x'", "starts_with(a, 'x')");
        check("a SIMILAR TO 'x%'", "a LIKE 'x%'");
        check("a SIMILAR TO 'x+'", "(a ~ (similar_to_escape('x+')))");
        check("a AT TIME ZONE 'UTC'", "timezone('UTC', a)");
        check(
            "a NOT SIMILAR TO 'x%' ESCAPE '#'",
            "(a !~ (similar_to_escape('x%', '#')))",
        );
        check(
            "a BETWEEN SYMMETRIC 2 AND 1",
            "(a BETWEEN 2 AND 1 OR a BETWEEN 1 AND 2)",
        );
        check("a NOT BETWEEN ASYMMETRIC 2 AND 1", "a NOT BETWEEN 2 AND 1");
    }
}
