//! CREATE TABLE, in PostgreSQL's clothes or in Phoenix's.
//!
//! ```text
//! CREATE [[LOCAL | GLOBAL] {TEMP | TEMPORARY} | UNLOGGED] TABLE [IF NOT EXISTS] [schema.]t (
//!     column type | COUNTER [NOT NULL | NULL] [DEFAULT expression] [PRIMARY KEY [ASC | DESC]] [UNIQUE] [FAMILY f]
//!         [[CONSTRAINT name] CHECK (condition)] [GENERATED ALWAYS AS (expression) STORED],
//!     [CONSTRAINT name] PRIMARY KEY (column | HASH(column, n) [ASC | DESC], …),
//!     [CONSTRAINT name] UNIQUE (column, …),
//!     [CONSTRAINT name] CHECK (condition),
//!     [CONSTRAINT name] FOREIGN KEY (column, …) REFERENCES …,
//!     LIKE table [{INCLUDING | EXCLUDING} {ALL | COMMENTS | CONSTRAINTS | DEFAULTS | GENERATED | IDENTITY | INDEXES | STORAGE}] …,
//!     FAMILY f (column, …) [COMPRESSION = 'none' | 'lz4' | 'zstd']
//! )
//! [USING heap | columnar] [WITH (option = value, …)] [option = value, …] [SPLIT ON (key, …)]
//! [ON COMMIT {PRESERVE ROWS | DELETE ROWS | DROP}]
//!
//! CREATE … TABLE [IF NOT EXISTS] [schema.]t [(column | constraint, …)] [options] AS query [WITH [NO] DATA]
//! CREATE MATERIALIZED VIEW [IF NOT EXISTS] [schema.]v [(column, …)] [options] AS query [WITH [NO] DATA]
//! ```

use rukh_catalog::VERSIONS_MAX;
use rukh_keys::DataType;
use sqlparser::ast::{ColumnOption, Expr, Value};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::StatementError;
use crate::read::definitions::create_index::{is_columnar, nulls_distinct, primary_key_element, sort_order};
use crate::read::definitions::data_type::{accept_collation, type_name};
use crate::read::definitions::foreign::{foreign_key, references};
use crate::read::definitions::lifetime::lifetime;
use crate::read::definitions::sequence::identity_options;
use crate::read::definitions::storage;
use crate::read::query::read_only_query;
use crate::read::reader::Reader;
use crate::read::reader::boolean;
use crate::tree::{
    CheckDefinition, ColumnDefinition, CreateTableStatement, Expression, FamilyDefinition,
    IdentityDefinition, IdentityKind, KeyElementDefinition, KeyExprDefinition, LikeClause, Name, ObjectName,
    OnCommit, SaltDefinition, SequenceOptions, Statement, TEMPORARY, TableOptionsDefinition, TableSource,
    TypeName, UniqueDefinition,
};

/// Reads CREATE TABLE.
pub(crate) fn create_table(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create"])?;
    let is_temporary = temporary(reader);
    // All tables are logged.
    reader.accept(&["unlogged"]);
    reader.expect(&["table"])?;
    let if_not_exists = reader.if_not_exists();
    let name = new_name(reader, is_temporary)?;
    let mut table = CreateTableStatement::of(name, if_not_exists);
    let (mut names, mut untyped) = (Vec::new(), None);
    let has_list = *reader.peek_at(0) == Token::LParen;
    if has_list {
        reader.parenthesised(|reader| {
            if !is_bare_name(reader) {
                return table_element(reader, &mut table);
            }
            names.push(reader.name()?);
            untyped.get_or_insert_with(|| reader.unexpected());
            Ok(())
        })?;
    }
    options(reader, &mut table.options)?;
    table.on_commit = on_commit(reader, table.name.schema.as_deref() == Some(TEMPORARY))?;
    if reader.peeks(&["as"]) {
        table.source = Some(source(reader, &table, names)?);
    } else if !has_list {
        // Only a query makes columns without a list of them.
        return Err(reader.unexpected());
    } else if let Some(error) = untyped {
        return Err(error);
    }
    Ok(Statement::CreateTable(Box::new(table)))
}

