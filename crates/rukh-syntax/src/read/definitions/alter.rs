//! ALTER TABLE, ALTER INDEX and REINDEX.
//!
//! ```text
//! ALTER TABLE [IF EXISTS] [ONLY] t action, …
//! ALTER TABLE | VIEW | SEQUENCE [IF EXISTS] t SET SCHEMA s
//! ALTER VIEW | SEQUENCE [IF EXISTS] t RENAME TO name
//! ALTER INDEX [IF EXISTS] i RENAME TO name | REBUILD | DISABLE | ENABLE
//! REINDEX INDEX [CONCURRENTLY] i | TABLE [CONCURRENTLY] t
//!
//! RENAME TO name
//! RENAME [COLUMN] a TO b
//! RENAME CONSTRAINT a TO b
//! ADD [COLUMN] [IF NOT EXISTS] column
//! ADD [CONSTRAINT name] CHECK (condition) | UNIQUE {(column, …) | USING INDEX i}
//! DROP [COLUMN] [IF EXISTS] a [CASCADE | RESTRICT]
//! DROP CONSTRAINT [IF EXISTS] name
//! SET (TTL = …) | SET TTL = … | RESET (TTL)
//! REPACK
//! SET (VERSIONS = n) | SET VERSIONS n | RESET (VERSIONS)
//! ALTER FAMILY f {SET (TTL = …, VERSIONS = n) | RESET (TTL, VERSIONS)}
//! ALTER [COLUMN] a ADD GENERATED … AS IDENTITY | DROP {IDENTITY | EXPRESSION}
//! ALTER [COLUMN] a {SET GENERATED … | RESTART [[WITH] n] | SET {option of a sequence}} …
//! CLUSTER ON index | SET WITHOUT CLUSTER | REPLICA IDENTITY … | SET {LOGGED | UNLOGGED} | SET (fillfactor = …)   (`storage`)
//! ALTER [COLUMN] a SET DEFAULT expression | DROP DEFAULT | SET NOT NULL | DROP NOT NULL | [SET DATA] TYPE type
//! ```

use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::definitions::create_index::primary_key_element;
use crate::read::definitions::create_table;
use crate::read::definitions::data_type::{accept_collation, type_name};
use crate::read::definitions::foreign::{foreign_key, timing};
use crate::read::definitions::lifetime::lifetime;
use crate::read::definitions::sequence;
use crate::read::definitions::storage;
use crate::read::reader::Reader;
use crate::tree::{
    AlterAction, AlterSequenceStatement, AlterTableStatement, Computed, CreateTableStatement, Expression,
    IdentityKind, IndexAction, LifetimeDefinition, Name, ObjectName, Ownable, Statement,
};

/// Reads ALTER.
pub(crate) fn alter(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["alter"])?;
    if reader.accept(&["index"]) {
        let if_exists = reader.if_exists();
        let name = reader.object_name()?;
        return Ok(Statement::AlterIndex {
            name,
            if_exists,
            action: index_action(reader)?,
        });
    }
    let kind = match () {
        () if reader.accept(&["table"]) => Ownable::Table,
        () if reader.accept(&["materialized", "view"]) => Ownable::Table,
        () if reader.accept(&["view"]) => Ownable::View,
        () if reader.accept(&["sequence"]) => Ownable::Sequence,
        () => {
            let message =
                "ALTER of anything but tables, indexes, views, sequences, types and schemas is not supported";
            return Err(reader.unsupported(message));
        }
    };
    let if_exists = reader.if_exists();
    if kind == Ownable::Table {
        reader.accept(&["only"]);
    }
    let name = reader.object_name()?;
    if reader.accept(&["set", "schema"]) {
        return Ok(Statement::SetSchema {
            kind,
            name,
            if_exists,
            schema: reader.name()?,
        });
    }
    if kind != Ownable::Table && reader.accept(&["rename", "to"]) {
        return Ok(Statement::Rename {
            kind,
            name,
            if_exists,
            new: reader.name()?,
        });
    }
    match kind {
        Ownable::Table => {}
        Ownable::Sequence => return sequence::alter_sequence(reader, name, if_exists),
        Ownable::View => return Err(reader.unsupported("this form of ALTER VIEW is not supported")),
        Ownable::Schema | Ownable::Type => {
            return Err(StatementError::internal(
                "schemas and types are altered elsewhere",
            ));
        }
    }
    let actions = reader.list(action)?;
    let alone = |action: &AlterAction| {
        matches!(
            action,
            AlterAction::RenameTo(_)
                | AlterAction::RenameColumn { .. }
                | AlterAction::RenameConstraint { .. }
                | AlterAction::AddIdentity { .. }
                | AlterAction::DropComputed {
                    computed: Computed::Identity,
                    ..
                }
                | AlterAction::AlterNumbers { .. }
                | AlterAction::AddPrimaryKey { .. }
                | AlterAction::Repack
        )
    };
    if actions.len() > 1 && actions.iter().any(alone) {
        let message =
            "RENAME, REPACK, ADD PRIMARY KEY and changes of identity columns stand alone in ALTER TABLE";
        return Err(StatementError::unsupported(message).at(name.position));
    }
    Ok(Statement::AlterTable(Box::new(AlterTableStatement {
        name,
        if_exists,
        actions,
    })))
}

