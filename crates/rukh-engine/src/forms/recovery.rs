//! What was cleared up when a database was opened.

use std::fmt;

/// Something that was found half done when the database was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// A bulk load that was cut short while it became visible was completed.
    CompletedLoad,
    /// A column family that no definition names was dropped.
    DroppedStorage {
        /// Its name, such as `t7` or `i9`.
        name: String,
    },
    /// A table whose rows were being written by the statement that made it was dropped.
    DroppedTable {
        /// Name of the table.
        table: String,
    },
    /// An index whose filling was cut short was filled again.
    FilledIndex {
        /// Name of the index.
        index: String,
    },
    /// An index whose filling was cut short could not be filled and was dropped.
    DroppedIndex {
        /// Name of the index.
        index: String,
        /// Why, as the error says.
        reason: String,
    },
    /// An index whose entries are not all there was marked as broken: a damaged log has lost the statement that rebuilt or dropped it.
    BrokenIndex {
        /// Name of the index.
        index: String,
    },
    /// The rows of a table are not there, see [`EngineError::TableLost`](crate::EngineError::TableLost).
    LostTable {
        /// Name of the table.
        table: String,
    },
}

/// Prints as a sentence without its end: `index "i" was filled again`.
impl fmt::Display for Recovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Recovery::CompletedLoad => f.write_str("a bulk load that was cut short was completed"),
            Recovery::DroppedStorage { name } => {
                write!(f, "storage \"{name}\", which nothing names, was dropped")
            }
            Recovery::DroppedTable { table } => {
                write!(f, "table \"{table}\", which was being made, was dropped")
            }
            Recovery::FilledIndex { index } => write!(f, "index \"{index}\" was filled again"),
            Recovery::DroppedIndex { index, reason } => {
                write!(
                    f,
                    "index \"{index}\" could not be filled and was dropped: {reason}"
                )
            }
            Recovery::BrokenIndex { index } => write!(
                f,
                "index \"{index}\" is broken: its entries are not there, as the end of a damaged log was lost; ALTER INDEX … REBUILD fills it again"
            ),
            Recovery::LostTable { table } => write!(
                f,
                "the rows of table \"{table}\" are not there, as the end of a damaged log was lost; DROP TABLE removes it"
            ),
        }
    }
}

impl Recovery {
    /// Whether data are missing.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Recovery::DroppedIndex { .. } | Recovery::BrokenIndex { .. } | Recovery::LostTable { .. }
        )
    }
}
