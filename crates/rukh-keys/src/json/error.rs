//! Why a text or a tree is no document.

use thiserror::Error;

/// Says why a text is no JSON, or no JSONB.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JsonError {
    /// A text is no JSON (22P02).
    #[error("invalid input syntax for type json")]
    Invalid {
        /// What is wrong, and where, as sentences.
        detail: String,
    },
    /// A string holds the character of code 0, which no text has (22P05).
    #[error("unsupported Unicode escape sequence")]
    Nul,
    /// Arrays and objects are nested too deeply (54001).
    #[error("stack depth limit exceeded: JSON of more than 1000 levels")]
    TooDeep,
    /// A JSONB would take more than 256 MiB (54000).
    #[error("JSONB of more than 256 MiB")]
    TooLong,
    /// A number has too many digits (22003).
    #[error("value overflows numeric format")]
    NumberTooLong,
}
