//! FOREIGN KEY constraints of definitions.

use rukh_catalog::{
    Catalog, ColumnId, ForeignAction, ForeignKey, KeyExpr, PUBLIC, Table, begins_with, can_refer,
};
use rukh_keys::DataType;
use rukh_syntax::{ForeignKeyDefinition, Name, quoted};

use super::names::{check_new_constraint, first_free};
use crate::bind::names::functions::is_temporary;
use crate::exec::session_settings::notice::Notice;
use rukh_error::SqlError;

/// Makes a constraint of a table, which has its columns and the constraints before.
pub(super) fn foreign_key(
    catalog: &Catalog,
    table: &Table,
    definition: &ForeignKeyDefinition,
) -> Result<ForeignKey, SqlError> {
    let name = name_of(table, definition)?;
    let columns = column_ids(table, &definition.columns)?;
    let schema = definition.referenced.schema.as_deref().unwrap_or(PUBLIC);
    let at = definition.referenced.position;
    let is_itself = table.schema == schema && table.name == definition.referenced.name;
    let referenced = match is_itself {
        true => table,
        false => match catalog.table_named(schema, &definition.referenced.name) {
            Ok(referenced) => referenced.as_ref(),
            Err(_) if catalog.view_named(schema, &definition.referenced.name).is_some() => {
                let message = format!(
                    "referenced relation \"{}\" is not a table",
                    definition.referenced.name
                );
                return Err(SqlError::statement("42809", message).at(at));
            }
            Err(_) => return Err(definition.referenced.undefined().into()),
        },
    };
    let are_temporary = (is_temporary(&table.schema), is_temporary(&referenced.schema));
    if are_temporary.0 != are_temporary.1 {
        let kind = if are_temporary.0 { "temporary" } else { "permanent" };
        let message = format!("constraints on {kind} tables may reference only {kind} tables");
        return Err(SqlError::statement("42P16", message).at(definition.position));
    }
    let referenced_columns = match definition.referenced_columns.is_empty() {
        false => column_ids(referenced, &definition.referenced_columns)?,
        true => key_columns(referenced).map_err(|error| error.at(at))?,
    };
    check_columns(definition, &columns, &referenced_columns)?;
    if !referenced.are_unique(&referenced_columns) {
        let message = format!(
            "there is no unique constraint matching given keys for referenced table \"{}\"",
            referenced.name
        );
        return Err(SqlError::statement("42830", message).at(definition.position));
    }
    let expires = referenced.options.lifetime.is_some();
    if expires
        || referenced
            .families
            .iter()
            .any(|family| family.options.ttl_micros.is_some())
    {
        let message = format!(
            "table \"{}\" cannot be referenced because its rows have a TTL",
            referenced.name
        );
        return Err(SqlError::unsupported(message).at(at));
    }
    for (column, other) in columns.iter().zip(&referenced_columns) {
        check_types(&name, table, *column, referenced, *other)
            .map_err(|error| error.at(definition.position))?;
    }
    let sets = [definition.on_delete, definition.on_update]
        .iter()
        .any(|action| matches!(action, ForeignAction::SetNull | ForeignAction::SetDefault));
    let is_generated = |id: &ColumnId| {
        table
            .column(*id)
            .is_some_and(|column| column.values.generated.is_some())
    };
    if columns.iter().any(is_generated) && (sets || definition.on_update == ForeignAction::Cascade) {
        let message = "invalid action for foreign key constraint containing generated column";
        return Err(SqlError::syntax(message).at(definition.position));
    }
    Ok(ForeignKey {
        name,
        columns,
        referenced: referenced.id,
        referenced_columns,
        on_delete: definition.on_delete,
        on_update: definition.on_update,
        match_full: definition.match_full,
        timing: definition.timing,
        not_valid: definition.not_valid,
    })
}

/// Adds constraints to a table.
pub(super) fn add_foreign_keys(
    catalog: &Catalog,
    table: &mut Table,
    definitions: &[ForeignKeyDefinition],
) -> Result<Vec<Notice>, SqlError> {
    let mut notices = Vec::new();
    for definition in definitions {
        let key = foreign_key(catalog, table, definition)?;
        notices.extend(without_index(table, &key));
        table.foreign_keys.push(key);
    }
    Ok(notices)
}

/// Returns the notice that changes of the referenced table read all rows of this one.
fn without_index(table: &Table, key: &ForeignKey) -> Option<Notice> {
    let indexes = table.indexes.iter().filter(|index| index.predicate.is_none());
    let keys = indexes.map(|index| index.elements.as_slice());
    let mut keys = std::iter::once(table.primary_key.as_slice()).chain(keys);
    if keys.any(|elements| begins_with(elements, &key.columns)) {
        return None;
    }
    let columns: Vec<String> = key
        .columns
        .iter()
        .map(|id| quoted(table.column_name(*id)))
        .collect();
    let message = format!(
        "no index of table \"{}\" begins with the columns of foreign key \"{}\": all rows are read when a referenced row is \
         deleted or gets another key",
        table.name, key.name
    );
    let hint = format!(
        "CREATE INDEX ON {} ({});",
        quoted(&table.name),
        columns.join(", ")
    );
    Some(Notice {
        hint: Some(hint),
        ..Notice::new(message)
    })
}

