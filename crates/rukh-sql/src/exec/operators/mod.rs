//! DataFusion operators of our own, and the rules that place them: scans of an access path.

mod abandon;
mod arms_in_order;
mod block_totals;
mod delegated;
mod few_groups;
mod fixed_limits;
mod joins;
mod late_columns;
mod one_per_group;
mod order_check;
mod order_use;
mod parts;
mod row_count;
mod rule;
mod runtime_filter;
mod runtime_rule;
mod scan;
mod scan_column;
mod top_n;
mod whole_sorts;

pub(crate) use abandon::{Abandoned, ends_with};
pub(crate) use arms_in_order::ArmsInOrder;
pub(crate) use block_totals::BlockTotals;
pub(crate) use few_groups::FewGroups;
pub(crate) use fixed_limits::{FixedLimits, LimitsAgain};
pub(crate) use joins::{LookupJoinExec, LookupJoins, MergeJoins, RepeatedSides};
pub(crate) use late_columns::LateColumns;
pub(crate) use one_per_group::{OnePerGroup, both};
pub(crate) use order_check::OrderCheck;
pub(crate) use order_use::OrderUse;
pub(crate) use row_count::{RowCountExec, RowCounts};
pub(crate) use runtime_rule::RuntimeFilters;
pub(crate) use scan::ScanExec;
pub(crate) use top_n::TopN;
pub(crate) use whole_sorts::WholeSorts;
