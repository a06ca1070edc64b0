//! Intervals, documents and rows compare, sort and group as in PostgreSQL: intervals by one number, to which a month is 30 days and a
//! day 24 hours, documents by [`jsonb_order`], rows by [`record_order`].
//!
//! Arrow compares months, then days, then time, and finds `30 days` less than `1 mon`; of documents it compares the stored form; and it
//! puts NULLs within rows where NULL itself is. Here what compares them compares [`interval_order`], [`jsonb_order`] or [`record_order`]
//! of them. Rows sort by themselves where NULL is behind all values, as keys have them, and group by themselves.
//!
//! | written                            | becomes, `#i` being `interval_order(i)`, …                      |
//! |------------------------------------|-----------------------------------------------------------------|
//! | `i < j`, `i IN (…)`, `i BETWEEN …`, `i > ANY (SELECT …)` | `#i < #j`, …                               |
//! | `CASE i WHEN j …`, `nullif(i, j)`   | by `#i = #j`                                                    |
//! | `greatest(i, j)`                    | `CASE WHEN j IS NULL OR #i >= #j THEN i ELSE j END`             |
//! | `ORDER BY i`, in windows and calls, too | `ORDER BY #i`                                               |
//! | `GROUP BY i`, grouping sets too     | `GROUP BY #i`, and `first_value(i)` where it is shown           |
//! | `SELECT DISTINCT i`                 | `GROUP BY i`                                                    |
//! | joins by `i = j`, set operations    | by `#i = #j`                                                    |
//! | `ORDER BY i RANGE j PRECEDING`      | `ORDER BY #i RANGE #j PRECEDING`                                |
//!
//! Deliberately not here: `min` and `max`, which compare by themselves; DISTINCT in aggregates that show them, which is refused.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, IntervalUnit};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_aggregate::first_last::first_value_udaf;
use datafusion::functions_aggregate::grouping::grouping_udaf;
use datafusion::logical_expr::expr::{
    AggregateFunction, Case, GroupingSet, InList, InSubquery, ScalarFunction, SetComparison, Sort as SortKey,
    WindowFunction,
};
use datafusion::logical_expr::logical_plan::{Aggregate, Distinct, DistinctOn, Join, Projection, Subquery};
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, JoinConstraint, LogicalPlan, Operator, WindowFrameBound,
    WindowFrameUnits, lit, when,
};
use rukh_error::SqlError;
use rukh_functions::forms::intervals::INTERVAL;
use rukh_functions::functions::json::order::jsonb_order;
use rukh_functions::functions::lists::record_order::record_order;
use rukh_functions::functions::times::interval_order::{interval_order, number_of};
use rukh_syntax::HIDDEN;
use rukh_walk::Tree;

use crate::bind::types::coercions::converted;
use crate::bind::types::records;

/// Whether equal values of a type may differ to Arrow, so that they are not grouped by themselves.
pub(crate) fn is_apart(ty: &ArrowType) -> bool {
    match ty {
        ArrowType::Interval(_) | ArrowType::LargeBinary => true,
        ArrowType::Struct(fields) => fields.iter().any(|field| is_apart(field.data_type())),
        _ => false,
    }
}

/// Whether values of a type have an order of their own.
fn is_ordered_apart(ty: &ArrowType) -> bool {
    is_apart(ty) || is_row(ty)
}

fn is_row(ty: &ArrowType) -> bool {
    matches!(ty, ArrowType::Struct(_))
}

/// Whether `greatest` of values of a type is spelled out: that of DataFusion has NULL elements of arrays before all others.
fn is_spelled_out(ty: &ArrowType) -> bool {
    is_ordered_apart(ty) || ty.is_list()
}

fn has_own_order(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|ty| is_ordered_apart(&ty))
}

fn groups_apart(expr: &Expr, schema: &DFSchema) -> bool {
    expr.get_type(schema).is_ok_and(|ty| is_apart(&ty))
}

/// Returns what an expression compares by, or the expression if its values have no order of their own.
fn number(expr: Expr, schema: &DFSchema) -> Expr {
    let own = |ty: ArrowType| {
        let of_value = interval_order(&expr, &ty).or_else(|| jsonb_order(&expr, &ty));
        of_value.or_else(|| record_order(&expr, &ty))
    };
    expr.get_type(schema).ok().and_then(own).unwrap_or(expr)
}

