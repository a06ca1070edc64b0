//! CREATE, DROP and TRUNCATE: from what a statement says to definitions, with PostgreSQL's messages.
//!
//! Names become ids here, and every error that a name causes points to it. The rules of a definition
//! itself are the catalog's. A UNIQUE constraint of CREATE TABLE is a unique index of its own.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;
use datafusion::sql::sqlparser::ast::{self, Visit, Visitor};
use rukh_catalog::{
    Catalog, Column, ColumnId, Family, FamilyId, FamilyOptions, IndexDraft, IndexPredicate, KeyElement,
    KeyExpr, SaltOptions, Table, TableDraft, TableOptions, validate_index,
};
use rukh_engine::{EngineError, NoProgress};
use rukh_keys::{DataType, Datum, SortOrder};

use crate::SqlError;
use crate::context::Notice;
use crate::expressions::{TypedExpression, evaluate_default, normalise, typed_on};
use crate::session::Session;
use crate::statement::{
    ColumnDefinition, CreateIndexStatement, CreateTableStatement, Expression, KeyElementDefinition,
    KeyExprDefinition, Name, ObjectName, Statement, UniqueDefinition, parse_expression,
};
use crate::types::{arrow_type, table_schema};

/// The schema that every table is in.
const PUBLIC: &str = "public";

/// Runs a statement that changes definitions; returns its tag.
pub(crate) fn run(session: &mut Session, statement: &Statement) -> Result<String, SqlError> {
    let tag = match statement {
        Statement::CreateTable(table) => create_table(session, table).map(|()| "CREATE TABLE"),
        Statement::CreateIndex(index) => create_index(session, index).map(|()| "CREATE INDEX"),
        Statement::DropTable { names, if_exists } => {
            drop_tables(session, names, *if_exists).map(|()| "DROP TABLE")
        }
        Statement::DropIndex { names, if_exists } => {
            drop_indexes(session, names, *if_exists).map(|()| "DROP INDEX")
        }
        Statement::Truncate { tables } => truncate(session, tables).map(|()| "TRUNCATE TABLE"),
        _ => Err(SqlError::internal("the statement defines nothing")),
    };
    tag.map(str::to_string)
}

fn create_table(session: &mut Session, statement: &CreateTableStatement) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let name = &statement.name;
    if is_taken(session, &catalog, name, statement.if_not_exists)? {
        return Ok(());
    }
    let draft = table_draft(statement)?;
    check_uniques(statement)?;
    let placed = |error: rukh_engine::EngineError| SqlError::from(error).at(name.position);
    let table = session.engine().create_table(draft).map_err(placed)?;
    let created = create_uniques(session, &table, &statement.uniques);
    match created {
        Ok(()) => tell_what_has_no_effect(session, statement),
        Err(_) => session.engine().drop_table(table.id)?,
    }
    created
}

/// Options that are kept with the definition, but do nothing yet.
fn tell_what_has_no_effect(session: &mut Session, statement: &CreateTableStatement) {
    if statement
        .families
        .iter()
        .any(|family| family.compression.is_some())
    {
        session.notice(Notice::warning(
            "COMPRESSION has no effect yet: all families are compressed the same way",
        ));
    }
    if statement.options.immutable {
        session.notice(Notice::warning(
            "IMMUTABLE_ROWS has no effect yet: rows may be changed and removed",
        ));
    }
}

/// Whether a name is taken: a notice if the statement allows for it, else an error.
fn is_taken(
    session: &mut Session,
    catalog: &Catalog,
    name: &ObjectName,
    if_not_exists: bool,
) -> Result<bool, SqlError> {
    let schema = schema_of(name)?;
    match catalog.check_name_free(schema, &name.name) {
        Ok(()) => Ok(false),
        Err(_) if if_not_exists => {
            let message = format!("relation \"{}\" already exists, skipping", name.name);
            session.notice(Notice::new(message));
            Ok(true)
        }
        Err(error) => Err(SqlError::from(error).at(name.position)),
    }
}

/// Returns the schema that a name is in; there is one.
fn schema_of(name: &ObjectName) -> Result<&'static str, SqlError> {
    match name.schema.as_deref() {
        None | Some(PUBLIC) => Ok(PUBLIC),
        Some(other) => {
            let message = format!("schema \"{other}\" does not exist");
            Err(SqlError::statement("3F000", message).at(name.position))
        }
    }
}

