//! Syntax: from the text of a statement to its tree.
//!
//! [`parse`] reads one statement. sqlparser, which is named here and nowhere else, reads queries, INSERT, UPDATE, DELETE and every
//! expression. It cannot read what only Rukh has (keys, salt, families, hashes, UPSERT, CHECK, SHOW LAST QUERY STATS), and it accepts
//! much that would silently do nothing, so a small recursive descent stands in front of it. Text passes through the folders in this order:
//!
//! | folder  | has                                                                                                  |
//! |---------|------------------------------------------------------------------------------------------------------|
//! | `text`  | characters and tokens: dialect, places, reserved words, spellings; where statements and literals end |
//! | `tree`  | the types of all statements                                                                          |
//! | `nodes` | expressions and queries: walks over them, makers, depth                                              |
//! | `read`  | the descent, a file for each kind of statement                                                       |
//!
//! What PostgreSQL spells in a way that the rest of Rukh has no use for is spelled in another way while a statement is read: by
//! [`Respell`], which the caller brings.
//!
//! Invariants: every error has its place, in characters from 1; no text makes the stack overflow; a clause that nothing behind this
//! crate reads is refused.
//!
//! Deliberately not here: whether tables and columns exist, and what types expressions have.

mod error;
mod nodes;
mod read;
mod text;
mod tree;

pub use error::StatementError;
pub use nodes::{Respell, Tree, Walk, WalkMut, each_side, each_side_mut, make, sql_text};
pub use read::{
    data_type, found_data_type, found_type, parse, parse_expression, parse_object_name, parse_procedure,
    serializable,
};
pub use sqlparser;
pub use text::{
    Cut, HIDDEN, Literal, LiteralType, Period, RukhDialect, Split, Subscript, has_password, is_double,
    is_reserved, place_of, quoted, quoted_string, record_star, rows_name, shown_name, split_statements,
    subscripts, variadic, with_ties, with_wide_number,
};
pub use tree::*;
