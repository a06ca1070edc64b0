//! Joins by key and in key order, the rules that place them, and what a join does not keep of its inputs.

mod lookup;
mod lookup_rule;
mod lookup_side;
mod merge;
mod merge_rule;
mod repeated;

pub(crate) use lookup::LookupJoinExec;
pub(crate) use lookup_rule::LookupJoins;
pub(crate) use lookup_side::LookupSide;
pub(crate) use merge::MergeJoinExec;
pub(crate) use merge_rule::MergeJoins;
pub(crate) use repeated::RepeatedSides;
