//! The start of a connection: encryption, authentication, and the parameters that the server reports.

use std::sync::Arc;

use pgwire::messages::PgWireBackendMessage as Message;
use pgwire::messages::PgWireFrontendMessage as Request;
use pgwire::messages::response::{GssEncResponse, SslResponse};
use pgwire::messages::startup::{
    Authentication, BackendKeyData, NegotiateProtocolVersion, ParameterStatus, SecretKey, Startup,
};
use rukh::{Connection, Error, Notice};

use crate::clients::registry::Slot;
use crate::clients::shared::Server;
use crate::protocol::wire::{STARTUP_BYTES_MAX, Wire, WireError};

const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// Settings of a session that are reported to clients, with PostgreSQL's names.
pub(crate) const REPORTED: [(&str, &str); 10] = [
    ("application_name", "application_name"),
    ("client_encoding", "client_encoding"),
    ("DateStyle", "datestyle"),
    ("default_transaction_read_only", "default_transaction_read_only"),
    ("integer_datetimes", "integer_datetimes"),
    ("IntervalStyle", "intervalstyle"),
    ("server_encoding", "server_encoding"),
    ("server_version", "server_version"),
    ("standard_conforming_strings", "standard_conforming_strings"),
    ("TimeZone", "timezone"),
];

/// The parameters of a client's startup message.
pub(crate) struct SessionRequest {
    /// The user that it wants to be.
    pub(crate) user: String,
    /// Settings, and `options`.
    settings: Vec<(String, String)>,
}

/// How the first messages end.
pub(crate) enum Start {
    /// A session is wanted.
    Session(SessionRequest),
    /// Another session's statement was to be cancelled, and has been.
    Cancelled,
}

/// Reads the first messages of a connection.
pub(crate) fn read_start(wire: &mut Wire, server: &Server) -> Result<Start, LoginError> {
    loop {
        let (length, code) = wire.peek_startup()?;
        match code {
            SSL_REQUEST | GSS_REQUEST if length != 8 => {
                return Err(WireError::Protocol("invalid length of startup packet".to_string()).into());
            }
            SSL_REQUEST => {
                wire.skip(8);
                match server.tls() {
                    Some(config) if !wire.is_encrypted() => {
                        wire.push(Message::SslResponse(SslResponse::Accept))?;
                        wire.flush()?;
                        wire.start_tls(config)?;
                    }
                    _ => {
                        wire.push(Message::SslResponse(SslResponse::Refuse))?;
                        wire.flush()?;
                    }
                }
            }
            GSS_REQUEST => {
                wire.skip(8);
                wire.push(Message::GssEncResponse(GssEncResponse::Refuse))?;
                wire.flush()?;
            }
            _ if !(8..=STARTUP_BYTES_MAX).contains(&length) => {
                return Err(WireError::Protocol("invalid length of startup packet".to_string()).into());
            }
            _ => break,
        }
    }
    match wire.receive()? {
        Request::CancelRequest(request) => {
            if let SecretKey::I32(secret) = request.secret_key {
                server.registry().cancel(request.pid, secret);
            }
            Ok(Start::Cancelled)
        }
        Request::Startup(startup) => session_request(wire, server, startup).map(Start::Session),
        _ => Err(WireError::Protocol("invalid startup packet".to_string()).into()),
    }
}

/// Why a connection does not become a session.
pub(crate) enum LoginError {
    /// The client is not to be heard, or not to be understood.
    Wire(WireError),
    /// The client is refused.
    Refused(Box<Error>),
}

impl From<WireError> for LoginError {
    fn from(error: WireError) -> Self {
        LoginError::Wire(error)
    }
}

impl From<Error> for LoginError {
    fn from(error: Error) -> Self {
        LoginError::Refused(Box::new(error))
    }
}

