//! Addresses of hosts and networks, IPv4 and IPv6, in the order of PostgreSQL's `inet`.
//!
//! | value               | network       | mask | order                                     |
//! |---------------------|---------------|------|-------------------------------------------|
//! | `10.1.2.3`          | `10.1.2.3/32` | 32   | IPv4 before IPv6, then                    |
//! | `10.1.2.3/8`        | `10.0.0.0/8`  | 8    | the network's bits, the shorter mask first, |
//! | `2001:db8::1/64`    | `2001:db8::/64` | 64 | then all bits of the address              |
//!
//! The form of a value has this order as its bytes' order: one byte for the family, the network, the mask, and the address unless the mask
//! covers it. So all addresses of a network are one range of keys. The syntax of texts is that of PostgreSQL's `inet_net_pton`.
//!
//! Deliberately not here: names of hosts, and zones of IPv6 addresses.

use core::net::Ipv6Addr;
use std::cmp::Ordering;
use std::fmt::Write;

/// Bytes of the form of [`Inet::to_wide`].
pub const INET_WIDE: usize = 34;

/// Bytes of the form of [`Inet::to_wide`] of a network without an address: a CIDR.
pub const CIDR_WIDE: usize = 18;

/// First byte of a form, which is PostgreSQL's number of the family, too.
const V4: u8 = 2;
const V6: u8 = 3;

/// Bits of an address.
const V4_BITS: u8 = 32;
const V6_BITS: u8 = 128;

/// An address with the length of its network's mask; by default all of IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Inet {
    is_v6: bool,
    mask: u8,
    /// The bits of the address, from the left; those of an IPv4 address end after 32.
    address: u128,
}

impl Inet {
    /// Makes a value of the address's bits, from the left, and the length of its mask; `None` if the family has no such bits.
    fn new(is_v6: bool, address: u128, mask: u8) -> Option<Inet> {
        let made = Inet { is_v6, mask, address };
        (mask <= made.bits() && address & !leading(made.bits()) == 0).then_some(made)
    }

    /// Reads a text of PostgreSQL's `inet`: an address, which may be an IPv4 one cut short, and `/` with the bits of its mask.
    pub fn parse(text: &str) -> Option<Inet> {
        let (address, mask) = split_mask(text.trim())?;
        if address.contains(':') {
            return parse_v6(address, mask);
        }
        let octets = decimal_octets(address)?;
        let mask = match mask {
            Some(mask) => mask,
            None if octets.len() == 4 => V4_BITS,
            None => return None,
        };
        (usize::from(mask / 8) <= octets.len()).then_some(())?;
        Inet::new(false, left_bits(&octets), mask)
    }

    /// Reads a text of PostgreSQL's `cidr`: a network, which an IPv4 one cut short is, too. `Err` if bits are set behind the mask.
    #[allow(clippy::result_unit_err)] // the one way in which a network that was read fails
    pub fn parse_network(text: &str) -> Option<Result<Inet, ()>> {
        let (address, mask) = split_mask(text.trim())?;
        let read = match address.contains(':') {
            true => parse_v6(address, mask)?,
            false => {
                let octets = match address.strip_prefix("0x").or_else(|| address.strip_prefix("0X")) {
                    Some(digits) => hex_octets(digits)?,
                    None => decimal_octets(address)?,
                };
                Inet::new(
                    false,
                    left_bits(&octets),
                    mask.unwrap_or_else(|| class_mask(&octets)),
                )?
            }
        };
        Some(if read.is_network() { Ok(read) } else { Err(()) })
    }

    /// Reads a form of [`Inet::to_form`].
    pub fn of_form(form: &[u8]) -> Option<Inet> {
        let (family, rest) = form.split_first()?;
        let is_v6 = match *family {
            V4 => false,
            V6 => true,
            _ => return None,
        };
        let width = if is_v6 { 16 } else { 4 };
        let (network, rest) = rest.split_at_checked(width)?;
        let (mask, address) = rest.split_first()?;
        let is_covered = usize::from(*mask) == 8 * width;
        let (expected, address) = match is_covered {
            true => (0, network),
            false => (width, address),
        };
        let read = Inet::new(is_v6, left_bits(address), *mask)?;
        (rest.len() == 1 + expected && read.network_bits() == left_bits(network)).then_some(read)
    }

    /// Returns the bytes that keys and rows have: 6 to 34, in the order of the values.
    pub fn to_form(self) -> Vec<u8> {
        let width = usize::from(self.bits() / 8);
        let mut form = Vec::with_capacity(2 + 2 * width);
        form.push(self.family_byte());
        form.extend_from_slice(&self.network_bits().to_be_bytes()[..width]);
        form.push(self.mask);
        if self.mask < self.bits() {
            form.extend_from_slice(&self.address.to_be_bytes()[..width]);
        }
        form
    }

