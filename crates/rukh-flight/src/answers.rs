//! What the calls of Flight SQL have in common: answers with tickets, batches as messages, statements at their places.

use std::sync::Arc;

use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{CommandPreparedStatementQuery, CommandStatementQuery, ProstMessageExt};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use prost::Message;
use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::{Schema, SchemaRef};
use rukh::{Connection, Error, StatementKind};
use tonic::{Request, Response, Status};

use crate::error::{malformed, status};
use crate::prepared::{Call, PreparedStatement, check_kind};
use crate::run::{run, stream};
use crate::service::{DoGetStream, Service};
use crate::session::{Place, Session};
use crate::shown::metadata::{self, Of};

/// What a query gives: its schema, or, when it has run, how many rows it has changed.
pub(crate) enum Outcome {
    Rows(SchemaRef),
    Changed(i64),
}

/// What a ticket says is to be run.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct QueryTicket {
    #[prost(string, tag = "1")]
    pub(crate) query: String,
    #[prost(bytes = "bytes", optional, tag = "2")]
    pub(crate) transaction: Option<Bytes>,
    /// For statements that write: it is run once.
    #[prost(bytes = "bytes", optional, tag = "3")]
    pub(crate) once: Option<Bytes>,
}

/// Names a savepoint of a transaction.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SavepointHandle {
    #[prost(bytes = "bytes", tag = "1")]
    pub(crate) transaction: Bytes,
    #[prost(string, tag = "2")]
    pub(crate) name: String,
}

impl Service {
    pub(crate) async fn session<T>(&self, request: &Request<T>) -> Result<Arc<Session>, Status> {
        self.sessions
            .of_call(request.metadata(), request.extensions())
            .await
    }

    /// Returns the schema of a query; runs it if it gives no rows.
    pub(crate) async fn tell(
        &self,
        session: &Arc<Session>,
        place: Place,
        call: Call,
    ) -> Result<Outcome, Status> {
        let text = call.statement.get().sql().to_string();
        let (of, at) = (session.clone(), place.clone());
        let work = move |connection: &mut Connection| match call.schema(connection)? {
            Some(schema) => Ok(Outcome::Rows(schema)),
            None => {
                let (reporter, text) = (of.clone(), call.statement.get().sql().to_string());
                let changed =
                    reporter.reporting(connection, &text, |connection| update(&of, &at, connection, call));
                changed.map(Outcome::Changed)
            }
        };
        run(session, place, &text, work).await
    }

