//! The socket of a client: whole messages in, buffered messages out, blocking.
//!
//! pgwire reads and writes messages. It trusts counts within a message, so a message is handed to it only
//! when it is whole, not longer than it may be, and `shape` has found its counts to be true.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use pgwire::messages::{DecodeContext, PgWireBackendMessage, PgWireFrontendMessage, ProtocolVersion};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::shape::{self, Fault};

/// Output is sent when there is this much of it, bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// Bytes read at once.
const INPUT_BYTES: usize = 16 << 10;

/// Longest message before a client is known, bytes; as in PostgreSQL.
pub(crate) const STARTUP_BYTES_MAX: usize = 10_000;

/// Why no message came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    /// The client is gone.
    #[error("the client has closed the connection")]
    Closed,
    /// Nothing came within the time allowed.
    #[error("the client has sent nothing for too long")]
    Idle,
    /// What came is no message.
    #[error("{0}")]
    Protocol(String),
    /// A text is not UTF-8. The message has been read; the next one may be good.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    Encoding {
        /// The type of the message.
        kind: u8,
    },
    /// The socket failed.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => WireError::Idle,
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => WireError::Closed,
            _ => WireError::Io(error),
        }
    }
}

/// A socket that who serves it and who ends it have in common.
#[derive(Clone, Debug)]
pub(crate) struct Socket(Arc<TcpStream>);

impl Socket {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Socket(Arc::new(stream))
    }

    /// Lets nothing more in: who reads gets what has arrived, then the end.
    pub(crate) fn end_input(&self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Read);
    }

    /// Ends the connection at once.
    pub(crate) fn close(&self) {
        // It may be closed already.
        let _ = self.0.shutdown(Shutdown::Both);
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self.0).read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.0).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self.0).flush()
    }
}

enum Transport {
    Plain(Socket),
    Tls(Box<StreamOwned<ServerConnection, Socket>>),
}

impl Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.read(buffer),
            Transport::Tls(stream) => stream.read(buffer),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Transport::Plain(socket) => socket.write_all(bytes),
            Transport::Tls(stream) => {
                stream.write_all(bytes)?;
                stream.flush()
            }
        }
    }
}

/// Messages from and to a client.
pub(crate) struct Wire {
    transport: Transport,
    socket: Socket,
    input: BytesMut,
    chunk: Box<[u8]>,
    /// What is to be sent; whoever appends to it calls [`Wire::send_when_full`] now and then.
    pub(crate) output: BytesMut,
    context: DecodeContext,
    message_bytes_max: usize,
    wait: Option<Duration>,
}

impl Wire {
    /// Starts on a fresh connection.
    pub(crate) fn new(socket: Socket) -> Self {
        let mut context = DecodeContext::new(ProtocolVersion::PROTOCOL3_0);
        context.awaiting_frontend_ssl = false;
        Wire {
            transport: Transport::Plain(socket.clone()),
            socket,
            input: BytesMut::new(),
            chunk: vec![0; INPUT_BYTES].into_boxed_slice(),
            output: BytesMut::with_capacity(INPUT_BYTES),
            context,
            message_bytes_max: STARTUP_BYTES_MAX,
            wait: None,
        }
    }

    /// Makes TLS the transport; fails if there is plain text already, which someone in between may have
    /// put there.
    pub(crate) fn start_tls(&mut self, config: Arc<ServerConfig>) -> Result<(), WireError> {
        if !self.input.is_empty() {
            return Err(WireError::Protocol(
                "received unencrypted data after SSL request".to_string(),
            ));
        }
        let connection = ServerConnection::new(config);
        let connection = connection.map_err(|error| WireError::Io(io::Error::other(error)))?;
        let stream = StreamOwned::new(connection, self.socket.clone());
        self.transport = Transport::Tls(Box::new(stream));
        Ok(())
    }

