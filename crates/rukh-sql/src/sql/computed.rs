//! Expressions on rows in memory: RETURNING, MERGE, and the new values of ON CONFLICT DO UPDATE.
//!
//! The rows are those of one or more relations side by side, so that `t.a` and `excluded.a` are two
//! columns of one row. Expressions are compiled once for a statement and evaluated by batches. Where they
//! hold subqueries or ask sequences, a query over the batch is planned for each of them instead.

#![warn(clippy::arithmetic_side_effects)]

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array,
};
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::datatypes::{DataType as ArrowType, Field, FieldRef, Schema, SchemaRef, UInt64Type};
use datafusion::catalog::{MemTable, TableProvider};
use datafusion::common::{DFSchema, DFSchemaRef, TableReference};
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::scalar::ScalarValue;
use rukh_engine::Snapshot;
use rukh_syntax::make::select_joined;
use rukh_syntax::sqlparser::ast::{self, Ident, Query, SelectItem, SelectItemQualifiedWildcardKind, Visitor};
use rukh_syntax::{Walk, folded};

use crate::bind::names::functions::has_query;
use crate::bind::names::joined;
use crate::bind::names::outputs::output_names::column_name;
use crate::bind::spelling::rewrite::uses_clock;
use crate::bind::spelling::sequence_calls::calls_sequence;
use crate::bind::types::expressions;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_syntax::HIDDEN;

/// One relation of the rows: the name that expressions know it by, and its columns.
#[derive(Clone, Debug)]
pub(crate) struct Relation {
    pub(crate) name: String,
    pub(crate) schema: SchemaRef,
}

/// Expressions ready to be evaluated.
pub(crate) struct Computed {
    relations: Vec<Relation>,
    /// Columns of all relations, one after another.
    columns: SchemaRef,
    way: Way,
    clause: Clause,
}

enum Way {
    /// Expressions on the columns, and the schema that they make.
    Compiled(Vec<Arc<dyn PhysicalExpr>>, SchemaRef),
    /// A query over tables of the names that [`table_name`] gives.
    Query(Box<Query>),
}

/// Where expressions stand, for messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clause {
    Returning,
    Update,
    Values,
    MergeWhen,
    Where,
}

impl Clause {
    fn name(self) -> &'static str {
        match self {
            Clause::Returning => "RETURNING",
            Clause::Update => "UPDATE",
            Clause::Values => "VALUES",
            Clause::MergeWhen => "MERGE WHEN conditions",
            Clause::Where => "WHERE",
        }
    }
}

/// One output column: a column of the rows, or an expression with its alias.
enum Item {
    Column {
        relation: usize,
        column: usize,
    },
    Expr {
        expr: Box<ast::Expr>,
        alias: Option<Ident>,
    },
}

impl Computed {
    /// Compiles the items of a select list; stars become all columns of the relations they name.
    pub(crate) fn new(
        relations: Vec<Relation>,
        items: &[SelectItem],
        clause: Clause,
        params: &[ScalarValue],
    ) -> Result<Self, SqlError> {
        let mut items = items.to_vec();
        let fields = |relation: &Relation| {
            relation
                .schema
                .fields()
                .iter()
                .map(|field| field.as_ref().clone())
                .collect()
        };
        let columns: Vec<_> = relations
            .iter()
            .map(|relation| (relation.name.as_str(), fields(relation)))
            .collect();
        joined::spell_out_list(&mut items, &columns)?;
        let items = expanded(&relations, &items)?;
        for item in &items {
            if let Item::Expr { expr, .. } = item {
                check_scalar(expr, clause)?;
            }
        }
        let fields = relations.iter().flat_map(|relation| relation.schema.fields());
        let columns = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        let has_query = |item: &Item| matches!(item, Item::Expr { expr, .. } if is_planned(expr));
        let way = match items.iter().any(has_query) {
            true => Way::Query(Box::new(query_of(&relations, items))),
            false => compiled(&relations, &columns, items, params)?,
        };
        Ok(Computed {
            relations,
            columns,
            way,
            clause,
        })
    }

    /// Compiles a condition; see [`Computed::holds`].
    pub(crate) fn condition(
        relations: Vec<Relation>,
        condition: ast::Expr,
        clause: Clause,
        params: &[ScalarValue],
    ) -> Result<Self, SqlError> {
        let is_plain = !has_query(&condition);
        let items = [SelectItem::UnnamedExpr(condition.clone())];
        let mut computed = Computed::new(relations, &items, clause, params)?;
        if let (Way::Query(query), false) = (&mut computed.way, is_plain) {
            // Rows are chosen, as a query that asks EXISTS or IN can do.
            let number = ast::Expr::CompoundIdentifier(vec![
                Ident::with_quote('"', computed.relations[0].name.as_str()),
                Ident::with_quote('"', row_number()),
            ]);
            if let ast::SetExpr::Select(select) = query.body.as_mut() {
                select.projection = vec![SelectItem::UnnamedExpr(number)];
                select.selection = Some(match select.selection.take() {
                    Some(joined) => ast::Expr::BinaryOp {
                        left: Box::new(joined),
                        op: ast::BinaryOperator::And,
                        right: Box::new(ast::Expr::Nested(Box::new(condition))),
                    },
                    None => condition,
                });
            }
        }
        Ok(computed)
    }

