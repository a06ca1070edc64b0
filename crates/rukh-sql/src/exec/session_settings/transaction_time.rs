//! The time of a transaction, which `now()` returns.

use std::sync::{Arc, OnceLock};

use rukh_engine::Engine;

/// The time of the first request in a transaction; a transaction block sets it as it begins.
#[derive(Clone)]
pub(crate) struct TransactionTime {
    engine: Engine,
    fixed: Arc<OnceLock<i64>>,
}

impl TransactionTime {
    /// Returns the time of a transaction that begins.
    pub(crate) fn new(engine: &Engine) -> Self {
        TransactionTime {
            engine: engine.clone(),
            fixed: Arc::default(),
        }
    }

    /// Returns the time, in microseconds since 1970.
    pub(crate) fn micros(&self) -> i64 {
        *self.fixed.get_or_init(|| self.engine.now())
    }
}
