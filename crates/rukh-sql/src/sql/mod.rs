//! Statements: sessions and transactions, and each kind of statement.
//!
//! | folder or file           | has                                                                     |
//! |--------------------------|-------------------------------------------------------------------------|
//! | `session`, `dispatch`    | a session, and from a parsed statement to its result                    |
//! | `block`                  | transaction blocks                                                      |
//! | `kept`, `describe`, `template` | prepared statements and cursors, what a statement takes and gives  |
//! | `dml`, `computed`, `locking`, `point_write` | statements that write and lock rows                  |
//! | `ddl`                    | statements that define                                                  |
//! | `temporary`              | temporary relations                                                     |
//! | `copy`                   | COPY                                                                    |
//! | `procedures`             | PL/pgSQL                                                                |
//! | `roles`                  | rights: which role may run which statement                              |
//! | `explain`, `key_reads`   | EXPLAIN; reads by key without a statement's context                     |
//! | `operations`, `background`, `statistics`, `dump`, `repair` | upkeep of a database                  |
//!
//! Deliberately not here: what a query means (`bind`), and how it is run (`exec`).

pub(crate) mod background;
pub(crate) mod block;
pub(crate) mod computed;
pub(crate) mod copy;
pub(crate) mod ddl;
pub(crate) mod describe;
pub(crate) mod dispatch;
pub(crate) mod dml;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod kept;
pub(crate) mod key_reads;
pub(crate) mod locking;
pub(crate) mod operations;
pub(crate) mod point_write;
mod procedures;
pub(crate) mod repair;
pub(crate) mod roles;
pub(crate) mod session;
pub(crate) mod statistics;
mod template;
pub(crate) mod temporary;
