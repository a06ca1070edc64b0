//! Prints a typed expression as SQL that is read back as the same expression.
//!
//! This text is what the catalog stores for an index expression, how two expressions are found to be the
//! same, and what EXPLAIN shows of a condition. So it is deterministic, has no table names, as few
//! parentheses as PostgreSQL's precedence allows, and says the type of every literal that would be read
//! as another one:
//!
//! | literal                    | printed                                   |
//! |----------------------------|-------------------------------------------|
//! | INTEGER, VARCHAR, BOOLEAN  | `5`, `'x'`, `true`                        |
//! | DECIMAL                    | `1.50`                                    |
//! | DATE, TIMESTAMP, TIME      | `DATE '2015-10-01'`                       |
//! | VARBINARY                  | `x'00ff'`                                 |
//! | REAL                       | `CAST('0.1' AS REAL)`                     |
//! | other numbers              | `CAST(5 AS SMALLINT)`, but `5` in a comparison, which finds the type again |
//! | BIGINT that INTEGER holds  | `CAST(5 AS BIGINT)`, but `5` as an operand or argument, likewise |
//!
//! What has no SQL (lambdas, structs) is printed as DataFusion prints it; such text is never stored.

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, IntervalMonthDayNano};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Case, InList, Like, ScalarFunction};
use datafusion::logical_expr::{Between, BinaryExpr, Cast, Expr, Operator, lit};
use rukh_keys::{DataType, Jsonb};

use rukh_functions::casts::documents::document_cast;
use rukh_functions::casts::numbers::number_cast;
use rukh_functions::casts::read::{read_cast, record_cast};
use rukh_functions::casts::texts::{CAST_CHAR, CAST_VARCHAR, is_cast_to_text};
use rukh_functions::casts::times::time_cast;
use rukh_functions::functions::common::declared::DECLARED;
use rukh_functions::functions::common::exact::exact_operator;
use rukh_functions::functions::lists::array_order::ARRAY_ORDER;
use rukh_functions::functions::lists::quantified;
use rukh_functions::functions::lists::record_order::RECORD_ORDER;
use rukh_functions::functions::numbers::arithmetic::operator_of;
use rukh_functions::functions::texts::regex::POINT_IS_ANY;
use rukh_functions::functions::texts::similar::OPENING;
use rukh_functions::functions::times::extract::{DATE_PART, EXTRACT, WHOLE};
use rukh_functions::functions::times::interval_order::INTERVAL_ORDER;
use rukh_functions::functions::times::time_difference::TIME_DIFFERENCE;
use rukh_functions::scalars::datum_of_scalar;
use rukh_functions::signatures::overloaded::{INT4_DIGITS, INT8_DIGITS};
use rukh_functions::types::{arrow_type, data_type_of, data_type_of_arrow};
use rukh_syntax::{quoted, quoted_string};

use crate::bind::types::operators::documents;

/// Returns an expression as SQL text.
pub(crate) fn sql_text(expr: &Expr) -> String {
    printed(expr, Binding::Loosest).unwrap_or_else(|| expr.to_string())
}

/// How tightly an expression holds its operands; a looser one within a tighter needs parentheses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Binding {
    Loosest,
    Or,
    And,
    Not,
    Is,
    Comparison,
    Like,
    Other,
    Sum,
    Product,
    Power,
    Negation,
    Tightest,
}

impl Binding {
    /// The next tighter binding: what the second operand of a left-associative operator needs.
    fn tighter(self) -> Self {
        use Binding::*;
        match self {
            Loosest => Or,
            Or => And,
            And => Not,
            Not => Is,
            Is => Comparison,
            Comparison => Like,
            Like => Other,
            Other => Sum,
            Sum => Product,
            Product => Power,
            Power => Negation,
            Negation | Tightest => Tightest,
        }
    }
}

/// Returns the text of an expression where an operand of at least this binding is needed.
fn printed(expr: &Expr, needed: Binding) -> Option<String> {
    let (text, binding) = print(expr)?;
    Some(if binding < needed {
        format!("({text})")
    } else {
        text
    })
}

