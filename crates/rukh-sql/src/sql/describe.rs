//! Describe: types of parameters, names and types of result columns of a statement, before it runs.
//!
//! The type of a parameter is, in this order,
//!
//! 1. what the client says;
//! 2. that of the column it is stored in: `INSERT … VALUES ($1)`, `SET c = $1`;
//! 3. that of a cast around it: `$1::date`;
//! 4. that of the column it is compared with: `c = $1`, `c IN ($1)`, `c BETWEEN $1 AND $2`;
//! 5. what its place in an expression takes ([`places`]);
//! 6. text.
//!
//! Lengths and precisions are left out, as PostgreSQL does: a value that is too long is an error of the
//! statement that stores it, and a condition compares with the value as given.

mod places;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType as ArrowType, Field, Schema};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::MemTable;
use datafusion::logical_expr::LogicalPlan;
use datafusion::scalar::ScalarValue;
use rukh_keys::DataType;
use rukh_syntax::make::{binary, nested};
use rukh_syntax::sqlparser::ast::BinaryOperator::{self, GtEq, LtEq};
use rukh_syntax::sqlparser::ast::{self, Value, Visitor, VisitorMut};

use crate::bind::names::outputs::output_names::without_twins;
use crate::bind::passes;
use crate::bind::spelling::parameters::arrays::{array_parameters, with_elements};
use crate::bind::spelling::parameters::frames::{frame_parameters, without_frames};
use crate::bind::spelling::parameters::series::{types_in_call, types_in_factor, with_samples};
use crate::bind::spelling::parameters::types::with_types;
use crate::bind::system::type_tree::asks_for_types;
use crate::bind::types::bound_operators::FirstUses;
use crate::exec::columns::Columns;
use crate::exec::held::{Described, Description, Prepared, TransactionStatus};
use crate::sql::dml::{self, WriteShape};
use crate::sql::explain::json_column;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::functions::texts::to_uuid::{TO_UUID, TO_UUIDS};
use rukh_functions::types::arrow_type;
use rukh_syntax::{
    Discarded, ExplainFormat, KeptStatement, Statement, TransactionStatement, Walk, WalkMut, WritesStatement,
    data_type, rows_name,
};
use rukh_walk::PlanTree;

/// Most parameters of a statement, as the protocol counts them.
const PARAMETERS_MAX: usize = 65_535;

/// The kind of statement, as far as servers need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatementKind {
    /// It reads, and may stand in a transaction block.
    Read,
    /// It writes rows, and may stand in a transaction block.
    Write,
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT, ROLLBACK.
    End,
    /// SAVEPOINT and the like, SET TRANSACTION.
    Transaction,
    /// SET, RESET.
    Setting,
    /// It may not stand in a transaction block.
    Alone,
}

impl Prepared {
    /// Returns what kind of statement this is.
    pub fn kind(&self) -> StatementKind {
        match self.statement() {
            Statement::Transaction(TransactionStatement::Begin { .. }) => StatementKind::Begin,
            Statement::Transaction(
                TransactionStatement::Commit { .. } | TransactionStatement::Rollback { .. },
            ) => StatementKind::End,
            Statement::Transaction(_) => StatementKind::Transaction,
            Statement::Set { .. } | Statement::Reset { .. } => StatementKind::Setting,
            Statement::Kept(kept) if matches!(**kept, KeptStatement::Execute { .. }) => StatementKind::Write,
            Statement::Kept(kept) if **kept == KeptStatement::Discard(Discarded::All) => StatementKind::Alone,
            statement if crate::sql::block::only_reads(statement) => StatementKind::Read,
            statement if crate::sql::block::may_be_in_block(statement) => StatementKind::Write,
            _ => StatementKind::Alone,
        }
    }
}

impl Session {
    /// Describes the parameters and columns of a statement, and fails where running it would fail for its names and
    /// types. `given[0]` is the type of `$1`, if the client says it.
    pub fn describe(
        &mut self,
        prepared: &Prepared,
        given: &[Option<DataType>],
    ) -> Result<Arc<Description>, SqlError> {
        self.forget_other_path();
        let version = self.catalog().version;
        if self.transaction_status() != TransactionStatus::Aborted
            && let Some(known) = self.described.known(prepared.sql(), version, given)
        {
            return Ok(known);
        }
        self.begin_statement();
        let described = self
            .check_allowed(prepared.statement())
            .and_then(|()| self.with_schemas(prepared))
            .and_then(|prepared| {
                self.check_rights(&prepared)?;
                self.description_of(prepared.statement(), given)
            })
            .inspect_err(|_| self.abort());
        let described =
            described.map_err(|error| crate::bind::names::place::located(error, prepared.sql()))?;
        let description = Arc::new(described);
        let described = Described {
            version,
            given: given.to_vec(),
            description: description.clone(),
        };
        // What these give depends on more than their text.
        if !matches!(prepared.statement(), Statement::Kept(_)) {
            self.described.keep(prepared.sql(), described);
        }
        Ok(description)
    }

