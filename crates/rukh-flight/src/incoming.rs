//! Taking connections: each is encrypted, if it is to be, on a task of its own, so that a client that says nothing
//! keeps nobody waiting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

use crate::connection::{Connection, Peer, Stream};
use crate::sessions::Sessions;

/// Pause after the system has refused a connection, so that it may recover.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Connections that are ready and wait to be taken up.
const READY_MAX: usize = 64;

/// What is needed to take connections.
pub(crate) struct Accepting {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) sessions: Arc<Sessions>,
    /// Longest time to agree on encryption.
    pub(crate) wait: Duration,
    pub(crate) connections_max: usize,
}

impl Accepting {
    /// Takes connections, for as long as somebody receives them.
    pub(crate) fn start(self) -> mpsc::Receiver<Connection> {
        let (ready, receiver) = mpsc::channel(READY_MAX);
        tokio::spawn(self.accept(ready));
        receiver
    }

    async fn accept(self, ready: mpsc::Sender<Connection>) {
        let last = AtomicU64::new(0);
        let places = Arc::new(Semaphore::new(self.connections_max));
        loop {
            let taken = tokio::select! {
                taken = self.listener.accept() => taken,
                () = ready.closed() => return,
            };
            let (stream, address) = match taken {
                Ok(taken) => taken,
                Err(error) => {
                    warn!(%error, "could not take a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let Ok(place) = places.clone().try_acquire_owned() else {
                warn!(%address, "too many connections: one more was closed");
                continue;
            };
            // Answers are whole when they are sent; waiting for more would only delay them.
            let _ = stream.set_nodelay(true);
            let peer = Peer {
                connection: last.fetch_add(1, Ordering::Relaxed),
                address,
            };
            let (tls, sessions, wait) = (self.tls.clone(), self.sessions.clone(), self.wait);
            let ready = ready.clone();
            tokio::spawn(async move {
                match begin(stream, tls, wait).await {
                    Ok(stream) => {
                        let connection = Connection::new(stream, peer, &sessions, place);
                        // It fails only if the server stops.
                        let _ = ready.send(connection).await;
                    }
                    Err(reason) => debug!(%address, reason, "connection lost"),
                }
            });
        }
    }
}

async fn begin(stream: TcpStream, tls: Option<TlsAcceptor>, wait: Duration) -> Result<Stream, String> {
    let Some(tls) = tls else {
        return Ok(Stream::Plain(stream));
    };
    match tokio::time::timeout(wait, tls.accept(stream)).await {
        Ok(Ok(stream)) => Ok(Stream::Encrypted(Box::new(stream))),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("no encryption was agreed on in time".to_string()),
    }
}
