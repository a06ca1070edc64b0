//! The role that a session is, and what it may therefore run.

use super::Checker;
use super::check::denied;
use crate::exec::held::{PLANS_MAX, Prepared};
use crate::sql::session::Session;
use rukh_catalog::Catalog;
use rukh_error::SqlError;

impl Session {
    /// Makes the session a role's; it is an administrator's before.
    pub fn set_user(&mut self, name: &str) {
        *self.who.write() = Some(name.to_string());
    }

    /// Returns the role whose rights the session has; `None` for an administrator's of the library.
    pub fn user(&self) -> Option<String> {
        let set = self.settings.role.as_deref().map(str::to_string);
        set.or_else(|| self.session_user())
    }

    /// Returns the role that the session counts as; `None` for an administrator's of the library.
    fn session_user(&self) -> Option<String> {
        let counted = &self.settings.session_authorization;
        match **counted == *self.client.user() {
            true => self.who.read().clone(),
            false => Some(counted.to_string()),
        }
    }

    /// Whether a name is that of the session's user, an administrator without a role of its own. What no role owns belongs to
    /// administrators.
    pub(crate) fn is_administrator(&self, name: &str) -> bool {
        self.user().is_none()
            && name == self.client.user()
            && self.engine().catalog().role_named(name).is_none()
    }

    /// Fails if the session may not count as a role: 22023 if there is none of the name, 42501 if another than a superuser has begun the
    /// session, and as another role.
    pub(crate) fn check_authorization(&self, name: &str) -> Result<(), SqlError> {
        if name == self.client.user() {
            return Ok(());
        }
        let catalog = self.engine().newest_catalog();
        role_exists(&catalog, name)?;
        let is_superuser = match self.who.read().as_deref() {
            None => true,
            Some(own) => Checker::of(&catalog, own)?.role().superuser,
        };
        match is_superuser {
            true => Ok(()),
            false => Err(denied(
                "permission denied to set session authorization".to_string(),
            )),
        }
    }

    /// Fails if the session may not take the rights of a role: 22023 if there is none of the name, 42501 if the session's own role is
    /// another, and no superuser.
    pub(crate) fn check_role(&self, name: &str) -> Result<(), SqlError> {
        let catalog = self.engine().newest_catalog();
        role_exists(&catalog, name)?;
        let own = self.session_user();
        let may = match own.as_deref() {
            None => true,
            Some(own) => {
                let member = Checker::of(&catalog, own)?.role().clone();
                let of = catalog.role_named(name).map(|role| role.id);
                member.superuser || of.is_some_and(|of| catalog.is_member(member.id, of))
            }
        };
        match may {
            true => Ok(()),
            false => Err(denied(format!("permission denied to set role \"{name}\""))),
        }
    }

    /// Fails with 42501 if the session's role may not run a statement.
    pub(crate) fn check_rights(&mut self, prepared: &Prepared) -> Result<(), SqlError> {
        let Some(user) = &self.user() else {
            return Ok(());
        };
        if self.permitted_for != *user {
            self.permitted.clear();
            self.permitted_for.clone_from(user);
        }
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

fn role_exists(catalog: &Catalog, name: &str) -> Result<(), SqlError> {
    match catalog.role_named(name) {
        Some(_) => Ok(()),
        None => Err(SqlError::statement(
            "22023",
            format!("role \"{name}\" does not exist"),
        )),
    }
}
