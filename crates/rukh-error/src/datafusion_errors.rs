//! DataFusion's and Arrow's errors as PostgreSQL's: SQLSTATE and words.
//!
//! Much of what they find wrong they say in a sentence only, so that the sentence is read here, and nowhere else.

use datafusion::arrow::error::ArrowError;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;

use crate::{ErrorKind, SqlError};
use rukh_keys::EnumType;
use rukh_syntax::{HIDDEN, StatementError, shown_name};

impl From<DataFusionError> for SqlError {
    fn from(error: DataFusionError) -> Self {
        in_words(read(error))
    }
}

/// Puts words in the place of a message that shows a library's inside: `Some(Second)`, `Struct("c0": Int64)`.
fn in_words(mut error: SqlError) -> SqlError {
    let message = &error.message;
    let field = between(message, "ield ", " not found in struct");
    if let Some(field) = field.filter(|_| message.starts_with(['F', 'f'])) {
        let message = format!("could not identify column \"{field}\" in record data type");
        return SqlError::statement("42703", message);
    }
    if let Some(operands) =
        message.strip_prefix("cannot infer common argument type for comparison operation ")
        && !shows_inside(operands)
    {
        let words: Vec<String> = operands.split(' ').map(postgres_type).collect();
        let words = words.join(" ").replace(" != ", " <> ");
        return SqlError::statement("42883", format!("operator does not exist: {words}"));
    }
    if !shows_inside(message) {
        return error;
    }
    error.message = match message {
        rows if rows.contains("Struct(") => "rows as values are not supported here",
        stars if stars.contains("Wildcard {") => "a star is not supported here",
        values if values.contains("across values list") => "VALUES types cannot be matched",
        _ => "the statement is not supported in this form",
    }
    .to_string();
    if error.sqlstate != "XX000" && error.sqlstate != "42804" {
        error.sqlstate = "0A000";
    }
    error
}

/// Whether a message has the form that Rust gives values for debugging, outside of what it quotes.
fn shows_inside(message: &str) -> bool {
    const FORMS: [&str; 9] = [
        "Some(",
        "Struct(",
        " { ",
        "ScalarUDF",
        "Literal(",
        "BinaryExpr(",
        "FieldMetadata",
        "Decimal128(",
        "Interval(",
    ];
    let quoted = |part: &(usize, &str)| part.0 % 2 == 1;
    let bare: String = message
        .split(['"', '\''])
        .enumerate()
        .filter(|part| !quoted(part))
        .map(|(_, part)| part)
        .collect();
    FORMS.iter().any(|form| bare.contains(form))
}

fn read(error: DataFusionError) -> SqlError {
    match error {
        DataFusionError::External(source) => function_error(source),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => (*inner).into(),
        DataFusionError::Collection(errors) => match errors.into_iter().next() {
            Some(first) => first.into(),
            None => SqlError::internal("an error without a text"),
        },
        DataFusionError::Shared(shared) => shared_error(&shared),
        DataFusionError::SchemaError(error, _) => schema_error(&error),
        DataFusionError::SQL(error, _) => SqlError::syntax(error.to_string()),
        DataFusionError::NotImplemented(message) => not_implemented(message),
        DataFusionError::ResourcesExhausted(message) => SqlError::new(ErrorKind::Io, "53200", message),
        DataFusionError::ArrowError(error, _) => arrow_error(*error),
        DataFusionError::IoError(error) => SqlError::of_system(error.to_string(), &error),
        DataFusionError::Plan(message) => plan_error(message),
        DataFusionError::Execution(message) => execution_error(message),
        DataFusionError::Internal(message) => internal_error(&message),
        other => SqlError::internal(other.strip_backtrace()),
    }
}

/// What DataFusion says of itself, though it is the statement that is wrong.
fn internal_error(message: &str) -> SqlError {
    match between(message, "Failed to coerce types ", " in BETWEEN") {
        Some(types) => {
            let types: Vec<String> = types.split(" and ").map(postgres_type).collect();
            SqlError::statement(
                "42883",
                format!("operator does not exist: {}", types.join(" >= ")),
            )
        }
        None if message.contains("failed to convert size") => {
            SqlError::statement("22003", "the size of an array is out of range")
        }
        None => SqlError::internal(format!("Internal error: {message}")),
    }
}

