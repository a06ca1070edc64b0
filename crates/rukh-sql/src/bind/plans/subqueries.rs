//! Correlated subqueries that stand for one value, as PostgreSQL has them.
//!
//! DataFusion makes joins of correlated subqueries, and takes those only that are aggregates, so that a row never
//! joins with several. Others become aggregates here:
//!
//! | subquery                                     | becomes                                      |
//! |----------------------------------------------|----------------------------------------------|
//! | `(SELECT x FROM s WHERE s.k = t.k)`            | `only_value((SELECT value_and_many(x) …))`    |
//! | `(SELECT x FROM s WHERE … ORDER BY y LIMIT 1)` | `(SELECT first_value(x ORDER BY y) FROM s …)` |
//!
//! | `EXISTS (SELECT … FROM s …)` in a select list    | `(SELECT count(*) > 0 FROM s …)`              |
//! | `x IN (SELECT c FROM s …)` in a select list      | CASE of such counts                          |
//!
//! What gives one row always, an aggregate of no groups, is no list: DataFusion would find no row where there is nothing to aggregate.
//!
//! | `x IN (SELECT max(c) FROM s WHERE s.k = t.k)`  | `x = (SELECT max(c) …)`; ANY and ALL alike    |
//! | `EXISTS (SELECT max(c) FROM s WHERE s.k = t.k)` | true; with HAVING, whether that is            |
//!
//! The aggregate is computed for all keys of `s`, also for those that no row asks for. That there are several
//! rows is an error only where the value is used, and therefore up to the function outside.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StructArray};
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Fields};
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, ScalarValue};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::functions_aggregate::count::count;
use datafusion::functions_aggregate::first_last::first_value;
use datafusion::logical_expr::expr::{Exists, InSubquery, SetComparison, SetQuantifier, Sort as SortKey};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::logical_plan::{FetchType, Limit, Projection, SkipType};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, BinaryExpr, ColumnarValue, Expr, LogicalPlan,
    LogicalPlanBuilder, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Subquery, Volatility, binary_expr, lit, not, when,
};

use crate::bind::plans::once::{is_volatile, kept_rows};
use crate::bind::plans::outer_columns::{free_columns, query_of};
use crate::bind::types::bound_operators::is_open;
use crate::bind::types::coercions::beside_subquery;
use crate::bind::types::records::is_missing;
use crate::bind::types::typed_casts::literal_text;
use rukh_functions::functions::numbers::arithmetic::operator_of;

use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_walk::{PlanTree, Tree};

/// Makes aggregates of correlated subqueries that are none.
pub(crate) fn single_values(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let mut draws = 0;
    let mut computed = 0;
    let plan = plan
        .turn_all_up(&mut |node| {
            let names = NamePreserver::new(&node);
            node.turn_expressions(&mut |expr| {
                let name = names.save(&expr);
                let expr = expr.turn_up(&mut of_only_row)?;
                Ok(expr.update_data(|expr| name.restore(expr)))
            })
        })?
        .data;
    let plan = plan
        .turn_all_up(&mut |node| computed_before(node, &mut computed))?
        .data;
    let plan = plan.turn_all_up(&mut |node| {
        let names = NamePreserver::new(&node);
        let is_value = matches!(node, LogicalPlan::Projection(_));
        let chooses = matches!(node, LogicalPlan::Filter(_));
        let joins = matches!(node, LogicalPlan::Join(_));
        let schema = merge_schema(&node.inputs());
        node.turn_expressions(&mut |expr| {
            let name = names.save(&expr);
            let expr = match (chooses, joins) {
                (true, _) => Transformed::no(chosen(expr, &schema, Place::Conjunct)?),
                (false, true) => Transformed::no(constants_chosen(expr, &schema)?),
                (false, false) => Transformed::no(expr),
            };
            let single = expr.transform_data(|expr| {
                expr.turn_up(&mut |part| match is_value {
                    true => counted(part, &schema)?.transform_data(single_value),
                    false => single_value(part),
                })
            })?;
            let single =
                single.transform_data(|expr| expr.turn_up(&mut |part| drawn_apart(part, &mut draws)))?;
            let single = single.transform_data(|expr| match chooses {
                true => conjuncts_or_null(expr),
                false => expr.turn_up(&mut or_null),
            })?;
            Ok(single.update_data(|expr| name.restore(expr)))
        })
    })?;
    Ok(plan.data)
}

