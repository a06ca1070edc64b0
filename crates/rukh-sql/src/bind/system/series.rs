//! What functions in FROM give, by the names that PostgreSQL gives it.
//!
//! | written                                                             | becomes                         |
//! |---------------------------------------------------------------------|---------------------------------|
//! | `FROM generate_series(1, 3) AS i`                                   | `… AS i (i)`                    |
//! | `FROM generate_series(timestamp '…', …, '1 hour')`                  | `FROM UNNEST(generate_series(…, INTERVAL '1 hour'))` |
//! | `generate_series(now() - interval '1 day', '2024-01-02', '1 hour')` | with TIMESTAMPTZ for the literal |
//! | `SELECT generate_series(1, 3)`                                      | `SELECT n FROM generate_series(1, 3) n (n)` |
//! | `x IN (SELECT … s[i] … FROM generate_series(…) AS i, string_to_array(current_setting('search_path'), ',') s)` | `search_path_has(x)` |
//!
//! The last is how Grafana asks whether a schema is on the search path. A series whose ends are not literals
//! is not there otherwise.

use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast::{
    self, BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr,
    Ident, Interval, Query, Select, SelectItem, TableAlias, TableAliasColumnDef, TableFactor,
    TableFunctionArgs, TableWithJoins, TimezoneInfo, UnaryOperator, Value,
};

use rukh_syntax::HIDDEN;
use rukh_syntax::data_type;
use rukh_syntax::make::{call, cast};

/// The function that gives rows, and an array to DataFusion.
const SERIES: &str = "generate_series";

/// Has a series in a select list give rows: of constants as a relation of FROM, whose rows are made as they are read, and as an
/// array that is taken apart where that would not be the same.
pub(super) fn in_select_list(select: &mut Select) {
    let is_series = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }
        if series_of(expr).is_some())
    };
    let count = select.projection.iter().filter(|item| is_series(item)).count();
    let plain = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            series_of(expr).is_some()
                || matches!(
                    expr,
                    Expr::Identifier(_) | Expr::CompoundIdentifier(_) | Expr::Value(_)
                )
        }
        _ => false,
    };
    let ungrouped = matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let alone = count == 1 && ungrouped && select.having.is_none() && select.projection.iter().all(plain);
    for at in 0..select.projection.len() {
        let item = &select.projection[at];
        let (expr, alias) = match item {
            SelectItem::UnnamedExpr(expr) => (expr, Ident::new(SERIES)),
            SelectItem::ExprWithAlias { expr, alias } => (expr, alias.clone()),
            _ => continue,
        };
        let Some(mut arguments) = series_of(expr) else {
            continue;
        };
        of_moments(&mut arguments);
        let expr = match alone && arguments.iter().all(is_constant) {
            true => {
                let column = Ident::with_quote('"', format!("{SERIES}{HIDDEN}"));
                select.from.push(relation(&arguments, &column));
                Expr::CompoundIdentifier(vec![column.clone(), column])
            }
            false => call("unnest", vec![call(SERIES, arguments)]),
        };
        select.projection[at] = SelectItem::ExprWithAlias { expr, alias };
    }
}

/// Whether a name is that of a series.
pub(crate) fn is_named(name: &ast::ObjectName) -> bool {
    let name = name.0.last().and_then(|name| name.as_ident());
    name.is_some_and(|name| name.value.eq_ignore_ascii_case(SERIES))
}

/// Returns the type of the ends of a series, as its arguments are written; `None` where none of them says it.
pub(crate) fn type_of(arguments: &[Expr]) -> Option<DataType> {
    if let Some(ty) = arguments.iter().find_map(moment_of) {
        return Some(match ty {
            DataType::Date => DataType::TIMESTAMP_TZ,
            ty => ty,
        });
    }
    let mut numbers = arguments.iter().filter_map(number_type).peekable();
    numbers.peek()?;
    Some(numbers.fold(DataType::Integer, |one, other| match (one, other) {
        (DataType::NUMERIC, _) | (_, DataType::NUMERIC) => DataType::NUMERIC,
        (DataType::BigInt, _) | (_, DataType::BigInt) => DataType::BigInt,
        _ => DataType::Integer,
    }))
}

