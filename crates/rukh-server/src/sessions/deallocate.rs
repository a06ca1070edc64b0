//! DEALLOCATE and DISCARD ALL: a client releases what its connection keeps for it.

use pgwire::messages::PgWireBackendMessage;
use rukh::{Error, TransactionStatus};

use crate::protocol::messages;
use crate::sessions::session::{Failure, Session};

/// What is released.
#[derive(Debug, PartialEq, Eq)]
enum Released {
    /// `DEALLOCATE ALL`
    Statements,
    /// `DEALLOCATE name`
    Statement(String),
    /// `DISCARD ALL`
    Everything,
}

/// Reads a statement that releases something; `None` if it is another one.
fn read(sql: &str) -> Option<Released> {
    let mut words = sql.split_whitespace();
    let verb = words.next()?.to_ascii_lowercase();
    if verb != "deallocate" && verb != "discard" {
        return None;
    }
    let mut name = words.next()?;
    if verb == "deallocate" && name.eq_ignore_ascii_case("prepare") {
        name = words.next().unwrap_or(name);
    }
    if words.next().is_some() {
        return None;
    }
    let is_all = name.eq_ignore_ascii_case("all");
    match verb.as_str() {
        "discard" => is_all.then_some(Released::Everything),
        _ if is_all => Some(Released::Statements),
        _ => folded(name).map(Released::Statement),
    }
}

/// Returns a name as it is kept; `None` if it is none.
fn folded(name: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    match name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(quoted) => (!quoted.contains('"')).then(|| quoted.to_string()),
        None => name.chars().all(plain).then(|| name.to_ascii_lowercase()),
    }
}

impl Session {
    /// Answers DEALLOCATE and DISCARD ALL; `None` if the statement is another one.
    pub(crate) fn deallocate(&mut self, sql: &str) -> Result<Option<PgWireBackendMessage>, Failure> {
        let aborted = self.connection.transaction_status() == TransactionStatus::Aborted;
        let Some(released) = read(sql).filter(|_| !aborted) else {
            return Ok(None);
        };
        let tag = match released {
            Released::Statements => {
                // The unnamed statement goes with the next one.
                self.prepared.retain(|name, _| name.is_empty());
                self.connection.execute("DEALLOCATE ALL")?;
                "DEALLOCATE ALL"
            }
            Released::Statement(name) => {
                // What is not the protocol's may be one of PREPARE.
                if self.prepared.remove(&name).is_none() {
                    return Ok(None);
                }
                self.connection.forget_prepared(&name);
                "DEALLOCATE"
            }
            Released::Everything => {
                if self.connection.transaction_status() != TransactionStatus::Idle {
                    let message = "DISCARD ALL cannot run inside a transaction block";
                    return Err(Error::statement("25001", message).into());
                }
                self.connection.execute("DISCARD ALL")?;
                self.prepared.clear();
                self.portals.clear();
                "DISCARD ALL"
            }
        };
        Ok(Some(messages::complete(tag, 0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_let_go_of() {
        let named = |name: &str| Some(Released::Statement(name.to_string()));
        assert_eq!(read("DEALLOCATE ALL"), Some(Released::Statements));
        assert_eq!(read("deallocate prepare All"), Some(Released::Statements));
        assert_eq!(read("DEALLOCATE \"_Pg3_0\""), named("_Pg3_0"));
        assert_eq!(read("DEALLOCATE Mine"), named("mine"));
        assert_eq!(read("DISCARD ALL"), Some(Released::Everything));
        for other in [
            "DISCARD PLANS",
            "DEALLOCATE",
            "DEALLOCATE a b",
            "SELECT 1",
            "DEALLOCATE a-b",
            "",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