/// What DataFusion cannot plan.
fn not_implemented(message: String) -> SqlError {
    if message.starts_with("compound identifier: ") {
        return SqlError::syntax("improper qualified name (too many dotted names)");
    }
    let subquery = [
        "ScalarSubquery(",
        "Exists(",
        "InSubquery(",
        "OuterReferenceColumn(",
    ];
    match subquery.iter().any(|word| message.contains(word)) {
        true => {
            SqlError::unsupported("a subquery that reads the query around it is not supported in this form")
                .with_hint(
                    "Write it as a join, as LEFT JOIN LATERAL, or with conditions of the form inner = outer.",
                )
        }
        false => SqlError::unsupported(message),
    }
}

/// A shared error cannot be taken apart; one of ours inside it is copied.
fn shared_error(shared: &DataFusionError) -> SqlError {
    match shared {
        DataFusionError::External(source) => copied_error(source.as_ref()),
        DataFusionError::ArrowError(error, _) => match error.as_ref() {
            ArrowError::ExternalError(source) => copied_error(source.as_ref()),
            ArrowError::DivideByZero => arrow_error(ArrowError::DivideByZero),
            ArrowError::CastError(message) => arrow_error(ArrowError::CastError(message.clone())),
            ArrowError::ComputeError(message) => arrow_error(ArrowError::ComputeError(message.clone())),
            ArrowError::ParseError(message) => arrow_error(ArrowError::ParseError(message.clone())),
            ArrowError::ArithmeticOverflow(message) => {
                arrow_error(ArrowError::ArithmeticOverflow(message.clone()))
            }
            ArrowError::InvalidArgumentError(message) => {
                arrow_error(ArrowError::InvalidArgumentError(message.clone()))
            }
            other => SqlError::internal(other.to_string()),
        },
        DataFusionError::NotImplemented(message) => not_implemented(message.clone()),
        DataFusionError::Plan(message) => plan_error(message.clone()),
        DataFusionError::SchemaError(error, _) => schema_error(error),
        DataFusionError::Internal(message) => internal_error(message),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => shared_error(inner),
        DataFusionError::Shared(inner) => shared_error(inner),
        DataFusionError::ResourcesExhausted(message) => SqlError::new(ErrorKind::Io, "53200", message),
        DataFusionError::Execution(message) => execution_error(message.clone()),
        other => SqlError::internal(other.strip_backtrace()),
    }
}

fn copied_error(source: &(dyn std::error::Error + Send + Sync + 'static)) -> SqlError {
    if let Some(error) = source.downcast_ref::<SqlError>() {
        return error.clone();
    }
    if let Some(error) = source.downcast_ref::<StatementError>() {
        return error.clone().into();
    }
    match source.downcast_ref::<DataFusionError>() {
        Some(error) => shared_error(error),
        None => SqlError::internal(source.to_string()),
    }
}

/// Names the one or two columns that are most like one that does not exist (`searchRangeTableForCol` of PostgreSQL).
fn column_hint(field: &Column, valid_fields: &[Column]) -> Option<String> {
    /// Edits by which a name may be off.
    const EDITS_MAX: usize = 3;
    let distance = |valid: &&Column| {
        let relation = match (&field.relation, &valid.relation) {
            (Some(written), Some(valid)) => strsim::levenshtein(written.table(), valid.table()),
            _ => 0,
        };
        let name = strsim::levenshtein(&field.name, &valid.name);
        let is_near = name <= valid.name.chars().count() / 2 && name + relation <= EDITS_MAX;
        is_near.then_some(name + relation)
    };
    let shown = |valid: &&Column| valid.relation.is_some() && !valid.name.contains(HIDDEN);
    let near = valid_fields.iter().filter(shown);
    let near: Vec<(usize, &Column)> = near
        .filter_map(|valid| Some((distance(&valid)?, valid)))
        .collect();
    let least = near.iter().map(|(distance, _)| *distance).min()?;
    let nearest = near.iter().filter(|(distance, _)| *distance == least);
    let names = nearest.map(|(_, column)| {
        let relation = column.relation.as_ref().map_or("", |relation| relation.table());
        format!("the column \"{relation}.{}\"", column.name)
    });
    let names: Vec<String> = names.collect();
    match names.len() {
        1 | 2 => Some(format!("Perhaps you meant to reference {}.", names.join(" or "))),
        _ => None,
    }
}

fn schema_error(error: &SchemaError) -> SqlError {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            if let Some(table) = &field.relation
                && !valid_fields
                    .iter()
                    .any(|valid| valid.relation.as_ref() == Some(table))
            {
                let message = format!("missing FROM-clause entry for table \"{}\"", table.table());
                return SqlError::statement("42P01", message);
            }
            let is_twin =
                |valid: &&Column| valid.name.contains(HIDDEN) && shown_name(&valid.name) == field.name;
            if valid_fields.iter().any(|valid| is_twin(&valid)) {
                return ambiguous(&field.name);
            }
            let name = match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => format!("\"{}\"", field.name),
            };
            let error = SqlError::statement("42703", format!("column {name} does not exist"));
            match column_hint(field, valid_fields) {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        }
        SchemaError::AmbiguousReference { field } => ambiguous(&field.name),
        SchemaError::DuplicateQualifiedField { qualifier, .. } => {
            let message = format!("table name \"{}\" specified more than once", qualifier.table());
            SqlError::statement("42712", message)
        }
        SchemaError::DuplicateUnqualifiedField { name } => {
            let name = shown_name(name);
            SqlError::statement("42701", format!("column \"{name}\" specified more than once"))
        }
    }
}

