//! The threads that DataFusion plans run on, usable from synchronous and asynchronous callers alike.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::SqlError;

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
        let runtime = self.0.as_ref().expect("the pool lives until it is dropped");
        let _entered = runtime.enter();
        wait_for(future)
    }
}

/// Polls a future on the calling thread, which sleeps until it is woken.
///
/// Executors refuse to run inside one another; this is none, so it may be called from anywhere.
fn wait_for<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
        thread::park();
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
