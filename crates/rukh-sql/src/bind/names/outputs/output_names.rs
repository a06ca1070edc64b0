//! Names of the columns that a query gives back.
//!
//! An output column without an alias is called as PostgreSQL calls it (`FigureColname` in its
//! `parse_target.c`): a column by its name, a call by the function, `CASE` by `case`, and what has no name
//! `?column?`. Two columns of one query may have one name in SQL and may not in DataFusion, so twins get an
//! ending that no statement can contain and no client is shown.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::datatypes::Schema;
use rukh_syntax::sqlparser::ast::{
    AccessExpr, ArrayElemTypeDef, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArguments, Ident, Query, Select, SelectItem, SetExpr, TableFactor, TimezoneInfo, TrimWhereField,
    Value,
};

use crate::bind::spelling::rows::{self, RECORD};
use crate::bind::spelling::spelled;
use rukh_functions::casts::texts::{CAST_CHAR, CAST_VARCHAR};
use rukh_functions::functions::STRING_ROWS;
use rukh_functions::functions::by_row::BITWISE_NOT;
use rukh_functions::functions::common::cast_apart::CAST_APART;
use rukh_functions::functions::common::declared::DECLARED;
use rukh_functions::functions::common::outer_aggregate::{OUTER_AGGREGATE, WITH_OUTER};
use rukh_functions::functions::lists::arrays::BESIDE_NULL;
use rukh_functions::functions::lists::quantified::operator_of;
use rukh_functions::functions::numbers::wide_number::WIDE_NUMBER;
use rukh_functions::functions::texts::regex::{MATCHES_ALL, SPLIT_ROWS, SUBSTRING};
use rukh_functions::functions::texts::to_uuid::TO_UUID;
use rukh_functions::functions::times::round_moment::ROUND_MOMENT;
use rukh_functions::types::postgres_name;
use rukh_syntax::{HIDDEN, found_data_type, shown_name};

/// What a column is called that nothing gives a name.
pub(crate) const NAMELESS: &str = "?column?";

/// Gives columns of one name different ones, which no statement can contain.
pub(crate) fn without_twins(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().enumerate().map(|(at, field)| {
        let has_twin = schema
            .fields()
            .iter()
            .filter(|other| other.name() == field.name())
            .nth(1)
            .is_some();
        match has_twin {
            true => Arc::new(
                field
                    .as_ref()
                    .clone()
                    .with_name(format!("{}{HIDDEN}{at}", field.name())),
            ),
            false => field.clone(),
        }
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

/// Gives every output column the name that PostgreSQL gives it, and twins different ones.
///
/// No statement can contain the names of twins, so a reference to one of them is not found, and reported as
/// ambiguous. Beside a star every column may have a twin.
///
/// What a star gives may be twins of a subquery, whose endings are numbers. So the ending beside a star depends
/// of the whole SELECT, which no SELECT within it is like.
pub(crate) fn name_outputs(select: &mut Select) {
    let is_star = |item: &SelectItem| output_name(item).is_none();
    let number = select.projection.iter().any(is_star).then(|| number_of(select));
    let items = &mut select.projection;
    let names: Vec<Option<(Option<String>, String)>> = items.iter().map(output_name).collect();
    for (at, item) in items.iter_mut().enumerate() {
        let Some((table, name)) = &names[at] else { continue };
        let is_twin = |(other, known): &(Option<String>, String)| {
            known == name && (other == table || other.is_none() || table.is_none())
        };
        let twins = names.iter().flatten().filter(|other| is_twin(other)).count();
        let may_be_of_star = number.is_some() && matches!(item, SelectItem::UnnamedExpr(_));
        let has_twin = twins > 1 || may_be_of_star;
        if !has_twin && !needs_alias(item) {
            continue;
        }
        let alias = match (has_twin, number) {
            (true, Some(number)) => format!("{name}{HIDDEN}{at}{HIDDEN}{number:x}"),
            (true, None) => format!("{name}{HIDDEN}{at}"),
            (false, _) => name.clone(),
        };
        let alias = Ident::with_quote('"', alias);
        match item {
            SelectItem::ExprWithAlias { alias: known, .. } => *known = alias,
            SelectItem::UnnamedExpr(expr) => {
                let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
                *item = SelectItem::ExprWithAlias { expr, alias };
            }
            _ => {}
        }
    }
}

/// Gives twins of several tables different names, too, in a query that others read by name: where it is in FROM or WITH.
pub(crate) fn part_twins(query: &mut Query) {
    let mut body = query.body.as_mut();
    let select = loop {
        match body {
            SetExpr::Select(select) => break select,
            SetExpr::SetOperation { left, .. } => body = left.as_mut(),
            SetExpr::Query(query) => body = query.body.as_mut(),
            _ => return,
        }
    };
    let names: Vec<Option<String>> = select
        .projection
        .iter()
        .map(|item| output_name(item).map(|(_, name)| name))
        .collect();
    for (at, item) in select.projection.iter_mut().enumerate() {
        if let SelectItem::UnnamedExpr(expr @ Expr::CompoundIdentifier(_)) = item
            && let Some(name) = &names[at]
            && names
                .iter()
                .flatten()
                .filter(|other| *other == name)
                .nth(1)
                .is_some()
        {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', format!("{name}{HIDDEN}{at}")),
            };
        }
    }
}

/// Gives columns of a LATERAL subquery their names: DataFusion calls those of other relations `outer_ref(t.a)`.
pub(crate) fn name_lateral(relation: &mut TableFactor) {
    let TableFactor::Derived {
        lateral: true,
        subquery,
        ..
    } = relation
    else {
        return;
    };
    let mut body = subquery.body.as_mut();
    while let SetExpr::SetOperation { left, .. } = body {
        body = left.as_mut();
    }
    let SetExpr::Select(select) = body else { return };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr @ (Expr::Identifier(_) | Expr::CompoundIdentifier(_))) = item
            && let Some(name) = name_of(expr)
        {
            *item = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', name),
            };
        }
    }
}