/// Returns what an expression groups by: rows group by themselves.
fn group_key(expr: Expr, schema: &DFSchema) -> Expr {
    match groups_apart(&expr, schema) {
        true => number(expr, schema),
        false => expr,
    }
}

fn refused<T>(what: &str) -> DataFusionResult<T> {
    let error = SqlError::unsupported(format!("{what} intervals or documents is not supported"));
    Err(DataFusionError::External(Box::new(error)))
}

/// Lets an expression compare intervals as above.
pub(crate) fn compared(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let boxed = |expr: Box<Expr>| Box::new(number(*expr, schema));
    let changed = match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if compares(op) && (groups_apart(&left, schema) || groups_apart(&right, schema)) =>
        {
            let (left, right) = (boxed(left), boxed(right));
            Expr::BinaryExpr(BinaryExpr { left, op, right })
        }
        Expr::Between(between) if groups_apart(&between.expr, schema) => Expr::Between(Between {
            expr: boxed(between.expr),
            negated: between.negated,
            low: boxed(between.low),
            high: boxed(between.high),
        }),
        Expr::InList(InList { expr, list, negated }) if groups_apart(&expr, schema) => {
            let list = list.into_iter().map(|element| number(element, schema)).collect();
            let expr = boxed(expr);
            Expr::InList(InList { expr, list, negated })
        }
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) if in_own_order(&expr, &subquery, schema)? => Expr::InSubquery(InSubquery {
            expr: boxed(expr),
            subquery: numbers_of(subquery)?,
            negated,
        }),
        Expr::SetComparison(SetComparison {
            expr,
            subquery,
            op,
            quantifier,
        }) if in_own_order(&expr, &subquery, schema)? => Expr::SetComparison(SetComparison {
            expr: boxed(expr),
            subquery: numbers_of(subquery)?,
            op,
            quantifier,
        }),
        Expr::Case(Case {
            expr: Some(operand),
            when_then_expr,
            else_expr,
        }) if has_own_order(&operand, schema) => Expr::Case(Case {
            expr: Some(boxed(operand)),
            when_then_expr: when_then_expr
                .into_iter()
                .map(|(value, then)| (boxed(value), then))
                .collect(),
            else_expr,
        }),
        Expr::ScalarFunction(call)
            if matches!(call.func.name(), "nullif" | "greatest" | "least")
                && call
                    .args
                    .iter()
                    .any(|arg| arg.get_type(schema).is_ok_and(|ty| is_spelled_out(&ty))) =>
        {
            chosen(call, schema)?
        }
        Expr::WindowFunction(function) => return in_window(function, schema),
        Expr::AggregateFunction(call) => return in_aggregate(call, schema),
        other => return Ok(Transformed::no(other)),
    };
    Ok(Transformed::yes(changed))
}

/// Whether an operator compares two values.
pub(crate) fn compares(op: Operator) -> bool {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    matches!(
        op,
        Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom
    )
}

/// Whether an expression, and the column of a subquery, have an order of their own.
fn in_own_order(expr: &Expr, subquery: &Subquery, schema: &DFSchema) -> DataFusionResult<bool> {
    let given = subquery.subquery.schema().field(0);
    records::check_beside_subquery(expr.to_field(schema)?.1.as_ref(), given)?;
    Ok(has_own_order(expr, schema))
}

/// Returns a subquery of intervals as one of their numbers.
fn numbers_of(subquery: Subquery) -> DataFusionResult<Subquery> {
    let schema = subquery.subquery.schema().clone();
    let columns = schema.columns().into_iter();
    let numbers = columns.map(|column| {
        // What the columns below are called would be taken for them: DataFusion looks for the names of both.
        let name = format!("{}{HIDDEN}ordered", column.name);
        number(Expr::Column(column), &schema).alias(name)
    });
    let plan = Projection::try_new(numbers.collect(), subquery.subquery.clone())?;
    Ok(subquery.with_plan(Arc::new(LogicalPlan::Projection(plan))))
}

