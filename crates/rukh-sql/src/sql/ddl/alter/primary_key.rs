//! ALTER TABLE … ADD PRIMARY KEY.

use rukh_catalog::Table;
use rukh_syntax::{KeyElementDefinition, Name};

use super::table::{Failed, engine_error};
use crate::sql::ddl::create_table::primary_key;
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
