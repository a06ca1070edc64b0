//! Roles and their rights.
//!
//! ```text
//! CREATE | ALTER {USER | ROLE} name [WITH] [option …]
//! DROP {USER | ROLE} [IF EXISTS] name, …
//! GRANT  right, … ON objects TO   {role | PUBLIC}, …
//! REVOKE right, … ON objects FROM {role | PUBLIC}, … [RESTRICT]
//! GRANT  role, … TO   role, … [WITH ADMIN OPTION]
//! REVOKE [ADMIN OPTION FOR] role, … FROM role, … [RESTRICT]
//! ALTER {TABLE | VIEW | SEQUENCE | SCHEMA} name OWNER TO role
//!
//! option:   [NO]SUPERUSER | [NO]LOGIN | [NO]INHERIT | IN ROLE role, … | [ENCRYPTED] PASSWORD 'x' | PASSWORD NULL | VALID UNTIL 'time'
//! right:    {ALL [PRIVILEGES] | SELECT | INSERT | UPDATE} [(column, …)] | DELETE | TRUNCATE | USAGE | CREATE
//!           | READ | WRITE | DDL
//! objects:  [TABLE] name, … | SEQUENCE name, … | ALL {TABLES | SEQUENCES} IN SCHEMA name, …
//!           | SCHEMA name, … | DATABASE name
//! ```
//!
//! READ is SELECT; WRITE is INSERT, UPDATE, DELETE and TRUNCATE; DDL is what owners may do to a table.

use rukh_catalog::Rights;
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::reader::Reader;
use crate::tree::{GrantObjects, GrantedRights, Name, Ownable, RoleOptions, RoleStatement, Secret};

/// Whether the next statement is one of these.
pub(crate) fn is_next(reader: &Reader<'_>) -> bool {
    let is_role = |at| ["user", "role"].iter().any(|word| reader.peeks_at(at, word));
    let verb = ["create", "alter", "drop"];
    (reader.peeks_any(&verb) && is_role(1)) || reader.peeks_any(&["grant", "revoke"]) || is_owner_to(reader)
}

/// Whether this is ALTER TABLE name OWNER TO, and the like.
fn is_owner_to(reader: &Reader<'_>) -> bool {
    let kind = ["table", "view", "sequence", "schema", "type", "domain"];
    if !reader.peeks(&["alter"]) || !kind.iter().any(|word| reader.peeks_at(1, word)) {
        return false;
    }
    let after = if *reader.peek_at(3) == Token::Period { 5 } else { 3 };
    reader.peeks_at(after, "owner") && reader.peeks_at(after + 1, "to")
}

/// Reads any of them.
pub(crate) fn role(reader: &mut Reader<'_>) -> Result<RoleStatement, StatementError> {
    if is_owner_to(reader) {
        return owner_to(reader);
    }
    let verb = reader.any_word()?;
    if matches!(verb.text.as_str(), "grant" | "revoke") {
        return grant(reader, verb.text == "grant");
    }
    let is_user = reader.any_word()?.text == "user";
    match verb.text.as_str() {
        "create" => {
            let name = reader.name()?;
            let mut options = RoleOptions::default();
            if is_user {
                options.login = Some(true);
            }
            read_options(reader, &mut options, true)?;
            Ok(RoleStatement::Create { name, options })
        }
        "alter" => {
            let name = reader.name()?;
            if reader.peeks_any(&["set", "reset", "in", "rename"]) {
                return Err(reader.unsupported("roles have no settings, and keep their names"));
            }
            let mut options = RoleOptions::default();
            read_options(reader, &mut options, false)?;
            Ok(RoleStatement::Alter { name, options })
        }
        _ => {
            let if_exists = reader.if_exists();
            let names = reader.list(Reader::name)?;
            Ok(RoleStatement::Drop { names, if_exists })
        }
    }
}

fn read_options(
    reader: &mut Reader<'_>,
    options: &mut RoleOptions,
    takes_roles: bool,
) -> Result<(), StatementError> {
    reader.accept(&["with"]);
    while let Token::Word(_) = reader.peek_at(0) {
        let position = reader.position();
        let word = reader.any_word()?;
        match word.text.as_str() {
            "superuser" => options.superuser = Some(true),
            "nosuperuser" => options.superuser = Some(false),
            "login" => options.login = Some(true),
            "nologin" => options.login = Some(false),
            "encrypted" if reader.peeks(&["password"]) => {}
            "password" if reader.accept(&["null"]) => options.password = Some(None),
            "password" => options.password = Some(Some(Secret(reader.string()?))),
            "valid" => {
                reader.expect(&["until"])?;
                let position = reader.position();
                let text = reader.string()?;
                options.valid_until = Some(Name { text, position });
            }
            "inherit" => options.inherit = Some(true),
            "noinherit" => options.inherit = Some(false),
            "in" if takes_roles && (reader.accept(&["role"]) || reader.accept(&["group"])) => {
                options.in_roles.extend(reader.list(Reader::name)?);
            }
            // What every role is anyway.
            "nocreatedb" | "nocreaterole" | "noreplication" | "nobypassrls" => {}
            "createdb" | "createrole" | "replication" | "bypassrls" | "connection" | "in" | "role"
            | "admin" | "user" | "sysid" => {
                let message = format!("role option {} is not supported", word.text.to_ascii_uppercase());
                return Err(StatementError::unsupported(message).at(position));
            }
            other => {
                let message = format!("unrecognized role option \"{other}\"");
                return Err(StatementError::syntax(message).at(position));
            }
        }
    }
    Ok(())
}

