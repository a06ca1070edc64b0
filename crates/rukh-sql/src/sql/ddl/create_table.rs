//! CREATE TABLE: names to ids, constants to datums, UNIQUE constraints to indexes.

use std::collections::HashMap;

use rukh_catalog::{
    Catalog, Column, ColumnId, ColumnValues, Family, FamilyId, FamilyOptions, Identity, IndexDraft,
    KeyElement, KeyExpr, PUBLIC, SaltOptions, Sequence, Table, TableDraft, TableId, TableOptions,
    validate_table,
};
use rukh_engine::NoProgress;
use rukh_keys::{DataType, Datum, SortOrder};
use rukh_syntax::sql_text;
use rukh_syntax::{
    ColumnDefinition, CreateTableStatement, Expression, ForeignKeyDefinition, IdentityDefinition,
    IdentityKind, KeyElementDefinition, KeyExprDefinition, Name, ObjectName, UniqueDefinition,
    parse_object_name,
};

use super::columns::{column_id, column_ids};
use super::create_index::index_error;
use super::foreign::add_foreign_keys;
use super::lifetime::set_lifetime;
use super::like;
use super::names::{
    domain_of, duplicate_constraint, first_free, free_name_beside, is_declared, is_taken, key_name, schema_of,
};
use super::sequence::sequence;
use super::stored::{check_constraint, generated_column};
use super::versions::set_versions;
use crate::bind::names::functions::is_temporary;
use crate::bind::names::type_names::stored_text;
use crate::bind::spelling::sequence_calls::{calls_sequence, next_of};
use crate::bind::types::expressions::{check_default, check_stored, evaluate_default};
use crate::exec::session_settings::notice::Notice;
use crate::pg::sequences::default_of;
use crate::sql::session::Session;
use rukh_error::SqlError;

pub(super) fn create_table(session: &mut Session, statement: &CreateTableStatement) -> Result<(), SqlError> {
    create_table_to_fill(session, statement, false)
}

/// Creates a table; if it is to be filled by the same statement, a crash before the end of that leaves none.
pub(super) fn create_table_to_fill(
    session: &mut Session,
    statement: &CreateTableStatement,
    filling: bool,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let name = &statement.name;
    if is_taken(session, &catalog, name, statement.if_not_exists)? {
        return Ok(());
    }
    let liked = like::liked(&catalog, statement)?;
    let statement = &like::expanded(&catalog, statement, &liked)?;
    let (mut draft, sequences) = table_draft(&catalog, statement, session)?;
    // Indexes are made one after another: a crash before the last of them leaves no table.
    let unfinished = !statement.uniques.is_empty() || !liked.is_empty() || !statement.foreign_keys.is_empty();
    draft.options.filling = filling || unfinished;
    check_uniques(statement)?;
    let placed = |error: rukh_engine::EngineError| SqlError::from(error).at(name.position);
    let table = session
        .engine()
        .create_table_with(draft, sequences)
        .map_err(placed)?;
    let created = create_uniques(session, &table, &statement.uniques)
        .and_then(|()| like::create_indexes(session, &table, &liked))
        .and_then(|()| match unfinished {
            true => finish(session, &table, &liked, &statement.foreign_keys, filling),
            false => Ok(()),
        });
    match &created {
        Ok(()) => {
            session.note_on_commit(table.id, statement.on_commit);
            session.notices(&statement.options.notices);
        }
        Err(_) => session.engine().drop_table(table.id)?,
    }
    created
}

/// Lets a table stay whose indexes are there, with its foreign keys, unless it has still to be filled.
fn finish(
    session: &mut Session,
    table: &Table,
    liked: &[like::Liked],
    foreign_keys: &[ForeignKeyDefinition],
    filling: bool,
) -> Result<(), SqlError> {
    let mut notices = Vec::new();
    session.engine().alter_table(table.id, |catalog, table| {
        let mut next = table.clone();
        next.options.filling = filling;
        next.comments = like::comments(table, liked);
        notices = add_foreign_keys(catalog, &mut next, foreign_keys)?;
        // No row is there that could break them.
        next.foreign_keys.iter_mut().for_each(|key| key.not_valid = false);
        Ok::<_, SqlError>(next)
    })?;
    notices.into_iter().for_each(|notice| session.notice(notice));
    Ok(())
}

