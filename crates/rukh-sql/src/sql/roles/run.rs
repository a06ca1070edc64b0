//! CREATE USER, GRANT and their kin, and objects that become a role's.
//!
//! Messages and SQLSTATEs are PostgreSQL's. Only administrators make roles and change them; a role may change
//! its own password, and give rights on what it owns.

use rukh_catalog::{Catalog, Function, GrantTarget, Membership, Rights, Role, RoleId};
use rukh_engine::RoleChanges;
use rukh_keys::{DataType, Datum};
use rukh_syntax::{
    FunctionStatement, GrantObjects, GrantedRights, Name, ObjectName, Ownable, RoleOptions, RoleStatement,
    SchemaStatement, Secret, Statement, TypeStatement, undefined_type,
};

use super::check::{Checker, denied};
use super::scram::Verifier;
use crate::exec::session_settings::notice::Notice;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// The schema of names without one.
const PUBLIC: &str = "public";

/// Rights that ALL stands for.
const OF_TABLES: Rights = Rights::WRITE.with(Rights::SELECT);
const OF_SEQUENCES: Rights = Rights::USAGE.with(Rights::SELECT).with(Rights::UPDATE);
const OF_SCHEMAS: Rights = Rights::USAGE.with(Rights::CREATE);

/// Runs a statement about roles; returns its tag.
pub(crate) fn run(session: &mut Session, statement: &RoleStatement) -> Result<&'static str, SqlError> {
    let user = session.user();
    let own = session.client.user().to_string();
    let engine = session.engine().clone();
    let mut notices = Vec::new();
    // What takes long is done before others have to wait.
    let verifier = match statement {
        RoleStatement::Create { options, .. } | RoleStatement::Alter { options, .. } => {
            verifier_of(options, &mut notices)?
        }
        _ => None,
    };
    engine.change_roles(|catalog| {
        let run = Run {
            catalog,
            user: user.as_deref(),
            own: &own,
        };
        match statement {
            RoleStatement::Create { name, options } => run.create(name, options, verifier),
            RoleStatement::Alter { name, options } => run.alter(name, options, verifier),
            RoleStatement::Drop { names, if_exists } => run.drop(names, *if_exists, &mut notices),
            RoleStatement::Grant {
                gives,
                rights,
                on,
                roles,
            } => run.grant(*gives, rights, on, roles),
            RoleStatement::Member {
                gives,
                roles,
                members,
                admin,
            } => run.member(*gives, roles, members, *admin, &mut notices),
            RoleStatement::Owner { kind, object, role } => run.owner(*kind, object, role),
        }
    })?;
    notices.into_iter().for_each(|notice| session.notice(notice));
    Ok(match statement {
        RoleStatement::Create { .. } => "CREATE ROLE",
        RoleStatement::Alter { .. } => "ALTER ROLE",
        RoleStatement::Drop { .. } => "DROP ROLE",
        RoleStatement::Grant { gives: true, .. } => "GRANT",
        RoleStatement::Grant { .. } => "REVOKE",
        RoleStatement::Member { gives: true, .. } => "GRANT ROLE",
        RoleStatement::Member { .. } => "REVOKE ROLE",
        RoleStatement::Owner { kind, .. } => match kind {
            Ownable::Table => "ALTER TABLE",
            Ownable::View => "ALTER VIEW",
            Ownable::Sequence => "ALTER SEQUENCE",
            Ownable::Schema => "ALTER SCHEMA",
            Ownable::Type => "ALTER TYPE",
        },
    })
}

