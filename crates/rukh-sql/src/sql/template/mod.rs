//! Templates: plain texts that differ only in the literals of their WHERE share one direct plan.
//!
//! A text is cut into its template, with `$1`, `$2`, … where literals were, and the literals. The
//! template is planned once, as a prepared statement is; a further text with the same template costs
//! a walk over its bytes and no parsing. Literals take the types of the columns they are compared
//! with, and a template is used only after its plan, bound to the literals of the text it was first
//! seen in, was found equal to the plan of that text itself.
//!
//! Deliberately not here: anything but one plain SELECT that a direct plan can answer.

mod constants;
mod plan;
#[cfg(test)]
mod tests;