/// Makes the draft of a table: names to ids, constants to datums.
fn table_draft(
    catalog: &Catalog,
    statement: &CreateTableStatement,
    session: &mut Session,
) -> Result<(TableDraft, Vec<(ColumnId, Sequence)>), SqlError> {
    let families = families(statement)?;
    let (mut columns, sequences) = columns(catalog, statement, &families)?;
    let primary_key = match &statement.primary_key {
        Some(definitions) => {
            let elements = primary_key(definitions, &columns)?;
            let declared = elements.iter().zip(definitions);
            for (element, definition) in declared {
                check_not_null(statement, &element.expr, definition)?;
            }
            elements
        }
        None => vec![row_id(statement, &mut columns, session)?],
    };
    let salt = match &statement.options.salt {
        None => None,
        Some(salt) => {
            let on = salt
                .columns
                .as_ref()
                .map(|names| column_ids(&columns, names))
                .transpose()?;
            Some(SaltOptions {
                buckets: salt.buckets,
                columns: on,
            })
        }
    };
    let split_on = split_keys(&statement.options.split_on, &primary_key, &columns)?;
    let columnar = (statement.options.columnar).unwrap_or(session.settings.columnar_tables);
    let families = match columnar {
        true => set_aside(families, &mut columns, session)?,
        false => families,
    };
    let (schema, name) = (schema_of(catalog, &statement.name)?, &statement.name.name);
    let declared = || key_name(catalog, schema, name, statement.key_name.as_ref());
    let key_name = statement.primary_key.as_ref().map(|_| declared()).transpose()?;
    let mut draft = TableDraft {
        schema: schema.to_string(),
        name: name.clone(),
        columns,
        primary_key,
        key_name,
        salt,
        families: families.into_iter().filter(|family| family.id.0 != 0).collect(),
        options: TableOptions {
            immutable: statement.options.immutable,
            columnar,
            split_on,
            compression: statement.options.compression.clone(),
            ..TableOptions::default()
        },
        checks: Vec::new(),
    };
    let now = session.engine().now();
    if let Some(lifetime) = &statement.options.lifetime {
        set_lifetime(&mut draft.options, &draft.columns, lifetime, now)?;
    }
    set_versions(&mut draft.options, statement.options.versions.flatten(), now);
    let mut ttls = draft.families.iter().map(|family| family.options.ttl_micros);
    draft.options.timed |= ttls.any(|ttl| ttl.is_some());
    add_expressions(&mut draft, statement)?;
    if let Some(name) = &statement.key_name
        && draft.checks.iter().any(|check| check.name == name.text)
    {
        return Err(duplicate_constraint(&draft.name, name));
    }
    Ok((draft, sequences))
}

/// Passes over the families of a columnar table, whose columns are all stored apart as it is, with a notice.
///
/// Fails on a family that has options of its own, which blocks cannot keep.
fn set_aside(
    mut families: Vec<Family>,
    columns: &mut [Column],
    session: &mut Session,
) -> Result<Vec<Family>, SqlError> {
    for family in families.drain(1..) {
        let what = match &family.options {
            FamilyOptions {
                ttl_micros: Some(_), ..
            } => "TTL",
            FamilyOptions {
                versions: Some(_), ..
            } => "VERSIONS",
            FamilyOptions {
                compression: Some(_), ..
            } => "COMPRESSION",
            _ => {
                session.notice(aside(&family.name));
                continue;
            }
        };
        let message = format!("access method \"columnar\" does not support families with {what}");
        return Err(SqlError::unsupported(message).with_hint(format!("Give {what} to the table.")));
    }
    for column in columns {
        column.family = FamilyId(0);
    }
    Ok(families)
}

/// Returns the notice that a columnar table has no families.
pub(super) fn aside(family: &str) -> Notice {
    Notice::new(format!(
        "family \"{family}\" is passed over: each column of a columnar table is stored apart"
    ))
}

