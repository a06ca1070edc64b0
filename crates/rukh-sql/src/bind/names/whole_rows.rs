//! Rows of a relation as values: which of them an outer join made up, `count(t.*)`, and `t IS NULL`.
//!
//! PostgreSQL distinguishes a row whose columns are all NULL from a row that an outer join made up: `count(t.*)` counts the former.
//! So a relation whose rows are read whole, and of which an outer join may make up rows, gets one more column, which is
//! true in each of its own rows. Stars do not show it.
//!
//! | written               | becomes, for `t` with columns a and b                  |
//! |-----------------------|--------------------------------------------------------|
//! | `count(t.*)`, `count(t)` | `count(t.present)`, or `count(true)` in other joins |
//! | `count(DISTINCT t)`   | `count(DISTINCT CASE WHEN t.present THEN struct(t.a, t.b) END)` |
//! | `t IS NULL`, `t.* IS NULL` | `(t.a IS NULL AND t.b IS NULL)`                   |
//! | `t IS NOT NULL`       | `(t.a IS NOT NULL AND t.b IS NOT NULL)`                |
//! | `row_to_json(t)`      | `CASE WHEN t.present THEN json_row(…) END`             |
//! | `(t).a`               | `t.a`                                                  |
//! | `ROW(t.*, 1)`         | `ROW(t.a, t.b, 1)`                                     |
//! | `t` anywhere else     | `CASE WHEN t.present THEN named_struct('a', t.a, 'b', t.b) END` |
//!
//! Which columns a relation has, and whether a name is that of a column, `joined` knows; that of a column of a query around,
//! `outer_columns`.

mod outer_columns;

use std::ops::ControlFlow;

use rukh_syntax::sqlparser::ast::{
    DuplicateTreatment, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, JoinOperator,
    ObjectName, OrderBy, Query, Select, SelectItem, SetExpr, TableAlias, TableAliasColumnDef, TableFactor,
    TableWithJoins, Value, Visitor, VisitorMut,
};

use rukh_catalog::{Catalog, PUBLIC};
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_syntax::ObjectName as TableName;
use rukh_syntax::make::select_from;
use rukh_syntax::{Walk, WalkMut, folded};

use crate::bind::names::outputs::output_names::name_of;
use crate::bind::spelling::rows;

/// Functions that take rows of a relation by its name, and make JSON of them.
const TO_JSON: [&str; 5] = ["row_to_json", "to_json", "to_jsonb", "json_agg", "jsonb_agg"];

/// What a query reads of the rows of a relation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowUse {
    /// How many there are.
    Count,
    /// How many different ones there are.
    CountDistinct,
    /// Whether all of their columns are NULL.
    IsNull,
    /// Whether none of their columns is.
    IsNotNull,
    /// What they are as JSON.
    Json,
    /// One of their columns.
    Field,
    /// All of their columns as values of a row.
    Fields,
    /// What they are.
    Value,
}

/// Returns the relation whose rows an expression reads whole, and how.
pub(crate) fn row_use(expr: &Expr) -> Option<(&Ident, RowUse)> {
    match expr {
        Expr::IsNull(inner) => Some((named(inner)?, RowUse::IsNull)),
        Expr::IsNotNull(inner) => Some((named(inner)?, RowUse::IsNotNull)),
        Expr::Identifier(name) => Some((name, RowUse::Value)),
        Expr::Function(_) if let Some((record, _)) = rows::field(expr) => {
            Some((named(record)?, RowUse::Field))
        }
        Expr::Function(function) => {
            let name = folded(function.name.0.last()?.as_ident()?);
            let FunctionArguments::List(list) = &function.args else {
                return None;
            };
            if name == "row" {
                let whole = list.args.iter().find_map(|argument| match argument {
                    FunctionArg::Unnamed(FunctionArgExpr::QualifiedWildcard(name)) => last(name),
                    _ => None,
                });
                return Some((whole?, RowUse::Fields));
            }
            let [FunctionArg::Unnamed(argument)] = list.args.as_slice() else {
                return None;
            };
            let is_distinct = list.duplicate_treatment == Some(DuplicateTreatment::Distinct);
            let used_as = match name.as_str() {
                "count" if is_distinct => RowUse::CountDistinct,
                "count" => RowUse::Count,
                name if TO_JSON.contains(&name) => RowUse::Json,
                _ => return None,
            };
            let relation = match argument {
                FunctionArgExpr::Expr(expr) => named(expr)?,
                FunctionArgExpr::QualifiedWildcard(name) => last(name)?,
                FunctionArgExpr::Wildcard | FunctionArgExpr::WildcardWithOptions(_) => return None,
            };
            Some((relation, used_as))
        }
        _ => None,
    }
}

