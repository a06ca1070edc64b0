//! Functions in FROM that give the parts of an array or a document as rows, and WITH ORDINALITY.
//!
//! | written                                     | becomes                                                             |
//! |---------------------------------------------|---------------------------------------------------------------------|
//! | `jsonb_array_elements(x) e`                 | `UNNEST(jsonb_array_elements_list(x)) e (value)`                     |
//! | `e` beside it                               | `e.value`                                                           |
//! | `jsonb_each(x) e`                           | `UNNEST(jsonb_each_keys_list(x), jsonb_each_list(x)) e (key, value)` |
//! | `LATERAL unnest(x) u`                       | `UNNEST(x) u (u)`                                                    |
//! | `generate_series(1, t.k) g`                 | `UNNEST(generate_series(1, t.k)) g (g)`                              |
//! | `generate_subscripts(x, 1) g`               | `UNNEST(array_subscripts(x, 1, 1)) g (g)`                            |
//! | `unnest(x, y) WITH ORDINALITY u (a, b, n)`  | `UNNEST(x, y, generate_series(1, …)) u (a, b, n)`                   |
//! | `SELECT jsonb_each(x)`                      | `SELECT ROW(unnest(jsonb_each_keys_list(x)), unnest(jsonb_each_list(x)))` |
//! | `SELECT (jsonb_each(x)).*`                  | `SELECT unnest(jsonb_each_keys_list(x)) AS key, …`                  |
//! | `jsonb_to_recordset(x) r (a int, b text)`   | `LATERAL (SELECT (value ->> 'a')::int, value ->> 'b' FROM UNNEST(…) d (value)) r (a, b)` |
//!
//! The number of a row is at most the length of the longest array.

use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_functions::functions::json::expand::list_of;
use rukh_functions::functions::json::objects::ARRAY_TEXT;
use rukh_syntax::sqlparser::ast::{
    AccessExpr, BinaryOperator, DataType, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments,
    Ident, ObjectName, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins, Value, Visitor, VisitorMut,
};

use super::series;
use crate::bind::spelling::named_arguments::placed;
use rukh_syntax::make::{binary, call, case, cast, nested, select_from};
use rukh_syntax::{HIDDEN, Walk, WalkMut, folded, record_star};

/// The number of a row.
const ORDINALITY: &str = "ordinality";

/// A function in FROM: its name, its arguments, whether its rows are numbered, whether it stands behind LATERAL.
struct Called<'f> {
    name: String,
    arguments: Vec<Expr>,
    alias: Option<&'f TableAlias>,
    is_numbered: bool,
    is_lateral: bool,
}

impl<'f> Called<'f> {
    fn of(factor: &'f TableFactor) -> Option<Called<'f>> {
        match factor {
            TableFactor::Table {
                name,
                args: Some(arguments),
                alias,
                with_ordinality,
                ..
            } => Some(Called {
                name: name_of(name)?,
                arguments: values(&name_of(name)?, &arguments.args)?,
                alias: alias.as_ref(),
                is_numbered: *with_ordinality,
                is_lateral: false,
            }),
            TableFactor::Function {
                name, args, alias, ..
            } => Some(Called {
                name: name_of(name)?,
                arguments: values(&name_of(name)?, args)?,
                alias: alias.as_ref(),
                is_numbered: false,
                is_lateral: true,
            }),
            TableFactor::UNNEST {
                alias,
                array_exprs,
                with_ordinality,
                with_offset: false,
                ..
            } => Some(Called {
                name: "unnest".to_string(),
                arguments: array_exprs.clone(),
                alias: alias.as_ref(),
                is_numbered: *with_ordinality,
                is_lateral: false,
            }),
            _ => None,
        }
    }

    fn reads_columns(&self) -> bool {
        self.arguments
            .iter()
            .any(|argument| argument.walk(&mut OfColumn).is_break())
    }

    /// Returns the columns, each with the array of its values; `None` of functions that are none of these.
    fn columns(&self) -> Option<Vec<(String, Expr)>> {
        if let Some(columns) = expanded(&self.name) {
            let arguments = as_documents(&self.arguments, &self.name);
            let column = |(column, function): (String, String)| (column, call(&function, arguments.clone()));
            return Some(columns.into_iter().map(column).collect());
        }
        // Names are shown up to what is hidden.
        let named = |(at, array): (usize, Expr)| match at {
            0 => ("unnest".to_string(), array),
            at => (format!("unnest{HIDDEN}{at}"), array),
        };
        match self.name.as_str() {
            "unnest" if self.is_numbered || self.is_lateral => {
                Some(self.arguments.iter().cloned().enumerate().map(named).collect())
            }
            "generate_subscripts" => match self.arguments.as_slice() {
                [array, dimension] => Some(vec![(self.name.clone(), subscripts_of(array, dimension))]),
                _ => None,
            },
            // Rows of a series of constants are made as they are read.
            "generate_series" if self.is_numbered || self.is_lateral || self.reads_columns() => {
                let mut arguments = self.arguments.clone();
                series::of_moments(&mut arguments);
                let array = call("generate_series", arguments);
                Some(vec![(self.name.clone(), array)])
            }
            _ => None,
        }
    }
}

/// Breaks off at a column.
struct OfColumn;

impl Visitor for OfColumn {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

fn name_of(name: &ObjectName) -> Option<String> {
    Some(folded(name.0.last()?.as_ident()?))
}

/// Returns the arguments of a call, in their places.
fn values(name: &str, arguments: &[FunctionArg]) -> Option<Vec<Expr>> {
    if let Some(placed) = placed(name, arguments) {
        return Some(placed);
    }
    let value = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr.clone()),
        _ => None,
    };
    arguments.iter().map(value).collect()
}

