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

pub(crate) mod batch;
pub(crate) mod beside;
pub(crate) mod block;
pub(crate) mod build;
pub(crate) mod changes;
pub(crate) mod check;
pub(crate) mod chunk;
pub(crate) mod chunks;
pub(crate) mod column;
pub(crate) mod dictionary;
pub(crate) mod error;
pub(crate) mod filter;
pub(crate) mod first;
pub(crate) mod head;
pub(crate) mod heads;
pub(crate) mod kept;
pub(crate) mod mask;
pub(crate) mod merge;
pub(crate) mod open;
pub(crate) mod packed;
pub(crate) mod pieces;
pub(crate) mod prime;
pub(crate) mod row_keys;
pub(crate) mod scan;
pub(crate) mod sketch;
pub(crate) mod streams;
pub(crate) mod test;
pub(crate) mod totals;
pub(crate) mod vector;
pub(crate) mod view;

pub use batch::ColumnBatch;
pub(crate) use build::BlockBuilder;
pub(crate) use check::{EntryReader, PieceOf, check_blocks, piece_name, piece_value};
pub(crate) use error::BlockError;
pub use first::{FirstRows, NullsWanted};
pub(crate) use heads::first_keys;
pub(crate) use kept::KeptBlocks;

pub(crate) use scan::{BlockScan, BlockScanSpec};
pub use test::ColumnTest;
pub(crate) use test::life_test;
pub use totals::{BlockTotals, TotalWanted};
pub use vector::{Coded, ColumnVector, Strings, Values, ranked_float, ranked_real};
pub(crate) use view::{Packed, PointRow, Unpacked, Wanted, point_row, prefix_rows};