    /// Reads a form of [`Inet::to_wide`], of [`INET_WIDE`] or [`CIDR_WIDE`] bytes.
    pub fn of_wide(bytes: &[u8]) -> Option<Inet> {
        let (family, rest) = bytes.split_first()?;
        let (network, rest) = rest.split_at_checked(16)?;
        let (mask, address) = rest.split_first()?;
        let address = if address.is_empty() { network } else { address };
        let read = Inet::new(*family == V6, left_bits(address), *mask)?;
        (read.network_bits() == left_bits(network)).then_some(read)
    }

    /// Returns bytes of one width for all values, in their order: [`INET_WIDE`] of an address, [`CIDR_WIDE`] of a network.
    pub fn to_wide(self, is_network: bool) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(INET_WIDE);
        bytes.push(self.family_byte());
        bytes.extend_from_slice(&self.network_bits().to_be_bytes());
        bytes.push(self.mask);
        if !is_network {
            bytes.extend_from_slice(&self.address.to_be_bytes());
        }
        bytes
    }

    /// Reads the form that PostgreSQL sends: family, mask, whether it is a network, the bytes of the address, and these.
    pub fn of_wire(bytes: &[u8]) -> Option<Inet> {
        let [family @ (V4 | V6), mask, _, width, address @ ..] = bytes else {
            return None;
        };
        let is_v6 = *family == V6;
        let expected = if is_v6 { 16 } else { 4 };
        (usize::from(*width) == expected && address.len() == expected).then_some(())?;
        Inet::new(is_v6, left_bits(address), *mask)
    }

    /// Returns the form that PostgreSQL sends.
    pub fn to_wire(self, is_network: bool) -> Vec<u8> {
        let width = self.bits() / 8;
        let mut bytes = vec![self.family_byte(), self.mask, u8::from(is_network), width];
        bytes.extend_from_slice(&self.address.to_be_bytes()[..usize::from(width)]);
        bytes
    }

    /// Returns the address alone, as text.
    pub fn host_text(self) -> String {
        match self.is_v6 {
            false => v4_text(self.address),
            true => v6_text(self.address),
        }
    }

    /// Returns the value as text: of a network always with its mask, of an address where the mask does not cover it.
    pub fn text(self, is_network: bool) -> String {
        match self.mask == self.bits() && !is_network {
            true => self.host_text(),
            false => self.full_text(),
        }
    }

    /// Returns address and mask as text.
    pub fn full_text(self) -> String {
        format!("{}/{}", self.host_text(), self.mask)
    }

    /// Returns a network as text without the parts of its address behind the mask.
    pub fn short_text(self) -> String {
        let bytes = self.network_bits().to_be_bytes();
        let shown = usize::from(self.mask.div_ceil(8));
        let address = match (self.is_v6, shown) {
            (false, 0) => "0".to_string(),
            (false, _) => {
                let octets = bytes[..shown].iter().map(u8::to_string);
                octets.collect::<Vec<_>>().join(".")
            }
            (true, _) => short_v6_text(&bytes, self.mask),
        };
        format!("{address}/{}", self.mask)
    }

    /// Whether this is an IPv6 address.
    pub fn is_v6(self) -> bool {
        self.is_v6
    }

    /// Returns the length of the mask in bits.
    pub fn mask(self) -> u8 {
        self.mask
    }

    /// Returns the bits that addresses of the family have.
    pub fn bits(self) -> u8 {
        if self.is_v6 { V6_BITS } else { V4_BITS }
    }

    /// Whether no bit behind the mask is set.
    pub fn is_network(self) -> bool {
        self.address == self.network_bits()
    }

    /// Returns the network: the address with no bit set behind the mask.
    pub fn network(self) -> Inet {
        Inet {
            address: self.network_bits(),
            ..self
        }
    }

    /// Returns the last address of the network, with its mask: what the network contains but for itself comes after it.
    pub fn broadcast(self) -> Inet {
        Inet {
            address: self.address | self.host_mask(),
            ..self
        }
    }

    /// Returns the mask as an address.
    pub fn netmask(self) -> Inet {
        self.covered(leading(self.mask))
    }

    /// Returns the bits behind the mask as an address.
    pub fn hostmask(self) -> Inet {
        self.covered(self.host_mask())
    }

    /// Returns the address with another mask; `None` if it is longer than an address.
    pub fn with_mask(self, mask: u8) -> Option<Inet> {
        Inet::new(self.is_v6, self.address, mask)
    }

    /// Returns the smallest network that has both; `None` of two families.
    pub fn merged(self, other: Inet) -> Option<Inet> {
        (self.is_v6 == other.is_v6).then_some(())?;
        let common = (self.address ^ other.address).leading_zeros() as u8;
        let mask = common.min(self.mask).min(other.mask);
        self.with_mask(mask).map(Inet::network)
    }

    /// Whether this network has all addresses of another, which may be the same.
    pub fn contains(self, other: Inet) -> bool {
        self.mask <= other.mask && self.overlaps(other)
    }

    /// Whether one of two networks contains the other.
    pub fn overlaps(self, other: Inet) -> bool {
        let shared = leading(self.mask.min(other.mask));
        self.is_v6 == other.is_v6 && (self.address ^ other.address) & shared == 0
    }

    /// Returns the first and the last of all values that a network contains, itself among them.
    pub fn contained(self) -> (Inet, Inet) {
        (self.network(), self.covered(self.address | self.host_mask()))
    }

    /// Returns the networks that contain this value, from the widest; the last is its own.
    pub fn containing(self) -> impl Iterator<Item = Inet> {
        (0..=self.mask).filter_map(move |mask| self.with_mask(mask).map(Inet::network))
    }

    /// Returns the address with every bit turned.
    pub fn inverted(self) -> Inet {
        Inet {
            address: !self.address & leading(self.bits()),
            ..self
        }
    }

    /// Combines the bits of two addresses under the longer mask; `None` of two families.
    pub fn combined(self, other: Inet, combine: fn(u128, u128) -> u128) -> Option<Inet> {
        (self.is_v6 == other.is_v6).then_some(())?;
        let address = combine(self.address, other.address);
        Inet::new(self.is_v6, address, self.mask.max(other.mask))
    }

    /// Returns the address so many further; `None` beyond the last and before the first.
    pub fn moved(self, by: i64) -> Option<Inet> {
        let unused = u32::from(V6_BITS - self.bits());
        let size = u128::from(by.unsigned_abs());
        let place = self.address >> unused;
        let moved = match by < 0 {
            true => place.checked_sub(size)?,
            false => place.checked_add(size)?,
        };
        let address = moved << unused;
        (address >> unused == moved).then_some(Inet { address, ..self })
    }

    /// Returns how far an address is from another: `Err` if 64 bits do not hold it, `None` of two families.
    #[allow(clippy::result_unit_err)] // the one way in which the difference of two addresses fails
    pub fn distance(self, from: Inet) -> Option<Result<i64, ()>> {
        (self.is_v6 == from.is_v6).then_some(())?;
        let unused = u32::from(V6_BITS - self.bits());
        let (here, there) = (self.address >> unused, from.address >> unused);
        let size = here.abs_diff(there);
        let signed = match here < there {
            true => i128::try_from(size).ok().map(|size| -size),
            false => i128::try_from(size).ok(),
        };
        Some(signed.and_then(|size| i64::try_from(size).ok()).ok_or(()))
    }

    fn covered(self, address: u128) -> Inet {
        Inet {
            address,
            mask: self.bits(),
            ..self
        }
    }

    fn family_byte(self) -> u8 {
        if self.is_v6 { V6 } else { V4 }
    }

    fn network_bits(self) -> u128 {
        self.address & leading(self.mask)
    }

    fn host_mask(self) -> u128 {
        leading(self.bits()) & !leading(self.mask)
    }
}

