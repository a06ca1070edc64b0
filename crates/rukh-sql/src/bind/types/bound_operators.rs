//! Operators of the table of signatures: which one two operands mean, and what a literal without a type is beside a value.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::functions_nested::expr_fn::make_array;
use datafusion::logical_expr::planner::RawBinaryExpr;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};
use rukh_error::SqlError;
use rukh_functions::casts::table::Kind;
use rukh_functions::errors::external;
use rukh_functions::forms::intervals::INTERVAL;
use rukh_functions::functions::texts::to_uuid::uuids;
use rukh_functions::signatures::overloaded::{column_type, kind, operand_type};
use rukh_functions::signatures::resolve::{self, Meant, Unresolved};
use rukh_functions::signatures::table;
use rukh_functions::types::{TYPE_KEY, arrow_type, declared_text};
use rukh_keys::DataType;
use rukh_walk::Tree;

use crate::bind::types::bound_calls::literal;
use crate::bind::types::chosen_types::chosen_type;

/// Returns the type of an operand, `Some(None)` of one without; `None` of what depends on a parameter without a type, and of
/// what no operator of the table takes.
///
/// A UUID is a text to Arrow: those that `array_agg` and `unnest` give are TEXT here.
pub(crate) fn operand(expr: &Expr, schema: &DFSchema) -> Option<Option<Kind>> {
    if is_open(expr) {
        return None;
    }
    let (_, field) = expr.to_field(schema).ok()?;
    match (chosen_type(expr, schema), field.data_type()) {
        (Some(DataType::Uuid), ArrowType::List(_)) => Some(Some(Kind::Uuid.array())),
        (Some(DataType::Uuid), _) => Some(Some(Kind::Uuid)),
        _ => kind(&field, literal(expr)).ok(),
    }
}

/// Whether the type of an expression depends on a parameter whose type is not known yet.
pub(crate) fn is_open(expr: &Expr) -> bool {
    let mut is_open = false;
    let walked = expr.each(&mut |part| {
        Ok(match part {
            Expr::Cast(_) | Expr::TryCast(_) => TreeNodeRecursion::Jump,
            Expr::Placeholder(parameter) if parameter.field.is_none() => {
                is_open = true;
                TreeNodeRecursion::Stop
            }
            _ => TreeNodeRecursion::Continue,
        })
    });
    walked.is_ok() && is_open
}

/// Returns the signature that an operator means; `None` where the table does not have the operator.
///
/// # Errors
/// 42883 where no signature takes the operands, 42725 where several do.
pub(crate) fn chosen(name: &str, operands: &[Option<Kind>]) -> Result<Option<Meant>, SqlError> {
    let Some(overloads) = table::operators().get(name) else {
        return Ok(None);
    };
    let (state, says, hint) = match resolve::operator(overloads, operands) {
        Ok(meant) => return Ok(Some(meant)),
        Err(Unresolved::None) => (
            "42883",
            "operator does not exist",
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        ),
        Err(Unresolved::Ambiguous | Unresolved::Untyped) => (
            "42725",
            "operator is not unique",
            "Could not choose a best candidate operator. You might need to add explicit type casts.",
        ),
    };
    let names = operands
        .iter()
        .map(|kind| kind.map_or("unknown".to_string(), |kind| kind.to_string()));
    let message = format!("{says}: {}", names.collect::<Vec<_>>().join(&format!(" {name} ")));
    Err(SqlError::statement(state, message).with_hint(hint))
}

/// Gives a parameter without a type the one that an operator takes in its place beside a value: `doc -> $1` a text, `tags || $1` an array.
/// What is compared with a value that is no array takes the type of the other side later: kept plans leave their parameters open.
///
/// # Errors
/// 42883 where there is no such operator, 42725 where it may be several.
pub(crate) fn with_parameter(
    mut expr: RawBinaryExpr,
    schema: &DFSchema,
    uses: &FirstUses,
) -> DataFusionResult<RawBinaryExpr> {
    uses.give(&mut expr.left);
    uses.give(&mut expr.right);
    let name = expr.op.to_string();
    let is_parameter =
        |side: &Expr| matches!(side, Expr::Placeholder(parameter) if parameter.field.is_none());
    let at = match (is_parameter(&expr.left), is_parameter(&expr.right)) {
        (true, false) => 0,
        (false, true) => 1,
        _ => return Ok(expr),
    };
    let value = if at == 0 { &expr.right } else { &expr.left };
    let Some(Some(kind)) = operand(value, schema) else {
        return Ok(expr);
    };
    // Rows compare as `records` has it.
    if matches!(kind, Kind::Record | Kind::Array(Kind::Record)) {
        return Ok(expr);
    }
    let mut operands = [Some(kind); 2];
    operands[at] = None;
    let Some(meant) = chosen(&name, &operands).map_err(external)? else {
        return Ok(expr);
    };
    let Some(ty) = parameter_type(meant.arguments[at]) else {
        return Ok(expr);
    };
    let side = if at == 0 { &mut expr.left } else { &mut expr.right };
    if let Expr::Placeholder(parameter) = &*side {
        uses.note(&parameter.id, ty);
    }
    if !is_comparison(&name) || ty.element().is_some() {
        give_type(side, ty);
    }
    Ok(expr)
}

