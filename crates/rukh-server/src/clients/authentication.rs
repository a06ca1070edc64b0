//! Authentication of clients: SCRAM-SHA-256 of RFC 5802, with and without the binding to the encrypted connection.
//!
//! ```text
//! server  the ways: SCRAM-SHA-256-PLUS where the connection is encrypted, SCRAM-SHA-256
//! client  n,,n=,r=<nonce>
//! server  r=<nonce and more>,s=<salt>,i=<iterations>
//! client  c=<binding>,r=<nonce and more>,p=<proof>
//! server  v=<signature>
//! ```
//!
//! An unknown user, or one without a password, runs the same exchange and fails at its end with the same
//! message. Neither passwords nor their verifiers are logged.
//!
//! As long as a database has no roles, every connection from this machine is an administrator's.

use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::startup::{Authentication, PasswordMessageFamily};
use rukh::scram::Verifier;
use rukh::{Error, User};

use crate::clients::shared::{Server, is_loopback};
use crate::clients::startup::LoginError;
use crate::protocol::wire::{Wire, WireError};

const PLAIN: &str = "SCRAM-SHA-256";
const BOUND: &str = "SCRAM-SHA-256-PLUS";
/// The one way of binding.
const BINDING: &str = "tls-server-end-point";
/// Random bytes of the server's part of the nonce.
const NONCE_BYTES: usize = 18;

/// Authenticates a client and returns its role; `None` for an administrator of a database without roles.
pub(crate) fn authenticate(
    wire: &mut Wire,
    server: &Server,
    peer: SocketAddr,
    name: &str,
) -> Result<Option<User>, LoginError> {
    let database = server.database();
    if !database.has_users() {
        return match is_loopback(peer.ip()) {
            true => Ok(None),
            false => {
                let message = "connections from other machines need a user, and the database has none";
                Err(Error::statement("28000", message).into())
            }
        };
    }
    let user = database.user(name);
    let verifier = user.as_ref().and_then(|user| user.verifier.clone());
    let nobody = || Verifier::of_nobody(name, server.secret());
    let proven = exchange(wire, server, &verifier.clone().unwrap_or_else(nobody))?;
    let user = user.filter(|user| proven && verifier.is_some() && !is_over(user.valid_until));
    let Some(user) = user else {
        let message = format!("password authentication failed for user \"{name}\"");
        return Err(Error::statement("28P01", message).into());
    };
    match user.login {
        true => Ok(Some(user)),
        false => {
            let message = format!("role \"{name}\" is not permitted to log in");
            Err(Error::statement("28000", message).into())
        }
    }
}

fn is_over(until: Option<i64>) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX));
    until.is_some_and(|until| until < now)
}

/// What the client's first message says.
struct First {
    /// Up to where the rest begins: whether and how it is bound.
    head: String,
    rest: String,
    nonce: String,
}

