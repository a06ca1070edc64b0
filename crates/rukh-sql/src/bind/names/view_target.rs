//! Writes through a view: which table it stands for, and under what names its columns are there.
//!
//! As in PostgreSQL a view can be changed that selects columns of one table, or of one such view. The statement
//! then runs on the table, whose columns are called as in the view, and reads it through the view's WHERE.
//! Columns that this WHERE compares with a constant take the constant in rows that are inserted without them.
//!
//! Columns of the view that are computed, or are a column of the table once more, are read as what they stand for; nothing is written to
//! what is computed.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use rukh_catalog::{Catalog, CheckOption, ColumnId, Table, View};
use rukh_engine::Row;
use rukh_syntax::make::{derived, select_from};
use rukh_syntax::sqlparser::ast::{
    self, BinaryOperator, Expr, GroupByExpr, Ident, SelectItem, SetExpr, TableFactor, TableWithJoins,
    VisitorMut,
};
use rukh_syntax::{ObjectName, WalkMut, folded};

use crate::bind::names::functions::has_query;
use crate::bind::names::outputs::output_names::column_name;
use crate::bind::names::views::stored_query;
use crate::bind::spelling::literal_values::literal;
use crate::bind::spelling::select_calls::calls;
use crate::bind::system::row_functions::gives_rows;
use crate::bind::types::expressions::evaluate_constant;
use crate::bind::types::table_schema::with_row_ids;
use rukh_error::SqlError;
use rukh_functions::is_aggregate;
use rukh_functions::scalars::datum_from_scalar;
use rukh_syntax::HIDDEN;

/// What a statement does with a view, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Insert,
    Update,
    Delete,
    Merge,
}

/// A view that can be changed.
#[derive(Debug)]
pub(crate) struct ViewTarget {
    /// The table that the view stands for, its columns named as in the view and in their own order. Columns that
    /// the view does not have get names that no statement can write.
    pub(crate) table: Arc<Table>,
    /// The columns of the view in order.
    pub(crate) columns: Vec<ViewColumn>,
    /// The rows of the view with all columns of the table, and those of the view that have values of their own.
    pub(crate) query: ast::Query,
    /// Columns that WHERE compares with a constant.
    pub(crate) fixed: Vec<(ColumnId, Expr)>,
    /// What CHECK OPTION asks of rows.
    pub(crate) checks: Vec<ViewCheck>,
}

/// A column of a view.
#[derive(Debug)]
pub(crate) struct ViewColumn {
    pub(crate) name: String,
    /// The column of the table that is written through it; it is computed if there is none.
    pub(crate) id: Option<ColumnId>,
    /// What it stands for, in the names of the table, if the table has no column of its name.
    pub(crate) value: Option<Expr>,
}

/// The condition of a view, which rows written must fulfil.
#[derive(Clone, Debug)]
pub(crate) struct ViewCheck {
    pub(crate) view: String,
    /// Name and columns of what the view selects from.
    pub(crate) relation: String,
    pub(crate) table: Arc<Table>,
    pub(crate) condition: Expr,
}

/// Returns what a view stands for; fails with 55000 if it cannot be changed.
pub(crate) fn view_target(catalog: &Catalog, view: &View, change: Change) -> Result<ViewTarget, SqlError> {
    if change == Change::Merge {
        let message = format!("cannot execute MERGE on relation \"{}\"", view.name);
        return Err(
            SqlError::statement("42809", message).with_detail("This operation is not supported for views.")
        );
    }
    let target = target_of(catalog, view, false).and_then(|target| match change {
        Change::Insert | Change::Update if !target.has_own_column() => Err(Refusal::Shape(
            "Views that have no updatable columns are not automatically updatable.",
        )),
        _ => Ok(target),
    });
    target.map_err(|refusal| match refusal {
        Refusal::Shape(detail) => {
            let verb = match change {
                Change::Insert => "insert into",
                Change::Delete => "delete from",
                Change::Update | Change::Merge => "update",
            };
            let message = format!("cannot {verb} view \"{}\"", view.name);
            SqlError::statement("55000", message).with_detail(detail)
        }
        Refusal::Error(error) => error,
    })
}

/// Returns the table whose rows a view shows, and what the view stands for; `None` of a view that could not be changed.
pub(crate) fn of_one_table(catalog: &Catalog, view: &View) -> Option<(Arc<Table>, ViewTarget)> {
    let target = target_of(catalog, view, false).ok()?;
    let table = catalog.table(target.table.id)?.clone();
    Some((table, target))
}

