//! CREATE SCHEMA, ALTER SCHEMA and what DROP SCHEMA needs to know.

use rukh_catalog::{Catalog, GrantTarget, PUBLIC, Role, Schema};
use rukh_engine::DefinitionChanges;
use rukh_syntax::{Name, SchemaStatement, Statement};

use super::alter::moves::{Moves, moved};
use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::names::unknown;
use crate::sql::roles;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Schemas that are none of the user's.
const SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

/// Runs a statement about schemas; returns its tag.
pub(super) fn schema(session: &mut Session, statement: &SchemaStatement) -> Result<&'static str, SqlError> {
    match statement {
        SchemaStatement::Create {
            name,
            if_not_exists,
            owner,
            elements,
        } => {
            if let Some(owner) = owner {
                check_role(session, owner)?;
            }
            create(session, name, *if_not_exists, !elements.is_empty())?;
            Ok("CREATE SCHEMA")
        }
        SchemaStatement::Rename { old, new } => {
            let engine = session.engine().clone();
            engine.change_definitions(|catalog| renamed(catalog, old, new))?;
            Ok("ALTER SCHEMA")
        }
        SchemaStatement::Drop {
            names,
            if_exists,
            cascade,
        } => {
            super::remove::drop_schemas(session, names, *if_exists, *cascade)?;
            Ok("DROP SCHEMA")
        }
    }
}

fn check_role(session: &Session, name: &Name) -> Result<(), SqlError> {
    match session.engine().catalog().role_named(&name.text) {
        Some(_) => Ok(()),
        None if session.is_administrator(&name.text) => Ok(()),
        None => {
            let message = format!("role \"{}\" does not exist", name.text);
            Err(SqlError::statement("42704", message).at(name.position))
        }
    }
}

fn create(session: &mut Session, name: &Name, if_not_exists: bool, filling: bool) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut notice = None;
    engine.change_definitions(|catalog| {
        match check_free(catalog, name) {
            Ok(()) => {}
            Err(error) if if_not_exists && error.sqlstate == "42P06" => {
                notice = Some(Notice::new(format!("{}, skipping", error.message)));
                return Ok(DefinitionChanges::default());
            }
            Err(error) => return Err(error),
        }
        Ok(DefinitionChanges {
            schemas: vec![Schema {
                filling,
                ..Schema::new(&name.text)
            }],
            dropped_schemas: match name.text.as_str() {
                PUBLIC => catalog.dropped_public().into_iter().collect(),
                _ => Vec::new(),
            },
            ..DefinitionChanges::default()
        })
    })?;
    notice.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

/// Makes what a CREATE SCHEMA creates in its schema; when that fails, nothing is left of it.
pub(crate) fn create_elements(session: &mut Session, statement: &Statement) -> Result<(), SqlError> {
    let Statement::Schema(schema) = statement else {
        return Ok(());
    };
    let SchemaStatement::Create {
        name,
        owner,
        elements,
        ..
    } = schema.as_ref()
    else {
        return Ok(());
    };
    if elements.is_empty() {
        return Ok(());
    }
    let mut path = vec![name.text.clone()];
    path.extend(session.path());
    let mut created = elements
        .iter()
        .try_for_each(|element| session.run_element(element, &path));
    if let (Ok(()), Some(owner)) = (&created, owner) {
        created = roles::give_schema(session, &name.text, &owner.text);
    }
    let engine = session.engine().clone();
    let created = created.and_then(|()| {
        engine.change_definitions(|catalog| {
            let schema = schema_named(catalog, name)?.clone();
            Ok(DefinitionChanges {
                schemas: vec![Schema {
                    filling: false,
                    ..schema
                }],
                ..DefinitionChanges::default()
            })
        })
    });
    if created.is_err() {
        // What is dropped was never there for the user.
        let notices = session.take_notices();
        super::remove::drop_schemas(session, std::slice::from_ref(name), true, true)?;
        session.take_notices();
        notices.into_iter().for_each(|notice| session.notice(notice));
    }
    created
}