/// Spells out `nullif`, `greatest` and `least`.
fn chosen(call: ScalarFunction, schema: &DFSchema) -> DataFusionResult<Expr> {
    /// Each further value doubles the expression.
    const VALUES_MAX: usize = 8;
    if call.args.len() > VALUES_MAX {
        return refused(&format!("{} of more than {VALUES_MAX}", call.func.name()));
    }
    let as_number = |expr: &Expr| number(expr.clone(), schema);
    let mut types = call.args.iter().filter_map(|value| value.get_type(schema).ok());
    let ty = types.find(is_spelled_out).unwrap_or(INTERVAL);
    let value = |value| converted(value, &ty, schema);
    let values: Vec<Expr> = call
        .args
        .into_iter()
        .map(value)
        .collect::<DataFusionResult<_>>()?;
    let mut values = values.into_iter();
    let Some(mut result) = values.next() else {
        return refused(call.func.name());
    };
    for value in values {
        let (one, other) = (as_number(&result), as_number(&value));
        result = match call.func.name() {
            "nullif" => {
                let null = Expr::Literal(ScalarValue::try_from(&ty)?, None);
                when(one.eq(other), null).otherwise(result)?
            }
            "greatest" => when(value.clone().is_null().or(one.gt_eq(other)), result).otherwise(value)?,
            _ => when(value.clone().is_null().or(one.lt_eq(other)), result).otherwise(value)?,
        };
    }
    Ok(result)
}

/// Returns sort keys by numbers, and whether any has changed.
fn ordered(keys: Vec<SortKey>, schema: &DFSchema) -> (Vec<SortKey>, bool) {
    let is_changed = keys.iter().any(|key| sorts_apart(key, schema));
    let mut ordered = Vec::with_capacity(keys.len());
    for mut key in keys {
        if sorts_apart(&key, schema) {
            let numbered = number(key.expr.clone(), schema);
            if numbered == key.expr {
                ordered.push(key.expr.clone().is_null().sort(!key.nulls_first, false));
                key.nulls_first = !key.nulls_first;
            }
            key.expr = numbered;
        }
        ordered.push(key);
    }
    (ordered, is_changed)
}

/// Whether a sort key is not of Arrow's order, which has NULLs within arrays and rows where NULL itself is: they are behind all others.
fn sorts_apart(key: &SortKey, schema: &DFSchema) -> bool {
    let has_nulls_apart = |ty: &ArrowType| key.nulls_first == key.asc && (ty.is_list() || is_row(ty));
    let ty = key.expr.get_type(schema);
    ty.is_ok_and(|ty| is_apart(&ty) || has_nulls_apart(&ty))
}

fn in_window(mut function: Box<WindowFunction>, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let params = &mut function.params;
    // Frames compare the values of one key, and have no comparison of rows.
    let is_concerned = params.partition_by.iter().any(|expr| has_own_order(expr, schema))
        || params
            .order_by
            .iter()
            .any(|key| sorts_apart(key, schema) || has_own_order(&key.expr, schema));
    if !is_concerned {
        return Ok(Transformed::no(Expr::WindowFunction(function)));
    }
    let partitions = std::mem::take(&mut params.partition_by).into_iter();
    params.partition_by = partitions.map(|expr| number(expr, schema)).collect();
    let mut keys = std::mem::take(&mut params.order_by);
    for key in &mut keys {
        let is_of_rows = key.expr.get_type(schema).is_ok_and(|ty| is_row(&ty));
        if is_of_rows {
            key.expr = number(key.expr.clone(), schema);
        }
    }
    let (order, is_changed) = ordered(keys, schema);
    params.order_by = order;
    let frame = &mut params.window_frame;
    if is_changed && frame.units == WindowFrameUnits::Range {
        offset_by_number(&mut frame.start_bound)?;
        offset_by_number(&mut frame.end_bound)?;
    }
    Ok(Transformed::yes(Expr::WindowFunction(function)))
}

/// Makes a number of the offset of a RANGE frame, as of what it is added to.
fn offset_by_number(bound: &mut WindowFrameBound) -> DataFusionResult<()> {
    let (WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by)) = bound else {
        return Ok(());
    };
    if !by.is_null() {
        let interval = by.cast_to(&ArrowType::Interval(IntervalUnit::MonthDayNano))?;
        if let ScalarValue::IntervalMonthDayNano(Some(interval)) = interval {
            *by = number_of(interval);
        }
    }
    Ok(())
}