/// A number of a SELECT that is the same whenever it is written so.
fn number_of(select: &Select) -> u64 {
    let mut hasher = DefaultHasher::new();
    select.to_string().hash(&mut hasher);
    hasher.finish()
}

/// Returns the name that an expression gives its column, if it gives one.
pub(crate) fn name_of(expr: &Expr) -> Option<String> {
    figure(expr).map(|figured| figured.name)
}

/// Returns the name of the output column that an expression is.
pub(crate) fn column_name(expr: &Expr) -> String {
    name_of(expr).unwrap_or_else(|| NAMELESS.to_string())
}

/// Returns whether DataFusion would call a column otherwise.
fn needs_alias(item: &SelectItem) -> bool {
    match item {
        SelectItem::UnnamedExpr(expr) => !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)),
        _ => false,
    }
}

/// Returns a name as SQL compares it: in lower case unless quoted.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_lowercase(),
    }
}

/// Returns table, if it says one, and name of an output column; `None` for a star.
fn output_name(item: &SelectItem) -> Option<(Option<String>, String)> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some((None, folded(alias))),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
            let mut parts = parts.iter().rev().map(folded);
            let name = parts.next().unwrap_or_default();
            Some((parts.next(), name))
        }
        SelectItem::UnnamedExpr(expr) => {
            let name = column_name(expr);
            Some((None, name))
        }
        _ => None,
    }
}

/// A name that an expression suggests.
struct Figured {
    name: String,
    /// Whether a cast around the expression keeps it.
    strong: bool,
}

fn strong(name: impl Into<String>) -> Option<Figured> {
    Some(Figured {
        name: name.into(),
        strong: true,
    })
}

fn weak(name: impl Into<String>) -> Option<Figured> {
    Some(Figured {
        name: name.into(),
        strong: false,
    })
}

