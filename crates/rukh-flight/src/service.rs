//! The calls of Flight SQL.
//!
//! | call                                  | what happens                                                        |
//! |---------------------------------------|---------------------------------------------------------------------|
//! | GetFlightInfo of a query              | it is described; its ticket says what to run                        |
//! | … of a statement that gives no rows   | it runs at once; there is nothing to fetch                          |
//! | DoGet                                 | the query runs; its batches are sent as they are made               |
//! | … of a write that gives rows          | the same, once                                                      |
//! | DoPut                                 | parameters are bound, updates run, rows are loaded                  |

use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::flight_service_server::FlightService;
use arrow_flight::sql::metadata::{SqlInfoData, XdbcTypeInfoData};
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionRequest,
    ActionBeginTransactionResult, ActionCancelQueryRequest, ActionCancelQueryResult,
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, ActionEndSavepointRequest, ActionEndTransactionRequest,
    CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys,
    CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables,
    CommandGetXdbcTypeInfo, CommandPreparedStatementQuery, CommandPreparedStatementUpdate,
    CommandStatementIngest, CommandStatementQuery, CommandStatementUpdate, DoPutPreparedStatementResult,
    EndTransaction, ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightDescriptor,
    FlightInfo, HandshakeRequest, HandshakeResponse, Ticket,
};
use bytes::Bytes;
use futures::{Stream, TryStreamExt};
use prost::Message;
use rukh::{Connection, Error, StatementKind};
use tokio::sync::mpsc;
use tonic::{Request, Response, Status, Streaming};

use crate::answers::{
    Outcome, QueryTicket, SavepointHandle, at, built, cancel, execute, fed, prepared, update,
};
use crate::error::{malformed, status};
use crate::held::shared;
use crate::ingest::{Ingest, Messages, feed};
use crate::prepared::{Call, PreparedStatement, check_kind, update_each};
use crate::run::run;
use crate::sessions::Sessions;
use crate::shown::metadata::Of;
use crate::shown::names::quoted;
use crate::{authentication, parameters, shown::metadata, shown::schema};

/// What batches are sent as.
pub(crate) type DoGetStream = <Service as FlightService>::DoGetStream;

/// Batches of a client that wait for their statement.
const WAITING_MAX: usize = 2;

/// Values of Flight SQL's `EndSavepoint`.
const RELEASE: i32 = 1;
const ROLL_BACK: i32 = 2;
/// Values of Flight SQL's `CancelResult`.
const CANCELLED: i32 = 1;
const NOT_CANCELLABLE: i32 = 3;

/// The calls of Flight SQL over a database.
pub(crate) struct Service {
    pub(crate) sessions: Arc<Sessions>,
    pub(crate) sql_info: SqlInfoData,
    pub(crate) type_info: XdbcTypeInfoData,
    /// Most bytes of the parameters that are bound for a query.
    pub(crate) bound_bytes_max: usize,
}

