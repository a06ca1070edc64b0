//! The casts that operands, arguments, and values that become one column take, so that DataFusion's analyzer has none to put in.
//!
//! The tables of signatures and casts say which types these are: `chosen` that of operators, `common` that of CASE, UNION and their kin.
//! How a number of that type has its digits, and in which of its forms a text is, DataFusion's rules say.
//!
//! | together                               | DataFusion                        | here, as in PostgreSQL       |
//! |----------------------------------------|-----------------------------------|------------------------------|
//! | REAL and integers, compared            | REAL                              | DOUBLE                       |
//! | floats and decimals                    | decimals, of 15 or 30 digits      | DOUBLE, or REAL as one value |
//! | DATE and TIMESTAMP                     | nanoseconds, from 1677 to 2262    | microseconds                 |
//! | moments and TIMESTAMPTZ, as one value  | nanoseconds without a zone        | TIMESTAMPTZ                  |
//!
//! What no table knows (rows, maps, functions of DataFusion that have no signature of ours) takes what DataFusion would give it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, DFSchema, ScalarValue, internal_err};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::expr::{
    Case, Cast, InList, InSubquery, ScalarFunction, SetComparison, WindowFunctionDefinition,
};
use datafusion::logical_expr::type_coercion::binary::{
    BinaryTypeCoercer, comparison_coercion, type_union_coercion,
};
use datafusion::logical_expr::type_coercion::functions::{UDFCoercionExt, fields_with_udf};
use datafusion::logical_expr::{
    Between, BinaryExpr, Expr, ExprSchemable, Join, Like, Limit, LogicalPlan, LogicalPlanBuilder, Operator,
    Subquery, Values, WindowFrameBound,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::optimizer::analyzer::type_coercion::{TypeCoercion, TypeCoercionRewriter};
use rukh_error::SqlError;
use rukh_functions::casts::numbers::cast_number;
use rukh_functions::casts::read::read_text;
use rukh_functions::casts::table::Kind;
use rukh_functions::casts::times::{cast_time, comparable};
use rukh_functions::functions::common::declared::declared_as;
use rukh_functions::functions::lists::array_order::array_comparison;
use rukh_functions::functions::lists::quantified;
use rukh_functions::functions::networks::{cast_network, network_type};
use rukh_functions::functions::numbers::arithmetic::roomy;
use rukh_functions::signatures::overloaded::{kind, operand_type};
use rukh_functions::signatures::resolve::common;
use rukh_functions::types::are_uuids;
use rukh_walk::Tree;

use crate::bind::plans::window_frames::distance;
use crate::bind::types::bound_calls::literal;
use crate::bind::types::bound_operators::{chosen, is_open};
use crate::bind::types::interval_order;
use crate::bind::types::operand_types::symbol;
use crate::bind::types::records;
use crate::bind::types::typed_casts;

/// Whether [`nothing_left`] looks.
static IS_CHECKED: AtomicBool = AtomicBool::new(false);

/// Makes every query of this process fail for which DataFusion's analyzer would put in casts of its own. For tests: it costs time.
pub fn check_coercions(is_checked: bool) {
    IS_CHECKED.store(is_checked, Ordering::Relaxed);
}

/// Fails if DataFusion's analyzer would change a plan, where that is checked.
pub(crate) fn nothing_left(plan: &LogicalPlan) -> DataFusionResult<()> {
    if !IS_CHECKED.load(Ordering::Relaxed) {
        return Ok(());
    }
    let coerced = TypeCoercion::new().analyze(plan.clone(), &ConfigOptions::new())?;
    match coerced == *plan {
        true => Ok(()),
        false => internal_err!(
            "a plan has operands of different types:\n{}\nDataFusion makes of it:\n{}",
            plan.display_indent(),
            coerced.display_indent()
        ),
    }
}

/// Casts the operands of an expression, at its top.
pub(crate) fn coerced(expr: Expr, schema: &DFSchema) -> DataFusionResult<Transformed<Expr>> {
    let to = |expr: Expr, ty: &ArrowType| converted(expr, ty, schema);
    let boolean = |expr: Box<Expr>| to(*expr, &ArrowType::Boolean).map(Box::new);
    let filter = |filter: Option<Box<Expr>>| filter.map(boolean).transpose();
    Ok(Transformed::yes(match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if let Some(comparison) = records::comparison(&left, op, &right, schema)? =>
        {
            comparison
        }
        Expr::InList(list) if let Some(among) = records::among(&list, schema)? => among,
        Expr::Between(range) if let Some(within) = records::between(&range, schema)? => within,
        Expr::IsNull(inner) => records::null_test(&inner, true, schema).unwrap_or(Expr::IsNull(inner)),
        Expr::IsNotNull(inner) => records::null_test(&inner, false, schema).unwrap_or(Expr::IsNotNull(inner)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let types = operand_types(&left, op, &right, schema)?;
            let (left, right) = (to(*left, &types.0)?, to(*right, &types.1)?);
            let (left, right) = match interval_order::compares(op) {
                true => (comparable(left), comparable(right)),
                false => (left, right),
            };
            let of_arrays = match types.0.is_list() {
                true => array_comparison(&left, op, &right),
                false => None,
            };
            of_arrays.unwrap_or_else(|| {
                Expr::BinaryExpr(BinaryExpr {
                    left: Box::new(left),
                    op,
                    right: Box::new(right),
                })
            })
        }
        Expr::Between(Between {
            expr,
            negated,
            low,
            high,
        }) => {
            let ty = compared(&[&expr, &low, &high], schema)?;
            if ty.is_list() {
                let within = expr.as_ref().clone().gt_eq(*low).and(expr.lt_eq(*high));
                let within = within.turn_up(&mut |part| coerced(part, schema))?.data;
                return Ok(Transformed::yes(if negated { !within } else { within }));
            }
            Expr::Between(Between {
                expr: Box::new(comparable(to(*expr, &ty)?)),
                negated,
                low: Box::new(comparable(to(*low, &ty)?)),
                high: Box::new(comparable(to(*high, &ty)?)),
            })
        }
        Expr::InList(list) => in_list(list, schema)?,
        Expr::Like(Like {
            negated,
            expr,
            pattern,
            escape_char,
            case_insensitive,
        }) => {
            let ty = compared(&[&expr, &pattern], schema)?;
            let ty = if ty.is_null() { ArrowType::Utf8 } else { ty };
            Expr::Like(Like {
                negated,
                expr: Box::new(to(*expr, &ty)?),
                pattern: Box::new(to(*pattern, &ty)?),
                escape_char,
                case_insensitive,
            })
        }
        Expr::InSubquery(InSubquery {
            expr,
            subquery,
            negated,
        }) => {
            let (expr, subquery) = beside_subquery(*expr, Operator::Eq, subquery, schema)?;
            Expr::InSubquery(InSubquery {
                expr: Box::new(expr),
                subquery,
                negated,
            })
        }
        Expr::SetComparison(SetComparison {
            expr,
            subquery,
            op,
            quantifier,
        }) => {
            let (expr, subquery) = beside_subquery(*expr, op, subquery, schema)?;
            Expr::SetComparison(SetComparison {
                expr: Box::new(expr),
                subquery,
                op,
                quantifier,
            })
        }
        // `NOT (x IN (…))` is `x NOT IN (…)`, as DataFusion writes it.
        Expr::Not(inner) => !*boolean(inner)?,
        Expr::IsTrue(inner) => Expr::IsTrue(boolean(inner)?),
        Expr::IsNotTrue(inner) => Expr::IsNotTrue(boolean(inner)?),
        Expr::IsFalse(inner) => Expr::IsFalse(boolean(inner)?),
        Expr::IsNotFalse(inner) => Expr::IsNotFalse(boolean(inner)?),
        Expr::IsUnknown(inner) => Expr::IsUnknown(boolean(inner)?),
        Expr::IsNotUnknown(inner) => Expr::IsNotUnknown(boolean(inner)?),
        Expr::Case(case) => Expr::Case(of_case(case, schema)?),
        Expr::ScalarFunction(ScalarFunction { func, args })
            if let Some((op, _)) = quantified::operator_of(func.name()) =>
        {
            func.call(among_elements(args, op, schema)?)
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => {
            let kept = match args.as_slice() {
                [value, other] if func.name() == "nullif" => kept_type(value, other, schema)?,
                _ => None,
            };
            let args = arguments(func.name(), args, func.as_ref(), schema)?;
            let call = Expr::ScalarFunction(ScalarFunction { func, args });
            match kept {
                Some(ty) => converted(call, &ty, schema)?,
                None => call,
            }
        }
        Expr::AggregateFunction(mut call) => {
            call.params.args = arguments(call.func.name(), call.params.args, call.func.as_ref(), schema)?;
            call.params.filter = filter(call.params.filter)?;
            Expr::AggregateFunction(call)
        }
        Expr::WindowFunction(mut call) => {
            let args = std::mem::take(&mut call.params.args);
            call.params.args = match &call.fun {
                WindowFunctionDefinition::AggregateUDF(fun) => {
                    arguments(fun.name(), args, fun.as_ref(), schema)?
                }
                WindowFunctionDefinition::WindowUDF(fun) => {
                    arguments(fun.name(), args, fun.as_ref(), schema)?
                }
            };
            call.params.filter = filter(call.params.filter.take())?;
            let order = call.params.order_by.first().map(|sort| &sort.expr);
            let frame = &mut call.params.window_frame;
            let order = order.map(|order| order.get_type(schema)).transpose()?;
            for bound in [&mut frame.start_bound, &mut frame.end_bound] {
                if let WindowFrameBound::Preceding(by) | WindowFrameBound::Following(by) = bound {
                    *by = distance(by, frame.units, order.as_ref())?;
                }
            }
            Expr::WindowFunction(call)
        }
        other => return Ok(Transformed::no(other)),
    }))
}

/// Casts a value and an array to the types in which an operator takes the value and the elements.
fn among_elements(args: Vec<Expr>, op: Operator, schema: &DFSchema) -> DataFusionResult<Vec<Expr>> {
    let [value, array] = args.as_slice() else {
        return Ok(args);
    };
    let (_, array_field) = array.to_field(schema)?;
    let ArrowType::List(of) = array_field.data_type() else {
        return Ok(args);
    };
    let field = |name: &str, ty: &ArrowType| (None, Arc::new(Field::new(name, ty.clone(), true)));
    let fields = vec![
        field("value", &value.get_type(schema)?),
        field("element", of.data_type()),
    ];
    let both = DFSchema::new_with_metadata(fields, Default::default())?;
    let column = |name: &str| Expr::Column(Column::new_unqualified(name));
    let left = match literal(value) {
        Some(_) => value.clone(),
        None => column("value"),
    };
    let (of_value, of_element) = operand_types(&left, op, &column("element"), &both)?;
    let list = match of_element == *of.data_type() {
        true => array_field.data_type().clone(),
        false => ArrowType::new_list(of_element, true),
    };
    Ok(vec![
        converted(value.clone(), &of_value, schema)?,
        converted(array.clone(), &list, schema)?,
    ])
}

/// Casts what a node of a plan compares and puts together by itself.
pub(crate) fn coerced_node(node: LogicalPlan) -> DataFusionResult<Transformed<LogicalPlan>> {
    Ok(Transformed::yes(match node {
        LogicalPlan::Filter(mut filter) => {
            let ty = &ArrowType::Boolean;
            filter.predicate = converted(filter.predicate, ty, filter.input.schema())?;
            LogicalPlan::Filter(filter)
        }
        LogicalPlan::Join(join) => LogicalPlan::Join(of_join(join)?),
        // The types are one already (`union_types`); this names the columns of all inputs alike.
        LogicalPlan::Union(union) => TypeCoercionRewriter::coerce_union(union)?,
        LogicalPlan::Limit(Limit { skip, fetch, input }) => {
            let none = DFSchema::empty();
            let count = |count: Option<Box<Expr>>| {
                let count = count.map(|count| whole(*count, &none));
                Ok::<_, DataFusionError>(count.transpose()?.map(Box::new))
            };
            LogicalPlan::Limit(Limit {
                skip: count(skip)?,
                fetch: count(fetch)?,
                input,
            })
        }
        LogicalPlan::Values(values) => LogicalPlan::Values(of_values(values)?),
        other => return Ok(Transformed::no(other)),
    }))
}

/// Gives the cells of each column the type that they have in common; of some it has become another since VALUES was built.
fn of_values(mut values: Values) -> DataFusionResult<Values> {
    let none = DFSchema::empty();
    let mut fields = Vec::new();
    for (at, field) in values.schema.fields().iter().enumerate() {
        let cells = || values.values.iter().filter_map(|row| row.get(at));
        let types = cells().map(|cell| cell.get_type(&none));
        let types = types.collect::<DataFusionResult<Vec<_>>>()?;
        let ty = match types.iter().all(|ty| ty == field.data_type()) {
            true => field.data_type().clone(),
            false => unified(cells(), &none)?.unwrap_or_else(|| field.data_type().clone()),
        };
        for row in &mut values.values {
            if let Some(cell) = row.get_mut(at) {
                *cell = converted(std::mem::take(cell), &ty, &none)?;
            }
        }
        fields.push(field.as_ref().clone().with_data_type(ty));
    }
    let metadata = values.schema.metadata().clone();
    values.schema = Arc::new(DFSchema::from_unqualified_fields(fields.into(), metadata)?);
    Ok(values)
}

/// Returns how many rows a count of LIMIT or OFFSET means: numbers are rounded.
pub(crate) fn whole(count: Expr, schema: &DFSchema) -> DataFusionResult<Expr> {
    match count.get_type(schema)? {
        ArrowType::Int64 => Ok(count),
        ty if ty.is_numeric() => {
            Ok(typed_casts::typed(Cast::new(Box::new(count), ArrowType::Int64), schema)?.data)
        }
        ArrowType::Boolean => {
            let message = "argument of LIMIT and OFFSET must be type bigint, not type boolean";
            Err(DataFusionError::External(Box::new(SqlError::statement(
                "42804", message,
            ))))
        }
        _ => converted(count, &ArrowType::Int64, schema),
    }
}

/// Returns the types in which an operator takes its operands.
fn operand_types(
    left: &Expr,
    op: Operator,
    right: &Expr,
    schema: &DFSchema,
) -> DataFusionResult<(ArrowType, ArrowType)> {
    let (left_type, right_type) = (left.get_type(schema)?, right.get_type(schema)?);
    if matches!(op, Operator::And | Operator::Or) {
        return Ok((ArrowType::Boolean, ArrowType::Boolean));
    }
    let is_scaled =
        interval_order::compares(op) || matches!(op, Operator::Plus | Operator::Minus | Operator::Modulo);
    if is_scaled && let Some(ty) = roomy(&left_type, &right_type) {
        return Ok((ty.clone(), ty));
    }
    if let Some(ty) = network_type([&left_type, &right_type]) {
        return Ok((ty.clone(), ty));
    }
    let usual = BinaryTypeCoercer::new(&left_type, &op, &right_type).get_input_types()?;
    if usual.0 != usual.1 || left_type == right_type || is_open(left) || is_open(right) {
        return Ok(usual);
    }
    let fields = (left.to_field(schema)?.1, right.to_field(schema)?.1);
    let ty = compared_type(
        op,
        [(&fields.0, literal(left)), (&fields.1, literal(right))],
        usual.0,
    );
    Ok((ty.clone(), ty))
}

/// Returns the type in which both operands of an operator are taken by the table; `usual` where there is none.
fn compared_type(
    op: Operator,
    operands: [(&FieldRef, Option<&ScalarValue>); 2],
    usual: ArrowType,
) -> ArrowType {
    let [left, right] = operands.map(|(field, literal)| kind(field, literal));
    let (Ok(left), Ok(right)) = (left, right) else {
        return usual;
    };
    match chosen(&symbol(op), &[left, right]) {
        Ok(Some(meant)) => match common(meant.arguments) {
            Some(kind) => of_kind(kind, usual),
            None => usual,
        },
        _ => usual,
    }
}

/// Returns the type of values of a kind: `usual` if that is one, of a kind that has several.
fn of_kind(kind: Kind, usual: ArrowType) -> ArrowType {
    let same = Kind::of_field(&Field::new("", usual.clone(), true));
    let has_several = match kind {
        Kind::Numeric | Kind::Array(_) => same == Some(kind),
        kind if kind.is_text() || kind == Kind::Uuid => same.is_some_and(Kind::is_text),
        _ => false,
    };
    match has_several {
        true => usual,
        false => operand_type(kind, &ScalarValue::Null),
    }
}

/// Returns an expression in a type.
pub(crate) fn converted(expr: Expr, ty: &ArrowType, schema: &DFSchema) -> DataFusionResult<Expr> {
    let (_, field) = expr.to_field(schema)?;
    let from = field.data_type();
    match from {
        from if from == ty => Ok(expr),
        // A cast says nothing of UUIDs.
        ArrowType::List(_) if are_uuids(&field) => {
            Ok(declared_as(expr.cast_to(ty, schema)?, &rukh_keys::DataType::Uuid))
        }
        ArrowType::Null => match expr {
            Expr::Literal(..) => Ok(Expr::Literal(ScalarValue::try_from(ty)?, None)),
            expr => expr.cast_to(ty, schema),
        },
        _ => {
            let own = cast_number(&expr, ty, schema)
                .or_else(|| cast_time(&expr, ty, schema))
                .or_else(|| cast_network(&expr, ty, schema))
                .or_else(|| array_of_text(&expr, ty, schema));
            match own {
                Some(own) => Ok(own),
                None => expr.cast_to(ty, schema),
            }
        }
    }
}

/// Reads a literal beside arrays as one of them; `None` of all else.
fn array_of_text(expr: &Expr, ty: &ArrowType, schema: &DFSchema) -> Option<Expr> {
    let is_array = matches!(ty, ArrowType::List(_)) && literal(expr).is_some();
    is_array.then(|| read_text(expr, ty, schema)).flatten()
}

/// Returns the type in which a value, the first, is compared with each of others.
fn compared(values: &[&Expr], schema: &DFSchema) -> DataFusionResult<ArrowType> {
    let Some((first, others)) = values.split_first() else {
        return Ok(ArrowType::Null);
    };
    let mut ty = first.get_type(schema)?;
    for other in others {
        let (to_first, _) = operand_types(first, Operator::Eq, other, schema)?;
        ty = wider(&ty, &to_first);
    }
    Ok(ty)
}

/// Returns the type in which values of both are compared.
fn wider(left: &ArrowType, right: &ArrowType) -> ArrowType {
    if left == right {
        return left.clone();
    }
    if let Some(ty) = network_type([left, right]) {
        return ty;
    }
    let usual = comparison_coercion(left, right).unwrap_or_else(|| right.clone());
    let field = |ty: &ArrowType| Arc::new(Field::new("", ty.clone(), true));
    compared_type(Operator::Eq, [(&field(left), None), (&field(right), None)], usual)
}

/// Casts what IN compares: constants that are several are first brought to the type that they have in common with the value.
fn in_list(among: InList, schema: &DFSchema) -> DataFusionResult<Expr> {
    let InList { expr, list, negated } = among;
    let of_value = expr.get_type(schema)?;
    let list: Vec<Expr> = list
        .into_iter()
        .map(|element| array_of_text(&element, &of_value, schema).unwrap_or(element))
        .collect();
    let is_constant = |element: &&Expr| !element.any_column_refs();
    let constants: Vec<&Expr> = list.iter().filter(is_constant).collect();
    let list = match constants.len() > 1 {
        false => list,
        true => {
            let of_value = std::iter::once(expr.as_ref());
            let ty = unified(of_value.chain(constants.iter().copied()), schema)?;
            let is_float = ty.as_ref().is_some_and(ArrowType::is_floating);
            let typed = |element: Expr| match (&ty, element.any_column_refs()) {
                // Numbers lose digits; other types lose nothing by being compared as they are.
                (Some(ty), false) if is_float => converted(element, ty, schema),
                _ => Ok(element),
            };
            list.into_iter().map(typed).collect::<DataFusionResult<_>>()?
        }
    };
    let mut all = vec![expr.as_ref()];
    all.extend(&list);
    let ty = compared(&all, schema)?;
    let list = list
        .into_iter()
        .map(|element| converted(element, &ty, schema).map(comparable));
    let list = list.collect::<DataFusionResult<_>>()?;
    let expr = Box::new(comparable(converted(*expr, &ty, schema)?));
    Ok(Expr::InList(InList { expr, list, negated }))
}

/// Returns the type of values of which one is the result; `None` where they have none in common.
fn unified<'a>(
    values: impl Iterator<Item = &'a Expr>,
    schema: &DFSchema,
) -> DataFusionResult<Option<ArrowType>> {
    let fields = values.map(|value| Ok((value.to_field(schema)?.1, literal(value).cloned())));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    Ok(unified_fields(
        fields.iter().map(|(field, literal)| (field, literal.as_ref())),
    ))
}

