//! `SELECT … FOR UPDATE` and `FOR SHARE`: the rows of a query, kept as they are until the transaction ends.
//!
//! A row that is locked is touched by the transaction, as one that it changes is (`rukh_engine::Transaction::lock_rows`).
//! Under `conflict = 'fail'` COMMIT finds out whether another has changed it, and nothing is ever waited for: NOWAIT
//! and SKIP LOCKED ask for what holds anyhow. Under `conflict = 'wait'` others wait for the row, NOWAIT fails where
//! it would wait, and SKIP LOCKED leaves out rows that others have locked, or changed since the snapshot was taken. LIMIT and
//! OFFSET of a query with SKIP LOCKED count the rows that it locks, so no more rows are read and locked than the query returns.
//!
//! The query is run once, with the columns of the primary keys behind its own, and its rows are locked before the
//! first of them is given out. Outside of a transaction a lock would end with the statement that takes it,
//! and none is taken.
//!
//! Which queries can be locked is PostgreSQL's rule: those whose rows are rows of tables, or of views through which they could be
//! changed. What it would lock within a subquery or another view is refused.

use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch};
use datafusion::arrow::compute::{concat_batches, filter_record_batch};
use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, ColumnId, Table};
use rukh_engine::{LockWait, Row, RowLock};
use rukh_keys::Datum;
use rukh_syntax::sqlparser::ast::{
    self, Expr, Ident, JoinConstraint, JoinOperator, LimitClause, LockType, NonBlock, Query, Select,
    SelectItem, SetExpr, TableFactor,
};

use crate::bind::names::locked_relations::{is_of, relations_of};
use crate::bind::names::view_target::ViewTarget;
use crate::bind::spelling::select_calls::calls;
use crate::bind::types::table_schema::{is_row_id, with_row_ids};
use crate::exec::rows::Rows;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::is_aggregate;
use rukh_functions::scalars::datums_from_array;
use rukh_syntax::make::{derived, select_from};
use rukh_syntax::{HIDDEN, folded};

/// Most bytes of rows that one statement may lock: they are held until all are locked.
const LOCKED_BYTES_MAX: usize = 512 << 20;

/// Runs a query that locks its rows.
pub(crate) fn query(session: &mut Session, query: &Query, params: &[ScalarValue]) -> Result<Rows, SqlError> {
    let snapshot = session.snapshot();
    let locked = Locked::of_query(&snapshot.catalog, query)?;
    let mut query = query.clone();
    query.locks.clear();
    let mut window = match session.is_in_block() && locked.skips() {
        true => Window::take_from(session, &mut query, params)?,
        false => Window::default(),
    };
    if session.is_in_block() {
        locked.add_keys(&mut query)?;
    }
    let context = session.context(snapshot, &query)?;
    let mut rows = session.query(&query, params, &context)?;
    if !session.is_in_block() {
        return Ok(rows);
    }
    let width = rows.schema().fields().len() - locked.width();
    // A row id among them is of a star: no name in a statement stands for it.
    let schema = rows.schema();
    // Of the columns of a key that a view is given nothing is shown of the name.
    let is_hidden = |at: &usize| {
        let field = schema.field(*at);
        is_row_id(field) || field.name().is_empty()
    };
    let own: Vec<usize> = (0..width).filter(|at| !is_hidden(at)).collect();
    let schema = Arc::new(rows.schema().project(&own).map_err(DataFusionError::from)?);
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while !window.is_full()
        && let Some(batch) = rows.next_batch()?
    {
        let batch = locked.lock_within(session, &batch, width, &mut window)?;
        let batch = batch.project(&own).map_err(DataFusionError::from)?;
        bytes += batch.get_array_memory_size();
        if bytes > LOCKED_BYTES_MAX {
            let message = format!("the rows that are locked take more than {LOCKED_BYTES_MAX} bytes");
            return Err(SqlError::statement("54000", message).with_hint("Lock fewer rows at a time."));
        }
        batches.push(batch);
    }
    Ok(Rows::batches(schema, batches))
}

/// Fails if a query cannot lock its rows.
pub(crate) fn check(catalog: &Catalog, query: &Query) -> Result<(), SqlError> {
    Locked::of_query(catalog, query).map(drop)
}

