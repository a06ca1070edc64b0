//! The server: its own threads, its sessions, its end.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use arrow_flight::flight_service_server::FlightServiceServer;
use futures::StreamExt;
use rukh::{Database, Error};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tonic::transport::Server;
use tracing::{error, info};

use crate::StartError;
use crate::connection::Connection;
use crate::door::Door;
use crate::incoming::Accepting;
use crate::service::Service;
use crate::session::{Beginning, OnStatement};
use crate::sessions::{OfServer, Sessions};
use crate::shown::info::sql_info;
use crate::shown::types::type_info;

/// Stack of the threads that run statements, bytes.
const STACK_BYTES: usize = 4 << 20;
/// Threads that read and write messages.
const WORKERS: usize = 2;
/// Calls of one connection at a time.
const STREAMS_MAX: u32 = 256;
/// How often sessions are looked at that may have expired.
const EXPIRY: Duration = Duration::from_secs(1);
/// Interval and timeout of HTTP/2 keepalive pings.
const ALIVE: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(30));
/// How long connections have to close when all statements have ended.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// How a server is set up.
pub struct Config {
    /// Address and port for clients; port 0 takes a free one.
    pub listen: String,
    /// How connections are encrypted; they are not without.
    pub tls: Option<Arc<ServerConfig>>,
    /// Most sessions, most connections, and most statements at a time.
    pub connections_max: usize,
    /// Longest message, and so longest statement, bytes.
    pub message_bytes_max: usize,
    /// How long a session is kept that is not used.
    pub session_timeout: Duration,
    /// Longest time to agree on encryption, and to log in.
    pub authentication_timeout: Duration,
    /// Time that running statements have to end when the server stops.
    pub shutdown_timeout: Duration,
    /// Settings that sessions start with.
    pub settings: Vec<(String, String)>,
    /// Callback for each statement that has run.
    pub on_statement: Option<OnStatement>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            listen: "127.0.0.1:32010".to_string(),
            tls: None,
            connections_max: 1_000,
            message_bytes_max: 64 << 20,
            session_timeout: Duration::from_secs(3600),
            authentication_timeout: Duration::from_secs(60),
            shutdown_timeout: Duration::from_secs(10),
            settings: Vec::new(),
            on_statement: None,
        }
    }
}

/// A server that takes connections, until it is stopped.
pub struct RunningServer {
    address: SocketAddr,
    sessions: Arc<Sessions>,
    stop: oneshot::Sender<Instant>,
    serving: JoinHandle<()>,
    shutdown_timeout: Duration,
}

/// Starts a server on a database.
///
/// Fails if the address cannot be bound, if it is not a loopback address and no role has a password, or if
/// passwords would be sent in plain.
pub fn start(database: Database, config: Config) -> Result<RunningServer, StartError> {
    let system = |source| StartError::System { source };
    let inner = |error: Error| StartError::System {
        source: std::io::Error::other(error),
    };
    let (listener, address) = listen(&config, database.can_log_in())?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .max_blocking_threads(config.connections_max.max(WORKERS))
        .thread_stack_size(STACK_BYTES)
        .thread_name("rukh-flight")
        .enable_all()
        .build()
        .map_err(system)?;
    let sessions = Sessions::new(
        database.clone(),
        Arc::new(ring::default_provider()),
        Beginning {
            settings: config.settings.clone().into(),
            on_statement: config.on_statement.clone(),
        },
        config.connections_max,
        config.session_timeout,
    );
    let sessions = Arc::new(sessions.map_err(inner)?);
    database.add_backends(Arc::new(OfServer(Arc::downgrade(&sessions))));
    let service = Service {
        sessions: sessions.clone(),
        sql_info: sql_info().map_err(|error| system(std::io::Error::other(error)))?,
        type_info: type_info().map_err(|error| system(std::io::Error::other(error)))?,
        bound_bytes_max: config.message_bytes_max,
    };
    let (stop, stopped) = oneshot::channel();
    let encrypted = config.tls.is_some();
    let shutdown_timeout = config.shutdown_timeout;
    let serving = {
        let sessions = sessions.clone();
        let thread = thread::Builder::new().name("rukh-flight-accept".to_string());
        thread
            .spawn(move || serve(runtime, listener, service, sessions, config, stopped))
            .map_err(system)?
    };
    info!(%address, encrypted, "ready for Flight SQL");
    Ok(RunningServer {
        address,
        sessions,
        stop,
        serving,
        shutdown_timeout,
    })
}

