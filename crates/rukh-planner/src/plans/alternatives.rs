//! The access paths that a query could have taken, why it did not, and the index it would have liked.
//!
//! For EXPLAIN (ALTERNATIVES) only: every source is planned to its end, and indexes that do not exist
//! are planned as if they did.
//!
//! An index is suggested where it would cost a third at most and pass a tenth of the keys at most. Its
//! elements are the columns that conditions fix to one value, the rarest value first, then those
//! fixed to a list of values, then the one narrowed the most by a range; or, for a LIMIT, the first of
//! these and the wanted order. Elements that gain little are left out from the end.

use std::fmt;

use rukh_catalog::{IndexDraft, IndexId, IndexState, KeyElement, KeyExpr, Table, validate_index};
use rukh_keys::SortOrder;

use crate::bounds::spans::is_single_value;
use crate::conditions::domain::points;
use crate::conditions::term::TermTypes;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Query, Source};
use crate::inputs::target::Target;
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::cost::CostPart;
use crate::plans::intersect::intersected;
use crate::plans::paths::path_on;
use crate::plans::plan::{Allowed, is_unbeatable, lacking, not_ready};
use crate::plans::planner::Planner;

/// Most elements of an index that is suggested.
const ELEMENTS_MAX: usize = 4;

/// Fewest keys for which an index is suggested.
const KEYS_SAVED_MIN: f64 = 1_000.0;

/// How many times the keys, and the cost, a suggested index saves at least.
const KEYS_FACTOR: f64 = 10.0;
const COST_FACTOR: f64 = 3.0;

/// How much dearer an index may be for having one element less.
const SHORTER_FACTOR: f64 = 1.2;

/// What else there was for a query.
#[derive(Clone, Debug)]
pub struct Alternatives {
    /// The other paths, the cheapest first, of equals in order of source.
    pub paths: Vec<Alternative>,
    /// Indexes that cannot serve the query, in order of source, and why.
    pub unusable: Vec<(Source, String)>,
    /// An index that would help.
    pub suggestion: Option<Suggestion>,
}

/// A path that was not taken.
#[derive(Clone, Debug)]
pub struct Alternative {
    /// The path.
    pub path: AccessPath,
    /// Why it lost: `passes 999700 keys more`.
    pub why: String,
}

/// An index that would help.
#[derive(Clone, Debug, PartialEq)]
pub struct Suggestion {
    /// The statement that makes it.
    pub sql: String,
    /// Keys it would read, estimated.
    pub keys: f64,
    /// Keys that the chosen path reads, estimated.
    pub instead: f64,
}

/// Prints as `CREATE INDEX ON t (a) -- would read 40 keys instead of 20000`.
impl fmt::Display for Suggestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Suggestion { sql, keys, instead } = self;
        write!(f, "{sql} -- would read {keys:.0} keys instead of {instead:.0}")
    }
}

/// Writes a name as SQL reads it, in quotes where it must be.
pub type QuoteName = fn(&str) -> String;

/// Finds an index that does not exist and would help a query much, for which `chosen` is the path.
pub fn missing_index(query: &Query<'_>, chosen: &AccessPath, quote: QuoteName) -> Option<Suggestion> {
    suggestion(query, &Knowledge::of(query), chosen, quote)
}