/// The tables whose rows are locked.
struct Locked {
    tables: Vec<LockedTable>,
}

struct LockedTable {
    /// Its name within the query.
    name: String,
    table: Arc<Table>,
    /// The view of the table that the query has.
    view: Option<ViewTarget>,
    lock: RowLock,
    wait: LockWait,
    /// The columns that its primary key is made of.
    key: Vec<ColumnId>,
}

/// LIMIT and OFFSET, counted in rows that are locked.
#[derive(Default)]
struct Window {
    skip: usize,
    /// Number of rows still wanted; `None` is all.
    rest: Option<usize>,
}

impl Window {
    /// Takes LIMIT and OFFSET out of a query.
    fn take_from(session: &mut Session, query: &mut Query, params: &[ScalarValue]) -> Result<Self, SqlError> {
        if query.fetch.is_some() {
            return Err(
                SqlError::unsupported("FETCH FIRST with SKIP LOCKED is not supported")
                    .with_hint("Say LIMIT."),
            );
        }
        let (limit, offset) = match query.limit_clause.take() {
            None => return Ok(Window::default()),
            Some(LimitClause::LimitOffset { limit, offset, .. }) => {
                (limit, offset.map(|offset| offset.value))
            }
            Some(LimitClause::OffsetCommaLimit { offset, limit }) => (Some(limit), Some(offset)),
        };
        let snapshot = session.snapshot();
        let mut count = |expr: Option<Expr>, what| match expr {
            None => Ok(None),
            Some(expr) => rows_of(
                &session.evaluate(&snapshot, query.with.as_ref(), &expr, params)?,
                what,
            ),
        };
        Ok(Window {
            rest: count(limit, "LIMIT")?,
            skip: count(offset, "OFFSET")?.unwrap_or(0),
        })
    }

    fn is_full(&self) -> bool {
        self.rest == Some(0)
    }

    /// Returns how many rows to lock next.
    fn missing(&self) -> usize {
        let rest = self.rest.unwrap_or(usize::MAX);
        rest.saturating_add(self.skip)
    }

    /// Returns those of locked rows that are given out.
    fn pass(&mut self, rows: &RecordBatch) -> RecordBatch {
        let skipped = self.skip.min(rows.num_rows());
        self.skip -= skipped;
        let given = (rows.num_rows() - skipped).min(self.rest.unwrap_or(usize::MAX));
        self.rest = self.rest.map(|rest| rest - given);
        rows.slice(skipped, given)
    }
}

/// Reads a number of rows; NULL is no limit.
fn rows_of(value: &ScalarValue, what: &str) -> Result<Option<usize>, SqlError> {
    let negative = || {
        let state = if what == "LIMIT" { "2201W" } else { "2201X" };
        SqlError::statement(state, format!("{what} must not be negative"))
    };
    let cast = value.cast_to(&ArrowType::Int64).map_err(|_| {
        let message = format!("argument of {what} must be type bigint");
        SqlError::statement("42804", message)
    })?;
    match cast {
        ScalarValue::Int64(Some(rows)) => Ok(Some(usize::try_from(rows).map_err(|_| negative())?)),
        _ => Ok(None),
    }
}

impl Locked {
    fn of_query(catalog: &Catalog, query: &Query) -> Result<Self, SqlError> {
        let clause = query.locks.first().map_or("FOR UPDATE", clause_of);
        let select = locked_select(query, clause)?;
        let relations = relations_of(select)?;
        let mut tables: Vec<LockedTable> = Vec::new();
        for lock in &query.locks {
            let clause = clause_of(lock);
            if let Some(of) = &lock.of
                && !relations.iter().any(|relation| is_of(lock, &relation.name))
            {
                let message = format!("relation \"{of}\" in {clause} clause not found in FROM clause");
                return Err(SqlError::statement("42P01", message));
            }
            for relation in relations.iter().filter(|relation| is_of(lock, &relation.name)) {
                let (table, view) = relation.table(catalog, query, clause)?;
                let lock_clause = lock;
                let lock = match lock.lock_type {
                    LockType::Update => RowLock::Update,
                    LockType::Share => RowLock::Share,
                };
                let wait = match lock_clause.nonblock {
                    None => LockWait::Wait,
                    Some(NonBlock::Nowait) => LockWait::Fail,
                    Some(NonBlock::SkipLocked) => LockWait::Skip,
                };
                match tables.iter_mut().find(|known| known.name == relation.name) {
                    // The stronger of two holds, and the one that waits least.
                    Some(known) => {
                        if lock == RowLock::Update {
                            known.lock = lock;
                        }
                        if known.wait == LockWait::Wait || wait == LockWait::Fail {
                            known.wait = wait;
                        }
                    }
                    None => tables.push(LockedTable {
                        name: relation.name.clone(),
                        lock,
                        wait,
                        key: key_columns(&table),
                        table,
                        view,
                    }),
                }
            }
        }
        Ok(Locked { tables })
    }