/// Makes a value of a list that is one row always, of columns outside.
fn of_only_row(expr: Expr) -> DataFusionResult<Transformed<Expr>> {
    let is_outer = |query: &Subquery| !query.outer_ref_columns.is_empty();
    let is_only = |query: &Subquery| {
        is_outer(query) && query.subquery.schema().fields().len() == 1 && has_certain_row(&query.subquery)
    };
    Ok(Transformed::yes(match expr {
        Expr::Exists(exists) if is_outer(&exists.subquery) && has_certain_row(&exists.subquery.subquery) => {
            lit(!exists.negated)
        }
        Expr::Exists(exists) if is_outer(&exists.subquery) => match having(&exists.subquery.subquery)? {
            Some(condition) => {
                let is_true = with_plan(exists.subquery, condition).is_true();
                if exists.negated { not(is_true) } else { is_true }
            }
            None => return Ok(Transformed::no(Expr::Exists(exists))),
        },
        Expr::InSubquery(list) if is_only(&list.subquery) => {
            let is_equal = (*list.expr).eq(Expr::ScalarSubquery(list.subquery));
            if list.negated { not(is_equal) } else { is_equal }
        }
        Expr::SetComparison(comparison) if is_only(&comparison.subquery) => {
            let value = Expr::ScalarSubquery(comparison.subquery);
            binary_expr(*comparison.expr, comparison.op, value)
        }
        Expr::InSubquery(list) if is_outer(&list.subquery) => match having(&list.subquery.subquery)? {
            Some(condition) => {
                let value = without_having(&list.subquery.subquery)?;
                let is_there = with_plan(list.subquery.clone(), condition).is_true();
                let is_equal = (*list.expr).eq(with_plan(list.subquery, value));
                let found = when(is_there, is_equal).otherwise(lit(false))?;
                if list.negated { not(found) } else { found }
            }
            None => return Ok(Transformed::no(Expr::InSubquery(list))),
        },
        other => return Ok(Transformed::no(other)),
    }))
}

/// Returns an aggregate without its HAVING.
fn without_having(plan: &LogicalPlan) -> DataFusionResult<LogicalPlan> {
    match plan {
        LogicalPlan::Projection(projection) => LogicalPlanBuilder::from(without_having(&projection.input)?)
            .project(projection.expr.clone())?
            .build(),
        LogicalPlan::Filter(filter) => Ok(filter.input.as_ref().clone()),
        other => Ok(other.clone()),
    }
}

/// Returns the HAVING of an aggregate of no groups as a query of its own; `None` of other queries.
fn having(plan: &LogicalPlan) -> DataFusionResult<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Projection(projection) => having(&projection.input),
        LogicalPlan::Filter(filter) if has_certain_row(&filter.input) => {
            let plan = LogicalPlanBuilder::from(filter.input.as_ref().clone());
            let condition = filter.predicate.clone().alias(format!("having{HIDDEN}"));
            plan.project(vec![condition])?.build().map(Some)
        }
        _ => Ok(None),
    }
}

/// Says of a subquery that stands for a value that it may have none, which DataFusion asks of its column alone:
/// `(SELECT id FROM t WHERE id = 99) IS NULL` was false for a column that is NOT NULL.
fn or_null(expr: Expr) -> DataFusionResult<Transformed<Expr>> {
    match expr {
        Expr::ScalarSubquery(query)
            if !query.subquery.schema().field(0).is_nullable() && !has_certain_row(&query.subquery) =>
        {
            let value = ScalarUDF::from(OrNull::default()).call(vec![Expr::ScalarSubquery(query)]);
            Ok(Transformed::yes(value))
        }
        other => Ok(Transformed::no(other)),
    }
}

/// As [`or_null`], for a condition. Subqueries that conjuncts compare with stay: no row passes by NULL, and scans take
/// their values for ranges.
fn conjuncts_or_null(condition: Expr) -> DataFusionResult<Transformed<Expr>> {
    let is_value = |expr: &Expr| matches!(expr, Expr::ScalarSubquery(_));
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op == Operator::And => {
            let (left, right) = (conjuncts_or_null(*left)?, conjuncts_or_null(*right)?);
            let is_changed = left.transformed || right.transformed;
            let both = binary_expr(left.data, op, right.data);
            Ok(Transformed::new_transformed(both, is_changed))
        }
        Expr::BinaryExpr(BinaryExpr {
            ref left,
            op,
            ref right,
        }) if op.supports_propagation() && (is_value(left) != is_value(right)) => {
            condition.turn_children(&mut |side| match is_value(&side) {
                true => Ok(Transformed::no(side)),
                false => side.turn_up(&mut or_null),
            })
        }
        other => other.turn_up(&mut or_null),
    }
}

