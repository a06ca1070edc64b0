//! What can go wrong, and what a caller may conclude from it.
//!
//! A server's exception is `Remote`. What happened to the connection says whether the call may have been carried
//! out: `Connect` never was sent, `Lost` and `Timeout` may have been. A call that changes something and must not be
//! done twice then ends in `OutcomeUnknown`: the caller looks at the row.

use std::io;
use std::sync::Arc;

/// An error of the client.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The URL is not of the form `hbase://host:port[,host:port]/namespace`.
    #[error("invalid HBase address \"{url}\": {reason}")]
    Address {
        /// The text as given.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The request is not in this client.
    #[error("{what} is not supported")]
    Unsupported {
        /// The feature by name.
        what: String,
    },
    /// An argument that no server would take.
    #[error("invalid {what}: {reason}")]
    Argument {
        /// The argument by name.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// No connection could be made; nothing was sent.
    #[error("cannot connect to {server}: {source}")]
    Connect {
        /// `host:port`.
        server: String,
        /// The system's error.
        source: Arc<io::Error>,
    },
    /// The connection ended before the answer came. The call may have been carried out.
    #[error("connection to {server} was lost: {reason}")]
    Lost {
        /// `host:port`.
        server: String,
        /// How it ended.
        reason: String,
    },
    /// The server did not answer in time. The call may have been carried out.
    #[error("{server} did not answer {method} within {waited_ms} ms")]
    Timeout {
        /// `host:port`.
        server: String,
        /// The method called.
        method: String,
        /// How long was waited, in milliseconds.
        waited_ms: u64,
    },
    /// The server sent what HBase's protocol does not allow. The connection was closed.
    #[error("{server} broke the protocol: {reason}")]
    Protocol {
        /// `host:port`.
        server: String,
        /// What was wrong.
        reason: String,
    },
    /// The server answered with an exception.
    #[error("{server}: {class}: {message}")]
    Remote {
        /// `host:port`, or the table where several servers were called.
        server: String,
        /// The Java class of the exception, whole.
        class: String,
        /// Its message, without the stack trace.
        message: String,
        /// Whether the server says that trying again is useless.
        do_not_retry: bool,
    },
    /// The time of the whole operation was up, retries included.
    #[error("{operation} took longer than {limit_ms} ms; the last error was: {last}")]
    Deadline {
        /// What was tried.
        operation: String,
        /// The limit, in milliseconds.
        limit_ms: u64,
        /// Why the last attempt failed.
        last: Box<Error>,
    },
    /// A change that must not be done twice was sent and not answered.
    #[error("it is not known whether {operation} was carried out: {source}")]
    OutcomeUnknown {
        /// What was tried.
        operation: String,
        /// Why there is no answer.
        source: Box<Error>,
    },
    /// There is no such table.
    #[error("table \"{table}\" does not exist")]
    TableNotFound {
        /// `namespace:name`.
        table: String,
    },
    /// The table is disabled.
    #[error("table \"{table}\" is disabled")]
    TableDisabled {
        /// `namespace:name`.
        table: String,
    },
    /// The row lies in no region that is open at this moment. Splits and moves pass through this.
    #[error("no open region of table \"{table}\" holds the row")]
    NoRegion {
        /// `namespace:name`.
        table: String,
    },
}

/// What is to be done about an error before trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cure {
    /// The region is elsewhere: ask hbase:meta.
    Relocate,
    /// Wait, then ask the same server.
    Wait,
    /// The call was or may have been carried out, or failed midway: only what can be done twice is tried again.
    Repeat,
    /// The scanner is gone: open another behind the last row.
    Reopen,
    /// None.
    None,
}

const RELOCATE: &[&str] = &[
    "NotServingRegionException",
    "RegionMovedException",
    "WrongRegionException",
    "RegionServerStoppedException",
    "RegionServerAbortedException",
    "RegionInRecoveryException",
    "RegionOfflineException",
    "MasterNotRunningException",
];
const WAIT: &[&str] = &[
    "RegionOpeningException",
    "RegionTooBusyException",
    "CallQueueTooBigException",
    "CallDroppedException",
    "ServerNotRunningYetException",
    "PleaseHoldException",
    "RpcThrottlingException",
    "ServerOverloadedException",
];
const REOPEN: &[&str] = &[
    "UnknownScannerException",
    "OutOfOrderScannerNextException",
    "ScannerResetException",
    "LeaseException",
];
/// Exceptions within the answer to a multi carry no flag, so those that stay are named.
const STAY: &[&str] = &[
    "DoNotRetryIOException",
    "NoSuchColumnFamilyException",
    "FailedSanityCheckException",
    "AccessDeniedException",
    "InvalidFamilyOperationException",
    "TableNotFoundException",
    "TableExistsException",
    "UnsupportedOperationException",
    "IllegalArgumentException",
    "QuotaExceededException",
    "DoNotRetryRegionException",
];

