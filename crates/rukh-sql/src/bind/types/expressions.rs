//! Stored expressions: index elements, partial predicates, defaults; and the function HASH.
//!
//! The catalog holds them as SQL text. They are typed and compiled by DataFusion, as queries are, so
//! an index expression means what the same expression means in a WHERE.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};

use chrono::{DateTime, Utc};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::temporal_conversions::timestamp_us_to_datetime;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ScalarValue};
use datafusion::error::DataFusionError;
use datafusion::execution::session_state::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::planner::ExprPlanner;
use datafusion::logical_expr::simplify::SimplifyContext;
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::optimizer::simplify_expressions::ExprSimplifier;
use datafusion::physical_expr::PhysicalExpr;
use rukh_catalog::{ColumnId, Domain, Table};
use rukh_engine::{DomainRules, EngineError, RowFunction, RowFunctions};
use rukh_keys::{DataType, Datum};
use rukh_syntax::sqlparser::ast::{self, ExprWithAlias, Visitor, VisitorMut};
use rukh_syntax::{Walk, WalkMut};

use crate::bind::names::type_names::{self, Find};
use crate::bind::spelling::domain_casts;
use crate::bind::spelling::parsing::parse_expression;
use crate::bind::spelling::sequence_calls::calls_sequence;
use crate::bind::types::bound_operators::FirstUses;
use crate::bind::types::config::session_config;
use crate::bind::types::in_lists::simplified_apart;
use crate::bind::types::literals::typed_expression;
use crate::bind::types::operators::intervals::Intervals;
use crate::bind::types::table_schema::table_schema;
use crate::bind::types::typed_casts;
use crate::bind::types::typed_casts::CastTypes;
use rukh_error::SqlError;
use rukh_functions::batch::batch_of_rows;
use rukh_functions::casts::texts::CAST_CHAR;
use rukh_functions::errors::external;
use rukh_functions::functions::common::exact::inexact;
use rukh_functions::functions::times::extract::{DATE_PART, STORED_DATE_PART, WHOLE};
use rukh_functions::scalars::{assigned_datums, datum_from_scalar};
use rukh_functions::types::data_type_of;
use rukh_walk::Tree;

/// DataFusion's functions and typing rules, without any table.
static STATE: LazyLock<SessionState> = LazyLock::new(|| {
    let mut state = SessionStateBuilder::new()
        .with_config(session_config())
        .with_expr_planners(expr_planners(Arc::default()))
        .with_default_features()
        .with_type_planner(Arc::new(CastTypes))
        .build();
    rukh_functions::register(&mut state);
    domain_casts::register(&mut state, domain_rules);
    state
});

/// Returns what plans operators before DataFusion does.
pub(crate) fn expr_planners(uses: Arc<FirstUses>) -> Vec<Arc<dyn ExprPlanner>> {
    vec![Arc::new(Intervals { uses })]
}

/// A stored expression, typed on the columns of its table.
pub(crate) struct TypedExpression {
    /// The expression, on unqualified columns.
    pub(crate) expr: Expr,
    /// Type of the result.
    pub(crate) ty: DataType,
    /// Whether the result may be NULL.
    pub(crate) nullable: bool,
    /// Columns that it reads.
    pub(crate) columns: Vec<ColumnId>,
}

/// Types an expression on the columns of a table, and simplifies it as the optimiser would.
///
/// Fails with 42703 on an unknown column and 42P17 on anything but a deterministic expression of one row.
pub(crate) fn typed_on(table: &Table, expr: &ast::Expr) -> Result<TypedExpression, SqlError> {
    typed_as(table, expr, "index expression")
}

/// As [`typed_on`]; messages name where the expression stands.
pub(crate) fn typed_as(table: &Table, expr: &ast::Expr, what: &str) -> Result<TypedExpression, SqlError> {
    typed_with(table, expr, what, Ok)
}

/// Types a stored expression.
pub(crate) fn typed_sql(table: &Table, sql: &str) -> Result<TypedExpression, SqlError> {
    typed_on(table, &stored_sql(sql)?)
}

