//! The extended protocol: statements are prepared, bound to parameters, described and run in parts.

use std::sync::Arc;

use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::data::{NoData, ParameterDescription};
use pgwire::messages::extendedquery::{
    Bind, BindComplete, Close, CloseComplete, Describe, Execute, Parse, ParseComplete, PortalSuspended,
    TARGET_TYPE_BYTE_PORTAL, TARGET_TYPE_BYTE_STATEMENT,
};
use pgwire::messages::response::EmptyQueryResponse;
use rukh::{Description, Error, TransactionStatus};

use crate::protocol::messages;
use crate::protocol::output::{Format, write_row};
use crate::protocol::types::{WireType, wire_types};
use crate::sessions::portal::{Portal, Prepared, Run};
use crate::sessions::session::{Failure, Session};

/// The type of a Sync message.
const SYNC: u8 = b'S';

impl Session {
    /// Answers a message of the extended protocol.
    pub(crate) fn extended(&mut self, request: Request) -> Result<(), Failure> {
        match request {
            Request::Parse(parse) => self.prepare(parse),
            Request::Bind(bind) => self.bind(&bind),
            Request::Describe(describe) => self.describe(describe),
            Request::Execute(execute) => self.execute(execute),
            Request::Close(close) => self.close(close),
            // A client may not know yet that its COPY has ended.
            Request::CopyData(_) | Request::CopyDone(_) | Request::CopyFail(_) => Ok(()),
            _ => Err(Error::statement("08P01", "unexpected message type").into()),
        }
    }

    fn prepare(&mut self, message: Parse) -> Result<(), Failure> {
        let name = message.name.clone().unwrap_or_default();
        if !name.is_empty() {
            self.check_prepared()?;
            if self.prepared.contains_key(&name) {
                let message = format!("prepared statement \"{name}\" already exists");
                return Err(Error::statement("42P05", message).into());
            }
        }
        let (connection, parsed) = self.parser();
        let prepared = Prepared::parse(connection, message, |connection, sql| {
            Session::parse(connection, parsed, sql)
        })?;
        if !name.is_empty() {
            prepared.name(&mut self.connection, &name)?;
        }
        self.prepared.insert(name, Arc::new(prepared));
        Ok(self.wire.push(Message::ParseComplete(ParseComplete::new()))?)
    }

    fn prepared_named(&self, name: Option<&str>) -> Result<Arc<Prepared>, Error> {
        let name = name.unwrap_or_default();
        self.prepared.get(name).cloned().ok_or_else(|| {
            let message = match name {
                "" => "unnamed prepared statement does not exist".to_string(),
                name => format!("prepared statement \"{name}\" does not exist"),
            };
            Error::statement("26000", message)
        })
    }

    fn bind(&mut self, bind: &Bind) -> Result<(), Failure> {
        let name = bind.portal_name.clone().unwrap_or_default();
        let prepared = self.prepared_named(bind.statement_name.as_deref())?;
        if !name.is_empty() && self.portals.contains_key(&name) {
            let message = format!("cursor \"{name}\" already exists");
            return Err(Error::statement("42P03", message).into());
        }
        let portal = Portal::bind(&mut self.connection, prepared, bind)?;
        self.portals.insert(name, portal);
        Ok(self.wire.push(Message::BindComplete(BindComplete::new()))?)
    }

