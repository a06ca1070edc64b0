//! Requests for rows: one, or many in one call to each server.
//!
//! Requests are sorted by the server that has their region, and all servers are called at once. Each request has an outcome of its own: where a region has moved or
//! a server is busy, the requests that it concerns are sent again, the others are done.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use futures::future::join_all;

use crate::cell::{Cell, Row, decode, encode};
use crate::client::{Client, Region, message_of, specifier};
use crate::connection::{first_line, protocol};
use crate::error::{Cure, Error};
use crate::operation::{Change, CheckAndMutate, Checked, Get, Mutation};
use crate::proto::common::NameBytesPair;
use crate::proto::data::{
    self, Action, MultiRequest, MultiResponse, MutationProto, RegionAction, RegionActionResult,
};

/// Most requests of one call.
const REQUESTS_MAX: usize = 1000;

/// Bytes of cells from which a call is full.
const CALL_BYTES: usize = 4 << 20;

/// A request for one row of a table.
#[derive(Clone, Debug)]
pub struct RowRequest {
    table: String,
    kind: Kind,
}

#[derive(Clone, Debug)]
enum Kind {
    Get(data::Get),
    Mutate(Mutation),
    Check(CheckAndMutate),
}

impl RowRequest {
    /// Reads a row of a table of the URL's namespace.
    pub fn get(table: &str, get: Get) -> RowRequest {
        RowRequest::new(table, Kind::Get(get.0))
    }

    /// Changes a row.
    pub fn mutate(table: &str, mutation: Mutation) -> RowRequest {
        RowRequest::new(table, Kind::Mutate(mutation))
    }

    /// Changes a row if a condition holds, in one step.
    pub fn check_and_mutate(table: &str, change: CheckAndMutate) -> RowRequest {
        RowRequest::new(table, Kind::Check(change))
    }

    fn new(table: &str, kind: Kind) -> RowRequest {
        RowRequest {
            table: table.to_string(),
            kind,
        }
    }

    fn row(&self) -> &Bytes {
        match &self.kind {
            Kind::Get(get) => &get.row,
            Kind::Mutate(mutation) => &mutation.row,
            Kind::Check(change) => &change.condition.row,
        }
    }

    /// Refuses what no server would take.
    fn check(&self) -> Result<(), Error> {
        match &self.kind {
            Kind::Get(_) => Ok(()),
            Kind::Mutate(mutation) => mutation.check(),
            Kind::Check(change) => {
                let is_other = |one: &Mutation| one.row != change.condition.row;
                if change.mutations.is_empty() || change.mutations.iter().any(is_other) {
                    return Err(Error::Argument {
                        what: "conditional change".to_string(),
                        reason: "it needs mutations, all of the row of the condition".to_string(),
                    });
                }
                change.mutations.iter().try_for_each(Mutation::check)
            }
        }
    }

    fn may_repeat(&self) -> bool {
        match &self.kind {
            Kind::Get(_) => true,
            Kind::Mutate(mutation) => mutation.change != Change::Increment,
            Kind::Check(_) => false,
        }
    }

    fn operation(&self) -> String {
        format!("a call on table \"{}\"", self.table)
    }

    /// The bytes of its cells, about.
    fn bytes(&self) -> usize {
        let of = |mutation: &Mutation| -> usize {
            let cells = mutation.cells.iter();
            cells
                .map(|cell| 32 + cell.row.len() + cell.qualifier.len() + cell.value.len())
                .sum()
        };
        match &self.kind {
            Kind::Get(_) => 0,
            Kind::Mutate(mutation) => of(mutation),
            Kind::Check(change) => change.mutations.iter().map(of).sum(),
        }
    }
}

/// A request of a batch, and the region that has its row.
struct Placed {
    at: usize,
    start: Bytes,
    region: Region,
}

/// Where the outcome of an action is: its request, and whether that has a condition.
struct Place {
    /// The requests, in the order of the actions.
    requests: Vec<usize>,
    has_condition: bool,
}

