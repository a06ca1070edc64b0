//! COPY FROM STDIN and COPY TO STDOUT: rows as CopyData messages.
//!
//! | from the client    | during COPY FROM STDIN                                   |
//! |--------------------|----------------------------------------------------------|
//! | CopyData           | bytes of the file, cut wherever the client likes         |
//! | CopyDone           | its end                                                  |
//! | CopyFail           | the statement fails with 57014                           |
//! | Flush, Sync        | nothing: clients send them ahead                         |
//! | anything else      | the statement fails with 08P01                           |
//!
//! What a client sends after the statement has failed is passed over, up to the Sync in the extended protocol.
//! Rows go in and out as they come: no more of them is held than a message and what the statement holds.

use std::io;

use bytes::{Buf, BufMut, Bytes};
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::copy::{CopyDone, CopyInResponse, CopyOutResponse};
use rukh::{CopyClient, CopyShape, Error, Statement};

use crate::clients::registry::Slot;
use crate::protocol::output::Format;
use crate::protocol::wire::{LOOK, Wire, WireError};
use crate::sessions::session::{Failure, Session};

impl Session {
    /// Runs a COPY with the client at its other end.
    pub(crate) fn copy(&mut self, statement: &Statement) -> Result<(), Failure> {
        let mut client = Client {
            wire: &mut self.wire,
            slot: &self.slot,
            waiting: Bytes::new(),
            ended: false,
            is_taking: false,
            failed: None,
        };
        let result = self.connection.execute_copy(statement, &mut client);
        let (is_taking, failed) = (client.is_taking, client.failed);
        if let Some(error) = failed {
            return Err(Failure::Wire(error));
        }
        let mut outcome = result?;
        if is_taking {
            self.wire.push(Message::CopyDone(CopyDone::new()))?;
        }
        self.tell(std::mem::take(&mut outcome.notices))?;
        Ok(self.complete(outcome, 0)?)
    }
}

/// The client of one COPY.
struct Client<'a> {
    wire: &'a mut Wire,
    slot: &'a Slot,
    /// What of the last CopyData has not been taken.
    waiting: Bytes,
    /// Whether the client has ended.
    ended: bool,
    /// Whether the client takes rows.
    is_taking: bool,
    /// Why there is no client any more.
    failed: Option<WireError>,
}

impl CopyClient for Client<'_> {
    fn begin(&mut self, shape: CopyShape) -> io::Result<()> {
        let format = match shape.is_binary {
            true => Format::Binary,
            false => Format::Text,
        };
        let code = format.code();
        // A result has no more columns than are counted in 16 bits, a table far less.
        let (columns, formats) = (shape.columns as i16, vec![code; shape.columns]);
        let message = match shape.from_client {
            true => Message::CopyInResponse(CopyInResponse::new(code as i8, columns, formats)),
            false => Message::CopyOutResponse(CopyOutResponse::new(code as i8, columns, formats)),
        };
        self.is_taking = !shape.from_client;
        let mut sent = self.wire.push(message);
        if shape.from_client {
            sent = sent.and_then(|()| self.wire.set_wait(Some(LOOK)));
        }
        sent.map_err(|error| self.lost(error))
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.waiting.is_empty() && !self.ended {
            self.next_message()?;
        }
        let length = self.waiting.len().min(buffer.len());
        self.waiting.copy_to_slice(&mut buffer[..length]);
        Ok(length)
    }

    fn send(&mut self, row: &[u8]) -> io::Result<()> {
        let Ok(length) = i32::try_from(row.len() + 4) else {
            return Err(io::Error::other(Error::statement(
                "54000",
                "a row is longer than 2 GiB",
            )));
        };
        self.wire.output.put_u8(b'd');
        self.wire.output.put_i32(length);
        self.wire.output.put_slice(row);
        match self.wire.send_when_full(&self.slot.cancel) {
            Ok(true) => self.check_cancelled(),
            Ok(false) => Ok(()),
            Err(error) => Err(self.lost(error)),
        }
    }
}

impl Client<'_> {
    fn next_message(&mut self) -> io::Result<()> {
        match self.wire.receive() {
            Ok(Request::CopyData(message)) => self.waiting = message.data,
            Ok(Request::CopyDone(_)) => self.ended = true,
            Ok(Request::CopyFail(message)) => {
                let message = format!("COPY from stdin failed: {}", message.message);
                return Err(io::Error::other(Error::statement("57014", message)));
            }
            Ok(Request::Flush(_) | Request::Sync(_)) => {}
            Ok(Request::Terminate(_)) => return Err(self.lost(WireError::Closed)),
            Ok(_) => {
                let message = "unexpected message type during COPY from stdin";
                return Err(io::Error::other(Error::statement("08P01", message)));
            }
            Err(WireError::Idle) => return self.check_cancelled(),
            Err(error @ WireError::Encoding { .. }) => {
                return Err(io::Error::other(Error::statement("22021", error.to_string())));
            }
            Err(error) => return Err(self.lost(error)),
        }
        Ok(())
    }

    fn check_cancelled(&self) -> io::Result<()> {
        match self.slot.cancel.is_cancelled() {
            true => Err(io::Error::other(Error::cancelled())),
            false => Ok(()),
        }
    }

    fn lost(&mut self, error: WireError) -> io::Error {
        let lost = io::Error::other(Error::io(format!("lost the client during COPY: {error}")));
        self.failed = Some(error);
        lost
    }
}
