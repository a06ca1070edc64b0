//! Rows: among those of a subquery, `(a, b) IN (SELECT x, y …)`, and as values.
//!
//! | stands in                  | becomes                                                                       |
//! |----------------------------|-------------------------------------------------------------------------------|
//! | WHERE, by AND               | `EXISTS (SELECT 1 FROM (…) AS s (x, y) WHERE s.x = a AND s.y = b)`             |
//! | WHERE, by AND, with NOT     | `NOT EXISTS (… WHERE (s.x = a) IS NOT FALSE AND (s.y = b) IS NOT FALSE)`       |
//! | anything else               | a CASE of whether there is one that is equal, and one of which it is not known   |
//!
//! And a row beside the only row of a subquery: `(a, b) < (SELECT x, y …)` is `(a, b) < (x, y)`, where x and y are
//! fields of one value that the subquery gives, so that both are of one row. No row gives NULLs.
//!
//! Anywhere else a row is a value: `ROW(a, b)` is `named_struct('f1', a, 'f2', b)`, Arrow's Struct.
//!
//! Where a WHERE is not true it does not matter whether it is false or NULL. DataFusion compares one column only.

use rukh_syntax::make::{call, case, derived, select};
use rukh_syntax::sqlparser::ast::{
    AccessExpr, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Query,
    SelectItem, Value,
};

use crate::bind::names::query_width::width_of;
use crate::bind::spelling::literal_values::row;
use rukh_error::SqlError;
use rukh_syntax::{HIDDEN, folded};

/// The function that makes a row of names and values.
pub(crate) const RECORD: &str = "named_struct";

/// Returns the values of a row.
pub(crate) fn values(expr: &Expr) -> Option<Vec<Expr>> {
    row(expr).map(|values| values.into_owned())
}

/// Returns the value that a row is; `None` if an expression is no row.
pub(crate) fn value(expr: &Expr) -> Option<Expr> {
    if let Expr::Nested(_) = expr {
        return None;
    }
    let values = row(expr)?;
    let pairs = values.iter().enumerate();
    let pairs = pairs.flat_map(|(at, value)| [field_name(at), value.clone()]);
    Some(call(RECORD, pairs.collect()))
}

fn field_name(at: usize) -> Expr {
    Expr::Value(Value::SingleQuotedString(format!("f{}", at + 1)).into())
}

/// The function that reads a field of a row, as `(row).name` is spelled by `syntax`.
const FIELD: &str = "get_field";

/// Returns the field of a row.
pub(crate) fn field_access(record: Expr, name: &str) -> Expr {
    call(
        FIELD,
        vec![
            record,
            Expr::Value(Value::SingleQuotedString(name.to_string()).into()),
        ],
    )
}

/// Returns the field that `(row).name` is, where `syntax` has not spelled it: in definitions.
pub(crate) fn dotted(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    match (root, chain) {
        (Expr::Nested(record), [AccessExpr::Dot(Expr::Identifier(name))]) => {
            Some(field_access(record.as_ref().clone(), &folded(name)))
        }
        _ => None,
    }
}

/// Returns the row that an expression reads a field of, and the name of the field.
pub(crate) fn field(expr: &Expr) -> Option<(&Expr, &str)> {
    let Expr::Function(call) = expr else { return None };
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.as_slice() {
        [
            FunctionArg::Unnamed(FunctionArgExpr::Expr(record)),
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name))),
        ] if call.name.to_string() == FIELD => match &name.value {
            Value::SingleQuotedString(name) => Some((record, name)),
            _ => None,
        },
        _ => None,
    }
}

/// Spells out the rows that the conjuncts of a condition look for.
pub(crate) fn spell_out_conjuncts(condition: &mut Expr) {
    match condition {
        Expr::Nested(inner) => spell_out_conjuncts(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::And,
            right,
        } => {
            spell_out_conjuncts(left);
            spell_out_conjuncts(right);
        }
        Expr::InSubquery {
            expr,
            subquery,
            negated,
        } => {
            if let Some(row) = row(expr) {
                let found = found(&row, *negated);
                *condition = Expr::Exists {
                    subquery: Box::new(rows_where(&row, subquery, number("1"), found)),
                    negated: *negated,
                };
            }
        }
        _ => {}
    }
}