/// Adds generated columns and CHECK constraints, which are typed on the columns that are there.
fn add_expressions(draft: &mut TableDraft, statement: &CreateTableStatement) -> Result<(), SqlError> {
    let has_generated = statement.columns.iter().any(|column| column.generated.is_some());
    if !has_generated && statement.checks.is_empty() {
        return Ok(());
    }
    let mut table = validate_table(draft.clone(), TableId(0))?;
    for (at, column) in statement.columns.iter().enumerate() {
        if let Some(expression) = &column.generated {
            let names = statement
                .columns
                .iter()
                .filter(|column| column.generated.is_some());
            let names: Vec<&str> = names.map(|column| column.name.text.as_str()).collect();
            let generated = generated_column(&table, &table.columns[at], expression, &names)?;
            draft.columns[at].values.generated = Some(generated);
        }
    }
    for definition in &statement.checks {
        let check = check_constraint(&table, definition)?;
        table.checks.push(check);
    }
    draft.checks = table.checks;
    Ok(())
}

/// Returns all families named, the first one included, in order of appearance.
fn families(statement: &CreateTableStatement) -> Result<Vec<Family>, SqlError> {
    let default = Family {
        id: FamilyId(0),
        name: "default".to_string(),
        options: FamilyOptions::default(),
    };
    let mut families = vec![default];
    let add = |families: &mut Vec<Family>, name: &str| match families.iter().position(|f| f.name == name) {
        Some(position) => position,
        None => {
            let id = FamilyId(u16::try_from(families.len()).unwrap_or(u16::MAX));
            families.push(Family {
                id,
                name: name.to_string(),
                options: FamilyOptions::default(),
            });
            families.len() - 1
        }
    };
    for name in statement
        .columns
        .iter()
        .filter_map(|column| column.family.as_ref())
    {
        add(&mut families, &name.text);
    }
    let mut seen: Vec<&str> = Vec::new();
    for family in &statement.families {
        let Name { text, position } = &family.name;
        if seen.contains(&text.as_str()) {
            let message = format!("family \"{text}\" specified more than once");
            return Err(SqlError::statement("42P16", message).at(*position));
        }
        seen.push(text);
        let place = add(&mut families, text);
        if place == 0 && family.compression.is_some() {
            let message = "compression of family \"default\" cannot be chosen";
            return Err(SqlError::unsupported(message).at(*position));
        }
        if place == 0 && family.ttl_micros.is_some() {
            let message = "the TTL of family \"default\" is that of the table";
            return Err(SqlError::unsupported(message).at(*position));
        }
        if place == 0 && family.versions.is_some() {
            let message = "the VERSIONS of family \"default\" are those of the table";
            return Err(SqlError::unsupported(message).at(*position));
        }
        families[place].options.versions = family.versions;
        families[place].options.compression = family.compression.clone();
        families[place].options.ttl_micros = family.ttl_micros;
    }
    Ok(families)
}

