//! Tables as DataFusion sees them: a provider that plans an access path when it is scanned.
//!
//! Every filter is taken over exactly: what spans and masked compares do not prove is checked by the
//! scan itself, so DataFusion adds no filter of its own.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::union::UnionExec;
use rukh_catalog::Table;

use crate::bind::types::table_schema::{declared_schema, table_schema};
use crate::exec::context::StatementContext;
use crate::exec::operators::ScanExec;
use rukh_error::SqlError;
use rukh_walk::Tree;

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
        let schema = declared_schema(&table);
        RukhTable {
            context,
            table,
            schema,
        }
    }

    /// Makes the provider of a table that shows its row ids, too.
    pub(crate) fn with_row_ids(context: Arc<StatementContext>, table: Arc<Table>) -> Self {
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
        if self.table.is_unpopulated() {
            let message = format!("materialized view \"{}\" has not been populated", self.table.name);
            let error =
                SqlError::statement("55000", message).with_hint("Use the REFRESH MATERIALIZED VIEW command.");
            return Err(DataFusionError::External(Box::new(error)));
        }
        let conjuncts = filters.iter().flat_map(split_conjunction).cloned().collect();
        let all = 0..self.schema.fields().len();
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
    let visited = expr.each(&mut |e| {
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
