//! Operators that are planned here, because DataFusion does not know their operands together: `intervals` has the planner, which asks the others.

pub(crate) mod documents;
pub(crate) mod intervals;
pub(crate) mod networks;