impl Ord for Inet {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |value: &Inet| (value.is_v6, value.network_bits(), value.mask, value.address);
        place(self).cmp(&place(other))
    }
}

impl PartialOrd for Inet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The first bits of 128, as many as said.
fn leading(bits: u8) -> u128 {
    !u128::MAX.checked_shr(bits.into()).unwrap_or(0)
}

/// The bits of up to 16 bytes, from the left.
fn left_bits(bytes: &[u8]) -> u128 {
    let mut padded = [0; 16];
    for (to, from) in padded.iter_mut().zip(bytes) {
        *to = *from;
    }
    u128::from_be_bytes(padded)
}

/// Splits `10.0.0.0/8` into its address and 8. A mask has no sign, and no more than three digits.
fn split_mask(text: &str) -> Option<(&str, Option<u8>)> {
    let Some((address, mask)) = text.split_once('/') else {
        return Some((text, None));
    };
    let is_number = !mask.is_empty() && mask.bytes().all(|byte| byte.is_ascii_digit());
    let is_padded = address.contains(':') && mask.len() > 1 && mask.starts_with('0');
    (is_number && !is_padded).then_some(())?;
    Some((address, Some(mask.parse().ok()?)))
}

/// Reads up to four numbers with points between them; a point may stand at the end.
fn decimal_octets(text: &str) -> Option<Vec<u8>> {
    let text = text.strip_suffix('.').unwrap_or(text);
    let octets = text.split('.').map(|octet| {
        let is_number = !octet.is_empty() && octet.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| octet.parse::<u8>().ok()).flatten()
    });
    octets
        .collect::<Option<Vec<u8>>>()
        .filter(|octets| octets.len() <= 4)
}

