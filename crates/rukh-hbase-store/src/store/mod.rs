//! A store of Rukh on HBase, for one process at a time.
//!
//! All tables lie in one table of HBase, `rows`: a row's key begins with the number of its table, four bytes. So a table is made and dropped by a change of the
//! directory, which is a table of its own, number 0; numbers are not given again, and snapshots read a dropped table until its rows are forgotten.
//!
//! One process has the store ([`owner`]). It writes one batch after another, each a transaction of the protocol, and knows the time of the newest; snapshots are of that
//! time, and take no request. A transaction that is under way begins at that time or later, so no reader waits for it.

mod changes;
mod directory;
mod keys;
mod kv;
mod owner;
mod position;
mod runtime;
mod shared;
mod sizes;
mod snapshot;
mod upkeep;

pub use kv::{HbaseStore, Options};
