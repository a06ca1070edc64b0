//! Old values that no snapshot shows any more.
//!
//! HBase's own lifetimes of cells do not serve: a value that was written an hour ago and replaced a second ago is older than any lifetime, and the snapshot of two
//! seconds ago shows it. So HBase removes none of the values; this removes, of each row, what is older than the newest value at the horizon.

use rukh_commit::Time;
use rukh_hbase::{CellKind, Mutation, RowRequest, Scan};

use crate::Error;
use crate::cells::{DATA, VALUE, is_marker};
use crate::transactions::Transactions;

/// Values of a row that one call looks at; older ones are for the next.
const VERSIONS_MAX: u32 = 10_000;

/// Cells that are removed in one batch.
const TOGETHER: usize = 1000;

impl Transactions {
    /// Removes values of a table that no snapshot shows which may still be read, and returns how many: called again until it returns 0, all of them. HBase's next major compaction frees
    /// their space.
    pub async fn forget(&self, table: &str) -> Result<u64, Error> {
        let horizon = self.horizon();
        let scan = Scan::all()
            .family(DATA)
            .times(0, horizon + 1)
            .versions(VERSIONS_MAX);
        let mut scanner = self.client().scan(table, scan);
        let (mut batch, mut forgotten) = (Vec::new(), 0);
        while let Some(row) = scanner.next().await? {
            // The newest first. A marker goes when it hides nothing: changes of one batch are made in any order.
            let gone = match row.cells.as_slice() {
                [only] if is_marker(&only.value) => std::slice::from_ref(only),
                [_, older @ ..] => older,
                [] => &[],
            };
            for cell in gone {
                let delete = Mutation::delete(row.key());
                let delete = delete.cell(CellKind::Delete, DATA, VALUE, cell.timestamp, "");
                batch.push(RowRequest::mutate(table, delete));
            }
            if batch.len() >= TOGETHER {
                forgotten += self.remove(std::mem::take(&mut batch)).await?;
            }
        }
        Ok(forgotten + self.remove(batch).await?)
    }

    async fn remove(&self, batch: Vec<RowRequest>) -> Result<u64, Error> {
        let count = batch.len() as u64;
        for outcome in self.client().batch(batch).await {
            outcome?;
        }
        Ok(count)
    }

    /// The oldest time of which a snapshot may be read.
    pub(crate) fn horizon(&self) -> Time {
        self.now()
            .saturating_sub(self.settings().records.as_millis() as u64)
    }
}