    fn description_of(
        &mut self,
        statement: &Statement,
        given: &[Option<DataType>],
    ) -> Result<Description, SqlError> {
        let mut parameters = Parameters::new(given)?;
        let columns = match statement {
            Statement::Query(_)
            | Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => self.describe_part(statement, &mut parameters)?,
            Statement::Writes(writes) => {
                let described = self.describe_parts(writes, &mut parameters);
                self.held.clear();
                described?
            }
            Statement::Explain {
                statement, format, ..
            } => {
                parameters.types = self
                    .description_of(statement, given)?
                    .parameters
                    .into_iter()
                    .map(Some)
                    .collect();
                Some(match format {
                    ExplainFormat::Text => texts(&["plan"]),
                    ExplainFormat::Json | ExplainFormat::JsonList => Columns::of(json_column()),
                })
            }
            Statement::Kept(kept) => match kept.as_ref() {
                KeptStatement::Execute { name, .. } => {
                    let schema = self.describe_executed(name)?.schema.clone();
                    schema.map(Columns::of)
                }
                KeptStatement::Declare { sql, .. } => {
                    let prepared = self.prepare(sql)?;
                    let described = self.describe(&prepared, given)?;
                    return Ok(Description {
                        columns: None,
                        schema: None,
                        ..Description::clone(&described)
                    });
                }
                KeptStatement::Fetch {
                    name, moves: false, ..
                } => Some(Columns::of(self.cursor_schema(name)?)),
                _ => None,
            },
            Statement::Show(show) => Some(Columns::of(self.show(show)?.schema())),
            Statement::CheckTable { .. } | Statement::CheckIndex { .. } => {
                Some(texts(&["finding", "value", "detail"]))
            }
            _ => None,
        };
        let arrays = std::mem::take(&mut parameters.arrays);
        Ok(Description {
            arrays,
            oids: parameters.oids(statement),
            parameters: parameters.finished(),
            schema: columns.as_ref().map(|columns| columns.schema.clone()),
            columns: columns.map(|columns| columns.info()),
        })
    }

    /// Describes the columns of a query or a statement that writes, and adds its parameters.
    fn describe_part(
        &mut self,
        statement: &Statement,
        parameters: &mut Parameters,
    ) -> Result<Option<Columns>, SqlError> {
        match statement {
            Statement::Query(query) => {
                let mut query = query.clone();
                query.locks.clear();
                parameters.count(query.as_ref())?;
                self.infer(&query, parameters)?;
                self.columns_of(&query, parameters).map(Some)
            }
            Statement::Insert(insert) => {
                parameters.count(&insert.with)?;
                parameters.count(&insert.ast)?;
                let shape = dml::insert_shape(&self.catalog(), insert)?;
                self.describe_write(shape, parameters)
            }
            Statement::Update(update) => {
                parameters.count(&update.with)?;
                parameters.count(&update.ast)?;
                let shape = dml::update_shape(&self.catalog(), update)?;
                self.describe_write(shape, parameters)
            }
            Statement::Delete(delete) => {
                parameters.count(&delete.with)?;
                parameters.count(&delete.ast)?;
                let shape = dml::delete_shape(&self.catalog(), delete)?;
                self.describe_write(shape, parameters)
            }
            Statement::Merge(merge) => {
                let shape = dml::merge_shape(&self.catalog(), merge)?;
                parameters.count(&shape.reads)?;
                parameters.count(&shape.returning)?;
                self.describe_write(shape, parameters)
            }
            _ => Ok(None),
        }
    }

    /// Describes the columns of a statement whose WITH writes: what a part returns is a table to those behind it.
    fn describe_parts(
        &mut self,
        writes: &WritesStatement,
        parameters: &mut Parameters,
    ) -> Result<Option<Columns>, SqlError> {
        for (nth, part) in writes.parts.iter().enumerate() {
            if let Some(columns) = self.describe_part(part, parameters)? {
                let schema = Arc::new(without_twins(&columns.schema));
                let table = MemTable::try_new(schema, vec![Vec::new()])?;
                self.held.push((rows_name(nth), Arc::new(table)));
            }
        }
        self.describe_part(&writes.statement, parameters)
    }

