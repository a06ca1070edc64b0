//! What goes on beside reading and writing: the lease is renewed, the newest time kept near the present, and what no snapshot shows is forgotten.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rukh_commit::Change;
use rukh_hbase::{CellKind, LATEST, Mutation, RowRequest, Scan};
use rukh_keys::KeyRange;
use rukh_kv::KvError;

use super::directory::DROPPED;
use super::keys::{ROWS, TableId, end_of, failed, full_key};
use super::owner::RENEWAL;
use super::shared::Shared;
use crate::cells::DATA;
use crate::{Error, Range, Transactions};

/// Rows that a table is looked at for an estimate.
const SAMPLE_ROWS: u64 = 10_000;

/// How old what is known of regions gets, about.
const REGIONS_KEPT: Duration = Duration::from_secs(10);

/// Rows of a dropped table that are removed together.
const TOGETHER: usize = 1000;

/// The thread that does it, until dropped.
pub(super) struct Upkeep {
    _stop: Sender<()>,
}

/// What a range has, or its beginning if it is large.
pub(super) struct Sample {
    pub(super) keys: u64,
    pub(super) bytes: u64,
}

impl Upkeep {
    pub(super) fn start(shared: &Arc<Shared>) -> Result<Upkeep, KvError> {
        let (stop, stopped) = channel();
        let shared = Arc::downgrade(shared);
        let thread = std::thread::Builder::new().name("rukh-lease".to_string());
        let started = thread.spawn(move || {
            let mut forgotten = Instant::now();
            while stopped.recv_timeout(RENEWAL) == Err(RecvTimeoutError::Timeout) {
                match Weak::upgrade(&shared) {
                    Some(shared) => shared.look_after(&mut forgotten),
                    None => break,
                }
            }
        });
        started.map_err(|source| KvError::Io {
            operation: "start a thread".to_string(),
            source,
        })?;
        Ok(Upkeep { _stop: stop })
    }
}

impl Shared {
    /// Does what is due. What fails is done the next time; readers and writers see for themselves that the lease is old.
    fn look_after(&self, forgotten: &mut Instant) {
        if self.renew(None).is_err() {
            return;
        }
        // A writer does the same.
        if let Some(mut writer) = self.writer.try_lock() {
            let _ = self.refresh(&mut writer);
        }
        let looked_up = self.region_starts.lock().as_ref().map(|(at, _)| *at);
        if looked_up.is_some_and(|at| at.elapsed() > REGIONS_KEPT) {
            let _ = self.look_up_regions();
        }
        if forgotten.elapsed() > self.transactions.settings().records {
            *forgotten = Instant::now();
            let transactions = self.transactions.clone();
            self.runtime
                .spawn(async move { while matches!(transactions.forget(ROWS).await, Ok(1..)) {} });
            let _ = self.forget_dropped();
        }
    }

    /// Forgets what no snapshot shows, and has the servers rewrite what is left.
    pub(super) fn compact(&self) -> Result<(), KvError> {
        self.check_open()?;
        self.forget_dropped()?;
        let transactions = self.transactions.clone();
        let compacted = self.runtime.wait(async move {
            while transactions.forget(ROWS).await? > 0 {}
            let client = transactions.client();
            client.flush(ROWS).await?;
            client.compact(ROWS, true).await?;
            client.wait_until_compacted(ROWS).await.map_err(Error::from)
        });
        compacted.map_err(|error| failed("compact", error))
    }

    /// Removes the rows of tables that were dropped before the time of the oldest snapshot.
    fn forget_dropped(&self) -> Result<(), KvError> {
        for (id, dropped) in self.read_own(DROPPED)? {
            let (Ok(id), Ok(dropped)) = (id[..].try_into(), dropped[..].try_into()) else {
                continue;
            };
            let id = TableId::from_be_bytes(id);
            if u64::from_be_bytes(dropped) >= self.transactions.horizon() {
                continue;
            }
            let transactions = self.transactions.clone();
            let removed = self
                .runtime
                .wait(async move { remove_rows(&transactions, id).await });
            removed.map_err(|error| failed("remove the rows of a dropped table", error))?;
            let entry = self.row(full_key(DROPPED, &id.to_be_bytes()));
            let mut writer = self.writer.lock();
            self.commit(&mut writer, None, |_, _| {
                Ok([(entry.clone(), Change::Delete)].into())
            })?;
        }
        Ok(())
    }

