//! Names in queries that are stored: each says of which relation its column is, and there are no stars.
//!
//! | written                                                  | stored                                                     |
//! |----------------------------------------------------------|------------------------------------------------------------|
//! | `SELECT * FROM a`                                        | `SELECT k, x FROM a`                                       |
//! | `SELECT a.*, y FROM a, b`                                | `SELECT a.k, a.x, b.y FROM a, b`                           |
//! | `SELECT * FROM a NATURAL JOIN b`                         | `SELECT k, a.x, b.y FROM a JOIN b USING (k)`               |
//! | `SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE y = x)` | `SELECT k FROM a WHERE EXISTS (SELECT 1 FROM b WHERE b.y = a.x)` |
//!
//! A table can get columns later. A star would then give one more, which may take the name of a column beside it; NATURAL JOIN would
//! compare it; a name that was of one relation would be of two, or of another one. PostgreSQL stores which column is meant, and shows it
//! as this text does. A SELECT of one relation that no query is around needs no names of relations.
//!
//! Deliberately not here: a FROM that reads the query around it and is no LATERAL item of that, as `FROM unnest(a.tags)` in a subquery.
//! Its SELECT stays as it was written.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use rukh_catalog::{Catalog, ColumnId, Table, TableId};
use rukh_syntax::sqlparser::ast::{
    BinaryOperator, Distinct, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgOperator,
    FunctionArguments, Ident, OrderBy, OrderByKind, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, VisitorMut, With,
};
use rukh_syntax::{HIDDEN, WalkMut, folded, is_reserved, quoted};

use super::row_values::record_of_star;
use super::{Column, Found, Merged, Probe, Relation, factors, merge, table_of, unaliased};
use crate::bind::names::outputs::output_names::name_of;
use crate::bind::spelling::rows;

/// Plans a query, for its columns; `None` if it cannot be planned.
pub(crate) type Planner<'p> = dyn FnMut(&Query) -> Option<LogicalPlan> + 'p;

/// Columns of tables.
pub(crate) type Reads = Vec<(TableId, ColumnId)>;

/// A column of a table that gets another name.
#[derive(Clone, Copy)]
pub(crate) struct Renamed<'r> {
    pub(crate) column: (TableId, ColumnId),
    pub(crate) name: &'r str,
}

/// Says in a query of which relation each column is; returns the columns of tables that it names.
pub(crate) fn spell_out(query: &mut Query, catalog: &Catalog, plan: &mut Planner<'_>) -> Reads {
    let mut speller = Speller::new(catalog, plan, None);
    let ControlFlow::Continue(()) = query.walk_mut(&mut speller);
    speller.reads
}

/// Calls a column by its new name in a query whose columns keep their names; returns whether the query names it, or why that cannot be.
pub(crate) fn rename(
    query: &mut Query,
    catalog: &Catalog,
    renamed: Renamed<'_>,
    plan: &mut Planner<'_>,
) -> Result<bool, &'static str> {
    let mut speller = Speller::new(catalog, plan, Some(renamed));
    let ControlFlow::Continue(()) = query.walk_mut(&mut speller);
    match speller.refused {
        Some(why) => Err(why),
        None => Ok(speller.reads.contains(&renamed.column)),
    }
}

/// The relations of a FROM.
struct FromList {
    relations: Vec<Relation>,
    /// The table that each of them is, if it is one, and how many of its first columns have other names there.
    tables: Vec<Option<(Arc<Table>, usize)>>,
    /// All columns in the order of a star.
    columns: Vec<Column>,
}

/// What a place between queries sees of one of them.
enum Seen {
    /// No relations, but those of queries further out.
    Through,
    /// Relations that are unknown: no name can be resolved beyond them.
    Unknown,
    Relations(FromList),
}

/// A query around the place of the visit.
struct Level {
    with: Option<With>,
    seen: Seen,
    /// How many relations of FROM the visit has come to.
    passed: usize,
    /// The place of the relation that the visit is inside of, which sees those before it.
    inside: Option<usize>,
    /// How many items of FROM the visit is inside of that see nothing of their neighbours.
    apart: usize,
    /// How many joins with an alias the visit is inside of, whose relations are not those of FROM.
    joined: usize,
    /// The names of the columns of the result, and whether an alias gives it.
    outputs: Vec<Option<(String, bool)>>,
    /// Keys whose names are those of the result before they are columns of FROM.
    order: Option<OrderBy>,
    distinct: Option<Distinct>,
}