/// Whether rows of a view can be changed.
pub(crate) fn is_updatable(catalog: &Catalog, view: &View) -> bool {
    target_of(catalog, view, false).is_ok_and(|target| target.has_own_column())
}

/// Whether a column of a view can be changed.
pub(crate) fn is_column_updatable(catalog: &Catalog, view: &View, name: &str) -> bool {
    target_of(catalog, view, false).is_ok_and(|target| {
        let mut columns = target.columns.iter();
        columns.any(|column| column.name == name && column.id.is_some())
    })
}

/// Why a view cannot be changed.
enum Refusal {
    Shape(&'static str),
    Error(SqlError),
}

impl From<SqlError> for Refusal {
    fn from(error: SqlError) -> Self {
        Refusal::Error(error)
    }
}

/// `checked` says whether a view that reads this one asks for its condition.
fn target_of(catalog: &Catalog, view: &View, checked: bool) -> Result<ViewTarget, Refusal> {
    let query = stored_query(&view.sql, catalog)?;
    let select = plain_select(&query).map_err(Refusal::Shape)?;
    let ViewFrom { name, alias } = only_relation(&select.from).map_err(Refusal::Shape)?;
    let schema = name.schema.as_deref().unwrap_or("public");
    let checks_below = checked || view.check == Some(CheckOption::Cascaded);
    let below = match catalog.view_named(schema, &name.name) {
        Some(inner) => target_of(catalog, inner, checks_below)?,
        None => whole_table(catalog, &name)?,
    };
    let outputs = outputs_of(&select.projection, &below)?;
    let mut given = Vec::with_capacity(view.columns.len());
    for column in &view.columns {
        let output = outputs.iter().find(|output| output.name == column.source);
        given.push(output.ok_or_else(|| {
            let message = format!("cannot change rows of view \"{}\"", view.name);
            let detail = format!(
                "What its column \"{}\" stands for is not supported there.",
                column.name
            );
            SqlError::unsupported(message).with_detail(detail)
        })?);
    }
    // Where a column is there several times, the first has its place in the table.
    let first = |id: ColumnId| given.iter().position(|output| output.id == Some(id));
    let mut table = below.table.as_ref().clone();
    table.name = view.name.clone();
    table.schema = view.schema.clone();
    for column in &mut table.columns {
        column.name = match first(column.id) {
            Some(at) => view.columns[at].name.clone(),
            None => format!("{HIDDEN}{}", column.id.0),
        };
    }
    let columns = given
        .iter()
        .zip(&view.columns)
        .enumerate()
        .map(|(at, (output, column))| {
            let is_first = output.id.is_some_and(|id| first(id) == Some(at));
            ViewColumn {
                name: column.name.clone(),
                id: output.id,
                value: (!is_first).then(|| renamed(below.spelled_out(&output.expr), &below.table, &table)),
            }
        });
    let columns: Vec<ViewColumn> = columns.collect();
    let (mut checks, mut fixed) = (below.checks.clone(), below.fixed.clone());
    if let Some(condition) = &select.selection {
        if checked || view.check.is_some() {
            checks.push(ViewCheck {
                view: view.name.clone(),
                relation: alias.clone(),
                table: below.table.clone(),
                condition: below.spelled_out(condition),
            });
        }
        add_fixed(condition, &below.table, &mut fixed);
    }
    let quoted = |text: &str| Ident::with_quote('"', text);
    let pairs = below.table.columns.iter().zip(&table.columns);
    let items = pairs.map(|(old, new)| SelectItem::ExprWithAlias {
        expr: Expr::CompoundIdentifier(vec![quoted(&alias), quoted(&old.name)]),
        alias: quoted(&new.name),
    });
    let values = columns
        .iter()
        .zip(&given)
        .filter(|(column, _)| column.value.is_some());
    let values = values.map(|(column, output)| SelectItem::ExprWithAlias {
        expr: output.expr.clone(),
        alias: quoted(&column.name),
    });
    let items = items.chain(values);
    let from = derived(below.query, &alias, Vec::new());
    Ok(ViewTarget {
        query: select_from(items.collect(), vec![from], select.selection.clone()),
        table: Arc::new(table),
        columns,
        fixed,
        checks,
    })
}

/// Returns a table as a view of all of it.
fn whole_table(catalog: &Catalog, name: &ObjectName) -> Result<ViewTarget, SqlError> {
    let schema = name.schema.as_deref().unwrap_or("public");
    let table = catalog.table_named(schema, &name.name)?.clone();
    Ok(ViewTarget {
        query: rukh_syntax::make::select_table(&table.schema, &with_row_ids(&table)),
        columns: table
            .declared_columns()
            .iter()
            .map(|column| ViewColumn {
                name: column.name.clone(),
                id: Some(column.id),
                value: None,
            })
            .collect(),
        table,
        fixed: Vec::new(),
        checks: Vec::new(),
    })
}

/// Returns the SELECT of a query that has nothing which PostgreSQL's rules exclude.
fn plain_select(query: &ast::Query) -> Result<&ast::Select, &'static str> {
    if query.with.is_some() {
        return Err("Views containing WITH are not automatically updatable.");
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err("Views containing LIMIT or OFFSET are not automatically updatable.");
    }
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::SetOperation { .. } => {
            return Err("Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable.");
        }
        _ => return Err(NOT_ONE),
    };
    let is_grouped = match &select.group_by {
        GroupByExpr::Expressions(by, modifiers) => !by.is_empty() || !modifiers.is_empty(),
        GroupByExpr::All(_) => true,
    };
    match () {
        () if select.distinct.is_some() => Err("Views containing DISTINCT are not automatically updatable."),
        () if is_grouped => Err("Views containing GROUP BY are not automatically updatable."),
        () if select.having.is_some() => Err("Views containing HAVING are not automatically updatable."),
        () if calls(select, |call| call.over.is_some()) => {
            Err("Views that return window functions are not automatically updatable.")
        }
        () if calls(select, |call| is_aggregate(&call.name.to_string())) => {
            Err("Views that return aggregate functions are not automatically updatable.")
        }
        () if calls(select, |call| gives_rows(&call.name.to_string())) => {
            Err("Views that return set-returning functions are not automatically updatable.")
        }
        () => Ok(select),
    }
}

