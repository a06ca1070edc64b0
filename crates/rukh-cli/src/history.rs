//! Where the lines typed in the REPL are remembered.

use std::path::PathBuf;

use reedline::FileBackedHistory;

/// Entries kept.
const ENTRIES_MAX: usize = 10_000;

/// Opens the history file; without a place for one, lines are remembered until the end of the session.
pub fn open() -> FileBackedHistory {
    let kept = path().and_then(|path| FileBackedHistory::with_file(ENTRIES_MAX, path).ok());
    kept.unwrap_or_default()
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