/// The answer to CloseSession.
#[derive(Clone, PartialEq, prost::Message)]
struct CloseSessionResult {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// The session is closed.
const CLOSED: i32 = 1;

#[tonic::async_trait]
impl FlightSqlService for Service {
    type FlightService = Service;

    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>>, Status> {
        let token = self
            .sessions
            .log_in(request.metadata(), request.extensions())
            .await?;
        let response = HandshakeResponse {
            protocol_version: 0,
            payload: Bytes::from(token.clone()),
        };
        let answer = futures::stream::once(async { Ok(response) });
        let mut response: Response<Pin<Box<dyn Stream<Item = _> + Send>>> = Response::new(Box::pin(answer));
        let header = authentication::bearer(&token).parse();
        let header = header.map_err(|_| malformed("the token is not readable"))?;
        response.metadata_mut().insert("authorization", header);
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let session = self.session(&request).await?;
        let place = at(&session, query.transaction_id.as_ref())?;
        let CommandStatementQuery {
            query,
            transaction_id,
        } = query;
        let (text, of, here) = (query.clone(), session.clone(), place.clone());
        let outcome = run(&session, place, &text, move |connection| {
            let call = Call::plain(connection.prepare(&query)?);
            let kind = call.statement.get().kind();
            match call.schema(connection)? {
                Some(schema) => Ok((Outcome::Rows(schema), kind)),
                None => Ok((Outcome::Changed(update(&of, &here, connection, call)?), kind)),
            }
        });
        let (outcome, kind) = outcome.await?;
        let once = match (&outcome, kind) {
            (Outcome::Rows(_), StatementKind::Write) => {
                let once = self.sessions.handle()?;
                session.add_ticket(once.clone()).map_err(|error| status(&error))?;
                Some(once)
            }
            _ => None,
        };
        let handle = QueryTicket {
            query: text,
            transaction: transaction_id,
            once,
        };
        let ticket = TicketStatementQuery {
            statement_handle: handle.encode_to_vec().into(),
        };
        let ticket = ticket.as_any().encode_to_vec();
        self.info(&outcome, ticket, request.into_inner())
            .map(Response::new)
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let session = self.session(&request).await?;
        let (prepared, place) = prepared(&session, &query.prepared_statement_handle)?;
        let outcome = self.tell(&session, place, prepared.call()).await?;
        let ticket = query.as_any().encode_to_vec();
        self.info(&outcome, ticket, request.into_inner())
            .map(Response::new)
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        let session = self.session(&request).await?;
        let handle = QueryTicket::decode(ticket.statement_handle);
        let handle = handle.map_err(|_| malformed("the ticket is none of this server"))?;
        let place = at(&session, handle.transaction.as_ref())?;
        let (text, of) = (handle.query.clone(), session.clone());
        let call = move |connection: &mut Connection| {
            let statement = connection.prepare(&handle.query)?;
            match (statement.kind(), &handle.once) {
                (StatementKind::Read, _) => {}
                (_, Some(once)) => of.use_ticket(once)?,
                (_, None) => return Err(Error::statement("08P01", "the ticket is none of this server")),
            }
            Ok(Call::plain(statement))
        };
        self.fetch(&session, place, call, &text, request.into_inner().ticket)
            .await
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        let session = self.session(&request).await?;
        let (prepared, place) = prepared(&session, &query.prepared_statement_handle)?;
        let call = prepared.call();
        let text = call.statement.get().sql().to_string();
        self.fetch(
            &session,
            place,
            move |_| Ok(call),
            &text,
            request.into_inner().ticket,
        )
        .await
    }

    async fn do_put_statement_update(
        &self,
        command: CommandStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(&request).await?;
        let place = at(&session, command.transaction_id.as_ref())?;
        let (text, of, here) = (command.query.clone(), session.clone(), place.clone());
        run(&session, place, &text, move |connection| {
            let reporter = of.clone();
            reporter.reporting(connection, &command.query, |connection| {
                let statement = connection.prepare(&command.query)?;
                update(&of, &here, connection, Call::plain(statement))
            })
        })
        .await
    }

    async fn do_put_statement_ingest(
        &self,
        command: CommandStatementIngest,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(&request).await?;
        let place = at(&session, command.transaction_id.as_ref())?;
        let mut stream = request.into_inner();
        let first = match stream.peek().await {
            Some(Ok(first)) => first.clone(),
            Some(Err(status)) => return Err(status.clone()),
            None => return Err(malformed("nothing was sent")),
        };
        let text = format!("COPY {} FROM STDIN", quoted(&command.table));
        let ingest = Ingest::new(command, &first)?;
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let (reporter, loaded) = (session.clone(), text.clone());
        let loading = run(&session, place, &text, move |connection| {
            reporter.reporting(connection, &loaded, |connection| {
                let mut messages = Messages::new(receiver, connection);
                ingest.run(connection, &mut messages)
            })
        });
        fed(loading, feed(stream, sender)).await
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let session = self.session(&request).await?;
        let (prepared, _) = prepared(&session, &query.prepared_statement_handle)?;
        let mut batches = parameters::batches(request.into_inner());
        let (mut bound, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = batches.try_next().await? {
            bytes += batch.get_array_memory_size();
            if bytes > self.bound_bytes_max {
                let message = "the parameters of a query are too long";
                return Err(status(&Error::statement("54000", message)));
            }
            bound.push(batch);
        }
        prepared.bind(bound);
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: None,
        })
    }

