//! The role that a session is, and what it may therefore run.

use super::Checker;
use crate::exec::held::{PLANS_MAX, Prepared};
use crate::sql::session::Session;
use rukh_error::SqlError;

impl Session {
    /// Makes the session a role's; it is an administrator's before.
    pub fn set_user(&mut self, name: &str) {
        *self.who.write() = Some(name.to_string());
    }

    /// Returns the role that the session is; `None` for an administrator's of the library.
    pub fn user(&self) -> Option<String> {
        self.who.read().clone()
    }

    /// Fails with 42501 if the session's role may not run a statement.
    pub(crate) fn check_rights(&mut self, prepared: &Prepared) -> Result<(), SqlError> {
        let Some(user) = &self.user() else {
            return Ok(());
        };
        let catalog = self.engine().newest_catalog();
        if self.permitted.get(prepared.sql()) == Some(&catalog.version) {
            return Ok(());
        }
        Checker::of(&catalog, user)?.statement(prepared.statement())?;
        if self.permitted.len() >= PLANS_MAX {
            self.permitted.clear();
        }
        self.permitted.insert(prepared.sql().to_string(), catalog.version);
        Ok(())
    }

    /// Whether the session's role may read a table itself, and not only by way of a view.
    pub(crate) fn may_read(&self, table: &rukh_catalog::Table) -> bool {
        let Some(user) = &self.user() else {
            return true;
        };
        let catalog = self.engine().newest_catalog();
        Checker::of(&catalog, user).is_ok_and(|checker| checker.may_read(table))
    }
}
