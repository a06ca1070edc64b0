//! Joins by columns of one name, and rows as values: what only the columns of FROM can tell.
//!
//! | written                                       | becomes                                                      |
//! |-----------------------------------------------|--------------------------------------------------------------|
//! | `SELECT * FROM a JOIN b USING (k)`            | `SELECT a.k, a.x, b.y FROM a JOIN b ON a.k = b.k`            |
//! | `SELECT k FROM a RIGHT JOIN b USING (k)`      | `SELECT b.k …`                                               |
//! | `SELECT k FROM a FULL JOIN b USING (k)`       | `SELECT coalesce(a.k, b.k) AS k …`                           |
//! | `… a NATURAL JOIN b`                          | the same, by all names that both sides have                   |
//! | `SELECT row_to_json(t) FROM t`                | `SELECT json_row('k', t.k, 'x', t.x) FROM t`                 |
//!
//! DataFusion takes the merged column of whichever side, which is NULL where that side has no row, and leaves it where it
//! stood. Which columns there are is asked of DataFusion itself: the same FROM is planned with a star alone and conditions that say nothing.
//!
//! Deliberately not here: a FROM that reads the query around it (LATERAL subqueries within subqueries), which stays as it was
//! written, and merged columns that a subquery of the same SELECT names without their table.

use std::ops::ControlFlow;

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement as PlannedStatement;
use datafusion::sql::sqlparser::ast::{
    self, BinaryOperator, Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, Join, JoinConstraint,
    JoinOperator, ObjectName, OrderByKind, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
    Value, Visitor, VisitorMut, With,
};

use crate::SqlError;
use crate::json;
use crate::rewrite::{rewrite, select_from};
use crate::statement::{call, folded};
use crate::walk::{Walk, WalkMut};

/// Functions that take rows of a relation by its name.
const OF_ROWS: [&str; 3] = ["row_to_json", "to_json", "json_agg"];

/// Spells out the joins and rows of all SELECTs of a query.
pub(crate) async fn expand(state: &SessionState, query: &mut Query) -> Result<(), SqlError> {
    let mut left_as_written = 0;
    loop {
        let mut finder = Finder {
            skip: left_as_written,
            with: Vec::new(),
        };
        let ControlFlow::Break(found) = query.walk(&mut finder) else {
            return Ok(());
        };
        let Some(relations) = relations_of(state, found).await else {
            left_as_written += 1;
            continue;
        };
        let mut change = Change {
            skip: left_as_written,
            relations: Some(relations),
            merged: Vec::new(),
        };
        match query.walk_mut(&mut change) {
            ControlFlow::Continue(()) | ControlFlow::Break(Ok(false)) => left_as_written += 1,
            ControlFlow::Break(Ok(true)) => {}
            ControlFlow::Break(Err(error)) => return Err(error),
        }
    }
}

/// Whether a SELECT has what is spelled out here.
fn is_concerned(select: &Select) -> bool {
    let merges = |item: &TableWithJoins| item.joins.iter().any(|join| constraint(join).is_some_and(merges));
    fn nested(factor: &TableFactor, merges: &dyn Fn(&TableWithJoins) -> bool) -> bool {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins: inner,
                alias: None,
            } => merges(inner) || factors(inner).any(|factor| nested(factor, merges)),
            _ => false,
        }
    }
    let joins = select
        .from
        .iter()
        .any(|item| merges(item) || factors(item).any(|factor| nested(factor, &merges)));
    joins || (!select.from.is_empty() && select.projection.walk(&mut Rows).is_break())
}

fn factors(item: &TableWithJoins) -> impl Iterator<Item = &TableFactor> {
    std::iter::once(&item.relation).chain(item.joins.iter().map(|join| &join.relation))
}

fn merges(constraint: &JoinConstraint) -> bool {
    matches!(constraint, JoinConstraint::Using(_) | JoinConstraint::Natural)
}

/// Which side of a join has all rows of the result.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
    Neither,
}

fn constraint(join: &Join) -> Option<&JoinConstraint> {
    use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match &join.join_operator {
        Join(on) | Inner(on) | CrossJoin(on) | Left(on) | LeftOuter(on) => Some(on),
        Right(on) | RightOuter(on) | FullOuter(on) => Some(on),
        _ => None,
    }
}

