//! The socket of a client: whole messages in, buffered messages out, blocking.
//!
//! pgwire reads and writes messages. It trusts counts within a message, so a message is handed to it only
//! when it is whole, not longer than it may be, and `shape` has found its counts to be true.
//!
//! Writes to a client time out every [`LOOK`]; the thread then checks whether to go on, and keeps unsent bytes for
//! later:
//!
//! | the client takes nothing, and  | then                                                                       |
//! |--------------------------------|----------------------------------------------------------------------------|
//! | its statement is cancelled     | the statement ends; its error stands behind what is still to be sent        |
//! | it has been silent for too long| the connection ends                                                        |
//! | it is sent away                | the connection ends after [`FAREWELL`]                                     |

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::{Buf, BytesMut};
use parking_lot::Mutex;
use pgwire::messages::{DecodeContext, PgWireBackendMessage, PgWireFrontendMessage, ProtocolVersion};
use rukh::CancelHandle;
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::protocol::shape::{self, Fault};

/// Output is sent when there is this much of it, bytes.
const OUTPUT_BYTES: usize = 64 << 10;

/// Bytes read at once.
const INPUT_BYTES: usize = 16 << 10;

/// Timeout of a write, after which the thread checks whether to go on waiting for the client.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// Time that a client has to take the last words.
pub(crate) const FAREWELL: Duration = Duration::from_millis(500);

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

/// A socket shared by the thread that serves it and the threads that may end it.
#[derive(Clone, Debug)]
pub(crate) struct Socket(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    stream: TcpStream,
    /// Whether the client is sent away.
    is_over: AtomicBool,
    /// Bytes that the system has taken.
    taken: AtomicU64,
    /// By when all that is read must have come.
    by: Mutex<Option<Instant>>,
}

impl Socket {
    /// Takes up a connection; fails if it is gone already.
    pub(crate) fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_write_timeout(Some(LOOK))?;
        Ok(Socket(Arc::new(Shared {
            stream,
            is_over: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            by: Mutex::new(None),
        })))
    }

    /// Shuts down the read side: the reader gets the bytes received so far, then end of file.
    pub(crate) fn end_input(&self) {
        // It may be closed already.
        let _ = self.0.stream.shutdown(Shutdown::Read);
    }

    /// Ends the connection: reads end now, writes after [`FAREWELL`].
    pub(crate) fn send_away(&self) {
        self.0.is_over.store(true, Ordering::Relaxed);
        self.end_input();
    }

    /// Returns whether the client is sent away.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_over.load(Ordering::Relaxed)
    }

    /// Ends the connection at once.
    pub(crate) fn close(&self) {
        // It may be closed already.
        let _ = self.0.stream.shutdown(Shutdown::Both);
    }

    /// Returns how many bytes the system has taken.
    fn taken(&self) -> u64 {
        self.0.taken.load(Ordering::Relaxed)
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(by) = *self.0.by.lock() {
            let left = by.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.0.stream.set_read_timeout(Some(left))?;
        }
        (&self.0.stream).read(buffer)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = (&self.0.stream).write(bytes);
        // TLS takes "would block" for a reason to read, and that may wait for ever.
        let taken = taken.map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
            _ => error,
        })?;
        self.0.taken.fetch_add(taken as u64, Ordering::Relaxed);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&self.0.stream).flush()
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

    /// Takes bytes, and sends as many of them as the system takes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Transport::Plain(socket) => socket.write(bytes),
            Transport::Tls(stream) => stream.write(bytes),
        }
    }

    /// Sends what was taken and is held back.
    fn flush(&mut self) -> io::Result<()> {
        match self {
            Transport::Plain(_) => Ok(()),
            Transport::Tls(stream) => stream.flush(),
        }
    }
}

/// Messages from and to a client.
pub(crate) struct Wire {
    transport: Transport,
    socket: Socket,
    input: BytesMut,
    chunk: Box<[u8]>,
    /// Buffered output. Code that appends to it calls [`Wire::send_when_full`] to bound its size.
    pub(crate) output: BytesMut,
    context: DecodeContext,
    message_bytes_max: usize,
    wait: Option<Duration>,
    /// How long the client may take nothing of what is sent.
    patience: Option<Duration>,
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
            patience: None,
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

    /// Sets how long to wait for a message, and for the client to take one; `None` for as long as it takes.
    pub(crate) fn set_wait(&mut self, wait: Option<Duration>) -> Result<(), WireError> {
        self.patience = wait;
        if self.wait != wait {
            self.socket.0.stream.set_read_timeout(wait)?;
            self.wait = wait;
        }
        Ok(())
    }

