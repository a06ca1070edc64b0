//! Transactions over rows of HBase: the protocol of `rukh-commit`, run over the client `rukh-hbase`.
//!
//! A table of Rukh is a table of HBase with two families. `d:v` is the value of a row; the timestamp of a cell is the time of its commit, so a read up to
//! a time is a snapshot. `c:l` holds locks and records of commits, `c:` with the number of a transaction its outcome, on its primary row. The
//! table `clock` has one row, with the newest time and the version of the definitions.
//!
//! ```no_run
#![doc = include_str!("../examples/transfer.rs")]
//! ```
//!
//! On these stands [`HbaseStore`], the store of a database that one process has at a time.

mod cells;
mod error;
mod forget;
mod ranges;
mod steps;
mod store;
mod transactions;

pub use cells::Row;
pub use error::Error;
pub use ranges::{Range, Rows};
#[doc(hidden)]
pub use steps::{Moment, observe_steps_for_test};
pub use store::{HbaseStore, Options};
pub use transactions::{Began, Settings, Transactions};
