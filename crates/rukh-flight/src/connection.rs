//! Connections of clients: plain or encrypted streams of bytes, and what ends with them.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};
use tokio_rustls::server::TlsStream;
use tonic::transport::server::Connected;

use crate::sessions::Sessions;

/// Where a call comes from, as its handler finds it.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    /// The number of the connection.
    pub(crate) connection: u64,
    pub(crate) address: SocketAddr,
    /// Whether the connection is beyond the limit: every call fails.
    pub(crate) is_refused: bool,
    /// Whether a client has authenticated.
    pub(crate) is_known: Arc<AtomicBool>,
}

/// One connection.
pub(crate) struct Connection {
    stream: Stream,
    peer: Peer,
    /// Deadline of the first authentication; none after it.
    by: Option<Pin<Box<Sleep>>>,
    _ending: Ending,
    /// The connection counts for as long as it is there.
    _place: OwnedSemaphorePermit,
}

/// What a connection's bytes go through.
pub(crate) enum Stream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Ends the sessions of a connection with it.
struct Ending {
    connection: u64,
    sessions: Weak<Sessions>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(sessions) = self.sessions.upgrade() {
            sessions.hang_up(self.connection);
        }
    }
}

impl Connection {
    /// Takes an accepted connection, which is closed unless a client authenticates before the deadline.
    pub(crate) fn new(
        stream: Stream,
        peer: Peer,
        by: Instant,
        sessions: &Arc<Sessions>,
        place: OwnedSemaphorePermit,
    ) -> Self {
        let ending = Ending {
            connection: peer.connection,
            sessions: Arc::downgrade(sessions),
        };
        Connection {
            stream,
            peer,
            by: Some(Box::pin(sleep_until(by))),
            _ending: ending,
            _place: place,
        }
    }
}

impl Connection {
    /// Fails if no client has authenticated before the deadline.
    fn check_known(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        let Some(by) = &mut self.by else {
            return Ok(());
        };
        if self.peer.is_known.load(Ordering::Relaxed) {
            self.by = None;
            return Ok(());
        }
        match by.as_mut().poll(context) {
            Poll::Ready(()) => Err(io::ErrorKind::TimedOut.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl Connected for Connection {
    type ConnectInfo = Peer;

    fn connect_info(&self) -> Peer {
        self.peer.clone()
    }
}

/// Calls the same of whichever stream it is.
macro_rules! on_stream {
    ($self:expr, $method:ident $(, $argument:expr)*) => {
        match &mut $self.get_mut().stream {
            Stream::Plain(stream) => Pin::new(stream).$method($($argument),*),
            Stream::Encrypted(stream) => Pin::new(stream.as_mut()).$method($($argument),*),
        }
    };
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check_known(context)?;
        on_stream!(self, poll_read, context, buffer)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        on_stream!(self, poll_write, context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, poll_flush, context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        on_stream!(self, poll_shutdown, context)
    }
}