fn session_request(wire: &mut Wire, server: &Server, startup: Startup) -> Result<SessionRequest, LoginError> {
    if server.needs_tls() && !wire.is_encrypted() {
        let message = "this server takes encrypted connections only";
        return Err(Error::statement("28000", message).into());
    }
    let mut unknown: Vec<String> = Vec::new();
    let (mut user, mut settings) = (None, Vec::new());
    for (name, value) in startup.parameters {
        match name.as_str() {
            "user" => user = Some(value),
            // There is one database, whatever it is called.
            "database" => {}
            "replication" if !matches!(value.as_str(), "false" | "off" | "no" | "0") => {
                return Err(Error::unsupported("replication is not supported").into());
            }
            "replication" => {}
            name if name.starts_with("_pq_.") => unknown.push(name.to_string()),
            "options" => settings.extend(options(&value)?),
            _ => settings.push((name.to_lowercase(), value)),
        }
    }
    if startup.protocol_number_minor > 0 || !unknown.is_empty() {
        const VERSION: i32 = Startup::PROTOCOL_VERSION_3_0;
        let message = NegotiateProtocolVersion::new(VERSION, unknown);
        wire.push(Message::NegotiateProtocolVersion(message))?;
    }
    let user = user.filter(|user| !user.is_empty());
    let user =
        user.ok_or_else(|| Error::statement("28000", "no PostgreSQL user name specified in startup packet"))?;
    Ok(SessionRequest { user, settings })
}

/// Reads `-c name=value` and `--name=value`.
fn options(text: &str) -> Result<Vec<(String, String)>, Error> {
    let mut settings = Vec::new();
    let mut words = words(text).into_iter();
    while let Some(word) = words.next() {
        let assignment = match word.as_str() {
            "-c" => words.next().unwrap_or_default(),
            word if word.starts_with("--") => word[2..].to_string(),
            word if word.starts_with("-c") => word[2..].to_string(),
            _ => return Err(bad_option(&word)),
        };
        let (name, value) = assignment.split_once('=').ok_or_else(|| bad_option(&word))?;
        settings.push((name.replace('-', "_").to_lowercase(), value.to_string()));
    }
    Ok(settings)
}

fn bad_option(word: &str) -> Error {
    Error::statement(
        "42601",
        format!("invalid command-line argument for server process: {word}"),
    )
}

/// Splits at blanks; a backslash guards the next character.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => word.get_or_insert_default().extend(characters.next()),
            blank if blank.is_whitespace() => words.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    words.extend(word);
    words
}

/// Lets a client in: settings, what the server says of itself, the key to cancel by.
pub(crate) fn welcome(
    wire: &mut Wire,
    server: &Server,
    connection: &mut Connection,
    request: &SessionRequest,
    slot: &Arc<Slot>,
    secret: i32,
    is_superuser: bool,
) -> Result<Vec<Notice>, LoginError> {
    connection.set_client(&request.user, slot.pid);
    for (name, value) in server.config().settings() {
        connection.set(name, value)?;
    }
    let mut notices = Vec::new();
    for (name, value) in &request.settings {
        match connection.set(name, value) {
            Ok(()) => {}
            // Clients send their time zone by default; all times are sent with their offset.
            Err(error) if error.sqlstate == "0A000" => {
                let mut notice = Notice::warning(error.message);
                notice.hint = Some(format!("The value \"{value}\" is not used."));
                notices.push(notice);
            }
            Err(error) => return Err(error.into()),
        }
    }
    connection.keep_settings();
    wire.push(Message::Authentication(Authentication::Ok))?;
    for (name, setting) in REPORTED {
        report(wire, name, connection.setting(setting)?)?;
    }
    report(wire, "in_hot_standby", "off".to_string())?;
    report(
        wire,
        "is_superuser",
        if is_superuser { "on" } else { "off" }.to_string(),
    )?;
    report(wire, "session_authorization", request.user.clone())?;
    wire.push(Message::BackendKeyData(BackendKeyData::new(
        slot.pid,
        SecretKey::I32(secret),
    )))?;
    Ok(notices)
}

/// Returns the value of a setting.
pub(crate) fn report(wire: &mut Wire, name: &str, value: String) -> Result<(), WireError> {
    wire.push(Message::ParameterStatus(ParameterStatus::new(
        name.to_string(),
        value,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_settings() {
        let read = |text: &str| options(text).map_err(|error| error.sqlstate);
        let pair = |name: &str, value: &str| (name.to_string(), value.to_string());
        assert_eq!(read(""), Ok(vec![]));
        assert_eq!(
            read("-c a=1 -cb=2 --c-d=3"),
            Ok(vec![pair("a", "1"), pair("b", "2"), pair("c_d", "3")])
        );
        assert_eq!(read(r"-c a=x\ y\\"), Ok(vec![pair("a", r"x y\")]));
        assert_eq!(read("-x"), Err("42601"));
        assert_eq!(read("-c"), Err("42601"));
    }
}
