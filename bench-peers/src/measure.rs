//! Rounds and medians.

use std::time::{Duration, Instant};

use crate::peer::Failure;

/// What asking took.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Time of the median round.
    pub median: Duration,
    /// Rows of the answers of all rounds.
    pub rows: u64,
}

/// Asks in `rounds` rounds, after one that warms caches and is not counted. `ask` gets the number of the
/// round, from 0, and returns rows; the warming round is round 0, too.
pub fn in_rounds(rounds: u32, mut ask: impl FnMut(u32) -> Result<u64, Failure>) -> Result<Measure, Failure> {
    ask(0)?;
    let mut times = Vec::new();
    let mut rows = 0;
    for round in 0..rounds {
        let started = Instant::now();
        rows += ask(round)?;
        times.push(started.elapsed());
    }
    Ok(Measure {
        median: median(times),
        rows,
    })
}

/// Asks once.
pub fn once(ask: impl FnOnce() -> Result<u64, Failure>) -> Result<Measure, Failure> {
    let started = Instant::now();
    let rows = ask()?;
    Ok(Measure {
        median: started.elapsed(),
        rows,
    })
}

/// Returns the middle of an odd number of times, the greater middle of an even number.
///
/// Invariant: `times` is not empty.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_round_counts() {
        let millis = |all: &[u64]| median(all.iter().map(|ms| Duration::from_millis(*ms)).collect());
        assert_eq!(millis(&[7]), Duration::from_millis(7));
        assert_eq!(millis(&[9, 1, 5]), Duration::from_millis(5));
        assert_eq!(millis(&[9, 1, 5, 3]), Duration::from_millis(5));
    }

    #[test]
    fn the_first_round_is_not_counted() {
        let mut asked = Vec::new();
        let measure = in_rounds(3, |round| {
            asked.push(round);
            Ok(2)
        })
        .unwrap();
        assert_eq!((asked.as_slice(), measure.rows), (&[0, 0, 1, 2][..], 6));
    }
}
