//! Errors of the database in the form of gRPC, and why a server does not start.
//!
//! The SQLSTATE stands in front of the message, because clients show that, and by itself in `sqlstate`.
//!
//! | SQLSTATE              | gRPC                |
//! |-----------------------|---------------------|
//! | 08, 22, 42            | invalid argument    |
//! | 0A                    | unimplemented       |
//! | 23505, 42P07, 42P06   | already exists      |
//! | 23, 25, 55            | failed precondition |
//! | 28                    | unauthenticated     |
//! | 40                    | aborted             |
//! | 42501                 | permission denied   |
//! | 42P01, 42704, 3F000   | not found           |
//! | 53, 54                | resource exhausted  |
//! | 57014                 | cancelled           |
//! | 57                    | unavailable         |
//! | XX001                 | data loss           |
//! | others                | internal            |

use std::io;

use rukh::Error;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

/// Most bytes of a message: headers must not grow too long for clients.
const MESSAGE_BYTES_MAX: usize = 4 << 10;

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address cannot be listened on.
    #[error("could not listen on {address}: {source}")]
    Listen {
        /// The address as given.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The address can be reached from other machines, and no role has a password.
    #[error(
        "will not listen on {address}: it can be reached from other machines, and no user has a password; \
         make one with: rukh user add DIR NAME"
    )]
    Open {
        /// The address.
        address: String,
    },
    /// The address can be reached from other machines, and passwords would be sent in plain.
    #[error(
        "will not listen on {address}: it can be reached from other machines, and Flight SQL sends passwords as \
         they are; set up TLS"
    )]
    Plain {
        /// The address.
        address: String,
    },
    /// The system gives no threads or no random numbers.
    #[error("could not start: {source}")]
    System {
        /// What the system said.
        source: io::Error,
    },
}

/// Returns an error of the database as a status for clients.
pub(crate) fn status(error: &Error) -> Status {
    let mut message = format!("{}: {}", error.sqlstate, error.message);
    if let Some(position) = error.position {
        message += &format!(" (at character {position})");
    }
    for (label, text) in [("DETAIL", &error.detail), ("HINT", &error.hint)] {
        if let Some(text) = text {
            message += &format!("\n{label}: {text}");
        }
    }
    if message.len() > MESSAGE_BYTES_MAX {
        let end = (0..=MESSAGE_BYTES_MAX)
            .rev()
            .find(|end| message.is_char_boundary(*end));
        message.truncate(end.unwrap_or(0));
    }
    let mut metadata = MetadataMap::new();
    metadata.insert("sqlstate", MetadataValue::from_static(error.sqlstate));
    Status::with_metadata(code(error.sqlstate), message, metadata)
}

fn code(sqlstate: &str) -> Code {
    match sqlstate {
        "42501" => Code::PermissionDenied,
        "42P01" | "42704" | "3F000" => Code::NotFound,
        "23505" | "42P07" | "42P06" => Code::AlreadyExists,
        "57014" => Code::Cancelled,
        "XX001" => Code::DataLoss,
        _ => match sqlstate.get(..2).unwrap_or_default() {
            "08" | "22" | "42" => Code::InvalidArgument,
            "0A" => Code::Unimplemented,
            "23" | "25" | "55" => Code::FailedPrecondition,
            "28" => Code::Unauthenticated,
            "40" => Code::Aborted,
            "53" | "54" => Code::ResourceExhausted,
            "57" => Code::Unavailable,
            _ => Code::Internal,
        },
    }
}

/// Makes the answer to a call that is not understood.
pub(crate) fn malformed(message: impl Into<String>) -> Status {
    status(&Error::statement("08P01", message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_carry_their_sqlstate() {
        let error = Error::statement("42P01", "relation \"t\" does not exist")
            .at(15)
            .with_hint("Make it.");
        let converted = status(&error);
        assert_eq!(converted.code(), Code::NotFound);
        assert_eq!(
            converted.message(),
            "42P01: relation \"t\" does not exist (at character 15)\nHINT: Make it."
        );
        assert_eq!(
            converted.metadata().get("sqlstate").map(|value| value.as_bytes()),
            Some(&b"42P01"[..])
        );
    }

    #[test]
    fn messages_are_cut_at_a_character() {
        let converted = status(&Error::statement("22000", "ü".repeat(MESSAGE_BYTES_MAX)));
        assert!(converted.message().len() <= MESSAGE_BYTES_MAX && converted.message().ends_with('ü'));
    }
}