/// Gives a parameter a type.
fn give_type(expr: &mut Expr, ty: DataType) {
    let Expr::Placeholder(parameter) = expr else {
        return;
    };
    let metadata = [(TYPE_KEY.to_string(), declared_text(&ty))];
    let field = Field::new("", arrow_type(&ty), true).with_metadata(metadata.into());
    parameter.field = Some(Arc::new(field));
    if matches!(ty, DataType::Char(_) | DataType::Varchar(_) | DataType::Uuid) {
        return;
    }
    let typed = cast(
        std::mem::replace(expr, Expr::Literal(ScalarValue::Null, None)),
        arrow_type(&ty),
    );
    *expr = match ty.element() {
        Some(DataType::Uuid) => uuids(typed),
        _ => typed,
    };
}

/// Types of parameters where they stand first beside an operator, which they have where they stand again:
/// `ts >= $1 AND ts < $1 + interval '1 day'`. They are noted while a statement is planned that asks for them.
#[derive(Debug, Default)]
pub(crate) struct FirstUses(Mutex<Option<BTreeMap<String, DataType>>>);

impl FirstUses {
    /// Notes the types while one statement is planned.
    pub(crate) fn within<T>(&self, plan: impl FnOnce() -> T) -> T {
        *self.types() = Some(BTreeMap::new());
        let planned = plan();
        *self.types() = None;
        planned
    }

    fn types(&self) -> MutexGuard<'_, Option<BTreeMap<String, DataType>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, id: &str, ty: DataType) {
        if let Some(types) = self.types().as_mut() {
            types.entry(id.to_string()).or_insert(ty);
        }
    }

    /// Gives a parameter without a type the one of its first use.
    fn give(&self, expr: &mut Expr) {
        if let Expr::Placeholder(parameter) = &*expr
            && parameter.field.is_none()
            && let Some(ty) = self
                .types()
                .as_ref()
                .and_then(|types| types.get(&parameter.id).copied())
        {
            give_type(expr, ty);
        }
    }
}

/// Returns the type of a parameter that stands where a type is taken; `None` where it may be several.
pub(crate) fn parameter_type(kind: Kind) -> Option<DataType> {
    match kind {
        Kind::Array(element) => Some(parameter_type(*element)?.array()),
        // All the digits that are sent.
        Kind::Numeric => Some(DataType::NUMERIC),
        kind => column_type(kind, None),
    }
}

/// Reads literals without a type, and NULL, in the type that an operator takes in their place; a time beside an interval becomes one.
///
/// # Errors
/// 42883 where there is no such operator, 42725 where it may be several.
pub(crate) fn typed(mut expr: RawBinaryExpr, schema: &DFSchema) -> DataFusionResult<RawBinaryExpr> {
    let (Some(left), Some(right)) = (operand(&expr.left, schema), operand(&expr.right, schema)) else {
        return Ok(expr);
    };
    if may_be_uuids(&expr.left, left, &expr.right, right, schema) {
        return Ok(expr);
    }
    let operands = [left, right];
    let name = expr.op.to_string();
    let Some(meant) = chosen(&name, &operands).map_err(external)? else {
        return Ok(expr);
    };
    let of_array = |kind: &Kind| matches!(kind, Kind::Array(_));
    let is_asked = matches!(meant.arguments.first(), Some(Kind::Jsonb | Kind::Inet)) && !is_comparison(&name);
    let compares = meant.result == Kind::Boolean && !meant.arguments.iter().any(of_array) && !is_asked;
    let joins = matches!(meant.result, Kind::Array(_));
    let has_digits = |kind: &Kind| matches!(kind, Kind::Numeric | Kind::Array(Kind::Numeric));
    let arrow = |kind: Kind, beside: &Expr| match beside.get_type(schema) {
        Ok(ty @ ArrowType::List(_)) if of_array(&kind) => Some(ty),
        _ => None,
    };
    let arrays = [
        arrow(meant.arguments[0], &expr.right),
        arrow(meant.arguments[1], &expr.left),
    ];
    let sides = [&mut expr.left, &mut expr.right];
    let is_moment = |kind: &Kind| matches!(kind, Kind::Date | Kind::Time);
    // A date and a time are computed with as a timestamp and an interval.
    let apart = meant.arguments.iter().all(is_moment) && meant.arguments[0] != meant.arguments[1];
    let parts = sides.into_iter().zip(operands).zip(&meant.arguments).zip(arrays);
    for (((side, operand), kind), array) in parts {
        let ty = match (operand, &*side) {
            // What a literal is compared with decides its digits and length, too (`literals`).
            (None, Expr::Literal(..)) if compares || kind.is_text() => continue,
            (None, Expr::Literal(value, _)) => array.unwrap_or_else(|| operand_type(*kind, value)),
            (Some(Kind::Time), _) if apart || *kind == Kind::Interval => INTERVAL,
            // Beside a literal it stays what it is, and the literal becomes one of both.
            (Some(Kind::Cidr), _) if operands.contains(&Some(Kind::Inet)) => {
                operand_type(*kind, &ScalarValue::Null)
            }
            (Some(Kind::Date), _) if apart => operand_type(Kind::Timestamp, &ScalarValue::Null),
            // A number that `||` joins to an array is one of one element: that takes other digits.
            (Some(of), _) if joins && *kind == Kind::Numeric && !of_array(&of) => {
                let element = std::mem::replace(side, Expr::Literal(ScalarValue::Null, None));
                *side = make_array(vec![element]);
                continue;
            }
            // Elements and arrays that `||` joins; numbers keep their digits.
            (Some(of), _) if joins && of != *kind && !has_digits(kind) => {
                operand_type(*kind, &ScalarValue::Null)
            }
            _ => continue,
        };
        let operand = std::mem::replace(side, Expr::Literal(ScalarValue::Null, None));
        *side = match kind {
            Kind::Array(Kind::Uuid) => uuids(cast(operand, ty)),
            _ => cast(operand, ty),
        };
    }
    Ok(expr)
}

