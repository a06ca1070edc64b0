//! What was seen of the process, and whether it has grown.
//!
//! The first quarter of a run fills caches and buffers, and counts for nothing. The middle of the values of the last
//! quarter may be above that of the second by no more than a share and a little; a leak is above it ever more.

use std::fmt;
use std::time::Duration;

/// What memory may grow by, bytes: buffers of storage that fill and go.
const BYTES_MORE: u64 = 64 << 20;
/// What files may grow by: storage has as many as its levels need.
const FILES_MORE: usize = 64;
/// What threads and sockets may differ by: clients come and go.
const CLIENTS_MORE: usize = 12;

/// One look.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Since the clients began.
    pub at: Duration,
    pub bytes: u64,
    pub threads: usize,
    pub sockets: usize,
    pub files: usize,
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sample {
            at,
            bytes,
            threads,
            sockets,
            files,
        } = self;
        write!(
            f,
            "{:>6} s {:>8.1} MiB {threads:>5} threads {sockets:>5} sockets {files:>5} files",
            at.as_secs(),
            *bytes as f64 / f64::from(1 << 20)
        )
    }
}

/// All looks, in order.
#[derive(Default)]
pub struct Samples(Vec<Sample>);

impl Samples {
    pub fn add(&mut self, sample: Sample) {
        self.0.push(sample);
    }

    /// Says what has grown.
    pub fn growth(&self) -> Vec<String> {
        let quarter = self.0.len() / 4;
        if quarter == 0 {
            return vec!["too few samples to tell whether anything grows".to_owned()];
        }
        let (early, late) = (&self.0[quarter..2 * quarter], &self.0[self.0.len() - quarter..]);
        let mut faults = Vec::new();
        let mut compare = |what: &str, of: fn(&Sample) -> u64, more: u64| {
            let (before, after) = (middle(early, of), middle(late, of));
            if after > before + before / 5 + more {
                faults.push(format!("{what} grew from {before} to {after}"));
            }
        };
        compare("memory", |sample| sample.bytes, BYTES_MORE);
        compare("threads", |sample| sample.threads as u64, CLIENTS_MORE as u64);
        compare("sockets", |sample| sample.sockets as u64, CLIENTS_MORE as u64);
        compare("files", |sample| sample.files as u64, FILES_MORE as u64);
        faults
    }
}

/// Returns the value in the middle.
fn middle(samples: &[Sample], of: fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(of).collect();
    values.sort_unstable();
    values[values.len() / 2]
}

impl fmt::Display for Samples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step = self.0.len().div_ceil(20).max(1);
        self.0
            .iter()
            .step_by(step)
            .try_for_each(|sample| writeln!(f, "{sample}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(bytes: impl Fn(u64) -> u64, sockets: impl Fn(u64) -> usize) -> Samples {
        let sample = |second: u64| Sample {
            at: Duration::from_secs(second),
            bytes: bytes(second),
            threads: 20,
            sockets: sockets(second),
            files: 40,
        };
        Samples((0..400).map(sample).collect())
    }

    #[test]
    fn growth_is_distinguished_from_noise() {
        let mib = |count: u64| count << 20;
        assert!(
            samples(|second| mib(100 + second % 40), |_| 12)
                .growth()
                .is_empty()
        );
        // What is filled once stays.
        assert!(
            samples(|second| mib(50 + second.min(90) * 3), |_| 12)
                .growth()
                .is_empty()
        );
        assert_eq!(samples(|second| mib(100 + second), |_| 12).growth().len(), 1);
        assert_eq!(
            samples(|_| mib(100), |second| 10 + second as usize / 5)
                .growth()
                .len(),
            1
        );
    }
}