/// Returns INTEGER, BIGINT or NUMERIC of an expression that is one, as it is written.
fn number_type(expr: &Expr) -> Option<DataType> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => Some(match (digits.parse::<i32>(), digits.parse::<i64>()) {
                (Ok(_), _) => DataType::Integer,
                (_, Ok(_)) => DataType::BigInt,
                _ => DataType::NUMERIC,
            }),
            _ => None,
        },
        Expr::UnaryOp { expr, .. } | Expr::Nested(expr) => number_type(expr),
        Expr::BinaryOp { left, right, .. } => number_type(left).or_else(|| number_type(right)),
        Expr::Cast { data_type: ty, .. } => match data_type(ty).ok()? {
            DataType::SmallInt | DataType::Integer => Some(DataType::Integer),
            DataType::BigInt => Some(DataType::BigInt),
            ty if ty.is_decimal() || ty == DataType::NUMERIC => Some(DataType::NUMERIC),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the arguments of a series.
fn series_of(expr: &Expr) -> Option<Vec<Expr>> {
    let Expr::Function(function) = expr else {
        return None;
    };
    is_named(&function.name).then(|| arguments_of(function)).flatten()
}

/// Returns the arguments of a call that have no names.
pub(crate) fn arguments_of(function: &Function) -> Option<Vec<Expr>> {
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    list.args.iter().map(argument).collect()
}

fn is_constant(expr: &Expr) -> bool {
    match expr {
        Expr::Value(value) => matches!(value.value, Value::Number(..)),
        Expr::UnaryOp {
            op: UnaryOperator::Minus,
            expr,
        } => is_constant(expr),
        _ => false,
    }
}

/// Makes `generate_series(arguments) AS column (column)`.
fn relation(arguments: &[Expr], column: &Ident) -> TableWithJoins {
    let argument = |expr: &Expr| FunctionArg::Unnamed(FunctionArgExpr::Expr(expr.clone()));
    let mut alias = TableAlias {
        explicit: true,
        name: column.clone(),
        columns: Vec::new(),
        at: None,
    };
    name_after(&mut alias);
    TableWithJoins {
        relation: TableFactor::Table {
            name: vec![Ident::new(SERIES)].into(),
            alias: Some(alias),
            args: Some(TableFunctionArgs {
                args: arguments.iter().map(argument).collect(),
                settings: None,
            }),
            with_hints: Vec::new(),
            version: None,
            with_ordinality: false,
            partitions: Vec::new(),
            json_path: None,
            sample: None,
            index_hints: Vec::new(),
        },
        joins: Vec::new(),
    }
}

/// Functions that give one column, which has the alias of the function for its name.
const OF_ONE_COLUMN: [&str; 2] = ["generate_series", "unnest"];

/// Grafana's search in the search path, without blanks and AS, in lower case.
const SEARCH_PATH: &str = "selectcasewhentrim(s[i])='\"$user\"'thenuserelsetrim(s[i])end\
    fromgenerate_series(array_lower(string_to_array(current_setting('search_path'),','),1),\
    array_upper(string_to_array(current_setting('search_path'),','),1))i,\
    string_to_array(current_setting('search_path'),',')s";

/// Makes a series of timestamps in FROM an array that is taken apart: DataFusion gives rows of numbers and days only.
pub(super) fn of_times(factor: &mut TableFactor) {
    let TableFactor::Table {
        name,
        args: Some(arguments),
        alias,
        ..
    } = factor
    else {
        return;
    };
    if !name.to_string().eq_ignore_ascii_case(SERIES) {
        return;
    }
    let argument = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    let Some(mut values) = arguments.args.iter().map(argument).collect::<Option<Vec<Expr>>>() else {
        return;
    };
    if !of_moments(&mut values) {
        let unnamed = |value| FunctionArg::Unnamed(FunctionArgExpr::Expr(value));
        arguments.args = values.into_iter().map(unnamed).collect();
        return;
    }
    let alias = alias.take().unwrap_or_else(|| TableAlias {
        explicit: true,
        name: Ident::new(SERIES),
        columns: Vec::new(),
        at: None,
    });
    *factor = TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: vec![call(SERIES, values)],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
}

/// Gives the arguments of a series their types if one of its ends is a moment, as it is written; returns whether it is.
///
/// A literal beside a moment is one of its type, as a step is an interval, and a date is an instant. Two dates that are literals stay: their rows are made as they are
/// read.
pub(super) fn of_moments(arguments: &mut [Expr]) -> bool {
    let [first, last, step] = arguments else {
        return false;
    };
    let types = [moment_of(first), moment_of(last)];
    if types == [None, None] {
        return false;
    }
    if is_text(step) {
        *step = Expr::Interval(Interval {
            value: Box::new(step.clone()),
            leading_field: None,
            leading_precision: None,
            last_field: None,
            fractional_seconds_precision: None,
        });
    }
    let are_days = types.iter().all(|ty| *ty == Some(DataType::Date));
    if are_days && is_typed_literal(first) && is_typed_literal(last) {
        return false;
    }
    let is_instant =
        |ty: &Option<DataType>| matches!(ty, Some(DataType::Date | DataType::TimestampTz { .. }));
    let to = match types.iter().any(is_instant) {
        true => TimezoneInfo::WithTimeZone,
        false => TimezoneInfo::None,
    };
    for (end, ty) in [first, last].into_iter().zip(&types) {
        if is_text(end) || *ty == Some(DataType::Date) {
            *end = cast(end.clone(), ast::DataType::Timestamp(None, to));
        }
    }
    true
}

/// Whether an expression is a literal without a type.
fn is_text(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(value) if matches!(value.value, Value::SingleQuotedString(_)))
}