/// Makes the draft of a table: names to ids, constants to datums.
fn table_draft(statement: &CreateTableStatement) -> Result<TableDraft, SqlError> {
    let families = families(statement)?;
    let columns = columns(statement, &families)?;
    let primary_key = primary_key(statement, &columns)?;
    let salt = match &statement.options.salt {
        None => None,
        Some(salt) => {
            let on = salt
                .columns
                .as_ref()
                .map(|names| column_ids(&columns, names))
                .transpose()?;
            Some(SaltOptions {
                buckets: salt.buckets,
                columns: on,
            })
        }
    };
    let split_on = split_keys(&statement.options.split_on, &primary_key, &columns)?;
    Ok(TableDraft {
        schema: schema_of(&statement.name)?.to_string(),
        name: statement.name.name.clone(),
        columns,
        primary_key,
        salt,
        families: families.into_iter().filter(|family| family.id.0 != 0).collect(),
        options: TableOptions {
            immutable: statement.options.immutable,
            split_on,
        },
    })
}

/// Returns all families named, the first one included, in order of appearance.
fn families(statement: &CreateTableStatement) -> Result<Vec<Family>, SqlError> {
    let default = Family {
        id: FamilyId(0),
        name: "default".to_string(),
        options: FamilyOptions::default(),
    };
    let mut families = vec![default];
    let add = |families: &mut Vec<Family>, name: &str| match families.iter().position(|f| f.name == name) {
        Some(position) => position,
        None => {
            let id = FamilyId(u16::try_from(families.len()).unwrap_or(u16::MAX));
            families.push(Family {
                id,
                name: name.to_string(),
                options: FamilyOptions::default(),
            });
            families.len() - 1
        }
    };
    for name in statement
        .columns
        .iter()
        .filter_map(|column| column.family.as_ref())
    {
        add(&mut families, &name.text);
    }
    let mut seen: Vec<&str> = Vec::new();
    for family in &statement.families {
        let Name { text, position } = &family.name;
        if seen.contains(&text.as_str()) {
            let message = format!("family \"{text}\" specified more than once");
            return Err(SqlError::statement("42P16", message).at(*position));
        }
        seen.push(text);
        let place = add(&mut families, text);
        if place == 0 && family.compression.is_some() {
            let message = "compression of family \"default\" cannot be chosen";
            return Err(SqlError::unsupported(message).at(*position));
        }
        families[place].options.compression = family.compression.clone();
    }
    Ok(families)
}

fn columns(statement: &CreateTableStatement, families: &[Family]) -> Result<Vec<Column>, SqlError> {
    let mut columns: Vec<Column> = Vec::with_capacity(statement.columns.len());
    for definition in &statement.columns {
        let Name { text, position } = &definition.name;
        if columns.iter().any(|column| column.name == *text) {
            let message = format!("column \"{text}\" specified more than once");
            return Err(SqlError::statement("42701", message).at(*position));
        }
        columns.push(Column {
            id: ColumnId(columns.len() as u32),
            name: text.clone(),
            ty: definition.ty,
            nullable: definition.nullable.unwrap_or(true),
            default: default_text(definition)?,
            family: definition
                .family
                .as_ref()
                .map_or(FamilyId(0), |name| family_id(families, name)),
        });
    }
    let mut chosen: HashMap<ColumnId, &str> = HashMap::new();
    for family in &statement.families {
        for name in &family.columns {
            let id = column_id(&columns, name)?;
            let column = &mut columns[id.0 as usize];
            if chosen.insert(id, &name.text).is_some() || column.family.0 != 0 {
                let message = format!("column \"{}\" belongs to more than one family", name.text);
                return Err(SqlError::statement("42701", message).at(name.position));
            }
            column.family = family_id(families, &family.name);
        }
    }
    Ok(columns)
}

fn family_id(families: &[Family], name: &Name) -> FamilyId {
    families
        .iter()
        .find(|family| family.name == name.text)
        .map_or(FamilyId(0), |family| family.id)
}