    /// Returns how many columns there are behind those of the query.
    fn width(&self) -> usize {
        self.tables.iter().map(|table| table.key.len()).sum()
    }

    /// Whether rows may be left out.
    fn skips(&self) -> bool {
        self.tables.iter().any(|table| table.wait == LockWait::Skip)
    }

    fn add_keys(&self, query: &mut Query) -> Result<(), SqlError> {
        let SetExpr::Select(select) = query.body.as_mut() else {
            return Ok(());
        };
        let quoted = |text: &str| Ident::with_quote('"', text);
        let shows_more = |table: &&LockedTable| table.table.row_id().is_some() || table.view.is_some();
        let with_more: Vec<&LockedTable> = self.tables.iter().filter(shows_more).collect();
        if with_more.len() > 1 && is_natural(select) {
            return Err(SqlError::unsupported(
                "rows of a NATURAL JOIN of views, or of tables without primary keys, cannot be locked",
            )
            .with_hint("Name the columns with USING."));
        }
        for table in with_more {
            show_keys(select, table);
        }
        for table in &self.tables {
            for id in &table.key {
                let name = table.key_name(*id);
                select.projection.push(SelectItem::ExprWithAlias {
                    expr: Expr::CompoundIdentifier(vec![quoted(&table.name), quoted(&name)]),
                    alias: quoted(&format!("key{HIDDEN}{}{HIDDEN}{name}", table.name)),
                });
            }
        }
        Ok(())
    }

    /// Locks rows of a batch, up to the number wanted; returns the locked ones.
    fn lock_within(
        &self,
        session: &mut Session,
        batch: &RecordBatch,
        width: usize,
        window: &mut Window,
    ) -> Result<RecordBatch, SqlError> {
        let (mut parts, mut at) = (Vec::new(), 0);
        while at < batch.num_rows() && !window.is_full() {
            let part = batch.slice(at, window.missing().min(batch.num_rows() - at));
            at += part.num_rows();
            let taken = self.lock(session, &part, width)?;
            let part =
                filter_record_batch(&part, &BooleanArray::from(taken)).map_err(DataFusionError::from)?;
            parts.push(window.pass(&part));
        }
        Ok(concat_batches(&batch.schema(), &parts).map_err(DataFusionError::from)?)
    }

    /// Locks the rows of a batch, whose keys stand behind the first `width` columns; says for each whether it is locked.
    fn lock(&self, session: &mut Session, batch: &RecordBatch, width: usize) -> Result<Vec<bool>, SqlError> {
        let mut at = width;
        let mut all = vec![true; batch.num_rows()];
        for LockedTable {
            table,
            key,
            lock,
            wait,
            ..
        } in &self.tables
        {
            let mut rows: Vec<Row> = vec![vec![Datum::Null; table.columns.len()]; batch.num_rows()];
            for id in key {
                let position = table.position(*id).expect("a key has columns of its table");
                let datums = datums_from_array(batch.column(at), &table.columns[position].ty)?;
                for (row, datum) in rows.iter_mut().zip(datums) {
                    row[position] = datum;
                }
                at += 1;
            }
            let taken = session.lock_rows(table, &rows, *lock, *wait)?;
            all.iter_mut().zip(taken).for_each(|(all, taken)| *all &= taken);
        }
        Ok(all)
    }
}

fn is_natural(select: &Select) -> bool {
    let mut joins = select.from.iter().flat_map(|from| &from.joins);
    joins.any(|join| {
        matches!(
            &join.join_operator,
            JoinOperator::Join(JoinConstraint::Natural) | JoinOperator::Inner(JoinConstraint::Natural)
        )
    })
}

