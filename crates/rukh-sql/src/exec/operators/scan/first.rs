//! Columnar scans below what needs the first rows of an order only: blocks that have none of them are not read.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use rukh_engine::{FirstRows, NullsWanted};
use rukh_planner::{AccessPath, OrderKey, TermId};

use super::{ScanExec, properties};

/// Rows above which a scan does not keep track of the first ones.
const ROWS_MAX: usize = 10_000;

/// Whether what is ordered by this has the rows wanted first.
fn is_by(key: &OrderKey, first: &FirstRows) -> bool {
    let nulls_first = match first.nulls {
        NullsWanted::First => true,
        NullsWanted::Last => false,
        NullsWanted::Never => key.nulls_first,
    };
    let (descending, nulls) = (first.descending, nulls_first);
    key.term == TermId::column(first.column) && (key.descending, key.nulls_first) == (descending, nulls)
}

impl ScanExec {
    /// Returns the scan without rows that do not matter, as far as it knows them; `None` if it would give all.
    ///
    /// Rows that conditions are still to be checked on say nothing of which rows matter.
    pub(crate) fn with_first(&self, first: Vec<FirstRows>) -> Option<ScanExec> {
        let counts = first.iter().all(|first| (1..=ROWS_MAX).contains(&first.count));
        let serves = self.path.columnar.is_some()
            && self.residual.is_none()
            && self.fetch.is_none()
            && self.groups.is_none()
            && !first.is_empty();
        if !serves || !counts {
            return None;
        }
        let has_order = match first.as_slice() {
            [first] => self.path.order.first().is_some_and(|key| is_by(key, first)),
            _ => false,
        };
        let scan = ScanExec {
            first: first.into(),
            ..self.clone()
        };
        Some(match has_order {
            true => scan,
            false => scan.in_any_order(),
        })
    }

    /// Returns the scan without an order, so that it may begin at the end that has the rows wanted.
    fn in_any_order(self) -> ScanExec {
        let path = AccessPath {
            order: Vec::new(),
            ordered: false,
            ..self.path.as_ref().clone()
        };
        let given = &self.columns[..self.output.len()];
        let properties = properties(&path, &[], given, self.schema(), self.partitions.len());
        ScanExec {
            properties: Arc::new(properties),
            path: Arc::new(path),
            order: Arc::default(),
            ..self
        }
    }

    /// Returns which rows matter, if not all do: `first 10 by bytes DESC`, `least code`.
    pub(crate) fn first_texts(&self) -> Vec<String> {
        let text = |first: &FirstRows| {
            let column = self.table().column_name(first.column);
            match (first.nulls, first.descending) {
                (NullsWanted::Never, false) => format!("least {column}"),
                (NullsWanted::Never, true) => format!("greatest {column}"),
                (_, false) => format!("first {} by {column}", first.count),
                (_, true) => format!("first {} by {column} DESC", first.count),
            }
        };
        self.first.iter().map(text).collect()
    }
}
