//! CREATE SCHEMA and ALTER SCHEMA, and what moves from one schema to another.
//!
//! Tables, views and sequences carry the names of their schemas, and so do the queries of views and defaults that
//! take numbers from sequences, which are stored as text: what is named there is named anew, in the same change.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName as AstName, ObjectNamePart, Query, SelectItem, SelectItemQualifiedWildcardKind,
    TableFactor, VisitMut, VisitorMut,
};
use rukh_catalog::{Catalog, GrantTarget, Role, Schema, SchemaId, Table, View};
use rukh_engine::DefinitionChanges;

use super::run::PUBLIC;
use crate::SqlError;
use crate::context::Notice;
use crate::sequences::{default_of, sequence_named_in_default};
use crate::session::Session;
use crate::statement::{Name, ObjectName, Ownable, SchemaStatement, Statement, folded, parse};

/// Schemas that are none of the user's.
const SYSTEM: [&str; 2] = ["pg_catalog", "information_schema"];

/// Runs a statement about schemas; returns its tag.
pub(super) fn schema(session: &mut Session, statement: &SchemaStatement) -> Result<&'static str, SqlError> {
    match statement {
        SchemaStatement::Create {
            name,
            if_not_exists,
            owner,
        } => {
            if let Some(owner) = owner {
                check_role(&session.engine().catalog(), owner)?;
            }
            create(session, name, *if_not_exists)?;
            Ok("CREATE SCHEMA")
        }
        SchemaStatement::Rename { old, new } => {
            let engine = session.engine().clone();
            engine.change_definitions(|catalog| rename(catalog, old, new))?;
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

fn check_role(catalog: &Catalog, name: &Name) -> Result<(), SqlError> {
    match catalog.role_named(&name.text) {
        Some(_) => Ok(()),
        None => {
            let message = format!("role \"{}\" does not exist", name.text);
            Err(SqlError::statement("42704", message).at(name.position))
        }
    }
}

fn create(session: &mut Session, name: &Name, if_not_exists: bool) -> Result<(), SqlError> {
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
                id: SchemaId(0),
                name: name.text.clone(),
                comment: None,
            }],
            ..DefinitionChanges::default()
        })
    })?;
    notice.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
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