/// Parses a stored expression. `date_part` in it is the function of this name before results were PostgreSQL's, by which the other is
/// computed; casts to CHAR(n) were once stored as calls of `rtrim`.
pub(crate) fn stored_sql(sql: &str) -> Result<ast::Expr, SqlError> {
    let mut expr = parse_expression(sql)?;
    let ControlFlow::Continue(()) = expr.walk_mut(&mut StoredFunctions);
    Ok(expr)
}

/// Whether the only argument of a call is a cast to VARCHAR(n), as `left` of a text.
fn is_cut(call: &ast::Function) -> bool {
    let ast::FunctionArguments::List(list) = &call.args else {
        return false;
    };
    let [ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Function(cut)))] =
        list.args.as_slice()
    else {
        return false;
    };
    let ast::FunctionArguments::List(of) = &cut.args else {
        return false;
    };
    let is_text = |argument: &ast::FunctionArg| match argument {
        ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(ast::Expr::Cast { data_type, .. })) => {
            matches!(rukh_syntax::data_type(data_type), Ok(DataType::Varchar(None)))
        }
        _ => false,
    };
    cut.name.to_string() == "left" && of.args.first().is_some_and(is_text)
}

struct StoredFunctions;

impl VisitorMut for StoredFunctions {
    type Break = Infallible;

    fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Infallible> {
        let ast::Expr::Function(call) = expr else {
            return ControlFlow::Continue(());
        };
        let name = match call.name.to_string().as_str() {
            DATE_PART => STORED_DATE_PART,
            // Of what was cut to a length.
            "rtrim" if is_cut(call) => CAST_CHAR,
            _ => return ControlFlow::Continue(()),
        };
        call.name = ast::ObjectName::from(vec![ast::Ident::new(name)]);
        ControlFlow::Continue(())
    }
}

/// Types an expression after `meaning` has changed what its parts mean.
fn typed_with(
    table: &Table,
    expr: &ast::Expr,
    what: &str,
    meaning: impl FnOnce(Expr) -> Result<Expr, DataFusionError>,
) -> Result<TypedExpression, SqlError> {
    let qualified = Arc::new(DFSchema::try_from_qualified_schema(
        table.name.as_str(),
        &table_schema(table),
    )?);
    let planned = planned(expr, &qualified, &type_names::of_columns(table))?;
    let typed = typed_expression(planned, &qualified)?;
    check_deterministic(&typed, what)?;
    let typed = meaning(typed)?;
    let expr = unqualified(simplified(typed, &qualified, None)?)?;
    let schema = DFSchema::try_from(table_schema(table).as_ref().clone())?;
    let (_, field) = expr.to_field(&schema)?;
    let names = expr.column_refs();
    let columns = names
        .iter()
        .filter_map(|column| table.column_named(&column.name))
        .map(|column| column.id);
    let mut columns: Vec<ColumnId> = columns.collect();
    columns.sort();
    Ok(TypedExpression {
        ty: data_type_of(&field),
        nullable: field.is_nullable(),
        columns,
        expr,
    })
}

/// Returns an expression of a statement, ready to be compiled on the columns of `schema`.
pub(crate) fn computed_on(
    expr: &ast::Expr,
    schema: &DFSchemaRef,
    params: &[ScalarValue],
) -> Result<Expr, SqlError> {
    let mut expr = expr.clone();
    crate::bind::spelling::rewrite::rewrite(&mut expr)?;
    crate::bind::spelling::integer_literals::typed(&mut expr);
    let named = ExprWithAlias { expr, alias: None };
    let logical = STATE.create_logical_expr_from_sql_expr(named, schema)?;
    let bound = logical.turn_up(&mut |part| match &part {
        Expr::Placeholder(placeholder) => {
            let digits = placeholder.id.strip_prefix('$').unwrap_or_default();
            let at = digits.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
            match at.and_then(|at| params.get(at)) {
                Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
                None => {
                    let message = format!("there is no parameter {}", placeholder.id);
                    Err(external(SqlError::statement("42P02", message)))
                }
            }
        }
        _ => Ok(Transformed::no(part)),
    })?;
    typed_casts::check(&bound.data, schema)?;
    simplified(typed_expression(bound.data, schema)?, schema, None)
}

