//! Scans: rows of a range of keys in order, forward or backward, over all regions that hold them.
//!
//! A scanner asks one region after another, each with calls of `OpenScanner` and `next` kind, and holds the rows of one
//! answer at most. A server may cut a row in parts, and answer without rows while it looks (a heartbeat). What passes,
//! a region that splits, moves or whose scanner has expired, is passed over: the scan goes on behind the last row that was
//! given. So every row comes once, whole, as of one region's state when it was read; a time range makes that a snapshot.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::cell::{Row, decode};
use crate::client::{Client, Region, message_of, specifier};
use crate::connection::{Answer, Line, protocol};
use crate::error::{Cure, Error};
use crate::filter::Filter;
use crate::operation::times;
use crate::proto::common::ColumnFamilyTimeRange;
use crate::proto::data::{self, ScanRequest, ScanResponse};

/// Bytes of cells that a server puts into an answer, unless a scan says otherwise.
const BATCH_BYTES: u64 = 2 << 20;

/// Rows that a server puts into an answer at most.
const BATCH_ROWS: u32 = 10_000;

/// What to read of a range of rows.
#[derive(Clone, Debug)]
pub struct Scan {
    start: Bytes,
    includes_start: bool,
    stop: Bytes,
    includes_stop: bool,
    limit: Option<u64>,
    /// Rows that the next answer may have.
    rows: u32,
    filter: Option<Filter>,
    is_measured: bool,
    shape: data::Scan,
}

