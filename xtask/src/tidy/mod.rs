//! `xtask tidy`: house rules that no compiler checks, each finding printed as `path:line: message`.
//!
//! | module      | checks                                                                           |
//! |-------------|----------------------------------------------------------------------------------|
//! | `manifests` | dependency edges between crates; which crates may name RocksDB, DataFusion and the like |
//! | `rust`      | `//!` first, leftovers outside tests, tests that sleep or are switched off, purity |
//! | `rings`     | files of a crate that import one another in a circle                             |
//! | `scripts`   | every directory of test scripts has a runner that names it                        |
//! | `folders`   | at most twenty files side by side                                                 |
//! | `english`   | comments and pages without idioms                                                        |
//! | `names`     | names of code in `ARCHITECTURE.md` and `CONTRIBUTING.md` are defined             |
//! | `docs`      | links and named files exist, the format version, numbered decisions               |
//! | `locks`     | `bench-peers` has the versions of the root                                       |
//! | `text`      | tabs, trailing blanks, long files, file names, paths of one machine               |
//!
//! A check is a function from texts to findings, so that its tests are small strings. Reading the
//! tree is in `tree`; distinguishing code from strings, comments and tests is in `source`. The checks are
//! rough on purpose: they read lines and braces, and know no types.

mod docs;
mod english;
mod finding;
mod folders;
mod locks;
mod manifests;
mod names;
mod rings;
mod run;
mod rust;
mod scripts;
mod source;
mod text;
mod tree;

pub use run::run;