    async fn do_put_prepared_statement_update(
        &self,
        query: CommandPreparedStatementUpdate,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        let session = self.session(&request).await?;
        let (prepared, place) = prepared(&session, &query.prepared_statement_handle)?;
        let (sender, receiver) = mpsc::channel(WAITING_MAX);
        let call = prepared.call();
        let text = call.statement.get().sql().to_string();
        let (of, here) = (session.clone(), place.clone());
        let (reporter, updated) = (session.clone(), text.clone());
        let updating = run(&session, place, &text, move |connection| {
            reporter.reporting(connection, &updated, |connection| {
                check_kind(call.statement.get(), &here)?;
                if call.statement.get().kind() == StatementKind::Setting {
                    return update(&of, &here, connection, call);
                }
                update_each(&here, call, connection, receiver)
            })
        });
        let batches = parameters::batches(request.into_inner());
        fed(updating, feed(batches, sender)).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let session = self.session(&request).await?;
        let place = at(&session, query.transaction_id.as_ref())?;
        let ActionCreatePreparedStatementRequest {
            query,
            transaction_id,
        } = query;
        let text = query.clone();
        let described = run(&session, place, &text, move |connection| {
            let statement = connection.prepare(&query)?;
            let description = connection.describe(&statement, &[])?;
            let dataset = description.schema.as_deref().map(schema::as_sent);
            let dataset = dataset.map(|schema| schema::encoded(&schema)).transpose()?;
            let parameters = schema::encoded(&parameters::schema(&description))?;
            Ok((shared(statement), dataset.unwrap_or_default(), parameters))
        });
        let (statement, dataset_schema, parameter_schema) = described.await?;
        let handle = self.sessions.handle()?;
        let prepared = PreparedStatement::new(statement, transaction_id);
        let added = session.add_prepared(handle.clone(), prepared);
        added.map_err(|error| status(&error))?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: handle,
            dataset_schema,
            parameter_schema,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        query: ActionClosePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<(), Status> {
        let session = self.session(&request).await?;
        session.close_prepared(&query.prepared_statement_handle);
        Ok(())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        request: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        let session = self.session(&request).await?;
        let id = self.sessions.handle()?;
        let begun = session.begin_transaction(id.clone());
        begun.map_err(|error| status(&error))?;
        Ok(ActionBeginTransactionResult { transaction_id: id })
    }

    async fn do_action_end_transaction(
        &self,
        query: ActionEndTransactionRequest,
        request: Request<Action>,
    ) -> Result<(), Status> {
        let session = self.session(&request).await?;
        let commit = match EndTransaction::try_from(query.action) {
            Ok(EndTransaction::Commit) => true,
            Ok(EndTransaction::Rollback) => false,
            _ => return Err(malformed("a transaction ends by a commit or is rolled back")),
        };
        let id = query.transaction_id;
        // It must not be cut short when the client goes: a commit is whole.
        let ending = tokio::task::spawn_blocking(move || session.end_transaction(&id, commit));
        let ended = ending.await;
        let ended = ended.unwrap_or_else(|_| Err(Error::internal("the commit broke off")));
        ended.map_err(|error| status(&error))
    }

    async fn do_action_begin_savepoint(
        &self,
        query: ActionBeginSavepointRequest,
        request: Request<Action>,
    ) -> Result<ActionBeginSavepointResult, Status> {
        let session = self.session(&request).await?;
        if query.transaction_id.is_empty() {
            return Err(malformed("a savepoint is one of a transaction"));
        }
        let place = at(&session, Some(&query.transaction_id))?;
        let handle = SavepointHandle {
            transaction: query.transaction_id,
            name: query.name,
        };
        let savepoint = format!("SAVEPOINT {}", quoted(&handle.name));
        execute(&session, place, savepoint).await?;
        Ok(ActionBeginSavepointResult {
            savepoint_id: handle.encode_to_vec().into(),
        })
    }

    async fn do_action_end_savepoint(
        &self,
        query: ActionEndSavepointRequest,
        request: Request<Action>,
    ) -> Result<(), Status> {
        let session = self.session(&request).await?;
        let handle = SavepointHandle::decode(query.savepoint_id);
        let handle = handle.map_err(|_| malformed("the savepoint is none of this server"))?;
        let place = at(&session, Some(&handle.transaction))?;
        let name = quoted(&handle.name);
        let statement = match query.action {
            RELEASE => format!("RELEASE SAVEPOINT {name}"),
            ROLL_BACK => format!("ROLLBACK TO SAVEPOINT {name}"),
            _ => return Err(malformed("a savepoint is released or rolled back to")),
        };
        execute(&session, place, statement).await
    }

    async fn do_action_cancel_query(
        &self,
        query: ActionCancelQueryRequest,
        request: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        let session = self.session(&request).await?;
        let info = FlightInfo::decode(query.info);
        let info = info.map_err(|_| malformed("what to cancel is not understood"))?;
        let result = match cancel(&session, &info) {
            true => CANCELLED,
            false => NOT_CANCELLABLE,
        };
        Ok(ActionCancelQueryResult { result })
    }

    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<<Self as FlightService>::DoActionStream>, Status> {
        let session = self.session(&request).await?;
        let action = request.into_inner();
        let body = match action.r#type.as_str() {
            "CancelFlightInfo" => {
                let request = CancelFlightInfoRequest::decode(action.body);
                let request = request.map_err(|_| malformed("what to cancel is not understood"))?;
                let cancelled = request.info.is_some_and(|info| cancel(&session, &info));
                let result = CancelFlightInfoResult::new(match cancelled {
                    true => CancelStatus::Cancelled,
                    false => CancelStatus::NotCancellable,
                });
                result.encode_to_vec()
            }
            "CloseSession" => {
                self.sessions.close(&session);
                CloseSessionResult { status: CLOSED }.encode_to_vec()
            }
            other => {
                let message = format!("the action \"{other}\" is not supported");
                return Err(status(&Error::unsupported(message)));
            }
        };
        let result = arrow_flight::Result::new(body);
        Ok(Response::new(Box::pin(futures::stream::once(async {
            Ok(result)
        }))))
    }

