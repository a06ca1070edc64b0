//! DataFusion operators of our own, and the rules that place them: scans of an access path.

mod abandon;
mod block_totals;
mod delegated;
mod few_groups;
mod late_columns;
mod lookup_join;
mod lookup_rule;
mod lookup_side;
mod merge_join;
mod merge_rule;
mod one_per_group;
mod order_check;
mod order_use;
mod parts;
mod repeated;
mod runtime_filter;
mod runtime_rule;
mod scan;
mod scan_column;
mod top_n;

pub(crate) use abandon::{Abandoned, ends_with};
pub(crate) use block_totals::BlockTotals;
pub(crate) use few_groups::FewGroups;
pub(crate) use late_columns::LateColumns;
pub(crate) use lookup_join::LookupJoinExec;
pub(crate) use lookup_rule::LookupJoins;
pub(crate) use lookup_side::LookupSide;
pub(crate) use merge_join::MergeJoinExec;
pub(crate) use merge_rule::MergeJoins;
pub(crate) use one_per_group::{OnePerGroup, both};
pub(crate) use order_check::OrderCheck;
pub(crate) use order_use::OrderUse;
pub(crate) use repeated::RepeatedSides;
pub(crate) use runtime_rule::RuntimeFilters;
pub(crate) use scan::ScanExec;
pub(crate) use top_n::TopN;