    /// Makes the answer to GetFlightInfo.
    pub(crate) fn info(
        &self,
        outcome: &Outcome,
        ticket: impl Into<Bytes>,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, Status> {
        let info = FlightInfo::new().with_descriptor(descriptor).with_ordered(true);
        match outcome {
            Outcome::Rows(schema) => with_schema(info, schema, ticket.into()),
            // Nothing is to be fetched.
            Outcome::Changed(count) => {
                let info = info.with_total_records(*count);
                let info = info.try_with_schema(&Schema::empty());
                info.map_err(|error| malformed(error.to_string()))
            }
        }
    }

    /// Returns the schema of a query, which does not run.
    pub(crate) async fn described<T>(
        &self,
        request: &Request<T>,
        query: CommandStatementQuery,
    ) -> Result<SchemaRef, Status> {
        let session = self.session(request).await?;
        let place = at(&session, query.transaction_id.as_ref())?;
        let text = query.query.clone();
        let described = run(&session, place, &text, move |connection| {
            let statement = connection.prepare(&query.query)?;
            Call::plain(statement).schema(connection)
        });
        Ok(described.await?.unwrap_or_else(|| Arc::new(Schema::empty())))
    }

    /// Returns the schema of a prepared query, which does not run.
    pub(crate) async fn described_prepared<T>(
        &self,
        request: &Request<T>,
        query: CommandPreparedStatementQuery,
    ) -> Result<SchemaRef, Status> {
        let session = self.session(request).await?;
        let (prepared, place) = prepared(&session, &query.prepared_statement_handle)?;
        let call = prepared.call();
        let text = call.statement.get().sql().to_string();
        let described = run(&session, place, &text, move |connection| call.schema(connection));
        Ok(described.await?.unwrap_or_else(|| Arc::new(Schema::empty())))
    }

    pub(crate) async fn fetch(
        &self,
        session: &Arc<Session>,
        place: Place,
        call: impl FnOnce(&mut Connection) -> Result<Call, Error> + Send + 'static,
        text: &str,
        ticket: Bytes,
    ) -> Result<Response<DoGetStream>, Status> {
        let begin = move |connection: &mut Connection| call(connection)?.begin(connection);
        let (schema, batches) = stream(session, place, text, Some(ticket), begin).await?;
        Ok(send(schema, batches))
    }

    /// Runs something on a connection of its own, and sends its one batch.
    pub(crate) async fn batch<T>(
        &self,
        request: &Request<T>,
        text: &str,
        work: impl FnOnce(&mut Connection) -> Result<RecordBatch, Error> + Send + 'static,
    ) -> Result<Response<DoGetStream>, Status> {
        let session = self.session(request).await?;
        let batch = run(&session, Place::Alone, text, work).await?;
        Ok(one(batch))
    }

    /// Answers GetFlightInfo for what is fetched by the command itself.
    pub(crate) async fn catalog_info(
        &self,
        command: impl ProstMessageExt,
        schema: &Schema,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.session(&request).await?;
        let info = FlightInfo::new().with_descriptor(request.into_inner());
        let ticket = command.as_any().encode_to_vec();
        with_schema(info, schema, ticket.into()).map(Response::new)
    }

    pub(crate) async fn foreign_keys<T>(
        &self,
        request: &Request<T>,
        text: &str,
        (referenced, referencing): (Of, Of),
    ) -> Result<Response<DoGetStream>, Status> {
        let keys =
            move |connection: &mut Connection| metadata::foreign_keys(connection, &referenced, &referencing);
        self.batch(request, text, keys).await
    }
}

pub(crate) fn with_schema(info: FlightInfo, schema: &Schema, ticket: Bytes) -> Result<FlightInfo, Status> {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    let info = info.with_endpoint(endpoint).try_with_schema(schema);
    info.map_err(|error| malformed(error.to_string()))
}

pub(crate) fn at(session: &Session, transaction: Option<&Bytes>) -> Result<Place, Status> {
    session.place(transaction).map_err(|error| status(&error))
}

pub(crate) fn prepared(session: &Session, handle: &Bytes) -> Result<(Arc<PreparedStatement>, Place), Status> {
    let prepared = session.prepared(handle).map_err(|error| status(&error))?;
    let place = at(session, prepared.transaction.as_ref())?;
    Ok((prepared, place))
}

/// Runs a statement for what it changes, and keeps what it sets.
pub(crate) fn update(
    session: &Session,
    place: &Place,
    connection: &mut Connection,
    call: Call,
) -> Result<i64, Error> {
    check_kind(call.statement.get(), place)?;
    let statement = call.statement.clone();
    let count = call.update(place, connection)?;
    if statement.get().kind() == StatementKind::Setting {
        session.set(place, statement.get().sql().to_string())?;
    }
    Ok(count)
}

/// Sends batches as messages.
pub(crate) fn send(
    schema: SchemaRef,
    batches: impl Stream<Item = Result<RecordBatch, Status>> + Send + 'static,
) -> Response<DoGetStream> {
    let batches = batches.map_err(|status| FlightError::Tonic(Box::new(status)));
    let messages = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
    Response::new(messages.map_err(Status::from).boxed())
}

pub(crate) fn one(batch: RecordBatch) -> Response<DoGetStream> {
    send(batch.schema(), futures::stream::once(async { Ok(batch) }))
}

pub(crate) fn built(batch: Result<RecordBatch, FlightError>) -> Result<Response<DoGetStream>, Status> {
    batch.map(one).map_err(Status::from)
}

/// Runs a statement that nothing is wanted of.
pub(crate) async fn execute(session: &Arc<Session>, place: Place, statement: String) -> Result<(), Status> {
    let text = statement.clone();
    run(session, place, &text, move |connection| {
        connection.execute(&statement).map(drop)
    })
    .await
}

/// Waits for a statement while it is fed; what has not been taken when it ends is not waited for.
pub(crate) async fn fed<T>(
    running: impl Future<Output = Result<T, Status>>,
    feeding: impl Future<Output = ()>,
) -> Result<T, Status> {
    tokio::pin!(running);
    tokio::select! {
        result = &mut running => result,
        () = feeding => running.await,
    }
}

/// Cancels what the tickets of an answer have started; returns whether anything ran.
pub(crate) fn cancel(session: &Session, info: &FlightInfo) -> bool {
    let tickets = info
        .endpoint
        .iter()
        .filter_map(|endpoint| endpoint.ticket.as_ref());
    let cancelled = tickets.filter(|ticket| session.cancel(Some(&ticket.ticket)));
    cancelled.count() > 0
}
