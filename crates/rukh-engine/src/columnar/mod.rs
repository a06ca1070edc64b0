//! Columnar indexes and tables: thousands of rows in a block, column by column.
//!
//! | to read                                     | start at            |
//! |---------------------------------------------|---------------------|
//! | what the bytes are                          | `block`, `head`, `column`, `dictionary`, `pieces`, `packed` |
//! | values in memory                            | `vector`            |
//! | conditions on encoded values                | `test`, `mask`, `sketch` |
//! | which blocks a value may be in              | `filter`            |
//! | when rows were written, and since when they live | `times`        |
//! | how blocks and changes are read as one      | `scan`, `merge`, `open`, `streams`, `beside`, `first`, `prime`, `totals` |
//! | how tables in blocks look as if in rows     | `view`              |
//! | what is kept of what was read               | `kept`, `heads`; of changes `chunks`, `chunk` |
//! | how blocks are made                         | `build`, `row_keys`, `load` |
//! | how changes become blocks, and when         | `repack`, `debts`   |
//! | how an index is checked and printed         | `check`             |
//!
//! Deliberately not here: Arrow, and which conditions there are.

mod beside;
mod block;
mod build;
mod changes;
mod check;
mod chunk;
mod chunks;
mod column;
mod debts;
mod dictionary;
mod error;
mod filter;
mod first;
mod head;
mod heads;
mod kept;
mod load;
mod mask;
mod merge;
mod open;
mod packed;
mod pieces;
mod prime;
mod repack;
mod row_keys;
mod scan;
mod sketch;
mod streams;
mod test;
mod times;
mod totals;
mod vector;
mod view;

pub(crate) use build::BlockBuilder;
pub(crate) use check::{EntryReader, PieceOf, check_blocks, piece_name, piece_value};
pub(crate) use debts::Debts;
pub(crate) use error::BlockError;
pub use first::{FirstRows, NullsWanted};
pub(crate) use heads::first_keys;
pub(crate) use kept::KeptBlocks;
pub(crate) use load::BlockLoad;
pub use repack::ColumnarDebt;
pub(crate) use repack::{bury_index, remove_dead};
pub use scan::ColumnBatch;
pub(crate) use scan::{BlockScan, BlockScanSpec};
pub use test::ColumnTest;
pub(crate) use times::life_test;
pub use totals::{BlockTotals, TotalWanted};
pub use vector::{Coded, ColumnVector, Strings, Values, ranked_float, ranked_real};
pub(crate) use view::{Packed, PointRow, Unpacked, Wanted, point_row, prefix_rows};

/// Columns of times in blocks: numbers, types and names, and how rows have them.
pub(crate) mod hidden {
    pub(crate) use super::times::{COUNT, FIRST, NAMES, TYPES, datums, times};
}
