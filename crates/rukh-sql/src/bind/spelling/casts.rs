//! Casts and numbers that DataFusion does not have, spelled out.
//!
//! | written                   | becomes                              |
//! |---------------------------|--------------------------------------|
//! | `CAST(x AS VARCHAR(3))`   | `left(CAST(x AS VARCHAR), 3)`, `left` by another name |
//! | `CAST(x AS CHAR(3))`      | `rtrim(left(CAST(x AS VARCHAR), 3))` |
//! | `CAST(x AS UUID)`         | `to_uuid(x)`                         |
//! | `CAST(x AS UUID[])`       | `to_uuids(CAST(x AS TEXT[]))`        |
//! | `UUID 'a0ee…'`            | `to_uuid('a0ee…')`                   |
//! | `CAST(x AS jsonpath)`     | `jsonpath_in(x)`                     |
//! | `CAST(x AS TIMESTAMP(3))` | `round_moment(CAST(x AS TIMESTAMP), 3)`, TIME alike |
//! | `1e300`, `-1e300`         | `wide_number('1e300')`, see there    |
//! | `INTERVAL '1 day 02:00'`  | an interval in words DataFusion reads |
//! | `- INTERVAL '1 mon 1 day'` | `INTERVAL '1 mon 1 day' * (-1)`      |

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_functions::casts::texts::{CAST_CHAR, CAST_VARCHAR};
use rukh_functions::functions::json::path::CAST as PATH;
use rukh_functions::functions::numbers::wide_number::WIDE_NUMBER;
use rukh_functions::functions::texts::to_uuid::{TO_UUID, TO_UUIDS};
use rukh_functions::functions::times::round_moment::ROUND_MOMENT;
use rukh_keys::{DataType, Interval};
use rukh_syntax::sqlparser::ast::{self, ArrayElemTypeDef, CastKind, Expr, TypedString, Value, VisitorMut};

use rukh_syntax::make::{binary, call, cast, nested};
use rukh_syntax::{WalkMut, data_type, is_double};

/// Spells out the casts of a tree.
pub(crate) fn spell_out(node: &mut (impl WalkMut + ?Sized)) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Spell);
}

struct Spell;

impl VisitorMut for Spell {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(spelled) = spelled(expr) {
            *expr = spelled;
        }
        ControlFlow::Continue(())
    }
}

/// Spells out a cast to UUID[].
pub(crate) fn spell_out_uuids(expr: &mut Expr) {
    if let Some(uuids) = as_uuids(expr) {
        *expr = uuids;
    }
}

/// Returns a cast to UUID[] as a call.
fn as_uuids(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: ast::DataType::Array(ArrayElemTypeDef::SquareBracket(of, length)),
            ..
        } if **of == ast::DataType::Uuid => {
            let of_texts = ArrayElemTypeDef::SquareBracket(Box::new(ast::DataType::Text), *length);
            let texts = cast(expr.as_ref().clone(), ast::DataType::Array(of_texts));
            Some(call(TO_UUIDS, vec![texts]))
        }
        _ => None,
    }
}

fn spelled(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Interval(interval) => {
            let words = match &interval.leading_field {
                None => interval_words(&interval.value, interval.fractional_seconds_precision)?,
                Some(leading) => words_of_fields(interval, leading)?,
            };
            Some(Expr::Interval(ast::Interval {
                value: Box::new(words),
                leading_field: None,
                leading_precision: None,
                last_field: None,
                fractional_seconds_precision: None,
            }))
        }
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr,
            data_type: ast::DataType::Interval { fields, precision },
            ..
        } => {
            let words = match fields {
                Some(fields) => {
                    let (leading, last_field) = fields_of(fields);
                    let interval = ast::Interval {
                        value: expr.clone(),
                        leading_field: None,
                        leading_precision: None,
                        last_field,
                        fractional_seconds_precision: *precision,
                    };
                    words_of_fields(&interval, &leading)?
                }
                None => interval_words(expr, *precision)?,
            };
            Some(cast(words, whole_interval()))
        }
        Expr::TypedString(TypedString {
            data_type: ast::DataType::Interval { fields, precision },
            value,
            ..
        }) if fields.is_some() || precision.is_some() => spelled(&Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(Expr::Value(value.clone())),
            data_type: ast::DataType::Interval {
                fields: *fields,
                precision: *precision,
            },
            array: false,
            format: None,
        }),
        Expr::Cast {
            kind: CastKind::Cast | CastKind::DoubleColon,
            expr: value,
            data_type: ty,
            ..
        } => {
            if let Some(uuids) = as_uuids(expr) {
                return Some(uuids);
            }
            let expr = value;
            let text = || as_text(expr);
            if is_path(ty) {
                return Some(call(PATH, vec![text()]));
            }
            match data_type(ty).ok()? {
                DataType::Varchar(Some(length)) => Some(left(text(), length)),
                DataType::Char(length) => Some(call(CAST_CHAR, vec![left(text(), length)])),
                DataType::Uuid => {
                    // A parameter has the type of the cast, and a text that of its own.
                    let is_parameter = matches!(expr.as_ref(), Expr::Value(value) if matches!(value.value, Value::Placeholder(_)));
                    let value = if is_parameter {
                        text()
                    } else {
                        expr.as_ref().clone()
                    };
                    Some(call(TO_UUID, vec![value]))
                }
                DataType::Time { precision }
                | DataType::Timestamp { precision }
                | DataType::TimestampTz { precision }
                    if precision < 6 =>
                {
                    Some(rounded(
                        cast(expr.as_ref().clone(), without_precision(ty)),
                        precision,
                    ))
                }
                _ => None,
            }
        }
        Expr::TypedString(TypedString {
            data_type: ast::DataType::Uuid,
            value,
            ..
        }) => Some(call(TO_UUID, vec![Expr::Value(value.clone())])),
        Expr::TypedString(typed) if is_path(&typed.data_type) => {
            Some(call(PATH, vec![Expr::Value(typed.value.clone())]))
        }
        Expr::TypedString(typed) => {
            let (DataType::Time { precision }
            | DataType::Timestamp { precision }
            | DataType::TimestampTz { precision }) = data_type(&typed.data_type).ok()?
            else {
                return None;
            };
            let whole = TypedString {
                data_type: without_precision(&typed.data_type),
                ..typed.clone()
            };
            (precision < 6).then(|| rounded(Expr::TypedString(whole), precision))
        }
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) if is_double(digits) => Some(wide_number(digits.clone())),
            _ => None,
        },
        Expr::UnaryOp {
            op: ast::UnaryOperator::Minus,
            expr,
        } => negated_wide_number(expr).or_else(|| negated_interval(expr)),
        _ => None,
    }
}