fn print(expr: &Expr) -> Option<(String, Binding)> {
    use Binding::*;
    let is = |inner: &Expr, what: &str| Some((format!("{} IS {what}", printed(inner, Comparison)?), Is));
    match expr {
        Expr::Alias(alias) => print(&alias.expr),
        Expr::Column(column) => Some((quoted(&column.name), Tightest)),
        Expr::Literal(value, _) => literal(value),
        Expr::BinaryExpr(binary) => binary_expr(binary),
        Expr::Not(inner) => Some((format!("NOT {}", printed(inner, Not)?), Not)),
        Expr::IsNull(inner) => is(inner, "NULL"),
        Expr::IsNotNull(inner) => is(inner, "NOT NULL"),
        Expr::IsTrue(inner) => is(inner, "TRUE"),
        Expr::IsNotTrue(inner) => is(inner, "NOT TRUE"),
        Expr::IsFalse(inner) => is(inner, "FALSE"),
        Expr::IsNotFalse(inner) => is(inner, "NOT FALSE"),
        Expr::IsUnknown(inner) => is(inner, "UNKNOWN"),
        Expr::IsNotUnknown(inner) => is(inner, "NOT UNKNOWN"),
        Expr::Negative(inner) => Some((format!("- {}", printed(inner, Tightest)?), Negation)),
        Expr::Between(between) => between_expr(between),
        Expr::InList(list) => in_list(list),
        Expr::Like(like) => like_expr(like, if like.case_insensitive { "ILIKE" } else { "LIKE" }),
        Expr::SimilarTo(like) => like_expr(like, "SIMILAR TO"),
        Expr::Case(case) => case_expr(case),
        Expr::Cast(Cast { expr, field }) if *field.data_type() == WHOLE && extracted(expr).is_some() => {
            Some((extracted(expr)?, Tightest))
        }
        Expr::Cast(Cast { expr, field }) => cast(&printed(expr, Loosest)?, field),
        Expr::ScalarFunction(call) => {
            if let (Some(op), [left, right]) = (operator_of(&call.func), call.args.as_slice()) {
                return match exact_operator(&call.func) {
                    Some(_) => binary_text(&as_written(left), op, &as_written(right)),
                    None => binary_text(left, op, right),
                };
            }
            if let (Some((op, all)), [value, array]) =
                (quantified::operator_of(call.name()), call.args.as_slice())
            {
                let word = if all { "ALL" } else { "ANY" };
                let value = operand(value, Comparison.tighter(), true)?;
                let text = format!("{value} {op} {word} ({})", printed(array, Loosest)?);
                return Some((text, Comparison));
            }
            if let (Some(op), [left, right]) = (documents::operator_of(call.name()), call.args.as_slice()) {
                return binary_text(left, op, right);
            }
            match (call.name(), call.args.as_slice()) {
                (EXTRACT, [Expr::Literal(..), _]) => return Some((extracted(expr)?, Tightest)),
                (TIME_DIFFERENCE, [left, right]) => return binary_text(left, Operator::Minus, right),
                (INTERVAL_ORDER | RECORD_ORDER, [value]) => return print(value),
                (DECLARED, [value, _]) => return print(value),
                _ => {}
            }
            if let (true, [inner]) = (is_cast_to_text(&call.func), call.args.as_slice()) {
                return cast(&printed(inner, Loosest)?, &Field::new("", ArrowType::Utf8, true));
            }
            let cast_to = number_cast(&call.func).or_else(|| time_cast(&call.func)).cloned();
            let cast_to = cast_to.or_else(|| read_cast(&call.func));
            let cast_to = cast_to.or_else(|| document_cast(&call.func));
            if let (Some(to), [inner]) = (cast_to, call.args.as_slice()) {
                return cast(&printed(inner, Loosest)?, &Field::new("", to, true));
            }
            if let (Some(to), [inner]) = (record_cast(&call.func), call.args.as_slice()) {
                return Some((format!("CAST({} AS {to})", printed(inner, Loosest)?), Tightest));
            }
            if let ("get_field", [record, Expr::Literal(ScalarValue::Utf8(Some(field)), _)]) =
                (call.name(), call.args.as_slice())
            {
                return Some((
                    format!("({}).{}", printed(record, Loosest)?, quoted(field)),
                    Tightest,
                ));
            }
            if let Some((inner, ty)) = cast_of_length(call) {
                return cast_text(&printed(inner, Loosest)?, ty);
            }
            if let "concat" | "concat_ws" | "format" = call.name() {
                // They write their arguments as texts themselves, BOOLEAN as `t` and `f`.
                let bare: Vec<Expr> = call.args.iter().map(|arg| before_text(arg).clone()).collect();
                return Some((format!("{}({})", call.name(), list(&bare)?), Tightest));
            }
            let name = if is_plain_function(call.name()) {
                call.name().to_string()
            } else {
                quoted(call.name())
            };
            Some((format!("{name}({})", list(&call.args)?), Tightest))
        }
        Expr::Placeholder(placeholder) => Some((placeholder.id.clone(), Tightest)),
        _ => None,
    }
}

