//! Tests of the whole system: what they share.
//!
//! Not published. The tests themselves are in `tests/` of this crate; what they read is in
//! `sql/` and `tests/` of the repository.
//!
//! | module      | what it gives                                                          |
//! |-------------|------------------------------------------------------------------------|
//! | [`client`]  | Rukh through its public API, with results as text                      |
//! | [`scripts`] | the scripts of `sql/`, statement by statement                          |
//! | [`slt`]     | sqllogictest files on Rukh and on PostgreSQL                           |
//! | [`load`]    | COPY for PostgreSQL                                                    |
//! | [`postgres`] | a private PostgreSQL, the second opinion on rows                       |
//! | [`translate`] | Rukh's dialect to PostgreSQL's                                        |
//! | [`table`]   | results as text, and whether two are the same                          |
//! | [`random`]  | random schemas, rows, changes and conditions                             |
//! | [`raw`]     | PostgreSQL's protocol, byte by byte                                    |
//! | [`crash`]   | statements of a process that is killed, and their model                |
//! | [`edge`]    | edge values of every type                                              |
//! | [`seed`]    | random cases that can be replayed                                      |
//! | [`place`]   | databases in memory or on an HBase                                     |
//! | [`need`]    | tests that need something of the machine                               |
//! | [`install`] | clients in other languages                                             |
//! | [`served`]  | `rukh serve` in a process of its own, its memory and descriptors       |

pub mod client;
pub mod crash;
pub mod edge;
pub mod install;
pub mod load;
pub mod need;
pub mod paths;
pub mod place;
pub mod postgres;
pub mod random;
pub mod raw;
pub mod scripts;
pub mod seed;
pub mod served;
pub mod slt;
pub mod table;
pub mod tokens;
pub mod translate;
