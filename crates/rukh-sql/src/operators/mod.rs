//! DataFusion operators of our own, and the rules that place them: scans of an access path.

mod lookup_join;
mod lookup_rule;
mod lookup_side;
mod one_per_group;
mod parts;
mod scan;
mod top_n;

pub(crate) use lookup_join::LookupJoinExec;
pub(crate) use lookup_rule::LookupJoins;
pub(crate) use lookup_side::LookupSide;
pub(crate) use one_per_group::{OnePerGroup, both};
pub(crate) use scan::ScanExec;
pub(crate) use top_n::TopN;