/// As [`unified`], of values of which these are known.
pub(crate) fn unified_fields<'a>(
    fields: impl Iterator<Item = (&'a FieldRef, Option<&'a ScalarValue>)>,
) -> Option<ArrowType> {
    let (mut usual, mut kinds, mut is_known, mut differ) = (ArrowType::Null, Vec::new(), true, false);
    for (field, literal) in fields {
        let ty = field.data_type();
        differ |= !usual.is_null() && !ty.is_null() && usual != *ty;
        let kind = kind(field, literal);
        let common = network_type([&usual, ty]).or_else(|| type_union_coercion(&usual, ty));
        usual = match (common, &kind) {
            (Some(common), _) => common,
            // A literal is read in whatever type the others have.
            (None, Ok(None)) => usual,
            (None, Ok(Some(_))) if kinds.is_empty() => ty.clone(),
            (None, _) => return None,
        };
        match kind {
            Ok(kind) => kinds.extend(kind),
            Err(_) => is_known = false,
        }
    }
    // A text beside a UUID may be one, see `bound_operators`.
    let is_open = kinds.is_empty() || kinds.contains(&Kind::Uuid);
    match common(kinds) {
        Some(kind) if is_known && differ => Some(of_kind(kind, usual)),
        None if is_known && differ && !is_open => None,
        _ => Some(usual),
    }
}

