//! CREATE TYPE, ALTER TYPE and DROP TYPE.
//!
//! What is of a type has its definition with it: a change of the type changes tables, views and stored texts with it, in one change.

use std::ops::ControlFlow;

use rukh_catalog::{Catalog, KeyElement, KeyExpr, PUBLIC, Table, Type, View, has_type, with_type};
use rukh_engine::DefinitionChanges;
use rukh_error::SqlError;
use rukh_keys::{EnumDefinition, EnumType, LabelError, LabelPlace};
use rukh_syntax::sqlparser::ast::{Expr, Value, Visitor};
use rukh_syntax::{AddedPlace, Name, ObjectName, Statement, TypeStatement, Walk, undefined_type};

use super::names::{schema_of, unknown};
use super::remove::drop_types;
use crate::bind::names::type_names::{Change, renamed};
use crate::bind::spelling::parsing::{parse, parse_expression};
use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;

/// The longest label, in bytes, as in PostgreSQL.
const LABEL_MAX: usize = 63;

/// Runs a statement about types; returns its tag.
pub(super) fn run(session: &mut Session, statement: &TypeStatement) -> Result<&'static str, SqlError> {
    match statement {
        TypeStatement::CreateEnum { name, labels } => create(session, name, labels).map(|()| "CREATE TYPE"),
        TypeStatement::AddValue {
            name,
            if_not_exists,
            label,
            place,
        } => add_value(session, name, *if_not_exists, label, place).map(|()| "ALTER TYPE"),
        TypeStatement::RenameValue { name, old, new } => {
            rename_value(session, name, old, new).map(|()| "ALTER TYPE")
        }
        TypeStatement::Drop {
            names,
            if_exists,
            cascade,
        } => drop_types(session, names, *if_exists, *cascade).map(|()| "DROP TYPE"),
    }
}

/// Returns the type of a name, or an error at its place.
pub(super) fn type_named<'c>(catalog: &'c Catalog, name: &ObjectName) -> Result<&'c Type, SqlError> {
    let schema = name.schema.as_deref().unwrap_or(PUBLIC);
    let found = catalog.type_named(schema, &name.name);
    found
        .map(|found| found.as_ref())
        .ok_or_else(|| undefined_type(name, false).into())
}

/// Fails where no number is left for one enum more: each definition has one as long as the process runs.
fn check_room(name: &ObjectName) -> Result<(), SqlError> {
    // Some are left for definitions that are read.
    match EnumType::count() < EnumType::ZONES * 9 / 10 {
        true => Ok(()),
        false => {
            let message = "enums were created or changed too often since the process started";
            Err(SqlError::statement("54000", message)
                .at(name.position)
                .with_hint("Restart it."))
        }
    }
}

fn create(session: &mut Session, name: &ObjectName, labels: &[Name]) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        check_room(name)?;
        let schema = schema_of(catalog, name)?;
        check_free(catalog, schema, &name.name).map_err(|error| error.at(name.position))?;
        for (at, label) in labels.iter().enumerate() {
            check_label(label)?;
            if labels[..at].iter().any(|other| other.text == label.text) {
                let message = format!("enum label \"{}\" used more than once", label.text);
                return Err(SqlError::statement("42710", message).at(label.position));
            }
        }
        let texts: Vec<String> = labels.iter().map(|label| label.text.clone()).collect();
        Ok(DefinitionChanges {
            types: vec![Type {
                labels: EnumDefinition::new(0, schema, &name.name, &texts),
                comment: None,
            }],
            ..DefinitionChanges::default()
        })
    })
}

/// Fails if a type of this name exists, or a relation, whose rows have a type of its name.
fn check_free(catalog: &Catalog, schema: &str, name: &str) -> Result<(), SqlError> {
    let is_relation = catalog.table_named(schema, name).is_ok() || catalog.view_named(schema, name).is_some();
    match is_relation || catalog.type_named(schema, name).is_some() {
        true => {
            let message = format!("type \"{name}\" already exists");
            Err(SqlError::statement("42710", message))
        }
        false => Ok(()),
    }
}

fn check_label(label: &Name) -> Result<(), SqlError> {
    if label.text.len() <= LABEL_MAX {
        return Ok(());
    }
    let message = format!("invalid enum label \"{}\"", label.text);
    Err(SqlError::statement("42602", message)
        .at(label.position)
        .with_detail(format!("Labels must be {LABEL_MAX} bytes or less.")))
}