/// Reads CREATE MATERIALIZED VIEW [IF NOT EXISTS] name [(column, …)] [options] AS query [WITH [NO] DATA].
pub(crate) fn create_materialized(reader: &mut Reader<'_>) -> Result<Statement, StatementError> {
    reader.expect(&["create", "materialized", "view"])?;
    let if_not_exists = reader.if_not_exists();
    let mut table = CreateTableStatement::of(reader.object_name()?, if_not_exists);
    table.materialized = true;
    let names = match reader.peek_at(0) {
        Token::LParen => reader.names()?,
        _ => Vec::new(),
    };
    options(reader, &mut table.options)?;
    table.source = Some(source(reader, &table, names)?);
    Ok(Statement::CreateTable(Box::new(table)))
}

/// Takes the words that make something temporary, if they are next.
pub(crate) fn temporary(reader: &mut Reader<'_>) -> bool {
    let words = ["temp", "temporary"];
    words.iter().any(|word| {
        reader.accept(&[word]) || reader.accept(&["local", word]) || reader.accept(&["global", word])
    })
}

/// Reads the name of something new, which is in [`TEMPORARY`] if it is temporary.
pub(crate) fn new_name(reader: &mut Reader<'_>, is_temporary: bool) -> Result<ObjectName, StatementError> {
    let mut name = reader.object_name()?;
    if is_temporary {
        match name.schema.as_deref() {
            None | Some(TEMPORARY) => name.schema = Some(TEMPORARY.to_string()),
            Some(_) => {
                let message = "cannot create temporary relation in non-temporary schema";
                return Err(StatementError::statement("42P16", message).at(name.position));
            }
        }
    }
    Ok(name)
}

/// Reads ON COMMIT, if it is next.
fn on_commit(reader: &mut Reader<'_>, is_temporary: bool) -> Result<OnCommit, StatementError> {
    let position = reader.position();
    if !reader.accept(&["on", "commit"]) {
        return Ok(OnCommit::default());
    }
    let on_commit = match () {
        () if reader.accept(&["preserve", "rows"]) => OnCommit::PreserveRows,
        () if reader.accept(&["delete", "rows"]) => OnCommit::DeleteRows,
        () if reader.accept(&["drop"]) => OnCommit::Drop,
        () => return Err(reader.unexpected()),
    };
    match is_temporary {
        true => Ok(on_commit),
        false => {
            let message = "ON COMMIT can only be used on temporary tables";
            Err(StatementError::statement("42P16", message).at(position))
        }
    }
}

/// Whether a name is next with no type behind it, as in `CREATE TABLE t (a, b) AS …`.
fn is_bare_name(reader: &Reader<'_>) -> bool {
    matches!(reader.peek_at(0), Token::Word(_)) && matches!(reader.peek_at(1), Token::Comma | Token::RParen)
}

/// Reads `AS query [WITH [NO] DATA]`.
fn source(
    reader: &mut Reader<'_>,
    table: &CreateTableStatement,
    names: Vec<Name>,
) -> Result<TableSource, StatementError> {
    if !table.columns.is_empty() || !table.likes.is_empty() {
        return Err(reader
            .unsupported("CREATE TABLE … AS takes no types of columns")
            .with_hint("Cast the columns in the query."));
    }
    reader.expect(&["as"])?;
    let query = read_only_query(reader)?;
    let with_data = !reader.accept(&["with", "no", "data"]);
    reader.accept(&["with", "data"]);
    Ok(TableSource {
        names,
        query,
        with_data,
    })
}

fn table_element(reader: &mut Reader<'_>, table: &mut CreateTableStatement) -> Result<(), StatementError> {
    if is_family(reader) {
        table.families.push(family(reader)?);
        return Ok(());
    }
    match reader.peek_at(0) {
        Token::Word(word) if word.quote_style.is_none() => match word.value.to_ascii_lowercase().as_str() {
            "like" => {
                table.likes.push(like(reader, table.columns.len())?);
                Ok(())
            }
            "constraint" | "primary" | "unique" | "check" | "foreign" | "exclude" => {
                table_constraint(reader, table)
            }
            _ => column(reader, table),
        },
        _ => column(reader, table),
    }
}

