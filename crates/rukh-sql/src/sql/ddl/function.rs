//! CREATE FUNCTION and ALTER FUNCTION.
//!
//! A function is stored as a query whose parameters are `$1`, `$2`; calls are replaced by it before a statement is planned
//! (`bind::names::functions`). Definitions of tables have the body as it was when they were made; views and other functions the call.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::ops::ControlFlow;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::logical_expr::LogicalPlan;
use rukh_catalog::{Catalog, Function, FunctionId, Parameter, Returns, Table, ValueType, View};
use rukh_engine::DefinitionChanges;
use rukh_error::SqlError;
use rukh_functions::casts::table::{Context, Kind, context};
use rukh_functions::types::data_type_of;
use rukh_keys::DataType;
use rukh_syntax::sql_text;
use rukh_syntax::sqlparser::ast::{
    self, Expr, OrderByKind, Query, SelectItem, SetExpr, TableFactor, Value, Visitor, VisitorMut,
};
use rukh_syntax::{
    FunctionAction, FunctionDefinition, FunctionName, FunctionStatement, Name, ReturnsDefinition, Statement,
    TypeName, Walk, WalkMut, folded,
};

use super::names::{domain_of, schema_of, unknown};
use super::remove::drop_functions;
use crate::bind::names::functions::{self, columns_of, only_item, parameter_number, substitute, typed};
use crate::bind::names::type_names::{self, stored_text};
use crate::bind::names::views;
use crate::bind::passes::Made;
use crate::bind::plans::once::is_volatile;
use crate::bind::spelling::parsing::parse;
use crate::sql::roles;
use crate::sql::session::Session;

/// Runs a statement about functions; returns its tag.
pub(super) fn function(
    session: &mut Session,
    statement: &FunctionStatement,
) -> Result<&'static str, SqlError> {
    match statement {
        FunctionStatement::Create(definition) => create(session, definition).map(|()| "CREATE FUNCTION"),
        FunctionStatement::Drop {
            functions,
            if_exists,
            cascade,
        } => drop_functions(session, functions, *if_exists, *cascade).map(|()| "DROP FUNCTION"),
        FunctionStatement::Alter { function, action } => {
            alter(session, function, action).map(|()| "ALTER FUNCTION")
        }
    }
}

fn create(session: &mut Session, definition: &FunctionDefinition) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let new = defined(session, &catalog, definition)?;
    let position = definition.name.position;
    let schema = new.schema.clone();
    session.engine().clone().change_definitions(|catalog| {
        let mut new = new.clone();
        let mut others = catalog.functions_named(&schema, &definition.name.name);
        match others.find(|other| other.parameter_types() == new.parameter_types()) {
            None => check_distinct(catalog, &new)?,
            Some(_) if !definition.or_replace => {
                let message = format!(
                    "function \"{}\" already exists with same argument types",
                    new.name
                );
                return Err(SqlError::statement("42723", message).at(position));
            }
            Some(old) => {
                check_replaced(old, &new).map_err(|error| error.at(position))?;
                new.id = old.id;
                new.comment.clone_from(&old.comment);
            }
        }
        Ok(DefinitionChanges {
            functions: vec![new],
            ..DefinitionChanges::default()
        })
    })
}

/// Fails unless the number of arguments distinguishes a function from the others of its name.
fn check_distinct(catalog: &Catalog, new: &Function) -> Result<(), SqlError> {
    let mut others = catalog.functions_named(&new.schema, &new.name);
    match others.find(|other| other.id != new.id && other.parameters.len() == new.parameters.len()) {
        None => Ok(()),
        Some(other) => Err(SqlError::unsupported(
            "functions of one name that differ in the types of parameters only are not supported",
        )
        .with_detail(format!("There is a function {}.", other.signature()))),
    }
}

/// Fails if a function that replaces another gives something else, or has other names of parameters.
fn check_replaced(old: &Function, new: &Function) -> Result<(), SqlError> {
    let hint = format!("Use DROP FUNCTION {} first.", old.signature());
    if old.returns != new.returns {
        let message = "cannot change return type of existing function";
        return Err(SqlError::statement("42P13", message).with_hint(hint));
    }
    for (old, new) in old.parameters.iter().zip(&new.parameters) {
        if let Some(name) = &old.name
            && new.name.as_ref() != Some(name)
        {
            let message = format!("cannot change name of input parameter \"{name}\"");
            return Err(SqlError::statement("42P13", message).with_hint(hint));
        }
        if old.default.is_some() && new.default.is_none() {
            let message = "cannot remove parameter defaults from existing function";
            return Err(SqlError::statement("42P13", message).with_hint(hint));
        }
    }
    Ok(())
}