/// Adds the columns that subqueries of ORDER BY read to a select list that does not give them.
fn with_columns_read(input: LogicalPlan, values: &[Expr]) -> DataFusionResult<LogicalPlan> {
    let LogicalPlan::Projection(projection) = &input else {
        return Ok(input);
    };
    let mut missing: Vec<Column> = Vec::new();
    for value in values {
        value.each(&mut |part| {
            if let Some(query) = query_of(part) {
                let read = free_columns(&query.subquery)?.into_iter();
                missing.extend(read.filter(|column| {
                    !input.schema().has_column(column) && projection.input.schema().has_column(column)
                }));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    let mut exprs = projection.expr.clone();
    for column in missing.into_iter().map(Expr::Column) {
        if !exprs.contains(&column) {
            exprs.push(column);
        }
    }
    Projection::try_new(exprs, projection.input.clone()).map(LogicalPlan::Projection)
}

/// Whether a query gives a row whatever is stored.
fn has_certain_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => has_certain_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => has_certain_row(&alias.input),
        LogicalPlan::Sort(sort) => has_certain_row(&sort.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::EmptyRelation(empty) => empty.produce_one_row,
        _ => false,
    }
}

/// Gives a subquery that draws at random a name, so that DataFusion does not take two of one text for one.
fn drawn_apart(expr: Expr, draws: &mut usize) -> DataFusionResult<Transformed<Expr>> {
    let Expr::ScalarSubquery(query) = expr else {
        return Ok(Transformed::no(expr));
    };
    let draws_at_random = query
        .subquery
        .any(&mut |node| Ok(node.expressions().iter().any(Expr::is_volatile)))?;
    if !draws_at_random {
        return Ok(Transformed::no(Expr::ScalarSubquery(query)));
    }
    *draws += 1;
    let named = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .alias(format!("draw {draws}"))?
        .build()?;
    Ok(Transformed::yes(with_plan(query, named)))
}

fn single_value(expr: Expr) -> DataFusionResult<Transformed<Expr>> {
    let Expr::ScalarSubquery(query) = expr else {
        return Ok(Transformed::no(expr));
    };
    let is_single = free_columns(&query.subquery)?.is_empty()
        || query.subquery.schema().fields().len() != 1
        || is_one_aggregate(&query.subquery);
    if is_single {
        return Ok(Transformed::no(Expr::ScalarSubquery(query)));
    }
    if let Some(first) = first_of_limit(&query.subquery)? {
        return Ok(Transformed::yes(with_plan(query, first)));
    }
    if query.subquery.max_rows().is_some_and(|rows| rows <= 1) {
        return Ok(Transformed::no(Expr::ScalarSubquery(query)));
    }
    let value = Expr::Column(Column::from(query.subquery.schema().qualified_field(0)));
    let pair = AggregateUDF::from(ValueAndMany::default()).call(vec![value]);
    let plan = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), vec![pair])?
        .build()?;
    let only = ScalarUDF::from(OnlyValue::default());
    Ok(Transformed::yes(only.call(vec![with_plan(query, plan)])))
}

/// Computes subqueries in aggregates, in keys of groups and orders and in windows in a projection below, where
/// DataFusion takes them.
fn computed_before(node: LogicalPlan, computed: &mut usize) -> DataFusionResult<Transformed<LogicalPlan>> {
    let keeps_columns = match &node {
        LogicalPlan::Aggregate(_) => false,
        LogicalPlan::Sort(_) | LogicalPlan::Window(_) => true,
        _ => return Ok(Transformed::no(node)),
    };
    let is_sort = matches!(node, LogicalPlan::Sort(_));
    let names = NamePreserver::new(&node);
    let mut values = Vec::new();
    let named = node.turn_expressions(&mut |expr| {
        let name = names.save(&expr);
        let named = expr.turn_down(&mut |part| match part {
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
                *computed += 1;
                let name = format!("computed{HIDDEN}{computed}");
                values.push(part.alias(&name));
                let column = Expr::Column(Column::new_unqualified(name));
                Ok(Transformed::new(column, true, TreeNodeRecursion::Jump))
            }
            other => Ok(Transformed::no(other)),
        })?;
        match is_sort {
            true => Ok(named),
            false => Ok(named.update_data(|expr| name.restore(expr))),
        }
    })?;
    let node = named.data;
    if values.is_empty() {
        return Ok(Transformed::no(node));
    }
    let columns =
        |schema: &DFSchema| -> Vec<Expr> { schema.columns().into_iter().map(Expr::Column).collect() };
    let shown = columns(node.schema());
    let input = with_columns_read(node.inputs()[0].clone(), &values)?;
    let read = columns(input.schema()).into_iter().chain(values);
    let input = LogicalPlanBuilder::from(input).project(read)?.build()?;
    let node = node.with_new_exprs(node.expressions(), vec![input])?;
    Ok(Transformed::yes(match keeps_columns {
        true => LogicalPlanBuilder::from(node).project(shown)?.build()?,
        false => node,
    }))
}