fn in_aggregate(mut call: AggregateFunction, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let (order, mut is_changed) = ordered(std::mem::take(&mut call.params.order_by), schema);
    call.params.order_by = order;
    if call.params.distinct {
        let args = &mut call.params.args;
        match call.func.name() {
            "count" if args.iter().any(|arg| has_own_order(arg, schema)) => {
                let numbers = std::mem::take(args).into_iter();
                *args = numbers.map(|arg| number(arg, schema)).collect();
                is_changed = true;
            }
            "count" | "min" | "max" => {}
            name if args.iter().any(|arg| groups_apart(arg, schema)) => {
                return refused(&format!("{name}(DISTINCT …) of"));
            }
            _ => {}
        }
    }
    Ok(Transformed::new_transformed(
        Expr::AggregateFunction(call),
        is_changed,
    ))
}

/// Lets a node sort, group and join by the numbers of intervals.
pub(crate) fn of_node(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    let has_any = |plan: &LogicalPlan| {
        let mut fields = plan.schema().fields().iter();
        fields.any(|field| is_apart(field.data_type()) || *field.data_type() == ArrowType::LargeUtf8)
    };
    match node {
        LogicalPlan::Sort(mut sort) => {
            check_no_json(
                sort.expr.iter().map(|key| &key.expr),
                sort.input.schema(),
                "ordering",
            )?;
            let (expr, is_changed) = ordered(sort.expr, sort.input.schema());
            sort.expr = expr;
            Ok(Transformed::new_transformed(LogicalPlan::Sort(sort), is_changed))
        }
        LogicalPlan::Aggregate(aggregate) => grouped(aggregate),
        LogicalPlan::Distinct(Distinct::All(input)) if has_any(&input) => {
            let columns = input.schema().columns().into_iter().map(Expr::Column);
            grouped(Aggregate::try_new(input.clone(), columns.collect(), Vec::new())?)
        }
        LogicalPlan::Distinct(Distinct::On(distinct)) => first_of_each(distinct),
        LogicalPlan::Join(join) => joined(join),
        other => Ok(Transformed::no(other)),
    }
}

/// Fails with 42883 if values are JSON, which have no order and are not compared.
fn check_no_json<'e>(
    mut exprs: impl Iterator<Item = &'e Expr>,
    schema: &DFSchema,
    operator: &str,
) -> DataFusionResult<()> {
    if !exprs.any(|expr| expr.get_type(schema).is_ok_and(|ty| ty == ArrowType::LargeUtf8)) {
        return Ok(());
    }
    let message = format!("could not identify an {operator} operator for type json");
    let error = SqlError::statement("42883", message);
    Err(DataFusionError::External(Box::new(match operator {
        "ordering" => error.with_hint("Use an explicit ordering operator or modify the query."),
        _ => error,
    })))
}