/// Returns an operand of a quotient or product of NUMERICs as the integer that it was (`exact_call`).
fn as_written(operand: &Expr) -> Expr {
    let whole = match operand {
        Expr::Literal(ScalarValue::Decimal128(Some(value), digits, 0), _) => {
            let fits = i32::try_from(*value).is_ok();
            let was_integer = fits && *digits == INT4_DIGITS || !fits && *digits == INT8_DIGITS;
            i64::try_from(*value).ok().filter(|_| was_integer)
        }
        _ => None,
    };
    whole.map_or_else(|| operand.clone(), lit)
}

/// Returns a call of `extract`, or of the `date_part` that computes it, as it is written; `None` of others.
fn extracted(expr: &Expr) -> Option<String> {
    let Expr::ScalarFunction(call) = expr else {
        return None;
    };
    match (call.name(), call.args.as_slice()) {
        (EXTRACT | DATE_PART, [Expr::Literal(field, _), of]) => {
            let field = field.try_as_str().flatten()?;
            Some(format!(
                "EXTRACT({} FROM {})",
                field.to_uppercase(),
                printed(of, Binding::Loosest)?
            ))
        }
        _ => None,
    }
}

/// Returns what an argument was before binding made it a text.
fn before_text(argument: &Expr) -> &Expr {
    match argument {
        Expr::ScalarFunction(call) if is_cast_to_text(&call.func) => call.args.first().unwrap_or(argument),
        _ => argument,
    }
}

/// Functions whose names are words with a meaning, and which are read as functions all the same.
fn is_plain_function(name: &str) -> bool {
    matches!(
        name,
        "hash" | "left" | "right" | "coalesce" | "nullif" | "greatest" | "least" | "position"
    )
}

fn list(exprs: &[Expr]) -> Option<String> {
    let texts = exprs
        .iter()
        .map(|expr| argument(expr, Binding::Loosest))
        .collect::<Option<Vec<_>>>();
    Some(texts?.join(", "))
}

/// Prints an operand or argument: a BIGINT without its type, which it gets again beside the others or by the function.
fn argument(expr: &Expr, needed: Binding) -> Option<String> {
    match expr {
        Expr::Literal(ScalarValue::Int64(Some(value)), _) => {
            let (text, binding) = signed(value.to_string());
            Some(if binding < needed {
                format!("({text})")
            } else {
                text
            })
        }
        _ => printed(expr, needed),
    }
}

fn binary_expr(binary: &BinaryExpr) -> Option<(String, Binding)> {
    binary_text(&binary.left, binary.op, &binary.right)
}