/// Functions that give one of their arguments, and arrays of them; and what messages call them.
const CHOOSING: [(&str, &str); 4] = [
    ("coalesce", "COALESCE"),
    ("greatest", "GREATEST"),
    ("least", "LEAST"),
    ("make_array", "ARRAY"),
];

/// Returns the error of values that have no type in common; `None` if they have.
fn unmatched(place: &str, values: &[&Expr], schema: &DFSchema) -> DataFusionResult<Option<DataFusionError>> {
    let mut kinds = Vec::new();
    for value in values {
        kinds.extend(kind(&value.to_field(schema)?.1, literal(value)).unwrap_or_default());
    }
    let Some(first) = kinds.first() else {
        return Ok(None);
    };
    let other = kinds.iter().find(|kind| common([*first, **kind]).is_none());
    let message = |other: &Kind| format!("{place} types {first} and {other} cannot be matched");
    let error = other.map(|other| SqlError::statement("42804", message(other)));
    Ok(error.map(|error| DataFusionError::External(Box::new(error))))
}

/// Casts the operand and what it is compared with to one type, and the values to another.
fn of_case(case: Case, schema: &DFSchema) -> DataFusionResult<Case> {
    let Case {
        expr,
        when_then_expr,
        else_expr,
    } = case;
    let when_type = match &expr {
        None => ArrowType::Boolean,
        Some(operand) => {
            let whens = when_then_expr.iter().map(|(when, _)| when.as_ref());
            let all: Vec<&Expr> = std::iter::once(operand.as_ref()).chain(whens).collect();
            compared(&all, schema)?
        }
    };
    let thens = when_then_expr.iter().map(|(_, then)| then.as_ref());
    let values: Vec<&Expr> = else_expr.as_deref().into_iter().chain(thens).collect();
    let Some(then_type) = unified(values.iter().copied(), schema)? else {
        let untold = || DataFusionError::Plan("CASE types cannot be matched".to_string());
        return Err(unmatched("CASE", &values, schema)?.unwrap_or_else(untold));
    };
    let to = |expr: Box<Expr>, ty| converted(*expr, ty, schema).map(Box::new);
    let pairs = when_then_expr
        .into_iter()
        .map(|(when, then)| Ok((to(when, &when_type)?, to(then, &then_type)?)));
    Ok(Case {
        expr: expr.map(|operand| to(operand, &when_type)).transpose()?,
        when_then_expr: pairs.collect::<DataFusionResult<_>>()?,
        else_expr: else_expr.map(|value| to(value, &then_type)).transpose()?,
    })
}

