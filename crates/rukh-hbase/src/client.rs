//! The client: where regions are, and operations on rows with their retries.
//!
//! Servers of the URL say where hbase:meta is, and hbase:meta says where a row is; what it said is kept until a server
//! denies it. Each operation has a deadline; within it, attempts follow one another after growing pauses. A change under
//! a condition, or an increment, is not tried again once it may have been carried out: that is `OutcomeUnknown`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use prost::Message;
use tokio_rustls::TlsConnector;

use crate::batch::RowRequest;
use crate::cell::{Row, decode};
use crate::connection::{Answer, Connection, Line, protocol};
use crate::operation::{CheckAndMutate, Checked, Get, Mutation};
use crate::proto::common::{RegionInfo, RegionSpecifier, ServerName};
use crate::proto::data;
use crate::proto::rpc::{Empty, GetActiveMasterResponse, GetMetaRegionLocationsResponse};
use crate::scan::{Scan, Scanner};
use crate::traffic::Meter;
use crate::{Address, Error, Tls};

/// How long things may take.
#[derive(Clone, Debug)]
pub struct Settings {
    /// An operation with all its attempts.
    pub operation: Duration,
    /// One call.
    pub call: Duration,
    /// Making a connection.
    pub connect: Duration,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            operation: Duration::from_secs(60),
            call: Duration::from_secs(20),
            connect: Duration::from_secs(5),
        }
    }
}

type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

/// A client of one cluster. Clones share connections and what is known of regions.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    meter: Option<Arc<Meter>>,
}

