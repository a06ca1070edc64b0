//! Counters: columns that are added to without being read.

use crate::error::invalid;
use crate::{CatalogError, Column, ColumnId, Table};
use rukh_keys::DataType;

/// Most counters of one table: storage counts them in a byte.
const COUNTERS_MAX: usize = 255;

impl Table {
    /// Whether adding to a column is all that an UPDATE of it has to do: it is a counter, never NULL, and
    /// no index, CHECK constraint or generated column reads it; rows do not carry times, which a write
    /// renews; and they are not in blocks, beside which whole rows are written.
    pub fn adds_blindly(&self, id: ColumnId) -> bool {
        let Some(column) = self.column(id) else {
            return false;
        };
        let is_read = self
            .indexes
            .iter()
            .any(|index| index.columns_read(self).contains(&id))
            || self.checks.iter().any(|check| check.columns.contains(&id))
            || self.columns.iter().any(|column| {
                let generated = column.values.generated.as_ref();
                generated.is_some_and(|generated| generated.columns.contains(&id))
            });
        let options = &self.options;
        column.values.counter && !column.nullable && !is_read && !options.timed && !options.columnar
    }

    /// Checks that counters are 64-bit integers outside of the primary key, and not too many.
    pub(crate) fn check_counters(&self) -> Result<(), CatalogError> {
        let counters = || self.columns.iter().filter(|column| column.values.counter);
        let in_key = |column: &&Column| {
            let mut key = self.primary_key.iter();
            key.any(|element| element.expr.columns().contains(&column.id))
        };
        if let Some(column) = counters().find(in_key) {
            return invalid(format!(
                "counter \"{}\" cannot be part of the primary key",
                column.name
            ));
        }
        if let Some(column) = counters().find(|column| column.ty != DataType::BigInt) {
            return invalid(format!("counter \"{}\" is not a 64-bit integer", column.name));
        }
        match counters().count() <= COUNTERS_MAX {
            true => Ok(()),
            false => invalid(format!("tables can have at most {COUNTERS_MAX} counters")),
        }
    }
}