/// Returns the type of `nullif(value, other)` where the two are compared as they are, by an operator of two types.
fn kept_type(value: &Expr, other: &Expr, schema: &DFSchema) -> DataFusionResult<Option<ArrowType>> {
    let kind_of = |expr: &Expr| Ok::<_, DataFusionError>(Kind::of_field(&expr.to_field(schema)?.1));
    let is_integer = |kind| matches!(kind, Kind::SmallInt | Kind::Integer | Kind::BigInt);
    let is_moment = |kind| matches!(kind, Kind::Date | Kind::Timestamp | Kind::TimestampTz);
    let is_kept = match (kind_of(value)?, kind_of(other)?) {
        (Some(Kind::Real), Some(other)) => is_integer(other) || matches!(other, Kind::Double | Kind::Numeric),
        (Some(value), Some(other)) => {
            is_integer(value) && is_integer(other) || is_moment(value) && is_moment(other)
        }
        _ => false,
    };
    is_kept.then(|| value.get_type(schema)).transpose()
}

/// Casts the arguments of a call to the types that its implementation takes.
fn arguments<F: UDFCoercionExt>(
    name: &str,
    args: Vec<Expr>,
    function: &F,
    schema: &DFSchema,
) -> DataFusionResult<Vec<Expr>> {
    if args.is_empty() {
        return Ok(args);
    }
    let ty = match name {
        "coalesce" | "greatest" | "least" | "make_array" => unified(args.iter(), schema)?,
        "nullif" => Some(compared(&args.iter().collect::<Vec<_>>(), schema)?),
        _ => None,
    };
    let args = match ty {
        Some(ty) => args
            .into_iter()
            .map(|arg| converted(arg, &ty, schema))
            .collect::<DataFusionResult<Vec<_>>>()?,
        None => {
            if let Some((_, place)) = CHOOSING.iter().find(|(chooses, _)| *chooses == name) {
                let values: Vec<&Expr> = args.iter().collect();
                if let Some(error) = unmatched(place, &values, schema)? {
                    return Err(error);
                }
            }
            args
        }
    };
    let fields = args.iter().map(|arg| Ok(arg.to_field(schema)?.1));
    let fields = fields.collect::<DataFusionResult<Vec<_>>>()?;
    let taken = fields_with_udf(&fields, function)?;
    let pairs = args.into_iter().zip(taken);
    pairs
        .map(|(arg, field)| converted(arg, field.data_type(), schema))
        .collect()
}