/// Compiles an expression on the columns of `schema`.
pub(crate) fn physical(expr: Expr, schema: &DFSchemaRef) -> Result<Arc<dyn PhysicalExpr>, SqlError> {
    Ok(STATE.create_physical_expr(expr, schema)?)
}

/// Whether an expression that was stored gives numbers with other digits today: it was defined when quotients, roots and logarithms of
/// decimals were not exact, has the values that it had, and is none that a condition asks for.
pub(crate) fn has_other_digits(today: DataType, stored: DataType) -> bool {
    today != stored
        && (matches!(today, DataType::Numeric { .. }) || today.is_decimal() && !stored.is_decimal())
}

/// Resolves the names of an expression; `find` those of types that the database defines.
fn planned(expr: &ast::Expr, schema: &DFSchemaRef, find: &Find<'_>) -> Result<Expr, SqlError> {
    let mut expr = expr.clone();
    type_names::resolve(&mut expr, find);
    crate::bind::spelling::rewrite::rewrite(&mut expr)?;
    crate::bind::spelling::integer_literals::typed(&mut expr);
    let named = ExprWithAlias { expr, alias: None };
    Ok(STATE.create_logical_expr_from_sql_expr(named, schema)?)
}

/// Fails with 42846 if an expression on the columns of a table, which is to be stored, casts as PostgreSQL does not.
fn check_casts(table: &Table, expr: &ast::Expr) -> Result<(), SqlError> {
    let schema = DFSchema::try_from_qualified_schema(table.name.as_str(), &table_schema(table))?;
    let schema = Arc::new(schema);
    let planned = planned(expr, &schema, &type_names::of_columns(table))?;
    Ok(typed_casts::check(&planned, &schema)?)
}

/// Returns a time, in microseconds since 1970, as DataFusion takes it.
pub(crate) fn moment(micros: i64) -> Option<DateTime<Utc>> {
    timestamp_us_to_datetime(micros).map(|moment| moment.and_utc())
}

/// Coerces and simplifies an expression, as the optimiser does with those of queries. Without a time, `now()` stays as it is.
fn simplified(expr: Expr, schema: &DFSchemaRef, time: Option<i64>) -> Result<Expr, SqlError> {
    let context = SimplifyContext::builder()
        .with_schema(schema.clone())
        .with_query_execution_start_time(time.and_then(moment))
        .build();
    let simplifier = ExprSimplifier::new(context);
    let coerced = simplifier.coerce(expr, schema)?;
    Ok(simplified_apart(coerced, |expr| simplifier.simplify(expr))?)
}

/// Leaves out the table names of columns, and names of results.
fn unqualified(expr: Expr) -> Result<Expr, SqlError> {
    let transformed = expr.turn_up(&mut |part| match part {
        Expr::Alias(alias) => Ok(Transformed::yes(*alias.expr)),
        Expr::Column(column) => Ok(Transformed::yes(Expr::Column(Column::new_unqualified(
            column.name,
        )))),
        other => Ok(Transformed::no(other)),
    })?;
    Ok(transformed.data)
}

/// Functions that PostgreSQL marks STABLE, since they show values of any type as texts.
const STABLE: [&str; 1] = ["array_to_string"];