/// Columns of vectors, which count from 0.
const VECTORS: &[&str] = &[
    "indkey",
    "indclass",
    "indoption",
    "indcollation",
    "proargtypes",
    "i_indoption",
];

/// Whether an expression is a vector, which counts from 0.
pub(super) fn is_vector(expr: &Expr) -> bool {
    match expr {
        Expr::Identifier(name) => VECTORS.contains(&name.value.to_lowercase().as_str()),
        Expr::CompoundIdentifier(parts) => parts
            .last()
            .is_some_and(|name| VECTORS.contains(&name.value.to_lowercase().as_str())),
        _ => false,
    }
}

/// Returns the array of the subscripts of an array.
pub(super) fn subscripts_of(array: &Expr, dimension: &Expr) -> Expr {
    let first = if is_vector(array) { "0" } else { "1" };
    let first = Expr::Value(Value::Number(first.to_string(), false).into());
    call("array_subscripts", vec![array.clone(), first, dimension.clone()])
}

/// Whether a function of this name gives rows where PostgreSQL's does.
pub(crate) fn gives_rows(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(
        name.as_str(),
        "unnest"
            | "generate_series"
            | "generate_subscripts"
            | "regexp_matches"
            | "regexp_split_to_table"
            | "string_to_table"
    ) || expanded(&name).is_some()
}

/// Returns the columns of a function that expands a document, and for each the function of its array.
fn expanded(name: &str) -> Option<Vec<(String, String)>> {
    let column = |column: &str, function: &str| (column.to_string(), list_of(function));
    Some(match name {
        "json_array_elements"
        | "jsonb_array_elements"
        | "json_array_elements_text"
        | "jsonb_array_elements_text" => {
            vec![column("value", name)]
        }
        "json_object_keys" | "jsonb_object_keys" | "jsonb_path_query" | "jsonb_path_query_tz" => {
            vec![column(name, name)]
        }
        "json_each" | "jsonb_each" | "json_each_text" | "jsonb_each_text" => {
            vec![column("key", &format!("{name}_keys")), column("value", name)]
        }
        _ => return None,
    })
}

/// Reads a literal as the document that a function takes.
fn as_document(expr: &Expr, function: &str) -> Expr {
    let ty = match function.starts_with("jsonb") {
        true => DataType::JSONB,
        false => DataType::JSON,
    };
    match expr {
        Expr::Value(_) => cast(expr.clone(), ty),
        _ => expr.clone(),
    }
}

/// Reads literals as the documents that a function takes: its first argument, and the variables of a path.
fn as_documents(arguments: &[Expr], function: &str) -> Vec<Expr> {
    let argument = |(at, argument): (usize, &Expr)| match at {
        0 | 2 => as_document(argument, function),
        _ => argument.clone(),
    };
    arguments.iter().enumerate().map(argument).collect()
}

/// Returns the columns of a function that gives rows of documents, each with its values as an array.
fn lists_of(function: &Function) -> Option<Vec<(String, Expr)>> {
    let name = name_of(&function.name)?;
    let columns = expanded(&name)?;
    let FunctionArguments::List(arguments) = &function.args else {
        return None;
    };
    let arguments = as_documents(&values(&name, &arguments.args)?, &name);
    let list = |(column, list): (String, String)| (column, call(&list, arguments.clone()));
    Some(columns.into_iter().map(list).collect())
}

