//! Running statements: each on a thread that may wait, watched from the call that wants it.
//!
//! A call that is dropped, because its client has gone, cancels its statement. Batches of a result wait two at a
//! time: a client that does not read stops the query. A statement that is cancelled while it waits for its client ends: what it
//! ends with stands behind the batches that wait (`waits`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::Stream;
use parking_lot::Mutex;
use rukh::arrow::array::RecordBatch;
use rukh::arrow::datatypes::SchemaRef;
use rukh::{Armed, Connection, Error, Rows};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, spawn_blocking};
use tonic::Status;

use crate::error::status;
use crate::session::{Place, Session, Transaction, limit};
use crate::shown::schema;
use crate::waits;

/// Batches that are made before the client has taken them.
const WAITING_MAX: usize = 2;

/// How long a statement of a transaction may look for more rows that its client does not want.
const LEFT_MAX: Duration = Duration::from_secs(1);

/// A statement that runs, or is about to.
pub(crate) struct Running {
    number: u64,
    /// The ticket that its result is fetched by.
    pub(crate) ticket: Option<Bytes>,
    phase: Mutex<Phase>,
    timed_out: AtomicBool,
}

/// How far a statement is.
enum Phase {
    Waiting,
    Runs {
        armed: Armed,
        place: Place,
        timer: Option<AbortHandle>,
        /// Whether it was cancelled.
        is_cancelled: bool,
    },
    /// It was cancelled before it began.
    Cancelled,
    Over,
}

impl Running {
    pub(crate) fn new(number: u64, ticket: Option<Bytes>) -> Self {
        Running {
            number,
            ticket,
            phase: Mutex::new(Phase::Waiting),
            timed_out: AtomicBool::new(false),
        }
    }

    /// Ends the statement; returns whether it had not ended yet.
    pub(crate) fn cancel(&self) -> bool {
        let mut phase = self.phase.lock();
        match &mut *phase {
            Phase::Waiting => *phase = Phase::Cancelled,
            Phase::Runs {
                armed,
                place,
                is_cancelled,
                ..
            } => {
                *is_cancelled = true;
                if place.is_latest(self.number) {
                    armed.cancel();
                }
            }
            Phase::Cancelled => {}
            Phase::Over => return false,
        }
        true
    }

    /// Ends the statement, whose client has had rows and wants no more of them. Within a transaction that is no failure, as a
    /// cancelled statement would be: it ends with its next rows, and is cancelled only if these take long.
    fn leave(self: &Arc<Self>) {
        let waits = match &mut *self.phase.lock() {
            Phase::Runs {
                place, is_cancelled, ..
            } if !matches!(place, Place::Alone) => {
                *is_cancelled = true;
                true
            }
            _ => false,
        };
        match Handle::try_current() {
            Ok(runtime) if waits => {
                let running = self.clone();
                runtime.spawn(async move {
                    tokio::time::sleep(LEFT_MAX).await;
                    running.cancel();
                });
            }
            _ => {
                self.cancel();
            }
        }
    }

    /// Ends the statement if it runs in this transaction.
    pub(crate) fn cancel_within(&self, transaction: &Arc<Transaction>) {
        let is_within = matches!(&*self.phase.lock(), Phase::Runs { place, .. } if place.is(transaction));
        if is_within {
            self.cancel();
        }
    }

    /// Fails if the statement is to end.
    fn check(&self) -> Result<(), Error> {
        match &*self.phase.lock() {
            Phase::Waiting
            | Phase::Runs {
                is_cancelled: false, ..
            } => Ok(()),
            Phase::Runs { .. } | Phase::Cancelled | Phase::Over => Err(Error::cancelled()),
        }
    }

    fn time_out(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
        self.cancel();
    }

    /// Notes that the statement runs on a connection, and until when it may.
    fn start(self: &Arc<Self>, connection: &Connection, place: &Place) -> Result<(), Error> {
        let mut phase = self.phase.lock();
        let timer = match &*phase {
            Phase::Waiting => limit(connection, "statement_timeout").map(|limit| {
                let running = self.clone();
                let timer = async move {
                    tokio::time::sleep(limit).await;
                    running.time_out();
                };
                Handle::current().spawn(timer).abort_handle()
            }),
            // It goes on with the next parameters; a request may have been for another statement of the transaction.
            Phase::Runs {
                armed,
                is_cancelled: false,
                ..
            } => {
                place.begins(self.number);
                armed.forget();
                return Ok(());
            }
            Phase::Runs { .. } | Phase::Cancelled | Phase::Over => return Err(Error::cancelled()),
        };
        place.begins(self.number);
        *phase = Phase::Runs {
            armed: connection.cancel_handle().arm(),
            place: place.clone(),
            timer,
            is_cancelled: false,
        };
        Ok(())
    }

    /// Notes that the statement has ended: it is not to be cancelled any more.
    fn end(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Runs {
            timer: Some(timer), ..
        } = &*phase
        {
            timer.abort();
        }
        *phase = Phase::Over;
    }

    /// Returns an error as a status for the client.
    fn status_of(&self, mut error: Error) -> Status {
        if error.sqlstate == "57014" && self.timed_out.load(Ordering::Relaxed) {
            error.message = "canceling statement due to statement timeout".to_string();
        }
        status(&error)
    }
}