/// Reads `LIKE table [INCLUDING what | EXCLUDING what] …`.
fn like(reader: &mut Reader<'_>, at: usize) -> Result<LikeClause, StatementError> {
    reader.expect(&["like"])?;
    let mut like = LikeClause {
        table: reader.object_name()?,
        at,
        comments: false,
        constraints: false,
        defaults: false,
        generated: false,
        identity: false,
        indexes: false,
        storage: false,
    };
    loop {
        let takes = match () {
            () if reader.accept(&["including"]) => true,
            () if reader.accept(&["excluding"]) => false,
            () => return Ok(like),
        };
        if reader.accept(&["all"]) {
            let LikeClause {
                table: _,
                at: _,
                comments,
                constraints,
                defaults,
                generated,
                identity,
                indexes,
                storage,
            } = &mut like;
            for part in [
                comments,
                constraints,
                defaults,
                generated,
                identity,
                indexes,
                storage,
            ] {
                *part = takes;
            }
            continue;
        }
        let parts = [
            ("comments", &mut like.comments),
            ("constraints", &mut like.constraints),
            ("defaults", &mut like.defaults),
            ("generated", &mut like.generated),
            ("identity", &mut like.identity),
            ("indexes", &mut like.indexes),
            ("storage", &mut like.storage),
        ];
        let found = parts.into_iter().find(|(word, _)| reader.peeks(&[word]));
        match found {
            Some((_, part)) => *part = takes,
            // PostgreSQL has these, and tables here have nothing of the kind.
            None if reader.peeks_any(&["compression", "statistics"]) => {}
            None => return Err(reader.unexpected()),
        }
        reader.take();
    }
}

/// Whether `FAMILY name (column` is next, not a column called `family`, as in `family CHAR(20)`.
fn is_family(reader: &Reader<'_>) -> bool {
    reader.peeks(&["family"])
        && matches!(reader.peek_at(1), Token::Word(_))
        && *reader.peek_at(2) == Token::LParen
        && matches!(reader.peek_at(3), Token::Word(_))
}

fn family(reader: &mut Reader<'_>) -> Result<FamilyDefinition, StatementError> {
    reader.take();
    let name = reader.name()?;
    let columns = reader.names()?;
    let (mut compression, mut ttl_micros, mut kept) = (None, None, None);
    while let Token::Word(_) = reader.peek_at(0) {
        let option = reader.any_word()?;
        if option.text == "versions" {
            reader.accept_token(&Token::Eq);
            kept = Some(versions(reader)?.unwrap_or(1));
            continue;
        }
        reader.expect_token(&Token::Eq)?;
        match option.text.as_str() {
            "compression" => compression = Some(compression_name(reader)?),
            "ttl" => ttl_micros = family_ttl(reader)?,
            _ => return Err(storage::unknown_option(&option)),
        }
    }
    Ok(FamilyDefinition {
        name,
        columns,
        compression,
        ttl_micros,
        versions: kept,
    })
}

pub(crate) fn family_ttl(reader: &mut Reader<'_>) -> Result<Option<i64>, StatementError> {
    let lifetime = lifetime(reader)?;
    match lifetime.from {
        None => Ok(lifetime.ttl_micros),
        Some(name) => Err(
            StatementError::unsupported("TTL of a family counts from when its columns change")
                .at(name.position),
        ),
    }
}

fn compression_name(reader: &mut Reader<'_>) -> Result<String, StatementError> {
    let position = reader.position();
    let text = match reader.peek_at(0) {
        Token::SingleQuotedString(_) => reader.string()?.to_ascii_lowercase(),
        _ => reader.any_word()?.text,
    };
    match text.as_str() {
        "none" | "lz4" | "zstd" => Ok(text),
        _ => {
            let message = format!("invalid value for parameter \"compression\": \"{text}\"");
            Err(StatementError::statement("22023", message)
                .at(position)
                .with_hint("Compressions are none, lz4 and zstd."))
        }
    }
}

