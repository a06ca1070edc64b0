//! An aggregate belongs to the innermost query that one of its columns is of: `SELECT (SELECT sum(t.k) FROM s LIMIT 1) FROM t` is one row.
//!
//! DataFusion would aggregate the rows of the subquery. So the call moves beside the subquery, into the query that it belongs to, and
//! a function of the same arguments holds its place, whose type is the aggregate's:
//!
//! ```text
//! (SELECT sum(t.k) + s.x FROM s)
//! with_outer((SELECT outer_aggregate('sum', '0', t.k) + s.x FROM s), '0', sum(t.k))
//! ```
//!
//! Once the query is planned, `sum(t.k)` is a column of its aggregate, and [`resolved`] has the subquery read that column.
//!
//! Names of relations, and for tables those of their columns, show which query a column is of. A column without its relation beside
//! subqueries in FROM is unknown; such an aggregate of outer columns is [`refused`].

use std::mem::take;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchema, ExprSchema};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Expr as PlannedExpr, LogicalPlan};
use rukh_catalog::{Catalog, Table};
use rukh_error::SqlError;
use rukh_functions::functions::common::outer_aggregate::{OUTER_AGGREGATE, WITH_OUTER, misplaced};
use rukh_syntax::make::call;
use rukh_syntax::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Select, SetExpr, TableFactor,
    TableWithJoins, Value, Visitor, VisitorMut,
};
use rukh_syntax::{Walk, WalkMut, folded};

use crate::bind::names::outer_names;
use crate::bind::names::outer_names::names_of_with;
use crate::bind::plans::outer_columns::{changed_within, with_query};
use rukh_functions::is_aggregate;
use rukh_walk::{PlanTree, Tree};

/// Moves aggregates of outer columns into the queries that they belong to.
pub(crate) fn spell_out(query: &mut Query, catalog: &Catalog) -> Result<(), SqlError> {
    let mut mover = Mover {
        catalog,
        scopes: Vec::new(),
        hidden: Vec::new(),
        with: Vec::new(),
        moved: Vec::new(),
        count: 0,
    };
    let ControlFlow::Continue(()) = query.walk_mut(&mut mover) else {
        return Err(misplaced().into());
    };
    match mover.moved.is_empty() {
        true => Ok(()),
        false => Err(misplaced().into()),
    }
}

/// A relation in FROM: its name, and its columns if it is a table.
type Relation = (Option<String>, Option<Arc<Table>>);

/// What the FROM of a SELECT shows to its expressions and to the subqueries in them.
#[derive(Default)]
struct Scope {
    relations: Vec<Relation>,
}

/// A column as it is written: its relation and its name.
type Written = (Option<String>, String);

impl Scope {
    /// Whether a column is of this scope; `None` if that is unknown.
    fn has(&self, (relation, column): &Written) -> Option<bool> {
        let named = |name: &String| {
            self.relations
                .iter()
                .any(|(known, _)| known.as_ref() == Some(name))
        };
        if let Some(relation) = relation {
            return Some(named(relation));
        }
        let tables = || self.relations.iter().filter_map(|(_, table)| table.as_ref());
        if named(column) || tables().any(|table| table.column_named(column).is_some()) {
            return Some(true);
        }
        match tables().count() == self.relations.len() {
            true => Some(false),
            false => None,
        }
    }
}

/// An aggregate on its way out of a subquery.
struct Moved {
    /// The scope that it belongs to.
    scope: usize,
    number: String,
    aggregate: Expr,
}

struct Mover<'a> {
    catalog: &'a Catalog,
    scopes: Vec<Scope>,
    /// Scopes that subqueries in FROM do not see: those of the SELECT whose FROM it is. One entry for each subquery in FROM around.
    hidden: Vec<Range<usize>>,
    with: Vec<Vec<String>>,
    moved: Vec<Moved>,
    count: usize,
}

