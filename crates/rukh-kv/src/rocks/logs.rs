//! Finds damaged records of write-ahead logs, to be reported when a database is opened.
//!
//! A log is made of blocks of 32 KiB, and these of records: a checksum (4 bytes), a length (2), a type (1), for types of logs
//! that are used again the number of the log (4), and the payload; what is too short for a record at the end of a block is not used. The
//! checksum is CRC-32C of all that follows the length, rotated, with a constant added. A record of zeros is space that was never written.
//!
//! RocksDB reads a log up to the first record that is not whole, and forgets the rest: damage looks like the end of a log that was being
//! written when power was lost. Where whole records follow, damage is likely.
//!
//! Deliberately not here: what the records say. RocksDB reads them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

const BLOCK_BYTES: usize = 32 << 10;
const HEADER_BYTES: usize = 7;
/// With the number of the log.
const LONG_HEADER_BYTES: usize = 11;
const MASK_DELTA: u32 = 0xa282_ead8;

/// The first damaged record of a log.
///
/// Prints as `log file "000012.log" is damaged at byte 4711`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// The file, in the directory of the database.
    pub file: String,
    /// Where the record begins.
    pub offset: u64,
    /// Whether whole records follow, in this log or in a later one.
    pub is_followed: bool,
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogDamage { file, offset, .. } = self;
        write!(f, "log file \"{file}\" is damaged at byte {offset}")
    }
}

/// Returns the first damaged record of each log of the database at `path`, oldest log first. The end of the newest log is no damage where it
/// only lacks bytes. A file that cannot be read is an error of the open that follows.
pub fn log_damage(path: &Path) -> Vec<LogDamage> {
    let mut logs: Vec<(u64, String)> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some((name.strip_suffix(".log")?.parse().ok()?, name)))
        .collect();
    logs.sort();
    let newest = logs.last().map(|(number, _)| *number);
    let (mut found, mut is_followed) = (Vec::new(), false);
    for (number, file) in logs.into_iter().rev() {
        let Ok(scan) = File::open(path.join(&file)).and_then(|log| Scan::of(log, newest == Some(number)))
        else {
            continue;
        };
        if let Some(offset) = scan.damaged_at {
            found.push(LogDamage {
                file,
                offset,
                is_followed: is_followed || scan.is_followed,
            });
        }
        is_followed |= scan.has_records;
    }
    found.reverse();
    found
}

/// What is seen of one log.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scan {
    /// Whether there is a whole record.
    has_records: bool,
    /// Where the first record begins that is not whole.
    damaged_at: Option<u64>,
    /// Whether whole records follow it.
    is_followed: bool,
}

impl Scan {
    fn of(mut log: impl Read, may_end_early: bool) -> io::Result<Scan> {
        let (mut scan, mut begins) = (Scan::default(), 0);
        let (mut block, mut next) = (Vec::new(), Vec::new());
        read_block(&mut log, &mut next)?;
        while !next.is_empty() && !scan.is_followed {
            std::mem::swap(&mut block, &mut next);
            read_block(&mut log, &mut next)?;
            scan.see(&block, begins, may_end_early && next.is_empty());
            begins += block.len() as u64;
        }
        Ok(scan)
    }

    /// Looks at a block that begins at `begins`.
    fn see(&mut self, block: &[u8], begins: u64, may_end_early: bool) {
        if self.damaged_at.is_some() {
            // A block begins with a record.
            self.is_followed = is_record(block);
            self.has_records |= self.is_followed;
            return;
        }
        let mut rest = block;
        while rest.len() >= HEADER_BYTES && !is_empty(rest) {
            match record_bytes(rest) {
                Some(length) => {
                    self.has_records = true;
                    rest = &rest[length..];
                }
                None => {
                    // A length that is damaged may claim more than there is.
                    self.is_followed = (1..rest.len()).any(|at| is_record(&rest[at..]));
                    if !self.is_followed && may_end_early && ends_early(rest) {
                        return;
                    }
                    self.damaged_at = Some(begins + (block.len() - rest.len()) as u64);
                    self.has_records |= self.is_followed;
                    return;
                }
            }
        }
    }
}

fn read_block(log: &mut impl Read, block: &mut Vec<u8>) -> io::Result<()> {
    block.clear();
    log.take(BLOCK_BYTES as u64).read_to_end(block).map(drop)
}

fn is_record(bytes: &[u8]) -> bool {
    bytes.len() > HEADER_BYTES && matches!(bytes[6], 1..=11 | 130 | 131) && record_bytes(bytes).is_some()
}

/// Returns the length of a record with its header; `None` if it is not whole.
fn record_bytes(bytes: &[u8]) -> Option<usize> {
    let record = bytes.get(..claimed_bytes(bytes))?;
    let stored = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
    let found = crc32c(&record[6..]).rotate_right(15).wrapping_add(MASK_DELTA);
    (found == stored).then_some(record.len())
}