    /// Returns the beginnings of regions within a range, thinned out to what is needed.
    pub(super) fn split_points(
        &self,
        table: TableId,
        range: &KeyRange,
        parts: usize,
    ) -> Result<Vec<Vec<u8>>, KvError> {
        let starts = self.region_starts()?;
        let starts = starts
            .iter()
            .filter_map(|start| start.strip_prefix(&table.to_be_bytes()[..]));
        let inside: Vec<&[u8]> = starts
            .filter(|start| *start > range.start.as_slice() && range.contains(start))
            .collect();
        let wanted = parts.saturating_sub(1).min(inside.len());
        let nth = |part: usize| inside[part * inside.len() / wanted].to_vec();
        Ok((0..wanted).map(nth).collect())
    }

    /// Returns where regions begin, as it was some seconds ago: it decides how a scan is cut, not what it gives.
    fn region_starts(&self) -> Result<Arc<[Bytes]>, KvError> {
        let known = self.region_starts.lock().clone();
        match known {
            Some((_, starts)) => Ok(starts),
            None => self.look_up_regions(),
        }
    }

    fn look_up_regions(&self) -> Result<Arc<[Bytes]>, KvError> {
        self.check_open()?;
        let client = self.transactions.client().clone();
        let regions = self.runtime.wait(async move { client.regions(ROWS).await });
        let regions = regions.map_err(|error| failed("look up regions", error.into()))?;
        let starts: Arc<[Bytes]> = regions.into_iter().map(|region| region.start).collect();
        *self.region_starts.lock() = Some((Instant::now(), Arc::clone(&starts)));
        Ok(starts)
    }

    /// Counts the keys of a table up to what a sample has, and keeps the number.
    pub(super) fn count_keys(&self, table: TableId) -> Result<u64, KvError> {
        let keys = self.sample(table, &KeyRange::all())?.keys;
        self.sizes.counted(table, keys);
        Ok(keys)
    }

    /// Looks at the beginning of a range.
    pub(super) fn sample(&self, table: TableId, range: &KeyRange) -> Result<Sample, KvError> {
        self.check_open()?;
        let limit = range.limit.as_ref();
        let limit = limit.map_or_else(|| end_of(table), |limit| full_key(table, limit));
        let range = Range::forward(full_key(table, &range.start), limit);
        let newest = self.state.read().newest;
        let mut rows = self.transactions.range(&self.rows, range, newest);
        let sampled = self.runtime.wait(async move {
            let mut sample = Sample { keys: 0, bytes: 0 };
            while sample.keys < SAMPLE_ROWS
                && let Some((key, value)) = rows.next().await?
            {
                sample.keys += 1;
                sample.bytes += (key.len() + value.len()) as u64;
            }
            Ok(sample)
        });
        sampled.map_err(|error| failed("read", error))
    }
}

/// Removes the values of all rows of a table. Outcomes of transactions stay: rows of other tables may have locks that ask for them.
async fn remove_rows(transactions: &Transactions, table: TableId) -> Result<(), Error> {
    let client = transactions.client();
    let scan = Scan::range(full_key(table, b""), end_of(table)).family(DATA);
    let mut scanner = client.scan(ROWS, scan);
    let mut batch = Vec::new();
    loop {
        let row = scanner.next().await?;
        let is_last = row.is_none();
        batch.extend(row.map(|row| {
            let all =
                Mutation::delete(row.key()).cell(CellKind::DeleteFamily, DATA, Bytes::new(), LATEST, "");
            RowRequest::mutate(ROWS, all)
        }));
        if is_last || batch.len() >= TOGETHER {
            for outcome in client.batch(std::mem::take(&mut batch)).await {
                outcome?;
            }
        }
        if is_last {
            return Ok(());
        }
    }
}