/// Makes the definition of a function that has no id yet.
fn defined(
    session: &mut Session,
    catalog: &Catalog,
    definition: &FunctionDefinition,
) -> Result<Function, SqlError> {
    let schema = schema_of(catalog, &definition.name)?.to_string();
    let parameters = parameters(session, catalog, definition)?;
    let returns = returns(catalog, &definition.returns)?;
    let mut function = Function {
        id: FunctionId(0),
        schema,
        name: definition.name.name.clone(),
        parameters,
        returns,
        source: definition.body.source.clone(),
        is_expression: definition.body.is_expression,
        sql: String::new(),
        inlines: false,
        volatility: definition.volatility,
        strict: definition.strict,
        comment: None,
    };
    let mut query = definition.body.query.as_ref().clone();
    let placed = |error: SqlError| error.at(definition.body.position);
    numbered(&mut query, &function, catalog).map_err(placed)?;
    views::qualify(&mut query, catalog);
    type_names::spell_out(&mut query);
    function.sql = sql_text(&query);
    // What is stored is what is planned, now and whenever the function is called.
    let (plan, schema) = planned(session, catalog, &function).map_err(placed)?;
    check_columns(catalog, &function, &schema).map_err(placed)?;
    let is_value = matches!(function.returns, Returns::Value(_));
    function.inlines = is_value && only_item(&query).is_some() && is_projection(&plan);
    if !function.inlines && is_volatile(&plan)? {
        return Err(placed(SqlError::unsupported(
            "a function whose query is volatile is not supported",
        )));
    }
    Ok(function)
}

fn parameters(
    session: &mut Session,
    catalog: &Catalog,
    definition: &FunctionDefinition,
) -> Result<Vec<Parameter>, SqlError> {
    let mut parameters: Vec<Parameter> = Vec::with_capacity(definition.parameters.len());
    for given in &definition.parameters {
        let ty = value_type(catalog, &given.ty)?;
        let name = given.name.as_ref();
        if let Some(name) = name
            && parameters
                .iter()
                .any(|known| known.name.as_deref() == Some(&name.text))
        {
            let message = format!("parameter name \"{}\" used more than once", name.text);
            return Err(SqlError::statement("42P13", message).at(name.position));
        }
        let is_optional = parameters.last().is_some_and(|last| last.default.is_some());
        if is_optional && given.default.is_none() {
            let message = "input parameters after one with a default value must also have defaults";
            return Err(SqlError::statement("42P13", message).at(given.position));
        }
        let default = match &given.default {
            None => None,
            Some(default) => {
                let text = stored_text(&default.expr);
                let value = SelectItem::UnnamedExpr(typed(default.expr.clone(), &ty));
                let query = rukh_syntax::make::select_values(vec![value]);
                session
                    .plan_of(&query)
                    .map_err(|error| error.at(default.position))?;
                Some(text)
            }
        };
        parameters.push(Parameter {
            name: name.map(|name| name.text.clone()),
            ty,
            default,
        });
    }
    Ok(parameters)
}

fn returns(catalog: &Catalog, given: &ReturnsDefinition) -> Result<Returns, SqlError> {
    match given {
        ReturnsDefinition::Table(columns) => {
            let mut known: Vec<(String, ValueType)> = Vec::with_capacity(columns.len());
            for (name, ty) in columns {
                if known.iter().any(|(other, _)| *other == name.text) {
                    let message = format!("parameter name \"{}\" used more than once", name.text);
                    return Err(SqlError::statement("42P13", message).at(name.position));
                }
                known.push((name.text.clone(), value_type(catalog, ty)?));
            }
            Ok(Returns::Table(known))
        }
        ReturnsDefinition::Type { is_set, ty, position } => {
            if let TypeName::Named {
                name,
                array: false,
                of: None,
            } = ty
            {
                let schema = name.schema.as_deref().unwrap_or(rukh_catalog::PUBLIC);
                if columns_of(catalog, schema, &name.name).is_ok() {
                    return match is_set {
                        true => Ok(Returns::Relation {
                            schema: schema.to_string(),
                            name: name.name.clone(),
                        }),
                        false => Err(SqlError::unsupported(
                            "functions that return one row are not supported",
                        )
                        .at(*position)
                        .with_hint("Return SETOF the relation.")),
                    };
                }
            }
            let ty = value_type(catalog, ty)?;
            Ok(match is_set {
                true => Returns::Values(ty),
                false => Returns::Value(ty),
            })
        }
    }
}

