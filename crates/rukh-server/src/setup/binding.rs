//! Channel binding: a client binds its login to the certificate of the encrypted connection, so that a proxy in between
//! cannot relay the login (`tls-server-end-point`, RFC 5929).
//!
//! It is the hash of the certificate, by the hash of its signature, or SHA-256 where that is MD5 or SHA-1.

use ring::digest;

/// Numbers of signatures, encoded, by their hash.
const SHA256: [&[u8]; 6] = [
    // RSA with MD5, SHA-1, SHA-256
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04],
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05],
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b],
    // ECDSA with SHA-1, SHA-256
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01],
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
    // DSA with SHA-256
    &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x03, 0x02],
];
const SHA384: [&[u8]; 2] = [
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c],
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03],
];
const SHA512: [&[u8]; 2] = [
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d],
    &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04],
];

/// The types of a sequence and of a number of something.
const SEQUENCE: u8 = 0x30;
const OBJECT: u8 = 0x06;

/// Returns what a log in may be bound to; `None` where the signature says no hash, as Ed25519.
pub(crate) fn of_certificate(certificate: &[u8]) -> Option<Vec<u8>> {
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (_, after_body) = element(whole, SEQUENCE)?;
    let (signature, _) = element(after_body, SEQUENCE)?;
    let (number, _) = element(signature, OBJECT)?;
    let algorithm = match number {
        known if SHA256.contains(&known) => &digest::SHA256,
        known if SHA384.contains(&known) => &digest::SHA384,
        known if SHA512.contains(&known) => &digest::SHA512,
        _ => return None,
    };
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

/// Returns what is in the first element, which is of this type, and what follows it.
fn element(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (first, rest) = bytes.split_first()?;
    let (short, rest) = rest.split_first()?;
    if *first != kind {
        return None;
    }
    let (length, rest) = match usize::from(*short) {
        length @ 0..0x80 => (length, rest),
        long => {
            let (digits, rest) = rest.split_at_checked(long - 0x80).filter(|_| long <= 0x84)?;
            let length = digits
                .iter()
                .fold(0, |length, digit| length << 8 | usize::from(*digit));
            (length, rest)
        }
    };
    rest.split_at_checked(length)
}
