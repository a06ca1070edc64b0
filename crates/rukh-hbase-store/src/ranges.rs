//! The rows of a range at a snapshot.

use bytes::Bytes;
use rukh_commit::{Time, must_resolve};
use rukh_hbase::{LATEST, Scan, Scanner};

use crate::Error;

use crate::cells::{CONTROL, DATA, LOCKS_FROM, Row, value_and_lock};
use crate::transactions::Transactions;

/// Which rows of a table are read, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Range {
    /// From a key on and below another, ascending; an empty key is the beginning or the end of the table.
    Forward {
        /// The first key.
        start: Bytes,
        /// The key behind the last.
        limit: Bytes,
    },
    /// All rows of the table, descending.
    AllBackward,
}

/// The rows of a range, one after the other. The range is read once; locks of transactions that may have committed before the snapshot are resolved as they
/// come.
pub struct Rows<'t> {
    transactions: &'t Transactions,
    table: String,
    snapshot: Time,
    scanner: Scanner,
}

impl Transactions {
    /// Reads the rows of a range at a snapshot.
    pub fn range(&self, table: &str, range: Range, snapshot: Time) -> Rows<'_> {
        let scan = match range {
            Range::Forward { start, limit } => Scan::range(start, limit),
            Range::AllBackward => Scan::backward("", ""),
        };
        let scan = scan
            .family(DATA)
            .family(CONTROL)
            .family_times(DATA, 0, snapshot + 1)
            .family_times(CONTROL, LOCKS_FROM, LATEST);
        Rows {
            transactions: self,
            table: table.to_string(),
            snapshot,
            scanner: self.client().scan(table, scan),
        }
    }
}

impl Rows<'_> {
    /// Returns the next row with its value; `None` after the last.
    ///
    /// # Errors
    ///
    /// Those of [`Transactions::read`]. The range cannot be read on then.
    pub async fn next(&mut self) -> Result<Option<(Bytes, Bytes)>, Error> {
        while let Some(found) = self.scanner.next().await? {
            self.transactions.check_age(self.snapshot)?;
            let row = Row::new(&self.table, found.key());
            let (value, lock) = value_and_lock(&row, &found)?;
            let value = match lock {
                Some(lock) if must_resolve(&lock, self.snapshot) => {
                    let key = std::slice::from_ref(&row);
                    self.transactions.read(key, self.snapshot).await?.remove(0)
                }
                _ => value,
            };
            // A row may have nothing but the lock of a transaction that comes later.
            if let Some(value) = value {
                return Ok(Some((row.key, value)));
            }
        }
        Ok(None)
    }
}