fn table_constraint(reader: &mut Reader<'_>, table: &mut CreateTableStatement) -> Result<(), StatementError> {
    let name = if reader.accept(&["constraint"]) {
        Some(reader.name()?)
    } else {
        None
    };
    let position = reader.position();
    if reader.accept(&["primary", "key"]) {
        let elements = reader.parenthesised(primary_key_element)?;
        return set_primary_key(table, name, elements, position);
    }
    if reader.accept(&["unique"]) {
        table.uniques.push(unique(reader, name)?);
        return Ok(());
    }
    if reader.peeks(&["check"]) {
        let mut check = check(reader, name)?;
        // No row is there that could break it.
        check.not_valid = false;
        table.checks.push(check);
        return Ok(());
    }
    if reader.peeks(&["foreign"]) {
        table.foreign_keys.push(foreign_key(reader, name)?);
        return Ok(());
    }
    match reader.peeks(&["exclude"]) {
        true => Err(reader.unsupported("EXCLUDE constraints are not supported")),
        false => Err(reader.unexpected()),
    }
}

fn set_primary_key(
    table: &mut CreateTableStatement,
    name: Option<Name>,
    elements: Vec<KeyElementDefinition>,
    position: usize,
) -> Result<(), StatementError> {
    if table.primary_key.is_some() {
        let name = &table.name.name;
        let message = format!("multiple primary keys for table \"{name}\" are not allowed");
        return Err(StatementError::statement("42P16", message).at(position));
    }
    (table.primary_key, table.key_name) = (Some(elements), name);
    Ok(())
}

/// Reads a column; constraints that stand with it go to the table.
pub(crate) fn column(
    reader: &mut Reader<'_>,
    table: &mut CreateTableStatement,
) -> Result<(), StatementError> {
    let name = reader.name()?;
    let position = reader.position();
    let serial = serial(reader);
    let counter = serial.is_none() && reader.accept(&["counter"]);
    let ty = match serial {
        Some(ty) => TypeName::Known(ty),
        None if counter => TypeName::Known(DataType::BigInt),
        None => {
            let ty = reader.data_type()?;
            type_name(&ty, position)?
        }
    };
    let mut column = ColumnDefinition {
        identity: serial.map(|_| IdentityDefinition {
            kind: IdentityKind::Serial,
            options: SequenceOptions::default(),
            sequence: None,
            position,
        }),
        name,
        ty,
        nullable: None,
        default: None,
        family: None,
        generated: None,
        counter,
    };
    while column_option(reader, &mut column, table)? {}
    if counter {
        complete_counter(&mut column, position)?;
    }
    table.columns.push(column);
    Ok(())
}

/// A counter is never NULL, and 0 where nothing else is said.
fn complete_counter(column: &mut ColumnDefinition, position: usize) -> Result<(), StatementError> {
    if column.generated.is_some() || column.identity.is_some() {
        let message = format!("counter \"{}\" cannot be generated", column.name.text);
        return Err(StatementError::syntax(message).at(position));
    }
    set_nullable(column, false, position)?;
    column.default.get_or_insert_with(|| Expression {
        expr: Expr::Value(Value::Number("0".to_string(), false).into()),
        position,
    });
    Ok(())
}

/// Takes SERIAL or the like, which stand where a type does.
fn serial(reader: &mut Reader<'_>) -> Option<DataType> {
    let words = [
        (&["serial", "serial4"][..], DataType::Integer),
        (&["bigserial", "serial8"], DataType::BigInt),
        (&["smallserial", "serial2"], DataType::SmallInt),
    ];
    let (_, ty) = words.into_iter().find(|(words, _)| reader.peeks_any(words))?;
    reader.take();
    Some(ty)
}