fn columns(
    catalog: &Catalog,
    statement: &CreateTableStatement,
    families: &[Family],
) -> Result<(Vec<Column>, Vec<(ColumnId, Sequence)>), SqlError> {
    let schema = schema_of(catalog, &statement.name)?;
    let mut sequences: Vec<(ColumnId, Sequence)> = Vec::new();
    let mut columns: Vec<Column> = Vec::with_capacity(statement.columns.len());
    for definition in &statement.columns {
        let Name { text, position } = &definition.name;
        if columns.iter().any(|column| column.name == *text) {
            let message = format!("column \"{text}\" specified more than once");
            return Err(SqlError::statement("42701", message).at(*position));
        }
        let id = ColumnId(columns.len() as u32);
        let mut default = default_text(catalog, definition)?;
        let (mut identity, ty) = (None, definition.ty.known()?);
        if let Some(given) = &definition.identity {
            let taken = |name: &str| {
                catalog.check_name_free(schema, name).is_err()
                    || name == statement.name.name
                    || sequences.iter().any(|(_, sequence)| sequence.name == name)
            };
            if definition.nullable == Some(true) {
                let message = format!("conflicting NULL/NOT NULL declarations for column \"{text}\"");
                return Err(SqlError::syntax(message).at(given.position));
            }
            let column = (&definition.name, ty);
            let sequence = own_sequence(&statement.name, column, given, taken)?;
            default = Some(default_of(&sequence.schema, &sequence.name));
            identity = match given.kind {
                IdentityKind::Always => Some(Identity::Always),
                IdentityKind::ByDefault => Some(Identity::ByDefault),
                IdentityKind::Serial => None,
            };
            sequences.push((id, sequence));
        }
        columns.push(Column {
            id,
            name: text.clone(),
            ty,
            nullable: definition.nullable.unwrap_or(true) && definition.identity.is_none(),
            default,
            values: ColumnValues {
                identity,
                counter: definition.counter,
                domain: domain_of(catalog, &definition.ty)?,
                declared: is_declared(&definition.ty),
                ..ColumnValues::default()
            },
            family: definition
                .family
                .as_ref()
                .map_or(FamilyId(0), |name| family_id(families, name)),
        });
    }
    let mut chosen: HashMap<ColumnId, &str> = HashMap::new();
    for family in &statement.families {
        for name in &family.columns {
            let id = column_id(&columns, name)?;
            let column = &mut columns[id.0 as usize];
            if chosen.insert(id, &name.text).is_some() || column.family.0 != 0 {
                let message = format!("column \"{}\" belongs to more than one family", name.text);
                return Err(SqlError::statement("42701", message).at(name.position));
            }
            column.family = family_id(families, &family.name);
        }
    }
    Ok((columns, sequences))
}

fn family_id(families: &[Family], name: &Name) -> FamilyId {
    families
        .iter()
        .find(|family| family.name == name.text)
        .map_or(FamilyId(0), |family| family.id)
}

/// Returns a default as it is stored, after evaluating it once to see that it fits.
fn default_text(catalog: &Catalog, definition: &ColumnDefinition) -> Result<Option<String>, SqlError> {
    let (default, ty) = (definition.default.as_ref(), definition.ty.known()?);
    let text = |expression| checked_default(catalog, expression, &ty, &definition.name.text);
    Ok(default.map(text).transpose()?.map(|(sql, _)| sql))
}

/// Makes the sequence of an identity column, called `t_a_seq`, with a number where that is taken.
pub(super) fn own_sequence(
    table: &ObjectName,
    (column, ty): (&Name, DataType),
    identity: &IdentityDefinition,
    is_taken: impl Fn(&str) -> bool,
) -> Result<Sequence, SqlError> {
    let place = |error: SqlError| error.at(identity.position);
    if !matches!(ty, DataType::SmallInt | DataType::Integer | DataType::BigInt) {
        let message = "identity column type must be smallint, integer, or bigint";
        return Err(place(SqlError::statement("22023", message)));
    }
    let schema = table.schema.as_deref().unwrap_or(PUBLIC);
    let name = match &identity.sequence {
        Some(given) if given.schema.as_deref().is_some_and(|of| of != schema) => {
            let message = "sequence must be in same schema as table it is linked to";
            return Err(SqlError::statement("55000", message).at(given.position));
        }
        Some(given) if is_taken(&given.name) => {
            let message = format!("relation \"{}\" already exists", given.name);
            return Err(SqlError::statement("42P07", message).at(given.position));
        }
        Some(given) => given.name.clone(),
        None => first_free([&table.name, &column.text, "seq"], |name| !is_taken(name)),
    };
    sequence(
        schema,
        &name,
        identity.options.ty.unwrap_or(ty),
        &identity.options,
    )
    .map_err(place)
}

