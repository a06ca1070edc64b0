//! All sessions: by token after a login, else by connection.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use rukh::{Backend, Backends, Database, Error};
use tokio::task::spawn_blocking;
use tokio_rustls::rustls::crypto::CryptoProvider;
use tonic::metadata::MetadataMap;
use tonic::{Extensions, Status};
use tracing::info;

use crate::authentication::{Said, check_password, check_trusted, said, token};
use crate::connection::Peer;
use crate::error::{malformed, status};
use crate::held::{Shared, shared};
use crate::session::{Beginning, Session};

/// Numbers of sessions begin here: those of PostgreSQL's protocol count from 1.
const FIRST_PID: i32 = 1_000_000_001;
/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;
/// Random bytes of a handle.
const HANDLE_BYTES: usize = 16;

/// All sessions of a server.
pub(crate) struct Sessions {
    database: Arc<dyn Shared<Database>>,
    provider: Arc<CryptoProvider>,
    /// Secret from which the salts of unknown users are derived.
    secret: [u8; 32],
    defaults: Beginning,
    sessions_max: usize,
    idle_max: Duration,
    known: Mutex<Known>,
    last: AtomicI32,
    stopping: AtomicBool,
}

#[derive(Default)]
struct Known {
    by_token: HashMap<String, Arc<Session>>,
    /// By connection and user; administrators of a database without users have none.
    by_connection: HashMap<(u64, Option<String>), Arc<Session>>,
}

impl Known {
    fn all(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.by_token.values().chain(self.by_connection.values())
    }

    fn len(&self) -> usize {
        self.by_token.len() + self.by_connection.len()
    }
}

impl Sessions {
    /// Makes a place for sessions; fails if the system has no random numbers.
    pub(crate) fn new(
        database: Database,
        provider: Arc<CryptoProvider>,
        defaults: Beginning,
        sessions_max: usize,
        idle_max: Duration,
    ) -> Result<Self, Error> {
        let mut sessions = Sessions {
            database: shared(database),
            provider,
            secret: [0; 32],
            defaults,
            sessions_max,
            idle_max,
            known: Mutex::default(),
            last: AtomicI32::new(FIRST_PID),
            stopping: AtomicBool::new(false),
        };
        let mut secret = [0; 32];
        sessions.fill_random(&mut secret)?;
        sessions.secret = secret;
        Ok(sessions)
    }

    fn fill_random(&self, bytes: &mut [u8]) -> Result<(), Error> {
        let filled = self.provider.secure_random.fill(bytes);
        filled.map_err(|_| Error::io("the system has no random numbers"))
    }

    /// Makes a handle of cryptographically secure random bytes.
    pub(crate) fn handle(&self) -> Result<Bytes, Status> {
        let mut bytes = [0; HANDLE_BYTES];
        self.fill_random(&mut bytes).map_err(|error| status(&error))?;
        Ok(Bytes::copy_from_slice(&bytes))
    }

    /// Finds the session that a call belongs to, or begins it.
    pub(crate) async fn of_call(
        self: &Arc<Self>,
        metadata: &MetadataMap,
        extensions: &Extensions,
    ) -> Result<Arc<Session>, Status> {
        let peer = peer(extensions)?;
        let is_known = peer.is_known.clone();
        let session = self.of_peer(metadata, peer).await?;
        is_known.store(true, Ordering::Relaxed);
        Ok(session)
    }

    async fn of_peer(self: &Arc<Self>, metadata: &MetadataMap, peer: Peer) -> Result<Arc<Session>, Status> {
        match said(metadata).map_err(|error| status(&error))? {
            Said::Token(token) => {
                let session = self.known.lock().by_token.get(&token).cloned();
                let session = session.filter(|session| session.touch());
                session.ok_or_else(|| {
                    let message = "the token is unknown, or its session has expired";
                    status(&Error::statement("28000", message))
                })
            }
            Said::Password { user, password } => {
                let user = self.check(user, password, &peer).await?;
                self.of_connection(peer, user).map_err(|error| status(&error))
            }
            Said::Nothing => {
                let trusted = check_trusted(self.database.get(), peer.address);
                let session = trusted.and_then(|()| self.of_connection(peer, None));
                session.map_err(|error| status(&error))
            }
        }
    }

    /// Logs a client in, and returns its token.
    pub(crate) async fn log_in(
        self: &Arc<Self>,
        metadata: &MetadataMap,
        extensions: &Extensions,
    ) -> Result<String, Status> {
        let peer = peer(extensions)?;
        let user = match said(metadata).map_err(|error| status(&error))? {
            Said::Password { user, password } => self.check(user, password, &peer).await?,
            Said::Nothing | Said::Token(_) => {
                check_trusted(self.database.get(), peer.address).map_err(|error| status(&error))?;
                None
            }
        };
        let mut bytes = [0; TOKEN_BYTES];
        self.fill_random(&mut bytes).map_err(|error| status(&error))?;
        let token = token(&bytes);
        let mut known = self.known.lock();
        let session = self.begin(&known, &peer, user).map_err(|error| status(&error))?;
        known.by_token.insert(token.clone(), session);
        peer.is_known.store(true, Ordering::Relaxed);
        Ok(token)
    }

