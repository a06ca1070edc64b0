//! What queries on `pg_catalog` write, spelled out for DataFusion.
//!
//! | written                                | becomes                                   |
//! |----------------------------------------|-------------------------------------------|
//! | `pg_catalog.lower(x)`                  | `lower(x)`                                |
//! | `x OPERATOR(pg_catalog.~) y`           | `x ~ y`                                   |
//! | `x COLLATE "C"`, `pg_catalog.default`  | `x`: there is no other order              |
//! | `'t'::regclass`, `$1::regtype`         | `regclassin('t')`, a number               |
//! | `c.oid::regclass::text`                | `regclassout(c.oid)`, a name              |
//! | `SELECT c.oid::regclass`               | the same                                  |
//! | `x::regtype[]`                         | `regtypesout(x)`, names                   |
//! | `x::name`, `x::"char"`, `x::oid`       | casts to VARCHAR and BIGINT               |
//! | `x::pg_catalog.int2[]`                 | `x::smallint[]`                           |
//! | `'{1,2}'::int[]`                       | `ARRAY['1','2']::int[]`                   |
//! | `x = ANY ('{1,2}')`                    | `x IN ('1', '2')`                         |
//! | `x > ALL ('{1,2}')`                    | `x > '1' AND x > '2'`                     |
//! | `x LIKE ANY (ARRAY['a%', 'b%'])`       | `x LIKE 'a%' OR x LIKE 'b%'`              |
//! | `ARRAY(SELECT x …)`                    | see `array_queries`                        |
//! | `current_schema`, `current_role`       | calls                                     |
//! | `i.indkey[0]`                          | `i.indkey[1]`: vectors count from 0       |
//! | `generate_subscripts(x, 1)`            | `unnest(array_subscripts(x, 1, 1))`        |
//! | `_pg_expandarray(x)`                   | `unnest(array_with_places(x))`             |
//! | `regexp_matches(s, p)`, `regexp_split_to_table(s, p)`, `string_to_table(s, t)` | `unnest(…)` of the array of its rows, in FROM, too |
//! | `FROM GENERATE_SERIES(1, 3)`           | the name in lower case                    |
//! | `x LIKE y ESCAPE '/'`                  | `x LIKE like_escape(y, '/')`, a constant where `y` is one |
//! | `FROM pg_get_keywords()`               | `FROM pg_catalog.pg_get_keywords`          |
//! | `FROM generate_series(1, 3) i`         | see `series`                               |
//! | `FROM jsonb_each(x)`, `… WITH ORDINALITY` | see `row_functions`                     |
//! | `WITH RECURSIVE typeinfo_tree …`       | see `type_tree`                            |
//! | `(f(x)).n`                             | `get_field(f(x), 'n')`                    |

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    AccessExpr, Array, ArrayElemTypeDef, BinaryOperator, CastKind, DataType, Expr, Function, FunctionArg,
    FunctionArgExpr, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    Subscript, TableAlias, TableFactor, Value, ValueWithSpan, VisitorMut,
};

use crate::bind::names::outputs::output_names::name_of;
use crate::bind::spelling::parameters::arrays::{all_of, any_of};
use crate::bind::spelling::rows;
use rukh_functions::functions::STRING_ROWS;
use rukh_functions::functions::texts::regex::{MATCHES_ALL, SPLIT_ROWS};
use rukh_functions::functions::texts::similar::{LIKE_ESCAPE, like_escape};
use rukh_keys::array_elements;
use rukh_syntax::WalkMut;
use rukh_syntax::make::{call, join};

use super::system_tables::KEYWORDS;
use super::{array_queries, row_functions, series, type_tree};

/// Types whose values are numbers of objects, written by name.
const OBJECT_TYPES: &[&str] = &[
    "regclass",
    "regtype",
    "regproc",
    "regprocedure",
    "regnamespace",
    "regrole",
];

/// Spells out what a tree says in PostgreSQL's own words.
pub(crate) fn spell_out(node: &mut (impl WalkMut + ?Sized)) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Spell);
}

struct Spell;

