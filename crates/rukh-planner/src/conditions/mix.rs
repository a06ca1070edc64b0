//! A quick hash for what is equal within one plan.
//!
//! The same values give the same hashes in every run. Values can be made to collide; what is found by
//! a hash is compared, so that only takes the statement with these values longer.

use std::hash::{BuildHasherDefault, Hasher};

/// Makes [`Mix`]es for maps.
pub(crate) type BuildMix = BuildHasherDefault<Mix>;

/// Hashes by a multiplication per word, and two more at the end.
#[derive(Clone, Copy, Default)]
pub(crate) struct Mix(u64);

impl Mix {
    #[inline]
    fn word(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    /// Spreads the words over all bits: sums of hashes are compared, too.
    #[inline]
    fn finish(&self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^ (hash >> 32)
    }
}