const NOT_ONE: &str = "Views that do not select from a single table or view are not automatically updatable.";

/// What a view selects from.
struct ViewFrom {
    name: ObjectName,
    /// The name that it has within the view.
    alias: String,
}

fn only_relation(from: &[TableWithJoins]) -> Result<ViewFrom, &'static str> {
    let [TableWithJoins { relation, joins }] = from else {
        return Err(NOT_ONE);
    };
    let TableFactor::Table {
        name,
        alias,
        args: None,
        version: None,
        sample,
        ..
    } = relation
    else {
        return Err(NOT_ONE);
    };
    if sample.is_some() {
        return Err("Views containing TABLESAMPLE are not automatically updatable.");
    }
    let (true, Ok(name)) = (joins.is_empty(), ObjectName::from_ast(name)) else {
        return Err(NOT_ONE);
    };
    if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
        return Err("Views that give the columns of a table other names in FROM are not updatable here.");
    }
    let alias = alias
        .as_ref()
        .map_or(name.name.clone(), |alias| folded(&alias.name));
    Ok(ViewFrom { name, alias })
}

/// An item of a select list.
struct Output {
    name: String,
    /// The column that it is, if it is one.
    id: Option<ColumnId>,
    expr: Expr,
}

/// Returns what a select list gives; subqueries are left out.
fn outputs_of(items: &[SelectItem], below: &ViewTarget) -> Result<Vec<Output>, SqlError> {
    let column = |name: &Ident| below.column_named(&folded(name));
    let of_expr = |expr: &Expr| match unwrapped(expr) {
        Expr::Identifier(name) => column(name),
        Expr::CompoundIdentifier(names) => names.last().and_then(column),
        _ => None,
    };
    let mut outputs = Vec::new();
    for item in items {
        let (name, expr) = match item {
            SelectItem::UnnamedExpr(expr) => (column_name(expr), expr),
            SelectItem::ExprWithAlias { expr, alias } => (folded(alias), expr),
            SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..) => {
                outputs.extend(below.columns.iter().map(|column| Output {
                    name: column.name.clone(),
                    id: column.id,
                    expr: Expr::Identifier(Ident::with_quote('"', &column.name)),
                }));
                continue;
            }
            other => {
                return Err(SqlError::unsupported(format!(
                    "{other} is not supported in a view"
                )));
            }
        };
        if !has_query(expr) {
            outputs.push(Output {
                name,
                id: of_expr(expr).and_then(|column| column.id),
                expr: expr.clone(),
            });
        }
    }
    Ok(outputs)
}

/// Returns what parentheses are around.
fn unwrapped(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => unwrapped(inner),
        other => other,
    }
}

