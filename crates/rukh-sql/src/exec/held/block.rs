//! A transaction block: its transaction, its savepoints, the settings to go back to.

use rukh_engine::{HeldLocks, Savepoint, Transaction};
use rukh_error::SqlError;
use rukh_syntax::Name;

use crate::exec::rows::Aborted;
use crate::exec::session_settings::settings::Settings;

/// Where a session stands, as PostgreSQL reports it to clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Not in a transaction block.
    Idle,
    /// In a transaction block.
    Open,
    /// In a transaction block that an error has aborted.
    Aborted,
}

/// A transaction block.
pub(crate) struct Block {
    /// Started by the first statement that reads or writes.
    pub(crate) transaction: Option<Transaction>,
    /// Whether no statement has ended that the transaction ran: its state is unknown.
    pub(crate) fresh: bool,
    pub(crate) aborted: Aborted,
    /// The settings to go back to when the block is rolled back.
    pub(crate) before: Settings,
    /// The settings that stay when the block is committed: all but those SET LOCAL.
    pub(crate) kept: Settings,
    pub(crate) savepoints: Vec<NamedSavepoint>,
}

/// A savepoint, and the settings that a return to it brings back.
pub(crate) struct NamedSavepoint {
    pub(crate) name: String,
    /// None as long as the transaction has not started.
    pub(crate) state: Option<Savepoint>,
    pub(crate) settings: Settings,
    pub(crate) kept: Settings,
    /// The advisory locks of the transaction.
    pub(crate) advisory: HeldLocks,
}

impl Block {
    pub(crate) fn new(settings: &Settings) -> Self {
        Block {
            transaction: None,
            fresh: true,
            aborted: Aborted::default(),
            before: settings.clone(),
            kept: settings.clone(),
            savepoints: Vec::new(),
        }
    }

    /// Returns the newest savepoint that the transaction knows.
    pub(crate) fn newest_savepoint(&self) -> Option<&Savepoint> {
        self.savepoints
            .iter()
            .rev()
            .find_map(|point| point.state.as_ref())
    }

    /// Returns the position of the newest savepoint of this name.
    pub(crate) fn savepoint(&self, name: &Name) -> Result<usize, SqlError> {
        let found = self.savepoints.iter().rposition(|point| point.name == name.text);
        found.ok_or_else(|| {
            let message = format!("savepoint \"{}\" does not exist", name.text);
            SqlError::statement("3B001", message)
        })
    }
}