/// Reads the digits behind `0x`, two to a byte.
fn hex_octets(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .map(|digit| digit.to_digit(16).map(|digit| digit as u8))
        .collect::<Option<_>>()?;
    let octets = digits.chunks(2).map(|pair| match *pair {
        [high, low] => high << 4 | low,
        [high] => high << 4,
        _ => 0,
    });
    let octets: Vec<u8> = octets.collect();
    (1..=4).contains(&octets.len()).then_some(octets)
}

/// The mask of an IPv4 network that has none written: that of its class, and at least the octets written.
fn class_mask(octets: &[u8]) -> u8 {
    let first = octets.first().copied().unwrap_or_default();
    let of_class = match first {
        240.. => 32,
        224.. => 8,
        192.. => 24,
        128.. => 16,
        _ => 8,
    };
    let written = 8 * octets.len() as u8;
    match of_class.max(written) {
        8 if first == 224 => 4,
        mask => mask,
    }
}

fn parse_v6(address: &str, mask: Option<u8>) -> Option<Inet> {
    let address: Ipv6Addr = address.parse().ok()?;
    Inet::new(true, address.to_bits(), mask.unwrap_or(V6_BITS))
}

fn v4_text(address: u128) -> String {
    let [a, b, c, d, ..] = address.to_be_bytes();
    format!("{a}.{b}.{c}.{d}")
}

fn words_of(bytes: &[u8; 16]) -> [u16; 8] {
    std::array::from_fn(|at| u16::from_be_bytes([bytes[2 * at], bytes[2 * at + 1]]))
}

/// The first longest run of zeros: where it begins, and how long it is.
fn longest_zeros(words: &[u16]) -> (usize, usize) {
    let (mut longest, mut at) = ((0, 0), 0);
    while at < words.len() {
        let zeros = words[at..].iter().take_while(|word| **word == 0).count();
        if zeros > longest.1 {
            longest = (at, zeros);
        }
        at += zeros.max(1);
    }
    longest
}

fn hex_words(words: &[u16]) -> String {
    let words = words.iter().map(|word| format!("{word:x}"));
    words.collect::<Vec<_>>().join(":")
}

/// Writes an address with its longest run of zeros, of two words or more, as `::`, and an IPv4 address in it as such.
fn v6_text(address: u128) -> String {
    let bytes = address.to_be_bytes();
    let words = words_of(&bytes);
    let (start, zeros) = longest_zeros(&words);
    if zeros < 2 {
        return hex_words(&words);
    }
    let has_v4 = start == 0 && (zeros == 6 || zeros == 5 && words[5] == 0xffff);
    let end = match has_v4 {
        false => hex_words(&words[start + zeros..]),
        true => {
            let v4 = v4_text(left_bits(&bytes[12..]));
            match words[5] {
                0 => v4,
                word => format!("{word:x}:{v4}"),
            }
        }
    };
    format!("{}::{end}", hex_words(&words[..start]))
}