/// Fails if a schema cannot have this name.
fn check_free(catalog: &Catalog, name: &Name) -> Result<(), SqlError> {
    let text = &name.text;
    if catalog.has_schema(text) || SYSTEM.contains(&text.as_str()) {
        let message = format!("schema \"{text}\" already exists");
        return Err(SqlError::statement("42P06", message).at(name.position));
    }
    if text.starts_with("pg_") {
        let message = format!("unacceptable schema name \"{text}\"");
        return Err(SqlError::statement("42939", message)
            .at(name.position)
            .with_detail("The prefix \"pg_\" is reserved for system schemas."));
    }
    if text.is_empty() {
        return Err(
            SqlError::syntax("zero-length delimited identifier at or near \"\"\"\"").at(name.position),
        );
    }
    Ok(())
}

/// Returns the definition of a schema that a statement names, or an error at its place.
pub(super) fn schema_named<'a>(catalog: &'a Catalog, name: &Name) -> Result<&'a Schema, SqlError> {
    let found = catalog.schema_named(&name.text).map(|schema| schema.as_ref());
    found.ok_or_else(|| unknown(&name.text).at(name.position))
}

/// Returns the roles that have rights on these schemas, without those.
pub(super) fn without_grants(catalog: &Catalog, schemas: &[String]) -> Vec<Role> {
    let on = |role: &Role, name: &String| !role.granted(&GrantTarget::Schema(name.clone())).is_empty();
    let mut roles = Vec::new();
    for role in all_roles(catalog) {
        if schemas.iter().any(|name| on(role, name)) {
            let mut role = role.clone();
            role.grants
                .retain(|grant| !matches!(&grant.on, GrantTarget::Schema(name) if schemas.contains(name)));
            roles.push(role);
        }
    }
    roles
}

fn all_roles(catalog: &Catalog) -> impl Iterator<Item = &Role> {
    let public = catalog.role(rukh_catalog::RoleId::PUBLIC);
    public
        .into_iter()
        .chain(catalog.roles())
        .map(|role| role.as_ref())
}

fn renamed(catalog: &Catalog, old: &Name, new: &Name) -> Result<DefinitionChanges, SqlError> {
    if old.text == PUBLIC || SYSTEM.contains(&old.text.as_str()) {
        let message = format!("schema \"{}\" keeps its name", old.text);
        return Err(SqlError::unsupported(message).at(old.position));
    }
    let schema = schema_named(catalog, old)?;
    check_free(catalog, new)?;
    let tables = catalog.tables().map(|table| (&table.schema, &table.name));
    let views = catalog.views().map(|view| (&view.schema, &view.name));
    let sequences = catalog
        .sequences()
        .map(|sequence| (&sequence.schema, &sequence.name));
    let all = tables.chain(views).chain(sequences);
    let inside = all.filter(|(schema, _)| **schema == old.text);
    let moves =
        inside.map(|(schema, name)| ((schema.clone(), name.clone()), (new.text.clone(), name.clone())));
    let types = catalog.types().filter(|ty| ty.schema() == old.text);
    if let Some(ty) = types.into_iter().next() {
        let message = "a schema with types is not renamed";
        let hint = format!("Move type {} to another schema first.", ty.name());
        return Err(SqlError::unsupported(message).at(old.position).with_hint(hint));
    }
    if let Some(function) = catalog.functions().find(|function| function.schema == old.text) {
        let message = "a schema with functions is not renamed";
        let hint = format!("Move function {} to another schema first.", function.signature());
        return Err(SqlError::unsupported(message).at(old.position).with_hint(hint));
    }
    let mut changes = moved(catalog, &Moves(moves.collect()))?;
    changes.schemas.push(Schema {
        name: new.text.clone(),
        ..schema.clone()
    });
    for role in all_roles(catalog) {
        let before = GrantTarget::Schema(old.text.clone());
        let rights = role.granted(&before);
        if !rights.is_empty() {
            let mut role = role.clone();
            role.set_granted(before, rukh_catalog::Rights::NONE);
            role.set_granted(GrantTarget::Schema(new.text.clone()), rights);
            changes.roles.push(role);
        }
    }
    Ok(changes)
}
