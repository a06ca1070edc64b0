//! Ctrl-C: cancels the statement that runs, and ends a script that waits.
//!
//! | moment                          | REPL             | script                        |
//! |---------------------------------|------------------|-------------------------------|
//! | a statement runs                | it is cancelled  | it is cancelled, and the script ends |
//! | the same statement still runs   | cancelled again  | the process ends with 130     |
//! | nothing runs                    | nothing          | the process ends with 130     |
//!
//! A thread of its own waits for the signal, so that nothing happens inside a signal handler. While the
//! line editor reads, the terminal sends Ctrl-C as a key instead, and the editor empties its line.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rukh::{Armed, CancelHandle};
use signal_hook::consts::SIGINT;
use signal_hook::iterator::Signals;

use crate::base::error::Exit;

/// What Ctrl-C does when no statement runs, or when one does not listen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Otherwise {
    /// Nothing: a person is at the prompt.
    Ignore,
    /// The process ends.
    Exit,
}

/// Routes Ctrl-C to the running statement.
#[derive(Clone)]
pub struct Interrupts {
    handle: CancelHandle,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Idle,
    Running,
    Cancelled,
}

impl Interrupts {
    /// Starts the thread that waits for Ctrl-C and cancels through `handle`.
    pub fn install(handle: CancelHandle, otherwise: Otherwise) -> io::Result<Interrupts> {
        let interrupts = Interrupts {
            handle,
            state: Arc::new(Mutex::new(State::Idle)),
        };
        let mut signals = Signals::new([SIGINT])?;
        let receiver = interrupts.clone();
        thread::Builder::new().name("ctrl-c".to_owned()).spawn(move || {
            signals.forever().for_each(|_| receiver.interrupt(otherwise));
        })?;
        Ok(interrupts)
    }

    /// Marks a statement as running until the guard is dropped.
    pub fn running(&self) -> Running<'_> {
        let armed = self.handle.arm();
        *self.lock() = State::Running;
        Running {
            interrupts: self,
            _armed: armed,
        }
    }

    fn interrupt(&self, otherwise: Otherwise) {
        let mut state = self.lock();
        if *state != State::Running && otherwise == Otherwise::Exit {
            Exit::Interrupted.leave_at_once();
        }
        if *state != State::Idle {
            self.handle.cancel();
            *state = State::Cancelled;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A statement that runs.
pub struct Running<'a> {
    interrupts: &'a Interrupts,
    _armed: Armed,
}

impl Running<'_> {
    /// Returns whether Ctrl-C was pressed since the statement began.
    pub fn is_cancelled(&self) -> bool {
        *self.interrupts.lock() == State::Cancelled
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        *self.interrupts.lock() = State::Idle;
    }
}
