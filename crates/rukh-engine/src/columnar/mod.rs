//! Columnar indexes: thousands of rows in a block, column by column.
//!
//! | to read                                     | start at            |
//! |---------------------------------------------|---------------------|
//! | what the bytes are                          | `block`, `head`, `column`, `packed` |
//! | values in memory                            | `vector`            |
//! | conditions on encoded values                | `test`              |
//! | how blocks and changes are read as one      | `scan`, `changes`   |
//! | how blocks are made                         | `build`             |
//! | how changes become blocks, and when         | `repack`, `debts`   |
//! | how an index is checked and printed         | `check`             |
//!
//! Deliberately not here: Arrow, and which conditions there are.

mod block;
mod build;
mod changes;
mod check;
mod column;
mod debts;
mod error;
mod head;
mod packed;
mod repack;
mod scan;
mod test;
mod vector;

pub(crate) use build::BlockBuilder;
pub(crate) use check::{EntryReader, check_blocks, piece_name, piece_value};
pub(crate) use debts::Debts;
pub(crate) use error::BlockError;
pub use repack::ColumnarDebt;
pub use scan::ColumnBatch;
pub(crate) use scan::{BlockScan, BlockScanSpec, first_keys};
pub use test::ColumnTest;
pub use vector::{ColumnVector, Strings, Values, ranked_float, ranked_real};
