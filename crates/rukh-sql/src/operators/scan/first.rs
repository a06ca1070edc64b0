//! Columnar scans below what needs the first rows of an order only: blocks that have none of them are not read.

use rukh_engine::{FirstRows, NullsWanted};

use super::ScanExec;

/// Rows above which a scan does not keep track of the first ones.
const ROWS_MAX: usize = 10_000;

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
        (serves && counts).then(|| ScanExec {
            first: first.into(),
            ..self.clone()
        })
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