fn figure(expr: &Expr) -> Option<Figured> {
    match expr {
        Expr::Identifier(name) => strong(folded(name)),
        Expr::CompoundIdentifier(parts) => parts.last().and_then(|name| strong(folded(name))),
        Expr::CompoundFieldAccess { root, access_chain } => match access_chain.last() {
            Some(AccessExpr::Dot(Expr::Identifier(name))) => strong(folded(name)),
            _ => figure(root),
        },
        Expr::Function(_) if let Some((_, name)) = rows::field(expr) => strong(name),
        Expr::Nested(inner) | Expr::Collate { expr: inner, .. } => figure(inner),
        Expr::Function(_) if let Some((value, domain)) = spelled::domain_call(expr) => match value {
            Expr::Cast { expr: operand, .. } => cast_name(figure(operand), domain.name),
            cut => cast_name(figure(cut), domain.name),
        },
        Expr::Function(call) => {
            let last = call.name.0.last().and_then(|part| part.as_ident())?;
            strong(match folded(last).as_str() {
                // What casts are spelled as.
                TO_UUID => return cast_name(of_argument(call), "uuid"),
                CAST_VARCHAR => return cast_name(of_argument(call), "varchar"),
                CAST_CHAR => return cast_name(of_argument(call), "bpchar"),
                CAST_APART | DECLARED | WITH_OUTER | ROUND_MOMENT => return of_argument(call),
                OUTER_AGGREGATE => return strong(aggregate_name(call)?),
                BESIDE_NULL | BITWISE_NOT | WIDE_NUMBER => return None,
                name if operator_of(name).is_some() => return None,
                RECORD => "row",
                SUBSTRING => "substring",
                "unnest" => rows_name(call),
                name => spelled::written(name),
            })
        }
        Expr::Cast { expr, data_type, .. } => cast_name(figure(expr), type_name(data_type)),
        Expr::TypedString(typed) => weak(type_name(&typed.data_type)),
        Expr::Interval(_) => weak("interval"),
        Expr::Case { else_result, .. } => match else_result.as_deref().and_then(figure) {
            Some(inner) if inner.strong => Some(inner),
            _ => weak("case"),
        },
        Expr::Extract { .. } => strong("extract"),
        Expr::Ceil { .. } => strong("ceil"),
        Expr::Floor { .. } => strong("floor"),
        Expr::Position { .. } => strong("position"),
        Expr::Substring { shorthand, .. } => strong(match shorthand {
            true => "substr",
            false => "substring",
        }),
        Expr::Trim { trim_where, .. } => strong(match trim_where {
            Some(TrimWhereField::Leading) => "ltrim",
            Some(TrimWhereField::Trailing) => "rtrim",
            Some(TrimWhereField::Both) | None => "btrim",
        }),
        Expr::Overlay { .. } => strong("overlay"),
        Expr::AtTimeZone { .. } => strong("timezone"),
        Expr::BinaryOp {
            op: BinaryOperator::Overlaps,
            ..
        } => strong("overlaps"),
        Expr::Exists { negated: false, .. } => strong("exists"),
        Expr::Array(_) => strong("array"),
        Expr::Tuple(_) => strong("row"),
        Expr::Subquery(query) => subquery_name(query),
        _ => None,
    }
}

/// Returns the name of a function whose rows are taken from an array.
fn rows_name(call: &Function) -> &'static str {
    let FunctionArguments::List(list) = &call.args else {
        return "unnest";
    };
    match list.args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(array)))) => {
            match array.name.to_string().as_str() {
                MATCHES_ALL => "regexp_matches",
                SPLIT_ROWS => "regexp_split_to_table",
                STRING_ROWS => "string_to_table",
                "array_subscripts" => "generate_subscripts",
                "array_with_places" => "_pg_expandarray",
                _ => "unnest",
            }
        }
        _ => "unnest",
    }
}

/// Returns the name of the aggregate whose place a call of [`OUTER_AGGREGATE`] holds.
fn aggregate_name(place: &Function) -> Option<String> {
    let FunctionArguments::List(list) = &place.args else {
        return None;
    };
    match list.args.first() {
        Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(name)))) => {
            name.value.clone().into_string()
        }
        _ => None,
    }
}

/// Returns the name of a cast of what suggests a name.
fn cast_name(inner: Option<Figured>, type_name: impl Into<String>) -> Option<Figured> {
    match inner {
        Some(inner) if inner.strong => Some(inner),
        _ => weak(type_name),
    }
}

/// Returns the name of the first argument, which a call stands for.
fn of_argument(call: &Function) -> Option<Figured> {
    let FunctionArguments::List(list) = &call.args else {
        return None;
    };
    match list.args.first()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(cast)) => figure(cast),
        _ => None,
    }
}

/// Returns the name of a scalar subquery: that of its only column.
fn subquery_name(query: &Query) -> Option<Figured> {
    let mut body = query.body.as_ref();
    loop {
        match body {
            SetExpr::Query(inner) => body = inner.body.as_ref(),
            SetExpr::SetOperation { left, .. } => body = left.as_ref(),
            SetExpr::Values(_) => return strong("column1"),
            SetExpr::Select(select) => {
                let (_, name) = select.projection.first().and_then(output_name)?;
                return match shown_name(&name) {
                    NAMELESS => None,
                    name => strong(name),
                };
            }
            _ => return None,
        }
    }
}