    async fn list_custom_actions(&self) -> Option<Vec<Result<ActionType, Status>>> {
        let action = |name: &str, description: &str| {
            Ok(ActionType {
                r#type: name.to_string(),
                description: description.to_string(),
            })
        };
        Some(vec![
            action("CancelFlightInfo", "Cancels what a ticket has started."),
            action("CloseSession", "Ends the session, and all that it has open."),
        ])
    }

    async fn get_flight_info_catalogs(
        &self,
        command: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let schema = command.into_builder().schema();
        self.catalog_info(command, &schema, request).await
    }

    async fn do_get_catalogs(
        &self,
        command: CommandGetCatalogs,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.session(&request).await?;
        let mut builder = command.into_builder();
        builder.append(metadata::CATALOG);
        built(builder.build())
    }

    async fn get_flight_info_schemas(
        &self,
        command: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let schema = command.clone().into_builder().schema();
        self.catalog_info(command, &schema, request).await
    }

    async fn do_get_schemas(
        &self,
        command: CommandGetDbSchemas,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.batch(&request, "GetDbSchemas", |connection| {
            metadata::schemas(connection, command.into_builder())
        })
        .await
    }

    async fn get_flight_info_tables(
        &self,
        command: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let schema = command.clone().into_builder().schema();
        self.catalog_info(command, &schema, request).await
    }

    async fn do_get_tables(
        &self,
        command: CommandGetTables,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.batch(&request, "GetTables", |connection| {
            metadata::tables(connection, command)
        })
        .await
    }

    async fn get_flight_info_table_types(
        &self,
        command: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let schema = command.into_builder().schema();
        self.catalog_info(command, &schema, request).await
    }

    async fn do_get_table_types(
        &self,
        command: CommandGetTableTypes,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.session(&request).await?;
        let mut builder = command.into_builder();
        metadata::TABLE_TYPES.iter().for_each(|kind| builder.append(kind));
        built(builder.build())
    }

    async fn get_flight_info_sql_info(
        &self,
        command: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &self.sql_info.schema(), request).await
    }

    async fn do_get_sql_info(
        &self,
        command: CommandGetSqlInfo,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.session(&request).await?;
        built(command.into_builder(&self.sql_info).build())
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        command: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &self.type_info.schema(), request)
            .await
    }

    async fn do_get_xdbc_type_info(
        &self,
        command: CommandGetXdbcTypeInfo,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.session(&request).await?;
        built(command.into_builder(&self.type_info).build())
    }

    async fn get_flight_info_primary_keys(
        &self,
        command: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &metadata::primary_key_schema(), request)
            .await
    }

    async fn do_get_primary_keys(
        &self,
        command: CommandGetPrimaryKeys,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        self.batch(&request, "GetPrimaryKeys", move |connection| {
            metadata::primary_keys(connection, &command)
        })
        .await
    }

    async fn get_flight_info_exported_keys(
        &self,
        command: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &metadata::foreign_key_schema(), request)
            .await
    }

    async fn do_get_exported_keys(
        &self,
        command: CommandGetExportedKeys,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        let of = (Of::new(command.db_schema, command.table), Of::default());
        self.foreign_keys(&request, "GetExportedKeys", of).await
    }

    async fn get_flight_info_imported_keys(
        &self,
        command: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &metadata::foreign_key_schema(), request)
            .await
    }

    async fn do_get_imported_keys(
        &self,
        command: CommandGetImportedKeys,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        let of = (Of::default(), Of::new(command.db_schema, command.table));
        self.foreign_keys(&request, "GetImportedKeys", of).await
    }

    async fn get_flight_info_cross_reference(
        &self,
        command: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        self.catalog_info(command, &metadata::foreign_key_schema(), request)
            .await
    }

    async fn do_get_cross_reference(
        &self,
        command: CommandGetCrossReference,
        request: Request<Ticket>,
    ) -> Result<Response<DoGetStream>, Status> {
        let referenced = Of::new(command.pk_db_schema, command.pk_table);
        let referencing = Of::new(command.fk_db_schema, command.fk_table);
        self.foreign_keys(&request, "GetCrossReference", (referenced, referencing))
            .await
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