    /// Checks a password where users have some; returns the user, or none for an administrator of a database
    /// without users.
    async fn check(
        self: &Arc<Self>,
        user: String,
        password: String,
        peer: &Peer,
    ) -> Result<Option<String>, Status> {
        if !self.database.get().has_users() {
            return match check_trusted(self.database.get(), peer.address) {
                Ok(()) => Ok(None),
                Err(error) => Err(status(&error)),
            };
        }
        let (sessions, name) = (self.clone(), user.clone());
        let checked = spawn_blocking(move || {
            check_password(sessions.database.get(), &sessions.secret, &name, &password)
        });
        let checked = checked
            .await
            .unwrap_or_else(|_| Err(Error::internal("the log in broke off")));
        match checked {
            Ok(()) => Ok(Some(user)),
            Err(error) => {
                info!(address = %peer.address, sqlstate = error.sqlstate, %error, "log in refused");
                Err(status(&error))
            }
        }
    }

    fn of_connection(&self, peer: Peer, user: Option<String>) -> Result<Arc<Session>, Error> {
        let mut known = self.known.lock();
        let key = (peer.connection, user.clone());
        if let Some(session) = known.by_connection.get(&key)
            && session.touch()
        {
            return Ok(session.clone());
        }
        let session = self.begin(&known, &peer, user)?;
        known.by_connection.insert(key, session.clone());
        Ok(session)
    }

    fn begin(&self, known: &Known, peer: &Peer, user: Option<String>) -> Result<Arc<Session>, Error> {
        if self.stopping.load(Ordering::Relaxed) {
            return Err(Error::statement("57P03", "the database system is shutting down"));
        }
        if known.len() >= self.sessions_max {
            return Err(too_many());
        }
        let pid = self.next_pid();
        info!(pid, address = %peer.address, "session begins");
        let (database, defaults) = (self.database.clone(), self.defaults.clone());
        Ok(Arc::new(Session::new(
            pid,
            user,
            peer.address,
            database,
            defaults,
        )))
    }

    fn next_pid(&self) -> i32 {
        let next = |pid: i32| Some(pid.checked_add(1).unwrap_or(FIRST_PID));
        let pid = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        pid.unwrap_or(FIRST_PID)
    }

    /// Ends a session at its client's wish.
    pub(crate) fn close(&self, session: &Arc<Session>) {
        self.remove(|other| Arc::ptr_eq(other, session));
    }

    /// Ends the sessions that nothing but a connection knows.
    pub(crate) fn hang_up(&self, connection: u64) {
        let gone: Vec<Arc<Session>> = {
            let mut known = self.known.lock();
            let of = known.by_connection.extract_if(|(of, _), _| *of == connection);
            of.map(|(_, session)| session).collect()
        };
        end(&gone);
    }

    fn remove(&self, is_over: impl Fn(&Arc<Session>) -> bool) {
        let gone: Vec<Arc<Session>> = {
            let mut known = self.known.lock();
            let Known {
                by_token,
                by_connection,
            } = &mut *known;
            let tokens = by_token.extract_if(|_, session| is_over(session));
            let tokens: Vec<_> = tokens.map(|(_, session)| session).collect();
            let connections = by_connection.extract_if(|_, session| is_over(session));
            let connections = connections.map(|(_, session)| session);
            tokens.into_iter().chain(connections).collect()
        };
        end(&gone);
    }

    /// Ends sessions and transactions that were idle for too long.
    pub(crate) fn expire(&self) {
        self.remove(|session| session.has_expired(self.idle_max));
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.known.lock().len()
    }

    /// Lets no more sessions in.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Waits until nothing runs, or until `deadline`; then ends all sessions.
    pub(crate) async fn drain(&self, deadline: Instant) {
        while Instant::now() < deadline && !self.known.lock().all().all(|session| session.is_idle()) {
            tokio::time::sleep(LOOK).await;
        }
        self.remove(|_| true);
    }
}

/// How often it is looked whether all statements have ended.
const LOOK: Duration = Duration::from_millis(20);

fn end(sessions: &[Arc<Session>]) {
    for session in sessions {
        session.close();
        info!(pid = session.pid, "session ends");
    }
}

fn too_many() -> Error {
    Error::statement("53300", "sorry, too many clients already")
}

fn peer(extensions: &Extensions) -> Result<Peer, Status> {
    let peer = extensions.get::<Peer>().cloned();
    let peer = peer.ok_or_else(|| malformed("the connection is unknown"))?;
    match peer.is_refused {
        true => Err(status(&too_many())),
        false => Ok(peer),
    }
}

/// Sessions, as their database knows them: they may be gone.
pub(crate) struct OfServer(pub(crate) Weak<Sessions>);

impl OfServer {
    fn named(&self, pid: i32) -> Option<(Arc<Sessions>, Arc<Session>)> {
        let sessions = self.0.upgrade()?;
        let session = sessions
            .known
            .lock()
            .all()
            .find(|session| session.pid == pid)?
            .clone();
        Some((sessions, session))
    }
}

impl Backends for OfServer {
    fn list(&self) -> Vec<Backend> {
        let Some(sessions) = self.0.upgrade() else {
            return Vec::new();
        };
        let all: Vec<Arc<Session>> = sessions.known.lock().all().cloned().collect();
        all.iter().map(|session| session.backend()).collect()
    }

    fn cancel(&self, pid: i32) -> bool {
        self.named(pid).is_some_and(|(_, session)| {
            session.cancel(None);
            true
        })
    }

    fn terminate(&self, pid: i32) -> bool {
        self.named(pid).is_some_and(|(sessions, session)| {
            sessions.close(&session);
            true
        })
    }
}
