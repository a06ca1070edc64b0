//! Where the lines typed in the REPL are remembered, but for those with passwords.

use std::path::PathBuf;

use reedline::{
    FileBackedHistory, History, HistoryItem, HistoryItemId, HistorySessionId, Result, SearchQuery,
};

/// Entries kept.
const ENTRIES_MAX: usize = 10_000;

/// Opens the history file; without a place for one, lines are remembered until the end of the session.
pub fn open() -> impl History {
    let kept = path().and_then(|path| FileBackedHistory::with_file(ENTRIES_MAX, path).ok());
    Discreet(kept.unwrap_or_default())
}

/// Returns `$XDG_STATE_HOME/rukh/history`, or the same below `~/.local/state`.
fn path() -> Option<PathBuf> {
    let absolute = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local").join("state")))?;
    Some(state.join("rukh").join("history"))
}

/// Keeps no line that may have a password.
struct Discreet(FileBackedHistory);

fn may_have_password(line: &str) -> bool {
    line.to_ascii_lowercase().contains("password")
}

impl History for Discreet {
    fn save(&mut self, item: HistoryItem) -> Result<HistoryItem> {
        match may_have_password(&item.command_line) {
            true => Ok(item),
            false => self.0.save(item),
        }
    }

    fn load(&self, id: HistoryItemId) -> Result<HistoryItem> {
        self.0.load(id)
    }

    fn count(&self, query: SearchQuery) -> Result<i64> {
        self.0.count(query)
    }

    fn search(&self, query: SearchQuery) -> Result<Vec<HistoryItem>> {
        self.0.search(query)
    }

    fn update(&mut self, id: HistoryItemId, updater: &dyn Fn(HistoryItem) -> HistoryItem) -> Result<()> {
        self.0.update(id, updater)
    }

    fn clear(&mut self) -> Result<()> {
        self.0.clear()
    }

    fn delete(&mut self, id: HistoryItemId) -> Result<()> {
        self.0.delete(id)
    }

    fn sync(&mut self) -> std::io::Result<()> {
        self.0.sync()
    }

    fn session(&self) -> Option<HistorySessionId> {
        self.0.session()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_forgotten() {
        let mut history = Discreet(FileBackedHistory::default());
        for line in ["SELECT 1", "CREATE USER u PassWord 'x'"] {
            let saved = history.save(HistoryItem::from_command_line(line));
            assert!(saved.is_ok());
        }
        assert_eq!(history.count_all().ok(), Some(1));
    }
}
