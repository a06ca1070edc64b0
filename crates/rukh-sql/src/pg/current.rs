//! The statement that a session runs.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::exec::context::StatementContext;
use crate::pg::asking::Asking;

/// Where the running statement of a session finds its context.
#[derive(Debug)]
pub(crate) struct CurrentStatement {
    context: Mutex<Option<Arc<StatementContext>>>,
    asking: Asking,
}

impl CurrentStatement {
    /// Makes the place for a session, where no statement runs.
    pub(crate) fn new(asking: Asking) -> Self {
        CurrentStatement {
            context: Mutex::new(None),
            asking,
        }
    }

    /// Makes a statement the running one.
    pub(crate) fn set(&self, context: Arc<StatementContext>) {
        *self.context.lock() = Some(context);
    }

    /// Leaves no statement the running one.
    pub(crate) fn forget(&self) {
        *self.context.lock() = None;
    }

    /// Returns the context of the running statement.
    pub(crate) fn context(&self) -> Option<Arc<StatementContext>> {
        self.context.lock().clone()
    }

    /// Returns the session that reads, which decides what it may see of others.
    pub(crate) fn asking(&self) -> &Asking {
        &self.asking
    }
}