fn ambiguous(column: &str) -> SqlError {
    let column = shown_name(column);
    SqlError::statement("42702", format!("column reference \"{column}\" is ambiguous"))
}

fn arrow_error(error: ArrowError) -> SqlError {
    match error {
        ArrowError::DivideByZero => SqlError::statement("22012", "division by zero"),
        ArrowError::CastError(message) if message.contains("ast string '") => unreadable(&message),
        ArrowError::CastError(message) if overflows_decimal(&message) => numeric_overflow(),
        ArrowError::InvalidArgumentError(message) if overflows_decimal(&message) => numeric_overflow(),
        ArrowError::InvalidArgumentError(message) if message.contains("non UTF-8 data") => {
            SqlError::statement("22021", "invalid byte sequence for encoding \"UTF8\"")
        }
        ArrowError::CastError(message) if message.contains("Struct(") => {
            SqlError::unsupported("rows as values are not supported here")
        }
        ArrowError::CastError(message) if message.contains(" is out of range ") => {
            let ty = message.rsplit(' ').next().unwrap_or_default();
            SqlError::statement("22003", format!("{} out of range", postgres_type(ty)))
        }
        ArrowError::CastError(message) => match between(&message, "an't cast value ", " to type ") {
            Some(_) => {
                let ty = message.rsplit(' ').next().unwrap_or_default();
                SqlError::statement("22003", format!("{} out of range", postgres_type(ty)))
            }
            None => SqlError::statement("22P02", lower_first(&message)),
        },
        ArrowError::ArithmeticOverflow(message) => SqlError::statement("22003", lower_first(&message)),
        ArrowError::ComputeError(message) => compute_error(&message),
        ArrowError::ParseError(message) => SqlError::statement("22007", lower_first(&message)),
        ArrowError::ExternalError(source) => match source.downcast::<DataFusionError>() {
            Ok(error) => (*error).into(),
            Err(source) => function_error(source),
        },
        other => SqlError::internal(other.to_string()),
    }
}

/// Arrow says `12345.00 is too large to store in a Decimal128 of precision 5`, or `Cannot cast to
/// Decimal128(38, 30). Overflowing on 12345678901`.
fn overflows_decimal(message: &str) -> bool {
    let stored = message.contains("too large to store in a Decimal");
    stored
        || message.contains("too small to store in a Decimal")
        || message.contains("annot cast to Decimal") && message.contains("Overflowing on")
}

fn numeric_overflow() -> SqlError {
    SqlError::statement("22003", "numeric field overflow")
}

