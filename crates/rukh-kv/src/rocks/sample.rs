//! Where in a table recent writes fall.
//!
//! RocksDB estimates the size of a key range in sorted files, not in write buffers. A thin sample of
//! the keys written since the open says how buffered bytes spread over ranges.
//!
//! The n-th key written is taken when the fraction of n times the golden ratio is small. Such n are
//! spread evenly, but not regularly: rows that come in turns, one per host, are all met.

use parking_lot::Mutex;
use rukh_keys::KeyRange;
use std::sync::atomic::{AtomicU64, Ordering};

/// Keys kept at most; at this many, every second one goes and half as many are taken from then on.
const KEYS_MAX: usize = 512;
/// At first, one key in two to the power of this is taken.
const THINNING_MIN: u32 = 4;
/// The fraction of the golden ratio, as a fraction of 2^64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sample of the keys written.
#[derive(Default)]
pub(super) struct KeySample {
    written: AtomicU64,
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    /// Each key with the fraction of its number.
    keys: Vec<(u64, Vec<u8>)>,
    /// How often the sample was thinned out.
    thinned: u32,
}

impl KeySample {
    /// Notes a key that is written.
    pub(super) fn note(&self, key: &[u8]) {
        let fraction = self.written.fetch_add(1, Ordering::Relaxed).wrapping_mul(GOLDEN);
        if fraction.leading_zeros() >= THINNING_MIN {
            self.taken.lock().note(fraction, key);
        }
    }

    /// Returns the share of noted keys that fall into a range; none where none was noted.
    pub(super) fn share(&self, range: &KeyRange) -> Option<f64> {
        let taken = self.taken.lock();
        let inside = taken.keys.iter().filter(|(_, key)| range.contains(key)).count();
        (!taken.keys.is_empty()).then(|| inside as f64 / taken.keys.len() as f64)
    }
}

impl Taken {
    fn note(&mut self, fraction: u64, key: &[u8]) {
        if !self.takes(fraction) {
            return;
        }
        self.keys.push((fraction, key.to_vec()));
        if self.keys.len() > KEYS_MAX {
            self.thinned += 1;
            let mut keys = std::mem::take(&mut self.keys);
            keys.retain(|(fraction, _)| self.takes(*fraction));
            self.keys = keys;
        }
    }

    fn takes(&self, fraction: u64) -> bool {
        fraction.leading_zeros() >= THINNING_MIN + self.thinned
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
        assert!((KEYS_MAX / 3..=KEYS_MAX).contains(&sample.taken.lock().keys.len()));
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

    #[test]
    fn keys_that_come_in_turns_are_all_met() {
        let sample = KeySample::default();
        for n in 0..64_000 {
            sample.note(&[(n % 16) as u8]);
        }
        for host in 0..16 {
            let share = sample.share(&KeyRange::prefix(vec![host]));
            assert!(
                share.is_some_and(|share| (0.03..0.1).contains(&share)),
                "{host} {share:?}"
            );
        }
    }
}
