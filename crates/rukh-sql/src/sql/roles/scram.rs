//! What passwords are checked by: SCRAM-SHA-256 of RFC 5802 and 7677, in PostgreSQL's stored form.
//!
//! ```text
//! SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>      the last three in base64
//! SaltedPassword = PBKDF2(password, salt, iterations)
//! StoredKey      = SHA256(HMAC(SaltedPassword, "Client Key"))
//! ServerKey      = HMAC(SaltedPassword, "Server Key")
//! ```
//!
//! A reader of the verifier can neither log in with it nor learn the password but by guessing.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom, SystemRandom};
use ring::{digest, hmac, pbkdf2};

use rukh_error::SqlError;

const PREFIX: &str = "SCRAM-SHA-256$";
/// As many as PostgreSQL takes.
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).expect("it is not 0");
/// Most iterations of a verifier that a client makes itself.
const ITERATIONS_MAX: u32 = 10_000_000;
const SALT_BYTES: usize = 16;
const KEY_BYTES: usize = 32;

/// What a password is checked by.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Rounds of hashing.
    pub iterations: u32,
    /// What the password was mixed with.
    pub salt: Vec<u8>,
    stored_key: [u8; KEY_BYTES],
    server_key: [u8; KEY_BYTES],
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Verifier(…)")
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{PREFIX}{}:{}${}:{}",
            self.iterations,
            STANDARD.encode(&self.salt),
            STANDARD.encode(self.stored_key),
            STANDARD.encode(self.server_key)
        )
    }
}

impl Verifier {
    /// Makes the verifier of a password, with a salt of its own.
    pub fn of_password(password: &str) -> Result<Self, SqlError> {
        let mut salt = vec![0; SALT_BYTES];
        let filled = SystemRandom::new().fill(&mut salt);
        filled.map_err(|_| SqlError::io("the system has no random numbers"))?;
        Ok(Verifier::salted(password, salt, ITERATIONS))
    }

    fn salted(password: &str, salt: Vec<u8>, iterations: NonZeroU32) -> Self {
        // As PostgreSQL: a password that cannot be prepared is taken as it is.
        let prepared = stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password));
        let mut salted = [0; KEY_BYTES];
        let algorithm = pbkdf2::PBKDF2_HMAC_SHA256;
        pbkdf2::derive(algorithm, iterations, &salt, prepared.as_bytes(), &mut salted);
        let client_key = sign(&salted, b"Client Key");
        Verifier {
            iterations: iterations.get(),
            salt,
            stored_key: hash(&client_key),
            server_key: sign(&salted, b"Server Key"),
        }
    }

    /// Whether it is the verifier of a password that the client has sent.
    pub fn fits(&self, password: &str) -> bool {
        let Some(iterations) = NonZeroU32::new(self.iterations) else {
            return false;
        };
        // Both are hashes: where they first differ reveals nothing of the password.
        Verifier::salted(password, self.salt.clone(), iterations).stored_key == self.stored_key
    }

    /// Reads the stored form; `None` if the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (mixing, keys) = text.strip_prefix(PREFIX)?.split_once('$')?;
        let (iterations, salt) = mixing.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let key = |text: &str| STANDARD.decode(text).ok()?.try_into().ok();
        Some(Verifier {
            iterations: iterations
                .parse()
                .ok()
                .filter(|n| (1..=ITERATIONS_MAX).contains(n))?,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: key(stored)?,
            server_key: key(server)?,
        })
    }

    /// Makes a verifier that no password fits, for an unknown user. It looks like a real one, and
    /// has the same salt whenever `secret` is the same.
    pub fn of_nobody(user: &str, secret: &[u8]) -> Self {
        let salt = sign(secret, user.as_bytes());
        Verifier {
            iterations: ITERATIONS.get(),
            salt: salt[..SALT_BYTES].to_vec(),
            stored_key: sign(secret, b"no stored key"),
            server_key: sign(secret, b"no server key"),
        }
    }

    /// Returns whether a client has the password: `proof` is ClientKey XOR HMAC(StoredKey, message).
    pub fn is_proven(&self, message: &[u8], proof: &[u8]) -> bool {
        let signature = sign(&self.stored_key, message);
        if proof.len() != KEY_BYTES {
            return false;
        }
        let mut client_key = [0; KEY_BYTES];
        for (at, byte) in client_key.iter_mut().enumerate() {
            *byte = proof[at] ^ signature[at];
        }
        // Both are hashes: where they first differ reveals nothing of the password.
        hash(&client_key) == self.stored_key
    }

    /// Returns what proves to the client that the server knows the verifier.
    pub fn signature(&self, message: &[u8]) -> Vec<u8> {
        sign(&self.server_key, message).to_vec()
    }
}

fn sign(key: &[u8], message: &[u8]) -> [u8; KEY_BYTES] {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    let mut bytes = [0; KEY_BYTES];
    bytes.copy_from_slice(tag.as_ref());
    bytes
}

fn hash(bytes: &[u8]) -> [u8; KEY_BYTES] {
    let mut hash = [0; KEY_BYTES];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exchange of RFC 7677, section 3.
    #[test]
    fn the_example_of_the_rfc() {
        let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("it is base64");
        let verifier = Verifier::salted("pencil", salt, ITERATIONS);
        let message = b"n=user,r=rOprNGfwEbeRWgbNEkqO,\
            r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
            c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let proof = STANDARD
            .decode("dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
            .expect("it is base64");
        assert!(verifier.is_proven(message, &proof));
        assert!(!verifier.is_proven(b"other", &proof));
        assert!(verifier.fits("pencil") && !verifier.fits("Pencil") && !verifier.fits(""));
        assert!(!verifier.is_proven(message, &proof[1..]));
        assert_eq!(
            STANDARD.encode(verifier.signature(message)),
            "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        );
        let text = verifier.to_string();
        assert!(
            text.starts_with("SCRAM-SHA-256$4096:W22ZaJ0SNY7soEsUEjb6gQ==$"),
            "{text}"
        );
        assert_eq!(Verifier::parse(&text), Some(verifier));
    }

    #[test]
    fn texts_that_are_no_verifier() {
        for text in [
            "",
            "md5aa",
            "SCRAM-SHA-256$",
            "SCRAM-SHA-256$4096:YQ==$YQ==:YQ==",
            "SCRAM-SHA-256$0:YQ==$x:y",
        ] {
            assert_eq!(Verifier::parse(text), None, "{text}");
        }
    }
}