/// Returns a default as it is stored, and its value now; NULL for one that takes numbers from a sequence.
pub(super) fn checked_default(
    catalog: &Catalog,
    Expression { expr, position }: &Expression,
    ty: &DataType,
    column: &str,
) -> Result<(String, Datum), SqlError> {
    check_default(expr).map_err(|error| error.at(*position))?;
    if let Some(name) = next_of(expr) {
        let parsed = parse_object_name(&name).map_err(|error| error.at(*position))?;
        let schema = parsed.schema.as_deref().unwrap_or(PUBLIC);
        if catalog.sequence_named(schema, &parsed.name).is_none() {
            let message = format!("relation \"{}\" does not exist", parsed.name);
            return Err(SqlError::statement("42P01", message).at(*position));
        }
        if !ty.is_integer() {
            let message = "a default that is nextval() takes a column of an integer type";
            return Err(SqlError::unsupported(message).at(*position));
        }
        return Ok((default_of(schema, &parsed.name), Datum::Null));
    }
    if calls_sequence(expr) {
        let message = "functions of sequences in a default stand alone: DEFAULT nextval('name')";
        return Err(SqlError::unsupported(message).at(*position));
    }
    let sql = stored_text(expr);
    let value = evaluate_default(&sql, ty, column).map_err(|error| error.at(*position))?;
    Ok((sql, value))
}

/// Adds the key of a table that is declared without one, with a notice.
///
/// Fails on options that are about a key.
fn row_id(
    statement: &CreateTableStatement,
    columns: &mut Vec<Column>,
    session: &mut Session,
) -> Result<KeyElement, SqlError> {
    let name = &statement.name;
    let what = match &statement.options {
        options if options.salt.is_some() => Some("SALT_BUCKETS"),
        options if !options.split_on.is_empty() => Some("SPLIT ON"),
        options if options.versions.flatten().is_some() => Some("VERSIONS"),
        _ => None,
    };
    if let Some(what) = what {
        let message = format!("{what} needs a primary key, and table \"{}\" has none", name.name);
        return Err(SqlError::statement("42P16", message).at(name.position));
    }
    let id = ColumnId(columns.len() as u32);
    columns.push(Column::row_id(id));
    let is_kept = !name.schema.as_deref().is_some_and(is_temporary) && !statement.materialized;
    if is_kept {
        session.notice(Notice::new(format!(
            "table \"{}\" has no primary key: its rows are kept in the order in which they are inserted",
            name.name
        )));
    }
    Ok(KeyElement {
        expr: KeyExpr::Column(id),
        order: SortOrder::Asc,
    })
}

/// Returns the elements of a primary key as they are declared.
pub(super) fn primary_key(
    definitions: &[KeyElementDefinition],
    columns: &[Column],
) -> Result<Vec<KeyElement>, SqlError> {
    let mut elements = Vec::with_capacity(definitions.len());
    for definition in definitions {
        let expr = match &definition.expr {
            KeyExprDefinition::Column(name) => KeyExpr::Column(key_column(columns, name)?),
            KeyExprDefinition::Hash { column, bytes } => KeyExpr::Hash {
                column: key_column(columns, column)?,
                bytes: *bytes,
            },
            KeyExprDefinition::Expression(_) => {
                let error = SqlError::syntax("a primary key is made of columns and HASH(column, n)");
                return Err(error.at(definition.position));
            }
        };
        if let KeyExprDefinition::Column(name) = &definition.expr
            && elements.iter().any(|known: &KeyElement| known.expr == expr)
        {
            let message = format!("column \"{}\" appears twice in primary key constraint", name.text);
            return Err(SqlError::statement("42701", message).at(name.position));
        }
        elements.push(KeyElement {
            expr,
            order: definition.order,
        });
    }
    Ok(elements)
}

/// Fails if a column of the key is declared NULL.
fn check_not_null(
    statement: &CreateTableStatement,
    expr: &KeyExpr,
    definition: &KeyElementDefinition,
) -> Result<(), SqlError> {
    let declared = |id: &ColumnId| &statement.columns[id.0 as usize];
    match expr
        .columns()
        .iter()
        .map(declared)
        .find(|column| column.nullable == Some(true))
    {
        None => Ok(()),
        Some(column) => {
            let message = format!(
                "conflicting NULL/NOT NULL declarations for column \"{}\"",
                column.name.text
            );
            Err(SqlError::syntax(message).at(definition.position))
        }
    }
}