/// Whether a type is that of paths of SQL/JSON.
fn is_path(ty: &ast::DataType) -> bool {
    matches!(ty, ast::DataType::Custom(name, _) if name.to_string().eq_ignore_ascii_case("jsonpath"))
}

fn rounded(moment: Expr, digits: u8) -> Expr {
    let digits = Expr::Value(Value::Number(digits.to_string(), false).into());
    call(ROUND_MOMENT, vec![moment, digits])
}

/// Returns a type of times to the microsecond.
fn without_precision(ty: &ast::DataType) -> ast::DataType {
    match ty {
        ast::DataType::Time(_, zone) => ast::DataType::Time(None, *zone),
        ast::DataType::Timestamp(_, zone) => ast::DataType::Timestamp(None, *zone),
        other => other.clone(),
    }
}

fn wide_number(digits: String) -> Expr {
    call(
        WIDE_NUMBER,
        vec![Expr::Value(Value::SingleQuotedString(digits).into())],
    )
}

/// Returns `- INTERVAL '…'` as a product: DataFusion puts the sign before the text, where it is that of the first part.
fn negated_interval(expr: &Expr) -> Option<Expr> {
    let Expr::Interval(_) = expr else { return None };
    let one = Expr::Value(Value::Number("1".to_string(), false).into());
    let minus_one = nested(Expr::UnaryOp {
        op: ast::UnaryOperator::Minus,
        expr: Box::new(one),
    });
    Some(nested(binary(expr, ast::BinaryOperator::Multiply, &minus_one)))
}

