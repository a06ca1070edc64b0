//! `SELECT *, *`: columns that a query gives twice because two stars do.
//!
//! DataFusion refuses two columns of one name and table. So the stars behind the first that give what another gave are
//! spelled out, each column under a name that is shown as its own (`output_names`). DataFusion itself gives the list of
//! columns: the same FROM is planned with the star alone. Beside positions in DISTINCT ON, which count columns, all stars are spelled out.
//!
//! `SELECT a.* FROM s.a` becomes `SELECT s.a.*`, which DataFusion asks for where the table has no alias.
//!
//! Deliberately not here: subqueries, where no name could distinguish the two.

use datafusion::common::TableReference;
use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as PlannedStatement;
use rukh_syntax::sqlparser::ast::{
    self, Expr, Ident, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor,
};

use crate::bind::names::outputs::positions::is_one_column;
use crate::bind::spelling::rewrite::rewrite;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_syntax::folded;

/// Spells out stars of a query that give what others gave.
pub(crate) async fn expand(state: &SessionState, query: &mut Query) -> Result<(), SqlError> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Ok(());
    };
    let counts = match &select.distinct {
        Some(ast::Distinct::On(keys)) => keys
            .iter()
            .any(|key| matches!(key, Expr::Value(_) | Expr::Nested(_))),
        _ => false,
    };
    let is_spelled = |at: &usize| {
        let (before, item) = (&select.projection[..*at], &select.projection[*at]);
        (counts && !is_one_column(item)) || before.iter().any(|before| overlaps(before, item))
    };
    let repeated: Vec<usize> = (0..select.projection.len()).filter(is_spelled).collect();
    // From the last on, so that places before stay what they are.
    for at in repeated.into_iter().rev() {
        let columns = columns_of(state, query, at).await?;
        let SetExpr::Select(select) = query.body.as_mut() else {
            return Ok(());
        };
        select.projection.splice(at..=at, columns);
    }
    Ok(())
}

/// Gives stars of tables the schema that FROM names.
pub(crate) fn name_schemas(select: &mut Select) {
    let mut tables: Vec<&ast::ObjectName> = Vec::new();
    let mut factors: Vec<&TableFactor> = Vec::new();
    for table in &select.from {
        factors.push(&table.relation);
        factors.extend(table.joins.iter().map(|join| &join.relation));
    }
    while let Some(factor) = factors.pop() {
        match factor {
            TableFactor::Table {
                name, alias: None, ..
            } if name.0.len() > 1 => tables.push(name),
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                factors.push(&table_with_joins.relation);
                factors.extend(table_with_joins.joins.iter().map(|join| &join.relation));
            }
            _ => {}
        }
    }
    let last = |name: &ast::ObjectName| name.0.last().and_then(|part| part.as_ident()).map(folded);
    for item in &mut select.projection {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
            && name.0.len() == 1
            && let Some(table) = tables.iter().find(|table| last(table) == last(name))
        {
            *name = (*table).clone();
        }
    }
}

/// What a star gives the columns of: one relation, by name, or all.
fn relation_of(item: &SelectItem) -> Option<Option<String>> {
    match item {
        SelectItem::Wildcard(_) => Some(None),
        SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
            let last = name.0.last().and_then(|part| part.as_ident())?;
            Some(Some(folded(last)))
        }
        _ => None,
    }
}

/// Whether two stars give columns in common.
fn overlaps(one: &SelectItem, other: &SelectItem) -> bool {
    match (relation_of(one), relation_of(other)) {
        (Some(Some(one)), Some(Some(other))) => one == other,
        (Some(_), Some(_)) => true,
        _ => false,
    }
}

/// Returns the columns of the star at a place of the select list, each with a name of its own.
async fn columns_of(state: &SessionState, query: &Query, at: usize) -> Result<Vec<SelectItem>, SqlError> {
    let mut probe = query.clone();
    probe.order_by = None;
    probe.limit_clause = None;
    if let SetExpr::Select(select) = probe.body.as_mut() {
        only_star(select, at);
    }
    rewrite(&mut probe)?;
    let statement = ast::Statement::Query(Box::new(probe));
    let plan = state
        .statement_to_plan(PlannedStatement::Statement(Box::new(statement)))
        .await?;
    let quoted = |text: &str| Ident::with_quote('"', text);
    let column = |(nth, (table, field)): (usize, (Option<&TableReference>, &_))| {
        let field: &std::sync::Arc<datafusion::arrow::datatypes::Field> = field;
        let mut parts: Vec<Ident> = Vec::new();
        if let Some(table) = table {
            parts.extend(table.catalog().map(quoted));
            parts.extend(table.schema().map(quoted));
            parts.push(quoted(table.table()));
        }
        parts.push(quoted(field.name()));
        SelectItem::ExprWithAlias {
            expr: match parts.len() {
                1 => Expr::Identifier(quoted(field.name())),
                _ => Expr::CompoundIdentifier(parts),
            },
            alias: quoted(&format!("{}{HIDDEN}{at}{HIDDEN}{nth}", field.name())),
        }
    };
    Ok(plan.schema().iter().enumerate().map(column).collect())
}

/// Leaves of a SELECT its FROM and the star at a place.
fn only_star(select: &mut Select, at: usize) {
    let star = select.projection.swap_remove(at);
    select.projection = vec![star];
    select.selection = None;
    select.distinct = None;
    select.group_by = ast::GroupByExpr::Expressions(Vec::new(), Vec::new());
    select.having = None;
    select.qualify = None;
    select.named_window = Vec::new();
}