/// Where a part of a condition stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is one of the conjuncts.
    Conjunct,
    /// Rows pass by it, or by others: NULL is as good as false.
    Alternative,
    /// Whether it is NULL may matter.
    Value,
}

/// Makes counts of those subqueries by which rows are chosen that DataFusion makes joins of which know no NULL.
///
/// | `IN`                              | becomes                                                |
/// |-----------------------------------|--------------------------------------------------------|
/// | `a IN (…) AND …`                   | a join, by DataFusion                                  |
/// | `a NOT IN (…) AND …`               | a join that minds NULL, by DataFusion; of outer columns, and of a constant, `NOT EXISTS`  |
/// | `a IN (…) OR …`                    | a join that separates true from all else, by DataFusion    |
/// | `a NOT IN (…) OR …`, `NOT (a IN (…) AND …)`, `(a IN (…)) IS NULL` | CASE of counts           |
/// | `o IN (…)`, where `o` reads the row outside | CASE of counts                                     |
fn chosen(expr: Expr, schema: &DFSchema, place: Place) -> DataFusionResult<Expr> {
    let within = |expr: Box<Expr>, place| chosen(*expr, schema, place).map(Box::new);
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if matches!(op, Operator::And | Operator::Or) => {
            let place = match (op, place) {
                (Operator::Or, Place::Conjunct) => Place::Alternative,
                (_, place) => place,
            };
            let (left, right) = (within(left, place)?, within(right, place)?);
            Ok(Expr::BinaryExpr(BinaryExpr { left, op, right }))
        }
        Expr::Not(inner) => match *inner {
            Expr::InSubquery(list) => {
                let negated = !list.negated;
                chosen(Expr::InSubquery(InSubquery { negated, ..list }), schema, place)
            }
            inner => Ok(not(chosen(inner, schema, Place::Value)?)),
        },
        // As `= ANY`, see below.
        Expr::InSubquery(list) if !outer_columns(&list.expr)?.is_empty() => {
            let InSubquery {
                expr,
                subquery,
                negated,
            } = list;
            let any = SetComparison {
                expr,
                subquery,
                op: Operator::Eq,
                quantifier: SetQuantifier::Any,
            };
            let found = compared(any, schema)?;
            Ok(if negated { not(found) } else { found })
        }
        Expr::InSubquery(list) => {
            // The join that minds NULL looks for it in all rows of the subquery, whichever belong to the outer row.
            // Without a column outside there is nothing to join by, and it minds none.
            let is_alone = list.subquery.outer_ref_columns.is_empty();
            let minds_null = place == Place::Conjunct && is_alone && stays_of_columns(&list.expr)?;
            // A join has no value to look for that is a join itself.
            let is_joined = has_correlated(&list.expr)?;
            if minds_null || (place == Place::Conjunct && !list.negated && !is_joined) {
                Ok(Expr::InSubquery(list))
            } else if place == Place::Alternative && !list.negated && !is_joined {
                // The join that separates true from all else knows its columns by name.
                Ok(Expr::InSubquery(named_apart(list, schema)?))
            } else if is_alone && (place != Place::Conjunct || has_query(&list.expr)?) {
                Ok(counted(Expr::InSubquery(list), schema)?.data)
            } else {
                looked_for(list, schema, place)
            }
        }
        // DataFusion would pull a condition up whose left side reads outside, with the subquery, and put one with a subquery into it.
        Expr::SetComparison(comparison)
            if place != Place::Conjunct
                || !outer_columns(&comparison.expr)?.is_empty()
                || has_query(&comparison.expr)? =>
        {
            compared(comparison, schema)
        }
        other => Ok(other
            .turn_children(&mut |part| chosen(part, schema, Place::Value).map(Transformed::yes))?
            .data),
    }
}