fn value_type(catalog: &Catalog, ty: &TypeName) -> Result<ValueType, SqlError> {
    let domain = domain_of(catalog, ty)?;
    let known = ty.known()?;
    let ty = if domain.is_some() {
        known
    } else {
        unmodified(known)
    };
    Ok(ValueType { ty, domain })
}

/// Returns a type without a length or a precision: functions have none.
fn unmodified(ty: DataType) -> DataType {
    match ty {
        DataType::Decimal { .. } | DataType::Numeric { .. } => DataType::NUMERIC,
        DataType::Varchar(_) => DataType::Varchar(None),
        DataType::Varbinary(_) => DataType::Varbinary(None),
        DataType::Time { .. } => DataType::Time { precision: 6 },
        DataType::Timestamp { .. } => DataType::Timestamp { precision: 6 },
        DataType::TimestampTz { .. } => DataType::TimestampTz { precision: 6 },
        DataType::Array(element) => unmodified(*element).array(),
        other => other,
    }
}

/// Gives the parameters of a body their numbers: `price` and `total.price` become `$1`.
///
/// A name that a column has is that of the column, as in PostgreSQL. Where a body has several queries, it is refused: the column may not
/// be there where the name stands.
fn numbered(query: &mut Query, function: &Function, catalog: &Catalog) -> Result<(), SqlError> {
    struct Numberer<'f> {
        function: &'f Function,
        columns: BTreeSet<String>,
        queries: usize,
    }

    impl Numberer<'_> {
        fn number(&self, name: &str) -> Option<usize> {
            let mut parameters = self.function.parameters.iter();
            parameters.position(|parameter| parameter.name.as_deref() == Some(name))
        }
    }

    impl VisitorMut for Numberer<'_> {
        type Break = SqlError;

        fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<SqlError> {
            let (at, name) = match &*expr {
                Expr::Identifier(ident) => {
                    let name = folded(ident);
                    (self.number(&name), name)
                }
                Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                    [of, ident] if folded(of) == self.function.name => {
                        (self.number(&folded(ident)), String::new())
                    }
                    _ => (None, String::new()),
                },
                _ => match parameter_number(expr) {
                    Some(number) if number == 0 || number > self.function.parameters.len() => {
                        let message = format!("there is no parameter ${number}");
                        return ControlFlow::Break(SqlError::statement("42P02", message));
                    }
                    _ => (None, String::new()),
                },
            };
            let Some(at) = at else {
                return ControlFlow::Continue(());
            };
            if self.columns.contains(&name) {
                if self.queries == 1 {
                    return ControlFlow::Continue(());
                }
                let message = format!("column reference \"{name}\" is ambiguous");
                return ControlFlow::Break(
                    SqlError::statement("42702", message)
                        .with_detail("It could refer to either a parameter or a table column.")
                        .with_hint(format!("Write ${} for the parameter.", at + 1)),
                );
            }
            *expr = Expr::Value(Value::Placeholder(format!("${}", at + 1)).into());
            ControlFlow::Continue(())
        }
    }

    order_by_place(query);
    let (columns, queries) = columns_in(query, catalog);
    let mut numberer = Numberer {
        function,
        columns,
        queries,
    };
    match query.walk_mut(&mut numberer) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

/// Gives output columns in ORDER BY their places: `SELECT total AS price … ORDER BY price` is no parameter.
fn order_by_place(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_ref() else {
        return;
    };
    let place = |name: &ast::Ident| {
        select.projection.iter().position(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => folded(alias) == folded(name),
            _ => false,
        })
    };
    if let Some(order) = &mut query.order_by
        && let OrderByKind::Expressions(keys) = &mut order.kind
    {
        for key in keys {
            if let Expr::Identifier(name) = &key.expr
                && let Some(at) = place(name)
            {
                key.expr = Expr::Value(Value::Number((at + 1).to_string(), false).into());
            }
        }
    }
}