fn grouped(mut aggregate: Aggregate) -> DataFusionResult<Transformed<LogicalPlan>> {
    let schema = aggregate.input.schema().clone();
    check_no_json(aggregate.group_expr.iter(), &schema, "equality")?;
    let is_apart = |expr: &Expr| groups_apart(expr, &schema);
    let of_sets = match aggregate.group_expr.as_slice() {
        [Expr::GroupingSet(sets)] => Some(sets.clone()),
        _ => None,
    };
    let keys: Vec<Expr> = match &of_sets {
        Some(sets) => sets.distinct_expr().into_iter().cloned().collect(),
        None => std::mem::take(&mut aggregate.group_expr),
    };
    if !keys.iter().any(is_apart) {
        if of_sets.is_none() {
            aggregate.group_expr = keys;
        }
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let shown = aggregate.schema.clone();
    let calls = aggregate.aggr_expr.into_iter();
    let mut calls: Vec<Expr> = calls
        .map(|call| of_numbers(call, &schema))
        .collect::<DataFusionResult<_>>()?;
    let (groups, count) = (keys.len(), calls.len());
    let named = |what: &str, at: usize| format!("{what}{}{at}", HIDDEN);
    for (at, key) in keys.iter().enumerate().filter(|(_, key)| is_apart(key)) {
        let first = first_value_udaf().call(vec![key.clone()]);
        calls.push(first.alias(named("first", at)));
        if of_sets.is_some() {
            let is_absent = grouping_udaf().call(vec![group_key(key.clone(), &schema)]);
            calls.push(is_absent.alias(named("absent", at)));
        }
    }
    let group_expr = match of_sets {
        Some(sets) => vec![Expr::GroupingSet(of_set_numbers(sets, &schema))],
        None => keys.iter().map(|key| group_key(key.clone(), &schema)).collect(),
    };
    let aggregate = LogicalPlan::Aggregate(Aggregate::try_new(aggregate.input, group_expr, calls)?);
    // Between keys and calls there may be the number of the grouping set.
    let columns = aggregate.schema().columns();
    let first_call = shown.fields().len() - count;
    let value = |at: usize| -> DataFusionResult<Expr> {
        let column = |what| Expr::Column(Column::new_unqualified(named(what, at)));
        match at {
            at if at >= groups => Ok(Expr::Column(columns[first_call + at - groups].clone())),
            at if !is_apart(&keys[at]) => Ok(Expr::Column(columns[at].clone())),
            _ if columns.contains(&Column::new_unqualified(named("absent", at))) => {
                when(column("absent").eq(lit(0_i32)), column("first")).end()
            }
            _ => Ok(column("first")),
        }
    };
    let fields = shown.iter().enumerate();
    let fields = fields.filter(|(at, _)| *at < groups || *at >= first_call);
    let exprs = fields.enumerate().map(|(at, (_, (relation, field)))| {
        let value = value(at)?;
        let is_named = matches!(&value, Expr::Column(column)
            if column.relation.as_ref() == relation && column.name == *field.name());
        Ok(match is_named {
            true => value,
            false => value.alias_qualified(relation.cloned(), field.name()),
        })
    });
    let exprs = exprs.collect::<DataFusionResult<_>>()?;
    let projection = Projection::try_new(exprs, Arc::new(aggregate))?;
    Ok(Transformed::yes(LogicalPlan::Projection(projection)))
}

/// Has GROUPING name the keys by which groups are made.
fn of_numbers(call: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let changed = call.turn_down(&mut |part| match part {
        Expr::AggregateFunction(mut call) if call.func.name() == "grouping" => {
            let args = std::mem::take(&mut call.params.args).into_iter();
            call.params.args = args.map(|arg| group_key(arg, schema)).collect();
            let call = Expr::AggregateFunction(call);
            Ok(Transformed::new(call, true, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(changed.data)
}

fn of_set_numbers(sets: GroupingSet, schema: &DFSchema) -> GroupingSet {
    let numbers = |keys: Vec<Expr>| keys.into_iter().map(|key| group_key(key, schema)).collect();
    match sets {
        GroupingSet::Rollup(keys) => GroupingSet::Rollup(numbers(keys)),
        GroupingSet::Cube(keys) => GroupingSet::Cube(numbers(keys)),
        GroupingSet::GroupingSets(sets) => GroupingSet::GroupingSets(sets.into_iter().map(numbers).collect()),
    }
}

fn first_of_each(distinct: DistinctOn) -> DataFusionResult<Transformed<LogicalPlan>> {
    let schema = distinct.input.schema().clone();
    let sorts = |key: &SortKey| sorts_apart(key, &schema);
    let is_sorted_apart = distinct
        .sort_expr
        .as_ref()
        .is_some_and(|keys| keys.iter().any(sorts));
    if !is_sorted_apart && !distinct.on_expr.iter().any(|expr| groups_apart(expr, &schema)) {
        return Ok(Transformed::no(LogicalPlan::Distinct(Distinct::On(distinct))));
    }
    // Where there is an order, its first keys are those of ON.
    let (on, order) = match distinct.sort_expr {
        Some(mut keys) => {
            let rest = keys.split_off(distinct.on_expr.len().min(keys.len()));
            let (mut keys, rest) = (ordered(keys, &schema).0, ordered(rest, &schema).0);
            let on = keys.iter().map(|key| key.expr.clone()).collect();
            keys.extend(rest);
            (on, Some(keys))
        }
        None => {
            let on = distinct.on_expr.into_iter();
            (on.map(|expr| number(expr, &schema)).collect(), None)
        }
    };
    let distinct = DistinctOn::try_new(on, distinct.select_expr, order, distinct.input)?;
    Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::On(distinct))))
}

fn joined(join: Join) -> DataFusionResult<Transformed<LogicalPlan>> {
    let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
    if !join.on.iter().any(|(one, _)| has_own_order(one, &left)) {
        return Ok(Transformed::no(LogicalPlan::Join(join)));
    }
    let pairs = join.on.into_iter();
    let on = pairs.map(|(one, other)| (number(one, &left), number(other, &right)));
    Ok(Transformed::yes(LogicalPlan::Join(Join {
        on: on.collect(),
        join_constraint: JoinConstraint::On,
        ..join
    })))
}
