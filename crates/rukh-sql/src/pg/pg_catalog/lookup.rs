//! What tables and functions of `pg_catalog` look up: names, numbers, sizes, roles, settings.

use std::sync::Arc;

use rukh_catalog::{Catalog, GrantTarget, PUBLIC, Rights, RoleId, Table};
use rukh_engine::PartKind;
use rukh_syntax::{ObjectName, parse_object_name, quoted};

use super::relations::{Relation, relation, relations};
use super::source::{DATABASE, Source};
use super::table::Cell;
use super::types;
use crate::bind::system::oids::{self, number};
use rukh_error::SqlError;

/// A user.
pub(crate) struct Role {
    pub(crate) oid: i64,
    pub(crate) name: String,
    pub(crate) superuser: bool,
    pub(crate) login: bool,
    /// Whether it has the rights of the roles that it is a member of.
    pub(crate) inherits: bool,
    /// Until when its password holds, microseconds since 1970-01-01.
    pub(crate) valid_until: Option<i64>,
}

/// Returns all users, the one first that owns what no role does.
pub(crate) fn roles(source: &Source<'_>) -> Vec<Role> {
    let known = source.catalog().roles().map(|role| Role {
        oid: oids::role(role.id),
        name: role.name.clone(),
        superuser: role.superuser,
        login: role.login,
        inherits: !role.no_inherit,
        valid_until: role.valid_until,
    });
    let is_role = source.catalog().role_named(source.user()).is_some();
    let owner = Role {
        oid: oids::OWNER,
        name: if is_role { DATABASE } else { source.user() }.to_string(),
        superuser: true,
        login: !is_role,
        inherits: true,
        valid_until: None,
    };
    std::iter::once(owner).chain(known).collect()
}

/// Returns the number of the user that owns a table, view or sequence.
pub(crate) fn owner(source: &Source<'_>, object: u32) -> i64 {
    let owner = source.catalog().owner_of(object);
    owner.map_or(oids::OWNER, |role| oids::role(role.id))
}

/// Returns the name of the user that owns a table, view or sequence.
pub(crate) fn owner_name(source: &Source<'_>, object: u32) -> String {
    role_name(source, owner(source, object))
}

/// Returns the rights given on a table, view or sequence, or on one of its columns, `ann=ar/boss`, or NULL if none are.
pub(crate) fn acl(source: &Source<'_>, object: u32, column: Option<u32>) -> Cell {
    const LETTERS: [(Rights, char); 6] = [
        (Rights::INSERT, 'a'),
        (Rights::SELECT, 'r'),
        (Rights::UPDATE, 'w'),
        (Rights::DELETE, 'd'),
        (Rights::TRUNCATE, 'D'),
        (Rights::USAGE, 'U'),
    ];
    let catalog = source.catalog();
    let on = match column {
        Some(column) => GrantTarget::Column { object, column },
        None => GrantTarget::Object(object),
    };
    let owner = owner_name(source, object);
    let item = |role: &Arc<rukh_catalog::Role>| {
        let rights = role.granted(&on);
        let letters = LETTERS.iter().filter(|(right, _)| rights.contain(*right));
        let letters: String = letters.map(|(_, letter)| *letter).collect();
        let name = if role.id == RoleId::PUBLIC { "" } else { &role.name };
        (!letters.is_empty()).then(|| Some(format!("{name}={letters}/{owner}")))
    };
    let everybody = catalog.role(RoleId::PUBLIC);
    let items: Vec<Option<String>> = everybody
        .into_iter()
        .chain(catalog.roles())
        .filter_map(item)
        .collect();
    match items.is_empty() {
        true => Cell::Null,
        false => Cell::Texts(items),
    }
}

