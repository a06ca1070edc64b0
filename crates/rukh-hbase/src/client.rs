//! The client: where regions are, and operations on rows with their retries.
//!
//! Servers of the URL say where hbase:meta is, and hbase:meta says where a row is; what it said is kept until a server
//! denies it. Each operation has a deadline; within it, attempts follow one another after growing pauses. A change under
//! a condition, or an increment, is not tried again once it may have been carried out: that is `OutcomeUnknown`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;
use prost::Message;

use crate::cell::{Cell, Row, decode, encode};
use crate::connection::{Answer, Connection, first_line, protocol};
use crate::error::Cure;
use crate::operation::{Change, CheckAndMutate, Checked, Get, Mutation};
use crate::proto::common::{RegionInfo, RegionSpecifier, ServerName};
use crate::proto::data::{self, Action, Condition, MultiRequest, MultiResponse, MutationProto, RegionAction};
use crate::proto::rpc::{Empty, GetActiveMasterResponse, GetMetaRegionLocationsResponse};
use crate::scan::{Scan, Scanner};
use crate::{Address, Error};

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
pub struct Client(Arc<Inner>);

struct Inner {
    address: Address,
    settings: Settings,
    connections: Mutex<HashMap<(String, u16, &'static str), Slot>>,
    /// By table, then by start key.
    regions: Mutex<HashMap<String, BTreeMap<Bytes, Region>>>,
}

#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) name: Bytes,
    pub(crate) end: Bytes,
    host: String,
    port: u16,
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

/// A request for one row.
enum Request {
    Get(data::Get),
    Change(Option<Condition>, Vec<Mutation>),
}

impl Request {
    fn row(&self) -> &Bytes {
        match self {
            Request::Get(get) => &get.row,
            Request::Change(_, mutations) => &mutations[0].row,
        }
    }

    fn may_repeat(&self) -> bool {
        match self {
            Request::Get(_) => true,
            Request::Change(condition, mutations) => {
                condition.is_none() && mutations.iter().all(|one| one.change != Change::Increment)
            }
        }
    }
}

impl Client {
    /// Makes a client; the first request connects.
    pub fn new(url: &str, settings: Settings) -> Result<Client, Error> {
        Ok(Client(Arc::new(Inner {
            address: Address::parse(url)?,
            settings,
            connections: Mutex::default(),
            regions: Mutex::default(),
        })))
    }

    /// Reads one row of a table of the URL's namespace.
    pub async fn get(&self, table: &str, get: Get) -> Result<Row, Error> {
        Ok(self.run(table, Request::Get(get.0)).await?.row)
    }

    /// Changes one row.
    pub async fn mutate(&self, table: &str, mutation: Mutation) -> Result<Row, Error> {
        mutation.check()?;
        Ok(self.run(table, Request::Change(None, vec![mutation])).await?.row)
    }

    /// Changes one row if a condition holds, in one step.
    pub async fn check_and_mutate(&self, table: &str, change: CheckAndMutate) -> Result<Checked, Error> {
        let row = &change.condition.row;
        if change.mutations.is_empty() || change.mutations.iter().any(|one| one.row != row) {
            return Err(Error::Argument {
                what: "conditional change".to_string(),
                reason: "it needs mutations, all of the row of the condition".to_string(),
            });
        }
        change.mutations.iter().try_for_each(Mutation::check)?;
        let request = Request::Change(Some(change.condition), change.mutations);
        self.run(table, request).await
    }

    async fn run(&self, table: &str, request: Request) -> Result<Checked, Error> {
        let what = format!("a call on table \"{table}\"");
        let attempts = async |limit| self.once(table, &request, limit).await;
        self.retry(&what, request.may_repeat(), attempts).await
    }

