//! What to read: key ranges under a masked compare; and what reading it took.

use rukh_keys::{KeyRange, MaskedCompare, ScanCounters};
use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A scan of one table.
///
/// Keys come in ascending order over all ranges, or in descending order when `reverse`. Ranges
/// that overlap or are out of order are read as their union. No range means no key.
#[derive(Debug, Clone)]
pub struct ScanSpec {
    /// The key ranges to read.
    pub ranges: Vec<KeyRange>,
    /// The test on raw key bytes that a key must pass to be shown.
    pub masked: MaskedCompare,
    /// Whether keys come in descending order.
    pub reverse: bool,
    /// How many keys to show at most.
    pub limit: Option<u64>,
    /// Whether values stay unread; they show as empty then.
    pub keys_only: bool,
    /// Whether nearly all of the ranges will be read, so that storage may read many keys at once from disk.
    pub read_ahead: bool,
    /// Ends the scan with [`KvError::Cancelled`](crate::KvError::Cancelled) soon after it becomes true.
    pub cancel: Option<Arc<AtomicBool>>,
}

impl ScanSpec {
    /// Reads these ranges, forwards and in full.
    pub fn ranges(ranges: Vec<KeyRange>) -> ScanSpec {
        ScanSpec {
            ranges,
            masked: MaskedCompare::default(),
            reverse: false,
            limit: None,
            keys_only: false,
            read_ahead: false,
            cancel: None,
        }
    }

    /// Reads the whole table.
    pub fn all() -> ScanSpec {
        ScanSpec::ranges(vec![KeyRange::all()])
    }

    /// Tests every key by `masked`.
    pub fn masked(self, masked: MaskedCompare) -> ScanSpec {
        ScanSpec { masked, ..self }
    }

    /// Reads in descending order.
    pub fn reversed(self) -> ScanSpec {
        ScanSpec {
            reverse: true,
            ..self
        }
    }

    /// Stops after `limit` keys.
    pub fn limited(self, limit: u64) -> ScanSpec {
        ScanSpec {
            limit: Some(limit),
            ..self
        }
    }

    /// Says that nearly all will be read.
    pub fn reading_ahead(self) -> ScanSpec {
        ScanSpec {
            read_ahead: true,
            ..self
        }
    }

    /// Leaves values unread.
    pub fn keys_only(self) -> ScanSpec {
        ScanSpec {
            keys_only: true,
            ..self
        }
    }
}

/// Prints the ranges in hexadecimal and the rest of the request: `[61 - 62) masked reverse limit 5`.
impl fmt::Display for ScanSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, range) in self.ranges.iter().enumerate() {
            let gap = if n == 0 { "" } else { " " };
            write!(f, "{gap}{range}")?;
        }
        if self.ranges.is_empty() {
            f.write_str("nothing")?;
        }
        if !self.masked.is_empty() {
            f.write_str(" masked")?;
        }
        if self.reverse {
            f.write_str(" reverse")?;
        }
        if let Some(limit) = self.limit {
            write!(f, " limit {limit}")?;
        }
        if self.keys_only {
            f.write_str(" keys only")?;
        }
        Ok(())
    }
}

/// What a scan did so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ScanStats {
    /// Key ranges begun, and those found empty on the way without a seek.
    pub ranges: u64,
    /// Times an iterator was sent to a key.
    pub seeks: u64,
    /// Keys inside the ranges that the iterator stood on.
    pub keys_examined: u64,
    /// Keys examined that failed the masked compare.
    pub masked_misses: u64,
    /// Bytes of keys and values shown.
    pub bytes_read: u64,
}

impl From<ScanStats> for ScanCounters {
    fn from(stats: ScanStats) -> Self {
        ScanCounters {
            ranges: stats.ranges,
            seeks: stats.seeks,
            keys_examined: stats.keys_examined,
            masked_misses: stats.masked_misses,
            bytes_read: stats.bytes_read,
            ..ScanCounters::default()
        }
    }
}

impl AddAssign for ScanStats {
    fn add_assign(&mut self, other: ScanStats) {
        self.ranges += other.ranges;
        self.seeks += other.seeks;
        self.keys_examined += other.keys_examined;
        self.masked_misses += other.masked_misses;
        self.bytes_read += other.bytes_read;
    }
}

/// An entry of a table, borrowed from the cursor that shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyValue<'a> {
    /// The key.
    pub key: &'a [u8],
    /// The value; empty when the scan reads keys only.
    pub value: &'a [u8],
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_prints_what_it_asks() {
        let range = KeyRange {
            start: b"a".to_vec(),
            limit: Some(b"b".to_vec()),
        };
        assert_eq!(
            ScanSpec::ranges(vec![range]).reversed().limited(5).to_string(),
            "[61 - 62) reverse limit 5"
        );
        assert_eq!(ScanSpec::all().keys_only().to_string(), "[ - ] keys only");
        assert_eq!(ScanSpec::ranges(Vec::new()).to_string(), "nothing");
    }

    #[test]
    fn stats_add_up() {
        let mut sum = ScanStats {
            ranges: 1,
            seeks: 2,
            keys_examined: 3,
            masked_misses: 4,
            bytes_read: 5,
        };
        sum += sum;
        assert_eq!(
            sum,
            ScanStats {
                ranges: 2,
                seeks: 4,
                keys_examined: 6,
                masked_misses: 8,
                bytes_read: 10
            }
        );
    }
}
