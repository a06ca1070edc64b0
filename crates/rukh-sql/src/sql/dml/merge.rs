//! MERGE: the source joined with the table, each row of which goes to the first WHEN clause that takes it.
//!
//! Rows of the table that no row of the source matches are read by a second query, on the same snapshot.
//! Conditions and new values are computed on the matched rows, a clause's only on rows that the clauses before
//! it have left. As in PostgreSQL no row of the table is changed twice, and all clauses see the state before
//! the statement.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, RecordBatch, StringArray, new_null_array};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use datafusion::error::DataFusionError;
use datafusion::scalar::ScalarValue;
use rukh_catalog::{Catalog, ColumnId, Table};
use rukh_engine::{OnConflict, Row, Write};
use rukh_syntax::sqlparser::ast::{
    self, Expr, Ident, Join, JoinConstraint, JoinOperator, SelectItem, SelectItemQualifiedWildcardKind,
    TableWithJoins, VisitorMut,
};

use super::assign::{assigned, assignments, is_literal};
use super::change::{Joined, changed_table, joined_items, relation_names, stored_rows};
use super::returning::{Returning, Written};
use super::target::{Scope, Target, changed_relation_of, commit};
use super::values::{RowFiller, check_given, check_width, is_default};
use crate::bind::names::view_target::Change;
use crate::bind::types::table_schema::table_schema;
use crate::sql::computed::{Clause, Computed, Relation};
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;
use rukh_syntax::make::select_from;
use rukh_syntax::{MergeAction, MergeClause, MergeKind, MergeStatement, Overriding, WalkMut, folded};

/// Runs MERGE.
pub(crate) fn merge(
    session: &mut Session,
    statement: &MergeStatement,
    params: &[ScalarValue],
) -> Result<Written, SqlError> {
    let mut write = session.begin_write()?;
    let written = merge_within(session, &mut write, statement, params, Scope::Alone)?;
    commit(session, write)?;
    Ok(written)
}

/// Runs MERGE within a write, which the caller commits.
pub(super) fn merge_within(
    session: &mut Session,
    write: &mut Write,
    statement: &MergeStatement,
    params: &[ScalarValue],
    scope: Scope,
) -> Result<Written, SqlError> {
    let reading = MergeReading::new(&write.snapshot().catalog, statement)?;
    // The relations of the source are known when its rows are.
    let query = reading.joined();
    let context = session.context(write.snapshot().clone(), &query)?;
    let mut rows = session.query(&query, params, &context)?;
    let joined = Joined::new(
        &rows.schema(),
        reading.table.columns.len(),
        reading.source_names(),
    );
    let mut merger = Merger::new(session, &reading, &joined, params, write, scope)?;
    while let Some(batch) = rows.next_batch()? {
        let (matched, others) = parted(&batch, &is_present(&batch, &reading.table))?;
        merger.put(session, write, MergeKind::Matched, matched)?;
        merger.put(session, write, MergeKind::NotInTarget, others)?;
    }
    if reading.has(MergeKind::NotInSource) {
        let query = reading.not_in_source();
        let context = session.context(write.snapshot().clone(), &query)?;
        let mut rows = session.query(&query, params, &context)?;
        while let Some(batch) = rows.next_batch()? {
            merger.put(session, write, MergeKind::NotInSource, batch)?;
        }
    }
    let (count, returning) = (merger.count, merger.returning);
    let rows = returning.map(|returning| returning.finish(session, write));
    let rows = rows.transpose()?;
    Ok(Written { count, rows })
}

/// Returns name and query of a MERGE, for EXPLAIN.
pub(crate) fn merge_query(
    session: &Session,
    statement: &MergeStatement,
) -> Result<(String, ast::Query), SqlError> {
    let reading = MergeReading::new(&session.catalog(), statement)?;
    Ok((reading.table.name.clone(), reading.joined()))
}

/// How a MERGE reads the rows it concerns.
pub(super) struct MergeReading<'a> {
    pub(super) statement: &'a MergeStatement,
    pub(super) table: Arc<Table>,
    /// The name of the table within the statement.
    pub(super) name: String,
}

