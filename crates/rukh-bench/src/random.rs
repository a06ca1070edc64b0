//! Random numbers that are the same on every machine and in every version.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
//! generators", 2014): a counter that is mixed. It is not for secrets.

/// The step of the counter: 2^64 divided by the golden ratio, made odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Returns the sequence number `stream` of a seed; streams are independent of one another.
    pub fn new(seed: u64, stream: u64) -> Random {
        Random {
            state: mix(seed ^ mix(stream.wrapping_mul(STEP).wrapping_add(STEP))),
        }
    }

    /// Returns the next 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Returns a number in `0..limit`; 0 when `limit` is 0.
    ///
    /// The high half of a product, which is uneven by less than `limit / 2^64`.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(limit)) >> 64) as u64
    }

    /// Returns a number in `[0, 1)` in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns whether an event of the given chance in a thousand happens.
    pub fn per_mille(&mut self, chance: u64) -> bool {
        self.below(1000) < chance
    }

    /// Returns one of `choices`, each with its weight.
    ///
    /// Invariant: the weights are not all zero.
    pub fn weighted<T: Copy>(&mut self, choices: &[(T, u64)]) -> T {
        let total = choices.iter().map(|(_, weight)| weight).sum();
        let mut place = self.below(total);
        for (choice, weight) in choices {
            if place < *weight {
                return *choice;
            }
            place -= weight;
        }
        unreachable!("the place lies below the sum of the weights")
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_their_limit_and_reach_every_value() {
        let mut random = Random::new(1, 2);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[random.below(7) as usize] += 1;
            assert!((0.0..1.0).contains(&random.unit()));
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Random::new(3, 4);
        let drawn: Vec<char> = (0..1000)
            .map(|_| random.weighted(&[('a', 9), ('b', 0), ('c', 1)]))
            .collect();
        let of = |wanted: char| drawn.iter().filter(|c| **c == wanted).count();
        assert_eq!(of('b'), 0);
        assert!((60..140).contains(&of('c')), "{}", of('c'));
    }

    #[test]
    fn streams_differ() {
        let first = |seed, stream| Random::new(seed, stream).next_u64();
        assert_ne!(first(1, 0), first(1, 1));
        assert_ne!(first(1, 0), first(2, 0));
        assert_eq!(first(1, 0), first(1, 0));
    }
}
