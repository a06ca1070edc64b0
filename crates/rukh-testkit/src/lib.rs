//! Tests of the whole system: what they share.
//!
//! Not published. The tests themselves are in `tests/` of this crate; what they read is in
//! `sql/` and `tests/` of the repository.
//!
//! | module      | what it gives                                                          |
//! |-------------|------------------------------------------------------------------------|
//! | [`postgres`] | a private PostgreSQL, the second opinion on rows                       |
//! | [`translate`] | Rukh's dialect to PostgreSQL's                                        |
//! | [`table`]   | results as text, and whether two are the same                          |
//! | [`seed`]    | random cases that can be replayed                                      |
//! | [`need`]    | tests that need something of the machine                               |

pub mod need;
pub mod paths;
pub mod postgres;
pub mod seed;
pub mod slt;
pub mod table;
pub mod tokens;
pub mod translate;