    fn describe_write(
        &mut self,
        shape: WriteShape,
        parameters: &mut Parameters,
    ) -> Result<Option<Columns>, SqlError> {
        for (expr, ty) in &shape.assigned {
            if let Some(number) = number_of(expr) {
                parameters.tell(number, *ty);
            }
        }
        for query in shape.reads.iter().chain(&shape.returning) {
            self.infer(query, parameters)?;
        }
        let columns = shape.returning.as_ref();
        columns
            .map(|query| self.columns_of(query, parameters).map_err(as_returning))
            .transpose()
    }

    /// Adds what the plan of a query says of its parameters.
    fn infer(&mut self, query: &ast::Query, parameters: &mut Parameters) -> Result<(), SqlError> {
        if parameters.types.is_empty() {
            return Ok(());
        }
        let query = with_samples(without_frames(with_elements(query))?, &parameters.types);
        let mut query = with_types(query, &parameters.types);
        let plan = match parameters.repeated {
            true => {
                compare_apart(query.to_mut());
                let uses = self
                    .state
                    .config()
                    .get_extension::<FirstUses>()
                    .unwrap_or_default();
                uses.within(|| self.unoptimised_plan_of(&query))?
            }
            false => self.unoptimised_plan_of(&query)?,
        };
        plan.each_of_all(&mut |node| {
            for (number, ty) in places::of_node(node)? {
                parameters.tell(number, ty);
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    /// Returns the columns of a query, its parameters being NULLs of their types.
    fn columns_of(&mut self, query: &ast::Query, parameters: &Parameters) -> Result<Columns, SqlError> {
        let nulls: Vec<ScalarValue> = parameters.types.iter().map(null_of).collect::<Result<_, _>>()?;
        let query = &with_samples(without_frames(with_elements(query))?, &parameters.types);
        let schema = match self.plan_with(query, &nulls) {
            Ok(plan) => plan.schema().as_arrow().clone(),
            // NULL may not stand where a value does.
            Err(_) if !nulls.is_empty() => {
                let query = with_types(Cow::Borrowed(query), &parameters.types);
                self.unoptimised_plan_of(&query)?.schema().as_arrow().clone()
            }
            Err(error) => return Err(error),
        };
        Ok(Columns::of(Arc::new(schema)))
    }

    /// Plans a query as far as its names and types; parameters stay open.
    pub(crate) fn unoptimised_plan_of(&mut self, query: &ast::Query) -> Result<LogicalPlan, SqlError> {
        let snapshot = self.snapshot();
        let context = self.context(snapshot, query)?;
        self.set_current(context.clone());
        let runtime = self.runtime().clone();
        runtime.block_on(passes::unoptimised_plan(
            &self.state,
            &context.snapshot.catalog,
            query,
        ))
    }

    fn plan_with(&mut self, query: &ast::Query, params: &[ScalarValue]) -> Result<LogicalPlan, SqlError> {
        let snapshot = self.snapshot();
        let context = self.context(snapshot, query)?;
        self.set_current(context.clone());
        let runtime = self.runtime().clone();
        runtime.block_on(passes::logical_plan(
            &self.state,
            &context.snapshot.catalog,
            query,
            params,
        ))
    }
}

fn null_of(ty: &Option<DataType>) -> Result<ScalarValue, SqlError> {
    let ty = ty.unwrap_or(DataType::Varchar(None));
    Ok(ScalarValue::try_from(&arrow_type(&ty))?)
}

fn texts(names: &[&str]) -> Columns {
    let field = |name: &&str| Field::new(name.to_string(), ArrowType::Utf8, true);
    Columns::of(Arc::new(Schema::new(names.iter().map(field).collect::<Vec<_>>())))
}

/// Reports a star of a table that is not there as RETURNING does.
fn as_returning(error: SqlError) -> SqlError {
    match error.message.strip_prefix("invalid qualifier ") {
        None => error,
        Some(table) => {
            let message = format!("missing FROM-clause entry for table \"{table}\"");
            SqlError::statement("42P01", message)
        }
    }
}

/// Spells `x BETWEEN a AND b` as the comparisons that it means: parameters have the type of their first use.
fn compare_apart(query: &mut ast::Query) {
    let ControlFlow::Continue(()) = query.walk_mut(&mut Betweens);
}

struct Betweens;

impl VisitorMut for Betweens {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Infallible> {
        if let ast::Expr::Between {
            expr: value,
            negated,
            low,
            high,
        } = expr
        {
            let (low, high) = (binary(value, GtEq, low), binary(value, LtEq, high));
            let both = nested(binary(&low, BinaryOperator::And, &high));
            *expr = match negated {
                true => ast::Expr::UnaryOp {
                    op: ast::UnaryOperator::Not,
                    expr: Box::new(both),
                },
                false => both,
            };
        }
        ControlFlow::Continue(())
    }
}

/// Returns the number of a parameter that is all of an expression.
fn number_of(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Nested(inner) => number_of(inner),
        ast::Expr::Value(value) => match &value.value {
            Value::Placeholder(name) => number_in(name),
            _ => None,
        },
        _ => None,
    }
}

fn number_in(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse().ok().filter(|number| *number > 0)
}

/// Types of parameters, as far as they are known.
struct Parameters {
    types: Vec<Option<DataType>>,
    arrays: Vec<usize>,
    /// Whether one stands in several places.
    repeated: bool,
}

impl Parameters {
    fn new(given: &[Option<DataType>]) -> Result<Self, SqlError> {
        match given.len() {
            0..=PARAMETERS_MAX => Ok(Parameters {
                types: given.to_vec(),
                arrays: Vec::new(),
                repeated: false,
            }),
            _ => Err(too_many()),
        }
    }

    /// Makes room for the parameters of a statement, and notes casts around them.
    fn count(&mut self, tree: &impl Walk) -> Result<(), SqlError> {
        let mut finder = Finder::default();
        // The finder never stops.
        let _ = tree.walk(&mut finder);
        let distinct: BTreeSet<&usize> = finder.numbers.iter().collect();
        let count = distinct.last().map_or(0, |number| **number);
        self.repeated |= distinct.len() < finder.numbers.len();
        if count > PARAMETERS_MAX {
            return Err(too_many());
        }
        if self.types.len() < count {
            self.types.resize(count, None);
        }
        self.arrays
            .extend(array_parameters(tree).iter().map(|number| number - 1));
        self.arrays.sort_unstable();
        self.arrays.dedup();
        for (number, ty) in finder.casts {
            self.tell(number, ty);
        }
        for distance in frame_parameters(tree).iter().filter(|distance| distance.counts) {
            self.tell(distance.number, DataType::BigInt);
        }
        Ok(())
    }

    /// Notes the type of a parameter, unless it is known.
    fn tell(&mut self, number: usize, ty: DataType) {
        if let Some(known @ None) = self.types.get_mut(number - 1) {
            *known = Some(general_type(ty));
        }
    }

    /// Returns the places of arrays of numbers of objects.
    fn oids(&self, statement: &Statement) -> Vec<usize> {
        match statement {
            Statement::Query(query) if asks_for_types(query) => (0..self.types.len()).collect(),
            _ => Vec::new(),
        }
    }

    fn finished(self) -> Vec<DataType> {
        let text = DataType::Varchar(None);
        self.types.into_iter().map(|ty| ty.unwrap_or(text)).collect()
    }
}

/// Returns a type without length and precision, and TINYINT as what clients know.
fn general_type(ty: DataType) -> DataType {
    match ty {
        DataType::TinyInt => DataType::SmallInt,
        DataType::Char(_) | DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Binary(_) | DataType::Varbinary(_) => DataType::Varbinary(None),
        other => other.unrounded(),
    }
}

fn too_many() -> SqlError {
    SqlError::statement(
        "54023",
        format!("a statement takes at most {PARAMETERS_MAX} parameters"),
    )
}

fn is_call_of(call: &ast::Function, name: &str) -> bool {
    matches!(call.name.0.as_slice(), [ast::ObjectNamePart::Identifier(called)] if called.value == name)
}

/// Returns the type of the elements of an array, and any other type as it is.
fn element_type(ty: &ast::DataType) -> &ast::DataType {
    match ty {
        ast::DataType::Array(ast::ArrayElemTypeDef::SquareBracket(of, _)) => of,
        other => other,
    }
}

/// Finds parameters in a statement.
#[derive(Default)]
struct Finder {
    numbers: Vec<usize>,
    casts: Vec<(usize, DataType)>,
}

impl Visitor for Finder {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &ast::TableFactor) -> ControlFlow<()> {
        self.casts.append(&mut types_in_factor(factor));
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        self.numbers.extend(number_of(expr));
        match expr {
            ast::Expr::Cast {
                expr, data_type: ty, ..
            } => {
                if let Some(number) = number_of(expr) {
                    self.casts
                        .extend(data_type(element_type(ty)).map(|ty| (number, ty)));
                }
            }
            ast::Expr::Function(call) if !types_in_call(call).is_empty() => {
                self.casts.append(&mut types_in_call(call));
            }
            // As which casts to UUID are spelled: of a text, or of texts.
            ast::Expr::Function(call) if is_call_of(call, TO_UUID) || is_call_of(call, TO_UUIDS) => {
                if let ast::FunctionArguments::List(list) = &call.args
                    && let [
                        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Cast {
                            expr, ..
                        })),
                    ] = list.args.as_slice()
                {
                    self.casts
                        .extend(number_of(expr).map(|number| (number, DataType::Uuid)));
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}
