//! Parameters in the tree of a statement: which types they have, and those whose values are written into it before it is planned.

pub(crate) mod arrays;
pub(crate) mod frames;
pub(crate) mod series;
pub(crate) mod types;