/// The same of those conjuncts of a join that look for a constant: others are joins in themselves.
fn constants_chosen(expr: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let is_constant = |list: &InSubquery| {
        list.negated
            && list.subquery.outer_ref_columns.is_empty()
            && !stays_of_columns(&list.expr).unwrap_or(false)
    };
    match expr {
        Expr::BinaryExpr(BinaryExpr {
            left,
            op: Operator::And,
            right,
        }) => Ok(constants_chosen(*left, schema)?.and(constants_chosen(*right, schema)?)),
        Expr::InSubquery(list) if is_constant(&list) => {
            chosen(Expr::InSubquery(list), schema, Place::Conjunct)
        }
        other => Ok(other),
    }
}

/// Whether an expression is of columns, and is so when it has been simplified: a CASE may be a constant then.
fn stays_of_columns(expr: &Expr) -> DataFusionResult<bool> {
    let may_vanish = expr.any(&mut |part| {
        Ok(match part {
            Expr::Column(_) | Expr::Literal(..) | Expr::Cast(_) | Expr::BinaryExpr(_) | Expr::Negative(_) => {
                false
            }
            Expr::ScalarFunction(call) => operator_of(&call.func).is_none(),
            _ => true,
        })
    })?;
    Ok(expr.any_column_refs() && !may_vanish)
}

/// Whether an expression has a subquery.
fn has_query(expr: &Expr) -> DataFusionResult<bool> {
    expr.any(&mut |part| Ok(query_of(part).is_some()))
}

/// Whether an expression has a subquery that reads the query around it.
fn has_correlated(expr: &Expr) -> DataFusionResult<bool> {
    expr.any(&mut |part| match query_of(part) {
        Some(query) => Ok(!free_columns(&query.subquery)?.is_empty()),
        None => Ok(false),
    })
}

/// Makes EXISTS of an IN whose rows belong to the row outside.
fn looked_for(list: InSubquery, schema: &DFSchema, place: Place) -> DataFusionResult<Expr> {
    let list = named_apart(list, schema)?;
    let column = Expr::Column(Column::from(list.subquery.subquery.schema().qualified_field(0)));
    let is_equal = column.eq(outer(list.expr.as_ref().clone(), schema)?);
    let exists = |condition: Expr| -> DataFusionResult<Expr> {
        let subquery = with_condition(list.subquery.clone(), condition)?;
        Ok(Expr::Exists(Exists {
            subquery,
            negated: false,
        }))
    };
    if list.negated && place != Place::Value {
        return Ok(not(exists(is_equal.is_not_false())?));
    }
    let found = when(exists(is_equal.clone())?, lit(true))
        .when(exists(is_equal.is_null())?, lit(ScalarValue::Boolean(None)))
        .otherwise(lit(false))?;
    Ok(if list.negated { not(found) } else { found })
}

/// Gives the column of a subquery a name that the statement outside does not have, so that it and a column
/// outside are not taken for each other; and the type in which it is compared.
fn named_apart(mut list: InSubquery, schema: &DFSchema) -> DataFusionResult<InSubquery> {
    if literal_text(&list.expr).is_none() && !is_open(&list.expr) {
        let (expr, subquery) = beside_subquery(*list.expr, Operator::Eq, list.subquery, schema)?;
        (list.expr, list.subquery) = (Box::new(expr), subquery);
    }
    let column = Expr::Column(Column::from(list.subquery.subquery.schema().qualified_field(0)));
    let plan = LogicalPlanBuilder::from(list.subquery.subquery.as_ref().clone())
        .project(vec![column.alias(format!("listed{HIDDEN}"))])?
        .build()?;
    let subquery = Subquery {
        subquery: Arc::new(plan),
        ..list.subquery
    };
    Ok(InSubquery { subquery, ..list })
}

