//! OR over columns of different keys: one path for some arms each, their rows put together.
//!
//! ```text
//! WHERE a = 1 OR b = 2          with indexes on a and on b
//!
//! reads    a = 1                                        by the index on a
//! and      b = 2 AND (a = 1) IS NOT TRUE                by the index on b
//! ```
//!
//! A row is given by the first path whose arms are true for it, so that none comes twice and none has to
//! be remembered: each path leaves out what the paths before it give. Arms that one table or index serves
//! best share a path. A union has no order.
//!
//! Deliberately not here: arms inside of arms, and OR with more than [`DISJUNCTS_MAX`] arms; one key, read
//! once, has to do for them.

use crate::conditions::predicate::{Operand, Predicate};
use crate::inputs::query::{Query, Source};
use crate::plans::access::{AccessPath, ScanKind};
use crate::plans::cost::Estimate;
use crate::plans::planner::Planner;

/// Most arms of an OR that are looked at.
const DISJUNCTS_MAX: usize = 32;

/// Cost below which nothing is worth a union, microseconds.
const COST_MIN: f64 = 50.0;

/// A union has to cost less than this share of the cheapest single path.
const COST_SHARE: f64 = 0.8;

/// Paths that together give the rows of a query, each row once.
#[derive(Clone, Debug)]
pub struct Union {
    /// Position of the conjunct whose arms the paths are for.
    pub conjunct: usize,
    /// Two paths or more, in the order in which they give rows.
    pub arms: Vec<UnionArm>,
    /// What reading all of them is likely to cost.
    pub estimate: Estimate,
}

/// One of the paths of a union.
#[derive(Clone, Debug)]
pub struct UnionArm {
    /// Which arms of the OR, by position in [`disjuncts`] of it.
    pub disjuncts: Vec<usize>,
    /// The conjuncts that rows of this path fulfil: those of the query, the OR cut down to these arms, and
    /// behind them, for all paths but the first, that no earlier arm is true.
    pub conjuncts: Vec<Predicate>,
    /// The path, planned for these conjuncts.
    pub path: AccessPath,
}

/// The arms of an OR, those of ORs inside of it too; of any other condition itself.
pub fn disjuncts(predicate: &Predicate) -> Vec<&Predicate> {
    let mut arms = Vec::new();
    let mut open = vec![predicate];
    while let Some(next) = open.pop() {
        match next {
            Predicate::Or(parts) => open.extend(parts.iter().rev()),
            arm => arms.push(arm),
        }
    }
    arms
}

impl Planner {
    /// Plans a union that costs clearly less than the best single path; `None` if there is none, or hints
    /// ask for something.
    pub fn union(&self, query: &Query<'_>, best: &AccessPath) -> Option<Union> {
        if !query.hints.is_empty() || best.estimate.cost < COST_MIN || self.targets().len() < 2 {
            return None;
        }
        let most = best.estimate.cost * COST_SHARE;
        let unions = (0..query.conjuncts.len()).filter_map(|at| self.union_over(query, at, most));
        unions.reduce(|best, next| {
            if next.estimate.cost < best.estimate.cost {
                next
            } else {
                best
            }
        })
    }

    /// Plans a union over the arms of one conjunct that costs less than `most`.
    fn union_over(&self, query: &Query<'_>, at: usize, most: f64) -> Option<Union> {
        let Predicate::Or(_) = query.conjuncts[at] else {
            return None;
        };
        let all = disjuncts(&query.conjuncts[at]);
        if all.len() > DISJUNCTS_MAX {
            return None;
        }
        let mut groups: Vec<(Source, Vec<usize>)> = Vec::new();
        let mut cost = 0.0;
        for arm in 0..all.len() {
            let conjuncts = conjuncts_of(query, at, &all, &[arm], &[]);
            let path = self.path_for(query, &conjuncts);
            cost += path.estimate.cost;
            if matches!(path.kind, ScanKind::FullScan | ScanKind::Columnar) || cost >= most {
                return None;
            }
            match groups.iter().position(|(source, _)| *source == path.source) {
                Some(group) if group + 1 < groups.len() && may_fail(all[arm]) => return None,
                Some(group) => groups[group].1.push(arm),
                None => groups.push((path.source, vec![arm])),
            }
        }
        let mut union = Union {
            conjunct: at,
            arms: Vec::new(),
            estimate: Estimate::default(),
        };
        let mut given = Vec::new();
        for (_, arms) in groups {
            let conjuncts = conjuncts_of(query, at, &all, &arms, &given);
            let path = self.path_for(query, &conjuncts);
            if path.columnar.is_some() {
                return None;
            }
            given.extend(&arms);
            union.estimate = sum(&union.estimate, &path.estimate);
            union.arms.push(UnionArm {
                disjuncts: arms,
                conjuncts,
                path,
            });
        }
        (union.arms.len() > 1 && union.estimate.cost < most).then_some(union)
    }

    fn path_for(&self, query: &Query<'_>, conjuncts: &[Predicate]) -> AccessPath {
        let query = Query {
            conjuncts,
            order: &[],
            limit: None,
            intersect: false,
            ..*query
        };
        self.choose(&query).path
    }
}

/// Whether an arm may have no result. Such an arm does not go before others: where one of those is true, the
/// statement would fail for a row that OR, from left to right, gives.
fn may_fail(arm: &Predicate) -> bool {
    let mut fails = !arm.is_understood();
    arm.visit_operands(&mut |operand| fails |= matches!(operand, Operand::Function(..)));
    fails
}

/// The conjuncts of a query, one of them cut down to some arms, and that none of others is true.
fn conjuncts_of(
    query: &Query<'_>,
    at: usize,
    all: &[&Predicate],
    arms: &[usize],
    given: &[usize],
) -> Vec<Predicate> {
    let or = |arms: &[usize]| match arms {
        [arm] => all[*arm].clone(),
        arms => Predicate::Or(arms.iter().map(|arm| all[*arm].clone()).collect()),
    };
    let mut conjuncts = query.conjuncts.to_vec();
    conjuncts[at] = or(arms);
    if !given.is_empty() {
        conjuncts.push(Predicate::NotTrue(Box::new(or(given))));
    }
    conjuncts
}

fn sum(one: &Estimate, other: &Estimate) -> Estimate {
    Estimate {
        keys: one.keys + other.keys,
        seeks: one.seeks + other.seeks,
        lookups: one.lookups + other.lookups,
        rows: one.rows + other.rows,
        cost: one.cost + other.cost,
    }
}