fn check_deterministic(expr: &Expr, what: &str) -> Result<(), SqlError> {
    let mut wrong = None;
    expr.each(&mut |part| {
        wrong = match part {
            Expr::ScalarFunction(call)
                if call.func.signature().volatility != Volatility::Immutable
                    || STABLE.contains(&call.func.name()) =>
            {
                Some(format!("functions in {what} must be marked IMMUTABLE"))
            }
            Expr::AggregateFunction(_) => Some(format!("aggregate functions are not allowed in {what}s")),
            Expr::WindowFunction(_) => Some(format!("window functions are not allowed in {what}s")),
            Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
                Some(format!("cannot use subquery in {what}"))
            }
            Expr::Placeholder(_) => Some(format!("{what}s have no parameters")),
            _ => None,
        };
        Ok(if wrong.is_some() {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    })?;
    match wrong {
        None => Ok(()),
        Some(message) => Err(SqlError::statement("42P17", message)),
    }
}

/// Returns a stored predicate of a partial index as an expression on the table's columns.
pub(crate) fn parse_predicate(table: &Table, sql: &str) -> Result<Expr, SqlError> {
    Ok(typed_sql(table, sql)?.expr)
}

/// Returns the text by which two typed expressions are compared.
pub(crate) fn normalise(expr: &Expr) -> String {
    match unqualified(expr.clone()) {
        Ok(bare) => crate::bind::types::normalise::sql_text(&bare),
        Err(_) => expr.to_string(),
    }
}

/// Evaluates an expression that needs neither rows nor parameters; `None` if it is no such expression.
pub(crate) fn evaluate_constant(expr: &ast::Expr) -> Result<Option<ScalarValue>, SqlError> {
    if needs_a_query(expr) || calls_sequence(expr) {
        return Ok(None);
    }
    let schema: DFSchemaRef = Arc::new(DFSchema::empty());
    let expr = planned(expr, &schema, &|_, _| None)?;
    typed_casts::check(&expr, &schema)?;
    match simplified(typed_expression(expr, &schema)?, &schema, None)? {
        Expr::Literal(value, _) => Ok(Some(value)),
        _ => Ok(None),
    }
}

/// Binds the calls of an expression without columns, and computes what can be.
pub(crate) fn bound_constant(expr: Expr) -> Result<Expr, SqlError> {
    let schema: DFSchemaRef = Arc::new(DFSchema::empty());
    simplified(typed_expression(expr, &schema)?, &schema, None)
}

/// Whether an expression holds a subquery or a parameter.
fn needs_a_query(expr: &ast::Expr) -> bool {
    struct Finder;

    impl ast::Visitor for Finder {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
            use ast::Expr as E;
            match expr {
                E::Subquery(_) | E::Exists { .. } | E::InSubquery { .. } => ControlFlow::Break(()),
                E::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    expr.walk(&mut Finder).is_break()
}

/// A default, within a statement.
pub(crate) enum DefaultValue {
    /// The same in all rows.
    Same(Datum),
    /// A volatile expression, such as `gen_random_uuid()`: computed for each row.
    Each(Arc<dyn PhysicalExpr>),
}

impl DefaultValue {
    /// Compiles a default for one statement, whose `now()` is `time`; fails with 42703 when it names a column.
    pub(crate) fn compile(sql: &str, ty: &DataType, column: &str, time: i64) -> Result<Self, SqlError> {
        let schema: DFSchemaRef = Arc::new(DFSchema::empty());
        let expr = planned(&parse_expression(sql)?, &schema, &type_names::of_type(*ty))?;
        let expr = simplified(typed_expression(expr, &schema)?, &schema, Some(time))?;
        if let Expr::Literal(value, _) = expr {
            return datum_from_scalar(&value, ty, column).map(DefaultValue::Same);
        }
        let is_volatile = expr.is_volatile();
        let each = DefaultValue::Each(STATE.create_physical_expr(expr, &schema)?);
        match is_volatile {
            true => Ok(each),
            false => each.next(ty, column).map(DefaultValue::Same),
        }
    }

    /// Returns the value of the next row.
    pub(crate) fn next(&self, ty: &DataType, column: &str) -> Result<Datum, SqlError> {
        match self {
            DefaultValue::Same(value) => Ok(value.clone()),
            DefaultValue::Each(expr) => {
                let row = batch_of_rows(Arc::new(Schema::empty()), &[], &[Vec::new()])?;
                let value = expr.evaluate(&row)?.into_array(1)?;
                let mut values = assigned_datums(&value, ty, column)?;
                Ok(values.pop().unwrap_or(Datum::Null))
            }
        }
    }
}

/// Evaluates a default for one row at the present time; fails with 42703 when it names a column.
pub(crate) fn evaluate_default(sql: &str, ty: &DataType, column: &str) -> Result<Datum, SqlError> {
    DefaultValue::compile(sql, ty, column, Utc::now().timestamp_micros())?.next(ty, column)
}

/// Compiles the conditions of a domain.
pub(crate) fn domain_rules(domain: &Domain) -> Result<DomainRules, EngineError> {
    DomainRules::new(domain, &Functions)
}

/// Compiles index expressions for the engine.
pub(crate) struct Functions;

impl RowFunctions for Functions {
    fn compile(&self, table: &Table, sql: &str, ty: &DataType) -> Result<Arc<dyn RowFunction>, EngineError> {
        compile(table, sql, ty).map_err(|error| function_error(sql, error))
    }
}

fn function_error(sql: &str, error: SqlError) -> EngineError {
    EngineError::Function {
        sql: sql.to_string(),
        source: Box::new(error),
    }
}

fn compile(table: &Table, sql: &str, ty: &DataType) -> Result<Arc<dyn RowFunction>, SqlError> {
    let mut typed = typed_sql(table, sql)?;
    if has_other_digits(typed.ty, *ty) {
        // Entries and values that are stored stay what they are.
        let of_before = |expr: Expr| {
            let changed = expr.turn_up(&mut |part| match &part {
                Expr::ScalarFunction(call) => {
                    Ok(inexact(call).map_or_else(|| Transformed::no(part.clone()), Transformed::yes))
                }
                _ => Ok(Transformed::no(part)),
            });
            Ok(changed?.data)
        };
        typed = typed_with(table, &stored_sql(sql)?, "index expression", of_before)?;
    }
    let positions: Vec<usize> = typed
        .columns
        .iter()
        .filter_map(|id| table.position(*id))
        .collect();
    let schema = Arc::new(
        table_schema(table)
            .project(&positions)
            .map_err(DataFusionError::from)?,
    );
    let types = positions
        .iter()
        .map(|position| table.columns[*position].ty)
        .collect();
    let resolved = DFSchema::try_from(schema.as_ref().clone())?;
    let compiled = STATE.create_physical_expr(typed.expr, &resolved)?;
    Ok(Arc::new(Compiled {
        sql: sql.to_string(),
        compiled,
        positions,
        schema,
        types,
        ty: *ty,
    }))
}

/// A compiled index expression.
struct Compiled {
    sql: String,
    compiled: Arc<dyn PhysicalExpr>,
    /// Columns of the row that the expression reads.
    positions: Vec<usize>,
    schema: Arc<Schema>,
    types: Vec<DataType>,
    ty: DataType,
}

impl RowFunction for Compiled {
    fn evaluate(&self, rows: &[&[Datum]]) -> Result<Vec<Datum>, EngineError> {
        self.try_evaluate(rows)
            .map_err(|error| function_error(&self.sql, error))
    }
}

impl Compiled {
    fn try_evaluate(&self, rows: &[&[Datum]]) -> Result<Vec<Datum>, SqlError> {
        let picked = |row: &&[Datum]| {
            self.positions
                .iter()
                .map(|position| row[*position].clone())
                .collect()
        };
        let rows: Vec<Vec<Datum>> = rows.iter().map(picked).collect();
        let batch = batch_of_rows(self.schema.clone(), &self.types, &rows)?;
        let values = self.compiled.evaluate(&batch)?.into_array(rows.len())?;
        assigned_datums(&values, &self.ty, "")
    }
}

/// An index on `extract(hour FROM ts)`, or on `date_part`, is one on the INTEGER that both are cast from: shorter keys, and conditions on
/// either have ranges of it.
fn of_whole_part(table: &Table, typed: TypedExpression) -> Result<TypedExpression, SqlError> {
    let whole = match &typed.expr {
        Expr::Cast(cast) if *cast.field.data_type() == WHOLE || cast.field.data_type().is_floating() => {
            match cast.expr.as_ref() {
                Expr::ScalarFunction(call) if call.name() == DATE_PART => cast.expr.as_ref().clone(),
                _ => return Ok(typed),
            }
        }
        _ => return Ok(typed),
    };
    let schema = DFSchema::try_from(table_schema(table).as_ref().clone())?;
    let (_, field) = whole.to_field(&schema)?;
    Ok(TypedExpression {
        ty: data_type_of(&field),
        expr: whole,
        ..typed
    })
}

/// Types an expression and returns the text that is stored, which must be read as the same again.
pub(crate) fn stored_expression(
    table: &Table,
    expr: &ast::Expr,
    what: &str,
) -> Result<(TypedExpression, String), SqlError> {
    check_stored(expr, what)?;
    check_casts(table, expr)?;
    let typed = match what {
        "index expression" => of_whole_part(table, typed_as(table, expr, what)?)?,
        _ => typed_as(table, expr, what)?,
    };
    let sql = normalise(&typed.expr);
    let is_same = |text: &str| {
        typed_sql(table, text).is_ok_and(|again| again.ty == typed.ty && again.expr == typed.expr)
    };
    // What binding puts in, such as casts of counts, is not always read as it is printed: then the text is as it was written.
    let written = || without_tables(expr);
    let mut texts = std::iter::once_with(|| sql.clone()).chain(std::iter::once_with(written));
    match texts.find(|text| is_same(text)) {
        Some(text) => Ok((typed, text)),
        None => Err(SqlError::unsupported(format!("this {what} is not supported"))
            .with_detail(format!("It would be stored as {sql}, which is not the same."))),
    }
}

/// Prints an expression as it was written, columns without the name of their table.
fn without_tables(expr: &ast::Expr) -> String {
    struct Bare;

    impl VisitorMut for Bare {
        type Break = Infallible;

        fn post_visit_expr(&mut self, expr: &mut ast::Expr) -> ControlFlow<Infallible> {
            if let ast::Expr::CompoundIdentifier(parts) = expr
                && let Some(column) = parts.pop()
            {
                *expr = ast::Expr::Identifier(column);
            }
            ControlFlow::Continue(())
        }
    }

    let mut expr = expr.clone();
    let ControlFlow::Continue(()) = expr.walk_mut(&mut Bare);
    type_names::stored_text(&expr)
}

/// Refuses what cannot be part of a definition: subqueries, parameters, and functions that would give
/// one value to all rows of a statement.
pub(crate) fn check_stored(expr: &ast::Expr, what: &str) -> Result<(), SqlError> {
    checked(expr, what, false)
}

/// As [`check_stored`], of a default, which may give another value for every row.
pub(crate) fn check_default(expr: &ast::Expr) -> Result<(), SqlError> {
    checked(expr, "DEFAULT expression", true)
}

fn checked(expr: &ast::Expr, what: &str, may_be_volatile: bool) -> Result<(), SqlError> {
    match expr.walk(&mut StoredChecker {
        what,
        may_be_volatile,
    }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Whether an expression calls a function that gives another value for every row.
pub(crate) fn is_volatile(expr: &ast::Expr) -> bool {
    checked(expr, "", true).is_ok() && checked(expr, "", false).is_err()
}

struct StoredChecker<'a> {
    what: &'a str,
    may_be_volatile: bool,
}

/// Functions that give another value for every row.
const VOLATILE: &[&str] = &[
    "random",
    "uuid",
    "gen_random_uuid",
    "uuid_generate_v4",
    "uuidv4",
    "uuidv7",
    "clock_timestamp",
];

impl Visitor for StoredChecker<'_> {
    type Break = SqlError;

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<SqlError> {
        ControlFlow::Break(SqlError::unsupported(format!(
            "cannot use subquery in {}",
            self.what
        )))
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<SqlError> {
        match expr {
            ast::Expr::Value(value) if matches!(value.value, ast::Value::Placeholder(_)) => {
                let message = format!("cannot use parameters in {}", self.what);
                ControlFlow::Break(SqlError::statement("42P02", message))
            }
            ast::Expr::Function(call)
                if !self.may_be_volatile
                    && VOLATILE.contains(&call.name.to_string().to_lowercase().as_str()) =>
            {
                let message = format!("function {}() in {} is not supported", call.name, self.what);
                ControlFlow::Break(SqlError::unsupported(message))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
