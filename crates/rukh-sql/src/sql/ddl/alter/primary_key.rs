//! ALTER TABLE … ADD PRIMARY KEY, and DROP CONSTRAINT of one: all rows are written under their new keys.

use rukh_catalog::Table;
use rukh_syntax::{KeyElementDefinition, Name};

use super::table::{Failed, engine_error};
use crate::exec::session_settings::notice::Notice;
use crate::sql::ddl::create_table::primary_key;
use crate::sql::ddl::foreign::check_still_unique;
use crate::sql::ddl::names::{check_new_constraint, key_name};
use crate::sql::session::Session;
use rukh_error::SqlError;

/// Gives a primary key to a table that was declared without one.
pub(super) fn add_primary_key(
    session: &mut Session,
    table: &Table,
    name: Option<&Name>,
    elements: &[KeyElementDefinition],
    position: usize,
) -> Result<(), SqlError> {
    let altered = session.engine().alter_table(table.id, |catalog, before| {
        if before.row_id().is_none() {
            let message = format!(
                "multiple primary keys for table \"{}\" are not allowed",
                before.name
            );
            return Err(SqlError::statement("42P16", message).at(position).into());
        }
        if let Some(name) = name {
            check_new_constraint(before, name)?;
        }
        let name = key_name(catalog, &before.schema, &before.name, name)?;
        let elements = primary_key(elements, before.declared_columns())?;
        let next = before.with_primary_key(elements, name);
        Ok::<_, Failed>(next.map_err(|error| SqlError::from(error).at(position))?)
    });
    match altered {
        Ok(_) => Ok(()),
        Err(Failed::Statement(error)) => Err(error),
        Err(Failed::Engine(error)) => Err(engine_error(error).at(position)),
    }
}

/// Takes the primary key from a table, whose rows stay in the order that they have by it.
pub(super) fn drop_primary_key(session: &mut Session, table: &Table, name: &Name) -> Result<(), SqlError> {
    let altered = session.engine().alter_table(table.id, |catalog, before| {
        let next = before.without_primary_key();
        let next = next.map_err(|error| SqlError::from(error).at(name.position))?;
        check_still_unique(catalog, before, &next)?;
        Ok::<_, Failed>(next)
    });
    match altered {
        Ok(_) => {
            session.notice(Notice::new(format!(
                "table \"{}\" has no primary key now: new rows are kept in the order in which they are inserted",
                table.name
            )));
            Ok(())
        }
        Err(Failed::Statement(error)) => Err(error),
        Err(Failed::Engine(error)) => Err(engine_error(error).at(name.position)),
    }
}
