//! `SELECT … FOR UPDATE` and `FOR SHARE`: the rows of a query, kept as they are until the transaction ends.
//!
//! Transactions take no locks that others wait for. A row that is locked is touched by the transaction, as one
//! that it changes is (`rukh_engine::Transaction::lock_rows`), and COMMIT finds out whether another has changed
//! it. So nothing is ever waited for: NOWAIT and SKIP LOCKED ask for what holds anyhow.
//!
//! The query is run once, with the columns of the primary keys behind its own, and its rows are locked before the
//! first of them is given out. Outside of a transaction a lock would end with the statement that takes it,
//! and none is taken.
//!
//! Which queries can be locked is PostgreSQL's rule: those whose rows are rows of tables. What it would
//! lock within a subquery or a view is refused.

use std::sync::Arc;

use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    self, Expr, Ident, JoinOperator, LockType, Query, Select, SelectItem, SetExpr, TableFactor,
};
use rukh_catalog::{Catalog, ColumnId, Table};
use rukh_engine::{Row, RowLock};
use rukh_keys::Datum;

use crate::SqlError;
use crate::dml::calls;
use crate::expressions::is_aggregate;
use crate::output_names::HIDDEN;
use crate::rows::Rows;
use crate::scalars::datums_from_array;
use crate::session::Session;
use crate::statement::{ObjectName, folded};

/// Most bytes of rows that one statement may lock: they are held until all are locked.
const LOCKED_BYTES_MAX: usize = 512 << 20;

