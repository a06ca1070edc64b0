//! Scans replanned for an order, or for one row of each group.

use std::any::Any;
use std::sync::Arc;

use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_expr::expressions::Column as PhysicalColumn;
use datafusion::physical_plan::ExecutionPlan;
use rukh_catalog::ColumnId;
use rukh_planner::{Grouped, OrderKey, TermId};

use super::{Ask, ScanExec, external};
use rukh_error::SqlError;

impl ScanExec {
    /// Plans the scan again for an order and a limit, with no more partitions than it has: no operator
    /// above a single partition would merge two.
    pub(super) fn ordered_by(&self, order: &[OrderKey], limit: Option<usize>) -> Result<Self, SqlError> {
        let (context, conditions) = (self.context.clone(), self.conditions.clone());
        let ask = Ask {
            groups: self.groups.clone(),
            order,
            limit,
            partitions: self.partitions.len(),
            ..Ask::all(&context, self.output.clone())
        };
        Self::choose(context, conditions, self.conjuncts.clone(), ask)
    }

    /// Returns a scan that gives the first rows in this order and no more, if that is the cheapest way
    /// to them.
    pub(crate) fn first_in_order(
        &self,
        order: &[PhysicalSortExpr],
        fetch: usize,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let Some(order) = self.order_keys(order).filter(|_| self.fetch.is_none()) else {
            return Ok(None);
        };
        let scan = self.ordered_by(&order, Some(fetch)).map_err(external)?;
        Ok(scan
            .path
            .ordered
            .then(|| Arc::new(scan) as Arc<dyn ExecutionPlan>))
    }

    /// Returns the scan of the same keys in the other direction, if rows then come in this order.
    pub(crate) fn turned_round(
        &self,
        order: &[PhysicalSortExpr],
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let is_whole = self.fetch.is_none() && self.groups.is_none() && self.path.merge.is_none();
        let Some(order) = self.order_keys(order).filter(|_| is_whole) else {
            return Ok(None);
        };
        let ask = Ask {
            order: &order,
            source: Some(self.path.source),
            ..Ask::all(&self.context, self.output.clone())
        };
        let (context, conditions) = (self.context.clone(), self.conditions.clone());
        let scan = Self::choose(context, conditions, self.conjuncts.clone(), ask).map_err(external)?;
        let (own, turned) = (&self.path, &scan.path);
        let is_same = own.ranges == turned.ranges && own.kind == turned.kind && turned.merge.is_none();
        let serves = turned.ordered && turned.reverse != own.reverse && is_same;
        Ok(serves.then(|| Arc::new(scan) as Arc<dyn ExecutionPlan>))
    }

    /// Returns a scan that gives the rows that matter, one of each group, and few others, if that is
    /// cheaper than to give all.
    pub(crate) fn one_per_group(&self, groups: Grouped) -> DataFusionResult<Option<ScanExec>> {
        if self.fetch.is_some() || self.groups.is_some() {
            return Ok(None);
        }
        let ask = Ask {
            groups: Some(Arc::new(groups)),
            order: &self.order,
            ..Ask::all(&self.context, self.output.clone())
        };
        let (context, conditions) = (self.context.clone(), self.conditions.clone());
        let scan = Self::choose(context, conditions, self.conjuncts.clone(), ask).map_err(external)?;
        Ok(scan.path.loose.is_some().then_some(scan))
    }

    /// Returns the column given out at a position.
    pub(crate) fn output_column(&self, position: usize) -> Option<ColumnId> {
        self.columns[..self.output.len()].get(position).copied()
    }

    /// Returns an order over plain columns as the planner asks for it.
    pub(super) fn order_keys(&self, order: &[PhysicalSortExpr]) -> Option<Vec<OrderKey>> {
        let key = |sort: &PhysicalSortExpr| {
            let column = (sort.expr.as_ref() as &dyn Any).downcast_ref::<PhysicalColumn>()?;
            let term = TermId::column(*self.columns.get(column.index())?);
            Some(OrderKey {
                term,
                descending: sort.options.descending,
                nulls_first: sort.options.nulls_first,
            })
        };
        order.iter().map(key).collect()
    }
}