/// Returns an expression on a table's columns in the names that they have in another.
fn renamed(mut expr: Expr, from: &Table, to: &Table) -> Expr {
    let rename = |names: &[Ident]| {
        let column = from.column_named(&folded(names.last()?))?;
        Some(Expr::Identifier(Ident::with_quote(
            '"',
            to.column_name(column.id),
        )))
    };
    replace_names(&mut expr, &rename);
    expr
}

/// Replaces names of columns within an expression that has no queries.
fn replace_names(expr: &mut Expr, replacement: &dyn Fn(&[Ident]) -> Option<Expr>) {
    struct Names<'a>(&'a dyn Fn(&[Ident]) -> Option<Expr>);

    impl VisitorMut for Names<'_> {
        type Break = Infallible;

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Infallible> {
            let found = match expr {
                Expr::Identifier(name) => (self.0)(std::slice::from_ref(name)),
                Expr::CompoundIdentifier(names) => (self.0)(names),
                _ => None,
            };
            if let Some(found) = found {
                *expr = found;
            }
            ControlFlow::Continue(())
        }
    }

    let ControlFlow::Continue(()) = expr.walk_mut(&mut Names(replacement));
}

/// Adds the columns that a condition compares with constants.
fn add_fixed(condition: &Expr, table: &Table, fixed: &mut Vec<(ColumnId, Expr)>) {
    let Expr::BinaryOp { left, op, right } = condition else {
        if let Expr::Nested(inner) = condition {
            add_fixed(inner, table, fixed);
        }
        return;
    };
    match op {
        BinaryOperator::And => {
            add_fixed(left, table, fixed);
            add_fixed(right, table, fixed);
        }
        BinaryOperator::Eq => {
            let column = |expr: &Expr| match expr {
                Expr::Identifier(name) => table.column_named(&folded(name)).map(|column| column.id),
                Expr::CompoundIdentifier(names) => {
                    let column = names.last().and_then(|name| table.column_named(&folded(name)));
                    column.map(|column| column.id)
                }
                _ => None,
            };
            let is_constant =
                |expr: &Expr| column(expr).is_none() && constant(expr).is_ok_and(|c| c.is_some());
            match (column(left), column(right)) {
                (Some(id), None) if is_constant(right) => fixed.push((id, right.as_ref().clone())),
                (None, Some(id)) if is_constant(left) => fixed.push((id, left.as_ref().clone())),
                _ => {}
            }
        }
        _ => {}
    }
}

fn constant(expr: &Expr) -> Result<Option<datafusion::scalar::ScalarValue>, SqlError> {
    match literal(expr, &[])? {
        Some(value) => Ok(Some(value)),
        None => evaluate_constant(expr),
    }
}

impl ViewTarget {
    /// Whether a column of the view is one of the table.
    fn has_own_column(&self) -> bool {
        self.columns.iter().any(|column| column.id.is_some())
    }

    /// Returns a column of the view.
    pub(crate) fn column_named(&self, name: &str) -> Option<&ViewColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns an expression on the view in which columns that the table does not have are what they stand for, under the same
    /// qualifier.
    pub(crate) fn spelled_out(&self, expr: &Expr) -> Expr {
        let mut expr = expr.clone();
        let value_of = |names: &[Ident]| {
            let (name, qualifier) = names.split_last()?;
            let mut value = self.column_named(&folded(name))?.value.clone()?;
            let qualified = |names: &[Ident]| Some(Expr::CompoundIdentifier([qualifier, names].concat()));
            if !qualifier.is_empty() {
                replace_names(&mut value, &qualified);
            }
            Some(Expr::Nested(Box::new(value)))
        };
        replace_names(&mut expr, &value_of);
        expr
    }

    /// Whether rows written must fulfil conditions.
    pub(crate) fn is_checked(&self) -> bool {
        !self.checks.is_empty()
    }

    /// Gives rows that are inserted the constants of the view, in columns that the statement does not name;
    /// returns these columns.
    pub(crate) fn fill(&self, named: &[ColumnId], rows: &mut [Row]) -> Result<Vec<ColumnId>, SqlError> {
        let mut filled = Vec::new();
        for (id, value) in self.fixed.iter().filter(|(id, _)| !named.contains(id)) {
            let column = self.table.column(*id).expect("a view has columns of its table");
            let at = self.table.position(*id).expect("a column has a position");
            let Some(value) = constant(value)? else {
                continue;
            };
            let datum = datum_from_scalar(&value, &column.ty, &column.name)?;
            rows.iter_mut().for_each(|row| row[at] = datum.clone());
            filled.push(*id);
        }
        Ok(filled)
    }
}