impl Mover<'_> {
    fn scope(&self, select: &Select) -> Scope {
        let mut relations = Vec::new();
        for item in &select.from {
            self.relations_of(item, &mut relations);
        }
        Scope { relations }
    }

    fn relations_of(&self, item: &TableWithJoins, into: &mut Vec<Relation>) {
        let joined = item.joins.iter().map(|join| &join.relation);
        for factor in std::iter::once(&item.relation).chain(joined) {
            match factor {
                TableFactor::NestedJoin {
                    table_with_joins: inner,
                    alias: None,
                } => self.relations_of(inner, into),
                TableFactor::NestedJoin {
                    alias: Some(alias), ..
                } => into.push((Some(folded(&alias.name)), None)),
                other => into.push((outer_names::name_of(other), self.table(other))),
            }
        }
    }

    /// Returns the table that a relation is of, under the names of its columns.
    fn table(&self, factor: &TableFactor) -> Option<Arc<Table>> {
        let TableFactor::Table {
            name,
            alias,
            args: None,
            ..
        } = factor
        else {
            return None;
        };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let parts: Vec<String> = name
            .0
            .iter()
            .filter_map(|part| part.as_ident())
            .map(folded)
            .collect();
        let table = match parts.as_slice() {
            [name] if self.with.iter().flatten().any(|known| known == name) => return None,
            [name] => self.catalog.table_named("public", name),
            [schema, name] => self.catalog.table_named(schema, name),
            _ => return None,
        };
        table.ok().cloned()
    }

    /// Returns the scope that a call belongs to, if it is an aggregate of one further out.
    fn scope_of(&self, function: &Function) -> Option<usize> {
        let own = self.scopes.len().checked_sub(1)?;
        let name = function
            .name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map(folded)?;
        if own == 0 || function.over.is_some() || !is_aggregate(&name) {
            return None;
        }
        let mut columns = Columns {
            mover: self,
            inner: Vec::new(),
            written: Vec::new(),
        };
        if function.walk(&mut columns).is_break() || columns.written.is_empty() {
            return None;
        }
        let is_visible = |at: &usize| !self.hidden.iter().any(|hidden| hidden.contains(at));
        let mut innermost = 0;
        for column in &columns.written {
            let mut scopes = (0..=own).rev().filter(is_visible);
            let scope = scopes.find(|at| self.scopes[*at].has(column) != Some(false))?;
            innermost = innermost.max(scope);
        }
        (innermost < own).then_some(innermost)
    }

    /// Moves an aggregate out, if it belongs to a query around; returns what holds its place.
    fn moved(&mut self, expr: &Expr) -> Option<Expr> {
        let Expr::Function(function) = expr else {
            return None;
        };
        let FunctionArguments::List(list) = &function.args else {
            return None;
        };
        let scope = self.scope_of(function)?;
        let name = function
            .name
            .0
            .last()
            .and_then(|part| part.as_ident())
            .map(folded)?;
        let number = self.count.to_string();
        let mut arguments = vec![text(&name), text(&number)];
        for argument in &list.args {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => arguments.push(argument.clone()),
                _ => return None,
            }
        }
        self.count += 1;
        self.moved.push(Moved {
            scope,
            number,
            aggregate: expr.clone(),
        });
        Some(call(OUTER_AGGREGATE, arguments))
    }

    /// Puts aggregates that have arrived beside the expression whose subquery they come from.
    fn arrived(&mut self, expr: &mut Expr) {
        // What `= ANY` compares with has to stay a subquery.
        if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
            && let Some((query, aggregates)) = taken_apart(right)
        {
            **right = query;
            let compared = std::mem::replace(expr, Expr::Value(Value::Null.into()));
            *expr = call(WITH_OUTER, [vec![compared], aggregates].concat());
            return;
        }
        let is_query = matches!(
            expr,
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. }
        );
        let here = self.scopes.len().checked_sub(1);
        if !is_query || !self.moved.iter().any(|moved| Some(moved.scope) == here) {
            return;
        }
        let query = std::mem::replace(expr, Expr::Value(Value::Null.into()));
        let mut arguments = vec![query];
        for moved in take(&mut self.moved) {
            match Some(moved.scope) == here {
                true => arguments.extend([text(&moved.number), moved.aggregate]),
                false => self.moved.push(moved),
            }
        }
        *expr = call(WITH_OUTER, arguments);
    }
}

fn text(value: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(value.to_string()).into())
}

/// Returns the expression with subqueries, and the rest of the arguments of [`WITH_OUTER`].
fn taken_apart(expr: &Expr) -> Option<(Expr, Vec<Expr>)> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let FunctionArguments::List(list) = &function.args else {
        return None;
    };
    if function.name.to_string() != WITH_OUTER {
        return None;
    }
    let arguments = list.args.iter().filter_map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument.clone()),
        _ => None,
    });
    let mut arguments: Vec<Expr> = arguments.collect();
    let rest = arguments.split_off(1);
    arguments.pop().map(|first| (first, rest))
}