    /// Returns for which rows of a batch a condition is true.
    pub(crate) fn holds(
        &self,
        session: &mut Session,
        snapshot: &Snapshot,
        batch: &RecordBatch,
        params: &[ScalarValue],
    ) -> Result<BooleanArray, SqlError> {
        let values = self.evaluate(session, snapshot, batch, params)?;
        let values = values.column(0);
        if let Some(numbers) = values.as_primitive_opt::<UInt64Type>() {
            let mut holds = vec![false; batch.num_rows()];
            for number in numbers.values() {
                holds[*number as usize] = true;
            }
            return Ok(BooleanArray::from(holds));
        }
        let Some(holds) = values.as_boolean_opt() else {
            let message = format!("argument of {} must be type boolean", self.clause.name());
            return Err(SqlError::statement("42804", message));
        };
        Ok((0..holds.len())
            .map(|at| Some(holds.is_valid(at) && holds.value(at)))
            .collect())
    }

    /// Lets subqueries name the queries of a WITH before the statement.
    pub(crate) fn under(mut self, with: Option<&ast::With>) -> Self {
        if let Way::Query(query) = &mut self.way {
            query.with = with.cloned();
        }
        self
    }

    /// Returns the columns of all relations, in which batches are given.
    pub(crate) fn columns(&self) -> &SchemaRef {
        &self.columns
    }

    /// Returns the columns that come out, if they can be computed of each row by itself.
    pub(crate) fn schema(&self) -> Option<&SchemaRef> {
        match &self.way {
            Way::Compiled(_, schema) => Some(schema),
            Way::Query(_) => None,
        }
    }

    /// Evaluates a batch; the result has its rows in their order.
    pub(crate) fn evaluate(
        &self,
        session: &mut Session,
        snapshot: &Snapshot,
        batch: &RecordBatch,
        params: &[ScalarValue],
    ) -> Result<RecordBatch, SqlError> {
        match &self.way {
            Way::Compiled(expressions, schema) => {
                let rows = batch.num_rows();
                let values = expressions
                    .iter()
                    .map(|expression| expression.evaluate(batch)?.into_array(rows));
                let values: Vec<ArrayRef> = values.collect::<Result<_, DataFusionError>>()?;
                make_batch(schema.clone(), values, rows)
            }
            Way::Query(query) => {
                let tables = self.tables(batch)?;
                let mut rows = session.query_with_rows(snapshot, query, params, tables)?;
                let mut batches = Vec::new();
                while let Some(batch) = rows.next_batch()? {
                    batches.push(batch);
                }
                Ok(concat_batches(&rows.schema(), &batches).map_err(DataFusionError::from)?)
            }
        }
    }

    /// Makes a table of each relation, with the number of the row as last column.
    #[expect(clippy::arithmetic_side_effects, reason = "places of columns")]
    fn tables(&self, batch: &RecordBatch) -> Result<Vec<(String, Arc<dyn TableProvider>)>, SqlError> {
        let numbers: ArrayRef = Arc::new(UInt64Array::from_iter_values(0..batch.num_rows() as u64));
        let mut tables: Vec<(String, Arc<dyn TableProvider>)> = Vec::with_capacity(self.relations.len());
        let mut start = 0;
        for (nth, relation) in self.relations.iter().enumerate() {
            let width = relation.schema.fields().len();
            let mut fields: Vec<FieldRef> = relation.schema.fields().iter().cloned().collect();
            fields.push(Arc::new(Field::new(row_number(), ArrowType::UInt64, false)));
            let schema = Arc::new(Schema::new(fields));
            let mut values = batch.columns()[start..start + width].to_vec();
            values.push(numbers.clone());
            let rows = make_batch(schema.clone(), values, batch.num_rows())?;
            let table = MemTable::try_new(schema, vec![vec![rows]])?;
            tables.push((table_name(nth), Arc::new(table)));
            start += width;
        }
        Ok(tables)
    }
}

/// Makes a batch of columns, of which there may be none.
pub(crate) fn make_batch(
    schema: SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, SqlError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options).map_err(DataFusionError::from)?)
}

fn table_name(nth: usize) -> String {
    format!("{HIDDEN}rows{nth}")
}

fn row_number() -> String {
    format!("{HIDDEN}row")
}

/// Replaces stars by the columns they stand for.
fn expanded(relations: &[Relation], items: &[SelectItem]) -> Result<Vec<Item>, SqlError> {
    let mut output = Vec::new();
    let columns_of = |relation: usize| {
        let width = relations[relation].schema.fields().len();
        (0..width).map(move |column| Item::Column { relation, column })
    };
    for item in items {
        match item {
            SelectItem::UnnamedExpr(expr) => output.push(Item::Expr {
                expr: Box::new(expr.clone()),
                alias: None,
            }),
            SelectItem::ExprWithAlias { expr, alias } => output.push(Item::Expr {
                expr: Box::new(expr.clone()),
                alias: Some(alias.clone()),
            }),
            SelectItem::Wildcard(options) if *options == Default::default() || is_plain(options) => {
                (0..relations.len()).for_each(|relation| output.extend(columns_of(relation)));
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), options)
                if is_plain(options) =>
            {
                let name = rukh_syntax::ObjectName::from_ast(name)?;
                let found = relations.iter().position(|relation| relation.name == name.name);
                let relation = found.ok_or_else(|| {
                    let message = format!("missing FROM-clause entry for table \"{}\"", name.name);
                    SqlError::statement("42P01", message).at(name.position)
                })?;
                output.extend(columns_of(relation));
            }
            other => {
                return Err(SqlError::unsupported(format!("{other} is not supported here")));
            }
        }
    }
    Ok(output)
}

