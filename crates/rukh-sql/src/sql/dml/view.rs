//! Rows that are written through a view WITH CHECK OPTION.

use rukh_engine::{Row, Write};
use rukh_error::SqlError;
use rukh_functions::batch::batch_of_rows;

use crate::bind::names::view_target::ViewTarget;
use crate::bind::types::table_schema::table_schema;
use crate::sql::computed::{Clause, Computed, Relation};
use crate::sql::session::Session;

impl ViewTarget {
    /// Fails with 44000 on a row that the view, being WITH CHECK OPTION, would not show.
    pub(super) fn check(&self, session: &mut Session, write: &Write, rows: &[Row]) -> Result<(), SqlError> {
        if rows.is_empty() {
            return Ok(());
        }
        let types: Vec<_> = self.table.columns.iter().map(|column| column.ty).collect();
        let snapshot = write.snapshot().clone();
        for check in &self.checks {
            let relation = Relation {
                name: check.relation.clone(),
                schema: table_schema(&check.table),
            };
            let batch = batch_of_rows(relation.schema.clone(), &types, rows)?;
            let condition = check.condition.clone();
            let condition = Computed::condition(vec![relation], condition, Clause::Where, &[])?;
            if condition.holds(session, &snapshot, &batch, &[])?.false_count() > 0 {
                let message = format!("new row violates check option for view \"{}\"", check.view);
                return Err(SqlError::constraint("44000", message));
            }
        }
        Ok(())
    }
}
