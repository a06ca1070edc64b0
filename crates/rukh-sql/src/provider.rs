//! Tables as DataFusion sees them: a provider that plans an access path when it is scanned.
//!
//! Every filter is taken over exactly: what spans and masked compares do not prove is checked by the
//! scan itself, so DataFusion adds no filter of its own.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{CatalogProvider, SchemaProvider, Session, TableProvider};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use rukh_catalog::Table;

use crate::activity::WithActivity;
use crate::context::StatementContext;
use crate::current::CurrentStatement;
use crate::operators::ScanExec;
use crate::pg_catalog::PgCatalog;
use crate::table_schema::table_schema;
use crate::{information_schema, past, sequences};

/// A table at the snapshot of one statement.
#[derive(Debug)]
pub(crate) struct RukhTable {
    context: Arc<StatementContext>,
    table: Arc<Table>,
    schema: SchemaRef,
}

impl RukhTable {
    /// Makes the provider of a table for one statement.
    pub(crate) fn new(context: Arc<StatementContext>, table: Arc<Table>) -> Self {
        let schema = table_schema(&table);
        RukhTable {
            context,
            table,
            schema,
        }
    }

    /// Returns the table's definition.
    pub(crate) fn table(&self) -> &Arc<Table> {
        &self.table
    }
}

#[async_trait]
impl TableProvider for RukhTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> DataFusionResult<Vec<TableProviderFilterPushDown>> {
        let support = |filter: &&Expr| match has_subquery(filter) {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Exact,
        };
        Ok(filters.iter().map(support).collect())
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let conjuncts = filters.iter().flat_map(split_conjunction).cloned().collect();
        let all = 0..self.table.columns.len();
        let output = projection.map_or_else(|| all.collect(), |positions| positions.clone());
        let scan = ScanExec::plan(&self.context, &self.table, output, conjuncts, limit)
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        let arms = scan
            .arms()
            .map_err(|error| DataFusionError::External(Box::new(error)))?;
        match arms {
            None => Ok(Arc::new(scan)),
            Some(arms) => {
                let arms = arms.into_iter().map(|arm| Arc::new(arm) as _);
                UnionExec::try_new(arms.collect())
            }
        }
    }
}

/// Returns whether an expression holds a subquery, which a scan cannot evaluate.
fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    let visited = expr.apply(|e| {
        found = matches!(
            e,
            Expr::Exists(_)
                | Expr::InSubquery(_)
                | Expr::ScalarSubquery(_)
                | Expr::SetComparison(_)
                | Expr::OuterReferenceColumn(..)
        );
        Ok(if found {
            TreeNodeRecursion::Stop
        } else {
            TreeNodeRecursion::Continue
        })
    });
    visited.is_err() || found
}

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
        if let Some(table) = past::table_named(&self.context.snapshot, &self.name, name) {
            return Ok(Some(Arc::new(RukhTable::new(self.context.clone(), table))));
        }
        if let Some(sequence) = self.context.snapshot.catalog.sequence_named(&self.name, name) {
            let table = sequences::as_table(&self.current.asking().engine, sequence);
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
