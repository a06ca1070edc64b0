//! A finding of a check, and how it prints.

use std::fmt;

/// Whether a finding fails the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Fails the run.
    Error,
    /// Is printed only.
    Warning,
}

/// One broken rule at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Path relative to the repository, with `/`.
    pub path: String,
    /// Line, from 1; 0 speaks about the whole file.
    pub line: usize,
    /// Whether it fails the run.
    pub severity: Severity,
    /// What is wrong, in lower case, without a final stop.
    pub message: String,
}

impl Finding {
    /// Returns a finding that fails the run.
    pub fn error(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            path: path.to_string(),
            line,
            severity: Severity::Error,
            message: message.into(),
        }
    }

    /// Returns a finding that is printed only.
    pub fn warning(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding {
            severity: Severity::Warning,
            ..Finding::error(path, line, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding {
            path,
            line,
            severity,
            message,
        } = self;
        let note = match severity {
            Severity::Error => "",
            Severity::Warning => "warning: ",
        };
        write!(f, "{path}:{line}: {note}{message}")
    }
}

/// Renders findings one a line, for the tests of the checks.
#[cfg(test)]
pub fn lines(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(Finding::to_string).collect()
}