/// Reads REINDEX, which always lets others write.
pub(crate) fn reindex(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["reindex"])?;
    if reader.accept_token(&Token::LParen) {
        reader.list(
            |reader| match reader.accept(&["concurrently"]) || reader.accept(&["verbose"]) {
                true => Ok(()),
                false => Err(reader.unsupported("this option of REINDEX is not supported")),
            },
        )?;
        reader.expect_token(&Token::RParen)?;
    }
    let is_table = reader.accept(&["table"]);
    if !is_table && !reader.accept(&["index"]) {
        return Err(match reader.peeks_any(&["schema", "database", "system"]) {
            true => reader.unsupported("REINDEX of anything but indexes and tables is not supported"),
            false => reader.unexpected(),
        });
    }
    reader.accept(&["concurrently"]);
    let name = reader.object_name()?;
    Ok(match is_table {
        true => Statement::ReindexTable { name },
        false => Statement::ReindexIndex { name },
    })
}

fn index_action(reader: &mut Reader<'_>) -> Result<IndexAction, StatementError> {
    match () {
        () if reader.accept(&["rename"]) => {
            reader.expect(&["to"])?;
            reader.name().map(IndexAction::RenameTo)
        }
        () if reader.accept(&["rebuild"]) => Ok(IndexAction::Rebuild),
        () if reader.accept(&["disable"]) => Ok(IndexAction::Disable),
        () if reader.accept(&["enable"]) => Ok(IndexAction::Enable),
        () if reader.accept(&["repack"]) => Ok(IndexAction::Repack),
        () if reader.peeks(&["set", "tablespace"]) => {
            reader.expect(&["set"])?;
            storage::tablespace(reader)?;
            Ok(IndexAction::Storage(Vec::new()))
        }
        () if *reader.peek_at(1) == Token::LParen
            && (reader.accept(&["set"]) || reader.accept(&["reset"])) =>
        {
            let notices = storage::parameters(reader)?;
            notices
                .map(IndexAction::Storage)
                .ok_or_else(|| reader.unsupported("this form of ALTER INDEX is not supported"))
        }
        () => match reader.peek_at(0) {
            Token::Word(_) => Err(reader.unsupported("this form of ALTER INDEX is not supported")),
            _ => Err(reader.unexpected()),
        },
    }
}

fn action(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    if reader.accept(&["repack"]) {
        return Ok(AlterAction::Repack);
    }
    if reader.accept(&["rename"]) {
        return rename(reader);
    }
    if reader.accept(&["add"]) {
        return add(reader);
    }
    if reader.accept(&["drop"]) {
        return drop(reader);
    }
    if let Some(action) = storage::table_action(reader)? {
        return Ok(action);
    }
    let of_family = ["set", "reset"].iter().any(|word| reader.peeks_at(3, word));
    if reader.peeks(&["alter", "family"]) && of_family {
        return alter_family(reader);
    }
    if reader.accept(&["validate", "constraint"]) {
        return reader.name().map(AlterAction::ValidateConstraint);
    }
    if reader.accept(&["alter", "constraint"]) {
        let name = reader.name()?;
        let Some(timing) = timing(reader)? else {
            return Err(reader.unexpected());
        };
        return Ok(AlterAction::AlterConstraint { name, timing });
    }
    if reader.accept(&["alter"]) {
        reader.accept(&["column"]);
        return alter_column(reader);
    }
    if reader.accept(&["set"]) {
        return match reader.peeks_any(&["ttl", "versions"]) {
            true => set_option(reader),
            false => one_option(reader, set_option),
        };
    }
    if reader.accept(&["reset"]) {
        return one_option(reader, reset_option);
    }
    match reader.peek_at(0) {
        Token::Word(_) => Err(reader.unsupported("this form of ALTER TABLE is not supported")),
        _ => Err(reader.unexpected()),
    }
}