fn constraint_mut(join: &mut Join) -> Option<(&mut JoinConstraint, Side)> {
    use JoinOperator::{CrossJoin, FullOuter, Inner, Join, Left, LeftOuter, Right, RightOuter};
    match &mut join.join_operator {
        Join(on) | Inner(on) | CrossJoin(on) | Left(on) | LeftOuter(on) => Some((on, Side::Left)),
        Right(on) | RightOuter(on) => Some((on, Side::Right)),
        FullOuter(on) => Some((on, Side::Neither)),
        _ => None,
    }
}

/// Finds calls on rows; breaks off at the first.
struct Rows;

impl Visitor for Rows {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match row_of(expr) {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Returns the name that a function which takes rows is called with.
fn row_of(expr: &Expr) -> Option<&Ident> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let name = folded(function.name.0.last()?.as_ident()?);
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Identifier(row)))]
            if OF_ROWS.contains(&name.as_str()) =>
        {
            Some(row)
        }
        _ => None,
    }
}

/// A FROM to be asked for its columns, and the WITH around it.
struct Found {
    from: Vec<TableWithJoins>,
    with: Vec<With>,
}

/// Finds a SELECT that is concerned, inner ones first.
struct Finder {
    skip: usize,
    with: Vec<Option<With>>,
}

impl Visitor for Finder {
    type Break = Found;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Found> {
        self.with.push(query.with.clone());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Found> {
        self.with.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<Found> {
        if !is_concerned(select) {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        ControlFlow::Break(Found {
            from: select.from.clone(),
            with: self.with.iter().flatten().cloned().collect(),
        })
    }
}

/// The columns of one relation of FROM: how each is written, and its name.
type Relation = (Option<String>, Vec<Column>);

#[derive(Clone)]
struct Column {
    name: String,
    expr: Expr,
    /// Whether it is one of both sides of a join.
    merged: bool,
}

/// Asks for the columns of FROM, relation by relation; `None` where that cannot be told.
async fn relations_of(state: &SessionState, found: Found) -> Option<Vec<Relation>> {
    let Found { mut from, with } = found;
    let mut count = 0;
    for item in &mut from {
        without_conditions(item, &mut count);
    }
    let mut probe = select_from(vec![SelectItem::Wildcard(Default::default())], from, None);
    probe.with = merged_with(with);
    rewrite(&mut probe).ok()?;
    let statement = ast::Statement::Query(Box::new(probe));
    let statement = PlannedStatement::Statement(Box::new(statement));
    let plan = state.statement_to_plan(statement).await.ok()?;
    let quoted = |text: &str| Ident::with_quote('"', text);
    let mut relations: Vec<Relation> = Vec::new();
    for (table, field) in plan.schema().iter() {
        let mut parts: Vec<Ident> = Vec::new();
        if let Some(table) = table {
            parts.extend(table.catalog().map(quoted));
            parts.extend(table.schema().map(quoted));
            parts.push(quoted(table.table()));
        }
        let qualifier = (!parts.is_empty()).then(|| ObjectName::from(parts.clone()).to_string());
        parts.push(quoted(field.name()));
        let column = Column {
            name: field.name().clone(),
            expr: match parts.len() {
                1 => Expr::Identifier(quoted(field.name())),
                _ => Expr::CompoundIdentifier(parts),
            },
            merged: false,
        };
        match relations.last_mut() {
            Some((last, columns)) if *last == qualifier => columns.push(column),
            _ => relations.push((qualifier, vec![column])),
        }
    }
    (relations.len() == count).then_some(relations)
}

/// Makes conditions of joins say nothing; counts relations.
fn without_conditions(item: &mut TableWithJoins, count: &mut usize) {
    let TableWithJoins { relation, joins } = item;
    without_conditions_within(relation, count);
    for join in joins {
        without_conditions_within(&mut join.relation, count);
        if let Some((on, _)) = constraint_mut(join)
            && merges(on)
        {
            *on = JoinConstraint::On(truth());
        }
    }
}

fn without_conditions_within(factor: &mut TableFactor, count: &mut usize) {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => without_conditions(inner, count),
        _ => *count += 1,
    }
}

fn truth() -> Expr {
    Expr::Value(Value::Boolean(true).into())
}

/// Returns all that queries around a place name by WITH; inner names hide outer ones.
fn merged_with(all: Vec<With>) -> Option<With> {
    all.into_iter().reduce(|mut outer, inner| {
        let hides = |name: &Ident| {
            inner
                .cte_tables
                .iter()
                .any(|cte| folded(&cte.alias.name) == folded(name))
        };
        outer.cte_tables.retain(|cte| !hides(&cte.alias.name));
        outer.cte_tables.extend(inner.cte_tables);
        outer.recursive |= inner.recursive;
        outer
    })
}

/// Changes the SELECT whose columns are known; breaks off after it, and tells whether it was changed.
struct Change {
    skip: usize,
    relations: Option<Vec<Relation>>,
    /// Columns that the SELECT has merged, for the ORDER BY of its query.
    merged: Vec<Column>,
}

impl VisitorMut for Change {
    type Break = Result<bool, SqlError>;

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        if self.relations.is_none() || !is_concerned(select) {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        let relations = self.relations.take().unwrap_or_default();
        match spell_out(select, relations) {
            Ok(merged) => self.merged = merged,
            Err(error) => return ControlFlow::Break(Err(error)),
        }
        // What is left as it was would be found again.
        match is_concerned(select) {
            true => ControlFlow::Break(Ok(false)),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        if self.relations.is_some() {
            return ControlFlow::Continue(());
        }
        if let (SetExpr::Select(select), Some(order)) = (query.body.as_ref(), &mut query.order_by)
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            let is_output = |name: &Ident| {
                select.projection.iter().any(|item| match item {
                    SelectItem::ExprWithAlias { alias, .. } => folded(alias) == folded(name),
                    _ => false,
                })
            };
            for key in keys {
                // An output column comes before those of FROM.
                let named = matches!(&key.expr, Expr::Identifier(name) if is_output(name));
                if !named {
                    replace(&mut key.expr, &self.merged);
                }
            }
        }
        ControlFlow::Break(Ok(true))
    }
}

/// Spells out one SELECT; returns the columns that it merges.
fn spell_out(select: &mut Select, relations: Vec<Relation>) -> Result<Vec<Column>, SqlError> {
    let mut relations_left = relations.iter();
    let mut columns = Vec::new();
    for item in &mut select.from {
        columns.extend(merge(item, &mut relations_left)?);
    }
    let merged: Vec<Column> = columns.iter().filter(|column| column.merged).cloned().collect();
    spell_out_rows(&mut select.projection, &relations, &columns);
    if merged.is_empty() {
        return Ok(merged);
    }
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(options) if options == Default::default() => {
                select.projection.extend(columns.iter().map(shown));
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                let column = merged.iter().find(|column| column.name == folded(&name));
                let item = column.map_or(SelectItem::UnnamedExpr(Expr::Identifier(name)), shown);
                select.projection.push(item);
            }
            mut item => {
                replace(&mut item, &merged);
                select.projection.push(item);
            }
        }
    }
    replace(&mut select.distinct, &merged);
    replace(&mut select.selection, &merged);
    replace(&mut select.group_by, &merged);
    replace(&mut select.having, &merged);
    replace(&mut select.named_window, &merged);
    Ok(merged)
}