fn named(expr: &Expr) -> Option<&Ident> {
    match expr {
        Expr::Identifier(name) => Some(name),
        Expr::QualifiedWildcard(name, _) => last(name),
        Expr::Nested(inner) => named(inner),
        _ => None,
    }
}

fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

/// Whether a SELECT, or the ORDER BY of its query, names one of its relations as a whole.
pub(crate) fn are_named(select: &Select, order: Option<&OrderBy>) -> bool {
    !named_relations(select, order).is_empty()
}

/// Whether a column says that its row is none that an outer join made up.
pub(crate) fn is_mark(column: &str) -> bool {
    column.ends_with(&suffix())
}

fn suffix() -> String {
    format!("{HIDDEN}present")
}

/// Whether some of the relations of a FROM have such a column.
pub(crate) fn are_marked(from: &[TableWithJoins]) -> bool {
    fn marked(factor: &TableFactor) -> bool {
        match factor {
            TableFactor::Derived { subquery, .. } => match subquery.body.as_ref() {
                SetExpr::Select(select) => select.projection.last().is_some_and(
                    |item| matches!(item, SelectItem::ExprWithAlias { alias, .. } if is_mark(&alias.value)),
                ),
                _ => false,
            },
            TableFactor::NestedJoin {
                table_with_joins: inner,
                ..
            } => are_marked(std::slice::from_ref(inner)),
            _ => false,
        }
    }
    from.iter().any(|item| {
        let mut factors = std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation));
        factors.any(marked)
    })
}

/// The error of rows as a whole where the columns of FROM are unknown.
pub(crate) fn unknown_columns() -> SqlError {
    SqlError::unsupported(
        "rows as a whole are not supported in a query that reads the query around it in FROM",
    )
}

/// Gives relations whose rows are read whole a column that is true in their own rows, and names of outer columns their relation.
///
/// Fails with 0A000 on the rows of a function.
pub(crate) fn mark(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    outer_columns::qualify(query, catalog);
    match query.walk_mut(&mut Marker(catalog)) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct Marker<'c>(&'c Catalog);

impl VisitorMut for Marker<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        match query.body.as_mut() {
            SetExpr::Select(select) => marked(select, query.order_by.as_ref(), self.0),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        marked(select, None, self.0)
    }
}

fn marked(select: &mut Select, order: Option<&OrderBy>, catalog: &Catalog) -> ControlFlow<SqlError> {
    let has_joins = select.from.iter().any(has_outer_join);
    if !has_joins {
        return ControlFlow::Continue(());
    }
    let mut wanted = named_relations(select, order);
    wanted.retain(|(name, is_certain)| {
        *is_certain || !factors(&select.from).any(|factor| has_column(factor, name, catalog) == Some(true))
    });
    for item in select.from.iter_mut().filter(|_| !wanted.is_empty()) {
        if let Err(error) = mark_made_up(item, &wanted, false) {
            return ControlFlow::Break(error);
        }
    }
    ControlFlow::Continue(())
}

/// Returns the relations of a FROM, those of joins in parentheses, too.
fn factors(from: &[TableWithJoins]) -> Box<dyn Iterator<Item = &TableFactor> + '_> {
    let all = from
        .iter()
        .flat_map(|item| std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation)));
    Box::new(all.flat_map(|factor| match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => factors(std::slice::from_ref(inner)),
        factor => Box::new(std::iter::once(factor)),
    }))
}

