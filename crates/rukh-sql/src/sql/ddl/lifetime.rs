//! TTL of tables, from what a statement says to the definition.

use rukh_catalog::{Column, FamilyId, Lifetime, Table, TableOptions};
use rukh_keys::DataType;
use rukh_syntax::{LifetimeDefinition, Name};

use super::columns::column_id;
use rukh_error::SqlError;

/// Gives a table the lifetime that a statement says at `now`, or takes it away.
///
/// Rows that carry no time count as written now, if they did not have a lifetime before.
pub(super) fn set_lifetime(
    options: &mut TableOptions,
    columns: &[Column],
    definition: &LifetimeDefinition,
    now: i64,
) -> Result<(), SqlError> {
    let Some(ttl_micros) = definition.ttl_micros else {
        options.lifetime = None;
        return Ok(());
    };
    let from = match &definition.from {
        None => None,
        Some(name) => {
            let id = column_id(columns, name)?;
            let column = columns.iter().find(|column| column.id == id);
            let ty = column.map(|column| column.ty);
            if !matches!(
                ty,
                Some(DataType::Date | DataType::Timestamp { .. } | DataType::TimestampTz { .. })
            ) {
                let message = format!("TTL cannot count from column \"{}\"", name.text);
                return Err(SqlError::statement("42804", message)
                    .at(name.position)
                    .with_hint("TTL counts from a column of type DATE, TIMESTAMP or TIMESTAMPTZ."));
            }
            Some(id)
        }
    };
    options.lifetime = Some(Lifetime {
        ttl_micros,
        from,
        since_micros: options.lifetime.map_or(now, |before| before.since_micros),
    });
    options.timed = true;
    Ok(())
}

/// Says how long the values of a family live, and of how many images it has them; what is not given stays.
///
/// Values that carry no time count as written now, if the family had no TTL before.
pub(super) fn set_family(
    table: &mut Table,
    name: &Name,
    ttl_micros: Option<Option<i64>>,
    versions: Option<Option<u32>>,
    now: i64,
) -> Result<(), SqlError> {
    let found = table.families.iter_mut().find(|family| family.name == name.text);
    let Some(family) = found else {
        let message = format!(
            "family \"{}\" of table \"{}\" does not exist",
            name.text, table.name
        );
        return Err(SqlError::statement("42704", message).at(name.position));
    };
    if family.id == FamilyId(0) {
        let message = "TTL and VERSIONS of family \"default\" are those of the table";
        return Err(SqlError::unsupported(message).at(name.position));
    }
    let options = &mut family.options;
    if let Some(ttl) = ttl_micros {
        options.since_micros = match (options.ttl_micros, ttl) {
            (Some(_), Some(_)) => options.since_micros,
            (None, Some(_)) => Some(now),
            (_, None) => None,
        };
        options.ttl_micros = ttl;
        table.options.timed |= ttl.is_some();
    }
    if let Some(versions) = versions {
        options.versions = versions;
    }
    Ok(())
}