/// Returns a default as it is stored, after evaluating it once to see that it fits.
fn default_text(definition: &ColumnDefinition) -> Result<Option<String>, SqlError> {
    let Some(Expression { expr, position }) = &definition.default else {
        return Ok(None);
    };
    check_stored(expr, "DEFAULT expression").map_err(|error| error.at(*position))?;
    let sql = expr.to_string();
    evaluate_default(&sql, &definition.ty, &definition.name.text).map_err(|error| error.at(*position))?;
    Ok(Some(sql))
}

fn primary_key(statement: &CreateTableStatement, columns: &[Column]) -> Result<Vec<KeyElement>, SqlError> {
    let definitions = statement.primary_key.as_deref().unwrap_or_default();
    let mut elements = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let expr = match &definition.expr {
            KeyExprDefinition::Column(name) => KeyExpr::Column(key_column(columns, name)?),
            KeyExprDefinition::Hash { column, bytes } => KeyExpr::Hash {
                column: key_column(columns, column)?,
                bytes: *bytes,
            },
            KeyExprDefinition::Expression(_) => {
                let error = SqlError::syntax("a primary key is made of columns and HASH(column, n)");
                return Err(error.at(definition.position));
            }
        };
        if let KeyExprDefinition::Column(name) = &definition.expr
            && elements.iter().any(|known: &KeyElement| known.expr == expr)
        {
            let message = format!("column \"{}\" appears twice in primary key constraint", name.text);
            return Err(SqlError::statement("42701", message).at(name.position));
        }
        check_not_null(statement, &expr, definition)?;
        elements.push(KeyElement {
            expr,
            order: definition.order,
        });
    }
    Ok(elements)
}

/// Fails if a column of the key is declared NULL.
fn check_not_null(
    statement: &CreateTableStatement,
    expr: &KeyExpr,
    definition: &KeyElementDefinition,
) -> Result<(), SqlError> {
    let declared = |id: &ColumnId| &statement.columns[id.0 as usize];
    match expr
        .columns()
        .iter()
        .map(declared)
        .find(|column| column.nullable == Some(true))
    {
        None => Ok(()),
        Some(column) => {
            let message = format!(
                "conflicting NULL/NOT NULL declarations for column \"{}\"",
                column.name.text
            );
            Err(SqlError::syntax(message).at(definition.position))
        }
    }
}

fn key_column(columns: &[Column], name: &Name) -> Result<ColumnId, SqlError> {
    column_id(columns, name).map_err(|_| {
        let message = format!("column \"{}\" named in key does not exist", name.text);
        SqlError::statement("42703", message).at(name.position)
    })
}

fn column_id(columns: &[Column], name: &Name) -> Result<ColumnId, SqlError> {
    let found = columns.iter().find(|column| column.name == name.text);
    found
        .map(|column| column.id)
        .ok_or_else(|| SqlError::undefined_column(&name.text).at(name.position))
}

fn column_ids(columns: &[Column], names: &[Name]) -> Result<Vec<ColumnId>, SqlError> {
    names.iter().map(|name| column_id(columns, name)).collect()
}

fn split_keys(
    keys: &[Vec<Expression>],
    primary_key: &[KeyElement],
    columns: &[Column],
) -> Result<Vec<Vec<Datum>>, SqlError> {
    keys.iter()
        .map(|key| split_key(key, primary_key, columns))
        .collect()
}

fn split_key(
    key: &[Expression],
    primary_key: &[KeyElement],
    columns: &[Column],
) -> Result<Vec<Datum>, SqlError> {
    let mut datums = Vec::with_capacity(key.len());
    for (position, constant) in key.iter().enumerate() {
        let Some(element) = primary_key.get(position) else {
            let message = "a SPLIT ON key must be a prefix of the primary key";
            return Err(SqlError::statement("42P16", message).at(constant.position));
        };
        let (ty, name) = element_type(&element.expr, columns);
        check_stored(&constant.expr, "SPLIT ON key").map_err(|error| error.at(constant.position))?;
        let datum = evaluate_default(&constant.expr.to_string(), &ty, name);
        datums.push(datum.map_err(|error| error.at(constant.position))?);
    }
    Ok(datums)
}