/// Returns what `row IN (subquery)` is anywhere; `None` if there is no row.
pub(crate) fn spelled(expr: &Expr, subquery: &Query, negated: bool) -> Option<Expr> {
    let row = row(expr)?;
    let any = |unknown: bool| Expr::Exists {
        subquery: Box::new(rows_where(&row, subquery, number("1"), found(&row, unknown))),
        negated: false,
    };
    let boolean = |value: bool| Expr::Value(Value::Boolean(value).into());
    let when = vec![
        (any(false), boolean(!negated)),
        (any(true), Expr::Value(Value::Null.into())),
    ];
    let case = case(when, Some(boolean(negated)));
    // A comparison gives its column no name, as IN gives it none.
    Some(Expr::Nested(Box::new(Expr::BinaryOp {
        left: Box::new(case),
        op: BinaryOperator::Eq,
        right: Box::new(boolean(true)),
    })))
}

/// Returns the columns of the only row of a subquery, as fields of one value; fails if there are not `count`
/// columns.
pub(crate) fn fields(query: &Query, count: usize) -> Result<Vec<Expr>, SqlError> {
    let width = width_of(query).unwrap_or(count);
    if width != count {
        let problem = if width > count { "many" } else { "few" };
        return Err(SqlError::syntax(format!("subquery has too {problem} columns")));
    }
    let value = |at: usize| Expr::CompoundIdentifier(vec![Ident::with_quote('"', relation()), column(at)]);
    let pairs = (0..count).flat_map(|at| [field_name(at), value(at)]);
    let item = SelectItem::ExprWithAlias {
        expr: call(RECORD, pairs.collect()),
        alias: Ident::with_quote('"', relation()),
    };
    let from = derived(query.clone(), &relation(), (0..count).map(column).collect());
    let only_row = Expr::Subquery(Box::new(select(vec![item], from, None)));
    let field = |at: usize| field_access(only_row.clone(), &format!("f{}", at + 1));
    Ok((0..count).map(field).collect())
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_string(), false).into())
}

/// The names of the subquery and of its columns, which no statement contains.
fn column(at: usize) -> Ident {
    Ident::with_quote('"', format!("sought{HIDDEN}{at}"))
}

fn relation() -> String {
    format!("rows{HIDDEN}")
}

/// Returns the condition that a row is equal, or may be.
fn found(row: &[Expr], may_be: bool) -> Expr {
    let equal = |(at, element): (usize, &Expr)| {
        let equal = Expr::BinaryOp {
            left: Box::new(Expr::CompoundIdentifier(vec![
                Ident::with_quote('"', relation()),
                column(at),
            ])),
            op: BinaryOperator::Eq,
            right: Box::new(Expr::Nested(Box::new(element.clone()))),
        };
        match may_be {
            true => Expr::IsNotFalse(Box::new(Expr::Nested(Box::new(equal)))),
            false => equal,
        }
    };
    let all = row
        .iter()
        .enumerate()
        .map(equal)
        .reduce(|left, right| Expr::BinaryOp {
            left: Box::new(left),
            op: BinaryOperator::And,
            right: Box::new(right),
        });
    all.unwrap_or_else(|| Expr::Value(Value::Boolean(true).into()))
}

/// Makes `SELECT item FROM (subquery) AS … WHERE condition`.
fn rows_where(row: &[Expr], subquery: &Query, item: Expr, condition: Expr) -> Query {
    let columns = (0..row.len()).map(column).collect();
    let from = derived(subquery.clone(), &relation(), columns);
    select(vec![SelectItem::UnnamedExpr(item)], from, Some(condition))
}
