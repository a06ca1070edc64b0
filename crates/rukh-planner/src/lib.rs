//! From a WHERE clause to key ranges: which keys to read, what to compare on their bytes, what to
//! check on decoded values, and which table or index to do it on.
//!
//! | folder       | has                                                                             |
//! |--------------|---------------------------------------------------------------------------------|
//! | `conditions` | predicates, what they mean, and the boxes that they become                      |
//! | `inputs`     | a query, its table, statistics, and what all conditions say together            |
//! | `bounds`     | spans, ranges of bytes, masked compares                                         |
//! | `plans`      | access paths, their costs, and the choice                                       |
//! | `texts`      | EXPLAIN                                                                         |
//!
//! None imports one below it in the table.
//!
//! The method: a [`Predicate`] is about *terms*; `lower` turns each
//! conjunct into boxes, one set of intervals per term; `knowledge` is what the conjuncts say together;
//! `constrain` intersects the boxes over the elements of one key and returns which conjuncts that
//! proves; `spans` and `ranges` turn boxes into byte ranges; `masked` tests on key bytes what ranges
//! leave open; the rest is the residual; `loose` reads one row per group. [`plan`] does so for the table and every index and takes the
//! cheapest. `docs/where-to-ranges.md` describes it at length.
//!
//! To execute a statement again and again, keep a [`Planner`] of its table and call
//! [`Planner::choose`]: the same path in a fraction of the time (`point` reads one key of the table
//! without all that).
//!
//! Invariants:
//!
//! 1. Planned scan = full scan + filter: the rows of a path are exactly those for which every
//!    conjunct IS TRUE as [`evaluate()`] computes it. Spans may be too wide, never too narrow.
//! 2. What spans and masked compares prove is not in the residual; all else is.
//! 3. Ranges are sorted and disjoint; none is read for conditions that contradict each other.
//! 4. The same definitions, conditions and statistics give the same plan. Work is bounded, whatever
//!    the conditions.
//!
//! Deliberately not here: SQL text, storage, clocks and randomness. There is no error type: what is
//! not understood stays in the residual.
//!
//! Callers flatten long chains of AND and OR into one list; the tree is walked recursively.

mod bounds;
mod conditions;
mod inputs;
mod plans;
mod texts;

pub use bounds::masked::MaskedTest;
pub use conditions::evaluate::evaluate;
pub use conditions::predicate::{CompareOp, Constant, Function, Operand, Predicate, TimeUnit, bind};
pub use conditions::term::{TermId, TermKind, TermType, TermTypes};
pub use inputs::distribution::{CommonValues, Histogram};
pub use inputs::query::{GroupRow, Grouped, Hint, IndexExpression, OpaquePredicate, OrderKey, Query, Source};
pub use inputs::statistics::{Statistics, TermStatistics};
pub use inputs::target::Target;
pub use plans::access::{AccessPath, LooseScan, Merge, Run, ScanKind, Within};
pub use plans::alternatives::{
    Alternative, Alternatives, QuoteName, Suggestion, alternatives, missing_index,
};
pub use plans::columnar::{ColumnTest, ColumnarRead};
pub use plans::cost::Estimate;
pub use plans::paths::{access_path, access_path_on};
pub use plans::plan::{Plan, plan};
pub use plans::planner::Planner;
pub use plans::point::equal_datum;
pub use plans::union::{Union, UnionArm, disjuncts};
pub use texts::explain::{
    Actuals, actual_text, explain_lookup_text, explain_text, narrowed_text, row_count_text,
};
pub use texts::explain_alternatives::{alternatives_text, with_alternatives_json};
pub use texts::explain_json::{explain_json, row_count_json};
