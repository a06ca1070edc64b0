//! The statements that are counted, by text and role.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::text::shared;
use crate::exec::context::RunPath;
use rukh_syntax::has_password;

/// Most statements that a database keeps, as PostgreSQL's `pg_stat_statements.max`.
const ENTRIES_MAX: usize = 5_000;
/// Most texts whose statement a session remembers.
const KNOWN_MAX: usize = 256;
/// Longest text that a session remembers, in bytes.
const KNOWN_BYTES_MAX: usize = 4096;

/// One statement and what it has cost.
pub(crate) struct Entry {
    pub(crate) id: i64,
    /// The role that runs it; none for an administrator's without a role.
    pub(crate) user: Option<String>,
    pub(crate) text: String,
    calls: AtomicU64,
    total_ns: AtomicU64,
    min_ns: AtomicU64,
    max_ns: AtomicU64,
    rows: AtomicU64,
    keys: AtomicU64,
    direct: AtomicU64,
    general: AtomicU64,
}

/// What a statement has cost so far.
pub(crate) struct Cost {
    pub(crate) calls: u64,
    pub(crate) total_ms: f64,
    pub(crate) min_ms: f64,
    pub(crate) max_ms: f64,
    pub(crate) rows: u64,
    pub(crate) keys: u64,
    /// How it has run: `direct`, `general`, both, or without a query.
    pub(crate) plan: Option<&'static str>,
}

impl Entry {
    fn new(user: Option<String>, text: String) -> Self {
        let mut hasher = DefaultHasher::new();
        (&user, &text).hash(&mut hasher);
        Entry {
            id: hasher.finish().cast_signed(),
            user,
            text,
            calls: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            min_ns: AtomicU64::new(u64::MAX),
            max_ns: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            keys: AtomicU64::new(0),
            direct: AtomicU64::new(0),
            general: AtomicU64::new(0),
        }
    }

    /// Adds a call.
    pub(super) fn add(&self, elapsed: Duration, rows: u64, keys: u64, path: Option<RunPath>) {
        let ns = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.total_ns.fetch_add(ns, Ordering::Relaxed);
        self.min_ns.fetch_min(ns, Ordering::Relaxed);
        self.max_ns.fetch_max(ns, Ordering::Relaxed);
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.keys.fetch_add(keys, Ordering::Relaxed);
        match path {
            Some(RunPath::Direct) => self.direct.fetch_add(1, Ordering::Relaxed),
            Some(RunPath::General) => self.general.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
    }

    /// Returns what it has cost so far.
    pub(crate) fn cost(&self) -> Cost {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let ms = |counter: &AtomicU64| number(counter) as f64 / 1e6;
        let calls = number(&self.calls);
        Cost {
            calls,
            total_ms: ms(&self.total_ns),
            min_ms: if calls == 0 { 0.0 } else { ms(&self.min_ns) },
            max_ms: ms(&self.max_ns),
            rows: number(&self.rows),
            keys: number(&self.keys),
            plan: match (number(&self.direct), number(&self.general)) {
                (0, 0) => None,
                (_, 0) => Some("direct"),
                (0, _) => Some("general"),
                _ => Some("direct, general"),
            },
        }
    }
}

/// The statements of a database.
#[derive(Default)]
pub(crate) struct Entries {
    on: AtomicBool,
    /// Changes when entries are forgotten that sessions may remember.
    version: AtomicU64,
    by_text: Mutex<HashMap<(Option<String>, String), Arc<Entry>>>,
}

/// The statements that a session has run, by their whole texts.
#[derive(Default)]
pub(crate) struct Known {
    version: u64,
    user: Option<String>,
    by_text: HashMap<String, Arc<Entry>>,
}

impl Entries {
    /// Begins to count.
    pub(crate) fn start(&self) {
        self.on.store(true, Ordering::Relaxed);
    }