/// Fails if a table that others refer to is to be without what makes the referenced columns unique, or without a column.
pub(super) fn check_still_unique(catalog: &Catalog, before: &Table, next: &Table) -> Result<(), SqlError> {
    let others = catalog
        .references_to(next.id)
        .filter(|(table, _)| table.id != next.id)
        .map(|(table, key)| (table.as_ref(), key));
    let own = next.foreign_keys.iter().filter(|key| key.referenced == next.id);
    for (table, key) in others.chain(own.map(|key| (next, key))) {
        let columns = &key.referenced_columns;
        if before.are_unique(columns) && !next.are_unique(columns) {
            let message = format!(
                "cannot drop what makes columns of table {} unique because other objects depend on it",
                quoted(&next.name)
            );
            let detail = format!(
                "constraint {} on table {} depends on it",
                quoted(&key.name),
                quoted(&table.name)
            );
            return Err(SqlError::statement("2BP01", message)
                .with_detail(detail)
                .with_hint("Drop the foreign key first."));
        }
    }
    Ok(())
}

/// Fails if a foreign key has or refers to a column, whose type is to be another: unless it only gets wider, and the other side fits still.
pub(super) fn check_not_in_keys(
    catalog: &Catalog,
    table: &Table,
    column: ColumnId,
    wider: Option<DataType>,
) -> Result<(), SqlError> {
    // Of each foreign key with the column, the type on the other side if that may stay, and whether the column is the referring one.
    let type_at = |table: Option<&Table>, ids: &[ColumnId], at: usize| {
        let other = table.and_then(|table| table.column(*ids.get(at)?));
        other.map(|other| other.ty)
    };
    let place = |ids: &[ColumnId]| ids.iter().position(|id| *id == column);
    let own = table.foreign_keys.iter().filter_map(|key| {
        let at = place(&key.columns)?;
        let other = catalog.table(key.referenced).map(|other| other.as_ref());
        let ty = type_at(other, &key.referenced_columns, at);
        let fits = wider.zip(ty).is_some_and(|(wider, ty)| can_refer(&wider, &ty));
        Some((key, fits))
    });
    let others = catalog.references_to(table.id).filter_map(|(other, key)| {
        let at = place(&key.referenced_columns)?;
        let ty = type_at(Some(other), &key.columns, at);
        let fits = wider.zip(ty).is_some_and(|(wider, ty)| can_refer(&ty, &wider));
        Some((key, fits))
    });
    match own.chain(others).find(|(_, fits)| !fits) {
        None => Ok(()),
        Some((key, _)) => {
            let message = format!(
                "cannot alter type of column \"{}\" because foreign key \"{}\" has it",
                table.column_name(column),
                key.name
            );
            Err(SqlError::unsupported(message).with_hint("Drop the foreign key first."))
        }
    }
}

fn name_of(table: &Table, definition: &ForeignKeyDefinition) -> Result<String, SqlError> {
    match &definition.name {
        Some(name) => {
            check_new_constraint(table, name)?;
            Ok(name.text.clone())
        }
        None => {
            let columns: Vec<&str> = definition.columns.iter().map(|name| name.text.as_str()).collect();
            let parts = [&table.name, &columns.join("_"), "fkey"];
            Ok(first_free(parts, |name| !table.has_constraint(name)))
        }
    }
}

fn column_ids(table: &Table, names: &[Name]) -> Result<Vec<ColumnId>, SqlError> {
    let declared = table.declared_columns();
    let id = |name: &Name| {
        let column = declared.iter().find(|column| column.name == name.text);
        column.map(|column| column.id).ok_or_else(|| {
            let message = format!(
                "column \"{}\" referenced in foreign key constraint does not exist",
                name.text
            );
            SqlError::statement("42703", message).at(name.position)
        })
    };
    names.iter().map(id).collect()
}

/// Returns the columns of the primary key.
fn key_columns(table: &Table) -> Result<Vec<ColumnId>, SqlError> {
    let mut columns = Vec::new();
    for element in table.declared_key() {
        match element.expr {
            KeyExpr::Column(id) => columns.push(id),
            _ => return Err(SqlError::unsupported("a key with HASH cannot be referenced")),
        }
    }
    if columns.is_empty() {
        let message = format!("there is no primary key for referenced table \"{}\"", table.name);
        return Err(SqlError::statement("42704", message));
    }
    Ok(columns)
}

fn check_columns(
    definition: &ForeignKeyDefinition,
    columns: &[ColumnId],
    referenced: &[ColumnId],
) -> Result<(), SqlError> {
    if columns.len() != referenced.len() {
        let message = "number of referencing and referenced columns for foreign key disagree";
        return Err(SqlError::statement("42830", message).at(definition.position));
    }
    let repeats = |ids: &[ColumnId]| (1..ids.len()).any(|at| ids[..at].contains(&ids[at]));
    if repeats(referenced) {
        let message = "foreign key referenced-columns list must not contain duplicates";
        return Err(SqlError::statement("42830", message).at(definition.position));
    }
    if repeats(columns) {
        let message = "foreign key columns list must not contain duplicates";
        return Err(SqlError::unsupported(message).at(definition.position));
    }
    Ok(())
}

fn check_types(
    name: &str,
    table: &Table,
    column: ColumnId,
    referenced: &Table,
    other: ColumnId,
) -> Result<(), SqlError> {
    let (Some(column), Some(other)) = (table.column(column), referenced.column(other)) else {
        return Ok(());
    };
    if column.values.counter || other.values.counter {
        return Err(SqlError::unsupported("a COUNTER cannot be part of a foreign key"));
    }
    if can_refer(&column.ty, &other.ty) {
        return Ok(());
    }
    let message = format!("foreign key constraint \"{name}\" cannot be implemented");
    Err(SqlError::statement("42804", message).with_detail(format!(
        "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
        column.name,
        other.name,
        column.ty.postgres_name(),
        other.ty.postgres_name()
    )))
}
