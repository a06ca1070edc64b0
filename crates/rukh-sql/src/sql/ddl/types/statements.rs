//! The statements: CREATE, ALTER and DROP TYPE; those of domains are `domain`'s.

use rukh_catalog::{Catalog, Type, TypeKind};
use rukh_engine::DefinitionChanges;
use rukh_error::SqlError;
use rukh_keys::{EnumDefinition, EnumType, LabelError, LabelPlace};
use rukh_syntax::{AddedPlace, Name, ObjectName, TypeStatement};

use super::changed::{changed, check_free, moved_type};
use super::{domain, record};
use crate::bind::names::type_names::Change;
use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::names::{schema_of, type_named, unknown};
use crate::sql::ddl::remove::drop_types;
use crate::sql::session::Session;

/// The longest label, in bytes, as in PostgreSQL.
const LABEL_MAX: usize = 63;

/// Runs a statement about types; returns its tag.
pub(in crate::sql::ddl) fn run(
    session: &mut Session,
    statement: &TypeStatement,
) -> Result<&'static str, SqlError> {
    match statement {
        TypeStatement::CreateEnum { name, labels } => create(session, name, labels).map(|()| "CREATE TYPE"),
        TypeStatement::CreateRecord { name, fields } => {
            record::create(session, name, fields).map(|()| "CREATE TYPE")
        }
        TypeStatement::AlterRecord { name, actions } => {
            record::alter(session, name, actions).map(|()| "ALTER TYPE")
        }
        TypeStatement::AddValue {
            name,
            if_not_exists,
            label,
            place,
        } => add_value(session, name, *if_not_exists, label, place).map(|()| "ALTER TYPE"),
        TypeStatement::RenameValue { name, old, new } => {
            rename_value(session, name, old, new).map(|()| "ALTER TYPE")
        }
        TypeStatement::CreateDomain(definition) => {
            domain::create(session, definition).map(|()| "CREATE DOMAIN")
        }
        TypeStatement::AlterDomain { name, action } => {
            domain::alter(session, name, action).map(|()| "ALTER DOMAIN")
        }
        TypeStatement::Drop {
            domains,
            names,
            if_exists,
            cascade,
        } => {
            drop_types(session, names, *domains, *if_exists, *cascade)?;
            Ok(if *domains { "DROP DOMAIN" } else { "DROP TYPE" })
        }
    }
}

/// Returns the enum of a name, or an error at its place.
fn enum_named<'c>(
    catalog: &'c Catalog,
    name: &ObjectName,
) -> Result<(&'c Type, &'c EnumDefinition), SqlError> {
    let found = type_named(catalog, name)?;
    match &found.kind {
        TypeKind::Enum(labels) => Ok((found, labels)),
        _ => {
            let message = format!("\"{}\" is not an enum", name.name);
            Err(SqlError::statement("42809", message).at(name.position))
        }
    }
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
            types: vec![Type::new(TypeKind::Enum(EnumDefinition::new(
                0, schema, &name.name, &texts,
            )))],
            ..DefinitionChanges::default()
        })
    })
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
        let (before, labels) = enum_named(catalog, name)?;
        if labels.code(&label.text).is_some() {
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
        let labels = labels
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
        changed(catalog, before, TypeKind::Enum(labels), None)
    })?;
    notice.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

fn rename_value(session: &mut Session, name: &ObjectName, old: &Name, new: &Name) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        check_label(new)?;
        check_room(name)?;
        let (before, known) = enum_named(catalog, name)?;
        if known.code(&old.text).is_none() {
            let message = format!("\"{}\" is not an existing enum label", old.text);
            return Err(SqlError::statement("22023", message).at(old.position));
        }
        if known.code(&new.text).is_some() {
            let message = format!("enum label \"{}\" already exists", new.text);
            return Err(SqlError::statement("42710", message).at(new.position));
        }
        let mut labels = known.clone();
        let known = labels.labels.iter_mut().find(|label| label.text == old.text);
        known
            .into_iter()
            .for_each(|label| label.text.clone_from(&new.text));
        let change = Change::Label {
            of: (before.schema(), before.name()),
            old: &old.text,
            new: &new.text,
        };
        changed(catalog, before, TypeKind::Enum(labels), Some(&change))
    })
}

/// Runs ALTER TYPE … RENAME TO.
pub(in crate::sql::ddl) fn rename(
    session: &mut Session,
    name: &ObjectName,
    new: &Name,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        let before = type_named(catalog, name)?;
        if let TypeKind::Enum(_) = before.kind {
            check_room(name)?;
        }
        let schema = before.schema();
        check_free(catalog, schema, &new.text).map_err(|error| error.at(new.position))?;
        moved_type(catalog, before, schema, &new.text)
    })
}

/// Runs ALTER TYPE … SET SCHEMA.
pub(in crate::sql::ddl) fn set_schema(
    session: &mut Session,
    name: &ObjectName,
    schema: &Name,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        let before = type_named(catalog, name)?;
        if let TypeKind::Enum(_) = before.kind {
            check_room(name)?;
        }
        if !catalog.has_schema(&schema.text) {
            return Err(unknown(&schema.text).at(schema.position));
        }
        if before.schema() == schema.text {
            return Ok(DefinitionChanges::default());
        }
        if check_free(catalog, &schema.text, &name.name).is_err() {
            let message = format!(
                "type \"{}\" already exists in schema \"{}\"",
                name.name, schema.text
            );
            return Err(SqlError::statement("42710", message).at(schema.position));
        }
        moved_type(catalog, before, &schema.text, before.name())
    })
}
