//! Where in a table recent writes fall.
//!
//! RocksDB tells the size of a key range in sorted files, not in write buffers. A thin sample of
//! the keys written since the open says how buffered bytes spread over ranges.

use parking_lot::Mutex;
use rukh_keys::KeyRange;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys kept at most; at this many, every second one goes and half as many are taken from then on.
const KEYS_MAX: usize = 512;
/// At first, one key in this many is taken.
const STRIDE_MIN: u64 = 16;

/// Every n-th key written, n growing with their number.
#[derive(Default)]
pub(super) struct KeySample {
    written: AtomicU64,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    keys: Vec<Vec<u8>>,
    /// How often the sample was thinned out: one key in `STRIDE_MIN << thinned` is taken.
    thinned: u32,
}

impl KeySample {
    /// Notes a key that is written.
    pub(super) fn note(&self, key: &[u8]) {
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        if number.is_multiple_of(STRIDE_MIN) {
            self.taken.lock().note(number / STRIDE_MIN, key);
        }
    }

    /// Returns the share of noted keys that fall into a range, and that there are any.
    pub(super) fn share(&self, range: &KeyRange) -> Option<f64> {
        let taken = self.taken.lock();
        let inside = taken.keys.iter().filter(|key| range.contains(key)).count();
        (!taken.keys.is_empty()).then(|| inside as f64 / taken.keys.len() as f64)
    }
}

impl Taken {
    fn note(&mut self, number: u64, key: &[u8]) {
        if !number.is_multiple_of(1 << self.thinned) {
            return;
        }
        if self.keys.len() == KEYS_MAX {
            let mut n = 0;
            self.keys.retain(|_| {
                n += 1;
                n % 2 == 1
            });
            self.thinned += 1;
        }
        self.keys.push(key.to_vec());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_stays_small_and_fair() {
        let sample = KeySample::default();
        assert_eq!(sample.share(&KeyRange::all()), None);
        for n in 0_u32..100_000 {
            sample.note(&n.to_be_bytes());
        }
        assert!(sample.taken.lock().keys.len() <= KEYS_MAX);
        let limit = Some(25_000_u32.to_be_bytes().to_vec());
        let share = sample.share(&KeyRange {
            start: Vec::new(),
            limit,
        });
        assert!(
            share.is_some_and(|share| (share - 0.25).abs() < 0.02),
            "{share:?}"
        );
    }
}