impl<'a> MergeReading<'a> {
    pub(super) fn new(catalog: &Catalog, statement: &'a MergeStatement) -> Result<Self, SqlError> {
        let target = alone(statement.table.clone());
        let (Target { table, .. }, name) = changed_table(catalog, &target, Change::Merge)?;
        let reading = MergeReading {
            statement,
            table,
            name,
        };
        if reading.source_names().contains(&reading.name) {
            let message = format!("name \"{}\" specified more than once", reading.name);
            return Err(SqlError::statement("42712", message)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        Ok(reading)
    }

    fn has(&self, kind: MergeKind) -> bool {
        self.statement.clauses.iter().any(|clause| clause.kind == kind)
    }

    /// Returns the names of the relations of the source.
    pub(super) fn source_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        relation_names(&alone(self.statement.source.clone()), &mut names);
        names
    }

    /// Returns the query of the source, joined with the table: columns of the table, then of the source.
    pub(super) fn joined(&self) -> ast::Query {
        let constraint = JoinConstraint::On(self.statement.on.clone());
        let join_operator = match self.has(MergeKind::NotInTarget) {
            true => JoinOperator::Left(constraint),
            false => JoinOperator::Inner(constraint),
        };
        let from = TableWithJoins {
            relation: self.statement.source.clone(),
            joins: vec![Join {
                relation: changed_relation_of(&self.table, &self.name).relation,
                global: false,
                join_operator,
            }],
        };
        let mut items = self.columns();
        items.extend(joined_items(&self.source_names()));
        self.select(items, from, None)
    }

    /// Returns the query of rows of the table that no row of the source matches.
    fn not_in_source(&self) -> ast::Query {
        let one = Expr::Value(ast::Value::Number("1".to_string(), false).into());
        let matches = select_from(
            vec![SelectItem::UnnamedExpr(one)],
            vec![alone(self.statement.source.clone())],
            Some(self.statement.on.clone()),
        );
        let is_unmatched = Expr::Exists {
            subquery: Box::new(matches),
            negated: true,
        };
        self.select(
            self.columns(),
            changed_relation_of(&self.table, &self.name),
            Some(is_unmatched),
        )
    }

    fn select(&self, items: Vec<SelectItem>, from: TableWithJoins, selection: Option<Expr>) -> ast::Query {
        ast::Query {
            with: self.statement.with.clone(),
            ..select_from(items, vec![from], selection)
        }
    }

    fn columns(&self) -> Vec<SelectItem> {
        let quoted = |text: &str| Ident::with_quote('"', text);
        let columns = self.table.columns.iter().map(|column| {
            let parts = vec![quoted(&self.name), quoted(&column.name)];
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts))
        });
        columns.collect()
    }

    /// Returns RETURNING with the columns of the source first for a star, as PostgreSQL has them, and the column
    /// for `merge_action()`.
    pub(super) fn returning(&self) -> Option<Vec<SelectItem>> {
        let mut items = Vec::new();
        for item in self.statement.returning.as_ref()? {
            match item {
                SelectItem::Wildcard(options) if *options == Default::default() => {
                    let names = self.source_names().into_iter().chain([self.name.clone()]);
                    items.extend(names.map(|name| {
                        let name = Ident::with_quote('"', name);
                        let all = SelectItemQualifiedWildcardKind::ObjectName(name.into());
                        SelectItem::QualifiedWildcard(all, Default::default())
                    }));
                }
                SelectItem::UnnamedExpr(expr) if is_merge_action(expr) => {
                    items.push(SelectItem::ExprWithAlias {
                        expr: action_column(),
                        alias: Ident::new("merge_action"),
                    });
                }
                other => {
                    let mut item = other.clone();
                    let _ = item.walk_mut(&mut NameAction);
                    items.push(item);
                }
            }
        }
        Some(items)
    }
}

fn alone(relation: ast::TableFactor) -> TableWithJoins {
    TableWithJoins {
        relation,
        joins: Vec::new(),
    }
}

/// The column of `merge_action()`, and the name of its relation.
pub(super) const ACTION: &str = "action";

pub(super) fn action_name() -> String {
    format!("merge{HIDDEN}")
}

/// The relation that has what was done with a row as its column.
fn action_relation() -> Relation {
    let field = Field::new(ACTION, ArrowType::Utf8, false);
    Relation {
        name: action_name(),
        schema: Arc::new(Schema::new(vec![field])),
    }
}

fn action_column() -> Expr {
    let quoted = |text: &str| Ident::with_quote('"', text);
    Expr::CompoundIdentifier(vec![quoted(&action_name()), quoted(ACTION)])
}

