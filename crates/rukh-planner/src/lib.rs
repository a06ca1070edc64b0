//! From a WHERE clause to key ranges: which keys to read, what to compare on their bytes, what to
//! check on decoded values, and which table or index to do it on.
//!
//! The method, in the order of the files: a [`Predicate`] speaks about *terms*; `lower` turns each
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

mod access;
mod alternatives;
#[cfg(test)]
mod bitmaps;
mod boxes;
mod columnar;
mod computable;
mod constrain;
mod cost;
mod decided;
mod distribution;
mod domain;
mod evaluate;
mod explain;
mod explain_alternatives;
mod explain_json;
mod failure;
mod functions;
mod implication;
mod intersect;
mod interval;
mod knowledge;
mod like;
mod loose;
mod lower;
mod masked;
mod merge;
mod mix;
mod order;
mod overlap;
mod paths;
mod plan;
mod planner;
mod point;
mod points;
mod predicate;
mod print;
mod query;
mod ranges;
mod spans;
mod statistics;
mod target;
mod term;
mod union;
mod value;

pub use access::{AccessPath, LooseScan, Merge, Run, ScanKind, Within};
pub use alternatives::{Alternative, Alternatives, QuoteName, Suggestion, alternatives, missing_index};
pub use columnar::{ColumnTest, ColumnarRead};
pub use cost::Estimate;
pub use distribution::{CommonValues, Histogram};
pub use evaluate::evaluate;
pub use explain::{Actuals, actual_text, explain_lookup_text, explain_text, narrowed_text};
pub use explain_alternatives::{alternatives_text, with_alternatives_json};
pub use explain_json::explain_json;
pub use masked::MaskedTest;
pub use paths::{access_path, access_path_on};
pub use plan::{Plan, plan};
pub use planner::Planner;
pub use point::equal_datum;
pub use predicate::{CompareOp, Constant, Function, Operand, Predicate, TimeUnit, bind};
pub use query::{GroupRow, Grouped, Hint, IndexExpression, OpaquePredicate, OrderKey, Query, Source};
pub use statistics::{Statistics, TermStatistics};
pub use target::Target;
pub use term::{TermId, TermKind, TermType, TermTypes};
pub use union::{Union, UnionArm, disjuncts};