/// Returns a column as an item of a select list, by its name.
fn shown(column: &Column) -> SelectItem {
    match &column.expr {
        Expr::Function(_) => SelectItem::ExprWithAlias {
            expr: column.expr.clone(),
            alias: Ident::with_quote('"', &column.name),
        },
        expr => SelectItem::UnnamedExpr(expr.clone()),
    }
}

/// Merges the columns of joins, and has their conditions tell by which.
fn merge<'r>(
    item: &mut TableWithJoins,
    relations: &mut impl Iterator<Item = &'r Relation>,
) -> Result<Vec<Column>, SqlError> {
    let mut columns = columns_of(&mut item.relation, relations)?;
    for join in &mut item.joins {
        let right = columns_of(&mut join.relation, relations)?;
        let Some((on, side)) = constraint_mut(join) else {
            columns.extend(right);
            continue;
        };
        let names = match on {
            JoinConstraint::Using(names) => {
                let name = |name: &ObjectName| name.0.last().and_then(|part| part.as_ident()).map(folded);
                names.iter().filter_map(name).collect()
            }
            JoinConstraint::Natural => common_names(&columns, &right),
            _ => {
                if let JoinConstraint::On(condition) = on {
                    let merged: Vec<Column> =
                        columns.iter().filter(|column| column.merged).cloned().collect();
                    replace(condition, &merged);
                }
                columns.extend(right);
                continue;
            }
        };
        let (merged, condition) = merge_by(&names, &mut columns, right, side)?;
        *on = JoinConstraint::On(condition);
        columns = merged;
    }
    Ok(columns)
}