fn is_merge_action(expr: &Expr) -> bool {
    match expr {
        Expr::Function(call) => match call.name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|name| folded(name) == "merge_action"),
            _ => false,
        },
        _ => false,
    }
}

/// Puts the column in the place of `merge_action()`.
struct NameAction;

impl VisitorMut for NameAction {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> std::ops::ControlFlow<()> {
        if is_merge_action(expr) {
            *expr = action_column();
        }
        std::ops::ControlFlow::Continue(())
    }
}

/// A WHEN clause, compiled.
struct When {
    kind: MergeKind,
    condition: Option<Computed>,
    act: Act,
}

enum Act {
    Update {
        /// The columns, and whether their values are literals.
        targets: Vec<(ColumnId, bool)>,
        values: Computed,
    },
    Delete,
    Insert {
        columns: Vec<ColumnId>,
        overriding: Option<Overriding>,
        /// Where a column has its values from; those that are given are in their order.
        given: Vec<Given>,
        values: Computed,
    },
    Nothing,
}

/// Where a column of a new row has its value from.
#[derive(Clone, Copy)]
enum Given {
    Default,
    Literal,
    Computed,
}

impl Given {
    fn of(value: &Expr) -> Given {
        match value {
            value if is_default(value) => Given::Default,
            value if is_literal(value) => Given::Literal,
            _ => Given::Computed,
        }
    }
}

impl Act {
    fn name(&self) -> &'static str {
        match self {
            Act::Update { .. } => "UPDATE",
            Act::Delete => "DELETE",
            Act::Insert { .. } => "INSERT",
            Act::Nothing => "",
        }
    }
}

/// Has each row changed by the clause that takes it.
struct Merger<'a> {
    table: Arc<Table>,
    whens: Vec<When>,
    /// Keys of the rows of the table that were changed.
    changed: HashSet<Vec<u8>>,
    /// Where the columns of the source are in joined rows, without the marks between.
    sources: Vec<usize>,
    source_types: Vec<ArrowType>,
    returning: Option<Returning<'a>>,
    params: &'a [ScalarValue],
    scope: Scope,
    count: u64,
}

impl<'a> Merger<'a> {
    fn new(
        session: &mut Session,
        reading: &MergeReading<'a>,
        joined: &Joined,
        params: &'a [ScalarValue],
        write: &mut Write,
        scope: Scope,
    ) -> Result<Self, SqlError> {
        session.check_cancel()?;
        let sources = joined.relations();
        let mut whens = Vec::with_capacity(reading.statement.clauses.len());
        for clause in &reading.statement.clauses {
            whens.push(when(reading, clause, &sources, params)?);
        }
        // Rows that are not in the source have NULLs there.
        let nullable = |relation: &Relation| {
            let fields = relation.schema.fields().iter();
            let fields: Vec<Field> = fields
                .map(|field| field.as_ref().clone().with_nullable(true))
                .collect();
            Relation {
                name: relation.name.clone(),
                schema: Arc::new(Schema::new(fields)),
            }
        };
        let beside: Vec<_> = sources.iter().map(nullable).chain([action_relation()]).collect();
        let items = reading.returning();
        let target = Target {
            table: reading.table.clone(),
            view: None,
        };
        let returning = Returning::new(items.as_ref(), (&target, &reading.name), beside, params, write)?;
        let fields = sources.iter().flat_map(|relation| relation.schema.fields());
        Ok(Merger {
            table: reading.table.clone(),
            whens,
            changed: HashSet::new(),
            sources: joined.places(),
            source_types: fields.map(|field| field.data_type().clone()).collect(),
            returning: returning.map(|returning| returning.under(reading.statement.with.as_ref())),
            params,
            scope,
            count: 0,
        })
    }

    /// Gives rows of one kind to the clauses for it. They have the columns of the table, then, unless they are not
    /// in the source, of the source.
    fn put(
        &mut self,
        session: &mut Session,
        write: &mut Write,
        kind: MergeKind,
        mut rows: RecordBatch,
    ) -> Result<(), SqlError> {
        let whens = std::mem::take(&mut self.whens);
        for when in whens.iter().filter(|when| when.kind == kind) {
            if rows.num_rows() == 0 {
                break;
            }
            let mut taken = rows.clone();
            if let Some(condition) = &when.condition {
                let given = self.given(kind, &rows)?;
                let snapshot = write.snapshot().clone();
                let holds = condition.holds(session, &snapshot, &given, self.params)?;
                (taken, rows) = parted(&rows, &holds)?;
            } else {
                rows = rows.slice(0, 0);
            }
            if taken.num_rows() > 0 {
                self.act(session, write, when, taken)?;
            }
        }
        self.whens = whens;
        Ok(())
    }

