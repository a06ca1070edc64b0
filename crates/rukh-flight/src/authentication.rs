//! Authentication of calls.
//!
//! | `authorization`           | user                                                                        |
//! |---------------------------|-----------------------------------------------------------------------------|
//! | `Bearer <token>`          | whose log in gave the token                                                  |
//! | `Basic <user>:<password>` | the user, if the password fits what SCRAM keeps of it                        |
//! | none                      | an administrator, of a database without users and from this machine          |
//!
//! An unknown user, or one without a password, takes as long to refuse as a known one, and fails with the same
//! words.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use rukh::scram::Verifier;
use rukh::{Database, Error};
use tonic::metadata::MetadataMap;

const AUTHORIZATION: &str = "authorization";
const BASIC: &str = "Basic ";
const BEARER: &str = "Bearer ";

/// The credentials of a call.
#[derive(PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing.
    Nothing,
    /// The token of a log in.
    Token(String),
    /// A user and a password.
    Password { user: String, password: String },
}

/// Reads the credentials of a call.
pub(crate) fn said(metadata: &MetadataMap) -> Result<Said, Error> {
    let Some(value) = metadata.get(AUTHORIZATION) else {
        return Ok(Said::Nothing);
    };
    let value = value.to_str().map_err(|_| malformed())?;
    if let Some(token) = after(value, BEARER) {
        return Ok(Said::Token(token.to_string()));
    }
    let encoded = after(value, BASIC).ok_or_else(malformed)?;
    let bytes = STANDARD_NO_PAD.decode(encoded.trim_end_matches('='));
    let text = String::from_utf8(bytes.map_err(|_| malformed())?).map_err(|_| malformed())?;
    let (user, password) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Said::Password {
        user: user.to_string(),
        password: password.to_string(),
    })
}

fn after<'a>(value: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = value.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| rest.trim())
}

fn malformed() -> Error {
    Error::statement("28000", "the authorization is neither Basic nor Bearer")
}

/// Writes the header that a log in is answered with.
pub(crate) fn bearer(token: &str) -> String {
    format!("{BEARER}{token}")
}

/// Makes a token of cryptographically secure random bytes.
pub(crate) fn token(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Fails unless every client on this machine is an administrator, and the call comes from there.
pub(crate) fn check_trusted(database: &Database, address: SocketAddr) -> Result<(), Error> {
    if database.has_users() {
        return Err(Error::statement("28000", "no user and no password were given"));
    }
    match address.ip().to_canonical().is_loopback() {
        true => Ok(()),
        false => {
            let message = "connections from other machines need a user, and the database has none";
            Err(Error::statement("28000", message))
        }
    }
}

/// Fails unless the user may log in and the password is the user's. Slow on purpose.
pub(crate) fn check_password(
    database: &Database,
    secret: &[u8],
    name: &str,
    password: &str,
) -> Result<(), Error> {
    let user = database.user(name);
    let verifier = user.as_ref().and_then(|user| user.verifier.clone());
    let known = verifier.is_some();
    let verifier = verifier.unwrap_or_else(|| Verifier::of_nobody(name, secret));
    let fits = verifier.fits(password) && known;
    let user = user.filter(|user| fits && !is_over(user.valid_until));
    let Some(user) = user else {
        let message = format!("password authentication failed for user \"{name}\"");
        return Err(Error::statement("28P01", message));
    };
    match user.login {
        true => Ok(()),
        false => {
            let message = format!("role \"{name}\" is not permitted to log in");
            Err(Error::statement("28000", message))
        }
    }
}

fn is_over(until: Option<i64>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    until.is_some_and(|until| until < now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Option<Said> {
        let mut metadata = MetadataMap::new();
        metadata.insert(AUTHORIZATION, value.parse().ok()?);
        said(&metadata).ok()
    }

    #[test]
    fn headers_are_read() {
        let password = |user: &str, password: &str| Said::Password {
            user: user.to_string(),
            password: password.to_string(),
        };
        assert!(read("Bearer abc") == Some(Said::Token("abc".to_string())));
        assert!(read("bearer abc") == Some(Said::Token("abc".to_string())));
        assert!(read(&format!("Basic {}", STANDARD.encode("u:p:q"))) == Some(password("u", "p:q")));
        assert!(read("basic dTpw") == Some(password("u", "p")));
        for bad in ["", "Basic", "Basic !", "Digest x", "Basic dXA="] {
            assert!(read(bad).is_none(), "{bad}");
        }
        assert!(said(&MetadataMap::new()).is_ok_and(|said| said == Said::Nothing));
    }
}
