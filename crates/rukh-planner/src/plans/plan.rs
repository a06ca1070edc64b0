//! The choice among access paths.

use rukh_catalog::{Index, IndexState};

use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Hint, Query, Source};
use crate::inputs::target::Target;
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::intersect::better_intersected;
use crate::plans::paths::path_on;
use crate::plans::planner::Planner;

/// The path chosen, and what else there was.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The cheapest path, or the one that hints ask for.
    pub path: AccessPath,
    /// The other paths that could be used, in order of source.
    pub alternatives: Vec<AccessPath>,
    /// Hints that do not apply, for the user.
    pub notices: Vec<String>,
}

/// Plans a query: the cheapest of the paths from the table and its indexes.
///
/// Deterministic: of equal costs the table comes first, then the index created first. An index is
/// taken only where it costs less than the table, and never where the table reads one key or
/// none: nothing is to be gained there.
pub fn plan(query: &Query<'_>) -> Plan {
    Planner::new(query).plan(query)
}

/// Plans a query with sources made ready before, the table first.
pub(crate) fn plan_with(query: &Query<'_>, targets: &[Target]) -> Plan {
    let mut notices = Vec::new();
    let allowed = Allowed::from_hints(query, &mut notices);
    let knowledge = Knowledge::of(query);
    let table = path_on(query, &knowledge, &targets[0]).expect("a table can always be read");
    let is_allowed = |target: &&Target| target.index(query).is_some_and(|index| allowed.index(index));
    let indexes = targets.iter().filter(is_allowed);
    let paths = indexes.filter_map(|target| path_on(query, &knowledge, target));
    let mut paths: Vec<AccessPath> = paths.collect();
    if allowed.table || paths.is_empty() {
        paths.insert(0, table);
    }
    if let (Allowed { table: false, .. }, Some(Source::Table)) = (&allowed, paths.first().map(|p| p.source)) {
        notices.extend(allowed.unusable(query));
    }
    if query.hints.contains(&Hint::SkipScan) && paths.iter().any(has_gaps) {
        paths.retain(has_gaps);
    }
    let mut best = 0;
    for at in 1..paths.len() {
        if !is_unbeatable(&paths[best]) && paths[at].estimate.cost < paths[best].estimate.cost {
            best = at;
        }
    }
    let mut path = paths.remove(best);
    if let Some(both) = better_intersected(query, &knowledge, targets, &path) {
        paths.insert(best, std::mem::replace(&mut path, both));
    }
    notices.extend(shape_notices(query, &path));
    Plan {
        path,
        alternatives: paths,
        notices,
    }
}

/// Whether a path reads one key of the table, or nothing of it.
pub(crate) fn is_unbeatable(path: &AccessPath) -> bool {
    let is_single = path.kind == ScanKind::PointLookup && path.ranges.len() <= 1;
    path.source == Source::Table && (is_single || path.kind == ScanKind::Empty)
}

/// Whether a path reads several ranges or groups, or so few keys that there is nothing to skip.
fn has_gaps(path: &AccessPath) -> bool {
    path.spans.len() > 1 || path.loose.is_some() || is_unbeatable(path)
}

/// The sources that hints leave.
pub(crate) struct Allowed {
    table: bool,
    /// The indexes named, if any is; they exist and are ready.
    named: Vec<String>,
    indexes: bool,
}

impl Allowed {
    pub(crate) fn from_hints(query: &Query<'_>, notices: &mut Vec<String>) -> Allowed {
        let mut named = Vec::new();
        let no_index = query.hints.contains(&Hint::NoIndex);
        let full_scan = query.hints.contains(&Hint::FullScan);
        for hint in query.hints {
            let Hint::Index(name) = hint else { continue };
            match refusal(query, name) {
                Some(reason) => notices.push(reason),
                None if no_index || full_scan => {
                    let other = if full_scan { "FULL_SCAN" } else { "NO_INDEX" };
                    notices.push(format!("hint INDEX({name}) is ignored because of {other}"));
                }
                None => named.push(name.clone()),
            }
        }
        Allowed {
            table: named.is_empty(),
            named,
            indexes: !no_index && !full_scan,
        }
    }