    /// Returns the columns that a clause sees.
    fn given(&self, kind: MergeKind, rows: &RecordBatch) -> Result<RecordBatch, SqlError> {
        let width = self.table.columns.len();
        let places: Vec<usize> = match kind {
            MergeKind::Matched => (0..width).chain(self.sources.iter().copied()).collect(),
            MergeKind::NotInTarget => self.sources.clone(),
            MergeKind::NotInSource => (0..width).collect(),
        };
        Ok(rows.project(&places).map_err(DataFusionError::from)?)
    }

    fn act(
        &mut self,
        session: &mut Session,
        write: &mut Write,
        when: &When,
        rows: RecordBatch,
    ) -> Result<(), SqlError> {
        let table = self.table.clone();
        let snapshot = write.snapshot().clone();
        match &when.act {
            Act::Nothing => return Ok(()),
            Act::Delete => {
                let old = self.stored(write, &rows)?;
                self.count += write.delete(&table, old)?;
            }
            Act::Update { targets, values } => {
                let old = self.stored(write, &rows)?;
                let given = self.given(when.kind, &rows)?;
                let values = values.evaluate(session, &snapshot, &given, self.params)?;
                let mut new = old.clone();
                for (nth, (id, is_literal)) in targets.iter().enumerate() {
                    let column = table.column(*id).expect("assignments name columns of the table");
                    let target = table.position(*id).expect("a column has a position");
                    let datums = assigned(&values, nth, column, *is_literal)?;
                    for (row, datum) in new.iter_mut().zip(datums) {
                        row[target] = datum;
                    }
                }
                self.count += write.update(&table, old.into_iter().zip(new).collect())?;
            }
            Act::Insert {
                columns,
                overriding,
                given,
                values,
            } => {
                let batch = self.given(when.kind, &rows)?;
                let values = values.evaluate(session, &snapshot, &batch, self.params)?;
                let mut places = 0..values.num_columns();
                let mut filled = vec![Vec::with_capacity(columns.len()); rows.num_rows()];
                for (id, given) in columns.iter().zip(given) {
                    let column = table.column(*id).expect("named columns exist");
                    let mut next = |is_literal| match places.next() {
                        Some(nth) => assigned(&values, nth, column, is_literal),
                        None => Ok(Vec::new()),
                    };
                    let datums = match given {
                        Given::Default => Vec::new(),
                        Given::Literal => next(true)?,
                        Given::Computed => next(false)?,
                    };
                    let mut datums = datums.into_iter();
                    filled.iter_mut().for_each(|row| row.push(datums.next()));
                }
                let mut filler = RowFiller::new(session, &table, columns)?.overriding(*overriding);
                let filled = filled.into_iter().map(|row| filler.fill(row));
                let filled: Vec<Row> = filled.collect::<Result<_, _>>()?;
                self.count += write.insert(&table, filled, OnConflict::Error)?;
            }
        }
        self.give_back(session, write, when, &rows)
    }

    /// Adds rows that were written to those of RETURNING.
    fn give_back(
        &mut self,
        session: &mut Session,
        write: &mut Write,
        when: &When,
        rows: &RecordBatch,
    ) -> Result<(), SqlError> {
        let Some(returning) = &mut self.returning else {
            return Ok(());
        };
        let written = write.take_written();
        let mut beside: Vec<ArrayRef> = match when.kind {
            MergeKind::NotInSource => {
                let types = self.source_types.iter();
                types.map(|ty| new_null_array(ty, written.len())).collect()
            }
            _ => self.sources.iter().map(|at| rows.column(*at).clone()).collect(),
        };
        beside.push(Arc::new(StringArray::from(vec![when.act.name(); written.len()])));
        returning.add(session, write, &written, &beside)
    }