fn add_value(
    session: &mut Session,
    name: &ObjectName,
    if_not_exists: bool,
    label: &Name,
    place: &AddedPlace,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut notice = None;
    engine.change_definitions(|catalog| {
        check_label(label)?;
        check_room(name)?;
        let before = type_named(catalog, name)?;
        if before.labels.code(&label.text).is_some() {
            let message = format!("enum label \"{}\" already exists", label.text);
            if !if_not_exists {
                return Err(SqlError::statement("42710", message).at(label.position));
            }
            notice = Some(Notice::new(format!("{message}, skipping")).with_sqlstate("42710"));
            return Ok(DefinitionChanges::default());
        }
        let (to, beside) = match place {
            AddedPlace::Last => (LabelPlace::Last, None),
            AddedPlace::Before(other) => (LabelPlace::Before(&other.text), Some(other)),
            AddedPlace::After(other) => (LabelPlace::After(&other.text), Some(other)),
        };
        let labels = before
            .labels
            .with_label(&label.text, to)
            .map_err(|error| match (error, beside) {
                (LabelError::Unknown, Some(other)) => {
                    let message = format!("\"{}\" is not an existing enum label", other.text);
                    SqlError::statement("22023", message).at(other.position)
                }
                _ => {
                    let message = format!(
                        "there is no room for \"{}\" at this place of the enum",
                        label.text
                    );
                    SqlError::statement("54000", message)
                        .at(label.position)
                        .with_hint("Add it elsewhere, or make another type and change the columns to it.")
                }
            })?;
        changed(catalog, before, labels, None)
    })?;
    notice.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

fn rename_value(session: &mut Session, name: &ObjectName, old: &Name, new: &Name) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        check_label(new)?;
        check_room(name)?;
        let before = type_named(catalog, name)?;
        if before.labels.code(&old.text).is_none() {
            let message = format!("\"{}\" is not an existing enum label", old.text);
            return Err(SqlError::statement("22023", message).at(old.position));
        }
        if before.labels.code(&new.text).is_some() {
            let message = format!("enum label \"{}\" already exists", new.text);
            return Err(SqlError::statement("42710", message).at(new.position));
        }
        let mut labels = before.labels.clone();
        let known = labels.labels.iter_mut().find(|label| label.text == old.text);
        known
            .into_iter()
            .for_each(|label| label.text.clone_from(&new.text));
        let change = Change::Label {
            of: (&before.labels.schema, &before.labels.name),
            old: &old.text,
            new: &new.text,
        };
        changed(catalog, before, labels, Some(&change))
    })
}

/// Returns what changes when a type gets another name or goes to another schema.
pub(super) fn moved_type(
    catalog: &Catalog,
    before: &Type,
    schema: &str,
    name: &str,
) -> Result<DefinitionChanges, SqlError> {
    let labels = EnumDefinition {
        schema: schema.to_string(),
        name: name.to_string(),
        ..before.labels.clone()
    };
    let change = Change::Name {
        old: (&before.labels.schema, &before.labels.name),
        new: (schema, name),
    };
    changed(catalog, before, labels, Some(&change))
}

/// Runs ALTER TYPE … RENAME TO.
pub(super) fn rename(session: &mut Session, name: &ObjectName, new: &Name) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        check_room(name)?;
        let before = type_named(catalog, name)?;
        let schema = &before.labels.schema;
        check_free(catalog, schema, &new.text).map_err(|error| error.at(new.position))?;
        moved_type(catalog, before, schema, &new.text)
    })
}

/// Runs ALTER TYPE … SET SCHEMA.
pub(super) fn set_schema(session: &mut Session, name: &ObjectName, schema: &Name) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        check_room(name)?;
        let before = type_named(catalog, name)?;
        if !catalog.has_schema(&schema.text) {
            return Err(unknown(&schema.text).at(schema.position));
        }
        if before.labels.schema == schema.text {
            return Ok(DefinitionChanges::default());
        }
        if check_free(catalog, &schema.text, &name.name).is_err() {
            let message = format!(
                "type \"{}\" already exists in schema \"{}\"",
                name.name, schema.text
            );
            return Err(SqlError::statement("42710", message).at(schema.position));
        }
        moved_type(catalog, before, &schema.text, &before.labels.name)
    })
}

/// Returns the definitions that change with a type, and their texts as `change` says.
fn changed(
    catalog: &Catalog,
    before: &Type,
    labels: EnumDefinition,
    change: Option<&Change<'_>>,
) -> Result<DefinitionChanges, SqlError> {
    let mut changes = DefinitionChanges::default();
    for table in catalog.tables() {
        let mut next = with_type(table.as_ref(), &labels).unwrap_or_else(|| Table::clone(table));
        if let Some(change) = change {
            texts_of(&mut next, |sql, is_query| renamed_text(sql, is_query, change))?;
        }
        if next != **table {
            changes.tables.push(next);
        }
    }
    for view in catalog.views() {
        let mut next = with_type(view.as_ref(), &labels).unwrap_or_else(|| View::clone(view));
        if let Some(change) = change {
            renamed_text(&mut next.sql, true, change)?;
        }
        if next != **view {
            changes.views.push(next);
        }
    }
    changes.types.push(Type {
        labels,
        comment: before.comment.clone(),
    });
    if let Some(Change::Label { old, .. }) = change {
        check_labels(catalog, before, &changes, old)?;
    }
    Ok(changes)
}