/// Reads one option of a column; false if there is no more.
fn column_option(
    reader: &mut Reader<'_>,
    column: &mut ColumnDefinition,
    table: &mut CreateTableStatement,
) -> Result<bool, StatementError> {
    let constraint = if reader.accept(&["constraint"]) {
        Some(reader.name()?)
    } else {
        None
    };
    let position = reader.position();
    if reader.accept(&["not", "null"]) {
        set_nullable(column, false, position)?;
    } else if reader.accept(&["null"]) {
        set_nullable(column, true, position)?;
    } else if reader.peeks(&["default"]) {
        default(reader, column)?;
    } else if reader.accept(&["primary", "key"]) {
        let expr = KeyExprDefinition::Column(column.name.clone());
        let element = KeyElementDefinition {
            expr,
            order: sort_order(reader),
            position,
        };
        set_primary_key(table, constraint, vec![element], position)?;
    } else if reader.accept(&["unique"]) {
        table.uniques.push(UniqueDefinition {
            name: constraint,
            nulls_distinct: nulls_distinct(reader),
            columns: vec![column.name.clone()],
            include: Vec::new(),
        });
    } else if reader.peeks(&["check"]) {
        table.checks.push(column_check(reader, constraint)?);
    } else if reader.peeks(&["references"]) {
        let key = references(reader, constraint, vec![column.name.clone()])?;
        table.foreign_keys.push(key);
    } else if reader.peeks(&["generated"]) {
        generated(reader, column)?;
    } else if reader.accept(&["family"]) {
        column.family = Some(reader.name()?);
    } else if constraint.is_none() && reader.peeks(&["collate"]) {
        accept_collation(reader)?;
    } else if let (None, Some(notice)) = (&constraint, storage::column_option(reader)?) {
        table.options.notices.push(notice);
    } else if constraint.is_some() {
        refuse_column_option(reader)?;
        return Err(reader.unexpected());
    } else {
        refuse_column_option(reader)?;
        return Ok(false);
    }
    Ok(true)
}

fn set_nullable(
    column: &mut ColumnDefinition,
    nullable: bool,
    position: usize,
) -> Result<(), StatementError> {
    if column.nullable.is_some_and(|before| before != nullable) {
        let message = format!(
            "conflicting NULL/NOT NULL declarations for column \"{}\"",
            column.name.text
        );
        return Err(StatementError::syntax(message).at(position));
    }
    column.nullable = Some(nullable);
    Ok(())
}

fn default(reader: &mut Reader<'_>, column: &mut ColumnDefinition) -> Result<(), StatementError> {
    let position = reader.position();
    if column.default.is_some() {
        let message = format!(
            "multiple default values specified for column \"{}\"",
            column.name.text
        );
        return Err(StatementError::syntax(message).at(position));
    }
    // Read as an option, because there sqlparser knows that NOT NULL ends the expression.
    let option = reader.parse(Parser::parse_optional_column_option)?;
    let Some(ColumnOption::Default(expr)) = option else {
        return Err(reader.unexpected());
    };
    column.default = Some(Expression {
        expr: reader.shallow(expr)?,
        position,
    });
    check_one_source(column, position)
}

/// Reads what follows UNIQUE of a table: `[NULLS [NOT] DISTINCT] (column, …) [INCLUDE (column, …)]`.
pub(crate) fn unique(
    reader: &mut Reader<'_>,
    name: Option<Name>,
) -> Result<UniqueDefinition, StatementError> {
    let nulls_distinct = nulls_distinct(reader);
    let columns = reader.names()?;
    let include = match reader.accept(&["include"]) {
        true => reader.names()?,
        false => Vec::new(),
    };
    Ok(UniqueDefinition {
        name,
        columns,
        include,
        nulls_distinct,
    })
}

/// Reads `CHECK (condition) [NO INHERIT] [NOT VALID]`, in either order.
pub(crate) fn check(reader: &mut Reader<'_>, name: Option<Name>) -> Result<CheckDefinition, StatementError> {
    let mut check = column_check(reader, name)?;
    check.not_valid = reader.accept(&["not", "valid"]);
    accept_no_inherit(reader);
    Ok(check)
}