struct Inner {
    address: Address,
    tls: Option<TlsConnector>,
    settings: Settings,
    connections: Mutex<HashMap<(String, u16, &'static str), Slot>>,
    /// By table, then by start key.
    regions: Mutex<HashMap<String, BTreeMap<Bytes, Region>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) name: Bytes,
    pub(crate) end: Bytes,
    pub(crate) info: RegionInfo,
    /// When the server that has it was started.
    pub(crate) start_code: Option<u64>,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Region {
    /// The server that has it, `host:port`.
    pub(crate) fn server(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// Which region of a table is looked for.
#[derive(Clone, Copy)]
enum Sought<'a> {
    /// The one that holds this row.
    Of(&'a Bytes),
    /// The one that ends where this row begins, or holds what is right before it.
    Before(&'a Bytes),
    Last,
}

impl Client {
    /// Makes a client; the first request connects.
    ///
    /// # Errors
    ///
    /// Those of [`Address::parse`], and [`Error::Argument`] that names a file for TLS which is not there or not of use.
    pub fn new(url: &str, settings: Settings) -> Result<Client, Error> {
        let address = Address::parse(url)?;
        let inner = Inner {
            tls: address.tls.as_ref().map(Tls::connector).transpose()?,
            address,
            settings,
            connections: Mutex::default(),
            regions: Mutex::default(),
        };
        Ok(Client {
            inner: Arc::new(inner),
            meter: None,
        })
    }

    /// Returns a clone whose calls are counted.
    pub fn counted(&self, meter: Arc<Meter>) -> Client {
        Client {
            inner: Arc::clone(&self.inner),
            meter: Some(meter),
        }
    }

    /// Fails at once where no host of the URL answers; all else waits for servers that come back.
    pub async fn reach(&self) -> Result<(), Error> {
        let limit = self.inner.settings.call;
        self.registry("GetClusterId", limit).await.map(|_| ())
    }

    /// Reads one row of a table of the URL's namespace.
    pub async fn get(&self, table: &str, get: Get) -> Result<Row, Error> {
        Ok(self.run(RowRequest::get(table, get)).await?.row)
    }

    /// Changes one row.
    pub async fn mutate(&self, table: &str, mutation: Mutation) -> Result<Row, Error> {
        Ok(self.run(RowRequest::mutate(table, mutation)).await?.row)
    }

    /// Changes one row if a condition holds, in one step.
    pub async fn check_and_mutate(&self, table: &str, change: CheckAndMutate) -> Result<Checked, Error> {
        self.run(RowRequest::check_and_mutate(table, change)).await
    }

    async fn run(&self, request: RowRequest) -> Result<Checked, Error> {
        let outcome = self.batch(vec![request]).await.pop();
        outcome.expect("there is an outcome for each request")
    }

    /// Tries until it succeeds, does not help, or the time is up.
    pub(crate) async fn retry<T, F: Future<Output = Result<T, Error>>>(
        &self,
        what: &str,
        may_repeat: bool,
        attempt: impl Fn(Duration) -> F,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            let left = self.inner.settings.operation.saturating_sub(begun.elapsed());
            let error = match attempt(left.min(self.inner.settings.call)).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let error = error.unless_final(what, may_repeat)?;
            if begun.elapsed() + pause >= self.inner.settings.operation {
                return Err(Error::Deadline {
                    operation: what.to_string(),
                    limit_ms: self.inner.settings.operation.as_millis() as u64,
                    last: Box::new(error),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    /// Reads the rows of a range; see [`Scan`].
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner {
        Scanner::new(self.clone(), table, scan)
    }

    /// How long an operation may take with all its attempts.
    pub(crate) fn operation_limit(&self) -> Duration {
        self.inner.settings.operation
    }

    /// How long a call of an operation that began then may take.
    pub(crate) fn call_limit(&self, begun: Instant) -> Duration {
        let left = self.inner.settings.operation.saturating_sub(begun.elapsed());
        left.min(self.inner.settings.call)
    }

    pub(crate) fn forget_region(&self, table: &str, start: &Bytes) {
        if let Some(known) = self.inner.regions.lock().get_mut(table) {
            known.remove(start);
        }
    }

    /// Forgets all regions of a table.
    pub(crate) fn forget_regions(&self, table: &str) {
        self.inner.regions.lock().remove(table);
    }

    /// The regions of a table in the order of their keys, as hbase:meta has them now.
    pub(crate) async fn regions_of(&self, table: &str, limit: Duration) -> Result<Vec<Region>, Error> {
        let mut regions: Vec<Region> = Vec::new();
        loop {
            let start = regions.last().map_or_else(Bytes::new, |last| last.end.clone());
            if start.is_empty() && !regions.is_empty() {
                return Ok(regions);
            }
            let (_, region) = self.ask_meta(table, Sought::Of(&start), limit).await?;
            regions.push(region);
        }
    }

    /// The line to the administration of the server that has a region.
    pub(crate) async fn admin_line(&self, region: &Region) -> Result<Line, Error> {
        self.line(&region.host, region.port, "AdminService").await
    }

    /// The line to the rows of a region.
    pub(crate) async fn region_line(&self, region: &Region) -> Result<Line, Error> {
        self.line(&region.host, region.port, "ClientService").await
    }

    /// Counts regions of which rows are requested.
    pub(crate) fn count_regions(&self, regions: usize) {
        if let Some(meter) = &self.meter {
            meter.reached(regions);
        }
    }

    /// Finds the region that holds what is right before a row.
    pub(crate) async fn locate_before(
        &self,
        table: &str,
        row: &Bytes,
        limit: Duration,
    ) -> Result<(Bytes, Region), Error> {
        if let Some(known) = self.inner.regions.lock().get(table)
            && let Some((start, region)) = known.range(..row.clone()).next_back()
            && (region.end.is_empty() || *row <= region.end)
        {
            return Ok((start.clone(), region.clone()));
        }
        self.ask_and_keep(table, Sought::Before(row), limit).await
    }

    pub(crate) async fn locate_last(&self, table: &str, limit: Duration) -> Result<(Bytes, Region), Error> {
        if let Some(known) = self.inner.regions.lock().get(table)
            && let Some((start, region)) = known.iter().next_back()
            && region.end.is_empty()
        {
            return Ok((start.clone(), region.clone()));
        }
        self.ask_and_keep(table, Sought::Last, limit).await
    }

    /// Finds the region that holds a row.
    pub(crate) async fn locate(
        &self,
        table: &str,
        row: &Bytes,
        limit: Duration,
    ) -> Result<(Bytes, Region), Error> {
        if let Some(known) = self.inner.regions.lock().get(table)
            && let Some((start, region)) = known.range(..=row.clone()).next_back()
            && (region.end.is_empty() || *row < region.end)
        {
            return Ok((start.clone(), region.clone()));
        }
        self.ask_and_keep(table, Sought::Of(row), limit).await
    }

    async fn ask_and_keep(
        &self,
        table: &str,
        sought: Sought<'_>,
        limit: Duration,
    ) -> Result<(Bytes, Region), Error> {
        let (start, region) = self.ask_meta(table, sought, limit).await?;
        let mut regions = self.inner.regions.lock();
        regions
            .entry(table.to_string())
            .or_default()
            .insert(start.clone(), region.clone());
        Ok((start, region))
    }

    /// Reads the last line of hbase:meta at or before what is sought, which is its region.
    async fn ask_meta(
        &self,
        table: &str,
        sought: Sought<'_>,
        limit: Duration,
    ) -> Result<(Bytes, Region), Error> {
        let answer = self.registry("GetMetaRegionLocations", limit).await?;
        let meta = message_of::<GetMetaRegionLocationsResponse>("registry", &answer)?;
        let server = meta
            .meta_locations
            .into_iter()
            .find_map(|location| location.server_name);
        let none = || Error::NoRegion {
            table: table.to_string(),
        };
        let (host, port) = host_and_port(server.ok_or_else(none)?);
        let full = self.full_name(table);
        let request = meta_scan(&full, sought);
        let line = self.line(&host, port, "ClientService").await?;
        let mut answer = line.call("Scan", &request, &[], limit).await?;
        let mut found = Row::default();
        while !answer.cells.is_empty() {
            found
                .cells
                .push(decode(&mut answer.cells).map_err(|reason| protocol(&host, reason))?);
        }
        let info = found
            .value(b"info", b"regioninfo")
            .and_then(|value| value.strip_prefix(b"PBUF"));
        let info = info.and_then(|bytes| RegionInfo::decode(bytes).ok());
        let of_table = |info: &RegionInfo| {
            [&info.table_name.namespace[..], b":", &info.table_name.qualifier].concat()
                == qualified(&full).as_bytes()
        };
        let info = info.filter(of_table).ok_or_else(|| Error::TableNotFound {
            table: qualified(&full),
        })?;
        let server = found
            .value(b"info", b"server")
            .and_then(|value| std::str::from_utf8(value).ok());
        let (host, port) = server
            .and_then(|server| server.rsplit_once(':'))
            .ok_or_else(none)?;
        let end = info.end_key.clone().unwrap_or_default();
        let is_held = match sought {
            Sought::Of(row) => end.is_empty() || *row < end,
            Sought::Before(row) => end.is_empty() || *row <= end,
            Sought::Last => end.is_empty(),
        };
        if !is_held {
            return Err(none());
        }
        let start = info.start_key.clone().unwrap_or_default();
        let start_code = found.value(b"info", b"serverstartcode");
        let start_code = start_code.and_then(|code| Some(u64::from_be_bytes(code[..].try_into().ok()?)));
        let region = Region {
            name: found.key(),
            end,
            info,
            start_code,
            host: host.to_string(),
            port: port.parse().map_err(|_| none())?,
        };
        Ok((start, region))
    }

    /// Asks the hosts of the URL, one after another.
    async fn registry(&self, method: &str, limit: Duration) -> Result<Answer, Error> {
        let mut last = None;
        for (host, port) in &self.inner.address.hosts {
            let called = match self.line(host, *port, "ClientMetaService").await {
                Ok(line) => line.call(method, &Empty {}, &[], limit).await,
                Err(error) => Err(error),
            };
            match called {
                Ok(answer) => return Ok(answer),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("an address has hosts"))
    }

    /// Calls a method of the active master.
    pub(crate) async fn master(
        &self,
        method: &str,
        message: &impl Message,
        limit: Duration,
    ) -> Result<Bytes, Error> {
        let answer = self.registry("GetActiveMaster", limit).await?;
        let master = message_of::<GetActiveMasterResponse>("registry", &answer)?.server_name;
        let (host, port) =
            host_and_port(master.ok_or_else(|| protocol("registry", "there is no active master"))?);
        let line = self.line(&host, port, "MasterService").await?;
        Ok(line.call(method, message, &[], limit).await?.message)
    }

    async fn line(&self, host: &str, port: u16, service: &'static str) -> Result<Line, Error> {
        Ok(Line {
            connection: self.connection(host, port, service).await?,
            meter: self.meter.clone(),
        })
    }

    async fn connection(
        &self,
        host: &str,
        port: u16,
        service: &'static str,
    ) -> Result<Arc<Connection>, Error> {
        let slot = self
            .inner
            .connections
            .lock()
            .entry((host.to_string(), port, service))
            .or_default()
            .clone();
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let opened = Arc::new(
            Connection::open(
                (host, port),
                service,
                self.inner.tls.as_ref(),
                self.inner.settings.connect,
            )
            .await?,
        );
        *slot = Some(opened.clone());
        Ok(opened)
    }

    /// The namespace of the URL.
    pub fn namespace(&self) -> &str {
        &self.inner.address.namespace
    }

    /// As hbase:meta writes it: the default namespace goes without saying.
    fn full_name(&self, table: &str) -> String {
        match self.namespace() {
            "default" => table.to_string(),
            namespace => format!("{namespace}:{table}"),
        }
    }
}

fn qualified(full: &str) -> String {
    if full.contains(':') {
        full.to_string()
    } else {
        format!("default:{full}")
    }
}

fn host_and_port(server: ServerName) -> (String, u16) {
    (
        server.host_name,
        server.port.and_then(|port| u16::try_from(port).ok()).unwrap_or(0),
    )
}

pub(crate) fn specifier(name: &Bytes) -> RegionSpecifier {
    RegionSpecifier {
        r#type: 1,
        value: name.clone(),
    }
}

/// Lines of hbase:meta are `table,start,id`; `-` follows `,`, so that `table-` lies behind all of a table's.
fn meta_scan(table: &str, sought: Sought<'_>) -> data::ScanRequest {
    let key: Vec<u8> = match sought {
        Sought::Of(row) => [table.as_bytes(), b",", row, b",99999999999999"].concat(),
        Sought::Before(row) => [table.as_bytes(), b",", row, b","].concat(),
        Sought::Last => [table.as_bytes(), b"-"].concat(),
    };
    data::ScanRequest {
        region: Some(specifier(&Bytes::from_static(b"hbase:meta,,1"))),
        scan: Some(data::Scan {
            column: vec![data::Column {
                family: Bytes::from_static(b"info"),
                qualifier: Vec::new(),
            }],
            start_row: Some(key.into()),
            reversed: Some(true),
            ..data::Scan::default()
        }),
        number_of_rows: Some(1),
        limit_of_rows: Some(1),
        close_scanner: Some(true),
        ..data::ScanRequest::default()
    }
}

pub(crate) fn message_of<M: Message + Default>(server: &str, answer: &Answer) -> Result<M, Error> {
    M::decode(answer.message.clone()).map_err(|error| protocol(server, &error.to_string()))
}
