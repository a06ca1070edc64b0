//! What statements have cost since the server began: `pg_stat_statements`.
//!
//! Statements that differ only in their literals are one (`text`). A database keeps a bounded number of them
//! (`entries`), and forgets those that were called least. Nothing is counted until a server asks for it. A
//! statement is counted when it has ended: its rows were read, or are not wanted any more.
//!
//! Deliberately not here: texts that may have a password, and what parsing refuses.

mod counting;
mod entries;
mod text;
mod view;

pub(crate) use counting::{Counting, ReadBy};
pub(crate) use entries::{Entries, Known};
pub(crate) use view::{NAME, RESET, rows};
