//! Subqueries that read the query around them: joins with the different values that they read.

mod domains;
mod exact;
mod push;

pub(crate) use domains::{is_volatile_correlated, joined_by_domain, volatile_left, volatile_refused};