    /// Tries until it succeeds, does not help, or the time is up.
    pub(crate) async fn retry<T>(
        &self,
        what: &str,
        may_repeat: bool,
        attempt: impl AsyncFn(Duration) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            let left = self.0.settings.operation.saturating_sub(begun.elapsed());
            let error = match attempt(left.min(self.0.settings.call)).await {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let is_unanswered = matches!(error, Error::Protocol { .. });
            match error.cure() {
                Cure::None | Cure::Reopen if may_repeat || !is_unanswered => return Err(error),
                Cure::Repeat if !may_repeat && matches!(error, Error::Remote { .. }) => return Err(error),
                Cure::None | Cure::Reopen | Cure::Repeat if !may_repeat => {
                    return Err(Error::OutcomeUnknown {
                        operation: what.to_string(),
                        source: Box::new(error),
                    });
                }
                Cure::None | Cure::Reopen => return Err(error),
                Cure::Repeat | Cure::Relocate | Cure::Wait => {}
            }
            if begun.elapsed() + pause >= self.0.settings.operation {
                return Err(Error::Deadline {
                    operation: what.to_string(),
                    limit_ms: self.0.settings.operation.as_millis() as u64,
                    last: Box::new(error),
                });
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(2));
        }
    }

    async fn once(&self, table: &str, request: &Request, limit: Duration) -> Result<Checked, Error> {
        // A meta lookup that fails has sent nothing of the request.
        let found = self.locate(table, request.row(), limit).await;
        let (start, region) = found.map_err(|error| match error.cure() {
            Cure::Repeat => Error::NoRegion {
                table: table.to_string(),
            },
            _ => error,
        })?;
        let done = self.ask(&region, request, limit).await;
        if let Err(error) = &done
            && matches!(error.cure(), Cure::Relocate | Cure::Repeat)
        {
            self.forget_region(table, &start);
        }
        done
    }

    async fn ask(&self, region: &Region, request: &Request, limit: Duration) -> Result<Checked, Error> {
        let mut cells = BytesMut::new();
        let message = MultiRequest {
            region_action: vec![region_action(region, request, &mut cells)],
        };
        let connection = self.region_connection(region).await?;
        let answer = connection.call("Multi", &message, &cells, limit).await?;
        let server = region.server();
        let response = message_of::<MultiResponse>(&server, &answer)?;
        outcome(&server, response, answer.cells)
    }

    /// Reads the rows of a range; see [`Scan`].
    pub fn scan(&self, table: &str, scan: Scan) -> Scanner {
        Scanner::new(self.clone(), table, scan)
    }

    /// How long an operation may take with all its attempts.
    pub(crate) fn operation_limit(&self) -> Duration {
        self.0.settings.operation
    }

    /// How long a call of an operation that began then may take.
    pub(crate) fn call_limit(&self, begun: Instant) -> Duration {
        let left = self.0.settings.operation.saturating_sub(begun.elapsed());
        left.min(self.0.settings.call)
    }

    pub(crate) fn forget_region(&self, table: &str, start: &Bytes) {
        if let Some(known) = self.0.regions.lock().get_mut(table) {
            known.remove(start);
        }
    }

    pub(crate) async fn region_connection(&self, region: &Region) -> Result<Arc<Connection>, Error> {
        self.connection(&region.host, region.port, "ClientService").await
    }

    /// Finds the region that holds what is right before a row.
    pub(crate) async fn locate_before(
        &self,
        table: &str,
        row: &Bytes,
        limit: Duration,
    ) -> Result<(Bytes, Region), Error> {
        if let Some(known) = self.0.regions.lock().get(table)
            && let Some((start, region)) = known.range(..row.clone()).next_back()
            && (region.end.is_empty() || *row <= region.end)
        {
            return Ok((start.clone(), region.clone()));
        }
        self.ask_and_keep(table, Sought::Before(row), limit).await
    }

    pub(crate) async fn locate_last(&self, table: &str, limit: Duration) -> Result<(Bytes, Region), Error> {
        if let Some(known) = self.0.regions.lock().get(table)
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
        if let Some(known) = self.0.regions.lock().get(table)
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
        let mut regions = self.0.regions.lock();
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
        let connection = self.connection(&host, port, "ClientService").await?;
        let mut answer = connection.call("Scan", &request, &[], limit).await?;
        let mut line = Row::default();
        while !answer.cells.is_empty() {
            line.cells
                .push(decode(&mut answer.cells).map_err(|reason| protocol(&host, reason))?);
        }
        let info = line
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
        let server = line
            .value(b"info", b"server")
            .and_then(|value| std::str::from_utf8(value).ok());
        let (host, port) = server
            .and_then(|server| server.rsplit_once(':'))
            .ok_or_else(none)?;
        let end = info.end_key.unwrap_or_default();
        let is_held = match sought {
            Sought::Of(row) => end.is_empty() || *row < end,
            Sought::Before(row) => end.is_empty() || *row <= end,
            Sought::Last => end.is_empty(),
        };
        if !is_held {
            return Err(none());
        }
        let region = Region {
            name: line.key(),
            end,
            host: host.to_string(),
            port: port.parse().map_err(|_| none())?,
        };
        Ok((info.start_key.unwrap_or_default(), region))
    }