/// Reads one option in parentheses.
fn one_option(
    reader: &mut Reader<'_>,
    option: impl FnMut(&mut Reader<'_>) -> Result<AlterAction, StatementError>,
) -> Result<AlterAction, StatementError> {
    let position = reader.position();
    if *reader.peek_at(0) != Token::LParen {
        return Err(reader.unsupported("this form of ALTER TABLE is not supported"));
    }
    if let Some(notices) = storage::parameters(reader)? {
        return Ok(AlterAction::Storage {
            column: None,
            index: None,
            notices,
        });
    }
    let mut actions = reader.parenthesised(option)?;
    match (actions.pop(), actions.is_empty()) {
        (Some(action), true) => Ok(action),
        _ => Err(StatementError::unsupported("options are set one at a time").at(position)),
    }
}

fn set_option(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    let name = reader.any_word()?;
    match name.text.as_str() {
        "ttl" => {
            reader.expect_token(&Token::Eq)?;
            lifetime(reader).map(AlterAction::SetLifetime)
        }
        "versions" => {
            reader.accept_token(&Token::Eq);
            create_table::versions(reader).map(AlterAction::SetVersions)
        }
        _ => Err(storage::unknown_option(&name)),
    }
}

/// Reads `ALTER FAMILY f SET (TTL = …, VERSIONS = n)`, or `RESET (TTL, VERSIONS)`.
fn alter_family(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    reader.expect(&["alter", "family"])?;
    let family = reader.name()?;
    let resets = reader.accept(&["reset"]);
    if !resets {
        reader.expect(&["set"])?;
    }
    let (mut ttl_micros, mut versions) = (None, None);
    let option = |reader: &mut Reader<'_>| {
        let name = reader.any_word()?;
        match (name.text.as_str(), resets) {
            ("ttl", true) => ttl_micros = Some(None),
            ("versions", true) => versions = Some(None),
            ("ttl", false) => {
                reader.expect_token(&Token::Eq)?;
                ttl_micros = Some(create_table::family_ttl(reader)?);
            }
            ("versions", false) => {
                reader.accept_token(&Token::Eq);
                versions = Some(Some(create_table::versions(reader)?.unwrap_or(1)));
            }
            ("compression", _) => {
                let message = "the compression of a family is chosen when it is made";
                return Err(StatementError::unsupported(message).at(name.position));
            }
            _ => return Err(storage::unknown_option(&name)),
        }
        Ok(())
    };
    match reader.peeks_any(&["ttl", "versions"]) {
        true => reader.list(option)?,
        false => reader.parenthesised(option)?,
    };
    Ok(AlterAction::SetFamily {
        family,
        ttl_micros,
        versions,
    })
}

fn reset_option(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    let name = reader.any_word()?;
    match name.text.as_str() {
        "ttl" => Ok(AlterAction::SetLifetime(LifetimeDefinition {
            ttl_micros: None,
            from: None,
            position: name.position,
        })),
        "versions" => Ok(AlterAction::SetVersions(None)),
        _ => Err(storage::unknown_option(&name)),
    }
}

fn rename(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    if reader.accept(&["to"]) {
        return reader.name().map(AlterAction::RenameTo);
    }
    let is_constraint = reader.accept(&["constraint"]);
    if !is_constraint {
        reader.accept(&["column"]);
    }
    let old = reader.name()?;
    reader.expect(&["to"])?;
    let new = reader.name()?;
    Ok(match is_constraint {
        true => AlterAction::RenameConstraint { old, new },
        false => AlterAction::RenameColumn { old, new },
    })
}

fn add(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    let name = match reader.accept(&["constraint"]) {
        true => Some(reader.name()?),
        false => None,
    };
    if reader.peeks(&["check"]) {
        return create_table::check(reader, name).map(AlterAction::AddCheck);
    }
    if reader.accept(&["unique", "using", "index"]) {
        let index = reader.name()?;
        return Ok(AlterAction::UseIndex { name, index });
    }
    if reader.accept(&["unique"]) {
        return create_table::unique(reader, name).map(AlterAction::AddUnique);
    }
    if reader.peeks(&["primary", "key", "using", "index"]) {
        let message =
            "PRIMARY KEY USING INDEX is not supported: a primary key is the order of the rows, and no index";
        return Err(reader.unsupported(message));
    }
    let position = reader.position();
    if reader.accept(&["primary", "key"]) {
        let elements = reader.parenthesised(primary_key_element)?;
        return Ok(AlterAction::AddPrimaryKey {
            name,
            elements,
            position,
        });
    }
    if reader.peeks(&["foreign"]) {
        return foreign_key(reader, name).map(AlterAction::AddForeignKey);
    }
    if name.is_some() || reader.peeks_any(&["exclude"]) {
        return Err(reader.unsupported("EXCLUDE constraints are not supported"));
    }
    reader.accept(&["column"]);
    let if_not_exists = reader.if_not_exists();
    let nameless = ObjectName {
        schema: None,
        name: String::new(),
        position: reader.position(),
    };
    let mut read = CreateTableStatement::of(nameless, if_not_exists);
    let position = reader.position();
    create_table::column(reader, &mut read)?;
    if read.primary_key.is_some() {
        let message = "PRIMARY KEY of a column that is added is not supported";
        return Err(StatementError::unsupported(message).at(position));
    }
    match read.columns.pop() {
        Some(column) => Ok(AlterAction::AddColumn {
            column: Box::new(column),
            checks: read.checks,
            uniques: read.uniques,
            foreign_keys: read.foreign_keys,
            if_not_exists,
        }),
        None => Err(reader.unexpected()),
    }
}