/// Writes the words of a network that its mask reaches, two at least; zeros of one word are `::`, too.
fn short_v6_text(bytes: &[u8; 16], mask: u8) -> String {
    if mask == 0 {
        return "::".to_string();
    }
    let all = words_of(bytes);
    let words = &all[..usize::from(mask.div_ceil(16)).max(2)];
    let (start, zeros) = longest_zeros(words);
    let is_v4 = zeros != words.len()
        && start == 0
        && (zeros == 6 || zeros == 5 && words[5] == 0xffff || zeros == 7 && bytes[14] != 0 && bytes[15] != 1);
    let mut text = String::new();
    for (at, word) in words.iter().enumerate() {
        let is_zero = zeros > 0 && (start..start + zeros).contains(&at);
        // Writing into a String does not fail.
        let _ = match (is_zero, is_v4 && at > 5) {
            (true, _) => {
                let ends = [at == start, at == words.len() - 1];
                ends.iter()
                    .filter(|is_end| **is_end)
                    .try_for_each(|_| text.write_char(':'))
            }
            (false, true) => {
                let [high, low] = word.to_be_bytes();
                let _ = write!(text, "{}{high}", if at == 6 { ':' } else { '.' });
                match at != 7 || mask > 120 {
                    true => write!(text, ".{low}"),
                    false => Ok(()),
                }
            }
            (false, false) => {
                let colon = if text.is_empty() { "" } else { ":" };
                write!(text, "{colon}{word:x}")
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn inet(text: &str) -> Inet {
        Inet::parse(text).expect(text)
    }

    #[test]
    fn texts_are_read_and_written() {
        for (text, written) in [
            ("10.1.2.3", "10.1.2.3"),
            ("10.1.2.3/32", "10.1.2.3"),
            ("10.1/16", "10.1.0.0/16"),
            ("0.0.0.0/0", "0.0.0.0/0"),
            ("2001:DB8::1/64", "2001:db8::1/64"),
            ("::ffff:1.2.3.4", "::ffff:1.2.3.4"),
            ("::1.2.3.4", "::1.2.3.4"),
            ("::", "::"),
            ("::1", "::1"),
            ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
            ("1:0:2:0:3:0:4:0", "1:0:2:0:3:0:4:0"),
        ] {
            assert_eq!(inet(text).text(false), written);
        }
        for text in [
            "",
            "10",
            "10.1",
            "10.1/24",
            "10.1.2.3.4",
            "256.0.0.0",
            "1.2.3.4/33",
            "::/129",
            "::g",
            "10.0.0.0/-1",
        ] {
            assert_eq!(Inet::parse(text), None, "{text}");
        }
        for (text, written) in [
            ("10", "10.0.0.0/8"),
            ("192.168", "192.168.0.0/24"),
            ("224", "224.0.0.0/4"),
            ("0x0a01", "10.1.0.0/16"),
            ("10.1.2.3", "10.1.2.3/32"),
        ] {
            let network = Inet::parse_network(text).unwrap().unwrap();
            assert_eq!(network.text(true), written);
        }
        assert_eq!(Inet::parse_network("10.1.2.3/8"), Some(Err(())));
    }

    #[test]
    fn networks_are_ranges() {
        let network = inet("10.0.0.0/8");
        let (first, last) = network.contained();
        for (text, is_inside) in [
            ("10.0.0.0/8", true),
            ("10.1.2.3/8", true),
            ("10.255.255.255", true),
            ("10.0.0.0/7", false),
            ("11.0.0.0", false),
            ("9.255.255.255", false),
            ("::", false),
        ] {
            let value = inet(text);
            assert_eq!(first <= value && value <= last, is_inside, "{text}");
            assert_eq!(network.contains(value), is_inside, "{text}");
        }
    }

    fn any_inet() -> impl Strategy<Value = Inet> {
        let address = prop_oneof![any::<u128>(), (0..4_u128).prop_map(|high| high << 126), Just(0)];
        (any::<bool>(), address, 0..=128_u8).prop_map(|(is_v6, address, mask)| {
            let bits = if is_v6 { V6_BITS } else { V4_BITS };
            Inet::new(is_v6, address & leading(bits), mask.min(bits)).unwrap()
        })
    }

    proptest! {
        #[test]
        fn forms_have_the_order_of_values(a in any_inet(), b in any_inet()) {
            prop_assert_eq!(a.to_form().cmp(&b.to_form()), a.cmp(&b));
            prop_assert_eq!(a.to_wide(false).cmp(&b.to_wide(false)), a.cmp(&b));
            let (first, last) = a.contained();
            prop_assert_eq!(a.contains(b), first <= b && b <= last);
            prop_assert_eq!(a.contains(b) && a.mask() < b.mask(), a.broadcast() < b && b <= last);
            prop_assert_eq!(b.containing().any(|network| network == a.network()), a.contains(b));
        }

        #[test]
        fn forms_and_texts_are_read_back(a in any_inet()) {
            prop_assert_eq!(Inet::of_form(&a.to_form()), Some(a));
            prop_assert_eq!(Inet::of_wide(&a.to_wide(false)), Some(a));
            prop_assert_eq!(Inet::of_wide(&a.to_wide(true)), Some(a.network()));
            prop_assert_eq!(Inet::of_wire(&a.to_wire(false)), Some(a));
            prop_assert_eq!(Inet::parse(&a.text(false)), Some(a));
            prop_assert_eq!(Inet::parse_network(&a.network().text(true)), Some(Ok(a.network())));
        }

        #[test]
        fn forms_of_noise_are_values_or_none(bytes in prop::collection::vec(0..5_u8, 0..36)) {
            if let Some(read) = Inet::of_form(&bytes) {
                prop_assert_eq!(read.to_form(), bytes);
            }
        }
    }
}