/// Whether a star stands alone: without EXCEPT, REPLACE and the like.
fn is_plain(options: &ast::WildcardAdditionalOptions) -> bool {
    options.opt_ilike.is_none()
        && options.opt_exclude.is_none()
        && options.opt_except.is_none()
        && options.opt_replace.is_none()
        && options.opt_rename.is_none()
        && options.opt_alias.is_none()
}

/// Whether an expression asks for more than the row: a query, a sequence, the time of the transaction.
fn is_planned(expr: &ast::Expr) -> bool {
    has_query(expr) || calls_sequence(expr) || uses_clock(expr)
}

/// Refuses aggregates and window functions, but not those of subqueries.
fn check_scalar(expr: &ast::Expr, clause: Clause) -> Result<(), SqlError> {
    struct Finder {
        depth: usize,
        clause: Clause,
    }
    impl Visitor for Finder {
        type Break = SqlError;

        #[expect(clippy::arithmetic_side_effects, reason = "places of columns")]
        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<SqlError> {
            self.depth += 1;
            ControlFlow::Continue(())
        }

        #[expect(clippy::arithmetic_side_effects, reason = "places of columns")]
        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<SqlError> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<SqlError> {
            let ast::Expr::Function(call) = expr else {
                return ControlFlow::Continue(());
            };
            let refused = |sqlstate, kind: &str| {
                let message = format!("{kind} functions are not allowed in {}", self.clause.name());
                ControlFlow::Break(SqlError::statement(sqlstate, message))
            };
            match () {
                () if self.depth > 0 => ControlFlow::Continue(()),
                () if call.over.is_some() => refused("42P20", "window"),
                () if rukh_functions::is_aggregate(&call.name.to_string()) => refused("42803", "aggregate"),
                () => ControlFlow::Continue(()),
            }
        }
    }
    match expr.walk(&mut Finder { depth: 0, clause }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Makes the query of the items over one table for each relation, joined by the number of the row.
fn query_of(relations: &[Relation], items: Vec<Item>) -> Query {
    let quoted = |text: &str| Ident::with_quote('"', text);
    let items = items.into_iter().map(|item| match item {
        Item::Column { relation, column } => {
            let Relation { name, schema } = &relations[relation];
            let parts = vec![quoted(name), quoted(schema.field(column).name())];
            SelectItem::UnnamedExpr(ast::Expr::CompoundIdentifier(parts))
        }
        Item::Expr { expr, alias: None } => SelectItem::UnnamedExpr(*expr),
        Item::Expr {
            expr,
            alias: Some(alias),
        } => SelectItem::ExprWithAlias { expr: *expr, alias },
    });
    let tables = relations.iter().enumerate();
    let tables = tables.map(|(nth, relation)| (table_name(nth), relation.name.clone()));
    select_joined(items.collect(), tables.collect(), &row_number())
}

#[expect(clippy::arithmetic_side_effects, reason = "places of columns")]
fn compiled(
    relations: &[Relation],
    columns: &SchemaRef,
    items: Vec<Item>,
    params: &[ScalarValue],
) -> Result<Way, SqlError> {
    let qualified = relations.iter().flat_map(|relation| {
        let name = TableReference::bare(relation.name.as_str());
        let fields = relation.schema.fields().iter().cloned();
        fields.map(move |field| (Some(name.clone()), field))
    });
    let schema: DFSchemaRef = Arc::new(DFSchema::new_with_metadata(
        qualified.collect(),
        columns.metadata().clone(),
    )?);
    let mut expressions = Vec::with_capacity(items.len());
    let mut fields = Vec::with_capacity(items.len());
    for item in items {
        let (expr, name) = match item {
            Item::Column { relation, column } => {
                let before = relations[..relation].iter().map(|r| r.schema.fields().len());
                let at = before.sum::<usize>() + column;
                let (table, field) = schema.qualified_field(at);
                (Expr::from((table, field)), field.name().clone())
            }
            Item::Expr { expr, alias } => {
                let name = alias.map_or_else(|| column_name(&expr), |alias| folded(&alias));
                (expressions::computed_on(&expr, &schema, params)?, name)
            }
        };
        let (_, field) = expr.to_field(schema.as_ref())?;
        fields.push(field.as_ref().clone().with_name(name).with_nullable(true));
        expressions.push(expressions::physical(expr, &schema)?);
    }
    Ok(Way::Compiled(expressions, Arc::new(Schema::new(fields))))
}
