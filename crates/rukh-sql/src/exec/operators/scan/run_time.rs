//! What operators above a scan find out while they run, and what it makes of that.
//!
//! A hash join knows all keys of one side before it asks for the first row of the other. The scan of
//! that other side is replanned when its first batch is requested: with the keys, or what lies between the least and the
//! greatest of them, as if that stood in the statement. It takes the new path where that costs less. The
//! rows are not checked for it; the join does that. What comes closer only while rows go up is watched (`watch`).

use std::sync::Arc;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use parking_lot::Mutex;
use rukh_catalog::{ColumnId, IndexState, KeyElement, KeyExpr};
use rukh_planner::{AccessPath, Predicate, Source};

use super::watch::{Narrower, Watch};
use super::{Ask, ScanExec};
use crate::exec::access::Wanted;
use crate::exec::operators::runtime_filter::RuntimeFilter;
use rukh_error::SqlError;

/// What operators above find out while they run.
#[derive(Clone, Default)]
pub(super) struct RunTime {
    filters: Vec<Arc<RuntimeFilter>>,
    /// Whether no operator relies on the order of the rows.
    order_free: bool,
    /// The scan as it was narrowed, `Some(None)` if it was not; shared by all partitions.
    narrowed: Arc<Mutex<Option<Option<Arc<ScanExec>>>>>,
}

impl RunTime {
    /// Whether operators above find out anything.
    pub(super) fn is_empty(&self) -> bool {
        self.filters.is_empty()
    }

    /// Shows the expressions that operators above fill in.
    pub(super) fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        for filter in &self.filters {
            if f(&filter.expr())? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
}

impl ScanExec {
    /// Returns the scan, on whose order no operator relies.
    pub(crate) fn free_of_order(&self) -> ScanExec {
        let mut scan = self.clone();
        scan.run_time.order_free = true;
        scan
    }

    /// Returns the scan with something to be found out while it runs; `None` if that would not narrow it.
    pub(crate) fn with_filter(&self, filter: RuntimeFilter) -> Option<ScanExec> {
        let is_whole = self.fetch.is_none() && self.groups.is_none();
        let columns = filter.columns_of(self.outputs());
        let is_of_use = match filter.moves() {
            // Rows are passed over, and perhaps keys.
            true => self.path.columnar.is_none() && self.first.is_empty() && !columns.is_empty(),
            false => self.path.merge.is_none() && self.can_narrow(&columns),
        };
        if !is_whole || self.is_volatile() || !is_of_use {
            return None;
        }
        let mut scan = self.clone();
        scan.run_time.filters.push(Arc::new(filter));
        scan.run_time.narrowed = Arc::default();
        Some(scan)
    }

    /// Returns the SQL of what is found out while the scan runs: `customer by the join`.
    pub(crate) fn run_time_texts(&self) -> Vec<String> {
        let text = |filter: &Arc<RuntimeFilter>| {
            let columns = filter.columns_of(self.outputs());
            let names: Vec<&str> = columns.iter().map(|id| self.table().column_name(*id)).collect();
            format!("{} by {}", names.join(", "), filter.by())
        };
        self.run_time.filters.iter().map(text).collect()
    }

    /// Returns the scan as it was narrowed when it ran, if it was.
    pub(crate) fn narrowed_when_run(&self) -> Option<Arc<ScanExec>> {
        self.run_time.narrowed.lock().clone().flatten()
    }

    /// Whether knowing of these columns can make the scan read less: the key has one of them, or, if any
    /// path will do, some key begins with one.
    fn can_narrow(&self, columns: &[ColumnId]) -> bool {
        let table = self.table();
        let is_one = |element: &KeyElement| is_one_of(element, columns);
        let own = match self.path.source {
            // Tests on any column rule blocks out.
            Source::Table => table.is_columnar() || table.primary_key.iter().any(is_one),
            Source::Index(id) => table.index(id).is_some_and(|index| {
                index.is_columnar() && columns.iter().any(|column| index.covers(table, *column))
                    || index.key_elements(table).iter().any(is_one)
            }),
        };
        let indexes = table.indexes.iter().filter(|i| i.state == IndexState::Ready);
        let first = |elements: &[KeyElement]| elements.first().is_some_and(is_one);
        let any = first(&table.primary_key) || indexes.into_iter().any(|i| first(&i.elements));
        own || (self.run_time.order_free && any)
    }

