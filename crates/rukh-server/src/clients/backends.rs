//! The sessions of a server as other sessions see and end them: `pg_stat_activity`, `pg_terminate_backend`.

use std::sync::Arc;

use rukh::{Backend, Backends};

use crate::clients::shared::Server;

/// A server, as its database knows it: it may be gone.
pub(crate) struct OfServer(pub(crate) std::sync::Weak<Server>);

impl OfServer {
    fn with<T>(&self, ask: impl FnOnce(&Arc<Server>) -> T) -> Option<T> {
        self.0.upgrade().map(|server| ask(&server))
    }
}

impl Backends for OfServer {
    fn list(&self) -> Vec<Backend> {
        let all = |server: &Arc<Server>| {
            let slots = server.registry().slots();
            slots
                .iter()
                .map(|slot| slot.doing.lock().as_backend().clone())
                .collect()
        };
        self.with(all).unwrap_or_default()
    }

    fn cancel(&self, pid: i32) -> bool {
        let slot = self.with(|server| server.registry().slot(pid)).flatten();
        slot.as_ref().is_some_and(|slot| {
            slot.cancel_running();
            true
        })
    }

    fn terminate(&self, pid: i32) -> bool {
        let slot = self.with(|server| server.registry().slot(pid)).flatten();
        slot.as_ref().is_some_and(|slot| {
            slot.terminate();
            true
        })
    }
}
