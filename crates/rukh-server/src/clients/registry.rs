//! The sessions of a server by their process id: cancellation, and what runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::{Condvar, Mutex};
use rukh::{Armed, CancelHandle};

use crate::protocol::wire::Socket;
use crate::setup::doing::Doing;

/// A session as others see it.
pub(crate) struct Slot {
    /// The number of the session, which PostgreSQL calls the process.
    pub(crate) pid: i32,
    secret: i32,
    pub(crate) cancel: CancelHandle,
    pub(crate) socket: Socket,
    /// What others see of it.
    pub(crate) doing: Mutex<Doing>,
    statements: AtomicU64,
    timed_out: AtomicBool,
    running: Mutex<Running>,
}

/// What a session does.
#[derive(Default)]
struct Running {
    /// Makes the statement cancellable as soon as other sessions see it run.
    armed: Option<Armed>,
    /// When the statement must have ended.
    deadline: Option<Instant>,
    /// When the deadline will next be looked at.
    looked_at: Option<Instant>,
}

/// All sessions.
#[derive(Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<i32, Arc<Slot>>>,
    ended: Condvar,
    last: AtomicI32,
    stopping: AtomicBool,
}

impl Slot {
    /// Returns how many statements have begun, the running one among them.
    pub(crate) fn statements(&self) -> u64 {
        self.statements.load(Ordering::Relaxed)
    }

    /// Registers a running statement and its deadline. Returns when to check deadlines, unless an earlier check is
    /// already scheduled.
    pub(crate) fn start(&self, deadline: Option<Instant>) -> Option<Instant> {
        self.timed_out.store(false, Ordering::Relaxed);
        self.statements.fetch_add(1, Ordering::Relaxed);
        let mut running = self.running.lock();
        let armed = running.armed.insert(self.cancel.arm());
        if self.is_terminated() {
            armed.cancel();
        }
        running.deadline = deadline;
        let at = deadline?;
        if running.looked_at.is_some_and(|looked_at| looked_at <= at) {
            return None;
        }
        running.looked_at = Some(at);
        Some(at)
    }

    /// Notes that the statement has ended.
    pub(crate) fn stop(&self) {
        let mut running = self.running.lock();
        running.armed = None;
        running.deadline = None;
    }

    /// Cancels the statement that runs if it has run for too long; returns when to look again.
    pub(crate) fn look_at_deadline(&self, now: Instant) -> Option<Instant> {
        let mut running = self.running.lock();
        running.looked_at = running.deadline.filter(|deadline| *deadline > now);
        if running.deadline.is_some() && running.looked_at.is_none() {
            running.deadline = None;
            self.timed_out.store(true, Ordering::Relaxed);
            self.cancel.cancel();
        }
        running.looked_at
    }

    /// Returns whether the last statement was cancelled because it ran for too long.
    pub(crate) fn has_timed_out(&self) -> bool {
        self.timed_out.load(Ordering::Relaxed)
    }

    /// Ends the session: what it runs is cancelled, and nothing more is read of its client.
    pub(crate) fn terminate(&self) {
        self.socket.send_away();
        self.cancel_running();
    }

    /// Returns whether the session is to end.
    pub(crate) fn is_terminated(&self) -> bool {
        self.socket.is_over()
    }

    /// Cancels the statement that runs, if one does.
    pub(crate) fn cancel_running(&self) {
        if let Some(armed) = &self.running.lock().armed {
            armed.cancel();
        }
    }
}

impl Registry {
    /// Adds a session unless the server stops.
    pub(crate) fn add(&self, secret: i32, cancel: CancelHandle, socket: Socket) -> Option<Arc<Slot>> {
        let mut slots = self.slots.lock();
        if self.is_stopping() {
            return None;
        }
        let pid = loop {
            let pid = self.last.fetch_add(1, Ordering::Relaxed) & i32::MAX;
            if pid != 0 && !slots.contains_key(&pid) {
                break pid;
            }
        };
        let slot = Arc::new(Slot {
            pid,
            secret,
            cancel,
            socket,
            doing: Mutex::default(),
            statements: AtomicU64::new(0),
            timed_out: AtomicBool::new(false),
            running: Mutex::default(),
        });
        slots.insert(pid, slot.clone());
        Some(slot)
    }

    /// Removes a session.
    pub(crate) fn remove(&self, pid: i32) {
        self.slots.lock().remove(&pid);
        self.ended.notify_all();
    }

    /// Cancels the statement of a session, if the secret is the session's.
    pub(crate) fn cancel(&self, pid: i32, secret: i32) {
        let slot = self.slots.lock().get(&pid).cloned();
        if let Some(slot) = slot
            && slot.secret == secret
        {
            slot.cancel_running();
        }
    }

    /// Returns all sessions.
    pub(crate) fn slots(&self) -> Vec<Arc<Slot>> {
        self.slots.lock().values().cloned().collect()
    }

    /// Returns the session of a number.
    pub(crate) fn slot(&self, pid: i32) -> Option<Arc<Slot>> {
        self.slots.lock().get(&pid).cloned()
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.slots.lock().len()
    }

    /// Returns whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Lets no more sessions in.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Lets sessions end what they run, until `deadline`; cancels then, and closes what still is open.
    pub(crate) fn drain(&self, deadline: Instant) {
        self.stop();
        let all = |what: &dyn Fn(&Slot)| self.slots.lock().values().for_each(|slot| what(slot));
        all(&|slot| slot.socket.end_input());
        if self.wait_until(deadline) {
            return;
        }
        all(&|slot| slot.cancel_running());
        if !self.wait_until(Instant::now() + CANCEL_WAIT) {
            all(&|slot| slot.socket.close());
            self.wait_until(Instant::now() + CANCEL_WAIT);
        }
    }

    /// Waits until all sessions have ended; false if they have not by the deadline.
    fn wait_until(&self, deadline: Instant) -> bool {
        let mut slots = self.slots.lock();
        while !slots.is_empty() {
            if self.ended.wait_until(&mut slots, deadline).timed_out() {
                return slots.is_empty();
            }
        }
        true
    }
}

/// Time that sessions have to notice that their statement is cancelled.
const CANCEL_WAIT: std::time::Duration = std::time::Duration::from_secs(2);