    /// Asks the hosts of the URL, one after another.
    async fn registry(&self, method: &str, limit: Duration) -> Result<Answer, Error> {
        let mut last = None;
        for (host, port) in &self.0.address.hosts {
            let connected = match self.connection(host, *port, "ClientMetaService").await {
                Ok(connection) => connection.call(method, &Empty {}, &[], limit).await,
                Err(error) => Err(error),
            };
            match connected {
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
        let connection = self.connection(&host, port, "MasterService").await?;
        Ok(connection.call(method, message, &[], limit).await?.message)
    }

    async fn connection(
        &self,
        host: &str,
        port: u16,
        service: &'static str,
    ) -> Result<Arc<Connection>, Error> {
        let slot = self
            .0
            .connections
            .lock()
            .entry((host.to_string(), port, service))
            .or_default()
            .clone();
        let mut slot = slot.lock().await;
        if let Some(connection) = slot.as_ref().filter(|connection| !connection.is_closed()) {
            return Ok(connection.clone());
        }
        let opened = Arc::new(Connection::open(host, port, service, self.0.settings.connect).await?);
        *slot = Some(opened.clone());
        Ok(opened)
    }

    /// The namespace of the URL.
    pub(crate) fn namespace(&self) -> &str {
        &self.0.address.namespace
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

fn region_action(region: &Region, request: &Request, cells: &mut BytesMut) -> RegionAction {
    let action = |index: usize, mutation: &Mutation, cells: &mut BytesMut| {
        mutation.cells.iter().for_each(|cell| encode(cell, cells));
        Action {
            index: Some(index as u32),
            mutation: Some(MutationProto {
                row: Some(mutation.row.clone()),
                mutate_type: Some(mutation.change as i32),
                timestamp: Some(crate::LATEST),
                associated_cell_count: Some(mutation.cells.len() as i32),
            }),
            get: None,
        }
    };
    let (condition, actions, atomic) = match request {
        Request::Get(get) => (
            None,
            vec![Action {
                index: Some(0),
                mutation: None,
                get: Some(get.clone()),
            }],
            false,
        ),
        Request::Change(condition, mutations) => {
            let actions = mutations
                .iter()
                .enumerate()
                .map(|(index, one)| action(index, one, cells));
            (condition.clone(), actions.collect(), mutations.len() > 1)
        }
    };
    RegionAction {
        region: specifier(&region.name),
        atomic: atomic.then_some(true),
        action: actions,
        condition,
    }
}

fn outcome(server: &str, response: MultiResponse, mut cells: Bytes) -> Result<Checked, Error> {
    let result = response.region_action_result.into_iter().next();
    let result = result.ok_or_else(|| protocol(server, "a multi is answered without results"))?;
    let one = |found: &data::ResultOrException| found.exception.clone();
    if let Some(exception) = result
        .exception
        .or_else(|| result.result_or_exception.iter().find_map(one))
    {
        let trace = String::from_utf8_lossy(&exception.value.unwrap_or_default()).into_owned();
        return Err(Error::Remote {
            server: server.to_string(),
            message: first_line(&trace, &exception.name),
            class: exception.name,
            do_not_retry: false,
        });
    }
    // The result of a conditional increment is in the message, all others are in the cell block.
    let within = result
        .result_or_exception
        .into_iter()
        .filter_map(|found| found.result);
    let mut row = Row {
        cells: within.flat_map(|result| result.cell).map(Cell::from).collect(),
    };
    while !cells.is_empty() {
        row.cells
            .push(decode(&mut cells).map_err(|reason| protocol(server, reason))?);
    }
    Ok(Checked {
        processed: result.processed.unwrap_or(true),
        row,
    })
}

pub(crate) fn message_of<M: Message + Default>(server: &str, answer: &Answer) -> Result<M, Error> {
    M::decode(answer.message.clone()).map_err(|error| protocol(server, &error.to_string()))
}
