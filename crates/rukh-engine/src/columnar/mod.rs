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

pub(crate) mod caches;
pub(crate) mod check;
pub(crate) mod scans;
pub(crate) mod stored;
pub(crate) mod values;

pub(crate) use caches::heads::first_keys;
pub(crate) use caches::kept::KeptBlocks;
pub(crate) use check::{EntryReader, PieceOf, check_blocks, piece_name, piece_value};
pub use scans::first::{FirstRows, NullsWanted};
pub(crate) use stored::build::BlockBuilder;
pub(crate) use stored::error::BlockError;
pub use values::batch::ColumnBatch;

pub(crate) use scans::scan::{BlockScan, BlockScanSpec};
pub use scans::totals::{BlockTotals, TotalWanted};
pub(crate) use scans::view::{Packed, PointRow, Unpacked, Wanted, point_row, prefix_rows};
pub use values::test::ColumnTest;
pub(crate) use values::test::life_test;
pub use values::vector::{Coded, ColumnVector, Strings, Values, ranked_float, ranked_real};
