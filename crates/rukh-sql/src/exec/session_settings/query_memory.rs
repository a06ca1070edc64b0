//! What the queries of one session may take of the memory that all queries share: `SET query_memory_limit`.
//!
//! A pool of a session's own stands before the one of the database. What a session may not have any more its sorts
//! and aggregates spill for, as they do when the database has no more; what cannot spill fails with 53200.

use std::fmt::{Display, Formatter};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryLimit, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::RuntimeEnv;

/// The memory of one session's queries.
#[derive(Debug)]
pub(crate) struct QueryMemory {
    shared: Arc<dyn MemoryPool>,
    used: AtomicUsize,
    /// Bytes; 0 for no limit but that of the database.
    limit: AtomicUsize,
}

impl QueryMemory {
    /// Makes the memory of a session, and its environment with it.
    pub(crate) fn within(env: &RuntimeEnv) -> (Arc<QueryMemory>, Arc<RuntimeEnv>) {
        let memory = Arc::new(QueryMemory {
            shared: env.memory_pool.clone(),
            used: AtomicUsize::new(0),
            limit: AtomicUsize::new(0),
        });
        let env = RuntimeEnv {
            memory_pool: memory.clone(),
            ..env.clone()
        };
        (memory, Arc::new(env))
    }

    /// Sets how much the session may take from now on.
    pub(crate) fn set_limit(&self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.limit.store(bytes, Ordering::Relaxed);
    }

    fn take(&self, additional: usize) -> DataFusionResult<()> {
        let limit = match self.limit.load(Ordering::Relaxed) {
            0 => usize::MAX,
            limit => limit,
        };
        let grown = |used: usize| used.checked_add(additional).filter(|grown| *grown <= limit);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grown);
        taken.map(drop).map_err(|used| {
            DataFusionError::ResourcesExhausted(format!(
                "out of memory: the query would take {} bytes, query_memory_limit is {limit}",
                used.saturating_add(additional)
            ))
        })
    }
}

impl Display for QueryMemory {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "session of {}", self.shared)
    }
}

impl MemoryPool for QueryMemory {
    fn name(&self) -> &str {
        "session"
    }

    fn register(&self, consumer: &MemoryConsumer) {
        self.shared.register(consumer);
    }

    fn unregister(&self, consumer: &MemoryConsumer) {
        self.shared.unregister(consumer);
    }

    fn grow(&self, reservation: &MemoryReservation, additional: usize) {
        self.used.fetch_add(additional, Ordering::Relaxed);
        self.shared.grow(reservation, additional);
    }

    fn shrink(&self, reservation: &MemoryReservation, shrink: usize) {
        self.used.fetch_sub(shrink, Ordering::Relaxed);
        self.shared.shrink(reservation, shrink);
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> DataFusionResult<()> {
        self.take(additional)?;
        self.shared.try_grow(reservation, additional).inspect_err(|_| {
            self.used.fetch_sub(additional, Ordering::Relaxed);
        })
    }

    fn reserved(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn memory_limit(&self) -> MemoryLimit {
        match self.limit.load(Ordering::Relaxed) {
            0 => self.shared.memory_limit(),
            limit => MemoryLimit::Finite(limit),
        }
    }
}