/// Makes what a statement has created the session's role's; `before` are the definitions before it.
pub(crate) fn claim(session: &mut Session, statement: &Statement, before: &Catalog) -> Result<(), SqlError> {
    let mut user = session.user();
    if let Statement::Schema(schema) = statement
        && let SchemaStatement::Create { name, owner, .. } = schema.as_ref()
    {
        let owner = owner.as_ref().map(|owner| owner.text.clone());
        user = owner.filter(|owner| !session.is_administrator(owner)).or(user);
        let (Some(user), None) = (user, before.schema_named(&name.text)) else {
            return Ok(());
        };
        let engine = session.engine().clone();
        return engine.change_roles(|catalog| {
            let mut role = stored(catalog, &user)?;
            role.owns
                .extend(catalog.schema_named(&name.text).map(|schema| schema.id.0));
            Ok(put(role))
        });
    }
    let Some(user) = user else {
        return Ok(());
    };
    let name = match statement {
        Statement::CreateTable(table) => &table.name,
        Statement::CreateView(view) => &view.name,
        Statement::CreateSequence { name, .. } => name,
        Statement::Type(statement) => match statement.as_ref() {
            TypeStatement::CreateEnum { name, .. } | TypeStatement::CreateRecord { name, .. } => name,
            TypeStatement::CreateDomain(domain) => &domain.name,
            _ => return Ok(()),
        },
        Statement::Function(statement) => match statement.as_ref() {
            FunctionStatement::Create(definition) => &definition.name,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let engine = session.engine().clone();
    let now = engine.catalog();
    let mut new: Vec<u32> = objects_named(&now, name).into_iter().map(|(id, _)| id).collect();
    new.extend(
        now.functions_named(schema_of(name), &name.name)
            .map(|function| function.id.0),
    );
    if let Ok(table) = now.table_named(schema_of(name), &name.name) {
        new.extend(now.sequences_of(table.id).map(|sequence| sequence.id.0));
    }
    new.retain(|id| kind_of(before, *id).is_none());
    // That of temporary relations is made with the first of them.
    if before.schema_named(schema_of(name)).is_none() {
        new.extend(now.schema_named(schema_of(name)).map(|schema| schema.id.0));
    }
    if new.is_empty() {
        return Ok(());
    }
    engine.change_roles(|catalog| {
        let mut role = stored(catalog, &user)?;
        role.owns.extend(new);
        Ok(RoleChanges {
            put: vec![role],
            removed: Vec::new(),
        })
    })
}

/// Returns a role as it is stored, without what it has by way of others.
fn stored(catalog: &Catalog, name: &str) -> Result<Role, SqlError> {
    let role = catalog.role_named(name).map(|role| role.as_ref().clone());
    role.ok_or_else(|| SqlError::statement("42704", format!("role \"{name}\" does not exist")))
}

/// Makes a function a role's own.
pub(crate) fn give_function(session: &Session, function: &Function, role: &Name) -> Result<(), SqlError> {
    let user = session.user();
    session.engine().change_roles(|catalog| {
        let run = Run {
            catalog,
            user: user.as_deref(),
            own: session.client.user(),
        };
        run.check_superuser(&format!(
            "must be superuser to change the owner of {}",
            function.name
        ))?;
        run.given(&[function.id.0], role)
    })
}

/// Makes what is in a schema a role's own.
pub(crate) fn give_schema(session: &Session, schema: &str, owner: &str) -> Result<(), SqlError> {
    session.engine().change_roles(|catalog| {
        let tables = catalog.tables().filter(|table| table.schema == schema);
        let views = catalog.views().filter(|view| view.schema == schema);
        let sequences = catalog.sequences().filter(|sequence| sequence.schema == schema);
        let types = catalog.types().filter(|ty| ty.schema() == schema);
        let functions = catalog.functions().filter(|function| function.schema == schema);
        let ids = tables.map(|table| table.id.0);
        let ids = ids.chain(functions.map(|function| function.id.0));
        let ids = ids.chain(views.map(|view| view.id.0));
        let ids = ids.chain(types.map(|ty| ty.id().0));
        let ids: Vec<u32> = ids.chain(sequences.map(|sequence| sequence.id.0)).collect();
        let mut changes = RoleChanges {
            put: Vec::new(),
            removed: Vec::new(),
        };
        for role in catalog.roles() {
            let mut next = role.as_ref().clone();
            next.owns.retain(|id| !ids.contains(id));
            if next.name == owner {
                next.owns.extend(&ids);
            }
            if next.owns != role.owns {
                changes.put.push(next);
            }
        }
        Ok::<_, SqlError>(changes)
    })
}

fn schema_of(name: &ObjectName) -> &str {
    name.schema.as_deref().unwrap_or(PUBLIC)
}

/// Returns the table, view, sequence and type of a name, by ids.
fn objects_named(catalog: &Catalog, name: &ObjectName) -> Vec<(u32, Ownable)> {
    let schema = schema_of(name);
    let table = catalog.table_named(schema, &name.name).ok();
    let view = catalog.view_named(schema, &name.name);
    let sequence = catalog.sequence_named(schema, &name.name);
    let ty = catalog.type_named(schema, &name.name);
    let all = [
        table.map(|table| (table.id.0, Ownable::Table)),
        view.map(|view| (view.id.0, Ownable::View)),
        sequence.map(|sequence| (sequence.id.0, Ownable::Sequence)),
        ty.map(|ty| (ty.id().0, Ownable::Type)),
    ];
    all.into_iter().flatten().collect()
}

/// Returns what has an id, with its name.
fn kind_of(catalog: &Catalog, id: u32) -> Option<String> {
    if let Some(table) = catalog.tables().find(|table| table.id.0 == id) {
        return Some(format!("table {}", table.name));
    }
    if let Some(view) = catalog.views().find(|view| view.id.0 == id) {
        return Some(format!("view {}", view.name));
    }
    if let Some(schema) = catalog.schemas().find(|schema| schema.id.0 == id) {
        return Some(format!("schema {}", schema.name));
    }
    if let Some(ty) = catalog.types().find(|ty| ty.id().0 == id) {
        return Some(format!("type {}", ty.name()));
    }
    if let Some(function) = catalog.functions().find(|function| function.id.0 == id) {
        return Some(format!("function {}", function.signature()));
    }
    let sequence = catalog.sequences().find(|sequence| sequence.id.0 == id);
    sequence.map(|sequence| format!("sequence {}", sequence.name))
}

/// Returns what the new password is checked by: within, `None` for no password.
fn verifier_of(options: &RoleOptions, notices: &mut Vec<Notice>) -> Result<Option<Option<String>>, SqlError> {
    let Some(password) = &options.password else {
        return Ok(None);
    };
    let Some(Secret(password)) = password else {
        return Ok(Some(None));
    };
    if password.is_empty() {
        notices.push(Notice::new(
            "empty string is not a valid password, clearing password".to_string(),
        ));
        return Ok(Some(None));
    }
    if Verifier::parse(password).is_some() {
        return Ok(Some(Some(password.clone())));
    }
    let is_md5 = password.len() == 35 && password.starts_with("md5");
    if is_md5 && password[3..].bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(SqlError::unsupported("passwords hashed by MD5 are not supported"));
    }
    Ok(Some(Some(Verifier::of_password(password)?.to_string())))
}

/// One statement about roles, on the definitions as they are.
struct Run<'a> {
    catalog: &'a Catalog,
    user: Option<&'a str>,
    /// The name that the session's user gave.
    own: &'a str,
}

