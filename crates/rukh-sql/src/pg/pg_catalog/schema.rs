//! The schema `pg_catalog`: its tables, as one statement sees them.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};

use crate::exec::context::StatementContext;

use super::rows::maker;
use super::source::Source;
use super::table;
use crate::bind::system::system_tables::{system_table, system_tables};

/// `pg_catalog` as one statement sees it.
#[derive(Debug)]
pub(crate) struct PgCatalog {
    context: Arc<StatementContext>,
}

impl PgCatalog {
    pub(crate) fn new(context: Arc<StatementContext>) -> Self {
        PgCatalog { context }
    }
}

#[async_trait]
impl SchemaProvider for PgCatalog {
    fn table_names(&self) -> Vec<String> {
        system_tables().map(|table| table.name.to_string()).collect()
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let Some(found) = system_table(name) else {
            return Ok(None);
        };
        let columns = table::columns(found.columns);
        let source = Source {
            context: &self.context,
        };
        let rows = maker(found).map(|rows| rows(&source)).unwrap_or_default();
        let rows =
            table::batch(&columns, &rows).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        Ok(Some(Arc::new(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        system_table(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_tables_are_read() {
        for known in system_tables() {
            let columns = table::columns(known.columns);
            let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, known.column_names().collect::<Vec<_>>(), "{}", known.name);
        }
    }

    #[test]
    fn rows_are_made_of_all_tables_but_the_empty_ones() {
        for known in system_tables() {
            assert_eq!(maker(known).is_none(), known.is_empty, "{}", known.name);
        }
    }
}
