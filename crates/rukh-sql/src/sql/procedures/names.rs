//! Names in the SQL of blocks: which of them are variables.
//!
//! A name that is a variable, and may be a column of what the statement reads, is an error, as in PostgreSQL (`plpgsql.variable_conflict =
//! error`). Columns that queries within the statement give are looked at by their names alone, so that a name is refused where PostgreSQL would
//! find out that it means no column there.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use rukh_catalog::Catalog;
use rukh_error::SqlError;
use rukh_syntax::sqlparser::ast::{
    self, Expr, Ident, OrderByExpr, OrderByKind, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableFactor, Value as AstValue, Visitor, VisitorMut,
};
use rukh_syntax::{MergeAction, ObjectName, Statement, Walk, WalkMut, folded};

use super::variables::{Meant, Value, Variables};

/// Puts the values of variables, and of parameters, in the place of their names in a statement. `qualified` is the statement with the
/// schemas of its names, if they are other than `public`.
///
/// # Errors
/// 42702 on a name that may be a column, too; those of [`Variables::meant`].
pub(super) fn put_values(
    statement: &mut Statement,
    qualified: Option<&Statement>,
    variables: &Variables,
    parameters: &[Value],
    catalog: &Catalog,
) -> Result<(), SqlError> {
    let columns = columns_of(qualified.unwrap_or(statement), catalog);
    let order = taken_order(statement);
    let mut values = Values {
        variables,
        parameters,
        columns: &columns,
    };
    walk_mut(statement, &mut values)?;
    if let Some((mut kind, names)) = order {
        if let OrderByKind::Expressions(keys) = &mut kind {
            for key in keys {
                if !is_output(key, &names)
                    && let ControlFlow::Break(error) = key.walk_mut(&mut values)
                {
                    return Err(error);
                }
            }
        }
        if let Statement::Query(query) = statement
            && let Some(order) = &mut query.order_by
        {
            order.kind = kind;
        }
    }
    Ok(())
}

/// Takes the keys of ORDER BY out of a query: a name that stands alone there is first that of an output column, of which the names are returned, too.
fn taken_order(statement: &mut Statement) -> Option<(OrderByKind, BTreeSet<String>)> {
    let Statement::Query(query) = statement else {
        return None;
    };
    let mut names = BTreeSet::new();
    if let SetExpr::Select(select) = query.body.as_ref() {
        outputs(select, &mut names);
    }
    let order = query.order_by.as_mut()?;
    let none = OrderByKind::Expressions(Vec::new());
    Some((std::mem::replace(&mut order.kind, none), names))
}

fn is_output(key: &OrderByExpr, names: &BTreeSet<String>) -> bool {
    matches!(&key.expr, Expr::Identifier(name) if names.contains(&folded(name)))
}

/// Adds the names that a SELECT gives its columns.
fn outputs(select: &Select, names: &mut BTreeSet<String>) {
    for item in &select.projection {
        match item {
            SelectItem::ExprWithAlias { alias, .. } => {
                names.insert(folded(alias));
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                names.insert(folded(name));
            }
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => {
                names.extend(parts.last().map(folded))
            }
            _ => {}
        }
    }
}