/// Computes `pg_has_role`: whether a user, the current one by default, is a member of a role; with USAGE, whether it has its rights
/// without SET ROLE. Superusers are members of all.
pub(crate) fn has_role(source: &Source<'_>, given: &[Cell]) -> Result<Cell, SqlError> {
    let (user, of, kinds) = match given {
        [user, of, kinds] => (Some(user), of, kinds),
        [of, kinds] => (None, of, kinds),
        _ => return Ok(Cell::Null),
    };
    let named = |cell: &Cell| match cell {
        Cell::Int(oid) => role_name(source, *oid),
        other => other.to_text(),
    };
    let catalog = source.catalog();
    let unknown = |name: &str| SqlError::statement("42704", format!("role \"{name}\" does not exist"));
    let is_known = |name: &str| roles(source).iter().any(|role| role.name == name);
    let (user, of) = (user.map_or_else(|| source.user().to_string(), named), named(of));
    if let Some(name) = [&user, &of].into_iter().find(|name| !is_known(name)) {
        return Err(unknown(name));
    }
    let (Some(member), Some(of)) = (catalog.role_named(&user), catalog.role_named(&of)) else {
        // Roles that are not stored are administrators.
        return Ok(Cell::Bool(
            catalog.role_named(&user).is_none_or(|role| role.superuser) || user == of,
        ));
    };
    let holds = |kind: &str| {
        let kind = kind.trim().to_ascii_uppercase();
        let (kind, admin) = match kind.split_once(" WITH ") {
            Some((kind, _)) => (kind, true),
            None => (kind.as_str(), false),
        };
        let is_member = catalog.is_member(member.id, of.id);
        match kind {
            _ if member.superuser => Ok(true),
            "MEMBER" | "USAGE" | "SET" if admin => Ok(member
                .member_of
                .iter()
                .any(|known| known.role == of.id && known.admin)),
            "MEMBER" | "SET" => Ok(is_member),
            "USAGE" => Ok(is_member && (member.id == of.id || !member.no_inherit)),
            _ => Err(SqlError::statement(
                "22023",
                format!("unrecognized privilege type: \"{kind}\""),
            )),
        }
    };
    let kinds = kinds.to_text();
    let held = kinds
        .split(',')
        .map(holds)
        .collect::<Result<Vec<bool>, SqlError>>()?;
    Ok(Cell::Bool(held.contains(&true)))
}

/// Computes `has_table_privilege` and its kin: whether a user, the current one by default, has one of
/// the rights in `words` on the object `on`. The owner of everything has all of them.
pub(crate) fn has_rights(
    source: &Source<'_>,
    user: Option<&Cell>,
    words: &str,
    on: impl Fn(&Catalog, &rukh_catalog::Role) -> Rights,
) -> Result<Cell, SqlError> {
    let name = match user {
        None => source.user().to_string(),
        Some(Cell::Int(oid)) => role_name(source, *oid),
        Some(Cell::Text(name)) => name.clone(),
        Some(_) => return Ok(Cell::Bool(false)),
    };
    let catalog = source.catalog();
    let Some(role) = catalog.acting(&name) else {
        return match roles(source).iter().any(|role| role.name == name) {
            true => Ok(Cell::Bool(true)),
            false => Err(SqlError::statement(
                "42704",
                format!("role \"{name}\" does not exist"),
            )),
        };
    };
    let rights = on(catalog, &role);
    words
        .split(',')
        .map(|word| {
            let word = word.trim().to_ascii_uppercase();
            let word = word.strip_suffix(" WITH GRANT OPTION").unwrap_or(&word);
            match word {
                "CONNECT" => Ok(true),
                // Rights that cannot be granted here: superusers have them.
                "REFERENCES" | "TRIGGER" | "TEMP" | "TEMPORARY" => Ok(rights.contain(Rights::ALL)),
                word => {
                    let mut named = Rights::NAMED.iter();
                    let right = named
                        .find(|(name, _)| name.eq_ignore_ascii_case(word))
                        .map(|(_, right)| *right);
                    let unknown =
                        || SqlError::statement("22023", format!("unrecognized privilege type: \"{word}\""));
                    Ok(rights.contain(right.ok_or_else(unknown)?))
                }
            }
        })
        .try_fold(false, |any, one: Result<bool, SqlError>| Ok(any | one?))
        .map(Cell::Bool)
}

/// Returns the name of a user by its number.
pub(crate) fn role_name(source: &Source<'_>, oid: i64) -> String {
    let found = roles(source).into_iter().find(|role| role.oid == oid);
    found.map_or_else(|| format!("unknown (OID={oid})"), |role| role.name)
}

/// Returns the names of all schemas.
pub(crate) fn schemas(catalog: &Catalog) -> Vec<String> {
    let mut names: Vec<String> = catalog.schemas().map(|schema| schema.name.clone()).collect();
    names.extend(["pg_catalog", "information_schema"].map(String::from));
    names.extend(catalog.has_schema(PUBLIC).then(|| PUBLIC.to_string()));
    names.sort();
    names.dedup();
    names
}