/// Finds the paths that a query did not take for `chosen`, and an index that would help.
pub fn alternatives(query: &Query<'_>, chosen: &AccessPath, quote: QuoteName) -> Alternatives {
    let knowledge = Knowledge::of(query);
    let allowed = Allowed::from_hints(query, &mut Vec::new());
    let mut paths = Vec::new();
    let mut unusable: Vec<(Source, String)> = Vec::new();
    let planner = Planner::new(query);
    for target in planner.targets() {
        match path_on(query, &knowledge, target) {
            _ if target.source() == chosen.source && chosen.within.is_none() => {}
            Some(path) => paths.push(Alternative {
                why: why(query, &allowed, chosen, &path),
                path,
            }),
            None => unusable.push((target.source(), lacking(target.index(query)).to_string())),
        }
    }
    if chosen.within.is_none()
        && let Some(path) = intersected(query, &knowledge, planner.targets(), chosen, f64::INFINITY)
    {
        paths.push(Alternative {
            why: why(query, &allowed, chosen, &path),
            path,
        });
    }
    let others = query.table.indexes.iter();
    let others = others.filter_map(|index| Some((index, not_ready(index.state)?)));
    unusable.extend(others.map(|(index, why)| (Source::Index(index.id), why.to_string())));
    unusable.sort();
    paths.sort_by(|a, b| {
        let by_cost = a.path.estimate.cost.total_cmp(&b.path.estimate.cost);
        by_cost.then(a.path.source.cmp(&b.path.source))
    });
    Alternatives {
        paths,
        unusable,
        suggestion: suggestion(query, &knowledge, chosen, quote),
    }
}

/// Why a path was not taken.
fn why(query: &Query<'_>, allowed: &Allowed, chosen: &AccessPath, path: &AccessPath) -> String {
    if let Some(hint) = allowed.refusal(query, path.source) {
        return hint;
    }
    if is_unbeatable(chosen) {
        return match chosen.kind {
            ScanKind::Empty => "no row can pass the conditions".to_string(),
            _ => "the conditions name one key of the table".to_string(),
        };
    }
    if path.within.is_some() && path.estimate.cost <= chosen.estimate.cost {
        return "saves too little".to_string();
    }
    if path.estimate.cost <= chosen.estimate.cost {
        return match path.estimate.cost < chosen.estimate.cost {
            true => "reads in another way than a hint asks for".to_string(),
            false => "costs no less".to_string(),
        };
    }
    let more = |of: fn(&AccessPath) -> f64| format!("{:.0}", (of(path) - of(chosen)).ceil());
    let needs_sort = chosen.ordered && !path.ordered;
    match path.estimate.dearest_part(&chosen.estimate) {
        CostPart::Seeks => format!("seeks {} times more", more(|path| path.estimate.seeks)),
        CostPart::Lookups => format!("looks up {} rows more", more(|path| path.estimate.lookups)),
        CostPart::Rows if needs_sort => "needs a sort".to_string(),
        CostPart::Keys | CostPart::Rows if path.estimate.keys > chosen.estimate.keys => {
            format!("passes {} keys more", more(|path| path.estimate.keys))
        }
        CostPart::Keys | CostPart::Rows => "checks more rows".to_string(),
    }
}

/// The index that would help most, if one would help much.
fn suggestion(
    query: &Query<'_>,
    knowledge: &Knowledge,
    chosen: &AccessPath,
    quote: QuoteName,
) -> Option<Suggestion> {
    let is_scan = !matches!(chosen.kind, ScanKind::Empty | ScanKind::PointLookup);
    if !is_scan || !query.hints.is_empty() || chosen.estimate.keys < KEYS_SAVED_MIN {
        return None;
    }
    let mut best: Option<(Vec<KeyElement>, AccessPath)> = None;
    for elements in candidates(query, knowledge) {
        // The shorter of two indexes of nearly one cost is the better one.
        for length in (1..=elements.len()).rev() {
            let Some(path) = imagined(query, knowledge, &elements[..length]) else {
                continue;
            };
            let is_shorter = best.as_ref().is_some_and(|(known, _)| known.len() > length);
            let factor = if is_shorter { SHORTER_FACTOR } else { 1.0 };
            let is_better = |(_, known): &(_, AccessPath)| path.estimate.cost < known.estimate.cost * factor;
            if best.as_ref().is_none_or(is_better) {
                best = Some((elements[..length].to_vec(), path));
            }
        }
    }
    let (elements, path) = best?;
    let (found, now) = (&path.estimate, &chosen.estimate);
    let helps = found.cost * COST_FACTOR <= now.cost
        && found.keys * KEYS_FACTOR <= now.keys
        && now.keys - found.keys >= KEYS_SAVED_MIN;
    helps.then(|| Suggestion {
        sql: create_index(query.table, &elements, quote),
        keys: found.keys.ceil(),
        instead: now.keys.ceil(),
    })
}