    fn index(&self, index: &Index) -> bool {
        self.indexes && (self.named.is_empty() || self.named.contains(&index.name))
    }

    /// Why hints leave a source out, if they do.
    pub(crate) fn refusal(&self, query: &Query<'_>, source: Source) -> Option<String> {
        let Source::Index(id) = source else {
            let names = self.named.join(", ");
            return (!self.table).then(|| format!("hint INDEX({names}) asks for another"));
        };
        let index = query.table.index(id)?;
        match self.index(index) {
            true => None,
            false if self.indexes => Some(format!("hint INDEX({}) asks for another", self.named.join(", "))),
            false if query.hints.contains(&Hint::FullScan) => Some("hint FULL_SCAN".to_string()),
            false => Some("hint NO_INDEX".to_string()),
        }
    }

    fn unusable(&self, query: &Query<'_>) -> Vec<String> {
        let notice = |name: &String| {
            let index = query.table.index_named(name);
            format!("index \"{name}\" {}", lacking(index))
        };
        self.named.iter().map(notice).collect()
    }
}

/// What an index lacks that is ready and that no path reads.
pub(crate) fn lacking(index: Option<&Index>) -> &'static str {
    match index.is_some_and(Index::is_columnar) {
        true => "does not have all columns that this query reads",
        false => "does not hold all rows that this query asks for",
    }
}

/// Why an index cannot be used, whatever the conditions.
fn refusal(query: &Query<'_>, name: &str) -> Option<String> {
    match query.table.index_named(name) {
        None => Some(format!(
            "index \"{name}\" does not exist on table \"{}\"",
            query.table.name
        )),
        Some(index) => not_ready(index.state).map(|why| format!("index \"{name}\" {why}")),
    }
}

/// Why an index in this state is not read, if it is not.
pub(crate) fn not_ready(state: IndexState) -> Option<&'static str> {
    match state {
        IndexState::Ready => None,
        IndexState::Building => Some("is still being built"),
        IndexState::Disabled => Some("is disabled"),
        IndexState::Broken => Some("is broken, and not read until it is rebuilt"),
    }
}

/// Notices about SKIP_SCAN and RANGE_SCAN where they change nothing.
fn shape_notices(query: &Query<'_>, path: &AccessPath) -> Vec<String> {
    let has = |hint| query.hints.contains(&hint);
    let ignored = |hint: &Hint| match hint {
        Hint::SkipScan if has(Hint::FullScan) => Some("hint SKIP_SCAN is ignored because of FULL_SCAN"),
        Hint::RangeScan if has(Hint::FullScan) => Some("hint RANGE_SCAN is ignored because of FULL_SCAN"),
        Hint::SkipScan if has(Hint::RangeScan) => Some("hint SKIP_SCAN is ignored because of RANGE_SCAN"),
        Hint::SkipScan if path.kind == ScanKind::Empty => {
            Some("hint SKIP_SCAN does not apply: no row can pass the conditions")
        }
        Hint::SkipScan if path.spans.len() == 1 && path.loose.is_none() => {
            Some("hint SKIP_SCAN does not apply: the conditions give one range")
        }
        Hint::RangeScan if path.kind == ScanKind::Empty => {
            Some("hint RANGE_SCAN does not apply: no row can pass the conditions")
        }
        Hint::RangeScan if path.kind == ScanKind::FullScan => {
            Some("hint RANGE_SCAN does not apply: the conditions bound no leading column of a key")
        }
        _ => None,
    };
    let mut notices: Vec<String> = Vec::new();
    for notice in query.hints.iter().filter_map(ignored) {
        if !notices.iter().any(|known| known == notice) {
            notices.push(notice.to_string());
        }
    }
    notices
}