    /// Returns whether the transport is TLS.
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.transport, Transport::Tls(_))
    }

    /// Sets how long to wait for a message; `None` for as long as it takes.
    pub(crate) fn set_wait(&mut self, wait: Option<Duration>) -> Result<(), WireError> {
        if self.wait != wait {
            self.socket.0.set_read_timeout(wait)?;
            self.wait = wait;
        }
        Ok(())
    }

    /// Ends the startup phase: messages have types from now on, and may be longer.
    pub(crate) fn expect_messages(&mut self, message_bytes_max: usize) {
        self.context.awaiting_frontend_startup = false;
        self.message_bytes_max = message_bytes_max;
    }

    /// Returns the first bytes of the connection: a length and a code, which are left to be read.
    pub(crate) fn peek_startup(&mut self) -> Result<(usize, u32), WireError> {
        while self.input.len() < 8 {
            self.fill()?;
        }
        let number = |at: usize| {
            let bytes = [
                self.input[at],
                self.input[at + 1],
                self.input[at + 2],
                self.input[at + 3],
            ];
            u32::from_be_bytes(bytes)
        };
        Ok((number(0) as usize, number(4)))
    }

    /// Passes over bytes that [`Wire::peek_startup`] has shown.
    pub(crate) fn skip(&mut self, bytes: usize) {
        let _ = self.input.split_to(bytes);
    }

    /// Waits for the next message, after sending what is to be sent if there is none yet.
    pub(crate) fn receive(&mut self) -> Result<PgWireFrontendMessage, WireError> {
        let length = self.wait_for_message()?;
        let mut message = self.input.split_to(length);
        if !self.context.awaiting_frontend_startup {
            let kind = message[0];
            shape::check(&message).map_err(|fault| match fault {
                Fault::Malformed(message) => WireError::Protocol(message),
                Fault::Encoding => WireError::Encoding { kind },
            })?;
        }
        match PgWireFrontendMessage::decode(&mut message, &self.context) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(WireError::Protocol("invalid message format".to_string())),
            Err(error) => Err(WireError::Protocol(error.to_string())),
        }
    }

    /// Waits for the next message and returns its type, leaving it to be read.
    pub(crate) fn peek_type(&mut self) -> Result<u8, WireError> {
        while self.input.is_empty() {
            self.flush_before_waiting()?;
            self.fill()?;
        }
        Ok(self.input[0])
    }

    /// Returns the length of the next message once it is whole.
    fn wait_for_message(&mut self) -> Result<usize, WireError> {
        let head = usize::from(!self.context.awaiting_frontend_startup);
        while self.input.len() < head + 4 {
            self.flush_before_waiting()?;
            self.fill()?;
        }
        let bytes = [
            self.input[head],
            self.input[head + 1],
            self.input[head + 2],
            self.input[head + 3],
        ];
        let length = i32::from_be_bytes(bytes);
        let length = usize::try_from(length).ok().filter(|length| *length >= 4);
        let Some(length) = length.filter(|length| *length <= self.message_bytes_max) else {
            return Err(WireError::Protocol("invalid message length".to_string()));
        };
        while self.input.len() < head + length {
            self.flush_before_waiting()?;
            self.fill()?;
        }
        Ok(head + length)
    }

    fn flush_before_waiting(&mut self) -> Result<(), WireError> {
        match self.output.is_empty() {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn fill(&mut self) -> Result<(), WireError> {
        let read = loop {
            match self.transport.read(&mut self.chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        if read == 0 {
            return Err(WireError::Closed);
        }
        self.input.extend_from_slice(&self.chunk[..read]);
        Ok(())
    }

    /// Adds a message to what is to be sent.
    pub(crate) fn push(&mut self, message: PgWireBackendMessage) -> Result<(), WireError> {
        let encoded = message.encode(&mut self.output);
        encoded.map_err(|error| WireError::Protocol(error.to_string()))
    }

    /// Sends what is to be sent, if it is much.
    pub(crate) fn send_when_full(&mut self) -> Result<bool, WireError> {
        match self.output.len() >= OUTPUT_BYTES {
            true => self.flush().map(|()| true),
            false => Ok(false),
        }
    }

    /// Sends what is to be sent.
    pub(crate) fn flush(&mut self) -> Result<(), WireError> {
        self.transport.write_all(&self.output)?;
        self.output.clear();
        Ok(())
    }
}