    /// Returns whether statements are counted.
    pub(crate) fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    /// Returns the entry of a statement that a user runs; `None` for texts that may have a password.
    pub(crate) fn of(&self, sql: &str, user: Option<&str>, known: &mut Known) -> Option<Arc<Entry>> {
        let version = self.version.load(Ordering::Relaxed);
        if known.version != version || known.user.as_deref() != user || known.by_text.len() >= KNOWN_MAX {
            known.by_text.clear();
            known.version = version;
            known.user = user.map(str::to_string);
        }
        if let Some(entry) = known.by_text.get(sql) {
            return Some(entry.clone());
        }
        if has_password(sql) {
            return None;
        }
        let entry = self.find(shared(sql), user);
        if sql.len() <= KNOWN_BYTES_MAX {
            known.by_text.insert(sql.to_string(), entry.clone());
        }
        Some(entry)
    }

    fn find(&self, text: String, user: Option<&str>) -> Arc<Entry> {
        let mut entries = self.by_text.lock();
        let key = (user.map(str::to_string), text);
        if let Some(entry) = entries.get(&key) {
            return entry.clone();
        }
        if entries.len() >= ENTRIES_MAX {
            self.version.fetch_add(1, Ordering::Relaxed);
            forget_least(&mut entries);
        }
        let entry = Arc::new(Entry::new(key.0.clone(), key.1.clone()));
        entries.insert(key, entry.clone());
        entry
    }

    /// Forgets all.
    pub(crate) fn reset(&self) {
        let mut entries = self.by_text.lock();
        self.version.fetch_add(1, Ordering::Relaxed);
        entries.clear();
    }

    /// Returns all.
    pub(crate) fn all(&self) -> Vec<Arc<Entry>> {
        self.by_text.lock().values().cloned().collect()
    }
}

/// Forgets the twentieth part that was called least.
fn forget_least(entries: &mut HashMap<(Option<String>, String), Arc<Entry>>) {
    let calls = |entry: &Arc<Entry>| entry.calls.load(Ordering::Relaxed);
    let mut all: Vec<(u64, i64)> = entries.values().map(|entry| (calls(entry), entry.id)).collect();
    let at = (all.len() / 20).min(all.len().saturating_sub(1));
    let (_, limit, _) = all.select_nth_unstable(at);
    let limit = *limit;
    entries.retain(|_, entry| (calls(entry), entry.id) > limit);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_bounded() {
        let (entries, mut known) = (Entries::default(), Known::default());
        let often = entries.of("SELECT a", None, &mut known).expect("it is counted");
        (0..3).for_each(|_| often.add(Duration::from_millis(2), 5, 7, Some(RunPath::Direct)));
        for n in 0..2 * ENTRIES_MAX {
            let entry = entries.of(&format!("SELECT c{n}"), None, &mut known);
            entry.expect("it is counted").add(Duration::ZERO, 0, 0, None);
        }
        assert!(entries.all().len() <= ENTRIES_MAX);
        let again = entries.of("select a", None, &mut known).expect("it is counted");
        assert_eq!(again.cost().calls, 0);
        let again = entries
            .of("SELECT  a ;", None, &mut known)
            .expect("it is counted");
        let cost = again.cost();
        assert_eq!((cost.calls, cost.rows, cost.keys), (3, 15, 21));
        assert_eq!((cost.min_ms, cost.max_ms, cost.total_ms), (2.0, 2.0, 6.0));
        assert!(
            entries
                .of("ALTER USER u PASSWORD 'x'", None, &mut known)
                .is_none()
        );
    }

    #[test]
    fn roles_have_their_own() {
        let (entries, mut known) = (Entries::default(), Known::default());
        let mine = entries
            .of("SELECT 1", Some("u"), &mut known)
            .expect("it is counted");
        let theirs = entries.of("SELECT 2", None, &mut known).expect("it is counted");
        assert!(mine.text == theirs.text && mine.id != theirs.id);
        entries.reset();
        assert!(entries.all().is_empty());
        entries.of("SELECT 2", None, &mut known).expect("it is counted");
        assert_eq!(entries.all().len(), 1);
    }
}
