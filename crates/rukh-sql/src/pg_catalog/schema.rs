//! The schema `pg_catalog`: its tables, as one statement sees them.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use rukh_catalog::Catalog;

use crate::context::StatementContext;

use super::table::{self, Cell};

/// Name of the database.
pub(crate) const DATABASE: &str = "rukh";

/// What rows and functions are made of.
pub(crate) struct Source<'a> {
    pub(crate) context: &'a StatementContext,
}

impl Source<'_> {
    /// Returns the definitions at the statement's snapshot.
    pub(crate) fn catalog(&self) -> &Catalog {
        &self.context.snapshot.catalog
    }

    /// Returns the schemas of the search path that are there.
    pub(crate) fn path(&self) -> Vec<String> {
        let path = &self.context.client.settings.search_path;
        path.schemas(self.catalog(), self.user())
    }

    /// Returns who runs the statement.
    pub(crate) fn user(&self) -> &str {
        &self.context.client.user
    }
}

/// Makes the rows of a table.
pub(crate) type Maker = fn(&Source<'_>) -> Vec<Vec<Cell>>;

/// A table of `pg_catalog`.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    /// The columns, as the manual lists them.
    pub(crate) columns: &'static str,
    /// Makes the rows; `None` if there never are any.
    pub(crate) rows: Option<Maker>,
}

/// Returns all tables of `pg_catalog`.
pub(crate) fn definitions() -> impl Iterator<Item = &'static Definition> {
    super::rows::TABLES.iter().chain(super::empty::TABLES)
}

/// Returns a table of `pg_catalog`.
pub(crate) fn definition(name: &str) -> Option<&'static Definition> {
    definitions().find(|definition| definition.name == name)
}

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
        definitions()
            .map(|definition| definition.name.to_string())
            .collect()
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        let Some(definition) = definition(name) else {
            return Ok(None);
        };
        let columns = table::columns(definition.columns);
        let source = Source {
            context: &self.context,
        };
        let rows = definition.rows.map(|rows| rows(&source)).unwrap_or_default();
        let rows =
            table::batch(&columns, &rows).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let table = MemTable::try_new(rows.schema(), vec![vec![rows]])?;
        Ok(Some(Arc::new(table)))
    }

    fn table_exist(&self, name: &str) -> bool {
        definition(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_all_tables_are_read() {
        for definition in definitions() {
            let written = definition.columns.split(',').count();
            let columns = table::columns(definition.columns);
            assert_eq!(columns.len(), written, "{}", definition.name);
        }
    }
}