/// Casts a value, and the column of a subquery, to the type in which they are compared.
pub(crate) fn beside_subquery(
    expr: Expr,
    op: Operator,
    subquery: Subquery,
    schema: &DFSchema,
) -> DataFusionResult<(Expr, Subquery)> {
    let given = subquery.subquery.schema().clone();
    let (expr_field, given_field) = (expr.to_field(schema)?.1, given.field(0));
    // Rows are compared by their bytes.
    if matches!(expr_field.data_type(), ArrowType::Struct(_)) {
        return Ok((expr, subquery));
    }
    let types = [expr_field.data_type(), given_field.data_type()];
    let usual = network_type(types).or_else(|| comparison_coercion(types[0], types[1]));
    let Some(usual) = usual.filter(|_| expr_field.data_type() != given_field.data_type()) else {
        return Ok((expr, subquery));
    };
    let given_field = Arc::new(given_field.clone());
    let ty = compared_type(op, [(&expr_field, literal(&expr)), (&given_field, None)], usual);
    let expr = comparable(converted(expr, &ty, schema)?);
    if *given_field.data_type() == ty {
        return Ok((expr, subquery));
    }
    let column = Expr::Column(Column::from(given.qualified_field(0)));
    let column = comparable(converted(column, &ty, &given)?).alias(given_field.name());
    let plan = LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
    let plan = plan.project(vec![column])?.build()?;
    Ok((expr, subquery.with_plan(Arc::new(plan))))
}

