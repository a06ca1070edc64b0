//! Joins by columns of one name, and rows as values: what depends on the columns of FROM.
//!
//! | written                                       | becomes                                                      |
//! |-----------------------------------------------|--------------------------------------------------------------|
//! | `SELECT * FROM a JOIN b USING (k)`            | `SELECT a.k, a.x, b.y FROM a JOIN b ON a.k = b.k`            |
//! | `SELECT k FROM a RIGHT JOIN b USING (k)`      | `SELECT b.k …`                                               |
//! | `SELECT k FROM a FULL JOIN b USING (k)`       | `SELECT coalesce(a.k, b.k) AS k …`                           |
//! | `… a NATURAL JOIN b`                          | the same, by all names that both sides have                   |
//! | `SELECT row_to_json(t) FROM t`                | `SELECT json_row('k', t.k, 'x', t.x) FROM t`                 |
//! | `… FROM (SELECT a.*, b.y FROM a, b)`          | `… FROM (SELECT a.*, b.y AS y …)`, if `a` has no `y`          |
//! | `SELECT count(t) …`, `… WHERE t IS NULL`        | see `whole_rows`                                              |
//! | `SELECT (t).*`, `(t.r).*`, `(ROW(1, 2)).*`      | `SELECT t.k, t.x`, `(t.r).f1 AS f1 …`, `1 AS f1, 2 AS f2`      |
//!
//! DataFusion takes the merged column of whichever side, which is NULL where that side has no row, and leaves it where it
//! stood. DataFusion itself gives the list of columns: the same FROM is planned with a star alone and conditions that say nothing.
//!
//! Deliberately not here: a FROM that reads the query around it (LATERAL subqueries within subqueries), which stays as it was
//! written, and merged columns that a subquery of the same SELECT names without their table.

mod row_values;
pub(crate) mod stored_names;

use std::ops::ControlFlow;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field};
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::Statement as PlannedStatement;
use rukh_syntax::sqlparser::ast::{
    self, BinaryOperator, Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, OrderBy, OrderByKind,
    Query, Select, SelectItem, SelectItemQualifiedWildcardKind, SetExpr, TableFactor, TableWithJoins, Value,
    Visitor, VisitorMut, With,
};

pub(crate) use self::row_values::spell_out_list;
use self::row_values::{RowsOut, is_record_star, name_rows, spell_out_record_stars};
use crate::bind::names::outer_names::{joined_with, only_named};
use crate::bind::names::outputs::output_names::name_of;
use crate::bind::names::whole_rows::{self, RowUse, is_mark, row_use};
use crate::bind::spelling::rewrite::rewrite;
use crate::bind::spelling::rows;
use rukh_error::SqlError;
use rukh_syntax::make::call;
use rukh_syntax::make::select_from;
use rukh_syntax::{Walk, WalkMut, folded};

/// Spells out the joins and rows of all SELECTs of a query.
pub(crate) async fn expand(state: &SessionState, query: &mut Query) -> Result<(), SqlError> {
    let mut left_as_written = 0;
    loop {
        let mut finder = Finder {
            skip: left_as_written,
            with: Vec::new(),
            orders: Vec::new(),
        };
        let ControlFlow::Break(found) = query.walk(&mut finder) else {
            return Ok(());
        };
        let is_marked = whole_rows::are_marked(&found.from);
        let relations = match found.from.is_empty() {
            true => Some(Vec::new()),
            false => relations_of(state, found).await,
        };
        let Some(relations) = relations else {
            if is_marked {
                return Err(whole_rows::unknown_columns());
            }
            left_as_written += 1;
            continue;
        };
        let mut change = Change {
            skip: left_as_written,
            relations: Some(relations),
            spelled: Spelled::default(),
            orders: Vec::new(),
            is_left: false,
        };
        match query.walk_mut(&mut change) {
            ControlFlow::Continue(()) | ControlFlow::Break(Ok(false)) => left_as_written += 1,
            ControlFlow::Break(Ok(true)) => {}
            ControlFlow::Break(Err(error)) => return Err(error),
        }
    }
}

/// Whether a SELECT has what is spelled out here. One that is nested gives columns that the query around it names.
fn is_concerned(select: &Select, order: Option<&OrderBy>, is_nested: bool) -> bool {
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
    if select.projection.iter().any(is_record_star) || select.from.iter().any(has_unnest) {
        return true;
    }
    let names_rows = || select.projection.walk(&mut Rows).is_break() || whole_rows::are_named(select, order);
    joins || (is_nested && has_column_beside_star(select)) || (!select.from.is_empty() && names_rows())
}

