//! BEGIN, COMMIT, SAVEPOINT and their kin.

use super::names::{Name, ObjectName};

/// A statement about the transaction that it stands in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TransactionStatement {
    /// BEGIN and START TRANSACTION.
    Begin {
        /// Whether it is written START TRANSACTION.
        start: bool,
        /// How the transaction runs.
        modes: TransactionModes,
    },
    /// COMMIT, END.
    Commit {
        /// AND CHAIN: another transaction follows at once.
        chain: bool,
    },
    /// ROLLBACK, ABORT.
    Rollback {
        /// AND CHAIN: another transaction follows at once.
        chain: bool,
    },
    /// SAVEPOINT.
    Savepoint(Name),
    /// RELEASE.
    Release(Name),
    /// ROLLBACK TO.
    RollbackTo(Name),
    /// SET TRANSACTION.
    SetTransaction(TransactionModes),
    /// SET CONSTRAINTS.
    SetConstraints {
        /// The constraints; ALL if there are none.
        names: Vec<ObjectName>,
        /// DEFERRED, or IMMEDIATE.
        deferred: bool,
    },
    /// SET SESSION CHARACTERISTICS AS TRANSACTION.
    SetCharacteristics(TransactionModes),
}

/// What a transaction sees of others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// Each statement sees what was committed before it began.
    ReadCommitted,
    /// All statements see what was committed before the first of them began.
    #[default]
    RepeatableRead,
}

impl Isolation {
    /// Returns the level of a name; READ UNCOMMITTED is READ COMMITTED, as in PostgreSQL.
    pub fn of_name(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "read committed" | "read uncommitted" => Some(Isolation::ReadCommitted),
            "repeatable read" => Some(Isolation::RepeatableRead),
            _ => None,
        }
    }

    /// Returns the name, as SHOW gives it.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
        }
    }
}

/// How a transaction runs, as far as a statement says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// The isolation level.
    pub isolation: Option<Isolation>,
    /// Whether rows may only be read.
    pub read_only: Option<bool>,
}
