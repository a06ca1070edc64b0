//! The server: takes connections, gives each a thread and a session, and ends them in order.

use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rukh::{Connection, Database, Error, Notice};
use tracing::{debug, info, warn};

use crate::clients::authentication::authenticate;
use crate::clients::backends::OfServer;
use crate::clients::registry::{Registry, Slot};
use crate::clients::shared::{Server, is_loopback};
use crate::clients::startup::{LoginError, Start, read_start, welcome};
use crate::clients::timeouts::Timeouts;
use crate::protocol::messages::{self, Severity};
use crate::protocol::wire::{FAREWELL, STARTUP_BYTES_MAX, Socket, Wire, WireError};
use crate::sessions::session::Session;
use crate::setup::doing::Doing;
use crate::setup::places::{Place, Places};
use crate::{Config, ServeError, http, setup::binding, setup::places, setup::tls};

/// Stack of the thread of a session, bytes.
const STACK_BYTES: usize = 4 << 20;

/// Pause after the system has refused a connection, so that it may recover.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How often the log says that the system refuses connections.
const REFUSALS_PAUSE: Duration = Duration::from_secs(10);

/// Time for a client that is turned away to say what it wants: it may be to cancel a statement.
const TURNED_AWAY_WAIT: Duration = Duration::from_secs(5);

/// Time for threads of sessions that have ended to go away when the server stops, and how often they are looked at.
const LEAVING_WAIT: Duration = Duration::from_secs(2);
const LEAVING_PAUSE: Duration = Duration::from_millis(1);

/// A server that takes connections, until it is stopped.
pub struct RunningServer {
    server: Arc<Server>,
    address: SocketAddr,
    http: Option<SocketAddr>,
    accepting: JoinHandle<()>,
}

/// Starts a server on a database.
///
/// Fails if the address cannot be had or is not of this machine alone, or if certificate and key
/// cannot be used.
pub fn start(database: Database, config: Config) -> Result<RunningServer, ServeError> {
    let provider = Arc::new(tls::provider());
    let tls = config.tls.as_ref();
    let tls = tls.map(|files| tls::load(files, provider.clone())).transpose()?;
    let (tls, binding) = match tls {
        Some((tls, certificate)) => (Some(tls), binding::of_certificate(&certificate)),
        None => (None, None),
    };
    let mut secret = [0; 32];
    let filled = provider.secure_random.fill(&mut secret);
    filled.map_err(|_| ServeError::Config("the system has no random numbers".to_string()))?;
    let (listener, address) = listen(&config.listen, database.can_log_in())?;
    check_settings(&database, &config)?;
    let connections_max = places::within_descriptors(config.connections_max, 1);
    let timeouts = Timeouts::start().map_err(|source| ServeError::Thread { source })?;
    let server = Arc::new(Server {
        config,
        database,
        registry: Registry::default(),
        timeouts,
        tls,
        provider,
        places: Places::new(connections_max),
        secret,
        binding,
    });
    server
        .database
        .add_backends(Arc::new(OfServer(Arc::downgrade(&server))));
    server.database.count_statements();
    let http = server.config.http.as_ref();
    let http = http.map(|address| http::start(&server, address)).transpose()?;
    let accepting = {
        let server = server.clone();
        let thread = thread::Builder::new().name("rukh-accept".to_string());
        thread
            .spawn(move || accept(&server, &listener))
            .map_err(|source| ServeError::Thread { source })?
    };
    info!(%address, encrypted = server.tls.is_some(), "ready for connections");
    Ok(RunningServer {
        server,
        address,
        http,
        accepting,
    })
}

impl RunningServer {
    /// Returns the address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address that monitors ask, if there is one.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// Takes no more connections, and waits until running statements have ended or are cancelled.
    pub fn stop(self) {
        info!(sessions = self.server.registry.len(), "stopping");
        let deadline = Instant::now() + self.server.config.shutdown_timeout();
        self.server.registry.stop();
        // The thread that accepts wakes up, and sees that it is to end.
        let port = self.address.port();
        let to = match self.address.ip() {
            ip if ip.is_unspecified() && ip.is_ipv4() => SocketAddr::from(([127, 0, 0, 1], port)),
            ip if ip.is_unspecified() => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            ip => SocketAddr::new(ip, port),
        };
        if TcpStream::connect_timeout(&to, Duration::from_secs(1)).is_ok() && self.accepting.join().is_err() {
            warn!("the thread that takes connections had panicked");
        }
        self.server.registry.drain(deadline);
        // The last thread to have the server closes the database, which the end of the process must not overtake.
        let until = Instant::now() + LEAVING_WAIT;
        while Arc::strong_count(&self.server) > 1 && Instant::now() < until {
            thread::sleep(LEAVING_PAUSE);
        }
        info!("stopped");
    }
}