fn element_type<'a>(expr: &KeyExpr, columns: &'a [Column]) -> (DataType, &'a str) {
    let column = |id: &ColumnId| &columns[id.0 as usize];
    match expr {
        KeyExpr::Column(id) => (column(id).ty, &column(id).name),
        KeyExpr::Hash { column: id, bytes } => (DataType::Binary(u32::from(*bytes)), &column(id).name),
        KeyExpr::Expression { ty, .. } => (*ty, ""),
    }
}

/// Fails on a UNIQUE constraint over a column that the table has not.
fn check_uniques(statement: &CreateTableStatement) -> Result<(), SqlError> {
    let known = |name: &Name| {
        statement
            .columns
            .iter()
            .any(|column| column.name.text == name.text)
    };
    match statement
        .uniques
        .iter()
        .flat_map(|unique| &unique.columns)
        .find(|name| !known(name))
    {
        None => Ok(()),
        Some(name) => {
            let message = format!("column \"{}\" named in key does not exist", name.text);
            Err(SqlError::statement("42703", message).at(name.position))
        }
    }
}

fn create_uniques(session: &Session, table: &Table, uniques: &[UniqueDefinition]) -> Result<(), SqlError> {
    for unique in uniques {
        let parts: Vec<String> = unique.columns.iter().map(|name| name.text.clone()).collect();
        let name = match &unique.name {
            Some(name) => name.text.clone(),
            None => free_name(&session.engine().catalog(), table, &parts, "key"),
        };
        let ids = column_ids(&table.columns, &unique.columns)?;
        let element = |id| KeyElement {
            expr: KeyExpr::Column(id),
            order: SortOrder::Asc,
        };
        let elements = ids.into_iter().map(element).collect();
        let draft = IndexDraft {
            name,
            unique: true,
            elements,
            include: Vec::new(),
            predicate: None,
        };
        let created = session.engine().create_index(table.id, draft, &NoProgress);
        let position = unique.columns.first().map_or(1, |name| name.position);
        created.map_err(|error| index_error(error).at(position))?;
    }
    Ok(())
}

fn create_index(session: &mut Session, statement: &CreateIndexStatement) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let table = session.table(&statement.table)?;
    if let Some(Name { text, position }) = &statement.name {
        let schema = Some(table.schema.clone());
        let name = ObjectName {
            schema,
            name: text.clone(),
            position: *position,
        };
        if is_taken(session, &catalog, &name, statement.if_not_exists)? {
            return Ok(());
        }
    }
    let draft = index_draft(statement, &catalog, &table)?;
    let position = statement
        .name
        .as_ref()
        .map_or(statement.table.position, |name| name.position);
    let placed = |error: SqlError| error.at(position);
    validate_index(draft.clone(), &table, rukh_catalog::IndexId(0)).map_err(|error| placed(error.into()))?;
    let task = session.task(format!("index {}", draft.name), "rows");
    let created = session.engine().create_index(table.id, draft, &task);
    created.map(|_| ()).map_err(|error| placed(index_error(error)))
}

/// Two rows with one key of a UNIQUE index are told as PostgreSQL tells them of a build.
fn index_error(error: EngineError) -> SqlError {
    match error {
        EngineError::UniqueViolation { constraint, key, .. } => {
            SqlError::constraint("23505", format!("could not create unique index \"{constraint}\""))
                .with_detail(format!("Key {key} is duplicated."))
        }
        other => other.into(),
    }
}

fn index_draft(
    statement: &CreateIndexStatement,
    catalog: &Catalog,
    table: &Table,
) -> Result<IndexDraft, SqlError> {
    let mut elements = Vec::with_capacity(statement.elements.len());
    for definition in &statement.elements {
        let expr = index_element(table, definition)?;
        elements.push(KeyElement {
            expr,
            order: definition.order,
        });
    }
    let name = match &statement.name {
        Some(name) => name.text.clone(),
        None => free_name(catalog, table, &element_names(table, &elements), "idx"),
    };
    let predicate = statement
        .predicate
        .as_ref()
        .map(|predicate| index_predicate(table, predicate))
        .transpose()?;
    let include = column_ids(&table.columns, &statement.include)?;
    Ok(IndexDraft {
        name,
        unique: statement.unique,
        elements,
        include,
        predicate,
    })
}

