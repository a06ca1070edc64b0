//! What an operator above a scan comes to know while rows go up to it: a bound behind which no row matters.
//!
//! ORDER BY … LIMIT without an order to read in keeps the first rows met so far; whatever sorts behind the
//! last of them is of no use any more. Between two batches the scan asks what the bound is by now:
//!
//! 1. Rows behind it are passed over before their columns are copied.
//! 2. Where the key has a column of the order, the scan is planned anew with the bound as a condition, and what
//!    is ahead of it is narrowed to the ranges and masked compares of that plan: keys behind the bound are
//!    sought past.
//!
//! The bound only ever moves closer, so what was left out once stays out.

use std::cmp::Ordering;
use std::sync::Arc;

use rukh_catalog::ColumnId;
use rukh_engine::{EngineError, RowCursor, RowView};
use rukh_keys::Datum;
use rukh_planner::{AccessPath, CompareOp, Operand, Predicate, TermKind};

use super::ScanExec;
use super::run_time::same_order;
use crate::access::{Conditions, Wanted};
use crate::operators::runtime_filter::RuntimeFilter;
use rukh_error::SqlError;

/// Rows read between two looks at the bound.
pub(super) const BATCH_ROWS: usize = 1024;

/// A bound, looked at while a partition is read.
pub(super) struct Watch {
    scan: Box<ScanExec>,
    filters: Vec<Watched>,
    /// What a row has to pass.
    test: Test,
    /// Whether the key has a column that the bound speaks of.
    narrows: bool,
}

struct Watched {
    filter: Arc<RuntimeFilter>,
    /// What it was when it was looked at.
    generation: u64,
    predicate: Predicate,
}

impl Watch {
    /// Watches filters for a scan; `None` if there are none.
    pub(super) fn new(scan: &ScanExec, filters: &[Arc<RuntimeFilter>]) -> Option<Watch> {
        let narrows = |filter: &Arc<RuntimeFilter>| scan.key_has(&filter.columns_of(scan));
        let watched = |filter: &Arc<RuntimeFilter>| Watched {
            filter: filter.clone(),
            generation: 0,
            predicate: Predicate::True,
        };
        (!filters.is_empty()).then(|| Watch {
            // A scan that has to be among other rows may come to be read without them.
            narrows: scan.path.within.is_none() && filters.iter().any(narrows),
            filters: filters.iter().map(watched).collect(),
            scan: Box::new(scan.clone()),
            test: Test::Any,
        })
    }

    /// Looks at the bound, and narrows what a cursor has ahead by it.
    pub(super) fn look(&mut self, cursor: &mut RowCursor) -> Result<(), SqlError> {
        let mut moved = false;
        for watched in &mut self.filters {
            let generation = watched.filter.generation();
            if generation != watched.generation {
                watched.generation = generation;
                let predicate = watched.filter.predicate(&self.scan)?;
                moved |= predicate != watched.predicate;
                watched.predicate = predicate;
            }
        }
        if !moved {
            return Ok(());
        }
        let known = self.filters.iter().map(|watched| watched.predicate.clone());
        let known: Vec<Predicate> = known.filter(|known| *known != Predicate::True).collect();
        self.test = Test::All(
            known
                .iter()
                .map(|one| Test::of(one, &self.scan.columns))
                .collect(),
        );
        if self.narrows
            && let Some(path) = narrower_path(&self.scan, known)
        {
            cursor.narrow(path.ranges, path.masked);
        }
        Ok(())
    }

    /// Whether a row may lie before the bound.
    #[inline]
    pub(super) fn passes(&self, row: &RowView<'_>) -> Result<bool, EngineError> {
        self.test.holds(row)
    }
}

/// Plans a scan for further conditions; `None` if that walks over keys in another way, or does not see to
/// conditions that the scan's own path does.
fn narrower_path(scan: &ScanExec, known: Vec<Predicate>) -> Option<AccessPath> {
    let own = &scan.path;
    let conditions: Conditions = scan.conditions.narrowed(known);
    let wanted = Wanted {
        predicates: &conditions.predicates,
        limit: None,
        ..scan.wanted()
    };
    let path = conditions.plan_on(own.source, &wanted, &scan.context)?;
    let is_checked = |at: &usize| {
        let checked = own.residual.contains(at) || own.residual_index.contains(at);
        checked || *at >= scan.conditions.predicates.len()
    };
    let mut left = path.residual.iter().chain(&path.residual_index);
    (same_order(own, &path) && left.all(is_checked)).then_some(path)
}

/// A test on rows as a scan shows them.
enum Test {
    Any,
    All(Vec<Test>),
    One(Vec<Test>),
    IsNull { at: usize, negated: bool },
    Compare { at: usize, op: CompareOp, to: Datum },
}

impl Test {
    /// Returns a test that every row passes for which the predicate is true.
    fn of(predicate: &Predicate, columns: &[ColumnId]) -> Test {
        let place = |operand: &Operand| {
            let Operand::Term(term) = operand else { return None };
            let TermKind::Column(column) = term.kind() else {
                return None;
            };
            columns.iter().position(|id| *id == column)
        };
        let tests = |parts: &[Predicate]| parts.iter().map(|part| Test::of(part, columns)).collect();
        match predicate {
            Predicate::False => Test::One(Vec::new()),
            Predicate::And(parts) => Test::All(tests(parts)),
            Predicate::Or(parts) => Test::One(tests(parts)),
            Predicate::IsNull { operand, negated } => place(operand).map_or(Test::Any, |at| Test::IsNull {
                at,
                negated: *negated,
            }),
            Predicate::Compare {
                op,
                left,
                right: Operand::Constant(constant),
            } => place(left).map_or(Test::Any, |at| Test::Compare {
                at,
                op: *op,
                to: constant.datum.clone(),
            }),
            _ => Test::Any,
        }
    }

    fn holds(&self, row: &RowView<'_>) -> Result<bool, EngineError> {
        Ok(match self {
            Test::Any => true,
            Test::All(all) => {
                for test in all {
                    if !test.holds(row)? {
                        return Ok(false);
                    }
                }
                true
            }
            Test::One(any) => {
                for test in any {
                    if test.holds(row)? {
                        return Ok(true);
                    }
                }
                false
            }
            Test::IsNull { at, negated } => row.datum(*at)?.is_null() != *negated,
            Test::Compare { at, op, to } => {
                let datum = row.datum(*at)?;
                let ordering: Ordering = datum.cmp(&to.as_ref());
                !datum.is_null() && !to.is_null() && op.holds(ordering)
            }
        })
    }
}