/// Whether a relation of FROM has a column of a name; `None` if that is unknown. Names that WITH gives are taken for tables.
fn has_column(factor: &TableFactor, wanted: &str, catalog: &Catalog) -> Option<bool> {
    match factor {
        // An alias may give other names.
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        } if !alias.columns.is_empty() => None,
        TableFactor::Table { name, args: None, .. } => {
            let name = TableName::from_ast(name).ok()?;
            let schema = name.schema.as_deref().unwrap_or(PUBLIC);
            if let Ok(table) = catalog.table_named(schema, &name.name) {
                return Some(table.column_named(wanted).is_some());
            }
            let view = catalog.view_named(schema, &name.name)?;
            Some(view.columns.iter().any(|column| column.name == wanted))
        }
        TableFactor::Derived { subquery, .. } => match subquery.body.as_ref() {
            SetExpr::Select(select) => {
                let has_name = |item: &SelectItem| match item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias) == wanted),
                    SelectItem::UnnamedExpr(expr) => Some(name_of(expr)? == wanted),
                    _ => None,
                };
                let mut names = select.projection.iter().map(has_name);
                match names.any(|name| name == Some(true)) {
                    true => Some(true),
                    false => select
                        .projection
                        .iter()
                        .all(|item| has_name(item).is_some())
                        .then_some(false),
                }
            }
            _ => None,
        },
        _ => None,
    }
}

fn has_outer_join(item: &TableWithJoins) -> bool {
    let nested = |factor: &TableFactor| match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            ..
        } => has_outer_join(inner),
        _ => false,
    };
    nested(&item.relation)
        || item.joins.iter().any(|join| {
            makes_up_right(&join.join_operator)
                || makes_up_left(&join.join_operator)
                || nested(&join.relation)
        })
}

fn makes_up_right(join: &JoinOperator) -> bool {
    use JoinOperator::{FullOuter, Left, LeftOuter};
    matches!(join, Left(_) | LeftOuter(_) | FullOuter(_))
}

fn makes_up_left(join: &JoinOperator) -> bool {
    use JoinOperator::{FullOuter, Right, RightOuter};
    matches!(join, Right(_) | RightOuter(_) | FullOuter(_))
}

/// Returns the relations of FROM whose rows are read whole, and whether one is so for certain: a bare name may be that of a column.
fn named_relations(select: &Select, order: Option<&OrderBy>) -> Vec<(String, bool)> {
    let relations: Vec<String> = factors(&select.from).filter_map(relation_name).collect();
    if relations.is_empty() {
        return Vec::new();
    }
    let mut finder = Finder {
        relations,
        found: Vec::new(),
        depth: 0,
    };
    let ControlFlow::Continue(()) = select.projection.walk(&mut finder);
    let ControlFlow::Continue(()) = select.distinct.walk(&mut finder);
    let ControlFlow::Continue(()) = select.selection.walk(&mut finder);
    let ControlFlow::Continue(()) = select.having.walk(&mut finder);
    let ControlFlow::Continue(()) = select.qualify.walk(&mut finder);
    if let Some(order) = order {
        let ControlFlow::Continue(()) = order.walk(&mut finder);
    }
    finder.found
}

fn relation_name(factor: &TableFactor) -> Option<String> {
    let name = match factor {
        TableFactor::Table {
            alias: None, name, ..
        } => last(name)?,
        TableFactor::Table {
            alias: Some(alias), ..
        }
        | TableFactor::Derived {
            alias: Some(alias), ..
        }
        | TableFactor::TableFunction {
            alias: Some(alias), ..
        }
        | TableFactor::Function {
            alias: Some(alias), ..
        }
        | TableFactor::UNNEST {
            alias: Some(alias), ..
        }
        | TableFactor::NestedJoin {
            alias: Some(alias), ..
        } => &alias.name,
        _ => return None,
    };
    Some(folded(name))
}