/// Exchanges the messages; returns whether the client has the password.
fn exchange(wire: &mut Wire, server: &Server, verifier: &Verifier) -> Result<bool, LoginError> {
    let binding = server.binding().filter(|_| wire.is_encrypted());
    let mut ways = vec![PLAIN.to_string()];
    if binding.is_some() {
        ways.insert(0, BOUND.to_string());
    }
    wire.push(Message::Authentication(Authentication::SASL(ways)))?;
    let PasswordMessageFamily::SASLInitialResponse(initial) = answer(wire, Step::First)? else {
        return Err(malformed());
    };
    let is_bound = match initial.auth_method.as_str() {
        PLAIN => false,
        BOUND if binding.is_some() => true,
        _ => {
            let message = "client selected an invalid SASL authentication mechanism";
            return Err(Error::statement("08P01", message).into());
        }
    };
    let first = first(&initial.data.unwrap_or_default())?;
    let expected = match (is_bound, first.head.as_str()) {
        // A client that supports binding saw no offer of it, so a proxy in between has removed the offer.
        (false, "y,,") if binding.is_some() => {
            return Err(Error::statement("28000", "SCRAM channel binding negotiation error").into());
        }
        (false, "n,," | "y,,") => first.head.clone().into_bytes(),
        (true, head) if head == format!("p={BINDING},,") => {
            [head.as_bytes(), binding.unwrap_or_default()].concat()
        }
        _ => return Err(malformed()),
    };
    let mut random = [0; NONCE_BYTES];
    server.fill_random(&mut random)?;
    let nonce = format!("{}{}", first.nonce, STANDARD.encode(random));
    let (salt, iterations) = (STANDARD.encode(&verifier.salt), verifier.iterations);
    let server_first = format!("r={nonce},s={salt},i={iterations}");
    let message = Authentication::SASLContinue(Bytes::from(server_first.clone()));
    wire.push(Message::Authentication(message))?;
    let PasswordMessageFamily::SASLResponse(last) = answer(wire, Step::Last)? else {
        return Err(malformed());
    };
    let last = std::str::from_utf8(&last.data).map_err(|_| malformed())?;
    let (without_proof, proof) = last.rsplit_once(",p=").ok_or_else(malformed)?;
    let wanted = format!("c={},r={nonce}", STANDARD.encode(expected));
    if without_proof != wanted && !without_proof.starts_with(&format!("{wanted},")) {
        return Err(malformed());
    }
    let proof = STANDARD.decode(proof).map_err(|_| malformed())?;
    let message = format!("{},{server_first},{without_proof}", first.rest);
    if !verifier.is_proven(message.as_bytes(), &proof) {
        return Ok(false);
    }
    let signature = STANDARD.encode(verifier.signature(message.as_bytes()));
    let last = Authentication::SASLFinal(Bytes::from(format!("v={signature}")));
    wire.push(Message::Authentication(last))?;
    Ok(true)
}

/// Which message of a client is read.
#[derive(Clone, Copy)]
enum Step {
    First,
    Last,
}

fn answer(wire: &mut Wire, step: Step) -> Result<PasswordMessageFamily, LoginError> {
    let message = match wire.receive()? {
        Request::PasswordMessageFamily(message) => message,
        // A client that has no password leaves.
        Request::Terminate(_) => return Err(WireError::Closed.into()),
        _ => return Err(malformed()),
    };
    let PasswordMessageFamily::Raw(body) = &message else {
        return Err(malformed());
    };
    if matches!(step, Step::First) {
        check_initial(body)?;
        let initial = message.into_sasl_initial_response();
        return initial
            .map(PasswordMessageFamily::SASLInitialResponse)
            .map_err(|_| malformed());
    }
    let response = message.into_sasl_response();
    response
        .map(PasswordMessageFamily::SASLResponse)
        .map_err(|_| malformed())
}

/// Fails if the lengths in a client's first message are not true: pgwire trusts them.
fn check_initial(body: &[u8]) -> Result<(), LoginError> {
    let end = body.iter().position(|byte| *byte == 0).ok_or_else(malformed)?;
    std::str::from_utf8(&body[..end]).map_err(|_| malformed())?;
    let rest = &body[end + 1..];
    let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(malformed)?;
    let length = i32::from_be_bytes(*length);
    match usize::try_from(length) {
        Ok(length) if length == rest.len() => Ok(()),
        _ => Err(malformed()),
    }
}

/// Reads `n,,n=user,r=nonce`. The user is the one of the startup message.
fn first(data: &[u8]) -> Result<First, LoginError> {
    let text = std::str::from_utf8(data).map_err(|_| malformed())?;
    let (bound, rest) = text.split_once(',').ok_or_else(malformed)?;
    let (identity, rest) = rest.split_once(',').ok_or_else(malformed)?;
    if !identity.is_empty() {
        let message = "client uses authorization identity, but it is not supported";
        return Err(Error::unsupported(message).into());
    }
    let (user, nonce) = rest.split_once(',').ok_or_else(malformed)?;
    let nonce = nonce.split(',').next().and_then(|nonce| nonce.strip_prefix("r="));
    let nonce = nonce.filter(|nonce| {
        !nonce.is_empty() && nonce.bytes().all(|byte| byte.is_ascii_graphic()) && user.starts_with("n=")
    });
    Ok(First {
        head: format!("{bound},,"),
        rest: rest.to_string(),
        nonce: nonce.ok_or_else(malformed)?.to_string(),
    })
}

fn malformed() -> LoginError {
    Error::statement("08P01", "malformed SCRAM message").into()
}