struct Speller<'s, 'p> {
    catalog: &'s Catalog,
    plan: &'s mut Planner<'p>,
    renamed: Option<Renamed<'s>>,
    levels: Vec<Level>,
    reads: Reads,
    /// Why the column cannot get another name.
    refused: Option<&'static str>,
}

impl<'s, 'p> Speller<'s, 'p> {
    fn new(catalog: &'s Catalog, plan: &'s mut Planner<'p>, renamed: Option<Renamed<'s>>) -> Self {
        Speller {
            catalog,
            plan,
            renamed,
            levels: Vec::new(),
            reads: Vec::new(),
            refused: None,
        }
    }

    /// Asks for the relations of a FROM, and writes NATURAL JOIN with the names by which it joins.
    fn relations_of(&mut self, select: &mut Select) -> Option<FromList> {
        let mut from = FromList {
            relations: Vec::new(),
            tables: Vec::new(),
            columns: Vec::new(),
        };
        if select.from.is_empty() {
            return Some(from);
        }
        let probe = Probe::new(Found {
            from: select.from.clone(),
            with: self
                .levels
                .iter()
                .filter_map(|level| level.with.clone())
                .collect(),
        });
        let own_names = probe.query_of_own_names().and_then(|query| (self.plan)(&query));
        let plan = (self.plan)(&probe.query())?;
        from.relations = probe.relations(&plan, own_names.as_ref())?;
        let mut items = select.from.clone();
        let mut left = from.relations.iter();
        for item in &mut items {
            from.columns.extend(merge(item, &mut left, Merged::AsNames).ok()?);
        }
        select.from = items;
        for item in &select.from {
            self.tables_of(item, &mut from.tables);
        }
        Some(from)
    }

    /// Adds the table that each relation is; a name without its schema is one of WITH.
    fn tables_of(&self, item: &TableWithJoins, tables: &mut Vec<Option<(Arc<Table>, usize)>>) {
        for item in factors(item) {
            match item {
                TableFactor::NestedJoin {
                    table_with_joins: inner,
                    alias: None,
                } => self.tables_of(inner, tables),
                TableFactor::Table {
                    name,
                    args: None,
                    alias,
                    ..
                } => {
                    let parts = name.0.iter().filter_map(|part| part.as_ident()).map(folded);
                    let table = match parts.collect::<Vec<String>>().as_slice() {
                        [schema, name] => self.catalog.table_named(schema, name).ok().cloned(),
                        _ => None,
                    };
                    let renamed = alias.as_ref().map_or(0, |alias| alias.columns.len());
                    tables.push(table.map(|table| (table, renamed)));
                }
                _ => tables.push(None),
            }
        }
    }

    /// Returns how a column is written that a name without a relation means; `None` if as it is.
    fn resolved(&mut self, name: &str) -> Option<Expr> {
        let innermost = self.levels.len().checked_sub(1)?;
        for at in (0..=innermost).rev() {
            let level = &self.levels[at];
            let from = match &level.seen {
                _ if level.joined > 0 => return None,
                Seen::Relations(from) if level.apart == 0 => from,
                Seen::Unknown if level.apart == 0 => return None,
                _ => continue,
            };
            let mut found = from.named(name, level.inside.unwrap_or(from.relations.len()));
            let (Some((relation, column)), is_only) = (found.next(), found.next().is_none()) else {
                // GROUP BY takes the name of the result before it looks further out.
                let mut outputs = level.outputs.iter().flatten();
                match at == innermost && outputs.any(|(alias, is_alias)| *is_alias && alias == name) {
                    true => return None,
                    false => continue,
                }
            };
            let is_merged = from.merges(name);
            if !is_only && !is_merged {
                return None;
            }
            let hides = |level: &Level| match &level.seen {
                Seen::Relations(inner) => {
                    let mut inner = inner.relations.iter();
                    inner.any(|inner| table_of(inner) == table_of(relation))
                }
                _ => false,
            };
            let is_alone = at == 0 && innermost == 0 && from.relations.len() == 1;
            let stays = is_merged || is_alone || self.levels[at + 1..].iter().any(hides);
            let expr = match stays {
                true => Expr::Identifier(ident(name)),
                false => written(column),
            };
            let new = self
                .renamed
                .filter(|renamed| from.has(table_of(relation).as_deref(), name, renamed));
            let reads = from.reads_of(None, name);
            self.reads.extend(reads);
            return match new {
                Some(renamed) => Some(with_name(expr, renamed.name)),
                None => (!stays).then_some(expr),
            };
        }
        None
    }

