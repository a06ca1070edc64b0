//! The rows that a scan has to be among, which another index gives before the scan begins.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use super::{Ask, ScanExec};
use crate::exec::within::RowNames;
use rukh_error::SqlError;

/// What was found out of the rows that a scan has to be among.
#[derive(Clone)]
pub(super) enum Among {
    /// Their names.
    Names(Arc<RowNames>),
    /// They are too many to be kept: the scan as it is without them.
    TooMany(Arc<ScanExec>),
}

impl ScanExec {
    /// Reads the rows that the scan has to be among, once for all partitions; `None` if it may be any.
    pub(super) fn among(&self) -> Result<Option<Among>, SqlError> {
        let Some(within) = &self.path.within else {
            return Ok(None);
        };
        let mut among = self.among.lock();
        if let Some(known) = &*among {
            return Ok(Some(known.clone()));
        }
        let began = Instant::now();
        let (conditions, context) = (&self.conditions, &self.context);
        let (names, counters) = conditions.names_within(within, &conditions.predicates, context)?;
        context.totals.add(&counters);
        self.counters.add(&counters);
        let worked = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.busy_ns.fetch_add(worked, Ordering::Relaxed);
        let found = match names {
            Some(names) => Among::Names(names),
            None => Among::TooMany(Arc::new(self.alone()?)),
        };
        *among = Some(found.clone());
        Ok(Some(found))
    }

    /// Returns the scan by one index, in the same order; counts go to this scan.
    fn alone(&self) -> Result<Self, SqlError> {
        let ask = Ask {
            order: &self.order,
            limit: self.limit,
            source: Some(self.path.source),
            partitions: self.partitions.len(),
            ..Ask::all(&self.context, self.output.clone())
        };
        let (context, conditions) = (self.context.clone(), self.conditions.clone());
        let scan = Self::choose(context, conditions, self.conjuncts.clone(), ask)?;
        Ok(ScanExec {
            fetch: self.fetch,
            counters: self.counters.clone(),
            busy_ns: self.busy_ns.clone(),
            ..scan
        })
    }
}