/// Whether an expression is a literal with a type.
fn is_typed_literal(expr: &Expr) -> bool {
    match expr {
        Expr::TypedString(_) => true,
        Expr::Cast { expr, .. } => is_text(expr),
        Expr::Nested(inner) => is_typed_literal(inner),
        _ => false,
    }
}

/// Returns DATE, TIMESTAMP or TIMESTAMPTZ of an expression that is one, as it is written.
fn moment_of(expr: &Expr) -> Option<DataType> {
    let is_moment = |ty: &DataType| {
        matches!(
            ty,
            DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. }
        )
    };
    match expr {
        Expr::TypedString(typed) => data_type(&typed.data_type).ok().filter(is_moment),
        Expr::Cast { data_type: ty, .. } => data_type(ty).ok().filter(is_moment),
        Expr::Nested(inner) => moment_of(inner),
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Plus | BinaryOperator::Minus,
            right,
        } => match (moment_of(left)?, right.as_ref()) {
            (DataType::Date, Expr::Value(by)) if matches!(by.value, Value::Number(..)) => {
                Some(DataType::Date)
            }
            (DataType::Date, _) => Some(DataType::TIMESTAMP),
            (moment, _) => Some(moment),
        },
        Expr::Function(function) => match function.name.to_string().to_ascii_lowercase().as_str() {
            "now"
            | "current_timestamp"
            | "transaction_timestamp"
            | "statement_timestamp"
            | "clock_timestamp" => Some(DataType::TIMESTAMP_TZ),
            "localtimestamp" => Some(DataType::TIMESTAMP),
            "current_date" => Some(DataType::Date),
            "date_trunc" => match moment_of(arguments_of(function)?.get(1)?)? {
                DataType::Date => Some(DataType::TIMESTAMP_TZ),
                moment => Some(moment),
            },
            _ => None,
        },
        _ => None,
    }
}

/// Names the column of a function after its alias, or after the function.
pub(super) fn name_column(factor: &mut TableFactor) {
    let unnamed = match factor {
        TableFactor::Table {
            name,
            args: Some(_),
            alias: alias @ None,
            ..
        }
        | TableFactor::Function {
            name,
            alias: alias @ None,
            ..
        } => {
            let name = name.to_string().to_ascii_lowercase();
            OF_ONE_COLUMN.contains(&name.as_str()).then_some((name, alias))
        }
        TableFactor::UNNEST {
            alias: alias @ None,
            array_exprs,
            with_offset: false,
            ..
        } if array_exprs.len() == 1 => Some(("unnest".to_string(), alias)),
        _ => None,
    };
    if let Some((name, alias)) = unnamed {
        *alias = Some(TableAlias {
            explicit: true,
            name: Ident::new(name),
            columns: Vec::new(),
            at: None,
        });
    }
    let (is_one, alias) = match factor {
        TableFactor::Table {
            name,
            args: Some(_),
            alias: Some(alias),
            ..
        }
        | TableFactor::Function {
            name,
            alias: Some(alias),
            ..
        } => {
            let name = name.to_string().to_ascii_lowercase();
            (OF_ONE_COLUMN.contains(&name.as_str()), alias)
        }
        TableFactor::UNNEST {
            alias: Some(alias),
            array_exprs,
            with_offset: false,
            ..
        } => (array_exprs.len() == 1, alias),
        _ => return,
    };
    if is_one && alias.columns.is_empty() {
        name_after(alias);
    }
}

fn name_after(alias: &mut TableAlias) {
    alias.columns.push(TableAliasColumnDef {
        name: alias.name.clone(),
        data_type: None,
    });
}

/// Returns `x IN (…)` as a call, if it searches the search path.
pub(super) fn search_path(expr: &Expr, query: &Query, negated: bool) -> Option<Expr> {
    if !is_search_path(query) {
        return None;
    }
    let found = call("search_path_has", vec![expr.clone()]);
    Some(match negated {
        true => Expr::UnaryOp {
            op: UnaryOperator::Not,
            expr: Box::new(found),
        },
        false => found,
    })
}

fn is_search_path(query: &Query) -> bool {
    let text = query.to_string();
    if text.len() > 4 * SEARCH_PATH.len() {
        return false;
    }
    let plain = text.to_ascii_lowercase().replace(" as ", " ");
    plain.split_whitespace().collect::<String>() == SEARCH_PATH
}
