//! The cursors of a session, as its statements see them (`pg_cursors`).

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// What is shown of a cursor.
#[derive(Clone, Debug)]
pub(crate) struct ShownCursor {
    /// The statement that declared it.
    pub(crate) statement: String,
    /// Whether it outlives its transaction.
    pub(crate) holds: bool,
    /// Whether it goes backward, too.
    pub(crate) scrolls: bool,
    /// When it was declared, in microseconds since 1970.
    pub(crate) declared: i64,
}

/// The cursors of a session, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cursors(Arc<Mutex<BTreeMap<String, ShownCursor>>>);

impl Cursors {
    /// Shows a cursor for as long as what is returned is kept.
    pub(crate) fn show(&self, name: &str, cursor: ShownCursor) -> Shown {
        self.0.lock().insert(name.to_string(), cursor);
        Shown {
            name: name.to_string(),
            cursors: self.clone(),
        }
    }

    /// Returns the names of the cursors with what is shown of them.
    pub(crate) fn all(&self) -> Vec<(String, ShownCursor)> {
        let all = self.0.lock();
        all.iter()
            .map(|(name, cursor)| (name.clone(), cursor.clone()))
            .collect()
    }
}

/// A cursor that is shown.
pub(crate) struct Shown {
    name: String,
    cursors: Cursors,
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.cursors.0.lock().remove(&self.name);
    }
}
