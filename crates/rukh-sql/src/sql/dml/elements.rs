//! SET of elements: `SET a[1] = 2` assigns the array with that element changed, `SET d['a'] = '1'` the document.
//!
//! | written            | assigns to the column                                                          |
//! |--------------------|--------------------------------------------------------------------------------|
//! | `a[1] = x`         | `array_assign(a, ARRAY[1], ARRAY[x])`                                           |
//! | `a[1:2] = x`       | `array_assign(a, ARRAY[1, 2], x)`                                               |
//! | `r.a = x`          | `named_struct('a', x, 'b', (r).b)`                                              |
//! | `d['a'][0] = x`    | `jsonb_assign(coalesce(d, '{}'), ARRAY['a', '0'], coalesce(x, 'null'))`          |
//!
//! A value is cast to the type of the element, which takes more than PostgreSQL's assignment: texts are read.

use rukh_error::SqlError;
use rukh_functions::functions::{json::change, lists::dimensions};
use rukh_keys::{DataType, RecordType};
use rukh_syntax::make::{call, cast, nested};
use rukh_syntax::sqlparser::ast::{self, Array, ArrayElemTypeDef, Expr, Value};
use rukh_syntax::{ObjectName, Subscript};

use super::values::is_default;
use crate::bind::spelling::parameters::types::written_type;
use crate::bind::spelling::rows;

/// Returns the value of a column of which some elements are assigned to; `before` is its value without that.
///
/// # Errors
/// 42804 where the type has no subscripts; 0A000 for arrays of arrays and for DEFAULT.
pub(super) fn changed(
    before: Expr,
    ty: DataType,
    subscripts: &[Subscript<'_>],
    value: &Expr,
) -> Result<Expr, SqlError> {
    if is_default(value) {
        let message = "cannot set an array element to DEFAULT";
        return Err(SqlError::unsupported(message));
    }
    match (ty, subscripts) {
        (DataType::Jsonb, steps) => document(before, steps, value),
        (DataType::Array(element), [Subscript::At(at)]) => {
            let value = array(vec![nested(value.clone())], *element);
            Ok(assigned(before, vec![(*at).clone()], value))
        }
        (DataType::Array(_), [Subscript::Slice(low, high)]) => {
            let bound = |given: &Expr, other: Expr| match given {
                Expr::Value(value) if value.value == Value::Null => other,
                given => given.clone(),
            };
            let length = call("cardinality", vec![before.clone()]);
            let length = call("coalesce", vec![length, number("0")]);
            let bounds = vec![bound(low, number("1")), bound(high, length)];
            let value = cast(nested(value.clone()), array_type(ty));
            Ok(assigned(before, bounds, value))
        }
        (DataType::Array(_), _) => Err(SqlError::unsupported(
            "assignment to elements of arrays of several dimensions is not supported",
        )),
        (ty, _) => {
            let message = format!(
                "cannot subscript type {} because it does not support subscripting",
                ty.postgres_name()
            );
            Err(SqlError::statement("42804", message))
        }
    }
}

/// Returns the value of a column of a composite type of which one field is assigned to; `before` is its value without that.
pub(super) fn with_field(
    before: &Expr,
    of: RecordType,
    name: &ObjectName,
    value: &Expr,
) -> Result<Expr, SqlError> {
    if !of.fields().iter().any(|field| field.name == name.name) {
        let message = format!(
            "cannot assign to field \"{}\" of column \"{}\" because there is no such column in data type {}",
            name.name,
            name.schema.as_deref().unwrap_or_default(),
            of.sql_name()
        );
        return Err(SqlError::statement("42703", message).at(name.position));
    }
    if is_default(value) {
        let message = "cannot set a subfield to DEFAULT";
        return Err(SqlError::unsupported(message).at(name.position));
    }
    let pairs = of.fields().iter().flat_map(|field| {
        let value = match field.name == name.name {
            true => cast(nested(value.clone()), written_type(field.ty)),
            false => rows::field_access(before.clone(), &field.name),
        };
        [string(&field.name), value]
    });
    let row = call(rows::RECORD, pairs.collect());
    Ok(cast(row, written_type(DataType::Record(of))))
}

fn document(before: Expr, steps: &[Subscript<'_>], value: &Expr) -> Result<Expr, SqlError> {
    let step = |step: &Subscript<'_>| match step {
        Subscript::At(at) => Ok(cast(nested((*at).clone()), ast::DataType::Text)),
        Subscript::Slice(..) => Err(SqlError::statement(
            "42804",
            "jsonb subscript does not support slices",
        )),
    };
    // What is NULL becomes an array if the first step is a number.
    let empty = match steps.first() {
        Some(Subscript::At(Expr::Value(value))) if matches!(value.value, Value::Number(..)) => "[]",
        _ => "{}",
    };
    let jsonb = |expr: Expr| cast(expr, ast::DataType::JSONB);
    let path = steps.iter().map(step).collect::<Result<Vec<_>, _>>()?;
    Ok(call(
        change::ASSIGN,
        vec![
            call("coalesce", vec![before, jsonb(string(empty))]),
            array(path, DataType::Varchar(None)),
            call(
                "coalesce",
                vec![jsonb(nested(value.clone())), jsonb(string("null"))],
            ),
        ],
    ))
}

/// Makes the call that puts the elements of one array at places of another.
fn assigned(before: Expr, places: Vec<Expr>, value: Expr) -> Expr {
    let places = array(places.into_iter().map(nested).collect(), DataType::Integer);
    call(dimensions::ARRAY_ASSIGN, vec![before, places, value])
}

/// Makes `CAST(ARRAY[…] AS type[])`.
fn array(elem: Vec<Expr>, element: DataType) -> Expr {
    cast(
        Expr::Array(Array { elem, named: true }),
        array_type(element.array()),
    )
}

fn array_type(ty: DataType) -> ast::DataType {
    let element = written_type(ty.element().unwrap_or(ty));
    ast::DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None))
}

fn number(digits: &str) -> Expr {
    Expr::Value(Value::Number(digits.to_string(), false).into())
}

fn string(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}