/// Finds relations whose rows are read whole, but not in queries within.
struct Finder {
    relations: Vec<String>,
    found: Vec<(String, bool)>,
    depth: usize,
}

impl Visitor for Finder {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        if let (0, Some((name, used_as))) = (self.depth, row_use(expr)) {
            let (name, is_certain) = (folded(name), used_as != RowUse::Value);
            match self.found.iter_mut().find(|(found, _)| *found == name) {
                Some((_, certain)) => *certain |= is_certain,
                None if self.relations.contains(&name) => self.found.push((name, is_certain)),
                None => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// Marks those of the relations of a join of which rows may be made up, by a join in it or around it.
fn mark_made_up(item: &mut TableWithJoins, wanted: &[(String, bool)], around: bool) -> Result<(), SqlError> {
    let makes_up: Vec<(bool, bool)> = item
        .joins
        .iter()
        .map(|join| {
            (
                makes_up_left(&join.join_operator),
                makes_up_right(&join.join_operator),
            )
        })
        .collect();
    let later = |at: usize| makes_up[at..].iter().any(|(left, _)| *left);
    mark_within(&mut item.relation, wanted, around || later(0))?;
    for (at, join) in item.joins.iter_mut().enumerate() {
        mark_within(
            &mut join.relation,
            wanted,
            around || makes_up[at].1 || later(at + 1),
        )?;
    }
    Ok(())
}

fn mark_within(factor: &mut TableFactor, wanted: &[(String, bool)], made_up: bool) -> Result<(), SqlError> {
    if let TableFactor::NestedJoin {
        table_with_joins: inner,
        alias: None,
    } = factor
    {
        return mark_made_up(inner, wanted, made_up);
    }
    let name = relation_name(factor).filter(|_| made_up);
    let wanted = wanted.iter().find(|(wanted, _)| name.as_ref() == Some(wanted));
    match wanted {
        Some((name, is_certain)) => mark_factor(factor, name).or_else(|error| match is_certain {
            true => Err(error),
            false => Ok(()),
        }),
        None => Ok(()),
    }
}

fn truth() -> Expr {
    Expr::Value(Value::Boolean(true).into())
}

/// Adds the column to a relation: to a query as it stands, to all else in a query around it.
fn mark_factor(factor: &mut TableFactor, relation: &str) -> Result<(), SqlError> {
    let column = Ident::with_quote('"', format!("{relation}{}", suffix()));
    let mark = SelectItem::ExprWithAlias {
        expr: truth(),
        alias: column.clone(),
    };
    match factor {
        TableFactor::Derived { subquery, alias, .. }
            if matches!(subquery.body.as_ref(), SetExpr::Select(_)) =>
        {
            let SetExpr::Select(select) = subquery.body.as_mut() else {
                return Ok(());
            };
            let is_marked = select.projection.contains(&mark);
            if let Some(alias) = alias
                && !alias.columns.is_empty()
                && !is_marked
            {
                alias.columns.push(TableAliasColumnDef {
                    name: column,
                    data_type: None,
                });
            }
            if !is_marked {
                select.projection.push(mark);
            }
            Ok(())
        }
        TableFactor::Derived { lateral: false, .. }
        | TableFactor::Table { args: None, .. }
        | TableFactor::NestedJoin { .. } => {
            let name = Ident::with_quote('"', relation);
            let from = TableWithJoins {
                relation: factor.clone(),
                joins: Vec::new(),
            };
            let items = vec![SelectItem::Wildcard(Default::default()), mark];
            *factor = TableFactor::Derived {
                lateral: false,
                subquery: Box::new(select_from(items, vec![from], None)),
                alias: Some(TableAlias {
                    explicit: true,
                    name,
                    columns: Vec::new(),
                    at: None,
                }),
                sample: None,
            };
            Ok(())
        }
        _ => {
            let message =
                format!("\"{relation}\" as a whole, of which an outer join makes up rows, is not supported");
            Err(SqlError::unsupported(message))
        }
    }
}