    /// Notes a column that is written with its relation; returns its new name, if it gets one.
    fn note(&mut self, relation: &str, name: &str) -> Option<&'s str> {
        let levels = self.levels.iter().rev().filter(|level| level.apart == 0);
        for level in levels {
            let Seen::Relations(from) = &level.seen else {
                continue;
            };
            if from
                .relations
                .iter()
                .any(|known| table_of(known).as_deref() == Some(relation))
            {
                self.reads.extend(from.reads_of(Some(relation), name));
                let renamed = self
                    .renamed
                    .filter(|renamed| from.has(Some(relation), name, renamed));
                return renamed.map(|renamed| renamed.name);
            }
        }
        None
    }

    /// Writes the columns of stars of a select list.
    fn without_stars(&mut self, items: &mut Vec<SelectItem>) {
        let is_alone = self.levels.len() == 1;
        let Some(Level {
            seen: Seen::Relations(from),
            ..
        }) = self.levels.last()
        else {
            return;
        };
        for item in std::mem::take(items) {
            let of_relation = |name: Option<String>| {
                let mut relations = from.relations.iter();
                let relation = relations.find(|relation| table_of(relation) == name);
                relation.map_or(&[][..], |(_, columns)| columns)
            };
            let columns: &[Column] = match &item {
                SelectItem::Wildcard(options) if *options == Default::default() => &from.columns,
                SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                    if *options == Default::default() =>
                {
                    of_relation(name.0.last().and_then(|part| part.as_ident()).map(folded))
                }
                // A column would have its relation by now.
                item => match record_of_star(item) {
                    Some(Expr::Identifier(name)) => of_relation(Some(folded(name))),
                    _ => &[],
                },
            };
            if columns.is_empty() || columns.iter().any(|column| column.name.contains(HIDDEN)) {
                items.push(item);
                continue;
            }
            for column in columns {
                let relation = table_of(&(None, vec![column.clone()]));
                let relation = relation.as_deref();
                self.reads.extend(from.reads_of(relation, &column.name));
                let expr = match is_alone && from.relations.len() == 1 {
                    true => Expr::Identifier(ident(&column.name)),
                    false => written(column),
                };
                let is_meant = |renamed: &Renamed<'_>| from.has(relation, &column.name, renamed);
                items.push(match self.renamed.filter(is_meant) {
                    Some(renamed) => SelectItem::ExprWithAlias {
                        expr: with_name(expr, renamed.name),
                        alias: ident(&column.name),
                    },
                    None => SelectItem::UnnamedExpr(expr),
                });
            }
        }
    }

    /// Gives columns of queries around the names that they have in the result, where a subquery would give them none.
    fn name_outer_columns(&self, items: &mut [SelectItem]) {
        let Some(Seen::Relations(from)) = self.levels.last().map(|level| &level.seen) else {
            return;
        };
        for item in items {
            if let SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) = item
                && let [.., relation, name] = parts.as_slice()
                && let relation = Some(folded(relation))
                && !from.relations.iter().any(|known| table_of(known) == relation)
            {
                *item = SelectItem::ExprWithAlias {
                    alias: name.clone(),
                    expr: Expr::CompoundIdentifier(parts.clone()),
                };
            }
        }
    }

    fn refuse(&mut self, why: &'static str) {
        if self.renamed.is_some() {
            self.refused.get_or_insert(why);
        }
    }

    /// Visits a key, which is the name of a column of the result before it is one of FROM.
    fn key(&mut self, key: &mut Expr, outputs: &[String]) {
        if !matches!(key, Expr::Identifier(name) if outputs.contains(&folded(name))) {
            let ControlFlow::Continue(()) = key.walk_mut(self);
        }
    }
}