/// Opens the port. As long as no role can log in, only loopback addresses are allowed.
fn listen(address: &str, can_log_in: bool) -> Result<(TcpListener, SocketAddr), ServeError> {
    let failed = |source| ServeError::Listen {
        address: address.to_string(),
        source,
    };
    let addresses: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
    let other = addresses.iter().find(|address| !is_loopback(address.ip()));
    if let Some(other) = other.filter(|_| !can_log_in) {
        return Err(ServeError::Open {
            address: other.to_string(),
        });
    }
    let listener = TcpListener::bind(addresses.as_slice()).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

/// Fails if sessions could not start with what the configuration says.
fn check_settings(database: &Database, config: &Config) -> Result<(), ServeError> {
    let mut connection = database.connect();
    for (name, value) in config.settings() {
        let set = connection.set(name, value);
        set.map_err(|error| ServeError::Config(format!("{name}: {error}")))?;
    }
    Ok(())
}

fn accept(server: &Arc<Server>, listener: &TcpListener) {
    let mut last_report: Option<Instant> = None;
    for stream in listener.incoming() {
        if server.registry.is_stopping() {
            return;
        }
        match stream {
            Ok(stream) => begin(server, stream),
            Err(error) => {
                // Without a descriptor for it a connection waits, and this comes again and again.
                if last_report.is_none_or(|last_report| last_report.elapsed() >= REFUSALS_PAUSE) {
                    warn!(%error, "could not take a connection");
                    last_report = Some(Instant::now());
                }
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }
}

/// Gives a connection its thread, unless there are far too many.
fn begin(server: &Arc<Server>, stream: TcpStream) {
    let Some(place) = server.places.take() else {
        warn!("too many connections: one more was closed");
        turn_away_at_once(stream);
        return;
    };
    let thread = thread::Builder::new()
        .name("rukh-client".to_string())
        .stack_size(STACK_BYTES);
    let server = server.clone();
    let spawned = thread.spawn(move || {
        serve(&server, stream, &place);
        // Before the place is free again the connection is closed.
        drop(place);
    });
    if let Err(error) = spawned {
        warn!(%error, "could not start a thread for a connection");
    }
}

/// Says that there are too many, without waiting for anything.
fn turn_away_at_once(stream: TcpStream) {
    let Ok(socket) = Socket::new(stream) else {
        return;
    };
    let mut wire = Wire::new(socket);
    wire.set_patience(Some(Duration::ZERO));
    // A client that does not read loses only this message.
    let _ = wire
        .push(messages::error(&too_many(), Severity::Fatal, 0))
        .and_then(|()| wire.flush());
}

fn too_many() -> Error {
    Error::statement("53300", "sorry, too many clients already")
}

/// Removes a session from the registry, however it ends.
struct Registered<'a>(&'a Server, Arc<Slot>);

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.0.registry.remove(self.1.pid);
    }
}

fn serve(server: &Arc<Server>, stream: TcpStream, place: &Place) {
    let Ok(peer) = stream.peer_addr() else {
        return;
    };
    // Answers are whole when they are sent; waiting for more would only delay them.
    let _ = stream.set_nodelay(true);
    let Ok(socket) = Socket::new(stream) else {
        return;
    };
    let mut wire = Wire::new(socket.clone());
    let logged_in = match place.is_spare() {
        true => turn_away(server, &mut wire),
        false => log_in(server, &mut wire, &socket, peer),
    };
    let ended = match logged_in {
        Ok(Some((connection, registered, notices))) => {
            let slot = registered.1.clone();
            let pid = slot.pid;
            info!(pid, %peer, "session begins");
            let ended = Session::new(server.clone(), wire, connection, slot).run(notices);
            info!(pid, "session ends");
            ended
        }
        Ok(None) => Ok(()),
        Err(LoginError::Refused(error)) => {
            info!(%peer, sqlstate = error.sqlstate, %error, "connection refused");
            refuse(&mut wire, &error)
        }
        Err(LoginError::Wire(WireError::Protocol(message))) => {
            refuse(&mut wire, &Error::statement("08P01", message))
        }
        Err(LoginError::Wire(error)) => Err(error),
    };
    if let Err(error) = ended {
        debug!(%peer, %error, "connection lost");
    }
}

fn refuse(wire: &mut Wire, error: &Error) -> Result<(), WireError> {
    wire.push(messages::error(error, Severity::Fatal, 0))?;
    wire.set_patience(Some(FAREWELL));
    wire.flush()
}

/// Reads from a client that has no place: it is refused, unless it only wants a statement cancelled.
fn turn_away<T>(server: &Arc<Server>, wire: &mut Wire) -> Result<Option<T>, LoginError> {
    let wait = server.config.authentication_timeout().min(TURNED_AWAY_WAIT);
    wire.set_log_in_by(Some(Instant::now() + wait))?;
    match read_start(wire, server)? {
        Start::Session(_) => Err(too_many().into()),
        Start::Cancelled => Ok(None),
    }
}

/// Reads the first messages of a connection; `None` if no session was wanted.
fn log_in<'s>(
    server: &'s Arc<Server>,
    wire: &mut Wire,
    socket: &Socket,
    peer: SocketAddr,
) -> Result<Option<(Connection, Registered<'s>, Vec<Notice>)>, LoginError> {
    wire.set_log_in_by(Some(Instant::now() + server.config.authentication_timeout()))?;
    let request = match read_start(wire, server)? {
        Start::Session(request) => request,
        Start::Cancelled => return Ok(None),
    };
    if server.registry.is_stopping() {
        return Err(shutting_down().into());
    }
    wire.expect_messages(STARTUP_BYTES_MAX);
    let user = authenticate(wire, server, peer, &request.user)?;
    let mut connection = server.database.connect();
    if let Some(user) = &user {
        connection.set_user(&user.name);
    }
    let user_name = user.as_ref().map(|user| user.name.clone());
    let is_superuser = user.is_none_or(|user| user.superuser);
    let secret = server.random()?;
    let cancel = connection.cancel_handle();
    let slot = server.registry.add(secret, cancel, socket.clone());
    let slot = slot.ok_or_else(shutting_down)?;
    let registered = Registered(server, slot.clone());
    *slot.doing.lock() = Doing::begin(slot.pid, user_name, peer);
    let notices = welcome(
        wire,
        server,
        &mut connection,
        &request,
        &slot,
        secret,
        is_superuser,
    )?;
    wire.expect_messages(server.config.message_bytes_max);
    wire.set_log_in_by(None)?;
    Ok(Some((connection, registered, notices)))
}

fn shutting_down() -> Error {
    Error::statement("57P03", "the database system is shutting down")
}