/// Returns the names of all columns that a body may read, and how many queries it has.
fn columns_in(query: &Query, catalog: &Catalog) -> (BTreeSet<String>, usize) {
    struct Finder<'c> {
        catalog: &'c Catalog,
        columns: BTreeSet<String>,
        queries: usize,
        depth: usize,
    }

    impl Visitor for Finder<'_> {
        type Break = Infallible;

        fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
            self.queries += 1;
            self.depth += 1;
            ControlFlow::Continue(())
        }

        fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Infallible> {
            self.depth -= 1;
            ControlFlow::Continue(())
        }

        fn pre_visit_select(&mut self, select: &ast::Select) -> ControlFlow<Infallible> {
            // Those of the body itself are seen by ORDER BY alone, and some stand for the name that an item has anyway.
            if self.depth > 1 {
                let aliases = select.projection.iter().filter_map(|item| match item {
                    SelectItem::ExprWithAlias { alias, .. } => Some(folded(alias)),
                    _ => None,
                });
                self.columns.extend(aliases);
            }
            ControlFlow::Continue(())
        }

        fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Infallible> {
            let (name, alias) = match factor {
                TableFactor::Table { name, alias, .. } => (Some(name), alias),
                TableFactor::Derived { alias, .. } | TableFactor::Function { alias, .. } => (None, alias),
                _ => return ControlFlow::Continue(()),
            };
            let aliases = alias.iter().flat_map(|alias| &alias.columns);
            self.columns.extend(aliases.map(|column| folded(&column.name)));
            // That of a function in FROM is its only column, too.
            self.columns.extend(
                alias
                    .iter()
                    .filter(|_| name.is_none())
                    .map(|alias| folded(&alias.name)),
            );
            if let Some(name) = name.and_then(|name| rukh_syntax::ObjectName::from_ast(name).ok()) {
                let schema = name.schema.as_deref().unwrap_or(rukh_catalog::PUBLIC);
                let columns = columns_of(self.catalog, schema, &name.name).unwrap_or_default();
                self.columns.extend(columns.into_iter().map(|(name, _)| name));
            }
            ControlFlow::Continue(())
        }
    }

    let mut finder = Finder {
        catalog,
        columns: BTreeSet::new(),
        queries: 0,
        depth: 0,
    };
    let ControlFlow::Continue(()) = query.walk(&mut finder);
    (finder.columns, finder.queries)
}

/// Plans the body of a function for NULLs; returns its plan before it is optimised, and the columns.
fn planned(
    session: &mut Session,
    catalog: &Catalog,
    function: &Function,
) -> Result<(LogicalPlan, SchemaRef), SqlError> {
    let Statement::Query(mut query) = parse(&function.sql)? else {
        return Err(SqlError::internal(
            "a function holds another statement than a query",
        ));
    };
    let null = |parameter: &Parameter| typed(Expr::Value(Value::Null.into()), &parameter.ty);
    let nulls: Vec<Expr> = function.parameters.iter().map(null).collect();
    substitute(query.as_mut(), &nulls);
    views::resolve_stored(query.as_mut(), catalog)?;
    let mut found = None;
    let plan = session.watched_plan_of(&query, &mut |pass, made| {
        if let ("literals", Made::Plan(plan)) = (pass, made) {
            found = Some(plan.clone());
        }
    })?;
    let schema = plan.schema().inner().clone();
    Ok((found.unwrap_or(plan), schema))
}

/// Whether a plan is a row of values, of which none is an aggregate or a set.
fn is_projection(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => {
            matches!(projection.input.as_ref(), LogicalPlan::EmptyRelation(_))
        }
        _ => false,
    }
}

/// Fails unless the columns of a body are those that the function says it gives.
fn check_columns(catalog: &Catalog, function: &Function, schema: &SchemaRef) -> Result<(), SqlError> {
    let (name, wanted): (String, Vec<ValueType>) = match &function.returns {
        Returns::Value(ty) | Returns::Values(ty) => (ty.sql_name(), vec![ty.clone()]),
        Returns::Table(columns) => {
            let types = columns.iter().map(|(_, ty)| ty.clone());
            let name = if columns.len() == 1 {
                columns[0].1.sql_name()
            } else {
                "record".to_string()
            };
            (name, types.collect())
        }
        Returns::Relation { schema, name } => {
            let columns = columns_of(catalog, schema, name)?;
            (name.clone(), columns.into_iter().map(|(_, ty)| ty).collect())
        }
    };
    let mismatch = |detail: String| {
        let message = format!("return type mismatch in function declared to return {name}");
        Err(SqlError::statement("42P13", message).with_detail(detail))
    };
    let is_rows = !matches!(function.returns, Returns::Value(_) | Returns::Values(_));
    let found = schema.fields();
    match found.len().cmp(&wanted.len()) {
        std::cmp::Ordering::Equal => {}
        _ if !is_rows => return mismatch("Final statement must return exactly one column.".to_string()),
        std::cmp::Ordering::Less => return mismatch("Final statement returns too few columns.".to_string()),
        std::cmp::Ordering::Greater => {
            return mismatch("Final statement returns too many columns.".to_string());
        }
    }
    for (at, (field, wanted)) in found.iter().zip(&wanted).enumerate() {
        let ty = data_type_of(field);
        let is_null = field.data_type().is_null();
        let assigns =
            context(Kind::of(ty), Kind::of(wanted.ty)).is_some_and(|context| context != Context::Explicit);
        if !is_null && !assigns {
            let ty = ty.postgres_name();
            return match is_rows {
                true => mismatch(format!(
                    "Final statement returns {ty} instead of {} at column {}.",
                    wanted.sql_name(),
                    at + 1
                )),
                false => mismatch(format!("Actual return type is {ty}.")),
            };
        }
    }
    Ok(())
}