/// Whether a record is longer than the bytes left.
fn ends_early(bytes: &[u8]) -> bool {
    bytes.len() < claimed_bytes(bytes)
}

fn is_empty(bytes: &[u8]) -> bool {
    bytes[..HEADER_BYTES].iter().all(|byte| *byte == 0)
}

/// Returns the length of a record with its header, as the header says.
fn claimed_bytes(bytes: &[u8]) -> usize {
    let header = match bytes[6] {
        5..=8 | 11 | 131 => LONG_HEADER_BYTES,
        _ => HEADER_BYTES,
    };
    header + usize::from(u16::from_le_bytes([bytes[4], bytes[5]]))
}

/// CRC-32C (Castagnoli), eight bytes at once.
fn crc32c(bytes: &[u8]) -> u32 {
    const TABLES: [[u32; 256]; 8] = tables();
    let mut crc = !0;
    let (eights, rest) = bytes.as_chunks::<8>();
    for eight in eights {
        let value = u64::from_le_bytes(*eight) ^ u64::from(crc);
        crc = value
            .to_le_bytes()
            .iter()
            .zip(TABLES.iter().rev())
            .fold(0, |crc, (byte, table)| crc ^ table[usize::from(*byte)]);
    }
    for byte in rest {
        crc = TABLES[0][usize::from(crc as u8 ^ byte)] ^ (crc >> 8);
    }
    !crc
}

/// Returns what each byte adds, with so many bytes of zero behind it.
const fn tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut at = 0;
    while at < 256 {
        let (mut value, mut bit) = (at as u32, 0);
        while bit < 8 {
            value = (value >> 1) ^ (0x82f6_3b78 * (value & 1));
            bit += 1;
        }
        tables[0][at] = value;
        at += 1;
    }
    let mut behind = 1;
    while behind < 8 {
        let mut at = 0;
        while at < 256 {
            let before = tables[behind - 1][at];
            tables[behind][at] = tables[0][(before & 0xff) as usize] ^ (before >> 8);
            at += 1;
        }
        behind += 1;
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(payload: &[u8]) -> Vec<u8> {
        let mut body = vec![1];
        body.extend(payload);
        let crc = crc32c(&body).rotate_right(15).wrapping_add(MASK_DELTA);
        let length = u16::try_from(payload.len()).expect("it is short");
        [&crc.to_le_bytes()[..], &length.to_le_bytes(), &body].concat()
    }

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    fn scan(log: &[u8], may_end_early: bool) -> (Option<u64>, bool) {
        let scan = Scan::of(log, may_end_early).expect("bytes can be read");
        (scan.damaged_at, scan.is_followed)
    }

    #[test]
    fn records_that_are_not_whole_are_found() {
        let whole = [record(b"one"), record(b"two"), vec![0; 100]].concat();
        assert_eq!(scan(&whole, false), (None, false));
        for bit in 0..20 * 8 {
            let mut damaged = whole.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let is_first = bit < 10 * 8;
            let expected = (Some(if is_first { 0 } else { 10 }), is_first);
            assert_eq!(scan(&damaged, false), expected, "{bit}");
            assert!(!is_first || scan(&damaged, true) == expected, "{bit}");
        }
        let cut = &whole[..18];
        assert_eq!(scan(cut, false), (Some(10), false));
        assert_eq!(scan(cut, true), (None, false));
        // The second block begins where the first has no place for a header any more.
        let filled = [record(&[7; BLOCK_BYTES - 9]), vec![0, 0], record(b"next")].concat();
        assert_eq!(scan(&filled, false), (None, false));
        for (at, expected) in [
            (BLOCK_BYTES + 8, (Some(BLOCK_BYTES as u64), false)),
            (8, (Some(0), true)),
        ] {
            let mut damaged = filled.clone();
            damaged[at] ^= 1;
            assert_eq!(scan(&damaged, false), expected, "{at}");
        }
    }

    #[test]
    fn a_log_goes_on_in_a_later_one() {
        let directory = tempfile::tempdir().expect("there is a temporary directory");
        let mut damaged = record(b"one");
        damaged[8] ^= 1;
        let write = |name: &str, bytes: &[u8]| {
            fs::write(directory.path().join(name), bytes).expect("it can be written")
        };
        write("000009.log", &damaged);
        let found = |is_followed| LogDamage {
            file: "000009.log".to_owned(),
            offset: 0,
            is_followed,
        };
        assert_eq!(log_damage(directory.path()), [found(false)]);
        write("000010.log", &[]);
        assert_eq!(log_damage(directory.path()), [found(false)]);
        write("1000011.log", &record(b"two"));
        assert_eq!(log_damage(directory.path()), [found(true)]);
    }
}