fn index_element(table: &Table, definition: &KeyElementDefinition) -> Result<KeyExpr, SqlError> {
    match &definition.expr {
        KeyExprDefinition::Column(name) => column_id(&table.columns, name).map(KeyExpr::Column),
        KeyExprDefinition::Hash { column, bytes } => Ok(KeyExpr::Hash {
            column: column_id(&table.columns, column)?,
            bytes: *bytes,
        }),
        KeyExprDefinition::Expression(expr) => {
            key_expression(table, expr).map_err(|error| error.at(definition.position))
        }
    }
}

/// Makes an element of an expression; one that is a column or a hash of one is stored as such.
fn key_expression(table: &Table, expr: &ast::Expr) -> Result<KeyExpr, SqlError> {
    let (typed, sql) = stored_expression(table, expr, "index expression")?;
    if let Expr::Column(column) = &typed.expr
        && let Some(column) = table.column_named(&column.name)
    {
        return Ok(KeyExpr::Column(column.id));
    }
    if let Some(hash) = hash_element(table, &typed.expr) {
        return Ok(hash);
    }
    let schema = DFSchema::try_from(table_schema(table).as_ref().clone())?;
    let arrow = typed.expr.get_type(&schema)?;
    if !holds(&typed.ty, &arrow) {
        let message = format!("an index cannot hold values of type {arrow}");
        return Err(
            SqlError::unsupported(message).with_hint("Cast the expression to a type that a column has.")
        );
    }
    let TypedExpression {
        ty,
        nullable,
        columns,
        ..
    } = typed;
    Ok(KeyExpr::Expression {
        sql,
        ty,
        nullable,
        columns,
    })
}

/// Whether values of an Arrow type are kept whole by the type that an index gives them.
fn holds(ty: &DataType, arrow: &ArrowType) -> bool {
    let is_text = matches!(arrow, ArrowType::Utf8View | ArrowType::LargeUtf8);
    let is_bytes = matches!(arrow, ArrowType::BinaryView | ArrowType::LargeBinary);
    arrow_type(ty) == *arrow || ty.is_text() && is_text || ty.is_bytes() && is_bytes
}

fn hash_element(table: &Table, expr: &Expr) -> Option<KeyExpr> {
    let Expr::ScalarFunction(call) = expr else {
        return None;
    };
    let [
        Expr::Column(column),
        Expr::Literal(ScalarValue::Int64(Some(bytes)), _),
    ] = call.args.as_slice()
    else {
        return None;
    };
    let column = table.column_named(&column.name)?;
    (call.name() == "hash").then_some(KeyExpr::Hash {
        column: column.id,
        bytes: u8::try_from(*bytes).ok()?,
    })
}

fn index_predicate(table: &Table, predicate: &Expression) -> Result<IndexPredicate, SqlError> {
    let place = |error: SqlError| error.at(predicate.position);
    let (typed, sql) = stored_expression(table, &predicate.expr, "index predicate").map_err(place)?;
    if typed.ty != DataType::Boolean {
        let message = format!(
            "argument of WHERE must be type boolean, not type {}",
            typed.ty.postgres_name()
        );
        return Err(SqlError::statement("42804", message).at(predicate.position));
    }
    Ok(IndexPredicate {
        sql,
        columns: typed.columns,
    })
}

/// Types an expression and returns the text that is stored, which must be read as the same again.
fn stored_expression(
    table: &Table,
    expr: &ast::Expr,
    what: &str,
) -> Result<(TypedExpression, String), SqlError> {
    check_stored(expr, what)?;
    let typed = typed_on(table, expr)?;
    let sql = normalise(&typed.expr);
    let again = parse_expression(&sql).and_then(|expr| typed_on(table, &expr));
    match again {
        Ok(again) if again.ty == typed.ty && normalise(&again.expr) == sql => Ok((typed, sql)),
        _ => Err(SqlError::unsupported(format!("this {what} is not supported"))
            .with_detail(format!("It would be stored as {sql}, which is not the same."))),
    }
}