/// Returns the function that a statement names, or an error at its place.
pub(super) fn function_named<'c>(
    catalog: &'c Catalog,
    name: &FunctionName,
) -> Result<&'c Function, SqlError> {
    let schema = name.name.schema.as_deref().unwrap_or(rukh_catalog::PUBLIC);
    let mut all = catalog.functions_named(schema, &name.name.name);
    let undefined = |message: String| SqlError::statement("42883", message).at(name.name.position);
    let Some(given) = &name.parameters else {
        let first = all
            .next()
            .ok_or_else(|| undefined(format!("could not find a function named \"{}\"", name.name.name)))?;
        if all.next().is_some() {
            let message = format!("function name \"{}\" is not unique", name.name.name);
            return Err(SqlError::statement("42725", message)
                .at(name.name.position)
                .with_hint("Specify the argument list to select the function unambiguously."));
        }
        return Ok(first);
    };
    let types = given.iter().map(|ty| value_type(catalog, ty));
    let types: Vec<ValueType> = types.collect::<Result<_, _>>()?;
    let is_meant = |function: &&std::sync::Arc<Function>| {
        let own = function.parameters.iter().map(|parameter| &parameter.ty);
        own.eq(&types)
    };
    match all.find(is_meant) {
        Some(found) => Ok(found),
        None => {
            let types: Vec<String> = types.iter().map(ValueType::sql_name).collect();
            Err(undefined(format!(
                "function {}({}) does not exist",
                name.name.name,
                types.join(", ")
            )))
        }
    }
}

fn alter(session: &mut Session, name: &FunctionName, action: &FunctionAction) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    match action {
        FunctionAction::OwnerTo(owner) => {
            let catalog = engine.catalog();
            roles::give_function(session, function_named(&catalog, name)?, owner)
        }
        FunctionAction::RenameTo(new) => engine.change_definitions(|catalog| {
            let function = function_named(catalog, name)?;
            moved(catalog, function, &function.schema, new)
        }),
        FunctionAction::SetSchema(schema) => engine.change_definitions(|catalog| {
            let function = function_named(catalog, name)?;
            if !catalog.has_schema(&schema.text) {
                return Err(unknown(&schema.text).at(schema.position));
            }
            let own = Name {
                text: function.name.clone(),
                position: schema.position,
            };
            moved(catalog, function, &schema.text, &own)
        }),
    }
}

/// Returns what changes when a function gets another name or goes to another schema: views and functions that call it.
fn moved(
    catalog: &Catalog,
    function: &Function,
    schema: &str,
    name: &Name,
) -> Result<DefinitionChanges, SqlError> {
    let mut next = function.clone();
    next.schema = schema.to_string();
    next.name.clone_from(&name.text);
    let mut others = catalog.functions_named(schema, &name.text);
    if others.any(|other| other.parameter_types() == next.parameter_types()) {
        let message = format!(
            "function {} already exists in schema \"{schema}\"",
            next.signature()
        );
        return Err(SqlError::statement("42723", message).at(name.position));
    }
    check_distinct(catalog, &next).map_err(|error| error.at(name.position))?;
    let renamed = |sql: &mut String| {
        let Statement::Query(mut query) = parse(sql)? else {
            return Ok(false);
        };
        let found = functions::rename(query.as_mut(), catalog, function.id, schema, &name.text);
        if found {
            *sql = sql_text(&query);
        }
        Ok::<_, SqlError>(found)
    };
    let mut changes = DefinitionChanges::default();
    renamed(&mut next.sql)?;
    changes.functions.push(next);
    for other in catalog.functions().filter(|other| other.id != function.id) {
        let mut other = Function::clone(other);
        if renamed(&mut other.sql)? {
            changes.functions.push(other);
        }
    }
    for view in catalog.views() {
        let mut view = View::clone(view);
        if renamed(&mut view.sql)? {
            changes.views.push(view);
        }
    }
    for (table, _) in catalog.materialized() {
        let mut table = Table::clone(table);
        if let Some(materialized) = &mut table.materialized
            && renamed(&mut materialized.query.sql)?
        {
            changes.tables.push(table);
        }
    }
    Ok(changes)
}
