//! Requests run on threads of the store's own; callers wait for them, also those that are tasks of another runtime.

use std::sync::mpsc::sync_channel;
use std::time::Duration;

use rukh_kv::KvError;

use super::keys::failed;
use crate::Error;

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
