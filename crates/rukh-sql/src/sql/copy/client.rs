//! The client's end of COPY FROM STDIN and COPY TO STDOUT.

use std::io::{self, Read};

use rukh_syntax::{CopyDirection, CopyFormat, CopyStatement};

use super::errors::file_error;
use rukh_error::SqlError;

/// What is about to go over to or come from a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyShape {
    /// Whether the client sends rows; else it gets them.
    pub from_client: bool,
    /// Whether rows are binary; else they are text.
    pub is_binary: bool,
    /// Fields of a row.
    pub columns: usize,
}

/// A client that sends or takes the rows of a COPY.
///
/// An error may hold an [`SqlError`], which then is the error of the statement.
pub trait CopyClient {
    /// Announces to the client what follows. Called once, before the other two; whatever is wrong with the
    /// statement itself has been found before.
    fn begin(&mut self, shape: CopyShape) -> io::Result<()>;

    /// Waits for bytes and returns how many there are; 0 when the client has ended.
    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize>;

    /// Sends a row, or what stands before the first or after the last.
    fn send(&mut self, row: &[u8]) -> io::Result<()>;
}

/// What a client sends, as a file is read.
pub(super) struct FromClient<'a>(pub(super) &'a mut dyn CopyClient);

impl Read for FromClient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.receive(buffer)
    }
}

impl FromClient<'_> {
    /// Passes over what comes after the rows, up to the client's end.
    pub(super) fn drain(&mut self) -> Result<(), SqlError> {
        io::copy(self, &mut io::sink()).map(drop).map_err(client_error)
    }
}

/// Fails on a format that clients do not have.
pub(super) fn check_format(statement: &CopyStatement) -> Result<(), SqlError> {
    let formats = match (statement.direction, statement.options.format) {
        (_, CopyFormat::Text | CopyFormat::Csv | CopyFormat::Json | CopyFormat::Binary)
        | (CopyDirection::From, CopyFormat::Arrow | CopyFormat::ArrowStream) => return Ok(()),
        (CopyDirection::From, _) => "COPY FROM STDIN takes the formats text, csv, binary, json and arrow",
        (CopyDirection::To, _) => "COPY TO STDOUT takes the formats text, csv, binary and json",
    };
    Err(SqlError::unsupported(formats))
}

/// Makes the error for a statement whose client cannot send or take rows.
pub(super) fn no_client(statement: &CopyStatement) -> SqlError {
    let message = match statement.direction {
        CopyDirection::From => "COPY FROM STDIN is for clients of a server",
        CopyDirection::To => "COPY TO STDOUT is for clients of a server",
    };
    SqlError::unsupported(message).with_hint("Name a file.")
}

/// Makes the error for rows that could not be sent or received.
pub(super) fn client_error(error: io::Error) -> SqlError {
    file_error("reach", std::path::Path::new("the client"), &error)
}
