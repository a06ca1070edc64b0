//! CREATE TYPE … AS (…) and ALTER TYPE … ATTRIBUTE: composite types.

use rukh_catalog::{Catalog, Type, TypeId, TypeKind, has_type};
use rukh_engine::DefinitionChanges;
use rukh_error::SqlError;
use rukh_keys::{DataType, RecordDefinition, RecordField};
use rukh_syntax::{AttributeAction, Name, ObjectName, TypeName};

use super::changed::{changed, check_free};
use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::names::{schema_of, type_named};
use crate::sql::session::Session;

/// Most fields of a type, as in PostgreSQL.
const FIELDS_MAX: usize = 1600;

/// Runs CREATE TYPE … AS (…).
pub(super) fn create(
    session: &mut Session,
    name: &ObjectName,
    fields: &[(Name, TypeName)],
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        let schema = schema_of(catalog, name)?;
        check_free(catalog, schema, &name.name).map_err(|error| error.at(name.position))?;
        let mut definition = RecordDefinition {
            id: 0,
            schema: schema.to_string(),
            name: name.name.clone(),
            fields: Vec::new(),
        };
        for (name, ty) in fields {
            add(&mut definition, name, ty)?;
        }
        Ok(DefinitionChanges {
            types: vec![Type::new(TypeKind::Record(definition))],
            ..DefinitionChanges::default()
        })
    })
}

fn add(definition: &mut RecordDefinition, name: &Name, ty: &TypeName) -> Result<(), SqlError> {
    check_new(definition, name)?;
    if definition.fields.len() == FIELDS_MAX {
        let message = format!("a composite type has at most {FIELDS_MAX} columns");
        return Err(SqlError::statement("54011", message).at(name.position));
    }
    definition.fields.push(RecordField {
        name: name.text.clone(),
        ty: field_type(ty, name)?,
    });
    Ok(())
}

fn check_new(definition: &RecordDefinition, name: &Name) -> Result<(), SqlError> {
    match definition.fields.iter().any(|field| field.name == name.text) {
        true => {
            let message = format!("column \"{}\" specified more than once", name.text);
            Err(SqlError::statement("42701", message).at(name.position))
        }
        false => Ok(()),
    }
}

fn field_type(ty: &TypeName, field: &Name) -> Result<DataType, SqlError> {
    match ty {
        TypeName::Named { of: Some(_), .. } => {
            let message = format!(
                "column \"{}\" of a composite type cannot be of a domain",
                field.text
            );
            Err(SqlError::unsupported(message).at(field.position))
        }
        ty => Ok(ty.known()?),
    }
}

/// Runs ALTER TYPE … of fields. As in PostgreSQL, no table may have columns of the type, whose values would have to change.
pub(super) fn alter(
    session: &mut Session,
    name: &ObjectName,
    actions: &[AttributeAction],
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut notices = Vec::new();
    engine.change_definitions(|catalog| {
        notices.clear();
        let before = type_named(catalog, name)?;
        let TypeKind::Record(known) = &before.kind else {
            let message = format!("\"{}\" is not a composite type", name.name);
            return Err(SqlError::statement("42809", message).at(name.position));
        };
        check_unused(catalog, before, name)?;
        let mut definition = known.clone();
        for action in actions {
            apply(&mut definition, action, &mut notices)?;
        }
        changed(catalog, before, TypeKind::Record(definition), None)
    })?;
    notices.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

fn apply(
    definition: &mut RecordDefinition,
    action: &AttributeAction,
    notices: &mut Vec<Notice>,
) -> Result<(), SqlError> {
    let of = definition.name.clone();
    let place = |definition: &RecordDefinition, name: &Name| {
        let at = definition.fields.iter().position(|field| field.name == name.text);
        at.ok_or_else(|| {
            let message = format!("column \"{}\" of relation \"{of}\" does not exist", name.text);
            SqlError::statement("42703", message).at(name.position)
        })
    };
    match action {
        AttributeAction::Add { name, ty } => add(definition, name, ty)?,
        AttributeAction::Drop { name, if_exists } => match place(definition, name) {
            Ok(at) => {
                definition.fields.remove(at);
            }
            Err(error) if *if_exists => {
                notices.push(Notice::new(format!("{}, skipping", error.message)));
            }
            Err(error) => return Err(error),
        },
        AttributeAction::Type { name, ty } => {
            let at = place(definition, name)?;
            definition.fields[at].ty = field_type(ty, name)?;
        }
        AttributeAction::Rename { name, new } => {
            let at = place(definition, name)?;
            check_new(definition, new)?;
            definition.fields[at].name.clone_from(&new.text);
        }
    }
    Ok(())
}

fn check_unused(catalog: &Catalog, of: &Type, name: &ObjectName) -> Result<(), SqlError> {
    let id: TypeId = of.id();
    for table in catalog.tables() {
        if let Some(column) = table.columns.iter().find(|column| has_type(*column, id)) {
            let message = format!(
                "cannot alter type \"{}\" because column \"{}.{}\" uses it",
                name.name, table.name, column.name
            );
            return Err(SqlError::unsupported(message).at(name.position));
        }
    }
    Ok(())
}
