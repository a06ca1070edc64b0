//! The language of SQL/JSON paths, the type `jsonpath`: `$.readings[*] ? (@.value > 10).at`.
//!
//! | file       | has                                                                     |
//! |------------|-------------------------------------------------------------------------|
//! | `tree`     | a path as a tree                                                        |
//! | `tokens`   | its text as tokens                                                      |
//! | `read`     | tokens as a tree                                                        |
//! | `write`    | a tree as PostgreSQL writes it                                          |
//! | `failure`  | why a path fails                                                        |
//! | `item`     | values that a path finds                                                |
//! | `run`      | what a path finds in a document                                         |
//! | `conditions` | comparisons, `&&`, `exists`, `like_regex`: true, false or unknown     |
//! | `arithmetic` | `+`, `-`, `*`, `/`, `%`, and methods of numbers                       |
//! | `moments`  | `datetime()`, and how moments compare                                   |
//!
//! Sources: ISO/IEC 19075-6, PostgreSQL's manual 9.16.2, and what PostgreSQL 15 answers.

#![warn(clippy::arithmetic_side_effects)]

mod arithmetic;
mod conditions;
mod failure;
mod item;
mod moments;
mod read;
mod run;
mod tokens;
mod tree;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use failure::Failure;
pub(crate) use item::Item;
pub(crate) use run::Search;
pub(crate) use tree::Path;