/// Returns what PostgreSQL calls a type inside.
fn type_name(data_type: &DataType) -> String {
    let zoned = |zone: &TimezoneInfo| matches!(zone, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz);
    match data_type {
        DataType::Bool | DataType::Boolean => "bool",
        DataType::SmallInt(_) | DataType::Int2(_) => "int2",
        DataType::Int(_) | DataType::Integer(_) | DataType::Int4(_) => "int4",
        DataType::BigInt(_) | DataType::Int8(_) => "int8",
        DataType::Real | DataType::Float4 => "float4",
        DataType::Double(_) | DataType::DoublePrecision | DataType::Float8 | DataType::Float(_) => "float8",
        DataType::Numeric(_) | DataType::Decimal(_) | DataType::Dec(_) => "numeric",
        DataType::Varchar(_) | DataType::CharacterVarying(_) | DataType::CharVarying(_) => "varchar",
        DataType::Char(_) | DataType::Character(_) => "bpchar",
        DataType::Text => "text",
        DataType::Bytea => "bytea",
        DataType::Date => "date",
        DataType::Time(_, zone) if !zoned(zone) => "time",
        DataType::Timestamp(_, zone) if zoned(zone) => "timestamptz",
        DataType::Timestamp(..) => "timestamp",
        DataType::Uuid => "uuid",
        DataType::Interval { .. } => "interval",
        DataType::Custom(name, _) if let Some(found) = found_data_type(name) => postgres_name(&found),
        DataType::Array(ArrayElemTypeDef::SquareBracket(of, _)) => return type_name(of),
        DataType::Custom(name, _) if let Some(last) = name.0.last().and_then(|part| part.as_ident()) => {
            return folded(last);
        }
        other => return other.to_string().to_lowercase(),
    }
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bind::spelling::parsing::parse_expression;

    #[test]
    fn columns_without_an_alias_have_the_names_of_postgresql() {
        // each of them was printed by PostgreSQL 15
        let cases = [
            ("a", "a"),
            ("t.a", "a"),
            ("(a)", "a"),
            ("count(*)", "count"),
            ("Upper(a)", "upper"),
            ("pg_catalog.lower(a)", "lower"),
            ("a + 1", "?column?"),
            ("-a", "?column?"),
            ("1", "?column?"),
            ("'x'", "?column?"),
            ("NULL", "?column?"),
            ("true", "?column?"),
            ("a::text", "a"),
            ("'1'::int", "int4"),
            ("CAST(a + 1 AS bigint)", "int8"),
            ("a::uuid", "a"),
            ("'x'::uuid", "uuid"),
            ("a::varchar(3)", "a"),
            ("'x'::varchar(3)", "varchar"),
            ("a::char(3)", "a"),
            ("'x'::char(3)", "bpchar"),
            ("a::timestamp(3)", "a"),
            ("'x'::timestamp(3)", "timestamp"),
            ("CAST(lower(a) AS varchar)", "lower"),
            ("DATE '2020-01-01'", "date"),
            ("INTERVAL '1 day'", "interval"),
            ("CASE WHEN a = 1 THEN 2 END", "case"),
            ("CASE WHEN a = 1 THEN 2 ELSE b END", "b"),
            ("CASE WHEN a = 1 THEN 2 ELSE 3 END", "case"),
            ("coalesce(a, b)", "coalesce"),
            ("extract(year FROM a)", "extract"),
            ("substring(a FROM 1 FOR 2)", "substring"),
            ("substr(a, 1)", "substr"),
            ("trim(a)", "btrim"),
            ("trim(LEADING 'x' FROM a)", "ltrim"),
            ("trim(TRAILING 'x' FROM a)", "rtrim"),
            ("position('x' IN a)", "position"),
            ("ceil(a)", "ceil"),
            ("a AT TIME ZONE 'UTC'", "timezone"),
            ("EXISTS (SELECT 1)", "exists"),
            ("NOT EXISTS (SELECT 1)", "?column?"),
            ("(SELECT max(b) FROM u)", "max"),
            ("(SELECT 1)", "?column?"),
            ("a IN (1, 2)", "?column?"),
            ("a IS NULL", "?column?"),
            ("a LIKE 'x%'", "?column?"),
            ("current_date", "current_date"),
            ("row_number() OVER (ORDER BY a)", "row_number"),
            ("a COLLATE \"C\"", "a"),
            ("ARRAY[1, 2]", "array"),
        ];
        for (written, expected) in cases {
            let expr = parse_expression(written).expect("the expression parses");
            let (_, name) = output_name(&SelectItem::UnnamedExpr(expr)).expect("no star");
            assert_eq!(name, expected, "{written}");
        }
    }
}