fn binary_text(left: &Expr, op: Operator, right: &Expr) -> Option<(String, Binding)> {
    if let (true, Operator::Minus) = (is_negative_zero(left), op) {
        return Some((
            format!("- {}", printed(right, Binding::Tightest)?),
            Binding::Negation,
        ));
    }
    if let (Expr::ScalarFunction(call), Expr::Literal(ScalarValue::Int32(Some(0)), _)) = (left, right)
        && let (ARRAY_ORDER, [one, other]) = (call.name(), call.args.as_slice())
    {
        return binary_text(one, op, other);
    }
    let binding = operator_binding(op)?;
    let compares = matches!(binding, Binding::Comparison | Binding::Is);
    // Comparisons do not associate; all others do to the left.
    let plain = written_pattern(op, right);
    let right = plain.as_ref().unwrap_or(right);
    let first = operand(left, if compares { binding.tighter() } else { binding }, compares)?;
    let second = operand(right, binding.tighter(), compares)?;
    let sign = match op {
        Operator::BitwiseXor => "#".to_string(),
        op => op.to_string(),
    };
    Some((format!("{first} {sign} {second}"), binding))
}

/// Whether an operand is what the negation of floats takes them from.
fn is_negative_zero(operand: &Expr) -> bool {
    match operand {
        Expr::Literal(ScalarValue::Float32(Some(value)), _) => *value == 0.0 && value.is_sign_negative(),
        Expr::Literal(ScalarValue::Float64(Some(value)), _) => *value == 0.0 && value.is_sign_negative(),
        _ => false,
    }
}

/// Returns a regular expression as it was written, without the flag that `literals` gave it.
fn written_pattern(op: Operator, pattern: &Expr) -> Option<Expr> {
    use Operator::{RegexIMatch, RegexMatch, RegexNotIMatch, RegexNotMatch};
    if !matches!(op, RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch) {
        return None;
    }
    let text = |expr: &Expr| match expr {
        Expr::Literal(value, _) => value.try_as_str().flatten().map(str::to_string),
        _ => None,
    };
    match pattern {
        Expr::Literal(..) => {
            let pattern = text(pattern).filter(|pattern| !pattern.starts_with(OPENING))?;
            pattern.strip_prefix(POINT_IS_ANY).map(lit)
        }
        _ => None,
    }
}

fn operator_binding(op: Operator) -> Option<Binding> {
    use Operator::*;
    Some(match op {
        Or => Binding::Or,
        And => Binding::And,
        IsDistinctFrom | IsNotDistinctFrom => Binding::Is,
        Eq | NotEq | Lt | LtEq | Gt | GtEq => Binding::Comparison,
        Plus | Minus => Binding::Sum,
        Multiply | Divide | Modulo => Binding::Product,
        BitwiseXor | StringConcat | RegexMatch | RegexIMatch | RegexNotMatch | RegexNotIMatch
        | BitwiseAnd | BitwiseOr | BitwiseShiftLeft | BitwiseShiftRight | Arrow | LongArrow | HashArrow
        | HashLongArrow | HashMinus | AtArrow | ArrowAt | AtAt | AtQuestion | Question | QuestionAnd
        | QuestionPipe => Binding::Other,
        _ => return None,
    })
}

/// Prints an operand; literals of a comparison go without their type.
fn operand(expr: &Expr, needed: Binding, compares: bool) -> Option<String> {
    match (expr, compares) {
        (Expr::Literal(ScalarValue::Int64(Some(_)), _), false) => argument(expr, needed),
        (Expr::Literal(value, _), true) => match plain_number(value) {
            Some(number) => Some(number),
            None => printed(expr, needed),
        },
        _ => printed(expr, needed),
    }
}

fn between_expr(between: &Between) -> Option<(String, Binding)> {
    let not = if between.negated { "NOT " } else { "" };
    let expr = operand(&between.expr, Binding::Other, true)?;
    let low = operand(&between.low, Binding::Other, true)?;
    let high = operand(&between.high, Binding::Other, true)?;
    Some((format!("{expr} {not}BETWEEN {low} AND {high}"), Binding::Like))
}