impl RunningServer {
    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, and waits until running statements have ended or are cancelled.
    pub fn stop(self) {
        info!(sessions = self.sessions.len(), "stopping Flight SQL");
        self.sessions.stop();
        // Without a receiver the server has ended already.
        let _ = self.stop.send(Instant::now() + self.shutdown_timeout);
        if self.serving.join().is_err() {
            error!("the thread of Flight SQL had panicked");
        }
    }
}

/// Opens the port; addresses of other machines need users, and encryption.
fn listen(config: &Config, can_log_in: bool) -> Result<(std::net::TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen {
        address: config.listen.clone(),
        source,
    };
    let addresses: Vec<SocketAddr> = config.listen.to_socket_addrs().map_err(failed)?.collect();
    if let Some(other) = addresses.iter().find(|address| !is_loopback(address.ip())) {
        let address = other.to_string();
        if !can_log_in {
            return Err(StartError::Open { address });
        }
        if config.tls.is_none() {
            return Err(StartError::Plain { address });
        }
    }
    let listener = std::net::TcpListener::bind(addresses.as_slice()).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.is_loopback()
}

fn serve(
    runtime: Runtime,
    listener: std::net::TcpListener,
    service: Service,
    sessions: Arc<Sessions>,
    config: Config,
    stopped: oneshot::Receiver<Instant>,
) {
    runtime.block_on(async {
        let listener = match TcpListener::from_std(listener) {
            Ok(listener) => listener,
            Err(error) => {
                error!(%error, "Flight SQL is not served");
                return;
            }
        };
        let expiring = tokio::spawn(expire(sessions.clone()));
        let tls = config.tls.as_deref().map(acceptor);
        let accepting = Accepting {
            listener,
            tls,
            sessions: sessions.clone(),
            wait: config.authentication_timeout,
            connections_max: config.connections_max,
        };
        let mut ready = accepting.start();
        let incoming = futures::stream::poll_fn(move |context| ready.poll_recv(context));
        let incoming = incoming.map(Ok::<Connection, std::io::Error>);
        let (closing, closed) = oneshot::channel::<()>();
        let flight = FlightServiceServer::new(Door(service))
            .max_decoding_message_size(config.message_bytes_max)
            .max_encoding_message_size(usize::MAX);
        let serving = Server::builder()
            .max_concurrent_streams(STREAMS_MAX)
            .http2_keepalive_interval(Some(ALIVE.0))
            .http2_keepalive_timeout(Some(ALIVE.1))
            .add_service(flight)
            .serve_with_incoming_shutdown(incoming, async {
                let _ = closed.await;
            });
        let serving = tokio::spawn(serving);
        if let Ok(deadline) = stopped.await {
            // No connection is taken any more while statements end.
            let _ = closing.send(());
            sessions.drain(deadline).await;
        }
        expiring.abort();
        match tokio::time::timeout(CLOSE_WAIT, serving).await {
            Ok(Ok(Err(error))) => error!(%error, "Flight SQL ended badly"),
            // Connections that are still open are cut off.
            _ => info!("stopped Flight SQL"),
        }
    });
    runtime.shutdown_timeout(CLOSE_WAIT);
}

/// Returns what encrypts connections, for HTTP/2.
fn acceptor(config: &ServerConfig) -> TlsAcceptor {
    let mut config = config.clone();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn expire(sessions: Arc<Sessions>) {
    loop {
        tokio::time::sleep(EXPIRY).await;
        sessions.expire();
    }
}