/// Returns all settings: name, value, description.
pub(crate) fn settings(source: &Source<'_>) -> Vec<[String; 3]> {
    source.context.client.settings.all()
}

/// Returns the number of rows of a table, as its statistics have it.
pub(crate) fn rows_of(source: &Source<'_>, table: &Table) -> Option<i64> {
    let statistics = source.context.engine.statistics(table.id)?;
    i64::try_from(statistics.rows).ok()
}

/// Returns a relation by its name as SQL writes it; names without a schema are found in `pg_catalog`, then in
/// the schemas of the search path.
pub(crate) fn relation_named<'a>(
    source: &'a Source<'_>,
    text: &str,
) -> Result<Option<Relation<'a>>, SqlError> {
    let name = parse_object_name(text)?;
    let catalog = source.catalog();
    let in_schema = |schema: &str| {
        relations(catalog).find(|relation| relation.schema() == schema && relation.name() == name.name)
    };
    Ok(match &name.schema {
        Some(schema) => in_schema(schema),
        None => in_schema("pg_catalog").or_else(|| source.path().iter().find_map(|schema| in_schema(schema))),
    })
}

/// Whether a relation is found by its name alone.
pub(crate) fn is_visible(source: &Source<'_>, found: &Relation<'_>) -> bool {
    let (path, name) = (source.path(), found.name());
    match path.iter().position(|schema| schema == found.schema()) {
        Some(at) => path[..at]
            .iter()
            .all(|schema| source.catalog().check_name_free(schema, &name).is_ok()),
        None => found.schema() == "pg_catalog",
    }
}

/// Returns the number that `'name'::regclass` stands for.
pub(crate) fn relation_number(source: &Source<'_>, cell: &Cell) -> Result<Cell, SqlError> {
    match cell {
        Cell::Text(text) if text.trim() == "-" => Ok(Cell::Int(0)),
        Cell::Text(text) => match number(text) {
            Some(number) => Ok(Cell::Int(number)),
            None => match relation_named(source, text)? {
                Some(relation) => Ok(Cell::Int(relation.oid())),
                None => {
                    let ObjectName { schema, name, .. } = parse_object_name(text)?;
                    let schema = schema.map_or(String::new(), |schema| format!("{schema}."));
                    let message = format!("relation \"{schema}{name}\" does not exist");
                    Err(SqlError::statement("42P01", message))
                }
            },
        },
        other => Ok(other.clone()),
    }
}

/// Returns the number of a type by its number or name.
///
/// Fails with 42704 if there is none of the name.
pub(crate) fn type_number(source: &Source<'_>, cell: &Cell) -> Result<Cell, SqlError> {
    numbered(cell, "type", "42704", |name| types::number_in(source, name))
}

/// Returns the number of a schema by its number or name.
///
/// Fails with 3F000 if there is none of the name.
pub(crate) fn schema_number(source: &Source<'_>, cell: &Cell) -> Result<Cell, SqlError> {
    numbered(cell, "schema", "3F000", |name| {
        let known = schemas(source.catalog()).iter().any(|known| known == name);
        known.then(|| oids::schema(name))
    })
}

/// Returns the number of a role by its number or name.
///
/// Fails with 42704 if there is none of the name.
pub(crate) fn role_number(source: &Source<'_>, cell: &Cell) -> Result<Cell, SqlError> {
    numbered(cell, "role", "42704", |name| {
        let known = roles(source).into_iter().find(|role| role.name == name);
        known.map(|role| role.oid)
    })
}

fn numbered(
    cell: &Cell,
    kind: &str,
    sqlstate: &'static str,
    find: impl FnOnce(&str) -> Option<i64>,
) -> Result<Cell, SqlError> {
    match cell {
        Cell::Text(text) if text.trim() == "-" => Ok(Cell::Int(0)),
        Cell::Text(text) => match number(text).or_else(|| find(text)) {
            Some(number) => Ok(Cell::Int(number)),
            None => {
                let message = format!("{kind} \"{text}\" does not exist");
                Err(SqlError::statement(sqlstate, message))
            }
        },
        other => Ok(other.clone()),
    }
}

