//! Users, for servers that authenticate clients.

use rukh_sql::Backends;
use rukh_sql::scram::Verifier;

use crate::{Connection, Database};

/// A role as logging in needs it.
#[derive(Clone, Debug)]
pub struct User {
    /// Name.
    pub name: String,
    /// Whether it may do everything.
    pub superuser: bool,
    /// Whether clients may connect as it.
    pub login: bool,
    /// What its password is checked by, if it has one.
    pub verifier: Option<Verifier>,
    /// Until when the password holds, microseconds since 1970-01-01; for ever if it is not said.
    pub valid_until: Option<i64>,
}

impl Database {
    /// Returns the role of a name.
    pub fn user(&self, name: &str) -> Option<User> {
        let catalog = self.shared.engine().catalog();
        let role = catalog.role_named(name)?;
        Some(User {
            name: role.name.clone(),
            superuser: role.superuser,
            login: role.login,
            verifier: role.verifier.as_deref().and_then(Verifier::parse),
            valid_until: role.valid_until,
        })
    }

    /// Returns whether there are roles: then every client has to log in as one.
    pub fn has_users(&self) -> bool {
        self.shared.engine().catalog().roles().next().is_some()
    }

    /// Returns whether any role can log in with a password.
    pub fn can_log_in(&self) -> bool {
        let catalog = self.shared.engine().catalog();
        catalog.roles().any(|role| role.login && role.verifier.is_some())
    }
}

impl Database {
    /// Counts from now on what statements cost, as `pg_stat_statements` shows it.
    pub fn count_statements(&self) {
        self.shared.count_statements();
    }

    /// Adds the sessions of another server: then `pg_stat_activity` shows them, too, which
    /// `pg_cancel_backend` and `pg_terminate_backend` reach.
    pub fn add_backends(&self, backends: std::sync::Arc<dyn Backends>) {
        self.shared.add_backends(backends);
    }
}

impl Connection {
    /// Makes the connection a role's, which may do what GRANT says; it is an administrator's before.
    pub fn set_user(&mut self, name: &str) {
        self.session.set_user(name);
    }
}
