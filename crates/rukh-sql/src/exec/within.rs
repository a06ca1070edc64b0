//! Rows that two indexes have in common: the names of those that one gives, for the scan of the other.
//!
//! The planner says which index is read first, and what that proves ([`Within`]). Its entries are read
//! here, and the primary keys in them kept. There may turn out to be more than statistics say: past
//! [`NAMES_MAX`], or [`NAMES_BYTES_MAX`], nothing is kept, and the statement is read by one index.

use std::collections::HashSet;
use std::sync::Arc;

use rukh_catalog::ColumnId;
use rukh_engine::ScanCounters;
use rukh_keys::Datum;
use rukh_planner::{Predicate, Within};

use crate::exec::access::{Conditions, Read};
use crate::exec::context::StatementContext;
use rukh_error::SqlError;

/// Most names that are kept, and their bytes, about.
const NAMES_MAX: usize = 1 << 18;
const NAMES_BYTES_MAX: usize = 64 << 20;

/// Entries read at a time.
const CHUNK_ROWS: usize = 4096;

/// The names of some rows: their values of the columns that a primary key is made of.
#[derive(Debug)]
pub(crate) struct RowNames {
    pub(crate) columns: Vec<ColumnId>,
    names: HashSet<Vec<Datum>>,
}

impl RowNames {
    /// Returns whether one of the rows has this name.
    pub(crate) fn contains(&self, name: &[Datum]) -> bool {
        self.names.contains(name)
    }
}

impl Conditions {
    /// Reads the names of the rows that a scan is to be among; `None` if they are too many. `bound` are the
    /// conditions with parameters filled in.
    pub(crate) fn names_within(
        &self,
        within: &Within,
        bound: &[Predicate],
        context: &StatementContext,
    ) -> Result<(Option<Arc<RowNames>>, ScanCounters), SqlError> {
        let path = &within.path;
        let entry = path.residual.iter().map(|at| bound[*at].clone()).collect();
        let read = Read {
            ranges: path.ranges.clone(),
            columns: within.columns.clone(),
            limit: None,
            entry,
            entry_positions: &path.residual,
            within: None,
            cancel: &context.cancel,
        };
        let mut cursor = context.snapshot.scan(self.request(path, read))?;
        let mut names = HashSet::new();
        let mut bytes = 0;
        loop {
            context.cancel.check()?;
            let shown = cursor.next_rows(CHUNK_ROWS, &mut |view| {
                let mut name = Vec::with_capacity(within.columns.len());
                for at in 0..within.columns.len() {
                    let datum = view.datum(at)?.into_owned();
                    bytes += size_of::<Datum>() + datum_bytes(&datum);
                    name.push(datum);
                }
                names.insert(name);
                Ok(())
            })?;
            let is_full = names.len() > NAMES_MAX || bytes > NAMES_BYTES_MAX;
            if shown == 0 || is_full {
                let columns = within.columns.clone();
                let names = (!is_full).then(|| Arc::new(RowNames { columns, names }));
                return Ok((names, cursor.counters()));
            }
        }
    }
}

/// Bytes of a datum that lie elsewhere.
fn datum_bytes(datum: &Datum) -> usize {
    match datum {
        Datum::Text(text) => text.len(),
        Datum::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}