fn in_list(list: &InList) -> Option<(String, Binding)> {
    let not = if list.negated { "NOT " } else { "" };
    let expr = printed(&list.expr, Binding::Other)?;
    let elements = list
        .list
        .iter()
        .map(|element| operand(element, Binding::Loosest, true));
    let elements = elements.collect::<Option<Vec<_>>>()?.join(", ");
    Some((format!("{expr} {not}IN ({elements})"), Binding::Like))
}

fn like_expr(like: &Like, word: &str) -> Option<(String, Binding)> {
    let not = if like.negated { "NOT " } else { "" };
    let expr = printed(&like.expr, Binding::Other)?;
    let pattern = printed(&like.pattern, Binding::Other)?;
    let escape = match like.escape_char {
        Some(character) => format!(" ESCAPE {}", quoted_string(&character.to_string())),
        None => String::new(),
    };
    Some((format!("{expr} {not}{word} {pattern}{escape}"), Binding::Like))
}

fn case_expr(case: &Case) -> Option<(String, Binding)> {
    let mut text = "CASE".to_string();
    if let Some(expr) = &case.expr {
        text += &format!(" {}", printed(expr, Binding::Or)?);
    }
    for (when, then) in &case.when_then_expr {
        text += &format!(
            " WHEN {} THEN {}",
            printed(when, Binding::Or)?,
            printed(then, Binding::Or)?
        );
    }
    if let Some(otherwise) = &case.else_expr {
        text += &format!(" ELSE {}", printed(otherwise, Binding::Or)?);
    }
    Some((format!("{text} END"), Binding::Tightest))
}

/// Prints a cast to a type that SQL has a name for.
fn cast(inner: &str, field: &Field) -> Option<(String, Binding)> {
    let ty = data_type_of(field);
    match arrow_type(&ty) == *field.data_type() {
        true => cast_text(inner, ty),
        false => None,
    }
}

fn cast_text(inner: &str, ty: DataType) -> Option<(String, Binding)> {
    Some((format!("CAST({inner} AS {ty})"), Binding::Tightest))
}

/// Returns what a call casts to VARCHAR(n) or CHAR(n), and the type.
fn cast_of_length(call: &ScalarFunction) -> Option<(&Expr, DataType)> {
    match (call.name(), call.args.as_slice()) {
        (CAST_VARCHAR, [inner, Expr::Literal(length, _)]) => {
            let length = length.cast_to(&ArrowType::Int64).ok()?;
            let ScalarValue::Int64(Some(length)) = length else {
                return None;
            };
            Some((inner, DataType::Varchar(Some(u32::try_from(length).ok()?))))
        }
        (CAST_CHAR, [Expr::ScalarFunction(cut)]) => match cast_of_length(cut)? {
            (inner, DataType::Varchar(Some(length))) => Some((inner, DataType::Char(length))),
            _ => None,
        },
        _ => None,
    }
}

