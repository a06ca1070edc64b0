//! Trees of statements: what PostgreSQL writes and DataFusion does not read is written in another way.
//!
//! Deliberately not here: names of relations and columns (`names`), whatever needs a plan (`types`, `plans`).

pub(crate) mod cast_names;
pub(crate) mod casts;
pub(crate) mod computed_values;
pub(crate) mod condition_literals;
pub(crate) mod definition_text;
pub(crate) mod domain_casts;
pub(crate) mod integer_literals;
pub(crate) mod literal_values;
pub(crate) mod moment_words;
pub(crate) mod named_arguments;
pub(crate) mod parameters;
pub(crate) mod parsing;
pub(crate) mod rewrite;
pub(crate) mod rows;
pub(crate) mod select_calls;
pub(crate) mod sequence_calls;
pub(crate) mod spelled;
pub(crate) mod values_types;
pub(crate) mod variadic;
