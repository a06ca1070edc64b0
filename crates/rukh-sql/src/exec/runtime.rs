//! The threads that DataFusion plans run on, usable from synchronous and asynchronous callers alike.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use crate::exec::context::CancelHandle;
use crate::exec::operators::Abandoned;
use rukh_error::SqlError;

/// Longest time that a cancelled statement goes unnoticed by the thread that waits for it.
const CANCEL_WAIT: Duration = Duration::from_millis(20);

/// Batches that a plan may be ahead of its reader.
const BATCHES_AHEAD: usize = 1;

/// A thread pool for query plans.
#[derive(Debug)]
pub(crate) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    /// Starts one thread per core.
    pub(crate) fn start() -> Result<Self, SqlError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("rukh-query")
            .enable_time()
            .build();
        let runtime =
            runtime.map_err(|error| SqlError::io(format!("could not start query threads: {error}")))?;
        Ok(Runtime(Some(runtime)))
    }

    /// Waits for a future on the calling thread; tasks it spawns run on the pool.
    ///
    /// Unlike tokio's own `block_on` this does not panic inside an asynchronous caller; it blocks it.
    pub(crate) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        let _entered = self.pool().enter();
        match wait_for(future, None) {
            Ok(value) => value,
            Err(_) => unreachable!("nobody can cancel this"),
        }
    }

    /// Starts a plan on the pool.
    pub(crate) fn run(&self, mut stream: SendableRecordBatchStream, abandoned: Abandoned) -> Running {
        let schema = stream.schema();
        let (sender, batches) = mpsc::channel(BATCHES_AHEAD);
        let task = self.pool().spawn(async move {
            while let Some(batch) = stream.next().await {
                if sender.send(batch).await.is_err() {
                    break;
                }
            }
        });
        Running {
            schema,
            batches,
            task,
            abandoned,
            ended: false,
        }
    }

    fn pool(&self) -> &tokio::runtime::Runtime {
        self.0.as_ref().expect("the pool lives until it is dropped")
    }
}

/// A plan that runs on the pool; dropped, it ends as soon as an operator lets it.
///
/// The reader waits beside it, so that a cancelled statement ends at once even while an operator, such
/// as a join of everything with everything, computes for seconds without a pause.
pub(crate) struct Running {
    schema: SchemaRef,
    batches: mpsc::Receiver<DataFusionResult<RecordBatch>>,
    task: JoinHandle<()>,
    /// What ends operators that do not pause.
    abandoned: Abandoned,
    ended: bool,
}

impl Running {
    /// Returns the schema of the batches.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Waits for the next batch; `None` at the end. Fails with 57014 when the statement is cancelled.
    pub(crate) fn next(&mut self, cancel: &CancelHandle) -> Result<Option<RecordBatch>, SqlError> {
        let next = wait_for(self.batches.recv(), Some(cancel)).inspect_err(|_| {
            self.abandoned.set();
            self.task.abort();
        })?;
        match next {
            Some(batch) => Ok(Some(batch?)),
            None => self.end(cancel),
        }
    }

    /// The plan gives no more batches: it is done, or its thread panicked.
    fn end(&mut self, cancel: &CancelHandle) -> Result<Option<RecordBatch>, SqlError> {
        if self.ended {
            return Ok(None);
        }
        let outcome = wait_for(&mut self.task, Some(cancel))?;
        self.ended = true;
        match outcome {
            Ok(()) => Ok(None),
            Err(error) => Err(SqlError::internal(format!("a query thread failed: {error}"))),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.abandoned.set();
        self.task.abort();
    }
}

/// Polls a future on the calling thread, which sleeps until it is woken or the statement is cancelled.
///
/// Executors refuse to run inside one another; this is none, so it may be called from anywhere.
fn wait_for<T>(future: impl Future<Output = T>, cancel: Option<&CancelHandle>) -> Result<T, SqlError> {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return Ok(value);
        }
        match cancel {
            None => thread::park(),
            Some(cancel) => {
                cancel.check()?;
                thread::park_timeout(CANCEL_WAIT);
            }
        }
    }
}

/// Wakes a sleeping thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waiting for the threads would panic inside an asynchronous caller.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
