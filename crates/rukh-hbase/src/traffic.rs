//! What requests take of the network, counted by a client that is made for it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the calls of a client, see [`Client::counted`](crate::Client::counted).
#[derive(Debug, Default)]
pub struct Meter {
    calls: AtomicU64,
    bytes_sent: AtomicU64,
    bytes_received: AtomicU64,
    regions: AtomicU64,
}

/// What a [`Meter`] has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Calls, answered or not; those that look up regions are among them.
    pub calls: u64,
    /// Regions that rows were requested of: each once for each scan that reads from it, and for each call of a batch.
    pub regions: u64,
    /// Bytes of the messages and cells of calls.
    pub bytes_sent: u64,
    /// Bytes of the messages and cells of answers.
    pub bytes_received: u64,
}

impl Meter {
    /// Returns what was counted so far.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            calls: self.calls.load(Ordering::Relaxed),
            regions: self.regions.load(Ordering::Relaxed),
            bytes_sent: self.bytes_sent.load(Ordering::Relaxed),
            bytes_received: self.bytes_received.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn sent(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.bytes_sent.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: usize) {
        self.bytes_received.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn reached(&self, regions: usize) {
        self.regions.fetch_add(regions as u64, Ordering::Relaxed);
    }
}