    /// Whether the key that the scan walks over has one of these columns.
    fn key_has(&self, columns: &[ColumnId]) -> bool {
        let table = self.table();
        let is_one = |element: &KeyElement| is_one_of(element, columns);
        match self.path.source {
            Source::Table => table.primary_key.iter().any(is_one),
            Source::Index(id) => table
                .index(id)
                .is_some_and(|index| index.key_elements(table).iter().any(is_one)),
        }
    }

    /// Returns what comes closer while the scan runs, to be looked at by a scan that reads for it.
    pub(super) fn watch(&self, reading: &ScanExec) -> Option<Watch> {
        let moving = self.run_time.filters.iter().filter(|filter| filter.moves());
        let moving: Vec<Arc<RuntimeFilter>> = moving.cloned().collect();
        let is_of_key = |filter: &Arc<RuntimeFilter>| reading.key_has(&filter.columns_of(reading.outputs()));
        // A scan that has to be among other rows may come to be read without them.
        let narrows = reading.path.within.is_none() && moving.iter().any(is_of_key);
        let narrower = narrows.then(|| -> Narrower {
            let reading = reading.clone();
            Box::new(move |known| reading.narrower_path(known))
        });
        let (table, columns) = (reading.table().clone(), reading.columns.clone());
        Watch::new(table, columns, reading.output.len(), &moving, narrower)
    }

    /// Replans the scan with the conditions known by now, once for all partitions; `None` if that
    /// gives no cheaper path.
    pub(super) fn narrowed_at_run_time(&self) -> Result<Option<Arc<ScanExec>>, SqlError> {
        if self.run_time.filters.iter().all(|filter| filter.moves()) {
            return Ok(None);
        }
        let mut narrowed = self.run_time.narrowed.lock();
        if let Some(known) = &*narrowed {
            return Ok(known.clone());
        }
        let scan = self.narrowed_by_filters()?.map(Arc::new);
        *narrowed = Some(scan.clone());
        Ok(scan)
    }

    /// Plans the scan for further conditions; `None` if that walks over keys in another way, or does not see to conditions that the scan's
    /// own path does.
    fn narrower_path(&self, known: Vec<Predicate>) -> Option<AccessPath> {
        let own = &self.path;
        let conditions = self.conditions.narrowed(known);
        let wanted = Wanted {
            predicates: &conditions.predicates,
            limit: None,
            ..self.wanted()
        };
        let path = conditions.plan_on(own.source, &wanted, &self.context)?;
        let is_checked = |at: &usize| {
            let checked = own.residual.contains(at) || own.residual_index.contains(at);
            checked || *at >= self.conditions.predicates.len()
        };
        let mut left = path.residual.iter().chain(&path.residual_index);
        (same_order(own, &path) && left.all(is_checked)).then_some(path)
    }

    fn narrowed_by_filters(&self) -> Result<Option<ScanExec>, SqlError> {
        let mut found = Vec::new();
        for filter in self.run_time.filters.iter().filter(|filter| !filter.moves()) {
            found.push(filter.predicate(self.outputs())?);
        }
        found.retain(|predicate| *predicate != Predicate::True);
        if found.is_empty() {
            return Ok(None);
        }
        let order_free = self.run_time.order_free;
        let ask = Ask {
            order: if order_free { &[] } else { &self.order },
            source: (!order_free).then_some(self.path.source),
            partitions: self.partitions.len(),
            ..Ask::all(&self.context, self.output.clone())
        };
        let scan = self.narrowed_to(found, ask)?;
        let is_cheaper = scan.path.estimate.cost < self.path.estimate.cost;
        let keeps_order = order_free || same_order(&self.path, &scan.path);
        Ok((is_cheaper && keeps_order).then_some(scan))
    }
}

fn is_one_of(element: &KeyElement, columns: &[ColumnId]) -> bool {
    match &element.expr {
        KeyExpr::Column(id) | KeyExpr::Hash { column: id, .. } => columns.contains(id),
        KeyExpr::Expression { .. } => false,
    }
}

/// Whether two paths over one source walk its keys in the same way.
fn same_order(one: &AccessPath, other: &AccessPath) -> bool {
    let is_plain = |path: &AccessPath| path.merge.is_none() && path.loose.is_none();
    one.source == other.source && one.reverse == other.reverse && is_plain(one) && is_plain(other)
}