fn is_star(item: &SelectItem) -> bool {
    matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))
}

/// Whether rows of a FROM are elements of one array: those that are rows give their fields.
fn is_unnest(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::UNNEST { array_exprs, with_ordinality: false, .. } if array_exprs.len() == 1)
}

fn has_unnest(item: &TableWithJoins) -> bool {
    factors(item).any(|factor| match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => has_unnest(inner),
        factor => is_unnest(factor),
    })
}

/// Returns the name of a column that no alias names.
fn unaliased(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::UnnamedExpr(expr) => name_of(expr),
        _ => None,
    }
}

fn has_column_beside_star(select: &Select) -> bool {
    let items = &select.projection;
    items.iter().any(is_star) && items.iter().any(|item| unaliased(item).is_some())
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

/// Finds rows that are made JSON, those of queries around them too; breaks off at the first.
struct Rows;

impl Visitor for Rows {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match row_use(expr) {
            Some((_, RowUse::Json)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// A FROM whose columns are wanted, and the WITH around it.
struct Found {
    from: Vec<TableWithJoins>,
    with: Vec<With>,
}

/// Finds a SELECT that is concerned, inner ones first.
struct Finder {
    skip: usize,
    with: Vec<Option<With>>,
    /// ORDER BYs of the queries around, each for the SELECT that it belongs to.
    orders: Vec<Option<OrderBy>>,
}

/// Returns what a query whose body is one SELECT orders by.
fn order_of(query: &Query) -> Option<OrderBy> {
    match query.body.as_ref() {
        SetExpr::Select(_) => query.order_by.clone(),
        _ => None,
    }
}

impl Visitor for Finder {
    type Break = Found;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Found> {
        self.with.push(query.with.clone());
        self.orders.push(order_of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Found> {
        self.with.pop();
        self.orders.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &Select) -> ControlFlow<Found> {
        let order = self.orders.last().and_then(Option::as_ref);
        if !is_concerned(select, order, self.orders.len() > 1) {
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
    /// The names of its fields, if its values are rows.
    fields: Vec<String>,
    /// Its name in the row as a value: for a table, its own one, whatever an alias calls it.
    own_name: String,
    expr: Expr,
    /// Whether it is written otherwise than by its name: one of both sides of a join, a field of rows.
    merged: bool,
    /// The relation whose name may stand before that of a field.
    relation: Option<String>,
}

/// Asks for the columns of FROM, relation by relation; `None` where they are unknown.
async fn relations_of(state: &SessionState, found: Found) -> Option<Vec<Relation>> {
    let probe = Probe::new(found);
    let own_names = match probe.query_of_own_names() {
        Some(query) => planned(state, query).await,
        None => None,
    };
    let plan = planned(state, probe.query()).await?;
    probe.relations(&plan, own_names.as_ref())
}

/// What is planned for the columns of a FROM.
struct Probe {
    from: Vec<TableWithJoins>,
    with: Option<With>,
    /// Whether the rows of each relation are elements of an array.
    unnested: Vec<bool>,
}

impl Probe {
    fn new(found: Found) -> Self {
        let Found { mut from, with } = found;
        let mut unnested = Vec::new();
        for item in &mut from {
            without_conditions(item, &mut unnested);
        }
        let with = joined_with(&with).map(|with| only_named(with, &from));
        Probe {
            with: with.filter(|with| !with.cte_tables.is_empty()),
            from,
            unnested,
        }
    }

    /// Returns the query of all columns.
    fn query(&self) -> Query {
        self.query_from(self.from.clone())
    }

    /// Returns the same query under the names that tables give their columns; `None` if no alias gives others.
    fn query_of_own_names(&self) -> Option<Query> {
        without_names_of_tables(&self.from).map(|from| self.query_from(from))
    }

    fn query_from(&self, from: Vec<TableWithJoins>) -> Query {
        let mut query = select_from(vec![SelectItem::Wildcard(Default::default())], from, None);
        query.with = self.with.clone();
        query
    }

    /// Divides the columns of the plans of both queries among the relations of FROM.
    fn relations(&self, plan: &LogicalPlan, own_names: Option<&LogicalPlan>) -> Option<Vec<Relation>> {
        let quoted = |text: &str| Ident::with_quote('"', text);
        let mut relations: Vec<Relation> = Vec::new();
        for (at, (table, field)) in plan.schema().iter().enumerate() {
            let mut parts: Vec<Ident> = Vec::new();
            if let Some(table) = table {
                parts.extend(table.catalog().map(quoted));
                parts.extend(table.schema().map(quoted));
                parts.push(quoted(table.table()));
            }
            let qualifier = (!parts.is_empty()).then(|| ObjectName::from(parts.clone()).to_string());
            parts.push(quoted(field.name()));
            let own_name = own_names.and_then(|plan| plan.schema().fields().get(at));
            let column = Column {
                name: field.name().clone(),
                fields: fields_of(field),
                own_name: own_name.unwrap_or(field).name().clone(),
                expr: match parts.len() {
                    1 => Expr::Identifier(quoted(field.name())),
                    _ => Expr::CompoundIdentifier(parts),
                },
                merged: false,
                relation: None,
            };
            match relations.last_mut() {
                Some((last, columns)) if *last == qualifier => columns.push(column),
                _ => relations.push((qualifier, vec![column])),
            }
        }
        if relations.len() != self.unnested.len() {
            return None;
        }
        for (relation, is_unnest) in relations.iter_mut().zip(&self.unnested) {
            if let (true, [column]) = (is_unnest, relation.1.as_slice())
                && !column.fields.is_empty()
            {
                relation.1 = fields_as_columns(column);
            }
        }
        Some(relations)
    }
}

/// Returns the fields of rows that are elements of an array, as columns of their relation.
fn fields_as_columns(rows: &Column) -> Vec<Column> {
    let relation = match &rows.expr {
        Expr::CompoundIdentifier(parts) => parts.iter().rev().nth(1).map(|part| part.value.clone()),
        _ => None,
    };
    let column = |name: &String| Column {
        name: name.clone(),
        fields: Vec::new(),
        own_name: name.clone(),
        expr: rows::field_access(rows.expr.clone(), name),
        merged: true,
        relation: relation.clone(),
    };
    rows.fields.iter().map(column).collect()
}

async fn planned(state: &SessionState, mut probe: Query) -> Option<LogicalPlan> {
    rewrite(&mut probe).ok()?;
    let statement = ast::Statement::Query(Box::new(probe));
    let statement = PlannedStatement::Statement(Box::new(statement));
    state.statement_to_plan(statement).await.ok()
}

/// Takes the names of columns off the aliases of tables; `None` if there are none.
fn without_names_of_tables(from: &[TableWithJoins]) -> Option<Vec<TableWithJoins>> {
    fn take(item: &mut TableWithJoins) -> bool {
        // Conditions may use those names.
        for (on, _) in item.joins.iter_mut().filter_map(constraint_mut) {
            *on = JoinConstraint::On(truth());
        }
        let factors =
            std::iter::once(&mut item.relation).chain(item.joins.iter_mut().map(|join| &mut join.relation));
        factors.fold(false, |taken, factor| {
            taken
                | match factor {
                    TableFactor::Table {
                        alias: Some(alias), ..
                    } => !std::mem::take(&mut alias.columns).is_empty(),
                    TableFactor::NestedJoin {
                        table_with_joins,
                        alias: None,
                    } => take(table_with_joins),
                    _ => false,
                }
        })
    }
    let mut from = from.to_vec();
    let taken = from.iter_mut().fold(false, |taken, item| taken | take(item));
    taken.then_some(from)
}

/// Makes conditions of joins say nothing; collects for each relation whether its rows are elements of an array.
fn without_conditions(item: &mut TableWithJoins, unnested: &mut Vec<bool>) {
    let TableWithJoins { relation, joins } = item;
    without_conditions_within(relation, unnested);
    for join in joins {
        without_conditions_within(&mut join.relation, unnested);
        // They may read the query around, or columns that are merged.
        if let Some((on, _)) = constraint_mut(join)
            && !matches!(on, JoinConstraint::None)
        {
            *on = JoinConstraint::On(truth());
        }
    }
}

fn without_conditions_within(factor: &mut TableFactor, unnested: &mut Vec<bool>) {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => without_conditions(inner, unnested),
        factor => unnested.push(is_unnest(factor)),
    }
}

fn truth() -> Expr {
    Expr::Value(Value::Boolean(true).into())
}

/// Changes the SELECT whose columns are known; breaks off after it, and returns whether it was changed.
struct Change {
    skip: usize,
    relations: Option<Vec<Relation>>,
    /// What the SELECT was made of, for the ORDER BY of its query.
    spelled: Spelled,
    /// ORDER BYs of the queries around.
    orders: Vec<Option<OrderBy>>,
    /// Whether a column beside a star of the SELECT has no name of its own.
    is_left: bool,
}

/// The columns of a SELECT that was spelled out.
#[derive(Default)]
struct Spelled {
    relations: Vec<Relation>,
    columns: Vec<Column>,
    /// Those of them that are of both sides of a join.
    merged: Vec<Column>,
}

impl Spelled {
    /// Spells out rows that a part of the SELECT names as a whole.
    fn spell_out_rows(&self, part: &mut impl WalkMut) {
        let ControlFlow::Continue(()) = part.walk_mut(&mut RowsOut {
            relations: &self.relations,
            columns: &self.columns,
            depth: 0,
        });
    }
}

impl VisitorMut for Change {
    type Break = Result<bool, SqlError>;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.orders.push(order_of(query));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<Self::Break> {
        let order = self.orders.last().and_then(Option::as_ref);
        let is_nested = self.orders.len() > 1;
        if self.relations.is_none() || !is_concerned(select, order, is_nested) {
            return ControlFlow::Continue(());
        }
        if self.skip > 0 {
            self.skip -= 1;
            return ControlFlow::Continue(());
        }
        let relations = self.relations.take().unwrap_or_default();
        match spell_out(select, relations) {
            Ok(spelled) => self.spelled = spelled,
            Err(error) => return ControlFlow::Break(Err(error)),
        }
        // What is left as it was would be found again.
        self.is_left = is_nested && has_column_beside_star(select);
        match is_concerned(select, None, false) {
            true => ControlFlow::Break(Ok(false)),
            false => ControlFlow::Continue(()),
        }
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<Self::Break> {
        self.orders.pop();
        if self.relations.is_some() {
            return ControlFlow::Continue(());
        }
        let mut is_left = self.is_left;
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
                    replace(&mut key.expr, &self.spelled.merged);
                    self.spelled.spell_out_rows(&mut key.expr);
                }
            }
            is_left |= whole_rows::are_named(select, Some(order));
        }
        ControlFlow::Break(Ok(!is_left))
    }
}

/// Returns the names of the fields of a column whose values are rows.
fn fields_of(column: &Field) -> Vec<String> {
    match column.data_type() {
        ArrowType::Struct(fields) => fields.iter().map(|field| field.name().clone()).collect(),
        _ => Vec::new(),
    }
}

/// Spells out one SELECT; returns the columns that it is made of.
fn spell_out(select: &mut Select, relations: Vec<Relation>) -> Result<Spelled, SqlError> {
    let mut relations_left = relations.iter();
    let mut columns = Vec::new();
    for item in &mut select.from {
        columns.extend(merge(item, &mut relations_left, Merged::AsConditions)?);
    }
    let merged: Vec<Column> = columns.iter().filter(|column| column.merged).cloned().collect();
    let spelled = Spelled {
        relations,
        columns,
        merged,
    };
    name_rows(&mut select.projection, &spelled);
    spell_out_record_stars(&mut select.projection, &spelled)?;
    spelled.spell_out_rows(&mut select.projection);
    spelled.spell_out_rows(&mut select.group_by);
    for join in select.from.iter_mut().flat_map(|item| &mut item.joins) {
        if let Some((JoinConstraint::On(condition), _)) = constraint_mut(join) {
            spelled.spell_out_rows(condition);
        }
    }
    spelled.spell_out_rows(&mut select.distinct);
    spelled.spell_out_rows(&mut select.selection);
    spelled.spell_out_rows(&mut select.having);
    spelled.spell_out_rows(&mut select.qualify);
    spell_out_items(select, &spelled);
    name_beside_stars(select, &spelled);
    let merged = &spelled.merged;
    if merged.is_empty() {
        return Ok(spelled);
    }
    replace(&mut select.distinct, merged);
    replace(&mut select.selection, merged);
    replace(&mut select.group_by, merged);
    replace(&mut select.having, merged);
    replace(&mut select.named_window, merged);
    Ok(spelled)
}

/// Spells out the select list, whose stars show columns once that are merged, and no marks of rows.
fn spell_out_items(select: &mut Select, spelled: &Spelled) {
    let Spelled {
        relations,
        columns,
        merged,
    } = spelled;
    let is_marked = columns.iter().any(|column| is_mark(&column.name));
    if merged.is_empty() && !is_marked {
        return;
    }
    let visible = |columns: &[Column]| -> Vec<SelectItem> {
        let visible = columns.iter().filter(|column| !is_mark(&column.name));
        visible.map(shown).collect()
    };
    for item in std::mem::take(&mut select.projection) {
        match item {
            SelectItem::Wildcard(options) if options == Default::default() => {
                select.projection.extend(visible(columns));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if options == Default::default() =>
            {
                let last = name.0.last().and_then(|part| part.as_ident()).map(folded);
                let relation = relations.iter().find(|relation| table_of(relation) == last);
                match relation {
                    Some((_, columns))
                        if is_marked || columns.iter().any(|column| column.relation.is_some()) =>
                    {
                        select.projection.extend(visible(columns));
                    }
                    _ => {
                        let kind = SelectItemQualifiedWildcardKind::ObjectName(name);
                        let item = SelectItem::QualifiedWildcard(kind, options);
                        select.projection.push(item);
                    }
                }
            }
            SelectItem::UnnamedExpr(Expr::Identifier(name)) => {
                let column = merged.iter().find(|column| column.name == folded(&name));
                let item = column.map_or(SelectItem::UnnamedExpr(Expr::Identifier(name)), shown);
                select.projection.push(item);
            }
            mut item => {
                replace(&mut item, merged);
                select.projection.push(item);
            }
        }
    }
}

/// Gives columns beside stars their names where no star gives one of that name: `output_names` takes any other for a twin.
fn name_beside_stars(select: &mut Select, spelled: &Spelled) {
    let of_star = |item: &SelectItem, wanted: &str| {
        let has = |columns: &[Column]| columns.iter().any(|column| column.name == wanted);
        match item {
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let last = name.0.last().and_then(|part| part.as_ident()).map(folded);
                let relation = spelled
                    .relations
                    .iter()
                    .find(|relation| table_of(relation) == last);
                relation.is_none_or(|(_, columns)| has(columns))
            }
            item => is_star(item) && has(&spelled.columns),
        }
    };
    for at in 0..select.projection.len() {
        let items = &mut select.projection;
        let Some(name) = unaliased(&items[at]) else {
            continue;
        };
        if items.iter().any(is_star)
            && !items.iter().any(|item| of_star(item, &name))
            && let SelectItem::UnnamedExpr(expr) = &items[at]
        {
            items[at] = SelectItem::ExprWithAlias {
                expr: expr.clone(),
                alias: Ident::with_quote('"', name),
            };
        }
    }
}

/// Returns the name by which the columns of a relation are written.
fn table_of((_, columns): &Relation) -> Option<String> {
    let first = columns.first()?;
    if first.relation.is_some() {
        return first.relation.clone();
    }
    match &first.expr {
        Expr::CompoundIdentifier(parts) => Some(parts.iter().rev().nth(1)?.value.clone()),
        _ => None,
    }
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

/// How joins by columns of one name are written once these are known.
#[derive(Clone, Copy)]
enum Merged {
    /// As `ON a.k = b.k`.
    AsConditions,
    /// As `USING (k)`.
    AsNames,
}

/// Merges the columns of joins, and writes out by what they join.
fn merge<'r>(
    item: &mut TableWithJoins,
    relations: &mut impl Iterator<Item = &'r Relation>,
    written: Merged,
) -> Result<Vec<Column>, SqlError> {
    let mut columns = columns_of(&mut item.relation, relations, written)?;
    for join in &mut item.joins {
        let right = columns_of(&mut join.relation, relations, written)?;
        let Some((on, side)) = constraint_mut(join) else {
            columns.extend(right);
            continue;
        };
        let names: Vec<String> = match on {
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
        let name = |name: &String| ObjectName::from(vec![stored_names::ident(name)]);
        *on = match written {
            Merged::AsNames if !names.is_empty() => JoinConstraint::Using(names.iter().map(name).collect()),
            _ => JoinConstraint::On(condition),
        };
        columns = merged;
    }
    Ok(columns)
}

fn columns_of<'r>(
    factor: &mut TableFactor,
    relations: &mut impl Iterator<Item = &'r Relation>,
    written: Merged,
) -> Result<Vec<Column>, SqlError> {
    match factor {
        TableFactor::NestedJoin {
            table_with_joins: inner,
            alias: None,
        } => merge(inner, relations, written),
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
            fields: one.fields.clone(),
            own_name: name.clone(),
            expr: match side {
                Side::Left => one.expr,
                Side::Right => other.expr,
                Side::Neither => call("coalesce", vec![one.expr, other.expr]),
            },
            merged: true,
            relation: None,
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
        let (relation, name) = match (self.depth, &*expr) {
            (0, Expr::Identifier(name)) => (None, folded(name)),
            (0, Expr::CompoundIdentifier(parts)) => match parts.as_slice() {
                [relation, name] => (Some(folded(relation)), folded(name)),
                _ => return ControlFlow::Continue(()),
            },
            _ => return ControlFlow::Continue(()),
        };
        let is_meant =
            |column: &&Column| column.name == name && (relation.is_none() || column.relation == relation);
        if let Some(column) = self.merged.iter().find(is_meant) {
            *expr = column.expr.clone();
        }
        ControlFlow::Continue(())
    }
}