impl Error {
    /// Returns what helps against it.
    pub(crate) fn cure(&self) -> Cure {
        match self {
            Error::Connect { .. } | Error::NoRegion { .. } => Cure::Relocate,
            Error::Lost { .. } | Error::Timeout { .. } => Cure::Repeat,
            Error::Remote {
                class, do_not_retry, ..
            } => cure_of(class, *do_not_retry),
            _ => Cure::None,
        }
    }

    /// Returns an error after which an operation may be tried again; fails with what its caller is to know otherwise. What must not be done twice is
    /// not tried again where it may have been carried out.
    pub(crate) fn unless_final(self, operation: &str, may_repeat: bool) -> Result<Error, Error> {
        let is_unanswered = matches!(self, Error::Protocol { .. });
        match self.cure() {
            Cure::None | Cure::Reopen if may_repeat || !is_unanswered => Err(self),
            Cure::Repeat if !may_repeat && matches!(self, Error::Remote { .. }) => Err(self),
            Cure::None | Cure::Reopen | Cure::Repeat if !may_repeat => Err(Error::OutcomeUnknown {
                operation: operation.to_string(),
                source: Box::new(self),
            }),
            Cure::None | Cure::Reopen => Err(self),
            Cure::Repeat | Cure::Relocate | Cure::Wait => Ok(self),
        }
    }

    /// Whether servers could not be reached, or did not answer.
    pub fn is_unreachable(&self) -> bool {
        match self {
            Error::Connect { .. } | Error::Lost { .. } | Error::Timeout { .. } => true,
            Error::Deadline { last: error, .. } | Error::OutcomeUnknown { source: error, .. } => {
                error.is_unreachable()
            }
            _ => false,
        }
    }

    /// Whether servers are there and have not begun to serve, or not that region.
    pub fn is_not_ready(&self) -> bool {
        match self {
            Error::NoRegion { .. } => true,
            Error::Remote { .. } => matches!(self.cure(), Cure::Relocate | Cure::Wait),
            Error::Deadline { last: error, .. } | Error::OutcomeUnknown { source: error, .. } => {
                error.is_not_ready()
            }
            _ => false,
        }
    }

    /// Returns the Java class of a server's exception without its package.
    pub fn class(&self) -> Option<&str> {
        match self {
            Error::Remote { class, .. } => Some(short(class)),
            Error::Deadline { last, .. } => last.class(),
            _ => None,
        }
    }
}

fn cure_of(class: &str, do_not_retry: bool) -> Cure {
    let name = short(class);
    match () {
        () if RELOCATE.contains(&name) => Cure::Relocate,
        () if WAIT.contains(&name) => Cure::Wait,
        () if REOPEN.contains(&name) => Cure::Reopen,
        () if do_not_retry || STAY.contains(&name) => Cure::None,
        () => Cure::Repeat,
    }
}

/// Nested classes are written with `$`.
fn short(class: &str) -> &str {
    class.rsplit(['.', '$']).next().unwrap_or(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_have_cures() {
        let cases = [
            (
                "org.apache.hadoop.hbase.NotServingRegionException",
                false,
                Cure::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.exceptions.RegionMovedException",
                false,
                Cure::Relocate,
            ),
            (
                "org.apache.hadoop.hbase.exceptions.RegionOpeningException",
                false,
                Cure::Wait,
            ),
            (
                "org.apache.hadoop.hbase.CallQueueTooBigException",
                false,
                Cure::Wait,
            ),
            (
                "org.apache.hadoop.hbase.UnknownScannerException",
                true,
                Cure::Reopen,
            ),
            ("org.apache.hadoop.hbase.DoNotRetryIOException", true, Cure::None),
            ("a.B$C", true, Cure::None),
            ("java.io.IOException", false, Cure::Repeat),
        ];
        for (class, do_not_retry, cure) in cases {
            assert_eq!(cure_of(class, do_not_retry), cure, "{class}");
        }
    }
}
