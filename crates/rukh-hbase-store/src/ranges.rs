//! The rows of a range at a snapshot.

use bytes::Bytes;
use rukh_commit::{Time, must_resolve};
use rukh_hbase::{Filter, LATEST, Scan, Scanner};

use crate::Error;

use crate::cells::{CONTROL, DATA, LOCKS_FROM, Row, value_and_lock};
use crate::transactions::Transactions;

/// Which rows of a table are read, and in which order: those from `start` on and below `limit`; an empty key is the beginning or the end of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The least key.
    pub start: Bytes,
    /// The key behind the greatest.
    pub limit: Bytes,
    /// Whether the greatest key comes first.
    pub is_backward: bool,
    /// Only rows of these parts of it, from the first key of each on and below the second; all rows if there are none. For ranges forward.
    pub parts: Vec<(Bytes, Bytes)>,
    /// Rows that are read together at first; twice as many each time after.
    pub first_rows: u32,
}

impl Range {
    /// Reads rows forward.
    pub fn forward(start: impl Into<Bytes>, limit: impl Into<Bytes>) -> Range {
        Range {
            start: start.into(),
            limit: limit.into(),
            is_backward: false,
            parts: Vec::new(),
            first_rows: u32::MAX,
        }
    }

    /// Reads the same rows backward.
    pub fn backward(start: impl Into<Bytes>, limit: impl Into<Bytes>) -> Range {
        Range {
            is_backward: true,
            ..Range::forward(start, limit)
        }
    }
}

/// The rows of a range, one after the other. The range is read once; locks of transactions that may have committed before the snapshot are resolved as they
/// come.
pub struct Rows {
    transactions: Transactions,
    table: String,
    snapshot: Time,
    scanner: Scanner,
}

impl Transactions {
    /// Reads the rows of a range at a snapshot.
    pub fn range(&self, table: &str, range: Range, snapshot: Time) -> Rows {
        let mut scan = match range.is_backward {
            false => Scan::range(range.start, range.limit),
            true => Scan::range_backward(range.start, range.limit),
        };
        if !range.parts.is_empty() {
            scan = scan.filter(Filter::ranges(range.parts));
        }
        let scan = scan
            .first_rows(range.first_rows)
            .family(DATA)
            .family(CONTROL)
            .family_times(DATA, 0, snapshot + 1)
            .family_times(CONTROL, LOCKS_FROM, LATEST);
        Rows {
            transactions: self.clone(),
            table: table.to_string(),
            snapshot,
            scanner: self.client().scan(table, scan),
        }
    }
}

impl Rows {
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

    /// Returns the next rows, as many as come with one call, or a few calls where those have none; none after the last.
    ///
    /// # Errors
    ///
    /// Those of [`Rows::next`].
    pub async fn next_chunk(&mut self) -> Result<Vec<(Bytes, Bytes)>, Error> {
        let mut chunk = Vec::new();
        while let Some(row) = self.next().await? {
            chunk.push(row);
            if self.scanner.ready() == 0 {
                break;
            }
        }
        Ok(chunk)
    }
}