    /// Sets how long the client may take nothing of what is sent; `None` for as long as it likes.
    pub(crate) fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Sets by when the client must have logged in, however it sends its bytes; `None` once it has.
    pub(crate) fn set_log_in_by(&mut self, by: Option<Instant>) -> Result<(), WireError> {
        *self.socket.0.by.lock() = by;
        self.patience = by.map(|by| by.saturating_duration_since(Instant::now()));
        self.socket.0.stream.set_read_timeout(None)?;
        self.wait = None;
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

    /// Sends what is to be sent, if it is much, unless the statement is cancelled while the client does not take it. Returns
    /// whether it is time to look for that.
    pub(crate) fn send_when_full(&mut self, cancel: &CancelHandle) -> Result<bool, WireError> {
        match self.output.len() >= OUTPUT_BYTES {
            true => self.send(|| cancel.is_cancelled()).map(|()| true),
            false => Ok(false),
        }
    }

    /// Sends what is to be sent.
    pub(crate) fn flush(&mut self) -> Result<(), WireError> {
        self.send(|| false)
    }

    /// Sends what is to be sent; what is left when `is_cancelled` says so is kept.
    fn send(&mut self, is_cancelled: impl Fn() -> bool) -> Result<(), WireError> {
        let mut waiting = Waiting::default();
        loop {
            let sent = match self.output.is_empty() {
                true => self.transport.flush().map(|()| 0),
                false => self.transport.write(&self.output),
            };
            match sent {
                Ok(_) if self.output.is_empty() => return Ok(()),
                Ok(0) => return Err(WireError::Closed),
                Ok(sent) if sent == self.output.len() => {
                    self.output.clear();
                    continue;
                }
                Ok(sent) => self.output.advance(sent),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                }
                Err(error) => return Err(error.into()),
            }
            if is_cancelled() {
                return Ok(());
            }
            waiting.check(&self.socket, self.patience)?;
        }
    }
}

/// A wait for a client to take what is sent.
#[derive(Default)]
struct Waiting {
    /// What it had taken when it was last seen to take anything, and when.
    last: Option<(u64, Instant)>,
    /// Since when it is sent away.
    over: Option<Instant>,
}

impl Waiting {
    /// Fails if there is nothing more to wait for.
    fn check(&mut self, socket: &Socket, patience: Option<Duration>) -> Result<(), WireError> {
        let now = Instant::now();
        if socket.is_over() && now.duration_since(*self.over.get_or_insert(now)) >= FAREWELL {
            return Err(WireError::Closed);
        }
        let taken = socket.taken();
        let since = match self.last {
            Some((before, since)) if before == taken => since,
            _ => now,
        };
        self.last = Some((taken, since));
        match patience.is_some_and(|patience| now.duration_since(since) >= patience) {
            true => Err(WireError::Idle),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    /// A wire, and the client at its other end.
    fn pair() -> (Wire, Socket, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a port");
        let client = TcpStream::connect(listener.local_addr().expect("it has an address"));
        let (stream, _) = listener.accept().expect("the client is there");
        let socket = Socket::new(stream).expect("it is there");
        (Wire::new(socket.clone()), socket, client.expect("it connects"))
    }

    /// More than the system holds for a client that does not read.
    const MUCH: usize = 64 << 20;

    #[test]
    fn what_is_not_taken_is_kept_when_the_statement_is_cancelled() {
        let (mut wire, _, mut client) = pair();
        let bytes: Vec<u8> = (0..MUCH).map(|at| (at % 251) as u8).collect();
        wire.output.extend_from_slice(&bytes);
        let cancel = CancelHandle::default();
        cancel.cancel();
        assert!(wire.send_when_full(&cancel).is_ok_and(|looked| looked));
        assert!(!wire.output.is_empty());
        let reading = std::thread::spawn(move || {
            let mut read = vec![0; MUCH];
            client.read_exact(&mut read).map(|()| read)
        });
        wire.flush().expect("the client reads");
        let read = reading.join().expect("it reads").expect("all comes");
        assert!(read == bytes, "not a byte is lost, or sent twice");
    }

    #[test]
    fn nobody_waits_without_an_end() {
        let (mut wire, socket, _client) = pair();
        wire.output.extend_from_slice(&vec![0; MUCH]);
        wire.set_patience(Some(Duration::from_millis(150)));
        assert!(matches!(wire.flush(), Err(WireError::Idle)));
        wire.set_patience(None);
        socket.send_away();
        assert!(matches!(wire.flush(), Err(WireError::Closed)));
    }

    #[test]
    fn bytes_that_trickle_do_not_put_off_the_end_of_a_log_in() {
        let (mut wire, _, mut client) = pair();
        let by = Instant::now() + Duration::from_millis(300);
        wire.set_log_in_by(Some(by)).expect("it can be set");
        let trickling = std::thread::spawn(move || {
            while client.write_all(b"\0").is_ok() && Instant::now() < by + Duration::from_secs(10) {}
        });
        // No message is as long as what the zeros announce, but for its head nothing is looked at.
        while wire.fill().is_ok() {}
        assert!(Instant::now() >= by);
        drop(wire);
        trickling.join().expect("it ends with the connection");
    }
}