/// Refuses what cannot be part of a definition: subqueries, parameters, and functions that would give
/// one value to all rows of a statement.
fn check_stored(expr: &ast::Expr, what: &str) -> Result<(), SqlError> {
    match expr.visit(&mut StoredChecker { what }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

struct StoredChecker<'a> {
    what: &'a str,
}

/// Functions that give another value for every row.
const VOLATILE: &[&str] = &["random", "uuid", "gen_random_uuid", "uuidv4", "uuidv7"];

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
                if VOLATILE.contains(&call.name.to_string().to_lowercase().as_str()) =>
            {
                let message = format!("function {}() in {} is not supported", call.name, self.what);
                ControlFlow::Break(SqlError::unsupported(message))
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Returns the names that the elements give to an index without a name of its own.
fn element_names(table: &Table, elements: &[KeyElement]) -> Vec<String> {
    let name = |element: &KeyElement| match &element.expr {
        KeyExpr::Column(id) => table.column_name(*id).to_string(),
        KeyExpr::Hash { column, .. } => format!("{}_hash", table.column_name(*column)),
        KeyExpr::Expression { sql, .. } => match sql.split_once('(') {
            Some((function, _)) if is_plain_word(function) => function.to_string(),
            _ => "expr".to_string(),
        },
    };
    elements.iter().map(name).collect()
}

fn is_plain_word(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// Returns `t_a_b_idx`, or with the first number behind it that makes it free.
fn free_name(catalog: &Catalog, table: &Table, parts: &[String], suffix: &str) -> String {
    let base = format!("{}_{}_{suffix}", table.name, parts.join("_"));
    let is_free = |name: &String| catalog.check_name_free(&table.schema, name).is_ok();
    let mut numbered = (1u32..).map(|n| format!("{base}{n}"));
    match is_free(&base) {
        true => base,
        false => numbered.find(is_free).unwrap_or(base),
    }
}

fn drop_tables(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut tables: Vec<Arc<Table>> = Vec::new();
    for name in names {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match catalog.table_named(schema, &name.name) {
            Ok(table) if !tables.iter().any(|known| known.id == table.id) => tables.push(table.clone()),
            Ok(_) => {}
            Err(_) if catalog.index_named(schema, &name.name).is_ok() => {
                return Err(wrong_kind(name, "a table", "Use DROP INDEX to remove an index."));
            }
            Err(_) => unknown(session, "table", name, if_exists, "42P01")?,
        }
    }
    for table in tables {
        session.engine().drop_table(table.id)?;
    }
    Ok(())
}

fn drop_indexes(session: &mut Session, names: &[ObjectName], if_exists: bool) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut indexes = Vec::new();
    for name in names {
        let schema = name.schema.as_deref().unwrap_or(PUBLIC);
        match catalog.index_named(schema, &name.name) {
            Ok((_, index)) if !indexes.contains(&index.id) => indexes.push(index.id),
            Ok(_) => {}
            Err(_) if catalog.table_named(schema, &name.name).is_ok() => {
                return Err(wrong_kind(name, "an index", "Use DROP TABLE to remove a table."));
            }
            Err(_) => unknown(session, "index", name, if_exists, "42704")?,
        }
    }
    for index in indexes {
        session.engine().drop_index(index)?;
    }
    Ok(())
}

fn wrong_kind(name: &ObjectName, kind: &str, hint: &str) -> SqlError {
    let message = format!("\"{}\" is not {kind}", name.name);
    SqlError::statement("42809", message)
        .at(name.position)
        .with_hint(hint)
}

/// Takes note of a name to drop that is not known, or fails.
fn unknown(
    session: &mut Session,
    kind: &str,
    name: &ObjectName,
    if_exists: bool,
    sqlstate: &'static str,
) -> Result<(), SqlError> {
    let message = format!("{kind} \"{}\" does not exist", name.name);
    if !if_exists {
        return Err(SqlError::statement(sqlstate, message).at(name.position));
    }
    session.notice(Notice::new(format!("{message}, skipping")));
    Ok(())
}

fn truncate(session: &Session, names: &[ObjectName]) -> Result<(), SqlError> {
    let tables = names
        .iter()
        .map(|name| session.table(name))
        .collect::<Result<Vec<_>, _>>()?;
    for table in tables {
        session.engine().truncate(table.id)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
