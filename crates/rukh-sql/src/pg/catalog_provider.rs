//! The database as a catalog of DataFusion, as the current statement of a session sees it: tables, their past, sequences, and the
//! system schemas.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{CatalogProvider, SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result as DataFusionResult};

use crate::bind::names::past;
use crate::bind::types::table_schema::without_row_ids;
use crate::exec::context::StatementContext;
use crate::exec::provider::RukhTable;
use crate::pg::activity::WithActivity;
use crate::pg::current::CurrentStatement;
use crate::pg::information_schema;
use crate::pg::pg_catalog::PgCatalog;
use crate::pg::sequence_values;

/// Returns `pg_catalog` as a statement sees it.
fn system(current: &CurrentStatement, context: &Arc<StatementContext>) -> Arc<dyn SchemaProvider> {
    Arc::new(WithActivity {
        inner: Arc::new(PgCatalog::new(context.clone())),
        asking: current.asking().clone(),
    })
}

/// The database as a DataFusion catalog: schemas of tables, and `information_schema`.
#[derive(Debug)]
pub(crate) struct RukhCatalog {
    current: Arc<CurrentStatement>,
}

impl RukhCatalog {
    /// Makes the catalog of a session.
    pub(crate) fn new(current: Arc<CurrentStatement>) -> Self {
        RukhCatalog { current }
    }
}

impl CatalogProvider for RukhCatalog {
    fn schema_names(&self) -> Vec<String> {
        ["public", "information_schema", "pg_catalog"]
            .map(String::from)
            .to_vec()
    }

    fn schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        let context = self.current.context()?;
        match name {
            "information_schema" => Some(information_schema::schema_provider(&context)),
            "pg_catalog" => Some(system(&self.current, &context)),
            _ => Some(Arc::new(RukhSchema {
                context,
                name: name.to_string(),
                current: self.current.clone(),
            })),
        }
    }
}

/// One schema of tables.
#[derive(Debug)]
struct RukhSchema {
    context: Arc<StatementContext>,
    name: String,
    current: Arc<CurrentStatement>,
}

#[async_trait]
impl SchemaProvider for RukhSchema {
    fn table_names(&self) -> Vec<String> {
        let tables = self.context.snapshot.catalog.tables();
        tables
            .filter(|table| table.schema == self.name)
            .map(|table| table.name.clone())
            .collect()
    }

    async fn table(&self, name: &str) -> DataFusionResult<Option<Arc<dyn TableProvider>>> {
        if let Ok(table) = self.context.snapshot.catalog.table_named(&self.name, name) {
            return Ok(Some(Arc::new(RukhTable::new(
                self.context.clone(),
                table.clone(),
            ))));
        }
        if let Some(name) = without_row_ids(name)
            && let Ok(table) = self.context.snapshot.catalog.table_named(&self.name, name)
        {
            let table = RukhTable::with_row_ids(self.context.clone(), table.clone());
            return Ok(Some(Arc::new(table)));
        }
        if let Some(table) = past::table_named(&self.context.snapshot, &self.name, name) {
            return Ok(Some(Arc::new(RukhTable::new(self.context.clone(), table))));
        }
        if let Some(sequence) = self.context.snapshot.catalog.sequence_named(&self.name, name) {
            let table = sequence_values::as_table(&self.current.asking().engine, sequence);
            return Ok(Some(
                table.map_err(|error| DataFusionError::External(Box::new(error)))?,
            ));
        }
        if let Some((_, table)) = self.context.tables.iter().find(|(known, _)| known == name) {
            return Ok(Some(table.clone()));
        }
        match self.system_schema(name) {
            Some(system) => system.table(name).await,
            None => Ok(None),
        }
    }

    fn table_exist(&self, name: &str) -> bool {
        let catalog = &self.context.snapshot.catalog;
        catalog.table_named(&self.name, name).is_ok()
            || catalog.sequence_named(&self.name, name).is_some()
            || past::table_named(&self.context.snapshot, &self.name, name).is_some()
            || self.context.tables.iter().any(|(known, _)| known == name)
            || self
                .system_schema(name)
                .is_some_and(|system| system.table_exist(name))
    }
}

impl RukhSchema {
    /// Names in `pg_catalog` need no schema before them, as in PostgreSQL.
    fn system_schema(&self, name: &str) -> Option<Arc<dyn SchemaProvider>> {
        (self.name == "public" && name.starts_with("pg_")).then(|| system(&self.current, &self.context))
    }
}