/// What names of columns begin with that views show only to be locked.
fn key_prefix() -> String {
    format!("{HIDDEN}key")
}

impl LockedTable {
    /// Returns the name of a column of the key in the query.
    fn key_name(&self, id: ColumnId) -> String {
        match self.view {
            Some(_) => format!("{}{}", key_prefix(), id.0),
            None => self.table.column_name(id).to_string(),
        }
    }

    /// Returns the rows of a view with the columns of the key behind its own, the first of which have names that an alias gives.
    fn rows_of(&self, view: &ViewTarget, names: &[String]) -> Query {
        let quoted = |text: &str| Ident::with_quote('"', text);
        let item = |name: &str, alias: &str| SelectItem::ExprWithAlias {
            expr: Expr::Identifier(quoted(name)),
            alias: quoted(alias),
        };
        let own = view.columns.iter().enumerate();
        let own = own.map(|(at, column)| item(&column.name, names.get(at).unwrap_or(&column.name)));
        let key = self.key.iter();
        let key = key.map(|id| item(view.table.column_name(*id), &self.key_name(*id)));
        let from = derived(view.query.clone(), &self.name, Vec::new());
        select_from(own.chain(key).collect(), vec![from], None)
    }
}

/// Has FROM show the columns of a key that a table or a view does not show: row ids, and the key of a view's table.
fn show_keys(select: &mut Select, locked: &LockedTable) {
    for from in &mut select.from {
        let joined = from.joins.iter_mut().map(|join| &mut join.relation);
        for factor in std::iter::once(&mut from.relation).chain(joined) {
            let TableFactor::Table { name, alias, .. } = factor else {
                continue;
            };
            let given = alias.as_ref().map(|alias| &alias.name);
            let last = || name.0.last().and_then(|part| part.as_ident());
            if given
                .or_else(last)
                .is_none_or(|given| folded(given) != locked.name)
            {
                continue;
            }
            if let Some(view) = &locked.view {
                let given = alias.iter().flat_map(|alias| &alias.columns);
                let names: Vec<String> = given.map(|column| folded(&column.name)).collect();
                *factor = derived(locked.rows_of(view, &names), &locked.name, Vec::new()).relation;
                continue;
            }
            if let Some(last) = name.0.last_mut() {
                let shown = Ident::with_quote('"', with_row_ids(&locked.table));
                *last = ast::ObjectNamePart::Identifier(shown);
            }
            alias.get_or_insert_with(|| ast::TableAlias {
                explicit: true,
                name: Ident::with_quote('"', &locked.name),
                columns: Vec::new(),
                at: None,
            });
        }
    }
}

fn key_columns(table: &Table) -> Vec<ColumnId> {
    let mut ids: Vec<ColumnId> = Vec::new();
    for id in table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns())
    {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

fn clause_of(lock: &ast::LockClause) -> &'static str {
    match lock.lock_type {
        LockType::Update => "FOR UPDATE",
        LockType::Share => "FOR SHARE",
    }
}

/// Returns the SELECT whose rows are rows of its tables, or what is against that.
fn locked_select<'q>(query: &'q Query, clause: &str) -> Result<&'q Select, SqlError> {
    let refused = |what: &str| Err(SqlError::unsupported(format!("{clause} {what}")));
    let select = match query.body.as_ref() {
        SetExpr::Select(select) => select,
        SetExpr::Values(_) => return refused("cannot be applied to VALUES"),
        _ => return refused("is not allowed with UNION/INTERSECT/EXCEPT"),
    };
    let is_grouped = match &select.group_by {
        ast::GroupByExpr::Expressions(by, modifiers) => !by.is_empty() || !modifiers.is_empty(),
        ast::GroupByExpr::All(_) => true,
    };
    match () {
        () if select.distinct.is_some() => refused("is not allowed with DISTINCT clause"),
        () if is_grouped => refused("is not allowed with GROUP BY clause"),
        () if select.having.is_some() => refused("is not allowed with HAVING clause"),
        () if calls(select, |call| call.over.is_some()) => refused("is not allowed with window functions"),
        () if calls(select, |call| is_aggregate(&call.name.to_string())) => {
            refused("is not allowed with aggregate functions")
        }
        () => Ok(select),
    }
}