/// Functions of numbers say in words what they have no value for.
fn compute_error(message: &str) -> SqlError {
    if let Some(error) = regex_error(message) {
        return error;
    }
    let message = message.trim_start_matches("Execution error: ");
    // Of `gcd` and `lcm`.
    if message.contains("igned integer overflow in") {
        return SqlError::statement("22003", "bigint out of range");
    }
    let sqlstate = match message {
        _ if message.contains("square root of a negative") || message.contains("to a negative power") => {
            "2201F"
        }
        _ if message.contains("logarithm of") => "2201E",
        _ => "22000",
    };
    SqlError::statement(sqlstate, lower_first(message))
}

/// Arrow says `Cannot cast string '4x' to value of Int32 type`.
fn unreadable(message: &str) -> SqlError {
    let text = between(message, "ast string '", "' to value of");
    let ty = between(message, "to value of ", " type");
    match (text, ty) {
        (Some(text), Some(ty)) => {
            let message = format!("invalid input syntax for type {}: \"{text}\"", postgres_type(ty));
            SqlError::statement("22P02", message)
        }
        _ => SqlError::statement("22P02", lower_first(message)),
    }
}

/// DataFusion's planner gives the cause in words only.
fn plan_error(message: String) -> SqlError {
    if let Some(name) = between(&message, "table '", "' not found") {
        let bare = name
            .strip_prefix("rukh.public.")
            .or_else(|| name.strip_prefix("rukh.."))
            .or_else(|| name.strip_prefix("rukh."));
        return SqlError::undefined_table(bare.unwrap_or(name));
    }
    if let Some(qualifier) = message.strip_prefix("Invalid qualifier ") {
        let qualifier = qualifier.lines().next().unwrap_or_default().trim_matches('"');
        let message = format!("missing FROM-clause entry for table \"{qualifier}\"");
        return SqlError::statement("42P01", message);
    }
    if message.starts_with("Argument #") && message.contains("got Column(") {
        return SqlError::unsupported("a function in FROM takes constants, not columns of other relations")
            .with_hint(
                "A call in the select list takes columns: SELECT unnest(generate_series(1, t.n)) FROM t.",
            );
    }
    if let Some(name) = between(&message, "Invalid function '", "'")
        .or_else(|| between(&message, "able function '", "' not found"))
    {
        return SqlError::statement("42883", format!("function {name} does not exist"));
    }
    if let Some(error) = condition_error(&message)
        .or_else(|| grouping_error(&message))
        .or_else(|| clause_error(&message))
    {
        return error;
    }
    if let Some(operator) = between(&message, "nary operator '", "' only supports") {
        return SqlError::statement(
            "42883",
            format!("operator does not exist: {operator} on this type"),
        );
    }
    if let Some(operation) = between(&message, "coerce arithmetic expression ", " to valid types") {
        let words: Vec<String> = operation.split(' ').map(postgres_type).collect();
        return SqlError::statement("42883", format!("operator does not exist: {}", words.join(" ")));
    }
    if message.contains("Percentile value") {
        return match message.contains("must be a literal") {
            true => SqlError::unsupported(lower_first(&message)),
            false => SqlError::statement("22003", lower_first(&message)),
        };
    }
    if message.contains("annot infer common argument type") {
        return SqlError::statement("42883", lower_first(&message));
    }
    if let Some(call) = between(&message, "argument types '", "'") {
        if let Some(error) = unmatched_types(&postgres_types(call)) {
            return error;
        }
        let error = SqlError::statement(
            "42883",
            format!("function {} does not exist", postgres_types(call)),
        );
        return error.with_hint(
            "No function matches the given name and argument types. You might need to add explicit type casts.",
        );
    }
    if message.contains("Cannot coerce") || message.contains("cannot be cast") {
        return SqlError::statement("42804", lower_first(&message));
    }
    SqlError::statement("42601", lower_first(&message))
}

/// The error of a call that gives one of its arguments, or an array of them, where these have no type in common.
fn unmatched_types(call: &str) -> Option<SqlError> {
    let (name, types) = call.strip_suffix(')')?.split_once('(')?;
    if name == "nullif" {
        let (left, right) = types.split_once(", ")?;
        let message = format!("operator does not exist: {left} = {right}");
        return Some(SqlError::statement("42883", message).with_hint(
            "No operator matches the given name and argument types. You might need to add explicit type casts.",
        ));
    }
    let place = match name {
        "coalesce" => "COALESCE",
        "greatest" => "GREATEST",
        "least" => "LEAST",
        "make_array" => "ARRAY",
        _ => return None,
    };
    let (first, others) = types.split_once(", ")?;
    let other = others.split(", ").find(|other| *other != first)?;
    let message = format!("{place} types {first} and {other} cannot be matched");
    Some(SqlError::statement("42804", message))
}

