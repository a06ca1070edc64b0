//! Randomness that can be replayed: one root seed for a run, one derived seed for each case.
//!
//! The root seed is printed before the first case. `RUKH_SEED` sets it, `RUKH_CASES` says how many
//! cases follow it. Case `n` of seed `s` is case 0 of seed `s + n`, so a failure's message can name
//! the two variables that replay it alone.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use rand::SeedableRng;
use rand::rngs::StdRng;

/// The cases of a random test.
#[derive(Clone, Copy, Debug)]
pub struct Cases {
    root: u64,
    count: u64,
}

/// One case of a random test.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Seed of this case.
    pub seed: u64,
}

impl Cases {
    /// Reads `RUKH_SEED` and `RUKH_CASES`, draws what they leave open, and prints the seed.
    ///
    /// # Panics
    /// If a variable is set to something that is not a number.
    pub fn from_environment(test: &str, default_count: u64) -> Self {
        let root = number("RUKH_SEED").unwrap_or_else(drawn_seed);
        let count = number("RUKH_CASES").unwrap_or(default_count);
        println!("{test}: RUKH_SEED={root} RUKH_CASES={count}");
        Cases { root, count }
    }

    /// As [`Cases::from_environment`], with the same seed in every run unless `RUKH_SEED` says another: for tests that
    /// look for unknown defects, so that they fail for a change and not for a draw.
    ///
    /// # Panics
    /// If a variable is set to something that is not a number.
    pub fn from_seed(test: &str, default_seed: u64, default_count: u64) -> Self {
        let root = number("RUKH_SEED").unwrap_or(default_seed);
        let count = number("RUKH_CASES").unwrap_or(default_count);
        println!("{test}: RUKH_SEED={root} RUKH_CASES={count}");
        Cases { root, count }
    }

    /// Returns the cases in order.
    pub fn iter(self) -> impl Iterator<Item = Case> {
        (0..self.count).map(move |number| Case {
            seed: self.root.wrapping_add(number),
        })
    }
}

impl Case {
    /// Returns the random numbers of this case.
    pub fn random(&self) -> StdRng {
        StdRng::seed_from_u64(self.seed)
    }

    /// Says how to run this case alone.
    pub fn replay(&self) -> String {
        format!("RUKH_SEED={} RUKH_CASES=1 replays this case", self.seed)
    }
}

/// Reads a number from the environment.
///
/// # Panics
/// If the variable is set to something that is not a number.
pub fn number(variable: &str) -> Option<u64> {
    let value = std::env::var(variable).ok()?;
    Some(
        value
            .parse()
            .unwrap_or_else(|_| panic!("{variable}={value} is not a number")),
    )
}

/// Returns a number that differs from run to run, small enough to be typed again.
fn drawn_seed() -> u64 {
    let keyed_differently_in_each_run = RandomState::new();
    keyed_differently_in_each_run.build_hasher().finish() >> 32
}