impl FromList {
    /// Returns the columns of a name that the first relations have, each with its relation.
    fn named<'f>(
        &'f self,
        name: &'f str,
        relations: usize,
    ) -> impl Iterator<Item = (&'f Relation, &'f Column)> {
        self.relations.iter().take(relations).flat_map(move |relation| {
            let columns = relation.1.iter().filter(move |column| column.name == name);
            columns.map(move |column| (relation, column))
        })
    }

    /// Whether a name is that of a column of both sides of a join.
    fn merges(&self, name: &str) -> bool {
        let is_meant = |column: &Column| column.name == name && is_of_both(column);
        self.columns.iter().any(is_meant)
    }

    /// Whether a name, in one relation or in all, is that of a column that gets another one.
    fn has(&self, relation: Option<&str>, name: &str, renamed: &Renamed<'_>) -> bool {
        let mut relations = self.relations.iter().zip(&self.tables);
        relations.any(|(of, table)| match table {
            Some((table, others)) if relation.is_none() || table_of(of).as_deref() == relation => {
                let has_name = of.1.iter().skip(*others).any(|column| column.name == name);
                let column = table.column_named(name).map(|column| (table.id, column.id));
                has_name && column == Some(renamed.column)
            }
            _ => false,
        })
    }

    /// Returns the columns of tables that a name means, in one relation or in all.
    fn reads_of(&self, relation: Option<&str>, name: &str) -> Reads {
        let mut reads = Vec::new();
        for (of, table) in self.relations.iter().zip(&self.tables) {
            let Some((table, _)) = table else { continue };
            if relation.is_some() && table_of(of).as_deref() != relation {
                continue;
            }
            for column in of.1.iter().filter(|column| column.name == name) {
                let column = table.column_named(&column.own_name);
                reads.extend(column.map(|column| (table.id, column.id)));
            }
        }
        reads
    }
}