/// Makes EXISTS and IN counts of rows.
pub(crate) fn counted(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    match expr {
        Expr::Exists(exists) => {
            let found = is_found(exists.subquery, None)?;
            let found = if exists.negated { not(found) } else { found };
            Ok(Transformed::yes(found))
        }
        Expr::InSubquery(list) if list.subquery.subquery.schema().fields().len() == 1 => {
            let InSubquery {
                expr,
                subquery,
                negated,
            } = named_apart(list, schema)?;
            let subquery = run_once(subquery)?;
            let column = Expr::Column(Column::from(subquery.subquery.schema().qualified_field(0)));
            let is_equal = column.clone().eq(outer(expr.as_ref().clone(), schema)?);
            let column_is_null = is_missing(column, subquery.subquery.schema());
            let null = lit(ScalarValue::Boolean(None));
            // NULL is in no list, and nothing else is in a list with NULL for certain; the empty list has nothing.
            let found = when(is_found(subquery.clone(), Some(is_equal))?, lit(true))
                .when(
                    is_missing(*expr, schema).and(is_found(subquery.clone(), None)?),
                    null.clone(),
                )
                .when(is_found(subquery, Some(column_is_null))?, null)
                .otherwise(lit(false))?;
            let found = if negated { not(found) } else { found };
            Ok(Transformed::yes(found))
        }
        Expr::SetComparison(comparison) => Ok(Transformed::yes(compared(comparison, schema)?)),
        other => Ok(Transformed::no(other)),
    }
}

/// Makes counts of `x > ANY (SELECT …)` and `x > ALL (SELECT …)`.
fn compared(comparison: SetComparison, schema: &DFSchema) -> DataFusionResult<Expr> {
    let SetComparison {
        expr,
        subquery,
        op,
        quantifier,
    } = comparison;
    let subquery = run_once(subquery)?;
    let column = Expr::Column(Column::from(subquery.subquery.schema().qualified_field(0)));
    let holds = binary_expr(outer(*expr, schema)?, op, column);
    let decides = match quantifier {
        SetQuantifier::Any => holds.clone(),
        SetQuantifier::All => not(holds.clone()),
    };
    let found = lit(quantifier == SetQuantifier::Any);
    when(is_found(subquery.clone(), Some(decides))?, found.clone())
        .when(
            is_found(subquery, Some(holds.is_null()))?,
            lit(ScalarValue::Boolean(None)),
        )
        .otherwise(not(found))
}

/// Keeps the rows of a volatile query of its own, of which several counts are made.
fn run_once(query: Subquery) -> DataFusionResult<Subquery> {
    if !is_volatile(&query.subquery)? || !free_columns(&query.subquery)?.is_empty() {
        return Ok(query);
    }
    let kept = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .alias(kept_rows("listed"))?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(kept),
        ..query
    })
}

/// Whether a query has rows, of those for which a condition holds.
fn is_found(query: Subquery, condition: Option<Expr>) -> DataFusionResult<Expr> {
    let query = match condition {
        Some(condition) => with_condition(query, condition)?,
        None => query,
    };
    let count = count(lit(1_i64));
    let name = Expr::Column(Column::new_unqualified(count.schema_name().to_string()));
    let plan = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .aggregate(Vec::<Expr>::new(), vec![count])?
        .project(vec![name.gt(lit(0_i64))])?
        .build()?;
    Ok(with_plan(query, plan))
}

/// The rows of a query for which a condition holds, too.
fn with_condition(query: Subquery, condition: Expr) -> DataFusionResult<Subquery> {
    let mut outer_ref_columns = query.outer_ref_columns.clone();
    for column in outer_columns(&condition)? {
        if !outer_ref_columns.contains(&column) {
            outer_ref_columns.push(column);
        }
    }
    let plan = LogicalPlanBuilder::from(query.subquery.as_ref().clone())
        .filter(condition)?
        .build()?;
    Ok(Subquery {
        subquery: Arc::new(plan),
        outer_ref_columns,
        ..query
    })
}

/// Names the columns of an expression as a query within the statement sees them.
fn outer(expr: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    let outer = expr.turn_up(&mut |part| match part {
        Expr::Column(column) => {
            let field = schema.field_from_column(&column)?.clone();
            let outer = Expr::OuterReferenceColumn(field, column);
            Ok(Transformed::yes(outer))
        }
        other => Ok(Transformed::no(other)),
    })?;
    Ok(outer.data)
}

