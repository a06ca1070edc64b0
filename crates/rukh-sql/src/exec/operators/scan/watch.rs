//! What an operator above a scan comes to know while rows go up to it: a bound behind which no row matters.
//!
//! ORDER BY … LIMIT without an order to read in keeps the first rows met so far; whatever sorts behind the
//! last of them is of no use any more. Between two batches the scan asks what the bound is by now:
//!
//! 1. Rows behind it are passed over before their columns are copied.
//! 2. Where the key has a column of the order, the scan is planned again with the bound as a condition, and what
//!    is ahead of it is narrowed to the ranges and masked compares of that plan: keys behind the bound are
//!    sought past.
//!
//! The bound only ever moves closer, so what was left out once stays out.

use std::cmp::Ordering;
use std::sync::Arc;

use rukh_catalog::{ColumnId, Table};
use rukh_engine::{EngineError, RowCursor, RowView};
use rukh_keys::Datum;
use rukh_planner::{AccessPath, CompareOp, Operand, Predicate, TermKind};

use crate::exec::operators::runtime_filter::RuntimeFilter;
use crate::exec::operators::scan_column::Outputs;
use rukh_error::SqlError;

/// Rows read between two looks at the bound.
pub(super) const BATCH_ROWS: usize = 1024;

/// Plans a scan for further conditions, with the ranges and masked compares that narrow what is ahead of it; `None` if that cannot be.
pub(super) type Narrower = Box<dyn Fn(Vec<Predicate>) -> Option<AccessPath> + Send>;

/// A bound, looked at while a partition is read.
pub(super) struct Watch {
    table: Arc<Table>,
    /// The columns that the scan reads, those first that it gives out.
    columns: Vec<ColumnId>,
    /// How many it gives out.
    given: usize,
    filters: Vec<Watched>,
    /// What a row has to pass.
    test: Test,
    /// Set where the key has a column of the bound.
    narrower: Option<Narrower>,
}

struct Watched {
    filter: Arc<RuntimeFilter>,
    /// What it was when it was looked at.
    generation: u64,
    predicate: Predicate,
}

impl Watch {
    /// Watches filters for a scan; `None` if there are none.
    pub(super) fn new(
        table: Arc<Table>,
        columns: Vec<ColumnId>,
        given: usize,
        filters: &[Arc<RuntimeFilter>],
        narrower: Option<Narrower>,
    ) -> Option<Watch> {
        let watched = |filter: &Arc<RuntimeFilter>| Watched {
            filter: filter.clone(),
            generation: 0,
            predicate: Predicate::True,
        };
        (!filters.is_empty()).then(|| Watch {
            table,
            columns,
            given,
            filters: filters.iter().map(watched).collect(),
            test: Test::Any,
            narrower,
        })
    }

    /// Looks at the bound, and narrows what a cursor has ahead by it.
    pub(super) fn look(&mut self, cursor: &mut RowCursor) -> Result<(), SqlError> {
        let mut moved = false;
        for watched in &mut self.filters {
            let generation = watched.filter.generation();
            if generation != watched.generation {
                watched.generation = generation;
                let outputs = Outputs {
                    table: &self.table,
                    columns: &self.columns[..self.given],
                };
                let predicate = watched.filter.predicate(outputs)?;
                moved |= predicate != watched.predicate;
                watched.predicate = predicate;
            }
        }
        if !moved {
            return Ok(());
        }
        let known = self.filters.iter().map(|watched| watched.predicate.clone());
        let known: Vec<Predicate> = known.filter(|known| *known != Predicate::True).collect();
        self.test = Test::All(known.iter().map(|one| Test::of(one, &self.columns)).collect());
        if let Some(narrower) = &self.narrower
            && let Some(path) = narrower(known)
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
