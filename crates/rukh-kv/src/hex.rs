//! Bytes in readable form: lower-case hexadecimal without separators.

use std::fmt;

/// Longest value that prints in full; of a longer one only the length prints. In bytes.
const SHOWN_BYTES: usize = 32;

/// Prints all bytes, two digits each.
pub(crate) struct Hex<'a>(pub &'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Prints the first bytes, and how many there are in all when they are many.
pub(crate) struct ShortHex<'a>(pub &'a [u8]);

impl fmt::Display for ShortHex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.len() <= SHOWN_BYTES {
            return Hex(self.0).fmt(f);
        }
        write!(f, "{}.. ({} bytes)", Hex(&self.0[..SHOWN_BYTES]), self.0.len())
    }
}

/// Prints a key range as [`KeyRange`](rukh_keys::KeyRange) does: `[61 - 62)`, `[61 - ]`.
pub(crate) struct HexRange<'a> {
    pub start: &'a [u8],
    pub limit: Option<&'a [u8]>,
}

impl fmt::Display for HexRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(limit) => write!(f, "[{} - {})", Hex(self.start), Hex(limit)),
            None => write!(f, "[{} - ]", Hex(self.start)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_as_hexadecimal() {
        assert_eq!(Hex(&[0, 0x0f, 0xff]).to_string(), "000fff");
        assert_eq!(ShortHex(&[1; 32]).to_string(), "01".repeat(32));
        assert_eq!(
            ShortHex(&[1; 33]).to_string(),
            format!("{}.. (33 bytes)", "01".repeat(32))
        );
        assert_eq!(
            HexRange {
                start: b"a",
                limit: None
            }
            .to_string(),
            "[61 - ]"
        );
        assert_eq!(
            HexRange {
                start: b"a",
                limit: Some(b"b")
            }
            .to_string(),
            "[61 - 62)"
        );
    }
}