fn drop(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    let is_constraint = reader.accept(&["constraint"]);
    if !is_constraint {
        reader.accept(&["column"]);
    }
    let if_exists = reader.if_exists();
    let name = reader.name()?;
    let cascade = reader.accept(&["cascade"]);
    reader.accept(&["restrict"]);
    Ok(match is_constraint {
        true => AlterAction::DropConstraint {
            name,
            if_exists,
            cascade,
        },
        false => AlterAction::DropColumn {
            name,
            if_exists,
            cascade,
        },
    })
}

/// Reads what ALTER COLUMN says of identity and generated columns.
fn alter_identity(reader: &mut Reader<'_>, column: &Name) -> Result<Option<AlterAction>, StatementError> {
    let column = column.clone();
    for (word, computed) in [
        ("identity", Computed::Identity),
        ("expression", Computed::Expression),
    ] {
        if reader.accept(&["drop", word]) {
            let if_exists = reader.if_exists();
            return Ok(Some(AlterAction::DropComputed {
                column,
                computed,
                if_exists,
            }));
        }
    }
    if reader.peeks(&["add", "generated"]) {
        reader.expect(&["add"])?;
        let identity = create_table::identity(reader)?;
        return Ok(Some(AlterAction::AddIdentity { column, identity }));
    }
    let of_sequence = [
        "increment",
        "minvalue",
        "maxvalue",
        "no",
        "start",
        "cache",
        "cycle",
    ];
    let name = ObjectName {
        schema: None,
        name: String::new(),
        position: column.position,
    };
    let mut sequence = AlterSequenceStatement::of(name, false);
    let (mut kind, mut seen) = (None, Vec::new());
    loop {
        let position = reader.position();
        let sets = reader.peeks(&["set"]) && of_sequence.iter().any(|word| reader.peeks_at(1, word));
        if reader.accept(&["set", "generated"]) {
            let given = match reader.accept(&["by", "default"]) {
                true => IdentityKind::ByDefault,
                false => {
                    reader.expect(&["always"])?;
                    IdentityKind::Always
                }
            };
            if kind.replace(given).is_some() {
                return Err(sequence::conflicting_options(position));
            }
        } else if sets || reader.peeks(&["restart"]) {
            reader.accept(&["set"]);
            if !sequence::alter_option(reader, &mut sequence, &mut seen)? {
                return Err(reader.unexpected());
            }
        } else {
            break;
        }
    }
    Ok(match (seen.is_empty(), kind) {
        (true, None) => None,
        (true, Some(kind)) => Some(AlterAction::SetIdentity { column, kind }),
        (false, kind) => Some(AlterAction::AlterNumbers {
            column,
            sequence: Box::new(sequence),
            kind,
        }),
    })
}

fn alter_column(reader: &mut Reader<'_>) -> Result<AlterAction, StatementError> {
    let column = reader.name()?;
    if reader.accept(&["set", "default"]) {
        let position = reader.position();
        let default = Some(Expression {
            expr: reader.expression()?,
            position,
        });
        return Ok(AlterAction::SetDefault { column, default });
    }
    if reader.accept(&["type"]) || reader.accept(&["set", "data", "type"]) {
        let position = reader.position();
        let ty = reader.data_type()?;
        let ty = type_name(&ty, position)?;
        accept_collation(reader)?;
        let using = match reader.accept(&["using"]) {
            false => None,
            true => {
                let position = reader.position();
                let expr = reader.expression()?;
                Some(Expression { expr, position })
            }
        };
        return Ok(AlterAction::SetType { column, ty, using });
    }
    if let Some(action) = storage::column_action(reader, &column)? {
        return Ok(action);
    }
    if let Some(action) = alter_identity(reader, &column)? {
        return Ok(action);
    }
    if reader.accept(&["drop", "default"]) {
        let default = None;
        return Ok(AlterAction::SetDefault { column, default });
    }
    let nullable = match (reader.accept(&["set", "not", "null"]), reader.peeks(&["drop"])) {
        (true, _) => false,
        (false, true) => {
            reader.expect(&["drop", "not", "null"])?;
            true
        }
        (false, false) => return Err(reader.unsupported("this change of a column is not supported")),
    };
    Ok(AlterAction::SetNullable { column, nullable })
}