/// Walks over the trees of a statement that has values.
fn walk_mut<V: VisitorMut<Break = SqlError>>(
    statement: &mut Statement,
    visitor: &mut V,
) -> Result<(), SqlError> {
    let walk = |flow: ControlFlow<SqlError>| match flow {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    };
    match statement {
        Statement::Query(query) => walk(query.walk_mut(visitor)),
        Statement::Insert(insert) => {
            walk(insert.with.walk_mut(visitor))?;
            walk(insert.ast.walk_mut(visitor))
        }
        Statement::Update(update) => {
            walk(update.with.walk_mut(visitor))?;
            walk(update.ast.walk_mut(visitor))
        }
        Statement::Delete(delete) => {
            walk(delete.with.walk_mut(visitor))?;
            walk(delete.ast.walk_mut(visitor))
        }
        Statement::Merge(merge) => {
            walk(merge.with.walk_mut(visitor))?;
            walk(merge.source.walk_mut(visitor))?;
            walk(merge.on.walk_mut(visitor))?;
            for clause in &mut merge.clauses {
                walk(clause.condition.walk_mut(visitor))?;
                match &mut clause.action {
                    MergeAction::Update(assignments) => walk(assignments.walk_mut(visitor))?,
                    MergeAction::Insert { values, .. } => walk(values.walk_mut(visitor))?,
                    _ => {}
                }
            }
            walk(merge.returning.walk_mut(visitor))
        }
        Statement::Writes(writes) => {
            let mut parts = writes.parts.iter_mut().chain([&mut writes.statement]);
            parts.try_for_each(|part| walk_mut(part, visitor))
        }
        Statement::Explain { statement, .. } => walk_mut(statement, visitor),
        Statement::CreateTable(table) => match &mut table.source {
            Some(source) => walk(source.query.walk_mut(visitor)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

struct Values<'v> {
    variables: &'v Variables,
    parameters: &'v [Value],
    columns: &'v Columns,
}

impl Values<'_> {
    /// Returns what a name becomes; `None` where it is no variable.
    fn of(&self, parts: &[Ident]) -> Result<Option<Expr>, SqlError> {
        let names: Vec<String> = parts.iter().map(folded).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let Some(first) = names.first() else {
            return Ok(None);
        };
        let may_be_column = match names.len() {
            1 => self.columns.names.contains(*first),
            _ => self.columns.relations.contains(*first),
        };
        let Some(meant) = self.variables.meant(&names)? else {
            return Ok(None);
        };
        if may_be_column {
            let message = format!("column reference \"{}\" is ambiguous", names.join("."));
            let error = SqlError::statement("42702", message);
            return Err(error.with_detail("It could refer to either a PL/pgSQL variable or a table column."));
        }
        Ok(Some(match meant {
            Meant::Value(value) => value.literal(),
            Meant::Row(row) => row.expression()?,
        }))
    }

    /// Returns the fields that `r.*` stands for, with their names; `None` where `r` is no variable of a row.
    fn fields(&self, name: &ast::ObjectName) -> Result<Option<Vec<(Ident, Expr)>>, SqlError> {
        let parts: Option<Vec<String>> = name.0.iter().map(|part| part.as_ident().map(folded)).collect();
        let parts = parts.unwrap_or_default();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        match parts.first() {
            Some(first) if !self.columns.relations.contains(*first) => {}
            _ => return Ok(None),
        }
        let Some(Meant::Row(row)) = self.variables.meant(&parts)? else {
            return Ok(None);
        };
        let fields = row.read(parts.last().copied().unwrap_or_default())?.iter();
        let named = fields.map(|(name, value)| (Ident::with_quote('"', name), value.literal()));
        Ok(Some(named.collect()))
    }

    /// Puts the fields of variables in the place of `r.*` in rows of VALUES.
    fn expand_rows(&self, rows: &mut [ast::Parens<Vec<Expr>>]) -> Result<(), SqlError> {
        let is_star = |expr: &Expr| matches!(expr, Expr::QualifiedWildcard(..));
        for row in rows.iter_mut().filter(|row| row.content.iter().any(is_star)) {
            for expr in std::mem::take(&mut row.content) {
                let fields = match &expr {
                    Expr::QualifiedWildcard(name, _) => self.fields(name)?,
                    _ => None,
                };
                match fields {
                    Some(fields) => row.content.extend(fields.into_iter().map(|(_, value)| value)),
                    None => row.content.push(expr),
                }
            }
        }
        Ok(())
    }

    /// Puts the fields of variables in the place of `r.*` in what a SELECT gives.
    fn expand_items(&self, items: &mut Vec<SelectItem>) -> Result<(), SqlError> {
        for item in std::mem::take(items) {
            let fields = match &item {
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                    self.fields(name)?
                }
                _ => None,
            };
            match fields {
                Some(fields) => items.extend(
                    fields
                        .into_iter()
                        .map(|(alias, expr)| SelectItem::ExprWithAlias { expr, alias }),
                ),
                None => items.push(item),
            }
        }
        Ok(())
    }

    fn parameter(&self, name: &str) -> Result<Option<Expr>, SqlError> {
        let Some(number) = name
            .strip_prefix('$')
            .and_then(|digits| digits.parse::<usize>().ok())
        else {
            return Ok(None);
        };
        match number.checked_sub(1).and_then(|at| self.parameters.get(at)) {
            Some(value) => Ok(Some(value.literal())),
            None => Err(SqlError::statement(
                "42P02",
                format!("there is no parameter {name}"),
            )),
        }
    }
}

impl VisitorMut for Values<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<SqlError> {
        if let SetExpr::Values(values) = query.body.as_mut()
            && let Err(error) = self.expand_rows(&mut values.rows)
        {
            return ControlFlow::Break(error);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<SqlError> {
        if let Err(error) = self.expand_items(&mut select.projection) {
            return ControlFlow::Break(error);
        }
        // A variable that is a column of the result gives it its name.
        for item in &mut select.projection {
            let name = match item {
                SelectItem::UnnamedExpr(Expr::Identifier(name)) => name.clone(),
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) if let Some(last) = parts.last() => {
                    last.clone()
                }
                _ => continue,
            };
            if let SelectItem::UnnamedExpr(expr) = item {
                let value = match expr {
                    Expr::CompoundIdentifier(parts) => self.of(parts),
                    _ => self.of(std::slice::from_ref(&name)),
                };
                match value {
                    Ok(Some(value)) => {
                        *item = SelectItem::ExprWithAlias {
                            expr: value,
                            alias: name,
                        };
                    }
                    Ok(None) => {}
                    Err(error) => return ControlFlow::Break(error),
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
        let value = match expr {
            Expr::Identifier(name) => self.of(std::slice::from_ref(name)),
            Expr::CompoundIdentifier(parts) => self.of(parts),
            Expr::Value(value) => match &value.value {
                AstValue::Placeholder(name) => self.parameter(name),
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        match value {
            Ok(Some(value)) => *expr = value,
            Ok(None) => {}
            Err(error) => return ControlFlow::Break(error),
        }
        ControlFlow::Continue(())
    }
}

/// What names without a table may be in a statement, and the names of its relations.
#[derive(Default)]
struct Columns {
    names: BTreeSet<String>,
    relations: BTreeSet<String>,
}

fn columns_of(statement: &Statement, catalog: &Catalog) -> Columns {
    let mut finder = Finder {
        catalog,
        found: Columns::default(),
        depth: 0,
    };
    finder.statement(statement);
    finder.found
}

struct Finder<'c> {
    catalog: &'c Catalog,
    found: Columns,
    /// How many queries are around.
    depth: usize,
}

impl Finder<'_> {
    fn statement(&mut self, statement: &Statement) {
        let ControlFlow::Continue(()) = match statement {
            Statement::Query(query) => query.walk(self),
            Statement::Insert(insert) => {
                // The rows of VALUES see no columns; those of ON CONFLICT and RETURNING see those of the table.
                if (insert.ast.on.is_some() || insert.ast.returning.is_some())
                    && let ast::TableObject::TableName(name) = &insert.ast.table
                {
                    self.relation(name);
                }
                let ControlFlow::Continue(()) = insert.with.walk(self);
                insert.ast.walk(self)
            }
            Statement::Update(update) => {
                let ControlFlow::Continue(()) = update.with.walk(self);
                update.ast.walk(self)
            }
            Statement::Delete(delete) => {
                let ControlFlow::Continue(()) = delete.with.walk(self);
                delete.ast.walk(self)
            }
            Statement::Merge(merge) => {
                let ControlFlow::Continue(()) = merge.with.walk(self);
                let ControlFlow::Continue(()) = merge.table.walk(self);
                merge.source.walk(self)
            }
            Statement::Writes(writes) => {
                let parts = writes.parts.iter().chain([&writes.statement]);
                parts.for_each(|part| self.statement(part));
                ControlFlow::Continue(())
            }
            Statement::Explain { statement, .. } => {
                self.statement(statement);
                ControlFlow::Continue(())
            }
            Statement::CreateTable(table) => match &table.source {
                Some(source) => source.query.walk(self),
                None => ControlFlow::Continue(()),
            },
            _ => ControlFlow::Continue(()),
        };
    }

    /// Adds the columns of a relation of the definitions.
    fn relation(&mut self, name: &ast::ObjectName) {
        let Ok(ObjectName { schema, name, .. }) = ObjectName::from_ast(name) else {
            return;
        };
        let schema = schema.as_deref().unwrap_or("public");
        let names = &mut self.found.names;
        if let Ok(table) = self.catalog.table_named(schema, &name) {
            names.extend(table.columns.iter().map(|column| column.name.clone()));
        } else if let Some(view) = self.catalog.view_named(schema, &name) {
            names.extend(view.columns.iter().map(|column| column.name.clone()));
        }
        self.found.relations.insert(name);
    }

    fn alias(&mut self, alias: &Option<ast::TableAlias>) {
        if let Some(alias) = alias {
            let name = folded(&alias.name);
            // A function has its alias for a column.
            self.found.names.insert(name.clone());
            self.found.relations.insert(name);
            self.found
                .names
                .extend(alias.columns.iter().map(|column| folded(&column.name)));
        }
    }
}

impl Visitor for Finder<'_> {
    type Break = Infallible;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Infallible> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.found.relations.insert(folded(&cte.alias.name));
            self.found
                .names
                .extend(cte.alias.columns.iter().map(|column| folded(&column.name)));
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Infallible> {
        if self.depth > 1 {
            outputs(select, &mut self.found.names);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
        match factor {
            TableFactor::Table { name, alias, .. } => {
                self.relation(name);
                self.alias(alias);
                // A function in FROM gives a column of its name.
                if let Some(name) = name.0.last().and_then(|part| part.as_ident()) {
                    self.found.names.insert(folded(name));
                }
            }
            TableFactor::Derived { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => self.alias(alias),
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