impl Run<'_> {
    fn is_superuser(&self) -> Result<bool, SqlError> {
        match self.user {
            None => Ok(true),
            Some(user) => Ok(Checker::of(self.catalog, user)?.role().superuser),
        }
    }

    fn check_superuser(&self, message: &str) -> Result<(), SqlError> {
        match self.is_superuser()? {
            true => Ok(()),
            false => Err(denied(message.to_string())),
        }
    }

    fn role(&self, name: &Name) -> Result<Role, SqlError> {
        let role = self.catalog.role_named(&name.text);
        let unknown = || {
            let message = format!("role \"{}\" does not exist", name.text);
            SqlError::statement("42704", message).at(name.position)
        };
        role.map(|role| role.as_ref().clone()).ok_or_else(unknown)
    }

    fn create(
        &self,
        name: &Name,
        options: &RoleOptions,
        verifier: Option<Option<String>>,
    ) -> Result<RoleChanges, SqlError> {
        self.check_superuser("permission denied to create role")?;
        if matches!(name.text.as_str(), "public" | "none") || name.text.starts_with("pg_") {
            let message = format!("role name \"{}\" is reserved", name.text);
            return Err(SqlError::statement("42939", message).at(name.position));
        }
        if self.catalog.role_named(&name.text).is_some() {
            let message = format!("role \"{}\" already exists", name.text);
            return Err(SqlError::statement("42710", message).at(name.position));
        }
        let mut role = Role::new(&name.text);
        set_options(&mut role, options, verifier)?;
        for of in &options.in_roles {
            let of = self.role(of)?.id;
            if !role.member_of.iter().any(|known| known.role == of) {
                role.member_of.push(Membership {
                    role: of,
                    admin: false,
                });
            }
        }
        Ok(put(role))
    }

    fn alter(
        &self,
        name: &Name,
        options: &RoleOptions,
        verifier: Option<Option<String>>,
    ) -> Result<RoleChanges, SqlError> {
        let only_password = RoleOptions {
            password: options.password.clone(),
            ..RoleOptions::default()
        };
        let own = self.user == Some(name.text.as_str()) && *options == only_password;
        if !own {
            self.check_superuser("permission denied to alter role")?;
        }
        let mut role = self.role(name)?;
        set_options(&mut role, options, verifier)?;
        Ok(put(role))
    }

    fn drop(
        &self,
        names: &[Name],
        if_exists: bool,
        notices: &mut Vec<Notice>,
    ) -> Result<RoleChanges, SqlError> {
        self.check_superuser("permission denied to drop role")?;
        let mut removed = Vec::new();
        for name in names {
            let role = match self.role(name) {
                Ok(role) => role,
                Err(_) if if_exists => {
                    let message = format!("role \"{}\" does not exist, skipping", name.text);
                    notices.push(Notice::new(message));
                    continue;
                }
                Err(error) => return Err(error),
            };
            if self.user == Some(name.text.as_str()) {
                return Err(SqlError::statement("55006", "current user cannot be dropped").at(name.position));
            }
            if let Some(detail) = self.depends_on(&role) {
                let message = format!(
                    "role \"{}\" cannot be dropped because some objects depend on it",
                    role.name
                );
                return Err(SqlError::statement("2BP01", message)
                    .at(name.position)
                    .with_detail(detail));
            }
            removed.push(role.id);
        }
        Ok(RoleChanges {
            put: Vec::new(),
            removed,
        })
    }

    /// Returns what keeps a role from being dropped, a line each.
    fn depends_on(&self, role: &Role) -> Option<String> {
        let owned = role.owns.iter().filter_map(|id| kind_of(self.catalog, *id));
        let owned = owned.map(|object| format!("owner of {object}"));
        let granted = role.grants.iter().filter_map(|grant| match &grant.on {
            GrantTarget::Database => Some("privileges for the database".to_string()),
            GrantTarget::Schema(schema) => Some(format!("privileges for schema {schema}")),
            GrantTarget::Object(id) => {
                kind_of(self.catalog, *id).map(|kind| format!("privileges for {kind}"))
            }
            GrantTarget::Column { object, column } => {
                let columns = self.catalog.columns_of(*object);
                let (_, name) = columns.iter().find(|(number, _)| number == column)?;
                kind_of(self.catalog, *object).map(|kind| format!("privileges for column {name} of {kind}"))
            }
        });
        let all: Vec<String> = owned.chain(granted).collect();
        (!all.is_empty()).then(|| all.join("\n"))
    }

    fn grant(
        &self,
        gives: bool,
        granted: &[GrantedRights],
        on: &GrantObjects,
        names: &[Option<Name>],
    ) -> Result<RoleChanges, SqlError> {
        let (targets, all) = self.targets(on)?;
        let mut changes: Vec<(GrantTarget, Rights)> = Vec::new();
        for GrantedRights { rights, columns } in granted {
            for target in &targets {
                match target {
                    GrantTarget::Object(object) if !columns.is_empty() => {
                        let rights = rights.unwrap_or(Rights::OF_COLUMNS);
                        let of_columns = self.columns(*object, columns)?;
                        changes.extend(of_columns.into_iter().map(|target| (target, rights)));
                    }
                    // What is given is what the objects have; what is taken is everything.
                    target => {
                        let rights = rights.unwrap_or(if gives { all } else { Rights::ALL });
                        changes.push((target.clone(), rights));
                    }
                }
            }
        }
        let mut roles: Vec<Role> = Vec::new();
        for name in names {
            let role = match name {
                Some(name) => self.role(name)?,
                None => match self.catalog.role(RoleId::PUBLIC) {
                    Some(public) => public.as_ref().clone(),
                    None => Role::public(),
                },
            };
            if !roles.iter().any(|known| known.name == role.name) {
                roles.push(role);
            }
        }
        for role in &mut roles {
            for (target, rights) in &changes {
                let had = role.granted(target);
                let has = if gives {
                    had.with(*rights)
                } else {
                    had.without(*rights)
                };
                role.set_granted(target.clone(), has);
                if let (false, GrantTarget::Object(object)) = (gives, target) {
                    role.revoke_on_columns(*object, *rights);
                }
            }
        }
        Ok(RoleChanges {
            put: roles,
            removed: Vec::new(),
        })
    }

    /// Returns columns of a table or view that rights are granted on.
    fn columns(&self, object: u32, names: &[Name]) -> Result<Vec<GrantTarget>, SqlError> {
        let columns = self.catalog.columns_of(object);
        let target = |name: &Name| match columns.iter().find(|(_, known)| *known == name.text) {
            Some((column, _)) => Ok(GrantTarget::Column {
                object,
                column: *column,
            }),
            None => {
                let of = kind_of(self.catalog, object).unwrap_or_default();
                let of = of.split_once(' ').map_or("", |(_, name)| name);
                let message = format!("column \"{}\" of relation \"{of}\" does not exist", name.text);
                Err(SqlError::statement("42703", message).at(name.position))
            }
        };
        names.iter().map(target).collect()
    }

    /// Makes roles members of others, or no longer.
    fn member(
        &self,
        gives: bool,
        roles: &[Name],
        members: &[Name],
        admin: bool,
        notices: &mut Vec<Notice>,
    ) -> Result<RoleChanges, SqlError> {
        let mut put: Vec<Role> = Vec::new();
        for name in members {
            let member = self.role(name)?;
            if !put.iter().any(|known| known.id == member.id) {
                put.push(member);
            }
        }
        for name in roles {
            let of = self.role(name)?;
            self.check_admin(&of)?;
            for member in &mut put {
                let known = member.member_of.iter().position(|known| known.role == of.id);
                match (gives, known) {
                    (true, _) if self.catalog.is_member(of.id, member.id) => {
                        let message = format!("role \"{}\" is a member of role \"{}\"", of.name, member.name);
                        return Err(SqlError::statement("0LP01", message).at(name.position));
                    }
                    (true, Some(at)) if admin && !member.member_of[at].admin => {
                        member.member_of[at].admin = true
                    }
                    (true, Some(_)) => notices.push(Notice::new(format!(
                        "role \"{}\" is already a member of role \"{}\"",
                        member.name, of.name
                    ))),
                    (true, None) => member.member_of.push(Membership { role: of.id, admin }),
                    (false, Some(at)) if admin => member.member_of[at].admin = false,
                    (false, Some(at)) => {
                        member.member_of.remove(at);
                    }
                    (false, None) => notices.push(Notice::warning(format!(
                        "role \"{}\" is not a member of role \"{}\"",
                        member.name, of.name
                    ))),
                }
            }
        }
        Ok(RoleChanges {
            put,
            removed: Vec::new(),
        })
    }

    /// Fails with 42501 unless the session's role may make others members of a role.
    fn check_admin(&self, of: &Role) -> Result<(), SqlError> {
        let Some(user) = self.user else { return Ok(()) };
        let acting = stored(self.catalog, user)?;
        let is_admin = |role: &&std::sync::Arc<Role>| {
            let mut all = role.member_of.iter();
            self.catalog.is_member(acting.id, role.id) && all.any(|known| known.role == of.id && known.admin)
        };
        match acting.superuser || self.catalog.roles().any(|role| is_admin(&role)) {
            true => Ok(()),
            false => Err(denied(format!("must have admin option on role \"{}\"", of.name))),
        }
    }

    /// Returns what GRANT names, which the session's role must own, and the rights that it has.
    fn targets(&self, on: &GrantObjects) -> Result<(Vec<GrantTarget>, Rights), SqlError> {
        let mut targets = Vec::new();
        let all = match on {
            GrantObjects::Database => {
                self.check_superuser("permission denied for database")?;
                targets.push(GrantTarget::Database);
                Rights::CREATE
            }
            GrantObjects::Schemas(names) => {
                for name in names {
                    self.check_schema(name)?;
                    match self.catalog.schema_named(&name.text) {
                        Some(schema) => self.check_owner(schema.id.0, &name.text)?,
                        None => {
                            self.check_superuser(&format!("permission denied for schema {}", name.text))?;
                        }
                    }
                    targets.push(GrantTarget::Schema(name.text.clone()));
                }
                OF_SCHEMAS
            }
            GrantObjects::Tables(names) => {
                for name in names {
                    targets.push(self.object(name, &[Ownable::Table, Ownable::View])?);
                }
                OF_TABLES
            }
            GrantObjects::Sequences(names) => {
                for name in names {
                    targets.push(self.object(name, &[Ownable::Sequence])?);
                }
                OF_SEQUENCES
            }
            GrantObjects::AllTables(schemas) => {
                for schema in schemas {
                    self.check_schema(schema)?;
                    let tables = self.catalog.tables().filter(|table| table.schema == schema.text);
                    let mut named: Vec<(u32, String)> =
                        tables.map(|table| (table.id.0, table.name.clone())).collect();
                    let views = self.catalog.views().filter(|view| view.schema == schema.text);
                    named.extend(views.map(|view| (view.id.0, view.name.clone())));
                    for (id, name) in named {
                        self.check_owner(id, &name)?;
                        targets.push(GrantTarget::Object(id));
                    }
                }
                OF_TABLES
            }
            GrantObjects::AllSequences(schemas) => {
                for schema in schemas {
                    self.check_schema(schema)?;
                    for sequence in self.catalog.sequences().filter(|it| it.schema == schema.text) {
                        self.check_owner(sequence.id.0, &sequence.name)?;
                        targets.push(GrantTarget::Object(sequence.id.0));
                    }
                }
                OF_SEQUENCES
            }
        };
        Ok((targets, all))
    }

    fn check_schema(&self, name: &Name) -> Result<(), SqlError> {
        match self.catalog.has_schema(&name.text) {
            true => Ok(()),
            false => {
                let message = format!("schema \"{}\" does not exist", name.text);
                Err(SqlError::statement("3F000", message).at(name.position))
            }
        }
    }

    fn object(&self, name: &ObjectName, kinds: &[Ownable]) -> Result<GrantTarget, SqlError> {
        let found = objects_named(self.catalog, name);
        match found.iter().find(|(_, kind)| kinds.contains(kind)) {
            Some((id, _)) => {
                self.check_owner(*id, &name.name)?;
                Ok(GrantTarget::Object(*id))
            }
            None => Err(SqlError::undefined_table(&name.name).at(name.position)),
        }
    }

    fn check_owner(&self, id: u32, name: &str) -> Result<(), SqlError> {
        let Some(user) = self.user else {
            return Ok(());
        };
        let checker = Checker::of(self.catalog, user)?;
        let role = checker.role();
        match role.superuser || role.owns.contains(&id) {
            true => Ok(()),
            false => {
                let kind = kind_of(self.catalog, id).unwrap_or_else(|| format!("relation {name}"));
                Err(denied(format!("must be owner of {kind}")))
            }
        }
    }

    fn owner(&self, kind: Ownable, object: &ObjectName, role: &Name) -> Result<RoleChanges, SqlError> {
        let found = match kind {
            Ownable::Schema => {
                let name = Name {
                    text: object.name.clone(),
                    position: object.position,
                };
                self.check_schema(&name)?;
                let schema = self.catalog.schema_named(&object.name);
                schema
                    .map(|schema| vec![(schema.id.0, Ownable::Schema)])
                    .unwrap_or_default()
            }
            _ => objects_named(self.catalog, object),
        };
        // As in PostgreSQL, ALTER TABLE takes any relation.
        let is_meant = |found: Ownable| found == kind || kind == Ownable::Table && found != Ownable::Type;
        let Some((id, _)) = found.iter().find(|(_, found)| is_meant(*found)) else {
            return Err(match kind {
                Ownable::Type => undefined_type(object, false).into(),
                _ => SqlError::undefined_table(&object.name).at(object.position),
            });
        };
        self.check_superuser(&format!(
            "must be superuser to change the owner of {}",
            object.name
        ))?;
        let mut ids = vec![*id];
        if let Some(table) = self.catalog.tables().find(|table| table.id.0 == *id) {
            ids.extend(self.catalog.sequences_of(table.id).map(|sequence| sequence.id.0));
        }
        self.given(&ids, role)
    }

    /// Makes objects a role's own; or nobody's, which are administrators', if the role is an administrator without one.
    fn given(&self, ids: &[u32], role: &Name) -> Result<RoleChanges, SqlError> {
        let new = match self.role(role) {
            Err(_) if self.user.is_none() && role.text == self.own => None,
            new => Some(new?.id),
        };
        let mut put: Vec<Role> = Vec::new();
        for known in self.catalog.roles() {
            let mut changed = known.as_ref().clone();
            changed.owns.retain(|owned| !ids.contains(owned));
            if Some(changed.id) == new {
                changed.owns.extend(ids.iter().copied());
            }
            if changed.owns != known.owns {
                put.push(changed);
            }
        }
        Ok(RoleChanges {
            put,
            removed: Vec::new(),
        })
    }
}

fn put(role: Role) -> RoleChanges {
    RoleChanges {
        put: vec![role],
        removed: Vec::new(),
    }
}

fn set_options(
    role: &mut Role,
    options: &RoleOptions,
    verifier: Option<Option<String>>,
) -> Result<(), SqlError> {
    if let Some(superuser) = options.superuser {
        role.superuser = superuser;
    }
    if let Some(login) = options.login {
        role.login = login;
    }
    if let Some(inherit) = options.inherit {
        role.no_inherit = !inherit;
    }
    if let Some(verifier) = verifier {
        role.verifier = verifier;
    }
    if let Some(until) = &options.valid_until {
        role.valid_until = match until.text.trim() {
            "infinity" => None,
            text => match DataType::TIMESTAMP_TZ.parse_text(text) {
                Ok(Datum::Timestamp(micros)) => Some(micros),
                Ok(_) => None,
                Err(error) => return Err(SqlError::from(error).at(until.position)),
            },
        };
    }
    Ok(())
}
