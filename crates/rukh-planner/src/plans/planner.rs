//! A table made ready for planning once, for statements that are planned again and again.
//!
//! [`plan`](crate::plan()) prepares every source again and reports all paths, as EXPLAIN wants
//! them. A [`Planner`] keeps what depends on definitions only, and [`Planner::choose`] looks for the
//! path to take and no further. Both give the same path.
//!
//! How a caller prepares and executes a statement:
//!
//! ```text
//! prepare:  query   = Query { expressions, ..Query::new(&table) }   // conjuncts do not matter yet
//!           planner = Planner::new(&query)                          // keep it beside the statement
//! execute:  bound   = conjuncts.iter().map(|one| bind(one, &parameters)).collect()
//!           query   = Query { conjuncts: &bound, needed, order, limit, hints, statistics,
//!                             expressions, index_predicates, opaque, ..Query::new(&table) }
//!           path    = planner.choose(&query).path
//! ```
//!
//! A planner borrows nothing, and is `Send + Sync`: one serves all statements and threads. It is good
//! for as long as the table's definition (indexes and their states too) and the list of expressions
//! are those it was made of; after DDL make a new one (an index made since is not used, one dropped
//! since is not read). All else in a query may differ each time.
//!
//! | query                                       | looked at                                    |
//! |---------------------------------------------|----------------------------------------------|
//! | one key of the table, or none               | the table                                    |
//! | anything else                               | sources with a condition on the first element, and columnar ones |
//! | the same, to be stopped by a limit          | all sources                                  |
//! | the same, one row of each group             | all sources                                  |
//! | the same, not cheaper than to read all keys | all sources                                  |
//! | anything with hints                         | all sources                                  |

use rukh_catalog::IndexState;
use rukh_keys::DataType;

use crate::conditions::boxes::TermBox;
use crate::inputs::knowledge::Knowledge;
use crate::inputs::query::{Query, Source};
use crate::inputs::target::Target;
use crate::plans::access::AccessPath;
use crate::plans::cost::least_cost_of_all;
use crate::plans::intersect::better_intersected;
use crate::plans::paths::path_on;
use crate::plans::plan::{Plan, is_unbeatable, plan_with};
use crate::plans::point::point_path;

/// All sources of a table, made ready.
///
/// Invariant: the table itself comes first, then the indexes that may be read, in order of id.
#[derive(Clone, Debug)]
pub struct Planner {
    targets: Vec<Target>,
}

impl Planner {
    /// Makes all sources of a query's table ready. Of the query, only `table` and `expressions`
    /// matter.
    pub fn new(query: &Query<'_>) -> Planner {
        let ready = query.table.indexes.iter();
        let ready = ready.filter(|index| index.state == IndexState::Ready);
        let mut sources: Vec<Source> = ready.map(|index| Source::Index(index.id)).collect();
        sources.push(Source::Table);
        sources.sort();
        let target = |source| Target::new(query, source);
        Planner {
            targets: sources.into_iter().filter_map(target).collect(),
        }
    }

    /// The sources, the table first.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// Plans a query as [`plan`](crate::plan()) does, alternatives included.
    pub fn plan(&self, query: &Query<'_>) -> Plan {
        plan_with(query, &self.targets)
    }

    /// Plans a query as [`plan`](crate::plan()) does, but leaves the alternatives out: the quick way
    /// to execute a statement.
    pub fn choose(&self, query: &Query<'_>) -> Plan {
        let chosen = |path| Plan {
            path,
            alternatives: Vec::new(),
            notices: Vec::new(),
        };
        if let Some(path) = point_path(query, &self.targets[0]) {
            return chosen(path);
        }
        if !query.hints.is_empty() {
            return Plan {
                alternatives: Vec::new(),
                ..self.plan(query)
            };
        }
        let knowledge = Knowledge::of(query);
        let path = self.cheapest(query, &knowledge);
        let both = better_intersected(query, &knowledge, &self.targets, &path);
        chosen(both.unwrap_or(path))
    }

    /// The cheapest path, of equals the first.
    fn cheapest(&self, query: &Query<'_>, knowledge: &Knowledge) -> AccessPath {
        let mut best = None;
        let (narrowed, whole): (Vec<&Target>, Vec<&Target>) = self.targets.iter().partition(|target| {
            target.columnar || is_partial(target, query) || !reads_all(target, knowledge)
        });
        for target in narrowed {
            best = better(best, path_on(query, knowledge, target));
            // The table is the first of them if it is among them.
            if best.as_ref().is_some_and(is_unbeatable) {
                break;
            }
        }
        let is_enough = |best: &AccessPath| {
            is_unbeatable(best)
                || (query.limit.is_none()
                    && query.groups.is_none()
                    && best.estimate.cost < least_cost_of_all(query))
        };
        if !best.as_ref().is_some_and(is_enough) {
            for target in whole {
                best = better(best, path_on(query, knowledge, target));
            }
        }
        best.expect("a table can always be read")
    }
}

/// The cheaper of two paths, of equals that of the first source.
fn better(best: Option<AccessPath>, path: Option<AccessPath>) -> Option<AccessPath> {
    let is_less = |best: &AccessPath, path: &AccessPath| {
        let by_cost = path.estimate.cost.total_cmp(&best.estimate.cost);
        by_cost.then(path.source.cmp(&best.source)).is_lt()
    };
    match (best, path) {
        (Some(best), Some(path)) if !is_less(&best, &path) => Some(best),
        (best, path) => path.or(best),
    }
}

/// Whether an index has entries of some rows only: it may read less than all keys are.
fn is_partial(target: &Target, query: &Query<'_>) -> bool {
    let predicates = query.index_predicates.iter();
    predicates
        .map(|(id, _)| Source::Index(*id))
        .any(|source| source == target.source)
}

/// Whether the spans of a key hold all keys for sure: nothing is known of its first element.
fn reads_all(target: &Target, knowledge: &Knowledge) -> bool {
    let Some(first) = target.search_slots().first() else {
        return false;
    };
    let Some(term) = first
        .term
        .filter(|_| !target.hashed && first.ty != DataType::Boolean)
    else {
        return false;
    };
    let is_free = |one: &TermBox| one.get(term).is_none();
    let lists = knowledge.conjuncts.iter().map(|conjunct| &conjunct.list);
    knowledge.known.as_ref().is_some_and(is_free) && lists.flatten().all(is_free)
}