fn columns_of<'r>(
    factor: &mut TableFactor,
    relations: &mut impl Iterator<Item = &'r Relation>,
) -> Result<Vec<Column>, SqlError> {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => merge(inner, relations),
        _ => Ok(relations
            .next()
            .map(|(_, columns)| columns.clone())
            .unwrap_or_default()),
    }
}

fn common_names(left: &[Column], right: &[Column]) -> Vec<String> {
    let is_common = |column: &&Column| right.iter().any(|other| other.name == column.name);
    left.iter()
        .filter(is_common)
        .map(|column| column.name.clone())
        .collect()
}

/// Merges the columns of these names; returns all columns, and the condition.
fn merge_by(
    names: &[String],
    left: &mut Vec<Column>,
    mut right: Vec<Column>,
    side: Side,
) -> Result<(Vec<Column>, Expr), SqlError> {
    let mut all = Vec::new();
    let mut condition: Option<Expr> = None;
    for name in names {
        let (one, other) = (take(left, name, "left")?, take(&mut right, name, "right")?);
        let equal = Expr::BinaryOp {
            left: Box::new(one.expr.clone()),
            op: BinaryOperator::Eq,
            right: Box::new(other.expr.clone()),
        };
        condition = Some(match condition {
            None => equal,
            Some(before) => Expr::BinaryOp {
                left: Box::new(before),
                op: BinaryOperator::And,
                right: Box::new(equal),
            },
        });
        all.push(Column {
            name: name.clone(),
            expr: match side {
                Side::Left => one.expr,
                Side::Right => other.expr,
                Side::Neither => call("coalesce", vec![one.expr, other.expr]),
            },
            merged: true,
        });
    }
    all.append(left);
    all.append(&mut right);
    Ok((all, condition.unwrap_or_else(truth)))
}

/// Takes the one column of this name out of a side.
fn take(side: &mut Vec<Column>, name: &str, which: &str) -> Result<Column, SqlError> {
    let mut places = (0..side.len()).filter(|at| side[*at].name == name);
    match (places.next(), places.next()) {
        (Some(at), None) => Ok(side.remove(at)),
        (None, _) => {
            let message =
                format!("column \"{name}\" specified in USING clause does not exist in {which} table");
            Err(SqlError::statement("42703", message))
        }
        (Some(_), Some(_)) => {
            let message = format!("common column name \"{name}\" appears more than once in {which} table");
            Err(SqlError::statement("42702", message))
        }
    }
}

/// Puts merged columns in the place of their names, but in subqueries.
fn replace(node: &mut impl WalkMut, merged: &[Column]) {
    let ControlFlow::Continue(()) = node.walk_mut(&mut Replace { merged, depth: 0 });
}

struct Replace<'a> {
    merged: &'a [Column],
    depth: usize,
}

impl VisitorMut for Replace<'_> {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Self::Break> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let (0, Expr::Identifier(name)) = (self.depth, &*expr) {
            let name = folded(name);
            if let Some(column) = self.merged.iter().find(|column| column.name == name) {
                *expr = column.expr.clone();
            }
        }
        ControlFlow::Continue(())
    }
}

/// Makes objects of rows that are named in a select list.
fn spell_out_rows(items: &mut [SelectItem], relations: &[Relation], columns: &[Column]) {
    for item in items {
        let ControlFlow::Continue(()) = item.walk_mut(&mut RowsOut { relations, columns });
    }
}

struct RowsOut<'a> {
    relations: &'a [Relation],
    columns: &'a [Column],
}

impl VisitorMut for RowsOut<'_> {
    type Break = std::convert::Infallible;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        let Some(name) = row_of(expr).map(folded) else {
            return ControlFlow::Continue(());
        };
        // A column comes before a relation.
        if self.columns.iter().any(|column| column.name == name) {
            return ControlFlow::Continue(());
        }
        let last = |relation: &&Relation| {
            let (_, columns) = relation;
            matches!(columns.first().map(|column| &column.expr), Some(Expr::CompoundIdentifier(parts))
                if parts.iter().rev().nth(1).is_some_and(|table| table.value == name))
        };
        let Some((_, columns)) = self.relations.iter().find(last) else {
            return ControlFlow::Continue(());
        };
        let string = |text: &str| Expr::Value(Value::SingleQuotedString(text.to_string()).into());
        let pair = |column: &Column| [string(&column.name), column.expr.clone()];
        let row = call(json::ROW, columns.iter().flat_map(pair).collect());
        if let Expr::Function(function) = expr
            && let FunctionArguments::List(list) = &mut function.args
        {
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(row))];
        }
        ControlFlow::Continue(())
    }
}