fn literal(value: &ScalarValue) -> Option<(String, Binding)> {
    if let ScalarValue::IntervalMonthDayNano(Some(interval)) = value {
        return Some((interval_text(interval), Binding::Tightest));
    }
    if value.is_null() {
        let ty = data_type_of_arrow(&value.data_type());
        return Some(match value {
            ScalarValue::Null => ("NULL".to_string(), Binding::Tightest),
            _ if arrow_type(&ty) == value.data_type() => (format!("CAST(NULL AS {ty})"), Binding::Tightest),
            _ => return None,
        });
    }
    if let ScalarValue::Struct(row) = value {
        let columns = row.columns().iter();
        let fields: Option<Vec<_>> = columns
            .map(|column| literal(&ScalarValue::try_from_array(column, 0).ok()?))
            .collect();
        let fields: Vec<String> = fields?.into_iter().map(|(text, _)| text).collect();
        return Some((format!("ROW({})", fields.join(", ")), Binding::Tightest));
    }
    let cast_of = |text: &str, ty: DataType| {
        (
            format!("CAST({} AS {ty})", quoted_string(text)),
            Binding::Tightest,
        )
    };
    match value {
        ScalarValue::LargeBinary(Some(form)) => {
            return Some(cast_of(&Jsonb::new(form).to_string(), DataType::Jsonb));
        }
        ScalarValue::LargeUtf8(Some(text)) => return Some(cast_of(text, DataType::Json)),
        _ => {}
    }
    let (datum, ty) = datum_of_scalar(value)?;
    let exact = arrow_type(&ty) == value.data_type();
    let text = ty.format_text(&datum);
    let typed = |word: &str| Some(format!("{word} {}", quoted_string(&text)));
    let text = match ty {
        _ if !exact => None,
        DataType::Boolean => Some(if text == "t" { "true" } else { "false" }.to_string()),
        DataType::Varchar(_) => Some(quoted_string(&text)),
        DataType::Varbinary(_) => Some(format!("x'{}'", text.trim_start_matches("\\x"))),
        DataType::Enum(_) | DataType::Inet | DataType::Cidr => return Some(cast_of(&text, ty)),
        DataType::Date => typed("DATE"),
        DataType::Time { .. } => typed("TIME"),
        DataType::Timestamp { .. } => typed("TIMESTAMP"),
        DataType::TimestampTz { .. } => typed("TIMESTAMP WITH TIME ZONE"),
        DataType::Integer => return Some(signed(text)),
        DataType::BigInt if text.parse::<i32>().is_err() => return Some(signed(text)),
        DataType::Decimal { precision, scale } if reads_as_decimal(&text, precision, scale) => {
            return Some(signed(text));
        }
        DataType::Real | DataType::Double
            if ty == DataType::Real || !text.contains(|c: char| c.is_ascii_digit()) =>
        {
            Some(format!("CAST({} AS {ty})", quoted_string(&text)))
        }
        _ if ty.is_integer() || ty.is_float() || ty.is_decimal() => Some(format!("CAST({text} AS {ty})")),
        _ => None,
    };
    Some((text?, Binding::Tightest))
}

/// Prints an interval in months, days and seconds, those of them that it has.
fn interval_text(interval: &IntervalMonthDayNano) -> String {
    let IntervalMonthDayNano {
        months,
        days,
        nanoseconds,
    } = *interval;
    let mut parts = Vec::new();
    if months != 0 {
        parts.push(format!("{months} months"));
    }
    if days != 0 {
        parts.push(format!("{days} days"));
    }
    if nanoseconds != 0 || parts.is_empty() {
        let sign = if nanoseconds < 0 { "-" } else { "" };
        let (seconds, rest) = (
            nanoseconds.unsigned_abs() / 1_000_000_000,
            nanoseconds.unsigned_abs() % 1_000_000_000,
        );
        let fraction = format!(".{rest:09}");
        parts.push(format!(
            "{sign}{seconds}{} seconds",
            fraction.trim_end_matches('0').trim_end_matches('.')
        ));
    }
    format!("INTERVAL '{}'", parts.join(" "))
}

/// Whether a number is read as a decimal of just these digits: DataFusion counts the digits written.
fn reads_as_decimal(text: &str, precision: u8, scale: u8) -> bool {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let counted = whole.trim_start_matches('0').len() + fraction.len();
    scale > 0 && fraction.len() == usize::from(scale) && counted.max(fraction.len()) == usize::from(precision)
}

fn signed(text: String) -> (String, Binding) {
    let binding = if text.starts_with('-') {
        Binding::Negation
    } else {
        Binding::Tightest
    };
    (text, binding)
}

/// Returns a number without its type, for a place where the type is found again.
fn plain_number(value: &ScalarValue) -> Option<String> {
    let (datum, ty) = datum_of_scalar(value)?;
    let text = ty.format_text(&datum);
    let is_number = ty.is_integer() || ty.is_decimal() || ty == DataType::Double;
    (is_number && text.contains(|c: char| c.is_ascii_digit())).then_some(text)
}

#[cfg(test)]
mod tests;