impl VisitorMut for Mover<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.with.push(names_of_with(query));
        // That of ORDER BY. A SELECT has one of its own within.
        let scope = match query.body.as_ref() {
            SetExpr::Select(select) => self.scope(select),
            _ => Scope::default(),
        };
        self.scopes.push(scope);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.with.pop();
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.scopes.push(self.scope(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { .. } = factor {
            // The SELECT's, and that of its query.
            let end = self.scopes.len();
            self.hidden.push(end.saturating_sub(2)..end);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Derived { .. } = factor {
            self.hidden.pop();
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Some(place) = self.moved(expr) {
            *expr = place;
        }
        self.arrived(expr);
        ControlFlow::Continue(())
    }
}

/// The columns of a call, but for those of subqueries in it; breaks off where these are unknown.
struct Columns<'a> {
    mover: &'a Mover<'a>,
    /// The scopes of the subqueries in the call.
    inner: Vec<Scope>,
    written: Vec<Written>,
}

impl Columns<'_> {
    fn read(&mut self, column: Written) -> ControlFlow<()> {
        for scope in self.inner.iter().rev() {
            match scope.has(&column) {
                Some(true) => return ControlFlow::Continue(()),
                Some(false) => {}
                None => return ControlFlow::Break(()),
            }
        }
        self.written.push(column);
        ControlFlow::Continue(())
    }
}

impl Visitor for Columns<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        // ORDER BY reads what the SELECT reads.
        self.inner.push(match query.body.as_ref() {
            SetExpr::Select(select) => self.mover.scope(select),
            _ => Scope::default(),
        });
        match query.with {
            Some(_) => ControlFlow::Break(()),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.inner.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        self.inner.push(self.mover.scope(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<()> {
        self.inner.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Identifier(name) => self.read((None, folded(name))),
            Expr::CompoundIdentifier(parts) => {
                let mut parts = parts.iter().rev().map(folded);
                let name = parts.next().unwrap_or_default();
                self.read((parts.next(), name))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Lets subqueries read the aggregates that were moved out of them.
pub(crate) fn resolved(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    let plan = plan.turn_all_up(&mut |node| {
        let names = NamePreserver::new(&node);
        let schema = merge_schema(&node.inputs());
        let changed = node.turn_expressions(&mut |expr| {
            let name = names.save(&expr);
            let expr = expr.turn_up(&mut |part| read_from_aggregates(part, &schema))?;
            Ok(expr.update_data(|expr| name.restore(expr)))
        })?;
        match changed.transformed {
            true => changed.map_data(LogicalPlan::recompute_schema),
            false => Ok(changed),
        }
    })?;
    refused(plan.data)
}

fn read_from_aggregates(expr: PlannedExpr, schema: &DFSchema) -> DataFusionResult<Transformed<PlannedExpr>> {
    let PlannedExpr::ScalarFunction(ScalarFunction { func, args }) = &expr else {
        return Ok(Transformed::no(expr));
    };
    if func.name() != WITH_OUTER {
        return Ok(Transformed::no(expr));
    }
    let (Some(queries), pairs) = (args.first(), args.get(1..).unwrap_or_default()) else {
        return Err(misplaced());
    };
    let mut columns: Vec<(&PlannedExpr, PlannedExpr)> = Vec::new();
    for pair in pairs.chunks(2) {
        let [number, PlannedExpr::Column(column)] = pair else {
            return Err(misplaced());
        };
        let field = schema.field_from_column(column)?.clone();
        columns.push((number, PlannedExpr::OuterReferenceColumn(field, column.clone())));
    }
    let mut read = |part: PlannedExpr| {
        let column = match &part {
            PlannedExpr::ScalarFunction(place) if place.func.name() == OUTER_AGGREGATE => columns
                .iter()
                .find(|(number, _)| Some(*number) == place.args.get(1)),
            _ => None,
        };
        Ok(match column {
            Some((_, column)) => Transformed::yes(column.clone()),
            None => Transformed::no(part),
        })
    };
    let queries = queries.clone();
    let read = queries.turn_up(&mut |part| with_query(part, |query| changed_within(query, &mut read)))?;
    Ok(Transformed::yes(read.data))
}

/// Fails with 0A000 if a subquery aggregates columns of a query around it, and nothing of its own.
fn refused(plan: LogicalPlan) -> Result<LogicalPlan, SqlError> {
    plan.each_of_all(&mut |node| match node {
        LogicalPlan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(is_of_outer) => Err(misplaced()),
        _ => Ok(TreeNodeRecursion::Continue),
    })?;
    Ok(plan)
}

fn is_of_outer(call: &PlannedExpr) -> bool {
    let (mut outer, mut own) = (false, false);
    let seen = call.each(&mut |part| -> DataFusionResult<TreeNodeRecursion> {
        match part {
            PlannedExpr::OuterReferenceColumn(..) => outer = true,
            PlannedExpr::Column(_) => own = true,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    seen.is_ok() && outer && !own
}
