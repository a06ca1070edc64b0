//! Accepting connections. The TLS handshake of each runs on a task of its own, so that a silent client does not block the
//! others. A connection counts from the moment it is accepted. One more than allowed has one of a few spare places,
//! where every call fails with 53300; without such a place it is closed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

use crate::connection::{Connection, Peer, Stream};
use crate::sessions::Sessions;

/// Pause after the system has refused a connection, so that it may recover.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How often the log says that the system refuses connections.
const REFUSALS_PAUSE: Duration = Duration::from_secs(10);

/// Time that a refused connection has to read the error.
const TURNED_AWAY_WAIT: Duration = Duration::from_secs(5);

/// Spare places at most.
const SPARE_MAX: usize = 100;

/// Connections that are ready and wait to be taken up.
const READY_MAX: usize = 64;

/// What is needed to take connections.
pub(crate) struct Accepting {
    pub(crate) listener: TcpListener,
    pub(crate) tls: Option<TlsAcceptor>,
    pub(crate) sessions: Arc<Sessions>,
    /// Longest time to agree on encryption, and to log in.
    pub(crate) wait: Duration,
    pub(crate) connections_max: usize,
}

impl Accepting {
    /// Accepts connections until the receiver is dropped.
    pub(crate) fn start(self) -> mpsc::Receiver<Connection> {
        let (ready, receiver) = mpsc::channel(READY_MAX);
        tokio::spawn(self.accept(ready));
        receiver
    }

    async fn accept(self, ready: mpsc::Sender<Connection>) {
        let last = AtomicU64::new(0);
        let places = Arc::new(Semaphore::new(self.connections_max));
        let spare = Arc::new(Semaphore::new((self.connections_max / 4).clamp(2, SPARE_MAX)));
        let mut last_report: Option<Instant> = None;
        loop {
            let taken = tokio::select! {
                taken = self.listener.accept() => taken,
                () = ready.closed() => return,
            };
            let (stream, address) = match taken {
                Ok(taken) => taken,
                Err(error) => {
                    // Without a descriptor for it a connection waits, and this comes again and again.
                    if last_report.is_none_or(|last_report| last_report.elapsed() >= REFUSALS_PAUSE) {
                        warn!(%error, "could not take a connection");
                        last_report = Some(Instant::now());
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            let place = places.clone().try_acquire_owned();
            let is_refused = place.is_err();
            let Ok(place) = place.or_else(|_| spare.clone().try_acquire_owned()) else {
                warn!(%address, "too many connections: one more was closed");
                continue;
            };
            // Answers are whole when they are sent; waiting for more would only delay them.
            let _ = stream.set_nodelay(true);
            let peer = Peer {
                connection: last.fetch_add(1, Ordering::Relaxed),
                address,
                is_refused,
                is_known: Arc::default(),
            };
            let wait = match is_refused {
                true => self.wait.min(TURNED_AWAY_WAIT),
                false => self.wait,
            };
            let by = Instant::now() + wait;
            let (tls, sessions) = (self.tls.clone(), self.sessions.clone());
            let ready = ready.clone();
            tokio::spawn(async move {
                match begin(stream, tls, wait).await {
                    Ok(stream) => {
                        let connection = Connection::new(stream, peer, by, &sessions, place);
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