/// Makes the error for a schema that is not there.
pub(super) fn unknown(name: &str) -> SqlError {
    SqlError::statement("3F000", format!("schema \"{name}\" does not exist"))
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

fn rename(catalog: &Catalog, old: &Name, new: &Name) -> Result<DefinitionChanges, SqlError> {
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
    let moves = inside.map(|(schema, name)| ((schema.clone(), name.clone()), new.text.clone()));
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

/// Runs ALTER TABLE, VIEW or SEQUENCE … SET SCHEMA.
pub(super) fn set_schema(
    session: &mut Session,
    kind: Ownable,
    name: &ObjectName,
    if_exists: bool,
    schema: &Name,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut is_unknown = false;
    engine.change_definitions(|catalog| {
        let from = name.schema.as_deref().unwrap_or(PUBLIC);
        let mut names = vec![(from.to_string(), name.name.clone())];
        let mut indexes = Vec::new();
        match catalog.table_named(from, &name.name) {
            Ok(table) if kind == Ownable::Table => {
                let own = catalog.sequences_of(table.id);
                names.extend(own.map(|sequence| (sequence.schema.clone(), sequence.name.clone())));
                indexes.extend(table.indexes.iter().map(|index| index.name.clone()));
            }
            _ => match kind {
                Ownable::View if catalog.view_named(from, &name.name).is_some() => {}
                Ownable::Sequence if let Some(sequence) = catalog.sequence_named(from, &name.name) => {
                    if sequence.owner.is_some() {
                        let message = "cannot move an owned sequence into another schema";
                        return Err(SqlError::unsupported(message).at(name.position));
                    }
                }
                _ if catalog.check_name_free(from, &name.name).is_err() => {
                    let kind = match kind {
                        Ownable::View => "a view",
                        Ownable::Sequence => "a sequence",
                        _ => "a table",
                    };
                    let message = format!("\"{}\" is not {kind}", name.name);
                    return Err(SqlError::statement("42809", message).at(name.position));
                }
                _ if if_exists => {
                    is_unknown = true;
                    return Ok(DefinitionChanges::default());
                }
                _ => return Err(SqlError::undefined_table(&name.name).at(name.position)),
            },
        }
        if !catalog.has_schema(&schema.text) {
            return Err(unknown(&schema.text).at(schema.position));
        }
        if schema.text == from {
            return Ok(DefinitionChanges::default());
        }
        let taken = names.iter().map(|(_, name)| name).chain(&indexes);
        for name in taken {
            if catalog.check_name_free(&schema.text, name).is_err() {
                let message = format!("relation \"{name}\" already exists in schema \"{}\"", schema.text);
                return Err(SqlError::statement("42P07", message).at(schema.position));
            }
        }
        let moves = names.into_iter().map(|name| (name, schema.text.clone()));
        moved(catalog, &Moves(moves.collect()))
    })?;
    if is_unknown {
        let message = format!("relation \"{}\" does not exist, skipping", name.name);
        session.notice(Notice::new(message));
    }
    Ok(())
}

/// Schemas that relations go to, by the names that they have.
struct Moves(BTreeMap<(String, String), String>);

impl Moves {
    fn of(&self, schema: &str, name: &str) -> Option<&String> {
        self.0.get(&(schema.to_string(), name.to_string()))
    }
}

/// Returns the definitions that change when relations go to other schemas.
fn moved(catalog: &Catalog, moves: &Moves) -> Result<DefinitionChanges, SqlError> {
    let mut changes = DefinitionChanges::default();
    for table in catalog.tables() {
        let mut next = Table::clone(table);
        if let Some(schema) = moves.of(&table.schema, &table.name) {
            next.schema = schema.clone();
        }
        for column in &mut next.columns {
            if let Some((schema, name)) = column.default.as_deref().and_then(sequence_named_in_default)
                && let Some(schema) = moves.of(&schema, &name)
            {
                column.default = Some(default_of(schema, &name));
            }
        }
        if next != **table {
            changes.tables.push(next);
        }
    }
    for sequence in catalog.sequences() {
        if let Some(schema) = moves.of(&sequence.schema, &sequence.name) {
            let mut next = sequence.as_ref().clone();
            next.schema = schema.clone();
            changes.sequences.push(next);
        }
    }
    for view in catalog.views() {
        let mut next = View::clone(view);
        if let Some(schema) = moves.of(&view.schema, &view.name) {
            next.schema = schema.clone();
        }
        next.sql = moved_query(&view.sql, moves)?.unwrap_or(next.sql);
        if next != **view {
            changes.views.push(next);
        }
    }
    Ok(changes)
}

/// Returns the query of a view with what it names where that goes; `None` if nothing of it goes.
fn moved_query(sql: &str, moves: &Moves) -> Result<Option<String>, SqlError> {
    let Statement::Query(mut query) = parse(sql)? else {
        return Err(SqlError::internal("a view holds another statement than a query"));
    };
    let mut mover = Mover {
        moves,
        has_moved: false,
    };
    let query: &mut Query = query.as_mut();
    let _ = VisitMut::visit(query, &mut mover);
    Ok(mover.has_moved.then(|| query.to_string()))
}

struct Mover<'a> {
    moves: &'a Moves,
    has_moved: bool,
}

impl Mover<'_> {
    /// Names the schema anew where the first two parts of a name are a relation's that goes.
    fn parts(&mut self, first: &mut Ident, second: &Ident) {
        if let Some(schema) = self.moves.of(&folded(first), &folded(second)) {
            *first = Ident::with_quote('"', schema);
            self.has_moved = true;
        }
    }

    fn name(&mut self, name: &mut AstName) {
        if let [
            ObjectNamePart::Identifier(first),
            ObjectNamePart::Identifier(second),
        ] = name.0.as_mut_slice()
        {
            self.parts(first, second);
        }
    }
}

impl VisitorMut for Mover<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: None, .. } = factor {
            self.name(name);
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut datafusion::sql::sqlparser::ast::Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item
            {
                self.name(name);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [first, second, _] = parts.as_mut_slice()
        {
            self.parts(first, second);
        }
        ControlFlow::Continue(())
    }
}