/// Reads `CHECK (condition) [NO INHERIT]`.
fn column_check(reader: &mut Reader<'_>, name: Option<Name>) -> Result<CheckDefinition, StatementError> {
    reader.expect(&["check"])?;
    let condition = in_parentheses(reader)?;
    accept_no_inherit(reader);
    Ok(CheckDefinition {
        name,
        condition,
        not_valid: false,
    })
}

/// Passes over NO INHERIT: no table inherits anything.
fn accept_no_inherit(reader: &mut Reader<'_>) {
    reader.accept(&["no", "inherit"]);
}

pub(super) fn in_parentheses(reader: &mut Reader<'_>) -> Result<Expression, StatementError> {
    let position = reader.position();
    reader.expect_token(&Token::LParen)?;
    let expr = reader.expression()?;
    reader.expect_token(&Token::RParen)?;
    Ok(Expression { expr, position })
}

/// Reads `GENERATED ALWAYS AS (expression) STORED`, or `GENERATED … AS IDENTITY`.
fn generated(reader: &mut Reader<'_>, column: &mut ColumnDefinition) -> Result<(), StatementError> {
    let position = reader.position();
    reader.expect(&["generated"])?;
    let by_default = reader.accept(&["by", "default"]);
    if !by_default {
        reader.expect(&["always"])?;
    }
    reader.expect(&["as"])?;
    let name = &column.name.text;
    if by_default || reader.peeks(&["identity"]) {
        reader.expect(&["identity"])?;
        let (options, sequence) = identity_options(reader)?;
        let kind = match by_default {
            true => IdentityKind::ByDefault,
            false => IdentityKind::Always,
        };
        if column.identity.is_some() {
            let message = format!("multiple identity specifications for column \"{name}\"");
            return Err(StatementError::syntax(message).at(position));
        }
        column.identity = Some(IdentityDefinition {
            kind,
            options,
            sequence,
            position,
        });
        return check_one_source(column, position);
    }
    let expression = in_parentheses(reader)?;
    reader.expect(&["stored"])?;
    if column.generated.is_some() {
        let message = format!("multiple generation clauses specified for column \"{name}\"");
        return Err(StatementError::syntax(message).at(position));
    }
    column.generated = Some(expression);
    check_one_source(column, position)
}

/// Reads `GENERATED {ALWAYS | BY DEFAULT} AS IDENTITY [(options)]`.
pub(crate) fn identity(reader: &mut Reader<'_>) -> Result<IdentityDefinition, StatementError> {
    let position = reader.position();
    reader.expect(&["generated"])?;
    let kind = match reader.accept(&["by", "default"]) {
        true => IdentityKind::ByDefault,
        false => {
            reader.expect(&["always"])?;
            IdentityKind::Always
        }
    };
    reader.expect(&["as", "identity"])?;
    let (options, sequence) = identity_options(reader)?;
    Ok(IdentityDefinition {
        kind,
        options,
        sequence,
        position,
    })
}

/// A column has a default or is generated, not both.
fn check_one_source(column: &ColumnDefinition, position: usize) -> Result<(), StatementError> {
    let name = &column.name.text;
    let message = match (&column.default, &column.generated, &column.identity) {
        (Some(_), Some(_), _) => "both default and generation expression specified",
        (Some(_), _, Some(identity)) if identity.kind == IdentityKind::Serial => {
            "multiple default values specified"
        }
        (Some(_), _, Some(_)) => "both default and identity specified",
        (_, Some(_), Some(_)) => "both identity and generation expression specified",
        _ => return Ok(()),
    };
    Err(StatementError::syntax(format!("{message} for column \"{name}\"")).at(position))
}

fn refuse_column_option(reader: &Reader<'_>) -> Result<(), StatementError> {
    for (word, what) in [
        (
            "counter",
            "COUNTER stands where the type does, as in c COUNTER: it is a 64-bit integer",
        ),
        ("row_timestamp", "ROW_TIMESTAMP is not supported"),
    ] {
        if reader.peeks(&[word]) {
            return Err(reader.unsupported(what));
        }
    }
    Ok(())
}