/// Casts the pairs that a join finds equal.
fn of_join(mut join: Join) -> DataFusionResult<Join> {
    let pairs = std::mem::take(&mut join.on);
    let (left, right) = (join.left.schema().clone(), join.right.schema().clone());
    let pair = |(of_left, of_right): (Expr, Expr)| -> DataFusionResult<(Expr, Expr)> {
        let fields = (of_left.to_field(&left)?.1, of_right.to_field(&right)?.1);
        let types = (fields.0.data_type(), fields.1.data_type());
        if types.0 == types.1 {
            return Ok((of_left, of_right));
        }
        let operands = [(&fields.0, literal(&of_left)), (&fields.1, literal(&of_right))];
        let ty = match network_type([types.0, types.1]) {
            Some(ty) => ty,
            None => {
                let usual = BinaryTypeCoercer::new(types.0, &Operator::Eq, types.1).get_input_types()?;
                compared_type(Operator::Eq, operands, usual.0)
            }
        };
        let (of_left, of_right) = (converted(of_left, &ty, &left)?, converted(of_right, &ty, &right)?);
        Ok((comparable(of_left), comparable(of_right)))
    };
    join.on = pairs.into_iter().map(pair).collect::<DataFusionResult<_>>()?;
    let mut schema = left.as_ref().clone();
    schema.merge(&right);
    let filter = join
        .filter
        .map(|filter| converted(filter, &ArrowType::Boolean, &schema));
    join.filter = filter.transpose()?;
    Ok(join)
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{cast, col, lit};

    use super::*;

    fn schema() -> DFSchema {
        let field = |name: &str, ty| (None, Arc::new(Field::new(name, ty, true)));
        let fields = vec![
            field("i", ArrowType::Int32),
            field("b", ArrowType::Int64),
            field("r", ArrowType::Float32),
            field("n", ArrowType::Decimal128(5, 2)),
            field("d", ArrowType::Date32),
        ];
        DFSchema::new_with_metadata(fields, Default::default()).expect("names differ")
    }

    #[test]
    fn operands_get_the_type_of_the_operator() {
        let cases = [
            (col("i").eq(col("b")), "CAST(i AS Int64) = b"),
            (col("i").lt(col("r")), "CAST(i AS Float64) < CAST(r AS Float64)"),
            (
                col("r").between(lit(1_i32), col("b")),
                "CAST(r AS Float64) BETWEEN CAST(Int32(1) AS Float64) AND CAST(b AS Float64)",
            ),
            // Several constants are first of the type that they have in common with the value.
            (
                col("r").in_list(vec![lit(1_i32), lit(2_i32)], false),
                "r IN ([CAST(Int32(1) AS Float32), CAST(Int32(2) AS Float32)])",
            ),
            (
                col("d").eq(lit(ScalarValue::TimestampMicrosecond(Some(0), None))),
                "as_timestamp(d) = TimestampMicrosecond(0, None)",
            ),
            (
                col("i").and(lit(ScalarValue::Null)),
                "CAST(i AS Boolean) AND Boolean(NULL)",
            ),
            (
                Expr::Case(Case {
                    expr: None,
                    when_then_expr: vec![(Box::new(lit(true)), Box::new(col("i")))],
                    else_expr: Some(Box::new(col("r"))),
                }),
                "CASE WHEN Boolean(true) THEN CAST(i AS Float32) ELSE r END",
            ),
        ];
        for (expr, expected) in cases {
            let typed = coerced(expr, &schema())
                .expect("the operands have a type in common")
                .data;
            assert_eq!(typed.to_string(), expected);
            let again = coerced(typed.clone(), &schema())
                .expect("they have it still")
                .data;
            assert_eq!(again, typed, "{expected}");
        }
    }

    #[test]
    fn a_plan_with_operands_of_two_types_is_found() {
        let row = LogicalPlanBuilder::values(vec![vec![lit(1_i32), lit(1_i64)]]).expect("one row");
        let filtered = |condition: Expr| {
            let plan = row.clone().filter(condition).and_then(LogicalPlanBuilder::build);
            nothing_left(&plan.expect("a plan"))
        };
        check_coercions(true);
        let (one, two) = (col("column1"), col("column2"));
        assert!(filtered(one.clone().eq(two.clone())).is_err());
        assert!(filtered(cast(one, ArrowType::Int64).eq(two)).is_ok());
    }
}