impl VisitorMut for Spell {
    type Break = Infallible;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        row_functions::spell_out_stars(select);
        select.projection.iter_mut().for_each(keep_name);
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Infallible> {
        series::in_select_list(select);
        for item in &mut select.projection {
            if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item
                && let Some(shown) = shown(expr)
            {
                *expr = shown;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Infallible> {
        type_tree::spell_out(query);
        row_functions::values_by_alias(query);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::InSubquery {
            expr: inner,
            subquery,
            negated,
        } = expr
            && let Some(spelled) = series::search_path(inner, subquery, *negated)
        {
            *expr = spelled;
        }
        if let Expr::CompoundFieldAccess { root, access_chain } = expr
            && let Some(spelled) = row_functions::column_of_row(root, access_chain)
        {
            *expr = spelled;
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Infallible> {
        if let TableFactor::Table {
            name, args: Some(_), ..
        }
        | TableFactor::Function { name, .. } = factor
        {
            drop_schema(name);
            in_lower_case(name);
        }
        row_functions::spell_out(factor);
        taken_apart(factor);
        series::of_times(factor);
        series::name_column(factor);
        if let TableFactor::Table { name, args, .. } = factor
            && args.as_ref().is_some_and(|arguments| arguments.args.is_empty())
            && name.to_string().eq_ignore_ascii_case(KEYWORDS)
        {
            *args = None;
            *name = ObjectName::from(vec![Ident::new("pg_catalog"), Ident::new(KEYWORDS)]);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Some(spelled) = quantified_like(expr) {
            *expr = spelled;
        }
        match expr {
            Expr::Function(call) => {
                drop_schema(&mut call.name);
                if let Some(spelled) = array_queries::spelled(call)
                    .or_else(|| subscripts(call))
                    .or_else(|| rows_of(call))
                {
                    *expr = spelled;
                }
            }
            Expr::BinaryOp { op, .. } => {
                if let BinaryOperator::PGCustomBinaryOperator(parts) = op
                    && let Some(known) = parts.last().and_then(|name| operator(name))
                {
                    *op = known;
                }
            }
            Expr::Collate {
                expr: inner,
                collation,
            } if is_default_order(collation) => {
                *expr = std::mem::replace(inner, Expr::Value(Value::Null.into()));
            }
            Expr::Cast { .. } => {
                if let Some(spelled) = cast(expr) {
                    *expr = spelled;
                }
            }
            Expr::AnyOp {
                left,
                compare_op,
                right,
                ..
            } => {
                if let Some(list) = listed(right, *compare_op == BinaryOperator::Eq) {
                    *expr = any_of(left, compare_op, list);
                }
            }
            Expr::AllOp {
                left,
                compare_op,
                right,
            } => {
                if let Some(list) = listed(right, *compare_op == BinaryOperator::NotEq) {
                    *expr = all_of(left, compare_op, list);
                }
            }
            Expr::Like {
                pattern,
                escape_char: escape @ Some(_),
                ..
            }
            | Expr::ILike {
                pattern,
                escape_char: escape @ Some(_),
                ..
            } => {
                if let Some(spelled) = escaped_pattern(pattern, escape) {
                    **pattern = spelled;
                    *escape = None;
                }
            }
            Expr::Identifier(name) if name.quote_style.is_none() => {
                let word = name.value.to_ascii_lowercase();
                if matches!(word.as_str(), "current_schema" | "current_role") {
                    *expr = call(&word, Vec::new());
                }
            }
            Expr::CompoundFieldAccess { root, access_chain } => {
                if let Some(spelled) = access(root, access_chain) {
                    *expr = spelled;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

/// Gives an output column its name before what the name is made of is spelled out.
fn keep_name(item: &mut SelectItem) {
    let SelectItem::UnnamedExpr(expr) = item else {
        return;
    };
    let spelled_out = match expr {
        Expr::Cast { data_type, expr, .. } => {
            let is_named = |ty: &DataType| matches!(ty, DataType::Custom(..) | DataType::Regclass);
            is_named(data_type)
                || matches!(data_type, DataType::Array(_))
                || matches!(expr.as_ref(), Expr::Cast { data_type, .. } if is_named(data_type))
        }
        Expr::Collate { .. } | Expr::Subquery(_) | Expr::CompoundFieldAccess { .. } | Expr::Exists { .. } => {
            true
        }
        Expr::Function(call) => {
            let is_spelled = |name: &Ident| {
                let name = name.value.to_ascii_lowercase();
                name.contains("_extract_path")
                    || name
                        .strip_prefix("to_")
                        .is_some_and(|object| OBJECT_TYPES.contains(&object))
            };
            let name = call.name.0.last().and_then(|part| part.as_ident());
            matches!(call.args, FunctionArguments::Subquery(_))
                || name.is_some_and(is_spelled)
                || row_functions::is_of_rows(call)
        }
        _ => false,
    };
    if spelled_out && let Some(name) = name_of(expr) {
        let expr = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        let alias = Ident::with_quote('"', name);
        *item = SelectItem::ExprWithAlias { expr, alias };
    }
}

fn string(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.to_string()).into())
}

/// Returns the last part of a name that has no schema but `pg_catalog` or `information_schema`.
pub(super) fn system_name(name: &ObjectName) -> Option<(Option<String>, String)> {
    let folded = |ident: &Ident| match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    let parts: Vec<String> = name
        .0
        .iter()
        .filter_map(|part| part.as_ident())
        .map(folded)
        .collect();
    match parts.as_slice() {
        [name] => Some((None, name.clone())),
        [schema, name] if schema == "pg_catalog" || schema == "information_schema" => {
            Some((Some(schema.clone()), name.clone()))
        }
        _ => None,
    }
}

fn drop_schema(name: &mut ObjectName) {
    if let Some((Some(_), _)) = system_name(name) {
        name.0.remove(0);
    }
}

/// Returns the operator that `OPERATOR(pg_catalog.…)` names.
fn operator(name: &str) -> Option<BinaryOperator> {
    Some(match name {
        "=" => BinaryOperator::Eq,
        "<>" => BinaryOperator::NotEq,
        "<" => BinaryOperator::Lt,
        "<=" => BinaryOperator::LtEq,
        ">" => BinaryOperator::Gt,
        ">=" => BinaryOperator::GtEq,
        "||" => BinaryOperator::StringConcat,
        "+" => BinaryOperator::Plus,
        "-" => BinaryOperator::Minus,
        "*" => BinaryOperator::Multiply,
        "/" => BinaryOperator::Divide,
        "~" => BinaryOperator::PGRegexMatch,
        "~*" => BinaryOperator::PGRegexIMatch,
        "!~" => BinaryOperator::PGRegexNotMatch,
        "!~*" => BinaryOperator::PGRegexNotIMatch,
        "~~" => BinaryOperator::PGLikeMatch,
        "~~*" => BinaryOperator::PGILikeMatch,
        "!~~" => BinaryOperator::PGNotLikeMatch,
        "!~~*" => BinaryOperator::PGNotILikeMatch,
        _ => return None,
    })
}

/// Whether a collation orders texts by their bytes, as all columns do.
fn is_default_order(name: &ObjectName) -> bool {
    let found = system_name(name);
    found.is_some_and(|(_, name)| matches!(name.as_str(), "default" | "C" | "POSIX" | "ucs_basic"))
}

fn cast(expr: &Expr) -> Option<Expr> {
    let Expr::Cast {
        kind: kind @ (CastKind::Cast | CastKind::DoubleColon),
        expr: inner,
        data_type,
        array,
        format,
    } = expr
    else {
        return None;
    };
    if let Some(object) = object_type(data_type) {
        return Some(call(&format!("{object}in"), vec![as_input(inner)]));
    }
    if let DataType::Array(ArrayElemTypeDef::SquareBracket(of, _)) = data_type
        && object_type(of).as_deref() == Some("regtype")
    {
        return Some(call("regtypesout", vec![inner.as_ref().clone()]));
    }
    let to = known_type(data_type);
    let is_text = |ty: &DataType| matches!(ty, DataType::Text | DataType::Varchar(None));
    if is_text(to.as_ref().unwrap_or(data_type))
        && let Some(shown) = shown(inner)
    {
        return Some(shown);
    }
    let inner = match (to.as_ref().unwrap_or(data_type), inner.as_ref()) {
        (DataType::Array(_), Expr::Value(value)) => literal_array(&value.value),
        _ => None,
    }
    .map(Box::new);
    if to.is_none() && inner.is_none() {
        return None;
    }
    let Expr::Cast { expr: old, .. } = expr else {
        return None;
    };
    Some(Expr::Cast {
        kind: kind.clone(),
        expr: inner.unwrap_or_else(|| old.clone()),
        data_type: to.unwrap_or_else(|| data_type.clone()),
        array: *array,
        format: format.clone(),
    })
}

/// A name that is a parameter is text.
fn as_input(expr: &Expr) -> Expr {
    match expr {
        Expr::Value(value) if matches!(value.value, Value::Placeholder(_)) => Expr::Cast {
            kind: CastKind::Cast,
            expr: Box::new(expr.clone()),
            data_type: DataType::Varchar(None),
            array: false,
            format: None,
        },
        other => other.clone(),
    }
}

fn object_type(ty: &DataType) -> Option<String> {
    let name = match ty {
        DataType::Custom(name, _) => system_name(name)?.1,
        DataType::Regclass => "regclass".to_string(),
        _ => return None,
    };
    OBJECT_TYPES.contains(&name.as_str()).then_some(name)
}

/// Returns the type that a name of PostgreSQL's catalog stands for.
fn known_type(ty: &DataType) -> Option<DataType> {
    let name = match ty {
        DataType::Custom(name, _) => system_name(name)?.1,
        DataType::Array(ArrayElemTypeDef::SquareBracket(of, length)) => {
            let of = Box::new(known_type(of)?);
            return Some(DataType::Array(ArrayElemTypeDef::SquareBracket(of, *length)));
        }
        _ => return None,
    };
    Some(match name.as_str() {
        "oid" | "xid" | "cid" | "int8" => DataType::BigInt(None),
        "int4" => DataType::Integer(None),
        "int2" => DataType::SmallInt(None),
        "bool" => DataType::Boolean,
        "float4" => DataType::Real,
        "float8" => DataType::DoublePrecision,
        "numeric" => DataType::Numeric(rukh_syntax::sqlparser::ast::ExactNumberInfo::None),
        "name" | "char" | "text" | "varchar" | "bpchar" | "cstring" | "sql_identifier" | "character_data"
        | "yes_or_no" | "pg_node_tree" | "aclitem" => DataType::Varchar(None),
        "cardinal_number" => DataType::Integer(None),
        _ => return None,
    })
}

/// Returns what shows the name of an object, for an expression that gives its number.
fn shown(expr: &Expr) -> Option<Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let name = function.name.0.last()?.as_ident()?;
    if let Some(object) = name.value.strip_prefix("to_")
        && OBJECT_TYPES.contains(&object)
    {
        return Some(call(&format!("{object}out"), vec![expr.clone()]));
    }
    let object = name.value.strip_suffix("in")?;
    if !OBJECT_TYPES.contains(&object) {
        return None;
    }
    let mut shown = function.clone();
    shown.name = ObjectName::from(vec![Ident::new(format!("{object}out"))]);
    Some(Expr::Function(shown))
}

/// Reads `'{a,b}'`.
fn literal_array(value: &Value) -> Option<Expr> {
    let Value::SingleQuotedString(text) = value else {
        return None;
    };
    let element = |element: Option<String>| match element {
        Some(text) => string(&text),
        None => Expr::Value(Value::Null.into()),
    };
    Some(Expr::Array(Array {
        elem: array_elements(text)?.into_iter().map(element).collect(),
        named: true,
    }))
}

/// Returns the elements of an array literal, whose type is that of the other operand; of `ARRAY[…]` if it becomes a list.
fn listed(array: &Expr, becomes_list: bool) -> Option<Vec<Expr>> {
    match array {
        Expr::Nested(inner) => listed(inner, becomes_list),
        Expr::Array(array) => becomes_list.then(|| array.elem.clone()),
        Expr::Value(value) => match literal_array(&value.value)? {
            Expr::Array(array) => Some(array.elem),
            _ => None,
        },
        _ => None,
    }
}

/// Returns `x LIKE ANY (ARRAY[…])` or `x LIKE ALL (ARRAY[…])` of an array that is written out, pattern by pattern.
fn quantified_like(expr: &Expr) -> Option<Expr> {
    let (Expr::Like {
        any,
        pattern,
        escape_char: None,
        ..
    }
    | Expr::ILike {
        any,
        pattern,
        escape_char: None,
        ..
    }) = expr
    else {
        return None;
    };
    let (array, by) = match pattern.as_ref() {
        array if *any => (array.clone(), BinaryOperator::Or),
        Expr::Function(call) if call.name.to_string().eq_ignore_ascii_case("all") => {
            let [array] = <[Expr; 1]>::try_from(arguments_of(call)).ok()?;
            (array, BinaryOperator::And)
        }
        _ => return None,
    };
    let like = |element: Expr| {
        let mut like = expr.clone();
        if let Expr::Like { any, pattern, .. } | Expr::ILike { any, pattern, .. } = &mut like {
            *any = false;
            **pattern = element;
        }
        Expr::Nested(Box::new(like))
    };
    let empty = Expr::Value(Value::Boolean(by == BinaryOperator::And).into());
    let all = match &array {
        // Patterns are texts in any case.
        Expr::Cast { expr, .. } => listed(expr, true)?,
        array => listed(array, true)?,
    };
    Some(match all.is_empty() {
        true => empty,
        false => Expr::Nested(Box::new(join(all.into_iter().map(like), by))),
    })
}

/// Returns a pattern whose escape character is the backslash, as it is where nothing says otherwise; a constant
/// where that is known.
fn escaped_pattern(pattern: &Expr, escape: &Option<ValueWithSpan>) -> Option<Expr> {
    let escape = escape.as_ref().map(|escape| &escape.value)?;
    if let Value::SingleQuotedString(escape) = escape
        && let Expr::Value(ValueWithSpan {
            value: Value::SingleQuotedString(pattern),
            ..
        }) = pattern
        && let Ok(spelled) = like_escape(pattern, escape)
    {
        return Some(string(&spelled));
    }
    let escape = Expr::Value(escape.clone().into());
    Some(call(LIKE_ESCAPE, vec![pattern.clone(), escape]))
}

/// Returns the arguments of a call.
fn arguments_of(function: &Function) -> Vec<Expr> {
    let FunctionArguments::List(list) = &function.args else {
        return Vec::new();
    };
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    arguments.collect()
}

/// Makes `unnest(array_subscripts(x, 1, d))` of `generate_subscripts(x, d)`, and
/// `unnest(_pg_expandarray(x))` of `_pg_expandarray(x)`: calls that give rows.
fn subscripts(function: &Function) -> Option<Expr> {
    let name = function.name.0.last()?.as_ident()?;
    let arguments = arguments_of(function);
    match (name.value.to_ascii_lowercase().as_str(), arguments.as_slice()) {
        ("generate_subscripts", [array, dimension]) => {
            let all = row_functions::subscripts_of(array, dimension);
            Some(call("unnest", vec![all]))
        }
        ("_pg_expandarray", [array]) => Some(call(
            "unnest",
            vec![call("array_with_places", vec![array.clone()])],
        )),
        _ => None,
    }
}

/// Functions that give rows, and those that give the same as an array.
const ROWS_OF: [(&str, &str); 3] = [
    ("regexp_matches", MATCHES_ALL),
    ("regexp_split_to_table", SPLIT_ROWS),
    ("string_to_table", STRING_ROWS),
];

/// Returns the function that gives the rows of another one as an array.
fn array_of(name: &ObjectName) -> Option<&'static str> {
    let name = name.0.last()?.as_ident()?.value.to_ascii_lowercase();
    let mut known = ROWS_OF.iter();
    known.find(|(rows, _)| *rows == name).map(|(_, array)| *array)
}

/// Makes `unnest(array)` of a call that gives rows.
fn rows_of(function: &Function) -> Option<Expr> {
    match array_of(&function.name) {
        Some(array) => Some(call("unnest", vec![call(array, arguments_of(function))])),
        None => row_functions::in_select_list(function),
    }
}

/// Makes `UNNEST(array)` of a function in FROM that gives rows.
fn taken_apart(factor: &mut TableFactor) {
    let TableFactor::Table {
        name,
        args: Some(arguments),
        alias,
        ..
    } = factor
    else {
        return;
    };
    let Some(array) = array_of(name) else { return };
    let values = arguments.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    });
    let function = name.0.last().and_then(|part| part.as_ident()).cloned();
    let alias = alias.take().or_else(|| {
        Some(TableAlias {
            explicit: true,
            name: function?,
            columns: Vec::new(),
            at: None,
        })
    });
    *factor = TableFactor::UNNEST {
        alias,
        array_exprs: vec![call(array, values.collect())],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    };
}

/// DataFusion knows functions of FROM by their names in lower case.
fn in_lower_case(name: &mut ObjectName) {
    for part in &mut name.0 {
        if let ObjectNamePart::Identifier(ident) = part
            && ident.quote_style.is_none()
        {
            ident.value = ident.value.to_ascii_lowercase();
        }
    }
}

/// Vectors count from 0, fields are named by texts, and `t.a[1]` is a place of the column `t.a`: it comes as the root `t`
/// and a chain of a name and a place, which DataFusion does not find in a query around.
fn access(root: &Expr, chain: &[AccessExpr]) -> Option<Expr> {
    let name = |access: &AccessExpr| match access {
        AccessExpr::Dot(Expr::Identifier(name)) => Some(name.clone()),
        _ => None,
    };
    if let Expr::Identifier(table) = root
        && let names = chain.iter().map_while(name).collect::<Vec<Ident>>()
        && !names.is_empty()
    {
        let places = chain[names.len()..].to_vec();
        let column = Expr::CompoundIdentifier(std::iter::once(table.clone()).chain(names).collect());
        if places.is_empty() {
            return Some(column);
        }
        return access(&column, &places).or(Some(Expr::CompoundFieldAccess {
            root: Box::new(column),
            access_chain: places,
        }));
    }
    if row_functions::is_vector(root) {
        let mut chain = chain.to_vec();
        let Some(AccessExpr::Subscript(Subscript::Index { index })) = chain.last_mut() else {
            return None;
        };
        if matches!(
            index,
            Expr::BinaryOp {
                op: BinaryOperator::Plus,
                ..
            }
        ) {
            return None;
        }
        *index = Expr::BinaryOp {
            left: Box::new(index.clone()),
            op: BinaryOperator::Plus,
            right: Box::new(Expr::Value(Value::Number("1".to_string(), false).into())),
        };
        return Some(Expr::CompoundFieldAccess {
            root: Box::new(root.clone()),
            access_chain: chain,
        });
    }
    rows::dotted(root, chain)
}

#[cfg(test)]
mod tests {
    use crate::bind::spelling::parsing::parse;
    use rukh_syntax::Statement;

    fn check(written: &str, expected: &str) {
        let Ok(Statement::Query(query)) = parse(written) else {
            panic!("{written} is a query")
        };
        assert_eq!(query.to_string(), expected, "{written}");
    }

    #[test]
    fn words_of_postgresql_are_spelled_out() {
        check("SELECT pg_catalog.lower(a) FROM t", "SELECT lower(a) FROM t");
        check(
            "SELECT 1 WHERE a OPERATOR(pg_catalog.~) 'x' COLLATE pg_catalog.default",
            "SELECT 1 WHERE a ~ 'x'",
        );
        check(
            "SELECT 1 WHERE o = 't'::regclass",
            "SELECT 1 WHERE o = regclassin('t')",
        );
        check(
            "SELECT c.oid::pg_catalog.regclass",
            "SELECT regclassout(c.oid) AS \"oid\"",
        );
        check(
            "SELECT '{}'::int[], a::text[] FROM t",
            "SELECT ARRAY[]::INT[] AS \"int4\", a::TEXT[] AS \"a\" FROM t",
        );
        check(
            "SELECT 1 WHERE 'a' < o::regtype::text",
            "SELECT 1 WHERE 'a' < regtypeout(o)",
        );
        check(
            "SELECT 1 WHERE a = ANY ('{1,2}')",
            "SELECT 1 WHERE a IN ('1', '2')",
        );
        check(
            "SELECT 1 WHERE a <> ALL (ARRAY[1, 2])",
            "SELECT 1 WHERE a NOT IN (1, 2)",
        );
        check("SELECT 1 WHERE a = ANY ('{}')", "SELECT 1 WHERE false");
        check(
            "SELECT 1 WHERE b = (o::oid::text || 'x')",
            "SELECT 1 WHERE b = (o::BIGINT::TEXT || 'x')",
        );
    }
}
