//! Types: what literals, operands, arguments and casts are, by the tables of signatures and casts; stored expressions.
//!
//! Deliberately not here: the functions themselves (crate `rukh-functions`).

pub(crate) mod bound_aggregates;
pub(crate) mod bound_calls;
pub(crate) mod bound_operators;
pub(crate) mod chosen_types;
pub(crate) mod coercions;
pub(crate) mod config;
pub(crate) mod expressions;
pub(crate) mod in_lists;
pub(crate) mod index_terms;
pub(crate) mod integer_series;
pub(crate) mod interval_order;
pub(crate) mod literals;
pub(crate) mod normalise;
pub(crate) mod operand_types;
pub(crate) mod operators;
pub(crate) mod records;
pub(crate) mod table_schema;
pub(crate) mod typed_casts;
pub(crate) mod union_types;