/// A condition that is no BOOLEAN.
fn condition_error(message: &str) -> Option<SqlError> {
    if message.contains("non-boolean predicate") {
        let ty = message.rsplit("returning ").next()?;
        return Some(SqlError::no_condition("WHERE", &postgres_type(ty)));
    }
    if let Some(operands) = message.split("logical boolean operation ").nth(1) {
        let mut words = operands.split_whitespace();
        let (left, op, right) = (words.next()?, words.next()?, words.next()?);
        let wrong = if left == "Boolean" { right } else { left };
        return Some(SqlError::no_condition(op, &postgres_type(wrong)));
    }
    let ty = message
        .split("'NOT' requires a boolean expression, got ")
        .nth(1)?;
    Some(SqlError::no_condition("NOT", &postgres_type(ty)))
}

/// Columns and aggregates where groups are needed.
fn grouping_error(message: &str) -> Option<SqlError> {
    let ungrouped = |column: &str| {
        let message = format!(
            "column \"{column}\" must appear in the GROUP BY clause or be used in an aggregate function"
        );
        Some(SqlError::statement("42803", message))
    };
    if let Some(column) = between(message, "column \"", "\" must appear in the GROUP BY") {
        return ungrouped(column);
    }
    if let Some(expression) = between(message, "HAVING clause references: ", " must appear") {
        return ungrouped(expression.split_whitespace().next().unwrap_or(expression));
    }
    if message.contains("must be in the GROUP BY clause") || message.contains("must appear in the GROUP BY") {
        return Some(SqlError::statement("42803", lower_first(message)));
    }
    if message.contains("ggregate functions are not allowed in the WHERE") {
        return Some(SqlError::statement(
            "42803",
            "aggregate functions are not allowed in WHERE",
        ));
    }
    let message = match message {
        _ if message.contains("ggregate functions are not allowed") => lower_first(message),
        _ if message.contains("calls cannot be nested") => {
            "aggregate function calls cannot be nested".to_string()
        }
        _ => return None,
    };
    Some(SqlError::statement("42803", message))
}

/// LIMIT, OFFSET, positions in ORDER BY and GROUP BY, sets and subqueries.
fn clause_error(message: &str) -> Option<SqlError> {
    let error = |sqlstate, message: String| Some(SqlError::statement(sqlstate, message));
    if message.starts_with("LIMIT must be >= 0") {
        return error("2201W", "LIMIT must not be negative".to_string());
    }
    if message.starts_with("OFFSET must be >=") {
        return error("2201X", "OFFSET must not be negative".to_string());
    }
    if let Some(position) = between(message, "out of bounds, specified: ", ",") {
        return error(
            "42P10",
            format!("ORDER BY position {position} is not in select list"),
        );
    }
    if let Some(position) = between(message, "annot find column with position ", " in SELECT") {
        return error(
            "42P10",
            format!("GROUP BY position {position} is not in select list"),
        );
    }
    if let Some(set) = between(message, "", " queries have different number of columns") {
        return error(
            "42601",
            format!("each {set} query must have the same number of columns"),
        );
    }
    if message.starts_with("For SELECT DISTINCT, ORDER BY expressions") {
        return error(
            "42P10",
            "for SELECT DISTINCT, ORDER BY expressions must appear in select list".to_string(),
        );
    }
    if message.contains("DISTINCT ON expressions must match initial") {
        return error(
            "42P10",
            "SELECT DISTINCT ON expressions must match initial ORDER BY expressions".to_string(),
        );
    }
    match message.contains("subquery should only return one column") {
        true => error("42601", "subquery has too many columns".to_string()),
        false => None,
    }
}

