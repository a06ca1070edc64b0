//! Connections of monitors. Their number is limited and idle ones are closed, so that they cannot exhaust the descriptors that
//! storage and clients need.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tracing::debug;

/// Connections at a time; one more waits.
const CONNECTIONS_MAX: usize = 24;

/// How long a connection may neither ask nor take its answer.
const SILENCE_MAX: Duration = Duration::from_secs(20);

/// Pause after the system has refused a connection, so that it may recover.
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// Where monitors connect.
pub(crate) struct Monitors {
    listener: TcpListener,
    places: Arc<Semaphore>,
}

impl Monitors {
    pub(crate) fn new(listener: TcpListener) -> Self {
        Monitors {
            listener,
            places: Arc::new(Semaphore::new(CONNECTIONS_MAX)),
        }
    }
}

impl Listener for Monitors {
    type Io = Monitor;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Monitor, SocketAddr) {
        let place = self.places.clone().acquire_owned().await;
        let place = place.expect("nobody closes the places");
        loop {
            match self.listener.accept().await {
                Ok((stream, address)) => {
                    let monitor = Monitor {
                        stream,
                        silence: Box::pin(sleep(SILENCE_MAX)),
                        _place: place,
                    };
                    return (monitor, address);
                }
                Err(error) => {
                    debug!(%error, "could not take a monitor's connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection of a monitor.
pub(crate) struct Monitor {
    stream: TcpStream,
    /// Until when it may be silent.
    silence: Pin<Box<Sleep>>,
    _place: OwnedSemaphorePermit,
}

impl Monitor {
    /// Notes whether anything came or went; fails if nothing has for too long.
    fn heard<T>(&mut self, context: &mut Context<'_>, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if done.is_ready() {
            self.silence.as_mut().reset(Instant::now() + SILENCE_MAX);
            return done;
        }
        match self.silence.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Monitor {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let monitor = self.get_mut();
        let read = Pin::new(&mut monitor.stream).poll_read(context, buffer);
        monitor.heard(context, read)
    }
}

impl AsyncWrite for Monitor {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let monitor = self.get_mut();
        let written = Pin::new(&mut monitor.stream).poll_write(context, bytes);
        monitor.heard(context, written)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}
