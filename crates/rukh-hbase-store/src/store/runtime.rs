//! Requests run on threads of the store's own; callers wait for them, also those that are tasks of another runtime.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use rukh_kv::KvError;

use super::keys::failed;
use crate::Error;

/// How often a caller that waits looks whether its statement is cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// The threads on which requests run.
pub(crate) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    pub(crate) fn new() -> Result<Runtime, KvError> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let built = builder
            .worker_threads(2)
            .thread_name("rukh-hbase")
            .enable_all()
            .build();
        let built = built.map_err(|source| KvError::Io {
            operation: "start threads".to_string(),
            source,
        })?;
        Ok(Runtime(Some(built)))
    }

    /// Runs a task, and waits for it.
    pub(crate) fn wait<T: Send + 'static>(&self, task: impl Future<Output = T> + Send + 'static) -> T {
        let (sender, receiver) = sync_channel(1);
        self.spawn(async move {
            let _ = sender.send(task.await);
        });
        receiver
            .recv()
            .expect("the task sends, and its runtime outlives it")
    }

    /// Runs a task, and waits for it until a statement is cancelled; nothing then, and the task ends where it is.
    pub(crate) fn wait_unless<T: Send + 'static>(
        &self,
        cancel: Option<&AtomicBool>,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let Some(cancel) = cancel else {
            return Some(self.wait(task));
        };
        let (sender, receiver) = sync_channel(1);
        let running = self.0.as_ref().map(|runtime| {
            runtime.spawn(async move {
                let _ = sender.send(task.await);
            })
        });
        while !cancel.load(Ordering::Relaxed) {
            match receiver.recv_timeout(LOOK) {
                Ok(done) => return Some(done),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        if let Some(running) = running {
            running.abort();
        }
        None
    }

    /// Runs a task, and waits for it for a limited time.
    pub(crate) fn wait_within<T: Send + 'static>(
        &self,
        limit: Duration,
        operation: &str,
        task: impl Future<Output = Result<T, Error>> + Send + 'static,
    ) -> Result<T, KvError> {
        match self.wait(async move { tokio::time::timeout(limit, task).await }) {
            Ok(done) => done.map_err(|error| failed(operation, error)),
            Err(_) => Err(KvError::Unreachable {
                operation: operation.to_string(),
                reason: format!("no answer within {limit:?}"),
            }),
        }
    }

    /// Runs a task beside the caller.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(runtime) = &self.0 {
            runtime.spawn(task);
        }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        // Waiting is not allowed where the last user is a task of another runtime.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
