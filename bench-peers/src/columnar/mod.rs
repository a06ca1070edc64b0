//! Layouts of tables side by side, beside DuckDB and SQLite.
//!
//! ```text
//! make bench ARGS='--columnar --rows 10000000'
//! ```
//!
//! | layout     | `scans` and `lineitem`                                                        |
//! |------------|-------------------------------------------------------------------------------|
//! | `rows`     | a pair of key and value for each row, an ordinary index by day and code       |
//! | `index`    | the same rows, a columnar index of all columns instead                        |
//! | `columnar` | `USING columnar`, an ordinary index by day and code                           |
//!
//! All get the same questions, whose answers are compared with DuckDB's (`questions`, `analytic`); then questions for rows by their
//! keys, beside SQLite (`keys`); then how fast they take rows (`writes`). The report ends with the ratios that something is
//! wanted of, and whether they are so (`bars`).
//!
//! *Warm* is the median of rounds after one that is not counted. *Cold* is the first question of a database just opened, after
//! the system has dropped its files from memory, which needs root; the report says whether it did.
//!
//! Deliberately not here: asserted limits; a person reads the figures.

mod analytic;
mod bars;
mod duck;
mod keys;
mod layouts;
mod lineitem;
mod questions;
mod run;
mod writes;

pub use run::run;