/// Returns the columns of the statement outside that an expression names.
fn outer_columns(expr: &Expr) -> DataFusionResult<Vec<Expr>> {
    let mut columns = Vec::new();
    expr.each(&mut |part| {
        if let Expr::OuterReferenceColumn(..) = part {
            columns.push(part.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(columns)
}

fn with_plan(query: Subquery, plan: LogicalPlan) -> Expr {
    Expr::ScalarSubquery(Subquery {
        subquery: Arc::new(plan),
        ..query
    })
}

/// Whether a query gives one row because it is an aggregate without groups.
fn is_one_aggregate(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_one_aggregate(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_one_aggregate(&alias.input),
        LogicalPlan::Filter(filter) => is_one_aggregate(&filter.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Turns LIMIT 1 into the first value of an order; `None` if the query is another.
fn first_of_limit(plan: &LogicalPlan) -> DataFusionResult<Option<LogicalPlan>> {
    let LogicalPlan::Limit(limit) = plan else {
        return Ok(None);
    };
    if !takes_one(limit)? {
        return Ok(None);
    }
    let column = |plan: &LogicalPlan| Expr::Column(Column::from(plan.schema().qualified_field(0)));
    let (value, order, input) = match limit.input.as_ref() {
        LogicalPlan::Projection(projection) => {
            match (projection.input.as_ref(), projection.expr.as_slice()) {
                (LogicalPlan::Sort(sort), [value]) if sort.fetch.is_none() => {
                    (value.clone().unalias(), sort.expr.clone(), &sort.input)
                }
                _ => (column(&limit.input), Vec::new(), &limit.input),
            }
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
            (column(&sort.input), sort.expr.clone(), &sort.input)
        }
        _ => (column(&limit.input), Vec::<SortKey>::new(), &limit.input),
    };
    let builder = LogicalPlanBuilder::from(input.as_ref().clone());
    let first = builder.aggregate(Vec::<Expr>::new(), vec![first_value(value, order)])?;
    Ok(Some(first.build()?))
}

fn takes_one(limit: &Limit) -> DataFusionResult<bool> {
    let skips_none = matches!(limit.get_skip_type()?, SkipType::Literal(0));
    Ok(skips_none && matches!(limit.get_fetch_type()?, FetchType::Literal(Some(1))))
}

/// The fields of a value, and whether there are more rows than one.
fn pair_fields(value: &Field) -> Fields {
    let value = value.clone().with_name("value").with_nullable(true);
    Fields::from(vec![value, Field::new("many", ArrowType::Boolean, true)])
}

/// The aggregate of a query's only row.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ValueAndMany {
    signature: Signature,
}

impl Default for ValueAndMany {
    fn default() -> Self {
        ValueAndMany {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl AggregateUDFImpl for ValueAndMany {
    fn name(&self) -> &str {
        "value_and_many"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        let value = types.first().cloned().unwrap_or(ArrowType::Null);
        Ok(ArrowType::Struct(pair_fields(&Field::new("value", value, true))))
    }

    fn return_field(&self, arguments: &[FieldRef]) -> DataFusionResult<FieldRef> {
        let fields = arguments.iter().map(|value| pair_fields(value)).next();
        let fields = fields.ok_or_else(|| DataFusionError::Internal("an argument is missing".to_string()))?;
        Ok(Arc::new(Field::new(self.name(), ArrowType::Struct(fields), true)))
    }

    fn accumulator(&self, arguments: AccumulatorArgs<'_>) -> DataFusionResult<Box<dyn Accumulator>> {
        match arguments.return_field.data_type() {
            ArrowType::Struct(fields) => Ok(Box::new(OnlyRow {
                value: ScalarValue::try_from(fields[0].data_type())?,
                fields: fields.clone(),
                rows: 0,
            })),
            other => Err(DataFusionError::Internal(format!("{other} is no pair"))),
        }
    }

    fn state_fields(&self, arguments: StateFieldsArgs<'_>) -> DataFusionResult<Vec<FieldRef>> {
        let pair = arguments.return_field.data_type().clone();
        Ok(vec![Arc::new(Field::new(arguments.name, pair, true))])
    }
}

/// The first row so far, and how many there were, up to two.
#[derive(Debug)]
struct OnlyRow {
    value: ScalarValue,
    fields: Fields,
    rows: usize,
}

impl Accumulator for OnlyRow {
    fn update_batch(&mut self, values: &[ArrayRef]) -> DataFusionResult<()> {
        let Some(values) = values.first().filter(|values| !values.is_empty()) else {
            return Ok(());
        };
        if self.rows == 0 {
            self.value = ScalarValue::try_from_array(values, 0)?;
        }
        self.rows = self.rows.saturating_add(values.len()).min(2);
        Ok(())
    }

    /// Returns the pair; NULL if there was no row.
    fn evaluate(&mut self) -> DataFusionResult<ScalarValue> {
        if self.rows == 0 {
            return ScalarValue::try_from(&ArrowType::Struct(self.fields.clone()));
        }
        let many: ArrayRef = Arc::new(BooleanArray::from(vec![self.rows > 1]));
        let pair = StructArray::try_new(self.fields.clone(), vec![self.value.to_array()?, many], None)?;
        Ok(ScalarValue::Struct(Arc::new(pair)))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }

    fn state(&mut self) -> DataFusionResult<Vec<ScalarValue>> {
        Ok(vec![self.evaluate()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> DataFusionResult<()> {
        let Some(pairs) = states.first().and_then(|pairs| pairs.as_struct_opt()) else {
            return Ok(());
        };
        for at in (0..pairs.len()).filter(|at| pairs.is_valid(*at)) {
            if self.rows == 0 {
                self.value = ScalarValue::try_from_array(pairs.column(0), at)?;
            }
            let rows = if pairs.column(1).as_boolean().value(at) {
                2
            } else {
                1
            };
            self.rows = (self.rows + rows).min(2);
        }
        Ok(())
    }
}

/// The value of a pair; fails with 21000 if there were more rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OnlyValue {
    signature: Signature,
}

impl Default for OnlyValue {
    fn default() -> Self {
        OnlyValue {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OnlyValue {
    fn name(&self) -> &str {
        "only_value"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        match types {
            [ArrowType::Struct(fields)] if fields.len() == 2 => Ok(fields[0].data_type().clone()),
            _ => Err(DataFusionError::Internal("only_value takes a pair".to_string())),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        match arguments.arg_fields {
            [pair] => match pair.data_type() {
                ArrowType::Struct(fields) if fields.len() == 2 => Ok(fields[0].clone()),
                _ => Err(DataFusionError::Internal("only_value takes a pair".to_string())),
            },
            _ => Err(DataFusionError::Internal("only_value takes a pair".to_string())),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let rows = arguments.number_rows;
        let pair = arguments.args.into_iter().next();
        let pair = pair.ok_or_else(|| DataFusionError::Internal("only_value takes a pair".to_string()))?;
        let pairs = pair.into_array(rows)?;
        let pairs = pairs.as_struct();
        let many = pairs.column(1).as_boolean();
        if (0..pairs.len()).any(|at| pairs.is_valid(at) && many.is_valid(at) && many.value(at)) {
            let message = "more than one row returned by a subquery used as an expression";
            let error = SqlError::statement("21000", message);
            return Err(DataFusionError::External(Box::new(error)));
        }
        let value = datafusion::arrow::compute::nullif(
            pairs.column(0),
            &datafusion::arrow::compute::is_null(pairs)?,
        )?;
        Ok(ColumnarValue::Array(value))
    }
}

/// The value of a subquery, which may be NULL though its column never is.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OrNull {
    signature: Signature,
}

impl Default for OrNull {
    fn default() -> Self {
        OrNull {
            signature: Signature::any(1, Volatility::Immutable),
        }
    }
}

impl ScalarUDFImpl for OrNull {
    fn name(&self) -> &str {
        "value_or_null"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[ArrowType]) -> DataFusionResult<ArrowType> {
        Ok(types.first().cloned().unwrap_or(ArrowType::Null))
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> DataFusionResult<FieldRef> {
        match arguments.arg_fields {
            [value] => Ok(Arc::new(value.as_ref().clone().with_nullable(true))),
            _ => Err(DataFusionError::Internal(
                "value_or_null takes a value".to_string(),
            )),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> DataFusionResult<ColumnarValue> {
        let value = arguments.args.into_iter().next();
        value.ok_or_else(|| DataFusionError::Internal("value_or_null takes a value".to_string()))
    }
}