/// The elements of indexes that might help.
fn candidates(query: &Query<'_>, knowledge: &Knowledge) -> Vec<Vec<KeyElement>> {
    let Some(known) = &knowledge.known else {
        return Vec::new();
    };
    let (mut single, mut listed, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
    for (term, set) in known.sets() {
        let (Some(column), Some(ty)) = (term.as_column(), query.term_type(*term)) else {
            continue;
        };
        let share = query.statistics.share(*term, ty.ty, set);
        if is_single_value(set, ty.ty) {
            single.push((share, column));
        } else if points(ty.ty, set).is_some() {
            listed.push((share, column));
        } else if !set.has_all_values() {
            ranges.push((share, column));
        }
    }
    for list in [&mut single, &mut listed, &mut ranges] {
        list.sort_by(|(a, x), (b, y)| a.total_cmp(b).then(x.cmp(y)));
    }
    ranges.truncate(1);
    let ascending = |(_, column): &(f64, _)| KeyElement {
        expr: KeyExpr::Column(*column),
        order: SortOrder::Asc,
    };
    let fixed: Vec<KeyElement> = single.iter().map(ascending).collect();
    let narrowed = listed.iter().chain(&ranges).map(ascending);
    let mut candidates = vec![fixed.iter().cloned().chain(narrowed).collect::<Vec<_>>()];
    if query.limit.is_some() {
        let order = query.order.iter().map_while(|key| {
            let order = if key.descending {
                SortOrder::Desc
            } else {
                SortOrder::Asc
            };
            let expr = KeyExpr::Column(key.term.as_column()?);
            Some(KeyElement { expr, order })
        });
        let is_new = |key: &KeyElement| fixed.iter().all(|one| one.expr != key.expr);
        let ordered: Vec<KeyElement> = order.filter(is_new).collect();
        if !ordered.is_empty() {
            candidates.push(fixed.iter().cloned().chain(ordered).collect());
        }
    }
    for candidate in &mut candidates {
        candidate.truncate(ELEMENTS_MAX);
    }
    candidates.retain(|candidate| !candidate.is_empty());
    candidates
}

/// The path by an index that does not exist.
fn imagined(query: &Query<'_>, knowledge: &Knowledge, elements: &[KeyElement]) -> Option<AccessPath> {
    let highest = query.table.indexes.iter().map(|index| index.id.0).max();
    let id = IndexId(highest.unwrap_or(query.table.id.0).checked_add(1)?);
    let draft = IndexDraft {
        name: "imagined".to_string(),
        unique: false,
        nulls_distinct: true,
        constraint: false,
        elements: elements.to_vec(),
        include: Vec::new(),
        predicate: None,
        layout: Default::default(),
    };
    let mut index = validate_index(draft, query.table, id).ok()?;
    index.state = IndexState::Ready;
    let mut table = Table::clone(query.table);
    table.indexes.push(index);
    let query = Query {
        table: &table,
        ..*query
    };
    path_on(&query, knowledge, &Target::new(&query, Source::Index(id))?)
}

fn create_index(table: &Table, elements: &[KeyElement], quote: QuoteName) -> String {
    let element = |element: &KeyElement| {
        let name = match &element.expr {
            KeyExpr::Column(column) => quote(table.column_name(*column)),
            other => other.sql(table),
        };
        match element.order {
            SortOrder::Asc => name,
            SortOrder::Desc => format!("{name} DESC"),
        }
    };
    let elements: Vec<String> = elements.iter().map(element).collect();
    let schema = match table.schema.as_str() {
        "public" => String::new(),
        schema => quote(schema) + ".",
    };
    format!(
        "CREATE INDEX ON {schema}{} ({})",
        quote(&table.name),
        elements.join(", ")
    )
}