/// Visits the texts that a table stores; those of queries are marked.
fn texts_of(
    table: &mut Table,
    mut visit: impl FnMut(&mut String, bool) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    for column in &mut table.columns {
        let generated = column
            .values
            .generated
            .as_mut()
            .map(|generated| &mut generated.sql);
        for sql in column.default.iter_mut().chain(generated) {
            visit(sql, false)?;
        }
    }
    for check in &mut table.checks {
        visit(&mut check.sql, false)?;
    }
    for index in &mut table.indexes {
        if let Some(predicate) = &mut index.predicate {
            visit(&mut predicate.sql, false)?;
        }
        for element in &mut index.elements {
            visit_element(element, &mut visit)?;
        }
    }
    for element in &mut table.primary_key {
        visit_element(element, &mut visit)?;
    }
    match &mut table.materialized {
        Some(materialized) => visit(&mut materialized.query.sql, true),
        None => Ok(()),
    }
}

fn visit_element(
    element: &mut KeyElement,
    visit: &mut impl FnMut(&mut String, bool) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    match &mut element.expr {
        KeyExpr::Expression { sql, .. } => visit(sql, false),
        _ => Ok(()),
    }
}

/// A stored text as a tree.
enum Stored {
    Query(Statement),
    Expression(Expr),
}

impl Stored {
    fn read(sql: &str, is_query: bool) -> Result<Stored, SqlError> {
        Ok(match is_query {
            true => Stored::Query(parse(sql)?),
            false => Stored::Expression(parse_expression(sql)?),
        })
    }
}

/// Changes a stored text, if it says something of the type.
fn renamed_text(sql: &mut String, is_query: bool, change: &Change<'_>) -> Result<(), SqlError> {
    let text = match Stored::read(sql, is_query)? {
        Stored::Query(Statement::Query(mut query)) => {
            renamed(query.as_mut(), change).then(|| query.to_string())
        }
        Stored::Query(_) => None,
        Stored::Expression(mut expr) => renamed(&mut expr, change).then(|| expr.to_string()),
    };
    text.into_iter().for_each(|text| *sql = text);
    Ok(())
}

/// Fails if a text still has the former label: it may be one of the type that stands beside a column, without its name.
fn check_labels(
    catalog: &Catalog,
    before: &Type,
    changes: &DefinitionChanges,
    old: &str,
) -> Result<(), SqlError> {
    let refused = |what: String| {
        let message = format!("{what} has '{old}' without its type");
        Err(
            SqlError::unsupported("a label that is part of another definition is not renamed")
                .with_detail(message),
        )
    };
    let is_of_type = |table: &Table| has_type(table, before.id());
    for table in catalog.tables().filter(|table| is_of_type(table)) {
        let changed = changes.tables.iter().find(|changed| changed.id == table.id);
        let mut table = changed.unwrap_or(table).clone();
        let mut found = false;
        texts_of(&mut table, |sql, is_query| {
            found |= has_text(sql, is_query, old)?;
            Ok(())
        })?;
        if found {
            return refused(format!("table {}", table.name));
        }
    }
    for view in catalog.views() {
        let reads = view.reads.iter().filter_map(|(id, _)| catalog.table(*id));
        let changed = changes.views.iter().find(|changed| changed.id == view.id);
        let sql = &changed.unwrap_or(view).sql;
        if reads.map(|table| table.as_ref()).any(is_of_type) && has_text(sql, true, old)? {
            return refused(format!("view {}", view.name));
        }
    }
    Ok(())
}

fn has_text(sql: &str, is_query: bool, wanted: &str) -> Result<bool, SqlError> {
    struct Finder<'w>(&'w str);

    impl Visitor for Finder<'_> {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Value(value) if matches!(&value.value, Value::SingleQuotedString(text) if text == self.0) => {
                    ControlFlow::Break(())
                }
                _ => ControlFlow::Continue(()),
            }
        }
    }

    Ok(match Stored::read(sql, is_query)? {
        Stored::Query(Statement::Query(query)) => query.walk(&mut Finder(wanted)).is_break(),
        Stored::Query(_) => false,
        Stored::Expression(expr) => expr.walk(&mut Finder(wanted)).is_break(),
    })
}