/// Whether a function gives rows of documents.
pub(super) fn is_of_rows(function: &Function) -> bool {
    lists_of(function).is_some()
}

fn taken_apart(list: Expr) -> Expr {
    call("unnest", vec![list])
}

/// Spells out a call that stands in a select list: as a value, or as a row of its columns.
pub(super) fn in_select_list(function: &Function) -> Option<Expr> {
    let lists = lists_of(function)?.into_iter();
    let mut columns: Vec<Expr> = lists.map(|(_, list)| taken_apart(list)).collect();
    match columns.len() {
        1 => columns.pop(),
        _ => Some(call("row", columns)),
    }
}

/// Spells out a column of such a row: `(jsonb_each(d)).key`; `None` of anything else.
pub(super) fn column_of_row(root: &Expr, access_chain: &[AccessExpr]) -> Option<Expr> {
    let [AccessExpr::Dot(Expr::Identifier(field))] = access_chain else {
        return None;
    };
    let mut lists = lists_of(called_in(root)?)?.into_iter();
    let field = folded(field);
    lists
        .find(|(column, _)| *column == field)
        .map(|(_, list)| taken_apart(list))
}

/// Spells out `(jsonb_each(d)).*` as its columns.
pub(super) fn spell_out_stars(select: &mut Select) {
    let star = record_star();
    let columns = |item: &SelectItem| {
        let SelectItem::UnnamedExpr(Expr::CompoundFieldAccess { root, access_chain }) = item else {
            return None;
        };
        match access_chain.as_slice() {
            [AccessExpr::Dot(Expr::Identifier(field))] if field.value == star => lists_of(called_in(root)?),
            _ => None,
        }
    };
    if !select.projection.iter().any(|item| columns(item).is_some()) {
        return;
    }
    let items = std::mem::take(&mut select.projection).into_iter();
    let spelled = items.flat_map(|item| match columns(&item) {
        None => vec![item],
        Some(lists) => lists
            .into_iter()
            .map(|(column, list)| SelectItem::ExprWithAlias {
                expr: taken_apart(list),
                alias: Ident::with_quote('"', column),
            })
            .collect(),
    });
    select.projection = spelled.collect();
}

fn called_in(expr: &Expr) -> Option<&Function> {
    match expr {
        Expr::Nested(inner) => called_in(inner),
        Expr::Function(function) => Some(function),
        _ => None,
    }
}

/// Spells out a function in FROM.
pub(crate) fn spell_out(factor: &mut TableFactor) {
    spell_out_over(factor, &[]);
}

/// Does the same; what a record has for the columns that a document has no members for is given, one expression for each column.
pub(crate) fn spell_out_over(factor: &mut TableFactor, others: &[Expr]) {
    let spelled = match Called::of(factor) {
        Some(called) => records(&called, others).or_else(|| rows(&called)),
        None => None,
    };
    if let Some(spelled) = spelled {
        *factor = spelled;
    }
}

fn rows(called: &Called<'_>) -> Option<TableFactor> {
    let mut columns = called.columns()?;
    let is_of_document = columns.iter().any(|(name, _)| name == "value");
    // The column of a function without named ones has the name of the alias.
    if let (false, [(name, _)], Some(alias)) = (is_of_document, columns.as_mut_slice(), called.alias) {
        *name = folded(&alias.name);
    }
    if called.is_numbered {
        let lengths = columns
            .iter()
            .map(|(_, array)| call("cardinality", vec![array.clone()]));
        let mut lengths: Vec<Expr> = lengths.collect();
        let longest = match lengths.len() {
            1 => lengths.remove(0),
            _ => call("greatest", lengths),
        };
        let one = Expr::Value(Value::Number("1".to_string(), false).into());
        columns.push((
            ORDINALITY.to_string(),
            call("generate_series", vec![one, longest]),
        ));
    }
    let alias = alias(called, columns.iter().map(|(name, _)| name.as_str()));
    Some(TableFactor::UNNEST {
        alias: Some(alias),
        array_exprs: columns.into_iter().map(|(_, array)| array).collect(),
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    })
}

fn lateral(query: Query, alias: TableAlias) -> TableFactor {
    TableFactor::Derived {
        lateral: true,
        subquery: Box::new(query),
        alias: Some(alias),
        sample: None,
    }
}