/// Reads what follows the columns, in any order.
fn options(reader: &mut Reader<'_>, options: &mut TableOptionsDefinition) -> Result<(), StatementError> {
    loop {
        if reader.accept(&["with"]) {
            reader.parenthesised(|reader| match storage::parameter(reader)? {
                Some(notice) => {
                    options.notices.push(notice);
                    Ok(())
                }
                None => option(reader, options),
            })?;
        } else if reader.accept(&["without", "oids"]) {
            continue;
        } else if reader.peeks(&["tablespace"]) {
            storage::tablespace(reader)?;
        } else if reader.accept(&["split", "on"]) {
            options.split_on = reader.parenthesised(split_key)?;
        } else if reader.accept(&["using"]) {
            options.columnar = Some(is_columnar(reader, "heap")?);
        } else if reader.peeks(&["on", "commit"]) {
            return Ok(());
        } else if reader.peeks_any(&["partition", "inherits", "on"]) {
            let word = reader.any_word()?;
            let what = word.text.to_ascii_uppercase();
            return Err(
                StatementError::unsupported(format!("CREATE TABLE … {what} is not supported"))
                    .at(word.position),
            );
        } else if matches!(reader.peek_at(0), Token::Word(_)) && starts_option(reader) {
            option(reader, options)?;
        } else {
            return Ok(());
        }
        reader.accept_token(&Token::Comma);
    }
}

/// Whether `name =` is next, or a name that stands without a value.
fn starts_option(reader: &Reader<'_>) -> bool {
    *reader.peek_at(1) == Token::Eq || reader.peeks_any(&["immutable", "immutable_rows", "versions"])
}

fn option(reader: &mut Reader<'_>, options: &mut TableOptionsDefinition) -> Result<(), StatementError> {
    let name = reader.any_word()?;
    let has_value = reader.accept_token(&Token::Eq);
    match name.text.as_str() {
        "salt_buckets" if has_value => options.salt = Some(salt(reader)?),
        "immutable" | "immutable_rows" => {
            options.immutable = if has_value { boolean(reader)? } else { true };
        }
        "ttl" if has_value => options.lifetime = Some(lifetime(reader)?),
        "versions" => options.versions = Some(versions(reader)?),
        "compression" if has_value => options.compression = Some(compression_name(reader)?),
        "compression" => return Err(reader.unexpected()),
        "salt_buckets" | "ttl" => return Err(reader.unexpected()),
        _ => return Err(storage::unknown_option(&name)),
    }
    Ok(())
}

/// Reads how many images of a row are kept: of one, that is the row itself.
pub(crate) fn versions(reader: &mut Reader<'_>) -> Result<Option<u32>, StatementError> {
    let position = reader.position();
    let value = reader.integer()?;
    match u32::try_from(value) {
        Ok(1) => Ok(None),
        Ok(kept @ 2..=VERSIONS_MAX) => Ok(Some(kept)),
        _ => {
            let message = format!("VERSIONS must be between 1 and {VERSIONS_MAX}, not {value}");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

fn salt(reader: &mut Reader<'_>) -> Result<SaltDefinition, StatementError> {
    let position = reader.position();
    let value = reader.integer()?;
    let columns = if reader.accept(&["on"]) {
        Some(reader.names()?)
    } else {
        None
    };
    match u16::try_from(value) {
        Ok(buckets @ 2..=256) => Ok(SaltDefinition { buckets, columns }),
        _ => {
            let message = format!("SALT_BUCKETS must be between 2 and 256, not {value}");
            Err(StatementError::statement("22023", message).at(position))
        }
    }
}

/// Reads one split key: a constant, or constants in parentheses.
fn split_key(reader: &mut Reader<'_>) -> Result<Vec<Expression>, StatementError> {
    let position = reader.position();
    let constant = |expr| Expression { expr, position };
    Ok(match reader.expression()? {
        Expr::Tuple(constants) => constants.into_iter().map(constant).collect(),
        Expr::Nested(inner) => vec![constant(*inner)],
        other => vec![constant(other)],
    })
}
