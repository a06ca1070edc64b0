//! ALTER COLUMN of identity columns: a column takes its values from a sequence of its own, or no longer does.
//!
//! Column and sequence change at once. Rows stay as they are.

use rukh_catalog::{Catalog, Column, Identity, Sequence, SequenceId, Table};
use rukh_engine::DefinitionChanges;
use rukh_syntax::{AlterSequenceStatement, IdentityDefinition, IdentityKind, Name, ObjectName};

use super::sequence::alter_sequence;
use crate::pg::sequences::default_of;
use crate::sql::ddl::create_table::own_sequence;
use crate::sql::ddl::names::skipped_column;
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Runs ADD GENERATED … AS IDENTITY.
pub(in crate::sql::ddl) fn add_identity(
    session: &mut Session,
    table: &Table,
    name: &Name,
    identity: &IdentityDefinition,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    engine.change_definitions(|catalog| {
        let mut next = newest(catalog, table)?;
        let column = column(&mut next, name)?;
        let refused = match &*column {
            column if column.values.identity.is_some() => Some("is already an identity column"),
            column if column.default.is_some() => Some("already has a default value"),
            column if column.values.generated.is_some() => Some("is a generated column"),
            column if column.nullable => Some("must be declared NOT NULL before identity can be added"),
            _ => None,
        };
        if let Some(refused) = refused {
            return Err(not_so(table, name, refused));
        }
        let object = ObjectName {
            schema: Some(table.schema.clone()),
            name: table.name.clone(),
            position: name.position,
        };
        let taken = |name: &str| catalog.check_name_free(&table.schema, name).is_err();
        let mut sequence = own_sequence(&object, (name, column.ty), identity, taken)?;
        sequence.owner = Some((table.id, column.id));
        column.default = Some(default_of(&sequence.schema, &sequence.name));
        column.values.identity = Some(identity_of(identity.kind));
        Ok(DefinitionChanges {
            tables: vec![next],
            sequences: vec![sequence],
            ..DefinitionChanges::default()
        })
    })
}

/// Runs DROP IDENTITY.
pub(in crate::sql::ddl) fn drop_identity(
    session: &mut Session,
    table: &Table,
    name: &Name,
    if_exists: bool,
) -> Result<(), SqlError> {
    let engine = session.engine().clone();
    let mut is_none = false;
    engine.change_definitions(|catalog| {
        let mut next = newest(catalog, table)?;
        let column = column(&mut next, name)?;
        if column.values.identity.is_none() {
            is_none = true;
            return match if_exists {
                true => Ok(DefinitionChanges::default()),
                false => Err(not_so(table, name, "is not an identity column")),
            };
        }
        let sequence = sequence_of(catalog, table, column).map(|sequence| sequence.id);
        column.values.identity = None;
        column.default = None;
        Ok(DefinitionChanges {
            tables: vec![next],
            dropped_sequences: sequence.into_iter().collect(),
            ..DefinitionChanges::default()
        })
    })?;
    if is_none {
        skipped_column(session, table, name, "is not an identity column");
    }
    Ok(())
}

/// Runs RESTART, and SET with options of a sequence, and with SET GENERATED beside them.
pub(in crate::sql::ddl) fn alter_numbers(
    session: &mut Session,
    table: &Table,
    name: &Name,
    statement: &AlterSequenceStatement,
    kind: Option<IdentityKind>,
) -> Result<(), SqlError> {
    let catalog = session.engine().catalog();
    let mut next = newest(&catalog, table)?;
    let column = column(&mut next, name)?;
    let sequence = column
        .values
        .identity
        .and_then(|_| sequence_of(&catalog, table, column));
    let Some(sequence) = sequence else {
        return Err(not_so(table, name, "is not an identity column"));
    };
    let statement = AlterSequenceStatement {
        name: ObjectName {
            schema: Some(sequence.schema.clone()),
            name: sequence.name.clone(),
            position: name.position,
        },
        ..statement.clone()
    };
    alter_sequence(session, &statement, |catalog| {
        let Some(kind) = kind else {
            return Ok(None);
        };
        let mut next = newest(catalog, table)?;
        self::column(&mut next, name)?.values.identity = Some(identity_of(kind));
        Ok(Some(next))
    })
}

/// Returns how a column is declared that takes its values from a sequence.
pub(in crate::sql::ddl) fn identity_of(kind: IdentityKind) -> Identity {
    match kind {
        IdentityKind::Always => Identity::Always,
        IdentityKind::ByDefault | IdentityKind::Serial => Identity::ByDefault,
    }
}

/// Makes the error for a column that an action is not for.
pub(in crate::sql::ddl) fn not_so(table: &Table, name: &Name, what: &str) -> SqlError {
    let message = format!("column \"{}\" of relation \"{}\" {what}", name.text, table.name);
    SqlError::statement("55000", message).at(name.position)
}

fn newest(catalog: &Catalog, table: &Table) -> Result<Table, SqlError> {
    let newest = catalog.table(table.id);
    let gone = || SqlError::statement("42P01", format!("relation \"{}\" does not exist", table.name));
    newest.map(|newest| newest.as_ref().clone()).ok_or_else(gone)
}

fn column<'t>(table: &'t mut Table, name: &Name) -> Result<&'t mut Column, SqlError> {
    let message = format!(
        "column \"{}\" of relation \"{}\" does not exist",
        name.text, table.name
    );
    let found = table.columns.iter_mut().find(|column| column.name == name.text);
    found.ok_or_else(|| SqlError::statement("42703", message).at(name.position))
}

fn sequence_of<'c>(catalog: &'c Catalog, table: &Table, column: &Column) -> Option<&'c Sequence> {
    let owner = Some((table.id, column.id));
    let mut own = catalog
        .sequences_of(table.id)
        .filter(|sequence| sequence.owner == owner && sequence.id != SequenceId(0));
    own.next().map(|sequence| sequence.as_ref())
}
