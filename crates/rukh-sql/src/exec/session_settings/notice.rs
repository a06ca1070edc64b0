//! Messages beside the answer of a statement.

/// A message beside a result: a warning, or a hint that could not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE` or `WARNING`.
    pub severity: &'static str,
    /// What PostgreSQL gives such a message beside its text; 00000 or 01000 where that is nothing particular.
    pub sqlstate: &'static str,
    /// The message, in the style of errors.
    pub message: String,
    /// What to do about it, as sentences.
    pub hint: Option<String>,
}

impl Notice {
    /// Makes a NOTICE.
    pub fn new(message: impl Into<String>) -> Self {
        Notice {
            severity: "NOTICE",
            sqlstate: "00000",
            message: message.into(),
            hint: None,
        }
    }

    /// Makes a WARNING.
    pub fn warning(message: impl Into<String>) -> Self {
        Notice {
            severity: "WARNING",
            sqlstate: "01000",
            message: message.into(),
            hint: None,
        }
    }

    /// The same with a SQLSTATE of its own.
    pub(crate) fn with_sqlstate(self, sqlstate: &'static str) -> Self {
        Notice { sqlstate, ..self }
    }
}