    /// Returns the rows of the table among joined rows; fails on one that was changed before.
    fn stored(&mut self, write: &Write, rows: &RecordBatch) -> Result<Vec<Row>, SqlError> {
        let stored = stored_rows(rows, &self.table)?;
        for row in &stored {
            let elsewhere = self.scope == Scope::Shared && write.is_touched(&self.table, row)?;
            if elsewhere || !self.changed.insert(write.row_key(&self.table, row)?) {
                let message = "MERGE command cannot affect row a second time";
                return Err(SqlError::statement("21000", message)
                    .with_hint("Ensure that not more than one source row matches any one target row."));
            }
        }
        Ok(stored)
    }
}

fn when(
    reading: &MergeReading<'_>,
    clause: &MergeClause,
    sources: &[Relation],
    params: &[ScalarValue],
) -> Result<When, SqlError> {
    let table = &reading.table;
    let target = Relation {
        name: reading.name.clone(),
        schema: table_schema(table),
    };
    let relations: Vec<Relation> = match clause.kind {
        MergeKind::Matched => std::iter::once(target).chain(sources.iter().cloned()).collect(),
        MergeKind::NotInTarget => sources.to_vec(),
        MergeKind::NotInSource => vec![target],
    };
    let compiled = |exprs: Vec<Expr>, place: Clause| {
        let items: Vec<_> = exprs.into_iter().map(SelectItem::UnnamedExpr).collect();
        let computed = Computed::new(relations.clone(), &items, place, params)?;
        Ok::<_, SqlError>(computed.under(reading.statement.with.as_ref()))
    };
    let condition = clause.condition.clone();
    let condition = condition.map(|condition| {
        let computed = Computed::condition(relations.clone(), condition, Clause::MergeWhen, params)?;
        Ok::<_, SqlError>(computed.under(reading.statement.with.as_ref()))
    });
    let act = match &clause.action {
        MergeAction::Nothing => Act::Nothing,
        MergeAction::Delete => Act::Delete,
        MergeAction::Update(given) => {
            let (targets, values): (Vec<_>, Vec<_>) =
                assignments(&Target::of_table(table), &reading.name, given)?
                    .into_iter()
                    .unzip();
            let literals = values.iter().map(is_literal);
            Act::Update {
                targets: targets.into_iter().zip(literals).collect(),
                values: compiled(values, Clause::Update)?,
            }
        }
        MergeAction::Insert {
            columns,
            overriding,
            values,
        } => {
            let (columns, values) = insert_values(table, columns, *overriding, values)?;
            Act::Insert {
                columns,
                overriding: *overriding,
                given: values.iter().map(|value| Given::of(value)).collect(),
                values: compiled(
                    values
                        .into_iter()
                        .filter(|value| !is_default(value))
                        .cloned()
                        .collect(),
                    Clause::Values,
                )?,
            }
        }
    };
    Ok(When {
        kind: clause.kind,
        condition: condition.transpose()?,
        act,
    })
}

/// Returns the columns of an INSERT with their values; there may be fewer values where none is named.
pub(super) fn insert_values<'a>(
    table: &Arc<Table>,
    columns: &[ast::ObjectName],
    overriding: Option<Overriding>,
    values: &'a [Expr],
) -> Result<(Vec<ColumnId>, Vec<&'a Expr>), SqlError> {
    let mut named = Target::of_table(table).named_columns(columns)?;
    if columns.is_empty() {
        named.truncate(values.len());
    }
    check_width(values.len(), named.len())?;
    for (id, value) in named.iter().zip(values) {
        if !is_default(value) {
            check_given(table.column(*id).expect("named columns exist"), overriding)?;
        }
    }
    Ok((named, values.iter().collect()))
}

/// Marks rows that a row of the table is part of: its key has no NULLs.
fn is_present(batch: &RecordBatch, table: &Table) -> BooleanArray {
    let key = table
        .primary_key
        .iter()
        .flat_map(|element| element.expr.columns())
        .next();
    let position = key.and_then(|id| table.position(id)).expect("a table has a key");
    let key = batch.column(position);
    (0..batch.num_rows()).map(|at| Some(key.is_valid(at))).collect()
}

/// Parts rows by a test: those that pass it, and the others.
fn parted(rows: &RecordBatch, test: &BooleanArray) -> Result<(RecordBatch, RecordBatch), SqlError> {
    let others: BooleanArray = test.iter().map(|passes| passes.map(|passes| !passes)).collect();
    let passing = filter_record_batch(rows, test).map_err(DataFusionError::from)?;
    let others = filter_record_batch(rows, &others).map_err(DataFusionError::from)?;
    Ok((passing, others))
}