impl Client {
    /// Makes many requests, those for regions of one server in one call, all servers at once; returns the outcomes in the order of the requests.
    ///
    /// Requests are independent of one another: they are carried out in any order, and some may fail.
    pub async fn batch(&self, requests: Vec<RowRequest>) -> Vec<Result<Checked, Error>> {
        let mut outcomes: Vec<Option<Result<Checked, Error>>> = Vec::new();
        outcomes.extend(requests.iter().map(|request| request.check().err().map(Err)));
        let begun = Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            let open: Vec<usize> = (0..requests.len()).filter(|at| outcomes[*at].is_none()).collect();
            if open.is_empty() {
                break;
            }
            let is_last = begun.elapsed() + pause >= self.operation_limit();
            for (at, outcome) in self.round(&requests, &open, self.call_limit(begun)).await {
                let request = &requests[at];
                outcomes[at] = match outcome {
                    Ok(done) => Some(Ok(done)),
                    Err(error) => match error.unless_final(&request.operation(), request.may_repeat()) {
                        Err(error) => Some(Err(error)),
                        Ok(error) if is_last => Some(Err(Error::Deadline {
                            operation: request.operation(),
                            limit_ms: self.operation_limit().as_millis() as u64,
                            last: Box::new(error),
                        })),
                        Ok(_) => None,
                    },
                };
            }
            if outcomes.iter().any(Option::is_none) {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(2));
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    /// Makes the requests that are open once; returns an outcome of each.
    async fn round(
        &self,
        requests: &[RowRequest],
        open: &[usize],
        limit: Duration,
    ) -> Vec<(usize, Result<Checked, Error>)> {
        let mut outcomes = Vec::with_capacity(open.len());
        let mut servers: BTreeMap<(String, u16), Vec<Placed>> = BTreeMap::new();
        for at in open {
            let request = &requests[*at];
            match self.locate(&request.table, request.row(), limit).await {
                Ok((start, region)) => {
                    let server = (region.host.clone(), region.port);
                    let placed = Placed {
                        at: *at,
                        start,
                        region,
                    };
                    servers.entry(server).or_default().push(placed);
                }
                // A lookup of a region that fails has sent nothing of the request.
                Err(error) if error.cure() == Cure::Repeat => {
                    let table = request.table.clone();
                    outcomes.push((*at, Err(Error::NoRegion { table })));
                }
                Err(error) => outcomes.push((*at, Err(error))),
            }
        }
        let calls = servers.into_values().flat_map(|placed| split(requests, placed));
        let calls = calls.map(|placed| self.call(requests, placed, limit));
        outcomes.extend(join_all(calls).await.into_iter().flatten());
        outcomes
    }

    /// Makes requests for regions of one server in one call.
    async fn call(
        &self,
        requests: &[RowRequest],
        mut placed: Vec<Placed>,
        limit: Duration,
    ) -> Vec<(usize, Result<Checked, Error>)> {
        // Requests for one region without conditions are one action.
        placed.sort_by(|a, b| a.region.name.cmp(&b.region.name));
        let answered = self.answered(requests, &placed, limit).await;
        let outcomes =
            answered.unwrap_or_else(|error| placed.iter().map(|one| (one.at, Err(error.clone()))).collect());
        for (at, outcome) in &outcomes {
            if let Err(error) = outcome
                && matches!(error.cure(), Cure::Relocate | Cure::Repeat)
                && let Some(one) = placed.iter().find(|one| one.at == *at)
            {
                self.forget_region(&requests[*at].table, &one.start);
            }
        }
        outcomes
    }

    async fn answered(
        &self,
        requests: &[RowRequest],
        placed: &[Placed],
        limit: Duration,
    ) -> Result<Vec<(usize, Result<Checked, Error>)>, Error> {
        let Some(first) = placed.first() else {
            return Ok(Vec::new());
        };
        let line = self.region_line(&first.region).await?;
        // They are sorted by region.
        let regions = placed.chunk_by(|a, b| a.region.name == b.region.name);
        self.count_regions(regions.count());
        let mut cells = BytesMut::new();
        let (message, places) = multi(requests, placed, &mut cells);
        let answer = line.call("Multi", &message, &cells, limit).await?;
        let server = first.region.server();
        let response = message_of::<MultiResponse>(&server, &answer)?;
        outcomes(&server, &places, response, answer.cells)
    }
}

/// Cuts the requests for one server into calls.
fn split(requests: &[RowRequest], placed: Vec<Placed>) -> Vec<Vec<Placed>> {
    let mut calls: Vec<Vec<Placed>> = Vec::new();
    let mut bytes = CALL_BYTES;
    for one in placed {
        let is_full = bytes >= CALL_BYTES || calls.last().is_some_and(|call| call.len() >= REQUESTS_MAX);
        if is_full {
            calls.push(Vec::new());
            bytes = 0;
        }
        bytes += requests[one.at].bytes();
        calls.last_mut().expect("there is a call").push(one);
    }
    calls
}

/// Makes the message of a call, and notes where the outcomes will be.
fn multi(requests: &[RowRequest], placed: &[Placed], cells: &mut BytesMut) -> (MultiRequest, Vec<Place>) {
    let (mut actions, mut places): (Vec<RegionAction>, Vec<Place>) = (Vec::new(), Vec::new());
    for one in placed {
        let region = specifier(&one.region.name);
        let action = match &requests[one.at].kind {
            Kind::Check(change) => {
                let mutations = change.mutations.iter().enumerate();
                actions.push(RegionAction {
                    region,
                    atomic: (change.mutations.len() > 1).then_some(true),
                    action: mutations
                        .map(|(nth, mutation)| of_mutation(nth, mutation, cells))
                        .collect(),
                    condition: Some(change.condition.clone()),
                });
                places.push(Place {
                    requests: vec![one.at],
                    has_condition: true,
                });
                continue;
            }
            Kind::Get(get) => Action {
                get: Some(get.clone()),
                ..Action::default()
            },
            Kind::Mutate(mutation) => of_mutation(0, mutation, cells),
        };
        let is_open = |(action, place): &(&mut RegionAction, &mut Place)| {
            !place.has_condition && action.region == region
        };
        match actions.last_mut().zip(places.last_mut()).filter(is_open) {
            Some((of_region, place)) => {
                let index = Some(place.requests.len() as u32);
                of_region.action.push(Action { index, ..action });
                place.requests.push(one.at);
            }
            None => {
                actions.push(RegionAction {
                    region,
                    atomic: None,
                    action: vec![Action {
                        index: Some(0),
                        ..action
                    }],
                    condition: None,
                });
                places.push(Place {
                    requests: vec![one.at],
                    has_condition: false,
                });
            }
        }
    }
    let message = MultiRequest {
        region_action: actions,
    };
    (message, places)
}

/// The attribute by which HBase knows the lifetime of cells.
fn ttl(ttl_ms: u64) -> NameBytesPair {
    NameBytesPair {
        name: "_ttl".to_string(),
        value: Some(Bytes::copy_from_slice(&ttl_ms.to_be_bytes())),
    }
}

fn of_mutation(index: usize, mutation: &Mutation, cells: &mut BytesMut) -> Action {
    mutation.cells.iter().for_each(|cell| encode(cell, cells));
    Action {
        index: Some(index as u32),
        mutation: Some(MutationProto {
            row: Some(mutation.row.clone()),
            mutate_type: Some(mutation.change as i32),
            timestamp: Some(crate::LATEST),
            attribute: mutation.ttl_ms.map(ttl).into_iter().collect(),
            associated_cell_count: Some(mutation.cells.len() as i32),
        }),
        get: None,
    }
}

/// Takes the answer to a call apart.
fn outcomes(
    server: &str,
    places: &[Place],
    response: MultiResponse,
    mut cells: Bytes,
) -> Result<Vec<(usize, Result<Checked, Error>)>, Error> {
    if response.region_action_result.len() != places.len() {
        return Err(protocol(
            server,
            "a multi is answered with another number of results",
        ));
    }
    let mut outcomes = Vec::new();
    for (place, result) in places.iter().zip(response.region_action_result) {
        let RegionActionResult {
            result_or_exception,
            exception,
            processed,
        } = result;
        if let Some(exception) = exception {
            let error = remote(server, exception);
            outcomes.extend(place.requests.iter().map(|at| (*at, Err(error.clone()))));
            continue;
        }
        if place.has_condition {
            // Its mutations have one outcome, and at most an increment has a row.
            let mut outcome = Ok(Checked {
                processed: processed.unwrap_or(true),
                row: Row::default(),
            });
            for found in result_or_exception {
                match (found.exception, found.result) {
                    (Some(exception), _) => outcome = Err(remote(server, exception)),
                    (None, Some(result)) => {
                        let row = row_of(server, result, &mut cells)?;
                        if let Ok(checked) = &mut outcome {
                            checked.row.cells.extend(row.cells);
                        }
                    }
                    (None, None) => {}
                }
            }
            outcomes.extend(place.requests.iter().map(|at| (*at, outcome.clone())));
            continue;
        }
        let mut missing = place.requests.clone();
        for found in result_or_exception {
            let index = found.index.unwrap_or(0) as usize;
            let Some(at) = place.requests.get(index).copied() else {
                return Err(protocol(
                    server,
                    "a multi is answered with a result of no request",
                ));
            };
            missing.retain(|one| *one != at);
            let outcome = match (found.exception, found.result) {
                (Some(exception), _) => Err(remote(server, exception)),
                (None, result) => Ok(Checked {
                    processed: true,
                    row: row_of(server, result.unwrap_or_default(), &mut cells)?,
                }),
            };
            outcomes.push((at, outcome));
        }
        if !missing.is_empty() {
            return Err(protocol(server, "a multi is answered without some results"));
        }
    }
    match cells.is_empty() {
        true => Ok(outcomes),
        false => Err(protocol(
            server,
            "a multi is answered with more cells than it says",
        )),
    }
}

/// The row of a result: that of a conditional increment is in the message, all others are in the cell block.
fn row_of(server: &str, result: data::Result, cells: &mut Bytes) -> Result<Row, Error> {
    let mut row = Row {
        cells: result.cell.into_iter().map(Cell::from).collect(),
    };
    for _ in 0..result.associated_cell_count.unwrap_or(0) {
        row.cells
            .push(decode(cells).map_err(|reason| protocol(server, reason))?);
    }
    Ok(row)
}

fn remote(server: &str, exception: NameBytesPair) -> Error {
    let trace = String::from_utf8_lossy(&exception.value.unwrap_or_default()).into_owned();
    Error::Remote {
        server: server.to_string(),
        message: first_line(&trace, &exception.name),
        class: exception.name,
        do_not_retry: false,
    }
}