/// Puts the sign into the digits of a number that is spelled as a call.
fn negated_wide_number(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let ast::FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(Expr::Value(value)))]
            if function.name.to_string() == WIDE_NUMBER =>
        {
            match &value.value {
                Value::SingleQuotedString(digits) if !digits.starts_with('-') => {
                    Some(wide_number(format!("-{digits}")))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns the literal of an interval in words that DataFusion reads; `None` for what is no such literal.
fn interval_words(literal: &Expr, digits: Option<u64>) -> Option<Expr> {
    let Expr::Value(value) = literal else {
        return None;
    };
    let Value::SingleQuotedString(text) = &value.value else {
        return None;
    };
    let words = rounded_seconds(Interval::read(text)?, digits).words();
    Some(Expr::Value(
        Value::SingleQuotedString(words).with_span(value.span),
    ))
}

/// Rounds seconds to so many digits after the point.
fn rounded_seconds(read: Interval, digits: Option<u64>) -> Interval {
    match digits.and_then(|digits| 6_u32.checked_sub(u32::try_from(digits).ok()?)) {
        Some(dropped) => {
            let step = 10_i64.pow(dropped);
            let half = read.micros.signum() * step / 2;
            let micros = read.micros.saturating_add(half) / step * step;
            Interval { micros, ..read }
        }
        None => read,
    }
}

fn whole_interval() -> ast::DataType {
    ast::DataType::Interval {
        fields: None,
        precision: None,
    }
}

/// Returns the first field that an interval keeps, and the last if it is another one.
fn fields_of(fields: &ast::IntervalFields) -> (ast::DateTimeField, Option<ast::DateTimeField>) {
    use ast::DateTimeField::{Day, Hour, Minute, Month, Second, Year};
    use ast::IntervalFields as Fields;
    match fields {
        Fields::Year => (Year, None),
        Fields::Month => (Month, None),
        Fields::Day => (Day, None),
        Fields::Hour => (Hour, None),
        Fields::Minute => (Minute, None),
        Fields::Second => (Second, None),
        Fields::YearToMonth => (Year, Some(Month)),
        Fields::DayToHour => (Day, Some(Hour)),
        Fields::DayToMinute => (Day, Some(Minute)),
        Fields::DayToSecond => (Day, Some(Second)),
        Fields::HourToMinute => (Hour, Some(Minute)),
        Fields::HourToSecond => (Hour, Some(Second)),
        Fields::MinuteToSecond => (Minute, Some(Second)),
    }
}

/// Whether a unit may stand behind the text of an INTERVAL; of others `rewrite` makes an error.
pub(crate) fn is_field(unit: &ast::DateTimeField) -> bool {
    use ast::DateTimeField::{Day, Hour, Minute, Month, Second, Year};
    matches!(unit, Year | Month | Day | Hour | Minute | Second)
}

/// Returns `INTERVAL '…' DAY TO SECOND (2)` in words: a number alone counts the last field, two numbers are days and the last field, what is
/// finer than that is cut off, and seconds are rounded (`AdjustIntervalForTypmod` of PostgreSQL).
fn words_of_fields(interval: &ast::Interval, leading: &ast::DateTimeField) -> Option<Expr> {
    const SECOND: i64 = 1_000_000;
    let Expr::Value(value) = interval.value.as_ref() else {
        return None;
    };
    let Value::SingleQuotedString(text) = &value.value else {
        return None;
    };
    let last = interval.last_field.as_ref().unwrap_or(leading);
    if !is_field(leading) || !is_field(last) {
        return None;
    }
    let singular =
        |field: &ast::DateTimeField| field.to_string().to_lowercase().trim_end_matches('s').to_string();
    let (first, unit) = (singular(leading), singular(last));
    let digits = match interval.last_field {
        None if unit == "second" => interval
            .leading_precision
            .or(interval.fractional_seconds_precision),
        _ => interval.fractional_seconds_precision,
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    let read = match words.as_slice() {
        [number] if is_number(number) => Interval::read(&format!("{number} {unit}"))?,
        [days, number] if is_number(days) && is_number(number) => {
            Interval::read(&format!("{days} days {number} {unit}"))?
        }
        [rest @ .., time] if first == "minute" && unit == "second" && time.matches(':').count() == 1 => {
            let sign = if time.starts_with('-') { "-" } else { "" };
            let time = time.trim_start_matches(['-', '+']);
            Interval::read(&format!("{} {sign}0:{time}", rest.join(" ")))?
        }
        _ => Interval::read(text)?,
    };
    let interval = rounded_seconds(read, digits);
    let cut = |micros: i64| interval.micros - interval.micros % micros;
    let kept = match unit.as_str() {
        "year" => Interval {
            months: interval.months / 12 * 12,
            ..Interval::default()
        },
        "month" => Interval {
            months: interval.months,
            ..Interval::default()
        },
        "day" => Interval {
            micros: 0,
            ..interval
        },
        "hour" => Interval {
            micros: cut(3_600 * SECOND),
            ..interval
        },
        "minute" => Interval {
            micros: cut(60 * SECOND),
            ..interval
        },
        "second" => interval,
        _ => return None,
    };
    Some(Expr::Value(
        Value::SingleQuotedString(kept.words()).with_span(value.span),
    ))
}

fn as_text(expr: &Expr) -> Expr {
    cast(expr.clone(), ast::DataType::Varchar(None))
}

fn left(text: Expr, length: u32) -> Expr {
    call(
        CAST_VARCHAR,
        vec![text, Expr::Value(Value::Number(length.to_string(), false).into())],
    )
}

#[cfg(test)]
mod tests {
    use crate::bind::spelling::parsing::parse;
    use rukh_syntax::Statement;

    #[test]
    fn casts_and_numbers_are_spelled_out() {
        let cases = [
            (
                "1e3, 1e300, -1e300",
                "1000.0, wide_number('1e300'), wide_number('-1e300')",
            ),
            (
                "a::varchar(3), CAST(b AS CHAR(2))",
                "cast_varchar(CAST(a AS VARCHAR), 3), cast_char(cast_varchar(CAST(b AS VARCHAR), 2))",
            ),
            ("UUID 'x', c::uuid, d::int", "to_uuid('x'), to_uuid(c), d::INT"),
        ];
        for (written, expected) in cases {
            let statement = parse(&format!("SELECT {written} FROM t")).expect("a statement");
            let Statement::Query(query) = statement else {
                panic!("{written} is no query");
            };
            assert_eq!(query.to_string(), format!("SELECT {expected} FROM t"));
        }
    }
}