/// Returns the name of a relation as `regclass` shows it, with its schema where it needs that; the number where
/// there is none.
pub(crate) fn relation_name(source: &Source<'_>, oid: i64) -> String {
    match relation(source.catalog(), oid) {
        None if oid == 0 => "-".to_string(),
        None => oid.to_string(),
        Some(relation) if is_visible(source, &relation) => quoted(&relation.name()),
        Some(relation) => format!("{}.{}", quoted(relation.schema()), quoted(&relation.name())),
    }
}

/// What of a relation a size counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sized {
    /// The rows of a table, or an index.
    Itself,
    /// All indexes of a table.
    Indexes,
    /// A table with its indexes.
    All,
}

/// Returns the bytes of a relation; `None` if there is none of the number.
pub(crate) fn size_of(source: &Source<'_>, oid: i64, of: Sized) -> Result<Option<i64>, SqlError> {
    let Some(found) = relation(source.catalog(), oid) else {
        return Ok(None);
    };
    let (table, storage) = match found {
        Relation::Table(table) => (table, None),
        Relation::Index(table, index) => (table, Some(index.storage_names())),
        _ => return Ok(Some(0)),
    };
    let usage = source.context.engine.usage(Some(table.id))?;
    let counts = |storage_name: &String, kind: PartKind| match &storage {
        Some(names) => names.contains(storage_name),
        None => match of {
            Sized::Itself => kind != PartKind::Index,
            Sized::Indexes => kind == PartKind::Index,
            Sized::All => true,
        },
    };
    let parts = usage.iter().filter(|(part, _)| counts(&part.storage, part.kind));
    let bytes: u64 = parts.map(|(_, usage)| usage.file_bytes + usage.blob_bytes).sum();
    Ok(Some(i64::try_from(bytes).unwrap_or(i64::MAX)))
}

/// Returns the bytes of the database.
pub(crate) fn database_size(source: &Source<'_>) -> Result<i64, SqlError> {
    let usage = source.context.engine.usage(None)?;
    let bytes: u64 = usage
        .iter()
        .map(|(_, usage)| usage.file_bytes + usage.blob_bytes)
        .sum();
    Ok(i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Returns a number of bytes as people read it, as PostgreSQL rounds it.
pub(crate) fn pretty_size(bytes: i64) -> String {
    let mut size = i128::from(bytes);
    if size.abs() < 10 * 1024 {
        return format!("{size} bytes");
    }
    // Halves are kept for rounding: each unit is entered with one bit more than it shows.
    size >>= 9;
    for unit in ["kB", "MB", "GB", "TB"] {
        if size.abs() < 20 * 1024 - 1 {
            return format!("{} {unit}", (size + size.signum()) / 2);
        }
        size >>= 10;
    }
    format!("{} PB", (size + size.signum()) / 2)
}

/// Returns the comment of a relation, or of its column.
pub(crate) fn comment(catalog: &Catalog, oid: i64, column: i64) -> Option<String> {
    let at = usize::try_from(column).ok()?;
    if let Some(schema) = catalog.schemas().find(|schema| oids::schema(&schema.name) == oid) {
        return schema.comment.clone().filter(|_| at == 0);
    }
    if let Some(ty) = catalog.types().find(|ty| oids::object(ty.id().0) == oid) {
        return ty.comment.clone().filter(|_| at == 0);
    }
    if let Some(function) = catalog
        .functions()
        .find(|function| oids::object(function.id.0) == oid)
    {
        return function.comment.clone().filter(|_| at == 0);
    }
    match relation(catalog, oid)? {
        Relation::Table(table) if at == 0 => table.comments.table.clone(),
        Relation::Table(table) => {
            let column = table.columns.get(at - 1)?;
            table.comments.columns.get(&column.id).cloned()
        }
        Relation::View(view) if at == 0 => view.comment.clone(),
        Relation::Sequence(sequence) if at == 0 => sequence.comment.clone(),
        Relation::Index(table, index) if at == 0 => table.comments.indexes.get(&index.id).cloned(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_as_postgresql_does() {
        let cases = [
            (0, "0 bytes"),
            (10_239, "10239 bytes"),
            (10_240, "10 kB"),
            (10_752, "11 kB"),
            (10_485_247, "10239 kB"),
            (10_485_248, "10 MB"),
            (1 << 40, "1024 GB"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(pretty_size(bytes), expected, "{bytes}");
        }
    }
}
