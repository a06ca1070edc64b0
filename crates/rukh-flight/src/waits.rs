//! Waits for a client, which end when the statement does: the client may never send or take anything more.

use std::time::Duration;

use rukh::Error;
use tokio::runtime::Handle;
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::time::timeout;

/// Interval at which a thread that waits for a client checks whether the statement is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Sends something to the client as soon as its channel has room; returns whether the channel is open. Fails when `check` does.
///
/// It is called where a thread may wait.
pub(crate) fn send<T>(
    sender: &Sender<T>,
    item: T,
    check: impl Fn() -> Result<(), Error>,
) -> Result<bool, Error> {
    loop {
        match Handle::current().block_on(async { timeout(LOOK, sender.reserve()).await }) {
            Ok(Ok(place)) => {
                place.send(item);
                return Ok(true);
            }
            Ok(Err(_)) => return Ok(false),
            Err(_) => check()?,
        }
    }
}

/// Takes what the client sends next; `None` when it has ended. Fails when `check` does.
///
/// It is called where a thread may wait.
pub(crate) fn receive<T>(
    receiver: &mut Receiver<T>,
    check: impl Fn() -> Result<(), Error>,
) -> Result<Option<T>, Error> {
    loop {
        match Handle::current().block_on(async { timeout(LOOK, receiver.recv()).await }) {
            Ok(item) => return Ok(item),
            Err(_) => check()?,
        }
    }
}

/// Returns what fails when a connection's statement is to end.
pub(crate) fn check_of(connection: &rukh::Connection) -> impl Fn() -> Result<(), Error> + Send + 'static {
    let cancel = connection.cancel_handle();
    move || match cancel.is_cancelled() {
        true => Err(Error::cancelled()),
        false => Ok(()),
    }
}