/// Writes a call as DataFusion names it, `lower(Int32, Utf8)`, with PostgreSQL's types.
fn postgres_types(call: &str) -> String {
    let Some((name, types)) = call.strip_suffix(')').and_then(|call| call.split_once('(')) else {
        return call.to_string();
    };
    let mut depth = 0_u32;
    let is_between = |letter: char| {
        match letter {
            '(' => depth = depth.saturating_add(1),
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let types: Vec<String> = types
        .split(is_between)
        .map(|ty| postgres_type(ty.trim()))
        .collect();
    format!("{name}({})", types.join(", "))
}

/// Returns PostgreSQL's name of a type that Arrow's errors name.
fn postgres_type(arrow: &str) -> String {
    let name = match arrow {
        "Utf8" | "Utf8View" => "text",
        "LargeUtf8" => "json",
        "LargeBinary" => "jsonb",
        "Int8" => "tinyint",
        "Int16" => "smallint",
        "Int32" => "integer",
        "Int64" => "bigint",
        "Float32" => "real",
        "Float64" => "double precision",
        "Boolean" => "boolean",
        "Binary" => "bytea",
        "Date32" => "date",
        "Null" => "unknown",
        "Timestamp(µs)" => "timestamp without time zone",
        "Time64(µs)" => "time without time zone",
        of_enum if let Some(found) = named_enum(of_enum) => return found.sql_name(),
        zoned if zoned.starts_with("Timestamp(") => "timestamp with time zone",
        interval if interval.starts_with("Interval(") => "interval",
        decimal if decimal.starts_with("Decimal") && decimal.ends_with(')') => "numeric",
        other => {
            let element = other.strip_prefix("List(").and_then(|of| of.strip_suffix(')'));
            return match element {
                Some(element) => format!("{}[]", postgres_type(element)),
                None => other.to_lowercase(),
            };
        }
    };
    name.to_string()
}

/// Returns the enum whose type is written like this: `Timestamp(s, "+00:00")`.
fn named_enum(arrow: &str) -> Option<EnumType> {
    let zone = arrow.strip_prefix("Timestamp(s, \"")?.strip_suffix("\")")?;
    EnumType::of_zone(zone)
}

fn execution_error(message: String) -> SqlError {
    let statement = |sqlstate, message: String| SqlError::statement(sqlstate, message);
    if message.contains("returned more than one row") {
        let message = "more than one row returned by a subquery used as an expression";
        return statement("21000", message.to_string());
    }
    if let Some(number) = between(&message, "laceholder '", "' was not provided") {
        return statement("42P02", format!("there is no parameter {number}"));
    }
    if message.contains("igned integer overflow in") {
        return statement("22003", "bigint out of range".to_string());
    }
    if message.contains("egative count not allowed") {
        return statement("22011", "negative substring length not allowed".to_string());
    }
    let unit = between(&message, "Date part '", "' not supported")
        .or_else(|| between(&message, "date_trunc granularity: '", "'"));
    if let Some(unit) = unit {
        return statement("22023", format!("unit \"{unit}\" not recognized"));
    }
    if let Some(error) = regex_error(&message) {
        return error;
    }
    match message.contains("laceholder") {
        true => statement("42P02", lower_first(&message)),
        false => statement("22000", lower_first(&message)),
    }
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let rest = &text[text.find(start)? + start.len()..];
    Some(&rest[..rest.find(end)?])
}

fn lower_first(message: &str) -> String {
    let message = message.trim_end_matches('.');
    // Words in capitals, such as LIMIT, stay.
    if message.chars().nth(1).is_some_and(char::is_uppercase) {
        return message.to_string();
    }
    let mut characters = message.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

/// An index expression that failed on a row failed with an error of ours.
pub(crate) fn function_error(source: Box<dyn std::error::Error + Send + Sync>) -> SqlError {
    let source = match source.downcast::<SqlError>() {
        Ok(error) => return *error,
        Err(other) => other,
    };
    match source.downcast::<StatementError>() {
        Ok(error) => SqlError::from(*error),
        Err(other) => {
            let message = other.to_string();
            regex_error(&message).unwrap_or_else(|| SqlError::internal(message))
        }
    }
}

/// The regex crate shows where a pattern is wrong in several lines, and says what in the last one.
fn regex_error(message: &str) -> Option<SqlError> {
    let (_, report) = message.split_once("regex parse error:")?;
    let reason = report.rsplit("error: ").next().unwrap_or(report);
    let message = format!("invalid regular expression: {}", reason.trim());
    Some(SqlError::statement("2201B", message))
}