/// Returns the alias with the names of all columns: those that it gives, then those of the function.
fn alias<'n>(called: &Called<'_>, names: impl Iterator<Item = &'n str>) -> TableAlias {
    let given = called.alias.map_or(&[][..], |alias| alias.columns.as_slice());
    let name = called.alias.map(|alias| alias.name.clone());
    let columns = names.enumerate().map(|(at, name)| TableAliasColumnDef {
        name: given
            .get(at)
            .map_or_else(|| Ident::with_quote('"', name), |column| column.name.clone()),
        data_type: None,
    });
    TableAlias {
        explicit: true,
        name: name.unwrap_or_else(|| Ident::new(called.name.clone())),
        columns: columns.collect(),
        at: None,
    }
}

/// `jsonb_to_record` and its kin: each column is a member, cast to the type that the alias gives it, or the other value that it has where
/// there is no member.
fn records(called: &Called<'_>, others: &[Expr]) -> Option<TableFactor> {
    let is_set = match called.name.as_str() {
        "json_to_record" | "jsonb_to_record" => false,
        "json_to_recordset" | "jsonb_to_recordset" => true,
        _ => return None,
    };
    let ([document], Some(given)) = (called.arguments.as_slice(), called.alias) else {
        return None;
    };
    let document = as_document(document, &called.name);
    let row = Ident::with_quote('"', format!("row{HIDDEN}"));
    let source = match is_set {
        true => Expr::Identifier(row.clone()),
        false => nested(document.clone()),
    };
    let item = |(at, column): (usize, &TableAliasColumnDef)| {
        let ty = column.data_type.clone()?;
        let name = Expr::Value(Value::SingleQuotedString(folded(&column.name)).into());
        let member = |op| nested(binary(&source, op, &name));
        let has_member = Expr::IsNotNull(Box::new(member(BinaryOperator::Arrow)));
        let value = match &ty {
            DataType::JSON | DataType::JSONB => member(BinaryOperator::Arrow),
            DataType::Array(_) => call(ARRAY_TEXT, vec![member(BinaryOperator::Arrow)]),
            _ => member(BinaryOperator::LongArrow),
        };
        let value = cast(value, ty);
        Some(SelectItem::ExprWithAlias {
            expr: match others.get(at) {
                Some(other) => case(vec![(has_member, value)], Some(other.clone())),
                None => value,
            },
            alias: column.name.clone(),
        })
    };
    let items = given
        .columns
        .iter()
        .enumerate()
        .map(item)
        .collect::<Option<Vec<SelectItem>>>()?;
    let from = match is_set {
        true => {
            let elements = list_of(&called.name.replace("to_recordset", "array_elements"));
            vec![TableWithJoins {
                relation: TableFactor::UNNEST {
                    alias: Some(TableAlias {
                        explicit: true,
                        name: row.clone(),
                        columns: vec![TableAliasColumnDef {
                            name: row,
                            data_type: None,
                        }],
                        at: None,
                    }),
                    array_exprs: vec![call(&elements, vec![document])],
                    with_offset: false,
                    with_offset_alias: None,
                    with_ordinality: false,
                },
                joins: Vec::new(),
            }]
        }
        false => Vec::new(),
    };
    let names: Vec<String> = given.columns.iter().map(|column| folded(&column.name)).collect();
    let alias = alias(called, names.iter().map(String::as_str));
    Some(lateral(select_from(items, from, None), alias))
}

/// Has the alias of a function whose only column is `value` stand for that column, as a row of one value does.
pub(super) fn values_by_alias(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let factors = select.from.iter().flat_map(|table| {
        std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation))
    });
    let aliases: Vec<String> = factors.filter_map(value_alias).collect();
    if aliases.is_empty() {
        return;
    }
    let SetExpr::Select(select) = query.body.as_mut() else {
        return;
    };
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(Expr::Identifier(name)) = item
            && aliases.contains(&folded(name))
        {
            *item = SelectItem::ExprWithAlias {
                expr: Expr::Identifier(name.clone()),
                alias: name.clone(),
            };
        }
    }
    let ControlFlow::Continue(()) = query.walk_mut(&mut ByAlias { aliases });
}

/// Returns the alias of a function whose only column is `value`.
fn value_alias(factor: &TableFactor) -> Option<String> {
    let called = Called::of(factor)?;
    let columns = expanded(&called.name)?;
    let alias = called.alias.filter(|alias| alias.columns.is_empty())?;
    matches!(columns.as_slice(), [(name, _)] if name == "value").then(|| folded(&alias.name))
}

struct ByAlias {
    aliases: Vec<String>,
}

impl VisitorMut for ByAlias {
    type Break = Infallible;

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
        if let Expr::Identifier(name) = expr
            && self.aliases.contains(&folded(name))
        {
            *expr = Expr::CompoundIdentifier(vec![name.clone(), Ident::new("value")]);
        }
        ControlFlow::Continue(())
    }
}
