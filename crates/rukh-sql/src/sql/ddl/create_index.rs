//! CREATE INDEX: elements, expressions and the condition, typed on the columns of their table.

use datafusion::arrow::datatypes::DataType as ArrowType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::scalar::ScalarValue;
use rukh_catalog::{
    Catalog, ColumnId, FamilyId, IndexDraft, IndexLayout, IndexPredicate, KeyElement, KeyExpr, Table,
    validate_index,
};
use rukh_engine::EngineError;
use rukh_keys::DataType;
use rukh_syntax::sqlparser::ast;
use rukh_syntax::{
    CreateIndexStatement, Expression, KeyElementDefinition, KeyExprDefinition, Name, ObjectName,
};

use super::columns::{column_id, column_ids};
use super::names::{free_name, is_taken};
use crate::bind::types::expressions::{TypedExpression, stored_expression};
use crate::bind::types::table_schema::table_schema;
use crate::sql::session::Session;
use rukh_error::SqlError;
use rukh_functions::types::arrow_type;

pub(super) fn create_index(session: &mut Session, statement: &CreateIndexStatement) -> Result<(), SqlError> {
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
    created.map_err(|error| placed(index_error(error)))?;
    session.notices(&statement.notices);
    Ok(())
}

/// Returns PostgreSQL's error of CREATE UNIQUE INDEX for two rows with one key.
pub(super) fn index_error(error: EngineError) -> SqlError {
    match error {
        EngineError::UniqueViolation {
            constraint,
            key,
            table,
            ..
        } => SqlError::constraint("23505", format!("could not create unique index \"{constraint}\""))
            .with_detail(format!("Key {key} is duplicated."))
            .of_table(&table),
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
    if statement.columnar && elements.is_empty() {
        elements.clone_from(&table.primary_key);
    }
    let name = match &statement.name {
        Some(name) => name.text.clone(),
        None if statement.columnar => free_name(catalog, table, &["columnar".to_string()], "idx"),
        None => {
            let mut parts = element_names(table, &elements);
            parts.extend(statement.include.iter().map(|name| name.text.clone()));
            free_name(catalog, table, &parts, "idx")
        }
    };
    let predicate = statement
        .predicate
        .as_ref()
        .map(|predicate| index_predicate(table, predicate))
        .transpose()?;
    let include = match statement.columnar && statement.include.is_empty() {
        true => other_columns(table, &elements),
        false => column_ids(&table.columns, &statement.include)?,
    };
    Ok(IndexDraft {
        name,
        unique: statement.unique,
        nulls_distinct: statement.nulls_distinct,
        constraint: false,
        elements,
        include,
        predicate,
        layout: match statement.columnar {
            true => IndexLayout::Columnar,
            false => IndexLayout::Rows,
        },
    })
}

/// Returns the columns of the first family that neither these elements nor the primary key give.
fn other_columns(table: &Table, elements: &[KeyElement]) -> Vec<ColumnId> {
    let is_element = |id: ColumnId| elements.iter().any(|element| element.expr == KeyExpr::Column(id));
    let columns = table
        .declared_columns()
        .iter()
        .filter(|column| column.family == FamilyId(0));
    let ids = columns.map(|column| column.id);
    ids.filter(|id| !table.in_primary_key(*id) && !is_element(*id))
        .collect()
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
pub(in crate::sql::ddl) fn key_expression(table: &Table, expr: &ast::Expr) -> Result<KeyExpr, SqlError> {
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
    let is_text = matches!(arrow, ArrowType::Utf8View);
    let is_bytes = matches!(arrow, ArrowType::BinaryView);
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

pub(in crate::sql::ddl) fn index_predicate(
    table: &Table,
    predicate: &Expression,
) -> Result<IndexPredicate, SqlError> {
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

/// Returns the names that the elements give to an index without a name of its own.
pub(super) fn element_names(table: &Table, elements: &[KeyElement]) -> Vec<String> {
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