fn grant(reader: &mut Reader<'_>, gives: bool) -> Result<RoleStatement, StatementError> {
    if !gives && reader.peeks(&["grant", "option"]) {
        return Err(reader.unsupported("grant options are not supported"));
    }
    if is_of_roles(reader) {
        return membership(reader, gives);
    }
    let rights = reader.list(rights)?;
    reader.expect(&["on"])?;
    let on = objects(reader)?;
    if !matches!(on, GrantObjects::Tables(_) | GrantObjects::AllTables(_))
        && let Some(column) = rights.iter().find_map(|rights| rights.columns.first())
    {
        let message = "column privileges are only valid for relations";
        return Err(StatementError::statement("0LP01", message).at(column.position));
    }
    reader.expect(&[if gives { "to" } else { "from" }])?;
    let roles = reader.list(grantee)?;
    if reader.peeks(&["with"]) {
        return Err(reader.unsupported("grant options are not supported"));
    }
    if !gives {
        reader.accept(&["restrict"]);
    }
    Ok(RoleStatement::Grant {
        gives,
        rights,
        on,
        roles,
    })
}

/// Whether GRANT or REVOKE has roles in the place of rights: TO or FROM follows without ON.
fn is_of_roles(reader: &Reader<'_>) -> bool {
    let ends = |at: &usize| {
        let words = ["on", "to", "from"];
        words.iter().any(|word| reader.peeks_at(*at, word)) || *reader.peek_at(*at) == Token::EOF
    };
    let end = (0..).find(ends).unwrap_or_default();
    end > 0 && !reader.peeks_at(end, "on") && *reader.peek_at(end) != Token::EOF
}

fn membership(reader: &mut Reader<'_>, gives: bool) -> Result<RoleStatement, StatementError> {
    let mut admin = !gives && reader.accept(&["admin", "option", "for"]);
    let roles = reader.list(Reader::name)?;
    reader.expect(&[if gives { "to" } else { "from" }])?;
    let members = reader.list(Reader::name)?;
    if gives && reader.accept(&["with"]) {
        reader.expect(&["admin", "option"])?;
        admin = true;
    }
    if !gives {
        reader.cascade();
    }
    Ok(RoleStatement::Member {
        gives,
        roles,
        members,
        admin,
    })
}

fn right(reader: &mut Reader<'_>) -> Result<Rights, StatementError> {
    let word = reader.any_word()?;
    let named = Rights::NAMED.iter().find(|(name, _)| *name == word.text);
    let rights = match (named, word.text.as_str()) {
        (Some((_, rights)), _) => *rights,
        (None, "read") => Rights::SELECT,
        (None, "write") => Rights::WRITE,
        (None, "references" | "trigger" | "execute" | "temporary" | "temp" | "connect" | "maintain") => {
            let message = format!("the right {} is not supported", word.text.to_ascii_uppercase());
            return Err(StatementError::unsupported(message).at(word.position));
        }
        (None, other) => {
            let message = format!("unrecognized privilege type \"{other}\"");
            return Err(StatementError::syntax(message).at(word.position));
        }
    };
    Ok(rights)
}

/// Reads a right, or all of them, and the columns behind it.
fn rights(reader: &mut Reader<'_>) -> Result<GrantedRights, StatementError> {
    let position = reader.position();
    let rights = match reader.accept(&["all"]) {
        true => {
            reader.accept(&["privileges"]);
            None
        }
        false => Some(right(reader)?),
    };
    let columns = match *reader.peek_at(0) == Token::LParen {
        true => reader.names()?,
        false => Vec::new(),
    };
    if let Some(of_columns) = rights.filter(|_| !columns.is_empty())
        && !Rights::OF_COLUMNS.contain(of_columns)
    {
        let mut named = Rights::NAMED
            .iter()
            .filter(|(_, right)| of_columns.contain(*right));
        let name = named.next().map_or("", |(name, _)| name).to_ascii_uppercase();
        let message = format!("invalid privilege type {name} for column");
        return Err(StatementError::statement("0LP01", message).at(position));
    }
    Ok(GrantedRights { rights, columns })
}

fn objects(reader: &mut Reader<'_>) -> Result<GrantObjects, StatementError> {
    if reader.accept(&["all", "tables", "in", "schema"]) {
        return Ok(GrantObjects::AllTables(reader.list(Reader::name)?));
    }
    if reader.accept(&["all", "sequences", "in", "schema"]) {
        return Ok(GrantObjects::AllSequences(reader.list(Reader::name)?));
    }
    if reader.accept(&["schema"]) {
        return Ok(GrantObjects::Schemas(reader.list(Reader::name)?));
    }
    if reader.accept(&["database"]) {
        // There is one, whatever it is called.
        reader.any_word()?;
        return Ok(GrantObjects::Database);
    }
    if reader.accept(&["sequence"]) {
        return Ok(GrantObjects::Sequences(reader.list(Reader::object_name)?));
    }
    reader.accept(&["table"]);
    Ok(GrantObjects::Tables(reader.list(Reader::object_name)?))
}

fn grantee(reader: &mut Reader<'_>) -> Result<Option<Name>, StatementError> {
    match reader.accept(&["public"]) {
        true => Ok(None),
        false => reader.name().map(Some),
    }
}

fn owner_to(reader: &mut Reader<'_>) -> Result<RoleStatement, StatementError> {
    reader.take();
    let kind = match reader.any_word()?.text.as_str() {
        "table" => Ownable::Table,
        "view" => Ownable::View,
        "schema" => Ownable::Schema,
        "type" | "domain" => Ownable::Type,
        _ => Ownable::Sequence,
    };
    let object = reader.object_name()?;
    reader.expect(&["owner", "to"])?;
    let role = reader.name()?;
    Ok(RoleStatement::Owner { kind, object, role })
}
