//! The user and settings of a session, as its functions see them.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::exec::session_settings::cursors::Cursors;
use crate::exec::session_settings::settings::{SharedSettings, USER};
use rukh_error::SqlError;

/// A setting that a statement asks for: name, value, and whether for the transaction only.
type SettingChange = (String, String, bool);

/// The user of a session and its connection.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    user: Arc<str>,
    pid: i32,
    /// What `set_config` was called with: set before the next statement.
    changes: Arc<Mutex<Vec<SettingChange>>>,
    /// The cursors of the session.
    pub(crate) cursors: Cursors,
}

/// The user of a statement, and the settings that it began with.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    /// The role whose rights the statement has.
    pub(crate) user: Arc<str>,
    /// The role that the session counts as.
    pub(crate) session_user: Arc<str>,
    /// The number of the connection.
    pub(crate) pid: i32,
    /// The settings.
    pub(crate) settings: SharedSettings,
    changes: Arc<Mutex<Vec<SettingChange>>>,
    /// The cursors of the session.
    pub(crate) cursors: Cursors,
}

impl Default for Identity {
    fn default() -> Self {
        Identity::new(USER, i32::try_from(std::process::id()).unwrap_or(0))
    }
}

impl Identity {
    /// Makes the identity of a connection.
    pub(crate) fn new(user: &str, pid: i32) -> Self {
        Identity {
            user: user.into(),
            pid,
            changes: Arc::default(),
            cursors: Cursors::default(),
        }
    }

    /// Returns the name of the user.
    pub(crate) fn user(&self) -> &str {
        &self.user
    }

    /// Returns the user of a statement that begins with these settings.
    pub(crate) fn with(&self, settings: &SharedSettings) -> Client {
        Client {
            user: settings.acting_role().clone(),
            session_user: settings.session_authorization.clone(),
            pid: self.pid,
            settings: settings.clone(),
            changes: self.changes.clone(),
            cursors: self.cursors.clone(),
        }
    }

    /// Returns the changes of settings that the last statement made, once.
    pub(crate) fn take_changes(&self) -> Vec<SettingChange> {
        std::mem::take(&mut self.changes.lock())
    }
}

impl Client {
    /// Asks for a setting from the next statement on; returns its value as it will be shown.
    pub(crate) fn set(&self, name: &str, value: &str, local: bool) -> Result<String, SqlError> {
        let mut wanted = (*self.settings).clone();
        wanted.set(name, value)?;
        self.changes
            .lock()
            .push((name.to_string(), value.to_string(), local));
        wanted.value(name)
    }
}