impl VisitorMut for Speller<'_, '_> {
    type Break = std::convert::Infallible;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.levels.push(Level {
            with: query.with.clone(),
            seen: Seen::Through,
            passed: 0,
            inside: None,
            apart: 0,
            joined: 0,
            outputs: Vec::new(),
            order: query.order_by.take(),
            distinct: None,
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        query.order_by = self.levels.last_mut().and_then(|level| level.order.take());
        if let (SetExpr::Select(select), Some(order)) = (query.body.as_ref(), &mut query.order_by)
            && let OrderByKind::Expressions(keys) = &mut order.kind
        {
            let outputs = outputs(&select.projection);
            for key in keys {
                self.key(&mut key.expr, &outputs);
            }
        }
        self.levels.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let from = self.relations_of(select);
        if from.is_none() {
            self.refuse("has a FROM that reads the query around it");
        }
        if let Some(level) = self.levels.last_mut() {
            level.passed = 0;
            level.seen = from.map_or(Seen::Unknown, Seen::Relations);
            level.outputs = select.projection.iter().map(output).collect();
            level.distinct = select.distinct.take();
        }
        if let Some(Seen::Relations(from)) = self.levels.last().map(|level| &level.seen) {
            let mut is_joined_by = false;
            for column in from.columns.iter().filter(|column| is_of_both(column)) {
                self.reads.extend(from.reads_of(None, &column.name));
                let is_meant = |renamed: &Renamed<'_>| from.has(None, &column.name, renamed);
                is_joined_by |= self.renamed.as_ref().is_some_and(is_meant);
            }
            if is_joined_by {
                self.refuse("joins by its name");
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let names = self
            .levels
            .last_mut()
            .map(|level| std::mem::take(&mut level.outputs));
        let new = self.renamed.map(|renamed| renamed.name);
        keep_names(&mut select.projection, names.unwrap_or_default(), new);
        self.name_outer_columns(&mut select.projection);
        self.without_stars(&mut select.projection);
        select.distinct = self.levels.last_mut().and_then(|level| level.distinct.take());
        if let Some(Distinct::On(keys)) = &mut select.distinct {
            let outputs = outputs(&select.projection);
            for key in keys {
                self.key(key, &outputs);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if matches!(factor, TableFactor::NestedJoin { alias: Some(_), .. }) {
            self.refuse("gives a join another name");
        }
        let Some(level) = self.levels.last_mut() else {
            return ControlFlow::Continue(());
        };
        let is_nested = matches!(factor, TableFactor::NestedJoin { alias: None, .. });
        if level.joined == 0 && !is_nested {
            level.inside = Some(level.passed);
            level.passed += 1;
        }
        match factor {
            TableFactor::Derived { lateral: false, .. } => level.apart += 1,
            TableFactor::NestedJoin { alias: Some(_), .. } => level.joined += 1,
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Self::Break> {
        if let Some(level) = self.levels.last_mut() {
            match factor {
                TableFactor::Derived { lateral: false, .. } => level.apart -= 1,
                TableFactor::NestedJoin { alias: Some(_), .. } => level.joined -= 1,
                _ => {}
            }
            if level.joined == 0 {
                level.inside = None;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr {
            name_arguments(function);
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Identifier(name) if name.quote_style.is_some() || !is_reserved(&name.value) => {
                if let Some(resolved) = self.resolved(&folded(name)) {
                    *expr = resolved;
                }
            }
            Expr::CompoundIdentifier(parts) => {
                if let [.., relation, name] = parts.as_mut_slice()
                    && let Some(new) = self.note(&folded(relation), &folded(name))
                {
                    *name = ident(new);
                }
            }
            // A column that is resolved has its relation by now.
            _ => match rows::field(expr) {
                Some((Expr::Identifier(relation), name)) => {
                    if let Some(new) = self.note(&folded(relation), name) {
                        *expr = rows::field_access(Expr::Identifier(relation.clone()), new);
                    }
                }
                Some((_, name)) => {
                    let is_old = |renamed: Renamed<'_>| {
                        let table = self.catalog.table(renamed.column.0);
                        table.is_some_and(|table| table.column_name(renamed.column.1) == name)
                    };
                    if self.renamed.is_some_and(is_old) {
                        self.refuse("reads a field of that name");
                    }
                }
                None => {}
            },
        }
        ControlFlow::Continue(())
    }
}

/// Marks the names of arguments as such, which sqlparser takes for columns.
fn name_arguments(function: &mut Function) {
    let FunctionArguments::List(list) = &mut function.args else {
        return;
    };
    for argument in &mut list.args {
        match argument {
            FunctionArg::ExprNamed {
                name: Expr::Identifier(name),
                arg,
                operator,
            } => {
                *argument = FunctionArg::Named {
                    name: name.clone(),
                    arg: arg.clone(),
                    operator: operator.clone(),
                };
            }
            FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::BinaryOp {
                left,
                op: BinaryOperator::Assignment,
                right,
            })) => {
                if let Expr::Identifier(name) = left.as_ref() {
                    *argument = FunctionArg::Named {
                        name: name.clone(),
                        arg: FunctionArgExpr::Expr(right.as_ref().clone()),
                        operator: FunctionArgOperator::Assignment,
                    };
                }
            }
            _ => {}
        }
    }
}

/// Whether a column is one of both sides of a join.
fn is_of_both(column: &Column) -> bool {
    column.merged && column.relation.is_none()
}

/// Returns a column with its relation, if it is of one.
fn written(column: &Column) -> Expr {
    let name = ident(&column.name);
    match (&column.relation, &column.expr) {
        (Some(relation), _) => Expr::CompoundIdentifier(vec![ident(relation), name]),
        (None, Expr::CompoundIdentifier(parts)) if !is_of_both(column) => {
            Expr::CompoundIdentifier(parts.iter().map(|part| ident(&part.value)).collect())
        }
        _ => Expr::Identifier(name),
    }
}

/// Returns a name as an identifier, in quotes where it has to be.
pub(super) fn ident(name: &str) -> Ident {
    match quoted(name) == name {
        true => Ident::new(name),
        false => Ident::with_quote('"', name),
    }
}

/// Puts another name in the place of that of a column.
fn with_name(column: Expr, name: &str) -> Expr {
    match column {
        Expr::CompoundIdentifier(mut parts) => {
            parts.pop();
            parts.push(ident(name));
            Expr::CompoundIdentifier(parts)
        }
        _ => Expr::Identifier(ident(name)),
    }
}

/// Returns the name that an item gives a column of the result, and whether it is an alias.
fn output(item: &SelectItem) -> Option<(String, bool)> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some((folded(alias), true)),
        item => unaliased(item).map(|name| (name, false)),
    }
}

/// Returns the names of the columns of a select list.
fn outputs(items: &[SelectItem]) -> Vec<String> {
    items.iter().filter_map(output).map(|(name, _)| name).collect()
}

/// Gives items of a select list the names that they had. A column that is called `new` by now needs no alias of that name.
fn keep_names(items: &mut [SelectItem], names: Vec<Option<(String, bool)>>, new: Option<&str>) {
    for (item, name) in items.iter_mut().zip(names) {
        let Some((name, _)) = name else { continue };
        match item {
            SelectItem::UnnamedExpr(expr) if name_of(expr).as_ref() != Some(&name) => {
                *item = SelectItem::ExprWithAlias {
                    expr: expr.clone(),
                    alias: ident(&name),
                };
            }
            SelectItem::ExprWithAlias { expr, .. }
                if new == Some(&name) && name_of(expr).as_deref() == new =>
            {
                *item = SelectItem::UnnamedExpr(expr.clone());
            }
            _ => {}
        }
    }
}