/// Fails if an operator does not exist for operands of a typed plan. Parameters, and what may be a UUID, fit anywhere.
pub(crate) fn check(left: &Expr, name: &str, right: &Expr, schema: &DFSchema) -> Result<(), SqlError> {
    let (Some(left_kind), Some(right_kind)) = (operand(left, schema), operand(right, schema)) else {
        return Ok(());
    };
    // Rows compare as `records` has it.
    let are_records = matches!(
        (left_kind, right_kind),
        (Some(Kind::Record), Some(Kind::Record) | None) | (None, Some(Kind::Record))
    );
    if are_records || may_be_uuids(left, left_kind, right, right_kind, schema) {
        return Ok(());
    }
    match chosen(name, &[left_kind, right_kind]) {
        Err(error) if error.sqlstate == "42883" => Err(error),
        _ => Ok(()),
    }
}

/// Fails if an operator does not exist for a value and the elements of an array.
pub(crate) fn check_among(value: &Expr, name: &str, array: &Expr, schema: &DFSchema) -> Result<(), SqlError> {
    let (Some(value_kind), Some(array_kind)) = (operand(value, schema), operand(array, schema)) else {
        return Ok(());
    };
    let element = match array_kind {
        Some(Kind::Array(element)) => *element,
        None => return Ok(()),
        Some(_) => {
            let message = "op ANY/ALL (array) requires array on right side";
            return Err(SqlError::statement("42809", message));
        }
    };
    // A text may have been made of a UUID.
    let may_be = |kind: Kind| kind.is_text() || kind == Kind::Uuid;
    if value_kind.is_some_and(may_be) && may_be(element) {
        return Ok(());
    }
    chosen(name, &[value_kind, Some(element)]).map(drop)
}

/// Whether one operand is a UUID, and the other a text that may have been made of one: that of CASE, `coalesce`, an element of an array.
fn may_be_uuids(
    left: &Expr,
    left_kind: Option<Kind>,
    right: &Expr,
    right_kind: Option<Kind>,
    schema: &DFSchema,
) -> bool {
    let may_be = |expr: &Expr, other: Option<Kind>| {
        !matches!(expr, Expr::Cast(_))
            && match (other, expr.to_field(schema)) {
                (Some(Kind::Uuid), Ok((_, field))) => may_be_uuid(&field),
                (Some(Kind::Array(Kind::Uuid)), Ok((_, field))) => {
                    matches!(field.data_type(), ArrowType::List(of) if may_be_uuid(of))
                }
                _ => false,
            }
    };
    may_be(left, right_kind) || may_be(right, left_kind)
}

/// Whether a field is one of texts that nothing says more of.
pub(crate) fn may_be_uuid(field: &Field) -> bool {
    field.data_type().is_string() && !field.metadata().contains_key(TYPE_KEY)
}

fn is_comparison(operator: &str) -> bool {
    matches!(operator, "=" | "<>" | "<" | "<=" | ">" | ">=")
}
