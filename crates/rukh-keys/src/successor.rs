//! The key behind all that begin alike.

/// Returns the smallest key greater than every key that starts with `prefix`, or `None` if there
/// is none (an empty prefix, or one made of `0xff` only).
///
/// | prefix    | successor |
/// |-----------|-----------|
/// | `61 62`   | `61 63`   |
/// | `61 ff`   | `62`      |
/// | `ff ff`   | none      |
pub fn prefix_successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let mut successor = prefix.to_vec();
    make_prefix_successor(&mut successor, 0).then_some(successor)
}

/// Turns `prefix`, whose last byte ends in `unused_bits` bits that belong to no column of it, into
/// the smallest key greater than all that start with its used bits. `false`, and an empty vector,
/// if there is none.
///
/// | prefix      | unused bits | successor   |
/// |-------------|-------------|-------------|
/// | `1010 0000` | 5           | `1100 0000` |
/// | `1110 0000` | 5           | none        |
/// | `61 e0`     | 5           | `62`        |
pub(crate) fn make_prefix_successor(prefix: &mut Vec<u8>, unused_bits: u8) -> bool {
    let mut step = 1_u8.checked_shl(u32::from(unused_bits)).unwrap_or(0);
    while let Some(last) = prefix.pop() {
        if let Some(next) = last.checked_add(step) {
            prefix.push(next);
            return true;
        }
        step = 1;
    }
    false
}