/// Cancels a statement unless it has ended, and forgets it.
struct Watch {
    session: Arc<Session>,
    running: Arc<Running>,
    /// Whether the client has had rows.
    has_given: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        match self.has_given {
            true => self.running.leave(),
            false => drop(self.running.cancel()),
        }
        self.session.end(self.running.number);
    }
}

fn watch(session: &Arc<Session>, text: &str, ticket: Option<Bytes>) -> Result<Watch, Status> {
    let running = session.begin(text, ticket).map_err(|error| status(&error))?;
    Ok(Watch {
        session: session.clone(),
        running,
        has_given: false,
    })
}

/// Runs something on a connection; `text` is what others see of it.
pub(crate) async fn run<T: Send + 'static>(
    session: &Arc<Session>,
    place: Place,
    text: &str,
    work: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
) -> Result<T, Status> {
    let watch = watch(session, text, None)?;
    let (session, running) = (session.clone(), watch.running.clone());
    let task = spawn_blocking(move || {
        let mut taken = place.take(&session).map_err(|error| status(&error))?;
        let started = running.start(taken.connection(), &place);
        let result = started.and_then(|()| work(taken.connection()));
        running.end();
        result.map_err(|error| running.status_of(error))
    });
    let result = task.await.map_err(|_| broken())?;
    drop(watch);
    result
}

fn broken() -> Status {
    status(&Error::internal("the statement broke off"))
}

/// Gives the rows of one run of a statement after another, until there are no more.
pub(crate) type Runs = Box<dyn FnMut(&mut Connection) -> Result<Option<Rows>, Error> + Send>;

/// The batches of a result, in the schema that the client has.
pub(crate) struct Batches {
    receiver: mpsc::Receiver<Result<RecordBatch, Status>>,
    /// What it ends with behind the last batch, if that is an error.
    failed: Arc<Mutex<Option<Status>>>,
    /// Dropped with the stream, which ends what still runs.
    watch: Watch,
}

impl Stream for Batches {
    type Item = Result<RecordBatch, Status>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        match self.receiver.poll_recv(context) {
            Poll::Ready(None) => Poll::Ready(self.failed.lock().take().map(Err)),
            next => {
                self.watch.has_given |= next.is_ready();
                next
            }
        }
    }
}

/// Runs a statement that gives rows; `begin` returns their schema, and how to get them.
pub(crate) async fn stream(
    session: &Arc<Session>,
    place: Place,
    text: &str,
    ticket: Option<Bytes>,
    begin: impl FnOnce(&mut Connection) -> Result<(SchemaRef, Runs), Error> + Send + 'static,
) -> Result<(SchemaRef, Batches), Status> {
    let watch = watch(session, text, ticket)?;
    let (head, schema_sent) = oneshot::channel();
    let (sender, receiver) = mpsc::channel(WAITING_MAX);
    let failed = Arc::new(Mutex::new(None));
    let last = failed.clone();
    let (session, running) = (session.clone(), watch.running.clone());
    let text = text.to_string();
    spawn_blocking(move || {
        let mut out = Out {
            head: Some(head),
            sender,
            failed: last,
        };
        let started = Instant::now();
        let tell = |connection: Option<&Connection>| session.tell(connection, &text, started.elapsed(), true);
        let sent = send(&session, &running, &place, begin, &mut out, tell);
        running.end();
        if let Err(error) = sent {
            session.tell(None, &text, started.elapsed(), false);
            // Its client need not read on for others to see that it has ended.
            session.end(running.number);
            out.fail(running.status_of(error));
        }
    });
    let schema = schema_sent.await.map_err(|_| broken())??;
    let batches = Batches {
        receiver,
        failed,
        watch,
    };
    Ok((schema, batches))
}

/// Where a result goes: its schema, then its batches.
struct Out {
    head: Option<oneshot::Sender<Result<SchemaRef, Status>>>,
    sender: mpsc::Sender<Result<RecordBatch, Status>>,
    failed: Arc<Mutex<Option<Status>>>,
}

impl Out {
    fn fail(&mut self, status: Status) {
        match self.head.take() {
            // The receiver may be gone.
            Some(head) => drop(head.send(Err(status))),
            None => *self.failed.lock() = Some(status),
        }
    }
}

fn send(
    session: &Arc<Session>,
    running: &Arc<Running>,
    place: &Place,
    begin: impl FnOnce(&mut Connection) -> Result<(SchemaRef, Runs), Error>,
    out: &mut Out,
    tell: impl Fn(Option<&Connection>),
) -> Result<(), Error> {
    let mut taken = Some(place.take(session)?);
    let (schema, mut runs) = {
        let connection = taken.as_mut().expect("it was just taken").connection();
        running.start(connection, place)?;
        begin(connection)?
    };
    loop {
        let mut now = match taken.take() {
            Some(taken) => taken,
            None => place.take(session)?,
        };
        running.start(now.connection(), place)?;
        let rows = runs(now.connection())?;
        // In a transaction others may run while rows are read; else the connection is this statement's.
        taken = Some(now).filter(|_| matches!(place, Place::Alone));
        if let Some(head) = out.head.take()
            && head.send(Ok(schema.clone())).is_err()
        {
            return Ok(());
        }
        let Some(mut rows) = rows else {
            tell(taken.as_mut().map(|taken| &*taken.connection()));
            return Ok(());
        };
        while let Some(batch) = rows.next_batch()? {
            running.check()?;
            let batch = schema::fit(batch, &schema)?;
            if !waits::send(&out.sender, Ok(batch), || running.check())? {
                return Ok(());
            }
        }
    }
}