impl Scan {
    /// Reads the rows from `start` on and below `stop`; an empty `stop` is the end of the table.
    pub fn range(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Scan {
        Scan {
            start: start.into(),
            includes_start: true,
            stop: stop.into(),
            includes_stop: false,
            limit: None,
            rows: BATCH_ROWS,
            filter: None,
            is_measured: false,
            shape: data::Scan {
                max_result_size: Some(BATCH_BYTES),
                cache_blocks: Some(true),
                ..data::Scan::default()
            },
        }
    }

    /// Reads all rows.
    pub fn all() -> Scan {
        Scan::range(Bytes::new(), Bytes::new())
    }

    /// Reads backward: from `start`, or the end of the table if that is empty, down to what is above `stop`. Neither
    /// `start` is left out nor `stop` read.
    pub fn backward(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Scan {
        let mut scan = Scan::range(start, stop);
        scan.shape.reversed = Some(true);
        scan
    }

    /// Reads what [`Scan::range`] reads, backward: an empty `stop` begins at the end of the table.
    pub fn range_backward(start: impl Into<Bytes>, stop: impl Into<Bytes>) -> Scan {
        Scan {
            includes_start: false,
            includes_stop: true,
            ..Scan::backward(stop, start)
        }
    }

    /// Reads this family too, where until now all were read.
    pub fn family(mut self, family: impl Into<Bytes>) -> Scan {
        self.shape.column.push(data::Column {
            family: family.into(),
            qualifier: Vec::new(),
        });
        self
    }

    /// Reads only cells with timestamps from `from` on and below `to`.
    pub fn times(mut self, from: u64, to: u64) -> Scan {
        self.shape.time_range = Some(times(from, to));
        self
    }

    /// The same for the cells of one family, whatever [`Scan::times`] says.
    pub fn family_times(mut self, family: impl Into<Bytes>, from: u64, to: u64) -> Scan {
        self.shape.cf_time_range.push(ColumnFamilyTimeRange {
            column_family: family.into(),
            time_range: times(from, to),
        });
        self
    }

    /// Reads so many versions of each column at most; one unless this is said.
    pub fn versions(mut self, versions: u32) -> Scan {
        self.shape.max_versions = Some(versions);
        self
    }

    /// Reads only what a filter lets pass. Rows that have nothing left do not come.
    pub fn filter(mut self, filter: Filter) -> Scan {
        self.shape.filter = Some(filter.message.clone());
        self.filter = Some(filter);
        self
    }

    /// Ends after so many rows.
    pub fn limit(mut self, rows: u64) -> Scan {
        self.limit = Some(rows);
        self
    }

    /// Has servers count what they do for it, see [`Scanner::metrics`].
    pub fn measured(mut self) -> Scan {
        self.is_measured = true;
        self
    }

    /// Lets servers answer with about so many bytes at once, instead of 2 MiB.
    pub fn batch_bytes(mut self, bytes: u64) -> Scan {
        self.shape.max_result_size = Some(bytes.max(1));
        self
    }

    /// Lets servers answer with so many rows at first, and with twice as many in each answer that follows: for scans that may be left soon.
    pub fn first_rows(mut self, rows: u32) -> Scan {
        self.rows = rows.clamp(1, BATCH_ROWS);
        self
    }

    fn is_backward(&self) -> bool {
        self.shape.reversed == Some(true)
    }
}

/// A scan that has begun. It holds a scanner of one region, which is closed when it is dropped.
pub struct Scanner {
    client: Client,
    table: String,
    scan: Scan,
    open: Option<Open>,
    /// The part of a row that has come so far.
    part: Row,
    ready: VecDeque<Row>,
    is_done: bool,
    calls: u64,
    metrics: BTreeMap<String, i64>,
}

/// A scanner of a region.
struct Open {
    line: Line,
    server: String,
    region: Region,
    start: Bytes,
    id: u64,
    next: u64,
}

impl Scanner {
    pub(crate) fn new(client: Client, table: &str, scan: Scan) -> Scanner {
        Scanner {
            client,
            table: table.to_string(),
            is_done: scan.limit == Some(0),
            scan,
            open: None,
            part: Row::default(),
            ready: VecDeque::new(),
            calls: 0,
            metrics: BTreeMap::new(),
        }
    }

    /// Returns the next row; `None` after the last.
    ///
    /// # Errors
    ///
    /// What does not pass within the client's time for an operation. The scan cannot go on then.
    pub async fn next(&mut self) -> Result<Option<Row>, Error> {
        if self.scan.is_backward() && self.scan.filter.as_ref().is_some_and(|filter| filter.is_forward) {
            return Err(Error::Unsupported {
                what: "a filter by which servers seek, in a scan backward,".to_string(),
            });
        }
        let begun = Instant::now();
        let mut pause = Duration::from_millis(20);
        while self.ready.is_empty() && !self.is_done {
            let error = match self.advance(begun).await {
                Ok(()) => continue,
                Err(error) => error,
            };
            let limit = self.client.operation_limit();
            if error.cure() == Cure::None || begun.elapsed() + pause >= limit {
                self.is_done = true;
                return Err(match error.cure() {
                    Cure::None => error,
                    _ => Error::Deadline {
                        operation: format!("a scan of table \"{}\"", self.table),
                        limit_ms: limit.as_millis() as u64,
                        last: Box::new(error),
                    },
                });
            }
            self.forget(&error);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
        Ok(self.ready.pop_front())
    }

    /// Returns what servers have counted so far for a scan that is [measured](Scan::measured), by HBase's names, such as `ROWS_SCANNED` and `ROWS_FILTERED`.
    pub fn metrics(&self) -> &BTreeMap<String, i64> {
        &self.metrics
    }

    /// Returns how many calls the scan has made so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Returns how many rows are here, so that they come without a call.
    pub fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Gives up the scanner, and what is known of its region.
    fn forget(&mut self, error: &Error) {
        self.part = Row::default();
        if let Some(open) = self.open.take()
            && matches!(error.cure(), Cure::Relocate | Cure::Repeat)
        {
            self.client.forget_region(&self.table, &open.start);
        }
    }

    /// Makes one call.
    async fn advance(&mut self, begun: Instant) -> Result<(), Error> {
        let limit = self.client.call_limit(begun);
        self.calls += 1;
        let Some(open) = &mut self.open else {
            return self.open_region(limit).await;
        };
        let request = ScanRequest {
            scanner_id: Some(open.id),
            number_of_rows: Some(self.scan.rows),
            next_call_seq: Some(open.next),
            client_handles_partials: Some(true),
            client_handles_heartbeats: Some(true),
            limit_of_rows: rows_left(self.scan.limit),
            track_scan_metrics: self.scan.is_measured.then_some(true),
            ..ScanRequest::default()
        };
        open.next += 1;
        let answer = open.line.call("Scan", &request, &[], limit).await?;
        self.take(answer)
    }

    async fn open_region(&mut self, limit: Duration) -> Result<(), Error> {
        let (start, region) = self.locate(limit).await?;
        let line = self.client.region_line(&region).await?;
        self.client.count_regions(1);
        let shape = data::Scan {
            start_row: Some(self.scan.start.clone()),
            stop_row: Some(self.scan.stop.clone()),
            include_start_row: Some(self.scan.includes_start),
            include_stop_row: Some(self.scan.includes_stop),
            ..self.scan.shape.clone()
        };
        let request = ScanRequest {
            region: Some(specifier(&region.name)),
            scan: Some(shape),
            number_of_rows: Some(self.scan.rows),
            client_handles_partials: Some(true),
            client_handles_heartbeats: Some(true),
            limit_of_rows: rows_left(self.scan.limit),
            track_scan_metrics: self.scan.is_measured.then_some(true),
            ..ScanRequest::default()
        };
        let called = line.call("Scan", &request, &[], limit).await;
        let answer = called.inspect_err(|error| {
            if matches!(error.cure(), Cure::Relocate | Cure::Repeat) {
                self.client.forget_region(&self.table, &start);
            }
        })?;
        self.open = Some(Open {
            line,
            server: region.server(),
            region,
            start,
            id: 0,
            next: 0,
        });
        self.take(answer)
    }

    /// Finds the region to go on with.
    async fn locate(&self, limit: Duration) -> Result<(Bytes, Region), Error> {
        let Scan {
            start,
            includes_start,
            ..
        } = &self.scan;
        match self.scan.is_backward() {
            false => self.client.locate(&self.table, start, limit).await,
            true if start.is_empty() => self.client.locate_last(&self.table, limit).await,
            true if *includes_start => self.client.locate(&self.table, start, limit).await,
            true => self.client.locate_before(&self.table, start, limit).await,
        }
    }

    /// Takes the rows of an answer, and goes to the next region where it is the last of one.
    fn take(&mut self, answer: Answer) -> Result<(), Error> {
        let open = self.open.as_mut().expect("a region has answered");
        let response = message_of::<ScanResponse>(&open.server, &answer)?;
        if let Some(id) = response.scanner_id {
            open.id = id;
        }
        for metric in response.scan_metrics.iter().flat_map(|metrics| &metrics.metrics) {
            if let (Some(name), Some(value)) = (&metric.name, metric.value) {
                let sum = self.metrics.entry(name.clone()).or_default();
                *sum = sum.saturating_add(value);
            }
        }
        self.scan.rows = (self.scan.rows * 2).min(BATCH_ROWS);
        let mut cells = answer.cells;
        let mut rows = Vec::new();
        for (at, count) in response.cells_per_result.iter().enumerate() {
            for _ in 0..*count {
                let cell = decode(&mut cells).map_err(|reason| protocol(&open.server, reason))?;
                // A part may turn out to be all of its row: a server that has read as much as it may does not look for more.
                if self.part.cells.first().is_some_and(|first| first.row != cell.row) {
                    rows.push(std::mem::take(&mut self.part));
                }
                self.part.cells.push(cell);
            }
            let is_partial = response.partial_flag_per_result.get(at).copied().unwrap_or(false);
            if !is_partial && !self.part.is_empty() {
                rows.push(std::mem::take(&mut self.part));
            }
        }
        let has_more = response.more_results.unwrap_or(true);
        let is_end_of_region = !has_more || response.more_results_in_region == Some(false);
        if is_end_of_region && !self.part.is_empty() {
            rows.push(std::mem::take(&mut self.part));
        }
        if !cells.is_empty() || !response.results.is_empty() {
            return Err(protocol(
                &open.server,
                "a scan is answered with other cells than it says",
            ));
        }
        for row in rows {
            if self.scan.limit == Some(0) {
                break;
            }
            (self.scan.start, self.scan.includes_start) = (row.key(), false);
            self.scan.limit = self.scan.limit.map(|left| left - 1);
            self.ready.push_back(row);
        }
        if !has_more || self.scan.limit == Some(0) {
            if has_more && response.more_results_in_region != Some(false) {
                self.close();
            }
            self.open = None;
            self.is_done = true;
        } else if response.more_results_in_region == Some(false) {
            self.leave_region();
        }
        Ok(())
    }

    /// Goes to the region behind the one that has no more rows, which has closed its scanner.
    fn leave_region(&mut self) {
        let Some(open) = self.open.take() else { return };
        let (stop, backward) = (&self.scan.stop, self.scan.is_backward());
        let next = if backward { open.start } else { open.region.end };
        let is_last = match backward {
            _ if next.is_empty() => true,
            _ if stop.is_empty() => false,
            false => next >= *stop,
            true => next <= *stop,
        };
        self.is_done = is_last;
        (self.scan.start, self.scan.includes_start) = (next, !backward);
    }

    /// Closes the scanner on the server, without waiting for the answer. Without it the scanner expires.
    fn close(&mut self) {
        let (Some(open), Ok(runtime)) = (self.open.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        let limit = self.client.call_limit(Instant::now());
        runtime.spawn(async move {
            let request = ScanRequest {
                scanner_id: Some(open.id),
                close_scanner: Some(true),
                number_of_rows: Some(0),
                ..ScanRequest::default()
            };
            let _ = open.line.call("Scan", &request, &[], limit).await;
        });
    }
}

impl Drop for Scanner {
    fn drop(&mut self) {
        self.close();
    }
}

fn rows_left(limit: Option<u64>) -> Option<u32> {
    limit.map(|rows| u32::try_from(rows).unwrap_or(u32::MAX >> 1))
}