fn key_column(columns: &[Column], name: &Name) -> Result<ColumnId, SqlError> {
    column_id(columns, name).map_err(|_| {
        let message = format!("column \"{}\" named in key does not exist", name.text);
        SqlError::statement("42703", message).at(name.position)
    })
}

fn split_keys(
    keys: &[Vec<Expression>],
    primary_key: &[KeyElement],
    columns: &[Column],
) -> Result<Vec<Vec<Datum>>, SqlError> {
    keys.iter()
        .map(|key| split_key(key, primary_key, columns))
        .collect()
}

fn split_key(
    key: &[Expression],
    primary_key: &[KeyElement],
    columns: &[Column],
) -> Result<Vec<Datum>, SqlError> {
    let mut datums = Vec::with_capacity(key.len());
    for (position, constant) in key.iter().enumerate() {
        let Some(element) = primary_key.get(position) else {
            let message = "a SPLIT ON key must be a prefix of the primary key";
            return Err(SqlError::statement("42P16", message).at(constant.position));
        };
        let (ty, name) = element_type(&element.expr, columns);
        check_stored(&constant.expr, "SPLIT ON key").map_err(|error| error.at(constant.position))?;
        let datum = evaluate_default(&sql_text(&constant.expr), &ty, name);
        datums.push(datum.map_err(|error| error.at(constant.position))?);
    }
    Ok(datums)
}

fn element_type<'a>(expr: &KeyExpr, columns: &'a [Column]) -> (DataType, &'a str) {
    let column = |id: &ColumnId| &columns[id.0 as usize];
    match expr {
        KeyExpr::Column(id) => (column(id).ty, &column(id).name),
        KeyExpr::Hash { column: id, bytes } => (DataType::Binary(u32::from(*bytes)), &column(id).name),
        KeyExpr::Expression { ty, .. } => (*ty, ""),
    }
}

/// Fails on a UNIQUE constraint over a column that the table has not.
fn check_uniques(statement: &CreateTableStatement) -> Result<(), SqlError> {
    let known = |name: &Name| {
        statement
            .columns
            .iter()
            .any(|column| column.name.text == name.text)
    };
    match statement
        .uniques
        .iter()
        .flat_map(|unique| &unique.columns)
        .find(|name| !known(name))
    {
        None => Ok(()),
        Some(name) => {
            let message = format!("column \"{}\" named in key does not exist", name.text);
            Err(SqlError::statement("42703", message).at(name.position))
        }
    }
}

pub(super) fn create_uniques(
    session: &Session,
    table: &Table,
    uniques: &[UniqueDefinition],
) -> Result<(), SqlError> {
    for unique in uniques {
        let draft = unique_draft(&session.engine().catalog(), table, unique, &[])?;
        let created = session.engine().create_index(table.id, draft, &NoProgress);
        let position = unique.columns.first().map_or(1, |name| name.position);
        created.map_err(|error| index_error(error).at(position))?;
    }
    Ok(())
}

/// Makes the draft of the index of a UNIQUE constraint; `names` are taken by others of the same statement.
pub(super) fn unique_draft(
    catalog: &Catalog,
    table: &Table,
    unique: &UniqueDefinition,
    names: &[String],
) -> Result<IndexDraft, SqlError> {
    let parts = unique.columns.iter().chain(&unique.include);
    let parts: Vec<String> = parts.map(|name| name.text.clone()).collect();
    let is_check = |name: &Name| table.checks.iter().any(|check| check.name == name.text);
    let name = match &unique.name {
        Some(name) if is_check(name) => return Err(duplicate_constraint(&table.name, name)),
        Some(name) => name.text.clone(),
        None => free_name_beside(catalog, table, &parts, "key", names),
    };
    let element = |id| KeyElement {
        expr: KeyExpr::Column(id),
        order: SortOrder::Asc,
    };
    let ids = column_ids(&table.columns, &unique.columns)?;
    Ok(IndexDraft {
        name,
        unique: true,
        nulls_distinct: unique.nulls_distinct,
        constraint: true,
        elements: ids.into_iter().map(element).collect(),
        include: column_ids(&table.columns, &unique.include)?,
        predicate: None,
        layout: Default::default(),
    })
}
