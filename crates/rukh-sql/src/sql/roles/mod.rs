//! Roles and rights: which role may run which statement.
//!
//! | file      | does                                                            |
//! |-----------|-----------------------------------------------------------------|
//! | `session` | the role that a session is                                      |
//! | `check`   | what a statement needs, and whether a role has it               |
//! | `uses`    | which columns of a relation a statement uses                    |
//! | `run`     | CREATE USER, GRANT and their kin; objects that become a role's  |
//! | `scram`   | what passwords are checked by                                   |
//!
//! A session without a user is an administrator's: its process has the database's files. A view reads its
//! tables with the rights of its owner. What a role may is looked up in the newest definitions, also inside
//! of a transaction block: a right that is taken is gone with the next statement.

mod check;
mod run;
pub mod scram;
mod session;
mod uses;

pub(crate) use check::Checker;
pub(crate) use run::{claim, give_function, give_schema, run};