    fn describe(&mut self, describe: Describe) -> Result<(), Failure> {
        match describe.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                let prepared = self.prepared_named(describe.name.as_deref())?;
                let description = prepared.describe(&mut self.connection)?;
                let types = ParameterDescription::new(prepared.parameter_oids(&description));
                self.wire.push(Message::ParameterDescription(types))?;
                let columns = description.columns.as_ref().map_or(0, |columns| columns.len());
                self.tell_columns(&description, &vec![Format::Text; columns])
            }
            TARGET_TYPE_BYTE_PORTAL => {
                let name = describe.name.as_deref().unwrap_or_default();
                if !self.portals.contains_key(name)
                    && let Some(description) = self.cursor_description(name)?
                {
                    let columns = description.columns.as_ref().map_or(0, |columns| columns.len());
                    return self.tell_columns(&description, &vec![Format::Text; columns]);
                }
                let portal = self.portal_named(describe.name.as_deref())?;
                let (description, formats) = (portal.description.clone(), portal.formats()?);
                self.tell_columns(&description, &formats)
            }
            other => Err(bad_target("DESCRIBE", other).into()),
        }
    }

    /// Describes a cursor that SQL declared, which is a portal, too; `None` if there is none of this name.
    fn cursor_description(&mut self, name: &str) -> Result<Option<Arc<Description>>, Error> {
        if name.is_empty() {
            return Ok(None);
        }
        let fetch = self
            .connection
            .prepare(&format!("FETCH NEXT FROM {}", quoted(name)))?;
        match self.connection.describe(&fetch, &[]) {
            Ok(description) => Ok(Some(description)),
            Err(error) if error.sqlstate == NO_CURSOR => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Closes a cursor that SQL declared; none of this name is no error.
    fn close_cursor(&mut self, name: &str) -> Result<(), Error> {
        match self.connection.execute(&format!("CLOSE {}", quoted(name))) {
            Err(error) if error.sqlstate != NO_CURSOR => Err(error),
            _ => Ok(()),
        }
    }

    fn tell_columns(&mut self, description: &Description, formats: &[Format]) -> Result<(), Failure> {
        let message = match &description.columns {
            Some(columns) => {
                self.check_width(columns.len())?;
                messages::columns(columns, formats)
            }
            None => Message::NoData(NoData::new()),
        };
        Ok(self.wire.push(message)?)
    }

    fn portal_named(&mut self, name: Option<&str>) -> Result<&mut Portal, Error> {
        let name = name.unwrap_or_default();
        let found = self.portals.get_mut(name);
        found.ok_or_else(|| Error::statement("34000", format!("portal \"{name}\" does not exist")))
    }

    fn execute(&mut self, execute: Execute) -> Result<(), Failure> {
        let name = execute.name.unwrap_or_default();
        self.portal_named(Some(&name))?;
        // It is put back unless the statement fails, or ends the transaction.
        let Some(mut portal) = self.portals.remove(&name) else {
            return Ok(());
        };
        let rows_max = u64::try_from(execute.max_rows).ok().filter(|rows| *rows > 0);
        let prepared = portal.prepared.clone();
        let text = prepared
            .statement
            .as_ref()
            .map_or("", |statement| statement.sql());
        let result = self.timed(text, |session| session.run_portal(&mut portal, rows_max));
        if result.is_ok() {
            self.portals.insert(name, portal);
        }
        result
    }

    fn run_portal(&mut self, portal: &mut Portal, rows_max: Option<u64>) -> Result<(), Failure> {
        match &portal.run {
            Run::Ready => self.start_portal(portal)?,
            Run::Rows { .. } => {}
            // A query has no rows left, which is no error.
            Run::Over(tag) => return Ok(self.wire.push(messages::complete(tag, 0))?),
            Run::Done => {
                let message = "portal cannot be run anymore";
                return Err(Error::statement("55000", message).into());
            }
        }
        if matches!(portal.run, Run::Rows { .. }) {
            self.send_part(portal, rows_max)?;
        }
        Ok(())
    }

    /// Runs the statement of a portal, up to its first row.
    fn start_portal(&mut self, portal: &mut Portal) -> Result<(), Failure> {
        let prepared = portal.prepared.clone();
        let (Some(statement), Some(kind)) = (&prepared.statement, prepared.kind()) else {
            portal.run = Run::Done;
            return Ok(self
                .wire
                .push(Message::EmptyQueryResponse(EmptyQueryResponse::new()))?);
        };
        if let Some(done) = self.deallocate(statement.sql())? {
            portal.run = Run::Done;
            return Ok(self.wire.push(done)?);
        }
        // Outside of a block it matters whether anything else comes before the Sync.
        let idle = self.connection.transaction_status() == TransactionStatus::Idle;
        let alone = !idle || self.wire.peek_type()? == SYNC;
        portal.run = Run::Done;
        if let Some(tag) = self.before(kind, alone)? {
            self.wire.push(messages::complete(tag, 0))?;
            return Ok(self.after(kind)?);
        }
        if statement.is_client_copy() {
            self.copy(statement)?;
            return Ok(self.after(kind)?);
        }
        let mut outcome = portal.execute(&mut self.connection, statement)?;
        self.tell(std::mem::take(&mut outcome.notices))?;
        match outcome.rows.take() {
            None => self.complete(outcome, 0)?,
            Some(rows) => {
                portal.run = Run::Rows {
                    rows: Box::new(rows),
                    next: None,
                    tag: outcome.tag,
                };
            }
        }
        Ok(self.after(kind)?)
    }

    /// Sends the rows of a portal: all of them, or `rows_max`.
    fn send_part(&mut self, portal: &mut Portal, rows_max: Option<u64>) -> Result<(), Failure> {
        let formats = portal.formats()?;
        let style = self.interval_style()?;
        let Run::Rows { rows, next, tag } = &mut portal.run else {
            return Ok(());
        };
        let mut types = wire_types(rows.columns());
        // Types as the client has them from Describe: a column described as a name may hold any text.
        for (wire, described) in types.iter_mut().zip(
            portal
                .description
                .columns
                .iter()
                .flat_map(|described| described.iter()),
        ) {
            wire.oid = WireType::from(described).oid;
        }
        let mut sent = 0;
        loop {
            let row = match next.take() {
                Some(row) => Some(row),
                None => rows.next_row()?,
            };
            let Some(row) = row else { break };
            if rows_max.is_some_and(|max| sent == max) {
                *next = Some(row);
                return Ok(self.wire.push(Message::PortalSuspended(PortalSuspended::new()))?);
            }
            write_row(&row, &types, &formats, style, &mut self.wire.output);
            sent += 1;
            if self.wire.send_when_full(&self.slot.cancel)? {
                self.check_cancelled()?;
            }
        }
        let tag = std::mem::take(tag);
        self.wire.push(messages::complete(&tag, sent))?;
        portal.run = Run::Over(tag);
        Ok(())
    }

    fn close(&mut self, close: Close) -> Result<(), Failure> {
        let name = close.name.unwrap_or_default();
        match close.target_type {
            TARGET_TYPE_BYTE_STATEMENT => {
                if self.prepared.remove(&name).is_some() {
                    self.connection.forget_prepared(&name);
                }
            }
            TARGET_TYPE_BYTE_PORTAL => {
                let is_portal = self.portals.remove(&name).is_some();
                let is_aborted = self.connection.transaction_status() == TransactionStatus::Aborted;
                if !is_portal && !name.is_empty() && !is_aborted {
                    self.close_cursor(&name)?;
                }
            }
            other => return Err(bad_target("CLOSE", other).into()),
        }
        Ok(self.wire.push(Message::CloseComplete(CloseComplete::new()))?)
    }
}

/// SQLSTATE of a cursor that is not there.
const NO_CURSOR: &str = "34000";

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn bad_target(what: &str, target: u8) -> Error {
    Error::statement("08P01", format!("invalid {what} message subtype {target}"))
}
