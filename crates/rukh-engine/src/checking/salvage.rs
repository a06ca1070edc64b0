//! Reading a column family of which some blocks cannot be read: everything but these.
//!
//! A cursor ends at the first block that is damaged, and nothing marks where the next begins. So the scan goes on from the other end,
//! backward to the last block that is damaged, and in the hole between the two at keys that halve it: from each forward, as long as that
//! can be read. The probes of one column family are counted; with the last of them, what was not found is given up.

use crate::EngineError;
use rukh_keys::KeyRange;
use rukh_kv::{KvError, KvSnapshot, ScanSpec};

/// Probes into the holes of one column family.
const PROBES_MAX: u32 = 4000;

/// What reading a column family gave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Salvage {
    /// Entries read.
    pub(crate) entries: u64,
    /// Places at which something could not be read.
    pub(crate) holes: u64,
}

/// Is given each entry that can be read.
pub(crate) type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> Result<(), EngineError> + 'a;

/// Shows all entries of a column family that can be read, each once; those behind a hole in any order.
pub(crate) fn read(
    snapshot: &dyn KvSnapshot,
    storage: &str,
    visit: &mut Visit<'_>,
) -> Result<Salvage, EngineError> {
    let mut reader = Reader {
        snapshot,
        storage,
        visit,
        found: Salvage::default(),
        probes: PROBES_MAX,
    };
    let Some(low) = reader.walk(KeyRange::all(), false)? else {
        return Ok(reader.found);
    };
    reader.found.holes += 1;
    let rest = KeyRange {
        start: low.clone(),
        limit: None,
    };
    if let Some(high) = reader.walk(rest, true)? {
        reader.probe(low, high)?;
    }
    Ok(reader.found)
}

struct Reader<'a, 'v> {
    snapshot: &'a dyn KvSnapshot,
    storage: &'a str,
    visit: &'a mut Visit<'v>,
    found: Salvage,
    probes: u32,
}

impl Reader<'_, '_> {
    /// Shows the entries of a range until one cannot be read; returns what bounds the rest then: where it begins or, backward, its limit.
    fn walk(&mut self, range: KeyRange, reverse: bool) -> Result<Option<Vec<u8>>, EngineError> {
        let mut reached = match reverse {
            false => range.start.clone(),
            true => range.limit.clone().unwrap_or_else(|| vec![0xff; 64]),
        };
        let spec = ScanSpec::ranges(vec![range]);
        let spec = if reverse { spec.reversed() } else { spec };
        let mut cursor = match self.snapshot.scan(self.storage, spec) {
            Ok(cursor) => cursor,
            Err(error) => return unreadable(error).map(|()| Some(reached)),
        };
        loop {
            match cursor.next() {
                Ok(None) => return Ok(None),
                Ok(Some(entry)) => {
                    (self.visit)(entry.key, entry.value)?;
                    self.found.entries += 1;
                    reached.clear();
                    reached.extend_from_slice(entry.key);
                    if !reverse {
                        reached.push(0);
                    }
                }
                Err(error) => return unreadable(error).map(|()| Some(reached)),
            }
        }
    }

    /// Looks for entries between two keys, of which those at either end cannot be read.
    fn probe(&mut self, low: Vec<u8>, high: Vec<u8>) -> Result<(), EngineError> {
        // Wide holes first: what is left when the probes are used up is small.
        let mut holes = std::collections::VecDeque::from([(low, high)]);
        while let Some((low, high)) = holes.pop_front() {
            let Some(middle) = between(&low, &high) else {
                continue;
            };
            if self.probes == 0 {
                return Ok(());
            }
            self.probes -= 1;
            let before = self.found.entries;
            let upper = KeyRange {
                start: middle.clone(),
                limit: Some(high.clone()),
            };
            let reached = self.walk(upper, false)?;
            holes.push_back((low, middle));
            if let Some(reached) = reached {
                self.found.holes += u64::from(self.found.entries > before);
                holes.push_back((reached, high));
            }
        }
        Ok(())
    }
}

/// Passes over what cannot be read; other errors have nothing to do with what is stored.
fn unreadable(error: KvError) -> Result<(), EngineError> {
    match error {
        KvError::Corruption { .. } | KvError::Io { .. } => Ok(()),
        error => Err(error.into()),
    }
}

/// Returns a key about in the middle of two, greater than the first and less than the second: of the eight bytes behind what they share.
fn between(low: &[u8], high: &[u8]) -> Option<Vec<u8>> {
    let shared = low.iter().zip(high).take_while(|(low, high)| low == high).count();
    let digits = |key: &[u8]| {
        let rest = key.get(shared..).unwrap_or_default();
        let mut digits = [0; 8];
        let count = rest.len().min(8);
        digits[..count].copy_from_slice(&rest[..count]);
        u64::from_be_bytes(digits)
    };
    let (first, last) = (digits(low), digits(high));
    let middle = first.checked_add(last.checked_sub(first)? / 2)?;
    let key = [low.get(..shared)?, &middle.to_be_bytes()[..]].concat();
    (key.as_slice() > low && key.as_slice() < high).then_some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_lies_between() {
        let cases: [(&[u8], &[u8], Option<&[u8]>); 4] = [
            (b"a", b"c", Some(&[0x62, 0, 0, 0, 0, 0, 0, 0])),
            (&[1, 0], &[1, 2], Some(&[1, 1, 0, 0, 0, 0, 0, 0, 0])),
            (b"a", b"a", None),
            (b"b", b"a", None),
        ];
        for (low, high, expected) in cases {
            assert_eq!(between(low, high).as_deref(), expected, "{low:?} {high:?}");
        }
    }
}