/// Runs a query that locks its rows.
pub(crate) fn query(session: &mut Session, query: &Query, params: &[ScalarValue]) -> Result<Rows, SqlError> {
    let snapshot = session.snapshot();
    let locked = Locked::of_query(&snapshot.catalog, query)?;
    let mut query = query.clone();
    query.locks.clear();
    if session.is_in_block() {
        locked.add_keys(&mut query);
    }
    let context = session.context(snapshot, &query)?;
    let mut rows = session.query(&query, params, &context)?;
    if !session.is_in_block() {
        return Ok(rows);
    }
    let width = rows.schema().fields().len() - locked.width();
    let own: Vec<usize> = (0..width).collect();
    let schema = Arc::new(rows.schema().project(&own).map_err(DataFusionError::from)?);
    let (mut batches, mut bytes) = (Vec::new(), 0);
    while let Some(batch) = rows.next_batch()? {
        locked.lock(session, &batch, width)?;
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

/// Returns the tables whose rows a query locks.
pub(crate) fn names(query: &Query) -> Vec<ObjectName> {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return Vec::new();
    };
    let relations = relations_of(select).unwrap_or_default().into_iter();
    let named = relations.filter(|relation| {
        let of = |lock: &ast::LockClause| is_of(lock, &relation.name);
        query.locks.iter().any(of)
    });
    named.filter_map(|relation| relation.table.ok()).collect()
}

/// The tables whose rows are locked.
struct Locked {
    tables: Vec<LockedTable>,
}

struct LockedTable {
    /// Its name within the query.
    name: String,
    table: Arc<Table>,
    lock: RowLock,
    /// The columns that its primary key is made of.
    key: Vec<ColumnId>,
}

/// An item of FROM.
struct Relation {
    name: String,
    /// The name of a table, or what else it is.
    table: Result<ObjectName, &'static str>,
    /// Whether a join may give rows without one of its own.
    nullable: bool,
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
                let table = relation.table(catalog, query, clause)?;
                let lock = match lock.lock_type {
                    LockType::Update => RowLock::Update,
                    LockType::Share => RowLock::Share,
                };
                match tables.iter_mut().find(|known| known.name == relation.name) {
                    // The stronger of two holds.
                    Some(known) if lock == RowLock::Update => known.lock = lock,
                    Some(_) => {}
                    None => tables.push(LockedTable {
                        name: relation.name.clone(),
                        lock,
                        key: key_columns(&table),
                        table,
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

    fn add_keys(&self, query: &mut Query) {
        let SetExpr::Select(select) = query.body.as_mut() else {
            return;
        };
        let quoted = |text: &str| Ident::with_quote('"', text);
        for table in &self.tables {
            for id in &table.key {
                let column = table.table.column(*id).expect("a key has columns of its table");
                select.projection.push(SelectItem::ExprWithAlias {
                    expr: Expr::CompoundIdentifier(vec![quoted(&table.name), quoted(&column.name)]),
                    alias: quoted(&format!("key{HIDDEN}{}{HIDDEN}{}", table.name, column.name)),
                });
            }
        }
    }

    /// Locks the rows of a batch, whose keys stand behind the first `width` columns.
    fn lock(
        &self,
        session: &mut Session,
        batch: &datafusion::arrow::array::RecordBatch,
        width: usize,
    ) -> Result<(), SqlError> {
        let mut at = width;
        for LockedTable { table, key, lock, .. } in &self.tables {
            let mut rows: Vec<Row> = vec![vec![Datum::Null; table.columns.len()]; batch.num_rows()];
            for id in key {
                let position = table.position(*id).expect("a key has columns of its table");
                let datums = datums_from_array(batch.column(at), &table.columns[position].ty)?;
                for (row, datum) in rows.iter_mut().zip(datums) {
                    row[position] = datum;
                }
                at += 1;
            }
            session.lock_rows(table, &rows, *lock)?;
        }
        Ok(())
    }
}

impl Relation {
    /// Returns the table that the relation is.
    fn table(&self, catalog: &Catalog, query: &Query, clause: &str) -> Result<Arc<Table>, SqlError> {
        let unsupported = |what: &str| {
            let message = format!("{clause} cannot be applied to {what}");
            Err(SqlError::unsupported(message).with_hint("Say which tables are meant: FOR UPDATE OF table."))
        };
        let name = match &self.table {
            Ok(name) => name,
            Err(what) => return unsupported(what),
        };
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        if name.schema.is_none() && with.into_iter().any(|cte| folded(&cte.alias.name) == name.name) {
            return unsupported("a WITH query");
        }
        let schema = name.schema.as_deref().unwrap_or("public");
        match catalog.table_named(schema, &name.name) {
            Ok(_) if self.nullable => unsupported("the nullable side of an outer join"),
            Ok(table) => Ok(table.clone()),
            Err(_) if catalog.view_named(schema, &name.name).is_some() => unsupported("a view"),
            Err(_) if is_of_system(name) => unsupported("a system table"),
            Err(_) => Err(name.undefined()),
        }
    }
}

fn is_of_system(name: &ObjectName) -> bool {
    let schema = name.schema.as_deref();
    schema.is_some_and(|schema| matches!(schema, "pg_catalog" | "information_schema"))
        || (schema.is_none() && name.name.starts_with("pg_"))
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

/// Whether a clause is about a relation of this name.
fn is_of(lock: &ast::LockClause, name: &str) -> bool {
    match &lock.of {
        None => true,
        Some(of) => {
            of.0.last()
                .and_then(|part| part.as_ident())
                .is_some_and(|part| folded(part) == name)
        }
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

/// Returns the items of FROM.
fn relations_of(select: &Select) -> Result<Vec<Relation>, SqlError> {
    let mut all = Vec::new();
    for from in &select.from {
        let mut joined = vec![relation(&from.relation)?];
        for join in &from.joins {
            let mut next = relation(&join.relation)?;
            match &join.join_operator {
                JoinOperator::Join(_) | JoinOperator::Inner(_) | JoinOperator::CrossJoin(_) => {}
                JoinOperator::Left(_) | JoinOperator::LeftOuter(_) => next.nullable = true,
                JoinOperator::Right(_) | JoinOperator::RightOuter(_) => {
                    joined.iter_mut().for_each(|before| before.nullable = true);
                }
                JoinOperator::FullOuter(_) => {
                    next.nullable = true;
                    joined.iter_mut().for_each(|before| before.nullable = true);
                }
                _ => {
                    return Err(SqlError::unsupported(
                        "rows of this kind of join cannot be locked",
                    ));
                }
            }
            joined.push(next);
        }
        all.append(&mut joined);
    }
    Ok(all)
}

fn relation(factor: &TableFactor) -> Result<Relation, SqlError> {
    let (table, alias) = match factor {
        TableFactor::Table {
            args: Some(_), alias, ..
        } => (Err("a function"), alias),
        TableFactor::Table {
            version: Some(_),
            alias,
            ..
        } => (Err("rows of the past"), alias),
        TableFactor::Table { name, alias, .. } => (Ok(ObjectName::from_ast(name)?), alias),
        TableFactor::Derived { alias, .. } => (Err("a subquery"), alias),
        TableFactor::Function { alias, .. } | TableFactor::TableFunction { alias, .. } => {
            (Err("a function"), alias)
        }
        TableFactor::NestedJoin { alias, .. } => (Err("a join"), alias),
        TableFactor::UNNEST { alias, .. } => (Err("a function"), alias),
        _ => (Err("this kind of relation"), &None),
    };
    let name = match (alias, &table) {
        (Some(alias), _) => folded(&alias.name),
        (None, Ok(name)) => name.name.clone(),
        (None, Err(_)) => String::new(),
    };
    Ok(Relation {
        name,
        table,
        nullable: false,
    })
}
