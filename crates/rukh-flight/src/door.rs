//! The calls of Flight: those of Flight SQL, and GetSchema, which arrow-flight leaves out.

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::{Any, Command};
use arrow_flight::{
    Action, Criteria, Empty, FlightData, FlightDescriptor, FlightInfo, HandshakeRequest, PollInfo,
    SchemaResult, Ticket,
};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use crate::error::{malformed, status};
use crate::service::Service;
use crate::shown::schema;

/// The calls of Flight.
pub(crate) struct Door(pub(crate) Service);

/// What the calls of Flight SQL give.
type Of = Service;

#[tonic::async_trait]
impl FlightService for Door {
    type HandshakeStream = <Of as FlightService>::HandshakeStream;
    type ListFlightsStream = <Of as FlightService>::ListFlightsStream;
    type DoGetStream = <Of as FlightService>::DoGetStream;
    type DoPutStream = <Of as FlightService>::DoPutStream;
    type DoExchangeStream = <Of as FlightService>::DoExchangeStream;
    type DoActionStream = <Of as FlightService>::DoActionStream;
    type ListActionsStream = <Of as FlightService>::ListActionsStream;

    async fn handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Self::HandshakeStream>, Status> {
        self.0.handshake(request).await
    }

    async fn list_flights(
        &self,
        request: Request<Criteria>,
    ) -> Result<Response<Self::ListFlightsStream>, Status> {
        self.0.list_flights(request).await
    }

    async fn get_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.0.get_flight_info(request).await
    }

    async fn poll_flight_info(
        &self,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<PollInfo>, Status> {
        self.0.poll_flight_info(request).await
    }

    async fn get_schema(&self, request: Request<FlightDescriptor>) -> Result<Response<SchemaResult>, Status> {
        let message = Any::decode(&*request.get_ref().cmd);
        let message = message.map_err(|error| malformed(error.to_string()))?;
        let command = Command::try_from(message).map_err(|error| malformed(error.to_string()))?;
        let schema = match command {
            Command::CommandStatementQuery(query) => self.0.described(&request, query).await?,
            Command::CommandPreparedStatementQuery(query) => {
                self.0.described_prepared(&request, query).await?
            }
            // They run nothing, and say their schema.
            _ => {
                let info = self.0.get_flight_info(request).await?.into_inner();
                return Ok(Response::new(SchemaResult { schema: info.schema }));
            }
        };
        let schema = schema::encoded(&schema).map_err(|error| status(&error))?;
        Ok(Response::new(SchemaResult { schema }))
    }

    async fn do_get(&self, request: Request<Ticket>) -> Result<Response<Self::DoGetStream>, Status> {
        self.0.do_get(request).await
    }

    async fn do_put(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoPutStream>, Status> {
        self.0.do_put(request).await
    }

    async fn do_exchange(
        &self,
        request: Request<Streaming<FlightData>>,
    ) -> Result<Response<Self::DoExchangeStream>, Status> {
        self.0.do_exchange(request).await
    }

    async fn do_action(&self, request: Request<Action>) -> Result<Response<Self::DoActionStream>, Status> {
        self.0.do_action(request).await
    }

    async fn list_actions(
        &self,
        request: Request<Empty>,
    ) -> Result<Response<Self::ListActionsStream>, Status> {
        self.0.list_actions(request).await
    }
}
